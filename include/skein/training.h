/* training.h - trains a model from its config, as `skein train` does.
 *
 *     skn_training_options_t options = SKN_ZERO;
 *     options.struct_bytes = sizeof(options);
 *     training = skn_training_new(yaml, "inline", &options, &error);
 *     status = skn_training_start(training, &error);
 *     while (skn_training_event(training, -1, line, sizeof line, &error) ==
 *            SKN_OK)
 *         puts(line);
 *     status = skn_training_wait(training, &error);
 *     skn_training_destroy(&training);
 *
 * A training reads the config and the data, decides every `auto`, and runs the
 * topology that follows from them. Where the config or `auto` asks for several
 * networks or a ranker, it trains one network after the other, fits the ranker
 * and joins them. It does all of this on a thread of its own, so that
 * skn_training_start and every other function returns at once, except
 * skn_training_wait and skn_training_destroy. Nothing of the host is called on
 * that thread.
 *
 * A training is for one thread at a time, except skn_training_save,
 * skn_training_stop and skn_training_break; several trainings of a process are
 * independent. It installs no signal handlers and writes to no stream. In a
 * child that fork() made, a training that was started before can only be
 * destroyed. A NULL where none is allowed is SKN_USAGE (a function that returns
 * no status then does nothing).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_TRAINING_H
#define SKEIN_TRAINING_H

#include <stdbool.h>
#include <stdio.h>

#include "skein/error.h"
#include "skein/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct skn_training skn_training_t;

/* Everything is copied. Zeros, NULL and "" are the defaults. */
typedef struct skn_training_options {
    uint32_t struct_bytes; /* sizeof(skn_training_options_t) */
    uint32_t override_count;
    const char *const *overrides; /* such as "train.epochs=3", over the config;
                                   * the last one of a key counts */
    bool resume; /* continue the run in checkpoint.path, or in the folder that
                  * was loaded, with its newest whole checkpoint */
    /* The folder of the run, instead of checkpoint.path, and the id of the run,
     * 32 hex digits: a run of this id that has begun in it is continued, also
     * without `resume`, so that a host that died repeats its call. NULL: both
     * are chosen. */
    const char *path, *run_id;
    uint32_t progress_ms;   /* between events `progress`; 0: none; at most
                              * SKN_PROGRESS_MS_MAX */
    uint32_t stop_s;        /* how long a stop or a save may take to the next
                              * marker of the run; then it makes one; 0: 2; at
                              * most SKN_STOP_S_MAX */
    uint32_t warn_after_ms; /* reports waiting and stuck actors; 0: 30,000 */
    const char *trace_path; /* Chrome trace, written at the end of a network */
    uint64_t trace_origin_ns; /* as in skn_start_options_t */
    bool wire, no_binding;    /* as in skn_start_options_t */
    bool report; /* measure where the time goes: an event `report` follows each
                  * network, and skn_training_report prints its table */
    /* For a config with `nodes`; each node is a process of its own. */
    const char *node;    /* the name of this node */
    uint32_t wait_s;     /* to wait for the other nodes; 0: 120 */
    const char *from;    /* resume from this checkpoint, such as "340-g000007",
                          * or "none": from the beginning; NULL: the newest */
    uint64_t generation; /* of an elastic run, in the names of checkpoints */
    bool elastic; /* a node of an elastic run: reports `traffic` and `load`, and
                   * writes a salvage when its generation breaks off */
    const char *predict;     /* do not train: predict the points of this file by
                              * the run in checkpoint.path */
    uint32_t predict_labels; /* for each point; 0: 5 */
} skn_training_options_t;

/* A training of the config `yaml`; `name` is used as the file's name in
 * messages (NULL: "config"), and relative paths start at its folder. `options`
 * may be NULL. The config is read after the start; to know its problems or its
 * plan before, see skein/config.h. NULL and SKN_USAGE for wrong options, or
 * SKN_NO_MEMORY, also for a lack of descriptors. */
SKN_API skn_training_t *skn_training_new(const char *yaml, const char *name,
                                         const skn_training_options_t *options,
                                         skn_error_t *error);
/* The same for a config in a file ("-": standard input), or for the run folder
 * `path`, whose config is in it. */
SKN_API skn_training_t *skn_training_load(const char *path,
                                          const skn_training_options_t *options,
                                          skn_error_t *error);
/* Ends a training that has not ended, without saving: as skn_training_break,
 * then skn_training_wait. Frees, sets *training to NULL, which it may be
 * already. */
SKN_API void skn_training_destroy(skn_training_t **training);

/* Starts the training's thread. Whatever fails there is an event `error`, and
 * the status of skn_training_wait. SKN_USAGE for a second start; SKN_NO_MEMORY:
 * there is no thread. */
SKN_API skn_status_t skn_training_start(skn_training_t *training,
                                        skn_error_t *error);

/* A file descriptor that is readable when skn_training_event has an event or
 * skn_training_info may have changed, and after the end; level triggered. For
 * the host's own poll loop. */
