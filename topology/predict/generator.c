/* generator.c - opens a trained decoder, and continues text with it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/generator.h"

#include <stdlib.h>
#include <string.h>

#include "actors/protocol/workspace.h"
#include "formats/checkpoint/slim.h"
#include "topology/predict/generator_internal.h"
#include "topology/run/model_run.h"

skn_status_t
skn_generator_refuse_null(const char *function, bool bad, skn_error_t *error)
{
    return bad ? skn_fail(error, SKN_USAGE, "%s: an argument is NULL", function)
               : SKN_OK;
}

/* --- opening -------------------------------------------------------------- */

/* A model over bytes needs no file. */
static skn_status_t
load_tokenizer(skn_generator_t *generator, skn_error_t *error)
{
    static const uint32_t none[] = { 0 };
    char path[SKN_RUN_FORM_PATH_BYTES];
    const char *kind = generator->trained.model->data.tokenizer;
    if (skn_trained_form(&generator->trained.place, SKN_TOKENIZER_NAME, path))
        generator->tokenizer = skn_tokenizer_open(path, error);
    else if (strcmp(kind, skn_tokenizer_names[SKN_TOKENIZER_BYTES]) == 0)
        generator->tokenizer =
            skn_tokenizer_new(kind, SKN_TOKENIZER_BYTES, "", none, 0, error);
    else
        return skn_fail_hint(
            error, skn_fail(error, SKN_NO_INPUT, "%s is missing", path),
            "copy it from the folder that the model was trained in");
    if (!generator->tokenizer)
        return error->status;
    return skn_trained_check_tokenizer(&generator->trained.place,
                                       generator->tokenizer,
                                       generator->network.ids, error);
}

static skn_status_t
load(skn_generator_t *generator, const char *path, skn_verify_t verify,
     skn_error_t *error)
{
    skn_trained_t *trained = &generator->trained;
    bool is_slim = skn_slim_is(path);
    skn_status_t status =
        is_slim ? SKN_OK : skn_trained_open(trained, path, verify, error);
    if (status != SKN_OK)
        return status;
    const skn_model_t *model = trained->model;
    if (is_slim || !skn_model_is_decoder(model)) {
        (void)skn_fail(error, SKN_USAGE,
                       "%.200s holds a model that ranks labels, not a decoder "
                       "of text",
                       path);
        return skn_fail_hint(error, SKN_USAGE,
                             "`skein predict` ranks labels; only a decoder "
                             "continues text");
    }
    const skn_decoder_shape_t shape = skn_model_shape(model);
    const skn_decoder_names_t names = {
        .embedding = model->layers[0].name,
        .trunk = model->layers[SKN_DECODER_LAYER].name,
        .head = model->layers[model->layer_count - 1].name,
    };
    return skn_decoder_network_load(&generator->network, trained->checkpoint,
                                    &shape, &names,
                                    skn_memory_available_bytes(), error);
}

static void
unload(skn_generator_t *generator)
{
    skn_decoder_network_fini(&generator->network);
    skn_trained_close(&generator->trained);
}

static skn_status_t
make_room(skn_generator_t *generator, skn_error_t *error)
{
    size_t ids = generator->network.ids;
    generator->logits = skn_floats_new(SKN_GENERATOR_LOGIT_ROWS * ids, error);
    generator->room = calloc(ids, sizeof(*generator->room));
    generator->window = calloc(generator->network.decoder.shape.context,
                               sizeof(*generator->window));
    if (!generator->logits || !generator->room || !generator->window)
        return skn_fail(error, SKN_NO_MEMORY, "no memory to generate text");
    return skn_decoder_reader_init(&generator->reader, &generator->network,
                                   error);
}

static void
describe(skn_generator_t *generator)
{
    const skn_trained_t *trained = &generator->trained;
    generator->info = (skn_generator_info_t){
        .path = skn_checkpoint_path(trained->checkpoint),
        .run_id = skn_checkpoint_run_id(trained->checkpoint),
        .warning = trained->warning,
        .batch = skn_checkpoint_batch(trained->checkpoint),
        .parameter_count = generator->network.parameter_count,
        .ids = generator->network.ids,
        .context = generator->network.decoder.shape.context,
    };
}

skn_generator_t *
skn_generator_open(const char *path, const skn_generator_info_t **info,
                   skn_error_t *error)
{
    if (skn_generator_refuse_null("skn_generator_open", !path, error) != SKN_OK)
        return NULL;
    skn_generator_t *generator = calloc(1, sizeof(*generator));
    if (!generator) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a generator");
        return NULL;
    }
    skn_status_t status = load(generator, path, SKN_VERIFY_LAZY, error);
    if (skn_trained_may_be_older(&generator->trained, status)) {
        unload(generator);
        status = load(generator, path, SKN_VERIFY_ALL, error);
    }
    if (status == SKN_OK)
        status = load_tokenizer(generator, error);
    if (status == SKN_OK)
        status = make_room(generator, error);
    if (status == SKN_OK)
        describe(generator);
    else
        skn_generator_close(&generator);
    if (generator && info)
        *info = &generator->info;
    return generator;
}

