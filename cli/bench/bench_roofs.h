/* bench_roofs.h - a case of `skein bench kernels`, and what bounds it.
 *
 * A case says what one call does at least, in the currencies below. A roof is
 * how much of one the core does in a nanosecond when it does nothing else.
 * The bound of a case is what would take longest if each roof were reached;
 * its percentage is that time over the measured one. The roofs of a case are
 * measured again between its runs, since what else runs on the processor slows
 * both; the percentage is the median of those of the runs. What a level of
 * memory gives is one currency: bytes that are read only and bytes that are
 * read and written back have different roofs, and their times add up.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BENCH_BENCH_ROOFS_H
#define CLI_BENCH_BENCH_ROOFS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "actors/rows/rows.h"
#include "kernels/kernels.h"
#include "skein/error.h"

typedef enum bench_roof {
    BENCH_MULTIPLY,     /* multiplications and multiply-adds of floats */
    BENCH_HALF,         /* multiply-adds of bf16 */
    BENCH_DIVIDE,       /* divisions */
    BENCH_ROOT,         /* pairs of a root and a division */
    BENCH_DICE,         /* dice of 16 bits */
    BENCH_CACHE_READ,   /* bytes, from the second-level cache */
    BENCH_CACHE_UPDATE, /* read or written, where both is done */
    BENCH_MEMORY_READ,
    BENCH_MEMORY_UPDATE,
    BENCH_ROOFS
} bench_roof_t;

/* Share of its bound that a kernel should reach. */
#define BENCH_PERCENT_WANTED 70

typedef struct bench_session {
    FILE *out;
    bool json;
    const char *wanted; /* part of a case's name */
    int runs;           /* behind each median */
    bool counting;      /* cases are counted, not called: there are no arrays */
    const skn_kernels_t *kernels;
    double roof[BENCH_ROOFS];
    float *table; /* far greater than any cache; numbers in (0, 1) */
    size_t table_floats;
    float *streams; /* BENCH_STREAMS that share the second-level cache */
    size_t stream_floats;
    unsigned case_count, below_count;
} bench_session_t;

#define BENCH_STREAMS 4

/* Makes the arrays and measures and prints the roofs. */
skn_status_t bench_session_init(bench_session_t *session, skn_error_t *error);
void bench_session_fini(bench_session_t *session);

/* Measures and prints one case, if its name was wanted. `work` is what a call
 * does; `subject` and what it points to are not looked at while counting. */
void bench_case(bench_session_t *session, const char *name,
                void (*call)(void *subject), void *subject,
                const double work[BENCH_ROOFS]);

/* `count` floats, on huge pages if they fill some, numbers in (0, 1) or in
 * (-1, 1), whose halves are numbers of bf16 in the same range; released by
 * free. NULL and a filled `error` when memory is short. */
float *bench_numbers(size_t count, bool sign, skn_error_t *error);

/* Floats from one row of a layer to the next: actors/rows/rows.h. */
size_t bench_row_floats(skn_rows_kind_t kind, uint32_t width);

/* The cases: products, rows in the cache, rows of a table in memory. */
skn_status_t bench_products(bench_session_t *session, skn_error_t *error);
void bench_rows(bench_session_t *session);
void bench_table(bench_session_t *session);

#endif
