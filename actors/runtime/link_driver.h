/* link_driver.h - what the runtime asks of whatever carries pipes between
 * nodes.
 *
 * The runtime of one process needs none: a topology with several nodes names
 * one in its wiring, which actors/links/ implements. Functions are called by
 * the host's thread.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_LINK_DRIVER_H
#define ACTORS_RUNTIME_LINK_DRIVER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "actors/runtime/figures.h"
#include "skein/error.h"

typedef struct skn_system skn_system_t;
typedef struct skn_links skn_links_t;

typedef struct skn_link_driver {
    /* Made before the edges of `system` (whose context it uses) and destroyed
     * after them. NULL and a filled `error`. */
    skn_links_t *(*make)(skn_system_t *system, skn_error_t *error);
    void (*destroy)(skn_links_t **links);
    /* Starts the thread; returns what pthread_create does. */
    int (*start)(skn_links_t *links, const pthread_attr_t *attributes);
    void (*join)(skn_links_t *links);
    bool (*has_thread)(const skn_links_t *links);
    /* All actors of this node are ready; have ended; one has failed. */
    void (*ready)(skn_links_t *links);
    void (*finish)(skn_links_t *links);
    void (*fail)(skn_links_t *links, const skn_error_t *cause);
    /* The run was asked to stop; all is over: send what is left, then leave. */
    void (*stop)(skn_links_t *links);
    void (*close)(skn_links_t *links);
    /* Ends without a message to the others, whose runs end, too. */
    void (*leave)(skn_links_t *links);
    /* Adds what the links have carried, and how; after `join`. */
    void (*add_figures)(const skn_links_t *links, skn_figures_t *figures);
} skn_link_driver_t;

#endif
