/* coordinating.c - the coordinator of a run: the socket, the clock and the
 * journal around its membership.
 *
 * It holds no state of the model: what it needs after a restart is in its
 * journal, and members report what they hold when they are asked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/coordinating.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/text/json_text.h"
#include "topology/cluster/admission.h"
#include "topology/cluster/balancing.h"
#include "topology/cluster/duty_messages.h"
#include "topology/cluster/harvest_json.h"
#include "topology/cluster/held_list.h"
#include "topology/cluster/inventories.h"
#include "topology/cluster/member_rates.h"
#include "topology/cluster/run_journal.h"
#include "topology/elastic/membership.h"
#include "transport/socket/clock.h"

#define COORDINATOR_TICK_MS 100
/* The most messages taken in a turn. All members' pulses of a second are 128: a
 * member that sends without end must not keep us from signals, or from noticing
 * the silence of others. */
#define COORDINATOR_TURN_MAX 256
/* The time for all listed nodes to connect at the start of a run. */
#define FIRST_WAIT_S 15u
/* The time for members to receive the end of the run. */
#define FAREWELL_MS 1500u

struct skn_coordinating {
    skn_coordinating_options_t options;
    const skn_model_t *model;
    const char *names[SKN_CLUSTER_NODES_MAX];
    const char *keys[SKN_CLUSTER_NODES_MAX];
    char key_text[SKN_CLUSTER_NODES_MAX][SKN_KEY_TEXT_BYTES];
    uint32_t count;
    skn_keys_t *own;
    skn_control_t *control;
    skn_run_journal_t journal;
    skn_membership_t *membership;
    skn_harvest_t *harvest;
    skn_member_rates_t rates;
    skn_balance_t *balance;
    uint64_t balanced; /* the generation that it compares */
    skn_inventories_t inventories;
    skn_admission_t admission;
    uint64_t over_ns; /* since when there is nothing left to do; 0: not yet */
    bool was_stopped; /* the run is over, and was not done */
};

/* --- events -------------------------------------------------------------- */

/* Tells and releases the event; without memory it is lost. */
static void
tell(const skn_coordinating_t *coordinator, skn_json_text_t *event)
{
    if (!event->failed)
        coordinator->options.tell(coordinator->options.job, event->bytes);
    skn_json_text_fini(event);
}

static void
tell_json(const skn_coordinating_t *coordinator, json_t *event)
{
    char *line = event ? skn_json_write(event, JSON_COMPACT) : NULL;
    if (line)
        coordinator->options.tell(coordinator->options.job, line);
    free(line);
    json_decref(event);
}

void
skn_coordinating_complain(const skn_coordinating_options_t *options, int code,
                          const char *message, const char *hint)
{
    skn_json_text_t event = { 0 };
    if (code == 0)
        skn_json_text_add(&event, "{\"event\":\"warning\"");
    else
        skn_json_text_add(&event, "{\"event\":\"error\",\"code\":%d", code);
    skn_json_text_add(&event, ",\"message\":");
    skn_json_text_add_string(&event, message);
    skn_json_text_add(&event, ",\"hint\":");
    skn_json_text_add_string(&event, hint);
    skn_json_text_add(&event, "}");
    if (!event.failed)
        options->tell(options->job, event.bytes);
    skn_json_text_fini(&event);
}

static void
warn(const skn_coordinating_t *coordinator, const char *message,
     const char *hint)
{
    skn_coordinating_complain(&coordinator->options, 0, message, hint);
}

/* Tells of the membership, with a sentence for people. */
static void
say(const skn_coordinating_t *coordinator, const char *text)
{
    const skn_membership_t *membership = coordinator->membership;
    uint64_t set = skn_membership_members(membership);
    skn_json_text_t event = { 0 };
    skn_json_text_add(&event,
                      "{\"event\":\"membership\",\"generation\":%" PRIu64
                      ",\"members\":[",
                      skn_membership_generation(membership));
    for (uint32_t k = 0, count = 0; k < coordinator->count; k++) {
        if (!(set & ((uint64_t)1 << k)))
            continue;
        skn_json_text_add(&event, count++ > 0 ? "," : "");
        skn_json_text_add_string(&event, coordinator->names[k]);
    }
    skn_json_text_add(&event, "],\"text\":");
    skn_json_text_add_string(&event, text);
    skn_json_text_add(&event, "}");
    tell(coordinator, &event);
}

