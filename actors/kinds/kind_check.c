/* kind_check.c - checks the table of a kind before any actor is made from it.
 *
 * This file owns: the rules for a kind's table. transport/message/schema.c has
 * those for a message's table, topology/config/values.c checks the defaults of
 * options.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/kinds/kind_check.h"

#include <string.h>

#include "formats/text/abi.h"
#include "transport/message/schema.h"

/* The most messages in `needs`: topology/spec/spec_graph.c keeps a bit for
 * each. */
#define NEEDS_MAX 31u

skn_status_t
skn_kind_check_size(const skn_kind_t *kind, const char *what,
                    skn_error_t *error)
{
    return skn_abi_check(what, kind->struct_bytes, sizeof(*kind), "SKN_KIND",
                         error);
}

static skn_status_t
check_options(const skn_kind_t *kind, skn_error_t *error)
{
    const skn_option_t *options = kind->options;
    for (size_t k = 0; options && options[k].name; k++) {
        const skn_option_t *option = &options[k];
        if ((unsigned)option->type > SKN_OPTION_CHOICE)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "kind '%s': option '%s' has the unknown type %d",
                            kind->name, option->name, (int)option->type);
        if (option->type == SKN_OPTION_CHOICE && !option->choices)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "kind '%s': option '%s' lists no choices",
                            kind->name, option->name);
        for (size_t j = 0; j < k; j++)
            if (strcmp(options[j].name, option->name) == 0)
                return skn_fail(error, SKN_BAD_CONFIG,
                                "kind '%s': two options are called '%s'",
                                kind->name, option->name);
    }
    return SKN_OK;
}

static skn_status_t
check_schema(const skn_kind_t *kind, const skn_schema_t *schema,
             skn_error_t *error)
{
    skn_error_t why = { 0 };
    if (skn_schema_check(schema, &why) == SKN_OK)
        return SKN_OK;
    return skn_fail(error, SKN_BAD_CONFIG, "kind '%s': %s", kind->name,
                    why.text);
}

static skn_status_t
check_messages(const skn_kind_t *kind, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    const skn_handler_t *handlers = kind->handlers;
    for (size_t k = 0; status == SKN_OK && kind->sends && kind->sends[k]; k++)
        status = check_schema(kind, kind->sends[k], error);
    for (size_t k = 0; status == SKN_OK && handlers && handlers[k].schema;
         k++) {
        const char *name = handlers[k].schema->name;
        status = check_schema(kind, handlers[k].schema, error);
        if (status == SKN_OK && !handlers[k].handle)
            status = skn_fail(error, SKN_BAD_CONFIG,
                              "kind '%s': the handler of '%s' is NULL",
                              kind->name, name);
        for (size_t j = 0; status == SKN_OK && j < k; j++)
            if (handlers[j].schema->id == handlers[k].schema->id)
                status = skn_fail(error, SKN_BAD_CONFIG,
                                  "kind '%s' has two handlers of '%s'",
                                  kind->name, name);
    }
    return status;
}

static skn_status_t
check_timers(const skn_kind_t *kind, skn_error_t *error)
{
    const skn_timer_t *timers = kind->timers;
    for (size_t k = 0; timers && timers[k].name; k++) {
        if (k == SKN_TIMERS_MAX)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "kind '%s' has more than %u timers", kind->name,
                            SKN_TIMERS_MAX);
        if (!timers[k].fire)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "kind '%s': the function of timer '%s' is NULL",
                            kind->name, timers[k].name);
    }
    return SKN_OK;
}

/* Checks that the kind handles every message of `list`, which is called
 * `name`. */
static skn_status_t
check_handled(const skn_kind_t *kind, const skn_schema_t *const *list,
              const char *name, size_t most, skn_error_t *error)
{
    for (size_t k = 0; list && list[k]; k++) {
        const skn_handler_t *handler = kind->handlers;
        if (k == most)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "kind '%s': more than %zu messages are listed in "
                            "`%s`",
                            kind->name, most, name);
        while (handler && handler->schema && handler->schema->id != list[k]->id)
            handler++;
        if (!handler || !handler->schema)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "kind '%s': '%s' of `%s` has no handler",
                            kind->name, list[k]->name, name);
    }
    return SKN_OK;
}

skn_status_t
skn_kind_check(const skn_kind_t *kind, skn_error_t *error)
{
    skn_status_t status = check_options(kind, error);
    if (status == SKN_OK)
        status = check_messages(kind, error);
    if (status == SKN_OK)
        status = check_timers(kind, error);
    if (status == SKN_OK)
        status = check_handled(kind, kind->gathers, "gathers", SIZE_MAX, error);
    if (status == SKN_OK)
        status = check_handled(kind, kind->needs, "needs", NEEDS_MAX, error);
    return status;
}
