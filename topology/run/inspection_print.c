/* inspection_print.c - prints an inspection as tables for people, or as JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "skein/text.h"
#include "topology/run/inspection_internal.h"

/* --- as text ------------------------------------------------------------- */

static void
print_folders(const skn_inspection_checkpoint_t *checkpoint, FILE *file)
{
    for (size_t k = 0; k < checkpoint->folder_count; k++) {
        const skn_inspection_folder_t *folder = &checkpoint->folders[k];
        (void)fprintf(file, k ? ", %s %zu" : "  %s %zu", folder->name,
                      folder->file_count);
        if (k == 0)
            (void)fprintf(file, " of %zu files", checkpoint->file_count);
    }
}

static void
print_checkpoints(const skn_inspection_t *inspection, FILE *file)
{
    static const char *const said[] = {
        [SKN_INSPECTION_UNREAD] = "",
        [SKN_INSPECTION_WHOLE] = "",
        [SKN_INSPECTION_GATHERED] =
            "  in part, whole with the folders beside it",
        [SKN_INSPECTION_PART] = "  in part",
        [SKN_INSPECTION_DAMAGED] = "  DAMAGED",
    };
    for (size_t k = 0; k < inspection->info.checkpoint_count; k++) {
        const skn_inspection_checkpoint_t *checkpoint =
            &inspection->checkpoint[k];
        (void)fprintf(file, "%-8s %s%s%s%s", k == 0 ? "holds" : "",
                      checkpoint->name, checkpoint->is_best ? "  best" : "",
                      checkpoint->is_latest ? "  latest" : "",
                      said[checkpoint->state]);
        print_folders(checkpoint, file);
        (void)fputc('\n', file);
    }
}

static void
print_tensor(const skn_inspection_tensor_t *tensor, FILE *file)
{
    char shape[64], pieces[32];
    const char *hash =
        tensor->piece_count == 1 ? tensor->pieces[0].xxh3_128 : pieces;
    if (tensor->dims == 1)
        (void)snprintf(shape, sizeof(shape), "[%" PRIu64 "]", tensor->rows);
    else
        (void)snprintf(shape, sizeof(shape), "[%" PRIu64 "][%" PRIu64 "]",
                       tensor->rows, tensor->columns);
    (void)snprintf(pieces, sizeof(pieces), "%zu pieces", tensor->piece_count);
    (void)fprintf(file, "  %-24s %-5s %-20s %s\n", tensor->name, tensor->dtype,
                  shape, hash[0] ? hash : "DAMAGED");
}

/* A number of an epoch with a width, or a dash. */
static void
print_score(const json_t *epoch, const char *key, int width, FILE *file)
{
    if (json_object_get(epoch, key))
        (void)skn_text_print(file, "  %*.4f", width,
                             skn_json_number(epoch, key));
    else
        (void)fprintf(file, "  %*s", width, "-");
}

/* A decoder is measured in nats, other models by their ranking. */
static void
print_history(const json_t *history, FILE *file)
{
    double network = 0;
    if (json_array_size(history) == 0)
        return;
    bool is_text = json_object_get(json_array_get(history, 0), "tokens_per_s");
    (void)fputs(is_text
                    ? "history\n  epoch      loss  validation  bits/byte   "
                      "seconds\n"
                    : "history\n  epoch      loss     P@1     P@3     P@5   "
                      "seconds\n",
                file);
    for (size_t k = 0; k < json_array_size(history); k++) {
        const json_t *epoch = json_array_get(history, k);
        double of = skn_json_number(epoch, "network"); /* of a joined one */
        double loss = skn_json_number(epoch, "loss");
        if (of > 0 && of != network)
            (void)skn_text_print(file, "  network %.0f\n", of);
        network = of;
        (void)skn_text_print(file, "  %5.0f", skn_json_number(epoch, "epoch"));
        /* A diverging loss has many digits, of which the first few count. */
        (void)skn_text_print(file, fabs(loss) < 1e8 ? "  %8.4f" : "  %8.4e",
                             loss);
        if (is_text) {
            print_score(epoch, "validation_nats", 10, file);
            print_score(epoch, "bits_per_byte", 9, file);
        } else {
            print_score(epoch, "p1", 6, file);
            print_score(epoch, "p3", 6, file);
            print_score(epoch, "p5", 6, file);
        }
        (void)skn_text_print(file, "  %8.1f\n",
                             skn_json_number(epoch, "seconds"));
    }
}