/* Adds a line to the journal, with the harvest so far. */
static void
add_line(skn_coordinating_t *coordinator, skn_run_journal_line_t line)
{
    skn_harvest_sum_t sum;
    skn_harvest_sum(coordinator->harvest, &sum);
    json_t *harvest = skn_harvest_json(&sum);
    line.harvest = harvest;
    skn_run_journal_add(&coordinator->journal, &line);
    json_decref(harvest);
}

/* Chooses the checkpoint of a generation, for skn_membership_options_t. */
static skn_status_t
choose(void *job, uint64_t set, skn_point_t *point, skn_error_t *error)
{
    skn_coordinating_t *coordinator = job;
    const skn_membership_t *membership = coordinator->membership;
    uint64_t generation = skn_membership_generation(membership);
    return skn_inventories_choose(
        &coordinator->inventories, set, coordinator->journal.run_id,
        skn_membership_keeps(membership) ? &generation : NULL, point, error);
}

/* --- duties -------------------------------------------------------------- */

/* Sends a member the message of its duty. If it does not arrive, the member is
 * silent, and is found dead. */
static void
send_duty(const skn_coordinating_t *coordinator, const skn_duty_t *duty)
{
    const skn_duty_messages_t messages = {
        .model = coordinator->model,
        .keys = coordinator->keys,
        .run_id = coordinator->journal.run_id,
        .manifests = &coordinator->inventories.manifests,
        .seal = coordinator->inventories.seal,
        .balance = coordinator->balance,
        .composed = coordinator->inventories.composing.text.bytes,
        .fault = skn_membership_fault(coordinator->membership, duty->member),
        .how = skn_duty_messages_how(coordinator->membership),
    };
    skn_control_message_t message;
    skn_duty_messages_make(&messages, duty, &message);
    (void)skn_control_message_send(coordinator->control, duty->member, &message,
                                   NULL);
    skn_control_message_fini(&message);
}

/* Puts the start of a generation into the journal. */
static void
record(skn_coordinating_t *coordinator, const skn_duty_t *duty)
{
    const skn_model_t *model = coordinator->model;
    /* Drop them only now: members do not send a manifest that they were told is
     * known here. */
    skn_inventories_drop(&coordinator->inventories);
    if (duty->point.composed)
        skn_harvest_partial(coordinator->harvest,
                            coordinator->inventories.composing.sum.lost);
    skn_harvest_begin(coordinator->harvest, duty->generation,
                      duty->set & ~duty->serving, duty->point.batch,
                      skn_monotonic_ns());
    json_t *members = skn_control_node_names(model, duty->set);
    json_t *serving =
        duty->serving ? skn_control_node_names(model, duty->serving) : NULL;
    json_t *speeds = skn_balancing_json(coordinator->balance, model);
    const skn_run_journal_line_t line = {
        .generation = duty->generation,
        .members = members,
        .serving = serving,
        .batch = duty->point.batch,
        .layout = duty->point.layout,
        .from_saved = duty->point.saved,
        .composed = duty->point.composed,
        .speeds = speeds,
    };
    add_line(coordinator, line);
    json_decref(members);
    json_decref(serving);
    json_decref(speeds);
    if (!duty->point.composed)
        return;
    skn_json_text_t event = { 0 };
    skn_composing_write(&coordinator->inventories.composing, duty->generation,
                        &event);
    tell(coordinator, &event);
}

static void
carry_out(skn_coordinating_t *coordinator)
{
    skn_duty_t duty;
    while (skn_membership_next(coordinator->membership, &duty)) {
        if (duty.kind == SKN_DUTY_REPORT)
            say(coordinator, duty.text);
        else if (duty.kind == SKN_DUTY_RECORD)
            record(coordinator, &duty);
        else if (coordinator->journal.broken.status == SKN_OK)
            send_duty(coordinator, &duty);
    }
}

/* --- messages of members ------------------------------------------------- */

