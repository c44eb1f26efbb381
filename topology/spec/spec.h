/* spec.h - a topology file, checked and wired: what the runtime starts.
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
 * stands for both, as it does for actors that are written out by such names.
 *
 * `nodes: [{ name: a, address: "tcp://10.0.0.1:7001", key: keys/a.key }, ...]`
 * makes it a topology of several processes; then every actor has a `node: a`,
 * all replicas of one entry on the same, and a pipe may say in which `coding`
 * its numbers travel between nodes.
 * One thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_SPEC_SPEC_H
#define TOPOLOGY_SPEC_SPEC_H

#include <stdio.h>

#include "actors/runtime/wiring.h"
#include "topology/config/document.h"

typedef struct skn_spec skn_spec_t;

/* Checks a topology and wires it. `kinds` (may be NULL) ends with NULL and
 * outlives the spec; those of the file's plug-ins are added. Takes *document
 * in any case and sets it to NULL. NULL when there are problems, of the
 * document or of what it says: everything that is wrong with actors and pipes,
 * or, when each is right by itself, with the graph of them. */
skn_spec_t *skn_spec_load(skn_document_t **document,
                          const skn_kind_t *const *kinds,
                          skn_problems_t *problems);
/* Loads each plug-in that a model file names, as a run of it would, adds to
 * `problems` what is wrong with it, and lets it go. */
void skn_spec_try_plugins(skn_document_t *document,
                          const skn_kind_t *const *kinds,
                          skn_problems_t *problems);
/* Frees it with its wiring, closes its plug-ins, sets *spec to NULL. Nothing
 * of the wiring may run any more. *spec may be NULL already. */
void skn_spec_destroy(skn_spec_t **spec);

/* Belongs to the spec. */
const skn_wiring_t *skn_spec_wiring(const skn_spec_t *spec);

/* Where the file says on which core the actor is to run. */
skn_mark_t skn_spec_core_mark(const skn_spec_t *spec, uint32_t actor);

/* A number that is the same on all nodes of a run: over nodes, actors, their
 * options and pipes, but not over what may differ from machine to machine:
 * paths, addresses, keys, cores, the name of the topology, the run's id and its
 * folder. It finds mistakes, not foes. */
uint64_t skn_spec_hash(const skn_spec_t *spec);

/* Prints a topology file that gives the same wiring, with every value that was
 * left to a fallback. Paths start at the working directory, so read it back
 * from there. SKN_STORAGE when writing fails. */
skn_status_t skn_spec_print(const skn_spec_t *spec, FILE *file,
                            skn_error_t *error);
/* Prints a drawing for graphviz: a box an actor or row of shards, an arrow from
 * one to another with message, pattern and credit of each pipe. */
skn_status_t skn_spec_dot(const skn_spec_t *spec, FILE *file,
                          skn_error_t *error);
/* Prints a drawing in characters (UTF-8): each actor, or row of shards, and
 * below it what it sends to whom. SKN_STORAGE, SKN_NO_MEMORY. */
skn_status_t skn_spec_text(const skn_spec_t *spec, FILE *file,
                           skn_error_t *error);

#endif
