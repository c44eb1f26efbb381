/* test_schema.c - tests tables that are refused, hashes, and validation.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/sample_messages.h"
#include "transport/message/schema.h"

static void
expect_refused(const skn_schema_t *schema, const char *want)
{
    skn_error_t error = { SKN_OK, "", "" };
    cr_expect_eq(skn_schema_check(schema, &error), SKN_BAD_CONFIG,
                 "accepted, but: %s", want);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(skn_schema_check(schema, NULL), SKN_BAD_CONFIG);
}

/* A table to spoil: two fields of 8 and 16 bytes. */
typedef struct spoilt {
    skn_field_t fields[SKN_FIELDS_MAX + 1];
    skn_schema_t schema;
} spoilt_t;

static spoilt_t *
spoilt_new(void)
{
    spoilt_t *spoilt = calloc(1, sizeof(*spoilt));
    cr_assert(spoilt);
    spoilt->fields[0] = (skn_field_t){ "batch", SKN_FIELD_u64, 0, 9, "b" };
    spoilt->fields[1] = (skn_field_t){ "unit", SKN_FIELD_u32s, 8, 9, "u" };
    spoilt->schema =
        (skn_schema_t){ "spoilt", 1001, 24, "help", spoilt->fields, 2, NULL };
    return spoilt;
}

Test(schema, sample_tables_are_sane)
{
    skn_error_t error = { SKN_OK, "", "" };
    for (size_t k = 0; sample_schemas[k]; k++)
        cr_assert_eq(skn_schema_check(sample_schemas[k], &error), SKN_OK, "%s",
                     error.text);
    spoilt_t *spoilt = spoilt_new();
    cr_assert_eq(skn_schema_check(&spoilt->schema, &error), SKN_OK);
    free(spoilt);
}

Test(schema, ids_and_names_are_checked)
{
    spoilt_t *spoilt = spoilt_new();
    skn_schema_t *schema = &spoilt->schema;
    schema->id = 0;
    expect_refused(schema, "message spoilt: id 0 is not between 1 and 65535");
    schema->id = SKN_MESSAGE_ID_MAX + 1;
    expect_refused(schema,
                   "message spoilt: id 65536 is not between 1 and 65535");
    schema->id = SKN_MESSAGE_ID_MAX;
    cr_expect_eq(skn_schema_check(schema, NULL), SKN_OK);
    schema->name = "no spaces";
    expect_refused(schema, "the name of message id 65535 is not valid");
    schema->name = "";
    expect_refused(schema, "the name of message id 65535 is not valid");
    schema->name = NULL;
    expect_refused(schema, "the name of message id 65535 is not valid");
    char long_name[SKN_NAME_MAX + 2];
    memset(long_name, 'n', sizeof(long_name));
    long_name[SKN_NAME_MAX + 1] = '\0';
    schema->name = long_name;
    expect_refused(schema, "the name of message id 65535 is not valid");
    long_name[SKN_NAME_MAX] = '\0';
    cr_expect_eq(skn_schema_check(schema, NULL), SKN_OK);
    schema->name = "spoilt";
    schema->help = NULL;
    expect_refused(schema, "message spoilt has no help");
    schema->help = "help";
    schema->fields = NULL;
    expect_refused(schema, "message spoilt: 2 fields, but no table");
    free(spoilt);
}

Test(schema, fields_are_checked)
{
    spoilt_t *spoilt = spoilt_new();
    skn_field_t *field = &spoilt->fields[1];
    field->name = "a|b";
    expect_refused(&spoilt->schema,
                   "message spoilt: the name of field 1 is not valid");
    field->name = "batch";
    expect_refused(&spoilt->schema,
                   "message spoilt: two fields are called batch");
    field->name = "unit";
    field->help = NULL;
    expect_refused(&spoilt->schema, "message spoilt: unit has no help");
    field->help = "u";
    field->kind = SKN_FIELD_KIND_COUNT;
    expect_refused(&spoilt->schema, "message spoilt: unit has an unknown kind");
    field->kind = SKN_FIELD_u32s;
    field->offset = 16;
    expect_refused(&spoilt->schema,
                   "message spoilt: unit is outside of its struct");
    field->offset = SIZE_MAX - 7;
    expect_refused(&spoilt->schema,
                   "message spoilt: unit is outside of its struct");
    field->offset = 4;
    expect_refused(&spoilt->schema,
                   "message spoilt: unit is outside of its struct");
    field->offset = 0;
    expect_refused(&spoilt->schema, "message spoilt: batch and unit overlap");
    spoilt->fields[0].offset = 16; /* side by side, in any order */
    cr_expect_eq(skn_schema_check(&spoilt->schema, NULL), SKN_OK);
    spoilt->fields[0].offset = 0;
    field->offset = 8;
    cr_expect_eq(skn_schema_check(&spoilt->schema, NULL), SKN_OK);
    free(spoilt);
}

