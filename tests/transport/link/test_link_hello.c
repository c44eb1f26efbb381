/* test_link_hello.c - tests how a link identifies its peer, and the messages at
 * both ends if it does not fit.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "tests/support/link_pair.h"
#include "transport/link/link_internal.h"

Test(link_hello, two_nodes_that_fit_are_live_after_three_hellos)
{
    link_pair_t pair;
    skn_link_counts_t counts;
    pair_init(&pair);
    pair_open(&pair);
    pair_expect_state(&pair, 0, SKN_LINK_NEW);
    (void)pair_carry(&pair);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    pair_expect_state(&pair, 1, SKN_LINK_LIVE);
    skn_link_count(pair.link[0], &counts);
    cr_expect_leq(counts.fragments_sent, 5);
    pair_close(&pair);
}

/* What one end and the other says, each in one sentence. */
static void
expect_misfit(link_pair_t *pair, const char *one, const char *other,
              const char *hint)
{
    pair_open(pair);
    pair_pass(pair, 3 * PAIR_S);
    pair_expect_dead(pair, 0, one, hint);
    pair_expect_dead(pair, 1, other, hint);
    pair_close(pair);
}

Test(link_hello, another_config_is_reported_at_both_ends)
{
    link_pair_t pair;
    pair_init(&pair);
    pair.options[1].config_hash++;
    expect_misfit(&pair, "node 'b' runs another config",
                  "node 'a' refused the link: it runs another config",
                  "start both with the same file");
}

Test(link_hello, other_messages_are_reported_at_both_ends)
{
    link_pair_t pair;
    pair_init(&pair);
    pair.options[0].schemas_hash++;
    pair.options[0].config_hash++; /* the reason behind the other */
    expect_misfit(&pair, "node 'b' knows other messages",
                  "node 'a' refused the link: it knows other messages",
                  "install the same version of Skein and of its plug-ins on "
                  "both");
}

Test(link_hello, another_purpose_is_reported_at_both_ends)
{
    static const struct {
        uint8_t a, b;
        const char *text, *hint;
    } rows[] = {
        { 0, 1, "node 'b' continues a run, this one starts a new run",
          "--resume" },
        { 1, 0, "node 'b' starts a new run, this one continues a run",
          "--resume" },
        { 0, 2, "node 'b' predicts, this one starts a new run", "--predict" },
        { 2, 1, "node 'b' continues a run, this one predicts", "--predict" },
        { 1, 3,
          "node 'b' uses features that this version does not have, this one "
          "continues a run",
          "--resume" },
    };
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        link_pair_t pair;
        char hint[128];
        pair_init(&pair);
        pair.options[0].purpose = rows[k].a;
        pair.options[1].purpose = rows[k].b;
        pair.options[1].schemas_hash++; /* the plan is another one, too */
        pair_open(&pair);
        pair_pass(&pair, 3 * PAIR_S);
        (void)snprintf(hint, sizeof(hint),
                       "stop all nodes, then start all with %s, or all without",
                       rows[k].hint);
        pair_expect_dead(&pair, 0, rows[k].text, hint);
        pair_expect_dead(&pair, 1,
                         "node 'a' refused the link: it does not agree with "
                         "this node on --resume or --predict",
                         "stop all nodes, then start all with --resume, or "
                         "all without");
        pair_close(&pair);
    }
}

Test(link_hello, other_data_are_reported_at_both_ends)
{
    link_pair_t pair;
    pair_init(&pair);
    pair.options[1].data_hash++;
    expect_misfit(&pair, "node 'b' reads other data",
                  "node 'a' refused the link: it reads other data",
                  "give both the same data files");
}

Test(link_hello, another_run_is_reported_at_both_ends)
{
    link_pair_t pair;
    pair_init(&pair);
    pair.options[1].run[5]++;
    expect_misfit(&pair, "node 'b' belongs to another run",
                  "node 'a' refused the link: it belongs to another run",
                  "stop the nodes of the other run, or start both nodes again");
}

