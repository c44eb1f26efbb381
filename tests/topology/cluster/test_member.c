/* test_member.c - tests members beside a coordinator in one process: joining,
 * leaving, workers that fail, and two hundred of them.
 *
 * Covers topology/cluster/keygen.c, topology/cluster/member_worker.c,
 * topology/cluster/participant.c, topology/cluster/participant_report.c and
 * topology/cluster/party.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/member.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cluster_fixture.h"
#include "tests/support/settle.h"
#include "tests/support/temp_folder.h"

#define CYCLES 200

static char folder[TEMP_FOLDER_BYTES], line[1 << 16];
static cluster_t cluster;
static skn_coordinator_t *coordinator;
static skn_error_t error;

static void
set_up(void)
{
    temp_folder_make(folder);
    cr_assert(cluster_make(&cluster, folder));
    coordinator = cluster_lead(&cluster, &error);
    cr_assert(coordinator, "%s", error.text);
}

static void
tear_down(void)
{
    skn_coordinator_destroy(&coordinator);
    temp_folder_remove(folder);
}

TestSuite(member, .init = set_up, .fini = tear_down, .timeout = 120);

static skn_member_t *
made(void)
{
    const skn_member_options_t options = cluster_member(&cluster);
    skn_member_t *member = skn_member_new(&options, &error);
    cr_assert(member, "%s", error.text);
    return member;
}

static skn_member_t *
started(void)
{
    skn_member_t *member = made();
    cr_assert_eq(skn_member_start(member, &error), SKN_OK, "%s", error.text);
    return member;
}

static bool
read_to(skn_member_t *member, const char *words)
{
    return cluster_read_to(member, words, line, sizeof(line));
}

/* Waits until its worker has trained, as far as the coordinator knows. */
static void
await_batch(skn_member_t *member)
{
    cr_expect(read_to(member, "{\"event\":\"start\""));
    cr_assert(cluster_await(coordinator, "\"batch\":1,", line, sizeof(line)));
}

/* Reads the last events, the last of which is in `line`. */
static void
read_last(skn_member_t *member)
{
    cr_expect_not(read_to(member, "none"));
    cr_expect_eq(
        skn_member_event(member, -1, line + sizeof(line) / 2, 1, &error),
        SKN_UNAVAILABLE);
}

static skn_member_info_t
info_of(skn_member_t *member)
{
    skn_member_info_t info = { .struct_bytes = sizeof(info) };
    cr_assert_eq(skn_member_info(member, &info, &error), SKN_OK, "%s",
                 error.text);
    return info;
}

/* --- from the start to the end -------------------------------------------- */

