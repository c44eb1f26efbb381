/* sim_membership.c - simulates a coordinator, members, disks and lines, all
 * from a seed.
 *
 * Usage: sim_membership [--partial] [--seeds FIRST..LAST | --trace SEED]
 * Seeds are 1..300, or 1..1000 where all tests run (SKEIN_TESTS is set).
 *
 * Drives topology/elastic/membership.c and formats/checkpoint/held.c as
 * topology/cluster/coordinating.c and topology/cluster/participant.c do, in a
 * simulated world: members die (some with their disks), come back, stop and
 * continue, leave (one, several or all at once, with their disks), lose lines
 * in one direction or both, find disks full; the coordinator dies between two
 * of its duties, or because its journal cannot be written, and is back with it.
 * After `heal_ns` no more faults occur, except that in some worlds two members
 * never reach each other again. Checked in every step: only one generation
 * trains, and none after a newer one has; a member receives a generation only
 * when it is in the journal; a checkpoint from which a generation continues has
 * each batch once; nothing is lost with the disk of a member that was let go,
 * which sees few generations until then (sim_leaves.h); the run comes to its
 * end, with each batch applied once. With --partial survivors keep their state
 * (sim_partial.h): each block has had, or missed, each batch once.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "tests/sim/sim_leaves.h"
#include "tests/sim/sim_lines.h"

/* --- members ------------------------------------------------------------- */

static void
say(world_t *world, uint32_t number, say_t what)
{
    member_t *member = &world->member[number];
    message_t *message = send(world, false, number);
    message->say = what;
    message->generation = member->runs;
    message->batch = member->runs ? world->generation[member->runs].batch : 0;
    message->sent_ns = world->now_ns;
}

static void
say_saved(world_t *world, uint32_t number)
{
    member_t *member = &world->member[number];
    if (member->saved <= member->saved_told)
        return;
    member->saved_told = member->saved;
    message_t *message = send(world, false, number);
    message->say = SAY_SAVED;
    message->batch = member->saved;
    message->generation = member->saved_in;
}

static void
say_ended(world_t *world, uint32_t number)
{
    message_t *message = send(world, false, number);
    message->say = SAY_ENDED;
    message->generation = world->member[number].ended;
    message->ending = world->member[number].ending;
    message->status = world->member[number].status;
}

static void
say_misses(world_t *world, uint32_t number)
{
    message_t *message = send(world, false, number);
    message->say = SAY_MISSES;
    message->misses = world->member[number].misses;
}

static void
miss(world_t *world, uint32_t number, uint64_t misses)
{
    member_t *member = &world->member[number];
    if (misses == member->misses)
        return;
    member->misses = misses;
    say_misses(world, number);
}

static void
end_worker(world_t *world, uint32_t number, skn_ending_t ending)
{
    member_t *member = &world->member[number];
    uint64_t generation = member->runs;
    if (!generation)
        return;
    trace(world, "%s ends generation %llu (%d)", names[number],
          (unsigned long long)generation, (int)ending);
    say_saved(world, number);
    if (ending != SKN_ENDING_FAILED)
        miss(world, number, 0);
    member->runs = member->cutting_ns = 0;
    member->paused = false;
    member->ended = generation;
    member->ending = ending;
    member->status = SKN_UNAVAILABLE;
    say_ended(world, number);
}

/* ... because of its own disk, which is its own fault. */
static void
end_of_disk(world_t *world, uint32_t number)
{
    member_t *member = &world->member[number];
    end_worker(world, number, SKN_ENDING_FAILED);
    member->status = SKN_STORAGE;
    say_ended(world, number);
    note_event(world);
}

static void
begin_worker(world_t *world, uint32_t number, uint64_t generation)
{
    member_t *member = &world->member[number];
    if (generation > world->journal_generation)
        wrong(world, "a generation that is not in the journal");
    member->seen = member->runs = generation;
    trace(world, "%s begins generation %llu", names[number],
          (unsigned long long)generation);
    member->ready_ns = world->now_ns + (300 + draw(world, 700)) * MS;
    member->paused = false;
    member->saved_told = 0;
    member->met = 0;
    for (uint32_t k = 0; k < MEMBERS_MAX; k++)
        member->heard_ns[k] = member->ready_ns;
    miss(world, number, 0);
    if (world->generation[generation].composed.set)
        put_composed(world, number, &world->generation[generation].composed);
    if (!is_mended(world, number) && draw(world, 2))
        end_of_disk(world, number);
}

