/* topology.c - the host's handle of a topology: a checked spec and the system
 * started from it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/abi.h"
#include "actors/kinds/builtin.h"
#include "actors/runtime/crash.h"
#include "actors/kinds/kind_check.h"
#include "actors/runtime/system.h"
#include "skein/port.h"
#include "topology/host/host.h"
#include "topology/host/measure.h"
#include "topology/host/verdict.h"
#include "transport/socket/process_mark.h"

/* The atomic fields are for skn_topology_stop and _abort, which another thread
 * or a signal handler may call at any time. */
struct skn_topology {
    skn_spec_t *spec;
    _Atomic(skn_system_t *) system; /* NULL before start */
    atomic_bool stopped, aborted;
    atomic_uint process; /* skn_process_mark of its threads; 0: not started */
    skn_measure_t measure;
    uint64_t prepare_ns;
    skn_actor_info_t actor; /* lent to the host */
    skn_figures_t figures;  /* for the whole run, if `measured` */
    bool measured;
};

/* True in a child that fork() made: it has a copy of the system but none of its
 * threads, and a call that waits for them would never return. The same holds
 * for functions that the host runs at exit. */
static bool
is_out_of_reach(const skn_topology_t *topology)
{
    uint32_t process = atomic_load(&topology->process);
    return skn_process_is_other(process) ||
           (process != 0 && skn_systems_have_ended());
}

/* The system that `call` applies to; NULL and a filled `error`. */
static skn_system_t *
system_of(const skn_topology_t *topology, const char *call, skn_error_t *error)
{
    if (!topology) {
        skn_fail(error, SKN_USAGE, "%s: the topology is NULL", call);
        return NULL;
    }
    if (is_out_of_reach(topology) && skn_systems_have_ended()) {
        skn_fail(error, SKN_USAGE,
                 "%s: the process exits, and the topology "
                 "was not destroyed before",
                 call);
        return NULL;
    }
    if (skn_process_check(atomic_load(&topology->process), call, "the topology",
                          error) != SKN_OK)
        return NULL;
    skn_system_t *system = atomic_load(&topology->system);
    if (!system)
        skn_fail(error, SKN_UNAVAILABLE, "the topology is not started");
    return system;
}

skn_topology_t *
skn_topology_of(skn_spec_t **spec, skn_error_t *error)
{
    skn_topology_t *topology = calloc(1, sizeof(*topology));
    if (!topology) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for a topology");
        skn_spec_destroy(spec);
        return NULL;
    }
    topology->spec = *spec;
    *spec = NULL;
    return topology;
}

/* Those of libskein, ending with NULL; NULL in a program without it. */
static const skn_kind_t *const *
builtin_kinds(void)
{
    const skn_builtin_t *builtin = skn_builtin_find();
    return builtin ? builtin->kinds : NULL;
}

const skn_spec_t *
skn_topology_spec(const skn_topology_t *topology)
{
    return topology->spec;
}

/* One list of the host's kinds and the built-in ones, which the caller frees;
 * NULL and a filled `error` if one of the host's has another size. `call` is
 * the function that got them. */
static const skn_kind_t **
all_kinds(const char *call, const skn_kind_t *const *kinds, skn_error_t *error)
{
    char what[64];
    size_t own = 0, built_in = 0;
    const skn_kind_t *const *others = builtin_kinds();
    for (; kinds && kinds[own]; own++) {
        (void)snprintf(what, sizeof(what), "%s, kinds[%zu]", call, own);
        if (skn_kind_check_size(kinds[own], what, error) != SKN_OK)
            return NULL;
    }
    while (others && others[built_in])
        built_in++;
    const skn_kind_t **all = calloc(own + built_in + 1, sizeof(skn_kind_t *));
    if (!all) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for the list of kinds");
        return NULL;
    }
    if (own > 0)
        memcpy(all, kinds, own * sizeof(skn_kind_t *));
    if (built_in > 0)
        memcpy(all + own, others, built_in * sizeof(skn_kind_t *));
    return all;
}

/* NULL: the reasons are in `problems`. */
static skn_spec_t *
read_text(const char *call, const char *yaml, const char *name,
          const skn_kind_t *const *kinds, skn_problems_t *problems)
{
    skn_error_t error = { 0 };
    if (!yaml) {
        (void)skn_problems_fail(problems, SKN_USAGE, "%s: the text is NULL",
                                call);
        return NULL;
    }
    const skn_kind_t **all = all_kinds(call, kinds, &error);
    if (!all) {
        (void)skn_problems_fail(problems, error.status, "%s", error.text);
        return NULL;
    }
    skn_document_t *document = skn_document_parse(
        yaml, strlen(yaml), name ? name : "topology", problems);
    skn_spec_t *spec =
        document ? skn_spec_load(&document, all, problems) : NULL;
    free(all);
    return spec;
}

