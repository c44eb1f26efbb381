/* stranger.c - attacks a port of a live cluster without its keys, and reports
 * the result.
 *
 * Usage: stranger ADDRESS:PORT [options]; without any it prints them all.
 * Attacks run one after the other: those of stranger_raw.h over bare TCP, and
 * `frames` and `mild`: malformed messages through a real DEALER, without a
 * key, with a throw-away key, or with the key of a peer gone bad. Bounded:
 * connections, bytes a connection, and time. Prints one JSON object.
 * SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <czmq.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "stranger_raw.h"
#include "transport/link/fragment.h"

#define MS_NS 1000000u
#define AT_ONCE_MAX 1024u
#define WAIT_NS (20 * MS_NS) /* for the server's last word */
#define LINGER_MS 20000
#define PART_BYTES 16384u
#define BODY_BYTES_MAX 262144u
#define FRAME_KINDS 12u

typedef struct options {
    char host[64];
    uint64_t port, count, at_once, sockets, for_ms, drip_ms, a_second, seed;
    const char *what, *server_key, *certificate;
    bool mild; /* messages that do not end the connection */
} options_t;

typedef struct tally {
    uint64_t tried, failed, ended_by_peer, bytes, open_max, frames, reopened;
} tally_t;

/* One connection of a raw attack. */
typedef struct slot {
    int socket;
    bool connecting, done;
    uint64_t number, sent, due_ns, close_ns;
    size_t part_bytes, part_sent; /* of `part`, what is yet to be sent */
    unsigned char part[PART_BYTES];
} slot_t;

typedef struct attack {
    const options_t *options;
    const raw_attack_t *raw;
    slot_t *slots;
    size_t slot_count, slot_max, waiting;
    uint64_t start_ns, now_ns, end_ns;
    tally_t tally;
} attack_t;

static uint64_t
clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Whether `tried` is below what may have been tried by now. */
static bool
may_try(const options_t *options, uint64_t tried, uint64_t elapsed_ns)
{
    return options->a_second == 0 ||
           tried <= elapsed_ns / 1000 * options->a_second / 1000000u;
}

/* --- bare TCP --------------------------------------------------------- */

static bool
slot_open(attack_t *attack, slot_t *slot)
{
    const options_t *options = attack->options;
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)options->port) };
    *slot =
        (slot_t){ .socket = socket(
                      AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0),
                  .connecting = true,
                  .number = attack->tally.tried++,
                  .due_ns = attack->now_ns };
    (void)inet_pton(AF_INET, options->host, &address.sin_addr);
    if (slot->socket >= 0 &&
        (connect(slot->socket, (const struct sockaddr *)&address,
                 sizeof(address)) == 0 ||
         errno == EINPROGRESS))
        return true;
    if (slot->socket >= 0)
        (void)close(slot->socket);
    attack->tally.failed++;
    return false;
}

/* Every other one with a reset, which drops what was not read yet. */
static void
slot_close(attack_t *attack, size_t k)
{
    const struct linger none = { .l_onoff = 1, .l_linger = 0 };
    slot_t *slot = &attack->slots[k];
    if (slot->number % 2)
        (void)setsockopt(slot->socket, SOL_SOCKET, SO_LINGER, &none,
                         sizeof(none));
    (void)close(slot->socket);
    attack->tally.bytes += slot->sent;
    if (k < --attack->slot_count)
        *slot = attack->slots[attack->slot_count];
}

