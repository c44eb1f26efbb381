/* spec.h - a topology file that was checked and wired, and that the runtime
 * starts.
 *
 *     skein: 1
 *     topology:
 *       name: wordcount
 *       plugins: [./wordcount.so]
 *       actors:
 *         - { name: reader, kind: word_reader, options: { path: a.txt } }
 *         - { name: counter, kind: word_counter, replicate: 2, nice: 5 }
 *       pipes:
 *         - { from: reader, to: counter, message: word, pattern: scatter,
 *             key: hash, bounds: [0, 50, 100], credit: 16 }
 *
 * `replicate: 2` makes counter.0 and counter.1; in `from` and `to`, "counter"
 * means both, also if the actors are written out by such names.
 *
 * `nodes: [{ name: a, address: "tcp://10.0.0.1:7001", key: keys/a.key }, ...]`
 * makes it a topology of several processes. Every actor then has a `node: a`,
 * with all replicas of one entry on the same node, and a pipe may have a
 * `coding` for its numbers between nodes.
 * One thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_SPEC_SPEC_H
#define TOPOLOGY_SPEC_SPEC_H

#include <stdio.h>

#include "actors/runtime/wiring.h"
#include "topology/config/document.h"

typedef struct skn_spec skn_spec_t;

/* Checks a topology and wires it. `kinds` (may be NULL) ends with NULL and
 * outlives the spec; the kinds of the file's plug-ins are added. Takes
 * ownership of *document in any case and sets it to NULL. NULL when there are
 * problems: those of the document, all of the actors and pipes, or, if each of
 * these is right by itself, those of the graph. */
skn_spec_t *skn_spec_load(skn_document_t **document,
                          const skn_kind_t *const *kinds,
                          skn_problems_t *problems);
/* Loads and unloads each plug-in that a model file names, as a run of it would,
 * and adds its faults to `problems`. */
void skn_spec_try_plugins(skn_document_t *document,
                          const skn_kind_t *const *kinds,
                          skn_problems_t *problems);
/* Frees the spec with its wiring, closes its plug-ins, sets *spec to NULL. No
 * part of the wiring may still run. *spec may be NULL already. */
void skn_spec_destroy(skn_spec_t **spec);

/* Belongs to the spec. */
const skn_wiring_t *skn_spec_wiring(const skn_spec_t *spec);

/* The mark of the core that the file gives to the actor. */
skn_mark_t skn_spec_core_mark(const skn_spec_t *spec, uint32_t actor);

/* A number that is the same on all nodes of a run. It covers nodes, actors,
 * their options and pipes, but not what may differ from machine to machine:
 * paths, addresses, keys, cores, the name of the topology, the run's id and its
 * folder. It detects mistakes, not attacks. */
uint64_t skn_spec_hash(const skn_spec_t *spec);

/* Prints a topology file that gives the same wiring, including all fallback
 * values. Paths start at the working directory, so it must be read from there.
 * SKN_STORAGE when writing fails. */
skn_status_t skn_spec_print(const skn_spec_t *spec, FILE *file,
                            skn_error_t *error);
/* Prints a drawing for graphviz: a box for each actor or row of shards, an
 * arrow between two of them with message, pattern and credit of each pipe. */
skn_status_t skn_spec_dot(const skn_spec_t *spec, FILE *file,
                          skn_error_t *error);
/* Prints a drawing in characters (UTF-8): each actor, or row of shards, and
 * below it its messages and their receivers. SKN_STORAGE, SKN_NO_MEMORY. */
skn_status_t skn_spec_text(const skn_spec_t *spec, FILE *file,
                           skn_error_t *error);

#endif
