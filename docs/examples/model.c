/* model.c - shows what a run folder holds, without reading any file of it
 * itself.
 * cc model.c $(pkg-config --cflags --libs skein) -o model; ./model RUN
 * SPDX-License-Identifier: Apache-2.0 */
#include <skein/inspection.h>

static void
show(const skn_inspection_t *inspection)
{
    const skn_inspection_info_t *info = skn_inspection_info(inspection);
    const skn_inspection_checkpoint_t *one;
    const skn_inspection_tensor_t *tensor;
    for (size_t k = 0; k < info->warning_count; k++)
        printf("warning: %s\n", info->warnings[k].text);
    if (info->failure)
        printf("nothing can be read: %s\n", info->failure->text);
    for (size_t k = 0; (one = skn_inspection_checkpoint(inspection, k)); k++)
        printf("%s%s\n", one->name, one->is_latest ? ", the latest" : "");
    for (size_t k = 0; (tensor = skn_inspection_tensor(inspection, k)); k++)
        printf("%s: %.0f numbers\n", tensor->name,
               (double)tensor->rows * (double)tensor->columns);
}

int
main(int count, char **words)
{
    skn_error_t error = SKN_ZERO;
    skn_inspection_t *inspection =
        skn_inspection_open(words[count - 1], &error);
    if (!inspection)
        return fprintf(stderr, "%s\n", error.text), 1;
    show(inspection);
    skn_inspection_close(&inspection);
    return 0;
}