Test(schema, maxima_are_checked_for_every_kind)
{
    static const struct {
        skn_field_kind_t kind;
        uint64_t max;
    } rows[] = {
        { SKN_FIELD_str, SKN_TEXT_MAX }, { SKN_FIELD_bytes, SKN_RUN_MAX },
        { SKN_FIELD_u16s, SKN_RUN_MAX }, { SKN_FIELD_u32s, SKN_RUN_MAX },
        { SKN_FIELD_u64s, SKN_RUN_MAX }, { SKN_FIELD_f32s, SKN_RUN_MAX },
        { SKN_FIELD_f64s, SKN_RUN_MAX },
    };
    spoilt_t *spoilt = spoilt_new();
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        spoilt->fields[1].kind = rows[k].kind;
        spoilt->fields[1].max = rows[k].max;
        cr_expect_eq(skn_schema_check(&spoilt->schema, NULL), SKN_OK);
        char want[SKN_ERROR_TEXT_BYTES];
        (void)snprintf(want, sizeof(want),
                       "message spoilt: the maximum of unit is %llu, at most "
                       "%llu allowed",
                       (unsigned long long)rows[k].max + 1,
                       (unsigned long long)rows[k].max);
        spoilt->fields[1].max++;
        expect_refused(&spoilt->schema, want);
    }
    free(spoilt);
}

Test(schema, fields_and_header_bytes_have_a_limit)
{
    static const char *const names[SKN_FIELDS_MAX + 1] = {
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k",
        "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v",
        "w", "x", "y", "z", "A", "B", "C", "D", "E", "F", "G",
    };
    spoilt_t *spoilt = spoilt_new();
    for (size_t k = 0; k <= SKN_FIELDS_MAX; k++)
        spoilt->fields[k] =
            (skn_field_t){ names[k], SKN_FIELD_u32, 4 * k, 9, "help" };
    spoilt->schema.struct_bytes = 4 * (SKN_FIELDS_MAX + 1);
    spoilt->schema.field_count = SKN_FIELDS_MAX;
    cr_expect_eq(skn_schema_check(&spoilt->schema, NULL), SKN_OK);
    spoilt->schema.field_count++;
    expect_refused(&spoilt->schema,
                   "message spoilt: 33 fields, at most 32 allowed");
    for (size_t k = 0; k < 16; k++)
        spoilt->fields[k] = (skn_field_t){ names[k], SKN_FIELD_str, 8 * k,
                                           SKN_TEXT_MAX, "help" };
    spoilt->schema.struct_bytes = 8 * 16;
    spoilt->schema.field_count = 15;
    cr_expect_eq(skn_schema_check(&spoilt->schema, NULL), SKN_OK);
    spoilt->schema.field_count = 16;
    expect_refused(&spoilt->schema,
                   "message spoilt: its header can reach 65624 bytes, at "
                   "most 65536 allowed");
    free(spoilt);
}

Test(schema, only_messages_with_a_loan_lend)
{
    cr_expect(skn_schema_lends(&every_schema));
    cr_expect_not(skn_schema_lends(&activation_schema));
    cr_expect_not(skn_schema_lends(&stop_schema));
}

