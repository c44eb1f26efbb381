/* word_kinds.h - actor kinds and messages that do nothing, for tests of specs.
 *
 * word_reader -> word_counter -> total_printer has no cycle; source -> shard
 * -> source is a training loop with a window.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_WORD_KINDS_H
#define TESTS_SUPPORT_WORD_KINDS_H

#include "skein/actor.h"

#define FIELDS_word(F, M)                                                      \
    F(M, str, text, 64, "the word")                                            \
    F(M, u64, hash, 399, "of the text")                                        \
    F(M, u64, wide, UINT64_MAX, "a number without limit")                      \
    F(M, u32, narrow, UINT64_MAX, "a number limited by its width")             \
    F(M, u32, few, 1, "0 or 1")                                                \
    F(M, u32s, ids, 16, "a run")                                               \
    F(M, u64, batch, UINT64_MAX, "its batch")
SKN_MESSAGE_STRUCT(word, FIELDS_word)
SKN_MESSAGE_SCHEMA(word, "word", 1000, FIELDS_word, "a word")

#define FIELDS_total(F, M)                                                     \
    F(M, u64, count, UINT64_MAX, "how many")                                   \
    F(M, u32, shard, 1023, "whose")
SKN_MESSAGE_STRUCT(total, FIELDS_total)
SKN_MESSAGE_SCHEMA(total, "total", 1001, FIELDS_total, "a sum")

#define FIELDS_work(F, M) F(M, u64, batch, UINT64_MAX, "its batch")
SKN_MESSAGE_STRUCT(work, FIELDS_work)
SKN_MESSAGE_SCHEMA(work, "work", 1002, FIELDS_work, "one batch")
SKN_MESSAGE_STRUCT(done, FIELDS_work)
SKN_MESSAGE_SCHEMA(done, "done", 1003, FIELDS_work, "one batch is done")

static inline skn_status_t
word_handle(skn_actor_t *actor, void *state, const void *message,
            skn_error_t *error)
{
    (void)actor, (void)state, (void)message, (void)error;
    return SKN_OK;
}

static inline skn_status_t
word_combine(void *sum, const void *part, skn_error_t *error)
{
    (void)sum, (void)part, (void)error;
    return SKN_OK;
}

static inline skn_status_t
word_produce(skn_actor_t *actor, void *state, skn_error_t *error)
{
    (void)actor, (void)state, (void)error;
    return SKN_OK;
}

static const skn_option_t word_reader_options[] = {
    { "path", SKN_OPTION_PATH, NULL, 0, 0, NULL, "the text file to read" },
    { "rate", SKN_OPTION_REAL, "1e-3", 0, 1, NULL, "a real" },
    { "title", SKN_OPTION_TEXT, "", 0, 0, NULL, "any text" },
    { "order", SKN_OPTION_CHOICE, "fixed", 0, 0, "fixed|mixed", "a choice" },
    { "repeat", SKN_OPTION_BOOL, "false", 0, 0, NULL, "a truth" },
    { "room_bytes", SKN_OPTION_INT, "1MiB", 1, 1e18, NULL, "a size" },
    { NULL, SKN_OPTION_INT, NULL, 0, 0, NULL, NULL }
};
static const skn_option_t source_options[] = {
    { "window", SKN_OPTION_INT, "4", 1, 64, NULL, "batches in flight" },
    { NULL, SKN_OPTION_INT, NULL, 0, 0, NULL, NULL }
};
static const skn_option_t shard_options[] = {
    { "row_first", SKN_OPTION_INT, "0", 0, 1e18, NULL, "its first row" },
    { "row_count", SKN_OPTION_INT, "0", 0, 1e18, NULL, "its rows" },
    { "column_first", SKN_OPTION_INT, "0", 0, 1e18, NULL, "first column" },
    { "column_count", SKN_OPTION_INT, "0", 0, 1e18, NULL, "its columns" },
    { NULL, SKN_OPTION_INT, NULL, 0, 0, NULL, NULL }
};

static const skn_handler_t word_handlers[] = { { &word_schema, word_handle,
                                                 word_combine },
                                               { NULL, NULL, NULL } };
static const skn_handler_t total_handlers[] = { { &total_schema, word_handle,
                                                  NULL },
                                                { NULL, NULL, NULL } };
static const skn_handler_t work_handlers[] = { { &work_schema, word_handle,
                                                 NULL },
                                               { NULL, NULL, NULL } };
static const skn_handler_t done_handlers[] = { { &done_schema, word_handle,
                                                 word_combine },
                                               { NULL, NULL, NULL } };
static const skn_handler_t relay_handlers[] = {
    { &word_schema, word_handle, NULL },
    { &work_schema, word_handle, NULL },
    { NULL, NULL, NULL }
};
static const skn_schema_t *const word_sends[] = { &word_schema, NULL };
static const skn_schema_t *const total_sends[] = { &total_schema, NULL };
static const skn_schema_t *const work_sends[] = { &work_schema, NULL };
static const skn_schema_t *const done_sends[] = { &done_schema, NULL };
static const skn_schema_t *const relay_sends[] = { &word_schema, &work_schema,
                                                   NULL };

static const skn_kind_t word_reader =
    SKN_KIND(.name = "word_reader", .options = word_reader_options,
             .sends = word_sends, .produce = word_produce, .gate = true);
static const skn_kind_t word_counter =
    SKN_KIND(.name = "word_counter", .handlers = word_handlers,
             .sends = total_sends);
static const skn_kind_t total_printer =
    SKN_KIND(.name = "total_printer", .handlers = total_handlers);
static const skn_kind_t source =
    SKN_KIND(.name = "source", .options = source_options,
             .handlers = done_handlers, .sends = work_sends,
             .produce = word_produce, .gate = true);
static const skn_kind_t shard =
    SKN_KIND(.name = "shard", .options = shard_options,
             .handlers = work_handlers, .sends = done_sends);
/* Takes and sends the same messages: good for cycles. */
static const skn_kind_t relay =
    SKN_KIND(.name = "relay", .handlers = relay_handlers, .sends = relay_sends);
/* Needs nobody. */
static const skn_kind_t hermit =
    SKN_KIND(.name = "hermit", .produce = word_produce, .gate = true);

static const skn_kind_t *const word_kinds[] = { &word_reader,   &word_counter,
                                                &total_printer, &source,
                                                &shard,         &relay,
                                                &hermit,        NULL };

#endif
