/* offload.h - a file without a name, mapped into memory, for what does not fit
 * into it.
 *
 * The kernel holds of it in memory what was touched last and what is free, and
 * writes the rest: its pages may be taken back at any time, unlike those of a
 * plain allocation. All blocks are reserved at the start, so that a full disk
 * is found there and not by a signal in the middle of a run. Nothing is left of
 * it however the process ends.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_ROWS_OFFLOAD_H
#define ACTORS_ROWS_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

typedef struct skn_offload {
    unsigned char *at; /* zeroed; NULL: there is none */
    size_t bytes;
    int file;
} skn_offload_t;

/* What a folder's disk can take. */
typedef struct skn_offload_disk {
    uint64_t room_bytes;
    bool memory; /* tmpfs: what is there is in memory after all */
} skn_offload_disk_t;

/* `folder` need not be there yet: then the nearest above it counts. */
skn_status_t skn_offload_look(const char *folder, skn_offload_disk_t *disk,
                              skn_error_t *error);

skn_status_t skn_offload_open(skn_offload_t *offload, const char *folder,
                              size_t bytes, skn_error_t *error);
void skn_offload_close(skn_offload_t *offload);
/* Whether the disk kept all that the kernel has given it so far: a page that it
 * did not take is dropped, and reads as it was before. SKN_STORAGE; says each
 * failure once. */
skn_status_t skn_offload_check(const skn_offload_t *offload,
                               skn_error_t *error);

/* `bytes` from `from` on will be touched soon: the kernel begins to read what
 * it does not hold, and the caller goes on. */
void skn_offload_expect(const unsigned char *from, size_t bytes);
/* How it will be touched: from one end to the other, or here and there, which
 * is how it begins. Reading ahead helps the first alone. */
void skn_offload_walk(const skn_offload_t *offload, bool in_order);

#endif
