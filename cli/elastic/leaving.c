/* leaving.c - makes nodes leave a test run together and checks what they leave.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/elastic/leaving.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/process.h"
#include "formats/text/random.h"
#include "skein/inspection.h"
#include "transport/socket/clock.h"

#define COPIES 2u
/* The most time until a node comes back, as if its machine were free again. */
#define AWAY_MS_MAX 800u

void
cli_leaving_fini(cli_leaving_t *leaving)
{
    free(leaving->seconds);
    leaving->seconds = NULL;
}

static uint32_t
nodes_of(const cli_local_cluster_t *cluster)
{
    return cluster->count - 1;
}

static uint64_t
bit(uint32_t node)
{
    return (uint64_t)1 << node;
}

bool
cli_leaving_waits(const cli_leaving_t *leaving)
{
    return leaving->set != leaving->ended;
}

bool
cli_leaving_tell(cli_leaving_t *leaving, cli_local_cluster_t *cluster,
                 uint64_t *random, uint64_t batch)
{
    uint32_t nodes = nodes_of(cluster), running = 0;
    uint32_t left = leaving->together > 1 ? leaving->together : 1;
    for (uint32_t k = 0; k < nodes; k++)
        running += cluster->process[k + 1].process > 0;
    if (running < left)
        return false;
    leaving->set = leaving->ended = 0;
    leaving->told_ns = skn_monotonic_ns();
    leaving->batch = batch;
    for (uint32_t k = 0; left > 0; k = (k + 1) % nodes) {
        bool is_taken = skn_random(random) % nodes < left;
        if (!is_taken || (leaving->set & bit(k)) ||
            cluster->process[k + 1].process <= 0)
            continue;
        cli_local_cluster_dismiss(
            cluster, k + 1, 1 + (uint32_t)(skn_random(random) % AWAY_MS_MAX));
        leaving->set |= bit(k);
        left--;
    }
    return true;
}

/* --- the copies that must remain ------------------------------------------ */

static void
path_of(const cli_local_cluster_t *cluster, uint32_t node, char *path,
        size_t path_bytes)
{
    (void)snprintf(path, path_bytes, "%s/%s", cluster->path,
                   cluster->process[node + 1].name);
}

/* The batch of the newest checkpoint of which `copies` nodes have each part; 0:
 * there is none. */
static uint64_t
find_newest(const skn_inspection_t *inspection, size_t copies)
{
    const skn_inspection_checkpoint_t *found = NULL;
    for (size_t k = 0; (found = skn_inspection_checkpoint(inspection, k)); k++)
        if (found->copy_count >= copies)
            return found->batch;
    return 0;
}

/* Checks the copies on all nodes, also on those that are back: their folders
 * were removed, so whatever they have they received since. */
static skn_status_t
check_copies(const cli_leaving_t *leaving, const cli_local_cluster_t *cluster,
             skn_error_t *error)
{
    size_t count = nodes_of(cluster);
    size_t stayed = count - (size_t)__builtin_popcountll(leaving->set);
    size_t copies = stayed < COPIES ? stayed : COPIES;
    if (leaving->together >= count)
        return SKN_OK;
    skn_inspection_t *inspection = skn_inspection_open(cluster->path, error);
    if (!inspection)
        return error->status;
    uint64_t enough = find_newest(inspection, copies);
    uint64_t whole = find_newest(inspection, 1);
    skn_inspection_close(&inspection);
    if (enough > 0 && enough >= leaving->batch)
        return SKN_OK;
    return skn_fail(
        error, SKN_INTERNAL,
        "%zu nodes stayed when others left at batch %llu, but no later "
        "checkpoint has each part on %zu of them: the newest such checkpoint "
        "is of batch %llu, the newest whole one of batch %llu",
        stayed, (unsigned long long)leaving->batch, copies,
        (unsigned long long)enough, (unsigned long long)whole);
}

/* --- the end of a wave ---------------------------------------------------- */

static skn_status_t
note_seconds(cli_leaving_t *leaving, skn_error_t *error)
{
    double *more = realloc(leaving->seconds,
                           (leaving->count + 1) * sizeof(*leaving->seconds));
    if (!more)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no memory for a list of seconds");
    leaving->seconds = more;
    more[leaving->count++] =
        (double)(skn_monotonic_ns() - leaving->told_ns) * 1e-9;
    return SKN_OK;
}

skn_status_t
cli_leaving_turn(cli_leaving_t *leaving, const cli_local_cluster_t *cluster,
                 skn_error_t *error)
{
    char path[SKN_TEXT_MAX + SKN_NAME_MAX + 2];
    skn_status_t status = SKN_OK;
    bool all = leaving->together >= nodes_of(cluster);
    if (!cli_leaving_waits(leaving))
        return SKN_OK;
    for (uint32_t k = 0; k < nodes_of(cluster) && status == SKN_OK; k++) {
        if (!(leaving->set & ~leaving->ended & bit(k)) ||
            cluster->process[k + 1].process > 0)
            continue;
        leaving->ended |= bit(k);
        path_of(cluster, k, path, sizeof(path));
        if (!all)
            status = cli_remove_tree(path, error);
    }
    if (status != SKN_OK || cli_leaving_waits(leaving))
        return status;
    status = note_seconds(leaving, error);
    return status == SKN_OK ? check_copies(leaving, cluster, error) : status;
}

static int
compare(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return one < other ? -1 : one > other;
}

double
cli_leaving_median(cli_leaving_t *leaving)
{
    if (leaving->count == 0)
        return 0;
    qsort(leaving->seconds, leaving->count, sizeof(*leaving->seconds), compare);
    return leaving->seconds[leaving->count / 2];
}

double
cli_leaving_longest(const cli_leaving_t *leaving)
{
    double longest = 0;
    for (uint32_t k = 0; k < leaving->count; k++)
        if (leaving->seconds[k] > longest)
            longest = leaving->seconds[k];
    return longest;
}
