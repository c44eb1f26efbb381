/* lookout.c - computes the rates and states of members that the view shows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/elastic/lookout.h"

#define EVERY_NS 500000000u
/* The weight of the newest rate in the reported one. */
#define SPEED_NEWEST 0.4

void
cli_lookout_hello(cli_lookout_t *lookout, uint32_t member)
{
    lookout->seat[member] = (cli_lookout_seat_t){ .cores = 0 };
}

static double
rate(double before, uint64_t was, uint64_t is, double seconds)
{
    double now = is > was && seconds > 0 ? (double)(is - was) / seconds : 0;
    return before > 0 ? SPEED_NEWEST * now + (1 - SPEED_NEWEST) * before : now;
}

void
cli_lookout_pulse(cli_lookout_t *lookout, uint32_t member,
                  const skn_harvest_pulse_t *pulse, uint64_t now_ns)
{
    cli_lookout_seat_t *seat = &lookout->seat[member];
    double seconds = (double)(now_ns - seat->ns) * 1e-9;
    bool same = seat->ns > 0 && seat->generation == pulse->generation;
    if (seat->ns > 0 && seconds < 0.2)
        return; /* an extra pulse, sent for another reason */
    seat->batches_per_s =
        same ? rate(seat->batches_per_s, seat->batch, pulse->batch, seconds)
             : 0;
    seat->cores =
        same ? rate(seat->cores, seat->cpu_ns, pulse->cpu_ns, seconds * 1e9)
             : 0;
    seat->bytes_per_s = same ? rate(seat->bytes_per_s, seat->sent_bytes,
                                    pulse->sent_bytes, seconds)
                             : 0;
    seat->ns = now_ns;
    seat->batch = pulse->batch;
    seat->cpu_ns = pulse->cpu_ns;
    seat->sent_bytes = pulse->sent_bytes;
    seat->generation = pulse->generation;
}

static const char *
state_of(const cli_lookout_seat_t *seat, const skn_membership_t *membership,
         uint32_t member)
{
    skn_membership_phase_t phase = skn_membership_phase(membership);
    if (!skn_membership_hears(membership, member))
        return "away";
    if (skn_membership_is_spared(membership, member))
        return "out";
    if (!(skn_membership_members(membership) & ((uint64_t)1 << member)))
        return "waits";
    if (skn_membership_serving(membership) & ((uint64_t)1 << member))
        return "leaves";
    if (phase == SKN_CLUSTER_PAUSING)
        return "pauses";
    if (phase != SKN_CLUSTER_RUNNING)
        return "ends";
    return seat->cores > 0 &&
                   seat->generation == skn_membership_generation(membership)
               ? "trains"
               : "starts";
}

json_t *
cli_lookout_event(cli_lookout_t *lookout, const skn_membership_t *membership,
                  const skn_balance_t *balance, const char *const *names,
                  uint32_t count, uint64_t now_ns)
{
    uint64_t members = skn_membership_members(membership);
    double batches_per_s = 0; /* only the lead reports batches */
    if (now_ns - lookout->told_ns < EVERY_NS)
        return NULL;
    lookout->told_ns = now_ns;
    for (uint32_t k = 0; k < count; k++)
        if ((members & ((uint64_t)1 << k)) &&
            lookout->seat[k].batches_per_s > batches_per_s)
            batches_per_s = lookout->seat[k].batches_per_s;
    json_t *list = json_array();
    for (uint32_t k = 0; list && k < count; k++) {
        const cli_lookout_seat_t *seat = &lookout->seat[k];
        bool in = (members & ((uint64_t)1 << k)) != 0;
        (void)json_array_append_new(
            list,
            json_pack(
                "{ss ss sI sI sf sf sf sf}", "name", names[k], "state",
                state_of(seat, membership, k), "generation",
                (json_int_t)(in ? skn_membership_generation(membership) : 0),
                "batch", (json_int_t)seat->batch, "batches_per_s",
                in ? batches_per_s : 0.0, "bytes_per_s",
                in ? seat->bytes_per_s : 0.0, "cores", in ? seat->cores : 0.0,
                "share", in ? skn_balance_share(balance, members, k) : 0.0));
    }
    return json_pack("{ss so}", "event", "nodes", "nodes", list);
}
