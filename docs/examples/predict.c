/* predict.c - answers each row of standard input, points or texts, with its
 * best label, or with the label's name, from a file or from the model.
 * cc predict.c $(pkg-config --cflags --libs skein) -o predict
 * ./predict RUN [NAMES]
 * SPDX-License-Identifier: Apache-2.0 */
#include <skein/points.h>
#include <skein/predictor.h>

static void
answer(const skn_predictor_t *predictor, const skn_read_t *read,
       const skn_names_t *names)
{
    uint32_t label[SKN_READ_POINTS_MAX];
    float score[SKN_READ_POINTS_MAX];
    if (read->warning)
        fprintf(stderr, "%s\n", read->warning->text);
    if (read->refusal)
        printf("%s\n", read->refusal->text);
    skn_predictor_best(predictor, &read->points, 1, label, score, NULL);
    for (size_t i = 0; i < read->points.count; i++)
        if (names && label[i] < names->count)
            printf("%s\n", names->name[label[i]]);
        else if (skn_predictor_label(predictor, label[i])[0])
            printf("%s\n", skn_predictor_label(predictor, label[i]));
        else
            printf("%u:%.6g\n", (unsigned)label[i], (double)score[i]);
    fflush(stdout); /* whoever sent the lines may wait for the answers */
}

int
main(int count, char **words)
{
    skn_error_t error = SKN_ZERO;
    skn_point_reader_t *reader = NULL;
    const skn_read_t *read = NULL;
    skn_names_t *names = count > 2 ? skn_names_open(words[2], &error) : NULL;
    skn_predictor_t *predictor = skn_predictor_open(words[1], &error);
    if (predictor)
        reader = skn_predictor_read(predictor, "-", &error);
    while (reader && (read = skn_point_reader_next(reader, &error)) &&
           read->kind != SKN_READ_END)
        answer(predictor, read, names);
    skn_point_reader_close(&reader);
    skn_predictor_close(&predictor);
    skn_names_close(&names);
    if (error.text[0])
        fprintf(stderr, "%s\n", error.text);
    return skn_status_exit_code(error.status);
}
