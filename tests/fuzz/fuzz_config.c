/* fuzz_config.c - feeds any bytes to the reader of topology files: they are
 * refused with a place, or wired and printed so that the print is accepted too.
 *
 * A first line "-o path=value" is an override. Files with plug-ins are left
 * out: they would load files from the disk.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/lsan_libfyaml.h"
#include "tests/support/word_kinds.h"
#include "topology/spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void
print_twice(const skn_spec_t *spec, skn_problems_t *problems)
{
    char *text = NULL;
    size_t text_bytes = 0;
    FILE *file = open_memstream(&text, &text_bytes);
    if (!file)
        return;
    (void)skn_spec_dot(spec, file, NULL);
    rewind(file);
    (void)skn_spec_print(spec, file, NULL);
    (void)fflush(file);
    size_t printed = (size_t)ftell(file);
    (void)fclose(file);
    skn_document_t *document =
        skn_document_parse(text, printed, "again", problems);
    /* A print can be longer than a file may be; all else is our bug. */
    if (printed <= SKN_CONFIG_BYTES_MAX) {
        assert(document);
        skn_spec_t *again = skn_spec_load(&document, word_kinds, problems);
        assert(again);
        skn_spec_destroy(&again);
    }
    skn_document_destroy(&document);
    free(text);
}

static void
write_tree(const skn_document_t *document)
{
    char *text = NULL;
    size_t text_bytes = 0;
    skn_problems_t *problems = skn_problems_new(NULL);
    FILE *file = open_memstream(&text, &text_bytes);
    if (file) {
        (void)skn_document_write(skn_document_root(document), file,
                                 "writing YAML", NULL);
        (void)fclose(file);
        skn_document_t *again =
            skn_document_parse(text, text_bytes, "again", problems);
        assert(again || text_bytes > SKN_CONFIG_BYTES_MAX);
        skn_document_destroy(&again);
        free(text);
    }
    skn_problems_destroy(&problems);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    const char *text = (const char *)bytes;
    char assignment[256] = "";
    skn_problems_t *problems = skn_problems_new(NULL);
    if (!problems)
        return 0;
    const char *newline = memchr(text, '\n', count);
    if (count > 3 && memcmp(text, "-o ", 3) == 0 && newline) {
        (void)snprintf(assignment, sizeof(assignment), "%.*s",
                       (int)(newline - text - 3), text + 3);
        count -= (size_t)(newline + 1 - text);
        text = newline + 1;
    }
    skn_document_t *document =
        skn_document_parse(text, count, "fuzz", problems);
    if (document && assignment[0])
        (void)skn_document_set(document, assignment, problems);
    if (document && skn_problems_count(problems) == 0) {
        write_tree(document);
        const skn_node_t *root = skn_document_root(document);
        const skn_node_t *topology = skn_node_get(root, "topology");
        if (!skn_node_get(topology, "plugins")) {
            skn_spec_t *spec = skn_spec_load(&document, word_kinds, problems);
            if (spec)
                print_twice(spec, problems);
            skn_spec_destroy(&spec);
        }
    }
    skn_document_destroy(&document);
    skn_problems_destroy(&problems);
    return 0;
}
