/* cache_write.c - writes the bytes of a cache through a buffer, and hashes
 * them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/source/cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/source/stream.h"

static skn_status_t
refuse_write(const skn_cache_writer_t *writer, skn_error_t *error)
{
    return skn_cache_temp_refuse(writer->temp, SKN_STORAGE, "written", errno,
                                 error);
}

skn_status_t
skn_cache_writer_init(skn_cache_writer_t *writer, skn_cache_temp_t *temp,
                      size_t head_bytes, size_t room, skn_error_t *error)
{
    *writer = (skn_cache_writer_t){
        .temp = temp,
        .buffer = malloc(room),
        .room = room,
        .at = head_bytes,
        .hash = XXH3_createState(),
    };
    if (!writer->buffer || !writer->hash)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for the cache",
                        skn_stream_name_shown(temp->final));
    (void)XXH3_64bits_reset(writer->hash);
    if (lseek(temp->fd, (off_t)head_bytes, SEEK_SET) < 0)
        return refuse_write(writer, error);
    return SKN_OK;
}

void
skn_cache_writer_fini(skn_cache_writer_t *writer)
{
    free(writer->buffer);
    (void)XXH3_freeState(writer->hash);
    *writer = (skn_cache_writer_t){ 0 };
}

skn_status_t
skn_cache_flush(skn_cache_writer_t *writer, skn_error_t *error)
{
    const uint8_t *at = writer->buffer;
    (void)XXH3_64bits_update(writer->hash, at, writer->used);
    while (writer->used > 0) {
        ssize_t written = write(writer->temp->fd, at, writer->used);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return refuse_write(writer, error);
        at += written;
        writer->used -= (size_t)written;
    }
    return SKN_OK;
}

skn_status_t
skn_cache_put(skn_cache_writer_t *writer, const void *bytes, size_t count,
              skn_error_t *error)
{
    const uint8_t *from = bytes;
    writer->at += count;
    while (count > 0) {
        size_t room = writer->room - writer->used;
        size_t now = count < room ? count : room;
        memcpy(writer->buffer + writer->used, from, now);
        writer->used += now;
        from += now;
        count -= now;
        if (writer->used < writer->room)
            continue;
        skn_status_t status = skn_cache_flush(writer, error);
        if (status != SKN_OK)
            return status;
    }
    return SKN_OK;
}

skn_status_t
skn_cache_align(skn_cache_writer_t *writer, skn_error_t *error)
{
    static const uint8_t zeros[64] = { 0 };
    return skn_cache_put(writer, zeros, (size_t)(-writer->at & 63), error);
}

uint64_t
skn_cache_payload_hash(const skn_cache_writer_t *writer)
{
    return XXH3_64bits_digest(writer->hash);
}

skn_status_t
skn_cache_put_head(skn_cache_writer_t *writer, const void *head,
                   size_t head_bytes, skn_error_t *error)
{
    const uint8_t *bytes = head;
    for (size_t done = 0; done < head_bytes;) {
        ssize_t written = pwrite(writer->temp->fd, bytes + done,
                                 head_bytes - done, (off_t)done);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return refuse_write(writer, error);
        done += (size_t)written;
    }
    return SKN_OK;
}
