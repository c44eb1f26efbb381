/* config.h - reads a model or topology file: its problems, its plan, what it
 * asks of this machine, and its drawing.
 *
 *     config = skn_config_load("model.yaml", NULL, &error);
 *     for (k = 0; (problem = skn_config_problem(config, k)); k++)
 *         puts(problem->text);
 *     if (skn_config_plan(config, &error) == SKN_OK)
 *         status = skn_config_print(config, SKN_CONFIG_TOPOLOGY, stdout,
 *                                   &error);
 *     skn_config_destroy(&config);
 *
 * It starts nothing and changes no file, except the caches of data files. A
 * config is for one thread at a time; several of a process are independent. A
 * NULL where none is allowed is SKN_USAGE, or NULL.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_CONFIG_H
#define SKEIN_CONFIG_H

#include <stdbool.h>
#include <stdio.h>

#include "skein/error.h"
#include "skein/limits.h"
#include "skein/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct skn_config skn_config_t;

typedef enum skn_config_sort {
    SKN_CONFIG_REFUSED, /* it has problems, and no facts */
    SKN_CONFIG_IS_MODEL,
    SKN_CONFIG_IS_TOPOLOGY
} skn_config_sort_t;

/* Everything is copied. Zeros and NULL are the defaults. */
typedef struct skn_config_options {
    uint32_t struct_bytes; /* sizeof(skn_config_options_t) */
    uint32_t override_count;
    const char *const *overrides; /* such as "train.epochs=3", over the config;
                                   * the last one of a key counts */
    skn_config_sort_t sort;       /* that it has to be; 0: as its keys tell */
    const char *node; /* the node of the config that this machine is: warnings
                       * are about its cores, too; NULL: none of them */
    bool plugins;     /* load and unload each plug-in that a model file names,
                       * and list its faults; those of a topology file are
                       * always loaded */
    bool starts;      /* this process will start it: then cores that are not
                       * there are not warned of, as the run does it */
} skn_config_options_t;

/* Reads the text of a model or topology file; `name` is used as the file's name
 * in messages (NULL: "config"), and relative paths start at its folder.
 * `options` may be NULL. A text that is refused gives a config, too, which has
 * its problems and nothing else. NULL and SKN_USAGE for wrong options, or
 * SKN_NO_MEMORY. */
SKN_API skn_config_t *skn_config_new(const char *yaml, const char *name,
                                     const skn_config_options_t *options,
                                     skn_error_t *error);
/* The same for a file ("-": standard input), or for a run folder, whose config
 * is in it. A file that cannot be read is a problem of the config. */
SKN_API skn_config_t *skn_config_load(const char *path,
                                      const skn_config_options_t *options,
                                      skn_error_t *error);
/* Frees, sets *config to NULL, which it may be already. */
SKN_API void skn_config_destroy(skn_config_t **config);

/* A fault, or a warning, whose status is SKN_OK. The library fills it: members
 * may be added at the end within one SONAME. */
typedef struct skn_config_problem_s {
    uint32_t struct_bytes;
    skn_status_t status;
    const char *text; /* one sentence, without the place */
    const char *hint; /* what to do, such as "set data.train=PATH", which is the
                       * text of an override; "": nothing is known */
    const char *file; /* "": it has no place in a file */
    uint32_t line, column; /* from 1; 0: it has no place in a file */
} skn_config_problem_t;

/* The `index`-th problem, in the order of the file; NULL: there are not so
 * many. The first hundred are kept. 0 gives NULL: the config is accepted. The
 * struct belongs to the config, and the next call of this function or the next
 * overwrites it. */
SKN_API const skn_config_problem_t *skn_config_problem(skn_config_t *config,
                                                       size_t index);
/* The `index`-th warning: the config asks for more cores than this process may
 * use or than its control group's quota allows, or names a file that is not
 * there; after a plan, also what is odd in the data. */
SKN_API const skn_config_problem_t *skn_config_warning(skn_config_t *config,
                                                       size_t index);

/* Plans a model file: reads its data, which takes seconds for large data, and
 * decides every `auto`; then all of the config can be printed. For a topology
 * file, and the second time, it does nothing. What it is refused for is a
 * problem of the config from then on, also memory or disk space that this
 * machine lacks; returns the first one's status. */
SKN_API skn_status_t skn_config_plan(skn_config_t *config, skn_error_t *error);

