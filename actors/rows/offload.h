/* offload.h - maps a nameless file into memory, for optimizer moments that do
 * not fit in memory.
 *
 * The kernel keeps recently used pages in free memory, and writes the rest: it
 * may reclaim these pages at any time, unlike those of a plain allocation. All
 * blocks are reserved at the start, so that a full disk is found then and not
 * by a signal in the middle of a run. The file disappears however the process
 * ends.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_ROWS_OFFLOAD_H
#define ACTORS_ROWS_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

typedef struct skn_offload {
    unsigned char *at; /* zeroed; NULL: no file is open */
    size_t bytes;
    int file;
} skn_offload_t;

/* The room on a folder's disk. */
typedef struct skn_offload_disk {
    uint64_t room_bytes;
    bool memory; /* tmpfs: its files are in memory */
} skn_offload_disk_t;

/* Finds the room for `folder`, or for its nearest parent if it does not exist
 * yet. */
skn_status_t skn_offload_examine(const char *folder, skn_offload_disk_t *disk,
                                 skn_error_t *error);

skn_status_t skn_offload_open(skn_offload_t *offload, const char *folder,
                              size_t bytes, skn_error_t *error);
void skn_offload_close(skn_offload_t *offload);
/* Checks that the disk stored everything that the kernel wrote so far: a page
 * whose write failed is dropped, and reads as it was before. SKN_STORAGE;
 * reports each failure once. */
skn_status_t skn_offload_check(const skn_offload_t *offload,
                               skn_error_t *error);

/* Announces that `bytes` from `from` on will be used soon: the kernel begins to
 * read pages that are not in memory, and the call returns at once. */
void skn_offload_expect(const unsigned char *from, size_t bytes);
/* Announces how the file will be read: in order, or at random as from the
 * start. Reading ahead helps only the first. */
void skn_offload_walk(const skn_offload_t *offload, bool in_order);

#endif
