/* harvest.c - books the members' core time under batches.
 *
 * This file owns the stack of segments (the core time of a stretch of batches),
 * the time that is not booked yet, and since when each member is here.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/elastic/harvest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Sets of members are 64 bits. */
#define MEMBERS_MAX 64u
/* When the stack is full, the older half is joined two by two. If a later
 * generation goes back into a joined segment, its time is split by batches. */
#define SEGMENTS_MAX 512u

/* Core time of the batches below `end` and from the `end` of the segment under
 * it. */
typedef struct segment {
    uint64_t end, core_ns;
} segment_t;

typedef enum cause {
    CAUSE_NONE,
    CAUSE_FAILED,
    CAUSE_LEFT,
    CAUSE_DIED
} cause_t;

typedef struct seat {
    bool here, leaving;
    bool seen; /* a pulse of this incarnation has arrived */
    uint64_t incarnation, heard_ns, charged_ns;
    uint64_t cpu_ns, sent_bytes;
    uint32_t cores;
} seat_t;

struct skn_harvest {
    uint32_t count;
    seat_t seat[MEMBERS_MAX];
    skn_harvest_sum_t sum; /* all but useful_ns and batches */
    uint64_t generation, set;
    bool over;
    cause_t cause; /* why the generation ended */
    /* Core time of the generation that is not booked, when it was last booked,
     * and the training time reported by then. */
    uint64_t pending_ns, booked_ns, busy_ns;
    bool busy_known;
    segment_t segment[SEGMENTS_MAX];
    uint32_t segment_count;
};

static uint64_t
bit(uint32_t member)
{
    return (uint64_t)1 << member;
}

/* a * b / c without overflow. */
static uint64_t
part(uint64_t a, uint64_t b, uint64_t c)
{
    assert(b <= c);
    return c == 0 ? 0 : (uint64_t)((unsigned __int128)a * b / c);
}

/* --- the stack ------------------------------------------------------------ */

static uint64_t
top(const skn_harvest_t *harvest)
{
    return harvest->segment_count > 0
               ? harvest->segment[harvest->segment_count - 1].end
               : 0;
}

static void
join_old(skn_harvest_t *harvest)
{
    uint32_t kept = 0;
    assert(harvest->segment_count == SEGMENTS_MAX);
    for (uint32_t k = 0; k < SEGMENTS_MAX / 2; k += 2, kept++) {
        harvest->segment[kept].end = harvest->segment[k + 1].end;
        harvest->segment[kept].core_ns =
            harvest->segment[k].core_ns + harvest->segment[k + 1].core_ns;
    }
    memmove(&harvest->segment[kept], &harvest->segment[SEGMENTS_MAX / 2],
            SEGMENTS_MAX / 2 * sizeof(segment_t));
    harvest->segment_count = kept + SEGMENTS_MAX / 2;
}

/* Adds core time up to `batch`; if that is no progress, to the newest
 * segment. */
static void
push(skn_harvest_t *harvest, uint64_t batch, uint64_t core_ns)
{
    if (harvest->segment_count > 0 && batch <= top(harvest)) {
        harvest->segment[harvest->segment_count - 1].core_ns += core_ns;
        return;
    }
    if (harvest->segment_count == SEGMENTS_MAX)
        join_old(harvest);
    harvest->segment[harvest->segment_count++] =
        (segment_t){ .end = batch, .core_ns = core_ns };
}

/* Removes the segments above `batch`; returns their core time. */
static uint64_t
cut(skn_harvest_t *harvest, uint64_t batch)
{
    uint64_t core_ns = 0;
    while (harvest->segment_count > 0 && top(harvest) > batch) {
        segment_t *last = &harvest->segment[harvest->segment_count - 1];
        uint64_t first = harvest->segment_count > 1
                             ? harvest->segment[harvest->segment_count - 2].end
                             : 0;
        assert(first < last->end);
        uint64_t above = first >= batch ? last->core_ns
                                        : part(last->core_ns, last->end - batch,
                                               last->end - first);
        core_ns += above;
        if (first >= batch) {
            harvest->segment_count--;
        } else {
            last->core_ns -= above;
            last->end = batch;
        }
    }
    return core_ns;
}

/* --- time ----------------------------------------------------------------- */

static void
charge(skn_harvest_t *harvest, uint32_t member, uint64_t now_ns)
{
    seat_t *seat = &harvest->seat[member];
    if (!seat->here || now_ns <= seat->charged_ns)
        return;
    uint64_t core_ns = (now_ns - seat->charged_ns) * seat->cores;
    seat->charged_ns = now_ns;
    if (harvest->set & bit(member))
        harvest->pending_ns += core_ns;
    else
        harvest->sum.waiting_ns += core_ns;
}

