/* relay_settings.h - the options of the relay, read at its start.
 *
 * Owns nothing. Numbers are read with their limits, and a wrong one is
 * reported.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAULT_RELAY_SETTINGS_H
#define TESTS_FAULT_RELAY_SETTINGS_H

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUTS_AT_MAX 64

typedef struct settings {
    struct sockaddr_in listen, connect;
    const char *listen_in, *connect_from; /* network namespaces, or NULL */
    uint64_t delay_ms, rate, buffer_kib, connections;
    uint64_t cut_every_ms, cut_every_bytes, refuse_ms, seed, for_ms;
    uint64_t cut_at_ms[CUTS_AT_MAX];
    size_t cut_at_count;
} settings_t;

static const settings_t settings_usual = { .buffer_kib = 4096,
                                           .connections = 64,
                                           .for_ms = 600000 };

static const char settings_usage[] =
    "usage: relay LISTEN CONNECT [--OPTION VALUE]...\n"
    "LISTEN, CONNECT: ADDRESS:PORT; port 0 listens anywhere. Options:\n"
    "  delay-ms N        one way, each way\n"
    "  rate N            bytes a second, each way; 0: no limit\n"
    "  cut-at-ms A,B,..  reset all connections at these times\n"
    "  cut-every-ms N    and so often, with --seed after N/2 to 3N/2\n"
    "  cut-every-bytes N and after so many forwarded bytes, as above\n"
    "  refuse-ms N       after a cut nobody listens for so long\n"
    "  seed N            0: the cuts are regular\n"
    "  buffer-kib N      the most held in a direction of a connection\n"
    "  connections N     the most at a time\n"
    "  for-ms N          the relay ends by itself\n"
    "  listen-in NAME, connect-from NAME   network namespaces of the sockets\n"
    "On standard input: cut | delay MS [up|down] | rate BYTES [up|down] |\n"
    "stall MS [up|down] | refuse MS | garble [up|down] | status | quit\n";

/* Decimal, nothing after it but what `end` may point at. */
static inline bool
read_number(const char *text, const char **end, uint64_t most, uint64_t *number)
{
    char *stop = NULL;
    errno = 0;
    if (text[0] < '0' || text[0] > '9')
        return false;
    unsigned long long value = strtoull(text, &stop, 10);
    *number = value;
    if (end)
        *end = stop;
    else if (*stop != '\0')
        return false;
    return errno == 0 && value <= most;
}

static inline bool
read_address(const char *text, struct sockaddr_in *address)
{
    char host[INET_ADDRSTRLEN];
    uint64_t port = 0;
    const char *colon = strrchr(text, ':');
    if (!colon || (size_t)(colon - text) >= sizeof(host) ||
        !read_number(colon + 1, NULL, 65535, &port))
        return false;
    (void)snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
    address->sin_family = AF_INET;
    address->sin_port = htons((uint16_t)port);
    return inet_pton(AF_INET, host, &address->sin_addr) == 1;
}

static inline bool
read_times(const char *text, settings_t *settings)
{
    while (settings->cut_at_count < CUTS_AT_MAX &&
           read_number(text, &text, UINT32_MAX,
                       &settings->cut_at_ms[settings->cut_at_count])) {
        settings->cut_at_count++;
        if (*text == '\0')
            return true;
        if (*text++ != ',')
            return false;
    }
    return false;
}

static inline bool
read_option(const char *name, const char *value, settings_t *settings)
{
    const struct {
        const char *name;
        uint64_t *number, least, most;
    } numbers[] = {
        { "delay-ms", &settings->delay_ms, 0, 60000 },
        { "rate", &settings->rate, 0, (uint64_t)1 << 40 },
        { "cut-every-ms", &settings->cut_every_ms, 1, UINT32_MAX },
        { "cut-every-bytes", &settings->cut_every_bytes, 1, UINT64_MAX / 4 },
        { "refuse-ms", &settings->refuse_ms, 0, UINT32_MAX },
        { "seed", &settings->seed, 0, UINT64_MAX },
        { "buffer-kib", &settings->buffer_kib, 1, 1u << 20 },
        { "connections", &settings->connections, 1, 1024 },
        { "for-ms", &settings->for_ms, 1, UINT32_MAX },
    };
    for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
        if (strcmp(name, numbers[k].name) == 0)
            return read_number(value, NULL, numbers[k].most,
                               numbers[k].number) &&
                   *numbers[k].number >= numbers[k].least;
    }
    if (strcmp(name, "cut-at-ms") == 0)
        return read_times(value, settings);
    if (strcmp(name, "listen-in") == 0)
        settings->listen_in = value;
    else if (strcmp(name, "connect-from") == 0)
        settings->connect_from = value;
    else
        return false;
    return true;
}

static inline bool
read_settings(int argument_count, char **arguments, settings_t *settings)
{
    *settings = settings_usual;
    if (argument_count < 3 || argument_count % 2 == 0) {
        (void)fputs(settings_usage, stderr);
        return false;
    }
    for (int k = 1; k <= 2; k++) {
        if (!read_address(arguments[k],
                          k == 1 ? &settings->listen : &settings->connect)) {
            (void)fprintf(stderr, "relay: %s is not ADDRESS:PORT\n",
                          arguments[k]);
            return false;
        }
    }
    for (int k = 3; k + 1 < argument_count; k += 2) {
        if (strncmp(arguments[k], "--", 2) != 0 ||
            !read_option(arguments[k] + 2, arguments[k + 1], settings)) {
            (void)fprintf(stderr, "relay: refused: %s %s\n%s", arguments[k],
                          arguments[k + 1], settings_usage);
            return false;
        }
    }
    return true;
}

#endif
