/* bench_kernels.h - measures how near each kernel is to the roofs of a core.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BENCH_BENCH_KERNELS_H
#define CLI_BENCH_BENCH_KERNELS_H

#include <stdbool.h>
#include <stdio.h>

#include "skein/error.h"

/* The most runs for each median. */
#define SKN_BENCH_RUNS_MAX 25

/* Measures the roofs of this core, then every kernel of the instruction set in
 * use whose case contains `wanted`, with `runs` runs each, and prints a table,
 * or one JSON object per line. SKN_USAGE if no case has that name, or SKEIN_ISA
 * names a set that is not available. */
skn_status_t skn_bench_kernels(FILE *out, bool json, const char *wanted,
                               int runs, skn_error_t *error);

#endif
