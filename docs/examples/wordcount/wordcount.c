/* wordcount.c - two kinds of actors, a plug-in for `skein run`.
 * cc -shared -fPIC $(pkg-config --cflags skein) wordcount.c -o wordcount.so
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>
#include <skein/actor.h>

#define FIELDS_word(F, M)                                                      \
    F(M, str, text, 31, "small letters")                                       \
    F(M, u32, letter, 127, "its first: says who counts the word")              \
    F(M, u64, count, UINT64_MAX, "how often it was seen")
SKN_MESSAGE_STRUCT(word, FIELDS_word)
SKN_MESSAGE_SCHEMA(word, "word", 1000, FIELDS_word, "a word and its count")
static const skn_schema_t *const sends[] = { &word_schema, NULL };

static skn_status_t
reader_open(skn_actor_t *actor, void *file, skn_error_t *error)
{
    const char *path = skn_actor_option_text(actor, "path");
    *(FILE **)file = fopen(path, "r");
    return *(FILE **)file ? SKN_OK
                          : skn_fail(error, SKN_NO_INPUT, "no %s", path);
}
static skn_status_t produce(skn_actor_t *actor, void *file, skn_error_t *error)
{
    char text[32];
    (void)!fscanf(*(FILE **)file, "%*[^a-zA-Z]");
    if (fscanf(*(FILE **)file, "%31[a-zA-Z]", text) != 1) {
        skn_actor_finish(actor);
        return SKN_OK;
    }
    for (char *at = text; *at; at++)
        *at = (char)tolower(*at);
    word_t word = { text, (uint32_t)text[0], 1 };
    return skn_actor_send(actor, &word_schema, &word, error);
}
static void reader_close(skn_actor_t *actor, void *file)
{
    (void)actor;
    if (*(FILE **)file)
        fclose(*(FILE **)file);
}
static const skn_option_t reader_options[] = {
    { "path", SKN_OPTION_PATH, NULL, 0, 0, NULL, "the text to read" },
    SKN_ZERO };
static const skn_kind_t reader = SKN_KIND(
    SKN_SET(name, "word_reader") SKN_SET(help, "reads the words of a file")
    SKN_SET(state_bytes, sizeof(FILE *)) SKN_SET(options, reader_options)
    SKN_SET(sends, sends) SKN_SET(open, reader_open)
    SKN_SET(produce, produce) SKN_SET(close, reader_close));

typedef struct counter { word_t word[4097]; char text[4096][32]; } counter_t;

static skn_status_t count(skn_actor_t *actor, void *state, const void *message,
                          skn_error_t *error)
{
    counter_t *counter = (counter_t *)state;
    const word_t *word = (const word_t *)message;
    size_t k = 0;
    (void)actor;
    while (k < 4096 && counter->word[k].count &&
           strcmp(counter->text[k], word->text))
        k++;
    if (k == 4096)
        return skn_fail(error, SKN_BAD_DATA, "more than 4096 words");
    snprintf(counter->text[k], 32, "%s", word->text);
    counter->word[k].text = counter->text[k];
    counter->word[k].count += word->count;
    return SKN_OK;
}
static skn_status_t drain(skn_actor_t *actor, void *state, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    word_t *word = ((counter_t *)state)->word;
    for (; word->count && status == SKN_OK; word++)
        status = skn_actor_send_event(actor, error, "{\"word\":\"%s\","
            "\"count\":%d}", word->text, (int)word->count);
    return status;
}
static const skn_handler_t handlers[] = { { &word_schema, count, NULL },
                                          SKN_ZERO };
static const skn_kind_t counter = SKN_KIND(
    SKN_SET(name, "word_counter") SKN_SET(help, "counts, tells at the end")
    SKN_SET(state_bytes, sizeof(counter_t)) SKN_SET(handlers, handlers)
    SKN_SET(drain, drain));

static const skn_kind_t *const kinds[] = { &reader, &counter, NULL };
const skn_plugin_t skn_plugin = { SKN_PLUGIN_VERSION, kinds };
