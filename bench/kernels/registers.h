/* registers.h - the loops that measure the roofs of an instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_KERNELS_REGISTERS_H
#define BENCH_KERNELS_REGISTERS_H

#include <stddef.h>

/* The size of the sink, aligned to 64 bytes: the functions begin with its
 * numbers and store their results in it, so that no step can be optimised
 * away. */
#define BENCH_SINK_FLOATS 64

/* Each of the first five does `steps` steps in registers and returns the number
 * of operations, counting all lanes. */
typedef struct bench_registers {
    const char *isa;
    double (*multiply)(size_t steps, float *sink); /* multiply-adds */
    double (*half)(size_t steps, float *sink);     /* multiply-adds of bf16; may
                                                    * be NULL */
    double (*divide)(size_t steps, float *sink);
    double (*root)(size_t steps, float *sink); /* square roots and divisions */
    double (*dice)(size_t steps, float *sink); /* dice of 16 bits, by Philox */
    /* x is aligned to 64 bytes, n a multiple of 128. */
    void (*read)(const float *x, size_t n, float *sink);
    void (*update)(float *x, size_t n, float factor); /* reads and writes */
} bench_registers_t;

#endif
