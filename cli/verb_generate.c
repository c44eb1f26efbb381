/* verb_generate.c - skein generate: continues a text with a trained decoder,
 * and prints each token as it is made.
 *
 * Bytes that may be the beginning of the text that stops it are held until more
 * is known. So is an unfinished character with --json, whose strings are UTF-8;
 * as text the bytes are printed as they come.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/verbs.h"
#include "formats/text/text.h"
#include "skein/generator.h"
#include "transport/socket/clock.h"

#define TOKENS_DEFAULT 256u
#define TEMPERATURE_MAX 100.0
/* A character of UTF-8. */
#define UTF8_BYTES_MAX 4u

typedef struct generate {
    const cli_call_t *call;
    skn_generator_t *generator;
    skn_token_choice_t choice;
    uint32_t tokens; /* at most */
    const char *stop;
    char *held; /* bytes that are not printed yet */
    size_t held_bytes, held_room;
    /* Set while it runs. */
    uint64_t prompt_tokens, made;
    const char *reason; /* why it ended */
} generate_t;

/* --- output --------------------------------------------------------------- */

static skn_status_t
hold(generate_t *generate, const char *text, size_t bytes, skn_error_t *error)
{
    size_t wanted = generate->held_bytes + bytes;
    if (wanted + 1 > generate->held_room) {
        size_t room = 2 * wanted + 64;
        char *more = realloc(generate->held, room);
        if (!more)
            return skn_fail(error, SKN_NO_MEMORY, "no memory for text");
        generate->held = more;
        generate->held_room = room;
    }
    if (bytes > 0)
        memcpy(generate->held + generate->held_bytes, text, bytes);
    generate->held_bytes = wanted;
    return SKN_OK;
}

/* The bytes before `end` that may begin the text that stops it. */
static size_t
before_stop(const generate_t *generate)
{
    size_t stop_bytes = strlen(generate->stop), end = generate->held_bytes;
    size_t most = end < stop_bytes ? end : stop_bytes - 1;
    for (; stop_bytes > 0 && most > 0; most--)
        if (memcmp(generate->held + end - most, generate->stop, most) == 0)
            return end - most;
    return end;
}

/* The bytes of [0, end) without a character that is not whole yet. */
static size_t
before_part(const generate_t *generate, size_t end)
{
    const unsigned char *held = (const unsigned char *)generate->held;
    size_t at = end;
    while (at > 0 && end - at < UTF8_BYTES_MAX - 1 &&
           (held[at - 1] & 0xc0u) == 0x80u)
        at--;
    if (at == 0 || held[at - 1] < 0xc0u)
        return end;
    size_t wanted = held[at - 1] < 0xe0u ? 2 : held[at - 1] < 0xf0u ? 3 : 4;
    return end - (at - 1) < wanted ? at - 1 : end;
}

/* Prints a string of JSON. `text` ends behind its `bytes`; what escapes a text
 * ends at a NUL, of which it may have others. */
static skn_status_t
print_json(const char *text, size_t bytes, skn_error_t *error)
{
    (void)putchar('"');
    for (size_t at = 0; at <= bytes; at += strlen(text + at) + 1) {
        char *quoted = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&quoted, &size);
        if (file)
            skn_text_escape(SKN_TEXT_JSON, text + at, file);
        if (!file || fclose(file) != 0 || size < 2) {
            free(quoted);
            return skn_fail(error, SKN_NO_MEMORY, "no memory for text");
        }
        (void)printf("%s%.*s", at > 0 ? "\\u0000" : "", (int)size - 2,
                     quoted + 1);
        free(quoted);
    }
    (void)putchar('"');
    return SKN_OK;
}

/* Prints the first `bytes` of those that are held. A failure of the output is
 * seen by the caller. */
