/* message.h - declares a message once, as a table of fields.
 *
 * The table generates a struct and a schema; encoding, decoding, validation and
 * docs/reference/messages.md follow the schema (transport/message/schema.c).
 *
 *     #define FIELDS_word(F, M)                                   \
 *         F(M, str, text,  64,         "one word")                \
 *         F(M, u64, count, UINT64_MAX, "how often it was seen")
 *     SKN_MESSAGE_STRUCT(word, FIELDS_word)           word_t
 *     SKN_MESSAGE_SCHEMA(word, "word", 1000, FIELDS_word, "a counted word")
 *                                                     word_schema
 * A schema can also list runs that links code in fewer bytes: see
 * SKN_MESSAGE_SCHEMA_CODED.
 * Header only: every folder may include it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_MESSAGE_H
#define SKEIN_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of field. K(kind, C type, bytes an item of a run or 0, help).
 * Runs point at `count` items, 64-byte aligned, owned by the message.
 * A string is NUL-terminated UTF-8, which nothing checks; it belongs to the
 * message, and is never NULL.
 * A loan is an address in this process: it passes the right to use a piece of
 * memory, and never leaves the node. */
#define SKN_FIELD_KINDS(K)                                                     \
    K(u32, uint32_t, 0, "unsigned, 32 bits")                                   \
    K(u64, uint64_t, 0, "unsigned, 64 bits")                                   \
    K(f64, double, 0, "floating point, 64 bits, finite or not")                \
    K(str, const char *, 0, "text")                                            \
    K(loan, void *, 0, "memory of this process, lent with the message")        \
    K(bytes, struct skn_bytes, 1, "bytes")                                     \
    K(u16s, struct skn_u16s, 2, "a run of 16-bit numbers or bf16 values")      \
    K(u32s, struct skn_u32s, 4, "a run of 32-bit numbers")                     \
    K(u64s, struct skn_u64s, 8, "a run of 64-bit numbers")                     \
    K(f32s, struct skn_f32s, 4, "a run of 32-bit floats")                      \
    K(f64s, struct skn_f64s, 8, "a run of 64-bit floats")

typedef struct skn_bytes {
    uint8_t *at;
    size_t count;
} skn_bytes_t;
typedef struct skn_u16s {
    uint16_t *at;
    size_t count;
} skn_u16s_t;
typedef struct skn_u32s {
    uint32_t *at;
    size_t count;
} skn_u32s_t;
typedef struct skn_u64s {
    uint64_t *at;
    size_t count;
} skn_u64s_t;
typedef struct skn_f32s {
    float *at;
    size_t count;
} skn_f32s_t;
typedef struct skn_f64s {
    double *at;
    size_t count;
} skn_f64s_t;

typedef enum skn_field_kind {
#define K(kind, type, item_bytes, help) SKN_FIELD_##kind,
    SKN_FIELD_KINDS(K)
#undef K
    SKN_FIELD_KIND_COUNT
} skn_field_kind_t;

#define K(kind, type, item_bytes, help) typedef type skn_field_##kind##_t;
SKN_FIELD_KINDS(K)
#undef K

/* `max` is the greatest value of a number, and the greatest count of a run, a
 * string (without its NUL) or bytes. f64 and loan have no limit. */
typedef struct skn_field {
    const char *name;
    skn_field_kind_t kind;
    size_t offset;
    uint64_t max;
    const char *help;
} skn_field_t;

/* The contents of a run, for the link that codes it: C(kind, kind of its field,
 * help). Only `values` lose precision, and only if a coding is requested. */
#define SKN_CODED_KINDS(C)                                                     \
    C(values, f32s, "rows of numbers, which a coding may round")               \
    C(ascending, u32s, "numbers that mostly ascend: differences, or a bitmap") \
    C(small, u32s, "numbers that are mostly small: as many bytes as needed")

typedef enum skn_coded_kind {
#define C(kind, field_kind, help) SKN_CODED_##kind,
    SKN_CODED_KINDS(C)
#undef C
    SKN_CODED_KIND_COUNT
} skn_coded_kind_t;

/* A run that a link may code. The other fields are for `values`, and define the
 * rows: row r has lengths[r % lengths.count] items, or, if `lengths` is NULL or
 * an empty run, as many as the number `columns`; with neither the run is one
 * row. A run that is not empty must have whole rows, or 1 to
 * SKN_CODED_ROUNDS_MAX whole rounds through `lengths`; otherwise both ends of a
 * link refuse the message. */
typedef struct skn_coded_field {
    const char *name; /* of the field */
    skn_coded_kind_t kind;
    const char *columns; /* a field of kind u32, or NULL */
    const char *lengths; /* a field of kind u32s, or NULL */
    bool sparse;         /* many items are 0: left out. No others become 0 */
} skn_coded_field_t;

typedef struct skn_schema {
    const char *name;
    uint32_t id; /* never reused; a user's own from SKN_USER_MESSAGE_ID_MIN */
    size_t struct_bytes;
    const char *help;
    const skn_field_t *fields;
    size_t field_count;
    const skn_coded_field_t *coded; /* ends without a name; NULL: none */
} skn_schema_t;

#define SKN_FIELD_MEMBER(type, kind, name, max, help) skn_field_##kind##_t name;
#define SKN_FIELD_ENTRY(type, kind, name, max, help)                           \
    { #name, SKN_FIELD_##kind, offsetof(type, name), (max), (help) },

/* Declares the struct `name_t`. */
#define SKN_MESSAGE_STRUCT(name, FIELDS)                                       \
    typedef struct name {                                                      \
        FIELDS(SKN_FIELD_MEMBER, name)                                         \
    } name##_t;

/* Defines `type_schema`; configs and traces call the message `text`. */
#define SKN_MESSAGE_SCHEMA(type, text, number, FIELDS, about)                  \
    SKN_MESSAGE_SCHEMA_WITH(type, text, number, FIELDS, about, NULL)

/* The same with runs that links code: V(field, columns, lengths, sparse) for
 * `values`, C(field, kind) for the other kinds.
 *     #define CODED_word(V, C)                                                \
 *         V(vector, "columns", NULL, true)                                    \
 *         C(unit, ascending)                                                */
#define SKN_MESSAGE_SCHEMA_CODED(type, text, number, FIELDS, about, CODED)     \
    static const skn_coded_field_t type##_coded[] = { CODED(                   \
        SKN_CODED_VALUES_ENTRY, SKN_CODED_ENTRY) SKN_CODED_END };              \
    SKN_MESSAGE_SCHEMA_WITH(type, text, number, FIELDS, about, type##_coded)

#define SKN_CODED_VALUES_ENTRY(field, columns, lengths, sparse)                \
    { #field, SKN_CODED_values, (columns), (lengths), (sparse) },
#define SKN_CODED_ENTRY(field, kind)                                           \
    { #field, SKN_CODED_##kind, NULL, NULL, false },
#define SKN_CODED_END                                                          \
    {                                                                          \
        NULL, SKN_CODED_values, NULL, NULL, false                              \
    }

/* In the order of the members: C++ before 20 has no designators. */
#define SKN_MESSAGE_SCHEMA_WITH(type, text, number, FIELDS, about, list)       \
    static const skn_field_t type##_fields[] = { FIELDS(SKN_FIELD_ENTRY,       \
                                                        type##_t) };           \
    const skn_schema_t type##_schema = {                                       \
        (text),           (number),                                            \
        sizeof(type##_t), (about),                                             \
        type##_fields,    sizeof(type##_fields) / sizeof(type##_fields[0]),    \
        (list),                                                                \
    };

#endif
