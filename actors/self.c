/* self.c - what a kind may ask of the actor that it is, and tell of it.
 *
 * Called by the actor's own thread from its hooks and handlers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "actors/actor.h"
#include "actors/system.h"
#include "actors/watched.h"
#include "formats/json_text.h"

/* Longest event: what a host is asked to have room for. */
#define EVENT_BYTES_MAX 65536

const char *
skn_actor_name(const skn_actor_t *actor)
{
    return actor->wired->name;
}

uint32_t
skn_actor_index(const skn_actor_t *actor)
{
    return actor->wired->index;
}

uint32_t
skn_actor_peers(const skn_actor_t *actor)
{
    return actor->wired->peers;
}

/* Asking for an option that the kind's table lacks is our bug. */
static const skn_value_t *
value_of(const skn_actor_t *actor, const char *name)
{
    const skn_option_t *option = actor->kind->options;
    size_t k = 0;
    while (option[k].name && strcmp(option[k].name, name) != 0)
        k++;
    assert(option[k].name);
    return &actor->wired->values[k];
}

bool
skn_actor_option_bool(const skn_actor_t *actor, const char *name)
{
    return value_of(actor, name)->truth;
}

int64_t
skn_actor_option_int(const skn_actor_t *actor, const char *name)
{
    return value_of(actor, name)->number;
}

double
skn_actor_option_real(const skn_actor_t *actor, const char *name)
{
    return value_of(actor, name)->real;
}

const char *
skn_actor_option_text(const skn_actor_t *actor, const char *name)
{
    return value_of(actor, name)->text;
}

uint64_t
skn_actor_time_ns(const skn_actor_t *actor)
{
    return actor->now_ns;
}

const void *
skn_message_keep(const void *message)
{
    return skn_payload_keep(message);
}

void
skn_message_drop(const void *message)
{
    skn_payload_drop(message);
}

void
skn_actor_rest(skn_actor_t *actor)
{
    actor->resting = true;
}

void
skn_actor_finish(skn_actor_t *actor)
{
    actor->finished = true;
}

bool
skn_actor_stop_wanted(const skn_actor_t *actor)
{
    /* Not when a parcel of it is taken: nobody acts on an answer of who has
     * heard of it already without having heard of it. */
    return skn_system_stops(actor->system);
}

skn_status_t
skn_actor_tell(skn_actor_t *actor, skn_error_t *error, const char *format, ...)
{
    char line[2048];
    va_list arguments;
    va_start(arguments, format);
    int length = skn_text_write_list(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (length < 0 || length >= EVENT_BYTES_MAX)
        return skn_fail(error, SKN_INTERNAL, "%s tells an event of %d bytes",
                        actor->wired->name, length);
    char *text = malloc((size_t)length + 1);
    if (!text)
        return skn_fail(error, SKN_NO_MEMORY, "no room for an event");
    va_start(arguments, format);
    (void)skn_text_write_list(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    skn_actor_report(actor, SKN_PARCEL_EVENT, text);
    return SKN_OK;
}

void
skn_actor_warn(skn_actor_t *actor, const char *message, const char *hint)
{
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text, "{\"event\":\"warning\",\"actor\":");
    skn_json_text_add_string(&text, actor->wired->name);
    skn_json_text_add(&text, ",\"message\":");
    skn_json_text_add_string(&text, message);
    skn_json_text_add(&text, ",\"hint\":");
    skn_json_text_add_string(&text, hint);
    skn_json_text_add(&text, "}");
    if (!text.failed)
        (void)skn_actor_tell(actor, NULL, "%s", text.bytes);
    skn_json_text_fini(&text);
}

bool
skn_actor_note_save(skn_actor_t *actor, bool stands)
{
    skn_actor_counters_t *counters = &actor->counters;
    if (stands) {
        counters->save_begin_ns = actor->now_ns;
        return true;
    }
    counters->saving_ns += actor->now_ns - counters->save_begin_ns;
    counters->saves++;
    return false;
}
