/* ask.c - answers questions during a run with a `skein predict` process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/elastic/ask.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/read_config.h"
#include "cli/base/process.h"
#include "formats/text/text.h"

#define JOURNAL_PATH_BYTES (SKN_TEXT_MAX + 2 * SKN_NAME_MAX + 160)
#define ORDER_WORDS_MAX 64u
#define TOP "3"

/* --- questions ------------------------------------------------------------ */

static int
by_number(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

static size_t
find_word(const skn_names_t *features, const char *word)
{
    for (size_t k = 0; features && k < features->count; k++)
        if (strcmp(features->name[k], word) == 0)
            return k;
    return SIZE_MAX;
}

static bool
letter_or_digit(char byte)
{
    return skn_text_is_letter(byte) || skn_text_is_digit(byte);
}

void
cli_ask_features(const skn_names_t *features, const char *question, char *line,
                 size_t line_bytes)
{
    size_t found[ORDER_WORDS_MAX], count = 0, used = 0, kept = 0;
    char word[64];
    line[0] = '\0';
    if (strchr(question, ':')) {
        (void)snprintf(line, line_bytes, "%s", question);
        return;
    }
    while (*question && count < ORDER_WORDS_MAX) {
        size_t bytes = 0;
        while (*question && !letter_or_digit(*question))
            question++;
        for (; letter_or_digit(*question); question++)
            if (bytes + 1 < sizeof(word))
                word[bytes++] = skn_text_lower(*question);
        word[bytes] = '\0';
        size_t feature = bytes > 0 ? find_word(features, word) : SIZE_MAX;
        if (feature != SIZE_MAX)
            found[count++] = feature;
    }
    qsort(found, count, sizeof(found[0]), by_number);
    for (size_t k = 0; k < count; k++)
        if (k == 0 || found[k] != found[kept - 1])
            found[kept++] = found[k];
    for (size_t k = 0; k < kept && used < line_bytes; k++)
        used += (size_t)skn_text_write(line + used, line_bytes - used,
                                       "%s%zu:%.4f", k ? " " : "", found[k],
                                       1 / sqrt((double)kept));
}

/* --- the checkpoint ------------------------------------------------------- */

static bool
is_checkpoint(const char *name)
{
    return strncmp(name, "batch-", 6) == 0;
}

/* Finds the newest checkpoint of which there is a part here. Names sort by
 * batch, then layout. */
static void
find_newest(const cli_ask_t *ask, char newest[64])
{
    char path[JOURNAL_PATH_BYTES];
    const skn_config_info_t info = cli_config_info(ask->config);
    newest[0] = '\0';
    for (uint32_t k = 0; k < info.node_count; k++) {
        (void)snprintf(path, sizeof(path), "%s/%s", ask->path, info.nodes[k]);
        DIR *folder = opendir(path);
        const struct dirent *entry;
        while (folder && (entry = readdir(folder)))
            if (is_checkpoint(entry->d_name) && strlen(entry->d_name) < 64 &&
                strcmp(entry->d_name, newest) > 0)
                (void)snprintf(newest, 64, "%s", entry->d_name);
        if (folder)
            (void)closedir(folder);
    }
}

/* --- the predictor -------------------------------------------------------- */

static void
end_predictor(cli_ask_t *ask)
{
    if (!ask->alive)
        return;
    cli_up_kill(&ask->process, SIGKILL);
    cli_process_wait(ask->process.process, &ask->process.status);
    cli_up_fini(&ask->process);
    ask->alive = false;
}

static skn_status_t
start_predictor(cli_ask_t *ask, skn_error_t *error)
{
    char self[4096], path[JOURNAL_PATH_BYTES];
    if (cli_self_path(self, sizeof(self), error) != SKN_OK)
        return error->status;
    /* The folders of all nodes are read as one (topology/run/trained.h). */
    (void)snprintf(path, sizeof(path), "%s", ask->path);
    char *arguments[] = { self,
                          (char[]){ "predict" },
                          path,
                          (char[]){ "-" },
                          (char[]){ "-k" },
                          (char[]){ TOP },
                          (char[]){ "--labels" },
                          ask->labels,
                          NULL };
    if (!ask->labels[0])
        arguments[6] = NULL;
    ask->process = (cli_up_node_t){
        .name = "ask", .ssh = "", .leash = -1, .must_die_with_us = true
    };
    ask->process.out.descriptor = ask->process.err.descriptor = -1;
    skn_status_t status = cli_up_start(&ask->process, arguments, error);
    ask->alive = ask->process.process > 0;
    if (!ask->alive)
        cli_up_fini(&ask->process);
    return status;
}

static bool
names_beside(const cli_ask_t *ask, const char *name, char *path,
             size_t path_bytes)
{
    const char *train = cli_config_value(ask->config, "data.train");
    const char *slash = strrchr(train, '/');
    int folder = slash ? (int)(slash - train + 1) : 0;
    static const char *const ends[] = { ".txt.zst", ".txt" };
    for (size_t k = 0; k < 2; k++) {
        (void)snprintf(path, path_bytes, "%.*s%s%s", folder, train, name,
                       ends[k]);
        if (access(path, R_OK) == 0)
            return true;
    }
    path[0] = '\0';
    return false;
}

void
cli_ask_open(cli_ask_t *ask)
{
    char path[SKN_TEXT_MAX + 32];
    skn_error_t nothing = { 0 };
    ask->ready = true;
    (void)names_beside(ask, "labels", ask->labels, sizeof(ask->labels));
    if (names_beside(ask, "features", path, sizeof(path)))
        ask->features = skn_names_open(path, &nothing);
    cli_view_say(ask->answers, ask->features && ask->features->count > 0
                                   ? "type some words and press Enter"
                                   : "type features: 12:.5 40:.1");
}

void
cli_ask(cli_ask_t *ask, const char *question)
{
    char line[4096], newest[64];
    cli_view_line_t text;
    skn_error_t error = { 0 };
    cli_ask_features(ask->features, question, line, sizeof(line) - 2);
    (void)snprintf(text, sizeof(text), "> %.150s", question);
    cli_view_say(ask->answers, text);
    find_newest(ask, newest);
    if (!line[0]) {
        cli_view_say(ask->answers, "  (none of these words is known)");
        return;
    }
    if (!newest[0]) {
        cli_view_say(ask->answers, "  (there is no checkpoint here yet)");
        return;
    }
    if (!ask->alive || strcmp(newest, ask->checkpoint) != 0) {
        end_predictor(ask);
        (void)snprintf(ask->checkpoint, sizeof(ask->checkpoint), "%s", newest);
        if (start_predictor(ask, &error) != SKN_OK)
            cli_view_say(ask->answers, error.text);
        (void)snprintf(text, sizeof(text), "  (batch %lu)",
                       strtoul(newest + 6, NULL, 10));
        cli_view_say(ask->answers, text);
    }
    size_t used = strlen(line);
    line[used] = '\n';
    line[used + 1] = '\0';
    if (ask->alive)
        (void)!write(ask->process.leash, line, strlen(line));
}

static void
take_answer(void *job, cli_up_node_t *node, char *line)
{
    cli_ask_t *ask = job;
    cli_view_line_t text;
    (void)node;
    char *rest = NULL;
    for (char *part = strtok_r(line, "\t", &rest); part;
         part = strtok_r(NULL, "\t", &rest)) {
        (void)snprintf(text, sizeof(text), "  %.190s", part);
        cli_view_say(ask->answers, text);
    }
}

void
cli_ask_turn(cli_ask_t *ask)
{
    if (!ask->alive)
        return;
    if (ask->process.out.descriptor >= 0)
        (void)cli_up_read(&ask->process.out, &ask->process, take_answer, ask);
    if (ask->process.err.descriptor >= 0)
        (void)cli_up_read(&ask->process.err, &ask->process, take_answer, ask);
    if (ask->process.out.descriptor < 0)
        end_predictor(ask); /* the next question starts a new predictor */
}

void
cli_ask_close(cli_ask_t *ask)
{
    if (!ask->ready)
        return;
    end_predictor(ask);
    skn_names_close(&ask->features);
    ask->ready = false;
}
