/* fetcher.c - gets parts of a checkpoint from local files or from other nodes'
 * keepers.
 *
 * This file owns: the choice of the node to ask, and the requests in flight.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/checkpoints/fetcher.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/json_text.h"

static uint64_t
bit_of(uint32_t node)
{
    return UINT64_C(1) << node;
}

skn_status_t
skn_fetcher_open(skn_fetcher_t *fetcher, skn_checkpoint_t *checkpoint,
                 uint32_t node, uint32_t nodes, bool sealed, skn_error_t *error)
{
    *fetcher = (skn_fetcher_t){ .checkpoint = checkpoint,
                                .node = node,
                                .nodes = nodes,
                                .sealed = sealed,
                                .next_ticket = 1 };
    assert(node < nodes && nodes <= 64);
    if (!checkpoint)
        return SKN_OK;
    const skn_manifest_t *manifest = skn_checkpoint_manifest(checkpoint);
    fetcher->batch = manifest->batch;
    fetcher->holders =
        calloc(manifest->file_count + 1, sizeof(*fetcher->holders));
    fetcher->spoilt =
        calloc(manifest->piece_count + 1, sizeof(*fetcher->spoilt));
    if (!fetcher->holders || !fetcher->spoilt)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for a list of %zu files",
                        manifest->file_count);
    return SKN_OK;
}

void
skn_fetcher_close(skn_fetcher_t *fetcher)
{
    skn_checkpoint_close(&fetcher->checkpoint);
    free(fetcher->holders);
    free(fetcher->spoilt);
    free(fetcher->pending);
    *fetcher = (skn_fetcher_t){ .next_ticket = fetcher->next_ticket };
}

skn_status_t
skn_fetcher_tell(const skn_fetcher_t *fetcher, skn_actor_t *actor,
                 skn_error_t *error)
{
    size_t files = skn_checkpoint_manifest(fetcher->checkpoint)->file_count;
    size_t count = 0;
    skn_holding_t *holding =
        skn_actor_message(actor, &skn_holding_schema, &files, error);
    if (!holding)
        return error->status;
    for (size_t k = 0; k < files; k++)
        if (skn_checkpoint_has_file(fetcher->checkpoint, k))
            holding->file.at[count++] = (uint32_t)k;
    holding->file.count = count;
    holding->node = fetcher->node;
    return skn_actor_post(actor, holding, error);
}

skn_status_t
skn_fetcher_hold(skn_fetcher_t *fetcher, const skn_actor_t *actor,
                 uint32_t node, const uint32_t *file, size_t count,
                 skn_error_t *error)
{
    size_t files =
        fetcher->checkpoint
            ? skn_checkpoint_manifest(fetcher->checkpoint)->file_count
            : 0;
    for (size_t k = 0; k < count; k++) {
        if (file[k] >= files || node >= fetcher->nodes)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: node %u claims to hold file %u of %zu",
                            skn_actor_name(actor), node, file[k], files);
        fetcher->holders[file[k]] |= bit_of(node);
    }
    fetcher->reported++;
    return SKN_OK;
}

/* --- asking -------------------------------------------------------------- */

/* No node is left that could send the part. */
static skn_status_t
fail_piece(const skn_fetcher_t *fetcher, const skn_pending_t *pending,
           skn_error_t *error)
{
    const skn_checkpoint_t *checkpoint = fetcher->checkpoint;
    const skn_piece_t *piece = skn_checkpoint_piece(checkpoint, pending->piece);
    size_t file = skn_checkpoint_piece_file(checkpoint, pending->piece);
    uint64_t row = piece->row_first + pending->row;
    const char *why = fetcher->refusal.text;
    (void)skn_fail(error, SKN_NO_INPUT,
                   "no node holds rows %llu to %llu of %s of the checkpoint of "
                   "batch %llu (%s)%s%s",
                   (unsigned long long)row,
                   (unsigned long long)(row + pending->rows - 1), piece->name,
                   (unsigned long long)fetcher->batch,
                   skn_checkpoint_manifest(checkpoint)->file[file].name,
                   why[0] ? ": " : "", why);
    return skn_fail_hint(error, SKN_NO_INPUT,
                         "start a node that has that file, or resume from an "
                         "older checkpoint (--from)");
}