Test(schema, the_hash_sees_every_change_that_matters)
{
    spoilt_t *spoilt = spoilt_new();
    skn_schema_t *schema = &spoilt->schema;
    uint64_t start = skn_schema_hash(schema);
    schema->help = "other words"; /* do not matter */
    spoilt->fields[1].help = "other words";
    spoilt->fields[1].offset = 16;
    cr_expect_eq(skn_schema_hash(schema), start);
    schema->id++;
    cr_expect_neq(skn_schema_hash(schema), start);
    schema->id--;
    schema->name = "spoilT";
    cr_expect_neq(skn_schema_hash(schema), start);
    schema->name = "spoilt";
    spoilt->fields[0].name = "batc";
    cr_expect_neq(skn_schema_hash(schema), start);
    spoilt->fields[0].name = "batch";
    spoilt->fields[0].kind = SKN_FIELD_u32;
    cr_expect_neq(skn_schema_hash(schema), start);
    spoilt->fields[0].kind = SKN_FIELD_u64;
    spoilt->fields[0].max++;
    cr_expect_neq(skn_schema_hash(schema), start);
    spoilt->fields[0].max--;
    schema->field_count--;
    cr_expect_neq(skn_schema_hash(schema), start);
    schema->field_count++;
    cr_expect_eq(skn_schema_hash(schema), start);
    free(spoilt);
}

/* Part of the peers' handshake: no build may change it. The values were
 * computed apart, with another FNV-1a. */
Test(schema, the_hash_is_the_same_on_every_build)
{
    cr_expect_eq(skn_schema_hash(&stop_schema), UINT64_C(0x678dbb20010ac771),
                 "0x%016llx",
                 (unsigned long long)skn_schema_hash(&stop_schema));
    cr_expect_eq(skn_schema_hash(&every_schema), UINT64_C(0x490401146bc63808),
                 "0x%016llx",
                 (unsigned long long)skn_schema_hash(&every_schema));
}

Test(schema, the_hash_of_a_list_ignores_its_order)
{
    const skn_schema_t *list[] = { &stop_schema, &every_schema,
                                   &activation_schema, NULL };
    const skn_schema_t *less[] = { &stop_schema, &every_schema, NULL };
    uint64_t hash = skn_schemas_hash(sample_schemas);
    cr_expect_eq(skn_schemas_hash(list), hash);
    cr_expect_neq(skn_schemas_hash(less), hash);
}

/* --- coded runs ---------------------------------------------------------- */

/* A table with runs to code, and a list to spoil. */
#define FIELDS_rowed(F, M)                                                     \
    F(M, u32, columns, 9, "c")                                                 \
    F(M, f32s, value, 9, "v")                                                  \
    F(M, u32s, length, 9, "l")
SKN_MESSAGE_STRUCT(rowed, FIELDS_rowed)
SKN_MESSAGE_SCHEMA(rowed, "rowed", 1012, FIELDS_rowed, "rows")

static skn_coded_field_t coded_list[4];

static skn_schema_t
with_coded(skn_coded_field_t first, skn_coded_field_t second)
{
    skn_schema_t schema = rowed_schema;
    coded_list[0] = first;
    coded_list[1] = second;
    schema.coded = coded_list;
    return schema;
}

#define NO_CODED ((skn_coded_field_t){ .name = NULL })
#define CODED(text, ...) ((skn_coded_field_t){ .name = (text), __VA_ARGS__ })

static void
expect_coded_refused(skn_coded_field_t first, skn_coded_field_t second,
                     const char *want)
{
    skn_schema_t schema = with_coded(first, second);
    expect_refused(&schema, want);
}

Test(schema, coded_runs_are_checked)
{
    expect_coded_refused(CODED("unit", .sparse = false), NO_CODED,
                         "message rowed: unit is coded as values, but is "
                         "not a field of kind f32s");
    expect_coded_refused(CODED("length", .kind = SKN_CODED_values), NO_CODED,
                         "message rowed: length is coded as values, but is "
                         "not a field of kind f32s");
    expect_coded_refused(CODED("value", .kind = SKN_CODED_small), NO_CODED,
                         "message rowed: value is coded as small, but is "
                         "not a field of kind u32s");
    expect_coded_refused(CODED("value", .kind = SKN_CODED_KIND_COUNT), NO_CODED,
                         "message rowed: value has an unknown coding");
    expect_coded_refused(CODED("value", .sparse = false),
                         CODED("value", .sparse = false),
                         "message rowed: value is coded twice");
    expect_coded_refused(
        CODED("length", .kind = SKN_CODED_small, .sparse = true), NO_CODED,
        "message rowed: length is coded as small and has no "
        "rows");
    expect_coded_refused(CODED("value", .columns = "length"), NO_CODED,
                         "message rowed: the rows of value are given by "
                         "length, which is not a field of kind u32");
    expect_coded_refused(CODED("value", .lengths = "columns"), NO_CODED,
                         "message rowed: the rows of value are given by "
                         "columns, which is not a field of kind u32s");
    expect_coded_refused(CODED("value", .lengths = "nobody"), NO_CODED,
                         "message rowed: the rows of value are given by "
                         "nobody, which is not a field of kind u32s");
    skn_schema_t schema =
        with_coded(CODED("value", .columns = "columns", .lengths = "length",
                         .sparse = true),
                   CODED("length", .kind = SKN_CODED_ascending));
    cr_expect_eq(skn_schema_check(&schema, NULL), SKN_OK);
}