skn_topology_t *
skn_topology_new(const char *yaml, const char *name,
                 const skn_kind_t *const *kinds, skn_error_t *error)
{
    skn_problems_t *problems = skn_problems_new(error);
    skn_topology_t *topology = NULL;
    if (!problems)
        return NULL;
    skn_spec_t *spec =
        read_text("skn_topology_new", yaml, name, kinds, problems);
    if (spec)
        topology = skn_topology_of(&spec, error);
    else
        (void)skn_problems_error(problems, error);
    skn_problems_destroy(&problems);
    return topology;
}

size_t
skn_topology_check(const char *yaml, const char *name,
                   const skn_kind_t *const *kinds, skn_error_t *errors,
                   size_t count)
{
    skn_problems_t *problems;
    for (size_t k = 0; errors && k < count; k++)
        errors[k] = (skn_error_t){ 0 };
    problems = skn_problems_new(errors && count > 0 ? errors : NULL);
    if (!problems)
        return 1;
    skn_spec_t *spec =
        read_text("skn_topology_check", yaml, name, kinds, problems);
    size_t found = spec ? 0 : skn_problems_count(problems);
    for (size_t k = 0; errors && k < count && k < found; k++)
        (void)skn_problems_get(problems, k, &errors[k]);
    skn_spec_destroy(&spec);
    skn_problems_destroy(&problems);
    return found;
}

void
skn_topology_destroy(skn_topology_t **topology)
{
    if (!topology || !*topology)
        return;
    skn_system_t *system = atomic_load(&(*topology)->system);
    /* A child cannot join the parent's threads: the memory that they use
     * stays. */
    if (!is_out_of_reach(*topology)) {
        skn_system_destroy(&system);
        skn_figures_fini(&(*topology)->figures);
        skn_spec_destroy(&(*topology)->spec);
        free(*topology);
    }
    *topology = NULL;
}

/* Makes the system visible to skn_topology_stop and _abort, and carries out
 * what was requested before. One of the two sees what the other has written. */
static void
publish(skn_topology_t *topology, skn_system_t *system)
{
    atomic_store(&topology->process, skn_process_mark());
    atomic_store(&topology->system, system);
    if (atomic_load(&topology->stopped))
        skn_system_stop(system);
    if (atomic_load(&topology->aborted))
        skn_system_abort(system);
}

skn_status_t
skn_topology_start(skn_topology_t *topology, const skn_start_options_t *options,
                   skn_error_t *error)
{
    skn_error_t own = { 0 };
    skn_start_options_t how = SKN_START_OPTIONS();
    if (!error)
        error = &own;
    if (!topology)
        return skn_fail(error, SKN_USAGE,
                        "skn_topology_start: the topology is NULL");
    const skn_wiring_t *wiring = skn_spec_wiring(topology->spec);
    if (atomic_load(&topology->system))
        return skn_fail(error, SKN_USAGE, "the topology was started already");
    if (options &&
        skn_abi_check("skn_topology_start", options->struct_bytes,
                      sizeof(*options), "SKN_START_OPTIONS", error) != SKN_OK)
        return error->status;
    if (options)
        how = *options;
    uint32_t nodes = wiring->node_count > 0 ? wiring->node_count : 1;
    if (how.node >= nodes)
        return skn_fail(error, SKN_USAGE,
                        "skn_topology_start: node is %u, and the topology has "
                        "%u node%s, counted from 0",
                        how.node, nodes, nodes == 1 ? "" : "s");
    if (how.config_hash == 0 && wiring->node_count > 1)
        how.config_hash = skn_spec_hash(topology->spec);
    skn_system_t *system = skn_system_new(wiring, &how, error);
    if (!system)
        return error->status;
    topology->prepare_ns = how.prepare_ns;
    if (how.report)
        skn_measure_begin(&topology->measure, "");
    publish(topology, system);
    return skn_system_start(system, how.on_event, how.on_event_host, error);
}

int
skn_topology_fd(const skn_topology_t *topology)
{
    skn_system_t *system = system_of(topology, "skn_topology_fd", NULL);
    return system ? skn_system_fd(system) : -1;
}

skn_status_t
skn_topology_event(skn_topology_t *topology, int timeout_ms, char *line,
                   size_t line_bytes, skn_error_t *error)
{
    skn_error_t own;
    if (!error)
        error = &own;
    skn_system_t *system = system_of(topology, "skn_topology_event", error);
    if (!system)
        return error->status;
    if (!line)
        line_bytes = 0; /* asks for the number of bytes */
    return skn_system_event(system, timeout_ms, line, line_bytes, error);
}