/* Asks the next node that has the file; the nodes take turns. */
static skn_status_t
ask(skn_fetcher_t *fetcher, skn_actor_t *actor, skn_pending_t *pending,
    skn_error_t *error)
{
    size_t file =
        skn_checkpoint_piece_file(fetcher->checkpoint, pending->piece);
    uint64_t able =
        fetcher->holders[file] & ~pending->refused & ~bit_of(fetcher->node);
    if (!able)
        return fail_piece(fetcher, pending, error);
    assert(fetcher->nodes == 64 || able >> fetcher->nodes == 0);
    uint32_t holder = (uint32_t)(fetcher->next_ticket % fetcher->nodes);
    while (!(able & bit_of(holder)))
        holder = (holder + 1) % fetcher->nodes;
    pending->holder = holder;
    pending->ticket =
        2 * fetcher->next_ticket++ + (fetcher->sealed ? SKN_TICKET_SEALED : 0);
    skn_fetch_t fetch = { .to = holder,
                          .from = fetcher->node,
                          .ticket = pending->ticket,
                          .sealed = fetcher->sealed,
                          .piece = (uint32_t)pending->piece,
                          .row = pending->row,
                          .rows = pending->rows,
                          .column = pending->column,
                          .columns = pending->columns };
    return skn_actor_send(actor, &skn_fetch_schema, &fetch, error);
}

static skn_pending_t *
free_place(skn_fetcher_t *fetcher, skn_error_t *error)
{
    for (size_t k = 0; k < fetcher->room; k++)
        if (fetcher->pending[k].ticket == 0)
            return &fetcher->pending[k];
    size_t room = fetcher->room ? 2 * fetcher->room : 16;
    skn_pending_t *more =
        realloc(fetcher->pending, room * sizeof(*fetcher->pending));
    if (!more) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for %zu parts in flight",
                 room);
        return NULL;
    }
    skn_pending_t *place = more + fetcher->room;
    memset(place, 0, (room - fetcher->room) * sizeof(*place));
    fetcher->pending = more;
    fetcher->room = room;
    return place;
}

static skn_status_t
ask_first(skn_fetcher_t *fetcher, skn_actor_t *actor,
          const skn_pending_t *wanted, skn_error_t *error)
{
    skn_pending_t *pending = free_place(fetcher, error);
    if (!pending)
        return SKN_NO_MEMORY;
    *pending = *wanted;
    skn_status_t status = ask(fetcher, actor, pending, error);
    if (status != SKN_OK) {
        pending->ticket = 0;
        return status;
    }
    fetcher->count++;
    ++*pending->waiting;
    return SKN_OK;
}

/* Requests the rectangle in parts, none of which is too long; a row may be
 * split. */
static skn_status_t
ask_all(skn_fetcher_t *fetcher, skn_actor_t *actor, const skn_pending_t *wanted,
        size_t element, skn_error_t *error)
{
    uint64_t wide = SKN_PART_BYTES / element;
    uint64_t columns = wanted->columns < wide ? wanted->columns : wide;
    assert(columns > 0);
    uint64_t rows = wide / columns;
    skn_status_t status = SKN_OK;
    for (uint64_t r = 0; r < wanted->rows && status == SKN_OK; r += rows)
        for (uint64_t c = 0; c < wanted->columns && status == SKN_OK;
             c += columns) {
            skn_pending_t part = *wanted;
            part.row += r;
            part.rows = wanted->rows - r < rows ? wanted->rows - r : rows;
            part.column += c;
            part.columns =
                wanted->columns - c < columns ? wanted->columns - c : columns;
            part.to += r * wanted->stride_bytes + c * element;
            status = ask_first(fetcher, actor, &part, error);
        }
    return status;
}

/* --- local files --------------------------------------------------------- */

static void
copy_out(unsigned char *to, size_t to_stride, const unsigned char *from,
         size_t from_stride, uint64_t rows, size_t row_bytes)
{
    for (uint64_t row = 0; row < rows; row++)
        memcpy(to + row * to_stride, from + row * from_stride, row_bytes);
}

/* Damage here is reported once; another node then has to send the piece. */
static skn_status_t
tell_damage(skn_actor_t *actor, const char *what, skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text, "{\"event\":\"warning\",\"message\":");
    skn_json_text_add_string(&text, what);
    skn_json_text_add(&text, ",\"hint\":\"another node's copy is used\"}");
    skn_status_t status =
        text.failed ? SKN_OK
                    : skn_actor_send_event(actor, error, "%s", text.bytes);
    skn_json_text_fini(&text);
    return status;
}

