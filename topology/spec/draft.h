/* draft.h - builds a topology in code, for the plan that compiles model files.
 *
 *     draft = skn_draft_new("model.yaml", "wnhyp", problems);
 *     skn_draft_actor(draft, "output.0", "output", SKN_CORE_AUTO, 0);
 *     skn_draft_option(draft, "row_first", "%u", 0);
 *     skn_draft_pipe(draft, &(skn_draft_pipe_t){ .from = from, ... });
 *     spec = skn_draft_finish(&draft, kinds, problems);
 *
 * The calls only record; failures of memory or of a check are in `problems`
 * after finish, which runs the checks of a file. One thread at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TOPOLOGY_SPEC_DRAFT_H
#define TOPOLOGY_SPEC_DRAFT_H

#include "topology/spec/spec.h"

typedef struct skn_draft skn_draft_t;

/* Text and lists are copied. Fields that are 0 or NULL get the fallback of
 * topology files. */
typedef struct skn_draft_pipe {
    const char *const *from, *const *to; /* names or stems, ending with NULL */
    const char *message;
    const char *pattern; /* "one", "broadcast", "scatter", "any", ... */
    const char *collect; /* "gather", "reduce" */
    const char *key;     /* scatter */
    const uint64_t *bounds;
    uint32_t bound_count;
    const char *by; /* collect */
    uint32_t credit;
    bool peer;
    const char *coding;
} skn_draft_pipe_t;

/* `origin` is shown as the file's name in problems, `name` is the topology's
 * name. Both outlive the draft. NULL: no memory, which is added to
 * `problems`. */
skn_draft_t *skn_draft_new(const char *origin, const char *name,
                           skn_problems_t *problems);
/* Frees the draft and sets *draft to NULL; it may be NULL already. */
void skn_draft_destroy(skn_draft_t **draft);

/* Adds a plug-in; a relative path starts at the working directory. */
void skn_draft_plugin(skn_draft_t *draft, const char *path);
/* Adds a node; a relative path of its key starts at the working directory. */
void skn_draft_node(skn_draft_t *draft, const skn_wired_node_t *node);
/* Adds an actor. `core`: a logical number, or SKN_CORE_*. */
void skn_draft_actor(skn_draft_t *draft, const char *name, const char *kind,
                     int core, int nice);
/* Sets the node of the newest actor; NULL: there are no nodes. */
void skn_draft_on(skn_draft_t *draft, const char *node);
/* Sets an option of the newest actor, written as in YAML; a relative path
 * starts at the working directory. At most SKN_TEXT_MAX bytes. */
__attribute__((format(printf, 3, 4))) void skn_draft_option(skn_draft_t *draft,
                                                            const char *name,
                                                            const char *format,
                                                            ...);
void skn_draft_pipe(skn_draft_t *draft, const skn_draft_pipe_t *pipe);

/* Checks the topology as skn_spec_load does. Destroys the draft in any case. */
skn_spec_t *skn_draft_finish(skn_draft_t **draft,
                             const skn_kind_t *const *kinds,
                             skn_problems_t *problems);

#endif
