/* newer.c - a node that speaks the next version of the link protocol.
 *
 * Linked into a `skein` of its own with --wrap=skn_fragment_write and
 * --wrap=skn_fragment_read: it sends version 2 and accepts nothing else, as far
 * as the first six fields of a header allow (docs/reference/wire.md).
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/link/fragment.h"

#define NEXT (SKN_LINK_VERSION + 1)

size_t __real_skn_fragment_write(const skn_fragment_header_t *header,
                                 uint8_t *bytes);
size_t __wrap_skn_fragment_write(const skn_fragment_header_t *header,
                                 uint8_t *bytes);
skn_status_t __real_skn_fragment_read(skn_frame_t frame, size_t body_bytes,
                                      skn_fragment_header_t *header,
                                      skn_link_reason_t *reason,
                                      skn_error_t *error);
skn_status_t __wrap_skn_fragment_read(skn_frame_t frame, size_t body_bytes,
                                      skn_fragment_header_t *header,
                                      skn_link_reason_t *reason,
                                      skn_error_t *error);

size_t
__wrap_skn_fragment_write(const skn_fragment_header_t *header, uint8_t *bytes)
{
    skn_fragment_header_t mine = *header;
    mine.version = NEXT;
    return __real_skn_fragment_write(&mine, bytes);
}

skn_status_t
__wrap_skn_fragment_read(skn_frame_t frame, size_t body_bytes,
                         skn_fragment_header_t *header,
                         skn_link_reason_t *reason, skn_error_t *error)
{
    skn_status_t status =
        __real_skn_fragment_read(frame, body_bytes, header, reason, error);
    if (status != SKN_OK)
        return status;
    *reason = SKN_LINK_REASON_VERSION;
    return skn_fail(error, SKN_BAD_MESSAGE, "fragment: version %u",
                    header->version);
}
