/* passes.h - what the actors of bench_schedules.c send to each other, and what
 * they write for its main.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_SCHEDULES_PASSES_H
#define BENCH_SCHEDULES_PASSES_H

#include <stdint.h>

#include "actors/protocol/settings.h"
#include "skein/actor.h"
#include "transport/socket/clock.h"

#define STAGES_MAX 16u
#define MICROS_MAX 256u
#define STEPS_MAX 256u
#define VALUES_MAX (1u << 24)

/* The results that the actors leave for main: each stage writes only its own
 * entries. */
typedef struct results {
    double step_ms[STEPS_MAX];
    uint32_t steps, stages;
    uint32_t held_max[STAGES_MAX];
    double mean_ms[STAGES_MAX][3];
    uint64_t bits[STAGES_MAX];
} results_t;

#define FIELDS_pass(F, M)                                                      \
    F(M, u64, micro, MICROS_MAX - 1, "number of the micro-batch in its step")  \
    F(M, u64, step, STEPS_MAX - 1, "number of the step")                       \
    F(M, u64, begun_ns, UINT64_MAX, "when the step began")                     \
    F(M, f32s, value, VALUES_MAX, "activations, or their gradient")
#define FIELDS_applied(F, M)                                                   \
    F(M, u32, stage, STAGES_MAX - 1, "the sender")                             \
    F(M, u64, ended_ns, UINT64_MAX, "when it had done W of a micro-batch")
SKN_MESSAGE_STRUCT(pass, FIELDS_pass)
SKN_MESSAGE_STRUCT(applied, FIELDS_applied)
typedef pass_t gradient_t;
extern const skn_schema_t pass_schema, gradient_schema, applied_schema;

/* stage.c */
extern const skn_kind_t bench_stage;

#endif
