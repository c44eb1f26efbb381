/* bench_flow.h - measures how fast messages flow between actors of one process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BENCH_BENCH_FLOW_H
#define CLI_BENCH_BENCH_FLOW_H

#include <stdbool.h>
#include <stdio.h>

/* Measures every pattern of pipes at 64 B, 4 KiB and 1 MiB beside bare libzmq
 * and memcpy, in about 20 s, and prints a table, or one JSON object per line.
 * Returns the exit code; prints errors on standard error. */
int skn_bench_flow(FILE *out, bool json);

#endif