static skn_status_t
print_held(generate_t *generate, size_t bytes, const skn_generated_t *token,
           skn_error_t *error)
{
    char *held = generate->held;
    if (generate->call->json) {
        char kept = held[bytes];
        held[bytes] = '\0';
        (void)printf("{\"event\":\"token\",\"id\":%u,\"text\":", token->id);
        skn_status_t status = print_json(held, bytes, error);
        (void)fputs("}\n", stdout);
        held[bytes] = kept;
        if (status != SKN_OK)
            return status;
    } else {
        (void)fwrite(held, 1, bytes, stdout);
    }
    memmove(held, held + bytes, generate->held_bytes - bytes);
    generate->held_bytes -= bytes;
    return SKN_OK;
}

/* Prints what can be printed of the text with a new token; sets the reason if
 * it is the last one. A failure of the output ends it without a sentence:
 * cli_finish has it. */
static skn_status_t
take(generate_t *generate, const skn_generated_t *token, skn_error_t *error)
{
    skn_status_t status = hold(generate, token->text, token->bytes, error);
    if (status != SKN_OK)
        return status;
    const char *found = generate->stop[0]
                            ? memmem(generate->held, generate->held_bytes,
                                     generate->stop, strlen(generate->stop))
                            : NULL;
    size_t bytes =
        found ? (size_t)(found - generate->held) : before_stop(generate);
    generate->made++;
    if (found)
        generate->reason = "stop";
    else if (token->is_end)
        generate->reason = "end";
    else if (generate->made == generate->tokens)
        generate->reason = "tokens";
    if (generate->reason && !found)
        bytes = generate->held_bytes;
    else if (generate->call->json && !found)
        bytes = before_part(generate, bytes);
    status = print_held(generate, bytes, token, error);
    if (status != SKN_OK)
        return status;
    return fflush(stdout) == 0 && !ferror(stdout) ? SKN_OK : SKN_STORAGE;
}

static void
conclude(const generate_t *generate, double seconds)
{
    double rate = seconds > 0 ? (double)generate->made / seconds : 0;
    if (!generate->call->json) {
        (void)fputc('\n', stdout);
        return;
    }
    (void)printf("{\"event\":\"done\",\"reason\":\"%s\",\"prompt_tokens\":"
                 "%" PRIu64 ",\"tokens\":%" PRIu64,
                 generate->reason, generate->prompt_tokens, generate->made);
    (void)skn_text_print(stdout, ",\"seconds\":%.3f,\"tokens_per_s\":%.1f}\n",
                         seconds, rate);
}

/* --- the verb ------------------------------------------------------------- */

/* A number that may be 0. */
static skn_status_t
read_whole(const cli_call_t *call, const char *name, uint64_t most,
           uint64_t *number, skn_error_t *error)
{
    const char *text = cli_value(call, name);
    char option[CLI_WRITTEN_BYTES];
    if (!text || (cli_read_unsigned(text, number) && *number <= most))
        return SKN_OK;
    return skn_fail(error, SKN_USAGE,
                    "%s must be a whole number in 0..%" PRIu64
                    ", found '%.40s'",
                    cli_written(call, name, option), most, text);
}

static skn_status_t
read_options(generate_t *generate, skn_error_t *error)
{
    const cli_call_t *call = generate->call;
    skn_token_choice_t *choice = &generate->choice;
    uint64_t top_k = 0;
    *choice = (skn_token_choice_t){ .temperature = 1, .top_p = 1, .seed = 1 };
    generate->tokens = TOKENS_DEFAULT;
    generate->stop = cli_value(call, "stop") ? cli_value(call, "stop") : "";
    skn_status_t status =
        cli_count(call, "tokens", UINT32_MAX, &generate->tokens, error);
    if (status == SKN_OK)
        status = read_whole(call, "seed", SKN_WHOLE_MAX, &choice->seed, error);
    if (status == SKN_OK)
        status = read_whole(call, "top-k", UINT32_MAX, &top_k, error);
    if (status == SKN_OK)
        status = cli_real(call, "temperature", 0, TEMPERATURE_MAX,
                          &choice->temperature, error);
    if (status == SKN_OK)
        status = cli_real(call, "top-p", 0, 1, &choice->top_p, error);
    choice->top_k = (uint32_t)top_k;
    if (status == SKN_OK && cli_value(call, "stop") && !generate->stop[0]) {
        (void)skn_fail(error, SKN_USAGE,
                       "--stop is empty: generation would end at once");
        return skn_fail_hint(error, SKN_USAGE,
                             "give the text to end before, or leave it out");
    }
    if (status == SKN_OK && choice->top_p == 0)
        return skn_fail(error, SKN_USAGE,
                        "--top-p must be above 0, found '%.40s': no token "
                        "could be chosen",
                        cli_value(call, "top-p"));
    return status;
}