static void
charge_all(skn_harvest_t *harvest, uint64_t now_ns)
{
    for (uint32_t k = 0; k < harvest->count && !harvest->over; k++)
        charge(harvest, k, now_ns);
}

static void
give_up_pending(skn_harvest_t *harvest)
{
    harvest->sum.waiting_ns += harvest->pending_ns;
    harvest->pending_ns = 0;
}

/* It counts as gone since it was last heard from. */
static void
bury(skn_harvest_t *harvest, uint32_t member)
{
    seat_t *seat = &harvest->seat[member];
    uint64_t silent_ns = seat->charged_ns > seat->heard_ns
                             ? (seat->charged_ns - seat->heard_ns) * seat->cores
                             : 0;
    uint64_t *from[] = { &harvest->pending_ns, &harvest->sum.waiting_ns };
    bool in = (harvest->set & bit(member)) != 0;
    for (size_t k = in ? 0 : 1; k < 2; k++) {
        uint64_t less = silent_ns < *from[k] ? silent_ns : *from[k];
        *from[k] -= less;
        silent_ns -= less;
    }
    cause_t cause = seat->leaving ? CAUSE_LEFT : CAUSE_DIED;
    if (in && cause > harvest->cause)
        harvest->cause = cause;
    if (seat->leaving)
        harvest->sum.left++;
    else
        harvest->sum.died++;
    seat->here = seat->leaving = false;
}

/* --- events --------------------------------------------------------------- */

void
skn_harvest_hello(skn_harvest_t *harvest, uint32_t member, uint64_t incarnation,
                  uint32_t cores, uint64_t now_ns)
{
    assert(member < harvest->count);
    seat_t *seat = &harvest->seat[member];
    if (harvest->over)
        return;
    if (seat->here && seat->incarnation != incarnation)
        bury(harvest, member);
    charge(harvest, member, now_ns);
    seat->cores = cores > 0 ? cores : 1;
    if (!seat->here) {
        bool same = seat->incarnation == incarnation;
        *seat = (seat_t){ .here = true,
                          .seen = same && seat->seen,
                          .incarnation = incarnation,
                          .charged_ns = now_ns,
                          .cores = seat->cores,
                          .cpu_ns = same ? seat->cpu_ns : 0,
                          .sent_bytes = same ? seat->sent_bytes : 0 };
    }
    seat->heard_ns = now_ns;
}

/* Books the pending time: the part that was training under batches, the rest as
 * waiting. */
static void
book(skn_harvest_t *harvest, const skn_harvest_pulse_t *pulse, uint64_t now_ns)
{
    uint64_t wall_ns = now_ns - harvest->booked_ns;
    uint64_t busy_ns = pulse->busy_ns > harvest->busy_ns
                           ? pulse->busy_ns - harvest->busy_ns
                           : 0;
    if (pulse->busy_ns == 0 && pulse->batch <= top(harvest))
        return;                /* not from the lead, or no progress */
    if (pulse->busy_ns == 0) { /* no busy time is reported */
        busy_ns = wall_ns;
    } else if (!harvest->busy_known) {
        busy_ns = 0; /* it began before this coordinator */
        harvest->busy_known = true;
    } else if (busy_ns == 0 && pulse->batch <= top(harvest)) {
        return;
    }
    if (pulse->busy_ns > harvest->busy_ns)
        harvest->busy_ns = pulse->busy_ns;
    uint64_t trained_ns = busy_ns >= wall_ns
                              ? harvest->pending_ns
                              : part(harvest->pending_ns, busy_ns, wall_ns);
    harvest->pending_ns -= trained_ns;
    give_up_pending(harvest);
    harvest->booked_ns = now_ns;
    push(harvest, pulse->batch, trained_ns);
}

void
skn_harvest_pulse(skn_harvest_t *harvest, uint32_t member,
                  const skn_harvest_pulse_t *pulse, uint64_t now_ns)
{
    assert(member < harvest->count);
    seat_t *seat = &harvest->seat[member];
    if (!seat->here || harvest->over)
        return;
    seat->heard_ns = now_ns;
    /* The time before its first pulse here belongs to another coordinator. */
    if (seat->seen && pulse->cpu_ns > seat->cpu_ns)
        harvest->sum.cpu_ns += pulse->cpu_ns - seat->cpu_ns;
    if (seat->seen && pulse->sent_bytes > seat->sent_bytes)
        harvest->sum.sent_bytes += pulse->sent_bytes - seat->sent_bytes;
    seat->seen = true;
    seat->cpu_ns = pulse->cpu_ns;
    seat->sent_bytes = pulse->sent_bytes;
    if (pulse->generation == 0 || pulse->generation != harvest->generation ||
        !(harvest->set & bit(member)))
        return;
    charge_all(harvest, now_ns);
    book(harvest, pulse, now_ns);
}

