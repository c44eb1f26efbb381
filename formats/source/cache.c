/* cache.c - finds, builds and maps the cache of a source; does not choose its
 * name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/source/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/source/stream.h"

static bool
file_map(skn_cache_t *cache, int fd, size_t bytes_min)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size <= 0 || (uint64_t)status.st_size < bytes_min)
        return false;
    size_t bytes = (size_t)status.st_size;
    void *file = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (file == MAP_FAILED)
        return false;
    cache->file = file;
    cache->file_bytes = bytes;
    return true;
}

void
skn_cache_unmap(skn_cache_t *cache)
{
    if (cache->file)
        (void)munmap(cache->file, cache->file_bytes);
    free(cache->path);
    *cache = (skn_cache_t){ 0 };
}

bool
skn_cache_map(const char *path, size_t bytes_min, skn_cache_t *cache)
{
    *cache = (skn_cache_t){ 0 };
    /* O_NONBLOCK: a pipe of that name would wait for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool mapped = file_map(cache, fd, bytes_min);
    (void)close(fd);
    if (mapped)
        cache->path = strdup(path);
    if (!cache->path)
        skn_cache_unmap(cache);
    return cache->path != NULL;
}

bool
skn_cache_find(const skn_cache_places_t *places, skn_cache_fits_t *fits,
               void *owner, skn_cache_t *cache)
{
    *cache = (skn_cache_t){ 0 };
    for (size_t k = 0; k < places->count; k++) {
        if (!skn_cache_map(places->path[k], SKN_CACHE_MAGIC_BYTES, cache))
            continue;
        if (fits(owner, cache))
            return true;
        skn_cache_unmap(cache);
    }
    return false;
}

static skn_status_t
build_there(const skn_cache_places_t *places, skn_cache_temp_t *temp,
            skn_cache_write_t *write, void *owner, skn_cache_t *cache,
            skn_error_t *error)
{
    skn_status_t status = write(owner, temp, error);
    /* Users that may read the source may read its cache; no others. */
    if (status == SKN_OK)
        (void)fchmod(temp->fd, (places->form->mode & 0444) | 0600);
    if (status == SKN_OK)
        status = skn_cache_temp_keep(temp, error);
    if (status == SKN_OK && !temp->is_anonymous) {
        cache->path = strdup(temp->final);
        if (!cache->path)
            status = skn_fail(error, SKN_NO_MEMORY, "%s: no memory for it",
                              skn_stream_name_shown(temp->final));
    }
    /* A cache that this process has just written needs no check. */
    if (status == SKN_OK && !file_map(cache, temp->fd, 1))
        status = skn_fail(error, SKN_NO_MEMORY, "%s: cannot be mapped: %s",
                          skn_stream_name_shown(temp->final), strerror(errno));
    return status;
}

/* Reports the first and the last failure when all places have failed. */
static skn_status_t
refuse_places(const skn_error_t *first, const skn_cache_places_t *places,
              skn_error_t *error)
{
    if (!error || places->count == 0)
        return error ? error->status : SKN_STORAGE;
    skn_error_t last = *error;
    (void)skn_fail(error, last.status, "%.240s; nor elsewhere: %.240s",
                   first->text, last.text);
    return skn_fail_hint(error, last.status, "%s; or %s", first->hint,
                         last.hint);
}

skn_status_t
skn_cache_build(const skn_cache_places_t *places, skn_cache_write_t *write,
                void *owner, skn_cache_t *cache, skn_error_t *error)
{
    skn_cache_temp_t temp;
    skn_error_t own = { 0 }, first = { 0 };
    *cache = (skn_cache_t){ 0 };
    if (!error)
        error = &own;
    size_t end = places->count + (places->anonymous ? 1 : 0);
    skn_status_t status = SKN_OK;
    for (size_t place = 0; place < end; place++) {
        status = skn_cache_temp_open(places, place, &temp, error);
        if (status == SKN_OK)
            status = build_there(places, &temp, write, owner, cache, error);
        bool unwritable = temp.unwritable;
        skn_cache_temp_close(&temp);
        if (status == SKN_OK || !unwritable)
            break;
        if (place == 0)
            first = *error;
        if (place + 1 == end && places->anonymous)
            (void)refuse_places(&first, places, error);
    }
    if (status != SKN_OK)
        skn_cache_unmap(cache);
    return status;
}
