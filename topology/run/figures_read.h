/* figures_read.h - reads the figures of a run back from its `report` event.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_RUN_FIGURES_READ_H
#define TOPOLOGY_RUN_FIGURES_READ_H

#include "actors/runtime/figures.h"
#include "formats/text/json_text.h"
#include "skein/error.h"

/* Reads an event `report`; freed by skn_figures_fini. Missing figures are 0.
 * SKN_NO_MEMORY. */
skn_status_t skn_figures_read(const json_t *event, skn_figures_t *figures,
                              skn_error_t *error);

#endif
