/* up_local.c - makes keys, ports and overrides for nodes on this machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/up/up.h"
#include "cli/base/process.h"
#include "formats/text/system_error.h"
#include "skein/member.h"

/* Holds a loopback port until the run is over; 0: none is free.
 *
 * The system chooses it, and the socket that is bound to it is kept, though
 * nothing ever listens on it: while it exists, Linux gives the port neither to
 * a program that asks for any port nor to a connection that needs one. The node
 * binds the same port too, each time it is started, which is allowed because
 * both sockets have SO_REUSEADDR. */
static uint16_t
hold_port(cli_up_local_t *local, skn_error_t *error)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t bytes = sizeof(address);
    int number = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert(local->held_count < sizeof(local->held) / sizeof(local->held[0]));
    if (number >= 0)
        local->held[local->held_count++] = number;
    if (number >= 0 &&
        setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
        bind(number, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        getsockname(number, (struct sockaddr *)&address, &bytes) == 0)
        return ntohs(address.sin_port);
    (void)skn_fail_code(error, SKN_UNAVAILABLE, errno, NULL,
                        "no free loopback port for a node of this machine");
    return 0;
}

/* Deals the cores of this process: node k gets [*first, *first + *count). With
 * fewer cores than nodes, nodes share cores. */
static void
deal_cores(uint32_t units, uint32_t nodes, uint32_t k, uint32_t *first,
           uint32_t *count)
{
    if (units < nodes) {
        *first = k % units;
        *count = 1;
        return;
    }
    *first = units * k / nodes;
    *count = units * (k + 1) / nodes - *first;
}

static skn_status_t
write_node(FILE *file, const cli_up_local_t *local, uint32_t k, uint16_t port,
           uint32_t units, skn_error_t *error)
{
    char path[128], public_key[SKN_PUBLIC_KEY_BYTES];
    uint32_t first, count;
    (void)snprintf(path, sizeof(path), "%s/n%u.key", local->folder, k);
    skn_status_t status = skn_keygen(path, NULL, public_key, error);
    deal_cores(units, local->count, k, &first, &count);
    (void)fprintf(file, "%s{name: n%u, address: \"tcp://127.0.0.1:%u\", key: ",
                  k > 0 ? ", " : "", k, port);
    cli_json_string(path, file);
    (void)fputs(", cores: [", file);
    for (uint32_t c = first; c < first + count; c++)
        (void)fprintf(file, "%s%u", c > first ? ", " : "", c);
    (void)fputs("]}", file);
    return status;
}

/* Adds the override KEY=TEXT. */
static skn_status_t
add_override(cli_up_local_t *local, const char *key, const char *text,
             skn_error_t *error)
{
    size_t bytes = 0;
    FILE *file =
        open_memstream(&local->overrides[local->override_count], &bytes);
    if (!file)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for the nodes");
    (void)fprintf(file, "%s=", key);
    cli_json_string(text, file); /* YAML contains JSON */
    bool written = fclose(file) == 0;
    local->override_count++;
    return written ? SKN_OK
                   : skn_fail(error, SKN_NO_MEMORY, "no memory for the nodes");
}

/* Adds the coordinator of local nodes, with its own key and port. */
static skn_status_t
write_coordinator(cli_up_local_t *local, skn_error_t *error)
{
    char path[128], address[64], public_key[SKN_PUBLIC_KEY_BYTES];
    (void)snprintf(path, sizeof(path), "%s/coordinator.key", local->folder);
    skn_status_t status = skn_keygen(path, NULL, public_key, error);
    uint16_t port = status == SKN_OK ? hold_port(local, error) : 0;
    if (port == 0)
        return error->status;
    (void)snprintf(address, sizeof(address), "tcp://127.0.0.1:%u", port);
    status = add_override(local, "coordinator.key", path, error);
    return status == SKN_OK
               ? add_override(local, "coordinator.address", address, error)
               : status;
}

static skn_status_t
write_nodes(cli_up_local_t *local, uint32_t units, skn_error_t *error)
{
    size_t bytes = 0;
    skn_status_t status = SKN_OK;
    FILE *file = open_memstream(&local->overrides[0], &bytes);
    if (!file)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for the nodes");
    (void)fputs("nodes=[", file);
    for (uint32_t k = 0; k < local->count && status == SKN_OK; k++) {
        uint16_t port = hold_port(local, error);
        status = port == 0 ? error->status
                           : write_node(file, local, k, port, units, error);
    }
    (void)fputs("]", file);
    if (fclose(file) != 0 && status == SKN_OK)
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for the nodes");
    local->override_count = 1;
    /* A file's settings for one process do not apply to several nodes; the
     * memory that it allows is for all of them together. */
    local->overrides[1] = strdup("resources.cores=auto");
    if (!local->overrides[local->override_count++] && status == SKN_OK)
        status = skn_fail(error, SKN_NO_MEMORY, "no memory for the nodes");
    if (status == SKN_OK && local->elastic)
        status = write_coordinator(local, error);
    return status;
}

skn_status_t
cli_up_local_open(cli_up_local_t *local, uint32_t count, skn_error_t *error)
{
    const char *base = getenv("TMPDIR");
    local->count = count;
    if (!base || strlen(base) > 40)
        base = "/tmp";
    (void)snprintf(local->folder, sizeof(local->folder), "%s/skein-up.XXXXXX",
                   base);
    if (!mkdtemp(local->folder)) { /* mode 0700 */
        local->folder[0] = '\0';
        return skn_fail_code(
            error, SKN_CANNOT_CREATE, errno, NULL,
            "cannot create a folder for the keys of the nodes in "
            "%s",
            base);
    }
    return write_nodes(local, cli_unit_count(), error);
}

void
cli_up_local_forget(cli_up_local_t *local)
{
    char path[160];
    for (uint32_t k = 0; local->folder[0] && k < local->count; k++) {
        (void)snprintf(path, sizeof(path), "%s/n%u.key", local->folder, k);
        (void)unlink(path);
        (void)snprintf(path, sizeof(path), "%s/n%u.key" SKN_SECRET_KEY_SUFFIX,
                       local->folder, k);
        (void)unlink(path);
    }
    if (local->folder[0] && local->elastic) {
        (void)snprintf(path, sizeof(path), "%s/coordinator.key", local->folder);
        (void)unlink(path);
        (void)snprintf(path, sizeof(path),
                       "%s/coordinator.key" SKN_SECRET_KEY_SUFFIX,
                       local->folder);
        (void)unlink(path);
    }
    if (local->folder[0])
        (void)rmdir(local->folder);
    local->folder[0] = '\0';
}

void
cli_up_local_close(cli_up_local_t *local)
{
    cli_up_local_forget(local);
    for (size_t k = 0; k < local->held_count; k++)
        (void)close(local->held[k]);
    for (size_t k = 0; k < local->override_count; k++)
        free(local->overrides[k]);
}
