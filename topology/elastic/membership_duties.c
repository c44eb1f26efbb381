/* membership_duties.c - the queue of what the coordinator has to do for the
 * members.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "topology/elastic/membership_internal.h"

skn_duty_t *
skn_membership_give(skn_membership_t *membership, skn_duty_kind_t kind,
                    uint32_t member)
{
    assert(membership->duty_count < DUTIES_MAX);
    assert(member < membership->options.count);
    size_t at =
        (membership->duty_first + membership->duty_count++) % DUTIES_MAX;
    skn_duty_t *duty = &membership->duty[at];
    *duty = (skn_duty_t){
        .kind = kind,
        .member = member,
        .generation = membership->generation,
        .set = membership->members,
        .serving = membership->serving,
        .point = membership->point,
    };
    return duty;
}

void
skn_membership_report(skn_membership_t *membership, const char *format, ...)
{
    skn_duty_t *duty = skn_membership_give(membership, SKN_DUTY_REPORT, 0);
    va_list arguments;
    va_start(arguments, format);
    (void)skn_text_write_list(duty->text, sizeof(duty->text), format,
                              arguments);
    va_end(arguments);
}

bool
skn_membership_next(skn_membership_t *membership, skn_duty_t *duty)
{
    if (membership->duty_count == 0)
        return false;
    *duty = membership->duty[membership->duty_first];
    membership->duty_first = (membership->duty_first + 1) % DUTIES_MAX;
    membership->duty_count--;
    return true;
}
