/* link_driver.h - the interface of the runtime to the links between nodes.
 *
 * The runtime of a single process needs no driver. A topology with several
 * nodes names one in its wiring, which actors/links/ implements. The functions
 * are called by the host's thread.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_LINK_DRIVER_H
#define ACTORS_RUNTIME_LINK_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "actors/runtime/figures.h"
#include "skein/error.h"

typedef struct skn_system skn_system_t;
typedef struct skn_links skn_links_t;

typedef struct skn_link_driver {
    /* Creates the links, before the edges of `system`; they are destroyed after
     * the edges. NULL and a filled `error` on failure. */
    skn_links_t *(*make)(skn_system_t *system, skn_error_t *error);
    void (*destroy)(skn_links_t **links);
    /* Starts the thread; returns the result of pthread_create. */
    int (*start)(skn_links_t *links);
    void (*join)(skn_links_t *links);
    bool (*has_thread)(const skn_links_t *links);
    /* Report that all actors of this node are ready, that all have ended, or
     * that one has failed. */
    void (*ready)(skn_links_t *links);
    void (*finish)(skn_links_t *links);
    void (*fail)(skn_links_t *links, const skn_error_t *cause);
    /* stop: the run was asked to stop. close: everything has ended; the driver
     * sends what is left and leaves. */
    void (*stop)(skn_links_t *links);
    void (*close)(skn_links_t *links);
    /* Ends without a message to the other nodes, whose runs end, too. */
    void (*leave)(skn_links_t *links);
    /* Adds the figures of the links; after `join`. */
    void (*add_figures)(const skn_links_t *links, skn_figures_t *figures);
} skn_link_driver_t;

#endif
