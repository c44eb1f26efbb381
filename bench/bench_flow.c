/* bench_flow.c - messages between actors; what `skein bench flow` prints.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench/bench_flow.h"

int
main(void)
{
    return skn_bench_flow(stdout, false);
}
