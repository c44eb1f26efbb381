/* place.c - describes in words which hook or handler an actor is in.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/place.h"

#include <stdbool.h>
#include <string.h>

#include "actors/runtime/actor.h"

static const struct {
    const char *word, *joint;
} places[] = {
#define P(name, word, joint) { word, joint },
    SKN_PLACES(P)
#undef P
};

skn_stay_t
skn_place_stay(const skn_place_t *place)
{
    skn_stay_t stay = { 0 };
    uint32_t type = atomic_load(&place->type);
    const char *name = atomic_load(&place->name);
    stay.since_ns = atomic_load(&place->since_ns);
    if (type == atomic_load(&place->type) &&
        stay.since_ns == atomic_load(&place->since_ns))
        stay.type = (skn_place_type_t)type;
    stay.name = places[stay.type].joint ? name : NULL;
    return stay;
}

const char *
skn_place_word(skn_place_type_t type)
{
    return places[type].word;
}

void
skn_place_add(char *text, size_t bytes, size_t *used, const char *more)
{
    while (*more && *used + 1 < bytes)
        text[(*used)++] = *more++;
    text[*used] = '\0';
}

char *
skn_place_text(skn_place_type_t type, const char *name, char *text,
               size_t bytes)
{
    size_t used = 0;
    skn_place_add(text, bytes, &used, type == SKN_PLACE_LOOP ? "" : "its ");
    skn_place_add(text, bytes, &used, places[type].word);
    if (places[type].joint && name) {
        skn_place_add(text, bytes, &used, places[type].joint);
        skn_place_add(text, bytes, &used, "'");
        skn_place_add(text, bytes, &used, name);
        skn_place_add(text, bytes, &used, "'");
    }
    return text;
}

/* The kind is left out if the actor's name shows it: "output" or "output.3". */
static bool
kind_is_said(const skn_actor_t *actor)
{
    size_t bytes = strlen(actor->kind->name);
    const char *name = actor->wired->name;
    return actor->wired->plugin ||
           strncmp(name, actor->kind->name, bytes) != 0 ||
           (name[bytes] != '\0' && name[bytes] != '.');
}

char *
skn_place_describe(const skn_actor_t *actor, char *text, size_t bytes)
{
    char where[SKN_PLACE_TEXT_BYTES];
    size_t used = 0;
    const char *separator = " (";
    uint32_t type =
        atomic_load_explicit(&actor->place.type, memory_order_acquire);
    skn_place_add(text, bytes, &used, actor->wired->name);
    if (kind_is_said(actor)) {
        skn_place_add(text, bytes, &used, separator);
        skn_place_add(text, bytes, &used, actor->kind->name);
        separator = ", ";
    }
    if (actor->wired->plugin) {
        skn_place_add(text, bytes, &used, " of ");
        skn_place_add(text, bytes, &used, actor->wired->plugin);
    }
    if (type != SKN_PLACE_LOOP) {
        skn_place_add(text, bytes, &used, separator);
        skn_place_add(text, bytes, &used, "in ");
        skn_place_add(text, bytes, &used,
                      skn_place_text(type,
                                     atomic_load_explicit(&actor->place.name,
                                                          memory_order_relaxed),
                                     where, sizeof(where)));
        separator = ", ";
    }
    if (separator[0] == ',')
        skn_place_add(text, bytes, &used, ")");
    return text;
}

/* Sentences of Skein's own kinds already begin with the name of the actor. */
void
skn_place_name(const skn_actor_t *actor, skn_error_t *error)
{
    char text[SKN_ERROR_TEXT_BYTES];
    const char *rest = error->text;
    size_t bytes = strlen(actor->wired->name), used;
    bool is_prefix = strncmp(rest, actor->wired->name, bytes) == 0 &&
                     (rest[bytes] == ':' || rest[bytes] == ' ');
    rest += is_prefix ? bytes : 0;
    if (is_prefix && strncmp(rest, " (", 2) == 0)
        return;
    used = strlen(skn_place_describe(actor, text, sizeof(text) / 2));
    skn_place_add(text, sizeof(text), &used, is_prefix ? "" : ": ");
    skn_place_add(text, sizeof(text), &used, rest);
    memcpy(error->text, text, used + 1);
}
