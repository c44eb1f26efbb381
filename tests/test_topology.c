/* test_topology.c - the public way to run actors: from text to the end.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "skein/topology.h"
#include "tests/flow_fixture.h"

TestSuite(topology, .timeout = 60);

static skn_error_t error;
static const skn_kind_t *const kinds[] = { &maker, &relay, &sink, NULL };

static skn_topology_t *
made_of(const char *options)
{
    char text[512];
    (void)snprintf(text, sizeof(text),
                   "skein: 1\n"
                   "topology:\n"
                   "  name: t\n"
                   "  actors:\n"
                   "    - { name: a, kind: maker, options: { %s } }\n"
                   "    - { name: b, kind: sink }\n"
                   "  pipes:\n"
                   "    - { from: a, to: b, message: token }\n",
                   options);
    return skn_topology_new(text, "test.yaml", kinds, &error);
}

Test(topology, a_text_runs_to_its_end)
{
    char line[64];
    skn_topology_t *topology = made_of("n: 100");
    cr_assert(topology, "%s", error.text);
    cr_expect_eq(skn_topology_fd(topology), -1);
    cr_expect_eq(skn_topology_event(topology, 0, line, sizeof(line), &error),
                 SKN_UNAVAILABLE);
    cr_expect_str_eq(error.text, "the topology is not started");
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    cr_expect_geq(skn_topology_fd(topology), 0);
    cr_expect_eq(skn_topology_event(topology, -1, line, sizeof(line), NULL),
                 SKN_UNAVAILABLE);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK);
    cr_expect_eq(flow_logs[1].count, 100);
    cr_expect_eq(skn_topology_start(topology, NULL, &error), SKN_USAGE);
    cr_expect_str_eq(error.text, "the topology was started before");
    skn_topology_destroy(&topology);
    cr_expect_null(topology);
    skn_topology_destroy(&topology);
}

Test(topology, a_wrong_text_is_refused_with_its_place)
{
    cr_expect_null(made_of("o: 100"));
    cr_expect_eq(error.status, SKN_BAD_CONFIG);
    cr_expect(strstr(error.text, "test.yaml:5:"), "%s", error.text);
}

Test(topology, a_topology_need_not_be_started)
{
    skn_topology_t *topology = made_of("n: 1");
    cr_assert(topology, "%s", error.text);
    skn_topology_stop(topology);
    cr_expect_eq(skn_topology_wait(topology, &error), SKN_OK);
    skn_topology_report(topology, true, stderr); /* nothing to say */
    skn_topology_destroy(&topology);
}

Test(topology, the_report_names_actors_and_messages)
{
    char *text = NULL;
    size_t bytes = 0;
    skn_topology_t *topology = made_of("n: 100");
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    cr_assert_eq(skn_topology_wait(topology, &error), SKN_OK);
    FILE *file = open_memstream(&text, &bytes);
    skn_topology_report(topology, false, file);
    fclose(file);
    cr_expect(strstr(text, "\na "), "%s", text);
    cr_expect(strstr(text, "token"), "%s", text);
    free(text);
    skn_topology_destroy(&topology);
}

Test(topology, a_topology_can_be_destroyed_while_it_runs)
{
    skn_topology_t *topology = made_of("n: 1000000000000");
    cr_assert_eq(skn_topology_start(topology, NULL, &error), SKN_OK);
    skn_topology_destroy(&topology);
}
