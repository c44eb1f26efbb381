/* link_pair.h - two links, and a wire between them that the test controls.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_LINK_PAIR_H
#define TESTS_SUPPORT_LINK_PAIR_H

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/link_states.h"
#include "transport/link/fragment.h"

#define PAIR_MS UINT64_C(1000000)
#define PAIR_S UINT64_C(1000000000)

typedef struct link_pair {
    skn_link_options_t options[2];
    skn_link_t *link[2];
    uint64_t now_ns;
    bool deaf[2]; /* nothing gets to this one */
} link_pair_t;

/* Options that fit each other; to be changed before pair_open. */
static inline void
pair_init(link_pair_t *pair)
{
    *pair = (link_pair_t){ .now_ns = 5 * PAIR_S };
    for (unsigned k = 0; k < 2; k++) {
        skn_link_options_t *options = &pair->options[k];
        options->node_name = k == 0 ? "a" : "b";
        options->peer_name = k == 0 ? "b" : "a";
        options->node = k;
        options->peer = 1 - k;
        memset(options->run, 7, sizeof(options->run));
        options->incarnation = 100 + k;
        options->config_hash = options->schemas_hash = options->data_hash = 5;
    }
}

static inline void
pair_start(link_pair_t *pair, unsigned k)
{
    skn_error_t error = { 0 };
    skn_link_destroy(&pair->link[k]);
    pair->link[k] = skn_link_new(&pair->options[k], &error);
    cr_assert(pair->link[k], "%s", error.text);
    skn_link_connected(pair->link[k], pair->now_ns);
}

static inline void
pair_open(link_pair_t *pair)
{
    pair_start(pair, 0);
    pair_start(pair, 1);
}

static inline void
pair_close(link_pair_t *pair)
{
    skn_link_destroy(&pair->link[0]);
    skn_link_destroy(&pair->link[1]);
}

/* Carries everything that both want to say, at once, until all is said. The
 * fragments carried. */
static inline unsigned
pair_carry(link_pair_t *pair)
{
    skn_fragment_t fragment;
    unsigned carried = 0, before;
    do {
        before = carried;
        for (unsigned k = 0; k < 2; k++)
            for (int lane = 0; lane < 2; lane++)
                while (
                    lane == 0
                        ? skn_link_next(pair->link[k], pair->now_ns, &fragment)
                        : skn_link_next_pulse(pair->link[k], pair->now_ns,
                                              &fragment)) {
                    carried++;
                    if (!pair->deaf[1 - k])
                        (void)skn_link_take(pair->link[1 - k], pair->now_ns,
                                            fragment.header, fragment.body,
                                            NULL);
                }
    } while (carried > before);
    return carried;
}

/* Time passes, and whatever is due happens. */
static inline void
pair_pass(link_pair_t *pair, uint64_t time_ns)
{
    uint64_t end_ns = pair->now_ns + time_ns;
    (void)pair_carry(pair);
    for (;;) {
        uint64_t due_ns = end_ns;
        for (unsigned k = 0; k < 2; k++) {
            uint64_t due = skn_link_due_ns(pair->link[k], pair->now_ns);
            due_ns = due < due_ns ? due : due_ns;
        }
        pair->now_ns = due_ns > pair->now_ns ? due_ns : pair->now_ns;
        (void)pair_carry(pair);
        if (pair->now_ns >= end_ns)
            return;
    }
}

static inline void
pair_send(link_pair_t *pair, unsigned from, const char *text)
{
    skn_error_t error = { 0 };
    skn_frame_t frame = { text, strlen(text) };
    cr_assert_eq(skn_link_send(pair->link[from], &frame, 1, &error), SKN_OK,
                 "%s", error.text);
}

static inline void
pair_expect(link_pair_t *pair, unsigned at, const char *want)
{
    skn_frame_t record;
    bool found = skn_link_record(pair->link[at], &record);
    cr_expect_eq(found, want != NULL, "%s", want ? want : "nothing");
    if (found && want) {
        cr_expect_eq(record.bytes, strlen(want));
        cr_expect_eq(memcmp(record.at, want, record.bytes), 0);
    }
}

static inline void
pair_expect_state(const link_pair_t *pair, unsigned at, skn_link_state_t want)
{
    skn_link_state_t state = skn_link_state(pair->link[at]);
    cr_expect_eq(state, want, "%u is %s, not %s", at, link_state_name(state),
                 link_state_name(want));
}

/* DEAD, with this sentence and this hint. */
static inline void
pair_expect_dead(const link_pair_t *pair, unsigned at, const char *text,
                 const char *hint)
{
    const skn_error_t *failure = skn_link_failure(pair->link[at]);
    cr_assert(failure, "%u is %s", at,
              link_state_name(skn_link_state(pair->link[at])));
    cr_expect_str_eq(failure->text, text);
    cr_expect_str_eq(failure->hint, hint);
    cr_expect_neq(failure->status, SKN_OK);
}

#endif
