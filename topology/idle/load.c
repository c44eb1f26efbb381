/* load.c - busy time of a node: the greatest of its busiest core, thread and
 * quota.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/idle/load.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static uint64_t
since(uint64_t then, uint64_t now)
{
    return now > then ? now - then : 0;
}

/* The busiest of the threads that existed at both samples. */
static uint64_t
most_since(const skn_node_load_t *load, const skn_load_sample_t *sample,
           uint64_t held_ns)
{
    uint64_t most_ns = 0;
    for (size_t k = 0; k < sample->thread_count; k++) {
        const skn_load_thread_t *now = &sample->threads[k];
        for (size_t j = 0; j < load->thread_count; j++) {
            const skn_load_thread_t *then = &load->thread[j];
            if (then->id != now->id)
                continue;
            uint64_t ns =
                since(then->ran_ns, now->ran_ns) +
                since(held_ns, since(then->waited_ns, now->waited_ns));
            most_ns = ns > most_ns ? ns : most_ns;
        }
    }
    return most_ns;
}

void
skn_node_load_add(skn_node_load_t *load, const skn_load_sample_t *sample)
{
    uint64_t held_ns = since(load->throttled_ns, sample->throttled_ns);
    uint64_t most_ns = since(held_ns, since(load->core_ns, sample->core_ns));
    uint64_t passed_ns = since(load->at_ns, sample->at_ns);
    uint64_t thread_ns = most_since(load, sample, held_ns);
    most_ns = thread_ns > most_ns ? thread_ns : most_ns;
    if (sample->quota > 0) {
        double quota_ns =
            (double)since(load->cpu_ns, sample->cpu_ns) / sample->quota;
        most_ns = quota_ns > (double)most_ns ? (uint64_t)quota_ns : most_ns;
    }
    if (load->at_ns > 0)
        load->busy_ns += most_ns < passed_ns ? most_ns : passed_ns;
    load->at_ns = sample->at_ns;
    load->core_ns = sample->core_ns;
    load->cpu_ns = sample->cpu_ns;
    load->throttled_ns = sample->throttled_ns;
    load->thread_count = sample->thread_count < SKN_LOAD_THREADS
                             ? sample->thread_count
                             : SKN_LOAD_THREADS;
    if (load->thread_count > 0)
        memcpy(load->thread, sample->threads,
               load->thread_count * sizeof(load->thread[0]));
}

size_t
skn_load_threads(skn_load_thread_t *threads, size_t max)
{
    static const char folder[] = "/proc/self/task";
    size_t count = 0;
    int own = getpriority(PRIO_PROCESS, 0);
    DIR *tasks = opendir(folder);
    for (struct dirent *entry;
         tasks && count < max && (entry = readdir(tasks));) {
        char path[64];
        uint64_t ran_ns, waited_ns;
        int32_t id = (int32_t)strtol(entry->d_name, NULL, 10);
        if (id <= 0 || getpriority(PRIO_PROCESS, (id_t)id) > own)
            continue; /* a background thread delays no other */
        (void)snprintf(path, sizeof(path), "%s/%" PRId32 "/schedstat", folder,
                       id);
        FILE *file = fopen(path, "re"); /* it may have ended */
        if (file &&
            fscanf(file, "%" SCNu64 " %" SCNu64, &ran_ns, &waited_ns) == 2)
            threads[count++] = (skn_load_thread_t){ id, ran_ns, waited_ns };
        if (file)
            (void)fclose(file);
    }
    if (tasks)
        (void)closedir(tasks);
    return count;
}
