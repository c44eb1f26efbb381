/* bench_flow.c - times messages between actors, as `skein bench flow` does.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench/bench_flow.h"

int
main(void)
{
    return skn_bench_flow(stdout, false);
}
