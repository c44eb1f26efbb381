/* test_endings.c - tests which pipes end late, and runs actors whose handlers
 * of answers send, until they end.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/endings.h"

#include <criterion/criterion.h>

#include "tests/support/flow_fixture.h"

static const skn_kind_t plain = SKN_KIND(.name = "plain");
static const skn_kind_t gate = SKN_KIND(.name = "gate", .gate = true);

/* Actors are letters, capitals are gates. "ab" is work from a to b, "ab*"
 * answers; pipes stand apart by spaces. The answer: L(ate) or e(arly). */
static void
expect_endings(const char *pipes, const char *want)
{
    static const uint32_t number[26] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,
                                         9,  10, 11, 12, 13, 14, 15, 16, 17,
                                         18, 19, 20, 21, 22, 23, 24, 25 };
    skn_wired_actor_t actor[26];
    skn_wired_pipe_t pipe[32];
    bool late[33];
    char got[33] = "";
    skn_error_t error = { 0 };
    skn_wiring_t wiring = { .actors = actor, .actor_count = 26, .pipes = pipe };
    for (uint32_t k = 0; k < 26; k++)
        actor[k] = (skn_wired_actor_t){ .kind = &plain };
    for (const char *at = pipes; *at; at += *at == ' ') {
        uint32_t from = (uint32_t)(at[0] | 32) - 'a';
        uint32_t to = (uint32_t)(at[1] | 32) - 'a';
        if (at[0] < 'a')
            actor[from].kind = &gate;
        if (at[1] < 'a')
            actor[to].kind = &gate;
        pipe[wiring.pipe_count++] = (skn_wired_pipe_t){ .from = &number[from],
                                                        .from_count = 1,
                                                        .to = &number[to],
                                                        .to_count = 1,
                                                        .peer = at[2] == '*' };
        at += at[2] == '*' ? 3 : 2;
    }
    cr_assert_eq(skn_endings_find(&wiring, late, &error), SKN_OK);
    for (uint32_t k = 0; k < wiring.pipe_count; k++)
        got[k] = late[k] ? 'L' : 'e';
    cr_expect_str_eq(got, want, "%s", pipes);
}

Test(endings, without_answers_all_end_early)
{
    expect_endings("", "");
    expect_endings("ab bc ac", "eee");
}

Test(endings, a_question_ends_early_and_what_the_answer_leads_to_late)
{
    expect_endings("ma ah ha* as", "eeeL");
    expect_endings("as ha* ah ma", "Leee");
}

Test(endings, an_answer_to_an_answer_ends_late)
{
    /* a asks b, b asks c; c answers b, who answers a, who tells s. */
    expect_endings("ma ab bc cb* ba* as", "eeeeLL");
}

Test(endings, actors_that_answer_each_other_end_early)
{
    expect_endings("ma mb ab* ba*", "eeee");
    expect_endings("mb ma ba* ab*", "eeee");
    expect_endings("ma aa*", "ee");
    expect_endings("ma mb ab* ba* as bs", "eeeeLL");
}

Test(endings, a_pipe_that_leads_back_to_an_answering_actor_ends_early)
{
    expect_endings("ma ah ha* ax xh", "eeeee");
    expect_endings("ma ah ha* ax xy yh ys", "eeeeeee");
}

Test(endings, gates_end_by_their_own_word)
{
    expect_endings("Sa au ua* aS", "eeeL");
    expect_endings("Sa ab ba* aS bS", "eeeLe");
    expect_endings("mA Ah hA* As", "eeee");
}

Test(endings, a_maker_may_be_answered)
{
    expect_endings("ah ha* as", "eeL");
}

/* An actor that gets nothing but answers ends with them. */
Test(endings, answers_alone_are_work)
{
    expect_endings("ma ac* cs", "eeL");
    expect_endings("ma ac* cd da*", "eeLe");
}

Test(endings, a_pipe_of_many_waits_for_all_of_them)
{
    static const uint32_t number[] = { 0, 1, 2, 3 };
    skn_wired_actor_t actor[4] = { { .kind = &plain },
                                   { .kind = &plain },
                                   { .kind = &plain },
                                   { .kind = &plain } };
    /* 0 and 1 send to 2 and to 3; 2 answers 1 alone. */
    skn_wired_pipe_t pipe[] = {
        { .from = number, .from_count = 2, .to = number + 2, .to_count = 1 },
        { .from = number, .from_count = 2, .to = number + 3, .to_count = 1 },
        { .from = number + 2,
          .from_count = 1,
          .to = number + 1,
          .to_count = 1,
          .peer = true },
    };
    skn_wiring_t wiring = {
        .actors = actor, .actor_count = 4, .pipes = pipe, .pipe_count = 3
    };
    bool late[4];
    cr_assert_eq(skn_endings_find(&wiring, late, NULL), SKN_OK);
    cr_expect_not(late[0]);
    cr_expect(late[1]);
    cr_expect_not(late[2]);
}

/* --- run ------------------------------------------------------------------ */

#define QUESTIONS 500u

/* maker ─token─▶ asker ─token─▶ helper, which answers; asker counts in a sink.
 * Messages of one schema go one way; lanes are schemas of their own. */
static skn_schema_t lane[4];
enum {
    ASK,
    QUESTION,
    ANSWER,
    RESULT
};

static skn_status_t
pass(skn_actor_t *actor, uint32_t number, const token_t *token,
     skn_error_t *error)
{
    token_t copy = *token;
    return skn_actor_send(actor, &lane[number], &copy, error);
}

static skn_status_t
asks_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    uint64_t *made = state;
    token_t token = { .value = *made + 1, .text = "" };
    if ((*made)++ == QUESTIONS) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    return pass(actor, ASK, &token, error);
}

