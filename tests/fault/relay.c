/* relay.c - a TCP relay that simulates a bad network: it delays, throttles,
 * stalls, cuts and corrupts the bytes between clients and a server.
 *
 * Usage: relay LISTEN CONNECT [options]; without any it prints them all. Prints
 * {"event":"listening","port":N} when ready, a line for each command, and its
 * counters at the end. "up" is the direction from the client to the server. One
 * thread, no blocking call but ppoll; memory is bounded by connections x 2 x
 * buffer. A cut is a reset of both sides: buffered bytes are lost, as when a
 * cable is pulled and the kernels give up.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "relay_flow.h"
#include "relay_settings.h"

#define MS_NS 1000000u
#define COMMAND_BYTES 256

enum {
    UP,
    DOWN,
    DIRECTIONS
};

/* Side UP of a pair is who connected, side DOWN the server: flow k carries
 * bytes from side k to side 1 - k. */
typedef struct pair {
    int side[DIRECTIONS];
    bool connecting;
    flow_t flow[DIRECTIONS];
    struct pollfd *poll[DIRECTIONS];
} pair_t;

typedef struct relay {
    settings_t settings;
    int listener, signals;
    shape_t shape[DIRECTIONS];
    pair_t **pairs;
    size_t pair_count;
    struct pollfd *polls;
    uint64_t start_ns, now_ns;
    uint64_t refuse_until_ns, next_cut_ns, next_cut_bytes, cut_ns;
    size_t next_cut_at;
    uint64_t random;
    bool input_open, over;
    char command[COMMAND_BYTES];
    size_t command_bytes;
    /* counters */
    uint64_t bytes[DIRECTIONS], connections, cuts, unreachable, turned_away,
        lost_bytes, garbled, stalls, held_bytes_max;
} relay_t;

