/* json_text.h - reads JSON strictly, and seals texts.
 *
 * Sealed text ends with a line of its own:
 *
 *     {"format": ... ]
 *     ,"seal_xxh3_128":"32 hex digits"}
 *
 * The digits are XXH3-128 (canonical, big endian) of every byte before the
 * comma. It finds damage, not malice: any program that can write the file can
 * seal it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_JSON_TEXT_H
#define FORMATS_TEXT_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/text/json_write.h"
#include "skein/error.h"

/* A hash in text: 32 lower case digits and the NUL. */
#define SKN_HASH_TEXT_BYTES 33

/* Adds the seal and the brace that closes the outermost object.
 * SKN_NO_MEMORY when this or an earlier addition failed. */
skn_status_t skn_json_text_seal(skn_json_text_t *text, skn_error_t *error);

/* SKN_BAD_DATA unless `bytes` end with the seal that belongs to them. */
skn_status_t skn_json_check_seal(const char *path, const char *bytes,
                                 size_t byte_count, skn_error_t *error);
/* The digits of the seal at the end of the sealed `bytes`. */
void skn_json_seal_text(const char *bytes, size_t byte_count,
                        char text[SKN_HASH_TEXT_BYTES]);
/* Strictly parses one object (no duplicate keys, nothing after it); release it
 * with json_decref. NULL and SKN_BAD_DATA with line and column otherwise. */
json_t *skn_json_object_parse(const char *path, const char *bytes,
                              size_t byte_count, skn_error_t *error);
/* skn_json_write: `value` as text, for free(); NULL: no memory. skn_json_read:
 * the value of a text, which must be complete, or NULL. Like jansson, with
 * numbers in C form in any locale. */
char *skn_json_write(const json_t *value, size_t flags);
json_t *skn_json_read(const char *text);
/* False when `key` is missing or not an integer from 0 up. */
static inline bool
skn_json_u64(const json_t *object, const char *key, uint64_t *value)
{
    const json_t *number = json_object_get(object, key);
    if (!json_is_integer(number) || json_integer_value(number) < 0)
        return false;
    *value = (uint64_t)json_integer_value(number);
    return true;
}

/* The string at `key`, alive as long as `object`; NULL when there is none. */
static inline const char *
skn_json_string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* The same; "" when there is none. */
static inline const char *
skn_json_word(const json_t *object, const char *key)
{
    const char *text = skn_json_string(object, key);
    return text ? text : "";
}

/* The number at `key`; 0 when there is none. */
static inline double
skn_json_number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* XXH3-128 of `bytes`, in text. */
void skn_hash_text(const void *bytes, size_t byte_count,
                   char text[SKN_HASH_TEXT_BYTES]);
/* XXH3-64 of `bytes`. */
uint64_t skn_hash_u64(const void *bytes, size_t byte_count);
/* Whether `text` is exactly 32 lower case hex digits. */
bool skn_hash_text_good(const char *text);

#endif
