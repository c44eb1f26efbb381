/* ranking.h - fits a ranker to a trained network and reports it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_RANKING_H
#define CLI_RANKING_H

#include "cli/base/verb.h"
#include "topology/predict/join.h"
#include "topology/predict/rank.h"

/* Fits `ranker`, which the caller has to fini, to the network `path` and the
 * training file of its run; time and sizes go into `extra`. 0 threads: one for
 * each core that the process may use. */
skn_status_t cli_rank(const cli_call_t *call, const char *path,
                      const skn_rank_options_t *options, skn_ranker_t *ranker,
                      skn_join_extra_t *extra, skn_error_t *error);

#endif