/* One node still ends a part of the run, the other has begun the next: they
 * wait, and fit as soon as both are there. */
Test(link_hello, another_part_of_the_run_is_waited_for)
{
    for (int adopts = 0; adopts < 2; adopts++) {
        link_pair_t pair;
        pair_init(&pair);
        for (int end = 0; end < 2; end++) {
            memcpy(pair.options[end].run + 8, SKN_RUN_PART_MARK, 4);
            pair.options[end].run[15] = 1;
        }
        pair.options[1].config_hash++; /* that of the next part */
        pair.options[1].run[15] = 2;
        if (adopts)
            memset(pair.options[1].run, 0, 8);
        pair_open(&pair);
        pair_pass(&pair, 3 * PAIR_S);
        pair_expect_state(&pair, 0, SKN_LINK_NEW);
        pair_expect_state(&pair, 1, SKN_LINK_NEW);
        pair.options[0].config_hash++;
        pair.options[0].run[15] = 2;
        pair.options[0].incarnation = 999;
        pair_start(&pair, 0);
        pair_pass(&pair, 3 * PAIR_S);
        pair_expect_state(&pair, 0, SKN_LINK_LIVE);
        pair_expect_state(&pair, 1, SKN_LINK_LIVE);
        pair_close(&pair);
    }
}

Test(link_hello, a_restart_is_reported_at_both_ends)
{
    link_pair_t pair;
    pair_init(&pair);
    pair_open(&pair);
    pair_pass(&pair, PAIR_S);
    pair.options[1].incarnation = 999;
    pair_start(&pair, 1);
    pair_pass(&pair, 2 * PAIR_S);
    pair_expect_dead(&pair, 0, "node 'b' was restarted during this run",
                     "stop all nodes of the run, then continue with --resume");
    pair_expect_dead(&pair, 1,
                     "node 'a' refused the link: it remembers an earlier start "
                     "of this node",
                     "stop all nodes of the run, then continue with --resume");
    pair_close(&pair);
}

Test(link_hello, a_link_that_is_done_refuses_a_new_start_too)
{
    link_pair_t pair;
    pair_init(&pair);
    pair_open(&pair);
    skn_link_finish(pair.link[0]);
    skn_link_finish(pair.link[1]);
    (void)pair_carry(&pair);
    pair_expect(&pair, 0, NULL);
    pair_expect(&pair, 1, NULL);
    pair_pass(&pair, PAIR_S);
    pair_expect_state(&pair, 0, SKN_LINK_DONE);
    pair.options[1].incarnation = 999;
    pair_start(&pair, 1);
    pair_pass(&pair, 2 * PAIR_S);
    pair_expect_state(&pair, 0, SKN_LINK_DONE);
    pair_expect_state(&pair, 1, SKN_LINK_DEAD);
    pair_close(&pair);
}

Test(link_hello, a_node_without_a_run_adopts_that_of_the_first)
{
    link_pair_t pair;
    uint8_t run[SKN_LINK_RUN_BYTES];
    pair_init(&pair);
    memset(pair.options[1].run, 0, sizeof(run));
    pair_open(&pair);
    cr_expect_not(skn_link_run(pair.link[1], run));
    (void)pair_carry(&pair);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    pair_expect_state(&pair, 1, SKN_LINK_LIVE);
    cr_assert(skn_link_run(pair.link[1], run));
    cr_expect_eq(memcmp(run, pair.options[0].run, sizeof(run)), 0);
    pair_close(&pair);
}

