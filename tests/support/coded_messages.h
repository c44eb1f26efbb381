/* coded_messages.h - a test message with one array for every coding.
 *
 * Included by one source of a test program: it defines the schema.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_CODED_MESSAGES_H
#define TESTS_SUPPORT_CODED_MESSAGES_H

#include "skein/limits.h"
#include "skein/message.h"

/* `late` stands behind the run that it describes, on purpose. */
#define FIELDS_coded(F, M)                                                     \
    F(M, u32, columns, SKN_HIDDEN_MAX, "of wide")                              \
    F(M, f32s, wide, SKN_RUN_MAX, "[rows][columns]")                           \
    F(M, f32s, open, SKN_RUN_MAX, "the same, many are zero")                   \
    F(M, u32s, unit, 5000, "ascending")                                        \
    F(M, str, title, 12, "a text between")                                     \
    F(M, f32s, ragged, SKN_RUN_MAX, "rows of `late`, or of columns")           \
    F(M, f32s, holes, SKN_RUN_MAX, "rows of `late`, many are zero")            \
    F(M, f32s, flat, SKN_RUN_MAX, "one row")                                   \
    F(M, f32s, plain, SKN_RUN_MAX, "not coded")                                \
    F(M, u32s, late, SKN_RUN_MAX, "lengths, small")                            \
    F(M, f64s, norm, 14, "not coded either")
#define CODED_coded(V, C)                                                      \
    V(wide, "columns", NULL, false)                                            \
    V(open, "columns", NULL, true)                                             \
    C(unit, ascending)                                                         \
    V(ragged, "columns", "late", false)                                        \
    V(holes, NULL, "late", true)                                               \
    V(flat, NULL, NULL, true)                                                  \
    C(late, small)
SKN_MESSAGE_STRUCT(coded, FIELDS_coded)
SKN_MESSAGE_SCHEMA_CODED(coded, "coded", 1010, FIELDS_coded,
                         "every way to code a run", CODED_coded)

#endif
