/* test_deadlines.c - tests deadlines by key, and questions that have one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>

#include "actors/queues/deadlines.h"
#include "skein/port.h"

TestSuite(deadlines, .timeout = 60);

/* --- the set, beside a list that is searched ------------------------------ */

#define KEYS 500u

/* The earliest of due_ns[KEYS]; KEYS: there is none. 0 is "no deadline". */
static uint32_t
earliest(const uint64_t *due_ns)
{
    uint32_t best = KEYS;
    for (uint32_t k = 0; k < KEYS; k++)
        if (due_ns[k] > 0 && (best == KEYS || due_ns[k] < due_ns[best]))
            best = k;
    return best;
}

/* A linear congruential generator (Knuth's MMIX), its upper bits. */
static uint32_t
step_of(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Keys whose lower bits are all the same. */
static uint64_t
key_of(uint32_t k)
{
    return (uint64_t)k << 48;
}

Test(deadlines, the_set_is_that_of_a_list)
{
    skn_deadlines_t set = { 0 };
    uint64_t due_ns[KEYS] = { 0 };
    uint64_t state = 7;
    for (uint32_t step = 1; step < 60000; step++) {
        uint32_t k = (uint32_t)step_of(&state) % KEYS, first = earliest(due_ns);
        uint64_t taken = 0;
        cr_assert_eq(skn_deadlines_next_ns(&set),
                     first < KEYS ? due_ns[first] : UINT64_MAX);
        /* It grows for some thousand steps, and shrinks for as many. */
        switch (step / 5000 % 2 == 0 ? step_of(&state) % 4
                                     : 2 + step_of(&state) % 4) {
        case 0:
        case 1:
        case 2: /* times are distinct */
            due_ns[k] = (uint64_t)(step_of(&state) % 1000) * 100000 + step;
            cr_assert(skn_deadlines_set(&set, key_of(k), due_ns[k]));
            break;
        case 3:
            cr_assert_eq(skn_deadlines_clear(&set, key_of(k)), due_ns[k] > 0);
            due_ns[k] = 0;
            break;
        default:
            if (first == KEYS) {
                cr_assert_not(skn_deadlines_take(&set, UINT64_MAX, &taken));
                break;
            }
            cr_assert_not(skn_deadlines_take(&set, due_ns[first] - 1, &taken));
            cr_assert(skn_deadlines_take(&set, due_ns[first], &taken));
            cr_assert_eq(taken, key_of(first));
            due_ns[first] = 0;
        }
    }
    skn_deadlines_fini(&set);
    cr_assert_not(skn_deadlines_clear(&set, 1));
}

/* --- questions ------------------------------------------------------------ */

#define FIELDS_question(F, M) F(M, u64, key, UINT64_MAX, "its number")
SKN_MESSAGE_STRUCT(question, FIELDS_question)
SKN_MESSAGE_SCHEMA(question, "question", 1000, FIELDS_question, "a question")
SKN_MESSAGE_STRUCT(answer, FIELDS_question)
SKN_MESSAGE_SCHEMA(answer, "answer", 1001, FIELDS_question, "its answer")
#define FIELDS_outcome(F, M)                                                   \
    F(M, u64, key, UINT64_MAX, "of the question")                              \
    F(M, u32, answered, 1, "whether there was an answer")
SKN_MESSAGE_STRUCT(outcome, FIELDS_outcome)
SKN_MESSAGE_SCHEMA(outcome, "outcome", 1002, FIELDS_outcome, "what came of it")

static skn_error_t error;

/* Every third question has no limit of time; the others have no time. */
static skn_status_t
ask(skn_actor_t *actor, void *state, const void *message, skn_error_t *wrong)
{
    const question_t *question = message;
    (void)state;
    return skn_actor_ask(actor, skn_message_keep(question), question->key,
                         question->key % 3 == 0 ? UINT64_MAX : 0, wrong);
}

static skn_status_t
tell(skn_actor_t *actor, uint64_t key, bool answered, skn_error_t *wrong)
{
    const outcome_t outcome = { key, answered };
    return skn_actor_send(actor, &outcome_schema, &outcome, wrong);
}

static skn_status_t
on_answer(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *wrong)
{
    uint64_t key = ((const answer_t *)message)->key;
    (void)state;
    return skn_actor_clear_deadline(actor, key) ? tell(actor, key, true, wrong)
                                                : SKN_OK;
}

static skn_status_t
on_expired(skn_actor_t *actor, void *state, uint64_t key, skn_error_t *wrong)
{
    (void)state;
    return tell(actor, key, false, wrong);
}

/* It leaves every third question unanswered. */
static skn_status_t
answer(skn_actor_t *actor, void *state, const void *message, skn_error_t *wrong)
{
    const answer_t reply = { ((const question_t *)message)->key };
    (void)state;
    return reply.key % 3 == 2
               ? SKN_OK
               : skn_actor_send(actor, &answer_schema, &reply, wrong);
}

static const skn_schema_t *const asks[] = { &question_schema, &outcome_schema,
                                            NULL };
static const skn_handler_t asker_handlers[] = { { &question_schema, ask, NULL },
                                                { &answer_schema, on_answer,
                                                  NULL },
                                                { 0 } };
static const skn_kind_t asker =
    SKN_KIND(.name = "asker", .handlers = asker_handlers, .sends = asks,
             .expired = on_expired);
static const skn_kind_t hasty =
    SKN_KIND(.name = "hasty", .handlers = asker_handlers, .sends = asks);
static const skn_schema_t *const answers[] = { &answer_schema, NULL };
static const skn_handler_t answerer_handlers[] = { { &question_schema, answer,
                                                     NULL },
                                                   { 0 } };
static const skn_kind_t answerer =
    SKN_KIND(.name = "answerer", .handlers = answerer_handlers,
             .sends = answers);
static const skn_kind_t *const kinds[] = { &asker, &hasty, &answerer, NULL };

static skn_topology_t *
start(const char *kind)
{
    char text[1024];
    (void)snprintf(text, sizeof(text),
                   "skein: 1\ntopology:\n  name: t\n  actors:\n"
                   "    - { name: in, kind: port }\n"
                   "    - { name: a, kind: %s }\n"
                   "    - { name: b, kind: answerer }\n"
                   "    - { name: out, kind: port }\n"
                   "  pipes:\n"
                   "    - { from: in, to: a, message: question }\n"
                   "    - { from: a, to: b, message: question }\n"
                   "    - { from: b, to: a, message: answer, peer: true }\n"
                   "    - { from: a, to: out, message: outcome }\n",
                   kind);
    skn_topology_t *topology = skn_topology_new(text, "t", kinds, &error);
    cr_assert(topology, "%s", error.text);
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK, "%s",
                 error.text);
    return topology;
}

