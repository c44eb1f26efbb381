/* verb_inspect.c - skein inspect: prints what a run folder holds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "skein/text.h"
#include "cli/checkpoint_inventory.h"
#include "cli/base/verbs.h"
#include "formats/checkpoint/checkpoint.h"
#include "formats/text/json_text.h"
#include "formats/checkpoint/ledger.h"
#include "topology/run/trained_missing.h"

/* How much of a checkpoint the run's folders hold. */
typedef enum held_form {
    HOLDS_WHOLE,
    HOLDS_GATHERED, /* whole, with the folders of other nodes */
    HOLDS_PART,     /* its other files are on other nodes */
    HOLDS_DAMAGED
} held_form_t;

/* The folder or checkpoint that is inspected. */
typedef struct inspection {
    const cli_call_t *call;
    const char *path;
    skn_trained_place_t place;
    skn_checkpoint_t *checkpoint; /* the checkpoint to print; may be NULL */
    json_t *metadata;
    char sha256[SKN_SHA256_TEXT_BYTES];
    skn_ledger_verdict_t ledger;
    cli_checkpoint_inventory_t all;
    held_form_t *held_form; /* [all.count] */
    bool damaged;           /* one checkpoint is damaged */
} inspection_t;

static bool
names_batch(const inspection_t *look, const char *link,
            const skn_batch_id_t *id)
{
    return cli_inventory_names(&look->all, link, id);
}

/* --- as text ------------------------------------------------------------- */

static void
print_tensor(const inspection_t *look, const skn_checkpoint_tensor_t *tensor)
{
    char shape[64], hash[SKN_HASH_TEXT_BYTES + 16];
    skn_error_t error = { 0 };
    if (tensor->dims == 1)
        (void)snprintf(shape, sizeof(shape), "[%" PRIu64 "]", tensor->rows);
    else
        (void)snprintf(shape, sizeof(shape), "[%" PRIu64 "][%" PRIu64 "]",
                       tensor->rows, tensor->columns);
    (void)snprintf(hash, sizeof(hash), "%zu pieces", tensor->piece_count);
    if (tensor->piece_count == 1) {
        const void *bytes = skn_checkpoint_piece_bytes(
            look->checkpoint, tensor->piece_first, &error);
        size_t count = (size_t)(tensor->rows * tensor->columns) *
                       skn_dtype_bytes(tensor->dtype);
        if (bytes)
            skn_hash_text(bytes, count, hash);
        else
            (void)snprintf(hash, sizeof(hash), "DAMAGED");
    }
    (void)printf("  %-24s %-5s %-20s %s\n", tensor->name,
                 skn_dtype_name(tensor->dtype), shape, hash);
}

static void
print_history(const json_t *history)
{
    double network = 0;
    if (json_array_size(history) == 0)
        return;
    (void)puts("history\n  epoch      loss     P@1     P@3     P@5   seconds");
    for (size_t k = 0; k < json_array_size(history); k++) {
        const json_t *epoch = json_array_get(history, k);
        double of = skn_json_number(epoch, "network"); /* of a joined one */
        if (of > 0 && of != network)
            (void)skn_text_print(stdout, "  network %.0f\n", of);
        network = of;
        char loss[CLI_LOSS_BYTES];
        (void)skn_text_print(
            stdout, "  %5.0f  %8s", skn_json_number(epoch, "epoch"),
            cli_loss_text(skn_json_number(epoch, "loss"), loss));
        if (json_object_get(epoch, "p1"))
            (void)skn_text_print(
                stdout, "  %6.4f  %6.4f  %6.4f", skn_json_number(epoch, "p1"),
                skn_json_number(epoch, "p3"), skn_json_number(epoch, "p5"));
        else
            (void)printf("  %6s  %6s  %6s", "-", "-", "-");
        (void)skn_text_print(stdout, "  %8.1f\n",
                             skn_json_number(epoch, "seconds"));
    }
}

