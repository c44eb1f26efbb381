/* training_time.c - counts what of a process's time and bytes is training.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/course/training_time.h"

static skn_time_count_t
count_of(const skn_clock_t *clock)
{
    return (skn_time_count_t){ .wall_ns = clock->wall_ns,
                               .cpu_ns = clock->cpu_ns,
                               .sent_bytes = clock->wire_sent_bytes,
                               .received_bytes = clock->wire_received_bytes };
}

void
skn_training_time_init(skn_training_time_t *time,
                       const skn_progress_t *progress)
{
    *time = (skn_training_time_t){
        .seconds_resumed = progress->seconds,
        .cpu_seconds_resumed = progress->cpu_seconds,
        .sent_bytes_resumed = progress->wire_bytes_sent,
        .received_bytes_resumed = progress->wire_bytes_received,
    };
}

void
skn_training_time_start(skn_training_time_t *time, const skn_clock_t *clock)
{
    time->origin = time->last = count_of(clock);
    time->origin.cpu_ns = 0;
}

void
skn_training_time_mark(skn_training_time_t *time, const skn_clock_t *clock,
                       skn_progress_t *progress)
{
    const skn_time_count_t *origin = &time->origin;
    time->last = count_of(clock);
    progress->seconds = time->seconds_resumed +
                        (double)(clock->wall_ns - origin->wall_ns) * 1e-9;
    progress->cpu_seconds = time->cpu_seconds_resumed +
                            (double)(clock->cpu_ns - origin->cpu_ns) * 1e-9;
    progress->wire_bytes_sent =
        time->sent_bytes_resumed + clock->wire_sent_bytes - origin->sent_bytes;
    progress->wire_bytes_received = time->received_bytes_resumed +
                                    clock->wire_received_bytes -
                                    origin->received_bytes;
}

void
skn_training_time_skip_bytes(skn_training_time_t *time,
                             const skn_clock_t *clock)
{
    time->origin.sent_bytes += clock->wire_sent_bytes - time->last.sent_bytes;
    time->origin.received_bytes +=
        clock->wire_received_bytes - time->last.received_bytes;
    time->last.sent_bytes = clock->wire_sent_bytes;
    time->last.received_bytes = clock->wire_received_bytes;
}

void
skn_training_time_skip(skn_training_time_t *time, const skn_clock_t *clock)
{
    time->origin.wall_ns += clock->wall_ns - time->last.wall_ns;
    time->origin.cpu_ns += clock->cpu_ns - time->last.cpu_ns;
    skn_training_time_skip_bytes(time, clock);
    time->last = count_of(clock);
}
