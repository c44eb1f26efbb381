/* membership_faults.c - finds the member that a failure comes from, and decides
 * how long it stays out, or that the run itself is at fault.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "topology/elastic/membership_internal.h"

/* A member's third report of divergence ends the run. */
#define HOPELESS_FAILURES 3u

bool
skn_membership_is_mistake(skn_status_t status)
{
    return status == SKN_USAGE || status == SKN_BAD_CONFIG ||
           status == SKN_BAD_DATA || status == SKN_NO_INPUT ||
           status == SKN_DIVERGED;
}

bool
skn_membership_is_echo(const skn_error_t *error)
{
    return error->status == SKN_UNAVAILABLE || error->status == SKN_BUSY;
}

/* The member that a failure comes from, by the prefixes of its text: "node 'a':
 * node 'b': no room" came from b and was passed on by a. */
static uint32_t
culprit(const skn_membership_t *membership, uint32_t number, const char *text)
{
    static const char node[] = "node '";
    while (strncmp(text, node, strlen(node)) == 0) {
        const char *name = text + strlen(node);
        const char *end = strstr(name, "': ");
        if (!end)
            break;
        for (uint32_t k = 0; k < membership->options.count; k++)
            if (strlen(membership->names[k]) == (size_t)(end - name) &&
                memcmp(membership->names[k], name, (size_t)(end - name)) == 0)
                number = k;
        text = end + 3;
    }
    return number;
}

/* True if the fault lies in the run's config, not in a member: since the last
 * batch was trained, two members have failed twice because of their configs, or
 * all that are here have. Or all members, and more than one, failed because of
 * their folders, which belong to another run. */
static bool
are_mistaken(skn_membership_t *membership, uint32_t number, skn_status_t status)
{
    uint64_t here = 0;
    for (uint32_t k = 0; k < membership->options.count; k++)
        here |= membership->member[k].here ? bit(k) : 0;
    if (membership->batch > membership->point.batch)
        membership->config_failures = 0;
    bool folder = status == SKN_CANNOT_CREATE;
    if (!folder && ((status != SKN_BAD_CONFIG && status != SKN_USAGE) ||
                    membership->member[number].strikes < 2))
        return false;
    membership->config_failures |= bit(number);
    bool several = __builtin_popcountll(membership->config_failures) > 1 ||
                   membership->options.count == 1;
    bool all = (here & ~membership->config_failures) == 0;
    return folder ? all && several : all || several;
}

void
skn_membership_blame(skn_membership_t *membership, uint32_t number,
                     const skn_error_t *error, uint64_t now_ns)
{
    number = culprit(membership, number, error->text);
    member_state_t *member = &membership->member[number];
    if (skn_membership_is_echo(error))
        return;
    /* The members that stay need those that leave. That is no fault of the
     * run's config; the next tries come later each time. */
    if (membership->serving && skn_membership_is_mistake(error->status))
        return;
    member->strikes++;
    bool untrained = !membership->point.saved && membership->batch == 0;
    if ((skn_membership_is_mistake(error->status) && untrained) ||
        are_mistaken(membership, number, error->status) ||
        (error->status == SKN_DIVERGED &&
         member->strikes >= HOPELESS_FAILURES)) {
        skn_membership_fail(membership, error, now_ns);
        return;
    }
    bool disk =
        error->status == SKN_STORAGE || error->status == SKN_CANNOT_CREATE;
    if (member->strikes < 2 && !disk)
        return; /* one failure may be chance; but disks were retried already */
    if (member->strikes < 2)
        member->strikes = 2;
    uint64_t bar = bar_ms(member->strikes);
    member->barred_ns = now_ns + bar * NS_PER_MS;
    member->fault = *error;
    skn_membership_report(
        membership, "%s failed %u times in a row and stays out for %llu s",
        membership->names[number], member->strikes,
        (unsigned long long)(bar / 1000));
}

void
skn_membership_room(skn_membership_t *membership, uint32_t number,
                    uint64_t bytes, uint64_t now_ns)
{
    member_state_t *member = &membership->member[number];
    bool first = member->strikes <= 2 && member->fault.status == SKN_STORAGE;
    if (!first || member->barred_ns <= now_ns || bytes < SKN_MEMBER_ROOM_BYTES)
        member->room_ns = 0;
    else if (member->room_ns == 0)
        member->room_ns = now_ns;
    /* The failed member's files are removed, and the disk may fill up again at
     * once. */
    if (member->room_ns == 0 || ms_since(member->room_ns, now_ns) < 1000)
        return;
    member->room_ns = 0;
    member->barred_ns = now_ns;
    skn_membership_report(membership, "%s has disk space again",
                          membership->names[number]);
}

const skn_error_t *
skn_membership_fault(const skn_membership_t *membership, uint32_t number)
{
    const member_state_t *member = &membership->member[number];
    bool is_out =
        member->fault.status != SKN_OK && !takes_part(membership, number);
    return is_out ? &member->fault : NULL;
}
