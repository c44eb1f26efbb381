/* figures.h - the measurements of one node of a run, as plain numbers.
 *
 * The report prints them, an event carries them to `skein up`, and the verdict
 * (topology/host/verdict.h) derives from them what limits the run. Times are
 * wall-clock nanoseconds since the actors' threads were started, unless stated
 * otherwise.  SPDX-License-Identifier: Apache-2.0 */
#ifndef ACTORS_RUNTIME_FIGURES_H
#define ACTORS_RUNTIME_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SKN_FIGURE_NAME_BYTES 72
#define SKN_FIGURE_HANDLERS_MAX 32

typedef struct skn_handler_figures {
    char message[SKN_FIGURE_NAME_BYTES];
    uint64_t count, sum_ns, p50_ns, p99_ns, max_ns;
} skn_handler_figures_t;

/* The numbers of an actor, of a link and of a node, each listed once: they are
 * the members of the structs below, and have the same names in reports and
 * events. */
/* clang-format off */
#define SKN_ACTOR_FIGURES(N)                                                   \
    N(busy_ns)     /* in handlers and hooks */                                 \
    N(waiting_ns)  /* while it waited for a message */                         \
    N(remote_ns)   /* of waiting_ns: until one of another node arrived */      \
    N(blocked_ns)  /* until an outgoing pipe had credit */                     \
    N(open_ns)     /* of busy_ns: in its open hook */                          \
    N(ran_ns)      /* CPU time of its thread; 0: unknown */                    \
    N(queued_ns)   /* runnable, but without a core */                          \
    N(full_ns)     /* of blocked_ns: at the edge that blocked it longest */    \
    N(full_credit) /* the credit of that edge */                               \
    N(wakeups) N(restarts) N(messages_in) N(messages_out)                      \
    N(bytes_in) N(bytes_out) N(dropped) N(outbox_max)                          \
    N(held_max)    /* batches that it kept at once, between both passes */
#define SKN_LINK_FIGURES(N)                                                    \
    N(bytes_sent) N(bytes_received)                                            \
    N(rtt_ns) N(rtt_min_ns) /* smoothed, least; 0: unknown */                  \
    N(bytes_per_second)     /* while it had data to send */
#define SKN_NODE_FIGURES(N)                                                    \
    N(run_ns)                                                                  \
    N(prepare_ns)   /* before run_ns: reading the config and the data */       \
    N(core_busy_ns) /* time in which the busiest core ran an actor */          \
    N(cpu_ns)       /* CPU time of the process */                              \
    N(units)        /* cores that the process may use; 0: unknown */           \
    N(others_ns)    /* CPU time of other processes there, if others_known */   \
    N(quota_milli)  /* of its control group, 1/1000 core; 0: none */           \
    N(throttled_ns) /* time for which that quota stopped it */                 \
    N(saving_ns)    /* training was paused for checkpoints */                  \
    N(saves)        /* number of these checkpoints */                          \
    N(capped_ns)    /* time for which the rate limit held links back */
/* clang-format on */

#define SKN_FIGURE(number) uint64_t number;

typedef struct skn_actor_figures {
    char name[SKN_FIGURE_NAME_BYTES], kind[SKN_FIGURE_NAME_BYTES];
    int core; /* the core that it is bound to; < 0: none */
    SKN_ACTOR_FIGURES(SKN_FIGURE)
    /* The edge that full_ns is about. */
    char full_message[SKN_FIGURE_NAME_BYTES];
    char full_receiver[SKN_FIGURE_NAME_BYTES];
    uint64_t handler_count;
    skn_handler_figures_t handler[SKN_FIGURE_HANDLERS_MAX];
} skn_actor_figures_t;

typedef struct skn_link_figures {
    char peer[SKN_FIGURE_NAME_BYTES];
    SKN_LINK_FIGURES(SKN_FIGURE)
} skn_link_figures_t;

typedef struct skn_figures {
    char node[SKN_FIGURE_NAME_BYTES]; /* "": the only node */
    bool others_known;
    SKN_NODE_FIGURES(SKN_FIGURE)
    skn_actor_figures_t *actors; /* malloc'ed */
    skn_link_figures_t *links;   /* malloc'ed */
    uint64_t actor_count, link_count;
} skn_figures_t;

/* Frees the arrays. */
void skn_figures_fini(skn_figures_t *figures);
/* Prints one line for each actor and one for each handler. */
void skn_figures_table(const skn_figures_t *figures, FILE *file);
/* Prints an object on one line, without its closing brace. */
void skn_figures_json(const skn_figures_t *figures, FILE *file);

#endif
