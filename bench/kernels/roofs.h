/* roofs.h - measures the cases of bench_kernels.c against roofs.
 *
 * A case states the least work of one call, in the resources below. A roof is
 * the amount of one resource that the core delivers in a nanosecond when it
 * does nothing else. The bound of a case is the resource that would take
 * longest if each roof were reached; the percentage is that time over the
 * measured one. The roofs of a case are measured again between its runs, since
 * other work on the processor slows both; the percentage is the median of those
 * of the runs. A level of memory is one resource: bytes that are only read and
 * bytes that are read and written back have different roofs, and their times
 * add up.  SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_KERNELS_ROOFS_H
#define BENCH_KERNELS_ROOFS_H

#include <stdbool.h>
#include <stdint.h>

#include "actors/rows/rows.h"
#include "kernels/kernels.h"
#include "skein/error.h"

typedef enum bench_roof {
    BENCH_MULTIPLY,     /* multiplications and multiply-adds of floats */
    BENCH_HALF,         /* multiply-adds of bf16 */
    BENCH_DIVIDE,       /* divisions */
    BENCH_ROOT,         /* pairs of a square root and a division */
    BENCH_DICE,         /* dice of 16 bits */
    BENCH_CACHE_READ,   /* bytes, from the second-level cache */
    BENCH_CACHE_UPDATE, /* bytes read or written, if both is done */
    BENCH_MEMORY_READ,
    BENCH_MEMORY_UPDATE,
    BENCH_ROOFS
} bench_roof_t;

/* The percentage of its bound that a kernel should reach. */
#define BENCH_PERCENT_WANTED 70

typedef struct bench_session {
    bool json;
    const char *wanted; /* part of a case's name */
    int runs;           /* runs for each median */
    bool counting;      /* cases are only counted, without arrays */
    const skn_kernels_t *kernels;
    double roof[BENCH_ROOFS];
    float *table; /* far larger than any cache; numbers in (0, 1) */
    size_t table_floats;
    float *streams; /* BENCH_STREAMS that share the second-level cache */
    size_t stream_floats;
    unsigned case_count, below_count;
} bench_session_t;

#define BENCH_STREAMS 4

/* Allocates the arrays, then measures and prints the roofs. */
skn_status_t bench_session_init(bench_session_t *session, skn_error_t *error);
void bench_session_fini(bench_session_t *session);
/* Measures one roof of operations in registers (BENCH_DICE and before), which
 * needs no array: only `kernels` of the session is set. */
void bench_roof(bench_session_t *session, bench_roof_t roof, int runs);

/* Measures and prints one case if its name was requested. `work` is the work of
 * one call; `subject` and what it points to are not used while counting. */
void bench_case(bench_session_t *session, const char *name,
                void (*call)(void *subject), void *subject,
                const double work[BENCH_ROOFS]);

/* Allocates `count` floats, on huge pages if large enough, with numbers in (0,
 * 1), or in (-1, 1) if `sign`, whose halves are bf16 numbers in the same range;
 * to be released by free. NULL and a filled `error` if memory is short. */
float *bench_numbers(size_t count, bool sign, skn_error_t *error);

/* The distance between rows of a layer in floats: actors/rows/rows.h. */
size_t bench_row_floats(skn_rows_kind_t kind, uint32_t width);

/* Measure the cases: products, rows in the cache, rows of a table in memory. */
skn_status_t bench_products(bench_session_t *session, skn_error_t *error);
void bench_rows(bench_session_t *session);
void bench_table(bench_session_t *session);

#endif
