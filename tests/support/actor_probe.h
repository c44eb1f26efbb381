/* actor_probe.h - runs one actor of a kind, with a probe that plays all actors
 * around it.
 *
 *     probe.start  ─▶ sends the first messages
 *     subject      ─▶ probe.react(message), which may send, and finish
 *
 * The topology is made through topology/spec/draft.h and runs as any other.
 * Every Criterion test is a process of its own, so the probe's state is static:
 * the probe's thread has it until the run has ended, then the test.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_ACTOR_PROBE_H
#define TESTS_SUPPORT_ACTOR_PROBE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/kinds.h"
#include "actors/protocol/messages.h"
#include "topology/spec/draft.h"
#include "topology/host/host.h"

#define PROBE_EVENTS_BYTES 65536

static struct {
    skn_status_t (*start)(skn_actor_t *probe, skn_error_t *error);
    skn_status_t (*react)(skn_actor_t *probe, const skn_schema_t *schema,
                          const void *message, skn_error_t *error);
    /* A clock came that the probe asked for. */
    skn_status_t (*tick)(skn_actor_t *probe, skn_error_t *error);
    /* Set before probe_run: */
    const skn_kind_t *kind;
    const char *name; /* of the subject; NULL: its kind's */
    const char *option[40][2];
    const char *to[12], *from[12]; /* messages to and from the subject */
    const char *gathered[4];       /* those of `to` that come in parts */
    bool twin;       /* the actor "twin" sends the parts, too: also a probe */
    uint32_t credit; /* of every pipe; 0: plenty */
    /* After it: */
    char events[PROBE_EVENTS_BYTES];
    skn_status_t status;
    skn_error_t error;
    skn_topology_t *topology;
} probe;

