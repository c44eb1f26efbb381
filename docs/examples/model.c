/* model.c - joins two trained networks, shows what their model holds, and
 * scores it on its test file.
 * cc model.c $(pkg-config --cflags --libs skein) -o model
 * ./model RUN RUN INTO
 * SPDX-License-Identifier: Apache-2.0 */
#include <skein/evaluation.h>
#include <skein/inspection.h>
#include <skein/join.h>

static skn_status_t
show(const char *path, skn_error_t *error)
{
    skn_inspection_t *inspection = skn_inspection_open(path, error);
    const skn_inspection_info_t *info = skn_inspection_info(inspection);
    const skn_inspection_checkpoint_t *one;
    const skn_inspection_tensor_t *tensor;
    if (!inspection)
        return error->status;
    for (size_t k = 0; k < info->warning_count; k++)
        printf("warning: %s\n", info->warnings[k].text);
    for (size_t k = 0; (one = skn_inspection_checkpoint(inspection, k)); k++)
        printf("%s%s\n", one->name, one->is_latest ? ", the latest" : "");
    for (size_t k = 0; (tensor = skn_inspection_tensor(inspection, k)); k++)
        printf("%s: %.0f numbers\n", tensor->name,
               (double)tensor->rows * (double)tensor->columns);
    skn_inspection_close(&inspection);
    return SKN_OK;
}

static skn_status_t
score(const char *path, skn_error_t *error)
{
    skn_evaluation_t found = SKN_ZERO;
    found.struct_bytes = sizeof(found);
    skn_predictor_t *predictor = skn_predictor_open(path, error);
    skn_status_t status =
        predictor ? skn_predictor_evaluate(predictor, NULL, &found, error)
                  : error->status;
    if (status == SKN_OK)
        printf("P@1 %.5f of %s\n", found.scores.p1, found.test);
    skn_predictor_close(&predictor);
    return status;
}

int
main(int count, char **words)
{
    const char *paths[] = { words[count - 3], words[count - 2] };
    const char *into = words[count - 1];
    skn_error_t error = SKN_ZERO;
    skn_joined_t joined = SKN_ZERO;
    joined.struct_bytes = sizeof(joined);
    skn_status_t status =
        skn_networks_join(into, paths, 2, NULL, &joined, &error);
    if (status == SKN_OK)
        status = show(into, &error);
    if (status == SKN_OK)
        status = score(into, &error);
    if (status != SKN_OK)
        fprintf(stderr, "%s\n", error.text);
    return skn_status_exit_code(status);
}
