/* describe.c - prints a message as one log line, and schemas as a page of docs.
 *
 * This file owns: how a message is printed, and the form of
 * docs/reference/messages.md.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "transport/message/field.h"
#include "transport/message/schema.h"

/* The most of a run or a text that a log line shows. */
#define SHOWN_ITEMS_MAX 8u
#define SHOWN_TEXT_BYTES_MAX 60u

/* --- one message --------------------------------------------------------- */

/* Quoted as in JSON, and cut between two letters. */
static void
print_text(const char *text, FILE *file)
{
    size_t bytes = strlen(text);
    size_t shown = bytes;
    if (bytes > SHOWN_TEXT_BYTES_MAX) {
        shown = SHOWN_TEXT_BYTES_MAX;
        while (shown > 0 && ((uint8_t)text[shown] & 0xc0) == 0x80)
            shown--;
    }
    (void)fputc('"', file);
    for (size_t k = 0; k < shown; k++) {
        uint8_t letter = (uint8_t)text[k];
        if (letter < 0x20 || letter == 0x7f)
            (void)fprintf(file, "\\u%04x", letter);
        else if (letter == '"' || letter == '\\')
            (void)fprintf(file, "\\%c", letter);
        else
            (void)fputc(letter, file);
    }
    (void)fputs(shown < bytes ? "...\"" : "\"", file);
}

/* Item `k` of a run; memcpy for the reason given in field.h. */
static void
print_item(skn_field_kind_t kind, const char *items, size_t k, FILE *file)
{
    uint64_t number = 0;
    float narrow;
    double real;
    size_t item_bytes = skn_field_item_bytes(kind);
    const char *item = items + k * item_bytes;
    switch (kind) {
    case SKN_FIELD_f32s:
        memcpy(&narrow, item, sizeof(narrow));
        (void)skn_text_print(file, " %.6g", (double)narrow);
        break;
    case SKN_FIELD_f64s:
        memcpy(&real, item, sizeof(real));
        (void)skn_text_print(file, " %.6g", real);
        break;
    case SKN_FIELD_bytes:
        (void)fprintf(file, " %02x", (uint8_t)*item);
        break;
    default:
        memcpy(&number, item, item_bytes);
        (void)fprintf(file, " %" PRIu64, number);
        break;
    }
}

static void
print_run(const skn_field_t *field, const void *message, FILE *file)
{
    skn_run_t run = skn_field_run(field, message);
    (void)fprintf(file, "%s[%zu]", field->name, run.count);
    for (size_t k = 0; k < run.count && k < SHOWN_ITEMS_MAX; k++)
        print_item(field->kind, run.at, k, file);
    if (run.count > SHOWN_ITEMS_MAX)
        (void)fputs(" ...", file);
}

void
skn_print(const skn_schema_t *schema, const void *message, FILE *file)
{
    (void)fprintf(file, "%s{", schema->name);
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        if (k > 0)
            (void)fputs(", ", file);
        if (skn_field_item_bytes(field->kind) > 0) {
            print_run(field, message, file);
            continue;
        }
        (void)fprintf(file, "%s ", field->name);
        if (field->kind == SKN_FIELD_str)
            print_text(skn_field_text(field, message), file);
        else if (field->kind == SKN_FIELD_f64)
            (void)skn_text_print(file, "%.6g", skn_field_real(field, message));
        else if (field->kind == SKN_FIELD_loan) /* no address in a log */
            (void)fputs(skn_field_number(field, message) ? "lent" : "none",
                        file);
        else
            (void)fprintf(file, "%" PRIu64, skn_field_number(field, message));
    }
    (void)fputc('}', file);
}

/* --- the reference ------------------------------------------------------- */

/* As people write it: 2^32 - 1 instead of ten digits. */
static void
print_max(const skn_field_t *field, FILE *file)
{
    if (field->kind == SKN_FIELD_f64 || field->kind == SKN_FIELD_loan)
        return; /* not limited */
    for (uint32_t power = 16; power <= 64; power++) {
        uint64_t below = power < 64 ? (UINT64_C(1) << power) - 1 : UINT64_MAX;
        if (field->max == below || field->max - 1 == below) {
            (void)fprintf(file, "2^%u%s", power,
                          field->max == below ? " - 1" : "");
            return;
        }
    }
    (void)fprintf(file, "%" PRIu64, field->max);
}

static void
document(const skn_schema_t *schema, FILE *file)
{
    static const char *const kind_names[] = {
#define K(kind, type, item_bytes, help) #kind,
        SKN_FIELD_KINDS(K)
#undef K
    };
    (void)fprintf(file, "\n## %s\n\nId %" PRIu32 ": %s.\n", schema->name,
                  schema->id, schema->help);
    if (schema->field_count == 0) {
        (void)fputs("It has no fields.\n", file);
        return;
    }
    (void)fputs("\n| field | kind | at most | meaning |\n|---|---|---|---|\n",
                file);
    for (size_t k = 0; k < schema->field_count; k++) {
        const skn_field_t *field = &schema->fields[k];
        (void)fprintf(file, "| %s | %s | ", field->name,
                      kind_names[field->kind]);
        print_max(field, file);
        (void)fprintf(file, " | %s |\n", field->help);
    }
}

void
skn_schemas_document(const skn_schema_t *const *schemas, FILE *file)
{
    (void)fputs("# Messages\n\nPrinted from the tables; do not edit. `at "
                "most` limits the value of a number, the\nbytes of a text, "
                "and the items of a run.\n\n| kind | meaning |\n|---|---|\n",
                file);
#define K(kind, type, item_bytes, help)                                        \
    (void)fputs("| " #kind " | " help " |\n", file);
    SKN_FIELD_KINDS(K)
#undef K
    for (size_t k = 0; schemas[k]; k++)
        document(schemas[k], file);
}
