/* index.h - the options --index, --lists and --probes of ranking verbs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_INDEX_H
#define CLI_INDEX_H

#include "cli/base/verb.h"
#include "skein/predictor.h"

/* clang-format off */
#define CLI_INDEX_OPTIONS                                                      \
    { "index", 0, NULL,                                                        \
      "rank only labels found by an index: faster, inexact" },          \
    { "lists", 0, "N", "lists of the index (default 4 sqrt(labels))" },        \
    { "probes", 0, "N",                                                        \
      "lists searched per point (default a twentieth)" }
/* clang-format on */

/* Builds the index if the call requests one. SKN_USAGE. */
skn_status_t cli_index(const cli_call_t *call, skn_predictor_t *predictor,
                       skn_error_t *error);

#endif
