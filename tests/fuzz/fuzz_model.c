/* fuzz_model.c - feeds any text to the reader of model files: it is accepted,
 * or refused with a message, and a model that is printed reads as one that
 * prints the same.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/lsan_libfyaml.h"
#include "topology/config/document.h"
#include "topology/model/model.h"

/* The printed form of the model file in `text`; NULL if it is refused. */
static char *
print_again(const char *text, size_t text_bytes)
{
    skn_problems_t *problems = skn_problems_new(NULL);
    skn_model_t *model = NULL;
    char *printed = NULL;
    size_t printed_bytes = 0;
    skn_document_t *document =
        skn_document_parse(text, text_bytes, "fuzz", problems);
    if (document &&
        skn_model_check(document, &model, problems, NULL) == SKN_OK) {
        FILE *file = open_memstream(&printed, &printed_bytes);
        if (skn_model_write(model, file, NULL) != SKN_OK)
            __builtin_trap();
        (void)fclose(file);
    } else if (skn_problems_count(problems) == 0) {
        __builtin_trap();
    }
    skn_model_destroy(&model);
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    return printed;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t input_bytes);

int
LLVMFuzzerTestOneInput(const uint8_t *input, size_t input_bytes)
{
    char *once = print_again((const char *)input, input_bytes);
    char *twice = once ? print_again(once, strlen(once)) : NULL;
    if (once && (!twice || strcmp(once, twice) != 0))
        __builtin_trap();
    free(once);
    free(twice);
    return 0;
}
