/* self.c - the functions of skein/actor.h by which a kind uses its own actor.
 *
 * They are called by the actor's own thread from its hooks and handlers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/runtime/actor.h"
#include "actors/runtime/reporting.h"
#include "actors/runtime/system_internal.h"
#include "formats/text/json_line.h"
#include "formats/text/json_write.h"

/* --- mistakes of a kind --------------------------------------------------- */

void
skn_actor_misuse(const skn_actor_t *actor, const char *function,
                 const char *format, ...)
{
    char what[SKN_ERROR_TEXT_BYTES];
    va_list arguments;
    if (actor->misuse->status != SKN_OK)
        return; /* the first one is the cause */
    va_start(arguments, format);
    (void)skn_text_write_list(what, sizeof(what), format, arguments);
    va_end(arguments);
    skn_fail(actor->misuse, SKN_USAGE, "%s calls %s %.300s", actor->wired->name,
             function, what);
}

/* --- names and options of the actor --------------------------------------- */

const char *
skn_actor_name(const skn_actor_t *actor)
{
    return actor ? actor->wired->name : "";
}

uint32_t
skn_actor_index(const skn_actor_t *actor)
{
    return actor ? actor->wired->index : 0;
}

uint32_t
skn_actor_peers(const skn_actor_t *actor)
{
    return actor ? actor->wired->peers : 0;
}

/* The types of options: the name of each and the function that reads it. */
static const struct {
    const char *name, *reader;
} option_types[] = {
    [SKN_OPTION_BOOL] = { "a truth value", "skn_actor_option_bool" },
    [SKN_OPTION_INT] = { "an integer", "skn_actor_option_int" },
    [SKN_OPTION_REAL] = { "a real number", "skn_actor_option_real" },
    [SKN_OPTION_TEXT] = { "a text", "skn_actor_option_text" },
    [SKN_OPTION_PATH] = { "a path", "skn_actor_option_text" },
    [SKN_OPTION_CHOICE] = { "a choice", "skn_actor_option_text" },
};

/* The number of option `name` in a kind's table, or of the table's end. Nearly
 * always `name` is the very string of the table, so pointers are compared
 * first. */
static size_t
find_option(const skn_option_t *options, const char *name)
{
    size_t k = 0;
    while (options[k].name && options[k].name != name)
        k++;
    if (options[k].name)
        return k;
    for (k = 0; options[k].name && strcmp(options[k].name, name) != 0;)
        k++;
    return k;
}

/* The value of option `name`, for the function that reads values of `type`; a
 * value of zeros and "" if the kind has no such option. */
static const skn_value_t *
value_of(const skn_actor_t *actor, const char *name, skn_option_type_t type)
{
    static const skn_value_t none = { .text = "" };
    const char *reader = option_types[type].reader;
    const skn_option_t *option = actor ? actor->kind->options : NULL;
    if (!actor)
        return &none;
    if (!name) {
        skn_actor_misuse(actor, reader, "without an option's name");
        return &none;
    }
    size_t k = option ? find_option(option, name) : 0;
    if (!option || !option[k].name) {
        skn_actor_misuse(actor, reader,
                         "for option '%s', which the kind does not have", name);
        return &none;
    }
    if (option_types[option[k].type].reader != reader &&
        strcmp(option_types[option[k].type].reader, reader) != 0) {
        skn_actor_misuse(actor, reader, "for option '%s', which is %s: use %s",
                         name, option_types[option[k].type].name,
                         option_types[option[k].type].reader);
        return &none;
    }
    return &actor->wired->values[k];
}

bool
skn_actor_option_bool(const skn_actor_t *actor, const char *name)
{
    return value_of(actor, name, SKN_OPTION_BOOL)->truth;
}

int64_t
skn_actor_option_int(const skn_actor_t *actor, const char *name)
{
    return value_of(actor, name, SKN_OPTION_INT)->number;
}

double
skn_actor_option_real(const skn_actor_t *actor, const char *name)
{
    return value_of(actor, name, SKN_OPTION_REAL)->real;
}

const char *
skn_actor_option_text(const skn_actor_t *actor, const char *name)
{
    return value_of(actor, name, SKN_OPTION_TEXT)->text;
}