/* The piece's bytes in local files; NULL: another node has to send them. */
static const unsigned char *
bytes_here(skn_fetcher_t *fetcher, skn_actor_t *actor, size_t piece,
           skn_status_t *status, skn_error_t *error)
{
    skn_error_t fault = { 0 };
    size_t file = skn_checkpoint_piece_file(fetcher->checkpoint, piece);
    if (fetcher->nodes > 1 &&
        (fetcher->spoilt[piece] ||
         !skn_checkpoint_has_file(fetcher->checkpoint, file)))
        return NULL;
    const unsigned char *bytes =
        skn_checkpoint_piece_bytes(fetcher->checkpoint, piece, &fault);
    if (bytes)
        return bytes;
    if (fetcher->nodes == 1 || fault.status == SKN_NO_MEMORY) {
        if (error)
            *error = fault;
        *status = fault.status;
        return NULL;
    }
    fetcher->spoilt[piece] = true;
    *status = tell_damage(actor, fault.text, error);
    return NULL;
}

/* The intersection of a rectangle of the tensor and a piece of it. */
static bool
share(const skn_piece_t *want, const skn_piece_t *piece, skn_pending_t *part)
{
    uint64_t row =
        want->row_first > piece->row_first ? want->row_first : piece->row_first;
    uint64_t column = want->column_first > piece->column_first
                          ? want->column_first
                          : piece->column_first;
    uint64_t row_end = want->row_first + want->rows;
    uint64_t column_end = want->column_first + want->columns;
    if (row_end > piece->row_first + piece->rows)
        row_end = piece->row_first + piece->rows;
    if (column_end > piece->column_first + piece->columns)
        column_end = piece->column_first + piece->columns;
    if (row >= row_end || column >= column_end)
        return false;
    part->row = row - piece->row_first;
    part->rows = row_end - row;
    part->column = column - piece->column_first;
    part->columns = column_end - column;
    return true;
}

static skn_status_t
bring(skn_fetcher_t *fetcher, skn_actor_t *actor, skn_pending_t *part,
      const skn_piece_t *want, skn_error_t *error)
{
    const skn_piece_t *piece =
        skn_checkpoint_piece(fetcher->checkpoint, part->piece);
    size_t element = skn_dtype_bytes(piece->dtype);
    skn_status_t status = SKN_OK;
    assert(part->row + part->rows <= piece->rows &&
           part->column + part->columns <= piece->columns);
    assert(piece->row_first + part->row >= want->row_first &&
           piece->column_first + part->column >= want->column_first);
    part->to +=
        (piece->row_first + part->row - want->row_first) * part->stride_bytes +
        (piece->column_first + part->column - want->column_first) * element;
    const unsigned char *bytes =
        bytes_here(fetcher, actor, part->piece, &status, error);
    if (status != SKN_OK)
        return status;
    if (!bytes)
        return ask_all(fetcher, actor, part, element, error);
    copy_out(part->to, part->stride_bytes,
             bytes + (part->row * piece->columns + part->column) * element,
             piece->columns * element, part->rows, part->columns * element);
    return SKN_OK;
}

skn_status_t
skn_fetcher_block(skn_fetcher_t *fetcher, skn_actor_t *actor, const char *name,
                  const skn_piece_t *rectangle, unsigned char *to,
                  size_t stride_bytes, uint32_t *waiting, skn_error_t *error)
{
    const skn_checkpoint_t *checkpoint = fetcher->checkpoint;
    const skn_checkpoint_tensor_t *tensor =
        skn_checkpoint_find(checkpoint, name);
    const skn_piece_t *want = rectangle;
    if (!tensor || want->row_first > tensor->rows ||
        want->rows > tensor->rows - want->row_first ||
        want->column_first > tensor->columns ||
        want->columns > tensor->columns - want->column_first)
        return skn_fail(
            error, SKN_BAD_DATA,
            "%s: tensor %s: %llu x %llu at (%llu, %llu) is outside of it",
            skn_checkpoint_path(checkpoint), name,
            (unsigned long long)want->rows, (unsigned long long)want->columns,
            (unsigned long long)want->row_first,
            (unsigned long long)want->column_first);
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < tensor->piece_count && status == SKN_OK; k++) {
        skn_pending_t part = { .piece = tensor->piece_first + k,
                               .to = to,
                               .stride_bytes = stride_bytes,
                               .waiting = waiting };
        const skn_piece_t *piece = skn_checkpoint_piece(checkpoint, part.piece);
        if (piece->row_first >= want->row_first + want->rows)
            break; /* sorted by row */
        if (share(want, piece, &part))
            status = bring(fetcher, actor, &part, want, error);
    }
    return status;
}

