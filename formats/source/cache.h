/* cache.h - binary caches of text files: where they are, how they are written
 * and found.
 *
 * A cache is a file that is made from a source once and then mapped. It has a
 * head, which is written last, and a payload, with a hash over it. It is never
 * changed in place: it is written under a name of its own and renamed when it
 * is whole, so that a map stays as it was checked, two builders both succeed
 * and a reader never sees half a file. A builder that was killed leaves
 * <cache>.XXXXXX. The owner of a format decides whether a cache fits its
 * source.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_SOURCE_CACHE_H
#define FORMATS_SOURCE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <xxhash.h>

#include "skein/error.h"

typedef enum skn_cache_place {
    /* <source><suffix> beside the source; if that cannot be written, also for
     * lack of room, a file in $XDG_CACHE_HOME/skein or ~/.cache/skein; and if
     * neither, anonymous. */
    SKN_CACHE_AUTO,
    SKN_CACHE_PATH,     /* a path that the user gave, only */
    SKN_CACHE_ANONYMOUS /* a file without a name in $TMPDIR or /tmp */
} skn_cache_place_t;

#define SKN_CACHE_MAGIC_BYTES 8u

/* The source of a cache, and how and where it is stored. */
typedef struct skn_cache_form {
    const char *source; /* path of the source */
    bool can_be_named;  /* the source can be read again: it is not a pipe */
    mode_t mode;        /* of the source; its readers may read the cache */
    skn_cache_place_t place;
    const char *path;  /* of SKN_CACHE_PATH */
    const char *magic; /* the first SKN_CACHE_MAGIC_BYTES of every such cache */
    const char *suffix; /* of its name beside the source */
} skn_cache_form_t;

/* File names in order of preference. */
#define SKN_CACHE_PLACES_MAX 2u
typedef struct skn_cache_places {
    const skn_cache_form_t *form; /* outlives the places */
    char *path[SKN_CACHE_PLACES_MAX];
    size_t count;
    bool anonymous; /* allowed when no name works */
} skn_cache_places_t;

skn_status_t skn_cache_places_init(skn_cache_places_t *places,
                                   const skn_cache_form_t *form,
                                   skn_error_t *error);
void skn_cache_places_fini(skn_cache_places_t *places);

/* The user's folder for caches, which is made if need be, for free(); NULL:
 * there is none, or no memory. */
char *skn_cache_user_folder(void);
/* $TMPDIR, or /tmp. */
const char *skn_cache_temp_folder(void);

/* A mapped cache; { 0 }: none. */
typedef struct skn_cache {
    void *file; /* read only, file_bytes long */
    size_t file_bytes;
    char *path; /* NULL: it is anonymous */
} skn_cache_t;

/* Whether the mapped cache is sound and made of the owner's source. */
typedef bool skn_cache_fits_t(void *owner, const skn_cache_t *cache);

/* Maps the first cache at one of the places that fits; false if there is
 * none. */
bool skn_cache_find(const skn_cache_places_t *places, skn_cache_fits_t *fits,
                    void *owner, skn_cache_t *cache);
/* Maps the file `path`, whatever it is. False: it cannot be mapped, or is
 * shorter than `bytes_min`. */
bool skn_cache_map(const char *path, size_t bytes_min, skn_cache_t *cache);
/* Unmaps, frees, and sets *cache to { 0 }. */
void skn_cache_unmap(skn_cache_t *cache);

/* --- writing -------------------------------------------------------------- */

/* Longest part of a name in a sentence about a temporary file. */
#define SKN_CACHE_SHOWN_BYTES 320u

/* A new file that will become a cache. */
typedef struct skn_cache_temp {
    int fd;
    char *path;        /* NULL: it has no name, or none yet */
    bool is_anonymous; /* it will never have one */
    const char *final; /* its final path, or the name to report */
    bool unwritable;   /* this place has failed, another may work */
    char shown[SKN_CACHE_SHOWN_BYTES];
} skn_cache_temp_t;

/* Creates it at place `place`; places->count: anonymous. */
skn_status_t skn_cache_temp_open(const skn_cache_places_t *places, size_t place,
                                 skn_cache_temp_t *temp, skn_error_t *error);
/* Syncs it and gives it its final name. The file stays open. */
skn_status_t skn_cache_temp_keep(skn_cache_temp_t *temp, skn_error_t *error);
/* Fills `error`: for errno `why` the file cannot be `verb` (created,
 * written). */
skn_status_t skn_cache_temp_refuse(skn_cache_temp_t *temp, skn_status_t status,
                                   const char *verb, int why,
                                   skn_error_t *error);
/* Closes; removes the file if it was not kept. */
void skn_cache_temp_close(skn_cache_temp_t *temp);

/* Writes one cache in order, and hashes its payload. */
typedef struct skn_cache_writer {
    skn_cache_temp_t *temp;
    uint8_t *buffer; /* [room]; `used` bytes wait for a write */
    size_t room, used;
    uint64_t at;        /* bytes of the file so far, the head included */
    XXH3_state_t *hash; /* of the payload that was flushed */
} skn_cache_writer_t;

/* Writes everything behind a head of `head_bytes`. `room` > 0 are the bytes of
 * the buffer. Ended by skn_cache_writer_fini, also after a failure. */
skn_status_t skn_cache_writer_init(skn_cache_writer_t *writer,
                                   skn_cache_temp_t *temp, size_t head_bytes,
                                   size_t room, skn_error_t *error);
void skn_cache_writer_fini(skn_cache_writer_t *writer);
/* Adds `count` bytes to the payload. */
skn_status_t skn_cache_put(skn_cache_writer_t *writer, const void *bytes,
                           size_t count, skn_error_t *error);
/* Adds zeros up to the next multiple of 64 bytes. */
skn_status_t skn_cache_align(skn_cache_writer_t *writer, skn_error_t *error);
/* Writes what waits: afterwards the file can be mapped. */
skn_status_t skn_cache_flush(skn_cache_writer_t *writer, skn_error_t *error);
/* XXH3, 64 bits, of the payload that was flushed. */
uint64_t skn_cache_payload_hash(const skn_cache_writer_t *writer);
/* Writes the head, last: a file without one is not a cache. */
skn_status_t skn_cache_put_head(skn_cache_writer_t *writer, const void *head,
                                size_t head_bytes, skn_error_t *error);

/* Writes a whole cache to the empty file; does not sync. */
typedef skn_status_t skn_cache_write_t(void *owner, skn_cache_temp_t *temp,
                                       skn_error_t *error);

/* Builds the cache at the first place that can be written and has room, and
 * maps it. Statuses are those of `write`, SKN_STORAGE, SKN_CANNOT_CREATE,
 * SKN_NO_PERMISSION and SKN_NO_MEMORY; then *cache is { 0 }, there is no
 * temporary file, and an older cache is as it was. */
skn_status_t skn_cache_build(const skn_cache_places_t *places,
                             skn_cache_write_t *write, void *owner,
                             skn_cache_t *cache, skn_error_t *error);

#endif
