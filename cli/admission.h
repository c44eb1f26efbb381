/* admission.h - whom a coordinator lets take part, of those with a key.
 *
 * A member that would train something else is told so at its `hello`: among the
 * others it would end everybody's generation.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ADMISSION_H
#define CLI_ADMISSION_H

#include <jansson.h>
#include <stdbool.h>

#include "topology/membership.h"
#include "topology/model.h"

typedef struct cli_admission {
    char *settings; /* of the run: those of the coordinator's file */
    char told[SKN_MEMBERS_MAX][SKN_ERROR_TEXT_BYTES]; /* why it is refused */
} cli_admission_t;

/* Zeroed before; closed in any case. SKN_NO_MEMORY. */
skn_status_t cli_admission_init(cli_admission_t *admission,
                                const skn_model_t *model, skn_error_t *error);
void cli_admission_fini(cli_admission_t *admission);

/* Whether the settings in a `hello` of `member`, whose name that is, are those
 * of the run: SKN_OK, also where it says none (an older version), or why not,
 * for both ends. */
skn_status_t cli_admission_check(const cli_admission_t *admission,
                                 const char *name, const json_t *hello,
                                 skn_error_t *error);
/* Whether people have not yet been told that `member` is refused for that. NULL
 * forgets what they were told. */
bool cli_admission_is_news(cli_admission_t *admission, uint32_t member,
                           const skn_error_t *why);

/* The order for who is refused, and what it says; `error` is filled. */
json_t *cli_admission_refusal(const skn_error_t *why);
void cli_admission_refused(const json_t *order, skn_error_t *error);

#endif
