/* field.h - reads and writes one field of a message struct by its schema.
 *
 * Message structs have many types, so that fields are accessed by offset and
 * kind. memcpy obeys the compiler's aliasing rules, and is compiled to a load.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_MESSAGE_FIELD_H
#define TRANSPORT_MESSAGE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "skein/message.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "runs travel as they lie in memory: little-endian hosts only"
#endif

/* The common layout of skn_bytes_t, skn_u32s_t and the other runs. */
typedef struct skn_run {
    void *at;
    size_t count;
} skn_run_t;

#define K(kind, type, item_bytes, help)                                        \
    _Static_assert((item_bytes) == 0 ||                                        \
                       sizeof(skn_field_##kind##_t) == sizeof(skn_run_t),      \
                   "a run is a pointer and a count");
SKN_FIELD_KINDS(K)
#undef K

/* Bytes of one item of a run; 0 if `kind` is not a run. */
static inline size_t
skn_field_item_bytes(skn_field_kind_t kind)
{
    static const uint8_t item_bytes_of[] = {
#define K(kind, type, item_bytes, help) item_bytes,
        SKN_FIELD_KINDS(K)
#undef K
    };
    return item_bytes_of[kind];
}

/* Bytes of a field of `kind` in the struct. */
static inline size_t
skn_field_struct_bytes(skn_field_kind_t kind)
{
    static const uint8_t struct_bytes_of[] = {
#define K(kind, type, item_bytes, help) sizeof(type),
        SKN_FIELD_KINDS(K)
#undef K
    };
    return struct_bytes_of[kind];
}

/* Whether a field of `kind` needs room beside the struct. */
static inline bool
skn_field_has_room(skn_field_kind_t kind)
{
    return kind == SKN_FIELD_str || skn_field_item_bytes(kind) > 0;
}

static inline const void *
skn_field_at(const skn_field_t *field, const void *message)
{
    return (const char *)message + field->offset;
}

static inline skn_run_t
skn_field_run(const skn_field_t *field, const void *message)
{
    skn_run_t run;
    memcpy(&run, skn_field_at(field, message), sizeof(run));
    return run;
}

static inline const char *
skn_field_text(const skn_field_t *field, const void *message)
{
    const char *text;
    memcpy(&text, skn_field_at(field, message), sizeof(text));
    return text;
}

static inline double
skn_field_real(const skn_field_t *field, const void *message)
{
    double real;
    memcpy(&real, skn_field_at(field, message), sizeof(real));
    return real;
}

/* The value of a u32, a u64, or the address of a loan. */
static inline uint64_t
skn_field_number(const skn_field_t *field, const void *message)
{
    uint64_t number = 0;
    void *address;
    switch (field->kind) {
    case SKN_FIELD_u32:
        memcpy(&number, skn_field_at(field, message), sizeof(uint32_t));
        break;
    case SKN_FIELD_loan:
        memcpy(&address, skn_field_at(field, message), sizeof(address));
        number = (uintptr_t)address;
        break;
    default:
        memcpy(&number, skn_field_at(field, message), sizeof(number));
        break;
    }
    return number;
}

/* The field of that name, or NULL; `name` may be NULL. */
static inline const skn_field_t *
skn_field_named(const skn_schema_t *schema, const char *name)
{
    for (size_t k = 0; name && k < schema->field_count; k++)
        if (strcmp(schema->fields[k].name, name) == 0)
            return &schema->fields[k];
    return NULL;
}

/* Overwrites the field's `bytes` bytes in the struct. */
static inline void
skn_field_set(const skn_field_t *field, void *message, const void *value,
              size_t bytes)
{
    memcpy((char *)message + field->offset, value, bytes);
}

#endif