static void
take_ended(skn_coordinating_t *coordinator, uint32_t member,
           const skn_control_message_t *message)
{
    skn_error_t error = { 0 };
    skn_inventories_t *inventories = &coordinator->inventories;
    skn_ending_t ending = skn_control_message_ending(&message->ended, &error);
    uint64_t generation = message->ended.generation;
    skn_membership_phase_t phase =
        skn_membership_phase(coordinator->membership);
    if (ending == SKN_ENDING_FAILED && !skn_membership_is_echo(&error) &&
        (phase == SKN_MEMBERSHIP_RUNNING || phase == SKN_MEMBERSHIP_PAUSING))
        skn_harvest_failure(coordinator->harvest, member, generation);
    if (ending == SKN_ENDING_FAILED && phase == SKN_MEMBERSHIP_RUNNING &&
        skn_membership_batch(coordinator->membership) == inventories->batch &&
        skn_bad_checkpoints_add(&inventories->bad_checkpoints,
                                inventories->seal, generation, error.status))
        say(coordinator, "the newest checkpoint cannot be read; continuing "
                         "from an older one");
    skn_membership_ended(coordinator->membership, member, generation, ending,
                         &error, skn_monotonic_ns());
}

static void
enter(skn_coordinating_t *coordinator, uint32_t member,
      const skn_control_hello_t *hello)
{
    char text[160];
    if (hello->version >= SKN_CONTROL_VERSION_MIN &&
        hello->version <= SKN_CONTROL_VERSION + 1) {
        skn_membership_hello(coordinator->membership, member,
                             hello->incarnation, hello->generation,
                             skn_monotonic_ns());
        skn_membership_newest(coordinator->membership, member, hello->newest);
        skn_harvest_hello(coordinator->harvest, member, hello->incarnation,
                          (uint32_t)hello->cores, skn_monotonic_ns());
        skn_member_rates_hello(&coordinator->rates, member);
        return;
    }
    (void)snprintf(text, sizeof(text),
                   "node '%.64s' uses protocol version %" PRIu64
                   ", this coordinator version %d: it cannot join",
                   coordinator->names[member], hello->version,
                   SKN_CONTROL_VERSION);
    warn(coordinator, text, "install the same version of skein on all nodes");
}

static void
take_hello(skn_coordinating_t *coordinator, uint32_t member,
           const skn_control_message_t *message)
{
    enter(coordinator, member, &message->hello);
}

static void
take_pulse(skn_coordinating_t *coordinator, uint32_t member,
           const skn_control_message_t *message)
{
    const skn_control_pulse_t *pulse = &message->pulse;
    skn_membership_t *membership = coordinator->membership;
    uint64_t now_ns = skn_monotonic_ns();
    const skn_harvest_pulse_t harvest = {
        .generation = pulse->worked,
        .batch = pulse->batch,
        .busy_ns = pulse->busy_ns,
        .cpu_ns = pulse->cpu_ns,
        .sent_bytes = pulse->sent_bytes,
    };
    skn_membership_pulse(membership, member, pulse->generation, pulse->batch,
                         now_ns);
    skn_membership_room(membership, member, pulse->room_bytes, now_ns);
    skn_harvest_pulse(coordinator->harvest, member, &harvest, now_ns);
    skn_member_rates_pulse(&coordinator->rates, member, &harvest, now_ns);
    if (pulse->generation == coordinator->balanced)
        skn_balance_load(coordinator->balance, member, pulse->load_us,
                         pulse->load_at_us, skn_membership_batch(membership));
    const skn_control_message_t answer = {
        .kind = SKN_CONTROL_MESSAGE_ACKNOWLEDGE,
        .acknowledge.pulse = pulse->pulse,
    };
    if (skn_membership_hears(membership, member))
        (void)skn_control_message_send(coordinator->control, member, &answer,
                                       NULL);
}

static void
take_inventory(skn_coordinating_t *coordinator, uint32_t member,
               const skn_control_message_t *message)
{
    skn_error_t error = { 0 };
    if (skn_inventories_take(&coordinator->inventories, member,
                             &message->inventory, &error) == SKN_OK)
        skn_membership_holds(coordinator->membership, member,
                             skn_monotonic_ns());
    else
        warn(coordinator, error.text, coordinator->names[member]);
}

static void
take_unreachable(skn_coordinating_t *coordinator, uint32_t member,
                 const skn_control_message_t *message)
{
    skn_membership_misses(
        coordinator->membership, member,
        skn_control_node_set(coordinator->model, message->unreachable.nodes),
        skn_monotonic_ns());
}

static void
take_leaving(skn_coordinating_t *coordinator, uint32_t member,
             const skn_control_message_t *message)
{
    (void)message;
    skn_membership_leaving(coordinator->membership, member, skn_monotonic_ns());
    skn_harvest_notice(coordinator->harvest, member);
}