static void
obey(world_t *world, uint32_t number, const message_t *received)
{
    member_t *member = &world->member[number];
    const skn_duty_t *duty = &received->duty;
    message_t *message;
    if (received->heard) {
        uint64_t lease_ns = received->sent_ns + SKN_MEMBER_LEASE_MS * MS;
        if (lease_ns > member->lease_ns)
            member->lease_ns = lease_ns;
        return;
    }
    switch (duty->kind) {
    case SKN_DUTY_IDENTIFY:
        member->greeted = false;
        break;
    case SKN_DUTY_LIST:
        message = send(world, false, number);
        message->say = SAY_HOLDS;
        message->held_count = member->disk_count;
        memcpy(message->held, member->disk, sizeof(member->disk));
        message->salvage = member->salvage;
        break;
    case SKN_DUTY_START:
        if (duty->generation <= member->seen ||
            world->now_ns >= member->lease_ns)
            break;
        begin_worker(world, number, duty->generation);
        break;
    case SKN_DUTY_PAUSE:
        member->paused = duty->generation == member->runs;
        break;
    case SKN_DUTY_ABORT:
        if (!duty->salvage)
            end_worker(world, number, SKN_ENDING_FAILED);
        else if (member->runs && !member->cutting_ns)
            member->cutting_ns = world->now_ns + draw(world, 5000) * MS + 1;
        break;
    case SKN_DUTY_DISMISS:
        if (!member->leaving)
            break;
        member->gone = true;
        member->alive = false;
        if (member->released) {
            trace(world, "%s has left, and its disk is gone", names[number]);
            member->disk_count = 0;
            member->salvage = (salvage_t){ 0 };
        }
        break_line(world, number);
        break;
    default:
        break;
    }
}

static void
kill_member(world_t *world, uint32_t number, bool wipe)
{
    member_t *member = &world->member[number];
    trace(world, "%s is killed%s", names[number], wipe ? ", disk too" : "");
    if (wipe) {
        member->disk_count = 0;
        member->salvage = (salvage_t){ 0 };
    }
    member->alive = false;
    member->died = true;
    member->runs = member->cutting_ns = 0;
    member->seen = member->lease_ns = member->ended = 0;
    member->leaving = member->paused = false;
    member->misses = 0;
    member->back_ns = world->now_ns + draw(world, 8000) * MS;
    break_line(world, number);
}

/* Who is missed is told sooner by whom nothing reaches any more than by whom
 * packets still do. After 10 s a worker gives up a peer, or 30 if it never
 * came. */
static void
listen_to_peers(world_t *world, uint32_t number, uint64_t set)
{
    member_t *member = &world->member[number];
    uint64_t misses = 0;
    bool gives_up = false;
    for (uint32_t k = 0; k < world->count; k++) {
        if (k == number || !(set & bit(k)))
            continue;
        if (hears(world, number, k)) {
            member->heard_ns[k] = world->now_ns;
            member->met |= bit(k);
        }
        if (world->now_ns < member->heard_ns[k])
            continue; /* it is not ready itself */
        uint64_t silent_ns = world->now_ns - member->heard_ns[k];
        bool deaf = world->now_ns < world->member[k].apart_ns[number];
        if (silent_ns > (deaf ? 4000 : 6500) * MS)
            misses |= bit(k);
        if (silent_ns > (member->met & bit(k) ? 10000 : 30000) * MS)
            gives_up = true;
    }
    miss(world, number, misses);
    if (gives_up && world->partial)
        write_cut(world, number);
    if (gives_up)
        end_worker(world, number, SKN_ENDING_FAILED);
}

/* Idle, it dials those that it missed. */
static void
probe(world_t *world, uint32_t number)
{
    member_t *member = &world->member[number];
    uint64_t misses = member->misses;
    if (member->runs || world->now_ns - member->probe_ns < 1000 * MS)
        return;
    member->probe_ns = world->now_ns;
    for (uint32_t k = 0; k < world->count; k++)
        if (!is_cut(world, number, k))
            misses &= ~bit(k);
    miss(world, number, misses);
}

