/* join.c - a service that takes part in a run while it does its own work: its
 * loop, its signals and its end are its own.
 *
 * cc join.c $(pkg-config --cflags --libs skein) -o join
 * ./join run.yaml b [PROGRAM]        SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <skein/member.h>

static skn_member_t *member;

static void
on_stop(int number) /* hands over what it has, and leaves */
{
    (void)number;
    skn_member_leave(member);
}

int
main(int count, char **words)
{
    static char line[SKN_EVENT_BYTES_MAX];
    skn_error_t error = SKN_ZERO;
    skn_member_options_t options = SKN_ZERO;
    struct sigaction stop;
    if (count < 3)
        return fprintf(stderr, "usage: join CONFIG NODE [PROGRAM]\n"), 64;
    options.struct_bytes = sizeof(options);
    options.path = words[1];
    options.node = words[2];
    options.program = words[3]; /* NULL: skein, on the PATH */
    member = skn_member_new(&options, &error);
    if (!member)
        return fprintf(stderr, "join: %s\n", error.text), 70;
    memset(&stop, 0, sizeof(stop));
    stop.sa_handler = on_stop;
    (void)sigaction(SIGTERM, &stop, NULL);
    skn_status_t status = skn_member_start(member, &error);
    while (status == SKN_OK || status == SKN_BUSY) {
        struct pollfd polled[] = { { skn_member_fd(member), POLLIN, 0 } };
        (void)poll(polled, 1, 1000); /* beside the service's own descriptors */
        while ((status = skn_member_event(member, 0, line, sizeof(line),
                                          NULL)) == SKN_OK)
            puts(line);
        fflush(stdout);
    }
    status = skn_member_wait(member, &error);
    if (status != SKN_OK)
        fprintf(stderr, "join: %s\n", error.text);
    stop.sa_handler = SIG_DFL; /* before the member is gone */
    (void)sigaction(SIGTERM, &stop, NULL);
    skn_member_destroy(&member);
    return skn_status_exit_code(status);
}
