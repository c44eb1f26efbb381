/* balancing.c - speeds of nodes as JSON and as words.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/balancing.h"

#include <stdio.h>

#include "cli/process.h"
#include "skein/limits.h"

skn_balance_t *
cli_balancing_new(const skn_model_t *model, const double *speeds,
                  skn_error_t *error)
{
    uint32_t cores[SKN_CLUSTER_NODES_MAX];
    double own[SKN_CLUSTER_NODES_MAX];
    for (size_t k = 0; k < model->node_count; k++) {
        cores[k] = skn_model_cores_count(&model->nodes[k].cores);
        own[k] = speeds[k] > 0 ? speeds[k] : model->nodes[k].speed;
    }
    return skn_balance_new((uint32_t)model->node_count,
                           (uint32_t)model->coordinator.least, cores, own,
                           error);
}

json_t *
cli_balancing_json(const skn_balance_t *balance, const skn_model_t *model)
{
    json_t *object = json_object();
    for (uint32_t k = 0; object && k < model->node_count; k++)
        (void)json_object_set_new(object, model->nodes[k].name,
                                  json_real(skn_balance_speed(balance, k)));
    return object;
}

void
cli_balancing_read(const json_t *object, const skn_model_t *model,
                   double *speeds)
{
    for (size_t k = 0; k < model->node_count; k++) {
        const json_t *speed = json_object_get(object, model->nodes[k].name);
        if (json_number_value(speed) > 0)
            speeds[k] = json_number_value(speed);
    }
}

static void
write_text(const skn_balance_t *balance, const skn_model_t *model, uint64_t set,
           char *text, size_t text_bytes)
{
    size_t used = 0;
    for (uint32_t k = 0; k < model->node_count; k++) {
        if (!(set >> k & 1u) || used >= text_bytes)
            continue;
        used += (size_t)snprintf(text + used, text_bytes - used,
                                 "%s%s was busy %.0f%%", used ? ", " : "",
                                 model->nodes[k].name,
                                 100 * skn_balance_busy(balance, k));
    }
    uint64_t out_ms = 0, out = skn_balance_out(balance, &out_ms);
    char how[SKN_NAME_MAX + 64] = "rows are dealt by speed";
    if (out)
        (void)snprintf(how, sizeof(how), "%s is left out for %llu min",
                       model->nodes[__builtin_ctzll(out)].name,
                       (unsigned long long)(out_ms / 60000));
    uint64_t back = skn_balance_back(balance);
    if (back && used < text_bytes)
        (void)snprintf(text + used, text_bytes - used,
                       ": %s is taken back, without it a batch takes no less",
                       model->nodes[__builtin_ctzll(back)].name);
    else if (used < text_bytes)
        (void)snprintf(text + used, text_bytes - used,
                       ": %s, for up to %.0f%% more batches a second", how,
                       100 * skn_balance_gain(balance));
}

/* Whether the verdict can be had: who is needed is asked of the membership. */
static bool
leave_out(skn_balance_t *balance, skn_membership_t *membership, uint64_t now_ns)
{
    uint64_t back = skn_balance_back(balance);
    if (back)
        return skn_membership_spare(membership, (uint32_t)__builtin_ctzll(back),
                                    now_ns);
    uint64_t out_ms = 0, out = skn_balance_out(balance, &out_ms);
    uint32_t number = (uint32_t)__builtin_ctzll(out | (uint64_t)1 << 63);
    if (!out ||
        skn_membership_spare(membership, number, now_ns + out_ms * 1000000u))
        return true;
    skn_balance_need(balance, number);
    skn_balance_begin(balance, skn_membership_members(membership), now_ns);
    return false;
}

bool
cli_balancing_turn(skn_balance_t *balance, uint64_t *looked,
                   const skn_model_t *model, skn_membership_t *membership,
                   char *text, size_t text_bytes)
{
    uint64_t generation = skn_membership_generation(membership);
    uint64_t set = skn_membership_members(membership), now_ns = cli_now_ns();
    if (skn_membership_phase(membership) != SKN_PHASE_RUNNING)
        return false;
    if (generation != *looked) {
        skn_balance_begin(balance, set, now_ns);
        *looked = generation;
        return false;
    }
    if (!skn_balance_due(balance, now_ns) ||
        !leave_out(balance, membership, now_ns))
        return false;
    write_text(balance, model, set, text, text_bytes);
    return true;
}

void
cli_balancing_renew(const skn_balance_t *balance, const skn_model_t *model,
                    skn_membership_t *membership)
{
    uint64_t for_ms, out = skn_balance_out(balance, &for_ms);
    uint64_t back = skn_balance_back(balance);
    if (out || back)
        skn_membership_renew(membership,
                             model->nodes[__builtin_ctzll(out | back)].name,
                             out ? "is left out" : "is taken back");
    else
        skn_membership_renew(membership, "rows", "are dealt by speed");
}
