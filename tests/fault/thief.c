/* thief.c - takes each loopback port that a process releases, to find races for
 * free ports.
 *
 * Linked into a `skein` of its own with --wrap=close: whenever a socket that
 * was bound to a port, and is not connected, is closed, another socket listens
 * on that port from then on. A program that looks for a free port, and leaves
 * it to be bound by others later, does not get it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

int __real_close(int descriptor);
int __wrap_close(int descriptor);

static void
take(const struct sockaddr_in *address)
{
    int number = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    (void)setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(number, (const struct sockaddr *)address, sizeof(*address)) == 0)
        (void)listen(number, 1);
}

int
__wrap_close(int descriptor)
{
    struct sockaddr_in own, peer;
    socklen_t own_bytes = sizeof(own), peer_bytes = sizeof(peer);
    bool let_go =
        getsockname(descriptor, (struct sockaddr *)&own, &own_bytes) == 0 &&
        own_bytes == sizeof(own) && own.sin_family == AF_INET &&
        own.sin_port != 0 &&
        getpeername(descriptor, (struct sockaddr *)&peer, &peer_bytes) != 0;
    int code = __real_close(descriptor);
    if (let_go)
        take(&own);
    return code;
}