/* Takes a `saved`, once each, from a member that trains or did so under an
 * earlier coordinator process. */
static void
take_saved(skn_coordinating_t *coordinator, uint32_t member,
           const skn_control_message_t *message)
{
    skn_run_journal_t *journal = &coordinator->journal;
    uint64_t batch = message->saved.batch, in = message->saved.generation;
    uint64_t set =
        skn_membership_members(coordinator->membership) | journal->members;
    if (!(set >> member & 1u) || in < journal->saved_in ||
        (in == journal->saved_in && batch <= journal->saved_batch))
        return;
    journal->saved_in = in;
    journal->saved_batch = batch;
    skn_membership_saved(coordinator->membership, in, batch);
    add_line(coordinator,
             (skn_run_journal_line_t){ .saved = batch, .generation = in });
}

/* Takes a message of a process that has the key of a member. */
static void
take_message(skn_coordinating_t *coordinator,
             const skn_control_arrival_t *arrival,
             const skn_control_message_t *message)
{
    static void (*const take[SKN_CONTROL_MESSAGE_KINDS])(
        skn_coordinating_t *, uint32_t, const skn_control_message_t *) = {
        [SKN_CONTROL_MESSAGE_HELLO] = take_hello,
        [SKN_CONTROL_MESSAGE_PULSE] = take_pulse,
        [SKN_CONTROL_MESSAGE_INVENTORY] = take_inventory,
        [SKN_CONTROL_MESSAGE_SAVED] = take_saved,
        [SKN_CONTROL_MESSAGE_ENDED] = take_ended,
        [SKN_CONTROL_MESSAGE_UNREACHABLE] = take_unreachable,
        [SKN_CONTROL_MESSAGE_LEAVING] = take_leaving,
    };
    const char *news = NULL;
    if (!skn_admission_take(&coordinator->admission, arrival, message,
                            skn_monotonic_ns(), &news)) {
        if (news)
            say(coordinator, news);
    } else if (take[message->kind])
        take[message->kind](coordinator, arrival->member, message);
}

/* Takes the hellos that waited until the earlier process with that key was
 * gone. */
static void
take_waiting(skn_coordinating_t *coordinator)
{
    uint32_t member;
    skn_control_hello_t hello;
    while (skn_admission_next(&coordinator->admission, skn_monotonic_ns(),
                              &member, &hello))
        enter(coordinator, member, &hello);
}

static void
take_arrivals(skn_coordinating_t *coordinator)
{
    skn_control_arrival_t arrival;
    for (int taken = 0; taken < COORDINATOR_TURN_MAX &&
                        skn_control_take(coordinator->control, &arrival);
         taken++) {
        skn_error_t error = { 0 };
        skn_control_message_t message = { .kind = SKN_CONTROL_MESSAGE_UNKNOWN };
        if (arrival.kind == SKN_CONTROL_LOST) {
            skn_admission_lost(&coordinator->admission, arrival.member);
            skn_membership_lost(coordinator->membership, arrival.member,
                                skn_monotonic_ns());
        } else if (arrival.kind == SKN_CONTROL_STRANGER)
            warn(coordinator, arrival.frame.at,
                 "the coordinator's connection guard");
        else if (skn_control_message_read(arrival.frame, &message, &error) ==
                 SKN_OK)
            take_message(coordinator, &arrival, &message);
        else if (skn_admission_complains(&coordinator->admission,
                                         arrival.member, skn_monotonic_ns()))
            warn(coordinator, error.text,
                 error.hint[0] ? error.hint
                               : coordinator->names[arrival.member]);
        skn_control_message_fini(&message);
        carry_out(coordinator);
    }
}

static void
count(skn_coordinating_t *coordinator)
{
    uint64_t here = 0;
    for (uint32_t k = 0; k < coordinator->count; k++)
        if (skn_membership_hears(coordinator->membership, k))
            here |= (uint64_t)1 << k;
    skn_harvest_tick(coordinator->harvest, here, skn_monotonic_ns());
    if (skn_membership_phase(coordinator->membership) == SKN_MEMBERSHIP_OVER)
        skn_harvest_end(coordinator->harvest, skn_monotonic_ns());
}

/* Checks whether the rows of the running generation should be dealt
 * differently. */