/* Sends what the socket takes; false when the peer has ended it. */
static bool
slot_send(attack_t *attack, slot_t *slot)
{
    const raw_attack_t *raw = attack->raw;
    while (!slot->done && slot->due_ns <= attack->now_ns) {
        if (slot->part_sent == slot->part_bytes) {
            slot->part_sent = 0;
            slot->part_bytes =
                raw->next(attack->options->seed, slot->number, slot->sent,
                          slot->part, sizeof(slot->part));
            slot->done = slot->part_bytes == 0;
            slot->close_ns =
                raw->held ? attack->end_ns
                          : attack->now_ns + slot->number / 2 % 2 * WAIT_NS;
            if (slot->done)
                return true;
        }
        ssize_t count = send(slot->socket, slot->part + slot->part_sent,
                             slot->part_bytes - slot->part_sent, MSG_NOSIGNAL);
        if (count < 0)
            return errno == EAGAIN || errno == EINTR;
        slot->part_sent += (size_t)count;
        slot->sent += (uint64_t)count;
        if (raw->slow)
            slot->due_ns = attack->now_ns + attack->options->drip_ms * MS_NS;
        else if (raw->held) /* others have their turn, and the clock */
            return true;
    }
    return true;
}

/* Takes and drops what the peer says; false at its end. */
static bool
slot_listen(const slot_t *slot)
{
    unsigned char dropped[4096];
    ssize_t count = recv(slot->socket, dropped, sizeof(dropped), 0);
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool
slot_serve(attack_t *attack, slot_t *slot, short found)
{
    int failure = 0;
    socklen_t size = sizeof(failure);
    if (slot->connecting) {
        if (found == 0)
            return true;
        (void)getsockopt(slot->socket, SOL_SOCKET, SO_ERROR, &failure, &size);
        slot->connecting = false;
        if (failure != 0) {
            attack->tally.failed++;
            slot->done = true;
            slot->close_ns = 0;
            return true;
        }
    }
    if ((found & ~POLLOUT && !slot_listen(slot)) || !slot_send(attack, slot)) {
        attack->tally.ended_by_peer++;
        return false;
    }
    return true;
}

static bool
may_open(const attack_t *attack)
{
    uint64_t most =
        attack->raw->held ? attack->options->sockets : attack->options->at_once;
    return attack->slot_count < most && attack->now_ns < attack->end_ns &&
           (attack->raw->held ||
            attack->tally.tried < attack->options->count) &&
           may_try(attack->options, attack->tally.tried,
                   attack->now_ns - attack->start_ns);
}

/* Held attacks open a socket again when the peer has closed it, but not
 * faster than the others would. */
static void
raw_turn(attack_t *attack, struct pollfd *polls)
{
    attack->waiting = 0;
    for (size_t k = 0; k < attack->slot_count; k++) {
        slot_t *slot = &attack->slots[k];
        bool sends =
            slot->connecting || (!slot->done && slot->due_ns <= attack->now_ns);
        polls[k] =
            (struct pollfd){ slot->socket,
                             (short)(POLLIN | (sends ? POLLOUT : 0)), 0 };
    }
    (void)poll(polls, attack->slot_count, 10);
    attack->now_ns = clock_ns();
    for (size_t k = attack->slot_count; k-- > 0;) {
        slot_t *slot = &attack->slots[k];
        bool stays = slot_serve(attack, slot, polls[k].revents);
        if (!stays || attack->now_ns >= attack->end_ns ||
            (slot->done && attack->now_ns >= slot->close_ns))
            slot_close(attack, k);
    }
    for (unsigned tries = 0; tries < 64 && may_open(attack); tries++) {
        if (slot_open(attack, &attack->slots[attack->slot_count]))
            attack->slot_count++;
    }
    if (attack->slot_count > attack->tally.open_max)
        attack->tally.open_max = attack->slot_count;
}

static bool
attack_raw(const options_t *options, const raw_attack_t *raw, tally_t *tally)
{
    attack_t attack = { .options = options, .raw = raw };
    struct pollfd *polls = calloc(AT_ONCE_MAX, sizeof(*polls));
    attack.slots = calloc(AT_ONCE_MAX, sizeof(slot_t));
    attack.start_ns = attack.now_ns = clock_ns();
    attack.end_ns = attack.now_ns + options->for_ms * MS_NS;
    if (polls && attack.slots) {
        do
            raw_turn(&attack, polls);
        while (attack.now_ns < attack.end_ns &&
               (raw->held || attack.slot_count > 0 ||
                attack.tally.tried < options->count));
    }
    while (attack.slot_count > 0)
        slot_close(&attack, attack.slot_count - 1);
    *tally = attack.tally;
    free(attack.slots);
    free(polls);
    return attack.slots && polls;
}

/* --- through a socket of the library ---------------------------------- */

static zsock_t *
open_dealer(const options_t *options)
{
    zsock_t *dealer = zsock_new(ZMQ_DEALER);
    zcert_t *own =
        options->certificate ? zcert_load(options->certificate) : zcert_new();
    if (dealer && own) {
        zsock_set_linger(dealer, 0);
        if (options->server_key) {
            zcert_apply(own, dealer);
            zsock_set_curve_serverkey(dealer, options->server_key);
        }
        (void)zsock_connect(dealer, "tcp://%s:%u", options->host,
                            (unsigned)options->port);
    } else
        zsock_destroy(&dealer);
    zcert_destroy(&own);
    return dealer;
}

/* A good header of a run that is not this one. */
static size_t
foreign_header(uint64_t seed, uint64_t number,
               uint8_t bytes[SKN_FRAGMENT_HEADER_BYTES_MAX])
{
    skn_fragment_header_t header = {
        .version = SKN_LINK_VERSION,
        .type = 1 + (uint32_t)(number / FRAME_KINDS % 6),
        .node = (uint32_t)(raw_draw(seed, number) % 4),
        .incarnation = 1 + raw_draw(seed, number + 1) % 1000,
        .offset = raw_draw(seed, number + 2) % 100000,
        .stamp = 1,
    };
    raw_noise(seed, number, header.run, sizeof(header.run));
    return skn_fragment_write(&header, bytes);
}

/* What is wrong with message `number`: how many frames, and the first two. */
static size_t
malform(const options_t *options, uint64_t number, uint8_t *header,
        size_t *header_bytes, size_t *body_bytes)
{
    static const uint8_t bomb[] = { 0xdd, 0xff, 0xff, 0xff, 0xff, 0xdf,
                                    0xff, 0xff, 0xff, 0xff, 0xc6, 0xff,
                                    0xff, 0xff, 0xff, 0x91, 0x91, 0x91 };
    static const size_t fitting[] = { 32, 1000, 0, 0, 0, 8 }; /* by type */
    uint64_t own = raw_draw(options->seed, number);
    uint64_t kind = number % FRAME_KINDS;
    size_t frames = 2, good = foreign_header(options->seed, number, header);
    *header_bytes = good;
    *body_bytes = (size_t)(own % 4096);
    if (options->mild && (kind == 8 || kind == 9))
        kind = FRAME_KINDS - 1;
    switch (kind) {
    case 0: /* one empty frame */
        *header_bytes = 0;
        return 1;
    case 1: /* too many */
        return 3 + own % 5;
    case 2: /* a good header, alone */
        return 1;
    case 3: /* a bit of it flipped */
        header[own % good] ^= (uint8_t)(1u << own / 256 % 8);
        break;
    case 4: /* cut */
        *header_bytes = (size_t)(number / FRAME_KINDS % good);
        break;
    case 5: /* noise */
        raw_noise(own, 0, header, *header_bytes = 1 + own % 128);
        break;
    case 6: /* asks for gigabytes */
        (void)memcpy(header, bomb + own % 3 * 5, sizeof(bomb) - 10);
        *header_bytes = sizeof(bomb) - 10;
        break;
    case 7: /* a header over its limit */
        raw_noise(own, 0, header, *header_bytes = 1025 + own % 3000);
        break;
    case 8: /* a body over its limit */
        *body_bytes = 65537 + own % (BODY_BYTES_MAX - 65537);
        break;
    case 9: /* very many */
        *body_bytes = 10;
        return 100;
    case 10: /* deeply nested */
        memset(header, 0x91, *header_bytes = 1000);
        break;
    default: /* nothing but that it is of another run */
        *body_bytes = fitting[number / FRAME_KINDS % 6];
        break;
    }
    return frames;
}

/* Hands one message to the socket; false if it takes none now. */
static bool
send_malformed(const options_t *options, zsock_t *dealer, uint64_t number,
               uint8_t *body, tally_t *tally)
{
    uint8_t header[4096];
    size_t header_bytes = 0, body_bytes = 0;
    size_t frames =
        malform(options, number, header, &header_bytes, &body_bytes);
    void *socket = zsock_resolve(dealer);
    for (size_t k = 0; k < frames; k++) {
        size_t bytes = k == 0 ? header_bytes : body_bytes;
        int flags = ZMQ_DONTWAIT | (k + 1 < frames ? ZMQ_SNDMORE : 0);
        if (zmq_send(socket, k == 0 ? header : body, bytes, flags) < 0)
            return false;
        tally->bytes += bytes;
        tally->frames++;
    }
    return true;
}

static bool
attack_frames(const options_t *given, bool mild, tally_t *tally)
{
    options_t own = *given;
    const options_t *options = &own;
    uint64_t start_ns = clock_ns(), now_ns = start_ns;
    uint8_t *body = malloc(BODY_BYTES_MAX);
    zsock_t *dealer = open_dealer(options);
    bool good = body && dealer;
    own.mild = mild;
    if (good)
        raw_noise(options->seed, 0, body, BODY_BYTES_MAX);
    while (good && tally->tried < options->count &&
           now_ns - start_ns < options->for_ms * MS_NS) {
        zmq_pollitem_t item = { zsock_resolve(dealer), 0, ZMQ_POLLOUT, 0 };
        if (!may_try(options, tally->tried, now_ns - start_ns))
            (void)poll(NULL, 0, 1);
        else if (send_malformed(options, dealer, tally->tried, body, tally))
            tally->tried++;
        else if (zmq_poll(&item, 1, 500) == 0) {
            /* Nobody takes them: drop them, and dial anew. */
            tally->reopened++;
            zsock_destroy(&dealer);
            dealer = open_dealer(options);
            good = dealer != NULL;
        }
        now_ns = clock_ns();
    }
    if (dealer && tally->reopened == 0)
        zsock_set_linger(dealer, LINGER_MS); /* they are being taken */
    zsock_destroy(&dealer);
    free(body);
    return good;
}

/* --- options ---------------------------------------------------------- */

static int
usage(const char *refused)
{
    if (refused)
        (void)fprintf(stderr, "stranger: refused: %s\n", refused);
    (void)fprintf(
        stderr,
        "usage: stranger ADDRESS:PORT [--OPTION VALUE]...\n"
        "  what A,B,..    attacks, in this order; all without it:\n"
        "                 frames     malformed messages through a DEALER\n"
        "                 mild       without those that end the connection\n");
    for (size_t k = 0; k < RAW_ATTACK_COUNT; k++)
        (void)fprintf(stderr, "                 %-10s %s\n",
                      raw_attacks[k].name, raw_attacks[k].help);
    (void)fprintf(
        stderr,
        "  count N        connections, or messages, of an attack (10000)\n"
        "  at-once N      connections at a time (64)\n"
        "  sockets N      of endless, drip and silent (200)\n"
        "  for-ms N       the longest an attack lasts; endless, drip and\n"
        "                 silent last so long (10000)\n"
        "  drip-ms N      between two bytes (400)\n"
        "  a-second N     the most connections or messages; 0: no limit\n"
        "  seed N         (1)\n"
        "  server-key Z85 frames: its public key; ours is a throw-away one\n"
        "  certificate F  frames: a CZMQ file with our key pair instead\n");
    return 64;
}

static bool
read_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    char *end = NULL;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 &&
           *number >= least && *number <= most;
}

