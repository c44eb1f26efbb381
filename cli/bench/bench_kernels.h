/* bench_kernels.h - how near each kernel is to what a core can do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BENCH_BENCH_KERNELS_H
#define CLI_BENCH_BENCH_KERNELS_H

#include <stdbool.h>
#include <stdio.h>

#include "skein/error.h"

/* Runs behind each median, at most. */
#define SKN_BENCH_RUNS_MAX 25

/* Measures the roofs of this core, then every kernel of the instruction set in
 * use whose case contains `wanted`, with `runs` runs each, and prints a table,
 * or one JSON object a line. SKN_USAGE: no case has that name, or SKEIN_ISA
 * names a set that is not there. */
skn_status_t skn_bench_kernels(FILE *out, bool json, const char *wanted,
                               int runs, skn_error_t *error);

#endif
