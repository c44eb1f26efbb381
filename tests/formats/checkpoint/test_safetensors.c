/* test_safetensors.c - tests that safetensors headers are written, read back,
 * and refused if wrong.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/safetensors.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* A file's first bytes around `json`; returns their count. */
static size_t
wrap(const char *json, unsigned char *bytes)
{
    uint64_t length = strlen(json);
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, json, length);
    return 8 + length;
}

static skn_status_t
parse(const char *json, uint64_t data_bytes, skn_error_t *error)
{
    unsigned char bytes[4096];
    skn_safetensors_t tensors;
    size_t count = wrap(json, bytes);
    skn_status_t status = skn_safetensors_parse(
        "x.safetensors", bytes, count, count + data_bytes, &tensors, error);
    cr_expect((status == SKN_OK) == (tensors.tensor != NULL));
    skn_safetensors_fini(&tensors);
    return status;
}

static const skn_safetensor_t sample[] = {
    { .name = "b", .dtype = SKN_DTYPE_BF16, .dims = 2, .shape = { 3, 1 } },
    { .name = "scalar", .dtype = SKN_DTYPE_F32, .dims = 0 },
    { .name = "none", .dtype = SKN_DTYPE_U32, .dims = 2, .shape = { 0, 9 } },
    { .name = "w@4,0", .dtype = SKN_DTYPE_U64, .dims = 1, .shape = { 2 } },
};
#define SAMPLE_COUNT (sizeof(sample) / sizeof(sample[0]))

Test(safetensors, places_wide_elements_first)
{
    skn_safetensor_t tensor[SAMPLE_COUNT];
    uint64_t data_bytes;
    memcpy(tensor, sample, sizeof(sample));
    cr_assert_eq(skn_safetensors_place(tensor, SAMPLE_COUNT, &data_bytes, NULL),
                 SKN_OK);
    cr_expect_eq(data_bytes, 26);
    cr_expect_eq(tensor[3].offset_bytes, 0);
    cr_expect_eq(tensor[1].offset_bytes, 16);
    cr_expect_eq(tensor[2].offset_bytes, 20);
    cr_expect_eq(tensor[2].size_bytes, 0);
    cr_expect_eq(tensor[0].offset_bytes, 20);
    for (size_t i = 0; i < SAMPLE_COUNT; i++)
        cr_expect_eq(tensor[i].offset_bytes % skn_dtype_bytes(tensor[i].dtype),
                     0);
}

Test(safetensors, reads_back_its_own_header)
{
    skn_safetensor_t tensor[SAMPLE_COUNT];
    skn_safetensors_t got;
    unsigned char *header;
    size_t header_bytes;
    uint64_t data_bytes;
    skn_error_t error = { 0 };
    memcpy(tensor, sample, sizeof(sample));
    cr_assert_eq(skn_safetensors_place(tensor, SAMPLE_COUNT, &data_bytes, NULL),
                 SKN_OK);
    cr_assert_eq(skn_safetensors_header(tensor, SAMPLE_COUNT,
                                        SKN_SAFETENSORS_SKEIN, 8, &header,
                                        &header_bytes, NULL),
                 SKN_OK);
    cr_expect_eq(header_bytes % 8, 0);
    cr_assert_eq(skn_safetensors_parse("x", header, header_bytes,
                                       header_bytes + data_bytes, &got, &error),
                 SKN_OK, "%s", error.text);
    cr_assert_eq(got.count, SAMPLE_COUNT);
    cr_expect_eq(got.header_bytes, header_bytes);
    static const size_t order[] = { 3, 1, 2, 0 };
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        const skn_safetensor_t *want = &tensor[order[i]];
        cr_expect_str_eq(got.tensor[i].name, want->name);
        cr_expect_eq(got.tensor[i].dtype, want->dtype);
        cr_expect_eq(got.tensor[i].dims, want->dims);
        cr_expect_eq(got.tensor[i].shape[0], want->shape[0]);
        cr_expect_eq(got.tensor[i].offset_bytes, want->offset_bytes);
        cr_expect_eq(got.tensor[i].size_bytes, want->size_bytes);
    }
    skn_safetensors_fini(&got);
    free(header);
}

