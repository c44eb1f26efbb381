/* options.h - the options of a sampler, read by the two kinds of actor that
 * have one: the output shard that draws, and the table_builder that builds its
 * index.
 *
 * Besides SKN_SHARD_OPTIONS and SKN_SAMPLER_OPTIONS a kind has `seed`, `layer`
 * and `batch_rows`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_SAMPLERS_OPTIONS_H
#define ACTORS_SAMPLERS_OPTIONS_H

#include "actors/protocol/corpus.h"
#include "actors/protocol/data.h"
#include "actors/samplers/sampler.h"
#include "skein/actor.h"

/* clang-format off */
/* The shard of the output layer that is sampled. */
#define SKN_SHARD_OPTIONS                                                      \
    { "labels", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,                   \
      "number of rows of the whole layer" },                                   \
    { "row_first", SKN_OPTION_INT, "0", 0, SKN_UNIT_MAX, NULL,                 \
      "first row of the shard, a multiple of the block" },                     \
    { "row_count", SKN_OPTION_INT, NULL, 1, SKN_UNIT_MAX, NULL,                \
      "number of rows of the shard" },                                         \
    { "hidden", SKN_OPTION_INT, NULL, 1, SKN_HIDDEN_MAX, NULL,                 \
      "number of units of the layer below" }
#define SKN_SAMPLER_OPTIONS                                                    \
    { "sampler", SKN_OPTION_TEXT, "exact", 0, 0, NULL,                         \
      "sampler that chooses the active set" },                                 \
    SKN_OPTION_OF("rows", "0", SKN_SETTING_SAMPLER_ROWS),                      \
    SKN_OPTION_OF("uniform_rows", "0", SKN_SETTING_UNIFORM_ROWS),              \
    SKN_OPTION_OF("weight_cap", "0", SKN_SETTING_WEIGHT_CAP),                  \
    { "tables", SKN_OPTION_INT, "0", 0, 4096, NULL,                            \
      "hash tables; 0: 50" },                                                  \
    { "bits", SKN_OPTION_INT, "0", 0, 30, NULL,                                \
      "hash functions per table; 0: 9 for simhash, 6 for dwta" },              \
    { "train", SKN_OPTION_PATH, "", 0, 0, NULL,                                \
      "training file, for draws by the frequency of labels" },                 \
    SKN_DATA_OPTIONS,                                                          \
    { "features", SKN_OPTION_INT, "0", 0, SKN_UNIT_MAX, NULL,                  \
      "number of that file's features; 0: as the file says" },                 \
    SKN_TEXT_OPTIONS
/* clang-format on */

/* Reads the options. *kind is set to the kind of sampler. SKN_BAD_CONFIG. */
skn_status_t skn_sampler_options(const skn_actor_t *actor,
                                 const skn_kernels_t *kernels,
                                 uint32_t block_rows,
                                 const skn_sampler_kind_t **kind,
                                 skn_sampler_options_t *options,
                                 skn_error_t *error);
/* Opens the sampler; reads frequencies if it draws by them. NULL and a filled
 * `error`. */
void *skn_sampler_open(const skn_actor_t *actor, const skn_sampler_kind_t *kind,
                       const skn_sampler_options_t *options,
                       skn_error_t *error);

#endif
