/* roofs.c - measures the roofs of a core, and each case against them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench/kernels/roofs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/kernels/registers.h"

#define ROOF_HUGE_BYTES ((size_t)2 << 20)
/* More than the last-level cache that one core can fill: at most 96 MiB
 * today. */
#define TABLE_BYTES ((size_t)256 << 20)
/* The size of the second-level cache if the system does not report it. */
#define CACHE_BYTES ((size_t)512 << 10)
#define ROOF_STEPS 4096
/* The time to measure a roof between two runs of a case. */
#define BETWEEN_NS 2e5
/* The most time for a case: a product in plain C takes a second, and three of
 * them are enough. */
#define CASE_NS_MAX 1e9

static const struct {
    const char *name, *bound, *unit, *help;
    double factor; /* units per operation */
} roofs[BENCH_ROOFS] = {
    { "multiply", "compute", "GFLOP/s", "f32 multiply-adds in registers", 2 },
    { "half", "compute", "GFLOP/s", "bf16 multiply-adds in registers", 2 },
    { "divide", "compute", "Gdiv/s", "divisions in registers", 1 },
    { "root", "compute", "Groot/s", "square roots and divisions", 1 },
    { "dice", "compute", "Gdice/s", "random 16-bit numbers in registers", 1 },
    { "cache_read", "cache", "GB/s", "reading the second-level cache", 1 },
    { "cache_update", "cache", "GB/s", "reading and writing it", 1 },
    { "memory_read", "memory", "GB/s", "reading memory", 1 },
    { "memory_update", "memory", "GB/s", "reading and writing it", 1 },
};

/* The tables of the instruction sets in this build:
 * bench/kernels/registers.c. */
#if defined(__x86_64__)
#define ISAS(I) I(amx) I(avx512_bf16) I(avx512) I(avx2) I(scalar)
#elif defined(__aarch64__)
#define ISAS(I) I(neon) I(scalar)
#else
#define ISAS(I) I(scalar)
#endif
#define I(isa) extern const bench_registers_t bench_registers_##isa;
ISAS(I)
#undef I

static const bench_registers_t *
registers_of(const char *isa)
{
    static const bench_registers_t *const all[] = {
#define I(isa) &bench_registers_##isa,
        ISAS(I)
#undef I
    };
    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
        if (strcmp(all[k]->isa, isa) == 0)
            return all[k];
    return NULL;
}

float *
bench_numbers(size_t count, bool sign, skn_error_t *error)
{
    size_t bytes = count * sizeof(float);
    size_t page = bytes >= ROOF_HUGE_BYTES ? ROOF_HUGE_BYTES : 64;
    bytes = (bytes + page - 1) / page * page;
    float *x = aligned_alloc(page, bytes);
    uint32_t state = 12345, bits;
    if (!x) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for %zu bytes", bytes);
        return NULL;
    }
    if (page == ROOF_HUGE_BYTES)
        (void)madvise(x, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = ((float)(state >> 8) + 0.5f) * 0x1p-24f;
        x[i] = sign ? 2.0f * x[i] - 1.0f : x[i];
        memcpy(&bits, x + i, sizeof(bits));
        bits = (bits >> 16) * 0x10001u;
        memcpy(x + i, &bits, sizeof(bits));
    }
    return x;
}

/* Divides the size of 2^20 rows, so that rounding to huge pages does not
 * count. */
size_t
bench_row_floats(skn_rows_kind_t kind, uint32_t width)
{
    return (skn_rows_bytes(kind, 1 << 20, width) >> 20) / sizeof(float);
}

/* --- roofs ---------------------------------------------------------------- */

typedef struct probe {
    double (*in_registers)(size_t steps, float *sink);
    const bench_registers_t *registers;
    float *x;
    size_t n;
    double done; /* amount done by one call */
    _Alignas(64) float sink[BENCH_SINK_FLOATS];
} probe_t;

static void
call_registers(void *subject)
{
    probe_t *probe = subject;
    probe->done = probe->in_registers(ROOF_STEPS, probe->sink);
}

static void
call_read(void *subject)
{
    probe_t *probe = subject;
    probe->registers->read(probe->x, probe->n, probe->sink);
    probe->done = (double)probe->n * sizeof(float);
}