static bool
read_target(const char *text, options_t *options)
{
    struct in_addr unused;
    const char *colon = strrchr(text, ':');
    if (!colon || (size_t)(colon - text) >= sizeof(options->host))
        return false;
    (void)memcpy(options->host, text, (size_t)(colon - text));
    return inet_pton(AF_INET, options->host, &unused) == 1 &&
           read_number(colon + 1, 1, 65535, &options->port);
}

static bool
read_option(const char *name, const char *value, options_t *options)
{
    const struct {
        const char *name;
        uint64_t *number, least, most;
    } numbers[] = {
        { "--count", &options->count, 0, (uint64_t)1 << 32 },
        { "--at-once", &options->at_once, 1, AT_ONCE_MAX },
        { "--sockets", &options->sockets, 1, AT_ONCE_MAX },
        { "--for-ms", &options->for_ms, 1, 3600000 },
        { "--drip-ms", &options->drip_ms, 1, 60000 },
        { "--a-second", &options->a_second, 0, 1000000 },
        { "--seed", &options->seed, 0, UINT64_MAX },
    };
    for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
        if (strcmp(name, numbers[k].name) == 0)
            return read_number(value, numbers[k].least, numbers[k].most,
                               numbers[k].number);
    }
    if (strcmp(name, "--what") == 0)
        options->what = value;
    else if (strcmp(name, "--server-key") == 0 && strlen(value) == 40)
        options->server_key = value;
    else if (strcmp(name, "--certificate") == 0)
        options->certificate = value;
    else
        return false;
    return true;
}

