/* coding.c - encodes and decodes messages for a link, some runs in fewer bytes.
 *
 * This file owns: which runs of a message are coded, the memory for it, and the
 * checks of a run before it is read. Not here: the forms of runs
 * (coding_values.c, coding_numbers.c), the header (codec.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/message/coding.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "transport/message/codec.h"
#include "transport/message/coding_runs.h"
#include "transport/message/field.h"

/* Items of coded runs have 32 bits: f32s and u32s. */
#define ITEM_BYTES sizeof(float)
/* The most items that a byte of a coded frame can hold: one for each bit. */
#define ITEMS_A_BYTE_MAX (SKN_CODING_EXPANSION_MAX / ITEM_BYTES)

struct skn_coder {
    const skn_kernels_t *kernels;
    skn_scratch_t *scratch; /* for headers in both directions */
    uint8_t *room;          /* coded frames of the current message */
    size_t room_bytes;
    size_t bytes_max; /* of the decoded message */
};

/* --- the coder ----------------------------------------------------------- */

skn_coder_t *
skn_coder_new(const skn_kernels_t *kernels, skn_error_t *error)
{
    skn_coder_t *coder = calloc(1, sizeof(*coder));
    if (!coder) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a coder");
        return NULL;
    }
    coder->kernels = kernels;
    coder->scratch = skn_scratch_new(error);
    if (!coder->scratch)
        skn_coder_destroy(&coder);
    return coder;
}

void
skn_coder_destroy(skn_coder_t **coder)
{
    if (!*coder)
        return;
    skn_scratch_destroy(&(*coder)->scratch);
    free((*coder)->room);
    free(*coder);
    *coder = NULL;
}

/* --- shared by both directions ------------------------------------------- */

/* How `field` is coded; NULL if it is not. */
static const skn_coded_field_t *
coded_of(const skn_schema_t *schema, const skn_field_t *field)
{
    const skn_coded_field_t *coded = schema->coded;
    for (; coded && coded->name; coded++)
        if (strcmp(coded->name, field->name) == 0)
            return coded;
    return NULL;
}

/* Derives rows from their lengths: `count` must be 1 to SKN_CODED_ROUNDS_MAX
 * whole rounds of them. */
static skn_status_t
rows_by_length(const skn_schema_t *schema, const skn_field_t *field,
               size_t count, skn_coded_rows_t *rows, skn_error_t *error)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < rows->length_count; k++)
        sum += rows->length[k];
    if (sum == 0 || count % sum != 0 || count / sum > SKN_CODED_ROUNDS_MAX)
        return skn_fail(
            error, SKN_BAD_MESSAGE,
            "%s.%s: %zu items are not 1 to %u rounds of %" PRIu64 " items",
            schema->name, field->name, count, SKN_CODED_ROUNDS_MAX, sum);
    rows->row_count = (size_t)(count / sum) * rows->length_count;
    return SKN_OK;
}

/* Finds the rows of a run of `message` that has `count` items. */
static skn_status_t
find_rows(const skn_schema_t *schema, const skn_field_t *field,
          const skn_coded_field_t *coded, const void *message, size_t count,
          skn_coded_rows_t *rows, skn_error_t *error)
{
    const skn_field_t *columns = skn_field_named(schema, coded->columns);
    const skn_field_t *lengths = skn_field_named(schema, coded->lengths);
    *rows = (skn_coded_rows_t){ .columns = count, .row_count = count > 0 };
    if (count == 0)
        return SKN_OK;
    if (lengths) {
        skn_run_t run = skn_field_run(lengths, message);
        rows->length = run.count > 0 ? run.at : NULL;
        rows->length_count = run.count;
        if (rows->length)
            return rows_by_length(schema, field, count, rows, error);
    }
    if (!columns)
        return SKN_OK;
    uint64_t width = skn_field_number(columns, message);
    if (width == 0 || count % width != 0)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s.%s: %zu items are not whole rows of %" PRIu64,
                        schema->name, field->name, count, width);
    rows->columns = (size_t)width;
    rows->row_count = count / (size_t)width;
    return SKN_OK;
}

/* --- encode -------------------------------------------------------------- */

/* Allocates room for the coded form of every run: its own size, as a run that
 * does not shrink is sent as it is, and a byte for the form. */