Test(link_hello, the_first_node_adopts_no_run_but_is_given_one)
{
    link_pair_t pair;
    uint8_t run[SKN_LINK_RUN_BYTES], none[SKN_LINK_RUN_BYTES] = { 0 };
    pair_init(&pair);
    memset(pair.options[0].run, 0, sizeof(run));
    pair_open(&pair);
    pair_pass(&pair, 3 * PAIR_S);
    pair_expect_state(&pair, 0, SKN_LINK_NEW);
    pair_expect_state(&pair, 1, SKN_LINK_NEW);
    skn_link_set_run(pair.link[0], none);
    cr_expect_not(skn_link_run(pair.link[0], run));
    skn_link_set_run(pair.link[0], pair.options[1].run);
    pair_pass(&pair, PAIR_S);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    none[0] = 1; /* it has one: nothing changes */
    skn_link_set_run(pair.link[0], none);
    cr_expect(skn_link_run(pair.link[0], run));
    cr_expect_eq(memcmp(run, pair.options[1].run, sizeof(run)), 0);
    pair_close(&pair);
}

/* Two that wait for a run from somebody else do not talk themselves hoarse. */
Test(link_hello, hellos_that_say_the_same_are_rare)
{
    link_pair_t pair;
    skn_link_counts_t counts;
    pair_init(&pair);
    memset(pair.options[0].run, 0, SKN_LINK_RUN_BYTES);
    memset(pair.options[1].run, 0, SKN_LINK_RUN_BYTES);
    pair_open(&pair);
    pair_pass(&pair, 60 * PAIR_S);
    skn_link_count(pair.link[0], &counts);
    cr_expect_leq(counts.fragments_sent, 60 * 5 + 3);
    cr_expect_geq(counts.fragments_sent, 60);
    pair_close(&pair);
}

/* A header of `type` that pretends to come from node 1. */
static skn_status_t
take_forged(link_pair_t *pair, skn_fragment_header_t header, uint64_t code,
            skn_error_t *error)
{
    uint8_t bytes[SKN_FRAGMENT_HEADER_BYTES_MAX], body[SKN_HELLO_BYTES];
    skn_hello_t hello = { 5, 5, 5, 1, 0 };
    size_t body_bytes = 0;
    if (header.type == SKN_FRAGMENT_HELLO) {
        skn_hello_write(&hello, body);
        body_bytes = sizeof(body);
    } else if (header.type == SKN_FRAGMENT_REFUSE) {
        skn_refusal_write(code, body);
        body_bytes = SKN_REFUSAL_BYTES;
    }
    size_t count = skn_fragment_write(&header, bytes);
    return skn_link_take(pair->link[0], pair->now_ns,
                         (skn_frame_t){ bytes, count },
                         (skn_frame_t){ body, body_bytes }, error);
}

static skn_fragment_header_t
forged(skn_fragment_type_t type)
{
    skn_fragment_header_t header = {
        .version = SKN_LINK_VERSION,
        .type = type,
        .node = 1,
        .incarnation = 101,
        .peer = 100,
    };
    memset(header.run, 7, sizeof(header.run));
    return header;
}

