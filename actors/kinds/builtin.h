/* builtin.h - declares the table of what libskein adds to libskein-core: kinds
 * of actors, kernels, and a watch over the numbers that cross links.
 *
 * The core knows no layer and no model. libskein defines the table, and the
 * core refers to it weakly (builtin.c): it is found in a program that was
 * linked with libskein, archive or shared library, and in one that dlopen()s
 * libskein and was not linked with the core. In a program on libskein-core
 * alone there is none. Nothing is registered: no code runs when a library is
 * loaded or unloaded, and no topology sees the table come or go.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_KINDS_BUILTIN_H
#define ACTORS_KINDS_BUILTIN_H

#include "skein/actor.h"
#include "transport/message/coding.h"

/* Watches the numbers that a node's links send and receive; for one thread. */
typedef struct skn_link_watch skn_link_watch_t;

typedef enum skn_link_finding {
    SKN_LINK_GOOD,
    SKN_LINK_NOT_FINITE, /* a NaN, an infinity, or another impossible value */
    SKN_LINK_EXPLODED    /* far above all before */
} skn_link_finding_t;

typedef struct skn_builtin {
    const skn_kind_t *const *kinds; /* ends with NULL */
    /* The kernels of this processor; NULL and a filled `error` if there are
     * none by the name in SKEIN_ISA. */
    const skn_kernels_t *(*kernels)(skn_error_t *error);
    /* Messages will come from `import_count` edges. NULL and SKN_NO_MEMORY. */
    skn_link_watch_t *(*watch_new)(const skn_kernels_t *kernels,
                                   uint32_t import_count, skn_error_t *error);
    void (*watch_destroy)(skn_link_watch_t **watch);
    /* `message` will be sent with this coding and key. *measured is what to
     * send in its place: itself, or a copy that tells its receiver the error
     * of the coding, valid until the next call. SKN_BAD_MESSAGE,
     * SKN_NO_MEMORY. */
    skn_status_t (*watch_sent)(skn_link_watch_t *watch,
                               const skn_schema_t *schema, const void *message,
                               skn_coding_t coding, uint64_t key,
                               skn_coder_t *coder, const void **measured,
                               skn_error_t *error);
    /* A decoded message of edge `import`, whose arrays may contain anything.
     * If it is bad, `error` is filled with a sentence without a subject and a
     * hint. */
    skn_link_finding_t (*watch_received)(skn_link_watch_t *watch,
                                         uint32_t import,
                                         const skn_schema_t *schema,
                                         const void *message,
                                         skn_error_t *error);
} skn_builtin_t;

/* Defined by actors/builtin/builtin_table.c, in libskein. */
extern const skn_builtin_t skn_builtin;

/* The table; NULL in a program without libskein. Any thread. */
const skn_builtin_t *skn_builtin_find(void);

#endif