static void
print_text(const skn_inspection_t *inspection, FILE *file)
{
    const skn_inspection_info_t *info = &inspection->info;
    (void)fprintf(file, "run      %s\ncreated  %s\n", info->run_id,
                  info->created);
    print_checkpoints(inspection, file);
    if (!info->checkpoint_path) {
        (void)fputs(info->checkpoint_count > 0
                        ? "         none is whole here: other nodes have the "
                          "rest\n"
                        : "         no checkpoint yet\n",
                    file);
        return;
    }
    if (info->data_xxh3_128)
        (void)fprintf(file,
                      "shown    %s\nbatch    %" PRIu64 ", exported: %" PRIu64
                      " bytes\ndata_xxh3_128 %s\n",
                      info->checkpoint_path, info->batch, info->bytes,
                      info->data_xxh3_128);
    else
        (void)fprintf(file,
                      "shown    %s\nbatch    %" PRIu64 ", epoch %" PRIu64 "%s\n"
                      "weights_sha256 %s\n",
                      info->checkpoint_path, info->batch, info->epoch,
                      info->is_finished ? ", the run has finished" : "",
                      info->weights_sha256);
    if (info->has_ledger)
        (void)fprintf(file,
                      "ledger   %" PRIu64 " lost, %" PRIu64 " applied twice\n",
                      info->lost, info->applied_twice);
    (void)fputs("tensors\n", file);
    for (size_t k = 0; k < info->tensor_count; k++)
        print_tensor(&inspection->tensor[k], file);
    print_history(json_object_get(inspection->metadata, "history"), file);
}

/* --- as JSON ------------------------------------------------------------- */

static void
add_folders(skn_json_text_t *text,
            const skn_inspection_checkpoint_t *checkpoint)
{
    skn_json_text_add(text, ",\"folders\":[");
    for (size_t k = 0; k < checkpoint->folder_count; k++) {
        skn_json_text_add(text, k ? ",{\"folder\":" : "{\"folder\":");
        skn_json_text_add_string(text, checkpoint->folders[k].name);
        skn_json_text_add(text, ",\"files\":%zu}",
                          checkpoint->folders[k].file_count);
    }
    skn_json_text_add(text, "],\"files\":%zu", checkpoint->file_count);
}

static const char *
truth(bool value)
{
    return value ? "true" : "false";
}

static void
add_checkpoints(skn_json_text_t *text, const skn_inspection_t *inspection)
{
    skn_json_text_add(text, ",\"checkpoints\":[");
    for (size_t k = 0; k < inspection->info.checkpoint_count; k++) {
        const skn_inspection_checkpoint_t *checkpoint =
            &inspection->checkpoint[k];
        skn_inspection_state_t state = checkpoint->state;
        skn_json_text_add(text,
                          "%s{\"batch\":%" PRIu64 ",\"generation\":%" PRIu64
                          ",\"best\":%s,\"latest\":%s,\"part\":%s,"
                          "\"damaged\":%s",
                          k ? "," : "", checkpoint->batch,
                          checkpoint->generation, truth(checkpoint->is_best),
                          truth(checkpoint->is_latest),
                          truth(state == SKN_INSPECTION_PART ||
                                state == SKN_INSPECTION_GATHERED),
                          truth(state == SKN_INSPECTION_DAMAGED));
        if (checkpoint->folders)
            add_folders(text, checkpoint);
        skn_json_text_add(text, "}");
    }
    skn_json_text_add(text, "]");
}

