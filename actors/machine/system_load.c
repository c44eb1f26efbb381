/* system_load.c - computes the time in which any actor of a core works.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/machine/system_load.h"

/* A tick is 16 ns: 52 bits of them are two years. */
#define TICK_BITS 4
#define COUNT_BITS 12
#define COUNT_MASK (((uint64_t)1 << COUNT_BITS) - 1)

void
skn_load_init(skn_load_t *load, int core)
{
    load->core = core;
    atomic_init(&load->now, 0);
    atomic_init(&load->ticks, 0);
}

/* The ticks since the first working actor began, whose clock may have been read
 * later than ours. */
static uint64_t
ticks_since(uint64_t now, uint64_t now_ns)
{
    uint64_t begin = now >> COUNT_BITS, end = now_ns >> TICK_BITS;
    return end > begin ? end - begin : 0;
}

void
skn_load_enter(skn_load_t *load, uint64_t now_ns)
{
    uint64_t now = atomic_load(&load->now), next;
    do
        next = (now & COUNT_MASK) == 0
                   ? ((now_ns >> TICK_BITS) << COUNT_BITS) + 1
                   : now + 1;
    while (!atomic_compare_exchange_weak(&load->now, &now, next));
}

void
skn_load_leave(skn_load_t *load, uint64_t now_ns)
{
    uint64_t before = atomic_fetch_sub(&load->now, 1);
    if ((before & COUNT_MASK) == 1)
        atomic_fetch_add(&load->ticks, ticks_since(before, now_ns));
}

uint64_t
skn_load_busy_ns(const skn_load_t *load, uint64_t now_ns)
{
    uint64_t ticks = atomic_load(&load->ticks);
    uint64_t now = atomic_load(&load->now);
    if ((now & COUNT_MASK) > 0)
        ticks += ticks_since(now, now_ns);
    return ticks << TICK_BITS;
}
