/* names.c - reads a file of label names.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/lines.h"
#include "formats/dataset/xmc.h"

static skn_status_t
add(cli_names_t *names, const char *text, size_t bytes, skn_error_t *error)
{
    if (names->count == names->room) {
        size_t room = names->room ? names->room * 2 : 1024;
        char **grown = realloc(names->name, room * sizeof(*grown));
        if (!grown)
            return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu names",
                            room);
        names->name = grown;
        names->room = room;
    }
    char *name = strndup(text, bytes);
    if (!name)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a name");
    names->name[names->count++] = name;
    return SKN_OK;
}

skn_status_t
cli_names_read(cli_names_t *names, const char *path, skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    cli_lines_t *lines = cli_lines_open(path, error);
    const char *text = NULL;
    size_t bytes = 0;
    bool more;
    if (!lines)
        return error->status;
    skn_status_t status = SKN_OK;
    while (status == SKN_OK) {
        status = cli_lines_next(lines, true, &text, &bytes, &more, error);
        if (status != SKN_OK || bytes == SIZE_MAX)
            break;
        size_t mark = names->count == 0 ? skn_xmc_mark_bytes(text, bytes) : 0;
        status = add(names, text + mark, bytes - mark, error);
    }
    cli_lines_close(&lines);
    return status;
}

void
cli_names_fini(cli_names_t *names)
{
    for (size_t k = 0; k < names->count; k++)
        free(names->name[k]);
    free(names->name);
    memset(names, 0, sizeof(*names));
}