void
skn_harvest_notice(skn_harvest_t *harvest, uint32_t member)
{
    assert(member < harvest->count);
    harvest->seat[member].leaving = true;
}

void
skn_harvest_failure(skn_harvest_t *harvest, uint32_t member,
                    uint64_t generation)
{
    assert(member < harvest->count);
    if (harvest->over || generation != harvest->generation ||
        !(harvest->set & bit(member)))
        return;
    harvest->sum.failed++;
    if (harvest->cause < CAUSE_FAILED)
        harvest->cause = CAUSE_FAILED;
}

void
skn_harvest_partial(skn_harvest_t *harvest, uint64_t lost_updates)
{
    harvest->sum.partials++;
    harvest->sum.lost_updates += lost_updates;
}

static void
take_back(skn_harvest_t *harvest, uint64_t batch)
{
    skn_harvest_sum_t *sum = &harvest->sum;
    uint64_t batches = top(harvest) > batch ? top(harvest) - batch : 0;
    uint64_t core_ns = cut(harvest, batch);
    sum->redone_ns += core_ns;
    sum->redone_batches += batches;
    switch (harvest->cause) {
    case CAUSE_DIED:
        sum->died_ns += core_ns;
        sum->died_batches += batches;
        break;
    case CAUSE_LEFT:
        sum->left_ns += core_ns;
        sum->left_batches += batches;
        break;
    case CAUSE_FAILED:
        sum->failed_ns += core_ns;
        sum->failed_batches += batches;
        break;
    case CAUSE_NONE:
        break;
    }
}

void
skn_harvest_goes_on(skn_harvest_t *harvest, uint64_t generation, uint64_t set)
{
    harvest->generation = generation;
    harvest->set = set;
    harvest->busy_known = false;
}

void
skn_harvest_begin(skn_harvest_t *harvest, uint64_t generation, uint64_t set,
                  uint64_t batch, uint64_t now_ns)
{
    charge_all(harvest, now_ns);
    give_up_pending(harvest);
    take_back(harvest, batch);
    if (batch > top(harvest)) /* trained while no coordinator counted */
        push(harvest, batch, 0);
    harvest->generation = generation;
    harvest->set = set;
    harvest->cause = CAUSE_NONE;
    harvest->booked_ns = now_ns;
    harvest->busy_ns = 0;
    harvest->busy_known = true;
    harvest->sum.generations++;
}

void
skn_harvest_tick(skn_harvest_t *harvest, uint64_t here, uint64_t now_ns)
{
    charge_all(harvest, now_ns);
    for (uint32_t k = 0; k < harvest->count && !harvest->over; k++)
        if (harvest->seat[k].here && !(here & bit(k)))
            bury(harvest, k);
}

void
skn_harvest_end(skn_harvest_t *harvest, uint64_t now_ns)
{
    charge_all(harvest, now_ns);
    harvest->over = true;
}

/* --- results -------------------------------------------------------------- */

void
skn_harvest_sum(const skn_harvest_t *harvest, skn_harvest_sum_t *sum)
{
    *sum = harvest->sum;
    sum->useful_ns = 0;
    for (uint32_t k = 0; k < harvest->segment_count; k++)
        sum->useful_ns += harvest->segment[k].core_ns;
    sum->batches = top(harvest);
    sum->waiting_ns += harvest->pending_ns;
}

skn_harvest_shares_t
skn_harvest_shares(const skn_harvest_sum_t *sum)
{
    double useful_ns = (double)sum->useful_ns;
    double redone_ns = (double)sum->redone_ns;
    double waiting_ns = (double)sum->waiting_ns;
    double all_ns = useful_ns + redone_ns + waiting_ns;
    skn_harvest_shares_t shares = { .core_hours = all_ns / 3.6e12,
                                    .cpu_hours = (double)sum->cpu_ns / 3.6e12 };
    if (all_ns > 0) {
        shares.useful = useful_ns / all_ns;
        shares.redone = redone_ns / all_ns;
        shares.waiting = waiting_ns / all_ns;
    }
    return shares;
}

skn_harvest_t *
skn_harvest_new(uint32_t member_count, const skn_harvest_sum_t *before,
                skn_error_t *error)
{
    if (member_count > MEMBERS_MAX) {
        (void)skn_fail(error, SKN_USAGE, "%u members", member_count);
        return NULL;
    }
    skn_harvest_t *harvest = calloc(1, sizeof(*harvest));
    if (!harvest) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for %u members",
                       member_count);
        return NULL;
    }
    harvest->count = member_count;
    if (!before)
        return harvest;
    harvest->sum = *before;
    harvest->sum.useful_ns = harvest->sum.batches = 0;
    if (before->batches > 0)
        push(harvest, before->batches, before->useful_ns);
    return harvest;
}

void
skn_harvest_destroy(skn_harvest_t **harvest)
{
    free(*harvest);
    *harvest = NULL;
}