static void
balance(skn_coordinating_t *coordinator)
{
    char text[SKN_DUTY_TEXT_BYTES];
    if (!coordinator->model->coordinator.balance)
        return;
    skn_balance_verdict_t verdict = skn_balancing_turn(
        coordinator->balance, &coordinator->balanced, coordinator->model,
        coordinator->membership, text, sizeof(text));
    if (verdict.kind == SKN_BALANCE_GO_ON)
        return;
    say(coordinator, text);
    skn_balancing_renew(verdict, coordinator->model, coordinator->membership);
}

/* Tells the event `nodes` to people who watch. */
static void
tell_nodes(skn_coordinating_t *coordinator)
{
    if (coordinator->options.progress)
        tell_json(coordinator, skn_member_rates_event(
                                   &coordinator->rates, coordinator->membership,
                                   coordinator->balance, coordinator->names,
                                   coordinator->count, skn_monotonic_ns()));
}

bool
skn_coordinating_is_over(const skn_coordinating_t *coordinator)
{
    return skn_membership_phase(coordinator->membership) == SKN_MEMBERSHIP_OVER;
}

bool
skn_coordinating_leads(const skn_coordinating_t *coordinator)
{
    return coordinator->journal.broken.status == SKN_OK &&
           (coordinator->over_ns == 0 ||
            skn_monotonic_ns() - coordinator->over_ns <
                FAREWELL_MS * 1000000ull);
}

void
skn_coordinating_wait(skn_coordinating_t *coordinator, struct pollfd *polled,
                      size_t polled_count)
{
    skn_control_wait(coordinator->control, polled, polled_count,
                     COORDINATOR_TICK_MS);
    take_arrivals(coordinator);
}

void
skn_coordinating_stop(skn_coordinating_t *coordinator)
{
    skn_membership_stop(coordinator->membership, skn_monotonic_ns());
}

void
skn_coordinating_turn(skn_coordinating_t *coordinator)
{
    skn_membership_tick(coordinator->membership, skn_monotonic_ns());
    take_waiting(coordinator);
    count(coordinator);
    balance(coordinator);
    carry_out(coordinator);
    tell_nodes(coordinator);
    if (coordinator->over_ns == 0 && skn_coordinating_is_over(coordinator))
        coordinator->over_ns = skn_monotonic_ns();
}

/* --- opening ------------------------------------------------------------- */

static skn_status_t
read_keys(skn_coordinating_t *coordinator, skn_error_t *error)
{
    const skn_model_t *model = coordinator->model;
    skn_status_t status = SKN_OK;
    coordinator->count = (uint32_t)model->node_count;
    for (uint32_t k = 0; k < coordinator->count && status == SKN_OK; k++) {
        coordinator->names[k] = model->nodes[k].name;
        coordinator->keys[k] = coordinator->key_text[k];
        if (model->nodes[k].key[0])
            status = skn_key_load_public(model->nodes[k].key,
                                         coordinator->key_text[k], error);
    }
    if (status != SKN_OK || !model->coordinator.key[0])
        return status;
    coordinator->own = skn_keys_load(model->coordinator.key, error);
    return coordinator->own ? SKN_OK : error->status;
}

/* Makes the membership, with the state of the journal. */
static skn_membership_t *
open_membership(skn_coordinating_t *coordinator, skn_error_t *error)
{
    const skn_model_t *model = coordinator->model;
    const skn_run_journal_t *journal = &coordinator->journal;
    uint32_t copies = (uint32_t)model->checkpoint.copies;
    uint32_t wait_s = coordinator->options.wait_s > 0
                          ? coordinator->options.wait_s
                          : FIRST_WAIT_S;
    uint32_t cores[SKN_CLUSTER_NODES_MAX] = { 0 };
    for (uint32_t k = 0; k < coordinator->count; k++)
        cores[k] = skn_model_cores_count(&model->nodes[k].cores);
    const skn_membership_options_t options = {
        .count = coordinator->count,
        .cores = cores,
        .least = (uint32_t)model->coordinator.least,
        .first_wait_ns = wait_s * 1000000000ull,
        .choose = choose,
        .job = coordinator,
        .generation = journal->generation,
        .members = journal->members,
        .serving = journal->serving,
        .saved_batch = journal->saved_batch,
        .saved_here =
            journal->saved_in > 0 && journal->saved_in == journal->generation,
        .copies = copies < SKN_COPIES_MIN ? SKN_COPIES_MIN : copies,
        .partial = model->coordinator.recovery == SKN_RECOVERY_PARTIAL,
        .undialled = skn_model_undialled(model),
    };
    return skn_membership_new(&options, coordinator->names, error);
}