static skn_status_t
on_ask(skn_actor_t *actor, void *state, const void *message, skn_error_t *error)
{
    (void)state;
    return pass(actor, QUESTION, message, error);
}

/* The last answers come when the asker's questions have long ended. */
static skn_status_t
on_question(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *error)
{
    (void)state;
    if (skn_actor_option_int(actor, "n") > 0)
        return SKN_OK; /* the drain answers */
    for (uint32_t k = 0; k < 3; k++)
        (void)sched_yield();
    return pass(actor, ANSWER, message, error);
}

static skn_status_t
helper_drain(skn_actor_t *actor, void *state, skn_error_t *error)
{
    (void)state;
    token_t token = { .text = "" };
    return skn_actor_option_int(actor, "n") > 0
               ? pass(actor, ANSWER, &token, error)
               : SKN_OK;
}

typedef struct asker {
    uint64_t waiting; /* answered, to be told by produce */
} asker_t;

static skn_status_t
on_answer(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    asker_t *asker = state;
    const token_t *token = message;
    if (skn_actor_option_int(actor, "n") > 0)
        return pass(actor, QUESTION, message, error);
    if (token->value % 100 == 99) /* not more than may wait */
        return skn_actor_ask_clock(actor, token->value, error);
    if (token->value % 2 == 0)
        return pass(actor, RESULT, message, error);
    asker->waiting++;
    return SKN_OK;
}

static skn_status_t
on_clock(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    (void)state, (void)message;
    token_t token = { .text = "" };
    return pass(actor, RESULT, &token, error);
}

static skn_status_t
asker_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    asker_t *asker = state;
    token_t token = { .text = "" };
    if (asker->waiting == 0) {
        skn_actor_rest(actor);
        return SKN_OK;
    }
    asker->waiting--;
    return pass(actor, RESULT, &token, error);
}

static skn_status_t
on_result(skn_actor_t *actor, void *state, const void *message,
          skn_error_t *error)
{
    (void)state, (void)message, (void)error;
    flow_note(actor, 1);
    return SKN_OK;
}

static const skn_handler_t asker_handlers[] = {
    { &lane[ASK], on_ask, NULL },
    { &lane[ANSWER], on_answer, NULL },
    { &skn_clock_schema, on_clock, NULL },
    { 0 },
};
static const skn_handler_t helper_handlers[] = {
    { &lane[QUESTION], on_question, NULL },
    { 0 },
};
static const skn_handler_t result_handlers[] = {
    { &lane[RESULT], on_result, NULL },
    { 0 },
};
static const skn_schema_t *const all_lanes[] = { &lane[0], &lane[1], &lane[2],
                                                 &lane[3], NULL };
static const skn_kind_t maker_kind =
    SKN_KIND(.name = "maker", .state_bytes = sizeof(uint64_t),
             .options = flow_options, .sends = all_lanes,
             .produce = asks_produce);
static const skn_kind_t asker_kind =
    SKN_KIND(.name = "asker", .state_bytes = sizeof(asker_t),
             .options = flow_options, .handlers = asker_handlers,
             .sends = all_lanes, .produce = asker_produce);
static const skn_kind_t helper_kind =
    SKN_KIND(.name = "helper", .state_bytes = 8, .options = flow_options,
             .handlers = helper_handlers, .drain = helper_drain,
             .sends = all_lanes);
static const skn_kind_t sink_kind =
    SKN_KIND(.name = "sink", .state_bytes = 8, .options = flow_options,
             .handlers = result_handlers, .sends = all_lanes);

static skn_status_t
run_asker(uint32_t credit, bool asks_again, skn_error_t *error)
{
    static flow_t flow;
    memset(&flow, 0, sizeof(flow));
    for (uint32_t k = 0; k < 4; k++) {
        lane[k] = token_schema;
        lane[k].id = 1000 + k;
    }
    uint32_t asks = flow_actors(&flow, &maker_kind, 1, 0, 0);
    uint32_t asker = flow_actors(&flow, &asker_kind, 1, asks_again, 0);
    uint32_t helper = flow_actors(&flow, &helper_kind, 1, asks_again, 0);
    uint32_t results = flow_actors(&flow, &sink_kind, 1, 0, 0);
    flow_pipe(&flow, &lane[ASK], SKN_PATTERN_ONE, credit, asks, 1, asker, 1);
    flow_pipe(&flow, &lane[QUESTION], SKN_PATTERN_ONE, credit, asker, 1, helper,
              1);
    flow_pipe(&flow, &lane[ANSWER], SKN_PATTERN_ONE, credit, helper, 1, asker,
              1)
        ->peer = true;
    flow_pipe(&flow, &lane[RESULT], SKN_PATTERN_ONE, credit, asker, 1, results,
              1);
    return flow_run(&flow, NULL, error);
}

Test(endings, what_answers_set_in_motion_is_not_lost, .timeout = 60)
{
    for (uint32_t credit = 1; credit <= 1000; credit *= 10) {
        skn_error_t error = { 0 };
        flow_logs[3].count = 0;
        cr_assert_eq(run_asker(credit, false, &error), SKN_OK, "%s",
                     error.text);
        cr_expect_eq(flow_logs[3].count, QUESTIONS, "credit %u", credit);
    }
}

/* The helper answers when the questions have ended. */
Test(endings, asking_again_after_the_end_is_refused, .timeout = 60)
{
    skn_error_t error = { 0 };
    cr_expect_eq(run_asker(5, true, &error), SKN_USAGE);
    cr_expect_str_eq(error.text,
                     "asker.0 (in its handler of 'token') sends token "
                     "after its pipes have ended");
    cr_expect_str_eq(error.hint,
                     "an actor that keeps sending when it gets answers must "
                     "be a gate, and end its pipes itself");
}
