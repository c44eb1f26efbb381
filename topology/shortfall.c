/* shortfall.c - warns where a file asks this machine for more than it has.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/shortfall.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "actors/placement.h"
#include "topology/groups.h"

#define CORES_TEXT 128u
#define PLACE_TEXT 256u

static skn_placement_t *
look_at_machine(void)
{
    skn_error_t error = { 0 }; /* a run tells it */
    return skn_placement_new(NULL, &error);
}

/* The first core of the list that is not there; false: all are. */
static bool
find_absent(const skn_model_cores_t *cores, uint32_t unit_count, uint32_t *core)
{
    for (size_t k = 0; k < cores->count; k++) {
        *core = cores->list[k];
        if (*core >= unit_count)
            return true;
    }
    return false;
}

/* The first one that the system calls otherwise. */
static bool
find_renamed(const skn_model_cores_t *cores, const skn_placement_t *machine,
             uint32_t *core)
{
    for (size_t k = 0; k < cores->count; k++) {
        *core = cores->list[k];
        if (*core < skn_placement_unit_count(machine) &&
            skn_placement_os_index(machine, *core) != *core)
            return skn_placement_is_masked(machine);
    }
    return false;
}

static void
warn_cores(const skn_model_cores_t *cores, const skn_placement_t *machine,
           bool runs, skn_shortfall_tell_t *tell, const void *state)
{
    uint32_t units = skn_placement_unit_count(machine), core = 0;
    char text[SKN_ERROR_TEXT_BYTES], place[PLACE_TEXT], there[CORES_TEXT];
    (void)skn_model_place_text(&cores->place, place, sizeof(place));
    (void)skn_placement_describe(machine, there, sizeof(there));
    if (cores->limit > (int64_t)units) {
        (void)snprintf(text, sizeof(text),
                       "%s: resources.cores is %" PRId64
                       ", and this process may use %s",
                       place, cores->limit, there);
        tell(state, text, "a run takes those that there are");
    }
    if (!runs && find_absent(cores, units, &core)) {
        (void)snprintf(text, sizeof(text),
                       "%s: resources.cores names core %u, and this process "
                       "may use %s",
                       place, core, there);
        tell(state, text,
             "on this machine its actors would run on those that there "
             "are");
    }
    if (find_renamed(cores, machine, &core)) {
        (void)snprintf(text, sizeof(text),
                       "%s: core %u of resources.cores is CPU %u of the system",
                       place, core, skn_placement_os_index(machine, core));
        tell(state, text,
             "cores are counted from 0 within those that this process may "
             "use (taskset, cpuset)");
    }
}

void
skn_shortfall_model(const skn_model_t *model, bool runs,
                    skn_shortfall_tell_t *tell, const void *state)
{
    const skn_model_cores_t *cores = &model->resources.cores;
    if (model->node_count > 0 || !cores->place.origin)
        return;
    skn_placement_t *machine = look_at_machine();
    if (machine)
        warn_cores(cores, machine, runs, tell, state);
    skn_placement_destroy(&machine);
}

void
skn_shortfall_spec(const skn_spec_t *spec, skn_shortfall_tell_t *tell,
                   const void *state)
{
    const skn_wiring_t *wiring = skn_spec_wiring(spec);
    char text[SKN_ERROR_TEXT_BYTES], more[48] = "", there[CORES_TEXT];
    uint32_t first = 0, count = 0;
    skn_placement_t *machine =
        wiring->node_count > 0 ? NULL : look_at_machine();
    if (machine)
        count = skn_placement_absent(machine, wiring, 0, &first);
    if (count > 0) {
        skn_mark_t mark = skn_spec_core_mark(spec, first);
        const skn_model_place_t at = { mark.origin, mark.line, mark.column };
        char place[PLACE_TEXT];
        if (count > 1)
            (void)snprintf(more, sizeof(more), " (and %u more actor%s)",
                           count - 1, count == 2 ? "" : "s");
        (void)snprintf(text, sizeof(text),
                       "%s: '%.64s' is to run on core %d%s, and this process "
                       "may use %s",
                       skn_model_place_text(&at, place, sizeof(place)),
                       wiring->actors[first].name, wiring->actors[first].core,
                       more,
                       skn_placement_describe(machine, there, sizeof(there)));
        tell(state, text,
             "on this machine it would run on one of those that there are");
    }
    skn_placement_destroy(&machine);
}

void
skn_shortfall_quota(const char *root, uint32_t units,
                    skn_shortfall_tell_t *tell, const void *state)
{
    double quota = skn_groups_units(root);
    char text[SKN_ERROR_TEXT_BYTES], hint[SKN_ERROR_HINT_BYTES];
    if (quota <= 0 || quota >= (double)units)
        return;
    (void)snprintf(text, sizeof(text),
                   "the run takes %u core%s, and the quota of its control "
                   "group is %.2f",
                   units, units == 1 ? "" : "s", quota);
    (void)snprintf(hint, sizeof(hint),
                   "raise the quota (cpu.max, or cpu.cfs_quota_us), or give "
                   "-o resources.cores=%.0f: threads beyond it are held back",
                   fmax(1.0, floor(quota)));
    tell(state, text,
         units == 1 ? "raise the quota (cpu.max, or "
                      "cpu.cfs_quota_us)"
                    : hint);
}
