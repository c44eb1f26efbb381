/* json_record.h - reads and writes JSON objects as structs, by one declaration
 * of their fields.
 *
 * A record is declared once, as a list of fields:
 *
 *     #define SAVED_FIELDS(F, L, R)                                        \
 *         F(R, U64, generation, ALWAYS, "that wrote the checkpoint")       \
 *         F(R, TEXT, note, MAYBE, "for people")                            \
 *         L(R, file, files, ALWAYS, "of the checkpoint")
 *     SKN_JSON_STRUCT(saved, SAVED_FIELDS)     in a header: saved_t
 *     SKN_JSON_RECORD(saved, "saved", SAVED_FIELDS)   in a source:
 *                                                     saved_record
 *
 * F is a value, L a list of another record (file_record). Reading checks the
 * type of each field and refuses a record that lacks a field which is ALWAYS
 * there; unknown fields are ignored, since a newer peer may send them. The
 * structs borrow their texts and lists from the JSON value.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_JSON_RECORD_H
#define FORMATS_TEXT_JSON_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

typedef enum skn_json_type {
    SKN_JSON_TYPE_U64,   /* uint64_t; an integer from 0 to INT64_MAX */
    SKN_JSON_TYPE_REAL,  /* double */
    SKN_JSON_TYPE_FLAG,  /* bool */
    SKN_JSON_TYPE_TEXT,  /* const char *, never NULL after reading */
    SKN_JSON_TYPE_TEXTS, /* const json_t *: an array of strings */
    SKN_JSON_TYPE_ANY,   /* const json_t *: any value, unchecked */
    SKN_JSON_TYPE_LIST   /* const json_t *: an array of records */
} skn_json_type_t;

typedef struct skn_json_record skn_json_record_t;

typedef struct skn_json_field {
    const char *name;
    skn_json_type_t type;
    bool optional; /* when it is 0, false, "" or NULL it is not written */
    size_t offset;
    const skn_json_record_t *item; /* of a list */
    const char *help;
} skn_json_field_t;

struct skn_json_record {
    const char *name;
    size_t bytes; /* of the struct */
    const skn_json_field_t *fields;
    size_t field_count;
};

/* Returns an object with the fields of the struct at `values`, the caller's to
 * release; NULL if memory is short, or a text is not UTF-8. */
json_t *skn_json_record_write(const skn_json_record_t *record,
                              const void *values);
/* Fills the struct at `values` from `object`; optional fields that are missing
 * become 0, false, "" or NULL. SKN_BAD_MESSAGE, naming record and field. */
skn_status_t skn_json_record_read(const skn_json_record_t *record,
                                  const json_t *object, void *values,
                                  skn_error_t *error);

/* clang-format off */
#define SKN_JSON_C_U64   uint64_t
#define SKN_JSON_C_REAL  double
#define SKN_JSON_C_FLAG  bool
#define SKN_JSON_C_TEXT  const char *
#define SKN_JSON_C_TEXTS const json_t *
#define SKN_JSON_C_ANY   const json_t *
#define SKN_JSON_NEED_ALWAYS false
#define SKN_JSON_NEED_MAYBE  true
#define SKN_JSON_MEMBER(R, type, name, need, help) SKN_JSON_C_##type name;
#define SKN_JSON_MEMBERS(R, what, name, need, help) const json_t *name;
#define SKN_JSON_STRUCT(record, FIELDS)                                        \
    typedef struct record {                                                    \
        FIELDS(SKN_JSON_MEMBER, SKN_JSON_MEMBERS, record)                      \
    } record##_t;
#define SKN_JSON_ROW(R, type, name, need, help)                                \
    { #name, SKN_JSON_TYPE_##type, SKN_JSON_NEED_##need, offsetof(R##_t, name),\
      NULL, help },
#define SKN_JSON_ROWS(R, what, name, need, help)                               \
    { #name, SKN_JSON_TYPE_LIST, SKN_JSON_NEED_##need, offsetof(R##_t, name),  \
      &what##_record, help },
#define SKN_JSON_RECORD(record, word, FIELDS)                                  \
    const skn_json_record_t record##_record = {                                \
        word, sizeof(record##_t),                                              \
        (const skn_json_field_t[]){                                            \
            FIELDS(SKN_JSON_ROW, SKN_JSON_ROWS, record)                        \
        },                                                                     \
        sizeof((const skn_json_field_t[]){                                     \
            FIELDS(SKN_JSON_ROW, SKN_JSON_ROWS, record)                        \
        }) / sizeof(skn_json_field_t)                                          \
    };
/* clang-format on */

#endif
