/* shortfall.c - warns if a file asks this machine for more than it has.
 * SPDX-License-Identifier: Apache-2.0 */
#include "skein/text.h"
#include "topology/run/shortfall.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "actors/runtime/placement.h"
#include "actors/machine/groups.h"

#define CORES_TEXT 128u
#define PLACE_TEXT 256u

static skn_placement_t *
look_at_machine(void)
{
    skn_error_t error = { 0 }; /* a run reports it */
    return skn_placement_new(NULL, &error);
}

/* The first core of the list that does not exist; false: all exist. */
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

/* The first core that has another number in the system. */
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

/* The receiver of a file's warnings, and their subject. */
typedef struct teller {
    skn_shortfall_tell_t *tell;
    const void *state;
    const skn_model_cores_t *cores;
    const char *owner; /* "resources", "node 'a'" */
} teller_t;

__attribute__((format(printf, 3, 4))) static void
warn(const teller_t *teller, const char *hint, const char *format, ...)
{
    char text[SKN_ERROR_TEXT_BYTES], said[SKN_ERROR_TEXT_BYTES / 2];
    char place[PLACE_TEXT];
    va_list arguments;
    va_start(arguments, format);
    (void)skn_text_write_list(said, sizeof(said), format, arguments);
    va_end(arguments);
    (void)snprintf(
        text, sizeof(text), "%s: %s",
        skn_model_place_text(&teller->cores->place, place, sizeof(place)),
        said);
    teller->tell(teller->state, &teller->cores->place, text, hint);
}

/* If this process `runs` the file, the runtime itself warns of missing
 * cores. */
static void
warn_cores(const teller_t *teller, const skn_placement_t *machine,
           bool is_process)
{
    const skn_model_cores_t *cores = teller->cores;
    uint32_t units = skn_placement_unit_count(machine), core = 0;
    char there[CORES_TEXT];
    (void)skn_placement_describe(machine, there, sizeof(there));
    if (cores->limit > (int64_t)units)
        warn(teller, "a run uses only those",
             "'cores' of %s is %" PRId64 ", and this process may use %s",
             teller->owner, cores->limit, there);
    if (!is_process && find_absent(cores, units, &core))
        warn(teller, "on this machine its actors would share those",
             "'cores' of %s names core %u, and this process may use %s",
             teller->owner, core, there);
    if (find_renamed(cores, machine, &core))
        warn(teller,
             "cores are counted from 0 within those that this process may use "
             "(taskset, cpuset)",
             "core %u of %s is CPU %u of the system", core, teller->owner,
             skn_placement_os_index(machine, core));
}

void
skn_shortfall_model(const skn_model_t *model, uint32_t node,
                    skn_shortfall_tell_t *tell, const void *state)
{
    char owner[SKN_NAME_MAX + 16] = "resources";
    teller_t teller = { tell, state, &model->resources.cores, owner };
    bool is_process = node != SKN_SHORTFALL_NOBODY;
    if (model->node_count > 0 && (!is_process || node >= model->node_count))
        return;
    if (model->node_count > 0) {
        teller.cores = &model->nodes[node].cores;
        (void)snprintf(owner, sizeof(owner), "node '%.64s'",
                       model->nodes[node].name);
        /* A parent process dealt these cores out, and counted them as here. */
        if (teller.cores->place.line == 0)
            return;
    }
    if (!teller.cores->place.origin)
        return;
    skn_placement_t *machine = look_at_machine();
    if (machine)
        warn_cores(&teller, machine, is_process);
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
        tell(state, &at, text, "on this machine it would run on one of those");
    }
    skn_placement_destroy(&machine);
}

uint32_t
skn_shortfall_units(const skn_wiring_t *wiring, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < wiring->actor_count; k++) {
        const skn_wired_actor_t *actor = &wiring->actors[k];
        if (actor->node != node)
            continue;
        if (actor->core == SKN_CORE_AUTO && actor->kind->is_compute_bound)
            return 0;
        bool again = actor->core < 0;
        for (uint32_t n = 0; n < k && !again; n++)
            again = wiring->actors[n].node == node &&
                    wiring->actors[n].core == actor->core;
        count += !again;
    }
    return count;
}

void
skn_shortfall_quota(const char *root, uint32_t units, const char *fewer,
                    skn_shortfall_tell_t *tell, const void *state)
{
    double quota = skn_groups_units(root);
    char text[SKN_ERROR_TEXT_BYTES], hint[SKN_ERROR_HINT_BYTES];
    if (quota <= 0 || quota >= (double)units)
        return;
    (void)skn_text_write(
        text, sizeof(text),
        "the run takes %u core%s, and the quota of its control "
        "group is %.2f",
        units, units == 1 ? "" : "s", quota);
    (void)skn_text_write(hint, sizeof(hint),
                         "raise the quota (cpu.max, or cpu.cfs_quota_us), or "
                         "%s%.0f: threads beyond it are held back",
                         fewer, fmax(1.0, floor(quota)));
    tell(state, NULL, text,
         units == 1 ? "raise the quota (cpu.max, or "
                      "cpu.cfs_quota_us)"
                    : hint);
}
