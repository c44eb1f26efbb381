/* describe.c - prints schemas as a page of docs.
 *
 * This file owns: the form of docs/reference/messages.md.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "transport/message/schema.h"

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
