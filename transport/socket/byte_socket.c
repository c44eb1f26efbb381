/* byte_socket.c - byte sockets for tunnels: listens, accepts and connects.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/byte_socket.h"

#include "formats/text/system_error.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/un.h>
#include <unistd.h>

#define LOCAL "ipc://@"
#define BACKLOG 128
/* Connections of other processes that one accept skips. */
#define OTHERS_MAX 64u
/* The system sends the probes, so that the connection of a stopped process is
 * not cut. They are sent each second, and UNACKED_MS also ends a connection
 * that does not answer them, as Linux uses it in place of their count; the
 * heartbeats of links, end to end, detect it sooner. */
#define PROBE_AFTER_S 1
#define PROBE_EVERY_S 1
/* The longest that sent bytes stay unacknowledged, or a connection silent. A
 * slow link has losses, too. */
#define UNACKED_MS 10000
/* Two more SYN after the first: 1 + 2 + 4 s. */
#define SYNS 2
/* As for links: bytes queued in the system delay heartbeats. */
#define UNSENT_BYTES 131072

/* --- listening ----------------------------------------------------------- */

skn_status_t
skn_byte_socket_cannot_listen(const char *address, int code, skn_error_t *error)
{
    if (code == EADDRINUSE) {
        (void)skn_fail(error, SKN_UNAVAILABLE,
                       "%s is in use by another program", address);
        return skn_fail_hint(error, SKN_UNAVAILABLE,
                             "choose another port under nodes:, or stop that "
                             "program");
    }
    if (code == EADDRNOTAVAIL || code == ENODEV) {
        (void)skn_fail(error, SKN_UNAVAILABLE,
                       "%s is not an address of this machine", address);
        return skn_fail_hint(error, SKN_UNAVAILABLE,
                             "`ip address` lists them; is this the right "
                             "node?");
    }
    if (code == EACCES || code == EPERM) {
        (void)skn_fail(error, SKN_NO_PERMISSION, "%s: no permission to listen",
                       address);
        return skn_fail_hint(error, SKN_NO_PERMISSION,
                             "choose a port from 1024 on");
    }
    return skn_fail_code(error, SKN_UNAVAILABLE, code, NULL,
                         "cannot listen at %s", address);
}

static int
stream_socket(int family)
{
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static void
set_number(int descriptor, int level, int option, int number)
{
    (void)setsockopt(descriptor, level, option, &number, sizeof(number));
}

int
skn_byte_socket_listen(const skn_address_t *address, skn_error_t *error)
{
    skn_byte_socket_place_t place;
    if (!skn_byte_socket_find(address->text, &place)) {
        (void)skn_fail(error, SKN_BAD_CONFIG, "address '%.200s': unknown",
                       address->text);
        return -1;
    }
    int descriptor = stream_socket(place.at.ss_family);
    if (descriptor < 0) {
        (void)skn_fail_code(error, SKN_NO_MEMORY, errno, NULL, "no socket");
        return -1;
    }
    set_number(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);
    if (bind(descriptor, (struct sockaddr *)&place.at, place.bytes) == 0 &&
        listen(descriptor, BACKLOG) == 0)
        return descriptor;
    (void)skn_byte_socket_cannot_listen(address->text, errno, error);
    (void)close(descriptor);
    return -1;
}

/* libzmq takes the text behind @ as the name, without a NUL at its end. */
int
skn_byte_socket_listen_local(char *address, skn_error_t *error)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    uint64_t number[2];
    if (getrandom(number, sizeof(number), 0) != sizeof(number)) {
        (void)skn_fail(error, SKN_UNAVAILABLE, "cannot get random numbers: %s",
                       strerror(errno));
        return -1;
    }
    (void)snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1,
                   "skein-%016" PRIx64 "%016" PRIx64, number[0], number[1]);
    (void)snprintf(address, SKN_ADDRESS_BYTES, LOCAL "%s", at.sun_path + 1);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                                  strlen(at.sun_path + 1));
    int descriptor = stream_socket(AF_UNIX);
    if (descriptor >= 0 &&
        bind(descriptor, (struct sockaddr *)&at, bytes) == 0 &&
        listen(descriptor, BACKLOG) == 0)
        return descriptor;
    (void)skn_fail_code(error, SKN_NO_MEMORY, errno, NULL,
                        "cannot create a local socket");
    if (descriptor >= 0)
        (void)close(descriptor);
    return -1;
}

bool
skn_byte_socket_is_local(const char *address)
{
    return strncmp(address, LOCAL, strlen(LOCAL)) == 0;
}

/* --- accepting ----------------------------------------------------------- */

static int
accept_one(int listener)
{
    int descriptor;
    do
        descriptor =
            accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    while (descriptor < 0 && (errno == EINTR || errno == ECONNABORTED));
    return descriptor;
}

int
skn_byte_socket_accept_local(int listener)
{
    for (uint32_t k = 0; k < OTHERS_MAX; k++) {
        struct ucred who = { 0 };
        socklen_t bytes = sizeof(who);
        int descriptor = accept_one(listener);
        if (descriptor < 0)
            return -1;
        if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &bytes) ==
                0 &&
            who.pid == getpid())
            return descriptor;
        (void)close(descriptor);
    }
    errno = EAGAIN;
    return -1;
}

static void
look_after(int descriptor, int service)
{
    set_number(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
    set_number(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_number(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, PROBE_AFTER_S);
    set_number(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, PROBE_EVERY_S);
    set_number(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKED_MS);
    set_number(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNSENT_BYTES);
    if (service > 0) {
        set_number(descriptor, IPPROTO_IP, IP_TOS, service);
        set_number(descriptor, IPPROTO_IPV6, IPV6_TCLASS, service);
    }
}

int
skn_byte_socket_accept(int listener, int service)
{
    int descriptor = accept_one(listener);
    if (descriptor >= 0)
        look_after(descriptor, service);
    return descriptor;
}

/* --- dialling ------------------------------------------------------------ */

static bool
find(const char *text, int flags, skn_byte_socket_place_t *place)
{
    skn_address_t address;
    char port[8];
    struct addrinfo *list = NULL;
    const struct addrinfo how = { .ai_socktype = SOCK_STREAM,
                                  .ai_flags = flags };
    place->bytes = 0;
    if (skn_address_read(text, true, &address, NULL) != SKN_OK)
        return false;
    (void)snprintf(port, sizeof(port), "%u", (unsigned)address.port);
    const char *host =
        strcmp(address.host, "*") == 0 ? "0.0.0.0" : address.host;
    if (getaddrinfo(host, port, &how, &list) != 0)
        return false;
    memcpy(&place->at, list->ai_addr, list->ai_addrlen);
    place->bytes = list->ai_addrlen;
    freeaddrinfo(list);
    return true;
}

bool
skn_byte_socket_find(const char *address, skn_byte_socket_place_t *place)
{
    return find(address, 0, place);
}

bool
skn_byte_socket_read(const char *address, skn_byte_socket_place_t *place)
{
    return find(address, AI_NUMERICHOST, place);
}

int
skn_byte_socket_dial(const skn_byte_socket_place_t *place, int service)
{
    int descriptor = place->bytes > 0 ? stream_socket(place->at.ss_family) : -1;
    if (descriptor < 0)
        return -1;
    look_after(descriptor, service);
    set_number(descriptor, IPPROTO_TCP, TCP_SYNCNT, SYNS);
    if (connect(descriptor, (const struct sockaddr *)&place->at,
                place->bytes) == 0 ||
        errno == EINPROGRESS)
        return descriptor;
    (void)close(descriptor);
    return -1;
}
