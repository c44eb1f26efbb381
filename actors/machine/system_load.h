/* system_load.h - counts how long the actors of a core have had work.
 *
 * This is wall-clock time in which at least one of them was not waiting: a core
 * that is shared with others, or rationed, works longer for each batch. So
 * among nodes that train the same batches, the loads show which node is slow,
 * and by how much; CPU time would not.
 *
 * Any thread: it is a counter like those of counters.h and never waits.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_MACHINE_SYSTEM_LOAD_H
#define ACTORS_MACHINE_SYSTEM_LOAD_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct skn_load {
    int core; /* number of the core in the wiring */
    /* The number of actors at work (the lowest bits), and when the first of
     * them began, in ticks. */
    _Atomic uint64_t now;
    _Atomic uint64_t ticks; /* total before that */
} skn_load_t;

void skn_load_init(skn_load_t *load, int core);
/* Record that an actor begins to work, and that it waits again. */
void skn_load_enter(skn_load_t *load, uint64_t now_ns);
void skn_load_leave(skn_load_t *load, uint64_t now_ns);
/* The total up to now; to 16 ns. */
uint64_t skn_load_busy_ns(const skn_load_t *load, uint64_t now_ns);

#endif