static void
call_update(void *subject)
{
    probe_t *probe = subject;
    probe->registers->update(probe->x, probe->n, 1.0f);
    probe->done = 2.0 * (double)probe->n * sizeof(float);
}

/* Sets up `probe` to measure roof `roof`; NULL: another roof is used
 * instead. */
static void (*probe_of(const bench_session_t *session, int roof,
                       probe_t *probe))(void *subject)
{
    const bench_registers_t *registers = registers_of(session->kernels->isa);
    double (*const in_registers[])(size_t, float *) = {
        registers->multiply, registers->half, registers->divide,
        registers->root,     registers->dice,
    };
    bool memory = roof >= BENCH_MEMORY_READ;
    *probe = (probe_t){ .registers = registers };
    for (int i = 0; i < BENCH_SINK_FLOATS; i++)
        probe->sink[i] = 0.9f + 0.001f * (float)i;
    if (roof <= BENCH_DICE) {
        probe->in_registers = in_registers[roof];
        return probe->in_registers ? call_registers : NULL;
    }
    probe->x = memory ? session->table : session->streams;
    probe->n =
        memory ? session->table_floats : BENCH_STREAMS * session->stream_floats;
    return roof == BENCH_CACHE_READ || roof == BENCH_MEMORY_READ ? call_read
                                                                 : call_update;
}

/* Measures a roof `runs` times, each for at least `least_ns`. */
static void
measure_roof(bench_session_t *session, int roof, int runs, double least_ns)
{
    probe_t probe;
    double ns[BENCH_RUNS];
    void (*call)(void *) = probe_of(session, roof, &probe);
    if (!call) { /* bf16 numbers are multiplied as floats */
        measure_roof(session, BENCH_MULTIPLY, runs, least_ns);
        session->roof[roof] = session->roof[BENCH_MULTIPLY];
        return;
    }
    long calls = bench_calls_of(call, &probe, least_ns);
    for (int run = 0; run < runs; run++)
        ns[run] = bench_call_ns(call, &probe, calls);
    session->roof[roof] = probe.done / bench_median(ns, runs);
}

void
bench_roof(bench_session_t *session, bench_roof_t roof, int runs)
{
    measure_roof(session, (int)roof, runs, BENCH_RUN_NS);
}

static void
print_roofs(const bench_session_t *session)
{
    if (!session->json)
        printf("%-44s %9s\n", session->kernels->isa, "roof");
    for (int k = 0; k < BENCH_ROOFS; k++) {
        double rate = session->roof[k] * roofs[k].factor;
        if (session->json)
            printf("{\"roof\":\"%s\",\"isa\":\"%s\",\"bound\":\"%s\","
                   "\"rate\":%.3f,\"unit\":\"%s\"}\n",
                   roofs[k].name, session->kernels->isa, roofs[k].bound, rate,
                   roofs[k].unit);
        else
            printf("%-7s %-36s %9.1f %s\n", roofs[k].bound, roofs[k].help, rate,
                   roofs[k].unit);
    }
    if (!session->json)
        printf("\n%-32s %-7s %9s %9s %-7s %7s %12s %6s\n", "kernel", "bound",
               "figure", "roof", "unit", "of roof", "ns a call", "spread");
}

skn_status_t
bench_session_init(bench_session_t *session, skn_error_t *error)
{
    long told = sysconf(_SC_LEVEL2_CACHE_SIZE);
    size_t cache_bytes = told > 0 ? (size_t)told : CACHE_BYTES;
    /* All streams together take half of the cache; each is a multiple of a
     * page. */
    session->stream_floats =
        (cache_bytes / 2 / BENCH_STREAMS / 4096 + 1) * 4096 / sizeof(float);
    session->table_floats = TABLE_BYTES / sizeof(float);
    /* Use a huge page: scattered small pages would collide in some cache
     * sets. */
    size_t floats = BENCH_STREAMS * session->stream_floats;
    if (floats < ROOF_HUGE_BYTES / sizeof(float))
        floats = ROOF_HUGE_BYTES / sizeof(float);
    session->streams = bench_numbers(floats, true, error);
    session->table = bench_numbers(session->table_floats, false, error);
    if (!session->streams || !session->table)
        return SKN_NO_MEMORY;
    for (int k = 0; k < BENCH_ROOFS; k++)
        measure_roof(session, k, session->runs, BENCH_RUN_NS);
    print_roofs(session);
    return SKN_OK;
}