typedef struct skn_config_info_s {
    uint32_t struct_bytes; /* set by the caller before the call */
    skn_config_sort_t sort;
    const char *name;         /* the file's without folder and extension, or
                               * that of the topology; "": refused */
    const char *source;       /* the file, as it was given */
    uint32_t node_count;      /* 0: the config is for one process */
    const char *const *nodes; /* their names */
    uint32_t node;            /* index of the option `node`; 0 without it */
    /* For a model file; 0 otherwise. */
    uint32_t layer_count; /* of a decoder: without embedding and head */
    uint32_t cores;       /* that `resources.cores` asks for; 0: auto */
    bool keeps_parts;     /* each node keeps its part of a checkpoint */
    /* For a topology file, or a model file that was planned; 0 otherwise. */
    uint32_t actor_count, pipe_count;
    const char *port; /* the first actor whose messages a host program sends and
                       * takes; "": none */
    /* For a model file whose data were read; 0 otherwise. */
    bool has_data;
    uint64_t train_points, validate_points, test_points;
    uint32_t features, labels;
    /* For a model file that was planned; 0 otherwise. */
    bool is_planned;
    uint32_t units; /* processing units, of all nodes together */
    uint64_t parameters, batches_per_epoch;
    uint64_t memory_bytes; /* estimated, of all nodes together */
} skn_config_info_t;

/* Describes the config as it stands. The texts live until skn_config_plan or
 * skn_config_destroy. SKN_USAGE for struct_bytes of another version. */
SKN_API skn_status_t skn_config_info(skn_config_t *config,
                                     skn_config_info_t *info,
                                     skn_error_t *error);

/* The value of a key of a model file, named as in an override: "train.epochs",
 * "model.layers.hidden.units", "nodes.a.address". It is the text of the file's
 * value or of the key's default, and "auto" for a value that is not decided
 * yet; after a plan the decided one. NULL: there is no such key, the plan found
 * that it has no effect, its value is a list, or memory is short. Lives as the
 * texts of skn_config_info do. */
SKN_API const char *skn_config_value(skn_config_t *config, const char *key);

typedef enum skn_config_part {
    SKN_CONFIG_PROBLEMS,       /* each with its line of the file, for people */
    SKN_CONFIG_PROBLEM_EVENTS, /* each as an event `error`, a line of JSON */
    SKN_CONFIG_MODEL,    /* a model file with every value; after a plan, with
                          * the reason for each that was auto */
    SKN_CONFIG_SETTINGS, /* a line for each value that all machines of a run
                          * must share */
    SKN_CONFIG_TOPOLOGY, /* the topology file, or that of the plan, with what it
                          * costs in comments */
    SKN_CONFIG_GRAPH,    /* a drawing of it in characters (UTF-8) */
    SKN_CONFIG_DOT       /* a drawing of it for graphviz */
} skn_config_part_t;

/* Prints a part. SKN_USAGE: the config has no such part, or has to be planned
 * first; SKN_STORAGE: writing failed; SKN_NO_MEMORY. */
SKN_API skn_status_t skn_config_print(skn_config_t *config,
                                      skn_config_part_t part, FILE *file,
                                      skn_error_t *error);

/* The topology of the config, or of its plan, to be started; the caller
 * destroys it, and the config may be destroyed before. Only once: afterwards
 * the config has no topology to print. NULL and SKN_USAGE if there is none. */
SKN_API skn_topology_t *skn_config_topology(skn_config_t *config,
                                            skn_error_t *error);

/* KEY=VALUE as an override that gives the key exactly this text, also if it has
 * quotes or brackets; the caller frees it with free(). NULL: SKN_NO_MEMORY. */
SKN_API char *skn_config_override(const char *key, const char *value,
                                  skn_error_t *error);

typedef enum skn_reference {
    SKN_REFERENCE_CONFIG,   /* all keys of model files, as Markdown */
    SKN_REFERENCE_SCHEMA,   /* the same as a JSON Schema, for editors */
    SKN_REFERENCE_KEYS,     /* the same as for overrides, a key on a line */
    SKN_REFERENCE_MESSAGES, /* all messages, as Markdown */
    SKN_REFERENCE_KINDS,    /* kinds of actors */
    SKN_REFERENCE_KINDS_JSON
} skn_reference_t;

/* Prints the reference of the built-in tables. `kind` is for the kinds only:
 * NULL prints all of them, a line each; a name prints that one with its options
 * and messages. SKN_USAGE: there is no such kind; the hint has the nearest
 * name. SKN_STORAGE: writing failed. Any thread. */
SKN_API skn_status_t skn_reference_print(skn_reference_t reference,
                                         const char *kind, FILE *file,
                                         skn_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