SKN_API int skn_training_fd(const skn_training_t *training);

/* The next event, one line of JSON without its newline, of all networks in turn
 * (docs/reference/events.md). Waits at most `timeout_ms` (-1: forever, 0: not
 * at all); before the start it does not wait. SKN_BUSY: none yet.
 * SKN_UNAVAILABLE: the training has ended, and there are no more events.
 * SKN_TOO_SMALL: as skn_topology_event. A host that does not read delays the
 * training: with SKN_EVENTS_MAX events unread, it pauses. */
SKN_API skn_status_t skn_training_event(skn_training_t *training,
                                        int timeout_ms, char *line,
                                        size_t line_bytes, skn_error_t *error);
/* The bytes that the next event and its NUL need; 0: there is none yet. Does
 * not wait. */
SKN_API size_t skn_training_event_bytes(skn_training_t *training);

/* Asks for a checkpoint, after which training continues: at the next marker of
 * the run if that is near (`stop_s`), otherwise at one that is made for it. The
 * checkpoint is that of a run that was stopped there, and the rest of the run
 * has the bits of one that was resumed there. Its event `checkpoint` has its
 * folder, and in `answers` the number of calls that it answers: all that are
 * open, also those from before the start, or between two networks. A checkpoint
 * that answers none has no such member. A call that is open at the last event
 * `done` or `stopped` came after the last checkpoint, and needs no other; if
 * the training fails or is broken off, open calls have no answer. Does nothing
 * on other nodes than the first. From any thread, and safe in a signal handler,
 * until destroy. */
SKN_API void skn_training_save(skn_training_t *training);

/* Asks the training to save and end soon; `resume` then continues it. While it
 * plans or fits a ranker it ends without an answer from the network: what was
 * trained is saved already. From any thread, and safe in a signal handler, from
 * new to destroy: a stop before or during the start counts, too. */
SKN_API void skn_training_stop(skn_training_t *training);
/* Ends the training as soon as its actors have left their handlers, without
 * saving, with SKN_UNAVAILABLE. As skn_training_stop otherwise. */
SKN_API void skn_training_break(skn_training_t *training);

/* Waits until the training has ended; SKN_OK also after a stop, or if it was
 * not started, otherwise the first failure. All unread events are kept. */
SKN_API skn_status_t skn_training_wait(skn_training_t *training,
                                       skn_error_t *error);

typedef enum skn_training_phase {
    SKN_TRAINING_PLANS,  /* it reads the config and data, or starts actors */
    SKN_TRAINING_TRAINS, /* a network: a stop saves it */
    SKN_TRAINING_JOINS,  /* fits the ranker, joins the networks, scores them */
    SKN_TRAINING_OVER
} skn_training_phase_t;

/* `idle` of the config, for a host that gives way to other work on its machine
 * (docs/tasks/idle.md). */
typedef struct skn_training_idle {
    bool enabled;
    int64_t reserve_cores; /* -1: auto */
    double share, memory;  /* of the cores; of the available memory */
    double grace_s, notice_every_s;
    const char *notice_file, *notice_command; /* "": none */
} skn_training_idle_t;

typedef struct skn_training_info_s {
    uint32_t struct_bytes; /* set by the caller before the call */
    skn_training_phase_t phase;
    const char *path, *run_id; /* of the run; "" until they are known */
    bool path_is_chosen;       /* the config names no checkpoint.path */
    bool has_begun;   /* a network was trained, or may have been: its folder may
                       * have a checkpoint */
    bool was_stopped; /* it has ended before it was done, without a failure */
    /* The network that is trained, counted from 1, and their number; 0: the
     * training is one run, not several to be joined. */
    uint32_t network, network_count;
    const skn_training_idle_t *idle; /* NULL until the config is read */
} skn_training_info_t;

/* Describes the training as it stands. The texts live as long as the training.
 * SKN_USAGE for struct_bytes that no version of Skein had. */
SKN_API skn_status_t skn_training_info(const skn_training_t *training,
                                       skn_training_info_t *info,
                                       skn_error_t *error);

/* With the option `report`: prints the report of the network that has ended
 * last, as a table. Prints nothing before the first event `report`. */
SKN_API void skn_training_report(const skn_training_t *training, FILE *file);

/* Prints what the events `report` of all nodes of a run say together: for each
 * node its name and its table, then one sentence on what bounds the run. With
 * `json` it is that sentence alone, as an event `verdict`. events[count] are
 * lines of JSON, of trainings, or of topologies as skn_topology_report prints
 * them; a NULL is a node without one. `one_machine`: the nodes share it, so
 * that none of them is slow by itself. SKN_BAD_MESSAGE: a line is no event
 * `report`; SKN_NO_MEMORY; SKN_STORAGE: writing failed. Any thread. */
SKN_API skn_status_t skn_training_reports_print(const char *const *events,
                                                size_t count, bool one_machine,
                                                bool json, FILE *file,
                                                skn_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