Test(safetensors, refuses_every_truncation_and_survives_every_change)
{
    skn_safetensor_t tensor[SAMPLE_COUNT];
    skn_safetensors_t got;
    unsigned char *header;
    size_t header_bytes;
    uint64_t data_bytes;
    memcpy(tensor, sample, sizeof(sample));
    (void)skn_safetensors_place(tensor, SAMPLE_COUNT, &data_bytes, NULL);
    cr_assert_eq(skn_safetensors_header(tensor, SAMPLE_COUNT,
                                        SKN_SAFETENSORS_SKEIN, 8, &header,
                                        &header_bytes, NULL),
                 SKN_OK);
    for (size_t count = 0; count < header_bytes; count++) {
        /* A copy of that length, so that a sanitizer sees a read behind it. */
        unsigned char *part = malloc(count + 1);
        memcpy(part, header, count);
        cr_expect_eq(skn_safetensors_parse("x", part, count,
                                           header_bytes + data_bytes, &got,
                                           NULL),
                     SKN_BAD_DATA, "%zu bytes", count);
        free(part);
    }
    for (size_t at = 0; at < header_bytes; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            header[at] ^= (unsigned char)(1u << bit);
            (void)skn_safetensors_parse("x", header, header_bytes,
                                        header_bytes + data_bytes, &got, NULL);
            skn_safetensors_fini(&got);
            header[at] ^= (unsigned char)(1u << bit);
        }
    free(header);
}

#define ENTRY(dtype, shape, first, end)                                        \
    "{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" first  \
    "," end "]}"

