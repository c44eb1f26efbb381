/* spec_pipe.h - the state of one pipe of a topology while it is read.
 *
 * Private to spec_pipes.c and spec_fields.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_SPEC_SPEC_PIPE_H
#define TOPOLOGY_SPEC_SPEC_PIPE_H

#include "topology/spec/spec_internal.h"
#include "topology/config/values.h"

/* Options of a pipe, in the order of their table in spec_pipes.c. */
enum {
    MESSAGE,
    PATTERN,
    COLLECT,
    KEY,
    BY,
    CREDIT,
    PEER,
    CODING,
    PIPE_OPTION_COUNT
};

/* The state of a pipe while it is read. */
typedef struct spec_pipe {
    skn_spec_t *spec;
    const skn_node_t *node;
    skn_value_t values[PIPE_OPTION_COUNT];
    skn_wired_pipe_t *pipe;
    uint32_t *seen; /* for each actor: the last list of ends that named it */
    uint32_t stamp; /* number of this list of ends */
} spec_pipe_t;

/* The mark of the value of `key`, or of the pipe if it is not set. */
skn_mark_t skn_spec_place(const spec_pipe_t *reading, const char *key);
bool skn_spec_is_set(const spec_pipe_t *reading, const char *key);

/* Reads key and bounds of a scatter; both are refused for other patterns. */
skn_status_t skn_spec_read_scatter(spec_pipe_t *reading);
/* Reads the field that identifies a set of parts; refused for pipes that
 * collect none. */
skn_status_t skn_spec_read_collect(spec_pipe_t *reading);

#endif
