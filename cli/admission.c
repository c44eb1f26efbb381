/* admission.c - whom a coordinator lets take part, of those with a key.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/admission.h"

#include <stdlib.h>
#include <string.h>

#include "cli/process.h"
#include "cli/talk.h"
#include "topology/settings.h"

skn_status_t
cli_admission_init(cli_admission_t *admission, const skn_model_t *model,
                   skn_error_t *error)
{
    admission->settings = skn_settings_text(model, error);
    return admission->settings ? SKN_OK : error->status;
}

void
cli_admission_fini(cli_admission_t *admission)
{
    free(admission->settings);
    admission->settings = NULL;
}

skn_status_t
cli_admission_check(const cli_admission_t *admission, const char *name,
                    const json_t *hello, skn_error_t *error)
{
    const json_t *settings = json_object_get(hello, "settings");
    if (!settings)
        return SKN_OK;
    const char *text = json_string_value(settings);
    /* What is no text is none that fits, either. */
    return skn_settings_compare(admission->settings, text ? text : "?", name,
                                error);
}

bool
cli_admission_is_news(cli_admission_t *admission, uint32_t member,
                      const skn_error_t *why)
{
    char *told = admission->told[member];
    if (why && strcmp(told, why->text) == 0)
        return false;
    (void)snprintf(told, sizeof(admission->told[member]), "%s",
                   why ? why->text : "");
    return true;
}

json_t *
cli_admission_refusal(const skn_error_t *why)
{
    return json_pack("{ss si ss ss}", "order", "refused", "code",
                     skn_status_exit_code(why->status), "text", why->text,
                     "hint", why->hint);
}

void
cli_admission_refused(const json_t *order, skn_error_t *error)
{
    skn_status_t status =
        cli_status_of_code((int)cli_talk_number(order, "code"));
    if (status == SKN_OK)
        status = SKN_BAD_CONFIG;
    (void)skn_fail(error, status, "%s", cli_talk_text(order, "text"));
    (void)skn_fail_hint(error, status, "%s", cli_talk_text(order, "hint"));
}
