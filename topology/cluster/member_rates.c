/* member_rates.c - computes the rates and states of members that the view
 * shows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/member_rates.h"

#define EVERY_NS 500000000u
/* The weight of the newest rate in the reported one. */
#define SPEED_NEWEST 0.4

void
skn_member_rates_hello(skn_member_rates_t *rates, uint32_t member)
{
    rates->rate[member] = (skn_member_rate_t){ .cores = 0 };
}

static double
rate_of(double before, uint64_t was, uint64_t is, double seconds)
{
    double now = is > was && seconds > 0 ? (double)(is - was) / seconds : 0;
    return before > 0 ? SPEED_NEWEST * now + (1 - SPEED_NEWEST) * before : now;
}

void
skn_member_rates_pulse(skn_member_rates_t *rates, uint32_t member,
                       const skn_harvest_pulse_t *pulse, uint64_t now_ns)
{
    skn_member_rate_t *rate = &rates->rate[member];
    double seconds = (double)(now_ns - rate->ns) * 1e-9;
    bool same = rate->ns > 0 && rate->generation == pulse->generation;
    if (rate->ns > 0 && seconds < 0.2)
        return; /* an extra pulse, sent for another reason */
    rate->batches_per_s =
        same ? rate_of(rate->batches_per_s, rate->batch, pulse->batch, seconds)
             : 0;
    rate->cores =
        same ? rate_of(rate->cores, rate->cpu_ns, pulse->cpu_ns, seconds * 1e9)
             : 0;
    rate->bytes_per_s = same ? rate_of(rate->bytes_per_s, rate->sent_bytes,
                                       pulse->sent_bytes, seconds)
                             : 0;
    rate->ns = now_ns;
    rate->batch = pulse->batch;
    rate->cpu_ns = pulse->cpu_ns;
    rate->sent_bytes = pulse->sent_bytes;
    rate->generation = pulse->generation;
}

static const char *
state_of(const skn_member_rate_t *rate, const skn_membership_t *membership,
         uint32_t member)
{
    skn_membership_phase_t phase = skn_membership_phase(membership);
    if (!skn_membership_hears(membership, member))
        return "away";
    if (skn_membership_is_left_out(membership, member))
        return "out";
    if (!(skn_membership_members(membership) & ((uint64_t)1 << member)))
        return "waits";
    if (skn_membership_serving(membership) & ((uint64_t)1 << member))
        return "leaves";
    if (phase == SKN_MEMBERSHIP_PAUSING)
        return "pauses";
    if (phase != SKN_MEMBERSHIP_RUNNING)
        return "ends";
    return rate->cores > 0 &&
                   rate->generation == skn_membership_generation(membership)
               ? "trains"
               : "starts";
}

json_t *
skn_member_rates_event(skn_member_rates_t *rates,
                       const skn_membership_t *membership,
                       const skn_balance_t *balance, const char *const *names,
                       uint32_t count, uint64_t now_ns)
{
    uint64_t members = skn_membership_members(membership);
    double batches_per_s = 0; /* only the lead reports batches */
    if (now_ns - rates->told_ns < EVERY_NS)
        return NULL;
    rates->told_ns = now_ns;
    for (uint32_t k = 0; k < count; k++)
        if ((members & ((uint64_t)1 << k)) &&
            rates->rate[k].batches_per_s > batches_per_s)
            batches_per_s = rates->rate[k].batches_per_s;
    json_t *list = json_array();
    for (uint32_t k = 0; list && k < count; k++) {
        const skn_member_rate_t *rate = &rates->rate[k];
        bool in = (members & ((uint64_t)1 << k)) != 0;
        (void)json_array_append_new(
            list,
            json_pack(
                "{ss ss sI sI sf sf sf sf}", "name", names[k], "state",
                state_of(rate, membership, k), "generation",
                (json_int_t)(in ? skn_membership_generation(membership) : 0),
                "batch", (json_int_t)rate->batch, "batches_per_s",
                in ? batches_per_s : 0.0, "bytes_per_s",
                in ? rate->bytes_per_s : 0.0, "cores", in ? rate->cores : 0.0,
                "share", in ? skn_balance_share(balance, members, k) : 0.0));
    }
    return json_pack("{ss so}", "event", "nodes", "nodes", list);
}
