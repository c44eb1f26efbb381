/* bench.h - times one case of a bench and prints its line.
 *
 * Columns: case, nanoseconds a call (median), spread ((third - first quartile)
 * / median), rate, share of a roof. Header only; used by bench_<source>.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Runs behind each median: enough to see a quartile, few enough to wait for. */
#define BENCH_RUNS 25
/* A run repeats a short case until it lasts this long: the clock costs 200
 * ns, and a timer interrupt comes every few milliseconds. */
#define BENCH_RUN_NS 2e6

typedef struct bench_time {
    double median_ns, spread;
} bench_time_t;

/* The thread's own processor time: what others do in between is not ours. */
static inline double
bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static inline int
bench_order(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Nanoseconds of one of `calls` calls. */
static inline double
bench_call_ns(void (*call)(void *subject), void *subject, long calls)
{
    double start = bench_now_ns();
    for (long i = 0; i < calls; i++)
        call(subject);
    return (bench_now_ns() - start) / (double)calls;
}

/* How many calls last `least_ns`; they warm the caches. */
static inline long
bench_calls_of(void (*call)(void *subject), void *subject, double least_ns)
{
    long calls = 1;
    while (bench_call_ns(call, subject, calls) * (double)calls < least_ns)
        calls *= 2;
    return calls;
}

static inline double
bench_median(double *value, int count)
{
    qsort(value, (size_t)count, sizeof *value, bench_order);
    return value[count / 2];
}

/* Times `call(subject)`; the first calls warm caches and are not counted. At
 * most `runs` runs, and after three of them no more than `most_ns` allow. */
static inline bench_time_t
bench_measure_within(void (*call)(void *subject), void *subject, int runs,
                     double most_ns)
{
    double run_ns[BENCH_RUNS], begin = bench_now_ns();
    long calls = bench_calls_of(call, subject, BENCH_RUN_NS);
    int run = 0;
    for (; run < runs && run < BENCH_RUNS &&
           (run < 3 || bench_now_ns() - begin < most_ns);
         run++)
        run_ns[run] = bench_call_ns(call, subject, calls);
    double median = bench_median(run_ns, run);
    double quartiles = run_ns[run * 3 / 4] - run_ns[run / 4];
    return (bench_time_t){ median, quartiles / median };
}

static inline bench_time_t
bench_measure(void (*call)(void *subject), void *subject)
{
    return bench_measure_within(call, subject, BENCH_RUNS, 1e12);
}

static inline void
bench_head(void)
{
    printf("%-44s %12s %7s %9s %-8s %6s\n", "case", "ns_per_call", "spread",
           "rate", "unit", "share");
}

/* `work` is what one call does, in flop or bytes; `roof` in the same a ns
 * (0 when there is none). */
static inline void
bench_line(const char *name, bench_time_t time, double work, const char *unit,
           double roof)
{
    double rate = work / time.median_ns;
    printf("%-44s %12.1f %6.1f%% %9.2f %-8s ", name, time.median_ns,
           100 * time.spread, rate, unit);
    if (roof > 0)
        printf("%5.1f%%\n", 100 * rate / roof);
    else
        printf("%6s\n", "-");
    fflush(stdout);
}

#endif
