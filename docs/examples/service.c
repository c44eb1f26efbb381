/* service.c - a service that predicts on several threads, and changes to a new
 * model without a pause.
 *
 * Each thread reads a request, a line of standard input, and prints its number
 * and its best label, by its name if it has one. A line is a text, if the model
 * was trained on texts, or else `feature:value feature:value ...`, which the
 * batcher joins with those of other threads. SIGHUP opens the model again:
 * requests that have begun are answered by the former one, which is freed with
 * the last of them.
 * cc service.c $(pkg-config --cflags --libs skein) -pthread -o service
 * SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <skein/batcher.h>

#define THREADS 8
#define FEATURES_MAX 256

static skn_predictor_slot_t slot; /* empty, until a model is stored */
static skn_batcher_t *batcher;
static pthread_mutex_t input = PTHREAD_MUTEX_INITIALIZER;
static unsigned request_count;
static sigset_t signals; /* blocked in all threads */

/* The features of a line; what follows the first mistake is left out. */
static size_t
parse(char *line, uint32_t *feature, float *value)
{
    size_t count = 0;
    while (count < FEATURES_MAX) {
        char *colon = line;
        feature[count] = (uint32_t)strtoul(line, &colon, 10);
        if (colon == line || *colon != ':')
            break;
        value[count++] = (float)skn_text_real(colon + 1, &line);
    }
    return count;
}

/* Reads the next request; 0: there is none. */
static unsigned
next_request(char *line, int bytes)
{
    (void)pthread_mutex_lock(&input);
    unsigned number = fgets(line, bytes, stdin) ? ++request_count : 0;
    (void)pthread_mutex_unlock(&input);
    return number;
}

/* The best label of a line. Sets *predictor to the one that answered, which the
 * caller closes. */
static skn_status_t
answer(char *line, uint32_t *label, float *score, skn_predictor_t **predictor,
       skn_error_t *error)
{
    uint32_t feature[FEATURES_MAX];
    float value[FEATURES_MAX];
    const char *text = line;
    *predictor = skn_predictor_slot_acquire(&slot, error);
    if (!*predictor)
        return error->status;
    if (skn_predictor_info(*predictor)->texts)
        return skn_predictor_best_texts(*predictor, &text, NULL, 1, 1, label,
                                        score, error);
    skn_predictor_close(predictor);
    size_t offset[2] = { 0, parse(line, feature, value) };
    skn_points_t points = { 1, offset, feature, value };
    return skn_batcher_best(batcher, &points, 1, label, score, predictor,
                            error);
}

static void *
serve(void *unused)
{
    char line[8192];
    uint32_t label;
    float score;
    unsigned number;
    skn_predictor_t *predictor;
    while ((number = next_request(line, sizeof(line))) > 0) {
        skn_error_t error = SKN_ZERO;
        if (answer(line, &label, &score, &predictor, &error) != SKN_OK)
            fprintf(stderr, "request %u: %s\n", number, error.text);
        else if (*skn_predictor_label(predictor, label))
            (void)skn_text_print(stdout, "%u %s:%g\n", number,
                                 skn_predictor_label(predictor, label),
                                 (double)score);
        else
            (void)skn_text_print(stdout, "%u %u:%g\n", number, label,
                                 (double)score);
        skn_predictor_close(&predictor); /* whatever is in the slot by now */
    }
    return unused;
}

/* Opens the model into the slot; whatever fails, the slot keeps what it has. */
static skn_status_t
load(const char *path, skn_error_t *error)
{
    skn_predictor_t *predictor = skn_predictor_open(path, error);
    return predictor ? skn_predictor_slot_store(&slot, &predictor, error)
                     : error->status;
}

/* Waits for signals: SIGHUP reloads, SIGTERM ends the thread. */
static void *
reload(void *path)
{
    int number = 0;
    while (sigwait(&signals, &number) == 0 && number == SIGHUP) {
        skn_error_t error = SKN_ZERO;
        if (load((const char *)path, &error) == SKN_OK)
            fprintf(stderr, "reloaded\n");
        else
            fprintf(stderr, "the former model stays: %s\n", error.text);
    }
    return NULL;
}

int
main(int count, char **word)
{
    pthread_t threads[THREADS + 1];
    skn_error_t error = SKN_ZERO;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGHUP);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* whoever asks waits for a line */
    if (count == 2 && load(word[1], &error) == SKN_OK)
        batcher = skn_batcher_new(&slot, THREADS / 2, 500, &error);
    if (!batcher) {
        fprintf(stderr, "%s\n", count == 2 ? error.text : "usage: service RUN");
        return 1;
    }
    int started = 0;
    while (started < THREADS &&
           pthread_create(&threads[started], NULL, serve, NULL) == 0)
        started++;
    bool reloads =
        pthread_create(&threads[started], NULL, reload, word[1]) == 0;
    for (int k = 0; k < started; k++)
        (void)pthread_join(threads[k], NULL);
    if (reloads) {
        (void)pthread_kill(threads[started], SIGTERM);
        (void)pthread_join(threads[started], NULL);
    }
    skn_batcher_destroy(&batcher);
    return skn_predictor_slot_store(&slot, NULL, &error) != SKN_OK;
}