static skn_status_t
make_room(const skn_schema_t *schema, const void *message, skn_coder_t *coder,
          skn_error_t *error)
{
    size_t bytes = 0;
    for (size_t k = 0; k < schema->field_count; k++)
        if (coded_of(schema, &schema->fields[k]))
            bytes +=
                skn_field_run(&schema->fields[k], message).count * ITEM_BYTES +
                1;
    if (bytes <= coder->room_bytes)
        return SKN_OK;
    free(coder->room);
    coder->room_bytes = 0;
    coder->room = malloc(bytes);
    if (!coder->room)
        return skn_fail(error, SKN_NO_MEMORY,
                        "%s: no memory for coding %zu bytes", schema->name,
                        bytes);
    coder->room_bytes = bytes;
    return SKN_OK;
}

/* Codes a run to `to` if that makes it smaller. */
static skn_status_t
write_run(const skn_schema_t *schema, const skn_field_t *field,
          const skn_coded_field_t *coded, const void *message,
          skn_coding_t coding, uint64_t key, const skn_coder_t *coder,
          uint8_t *to, skn_frame_t *frame, skn_error_t *error)
{
    skn_run_t run = skn_field_run(field, message);
    size_t bytes;
    if (coded->kind == SKN_CODED_values) {
        skn_coded_rows_t rows;
        skn_status_t status =
            find_rows(schema, field, coded, message, run.count, &rows, error);
        if (status != SKN_OK)
            return status;
        bytes = skn_values_write(coder->kernels, coding, coded->sparse, &rows,
                                 run.at, run.count, key,
                                 (uint64_t)(field - schema->fields), to);
    } else {
        bytes = skn_numbers_write(coded->kind, run.at, run.count, to);
    }
    /* A frame as long as its items would be read as the items themselves. */
    assert(bytes == 0 || bytes < run.count * ITEM_BYTES);
    if (bytes > 0)
        *frame = (skn_frame_t){ to, bytes };
    return SKN_OK;
}

skn_status_t
skn_coding_encode(const skn_schema_t *schema, const void *message,
                  skn_coding_t coding, uint64_t key, skn_coder_t *coder,
                  skn_wire_t *wire, skn_error_t *error)
{
    assert(coding < SKN_CODING_COUNT);
    wire->frame_count = 0;
    if (skn_schema_lends(schema))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s lends memory of this process, so it cannot be "
                        "sent to another one",
                        schema->name);
    skn_wire_t whole;
    skn_status_t status =
        skn_encode(schema, message, coder->scratch, &whole, error);
    if (status == SKN_OK)
        status = make_room(schema, message, coder, error);
    uint8_t *to = coder->room;
    skn_frame_t *frame = &whole.frame[1];
    for (size_t k = 0; k < schema->field_count && status == SKN_OK; k++) {
        const skn_field_t *field = &schema->fields[k];
        const skn_coded_field_t *coded = coded_of(schema, field);
        const void *as_it_is = frame->at;
        if (coded)
            status = write_run(schema, field, coded, message, coding, key,
                               coder, to, frame, error);
        if (frame->at != as_it_is)
            to += frame->bytes;
        frame += skn_field_item_bytes(field->kind) > 0;
    }
    assert((size_t)(to - coder->room) <= coder->room_bytes);
    if (status == SKN_OK)
        *wire = whole;
    return status;
}

skn_status_t
skn_coding_round(const skn_schema_t *schema, const void *message,
                 const char *name, skn_coding_t coding, uint64_t key,
                 skn_coder_t *coder, float *to, skn_error_t *error)
{
    const skn_field_t *field = skn_field_named(schema, name);
    const skn_coded_field_t *coded = coded_of(schema, field);
    skn_run_t run = skn_field_run(field, message);
    skn_frame_t frame = { run.at, run.count * ITEM_BYTES };
    skn_coded_rows_t rows;
    assert(coded->kind == SKN_CODED_values);
    skn_status_t status =
        find_rows(schema, field, coded, message, run.count, &rows, error);
    if (status == SKN_OK)
        status = make_room(schema, message, coder, error);
    if (status == SKN_OK)
        status = write_run(schema, field, coded, message, coding, key, coder,
                           coder->room, &frame, error);
    if (status != SKN_OK)
        return status;
    if (frame.at != run.at) {
        bool good = skn_values_read(coder->kernels, coded->sparse, &rows,
                                    frame.at, frame.bytes, to, run.count);
        assert(good);
        (void)good;
    } else if (run.count > 0) {
        memcpy(to, run.at, frame.bytes);
    }
    return SKN_OK;
}