static void
print_text(const inspection_t *look)
{
    static const char *const said[] = {
        [HOLDS_WHOLE] = "",
        [HOLDS_GATHERED] = "  in part, whole with the folders beside it",
        [HOLDS_PART] = "  in part",
        [HOLDS_DAMAGED] = "  DAMAGED",
    };
    (void)printf("run      %s\ncreated  %s\n",
                 skn_run_folder_id(look->place.run),
                 skn_run_folder_created(look->place.run));
    for (size_t k = 0; k < look->all.count; k++) {
        const skn_batch_id_t *id = &look->all.id[k];
        char name[SKN_BATCH_NAME_BYTES];
        skn_batch_name(id->batch, id->generation, name);
        (void)printf("%-8s %s%s%s%s", k == 0 ? "holds" : "", name,
                     names_batch(look, "best", id) ? "  best" : "",
                     names_batch(look, "latest", id) ? "  latest" : "",
                     said[look->held_form[k]]);
        if (look->place.nodes.count > 0)
            cli_inventory_print(&look->all, id);
        (void)puts("");
    }
    if (!look->checkpoint) {
        (void)puts(
            look->all.count > 0
                ? "         none is whole here: other nodes have the rest"
                : "         no checkpoint yet");
        return;
    }
    (void)skn_text_print(
        stdout,
        "shown    %s\nbatch    %" PRIu64 ", epoch %.0f%s\n"
        "weights_sha256 %s\n",
        skn_checkpoint_path(look->checkpoint),
        skn_checkpoint_batch(look->checkpoint),
        skn_json_number(look->metadata, "epoch"),
        json_is_true(json_object_get(look->metadata, "finished"))
            ? ", the run has finished"
            : "",
        look->sha256);
    if (look->ledger.known)
        (void)printf("ledger   %" PRIu64 " lost, %" PRIu64 " applied twice\n",
                     look->ledger.lost, look->ledger.applied_twice);
    (void)puts("tensors");
    size_t count = skn_checkpoint_tensor_count(look->checkpoint);
    for (size_t k = 0; k < count; k++)
        print_tensor(look, skn_checkpoint_tensor(look->checkpoint, k));
    print_history(json_object_get(look->metadata, "history"));
    if (cli_flag(look->call, "config"))
        (void)printf("config\n%s", skn_run_folder_config(look->place.run));
}

/* --- as JSON ------------------------------------------------------------- */

static void
add_piece(skn_json_text_t *text, inspection_t *look, size_t index)
{
    char hash[SKN_HASH_TEXT_BYTES] = "";
    skn_error_t error = { 0 };
    const skn_piece_t *piece = skn_checkpoint_piece(look->checkpoint, index);
    const void *bytes =
        skn_checkpoint_piece_bytes(look->checkpoint, index, &error);
    if (bytes)
        skn_hash_text(bytes,
                      (size_t)(piece->rows * piece->columns) *
                          skn_dtype_bytes(piece->dtype),
                      hash);
    skn_json_text_add(text,
                      "{\"first\":[%" PRIu64 ",%" PRIu64 "],\"shape\":[%" PRIu64
                      ",%" PRIu64 "],\"xxh3_128\":\"%s\"}",
                      piece->row_first, piece->column_first, piece->rows,
                      piece->columns, hash);
}

static void
add_tensors(skn_json_text_t *text, inspection_t *look)
{
    size_t count = skn_checkpoint_tensor_count(look->checkpoint);
    skn_json_text_add(text, ",\"tensors\":[");
    for (size_t k = 0; k < count; k++) {
        const skn_checkpoint_tensor_t *tensor =
            skn_checkpoint_tensor(look->checkpoint, k);
        skn_json_text_add(text,
                          "%s{\"name\":\"%s\",\"dtype\":\"%s\",\"shape\":"
                          "[%" PRIu64,
                          k ? "," : "", tensor->name,
                          skn_dtype_name(tensor->dtype), tensor->rows);
        if (tensor->dims > 1)
            skn_json_text_add(text, ",%" PRIu64, tensor->columns);
        skn_json_text_add(text, "],\"pieces\":[");
        for (size_t p = 0; p < tensor->piece_count; p++) {
            skn_json_text_add(text, "%s", p ? "," : "");
            add_piece(text, look, tensor->piece_first + p);
        }
        skn_json_text_add(text, "]}");
    }
    skn_json_text_add(text, "]");
}