Test(member, one_joins_trains_and_leaves)
{
    skn_member_t *member = made();
    cr_expect_eq(skn_member_event(member, -1, line, sizeof(line), &error),
                 SKN_BUSY, "it is not started");
    cr_expect_str_eq(info_of(member).address, "");
    cr_assert_eq(skn_member_start(member, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(skn_member_start(member, &error), SKN_USAGE);
    cr_expect(read_to(member, "\"text\":\"is connected to"));
    cr_expect(info_of(member).works);
    cr_expect(read_to(member, "\"part\",\"node\":\"a\",\"generation\":1,"
                              "\"how\":\"begins\""),
              "%s", line);
    await_batch(member);
    skn_member_leave(member);
    cr_expect(read_to(member, "hands over its state and leaves"));
    cr_expect(read_to(member, "\"how\":\"stopped\""), "%s", line);
    read_last(member);
    cr_expect_str_eq(
        line, "{\"event\":\"left\",\"node\":\"a\",\"reason\":\"asked\"}");
    cr_expect_eq(skn_member_wait(member, &error), SKN_OK, "%s", error.text);
    skn_member_info_t info = info_of(member);
    cr_expect(!info.works && !info.is_connected && info.generation == 0);
    cr_assert(info.idle);
    cr_expect_not(info.idle->enabled);
    skn_member_destroy(&member);
    cr_expect_null(member);
}

Test(member, a_run_that_is_stopped_ends_its_members)
{
    skn_member_t *member = started();
    cr_expect(read_to(member, "{\"event\":\"start\""));
    skn_coordinator_stop(coordinator);
    read_last(member);
    cr_expect(strstr(line, "\"reason\":\"stopped\""), "%s", line);
    cr_expect_eq(skn_member_wait(member, &error), SKN_OK, "%s", error.text);
    skn_member_destroy(&member);
    cr_expect_eq(skn_coordinator_wait(coordinator, &error), SKN_OK);
}

Test(member, one_that_is_stopped_hands_nothing_over)
{
    skn_member_t *member = started();
    cr_expect(read_to(member, "{\"event\":\"start\""));
    cr_expect_eq(info_of(member).generation, 1);
    skn_member_stop(member);
    read_last(member);
    cr_expect(strstr(line, "\"reason\":\"asked\""), "%s", line);
    skn_member_destroy(&member);
    member = started();
    cr_expect(read_to(member, "\"how\":\"begins\""), "the run goes on");
    skn_member_destroy(&member);
}

/* --- failures ------------------------------------------------------------- */

Test(member, a_worker_that_fails_has_its_reason_in_an_event)
{
    cr_assert(cluster_set_worker(
        &cluster, "echo a word >&2\n"
                  "echo skein: hidden >&2\n"
                  "echo '{\"event\":\"error\",\"code\":65,\"message\":\"bad "
                  "points\",\"hint\":\"mend them\"}'\n"
                  "exit 65\n"));
    skn_member_t *member = started();
    cr_expect(read_to(member, "\"event\":\"stderr\""));
    cr_expect_str_eq(
        line, "{\"event\":\"stderr\",\"node\":\"a\",\"line\":\"a word\"}");
    cr_expect(read_to(member, "\"how\":\"failed\""));
    cr_expect(strstr(line, "\"message\":\"bad points\",\"hint\":\"mend them\""),
              "%s", line);
    skn_member_destroy(&member);
}

Test(member, a_signal_to_its_worker_makes_it_leave)
{
    cr_assert(cluster_set_worker(&cluster,
                                 "echo '{\"event\":\"signal\",\"number\":24}'\n"
                                 "cat >/dev/null\n"));
    skn_member_t *member = started();
    cr_expect(read_to(member, "hands over its state and leaves"));
    read_last(member);
    cr_expect(strstr(line, "\"reason\":\"signal\""), "%s", line);
    skn_member_destroy(&member);
}

Test(member, a_program_that_is_missing_is_the_failure_of_a_part)
{
    (void)remove(cluster.worker);
    skn_member_t *member = started();
    cr_expect(read_to(member, "\"how\":\"failed\""));
    cr_expect(strstr(line, "cannot start the worker's program"), "%s", line);
    skn_member_destroy(&member);
}

Test(member, the_host_may_take_the_exit_code_of_a_worker)
{
    skn_member_t *member = started();
    await_batch(member);
    skn_member_leave(member);
    /* The member's own call is the other one of a race. */
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    cr_expect(read_to(member, "\"how\":\"stopped\""), "%s", line);
    read_last(member);
    cr_expect_eq(skn_member_wait(member, &error), SKN_OK, "%s", error.text);
    skn_member_destroy(&member);
}

/* Expects that a member with these options is refused at its start. */
static void
expect_refused(const skn_member_options_t *options, skn_status_t status,
               const char *words)
{
    skn_member_t *member = skn_member_new(options, &error);
    cr_assert(member, "%s", error.text);
    cr_expect_eq(skn_member_start(member, &error), status, "%s", error.text);
    cr_expect(strstr(error.text, words), "%s", error.text);
    cr_expect(read_to(member, words), "%s", line);
    read_last(member);
    cr_expect_eq(skn_member_wait(member, NULL), status);
    skn_member_destroy(&member);
}

Test(member, wrong_options_are_refused)
{
    skn_member_options_t options = cluster_member(&cluster);
    const char *const overrides[] = { "train.epoch=3" };
    options.node = NULL;
    cr_expect_null(skn_member_new(&options, &error));
    cr_expect_eq(error.status, SKN_USAGE);
    options.node = "b";
    expect_refused(&options, SKN_USAGE, "has no node 'b'");
    options.node = "a";
    options.path = cluster.config;
    options.overrides = overrides;
    options.override_count = 1;
    expect_refused(&options, SKN_BAD_CONFIG, "'epoch'");
}

Test(member, a_second_one_of_a_node_is_refused)
{
    const skn_member_options_t options = cluster_member(&cluster);
    skn_member_t *member = started();
    expect_refused(&options, SKN_BUSY, "is held by process");
    skn_member_destroy(&member);
}

Test(member, one_that_finds_no_coordinator_gives_up)
{
    skn_coordinator_destroy(&coordinator);
    skn_member_options_t options = cluster_member(&cluster);
    options.wait_s = 1;
    skn_member_t *member = skn_member_new(&options, &error);
    cr_assert_eq(skn_member_start(member, &error), SKN_OK, "%s", error.text);
    read_last(member);
    cr_expect(strstr(line, "\"reason\":\"failed\""), "%s", line);
    cr_expect_eq(skn_member_wait(member, &error), SKN_UNAVAILABLE);
    skn_member_destroy(&member);
}

Test(member, the_host_may_fork)
{
    skn_member_t *member = started();
    cr_expect(read_to(member, "{\"event\":\"start\""));
    pid_t child = fork();
    if (child == 0) {
        bool good = skn_member_wait(member, NULL) == SKN_USAGE;
        skn_member_leave(member);
        skn_member_destroy(&member);
        _exit(good && !member ? 0 : 1);
    }
    int status = -1;
    cr_expect_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    cr_expect(info_of(member).works);
    skn_member_destroy(&member);
}

Test(member, a_key_pair_is_made_once)
{
    char path[TEMP_FOLDER_BYTES + 16];
    char secret[TEMP_FOLDER_BYTES + 32], key[SKN_PUBLIC_KEY_BYTES];
    (void)snprintf(path, sizeof(path), "%s/new.key", folder);
    (void)snprintf(secret, sizeof(secret), "%s" SKN_SECRET_KEY_SUFFIX, path);
    cr_expect_eq(skn_keygen(path, "2", key, &error), SKN_USAGE);
    cr_assert_eq(skn_keygen(path, "a", key, &error), SKN_OK, "%s", error.text);
    cr_expect_eq(strlen(key), SKN_PUBLIC_KEY_BYTES - 1);
    cr_expect_eq(access(path, R_OK) | access(secret, R_OK), 0);
    cr_expect_eq(skn_keygen(path, "a", key, &error), SKN_CANNOT_CREATE);
    cr_expect_eq(skn_keygen("", "a", key, &error), SKN_USAGE);
}

/* --- many ----------------------------------------------------------------- */

/* Ended at any moment: before the start, while it connects, while its worker
 * runs, after it has left. */
Test(member, two_hundred_leave_nothing_behind)
{
    size_t descriptors = 0, threads = 0;
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        skn_member_t *member = cycle % 8 == 7 ? made() : started();
        if (cycle % 8 == 0)
            cr_expect(read_to(member, "{\"event\":\"start\""));
        if (cycle % 8 == 2)
            cr_expect(read_to(member, "is connected to"));
        if (cycle % 2 == 0)
            skn_member_leave(member);
        if (cycle % 8 == 0)
            cr_expect_eq(skn_member_wait(member, &error), SKN_OK, "%s",
                         error.text);
        skn_member_destroy(&member);
        if (cycle == 8) {
            descriptors = settle_stable(SETTLE_DESCRIPTORS);
            threads = settle_stable(SETTLE_THREADS);
        }
    }
    cr_expect_leq(settle_at_most(SETTLE_DESCRIPTORS, descriptors), descriptors);
    cr_expect_leq(settle_at_most(SETTLE_THREADS, threads), threads);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "no worker is left");
}
