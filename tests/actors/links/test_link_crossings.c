/* test_link_crossings.c - tests the random bits of a coding, and the bound on a
 * peer's requests. Parcels and records are tested with whole drivers
 * (test_links.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/protocol/kinds.h"
#include "actors/links/links_internal.h"
#include "actors/runtime/system_internal.h"
#include "tests/support/link_pair.h"

/* Another seed, edge or number has other bits; nothing else has a say. */
Test(link_crossings, a_key_is_of_seed_edge_and_number)
{
    enum {
        SEEDS = 3,
        EDGES = 20,
        NUMBERS = 50,
        KEYS = SEEDS * EDGES * NUMBERS
    };
    static uint64_t key[KEYS];
    size_t count = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        for (uint32_t edge = 0; edge < EDGES; edge++)
            for (uint64_t number = 0; number < NUMBERS; number++)
                key[count++] = skn_links_coding_key(seed, edge, number);
    for (size_t a = 0; a < KEYS; a++)
        for (size_t b = 0; b < a; b++)
            cr_assert_neq(key[a], key[b], "%zu, %zu", a, b);
    cr_expect_eq(skn_links_coding_key(2, 19, 49), key[KEYS - 1]);
}

/* The source's, of a run of two actors whose first has none. */
Test(link_crossings, the_seed_is_that_of_the_first_actor_that_has_one)
{
    static skn_value_t course[32], source[32];
    skn_wired_actor_t actors[] = {
        { .kind = &skn_course, .values = course },
        { .kind = &skn_source, .values = source },
    };
    skn_wiring_t wiring = { .actors = actors, .actor_count = 2 };
    for (size_t k = 0; skn_source.options[k].name; k++)
        source[k].number =
            strcmp(skn_source.options[k].name, "seed") == 0 ? 77 : 5;
    cr_expect_eq(skn_links_seed(&wiring), 77);
    wiring.actor_count = 1;
    cr_expect_eq(skn_links_seed(&wiring), 0);
    wiring.actor_count = 0;
    cr_expect_eq(skn_links_seed(&wiring), 0);
}

/* --- questions ----------------------------------------------------------- */

static const skn_wired_node_t node_b = { .name = "b" };
static link_pair_t pair;
static skn_link_peer_t peers[2];
static skn_system_t of_links;
static skn_links_t links = { .system = &of_links,
                             .node_count = 2,
                             .peers = peers };

static skn_status_t
ask(uint64_t number, skn_error_t *error)
{
    uint8_t lead[SKN_RECORD_LEAD_BYTES];
    skn_frame_t frame[SKN_FRAMES_MAX + 1];
    skn_record_t record = { .kind = SKN_RECORD_ASK, .number = number };
    cr_assert_eq(skn_record_write(&record, NULL, lead, frame), 1);
    return skn_links_take_record(&links, &peers[1], frame[0], error);
}

static void
meet_b(void)
{
    pair_init(&pair);
    pair_open(&pair);
    (void)pair_carry(&pair);
    peers[1] =
        (skn_link_peer_t){ .number = 1, .node = &node_b, .link = pair.link[0] };
}

/* Who asks and takes no answers does not fill our memory. */
Test(link_crossings,
     a_peer_that_does_not_take_its_answers_may_ask_so_often_only)
{
    skn_error_t error = { 0 };
    meet_b();
    pair.deaf[1] = true;
    for (uint64_t k = 0; k < SKN_LINK_QUESTIONS; k++) {
        cr_assert_eq(ask(k, &error), SKN_OK, "%s", error.text);
        (void)pair_carry(&pair);
    }
    size_t queued = skn_link_queued_bytes(pair.link[0]);
    cr_expect_eq(ask(SKN_LINK_QUESTIONS, &error), SKN_BAD_MESSAGE);
    cr_expect_str_eq(error.text,
                     "node 'b' made more than 64 clock requests at once");
    cr_expect_eq(peers[1].records_refused[SKN_RECORD_REASON_QUESTION], 1);
    cr_expect_eq(skn_link_queued_bytes(pair.link[0]), queued);
    pair_close(&pair);
}

/* As often as it likes, if the answers get there. */
Test(link_crossings, a_peer_that_takes_its_answers_may_ask_on)
{
    skn_error_t error = { 0 };
    skn_frame_t record;
    meet_b();
    for (uint64_t k = 0; k < 5 * SKN_LINK_QUESTIONS; k++) {
        cr_assert_eq(ask(k, &error), SKN_OK, "%s", error.text);
        /* The most that it may leave lying is left lying. */
        if (k % SKN_LINK_QUESTIONS == SKN_LINK_QUESTIONS - 1)
            pair_pass(&pair, PAIR_S);
        while (skn_link_record(pair.link[1], &record))
            continue;
    }
    cr_expect_eq(peers[1].records_refused[SKN_RECORD_REASON_QUESTION], 0);
    cr_expect_eq(skn_link_acked_end(pair.link[0]),
                 skn_link_queued_end(pair.link[0]));
    pair_close(&pair);
}
