/* test_link_ports.c - which random bits a coding takes. What parcels and
 * records become is tested with whole drivers (test_links.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/kinds.h"
#include "actors/link_inside.h"

/* Another seed, edge or number has other bits; nothing else has a say. */
Test(link_ports, a_key_is_of_seed_edge_and_number)
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
Test(link_ports, the_seed_is_that_of_the_first_actor_that_has_one)
{
    static skn_value_t coordinator[32], source[32];
    skn_wired_actor_t actors[] = {
        { .kind = &skn_coordinator, .values = coordinator },
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