/* Runs the attack of this name; false if there is none, or no memory. */
static bool
run(const options_t *options, const char *name, bool first)
{
    tally_t tally = { 0 };
    bool good = false;
    uint64_t start_ns = clock_ns();
    if (strcmp(name, "frames") == 0 || strcmp(name, "mild") == 0)
        good = attack_frames(options, name[0] == 'm', &tally);
    for (size_t k = 0; k < RAW_ATTACK_COUNT && !good; k++) {
        if (strcmp(name, raw_attacks[k].name) == 0)
            good = attack_raw(options, &raw_attacks[k], &tally);
    }
    if (!good)
        return false;
    (void)printf(
        "%s\"%s\":{\"seconds\":%.3f,\"tried\":%llu,\"failed\":%llu,"
        "\"ended_by_peer\":%llu,\"bytes\":%llu,\"open_max\":%llu,"
        "\"frames\":%llu,\"reopened\":%llu}",
        first ? "" : ",", name, (double)(clock_ns() - start_ns) / 1e9,
        (unsigned long long)tally.tried, (unsigned long long)tally.failed,
        (unsigned long long)tally.ended_by_peer,
        (unsigned long long)tally.bytes, (unsigned long long)tally.open_max,
        (unsigned long long)tally.frames, (unsigned long long)tally.reopened);
    return true;
}

int
main(int argument_count, char **arguments)
{
    char what[256], *rest = NULL;
    const char *name = NULL;
    options_t options = { .count = 10000,
                          .at_once = 64,
                          .sockets = 200,
                          .for_ms = 10000,
                          .drip_ms = 400,
                          .seed = 1,
                          .what = "frames,mild,random,greeting,flipped,huge,"
                                  "endless,drip,silent" };
    bool good = true;
    if (argument_count % 2 || !read_target(arguments[1], &options))
        return usage(argument_count > 1 ? arguments[1] : NULL);
    for (int k = 2; k + 1 < argument_count; k += 2) {
        if (!read_option(arguments[k], arguments[k + 1], &options))
            return usage(arguments[k]);
    }
    zsys_init();
    zsys_handler_set(NULL);
    (void)snprintf(what, sizeof(what), "%s", options.what);
    (void)printf("{");
    for (name = strtok_r(what, ",", &rest); name && good;
         name = strtok_r(NULL, ",", &rest))
        good = run(&options, name, name == what);
    (void)printf("}\n");
    return good ? 0 : usage(options.what);
}