static skn_status_t
begin(generate_t *generate, skn_error_t *error)
{
    char text[SKN_ERROR_TEXT_BYTES];
    const cli_call_t *call = generate->call;
    const char *prompt = cli_value(call, "prompt");
    uint64_t dropped;
    const skn_generator_info_t *info;
    generate->generator = skn_generator_open(call->operands[0], &info, error);
    if (!generate->generator)
        return error->status;
    if (info->warning[0])
        cli_warn(call, info->warning, "");
    prompt = prompt ? prompt : "";
    skn_status_t status =
        skn_generator_prompt(generate->generator, prompt, strlen(prompt),
                             &generate->prompt_tokens, &dropped, error);
    if (status != SKN_OK || dropped == 0)
        return status;
    (void)snprintf(text, sizeof(text),
                   "the prompt has %" PRIu64 " tokens, of which the model "
                   "reads the last %u, its context",
                   generate->prompt_tokens, info->context);
    cli_warn(call, text, "");
    return SKN_OK;
}

static skn_status_t
generate_all(generate_t *generate, skn_error_t *error)
{
    uint64_t begin_ns = skn_monotonic_ns();
    skn_status_t status = SKN_OK;
    while (status == SKN_OK && !generate->reason) {
        skn_generated_t token;
        status = skn_generator_next(generate->generator, &generate->choice,
                                    &token, error);
        if (status == SKN_OK)
            status = take(generate, &token, error);
    }
    if (status == SKN_OK)
        conclude(generate, (double)(skn_monotonic_ns() - begin_ns) /
                               (double)SKN_SECOND_NS);
    return status;
}

static int
generate_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    struct sigaction ordinary = { .sa_handler = SIG_DFL };
    generate_t generate = { .call = call };
    /* `skein generate ... | head` ends quietly, even if the parent ignores
     * SIGPIPE. */
    (void)sigaction(SIGPIPE, &ordinary, NULL);
    skn_status_t status = read_options(&generate, &error);
    if (status == SKN_OK)
        status = begin(&generate, &error);
    if (status == SKN_OK)
        status = generate_all(&generate, &error);
    skn_generator_close(&generate.generator);
    free(generate.held);
    return status == SKN_OK || !error.text[0] ? 0 : cli_report(call, &error);
}

static const cli_option_t options[] = {
    { "prompt", 'p', "TEXT", "text to continue (default: a new document)" },
    { "tokens", 'n', "N", "tokens to make at most (default 256)" },
    { "seed", 's', "S", "seed of the random choices (default 1)" },
    { "temperature", 't', "T", "0: always the likeliest token (default 1)" },
    { "top-k", 0, "K", "choose among the K likeliest tokens (0: all)" },
    { "top-p", 0, "P", "choose among the likeliest that sum to P (1: all)" },
    { "stop", 0, "TEXT", "end before this text" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_generate = {
    .name = "generate",
    .help = "continue a text with a trained decoder",
    .operands = "PATH",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "PATH is a run folder (its best model, or its newest), a checkpoint\n"
        "in one, or the folder with those of a run's nodes; its model is a\n"
        "decoder (model.kind). Prints the continuation of --prompt, each\n"
        "token at once, until the model ends the document, --stop occurs or\n"
        "--tokens are made. The same seed gives the same text. Of a prompt\n"
        "longer than the context (data.context) the end is used; where a text\n"
        "grows beyond the context, the older half of it is forgotten.\n"
        "    skein generate runs/x --prompt 'Once' --temperature 0.8",
    .run = generate_run,
};
