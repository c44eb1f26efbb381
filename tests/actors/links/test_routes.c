/* test_routes.c - tests which node dials which other one, and through which
 * relay.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "actors/links/routes.h"

static const skn_wired_node_t nodes[] = {
    { .name = "a", .address = "tcp://10.0.0.1:7001", .via = "" },
    { .name = "b", .address = "tcp://10.0.0.2:7001", .via = "" },
    { .name = "c", .address = "", .via = "a" },
    { .name = "d", .address = "", .via = "b" },
};
static const skn_wiring_t wiring = { .nodes = nodes, .node_count = 4 };

Test(routes, are_direct_where_every_node_has_an_address)
{
    const skn_wiring_t two = { .nodes = nodes, .node_count = 2 };
    cr_expect_not(skn_wired_outbound(&two));
    cr_expect(skn_wired_outbound(&wiring));
}

Test(routes, lead_to_a_node_without_an_address_via_the_one_it_names)
{
    cr_expect_eq(skn_route_via(&wiring, 0), SKN_ROUTE_NOBODY);
    cr_expect_eq(skn_route_via(&wiring, 2), 0u);
    cr_expect_eq(skn_route_via(&wiring, 3), 1u);
}

Test(routes, pass_a_third_node_only_between_two_without_an_address)
{
    for (uint32_t from = 0; from < 4; from++)
        for (uint32_t to = 0; to < 4; to++) {
            uint32_t want = from >= 2 && to >= 2 ? to - 2 : SKN_ROUTE_NOBODY;
            if (from != to)
                cr_expect_eq(skn_route_relay(&wiring, from, to), want,
                             "%u to %u", from, to);
        }
}
