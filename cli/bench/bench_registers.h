/* bench_registers.h - what one core does at most with an instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_BENCH_BENCH_REGISTERS_H
#define CLI_BENCH_BENCH_REGISTERS_H

#include <stddef.h>

/* Numbers that the functions begin with and, so that no step can be left out,
 * end in; aligned to 64 bytes. */
#define BENCH_SINK_FLOATS 64

/* Each of the first five does `steps` steps in registers and returns how many
 * operations these were, all lanes counted. */
typedef struct bench_registers {
    const char *isa;
    double (*multiply)(size_t steps, float *sink); /* multiply-adds */
    double (*half)(size_t steps, float *sink);     /* of bf16; may be NULL */
    double (*divide)(size_t steps, float *sink);
    double (*root)(size_t steps, float *sink); /* a root and a division */
    double (*dice)(size_t steps, float *sink); /* of 16 bits, by Philox */
    /* x is aligned to 64 bytes, n a multiple of 128. */
    void (*read)(const float *x, size_t n, float *sink);
    void (*update)(float *x, size_t n, float factor); /* reads and writes */
} bench_registers_t;

/* NULL for an unknown name. Run only what the processor has. */
const bench_registers_t *bench_registers_of(const char *isa);

#endif
