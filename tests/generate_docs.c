/* generate_docs.c - prints the pages of docs/ that follow from tables.
 *
 * Usage: generate_docs config|messages
 * .ci/docs writes them; CI asks whether they are those of the sources.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "actors/messages.h"
#include "topology/reference.h"
#include "transport/schema.h"

int
main(int argument_count, char **arguments)
{
    skn_error_t error = { 0 };
    skn_status_t status = SKN_OK;
    const char *page = argument_count == 2 ? arguments[1] : "";
    if (strcmp(page, "config") == 0)
        status = skn_reference_print(stdout, &error);
    else if (strcmp(page, "messages") == 0)
        skn_schemas_document(skn_messages, stdout);
    else
        status = skn_fail(&error, SKN_USAGE,
                          "usage: generate_docs config|messages");
    if (status == SKN_OK && (fflush(stdout) != 0 || ferror(stdout)))
        status = skn_fail(&error, SKN_STORAGE, "standard output is broken");
    if (status != SKN_OK)
        (void)fprintf(stderr, "generate_docs: %s\n", error.text);
    return skn_status_exit_code(status);
}