void
bench_session_fini(bench_session_t *session)
{
    free(session->table);
    free(session->streams);
}

/* --- cases ---------------------------------------------------------------- */

/* Finds the roof that bounds a case; *least_ns: the time that the case would
 * take then, and *amount how much of that resource a call needs. A level of
 * memory is reported as its first roof. */
static bench_roof_t
bound_of(const bench_session_t *session, const double work[BENCH_ROOFS],
         double *least_ns, double *amount)
{
    bench_roof_t bound = BENCH_MULTIPLY;
    *least_ns = *amount = 0;
    for (int k = 0; k < BENCH_ROOFS; k++) {
        double ns = work[k] / session->roof[k], all = work[k];
        int first = k;
        if (k == BENCH_CACHE_UPDATE || k == BENCH_MEMORY_UPDATE) {
            first = k - 1;
            ns += work[first] / session->roof[first];
            all += work[first];
        }
        if (ns > *least_ns) {
            *least_ns = ns;
            *amount = all * roofs[k].factor;
            bound = (bench_roof_t)first;
        }
    }
    return bound;
}

/* The share of its bound that a case reaches: the median over its runs, each
 * compared with the roofs at that time. */
static double
measure_case(bench_session_t *session, void (*call)(void *subject),
             void *subject, const double work[BENCH_ROOFS], bench_time_t *time,
             bench_roof_t *bound, double *amount)
{
    double share[BENCH_RUNS], ns[BENCH_RUNS], begin = bench_now_ns();
    long calls = bench_calls_of(call, subject, BENCH_RUN_NS);
    int run = 0;
    for (; run < session->runs && run < BENCH_RUNS &&
           (run < 3 || bench_now_ns() - begin < CASE_NS_MAX);
         run++) {
        double least_ns;
        for (int k = 0; k < BENCH_ROOFS; k++)
            if (work[k] > 0)
                measure_roof(session, k, 1, BETWEEN_NS);
        ns[run] = bench_call_ns(call, subject, calls);
        *bound = bound_of(session, work, &least_ns, amount);
        share[run] = least_ns / ns[run];
    }
    time->median_ns = bench_median(ns, run);
    time->spread = (ns[run * 3 / 4] - ns[run / 4]) / time->median_ns;
    return bench_median(share, run);
}

void
bench_case(bench_session_t *session, const char *name,
           void (*call)(void *subject), void *subject,
           const double work[BENCH_ROOFS])
{
    double least_ns, amount;
    if (!strstr(name, session->wanted))
        return;
    session->case_count++;
    if (session->counting)
        return;
    bench_time_t time;
    bench_roof_t bound;
    double share =
        measure_case(session, call, subject, work, &time, &bound, &amount);
    double percent = 100 * share;
    least_ns = share * time.median_ns;
    session->below_count += percent < BENCH_PERCENT_WANTED;
    if (session->json)
        printf("{\"kernel\":\"%.*s\",\"case\":\"%s\",\"isa\":\"%s\","
               "\"bound\":\"%s\",\"by\":\"%s\",\"rate\":%.3f,\"roof\":%.3f,"
               "\"unit\":\"%s\",\"percent\":%.1f,\"ns_per_call\":%.1f,"
               "\"spread\":%.3f}\n",
               (int)strcspn(name, "/"), name, name, session->kernels->isa,
               roofs[bound].bound, roofs[bound].name, amount / time.median_ns,
               amount / least_ns, roofs[bound].unit, percent, time.median_ns,
               time.spread);
    else
        printf("%-32s %-7s %9.2f %9.2f %-7s %6.1f%% %12.1f %5.1f%%\n", name,
               roofs[bound].bound, amount / time.median_ns, amount / least_ns,
               roofs[bound].unit, percent, time.median_ns, 100 * time.spread);
    (void)fflush(stdout);
}