#define QUESTIONS 300u

/* Every question has one outcome, whether its answer is late, in time, or never
 * comes; and the last ones have theirs before the run ends. */
Test(deadlines, each_question_has_one_outcome)
{
    skn_topology_t *topology = start("asker");
    skn_port_t *in = skn_topology_port(topology, "in", &error);
    skn_port_t *out = skn_topology_port(topology, "out", &error);
    uint32_t outcomes[QUESTIONS] = { 0 }, count = 0;
    uint64_t sent = 0;
    while (count < QUESTIONS) {
        const question_t question = { sent };
        const outcome_t *outcome;
        if (sent < QUESTIONS &&
            skn_port_send(in, &question_schema, &question, &error) == SKN_OK)
            sent++;
        while ((outcome = skn_port_take(out, NULL, &error))) {
            cr_assert_lt(outcome->key, QUESTIONS);
            outcomes[outcome->key]++;
            if (outcome->key % 3 != 1)
                cr_expect_eq(outcome->answered, outcome->key % 3 == 0);
            skn_message_drop(outcome);
            count++;
        }
        cr_assert_eq(error.status, SKN_BUSY, "%s", error.text);
        struct pollfd items[] = { { skn_port_fd(out), POLLIN, 0 } };
        if (sent == QUESTIONS && count < QUESTIONS)
            (void)poll(items, 1, -1);
    }
    skn_port_finish(in);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK, "%s", error.text);
    for (uint32_t k = 0; k < QUESTIONS; k++)
        cr_expect_eq(outcomes[k], 1u, "%u", k);
    skn_topology_destroy(&topology);
}

Test(deadlines, a_kind_without_the_hook_sets_none)
{
    const question_t question = { 0 };
    skn_topology_t *topology = start("hasty");
    skn_port_t *in = skn_topology_port(topology, "in", &error);
    cr_assert_eq(skn_port_send(in, &question_schema, &question, &error),
                 SKN_OK);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_USAGE);
    cr_expect(strstr(error.text, "no hook `expired`"), "%s", error.text);
    skn_topology_destroy(&topology);
    cr_expect_eq(skn_actor_set_deadline(NULL, 1, 2, &error), SKN_USAGE);
    cr_expect_not(skn_actor_clear_deadline(NULL, 1));
    cr_expect_eq(skn_actor_ask(NULL, NULL, 1, 2, &error), SKN_USAGE);
}

/* --- a question about the clock ------------------------------------------- */

static uint32_t clock_count;

static skn_status_t
ask_clock(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state;
    return skn_actor_ask_clock(actor, 7, wrong);
}

static skn_status_t
on_clock(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *wrong)
{
    (void)actor, (void)state, (void)wrong;
    clock_count += ((const skn_clock_t *)message)->tag == 7;
    return SKN_OK;
}

static skn_status_t
end_at_once(skn_actor_t *actor, void *state, skn_error_t *wrong)
{
    (void)state, (void)wrong;
    skn_actor_finish(actor);
    return SKN_OK;
}

static const skn_handler_t last_handlers[] = {
    { &question_schema, answer, NULL },
    { &skn_clock_schema, on_clock, NULL },
    { 0 }
};
static const skn_kind_t source =
    SKN_KIND(.name = "starter", .sends = asks, .produce = end_at_once);
static const skn_kind_t last =
    SKN_KIND(.name = "last", .handlers = last_handlers, .sends = answers,
             .drain = ask_clock);
static const skn_handler_t sink_handlers[] = { { &answer_schema, on_clock,
                                                 NULL },
                                               { 0 } };
static const skn_kind_t sink =
    SKN_KIND(.name = "sink", .handlers = sink_handlers);

/* No message wakes it after its hook `drain`. */
Test(deadlines, a_clock_that_is_asked_for_while_draining_is_answered)
{
    static const skn_kind_t *const all[] = { &source, &last, &sink, NULL };
    static const char text[] = "skein: 1\ntopology:\n  name: t\n  actors:\n"
                               "    - { name: s, kind: starter }\n"
                               "    - { name: a, kind: last }\n"
                               "    - { name: b, kind: sink }\n"
                               "  pipes:\n"
                               "    - { from: s, to: a, message: question }\n"
                               "    - { from: a, to: b, message: answer }\n";
    skn_topology_t *topology = skn_topology_new(text, "t", all, &error);
    cr_assert(topology, "%s", error.text);
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(clock_count, 1u);
    skn_topology_destroy(&topology);
}
