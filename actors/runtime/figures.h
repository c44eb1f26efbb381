/* figures.h - what one node of a run measured of itself: plain numbers.
 *
 * The report prints them, an event carries them to `skein up`, and the verdict
 * (topology/run/verdict.h) says from them what bounds the run. Times are
 * wall-clock nanoseconds since the actors' threads were started, if nothing
 * else is said.
 * SPDX-License-Identifier: Apache-2.0 */
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

/* The numbers of an actor, of a link, of a node, each once: members of the
 * structs below, in reports and in events under their own names. */
/* clang-format off */
#define SKN_ACTOR_FIGURES(N)                                                   \
    N(busy_ns)     /* in handlers and hooks */                                 \
    N(waiting_ns)  /* for a message */                                         \
    N(remote_ns)   /* of that: until one came from another node */             \
    N(blocked_ns)  /* until a pipe out had room */                             \
    N(open_ns)     /* of busy_ns: in its open */                               \
    N(ran_ns)      /* CPU time of its thread; 0: not known */                  \
    N(queued_ns)   /* it could have run, and had no core */                    \
    N(full_ns)     /* of blocked_ns: at the edge where that was most */        \
    N(full_credit) /* the credit of that edge */                               \
    N(wakeups) N(restarts) N(messages_in) N(messages_out)                      \
    N(bytes_in) N(bytes_out) N(dropped) N(outbox_max)
#define SKN_LINK_FIGURES(N)                                                    \
    N(bytes_sent) N(bytes_received)                                            \
    N(rtt_ns) N(rtt_min_ns) /* smoothed, least; 0: not known */                \
    N(bytes_per_second)     /* while it had something to carry */
#define SKN_NODE_FIGURES(N)                                                    \
    N(run_ns)                                                                  \
    N(prepare_ns)   /* before it: reading the config and the data */           \
    N(core_busy_ns) /* the busiest core had an actor at work */                \
    N(cpu_ns)       /* CPU time of the process */                              \
    N(units)        /* cores that it may use; 0: not known */                  \
    N(others_ns)    /* CPU time of others on these cores, if others_known */   \
    N(quota_milli)  /* of its control group, 1/1000 core; 0: none */           \
    N(throttled_ns) /* it was held back by that */                             \
    N(saving_ns)    /* the course of the run stood at a checkpoint */          \
    N(saves)        /* ... so often */                                         \
    N(capped_ns)    /* links were held back by the rate that was set */
/* clang-format on */

#define SKN_FIGURE(number) uint64_t number;

typedef struct skn_actor_figures {
    char name[SKN_FIGURE_NAME_BYTES], kind[SKN_FIGURE_NAME_BYTES];
    int core; /* that it is bound to; < 0: to none */
    SKN_ACTOR_FIGURES(SKN_FIGURE)
    /* The edge of full_ns. */
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
    char node[SKN_FIGURE_NAME_BYTES]; /* "": there is one node */
    bool others_known;
    SKN_NODE_FIGURES(SKN_FIGURE)
    skn_actor_figures_t *actors; /* malloc'ed */
    skn_link_figures_t *links;   /* malloc'ed */
    uint64_t actor_count, link_count;
} skn_figures_t;

/* Frees the arrays. */
void skn_figures_fini(skn_figures_t *figures);
/* Prints a line an actor and one a handler. */
void skn_figures_table(const skn_figures_t *figures, FILE *file);
/* Prints an object on one line, but for the brace that closes it. */
void skn_figures_json(const skn_figures_t *figures, FILE *file);

#endif