static skn_status_t
open_all(skn_coordinating_t *coordinator, const char *name, skn_error_t *error)
{
    const skn_model_t *model = coordinator->model;
    if (!model->coordinator.address[0])
        return skn_fail_hint(
            error, skn_fail(error, SKN_USAGE, "%s has no coordinator", name),
            "set its address under coordinator:");
    skn_status_t status = read_keys(coordinator, error);
    if (status == SKN_OK)
        status = skn_admission_init(&coordinator->admission, model,
                                    coordinator->names, error);
    if (status == SKN_OK)
        status = skn_run_journal_open(&coordinator->journal, model, error);
    if (status != SKN_OK || coordinator->journal.over)
        return status;
    coordinator->balance =
        skn_balancing_new(model, coordinator->journal.speeds, error);
    coordinator->membership = open_membership(coordinator, error);
    coordinator->harvest = skn_harvest_new(
        coordinator->count, &coordinator->journal.harvested, error);
    if (!coordinator->membership || !coordinator->harvest ||
        !coordinator->balance)
        return error->status;
    skn_harvest_goes_on(coordinator->harvest, coordinator->journal.generation,
                        coordinator->journal.members);
    skn_control_options_t line = {
        .address = model->coordinator.address,
        .keys = coordinator->own,
        .member_keys = coordinator->keys,
        .member_count = coordinator->count,
        .needs_admission = true,
    };
    coordinator->control = skn_control_listen(&line, error);
    coordinator->admission.control = coordinator->control;
    coordinator->admission.membership = coordinator->membership;
    return coordinator->control ? SKN_OK : error->status;
}

skn_coordinating_t *
skn_coordinating_open(const skn_model_t *model, const char *name,
                      const skn_coordinating_options_t *options,
                      skn_error_t *error)
{
    skn_error_t own = { 0 };
    if (!error)
        error = &own;
    skn_coordinating_t *coordinator = calloc(1, sizeof(*coordinator));
    if (!coordinator) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a coordinator");
        return NULL;
    }
    coordinator->options = *options;
    coordinator->model = model;
    if (open_all(coordinator, name, error) != SKN_OK)
        skn_coordinating_close(&coordinator);
    else if (coordinator->journal.over)
        warn(coordinator, "this run is done: there is nothing to coordinate",
             "another run needs another checkpoint.path");
    return coordinator;
}

void
skn_coordinating_close(skn_coordinating_t **closed)
{
    skn_coordinating_t *coordinator = *closed;
    if (!coordinator)
        return;
    skn_control_close(&coordinator->control);
    skn_membership_destroy(&coordinator->membership);
    skn_harvest_destroy(&coordinator->harvest);
    skn_balance_destroy(&coordinator->balance);
    skn_run_journal_close(&coordinator->journal);
    skn_keys_destroy(&coordinator->own);
    skn_inventories_fini(&coordinator->inventories);
    skn_admission_fini(&coordinator->admission);
    free(coordinator);
    *closed = NULL;
}

bool
skn_coordinating_is_done(const skn_coordinating_t *coordinator)
{
    return coordinator->journal.over;
}

/* --- the end -------------------------------------------------------------- */

bool
skn_coordinating_was_stopped(const skn_coordinating_t *coordinator)
{
    return coordinator->was_stopped;
}

skn_status_t
skn_coordinating_finish(skn_coordinating_t *coordinator, skn_error_t *error)
{
    bool stopped = false;
    skn_error_t failure = coordinator->journal.broken;
    if (failure.status == SKN_OK)
        (void)skn_membership_result(coordinator->membership, &stopped,
                                    &failure);
    bool over = skn_coordinating_is_over(coordinator);
    if (failure.status == SKN_OK && over) {
        coordinator->was_stopped = stopped;
        add_line(coordinator, (skn_run_journal_line_t){
                                  .over = stopped ? "stopped" : "done" });
        say(coordinator, stopped ? "the run has stopped; start the "
                                   "coordinator again to continue"
                                 : "the run is done");
    }
    skn_harvest_sum_t sum;
    skn_harvest_sum(coordinator->harvest, &sum);
    if (over)
        tell_json(coordinator, skn_harvest_json_event(&sum));
    if (error && failure.status != SKN_OK)
        *error = failure;
    return failure.status;
}