static void
add_tensor(skn_json_text_t *text, const skn_inspection_tensor_t *tensor)
{
    skn_json_text_add(text,
                      "{\"name\":\"%s\",\"dtype\":\"%s\",\"shape\":[%" PRIu64,
                      tensor->name, tensor->dtype, tensor->rows);
    if (tensor->dims > 1)
        skn_json_text_add(text, ",%" PRIu64, tensor->columns);
    skn_json_text_add(text, "],\"pieces\":[");
    for (size_t k = 0; k < tensor->piece_count; k++) {
        const skn_inspection_piece_t *piece = &tensor->pieces[k];
        skn_json_text_add(text,
                          "%s{\"first\":[%" PRIu64 ",%" PRIu64
                          "],\"shape\":[%" PRIu64 ",%" PRIu64
                          "],\"xxh3_128\":\"%s\"}",
                          k ? "," : "", piece->row_first, piece->column_first,
                          piece->rows, piece->columns, piece->xxh3_128);
    }
    skn_json_text_add(text, "]}");
}

static void
add_shown(skn_json_text_t *text, const skn_inspection_t *inspection)
{
    const skn_inspection_info_t *info = &inspection->info;
    char *metadata = skn_json_write(inspection->metadata, JSON_COMPACT);
    skn_json_text_add(text, ",\"shown\":");
    skn_json_text_add_string(text, info->checkpoint_path);
    skn_json_text_add(text, ",\"batch\":%" PRIu64 ",\"weights_sha256\":\"%s\"",
                      info->batch, info->weights_sha256);
    if (info->data_xxh3_128)
        skn_json_text_add(text,
                          ",\"bytes\":%" PRIu64 ",\"data_xxh3_128\":\"%s\"",
                          info->bytes, info->data_xxh3_128);
    else
        skn_ledger_write(&inspection->ledger, text);
    skn_json_text_add(text, ",\"tensors\":[");
    for (size_t k = 0; k < info->tensor_count; k++) {
        skn_json_text_add(text, "%s", k ? "," : "");
        add_tensor(text, &inspection->tensor[k]);
    }
    skn_json_text_add(text, "],\"metadata\":%s", metadata ? metadata : "null");
    free(metadata);
}

static skn_status_t
print_json(const skn_inspection_t *inspection, FILE *file, skn_error_t *error)
{
    const skn_inspection_info_t *info = &inspection->info;
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text, "{\"event\":\"inspect\",\"path\":");
    skn_json_text_add_string(&text, info->path);
    skn_json_text_add(&text, ",\"run\":\"%s\",\"created\":\"%s\"", info->run_id,
                      info->created);
    add_checkpoints(&text, inspection);
    if (info->checkpoint_path)
        add_shown(&text, inspection);
    skn_json_text_add(&text, ",\"config\":");
    skn_json_text_add_string(&text, info->config);
    skn_json_text_add(&text, "}\n");
    if (!text.failed)
        (void)fputs(text.bytes, file);
    skn_status_t status =
        text.failed ? skn_fail(error, SKN_NO_MEMORY, "no memory for JSON")
                    : SKN_OK;
    skn_json_text_fini(&text);
    return status;
}

skn_status_t
skn_inspection_print(const skn_inspection_t *inspection,
                     skn_inspection_format_t format, FILE *file,
                     skn_error_t *error)
{
    if (!inspection || !file)
        return skn_fail(error, SKN_USAGE,
                        "skn_inspection_print: the %s is NULL",
                        inspection ? "file" : "inspection");
    if (format == SKN_INSPECTION_JSON)
        return print_json(inspection, file, error);
    if (format != SKN_INSPECTION_TEXT)
        return skn_fail(error, SKN_USAGE,
                        "skn_inspection_print: there is no format %d",
                        (int)format);
    print_text(inspection, file);
    return SKN_OK;
}
