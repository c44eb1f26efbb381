/* training_internal.h - the state of a training, private to this room.
 *
 *     host's thread                           the training's thread
 *     training.c        ── orders, a descriptor ──▶ network_run.c, ensemble.c
 *     training_state.c  ◀─ line_queue.c, state ───  training_events.c
 *
 * What the two share is atomic, or under the mutex of `queue`, or set before
 * the thread starts and constant from then on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_TRAINING_TRAINING_INTERNAL_H
#define TOPOLOGY_TRAINING_TRAINING_INTERNAL_H

#include "formats/checkpoint/manifest.h"
#include "skein/training.h"
#include "topology/run/model_run.h"
#include "topology/training/task.h"

#define SKN_TRAINING_NOUN "the training"

/* One run of a topology: of the whole training, or of one of its networks. */
typedef struct skn_network_run {
    skn_model_run_t run;
    char path[SKN_TEXT_MAX], run_id[SKN_RUN_ID_BYTES];
    const char **overrides; /* the training's, then the network's own */
    uint32_t override_count;
    bool is_resume, is_again; /* as in skn_model_run_options_t */
    bool begins_with_others;  /* on other nodes, even if it is trained */
    uint32_t part; /* number of a network of several on nodes, from 1; or 0 */
    bool is_done, is_stopped; /* how it ended */
    uint64_t prepare_ns;      /* time spent on its plan */
} skn_network_run_t;

struct skn_training {
    /* Set by skn_training_new. */
    skn_task_t task;
    skn_training_options_t options; /* the task owns its texts */
    const char *name; /* of the config, or its path; the task's, too */
    char *text;       /* of the config; NULL: not read yet, or in a folder */
    size_t text_bytes;
    char *text_name; /* what the text is called; NULL: as the config */
    bool is_folder;

    /* The host's orders; skn_task_order wakes the thread. */
    atomic_bool stop;   /* end soon */
    atomic_bool breaks; /* and do not save; `stop` is set, too */
    atomic_bool waits;  /* the host waits for the end, and reads no events */
    atomic_uint saves;  /* how many were requested */

    /* For the host. */
    skn_training_info_t info; /* under the queue's mutex, as are its texts */
    skn_training_idle_t idle;
    char path[SKN_TEXT_MAX], run_id[SKN_RUN_ID_BYTES];
    char *idle_texts[2];
    char *report; /* the table of the last network; NULL: none */

    /* The host's until the start, then the thread's. */
    skn_network_run_t whole;
    bool is_ensemble; /* networks are trained in folders of `whole` */
    /* A node leads an elastic run that gets a ranker when its network is
     * done. */
    bool ranks_last;
    char *done;       /* the event `done`, until the model has its ranker and is
                 * calibrated; or NULL */
    bool was_stopped; /* it was asked to stop, and is not done */
    uint32_t saves_answered; /* requests that a checkpoint has answered: the
                              * next network gets the others */
    uint64_t cpu_begin_ns; /* CPU time of the process when this training, or its
                            * network, began */
};

static inline skn_status_t
skn_training_check(const skn_training_t *training, const char *function,
                   skn_error_t *error)
{
    return skn_task_check(training ? &training->task : NULL, SKN_TRAINING_NOUN,
                          function, error);
}

#endif
