/* sample_messages.h - three messages for tests: one with every kind of field,
 * an activation, and one without fields.
 *
 * Included by one source of a test program: it defines the schemas.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_SAMPLE_MESSAGES_H
#define TESTS_SUPPORT_SAMPLE_MESSAGES_H

#include "skein/limits.h"
#include "skein/message.h"
#include "tests/support/sanitized.h"

#define FIELDS_every(F, M)                                                     \
    F(M, u32, shard, 4095, "a number with a limit")                            \
    F(M, u64, batch, UINT64_MAX, "a number without")                           \
    F(M, f64, loss, 0, "a float")                                              \
    F(M, str, title, 12, "a short text")                                       \
    F(M, loan, rows, 0, "an address")                                          \
    F(M, bytes, blob, 9, "bytes")                                              \
    F(M, u16s, half, 10, "16-bit items")                                       \
    F(M, u32s, unit, 65536, "32-bit items")                                    \
    F(M, str, note, 300, "a longer text")                                      \
    F(M, u64s, stamp, 12, "64-bit items")                                      \
    F(M, f32s, value, 65536, "32-bit floats")                                  \
    F(M, f64s, norm, 14, "64-bit floats")
SKN_MESSAGE_STRUCT(every, FIELDS_every)
SKN_MESSAGE_SCHEMA(every, "every", 1000, FIELDS_every, "every kind of field")

#define FIELDS_activation(F, M)                                                \
    F(M, u64, batch, UINT64_MAX, "batch number, counted from 0")               \
    F(M, u32, shard, 4095, "the sender")                                       \
    F(M, f32s, value, SKN_RUN_MAX, "its outputs")
SKN_MESSAGE_STRUCT(activation, FIELDS_activation)
SKN_MESSAGE_SCHEMA(activation, "activation", 3, FIELDS_activation,
                   "the outputs of one shard for one batch")

#define FIELDS_stop(F, M)
SKN_MESSAGE_STRUCT(stop, FIELDS_stop)
SKN_MESSAGE_SCHEMA(stop, "stop", 70, FIELDS_stop, "the end")

static const skn_schema_t *const sample_schemas[] = { &every_schema,
                                                      &activation_schema,
                                                      &stop_schema, NULL };

#endif