static void
live(world_t *world, uint32_t number)
{
    member_t *member = &world->member[number];
    if (!member->alive && world->now_ns >= member->back_ns) {
        note_event(world); /* it joins */
        member->alive = true;
        member->gone = member->leaving = member->released = false;
        member->incarnation = draw(world, UINT64_MAX) | 1;
        member->connected = member->greeted = false;
        member->dial_ns = world->now_ns + 100 * MS;
        member->stopped_ns = 0;
        member->saved = member->saved_told = 0;
    }
    if (!member->alive || world->now_ns < member->stopped_ns)
        return;
    if (member->runs && world->now_ns >= member->lease_ns)
        end_worker(world, number, SKN_ENDING_FAILED);
    if (member->cutting_ns && world->now_ns >= member->cutting_ns) {
        write_cut(world, number);
        end_worker(world, number, SKN_ENDING_FAILED);
    }
    probe(world, number);
    bool cut = world->now_ns < member->cut_ns;
    if (!member->connected && !world->coordinator_ns && !cut &&
        world->now_ns >= member->dial_ns) {
        member->connected = true;
        member->greeted = false;
    }
    if (member->connected && !member->greeted) {
        member->greeted = true;
        say(world, number, SAY_HELLO);
        say_misses(world, number);
        if (member->leaving)
            say(world, number, SAY_LEAVING);
    }
    if (member->connected &&
        world->now_ns - member->pulse_ns >= SKN_MEMBER_PULSE_MS * MS) {
        member->pulse_ns = world->now_ns;
        say(world, number, SAY_PULSE);
        bool fourth = ++member->pulses % 4 == 0;
        if (fourth) /* nobody, too */
            say_misses(world, number);
        if (member->ended && !member->runs && fourth)
            say_ended(world, number);
        say_saved(world, number);
    }
    /* A line that is silent for long is given up by both of its ends. */
    if (!cut)
        member->lost_ns = world->now_ns;
    else if (member->connected && world->now_ns - member->lost_ns > 3300 * MS)
        break_line(world, number);
}

/* --- generations --------------------------------------------------------- */

/* A checkpoint that one cannot write is none, and the run goes on; but at its
 * end. */
static void
fail_to_save(world_t *world, uint64_t number, uint32_t member)
{
    generation_t *generation = &world->generation[number];
    for (uint32_t k = 0; k < world->count; k++)
        if (generation->set & bit(k))
            drop_half(&world->member[k], generation->batch, number);
    generation->stage = 0;
    generation->saved = true;
    if (generation->batch == TOTAL)
        end_of_disk(world, member);
}

/* One step of a save: first each member writes what it keeps, then each puts
 * the manifest in its place; then it is told. */
static void
save_on(world_t *world, uint64_t number)
{
    generation_t *generation = &world->generation[number];
    uint64_t keep = generation->set & ~generation->serving;
    uint32_t size = (uint32_t)__builtin_popcountll(keep);
    uint32_t at = generation->stage++;
    if (at == 0)
        generation->saving = even_state(world, generation);
    if (at < 2 * size) {
        uint32_t k = nth_of(keep, at % size);
        if (!is_mended(world, k)) {
            fail_to_save(world, number, k);
            return;
        }
        copy_t *copy = make_copy(&world->member[k], generation->batch, number);
        if (at < size) {
            *copy = (copy_t){ .batch = generation->batch,
                              .layout = number,
                              .set = keep,
                              .state = generation->saving,
                              .parts = bit(k) };
            for (uint32_t p = 0; p < world->count; p++)
                if ((keep & bit(p)) && next_of(keep, p) == k)
                    copy->parts |= bit(p);
        } else {
            copy->manifest = true;
            world->member[k].salvage = (salvage_t){ 0 };
        }
        return;
    }
    generation->stage = 0;
    generation->saved = true;
    member_t *lead = &world->member[skn_membership_lead(keep)];
    lead->saved = generation->kept = generation->batch;
    lead->saved_in = number;
}

static void
end_all(world_t *world, uint64_t number, skn_ending_t lead)
{
    generation_t *generation = &world->generation[number];
    uint32_t first =
        skn_membership_lead(generation->set & ~generation->serving);
    for (uint32_t k = 0; k < world->count; k++)
        if (generation->set & bit(k))
            end_worker(world, k, k == first ? lead : SKN_ENDING_WELL);
}

static void
train(world_t *world, uint64_t number)
{
    generation_t *generation = &world->generation[number];
    member_t *lead = &world->member[skn_membership_lead(generation->set &
                                                        ~generation->serving)];
    bool at_marker =
        generation->batch % MARK == 0 || generation->batch == generation->begun;
    generation->trained = true;
    if (number < world->trained)
        wrong(world, "an older generation trains after a newer one");
    world->trained = number;
    if (at_marker && !generation->saved && generation->batch > 0) {
        save_on(world, number);
        return;
    }
    if (generation->batch == TOTAL) {
        uint32_t end = even_state(world, generation);
        if (!is_good(&world->states.at[end], TOTAL, world->partial))
            wrong(world, "a batch was not applied once");
        world->done = true;
        end_all(world, number, SKN_ENDING_DONE);
        return;
    }
    if (generation->serving || (at_marker && lead->paused)) {
        end_all(world, number, SKN_ENDING_STOPPED);
        return;
    }
    if (at_marker)
        generation->even = generation->batch;
    generation->batch++;
    generation->saved = false;
}

