/* paths.c - a growing list of paths: adds, sorts, frees.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/paths.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 8u

/* The capacity is the next power of two, so that it need not be stored: it is
 * used up when the count is a power of two. */
bool
skn_paths_add(char ***list, size_t *count, char *path)
{
    bool full =
        *count == 0 || (*count >= ROOM_MIN && (*count & (*count - 1)) == 0);
    if (full) {
        size_t room = *count == 0 ? ROOM_MIN : 2 * *count;
        char **more = realloc(*list, room * sizeof(*more));
        if (!more) {
            free(path);
            return false;
        }
        *list = more;
    }
    (*list)[(*count)++] = path;
    return true;
}

static int
by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

void
skn_paths_sort(char **list, size_t count)
{
    if (count > 1)
        qsort(list, count, sizeof(*list), by_text);
}

void
skn_paths_free(char ***list, size_t *count)
{
    for (size_t k = 0; k < *count; k++)
        free((*list)[k]);
    free(*list);
    *list = NULL;
    *count = 0;
}
