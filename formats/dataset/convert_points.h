/* convert_points.h - writes rows of texts as numbered features (xmc.h), with
 * the names of labels and features, one a line, in files beside them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_DATASET_CONVERT_POINTS_H
#define FORMATS_DATASET_CONVERT_POINTS_H

#include "formats/records/records.h"
#include "skein/convert.h"

/* As data.terms_max by default. */
#define SKN_CONVERT_FEATURES_MAX 1000000u

/* Reads the rows of `in`, a source that can be read twice and whose format is
 * known, and writes `out`, and, unless the rows are numbered features already,
 * out.labels and out.features. A row that cannot be
 * read is left out and counted, or refused. As skn_rows_convert. */
skn_status_t skn_convert_to_points(const char *in, const char *out,
                                   const skn_records_options_t *how,
                                   bool has_header, bool is_strict,
                                   skn_converted_t *converted,
                                   skn_error_t *error);

#endif
