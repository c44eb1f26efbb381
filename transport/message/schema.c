/* schema.c - checks and hashes schemas, and validates messages against them.
 *
 * This file owns: the rules that a table obeys, its hash, and the rules that a
 * message of it obeys. Not here: bytes (codec.c), text (describe.c).
 * Hash: FNV-1a, 64 bits (Fowler, Noll, Vo 1991).
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/message/schema.h"

#include <inttypes.h>
#include <string.h>

#include "transport/message/field.h"

/* msgpack: an array of up to 65,535 values and an id, then at most this many
 * bytes for each number. */
#define HEADER_START_BYTES 8u
#define HEADER_NUMBER_BYTES 9u
#define HEADER_COUNT_BYTES 10u
#define HEADER_TEXT_BYTES 5u
/* No field of a struct is larger than a run: an address and a count. */
#define STRUCT_BYTES_MAX (SKN_FIELDS_MAX * sizeof(skn_bytes_t))

/* --- tables -------------------------------------------------------------- */

static bool
name_is_sane(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    if (!name)
        return false;
    size_t letter_count = strnlen(name, SKN_NAME_MAX + 1);
    return letter_count > 0 && letter_count <= SKN_NAME_MAX &&
           strspn(name, letters) == letter_count;
}

/* The greatest `max` that is allowed for a field of `kind`. A u32 is limited by
 * its type, whatever its maximum. */
static uint64_t
max_of_kind(skn_field_kind_t kind)
{
    if (kind == SKN_FIELD_str)
        return SKN_TEXT_MAX;
    return skn_field_item_bytes(kind) > 0 ? SKN_RUN_MAX : UINT64_MAX;
}

/* The most bytes that a field can take in the header. */
static size_t
header_bytes_of(const skn_field_t *field)
{
    if (field->kind == SKN_FIELD_str)
        return HEADER_TEXT_BYTES + (size_t)field->max;
    if (skn_field_item_bytes(field->kind) > 0)
        return HEADER_COUNT_BYTES;
    return HEADER_NUMBER_BYTES;
}

static skn_status_t
check_field(const skn_schema_t *schema, const skn_field_t *field,
            skn_error_t *error)
{
    if (!name_is_sane(field->name))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "message %s: the name of field %zu is not valid",
                        schema->name, (size_t)(field - schema->fields));
    if (field->kind >= SKN_FIELD_KIND_COUNT)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "message %s: %s has an unknown kind", schema->name,
                        field->name);
    if (!field->help)
        return skn_fail(error, SKN_BAD_CONFIG, "message %s: %s has no help",
                        schema->name, field->name);
    if (field->max > max_of_kind(field->kind))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "message %s: the maximum of %s is %" PRIu64
                        ", at most %" PRIu64 " allowed",
                        schema->name, field->name, field->max,
                        max_of_kind(field->kind));
    size_t bytes = skn_field_struct_bytes(field->kind);
    size_t align_bytes = bytes < sizeof(void *) ? bytes : sizeof(void *);
    if (field->offset > schema->struct_bytes ||
        bytes > schema->struct_bytes - field->offset ||
        field->offset % align_bytes != 0)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "message %s: %s is outside of its struct", schema->name,
                        field->name);
    return SKN_OK;
}

/* Checks `later` for collisions with the fields before it. */
static skn_status_t
check_collisions(const skn_schema_t *schema, const skn_field_t *later,
                 skn_error_t *error)
{
    size_t later_end = later->offset + skn_field_struct_bytes(later->kind);
    for (const skn_field_t *field = schema->fields; field < later; field++) {
        size_t end = field->offset + skn_field_struct_bytes(field->kind);
        if (strcmp(field->name, later->name) == 0)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "message %s: two fields are called %s",
                            schema->name, field->name);
        if (field->offset < later_end && later->offset < end)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "message %s: %s and %s overlap", schema->name,
                            field->name, later->name);
    }
    return SKN_OK;
}

/* --- coded runs ---------------------------------------------------------- */

/* Checks that `name` is a field of that kind; NULL: not needed. */
static skn_status_t
check_helper(const skn_schema_t *schema, const skn_coded_field_t *coded,
             const char *name, skn_field_kind_t kind, const char *kind_name,
             skn_error_t *error)
{
    const skn_field_t *field = skn_field_named(schema, name);
    if (!name || (field && field->kind == kind))
        return SKN_OK;
    return skn_fail(error, SKN_BAD_CONFIG,
                    "message %s: the rows of %s are given by %s, which is not "
                    "a field of kind %s",
                    schema->name, coded->name, name, kind_name);
}

