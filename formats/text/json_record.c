/* json_record.c - reads and writes JSON objects by the table of their fields.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/json_record.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* --- writing -------------------------------------------------------------- */

static bool
is_unset(skn_json_type_t type, const void *at)
{
    switch (type) {
    case SKN_JSON_TYPE_U64:
        return *(const uint64_t *)at == 0;
    case SKN_JSON_TYPE_REAL:
        return !(fabs(*(const double *)at) > 0);
    case SKN_JSON_TYPE_FLAG:
        return !*(const bool *)at;
    case SKN_JSON_TYPE_TEXT:
        return !*(const char *const *)at || !**(const char *const *)at;
    default:
        return !*(const json_t *const *)at;
    }
}

static json_t *
value_of(skn_json_type_t type, const void *at)
{
    switch (type) {
    case SKN_JSON_TYPE_U64:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case SKN_JSON_TYPE_REAL:
        return json_real(*(const double *)at);
    case SKN_JSON_TYPE_FLAG:
        return json_boolean(*(const bool *)at);
    case SKN_JSON_TYPE_TEXT:
        return json_string(*(const char *const *)at);
    default: /* the object holds a reference of its own */
        return json_incref(*(json_t *const *)at);
    }
}

json_t *
skn_json_record_write(const skn_json_record_t *record, const void *values)
{
    json_t *object = json_object();
    for (size_t k = 0; object && k < record->field_count; k++) {
        const skn_json_field_t *field = &record->fields[k];
        const void *at = (const char *)values + field->offset;
        if (field->optional && is_unset(field->type, at))
            continue;
        if (json_object_set_new(object, field->name,
                                value_of(field->type, at)) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

/* --- reading -------------------------------------------------------------- */

static bool
are_texts(const json_t *value)
{
    size_t k;
    const json_t *item;
    json_array_foreach(value, k, item)
    {
        if (!json_is_string(item))
            return false;
    }
    return json_is_array(value);
}

/* Room for any record of a list, which is read only to check it. */
#define ITEM_BYTES_MAX 256

static skn_status_t
check_items(const skn_json_record_t *item, const json_t *value,
            skn_error_t *error)
{
    size_t k;
    const json_t *one;
    _Alignas(max_align_t) char values[ITEM_BYTES_MAX];
    assert(item->bytes <= sizeof(values));
    json_array_foreach(value, k, one)
    {
        if (skn_json_record_read(item, one, values, error) != SKN_OK)
            return SKN_BAD_MESSAGE;
    }
    return SKN_OK;
}

/* Stores the value. False: it is not of the field's type. */
static bool
take(skn_json_type_t type, const json_t *value, void *at)
{
    switch (type) {
    case SKN_JSON_TYPE_U64:
        *(uint64_t *)at = (uint64_t)json_integer_value(value);
        return json_is_integer(value) && json_integer_value(value) >= 0;
    case SKN_JSON_TYPE_REAL:
        *(double *)at = json_number_value(value);
        return json_is_number(value);
    case SKN_JSON_TYPE_FLAG:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value);
    case SKN_JSON_TYPE_TEXT:
        *(const char **)at = json_string_value(value);
        return json_is_string(value);
    case SKN_JSON_TYPE_TEXTS:
        *(const json_t **)at = value;
        return are_texts(value);
    case SKN_JSON_TYPE_LIST:
        *(const json_t **)at = value;
        return json_is_array(value);
    default:
        *(const json_t **)at = value;
        return true;
    }
}

static const char *
name_of(skn_json_type_t type)
{
    static const char *const names[] = {
        [SKN_JSON_TYPE_U64] = "an integer from 0 up",
        [SKN_JSON_TYPE_REAL] = "a number",
        [SKN_JSON_TYPE_FLAG] = "true or false",
        [SKN_JSON_TYPE_TEXT] = "a string",
        [SKN_JSON_TYPE_TEXTS] = "a list of strings",
        [SKN_JSON_TYPE_ANY] = "a value",
        [SKN_JSON_TYPE_LIST] = "a list",
    };
    return names[type];
}

skn_status_t
skn_json_record_read(const skn_json_record_t *record, const json_t *object,
                     void *values, skn_error_t *error)
{
    memset(values, 0, record->bytes);
    if (!json_is_object(object))
        return skn_fail(error, SKN_BAD_MESSAGE, "%s: not a JSON object",
                        record->name);
    for (size_t k = 0; k < record->field_count; k++) {
        const skn_json_field_t *field = &record->fields[k];
        void *at = (char *)values + field->offset;
        const json_t *value = json_object_get(object, field->name);
        if (!value && field->type == SKN_JSON_TYPE_TEXT)
            *(const char **)at = "";
        if (!value && field->optional)
            continue;
        if (!value)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: the field '%s' is missing", record->name,
                            field->name);
        if (!take(field->type, value, at))
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "%s: the field '%s' is not %s", record->name,
                            field->name, name_of(field->type));
        if (field->item && check_items(field->item, value, error) != SKN_OK)
            return SKN_BAD_MESSAGE;
    }
    return SKN_OK;
}
