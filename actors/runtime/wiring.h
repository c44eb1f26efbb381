/* wiring.h - the input of the runtime: actors and the pipes between them.
 *
 * Plain data. topology/spec/spec.c makes it from a topology file that it has
 * checked; actors/runtime/system_run.c turns it into threads and sockets. The
 * maker of the wiring owns all text and arrays, which must outlive the run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_WIRING_H
#define ACTORS_RUNTIME_WIRING_H

#include "skein/actor.h"

/* How a sender chooses receivers, and whether a receiver gets single messages
 * or one part of every sender put together. `gather` and `reduce` as patterns
 * are short for broadcast + collect. */
typedef enum skn_pattern {
    SKN_PATTERN_ONE,       /* exactly one receiver a sender: the k-th sender
                            * to the k-th receiver, or all to a single one */
    SKN_PATTERN_BROADCAST, /* every receiver gets it */
    SKN_PATTERN_SCATTER,   /* the receiver(s) whose range holds the key */
    SKN_PATTERN_ANY        /* the receiver with the most credit */
} skn_pattern_t;

typedef enum skn_collect {
    SKN_COLLECT_NONE,
    SKN_COLLECT_GATHER, /* handler gets skn_parts_t */
    SKN_COLLECT_REDUCE, /* handler gets one message, combined in order */
    SKN_COLLECT_PARTS   /* handler gets skn_parts_t of one part each and
                         * assembles them itself */
} skn_collect_t;

static inline bool
skn_collect_waits(skn_collect_t collect)
{
    return collect == SKN_COLLECT_GATHER || collect == SKN_COLLECT_REDUCE;
}

/* Whether handlers see skn_parts_t. */
static inline bool
skn_collect_parts(skn_collect_t collect)
{
    return collect == SKN_COLLECT_GATHER || collect == SKN_COLLECT_PARTS;
}

/* A checked value of an option, of the type that the kind's table gives. */
typedef struct skn_value {
    const skn_option_t *option;
    bool truth;
    int64_t number;
    double real;
    const char *text; /* as written, also for the other types */
} skn_value_t;

/* One of the processes that make up the run, on its machine. */
typedef struct skn_wired_node {
    const char *name;
    const char *address; /* "tcp://host:port"; "": a single node needs none */
    const char *via;     /* the node that relays to it; "": it has an address */
    const char *key;     /* path of its certificate; "": no keys */
    const char *ssh;     /* the host on which `skein up` starts it; "": here, or
                          * by hand */
    uint32_t core_count; /* cores dealt to its actors; 0: unspecified */
    uint64_t memory_bytes; /* memory that they may use; 0: unspecified */
} skn_wired_node_t;

#define SKN_CORE_FLOAT (-1) /* anywhere in the process's own mask */
#define SKN_CORE_AUTO (-2)  /* placement decides */

typedef struct skn_wired_actor {
    const char *name; /* "output.3" */
    const skn_kind_t *kind;
    const char *plugin;    /* the file that has the kind; NULL: no plug-in */
    uint32_t index, peers; /* 3, and how many "output.*" there are */
    const skn_value_t *values; /* one for each option of the kind, in order */
    int core;      /* logical number within the process's mask, or SKN_CORE_* */
    int nice;      /* added niceness of the thread, 0..19 */
    uint32_t node; /* the node that it runs on; 0 without nodes */
} skn_wired_actor_t;

/* The names of skn_coding_t (transport/message/coding.h), in its order. */
#define SKN_CODING_WORDS "f32|bf16|int8|int4"

typedef struct skn_wired_pipe {
    const skn_schema_t *schema;
    skn_pattern_t pattern;
    skn_collect_t collect;
    const uint32_t *from, *to; /* indices of actors */
    uint32_t from_count, to_count;
    uint32_t credit; /* messages a sender may have unhandled at a receiver */
    /* A pipe of answers to other messages: there are as many as messages to be
     * answered, and they end with them. They do not keep their receiver
     * running, and a cycle through such a pipe needs no gate. */
    bool peer;
    const skn_field_t *key; /* scatter: u32, u64, u32s or u64s ascending */
    const uint64_t *bounds; /* scatter: to_count + 1 ascending numbers */
    const skn_field_t *by;  /* collect: u64 field that names the set of parts */
    uint32_t coding;        /* of numbers sent between nodes: skn_coding_t, 0:
                             * f32 */
} skn_wired_pipe_t;

typedef struct skn_wiring {
    const char *name;
    const skn_wired_actor_t *actors;
    uint32_t actor_count;
    const skn_wired_pipe_t *pipes;
    uint32_t pipe_count;
    const skn_wired_node_t *nodes;
    uint32_t node_count;                       /* 0: one process, no network */
    const struct skn_link_driver *link_driver; /* NULL with a single node */
} skn_wiring_t;

#endif