#define PROBE_HANDLER(message, id, help)                                       \
    static skn_status_t probe_on_##message(skn_actor_t *actor, void *state,    \
                                           const void *at, skn_error_t *error) \
    {                                                                          \
        (void)state;                                                           \
        return probe.react(actor, &skn_##message##_schema, at, error);         \
    }
SKN_MESSAGES(PROBE_HANDLER)
#undef PROBE_HANDLER

static skn_status_t
probe_on_clock(skn_actor_t *actor, void *state, const void *at,
               skn_error_t *error)
{
    (void)state, (void)at;
    return probe.tick(actor, error);
}

static const skn_handler_t probe_handlers[] = {
    { &skn_clock_schema, probe_on_clock, NULL },
#define ENTRY(message, id, help)                                               \
    { &skn_##message##_schema, probe_on_##message, NULL },
    SKN_MESSAGES(ENTRY)
#undef ENTRY
        { NULL, NULL, NULL },
};

static const skn_schema_t *const probe_sends[] = {
#define ENTRY(message, id, help) &skn_##message##_schema,
    SKN_MESSAGES(ENTRY)
#undef ENTRY
        NULL,
};

static skn_status_t
probe_start(skn_actor_t *actor, void *state, skn_error_t *error)
{
    (void)state;
    return probe.start ? probe.start(actor, error) : SKN_OK;
}

static skn_status_t
probe_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    (void)state, (void)error;
    skn_actor_rest(actor);
    return SKN_OK;
}

/* A gate: it ends when the test says so. */
static const skn_kind_t probe_kind =
    SKN_KIND(.name = "probe",
             .help = "what a test has around the actor it looks at",
             .handlers = probe_handlers, .sends = probe_sends,
             .start = probe_start, .produce = probe_produce, .gate = true);

static inline void
probe_option(const char *name, const char *value)
{
    size_t k = 0;
    while (probe.option[k][0] && strcmp(probe.option[k][0], name) != 0)
        k++;
    cr_assert_lt(k, sizeof(probe.option) / sizeof(probe.option[0]) - 1);
    probe.option[k][0] = name;
    probe.option[k][1] = value;
}

static inline void
probe_pipe(skn_draft_t *draft, const char *from, const char *to,
           const char *message)
{
    const char *senders[] = { from, NULL, NULL };
    const char *const receivers[] = { to, NULL };
    skn_draft_pipe_t pipe = { .from = senders,
                              .to = receivers,
                              .message = message,
                              .pattern = "one",
                              .credit = probe.credit ? probe.credit : 64 };
    bool enters = strcmp(from, "probe") == 0, asked = false;
    for (size_t k = 0; probe.to[k]; k++)
        asked = asked || strcmp(probe.to[k], message) == 0;
    const skn_schema_t *const *gathers = probe.kind->gathers;
    for (size_t k = 0; enters && !asked && gathers && gathers[k]; k++)
        if (strcmp(gathers[k]->name, message) == 0) {
            pipe.collect = "gather";
            pipe.by = "batch";
        }
    for (size_t k = 0; enters && k < 4 && probe.gathered[k]; k++)
        if (strcmp(probe.gathered[k], message) == 0) {
            pipe.collect = "gather";
            pipe.by = "batch";
            senders[1] = probe.twin ? "twin" : NULL;
        }
    skn_draft_pipe(draft, &pipe);
}

/* Pipes that the kind needs and the test has no use for. */
static inline void
probe_needs(skn_draft_t *draft, const char *name)
{
    const skn_schema_t *const *needs = probe.kind->needs;
    for (size_t n = 0; needs && needs[n]; n++) {
        size_t k = 0;
        while (probe.to[k] && strcmp(probe.to[k], needs[n]->name) != 0)
            k++;
        if (!probe.to[k])
            probe_pipe(draft, "probe", name, needs[n]->name);
    }
}

/* The subject, the probe and the pipes between them; NULL: see `problems`. */
static inline skn_spec_t *
probe_spec(skn_problems_t *problems)
{
    const skn_kind_t *const kinds[] = { probe.kind, &probe_kind, NULL };
    const char *name = probe.name ? probe.name : probe.kind->name;
    skn_draft_t *draft = skn_draft_new("test.yaml", "test", problems);
    skn_draft_actor(draft, name, probe.kind->name, SKN_CORE_FLOAT, 0);
    for (size_t k = 0; probe.option[k][0]; k++)
        skn_draft_option(draft, probe.option[k][0], "%s", probe.option[k][1]);
    skn_draft_actor(draft, "probe", "probe", SKN_CORE_FLOAT, 0);
    if (probe.twin)
        skn_draft_actor(draft, "twin", "probe", SKN_CORE_FLOAT, 0);
    for (size_t k = 0; probe.to[k]; k++)
        probe_pipe(draft, "probe", name, probe.to[k]);
    probe_needs(draft, name);
    for (size_t k = 0; probe.from[k]; k++)
        probe_pipe(draft, name, "probe", probe.from[k]);
    return skn_draft_finish(&draft, kinds, problems);
}

static inline skn_topology_t *
probe_topology(void)
{
    skn_problems_t *problems = skn_problems_new(&probe.error);
    skn_spec_t *spec = probe_spec(problems);
    if (!spec)
        skn_problems_print(problems, stderr);
    cr_assert(spec);
    skn_topology_t *topology = skn_topology_of(&spec, &probe.error);
    cr_assert(topology, "%s", probe.error.text);
    skn_problems_destroy(&problems);
    return topology;
}

/* Takes the kind and the place, which test_place.c is about, out of a sentence:
 * "output.0 (in its open): too many rows". */
static inline void
probe_cut_place(char *text)
{
    char *from = strstr(text, " ("), *to = from ? strchr(from, ')') : NULL;
    if (to && from == text + strcspn(text, " "))
        memmove(from, to + 1, strlen(to + 1) + 1);
}

/* Whether `text` is a sentence about the actor `name`. */
static inline bool
probe_is_about(const char *text, const char *name)
{
    size_t bytes = strlen(name);
    return strncmp(text, name, bytes) == 0 &&
           (text[bytes] == ':' || text[bytes] == ' ');
}

/* The sentence of the failure, to be compared with `want`. The runtime puts the
 * name of the actor before a sentence that does not begin with it: where `want`
 * has no name the name has to be there, and is left out. */
static inline const char *
probe_said(const char *want)
{
    const char *names[] = { probe.name ? probe.name : probe.kind->name,
                            "probe" };
    const char *text = probe.error.text;
    for (size_t k = 0; want[0] && k < 2; k++)
        if (probe_is_about(want, names[k]))
            return text;
    for (size_t k = 0; want[0] && k < 2; k++)
        if (probe_is_about(text, names[k]) && text[strlen(names[k])] == ':')
            return text + strlen(names[k]) + 2;
    return want[0] ? "a sentence without the name of an actor" : text;
}

/* Runs the topology to its end; what it told is in probe.events, a line an
 * event, and how it ended in probe.status and probe.error. */
static inline void
probe_run(void)
{
    static char line[PROBE_EVENTS_BYTES];
    size_t used = 0;
    skn_start_options_t options = SKN_START_OPTIONS(.no_binding = true);
    skn_error_t error = { 0 };
    probe.topology = probe_topology();
    probe.events[0] = '\0';
    probe.status = skn_topology_start(probe.topology, &options, &probe.error);
    if (probe.status == SKN_OK) {
        while (skn_topology_event(probe.topology, -1, line, sizeof(line),
                                  &error) == SKN_OK)
            used += (size_t)snprintf(probe.events + used,
                                     sizeof(probe.events) - used, "%s\n", line);
        cr_assert_lt(used, sizeof(probe.events));
        probe.status = skn_topology_wait(probe.topology, &probe.error);
    }
    probe_cut_place(probe.error.text);
    skn_topology_destroy(&probe.topology);
}

static inline void
probe_run_well(void)
{
    probe_run();
    cr_assert_eq(probe.status, SKN_OK, "%s", probe.error.text);
}

/* How often `word` stands in the events. */
static inline size_t
probe_told(const char *word)
{
    size_t count = 0;
    for (const char *at = probe.events; (at = strstr(at, word)); at++)
        count++;
    return count;
}

#endif
