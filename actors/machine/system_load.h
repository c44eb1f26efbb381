/* system_load.h - how long the actors of a core have had work in hand.
 *
 * Wall-clock time in which at least one of them was not waiting: a core that
 * is shared with others, or rationed, is at work for longer a batch. So of
 * nodes that train the same batches, the loads tell which is the slow one, and
 * by how much; CPU time would not.
 *
 * Any thread: a count, as those of counters.h, and no way to wait.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_MACHINE_SYSTEM_LOAD_H
#define ACTORS_MACHINE_SYSTEM_LOAD_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct skn_load {
    int core; /* whose it is, as the wiring has it */
    /* How many actors are at work (the lowest bits), and when the first of them
     * began, in ticks. */
    _Atomic uint64_t now;
    _Atomic uint64_t ticks; /* before that */
} skn_load_t;

void skn_load_init(skn_load_t *load, int core);
/* An actor takes up work, and waits again. */
void skn_load_enter(skn_load_t *load, uint64_t now_ns);
void skn_load_leave(skn_load_t *load, uint64_t now_ns);
/* All in all, up to now; to 16 ns. */
uint64_t skn_load_busy_ns(const skn_load_t *load, uint64_t now_ns);

#endif
