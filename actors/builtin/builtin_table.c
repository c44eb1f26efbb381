/* builtin_table.c - defines the table of what libskein adds to the core: the
 * built-in kinds, the kernels, and a watch over the numbers on links.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "actors/builtin/link_guard.h"
#include "actors/combine/rounding.h"
#include "actors/protocol/kinds.h"
#include "actors/protocol/workspace.h"
#include "actors/kinds/builtin.h"

#define BUILTIN_AT(name) &skn_##name,
const skn_kind_t *const skn_kinds[] = { SKN_BUILTIN_KINDS(BUILTIN_AT) NULL };

struct skn_link_watch {
    const skn_kernels_t *kernels;
    skn_rounding_probe_t probe;
    skn_rounding_copy_t copy;
    skn_guard_t guards[]; /* [import_count] */
};

static skn_link_watch_t *
watch_new(const skn_kernels_t *kernels, uint32_t import_count,
          skn_error_t *error)
{
    skn_link_watch_t *watch =
        calloc(1, sizeof(*watch) + import_count * sizeof(watch->guards[0]));
    if (watch)
        watch->kernels = kernels;
    else
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for the links");
    return watch;
}

static void
watch_destroy(skn_link_watch_t **watch)
{
    if (*watch)
        skn_rounding_probe_fini(&(*watch)->probe);
    free(*watch);
    *watch = NULL;
}

static skn_status_t
watch_sent(skn_link_watch_t *watch, const skn_schema_t *schema,
           const void *message, skn_coding_t coding, uint64_t key,
           skn_coder_t *coder, const void **measured, skn_error_t *error)
{
    *measured = message;
    return skn_rounding_measure(&watch->probe, schema, message, coding, key,
                                coder, &watch->copy, measured, error);
}

static skn_link_finding_t
watch_received(skn_link_watch_t *watch, uint32_t import,
               const skn_schema_t *schema, const void *message,
               skn_error_t *error)
{
    skn_link_finding_t finding = skn_guard_check(
        &watch->guards[import], watch->kernels, schema, message, error);
    if (finding != SKN_LINK_GOOD)
        (void)skn_fail_hint(error, SKN_DIVERGED,
                            "training diverged there (lower "
                            "train.optimizer.rate), or that node computes "
                            "wrongly: test its memory, or leave it out");
    return finding;
}

const skn_builtin_t skn_builtin = {
    .kinds = skn_kinds,
    .kernels = skn_kernels_pick,
    .watch_new = watch_new,
    .watch_destroy = watch_destroy,
    .watch_sent = watch_sent,
    .watch_received = watch_received,
};