static skn_status_t
check_coded(const skn_schema_t *schema, const skn_coded_field_t *coded,
            skn_error_t *error)
{
    static const struct {
        skn_field_kind_t kind;
        const char *name, *kind_name;
    } kinds[] = {
#define C(what, field_kind, help)                                              \
    { SKN_FIELD_##field_kind, #what, #field_kind },
        SKN_CODED_KINDS(C)
#undef C
    };
    if (coded->kind >= SKN_CODED_KIND_COUNT)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "message %s: %s has an unknown coding", schema->name,
                        coded->name);
    const skn_field_t *field = skn_field_named(schema, coded->name);
    if (!field || field->kind != kinds[coded->kind].kind)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "message %s: %s is coded as %s, but is not a field of "
                        "kind %s",
                        schema->name, coded->name, kinds[coded->kind].name,
                        kinds[coded->kind].kind_name);
    for (const skn_coded_field_t *other = schema->coded; other < coded; other++)
        if (strcmp(other->name, coded->name) == 0)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "message %s: %s is coded twice", schema->name,
                            coded->name);
    if (coded->kind != SKN_CODED_values &&
        (coded->columns || coded->lengths || coded->sparse))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "message %s: %s is coded as %s and has no rows",
                        schema->name, coded->name, kinds[coded->kind].name);
    skn_status_t status = check_helper(schema, coded, coded->columns,
                                       SKN_FIELD_u32, "u32", error);
    if (status == SKN_OK)
        status = check_helper(schema, coded, coded->lengths, SKN_FIELD_u32s,
                              "u32s", error);
    return status;
}

/* --- a table ------------------------------------------------------------- */

skn_status_t
skn_schema_check(const skn_schema_t *schema, skn_error_t *error)
{
    if (!name_is_sane(schema->name))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "the name of message id %u is not valid", schema->id);
    if (schema->id == 0 || schema->id > SKN_MESSAGE_ID_MAX)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "message %s: id %u is not between 1 and %u",
                        schema->name, schema->id, SKN_MESSAGE_ID_MAX);
    if (schema->field_count > SKN_FIELDS_MAX)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "message %s: %zu fields, at most %u allowed",
                        schema->name, schema->field_count, SKN_FIELDS_MAX);
    if (!schema->fields && schema->field_count > 0)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "message %s: %zu fields, but no table", schema->name,
                        schema->field_count);
    if (!schema->help)
        return skn_fail(error, SKN_BAD_CONFIG, "message %s has no help",
                        schema->name);
    if (schema->struct_bytes > STRUCT_BYTES_MAX)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "message %s: its struct has %zu bytes, at most %zu "
                        "allowed",
                        schema->name, schema->struct_bytes, STRUCT_BYTES_MAX);
    size_t header_bytes = HEADER_START_BYTES;
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        skn_status_t status = check_field(schema, field, error);
        if (status == SKN_OK)
            status = check_collisions(schema, field, error);
        if (status != SKN_OK)
            return status;
        header_bytes += header_bytes_of(field);
    }
    if (header_bytes > SKN_HEADER_BYTES_MAX)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "message %s: its header can reach %zu bytes, at most "
                        "%u allowed",
                        schema->name, header_bytes, SKN_HEADER_BYTES_MAX);
    const skn_coded_field_t *coded = schema->coded;
    skn_status_t status = SKN_OK;
    for (; coded && coded->name && status == SKN_OK; coded++)
        status = check_coded(schema, coded, error);
    return status;
}

bool
skn_schema_lends(const skn_schema_t *schema)
{
    for (size_t k = 0; k < schema->field_count; k++)
        if (schema->fields[k].kind == SKN_FIELD_loan)
            return true;
    return false;
}

/* --- hashes -------------------------------------------------------------- */

#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x00000100000001b3)

static uint64_t
hash_number(uint64_t hash, uint64_t number)
{
    for (unsigned shift = 0; shift < 64; shift += 8)
        hash = (hash ^ (number >> shift & 0xff)) * FNV_PRIME;
    return hash;
}

/* Includes the NUL: "ab" "c" is not "a" "bc". */
static uint64_t
hash_text(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (uint8_t)*text) * FNV_PRIME;
    while (*text++);
    return hash;
}

