/* messages.c - the schemas of messages.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/messages.h"

#include "skein/actor.h"
#include "transport/schema.h"

#define DEFINE(message, id, help)                                              \
    SKN_MESSAGE_SCHEMA(skn_##message, #message, id, SKN_FIELDS_##message, help)
SKN_MESSAGES(DEFINE)
#undef DEFINE

const skn_schema_t *const skn_messages[] = {
#define ENTRY(message, id, help) &skn_##message##_schema,
    SKN_MESSAGES(ENTRY)
#undef ENTRY
        & skn_clock_schema,
    NULL,
};

void
skn_messages_document(FILE *file)
{
    skn_schemas_document(skn_messages, file);
}