Test(safetensors, says_what_it_refuses)
{
    static const struct {
        const char *json, *text;
        uint64_t data_bytes;
    } cases[] = {
        { "[]", "x.safetensors: an object is expected", 0 },
        { "{\"a\":" ENTRY("F16", "1", "0", "2") "}",
          "x.safetensors: tensor a: its dtype is not one of F32, BF16, U32, "
          "U64, I8, U8",
          2 },
        { "{\"a\":" ENTRY("F32", "2", "0", "4") "}",
          "x.safetensors: tensor a: offsets 0 to 4 for 8 bytes", 4 },
        { "{\"a\":" ENTRY("F32", "1", "4", "8") "}",
          "x.safetensors: tensor a starts at 4, but the one before ends at 0",
          8 },
        { "{\"a\":" ENTRY("F32", "2", "0", "8") ",\"b\":" ENTRY("F32", "1", "4",
                                                                "8") "}",
          "x.safetensors: tensor b starts at 4, but the one before ends at 8",
          8 },
        { "{\"a\":" ENTRY("F32", "1", "0", "4") "}",
          "x.safetensors: the tensors end at 4, but the data at 5", 5 },
        { "{\"a\":" ENTRY("F32", "1", "0", "4") "}",
          "x.safetensors: the tensors end at 4, but the data at 3", 3 },
        { "{\"a\":" ENTRY("F32", "4294967296,4294967296", "0", "0") "}",
          "x.safetensors: tensor a: its shape has more than 2^63 bytes", 0 },
        { "{\"a\":" ENTRY("F32", "-1", "0", "4") "}",
          "x.safetensors: tensor a: dtype, shape (at most 4 numbers) and "
          "data_offsets (2) are expected",
          4 },
        { "{\"a\":" ENTRY("F32", "1,1,1,1,1", "0", "4") "}",
          "x.safetensors: tensor a: dtype, shape (at most 4 numbers) and "
          "data_offsets (2) are expected",
          4 },
        { "{\"\":" ENTRY("F32", "1", "0", "4") "}",
          "x.safetensors: a tensor's name has 0 bytes, 1 to 128 allowed", 4 },
        { "{\"a\\u001b\":" ENTRY("F32", "1", "0", "4") "}",
          "x.safetensors: byte 1 of a tensor's name is 0x1b", 4 },
        { "{\"a\":3}",
          "x.safetensors: tensor a: dtype, shape (at most 4 numbers) and "
          "data_offsets (2) are expected",
          0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        skn_error_t error = { 0 };
        cr_expect_eq(parse(cases[i].json, cases[i].data_bytes, &error),
                     SKN_BAD_DATA, "%s", cases[i].json);
        cr_expect_str_eq(error.text, cases[i].text);
    }
}

Test(safetensors, refuses_duplicate_names_and_text_behind)
{
    cr_expect_eq(parse("{\"a\":" ENTRY("F32", "1", "0", "4") ",\"a\":" ENTRY(
                           "F32", "1", "0", "4") "}",
                       4, NULL),
                 SKN_BAD_DATA);
    cr_expect_eq(parse("{} x", 0, NULL), SKN_BAD_DATA);
    cr_expect_eq(parse("{}   ", 0, NULL), SKN_OK);
    cr_expect_eq(parse("{\"__metadata__\":{\"a\":\"b\"}}", 0, NULL), SKN_OK);
}

Test(safetensors, bounds_the_length_of_a_header)
{
    unsigned char first[8];
    uint64_t length = SKN_SAFETENSORS_HEADER_BYTES_MAX, got;
    memcpy(first, &length, 8);
    cr_expect_eq(skn_safetensors_length("x", first, length + 8, &got, NULL),
                 SKN_OK);
    cr_expect_eq(got, length);
    cr_expect_eq(skn_safetensors_length("x", first, length + 7, &got, NULL),
                 SKN_BAD_DATA);
    length++;
    memcpy(first, &length, 8);
    cr_expect_eq(skn_safetensors_length("x", first, INT64_MAX, &got, NULL),
                 SKN_BAD_DATA);
    length = UINT64_MAX;
    memcpy(first, &length, 8);
    cr_expect_eq(skn_safetensors_length("x", first, 7, &got, NULL),
                 SKN_BAD_DATA);
}

Test(safetensors, refuses_names_that_would_need_an_escape)
{
    static const char *const names[] = { "", "a\"b", "a\\b", "a\nb", "\xc3" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        skn_safetensor_t tensor = { .dtype = SKN_DTYPE_F32, .dims = 0 };
        unsigned char *header = NULL;
        size_t header_bytes;
        (void)snprintf(tensor.name, sizeof(tensor.name), "%s", names[i]);
        cr_expect_eq(skn_safetensors_header(&tensor, 1, SKN_SAFETENSORS_SKEIN,
                                            8, &header, &header_bytes, NULL),
                     SKN_BAD_DATA);
    }
}

Test(safetensors, knows_its_element_types)
{
    skn_dtype_t dtype = SKN_DTYPE_COUNT;
    for (unsigned i = 0; i < SKN_DTYPE_COUNT; i++) {
        cr_expect(skn_dtype_find(skn_dtype_name((skn_dtype_t)i), &dtype));
        cr_expect_eq(dtype, i);
    }
    cr_expect_not(skn_dtype_find("F64", &dtype));
    cr_expect_eq(skn_dtype_bytes(SKN_DTYPE_COUNT), 0);
    cr_expect_str_eq(skn_dtype_name(SKN_DTYPE_COUNT), "unknown");
}

Test(safetensors, refuses_sizes_that_overflow)
{
    skn_safetensor_t tensor = { .name = "big",
                                .dtype = SKN_DTYPE_U64,
                                .dims = 2,
                                .shape = { 1u << 30, 1u << 30 } };
    uint64_t bytes;
    cr_expect_eq(skn_safetensor_size(&tensor, &bytes, NULL), SKN_BAD_DATA);
    tensor.shape[0] = 1u << 29;
    cr_expect_eq(skn_safetensor_size(&tensor, &bytes, NULL), SKN_OK);
    skn_safetensor_t two[] = { tensor, tensor, tensor, tensor };
    cr_expect_eq(skn_safetensors_place(two, 4, &bytes, NULL), SKN_BAD_DATA);
    tensor.dims = 5;
    cr_expect_eq(skn_safetensor_size(&tensor, &bytes, NULL), SKN_BAD_DATA);
}