static uint64_t
clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Steele, Lea and Flood 2014, SplitMix: enough for the times of cuts. */
static uint64_t
draw(relay_t *relay)
{
    uint64_t z = (relay->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* `mean`, or with a seed something between its half and one and a half. */
static uint64_t
about(relay_t *relay, uint64_t mean)
{
    if (relay->settings.seed == 0 || mean < 2)
        return mean;
    return mean - mean / 2 + draw(relay) % (mean + 1);
}

/* --- sockets ---------------------------------------------------------- */

/* A socket belongs to the namespace it was made in, wherever it is used. */
static int
make_socket(const char *namespace)
{
    char path[256];
    int home = -1, there = -1, made = -1;
    if (!namespace)
        return socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    (void)snprintf(path, sizeof(path), "/run/netns/%s", namespace);
    home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    there = open(path, O_RDONLY | O_CLOEXEC);
    if (home >= 0 && there >= 0 && setns(there, CLONE_NEWNET) == 0) {
        made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (setns(home, CLONE_NEWNET) != 0) {
            (void)close(made);
            made = -1;
        }
    }
    if (home >= 0)
        (void)close(home);
    if (there >= 0)
        (void)close(there);
    return made;
}

static bool
listen_again(relay_t *relay)
{
    const int yes = 1;
    socklen_t size = sizeof(relay->settings.listen);
    struct sockaddr *address = (struct sockaddr *)&relay->settings.listen;
    relay->listener = make_socket(relay->settings.listen_in);
    if (relay->listener < 0 ||
        setsockopt(relay->listener, SOL_SOCKET, SO_REUSEADDR, &yes,
                   sizeof(yes)) != 0 ||
        bind(relay->listener, address, size) != 0 ||
        listen(relay->listener, 128) != 0 ||
        getsockname(relay->listener, address, &size) != 0) {
        (void)fprintf(stderr, "relay: cannot listen: %s\n", strerror(errno));
        return false;
    }
    return true;
}

static void
close_listener(relay_t *relay)
{
    if (relay->listener >= 0)
        (void)close(relay->listener);
    relay->listener = -1;
}

static void
close_side(int side, bool reset)
{
    const struct linger none = { .l_onoff = 1, .l_linger = 0 };
    if (side < 0)
        return;
    if (reset)
        (void)setsockopt(side, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    (void)close(side);
}

/* Closes pair k; the last one takes its place. */
static void
close_pair(relay_t *relay, size_t k, bool reset)
{
    pair_t *pair = relay->pairs[k];
    for (int way = 0; way < DIRECTIONS; way++) {
        relay->lost_bytes += flow_held(&pair->flow[way]);
        close_side(pair->side[way], reset);
        flow_fini(&pair->flow[way]);
    }
    free(pair);
    relay->pairs[k] = relay->pairs[--relay->pair_count];
}

static pair_t *
open_pair(relay_t *relay, int accepted)
{
    const int yes = 1;
    size_t room = relay->settings.buffer_kib << 10;
    const struct sockaddr *address =
        (const struct sockaddr *)&relay->settings.connect;
    pair_t *pair = calloc(1, sizeof(*pair));
    if (!pair)
        return NULL;
    pair->side[UP] = accepted;
    pair->side[DOWN] = make_socket(relay->settings.connect_from);
    if (flow_init(&pair->flow[UP], room) &&
        flow_init(&pair->flow[DOWN], room) && pair->side[DOWN] >= 0) {
        for (int way = 0; way < DIRECTIONS; way++)
            (void)setsockopt(pair->side[way], IPPROTO_TCP, TCP_NODELAY, &yes,
                             sizeof(yes));
        pair->connecting = true;
        if (connect(pair->side[DOWN], address,
                    sizeof(relay->settings.connect)) == 0 ||
            errno == EINPROGRESS)
            return pair;
    }
    close_side(pair->side[DOWN], false);
    flow_fini(&pair->flow[UP]);
    flow_fini(&pair->flow[DOWN]);
    free(pair);
    return NULL;
}

static void
accept_all(relay_t *relay)
{
    int accepted;
    while ((accepted = accept4(relay->listener, NULL, NULL,
                               SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        pair_t *pair = NULL;
        if (relay->pair_count == relay->settings.connections) {
            relay->turned_away++;
            close_side(accepted, true);
            continue;
        }
        pair = open_pair(relay, accepted);
        if (!pair) {
            relay->unreachable++;
            close_side(accepted, true);
            continue;
        }
        relay->connections++;
        relay->pairs[relay->pair_count++] = pair;
    }
}

/* --- what it does to the network -------------------------------------- */

static void
cut(relay_t *relay)
{
    while (relay->pair_count > 0)
        close_pair(relay, relay->pair_count - 1, true);
    relay->cuts++;
    if (relay->settings.refuse_ms > 0) {
        close_listener(relay);
        relay->refuse_until_ns =
            relay->now_ns + relay->settings.refuse_ms * MS_NS;
    }
}

static void
plan_cuts(relay_t *relay, bool by_time, bool by_bytes)
{
    const settings_t *settings = &relay->settings;
    if (by_time)
        relay->cut_ns =
            settings->cut_every_ms == 0
                ? FLOW_NEVER_NS
                : relay->now_ns + about(relay, settings->cut_every_ms) * MS_NS;
    if (by_bytes)
        relay->next_cut_bytes =
            settings->cut_every_bytes == 0
                ? UINT64_MAX
                : relay->bytes[UP] + relay->bytes[DOWN] +
                      about(relay, settings->cut_every_bytes);
    relay->next_cut_ns = relay->cut_ns;
    if (relay->next_cut_at < settings->cut_at_count)
        relay->next_cut_ns = flow_least(
            relay->next_cut_ns,
            relay->start_ns + settings->cut_at_ms[relay->next_cut_at] * MS_NS);
}

static void
cut_when_due(relay_t *relay)
{
    if (relay->bytes[UP] + relay->bytes[DOWN] >= relay->next_cut_bytes) {
        cut(relay);
        plan_cuts(relay, false, true);
    }
    if (relay->now_ns >= relay->next_cut_ns) {
        bool regular = relay->next_cut_ns == relay->cut_ns;
        cut(relay);
        if (!regular)
            relay->next_cut_at++;
        plan_cuts(relay, regular, false);
    }
}

static void
print_counters(const relay_t *relay, const char *event)
{
    (void)printf(
        "{\"event\":\"%s\",\"seconds\":%.3f,\"open\":%zu,\"connections\":%llu,"
        "\"bytes_up\":%llu,\"bytes_down\":%llu,\"cuts\":%llu,\"lost_bytes\":"
        "%llu,\"stalls\":%llu,\"garbled\":%llu,\"unreachable\":%llu,"
        "\"turned_away\":%llu,\"held_bytes_max\":%llu}\n",
        event, (double)(relay->now_ns - relay->start_ns) / 1e9,
        relay->pair_count, (unsigned long long)relay->connections,
        (unsigned long long)relay->bytes[UP],
        (unsigned long long)relay->bytes[DOWN], (unsigned long long)relay->cuts,
        (unsigned long long)relay->lost_bytes,
        (unsigned long long)relay->stalls, (unsigned long long)relay->garbled,
        (unsigned long long)relay->unreachable,
        (unsigned long long)relay->turned_away,
        (unsigned long long)relay->held_bytes_max);
    (void)fflush(stdout);
}

/* --- commands --------------------------------------------------------- */

/* One setting of one direction; false if there is no such word. */
static bool
apply(relay_t *relay, const char *word, uint64_t number, int way)
{
    shape_t *shape = &relay->shape[way];
    if (strcmp(word, "delay") == 0)
        shape->delay_ns = number * MS_NS;
    else if (strcmp(word, "rate") == 0) {
        shape->rate_bytes = number;
        shape->free_ns = relay->now_ns;
    } else if (strcmp(word, "stall") == 0)
        shape->stalled_until_ns = relay->now_ns + number * MS_NS;
    else if (strcmp(word, "garble") == 0)
        shape->garble = true;
    else
        return false;
    return true;
}

static bool
obey(relay_t *relay, char *line)
{
    char *rest = NULL;
    const char *word = strtok_r(line, " ", &rest), *next = NULL;
    uint64_t number = 0;
    int first = UP, last = DOWN;
    if (!word)
        return false;
    if (strcmp(word, "cut") == 0) {
        cut(relay);
        return true;
    }
    if (strcmp(word, "quit") == 0 || strcmp(word, "status") == 0) {
        relay->over = relay->over || word[0] == 'q';
        return true;
    }
    if (strcmp(word, "garble") != 0 &&
        (!(next = strtok_r(NULL, " ", &rest)) ||
         !read_number(next, NULL, (uint64_t)1 << 40, &number)))
        return false;
    if (strcmp(word, "refuse") == 0) {
        close_listener(relay);
        relay->refuse_until_ns = relay->now_ns + number * MS_NS;
        return true;
    }
    next = strtok_r(NULL, " ", &rest);
    if (next && strcmp(next, "up") == 0)
        last = UP;
    else if (next && strcmp(next, "down") == 0)
        first = DOWN;
    else if (next)
        return false;
    for (int way = first; way <= last; way++) {
        if (!apply(relay, word, number, way))
            return false;
    }
    relay->stalls += word[0] == 's';
    return true;
}

static void
read_commands(relay_t *relay)
{
    char *line = relay->command, *end = NULL;
    ssize_t count = read(STDIN_FILENO, relay->command + relay->command_bytes,
                         sizeof(relay->command) - relay->command_bytes);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
        relay->input_open = false;
    if (count <= 0)
        return;
    relay->command_bytes += (size_t)count;
    while ((end = memchr(line, '\n', relay->command_bytes))) {
        size_t used = (size_t)(end - line) + 1;
        *end = '\0';
        print_counters(relay, obey(relay, line) ? "obeyed" : "refused");
        relay->command_bytes -= used;
        line += used;
    }
    if (relay->command_bytes == sizeof(relay->command))
        relay->command_bytes = 0; /* no command is so long */
    memmove(relay->command, line, relay->command_bytes);
}

/* --- the bytes -------------------------------------------------------- */

/* False when the connection is broken. *any: something came in. */
static bool
read_some(relay_t *relay, pair_t *pair, int way, bool *any)
{
    flow_t *flow = &pair->flow[way];
    shape_t *shape = &relay->shape[way];
    unsigned char *at = NULL;
    size_t most = flow_wants(flow, shape, relay->now_ns, &at);
    if (most == 0)
        return true;
    ssize_t count = read(pair->side[way], at, most);
    if (count < 0)
        return errno == EAGAIN || errno == EINTR;
    if (count == 0) {
        flow->ended = true;
        return true;
    }
    if (shape->garble) {
        at[draw(relay) % (uint64_t)count] ^=
            (unsigned char)(1u << draw(relay) % 8u);
        shape->garble = false;
        relay->garbled++;
    }
    flow_put(flow, shape, (size_t)count, relay->now_ns);
    *any = true;
    return true;
}

static bool
write_some(relay_t *relay, pair_t *pair, int way)
{
    flow_t *flow = &pair->flow[way];
    const unsigned char *at = NULL;
    size_t most;
    while (!flow->blocked &&
           (most = flow_offers(flow, &relay->shape[way], relay->now_ns, &at))) {
        uint64_t passed = relay->bytes[UP] + relay->bytes[DOWN];
        most = (size_t)flow_least(most, relay->next_cut_bytes - passed);
        if (most == 0)
            return true; /* a cut is due */
        ssize_t count = send(pair->side[1 - way], at, most, MSG_NOSIGNAL);
        if (count < 0 && errno == EAGAIN)
            flow->blocked = true;
        else if (count < 0)
            return errno == EINTR;
        else {
            flow_take(flow, (size_t)count);
            relay->bytes[way] += (uint64_t)count;
        }
    }
    if (flow->ended && !flow->told && flow_held(flow) == 0) {
        (void)shutdown(pair->side[1 - way], SHUT_WR);
        flow->told = true;
    }
    return true;
}

/* Whether the connect has come to its end; a failed one sets *broken. */
static bool
connected(relay_t *relay, pair_t *pair, bool *broken)
{
    int failure = 0;
    socklen_t size = sizeof(failure);
    if (!pair->connecting)
        return true;
    if (!pair->poll[DOWN] || pair->poll[DOWN]->revents == 0)
        return false;
    (void)getsockopt(pair->side[DOWN], SOL_SOCKET, SO_ERROR, &failure, &size);
    pair->connecting = false;
    if (failure != 0) {
        relay->unreachable++;
        *broken = true;
    }
    return true;
}

/* Whether something was read. */
static bool
serve(relay_t *relay, size_t k)
{
    pair_t *pair = relay->pairs[k];
    bool broken = false, any = false;
    if (connected(relay, pair, &broken)) {
        for (int way = 0; way < DIRECTIONS && !broken; way++) {
            const struct pollfd *to = pair->poll[1 - way];
            if (to && to->revents & (POLLOUT | POLLERR | POLLHUP))
                pair->flow[way].blocked = false;
            if (pair->poll[way] && pair->poll[way]->revents & ~POLLOUT)
                broken = !read_some(relay, pair, way, &any);
            broken = broken || !write_some(relay, pair, way);
            relay->held_bytes_max =
                flow_held(&pair->flow[way]) > relay->held_bytes_max
                    ? flow_held(&pair->flow[way])
                    : relay->held_bytes_max;
        }
    }
    if (!broken && !(pair->flow[UP].told && pair->flow[DOWN].told))
        return any;
    close_pair(relay, k, broken);
    return false;
}

/* From the last one down: closing moves only pairs already served. Who put
 * something on the line is the last to be asked again, as a line's own queue
 * has it: else one that always has more would keep all others off. */
static void
serve_all(relay_t *relay)
{
    size_t k = relay->pair_count;
    for (size_t left = k; left > 0; left--) {
        pair_t *pair = relay->pairs[--k];
        if (!serve(relay, k))
            continue;
        memmove(relay->pairs + 1, relay->pairs, k * sizeof(pair_t *));
        relay->pairs[0] = pair;
        k++;
    }
}

/* What to wait for. A side of which nothing is wanted is left out, since a
 * hang-up is reported unasked. */
static nfds_t
fill_polls(relay_t *relay, uint64_t *wake_ns)
{
    struct pollfd *polls = relay->polls;
    nfds_t used = 3;
    polls[0] = (struct pollfd){ relay->listener, POLLIN, 0 };
    polls[1] =
        (struct pollfd){ relay->input_open ? STDIN_FILENO : -1, POLLIN, 0 };
    polls[2] = (struct pollfd){ relay->signals, POLLIN, 0 };
    for (size_t k = 0; k < relay->pair_count; k++) {
        pair_t *pair = relay->pairs[k];
        short wanted[DIRECTIONS] = { 0, 0 };
        for (int way = 0; way < DIRECTIONS && !pair->connecting; way++) {
            unsigned char *at = NULL;
            flow_t *flow = &pair->flow[way];
            if (flow_wants(flow, &relay->shape[way], relay->now_ns, &at) > 0)
                wanted[way] |= POLLIN;
            if (flow->blocked)
                wanted[1 - way] |= POLLOUT;
            *wake_ns =
                flow_least(*wake_ns, flow_wake_ns(flow, &relay->shape[way],
                                                  relay->now_ns));
        }
        if (pair->connecting)
            wanted[DOWN] = POLLOUT;
        for (int side = 0; side < DIRECTIONS; side++) {
            pair->poll[side] = NULL;
            if (wanted[side] == 0)
                continue;
            pair->poll[side] = &polls[used];
            polls[used++] =
                (struct pollfd){ pair->side[side], wanted[side], 0 };
        }
    }
    return used;
}

static void
turn(relay_t *relay, uint64_t end_ns)
{
    uint64_t wake_ns = flow_least(end_ns, relay->next_cut_ns), left_ns;
    nfds_t used = fill_polls(relay, &wake_ns);
    struct timespec left;
    if (relay->listener < 0)
        wake_ns = flow_least(wake_ns, relay->refuse_until_ns);
    left_ns = wake_ns > relay->now_ns ? wake_ns - relay->now_ns : 0;
    left = (struct timespec){ (time_t)(left_ns / 1000000000u),
                              (long)(left_ns % 1000000000u) };
    int found = ppoll(relay->polls, used, &left, NULL);
    relay->now_ns = clock_ns();
    if (found < 0)
        for (nfds_t k = 0; k < used; k++)
            relay->polls[k].revents = 0;
    serve_all(relay);
    if (relay->listener >= 0 && relay->polls[0].revents)
        accept_all(relay);
    if (relay->polls[1].revents)
        read_commands(relay);
    relay->over = relay->over || relay->polls[2].revents;
    cut_when_due(relay);
    if (relay->listener < 0 && relay->now_ns >= relay->refuse_until_ns)
        relay->over = !listen_again(relay) || relay->over;
}

static void
run(relay_t *relay)
{
    sigset_t ends;
    uint64_t end_ns;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL);
    relay->signals = signalfd(-1, &ends, SFD_CLOEXEC);
    relay->start_ns = relay->now_ns = clock_ns();
    end_ns = relay->start_ns + relay->settings.for_ms * MS_NS;
    plan_cuts(relay, true, true);
    (void)printf("{\"event\":\"listening\",\"port\":%u}\n",
                 (unsigned)ntohs(relay->settings.listen.sin_port));
    (void)fflush(stdout);
    while (!relay->over && relay->now_ns < end_ns)
        turn(relay, end_ns);
    while (relay->pair_count > 0)
        close_pair(relay, relay->pair_count - 1, true);
    print_counters(relay, "end");
}

int
main(int argument_count, char **arguments)
{
    int code = 1;
    static relay_t relay = { .listener = -1, .input_open = true };
    if (!read_settings(argument_count, arguments, &relay.settings))
        return 64;
    relay.random = relay.settings.seed;
    for (int way = 0; way < DIRECTIONS; way++) {
        relay.shape[way].delay_ns = relay.settings.delay_ms * MS_NS;
        relay.shape[way].rate_bytes = relay.settings.rate;
    }
    relay.pairs = calloc(relay.settings.connections, sizeof(pair_t *));
    relay.polls =
        calloc(3 + 2 * relay.settings.connections, sizeof(struct pollfd));
    if (relay.pairs && relay.polls && listen_again(&relay)) {
        run(&relay);
        code = 0;
    }
    close_listener(&relay);
    free(relay.pairs);
    free(relay.polls);
    return code;
}
