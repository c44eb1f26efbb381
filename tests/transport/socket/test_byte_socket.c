/* test_byte_socket.c - tests sockets of bytes, for tunnels.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/socket/byte_socket.h"

/* Dials a local name as libzmq does; true: connected. */
static bool
dial_local(const char *address, int *descriptor)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const char *name = address + strlen("ipc://@");
    memcpy(at.sun_path + 1, name, strlen(name));
    *descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    return connect(*descriptor, (struct sockaddr *)&at,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                               strlen(name))) == 0;
}

Test(byte_socket, a_local_name_lets_this_process_in)
{
    char address[SKN_ADDRESS_BYTES];
    int dialled, listener = skn_byte_socket_listen_local(address, NULL);
    cr_assert_geq(listener, 0);
    cr_expect(skn_byte_socket_is_local(address), "%s", address);
    cr_expect_lt(skn_byte_socket_accept_local(listener), 0);
    cr_expect_eq(errno, EAGAIN);
    cr_assert(dial_local(address, &dialled));
    int accepted = skn_byte_socket_accept_local(listener);
    cr_expect_geq(accepted, 0);
    (void)close(accepted);
    (void)close(dialled);
    (void)close(listener);
}

Test(byte_socket, a_local_name_lets_no_other_process_in)
{
    char address[SKN_ADDRESS_BYTES], byte;
    int listener = skn_byte_socket_listen_local(address, NULL);
    cr_assert_geq(listener, 0);
    pid_t child = fork();
    if (child == 0) {
        int dialled;
        bool cut =
            dial_local(address, &dialled) && read(dialled, &byte, 1) <= 0;
        _exit(cut ? 0 : 1);
    }
    struct pollfd item = { listener, POLLIN, 0 };
    cr_assert_eq(poll(&item, 1, 10000), 1);
    cr_expect_lt(skn_byte_socket_accept_local(listener), 0);
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    (void)close(listener);
}

Test(byte_socket, two_local_names_differ)
{
    char one[SKN_ADDRESS_BYTES], other[SKN_ADDRESS_BYTES];
    int first = skn_byte_socket_listen_local(one, NULL);
    int second = skn_byte_socket_listen_local(other, NULL);
    cr_expect_str_neq(one, other);
    (void)close(first);
    (void)close(second);
    cr_expect_not(skn_byte_socket_is_local("tcp://127.0.0.1:7001"));
    cr_expect_not(skn_byte_socket_is_local("ipc://name"));
}

Test(byte_socket, a_port_is_listened_at_and_dialled)
{
    skn_address_t address;
    skn_byte_socket_place_t place;
    struct sockaddr_in at;
    socklen_t bytes = sizeof(at);
    char text[SKN_ADDRESS_BYTES];
    cr_assert_eq(skn_address_read("tcp://127.0.0.1:0", true, &address, NULL),
                 SKN_OK);
    int listener = skn_byte_socket_listen(&address, NULL);
    cr_assert_geq(listener, 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
    (void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%u",
                   (unsigned)__builtin_bswap16(at.sin_port));
    cr_assert(skn_byte_socket_find(text, &place));
    int dialled = skn_byte_socket_dial(&place, 0x20);
    cr_assert_geq(dialled, 0);
    struct pollfd item = { listener, POLLIN, 0 };
    cr_assert_eq(poll(&item, 1, 10000), 1);
    int accepted = skn_byte_socket_accept(listener, 0);
    cr_expect_geq(accepted, 0);

    skn_error_t error = { 0 };
    cr_assert_eq(skn_address_read(text, true, &address, NULL), SKN_OK);
    cr_expect_lt(skn_byte_socket_listen(&address, &error), 0);
    cr_expect_eq(error.status, SKN_UNAVAILABLE);
    cr_expect(strstr(error.text, "is in use by another program"), "%s",
              error.text);
    (void)close(accepted);
    (void)close(dialled);
    (void)close(listener);
}

Test(byte_socket, what_is_no_address_leads_nowhere)
{
    skn_byte_socket_place_t place;
    cr_expect_not(skn_byte_socket_find("ipc://x", &place));
    cr_expect_not(skn_byte_socket_find("tcp://no-such-host.invalid:1", &place));
    cr_expect_lt(skn_byte_socket_dial(&place, 0), 0);
}