/* A lead that is paused before its worker has met the others ends alone, and
 * they wait for it in vain. */
static bool
pause_alone(world_t *world, uint64_t number)
{
    const generation_t *generation = &world->generation[number];
    uint32_t lead = skn_membership_lead(generation->set & ~generation->serving);
    const member_t *member = &world->member[lead];
    if (!member->alive || member->runs != number || !member->paused ||
        generation->trained || world->now_ns < member->ready_ns ||
        world->now_ns < member->stopped_ns)
        return false;
    end_worker(world, lead, SKN_ENDING_STOPPED);
    return true;
}

static void
work(world_t *world)
{
    uint32_t working = 0;
    for (uint64_t g = 1; g < GENERATIONS_MAX; g++) {
        generation_t *generation = &world->generation[g];
        if (!generation->set)
            continue;
        if (!pause_alone(world, g) && all_work(world, g, generation->set)) {
            working++;
            train(world, g);
        }
        for (uint32_t k = 0; k < world->count; k++)
            if (world->member[k].runs == g && world->member[k].alive &&
                world->now_ns >= world->member[k].stopped_ns)
                listen_to_peers(world, k, generation->set);
    }
    if (working > 1)
        wrong(world, "two generations train at a time");
}

/* --- the coordinator ----------------------------------------------------- */

static void
open_coordinator(world_t *world)
{
    skn_error_t error = { 0 };
    const skn_membership_options_t options = {
        .count = world->count,
        .least = world->least,
        .first_wait_ns = 3000 * MS,
        .choose = choose,
        .job = world,
        .generation = world->journal_generation,
        .members = world->journal_members,
        .serving = world->journal_serving,
        .copies = 2,
        .saved_batch = world->journal_saved,
        .saved_here = world->journal_saved_in > 0 &&
                      world->journal_saved_in == world->journal_generation,
        .partial = world->partial,
    };
    world->membership = skn_membership_new(&options, names, &error);
    if (!world->membership)
        exit(70);
    world->coordinator_ns = 0;
    world->told_leaving = 0;
    memset(world->list_count, 0, sizeof(world->list_count));
    memset(world->salvage, 0, sizeof(world->salvage));
}

static void
kill_coordinator(world_t *world)
{
    world->coordinator_ns = world->now_ns + 100 * MS + draw(world, 6000) * MS;
    trace(world, "the coordinator is killed");
    note_event(world);
    skn_membership_destroy(&world->membership);
    for (uint32_t k = 0; k < world->count; k++)
        break_line(world, k);
}

static void
carry_out(world_t *world)
{
    skn_duty_t duty;
    bool faults = !world->calm && world->now_ns < HEAL_NS;
    while (world->membership && skn_membership_next(world->membership, &duty)) {
        if (duty.kind == SKN_DUTY_RECORD) {
            if (duty.generation >= GENERATIONS_MAX) {
                wrong(world, "generations without an end");
                return;
            }
            if (faults && draw(world, 60) == 0) { /* its disk is full */
                world->faults++;
                kill_coordinator(world);
                continue;
            }
            world->journal_generation = duty.generation;
            world->journal_members = duty.set;
            world->journal_serving = duty.serving;
            if (duty.point.saved && !duty.point.composed &&
                duty.point.batch > world->journal_saved)
                world->journal_saved = duty.point.batch;
            begin_generation(world, &duty);
            count_for_leavers(world);
        } else if (duty.kind == SKN_DUTY_REPORT) {
            trace(world, "told: %s", duty.text);
        } else {
            trace(world, "duty %d of %s", (int)duty.kind, names[duty.member]);
            if (duty.kind == SKN_DUTY_DISMISS)
                release(world, duty.member);
            send(world, true, duty.member)->duty = duty;
        }
        if (faults && draw(world, 400) == 0) {
            world->faults++;
            kill_coordinator(world);
        }
    }
}

