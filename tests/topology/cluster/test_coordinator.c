/* test_coordinator.c - tests the coordinator that a host has: its options, its
 * events and its end, without members.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/member.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/held_port.h"
#include "tests/support/temp_folder.h"

static char folder[TEMP_FOLDER_BYTES], path[TEMP_FOLDER_BYTES + 32];
static char line[4096], before[4096];

static void
write_config(const char *more)
{
    FILE *file = fopen(path, "w");
    cr_assert(file);
    (void)fprintf(file,
                  "skein: 1\n"
                  "data: { train: t }\n"
                  "model:\n"
                  "  layers:\n"
                  "    - { name: hidden }\n"
                  "    - { name: output }\n"
                  "checkpoint: { path: %s/run }\n"
                  "nodes:\n"
                  "  - { name: a, address: tcp://127.0.0.1:%u }\n%s",
                  folder, held_port(), more);
    cr_assert_eq(fclose(file), 0);
}

static void
setup(void)
{
    char more[96];
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/m.yaml", folder);
    (void)snprintf(more, sizeof(more),
                   "coordinator: { address: tcp://127.0.0.1:%u }\n",
                   held_port());
    write_config(more);
}

static void
teardown(void)
{
    temp_folder_remove(folder);
}

TestSuite(coordinator, .init = setup, .fini = teardown);

static skn_coordinator_t *
make(void)
{
    skn_error_t error = { 0 };
    const skn_coordinator_options_t options = { .struct_bytes = sizeof(options),
                                                .path = path };
    skn_coordinator_t *coordinator = skn_coordinator_new(&options, &error);
    cr_assert(coordinator, "%s", error.text);
    return coordinator;
}

/* Reads all events; the last two are in `before` and `line`. */
static void
read_all(skn_coordinator_t *coordinator)
{
    char next[sizeof(line)];
    skn_status_t status;
    while ((status = skn_coordinator_event(coordinator, -1, next, sizeof(next),
                                           NULL)) == SKN_OK) {
        memcpy(before, line, sizeof(before));
        memcpy(line, next, sizeof(line));
    }
    cr_expect_eq(status, SKN_UNAVAILABLE);
}

Test(coordinator, what_is_stopped_before_its_start_stops_and_can_be_continued)
{
    skn_error_t error = { 0 };
    for (int time = 0; time < 2; time++) {
        skn_coordinator_info_t info = { .struct_bytes = sizeof(info) };
        skn_coordinator_t *coordinator = make();
        skn_coordinator_stop(coordinator);
        cr_assert_eq(skn_coordinator_start(coordinator, &error), SKN_OK, "%s",
                     error.text);
        cr_expect_eq(skn_coordinator_start(coordinator, NULL), SKN_USAGE);
        read_all(coordinator);
        cr_expect(strstr(before, "\"text\":\"the run has stopped"), "%s",
                  before);
        cr_expect(strstr(line, "{\"event\":\"harvest\""), "%s", line);
        cr_assert_eq(skn_coordinator_info(coordinator, &info, NULL), SKN_OK);
        cr_expect(info.was_stopped && !info.leads);
        cr_expect_eq(info.node_count, 1);
        cr_expect_str_eq(info.nodes[0], "a");
        cr_expect_eq(skn_coordinator_wait(coordinator, &error), SKN_OK);
        skn_coordinator_destroy(&coordinator);
        cr_expect_null(coordinator);
    }
}

Test(coordinator, one_that_leads_can_be_destroyed_and_holds_its_run_until_then)
{
    skn_error_t error = { 0 };
    skn_coordinator_t *first = make(), *second = make();
    cr_assert_eq(skn_coordinator_start(first, &error), SKN_OK, "%s",
                 error.text);
    cr_expect_eq(skn_coordinator_start(second, &error), SKN_BUSY, "%s",
                 error.text);
    read_all(second);
    cr_expect(strstr(line, "{\"event\":\"error\",\"code\":75,"), "%s", line);
    cr_expect_eq(skn_coordinator_wait(second, NULL), SKN_BUSY);
    skn_coordinator_destroy(&second);
    skn_coordinator_destroy(&first);
    first = make();
    cr_expect_eq(skn_coordinator_start(first, &error), SKN_OK, "%s",
                 error.text);
    skn_coordinator_destroy(&first);
}

Test(coordinator, each_problem_of_a_config_is_an_event)
{
    skn_error_t error = { 0 };
    skn_coordinator_t *coordinator = make();
    write_config("train: { epoch: 1 }\nlinks: { x: 1 }\n");
    cr_expect_eq(skn_coordinator_start(coordinator, &error), SKN_BAD_CONFIG);
    read_all(coordinator);
    cr_expect(strstr(before, "'epoch'"), "%s", before);
    cr_expect(strstr(line, "'x'"), "%s", line);
    skn_coordinator_destroy(&coordinator);
}

Test(coordinator, a_buffer_that_is_too_small_gets_no_part_of_an_event)
{
    skn_error_t error = { 0 };
    char small[8];
    skn_coordinator_info_t info = { .struct_bytes = sizeof(info) };
    skn_coordinator_t *coordinator = make();
    write_config("");
    cr_expect_eq(skn_coordinator_start(coordinator, &error), SKN_USAGE);
    cr_expect_eq(
        skn_coordinator_event(coordinator, 0, small, sizeof(small), &error),
        SKN_TOO_SMALL);
    cr_assert_eq(skn_coordinator_info(coordinator, &info, NULL), SKN_OK);
    cr_assert_leq(info.event_bytes, sizeof(line));
    cr_expect_eq(
        skn_coordinator_event(coordinator, 0, line, info.event_bytes, NULL),
        SKN_OK);
    cr_expect(strstr(line, "has no coordinator"), "%s", line);
    skn_coordinator_destroy(&coordinator);
}
