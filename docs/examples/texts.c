/* texts.c - names the best labels of texts, by a model that was trained on rows
 * of texts.
 * cc texts.c $(pkg-config --cflags --libs skein) -o texts
 * ./texts RUN "a ball over the net" "butter and flour"
 * SPDX-License-Identifier: Apache-2.0 */
#include <skein/predictor.h>

#define BEST 3
#define TEXTS_MAX 100

int
main(int count, char **words)
{
    uint32_t label[TEXTS_MAX * BEST];
    float score[TEXTS_MAX * BEST];
    skn_error_t error = SKN_ZERO;
    size_t texts = count > 2 ? (size_t)count - 2 : 0;
    const char *const *text = (const char *const *)words + 2;
    if (texts == 0 || texts > TEXTS_MAX) {
        fprintf(stderr, "give a run folder and 1 to %d texts\n", TEXTS_MAX);
        return 64;
    }
    skn_predictor_t *predictor = skn_predictor_open(words[1], &error);
    if (predictor && skn_predictor_best_texts(predictor, text, NULL, texts,
                                              BEST, label, score,
                                              &error) == SKN_OK)
        for (size_t i = 0; i < texts * BEST; i++)
            printf("%s: %.3f%s", skn_predictor_label(predictor, label[i]),
                   (double)score[i], i % BEST < BEST - 1 ? ", " : "\n");
    skn_predictor_close(&predictor);
    if (error.text[0])
        fprintf(stderr, "%s\n", error.text);
    return skn_status_exit_code(error.status);
}