static void
hear(world_t *world, const message_t *message)
{
    skn_membership_t *membership = world->membership;
    skn_error_t error = { .status = message->status };
    uint32_t number = message->member;
    switch (message->say) {
    case SAY_HELLO:
        world->told_leaving &= ~bit(number);
        world->member[number].died = false;
        skn_membership_hello(membership, number, message->incarnation,
                             message->generation, world->now_ns);
        break;
    case SAY_PULSE:
        skn_membership_pulse(membership, number, message->generation,
                             message->batch, world->now_ns);
        if (skn_membership_hears(membership, number)) {
            message_t *answer = send(world, true, number);
            answer->heard = true;
            answer->sent_ns = message->sent_ns;
        }
        break;
    case SAY_HOLDS:
        list_copies(world, number, message->held, message->held_count);
        world->salvage[number] = message->salvage;
        skn_membership_holds(membership, number, world->now_ns);
        break;
    case SAY_ENDED:
        skn_membership_ended(membership, number, message->generation,
                             message->ending, &error, world->now_ns);
        break;
    case SAY_LEAVING:
        world->told_leaving |= bit(number);
        skn_membership_leaving(membership, number, world->now_ns);
        break;
    case SAY_SAVED:
        skn_membership_saved(membership, message->generation, message->batch);
        if (!world->calm && world->now_ns < HEAL_NS && draw(world, 60) == 0) {
            world->faults++;
            kill_coordinator(world);
            return;
        }
        if (message->batch > world->journal_saved)
            world->journal_saved = message->batch;
        world->journal_saved_in = message->generation;
        break;
    case SAY_MISSES:
        skn_membership_misses(membership, number, message->misses,
                              world->now_ns);
        break;
    }
    carry_out(world);
}

static void
deliver(world_t *world)
{
    for (size_t k = 0; k < world->message_count;) {
        message_t message = world->message[k];
        member_t *member = &world->member[message.member];
        bool later = message.due_ns > world->now_ns ||
                     (message.to_member && world->now_ns < member->stopped_ns);
        if (later) {
            k++;
            continue;
        }
        world->message_count--;
        memmove(&world->message[k], &world->message[k + 1],
                (world->message_count - k) * sizeof(message));
        if (message.incarnation != member->incarnation)
            continue;
        if (message.to_member && member->alive)
            obey(world, message.member, &message);
        else if (!message.to_member && !world->coordinator_ns)
            hear(world, &message);
        k = 0; /* what was sent or broken meanwhile */
    }
}

/* --- what goes wrong ----------------------------------------------------- */

/* One leaves, or several do at the same moment: any number of all. */
static void
leave(world_t *world, uint32_t number)
{
    uint64_t set = bit(number);
    bool several = draw(world, 2);
    bool all = several && draw(world, 5) == 0;
    for (uint32_t k = 0; several && k < world->count; k++)
        if (all || draw(world, 2))
            set |= bit(k);
    for (uint32_t k = 0; k < world->count; k++) {
        member_t *member = &world->member[k];
        if (!(set & bit(k)) || !member->alive || member->leaving)
            continue;
        member->leaving = true;
        member->leave_begun = 0;
        member->leave_events = 0;
        member->event_ns = world->now_ns;
        trace(world, "%s leaves%s", names[k], several ? ", of several" : "");
        say(world, k, SAY_LEAVING);
        member->back_ns = world->now_ns + GRACE_NS;
        world->leaves++;
        world->joint += several;
    }
}

static void
spoil(world_t *world)
{
    uint32_t number = (uint32_t)draw(world, world->count);
    member_t *member = &world->member[number];
    if (world->now_ns >= HEAL_NS || draw(world, world->calm ? 150 : 60) != 0)
        return;
    if (!world->calm && world->membership && draw(world, 8) == 0) {
        note_event(world);
        if (draw(world, 2) == 0)
            (void)skn_membership_leave_out(world->membership, number,
                                           world->now_ns +
                                               draw(world, 60000) * MS);
        skn_membership_renew(world->membership, "rows", "are dealt anew");
    }
    world->faults++;
    note_event(world); /* for those that leave already */
    switch (world->calm ? 7 : draw(world, 8)) {
    case 0:
        if (member->alive)
            kill_member(world, number,
                        outlives(world, bit(number), world->forever));
        break;
    case 1:
        if (member->alive)
            kill_member(world, number, false);
        break;
    case 2:
        if (!world->coordinator_ns)
            kill_coordinator(world);
        break;
    case 3:
        member->stopped_ns =
            world->now_ns + (draw(world, 2) ? 2000 : 20000) * MS;
        trace(world, "%s is stopped till %.2f", names[number],
              (double)member->stopped_ns * 1e-9);
        break;
    case 4:
        cut_lines(world, number);
        break;
    case 5:
        cut_off(world, number);
        break;
    case 6:
        member->disk_ns = world->now_ns + draw(world, 15000) * MS;
        trace(world, "nothing can be written to the disk of %s till %.2f",
              names[number], (double)member->disk_ns * 1e-9);
        break;
    default:
        leave(world, number);
        break;
    }
}

