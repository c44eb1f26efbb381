/* placement.c - chooses processing units for threads and binds them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/runtime/placement.h"

#include <errno.h>
#include <hwloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "actors/machine/system_machine.h"

struct skn_placement {
    hwloc_topology_t topology;
    uint32_t unit_count;
    bool drawn; /* the topology is a synthetic one, for tests */
};

static skn_status_t
draw(skn_placement_t *placement, const char *description, skn_error_t *error)
{
    placement->drawn = true;
    if (hwloc_topology_init(&placement->topology) != 0)
        return skn_fail(error, SKN_NO_MEMORY, "hwloc cannot start: %s",
                        strerror(errno));
    if (hwloc_topology_set_synthetic(placement->topology, description) != 0)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "'%s' is not an hwloc description of a machine",
                        description);
    if (hwloc_topology_load(placement->topology) != 0)
        return skn_fail(error, SKN_UNAVAILABLE,
                        "hwloc cannot describe this machine: %s",
                        strerror(errno));
    return SKN_OK;
}

static skn_status_t
load(skn_placement_t *placement, const char *description, skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    if (!description)
        placement->topology = skn_machine_keep(error);
    else if (draw(placement, description, error) != SKN_OK)
        return error->status;
    if (!placement->topology)
        return error->status;
    int units = hwloc_get_nbobjs_by_type(placement->topology, HWLOC_OBJ_PU);
    placement->unit_count = units > 0 ? (uint32_t)units : 1;
    return SKN_OK;
}

skn_placement_t *
skn_placement_new(const char *description, skn_error_t *error)
{
    skn_placement_t *placement = calloc(1, sizeof(*placement));
    if (!placement) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for the machine's topology");
        return NULL;
    }
    if (load(placement, description, error) != SKN_OK)
        skn_placement_destroy(&placement);
    return placement;
}

void
skn_placement_destroy(skn_placement_t **placement)
{
    if (!*placement)
        return;
    if ((*placement)->topology && (*placement)->drawn)
        hwloc_topology_destroy((*placement)->topology);
    else if ((*placement)->topology)
        skn_machine_drop((*placement)->topology);
    free(*placement);
    *placement = NULL;
}

uint32_t
skn_placement_unit_count(const skn_placement_t *placement)
{
    return placement->unit_count;
}

static hwloc_obj_t
unit_object(const skn_placement_t *placement, uint32_t unit)
{
    return hwloc_get_obj_by_type(placement->topology, HWLOC_OBJ_PU,
                                 unit % placement->unit_count);
}

uint32_t
skn_placement_os_index(const skn_placement_t *placement, uint32_t unit)
{
    hwloc_obj_t object = unit_object(placement, unit);
    return object ? object->os_index : 0;
}

bool
skn_placement_is_masked(const skn_placement_t *placement)
{
    hwloc_const_bitmap_t set =
        hwloc_topology_get_topology_cpuset(placement->topology);
    return hwloc_bitmap_last(set) + 1 != (int)placement->unit_count;
}

const char *
skn_placement_describe(const skn_placement_t *placement, char *text,
                       size_t text_bytes)
{
    char numbers[32] = "0", system[64] = "";
    uint32_t count = placement->unit_count;
    if (count > 1)
        (void)snprintf(numbers, sizeof(numbers), "0 %s %u",
                       count == 2 ? "and" : "to", count - 1);
    if (skn_placement_is_masked(placement))
        (void)hwloc_bitmap_list_snprintf(
            system, sizeof(system),
            hwloc_topology_get_topology_cpuset(placement->topology));
    (void)snprintf(text, text_bytes, "%u core%s, %s%s%s%s", count,
                   count == 1 ? "" : "s", numbers,
                   !system[0]   ? ""
                   : count == 1 ? " (CPU "
                                : " (CPUs ",
                   system, system[0] ? " of the system)" : "");
    return text;
}

uint32_t
skn_placement_absent(const skn_placement_t *placement,
                     const skn_wiring_t *wiring, uint32_t node, uint32_t *first)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < wiring->actor_count; k++) {
        const skn_wired_actor_t *actor = &wiring->actors[k];
        if (actor->node != node || actor->core < 0 ||
            (uint32_t)actor->core < placement->unit_count)
            continue;
        if (count++ == 0)
            *first = k;
    }
    return count;
}

/* Whether `actor` gets its own unit. */
static bool
is_bound(const skn_wired_actor_t *actor, uint32_t node)
{
    return actor->node == node &&
           (actor->core >= 0 ||
            (actor->core == SKN_CORE_AUTO && actor->kind->is_compute_bound));
}

bool
skn_placement_is_needed(const skn_wiring_t *wiring, uint32_t node)
{
    for (uint32_t k = 0; k < wiring->actor_count; k++)
        if (is_bound(&wiring->actors[k], node))
            return true;
    return false;
}

void
skn_placement_plan(const skn_placement_t *placement, const skn_wiring_t *wiring,
                   uint32_t node, int32_t *units)
{
    uint32_t next = 0;
    for (uint32_t k = 0; k < wiring->actor_count; k++) {
        const skn_wired_actor_t *actor = &wiring->actors[k];
        if (actor->node != node)
            units[k] = SKN_UNIT_UNBOUND;
        else if (!is_bound(actor, node))
            units[k] = SKN_CORE_FLOAT;
        else
            units[k] =
                (int32_t)((actor->core >= 0 ? (uint32_t)actor->core : next++) %
                          placement->unit_count);
    }
}

skn_status_t
skn_placement_bind(const skn_placement_t *placement, int32_t unit,
                   const char *name, int nice, skn_error_t *error)
{
    char short_name[16]; /* the length that the kernel allows, with NUL */
    (void)snprintf(short_name, sizeof(short_name), "%s", name);
    (void)pthread_setname_np(pthread_self(), short_name);
    if (nice > 0)
        (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice);
    if (unit == SKN_UNIT_UNBOUND)
        return SKN_OK;
    hwloc_const_cpuset_t set =
        unit >= 0 ? unit_object(placement, (uint32_t)unit)->cpuset
                  : hwloc_topology_get_topology_cpuset(placement->topology);
    if (hwloc_set_cpubind(placement->topology, set, HWLOC_CPUBIND_THREAD) != 0)
        return skn_fail(error, SKN_UNAVAILABLE,
                        "%s cannot be bound to core %d: %s", name, unit,
                        strerror(errno));
    return SKN_OK;
}
