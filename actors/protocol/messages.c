/* messages.c - the schemas of messages.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/messages.h"

#include "skein/actor.h"
#include "transport/message/schema.h"

#define DEFINE(message, id, help)                                              \
    SKN_MESSAGE_SCHEMA(skn_##message, #message, id, SKN_FIELDS_##message, help)
#define DEFINE_CODED(message, id, help)                                        \
    SKN_MESSAGE_SCHEMA_CODED(skn_##message, #message, id,                      \
                             SKN_FIELDS_##message, help, SKN_CODED_##message)
SKN_MESSAGES_CODED(DEFINE, DEFINE_CODED)
#undef DEFINE
#undef DEFINE_CODED

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