void *
skn_actor_host(const skn_actor_t *actor)
{
    return actor ? actor->system->options.host : NULL;
}

void
skn_actor_watch(skn_actor_t *actor, int descriptor, short events)
{
    if (actor && descriptor >= 0 && !actor->kind->ready)
        skn_actor_misuse(actor, "skn_actor_watch",
                         "for descriptor %d, and its kind has no hook 'ready'",
                         descriptor);
    else if (actor)
        actor->watched = (struct pollfd){ descriptor, events, 0 };
}

uint64_t
skn_actor_time_ns(const skn_actor_t *actor)
{
    return actor ? actor->now_ns : 0;
}

const void *
skn_message_keep(const void *message)
{
    return message ? skn_payload_keep(message) : NULL;
}

void
skn_message_drop(const void *message)
{
    skn_payload_drop(message);
}

void
skn_actor_rest(skn_actor_t *actor)
{
    if (actor)
        actor->has_nothing = true;
}

void
skn_actor_finish(skn_actor_t *actor)
{
    if (actor)
        actor->finished = true;
}

bool
skn_actor_stop_wanted(const skn_actor_t *actor)
{
    /* The system's flag, not the parcel STOP: another actor may already act on
     * the stop and send us an answer before we take our own parcel. */
    return actor && (skn_system_stops(actor->system) ||
                     skn_system_is_over(actor->system));
}

uint32_t
skn_actor_saves_wanted(const skn_actor_t *actor)
{
    return skn_system_saves(actor->system);
}

/* Checks that an event is one line, since programs read events line by line. */
static skn_status_t
check_event(const skn_actor_t *actor, const char *text, skn_error_t *error)
{
    size_t at;
    const char *fault = skn_json_line_fault(text, &at);
    if (!fault)
        return SKN_OK;
    return skn_fail(error, SKN_USAGE,
                    "%s sent an event that is not one JSON object on one "
                    "line; it has %s, at byte %zu: %.*s",
                    actor->wired->name, fault, at, (int)strcspn(text, "\r\n"),
                    text);
}

skn_status_t
skn_actor_send_event(skn_actor_t *actor, skn_error_t *error, const char *format,
                     ...)
{
    char line[2048];
    va_list arguments;
    if (!actor || !format)
        return skn_fail(error, SKN_USAGE,
                        "skn_actor_send_event: the %s is NULL",
                        actor ? "format" : "actor");
    va_start(arguments, format);
    int length = skn_text_write_list(line, sizeof(line), format, arguments);
    va_end(arguments);
    if (length < 0 || (unsigned)length >= SKN_EVENT_BYTES_MAX)
        return skn_fail(error, SKN_USAGE,
                        "%s sent an event of %d bytes, at most %u allowed",
                        actor->wired->name, length, SKN_EVENT_BYTES_MAX - 1);
    char *text = malloc((size_t)length + 1);
    if (!text)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for an event");
    va_start(arguments, format);
    (void)skn_text_write_list(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    skn_status_t status = check_event(actor, text, error);
    if (status != SKN_OK) {
        free(text);
        return status;
    }
    actor->sends_events = true;
    skn_system_count_event(actor->system);
    skn_actor_report(actor, SKN_PARCEL_EVENT, text);
    return SKN_OK;
}

void
skn_actor_notice(skn_actor_t *actor, skn_json_text_t *text)
{
    char *line = text->failed ? NULL : strdup(text->bytes);
    if (line)
        skn_actor_report(actor, SKN_PARCEL_NOTICE, line);
    skn_json_text_fini(text);
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
    skn_actor_notice(actor, &text);
}

void
skn_actor_set_held(skn_actor_t *actor, uint64_t held)
{
    if (held > actor->counters.held_max)
        actor->counters.held_max = held;
}

bool
skn_actor_set_saving(skn_actor_t *actor, bool is_saving)
{
    skn_actor_counters_t *counters = &actor->counters;
    if (is_saving) {
        counters->save_begin_ns = actor->now_ns;
    } else {
        counters->saving_ns += actor->now_ns - counters->save_begin_ns;
        counters->saves++;
    }
    return is_saving;
}