static void
lose_patience(world_t *world)
{
    for (uint32_t k = 0; k < world->count; k++) {
        const member_t *member = &world->member[k];
        if (waits_in_vain(world, k))
            wrong(world, "one who leaves was not let go");
        if (member->alive && member->leaving &&
            world->now_ns >= member->back_ns)
            kill_member(world, k, false);
    }
}

static bool
run(world_t *world)
{
    open_coordinator(world);
    while (!world->done && !world->wrong && world->now_ns < END_NS) {
        world->now_ns += STEP_NS;
        spoil(world);
        lose_patience(world);
        for (uint32_t k = 0; k < world->count; k++)
            live(world, k);
        work(world);
        deliver(world);
        if (world->coordinator_ns && world->now_ns >= world->coordinator_ns)
            open_coordinator(world);
        if (!world->coordinator_ns) {
            skn_membership_tick(world->membership, world->now_ns);
            carry_out(world);
        }
    }
    if (!world->done)
        wrong(world, "the run does not come to its end");
    skn_membership_destroy(&world->membership);
    return !world->wrong;
}

/* Sums over all worlds: starts from salvages, members that left, and members
 * that left at the same moment as others. */
static uint64_t composed, leaves, joint;

static bool
play(uint64_t seed, bool partial, uint64_t *generations, uint64_t *faults)
{
    world_t *world = calloc(1, sizeof(*world));
    if (!world)
        exit(70);
    world->seed = seed;
    world->partial = partial;
    (void)keep_state(&world->states, &(state_t){ 0 });
    world->random = seed * 0xD1342543DE82EF95u;
    world->generation = calloc(GENERATIONS_MAX, sizeof(generation_t));
    world->message = calloc(MESSAGES_MAX, sizeof(message_t));
    if (!world->generation || !world->message)
        exit(70);
    world->calm = draw(world, 4) == 0;
    world->count = 2 + (uint32_t)draw(world, MEMBERS_MAX - 1);
    world->least =
        1 + (draw(world, 2) ? (uint32_t)draw(world, world->count) : 0);
    for (uint32_t k = 0; k < world->count; k++)
        world->member[k].back_ns = draw(world, 4000) * MS;
    bool good = run(world);
    if (!good)
        (void)printf("seed %llu, %.2f s, generation %llu: %s\n",
                     (unsigned long long)seed, (double)world->now_ns * 1e-9,
                     (unsigned long long)world->journal_generation,
                     world->wrong);
    *generations += world->journal_generation;
    *faults += world->faults;
    composed += world->composed_count;
    leaves += world->leaves;
    joint += world->joint;
    free(world->states.at);
    free(world->generation);
    free(world->message);
    free(world);
    return good;
}

int
main(int argc, char **argv)
{
    uint64_t generations = 0, faults = 0, failed = 0, first = 1;
    uint64_t last = getenv("SKEIN_TESTS") ? 1000 : 300;
    bool partial = argc > 1 && strcmp(argv[1], "--partial") == 0;
    if (partial) {
        argc--;
        argv++;
    }
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        char *end = NULL;
        first = last = strtoull(argv[2], &end, 10);
        if (strncmp(end, "..", 2) == 0)
            last = strtoull(end + 2, NULL, 10);
    } else if (argc == 3 && strcmp(argv[1], "--trace") == 0) {
        first = last = strtoull(argv[2], NULL, 10);
        tracing = true;
    } else if (argc != 1) {
        return fputs(
            "usage: sim_membership [--partial] [--seeds FIRST..LAST]\n",
            stderr);
    }
    for (uint64_t seed = first; seed <= last && failed < 10; seed++)
        failed += !play(seed, partial, &generations, &faults);
    (void)printf(
        "%" PRIu64 " worlds, %" PRIu64 " generations, %" PRIu64
        " faults, %" PRIu64 " beginnings from salvages, %" PRIu64
        " leaves (%" PRIu64 " of several at once): %" PRIu64 " went wrong\n",
        last - first + 1, generations, faults, composed, leaves, joint, failed);
    return failed > 0;
}
