/* reasons.c - keeps a sentence for each value that `auto` chose.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/model/reasons.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "skein/text.h"

/* Begins a reason that is printed as a comment of a model file. */
#define REASON_PREFIX "auto: "

const char *
skn_reason_why(const skn_reason_t *reason)
{
    return reason->note + strlen(REASON_PREFIX);
}

void
skn_reasons_add(skn_reasons_t *reasons, const char *key, const char *why)
{
    skn_reason_t *reason = skn_reasons_find(reasons, key);
    if (!reason && reasons->count == SKN_REASONS_MAX)
        return;
    if (!reason)
        reason = &reasons->at[reasons->count++];
    (void)snprintf(reason->key, sizeof(reason->key), "%s", key);
    (void)snprintf(reason->note, sizeof(reason->note), REASON_PREFIX "%s", why);
}

skn_reason_t *
skn_reasons_find(skn_reasons_t *reasons, const char *key)
{
    for (size_t k = 0; k < reasons->count; k++)
        if (strcmp(reasons->at[k].key, key) == 0)
            return &reasons->at[k];
    return NULL;
}

void
skn_why(skn_why_t why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)skn_text_write_list(why, SKN_REASON_WHY_BYTES, format, arguments);
    va_end(arguments);
}

const char *
skn_count_text(uint64_t count, skn_count_text_t text)
{
    char digits[24];
    size_t used = 0;
    int bytes = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    for (int k = 0; k < bytes; k++) {
        if (k > 0 && (bytes - k) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[k];
    }
    text[used] = '\0';
    return text;
}
