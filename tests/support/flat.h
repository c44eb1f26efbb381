/* flat.h - writes the frames of a message into one buffer: the flat form of
 * transport/message/schema.h, which the product reads.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_FLAT_H
#define TESTS_SUPPORT_FLAT_H

#include <string.h>

#include "transport/message/schema.h"

static inline size_t
flat_bytes_of(const skn_wire_t *wire)
{
    size_t bytes = 2 * sizeof(uint32_t) + wire->frame_count * sizeof(uint64_t);
    for (size_t k = 0; k < wire->frame_count; k++)
        bytes += wire->frame[k].bytes;
    return bytes;
}

static inline void
flat_write(const skn_wire_t *wire, void *flat)
{
    uint32_t start[2] = { (uint32_t)wire->frame_count, 0 };
    char *at = flat;
    memcpy(at, start, sizeof(start));
    at += sizeof(start);
    for (size_t k = 0; k < wire->frame_count; k++) {
        uint64_t bytes = wire->frame[k].bytes;
        memcpy(at, &bytes, sizeof(bytes));
        at += sizeof(bytes);
    }
    for (size_t k = 0; k < wire->frame_count; k++) {
        if (wire->frame[k].bytes > 0)
            memcpy(at, wire->frame[k].at, wire->frame[k].bytes);
        at += wire->frame[k].bytes;
    }
}

#endif