/* --- decode -------------------------------------------------------------- */

/* A frame as long as its items holds the items themselves; a coded one is
 * shorter, and its length bounds the items that it can become. */
static skn_status_t
measure(void *reader, const skn_schema_t *schema, const skn_field_t *field,
        uint64_t count, skn_frame_t frame, bool *coded, skn_error_t *error)
{
    (void)reader;
    if (count > field->max)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s.%s has %" PRIu64 " items, at most %" PRIu64
                        " allowed",
                        schema->name, field->name, count, field->max);
    *coded = coded_of(schema, field) && frame.bytes != count * ITEM_BYTES;
    if (*coded && (frame.bytes == 0 || frame.bytes > count * ITEM_BYTES ||
                   count > (frame.bytes - 1) * ITEMS_A_BYTE_MAX))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s.%s: %" PRIu64 " items cannot be coded in %zu "
                        "bytes",
                        schema->name, field->name, count, frame.bytes);
    return SKN_OK;
}

/* Counts are within the maxima of the schema, so that sums fit 64 bits. */
static skn_status_t
admit(void *reader, const skn_schema_t *schema, const size_t *counts,
      skn_error_t *error)
{
    const skn_coder_t *coder = reader;
    uint64_t bytes = schema->struct_bytes;
    for (size_t k = 0; k < schema->field_count; k++) {
        skn_field_kind_t kind = schema->fields[k].kind;
        if (kind == SKN_FIELD_str)
            bytes += *counts++ + 1;
        else if (skn_field_item_bytes(kind) > 0)
            bytes += (uint64_t)*counts++ * skn_field_item_bytes(kind);
    }
    if (bytes > coder->bytes_max)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s takes %" PRIu64 " bytes, at most %zu allowed",
                        schema->name, bytes, coder->bytes_max);
    return SKN_OK;
}

/* One pass over the coded fields: those with numbers, or those with values. */
static skn_status_t
fill_kind(const skn_coder_t *coder, const skn_schema_t *schema,
          const skn_frame_t *frame, void *message, bool numbers,
          skn_error_t *error)
{
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        const skn_coded_field_t *coded = coded_of(schema, field);
        frame += skn_field_item_bytes(field->kind) > 0;
        if (!coded || (coded->kind != SKN_CODED_values) != numbers)
            continue;
        skn_run_t run = skn_field_run(field, message);
        bool as_it_is = frame->bytes == run.count * ITEM_BYTES, good = true;
        if (numbers && !as_it_is)
            good = skn_numbers_read(frame->at, frame->bytes, run.at, run.count);
        if (!numbers) {
            skn_coded_rows_t rows;
            skn_status_t status = find_rows(schema, field, coded, message,
                                            run.count, &rows, error);
            if (status != SKN_OK)
                return status;
            if (!as_it_is)
                good =
                    skn_values_read(coder->kernels, coded->sparse, &rows,
                                    frame->at, frame->bytes, run.at, run.count);
        }
        if (!good)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s.%s: %zu bytes are not a coded run of %zu items",
                            schema->name, field->name, frame->bytes, run.count);
    }
    return SKN_OK;
}

/* Numbers are first: they may be the lengths of rows of values. */
static skn_status_t
fill(void *reader, const skn_schema_t *schema, const skn_frame_t *frame,
     void *message, skn_error_t *error)
{
    skn_status_t status =
        fill_kind(reader, schema, frame, message, true, error);
    return status == SKN_OK
               ? fill_kind(reader, schema, frame, message, false, error)
               : status;
}

skn_status_t
skn_coding_decode(const skn_schema_t *schema, const skn_frame_t *frame,
                  size_t frame_count, size_t bytes_max, skn_coder_t *coder,
                  skn_pool_t *pool, void **message, skn_error_t *error)
{
    static const skn_run_reader_t calls = { measure, admit, fill };
    coder->bytes_max = bytes_max;
    return skn_decode_with(schema, frame, frame_count, SKN_ORIGIN_PEER, &calls,
                           coder, coder->scratch, pool, message, error);
}