Test(link_hello, only_a_hello_that_echoes_our_start_counts)
{
    link_pair_t pair;
    skn_fragment_header_t header = forged(SKN_FRAGMENT_HELLO);
    skn_error_t error;
    pair_init(&pair);
    pair_start(&pair, 0);
    header.peer = 0;
    cr_expect_eq(take_forged(&pair, header, 0, NULL), SKN_OK);
    pair_expect_state(&pair, 0, SKN_LINK_NEW);
    header.peer = 77;
    cr_expect_eq(take_forged(&pair, header, 0, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "node 'b': a hello for another start of this node");
    header.peer = 100;
    header.ack = 1;
    cr_expect_eq(take_forged(&pair, header, 0, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text, "node 'b': an acknowledgement of bytes "
                                 "that were never sent");
    pair_expect_state(&pair, 0, SKN_LINK_NEW);
    header.ack = 0;
    cr_expect_eq(take_forged(&pair, header, 0, NULL), SKN_OK);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    pair_close(&pair);
}

/* What a process of another time and run says cannot harm a live link. */
Test(link_hello, leftovers_do_not_harm_a_live_link)
{
    link_pair_t pair;
    skn_fragment_header_t header = forged(SKN_FRAGMENT_HELLO);
    skn_link_counts_t counts;
    pair_init(&pair);
    pair_open(&pair);
    (void)pair_carry(&pair);
    header.run[0] = 8;
    cr_expect_eq(take_forged(&pair, header, 0, NULL), SKN_BAD_MESSAGE);
    header = forged(SKN_FRAGMENT_HELLO);
    header.incarnation = 55; /* an earlier start, which never heard of ours */
    header.peer = 0;
    cr_expect_eq(take_forged(&pair, header, 0, NULL), SKN_OK);
    header = forged(SKN_FRAGMENT_REFUSE);
    header.incarnation = 55;
    cr_expect_eq(take_forged(&pair, header, 3, NULL), SKN_BAD_MESSAGE);
    header = forged(SKN_FRAGMENT_REFUSE);
    header.peer = 99;
    cr_expect_eq(take_forged(&pair, header, 3, NULL), SKN_BAD_MESSAGE);
    header = forged(SKN_FRAGMENT_HELLO);
    header.version = 2;
    cr_expect_eq(take_forged(&pair, header, 0, NULL), SKN_BAD_MESSAGE);
    (void)pair_carry(&pair);
    pair_expect_state(&pair, 0, SKN_LINK_LIVE);
    skn_link_count(pair.link[0], &counts);
    cr_expect_eq(counts.refused[SKN_LINK_REASON_RUN], 1);
    cr_expect_eq(counts.refused[SKN_LINK_REASON_INCARNATION], 2);
    cr_expect_eq(counts.refused[SKN_LINK_REASON_VERSION], 1);
    pair_close(&pair);
}

Test(link_hello, another_version_is_reported)
{
    link_pair_t pair;
    skn_fragment_header_t header = forged(SKN_FRAGMENT_HELLO);
    skn_fragment_t fragment;
    skn_error_t error;
    pair_init(&pair);
    pair_start(&pair, 0);
    (void)skn_link_next(pair.link[0], pair.now_ns, &fragment);
    header.version = 2;
    header.peer = 0;
    cr_expect_eq(take_forged(&pair, header, 0, &error), SKN_BAD_MESSAGE);
    pair_expect_state(&pair, 0, SKN_LINK_NEW);
    /* It is answered, so that the other can find out as well. */
    cr_expect(skn_link_next(pair.link[0], pair.now_ns, &fragment));
    header.peer = 100;
    cr_expect_eq(take_forged(&pair, header, 0, &error), SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text,
                     "node 'b' speaks another version of the link protocol");
    pair_expect_dead(&pair, 0,
                     "node 'b' speaks another version of the link protocol",
                     "install the same version of Skein on both");
    cr_expect(skn_link_next(pair.link[0], pair.now_ns, &fragment));
    pair_close(&pair);
}

Test(link_hello, a_refusal_of_a_later_version_is_understood_somehow)
{
    link_pair_t pair;
    pair_init(&pair);
    pair_open(&pair);
    (void)pair_carry(&pair);
    cr_expect_eq(take_forged(&pair, forged(SKN_FRAGMENT_REFUSE), 4711, NULL),
                 SKN_UNAVAILABLE);
    pair_expect_dead(&pair, 0, "node 'b' refused the link: it gave up",
                     "its own log says why");
    pair_close(&pair);
}

Test(link_hello, a_dead_link_informs_its_peer_again_and_again)
{
    link_pair_t pair;
    skn_error_t error = { 0 };
    pair_init(&pair);
    pair_open(&pair);
    (void)pair_carry(&pair);
    (void)skn_fail(&error, SKN_INTERNAL, "oh");
    skn_link_die_of(pair.link[0], SKN_REFUSAL_GAVE_UP, &error);
    pair.deaf[1] = true; /* the first word is lost */
    (void)pair_carry(&pair);
    pair_expect_state(&pair, 1, SKN_LINK_LIVE);
    pair.deaf[1] = false;
    pair_pass(&pair, 2 * PAIR_S);
    pair_expect_state(&pair, 1, SKN_LINK_DEAD);
    pair_close(&pair);
}
