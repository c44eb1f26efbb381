/* flat.c - finds the frames of a message in one buffer.
 *
 * This file owns: the flat form (drawn in schema.h), for files, tests and
 * wherever a message has to be one buffer. The contents of frames are not
 * examined.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "transport/message/schema.h"

skn_status_t
skn_wire_split(const void *flat, size_t flat_bytes, skn_wire_t *wire,
               skn_error_t *error)
{
    uint32_t start[2] = { 0, 0 };
    wire->frame_count = 0;
    if (flat_bytes >= sizeof(start))
        memcpy(start, flat, sizeof(start));
    if (start[0] == 0 || start[0] > SKN_FRAMES_MAX || start[1] != 0)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%zu flat bytes do not start like a message",
                        flat_bytes);
    const char *sizes = (const char *)flat + sizeof(start);
    size_t left = flat_bytes - sizeof(start);
    if (left < start[0] * sizeof(uint64_t))
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%zu flat bytes have no room for the sizes of %u "
                        "frames",
                        flat_bytes, start[0]);
    const char *at = sizes + start[0] * sizeof(uint64_t);
    left -= start[0] * sizeof(uint64_t);
    for (uint32_t k = 0; k < start[0]; k++) {
        uint64_t bytes;
        memcpy(&bytes, sizes + k * sizeof(bytes), sizeof(bytes));
        if (bytes > left)
            return skn_fail(error, SKN_BAD_MESSAGE,
                            "frame %u: %" PRIu64 " bytes announced, %zu left",
                            k, bytes, left);
        wire->frame[k] = (skn_frame_t){ at, (size_t)bytes };
        at += bytes;
        left -= (size_t)bytes;
    }
    if (left > 0)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%zu flat bytes after the last frame", left);
    wire->frame_count = start[0];
    return SKN_OK;
}
