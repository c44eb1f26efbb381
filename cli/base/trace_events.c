/* trace_events.c - turns the trace file of a node into events, one per record.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/trace_events.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/process.h"
#include "transport/socket/clock.h"

/* Converts an origin in time of day, the only clock that the nodes of a run
 * share, to the monotonic clock. The trace's times count from the origin. */
static uint64_t
monotonic_of(uint64_t origin_ns)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    uint64_t day_ns =
        (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    uint64_t since_ns = day_ns > origin_ns ? day_ns - origin_ns : 0;
    uint64_t here_ns = skn_monotonic_ns();
    return here_ns > since_ns ? here_ns - since_ns : 1;
}

skn_status_t
cli_trace_events_begin(cli_trace_events_t *events, const cli_call_t *call,
                       const char **path, uint64_t *since_ns,
                       skn_error_t *error)
{
    const char *origin = cli_value(call, "trace-events");
    uint64_t origin_ns;
    events->path[0] = '\0';
    if (!origin)
        return SKN_OK;
    if (!cli_read_unsigned(origin, &origin_ns))
        return skn_fail(error, SKN_USAGE,
                        "--trace-events needs a time in nanoseconds, found "
                        "'%.40s'",
                        origin);
    const char *folder = getenv("TMPDIR");
    if (!folder || !folder[0] || strlen(folder) > 64)
        folder = "/tmp";
    (void)snprintf(events->path, sizeof(events->path), "%s/skein-trace.XXXXXX",
                   folder);
    int file = mkostemp(events->path, O_CLOEXEC);
    if (file < 0) {
        char text[160];
        (void)snprintf(text, sizeof(text),
                       "cannot create the file of the "
                       "trace in %s: %s",
                       folder, strerror(errno));
        cli_warn(call, text, "the trace will lack this node");
        events->path[0] = '\0';
        return SKN_OK;
    }
    (void)close(file);
    *path = events->path;
    *since_ns = monotonic_of(origin_ns);
    return SKN_OK;
}

void
cli_trace_events_end(cli_trace_events_t *events, bool prints)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t bytes;
    FILE *file = events->path[0] && prints ? fopen(events->path, "re") : NULL;
    while (file && (bytes = getline(&line, &room, file)) > 0) {
        size_t used = strcspn(line, "\n");
        used -= used > 0 && line[used - 1] == ',';
        line[used] = '\0';
        if (strncmp(line, "{\"ph\":", 6) == 0)
            (void)printf(CLI_TRACE_EVENT_HEAD "%s}\n", line);
    }
    free(line);
    if (file)
        (void)fclose(file);
    if (events->path[0])
        (void)unlink(events->path);
    events->path[0] = '\0';
}
