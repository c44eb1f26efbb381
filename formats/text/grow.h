/* grow.h - grows an array by doubling its room.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_GROW_H
#define FORMATS_TEXT_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define SKN_GROW_ROOM_MIN 16u

/* Gives *array, of elements of `size` bytes, room for `wanted` of them; *room
 * is how many it has room for. False: no memory, and both are as before. */
static inline bool
skn_grow(void **array, size_t *room, size_t wanted, size_t size)
{
    size_t more = *room ? *room : SKN_GROW_ROOM_MIN;
    while (more < wanted)
        more *= 2;
    if (more == *room)
        return true;
    void *grown = realloc(*array, more * size);
    if (!grown)
        return false;
    *array = grown;
    *room = more;
    return true;
}

#endif
