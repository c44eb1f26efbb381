/* fuzz_slim.c - feeds any bytes to the reader of exported models, with the hash
 * of their header set right.
 *
 * A model that opens must answer points and texts with labels that it has.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/text/json_text.h"
#include "skein/predictor.h"

#define BEST 3u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void
require(bool promise)
{
    if (!promise)
        __builtin_trap();
}

/* Sets the digits of the header's hash, which few inputs would have. */
static void
seal(unsigned char *file, size_t count)
{
    static const char key[] = "\"header_xxh3_128\":\"";
    char hash[SKN_HASH_TEXT_BYTES];
    uint64_t length;
    memcpy(&length, file, sizeof(length));
    unsigned char *at = memmem(file, count, key, sizeof(key) - 1);
    if (!at || length > count - sizeof(length))
        return;
    size_t header_bytes = (size_t)length + sizeof(length);
    at += sizeof(key) - 1;
    if ((size_t)(at - file) + SKN_HASH_TEXT_BYTES > header_bytes)
        return;
    memset(at, '0', SKN_HASH_TEXT_BYTES - 1);
    skn_hash_text(file, header_bytes, hash);
    memcpy(at, hash, SKN_HASH_TEXT_BYTES - 1);
}

static void
use(const skn_predictor_t *predictor)
{
    static const uint32_t feature[] = { 0, 2 };
    static const float value[] = { 1, -0.5f };
    static const size_t offset[] = { 0, 2 };
    const skn_points_t points = { 1, offset, feature, value };
    const char *text = "a ball over the net, Butter and flour";
    const skn_predictor_info_t *info = skn_predictor_info(predictor);
    uint32_t label[BEST];
    float score[BEST];
    skn_status_t status =
        info->texts
            ? skn_predictor_best_texts(predictor, &text, NULL, 1, BEST, label,
                                       score, NULL)
            : skn_predictor_best(predictor, &points, BEST, label, score, NULL);
    if (info->texts) {
        const skn_row_field_t field[] = { { "kind", "r" }, { "price", "2" } };
        const size_t row[] = { 0, 2 };
        uint32_t other[BEST];
        (void)skn_predictor_best_rows(predictor, field, row, 1, BEST, other,
                                      score, NULL);
    }
    for (uint32_t k = 0; k < BEST && status == SKN_OK; k++) {
        require(label[k] < info->label_count || label[k] == UINT32_MAX);
        require(skn_predictor_label(predictor, label[k]) != NULL);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    char path[64];
    skn_error_t error = { 0 };
    if (count < sizeof(uint64_t))
        return 0;
    unsigned char *file = malloc(count);
    int memory = memfd_create("model", MFD_CLOEXEC);
    if (file && memory >= 0) {
        memcpy(file, bytes, count);
        seal(file, count);
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
        require(write(memory, file, count) == (ssize_t)count);
        skn_predictor_t *predictor = skn_predictor_open(path, &error);
        require(predictor || error.text[0]);
        if (predictor)
            use(predictor);
        skn_predictor_close(&predictor);
    }
    if (memory >= 0)
        (void)close(memory);
    free(file);
    return 0;
}
