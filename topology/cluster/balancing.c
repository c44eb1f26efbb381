/* balancing.c - applies the balance of a run: journal, membership, messages.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/balancing.h"

#include <stdio.h>

#include "skein/limits.h"
#include "transport/socket/clock.h"

skn_balance_t *
skn_balancing_new(const skn_model_t *model, const double *speeds,
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
skn_balancing_json(const skn_balance_t *balance, const skn_model_t *model)
{
    json_t *object = json_object();
    for (uint32_t k = 0; object && k < model->node_count; k++)
        (void)json_object_set_new(object, model->nodes[k].name,
                                  json_real(skn_balance_speed(balance, k)));
    return object;
}

void
skn_balancing_read(const json_t *object, const skn_model_t *model,
                   double *speeds)
{
    for (size_t k = 0; k < model->node_count; k++) {
        const json_t *speed = json_object_get(object, model->nodes[k].name);
        if (json_number_value(speed) > 0)
            speeds[k] = json_number_value(speed);
    }
}

/* Writes as much as fits; returns the bytes used. */
static size_t
write_busy(const skn_balance_t *balance, const skn_model_t *model, uint64_t set,
           char *text, size_t text_bytes)
{
    size_t used = 0;
    for (uint32_t k = 0; k < model->node_count && used < text_bytes; k++)
        if (set >> k & 1u)
            used += (size_t)skn_text_write(
                text + used, text_bytes - used, "%s%s was busy %.0f%%",
                used ? ", " : "", model->nodes[k].name,
                100 * skn_balance_busy(balance, k));
    return used < text_bytes ? used : text_bytes;
}

static void
write_text(const skn_balance_t *balance, const skn_model_t *model, uint64_t set,
           skn_balance_verdict_t verdict, char *text, size_t text_bytes)
{
    size_t used = write_busy(balance, model, set, text, text_bytes);
    const char *name = model->nodes[verdict.node].name;
    double gain = 100 * skn_balance_gain(balance);
    if (used == text_bytes)
        return;
    if (verdict.kind == SKN_BALANCE_TAKE_BACK)
        (void)snprintf(
            text + used, text_bytes - used,
            ": %s takes part again, since batches take as long without it",
            name);
    else if (verdict.kind == SKN_BALANCE_LEAVE_OUT)
        (void)skn_text_write(
            text + used, text_bytes - used,
            ": %s is left out for %llu min, for up to %.0f%% more batches per "
            "second",
            name, (unsigned long long)(verdict.for_ms / 60000), gain);
    else
        (void)skn_text_write(text + used, text_bytes - used,
                             ": rows are divided by speed, for up to %.0f%% "
                             "more batches per second",
                             gain);
}

/* Whether the verdict can be carried out: the membership knows whether a node
 * is needed. */
static bool
carry_out(skn_balance_verdict_t verdict, skn_balance_t *balance,
          skn_membership_t *membership, uint64_t now_ns)
{
    if (verdict.kind == SKN_BALANCE_DEAL ||
        skn_membership_leave_out(membership, verdict.node,
                                 now_ns + verdict.for_ms * 1000000u))
        return true;
    skn_balance_need(balance, verdict.node);
    skn_balance_begin(balance, skn_membership_members(membership), now_ns);
    return false;
}

skn_balance_verdict_t
skn_balancing_turn(skn_balance_t *balance, uint64_t *looked,
                   const skn_model_t *model, skn_membership_t *membership,
                   char *text, size_t text_bytes)
{
    static const skn_balance_verdict_t go_on = { .kind = SKN_BALANCE_GO_ON };
    uint64_t generation = skn_membership_generation(membership);
    uint64_t set = skn_membership_members(membership),
             now_ns = skn_monotonic_ns();
    if (skn_membership_phase(membership) != SKN_MEMBERSHIP_RUNNING ||
        skn_membership_serving(membership)) /* then nothing is trained */
        return go_on;
    if (generation != *looked) {
        skn_balance_begin(balance, set, now_ns);
        *looked = generation;
        return go_on;
    }
    skn_balance_verdict_t verdict = skn_balance_due(balance, now_ns);
    if (verdict.kind == SKN_BALANCE_GO_ON ||
        !carry_out(verdict, balance, membership, now_ns))
        return go_on;
    write_text(balance, model, set, verdict, text, text_bytes);
    return verdict;
}

void
skn_balancing_renew(skn_balance_verdict_t verdict, const skn_model_t *model,
                    skn_membership_t *membership)
{
    const char *name = model->nodes[verdict.node].name;
    if (verdict.kind == SKN_BALANCE_LEAVE_OUT)
        skn_membership_renew(membership, name, "is left out");
    else if (verdict.kind == SKN_BALANCE_TAKE_BACK)
        skn_membership_renew(membership, name, "takes part again");
    else
        skn_membership_renew(membership, "rows", "are divided by speed");
}
