/* keeping.c - collects the reports of keepers, and makes one manifest of
 * theirs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/checkpoints/keeping.h"

#include <stdlib.h>
#include <string.h>

static void
forget(skn_book_t *book)
{
    for (uint32_t k = 0; book->parts && k < book->nodes; k++)
        skn_manifest_fini(&book->parts[k]);
    skn_manifest_fini(&book->whole);
}

skn_status_t
skn_book_open(skn_book_t *book, uint32_t nodes, skn_error_t *error)
{
    *book = (skn_book_t){ .nodes = nodes, .step = SKN_KEEP_START };
    book->parts = calloc(nodes, sizeof(*book->parts));
    return book->parts ? SKN_OK
                       : skn_fail(error, SKN_NO_MEMORY,
                                  "no room for the lists of %u nodes", nodes);
}

void
skn_book_close(skn_book_t *book)
{
    forget(book);
    free(book->parts);
    book->parts = NULL;
}

void
skn_book_turn(skn_book_t *book, skn_keeping_t step, uint64_t batch)
{
    book->step = step;
    book->batch = batch;
    book->reported = 0;
    book->failure = (skn_error_t){ 0 };
    if (step == SKN_KEEP_OPEN)
        forget(book);
}

/* Parses a sealed list of files. */
static skn_status_t
take_list(skn_book_t *book, const skn_kept_t *kept, skn_error_t *error)
{
    char what[64];
    skn_manifest_t *part = &book->parts[kept->node];
    const char *bytes = (const char *)kept->list.at;
    (void)snprintf(what, sizeof(what), "the list of node %u", kept->node);
    skn_status_t status =
        skn_json_check_seal(what, bytes, kept->list.count, error);
    if (status == SKN_OK)
        status =
            skn_manifest_parse_part(what, bytes, kept->list.count, part, error);
    return status;
}

skn_status_t
skn_book_take(skn_book_t *book, const skn_actor_t *actor,
              const skn_kept_t *kept, bool *all, skn_error_t *error)
{
    uint64_t bit = UINT64_C(1) << kept->node % 64;
    *all = false;
    if (kept->node >= book->nodes || kept->step != (uint32_t)book->step ||
        kept->batch != book->batch || (book->reported & bit))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: node %u tells of step %u of batch %llu, step %u "
                        "of batch %llu is in work",
                        skn_actor_name(actor), kept->node, kept->step,
                        (unsigned long long)kept->batch, (unsigned)book->step,
                        (unsigned long long)book->batch);
    book->reported |= bit;
    *all = book->reported == UINT64_MAX >> (64 - book->nodes);
    if (kept->failure[0]) {
        if (book->failure.status == SKN_OK)
            (void)skn_fail(&book->failure, SKN_STORAGE, "%s", kept->failure);
        return SKN_OK;
    }
    return kept->step == SKN_KEEP_WRITE ? take_list(book, kept, error) : SKN_OK;
}

skn_status_t
skn_book_seal(skn_book_t *book, const char *metadata, skn_json_text_t *text,
              skn_error_t *error)
{
    skn_manifest_t *whole = &book->whole;
    skn_status_t status = SKN_OK;
    *whole = (skn_manifest_t){ .batch = book->batch };
    memcpy(whole->run_id, book->parts[0].run_id, sizeof(whole->run_id));
    whole->metadata = strdup(metadata);
    if (!whole->metadata)
        return skn_fail(error, SKN_NO_MEMORY, "no room for the metadata");
    for (uint32_t k = 0; k < book->nodes && status == SKN_OK; k++)
        status = skn_manifest_merge(whole, &book->parts[k], error);
    if (status == SKN_OK)
        status = skn_manifest_sort(whole, error);
    return status == SKN_OK
               ? skn_manifest_text("the checkpoint", whole, text, error)
               : status;
}

size_t
skn_book_files(const skn_book_t *book, uint32_t node, uint32_t *file)
{
    const skn_manifest_t *part = &book->parts[node];
    for (size_t k = 0; k < part->file_count; k++)
        file[k] = (uint32_t)skn_manifest_find(&book->whole, part->file[k].name);
    return part->file_count;
}
