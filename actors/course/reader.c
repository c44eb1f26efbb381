/* reader.c - actor that makes the batches of a node which the source is not on.
 *
 * The source sends the number of the next batch; its data are read here, so
 * that they do not cross a link. It is not a gate: it makes only requested
 * batches. The data must be those of the source, whose hash comes with every
 * request.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/course/batches.h"
#include "actors/protocol/kinds.h"

static skn_status_t
on_issue(skn_actor_t *actor, void *state, const void *message,
         skn_error_t *error)
{
    skn_batches_t *batches = state;
    const skn_issue_t *issue = message;
    if (issue->data == batches->data_hash)
        return skn_batches_post(batches, actor, issue, error);
    skn_status_t status =
        skn_fail(error, SKN_BAD_DATA,
                 "%s: the training or test file differs from that of the "
                 "source (hash %016llx, there %016llx)",
                 skn_actor_name(actor), (unsigned long long)batches->data_hash,
                 (unsigned long long)issue->data);
    return skn_fail_hint(error, status,
                         "every node needs the same files: copy them again "
                         "from the source's node");
}

static skn_status_t
reader_open(skn_actor_t *actor, void *state, skn_error_t *error)
{
    return skn_batches_open(state, actor, error);
}

static void
reader_close(skn_actor_t *actor, void *state)
{
    (void)actor;
    skn_batches_close(state);
}

static const skn_option_t options[] = { SKN_BATCHES_OPTIONS, { 0 } };

static const skn_handler_t handlers[] = {
    { &skn_issue_schema, on_issue, NULL },
    { 0 },
};

static const skn_schema_t *const sends[] = {
    &skn_batch_schema,
    &skn_labels_schema,
    NULL,
};

static const skn_schema_t *const gathers[] = { NULL };

static const skn_schema_t *const needs[] = { &skn_issue_schema, NULL };

const skn_kind_t skn_reader = {
    .struct_bytes = sizeof(skn_kind_t),
    .name = "reader",
    .help = "makes the same batches on a node without the source",
    .state_bytes = sizeof(skn_batches_t),
    .options = options,
    .handlers = handlers,
    .sends = sends,
    .gathers = gathers,
    .needs = needs,
    .open = reader_open,
    .close = reader_close,
};
