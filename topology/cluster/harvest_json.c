/* harvest_json.c - writes the account of members' time as JSON, and reads it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/harvest_json.h"

#include "formats/text/json_text.h"

json_t *
skn_harvest_json(const skn_harvest_sum_t *sum)
{
    json_t *counts = json_object();
#define C(name, help)                                                          \
    if (counts && sum->name > 0)                                               \
        (void)json_object_set_new(counts, #name,                               \
                                  json_integer((json_int_t)sum->name));
    SKN_HARVEST_COUNTS(C)
#undef C
    return counts;
}

static uint64_t
count_at(const json_t *counts, const char *name)
{
    json_int_t count = json_integer_value(json_object_get(counts, name));
    return count > 0 ? (uint64_t)count : 0;
}

void
skn_harvest_json_read(const json_t *counts, skn_harvest_sum_t *sum)
{
    if (!json_is_object(counts))
        return;
#define C(name, help) sum->name = count_at(counts, #name);
    SKN_HARVEST_COUNTS(C)
#undef C
}

/* --- the event ------------------------------------------------------------ */

static void
set_real(json_t *event, const char *key, double value)
{
    (void)json_object_set_new(event, key, json_real(value));
}

static void
set_count(json_t *event, const char *key, uint64_t value)
{
    (void)json_object_set_new(event, key, json_integer((json_int_t)value));
}

json_t *
skn_harvest_json_event(const skn_harvest_sum_t *sum)
{
    skn_harvest_shares_t shares = skn_harvest_shares(sum);
    json_t *event = json_pack("{ss}", "event", "harvest");
    if (!event)
        return NULL;
    set_real(event, "core_hours", shares.core_hours);
    set_real(event, "cpu_hours", shares.cpu_hours);
    set_real(event, "useful", shares.useful);
    set_real(event, "redone", shares.redone);
    set_real(event, "waiting", shares.waiting);
    set_count(event, "batches", sum->batches);
    set_count(event, "redone_batches", sum->redone_batches);
    set_count(event, "bytes_sent", sum->sent_bytes);
    set_count(event, "generations", sum->generations);
    set_count(event, "died", sum->died);
    set_count(event, "died_batches", sum->died_batches);
    set_real(event, "died_core_hours", (double)sum->died_ns / 3.6e12);
    set_count(event, "left", sum->left);
    set_count(event, "left_batches", sum->left_batches);
    set_real(event, "left_core_hours", (double)sum->left_ns / 3.6e12);
    set_count(event, "failed", sum->failed);
    set_count(event, "failed_batches", sum->failed_batches);
    set_count(event, "partials", sum->partials);
    set_count(event, "lost_updates", sum->lost_updates);
    return event;
}
