/* held_port.h - reserves a loopback port, so that no other program gets it.
 *
 * The system chooses it, and the bound socket stays open until the process
 * ends. Nothing listens on it, so a client that dials is refused; the tested
 * code can bind the same port too, since both have SO_REUSEADDR. Finding a free
 * port, releasing it and binding it later is a race, which a test loses when
 * another program on the machine dials or listens in between.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_HELD_PORT_H
#define TESTS_SUPPORT_HELD_PORT_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

static inline uint16_t
held_port(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t bytes = sizeof(at);
    int number = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (number < 0 ||
        setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
        bind(number, (struct sockaddr *)&at, sizeof(at)) != 0 ||
        getsockname(number, (struct sockaddr *)&at, &bytes) != 0) {
        perror("no port of loopback");
        abort();
    }
    return ntohs(at.sin_port);
}

#endif