void
skn_generator_close(skn_generator_t **generator)
{
    skn_generator_t *own = generator ? *generator : NULL;
    if (!own)
        return;
    *generator = NULL;
    skn_decoder_reader_fini(&own->reader);
    skn_tokenizer_destroy(&own->tokenizer);
    unload(own);
    free(own->logits);
    free(own->room);
    free(own->window);
    free(own);
}

/* --- text ----------------------------------------------------------------- */

void
skn_generator_read(skn_generator_t *generator, const uint32_t *id,
                   uint32_t count)
{
    skn_decoder_reader_t *reader = &generator->reader;
    memmove(generator->window + reader->count, id, count * sizeof(*id));
    id = generator->window + reader->count;
    while (count > 0) {
        uint32_t part =
            count < SKN_DECODER_READ_MAX ? count : SKN_DECODER_READ_MAX;
        skn_decoder_read(reader, id, part);
        id += part;
        count -= part;
    }
}

skn_status_t
skn_generator_check(const skn_generator_t *generator, size_t count,
                    skn_error_t *error)
{
    if (generator->network.decoder.kernels->finite_all(generator->logits,
                                                       count))
        return SKN_OK;
    (void)skn_fail(error, SKN_BAD_DATA, "%.200s: its logits are not finite",
                   generator->info.path);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "the training has diverged: train with a lower "
                         "train.optimizer.rate");
}

skn_status_t
skn_generator_prompt(skn_generator_t *generator, const char *text, size_t bytes,
                     uint64_t *count, uint64_t *dropped, skn_error_t *error)
{
    static const uint32_t end = SKN_TOKEN_END;
    if (skn_generator_refuse_null("skn_generator_prompt",
                                  !generator || !text || !count || !dropped,
                                  error) != SKN_OK)
        return SKN_USAGE;
    size_t used, context = generator->info.context;
    uint32_t *id = calloc(bytes + 1, sizeof(*id));
    if (!id)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a prompt");
    size_t ids = skn_tokenizer_encode(generator->tokenizer, text, bytes, true,
                                      id, &used);
    *count = ids;
    *dropped = ids > context ? ids - context : 0;
    generator->reader.count = 0;
    generator->has_chosen = false;
    generator->number = 0;
    if (ids > 0)
        skn_generator_read(generator, id + *dropped,
                           (uint32_t)(ids - *dropped));
    else
        skn_generator_read(generator, &end, 1);
    free(id);
    return SKN_OK;
}

/* Reads the token that was chosen. */
static void
append(skn_generator_t *generator)
{
    uint32_t context = generator->info.context, kept = context / 2;
    if (generator->reader.count == context) {
        generator->reader.count = 0;
        skn_generator_read(generator, generator->window + context - kept, kept);
    }
    skn_generator_read(generator, &generator->chosen, 1);
}

skn_status_t
skn_generator_next(skn_generator_t *generator, const skn_token_choice_t *choice,
                   skn_generated_t *token, skn_error_t *error)
{
    if (skn_generator_refuse_null("skn_generator_next",
                                  !generator || !choice || !token,
                                  error) != SKN_OK)
        return SKN_USAGE;
    bool is_good =
        choice->temperature == 0 ||
        (choice->temperature > 0 && choice->top_p >= 0 && choice->top_p <= 1);
    if (!is_good || generator->reader.count == 0)
        return skn_fail(error, SKN_USAGE,
                        is_good ? "skn_generator_next: there is no prompt yet"
                                : "skn_generator_next: temperature must be at "
                                  "least 0, top_p in 0..1");
    uint32_t ids = generator->info.ids;
    if (generator->has_chosen)
        append(generator);
    skn_decoder_logits(&generator->reader, generator->reader.fresh - 1, 1,
                       generator->logits);
    skn_status_t status = skn_generator_check(generator, ids, error);
    if (status != SKN_OK)
        return status;
    uint32_t id = skn_token_choose(choice, generator->number++,
                                   generator->logits, ids, generator->room);
    generator->chosen = id;
    generator->has_chosen = true;
    *token = (skn_generated_t){ .id = id, .is_end = id == SKN_TOKEN_END };
    token->text = skn_tokenizer_text(generator->tokenizer, id, &token->bytes);
    return SKN_OK;
}