/* --- answers ------------------------------------------------------------- */

skn_status_t
skn_fetcher_take(skn_fetcher_t *fetcher, skn_actor_t *actor,
                 const skn_fetched_t *fetched, skn_error_t *error)
{
    skn_pending_t *pending = NULL;
    for (size_t k = 0; k < fetcher->room && fetched->ticket; k++)
        if (fetcher->pending[k].ticket == fetched->ticket)
            pending = &fetcher->pending[k];
    if (!pending) /* for a checkpoint that was given up since */
        return fetched->ticket / 2 < fetcher->next_ticket
                   ? SKN_OK
                   : skn_fail(error, SKN_BAD_MESSAGE,
                              "%s: received a part that was not requested",
                              skn_actor_name(actor));
    const skn_piece_t *piece =
        skn_checkpoint_piece(fetcher->checkpoint, pending->piece);
    size_t row_bytes = pending->columns * skn_dtype_bytes(piece->dtype);
    if (fetched->failure[0])
        (void)skn_fail(&fetcher->refusal, SKN_BAD_DATA, "%s", fetched->failure);
    else if (fetched->bytes.count != pending->rows * row_bytes ||
             skn_hash_u64(fetched->bytes.at, fetched->bytes.count) !=
                 fetched->hash)
        (void)skn_fail(&fetcher->refusal, SKN_BAD_DATA,
                       "a part of %s from node %u is damaged", piece->name,
                       pending->holder);
    else {
        copy_out(pending->to, pending->stride_bytes, fetched->bytes.at,
                 row_bytes, pending->rows, row_bytes);
        assert(*pending->waiting > 0 && fetcher->count > 0);
        --*pending->waiting;
        pending->ticket = 0;
        fetcher->count--;
        return SKN_OK;
    }
    pending->refused |= bit_of(pending->holder);
    return ask(fetcher, actor, pending, error);
}

/* --- serving ------------------------------------------------------------- */

static skn_status_t
refuse(skn_actor_t *actor, const char *who, const skn_fetch_t *want,
       const char *why, skn_error_t *error)
{
    char text[SKN_ERROR_TEXT_BYTES + 128];
    (void)snprintf(text, sizeof(text), "%s%s", who, why);
    skn_fetched_t fetched = { .to = want->from,
                              .ticket = want->ticket,
                              .failure = text };
    return skn_actor_send(actor, &skn_fetched_schema, &fetched, error);
}

skn_status_t
skn_fetcher_serve(skn_checkpoint_t *checkpoint, skn_actor_t *actor,
                  const char *who, const skn_fetch_t *want, skn_error_t *error)
{
    const skn_piece_t *piece =
        checkpoint ? skn_checkpoint_piece(checkpoint, want->piece) : NULL;
    skn_error_t fault = { 0 };
    if (!checkpoint)
        return refuse(actor, who, want, "no such checkpoint", error);
    size_t element = piece ? skn_dtype_bytes(piece->dtype) : 1;
    if (!piece || want->row > piece->rows ||
        want->rows > piece->rows - want->row || want->column > piece->columns ||
        want->columns > piece->columns - want->column || want->rows == 0 ||
        want->columns == 0 ||
        want->columns > SKN_PART_BYTES / element / want->rows)
        return skn_fail(
            error, SKN_BAD_MESSAGE,
            "%s: node %u requests %llu x %llu of piece %u, outside of that "
            "piece",
            skn_actor_name(actor), want->from, (unsigned long long)want->rows,
            (unsigned long long)want->columns, want->piece);
    const unsigned char *bytes =
        skn_checkpoint_piece_bytes(checkpoint, want->piece, &fault);
    if (!bytes)
        return refuse(actor, who, want, fault.text, error);
    size_t row_bytes = want->columns * element;
    size_t counts[] = { 0, want->rows * row_bytes };
    skn_fetched_t *fetched =
        skn_actor_message(actor, &skn_fetched_schema, counts, error);
    if (!fetched)
        return error->status;
    fetched->to = want->from;
    fetched->ticket = want->ticket;
    copy_out(fetched->bytes.at, row_bytes,
             bytes + (want->row * piece->columns + want->column) * element,
             piece->columns * element, want->rows, row_bytes);
    fetched->hash = skn_hash_u64(fetched->bytes.at, fetched->bytes.count);
    return skn_actor_post(actor, fetched, error);
}