Test(schema, the_hash_sees_how_runs_are_coded)
{
    uint64_t seen[8];
    skn_schema_t schema = with_coded(NO_CODED, NO_CODED);
    cr_expect_eq(skn_schema_hash(&schema), skn_schema_hash(&rowed_schema));
    schema = with_coded(CODED("length", .kind = SKN_CODED_small), NO_CODED);
    seen[0] = skn_schema_hash(&schema);
    coded_list[0].kind = SKN_CODED_ascending;
    seen[1] = skn_schema_hash(&schema);
    coded_list[0] = CODED("value", .sparse = false);
    seen[2] = skn_schema_hash(&schema);
    coded_list[0].sparse = true;
    seen[3] = skn_schema_hash(&schema);
    coded_list[0].columns = "columns";
    seen[4] = skn_schema_hash(&schema);
    coded_list[0].columns = NULL;
    coded_list[0].lengths = "length";
    seen[5] = skn_schema_hash(&schema);
    coded_list[1] = CODED("length", .kind = SKN_CODED_small);
    seen[6] = skn_schema_hash(&schema);
    seen[7] = skn_schema_hash(&rowed_schema);
    for (size_t k = 0; k < 8; k++)
        for (size_t other = 0; other < k; other++)
            cr_expect_neq(seen[k], seen[other], "%zu, %zu", k, other);
}

/* --- messages ------------------------------------------------------------ */

static void
expect_invalid(const every_t *every, const char *want)
{
    skn_error_t error = { SKN_OK, "", "" };
    cr_expect_eq(skn_validate(&every_schema, every, &error), SKN_BAD_MESSAGE,
                 "accepted, but: %s", want);
    cr_expect_str_eq(error.text, want);
    cr_expect_eq(skn_validate(&every_schema, every, NULL), SKN_BAD_MESSAGE);
}

Test(schema, values_at_their_limit_are_valid_and_one_past_is_not)
{
    static float value[1];
    every_t every = { .title = "", .note = "" };
    cr_expect_eq(skn_validate(&every_schema, &every, NULL), SKN_OK);
    every.shard = 4095;
    every.batch = UINT64_MAX;
    every.loss = NAN;
    every.title = "twelve bytes";
    every.value = (skn_f32s_t){ value, 65536 }; /* only counted */
    cr_expect_eq(skn_validate(&every_schema, &every, NULL), SKN_OK);
    every.shard = 4096;
    expect_invalid(&every, "every.shard is 4096, at most 4095 allowed");
    every.shard = 0;
    every.value.count = 65537;
    expect_invalid(&every, "every.value has 65537 items, at most 65536 "
                           "allowed");
    every.value = (skn_f32s_t){ NULL, 1 };
    expect_invalid(&every, "every.value has 1 items, but no memory");
    every.value.count = 0;
    every.title = "thirteen byte";
    expect_invalid(&every, "every.title has more than 12 bytes");
    every.title = NULL;
    expect_invalid(&every, "every.title is not a text");
}

Test(schema, text_must_be_utf8)
{
    static const char *const good[] = {
        "",
        "a",
        "\x7f",
        "\xc2\x80",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "a\xc3\xa4z",
    };
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xc2",
        "\xc2z",
        "\xe0\x9f\xbf",
        "\xe1\x80",
        "\xe1\x80z",
        "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf1\x80\x80",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xfe",
    };
    every_t every = { .title = "", .note = "" };
    for (size_t k = 0; k < sizeof(good) / sizeof(good[0]); k++) {
        every.title = good[k];
        cr_expect_eq(skn_validate(&every_schema, &every, NULL), SKN_OK,
                     "good text %zu", k);
    }
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        every.title = bad[k];
        expect_invalid(&every, "every.title is not UTF-8 at byte 0");
    }
    every.title = "abc\xff";
    expect_invalid(&every, "every.title is not UTF-8 at byte 3");
}
