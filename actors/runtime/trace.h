/* trace.h - records what an actor does and when, for a Chrome / Perfetto trace.
 *
 * Each actor has its own ring, which only its thread writes and which keeps the
 * newest records. The host writes the file after the threads have been joined.
 * Format: Trace Event Format ("X" spans, "s"/"f" flows), timestamps in
 * microseconds since the start.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_TRACE_H
#define ACTORS_RUNTIME_TRACE_H

#include <stdio.h>

#include "skein/error.h"
#include "skein/message.h"

/* The records that an actor keeps. */
#define SKN_TRACE_RECORDS 32768u

typedef enum skn_trace_type {
    SKN_TRACE_HANDLE, /* a span: `schema` was handled */
    SKN_TRACE_HOOK,   /* a span: `name` of the kind ran */
    SKN_TRACE_SEND,   /* message number `sequence` left on edge `edge` */
    SKN_TRACE_TAKE    /* message `sequence` of `edge` was taken from the
                       * inbox */
} skn_trace_type_t;

typedef struct skn_trace skn_trace_t;

/* NULL and a filled `error` when memory is short. */
skn_trace_t *skn_trace_new(skn_error_t *error);
void skn_trace_destroy(skn_trace_t **trace);

/* Adds a record; `trace` may be NULL. The batch number is read from `message`
 * (may be NULL), if it has one. `name` and `schema` are kept by pointer. */
void skn_trace_span(skn_trace_t *trace, const char *name, uint64_t begin_ns,
                    uint64_t end_ns, const skn_schema_t *schema,
                    const void *message);
void skn_trace_flow(skn_trace_t *trace, skn_trace_type_t type, uint64_t at_ns,
                    const char *name, uint64_t edge, uint64_t sequence);

/* Writes the actor's records as events of thread `number` of process `process`,
 * called `name`, each followed by a comma; times relative to `origin_ns`. */
void skn_trace_write(const skn_trace_t *trace, FILE *file, uint32_t process,
                     uint32_t number, const char *name, uint64_t origin_ns);

#endif
