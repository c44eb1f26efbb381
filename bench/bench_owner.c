/* bench_owner.c - a load like that of a machine's owner, which measures how
 * much a polite run slows it down.
 *
 * Usage: bench_owner                       both for a second, as text
 *        bench_owner spin SECONDS          one process that never waits
 *        bench_owner requests SECONDS      1,000 short requests a second
 * Prints one JSON object: for `spin` the rounds of work a second and a second
 * of CPU time (less where the hardware is shared), the share of a core that it
 * got, and the rounds in each slice of 10 ms; for `requests` quantiles of the
 * time from when a request was due until it was served, in microseconds.
 * Started by bench/idle.py.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "transport/socket/clock.h"

#define SLICE_NS UINT64_C(10000000)
#define PERIOD_NS UINT64_C(1000000)
#define SECONDS_MAX 600.0
/* Of one round: some 5 us; of a request: some 100 us. */
#define STEPS 2000u
#define REQUEST_ROUNDS 20u
#define SLICES_MAX 60000u

/* Work that the compiler cannot leave out (xorshift, Marsaglia 2003). */
static uint64_t
work(uint64_t seed)
{
    for (unsigned k = 0; k < STEPS; k++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
    }
    return seed;
}

static void
spin(double seconds)
{
    static uint32_t slice[SLICES_MAX];
    uint64_t begin_ns = skn_monotonic_ns(), now_ns, rounds = 0,
             seed = 88172645463325252;
    uint64_t end_ns = begin_ns + (uint64_t)(seconds * 1e9);
    while ((now_ns = skn_monotonic_ns()) < end_ns) {
        uint64_t at = (now_ns - begin_ns) / SLICE_NS;
        seed = work(seed);
        rounds++;
        if (at < SLICES_MAX)
            slice[at]++;
    }
    uint64_t count = (now_ns - begin_ns) / SLICE_NS;
    double cpu_s = (double)clock() / CLOCKS_PER_SEC;
    double wall_s = (double)(now_ns - begin_ns) * 1e-9;
    (void)printf("{\"owner\":\"spin\",\"rounds_per_s\":%.1f"
                 ",\"rounds_per_cpu_s\":%.1f,\"cpu_share\":%.4f,\"odd\":%d"
                 ",\"slices\":[",
                 (double)rounds / wall_s, (double)rounds / cpu_s,
                 cpu_s / wall_s, (int)(seed & 1));
    for (uint64_t k = 0; k < count && k < SLICES_MAX; k++)
        (void)printf("%s%u", k ? "," : "", slice[k]);
    (void)puts("]}");
}

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int
requests(double seconds)
{
    size_t count = (size_t)(seconds * 1e9 / (double)PERIOD_NS);
    double *late_us = calloc(count + 1, sizeof(*late_us));
    uint64_t seed = 88172645463325252,
             begin_ns = skn_monotonic_ns() + PERIOD_NS;
    if (!late_us)
        return 1;
    for (size_t k = 0; k < count; k++) {
        uint64_t due_ns = begin_ns + k * PERIOD_NS;
        const struct timespec due = { (time_t)(due_ns / 1000000000u),
                                      (long)(due_ns % 1000000000u) };
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) ==
               EINTR)
            continue;
        for (unsigned round = 0; round < REQUEST_ROUNDS; round++)
            seed = work(seed);
        late_us[k] = (double)(skn_monotonic_ns() - due_ns) * 1e-3;
    }
    qsort(late_us, count, sizeof(*late_us), compare);
    (void)printf("{\"owner\":\"requests\",\"count\":%zu,\"odd\":%d,\"p50\":%.1f"
                 ",\"p99\":%.1f,\"p999\":%.1f,\"max\":%.1f}\n",
                 count, (int)(seed & 1), late_us[count / 2],
                 late_us[count * 99 / 100], late_us[count * 999 / 1000],
                 late_us[count - (count > 0)]);
    free(late_us);
    return 0;
}

int
main(int argument_count, char **arguments)
{
    double seconds = argument_count > 2 ? strtod(arguments[2], NULL) : 1.0;
    if (argument_count == 1) {
        (void)requests(1.0);
        spin(1.0);
        return 0;
    }
    if (!(seconds > 0.01 && seconds <= SECONDS_MAX)) {
        (void)fprintf(stderr, "bench_owner: SECONDS in .01 to 600\n");
        return 64;
    }
    if (strcmp(arguments[1], "requests") == 0)
        return requests(seconds);
    spin(seconds);
    return 0;
}
