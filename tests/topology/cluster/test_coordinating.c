/* test_coordinating.c - tests the start, the end and the events of a run that
 * has no members; runs with members: tests/e2e/elastic.sh and others.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/coordinating.h"

#include <stdio.h>

#include "formats/text/json_text.h"
#include "tests/support/held_port.h"
#include "tests/support/model_fixture.h"
#include "tests/support/temp_folder.h"

/* The last two events, and the number of all. */
typedef struct heard {
    char before[512], last[1024];
    uint32_t count;
} heard_t;

static char folder[TEMP_FOLDER_BYTES];
static skn_model_t *model;
static heard_t heard;

static void
hear(void *job, const char *line)
{
    heard_t *to = job;
    (void)snprintf(to->before, sizeof(to->before), "%.511s", to->last);
    (void)snprintf(to->last, sizeof(to->last), "%s", line);
    to->count++;
}

static const skn_coordinating_options_t options = { .tell = hear,
                                                    .job = &heard };

static void
setup(void)
{
    char text[1024];
    heard = (heard_t){ .count = 0 };
    temp_folder_make(folder);
    (void)snprintf(text, sizeof(text),
                   FIXTURE "checkpoint: { path: %s }\n"
                           "coordinator: { address: tcp://127.0.0.1:%u }\n"
                           "nodes:\n"
                           "  - { name: a, address: tcp://127.0.0.1:%u }\n",
                   folder, held_port(), held_port());
    model = fixture_good(text);
}

static void
teardown(void)
{
    skn_model_destroy(&model);
    temp_folder_remove(folder);
}

TestSuite(coordinating, .init = setup, .fini = teardown);

static skn_coordinating_t *
open_good(void)
{
    skn_error_t error = { 0 };
    skn_coordinating_t *coordinator =
        skn_coordinating_open(model, "m.yaml", &options, &error);
    cr_assert(coordinator, "%s", error.text);
    return coordinator;
}

/* Leads a run to its end after a stop. */
static void
stop(skn_coordinating_t *coordinator)
{
    skn_coordinating_stop(coordinator);
    while (skn_coordinating_leads(coordinator)) {
        skn_coordinating_wait(coordinator, NULL, 0);
        skn_coordinating_turn(coordinator);
    }
}

Test(coordinating, a_model_without_one_is_refused)
{
    skn_error_t error = { 0 };
    skn_model_t *other = fixture_good(FIXTURE);
    cr_expect_null(skn_coordinating_open(other, "m.yaml", &options, &error));
    cr_expect_eq(error.status, SKN_USAGE);
    cr_expect_str_eq(error.text, "m.yaml has no coordinator");
    skn_model_destroy(&other);
}

Test(coordinating, a_second_one_of_a_run_is_refused)
{
    skn_error_t error = { 0 };
    skn_coordinating_t *coordinator = open_good();
    cr_expect_null(skn_coordinating_open(model, "m.yaml", &options, &error));
    cr_expect_eq(error.status, SKN_BUSY, "%s", error.text);
    skn_coordinating_close(&coordinator);
    cr_expect_null(coordinator);
    skn_coordinating_close(&coordinator);
}

Test(coordinating, a_stopped_run_ends_with_its_harvest_and_can_go_on)
{
    skn_error_t error = { 0 };
    skn_coordinating_t *coordinator = open_good();
    cr_expect(skn_coordinating_leads(coordinator));
    cr_expect_not(skn_coordinating_is_over(coordinator));
    stop(coordinator);
    cr_expect(skn_coordinating_is_over(coordinator));
    cr_expect_eq(skn_coordinating_finish(coordinator, &error), SKN_OK, "%s",
                 error.text);
    cr_expect(skn_coordinating_was_stopped(coordinator));
    cr_expect_str_eq(heard.before,
                     "{\"event\":\"membership\",\"generation\":0,\"members\":"
                     "[],\"text\":\"the run has stopped; start the coordinator "
                     "again to continue\"}");
    json_t *harvest = skn_json_read(heard.last);
    cr_expect_str_eq(skn_json_word(harvest, "event"), "harvest");
    json_decref(harvest);
    skn_coordinating_close(&coordinator);
    coordinator = open_good();
    cr_expect_not(skn_coordinating_is_done(coordinator));
    skn_coordinating_close(&coordinator);
}

Test(coordinating, an_end_before_the_run_is_over_tells_nothing)
{
    skn_coordinating_t *coordinator = open_good();
    uint32_t count = heard.count;
    cr_expect_eq(skn_coordinating_finish(coordinator, NULL), SKN_OK);
    cr_expect_eq(heard.count, count);
    cr_expect_not(skn_coordinating_was_stopped(coordinator));
    skn_coordinating_close(&coordinator);
}