size_t
skn_topology_event_bytes(skn_topology_t *topology)
{
    skn_system_t *system =
        system_of(topology, "skn_topology_event_bytes", NULL);
    return system ? skn_system_event_bytes(system) : 0;
}

skn_port_t *
skn_topology_port(skn_topology_t *topology, const char *name,
                  skn_error_t *error)
{
    const skn_system_t *system =
        system_of(topology, "skn_topology_port", error);
    if (system && !name)
        skn_fail(error, SKN_USAGE, "skn_topology_port: the name is NULL");
    return system && name ? skn_system_port(system, name, error) : NULL;
}

/* May run in a signal handler: only atomics and a write. */
static void
request(skn_topology_t *topology, atomic_bool *requested,
        void (*carry_out)(skn_system_t *system))
{
    atomic_store(requested, true);
    skn_system_t *system = atomic_load(&topology->system);
    if (system)
        carry_out(system);
}

void
skn_topology_stop(skn_topology_t *topology)
{
    if (topology && !is_out_of_reach(topology))
        request(topology, &topology->stopped, skn_system_stop);
}

void
skn_topology_abort(skn_topology_t *topology)
{
    if (topology && !is_out_of_reach(topology))
        request(topology, &topology->aborted, skn_system_abort);
}

bool
skn_topology_stops(const skn_topology_t *topology)
{
    return topology->system && skn_system_stops(topology->system);
}

/* -1: until the end. */
static skn_status_t
wait_for(skn_topology_t *topology, const char *call, int timeout_ms,
         skn_error_t *error)
{
    skn_error_t own;
    if (!error)
        error = &own;
    skn_system_t *system = system_of(topology, call, error);
    if (system)
        return skn_system_wait_for(system, timeout_ms, error);
    return error->status == SKN_UNAVAILABLE ? SKN_OK : error->status;
}

skn_status_t
skn_topology_wait(skn_topology_t *topology, skn_error_t *error)
{
    return wait_for(topology, "skn_topology_wait", -1, error);
}

skn_status_t
skn_topology_wait_for(skn_topology_t *topology, int timeout_ms,
                      skn_error_t *error)
{
    return wait_for(topology, "skn_topology_wait_for", timeout_ms, error);
}

void
skn_topology_save(skn_topology_t *topology)
{
    skn_system_t *system = system_of(topology, "skn_topology_save", NULL);
    if (system)
        skn_system_save(system);
}

const skn_actor_info_t *
skn_topology_actor(skn_topology_t *topology, size_t index)
{
    const skn_system_t *system =
        system_of(topology, "skn_topology_actor", NULL);
    return system && skn_system_actor(system, index, &topology->actor)
               ? &topology->actor
               : NULL;
}

skn_status_t
skn_topology_cut(skn_topology_t *topology, struct skn_salvage_writer *writer,
                 skn_error_t *error)
{
    skn_system_t *system = system_of(topology, "skn_topology_cut", NULL);
    return system ? skn_system_cut(system, writer, error)
                  : skn_fail(error, SKN_BUSY, "the topology was not started");
}

uint64_t
skn_topology_busy_ns(const skn_topology_t *topology)
{
    skn_system_t *system = system_of(topology, "skn_topology_busy_ns", NULL);
    return system ? skn_system_busy_ns(system) : 0;
}

skn_status_t
skn_report_crashes(int descriptor, skn_error_t *error)
{
    return skn_crash_watch(descriptor, error);
}

/* Once, when all actors have ended: later samples of the machine would include
 * more. */
static bool
measure(skn_topology_t *topology, const skn_system_t *system)
{
    skn_figures_t *figures = &topology->figures;
    if (!topology->measured &&
        skn_system_figures(system, figures, NULL) == SKN_OK) {
        skn_measure_end(&topology->measure, "", figures);
        figures->prepare_ns = topology->prepare_ns;
        topology->measured = true;
    }
    return topology->measured;
}

void
skn_topology_report(const skn_topology_t *topology, bool json, FILE *file)
{
    skn_topology_t *own = (skn_topology_t *)(uintptr_t)topology;
    skn_system_t *system = system_of(topology, "skn_topology_report", NULL);
    skn_verdict_t verdict;
    if (!system || !file || !measure(own, system))
        return;
    const skn_figures_t *const nodes[] = { &topology->figures };
    skn_verdict_find(nodes, 1, true, &verdict);
    if (json)
        skn_figures_json(&topology->figures, file);
    else
        skn_figures_table(&topology->figures, file);
    skn_verdict_print(&verdict, json ? "," : NULL, file);
}
