/* test_sender.c - tests that the message of a refusal names the sender. With
 * whole nodes: test_links.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/runtime/sender.h"
#include "tests/support/flow_fixture.h"

static const skn_wired_node_t nodes[] = { { .name = "a" }, { .name = "b" } };
static flow_t flow;
static skn_system_t fake = { .wiring = &flow.wiring };
static skn_in_pipe_t in;
static skn_actor_t actor;

static const skn_kind_t some =
    SKN_KIND(.name = "some", .options = flow_options);

static void
two_nodes(void)
{
    (void)flow_actors(&flow, &some, 3, 0, 0);
    flow.wiring.nodes = nodes;
    flow.wiring.node_count = 2;
    flow.actors[2].node = 1;
    actor = (skn_actor_t){ .wired = &flow.actors[0], .system = &fake };
    in.wired = flow_pipe(&flow, &token_schema, SKN_PATTERN_ONE, 1, 1, 2, 0, 1);
}
TestSuite(sender, .init = two_nodes, .timeout = 60);

Test(sender, an_actor_of_another_node_is_named_with_it)
{
    char text[SKN_SENDER_TEXT_BYTES];
    cr_expect_str_eq(skn_actor_text(&actor, 1, text), "some.1");
    cr_expect_str_eq(skn_actor_text(&actor, 2, text), "some.2 of node 'b'");
    actor.wired = &flow.actors[2];
    cr_expect_str_eq(skn_actor_text(&actor, 2, text), "some.2");
    cr_expect_str_eq(skn_actor_text(&actor, 1, text), "some.1 of node 'a'");
    flow.wiring.nodes = NULL; /* one process: no names of nodes */
    actor.wired = &flow.actors[0];
    flow.actors[2].node = 0;
    cr_expect_str_eq(skn_actor_text(&actor, 2, text), "some.2");
}

Test(sender, only_what_is_about_the_message_names_its_sender)
{
    skn_in_edge_t edge = { .pipe = &in, .sender = 2 };
    skn_error_t error = { 0 };
    (void)skn_fail(&error, SKN_BAD_MESSAGE, "it is bad");
    (void)skn_fail_hint(&error, SKN_BAD_MESSAGE, "a hint");
    skn_sender_add(&actor, &edge, &error);
    cr_expect_str_eq(error.text, "it is bad (token from some.2 of node 'b')");
    cr_expect_str_eq(error.hint, "a hint");
    (void)skn_fail(&error, SKN_NO_MEMORY, "no room");
    skn_sender_add(&actor, &edge, &error);
    cr_expect_str_eq(error.text, "no room");
    skn_sender_blame(&actor);
    skn_sender_add(&actor, &edge, &error);
    cr_expect_str_eq(error.text, "no room (token from some.2 of node 'b')");
    edge.sender = 1; /* of the own process */
    (void)skn_fail(&error, SKN_BAD_MESSAGE, "it is bad");
    skn_sender_add(&actor, &edge, &error);
    cr_expect_str_eq(error.text, "it is bad");
}

Test(sender, a_sentence_that_is_full_stays_one)
{
    skn_in_edge_t edge = { .pipe = &in, .sender = 2 };
    skn_error_t error = { .status = SKN_BAD_MESSAGE };
    memset(error.text, 'x', sizeof(error.text) - 1);
    skn_sender_add(&actor, &edge, &error);
    cr_expect_eq(strlen(error.text), sizeof(error.text) - 1);
    error.text[sizeof(error.text) - 5] = '\0';
    skn_sender_add(&actor, &edge, &error);
    cr_expect_eq(strlen(error.text), sizeof(error.text) - 1);
    cr_expect_str_eq(error.text + sizeof(error.text) - 6, "x (to");
}