static void
add_checkpoint(skn_json_text_t *text, inspection_t *look)
{
    char *metadata = json_dumps(look->metadata, JSON_COMPACT);
    skn_json_text_add(text, ",\"shown\":");
    skn_json_text_add_string(text, skn_checkpoint_path(look->checkpoint));
    skn_json_text_add(text, ",\"batch\":%" PRIu64 ",\"weights_sha256\":\"%s\"",
                      skn_checkpoint_batch(look->checkpoint), look->sha256);
    skn_ledger_write(&look->ledger, text);
    add_tensors(text, look);
    skn_json_text_add(text, ",\"metadata\":%s", metadata ? metadata : "null");
    free(metadata);
}

static void
print_json(inspection_t *look)
{
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text, "{\"event\":\"inspect\",\"path\":");
    skn_json_text_add_string(&text, look->path);
    skn_json_text_add(&text, ",\"run\":\"%s\",\"created\":\"%s\"",
                      skn_run_folder_id(look->place.run),
                      skn_run_folder_created(look->place.run));
    skn_json_text_add(&text, ",\"checkpoints\":[");
    for (size_t k = 0; k < look->all.count; k++) {
        const skn_batch_id_t *id = &look->all.id[k];
        bool part = look->held_form[k] == HOLDS_PART ||
                    look->held_form[k] == HOLDS_GATHERED;
        skn_json_text_add(
            &text,
            "%s{\"batch\":%" PRIu64 ",\"generation\":%" PRIu64
            ",\"best\":%s,\"latest\":%s,\"part\":%s,\"damaged\":%s",
            k ? "," : "", id->batch, id->generation,
            names_batch(look, "best", id) ? "true" : "false",
            names_batch(look, "latest", id) ? "true" : "false",
            part ? "true" : "false",
            look->held_form[k] == HOLDS_DAMAGED ? "true" : "false");
        if (look->place.nodes.count > 0)
            cli_inventory_write(&look->all, id, &text);
        skn_json_text_add(&text, "}");
    }
    skn_json_text_add(&text, "]");
    if (look->checkpoint)
        add_checkpoint(&text, look);
    skn_json_text_add(&text, ",\"config\":");
    skn_json_text_add_string(&text, skn_run_folder_config(look->place.run));
    skn_json_text_add(&text, "}");
    if (!text.failed)
        (void)puts(text.bytes);
    skn_json_text_fini(&text);
}

/* --- verification -------------------------------------------------------- */

/* Whether other nodes may have files that are not here. */
static bool
has_nodes(const inspection_t *look)
{
    skn_model_t *model = NULL;
    skn_error_t error = { 0 };
    bool nodes = skn_trained_model(look->place.run, &model, &error) != SKN_OK ||
                 model->node_count > 1;
    skn_model_destroy(&model);
    return nodes;
}

static void
prove_best(inspection_t *look)
{
    char path[SKN_TEXT_MAX + 64];
    struct stat facts;
    (void)snprintf(path, sizeof(path), "%s/best",
                   skn_run_folder_path(look->place.run));
    if (look->place.one || lstat(path, &facts) != 0 || stat(path, &facts) == 0)
        return;
    look->damaged = true;
    cli_warn(look->call, "`best` names a checkpoint that is missing", "");
}

static void
tell_damage(inspection_t *look, const char *name, const char *why)
{
    char text[SKN_ERROR_TEXT_BYTES + 64];
    look->damaged = true;
    (void)snprintf(text, sizeof(text), "%s cannot be used: %s", name, why);
    cli_warn(look->call, text, "");
}

/* Verifies the checkpoint in the folders of all nodes: damage in one folder is
 * reported even if another folder has a good copy. */
static bool
is_sound_everywhere(inspection_t *look, const skn_batch_id_t *id, bool *whole)
{
    bool sound = true;
    char name[SKN_BATCH_NAME_BYTES];
    skn_batch_name(id->batch, id->generation, name);
    *whole = false;
    for (size_t k = 0; k < look->all.folder_count; k++) {
        skn_error_t error = { 0 };
        bool here = false;
        if (!cli_inventory_prove(&look->all, k, id, &here, &error)) {
            tell_damage(look, name, error.text);
            sound = false;
        }
        *whole = *whole || here;
    }
    return sound;
}