/* Changes nothing for a schema without coded runs. */
static uint64_t
hash_coded(uint64_t hash, const skn_schema_t *schema)
{
    static const char *const kind_names[] = {
#define C(what, field_kind, help) #what,
        SKN_CODED_KINDS(C)
#undef C
    };
    const skn_coded_field_t *coded = schema->coded;
    for (; coded && coded->name; coded++) {
        hash = hash_text(hash, coded->name);
        hash = hash_text(hash, kind_names[coded->kind]);
        hash = hash_text(hash, coded->columns ? coded->columns : "");
        hash = hash_text(hash, coded->lengths ? coded->lengths : "");
        hash = hash_number(hash, coded->sparse);
    }
    return hash;
}

uint64_t
skn_schema_hash(const skn_schema_t *schema)
{
    static const char *const kind_names[] = {
#define K(kind, type, item_bytes, help) #kind,
        SKN_FIELD_KINDS(K)
#undef K
    };
    uint64_t hash = hash_number(FNV_START, schema->id);
    hash = hash_text(hash, schema->name);
    hash = hash_number(hash, schema->field_count);
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        hash = hash_text(hash, field->name);
        hash = hash_text(hash, kind_names[field->kind]);
        hash = hash_number(hash, field->max);
    }
    return hash_coded(hash, schema);
}

uint64_t
skn_schemas_hash(const skn_schema_t *const *schemas)
{
    uint64_t sum = 0; /* in any order; hashed again, so that no two cancel */
    for (size_t k = 0; schemas[k]; k++)
        sum += hash_number(FNV_START, skn_schema_hash(schemas[k]));
    return sum;
}

/* --- messages ------------------------------------------------------------ */

/* The bytes of the UTF-8 letter at `at`, or 0 if there is none: The Unicode
 * Standard 15, table 3-7. Bytes after a NUL are not read. */
static size_t
letter_bytes(const uint8_t *at)
{
    static const struct {
        uint8_t first_min, first_max, second_min, second_max, bytes;
    } rows[] = {
        { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
        { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
        { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
        { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    if (at[0] < 0x80)
        return 1;
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        if (at[0] < rows[k].first_min || at[0] > rows[k].first_max)
            continue;
        if (at[1] < rows[k].second_min || at[1] > rows[k].second_max)
            return 0;
        for (size_t next = 2; next < rows[k].bytes; next++)
            if ((at[next] & 0xc0) != 0x80)
                return 0;
        return rows[k].bytes;
    }
    return 0;
}

static skn_status_t
over_max(const skn_schema_t *schema, const skn_field_t *field, uint64_t number,
         skn_error_t *error)
{
    bool counted = skn_field_has_room(field->kind);
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "%s.%s %s %" PRIu64 "%s, at most %" PRIu64 " allowed",
                    schema->name, field->name, counted ? "has" : "is", number,
                    counted ? " items" : "", field->max);
}

static skn_status_t
validate_text(const skn_schema_t *schema, const skn_field_t *field,
              const char *text, skn_error_t *error)
{
    if (!text)
        return skn_fail(error, SKN_BAD_MESSAGE, "%s.%s is not a text",
                        schema->name, field->name);
    size_t bytes = strnlen(text, (size_t)field->max + 1);
    if (bytes > field->max)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s.%s has more than %" PRIu64 " bytes", schema->name,
                        field->name, field->max);
    for (size_t k = 0; k < bytes;) {
        size_t more = letter_bytes((const uint8_t *)text + k);
        if (more == 0)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s.%s is not UTF-8 at byte %zu", schema->name,
                            field->name, k);
        k += more;
    }
    return SKN_OK;
}

static skn_status_t
validate_field(const skn_schema_t *schema, const skn_field_t *field,
               const void *message, skn_error_t *error)
{
    switch (field->kind) {
    case SKN_FIELD_u32:
    case SKN_FIELD_u64: {
        uint64_t number = skn_field_number(field, message);
        return number <= field->max ? SKN_OK
                                    : over_max(schema, field, number, error);
    }
    case SKN_FIELD_f64:
    case SKN_FIELD_loan:
        return SKN_OK;
    case SKN_FIELD_str:
        return validate_text(schema, field, skn_field_text(field, message),
                             error);
    default: {
        skn_run_t run = skn_field_run(field, message);
        if (run.count > field->max)
            return over_max(schema, field, run.count, error);
        if (!run.at && run.count > 0)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s.%s has %zu items, but no memory", schema->name,
                            field->name, run.count);
        return SKN_OK;
    }
    }
}

skn_status_t
skn_validate(const skn_schema_t *schema, const void *message,
             skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    for (size_t k = 0; k < schema->field_count && status == SKN_OK; k++)
        status = validate_field(schema, &schema->fields[k], message, error);
    return status;
}