static held_form_t
prove(inspection_t *look, const skn_batch_id_t *id, bool nodes)
{
    char name[SKN_BATCH_NAME_BYTES];
    skn_error_t error = { 0 };
    bool whole = true;
    skn_batch_name(id->batch, id->generation, name);
    skn_checkpoint_t *checkpoint =
        cli_inventory_open(&look->all, id, SKN_VERIFY_ALL, &error);
    bool gathered = checkpoint && skn_checkpoint_is_gathered(checkpoint);
    bool good = checkpoint != NULL;
    skn_checkpoint_close(&checkpoint);
    if (!good && !nodes)
        tell_damage(look, name, error.text);
    if (!nodes)
        return good ? HOLDS_WHOLE : HOLDS_DAMAGED;
    bool sound = is_sound_everywhere(look, id, &whole);
    if (good)
        return gathered && !whole && look->place.nodes.count == 0
                   ? HOLDS_GATHERED
                   : HOLDS_WHOLE;
    return sound ? HOLDS_PART : HOLDS_DAMAGED;
}

/* Verifies every byte of every checkpoint of the run; each damage is a
 * warning. */
static void
prove_all(inspection_t *look)
{
    bool nodes = has_nodes(look);
    prove_best(look);
    for (size_t k = 0; !look->place.one && k < look->all.count; k++)
        look->held_form[k] = prove(look, &look->all.id[k], nodes);
}

static skn_status_t
read_checkpoint(inspection_t *look, skn_error_t *error)
{
    look->checkpoint =
        skn_checkpoint_open(look->place.path, SKN_VERIFY_ALL, error);
    if (!look->checkpoint) {
        skn_trained_missing(&look->place, error);
        return error->status;
    }
    const char *metadata = skn_checkpoint_metadata(look->checkpoint);
    look->metadata =
        skn_json_object_parse("metadata", metadata, strlen(metadata), error);
    if (!look->metadata)
        return SKN_BAD_DATA;
    skn_status_t status =
        skn_checkpoint_weights_sha256(look->checkpoint, look->sha256, error);
    return status == SKN_OK
               ? skn_ledger_read(look->checkpoint, &look->ledger, error)
               : status;
}

static skn_status_t
look_at(inspection_t *look, skn_error_t *error)
{
    skn_status_t status = skn_trained_find(look->path, &look->place, error);
    if (status == SKN_OK)
        status = cli_inventory_open_all(&look->all, &look->place, error);
    if (status != SKN_OK)
        return status;
    if (look->place.note[0])
        cli_warn(look->call, look->place.note, "");
    look->held_form = calloc(look->all.count + 1, sizeof(*look->held_form));
    if (!look->held_form)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu checkpoints",
                        look->all.count);
    prove_all(look);
    bool any = look->place.one;
    for (size_t k = 0; k < look->all.count; k++)
        any = any || look->held_form[k] != HOLDS_PART;
    if (any)
        return read_checkpoint(look, error);
    skn_error_t missing = { 0 };
    if (look->all.count > 0)
        skn_trained_missing(&look->place, &missing);
    if (missing.text[0])
        cli_warn(look->call, missing.text, missing.hint);
    return SKN_OK;
}

static int
inspect_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    inspection_t look = { .call = call, .path = call->operands[0] };
    int code = 0;
    if (look_at(&look, &error) != SKN_OK)
        code = cli_report(call, &error);
    else if (call->json)
        print_json(&look);
    else
        print_text(&look);
    if (code == 0 && look.damaged)
        code = skn_status_exit_code(SKN_BAD_DATA);
    json_decref(look.metadata);
    cli_inventory_close(&look.all);
    free(look.held_form);
    skn_checkpoint_close(&look.checkpoint);
    skn_trained_place_fini(&look.place);
    return code;
}

static const cli_option_t options[] = {
    { "config", 0, NULL, "also print the config of the run" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_inspect = {
    .name = "inspect",
    .help = "show what a run folder or a checkpoint holds",
    .operands = "PATH",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "Reads every byte and compares all hashes: damaged files are listed,\n"
        "and then the exit code is 65. Prints the run, its checkpoints, and\n"
        "of the newest whole one (or the one that PATH is) the tensors with\n"
        "their hashes, weights_sha256, and the history of epochs. Of a run on\n"
        "several nodes each node's folder may have only a part: PATH may be\n"
        "the folder that holds theirs, and then each line names the nodes\n"
        "that have it.",
    .run = inspect_run,
};
