/* coordinator.c - skein coordinator: decides which members train in a run.
 *
 * It supplies the socket, the clock and the journal to
 * topology/elastic/membership.h. It holds no state of the model: what it needs
 * after a restart is in its journal, and members report what they hold when
 * they are asked.  SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "cli/elastic/admission.h"
#include "cli/base/resume_command.h"
#include "cli/elastic/balancing.h"
#include "cli/elastic/composing.h"
#include "cli/elastic/bad_checkpoints.h"
#include "cli/base/events.h"
#include "cli/elastic/harvest_report.h"
#include "cli/elastic/member_rates.h"
#include "cli/elastic/duty_messages.h"
#include "cli/base/process.h"
#include "cli/elastic/run_journal.h"
#include "cli/base/stop.h"
#include "cli/control/held_list.h"
#include "cli/base/verbs.h"
#include "formats/text/json_text.h"
#include "topology/elastic/membership.h"
#include "topology/model/model.h"
#include "topology/config/problems.h"
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

/* The checkpoints that one member reported. */
typedef struct member_holding {
    skn_held_t *list;
    size_t count;
} member_holding_t;

typedef struct coordinator {
    const cli_call_t *call;
    skn_model_t *model;
    const char *names[SKN_CLUSTER_NODES_MAX];
    const char *keys[SKN_CLUSTER_NODES_MAX];
    char key_text[SKN_CLUSTER_NODES_MAX][SKN_KEY_TEXT_BYTES];
    uint32_t count;
    skn_keys_t *own;
    skn_control_t *control;
    cli_run_journal_t journal;
    skn_membership_t *membership;
    skn_harvest_t *harvest;
    cli_member_rates_t rates;
    skn_balance_t *balance;
    uint64_t balanced; /* the generation that it compares */
    member_holding_t holding[SKN_CLUSTER_NODES_MAX];
    cli_manifests_t manifests;
    cli_composing_t composing;
    cli_admission_t admission;
    char seal[SKN_HASH_TEXT_BYTES]; /* seal of the checkpoint chosen last */
    uint64_t from_batch;            /* its batch */
    cli_bad_checkpoints_t bad_checkpoints;
    cli_stop_t stop;
    bool leash;
    uint64_t over_ns; /* since when there is nothing left to do; 0: not yet */
} coordinator_t;

/* --- messages for people ------------------------------------------------- */

static void
say(coordinator_t *coordinator, const char *text)
{
    if (!coordinator->call->json) {
        (void)printf("%s\n", text);
        (void)fflush(stdout);
        return;
    }
    uint64_t set = skn_membership_members(coordinator->membership);
    json_t *event = json_pack(
        "{ss sI so ss}", "event", "membership", "generation",
        (json_int_t)skn_membership_generation(coordinator->membership),
        "members", cli_node_names(coordinator->model, set), "text", text);
    cli_event_put(event);
}

/* Adds a line to the journal, with the harvest so far. */
static void
add_line(coordinator_t *coordinator, cli_journal_line_t line)
{
    skn_harvest_sum_t sum;
    skn_harvest_sum(coordinator->harvest, &sum);
    json_t *harvest = cli_harvest_report_json(&sum);
    line.harvest = harvest;
    cli_run_journal_add(&coordinator->journal, &line);
    json_decref(harvest);
}

/* --- checkpoints that members hold --------------------------------------- */

static bool
is_held(const void *job, const char *seal)
{
    const coordinator_t *coordinator = job;
    for (uint32_t k = 0; k < coordinator->count; k++)
        for (size_t n = 0; n < coordinator->holding[k].count; n++)
            if (strcmp(coordinator->holding[k].list[n].seal, seal) == 0)
                return true;
    return false;
}

static void
take_inventory(coordinator_t *coordinator, uint32_t member,
               const cli_control_message_t *message)
{
    const cli_inventory_t *inventory = &message->inventory;
    member_holding_t *holding = &coordinator->holding[member];
    const char *manifest[CLI_HELD_MAX];
    skn_error_t error = { 0 };
    skn_held_free(&holding->list, holding->count);
    holding->count = 0;
    if (cli_held_list_read(inventory, &holding->list, &holding->count, manifest,
                           &error) != SKN_OK) {
        cli_warn(coordinator->call, error.text, coordinator->names[member]);
        return;
    }
    for (size_t k = 0; k < holding->count; k++)
        cli_manifests_keep(&coordinator->manifests, holding->list[k].seal,
                           manifest[k]);
    cli_composing_take(&coordinator->composing, member, inventory->salvage);
    skn_membership_holds(coordinator->membership, member, skn_monotonic_ns());
}

static skn_status_t
choose(void *job, uint64_t set, skn_point_t *point, skn_error_t *error)
{
    coordinator_t *coordinator = job;
    skn_holder_t holders[SKN_CLUSTER_NODES_MAX];
    size_t count = 0, lists = 0;
    for (uint32_t k = 0; k < coordinator->count; k++) {
        const member_holding_t *holding = &coordinator->holding[k];
        if (!(set & ((uint64_t)1 << k)))
            continue;
        holders[count++] =
            (skn_holder_t){ .held = holding->list, .count = holding->count };
        lists += holding->count;
    }
    if (lists == 0)
        return SKN_NO_INPUT;
    const skn_held_t *held = skn_held_choose(
        holders, count, coordinator->journal.run_id,
        coordinator->bad_checkpoints.seal, coordinator->bad_checkpoints.count);
    if (!held) {
        skn_held_none(holders, count, error);
        return SKN_UNAVAILABLE;
    }
    *point = (skn_point_t){
        .batch = held->batch,
        .layout = held->generation,
        .copies = (uint32_t)skn_held_copies(holders, count, held),
    };
    coordinator->from_batch = held->batch;
    /* Two checkpoints may have the same batch and layout, one of them not
     * whole. */
    memcpy(coordinator->seal, held->seal, sizeof(coordinator->seal));
    if (skn_membership_keeps(coordinator->membership))
        (void)cli_composing_choose(
            &coordinator->composing, set,
            skn_membership_generation(coordinator->membership), held,
            &coordinator->manifests, point);
    return SKN_OK;
}

/* --- duties -------------------------------------------------------------- */

/* Sends a member the message of its duty. If it does not arrive, the member is
 * silent, and is found dead. */
static void
send_duty(const coordinator_t *coordinator, const skn_duty_t *duty)
{
    const cli_duty_messages_t messages = {
        .model = coordinator->model,
        .keys = coordinator->keys,
        .run_id = coordinator->journal.run_id,
        .manifests = &coordinator->manifests,
        .seal = coordinator->seal,
        .balance = coordinator->balance,
        .composed = coordinator->composing.text.bytes,
        .fault = skn_membership_fault(coordinator->membership, duty->member),
        .how = cli_duty_messages_how(coordinator->membership),
    };
    cli_control_message_t message;
    cli_duty_messages_make(&messages, duty, &message);
    (void)cli_control_send(coordinator->control, duty->member, &message, NULL);
    cli_control_message_fini(&message);
}

/* Puts the start of a generation into the journal. */
static void
record(coordinator_t *coordinator, const skn_duty_t *duty)
{
    const skn_model_t *model = coordinator->model;
    /* Drop them only now: members do not send a manifest that they were told is
     * known here. */
    cli_manifests_drop(&coordinator->manifests, is_held, coordinator);
    if (duty->point.composed)
        skn_harvest_partial(coordinator->harvest,
                            coordinator->composing.sum.lost);
    skn_harvest_begin(coordinator->harvest, duty->generation,
                      duty->set & ~duty->serving, duty->point.batch,
                      skn_monotonic_ns());
    json_t *members = cli_node_names(model, duty->set);
    json_t *serving =
        duty->serving ? cli_node_names(model, duty->serving) : NULL;
    json_t *speeds = cli_balancing_json(coordinator->balance, model);
    const cli_journal_line_t line = {
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
    if (duty->point.composed)
        cli_composing_tell(&coordinator->composing, duty->generation,
                           coordinator->call->json);
}

static void
carry_out(coordinator_t *coordinator)
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
take_ended(coordinator_t *coordinator, uint32_t member,
           const cli_control_message_t *message)
{
    skn_error_t error = { 0 };
    skn_ending_t ending = cli_control_ending(&message->ended, &error);
    uint64_t generation = message->ended.generation;
    skn_membership_phase_t phase =
        skn_membership_phase(coordinator->membership);
    if (ending == SKN_ENDING_FAILED && !skn_membership_is_echo(&error) &&
        (phase == SKN_MEMBERSHIP_RUNNING || phase == SKN_MEMBERSHIP_PAUSING))
        skn_harvest_failure(coordinator->harvest, member, generation);
    if (ending == SKN_ENDING_FAILED && phase == SKN_MEMBERSHIP_RUNNING &&
        skn_membership_batch(coordinator->membership) ==
            coordinator->from_batch &&
        cli_bad_checkpoints_add(&coordinator->bad_checkpoints,
                                coordinator->seal, generation, error.status))
        say(coordinator, "the newest checkpoint cannot be read; continuing "
                         "from an older one");
    skn_membership_ended(coordinator->membership, member, generation, ending,
                         &error, skn_monotonic_ns());
}

static void
enter(coordinator_t *coordinator, uint32_t member, const cli_hello_t *hello)
{
    char text[160];
    if (hello->version >= CLI_CONTROL_VERSION_MIN &&
        hello->version <= CLI_CONTROL_VERSION + 1) {
        skn_membership_hello(coordinator->membership, member,
                             hello->incarnation, hello->generation,
                             skn_monotonic_ns());
        skn_membership_newest(coordinator->membership, member, hello->newest);
        skn_harvest_hello(coordinator->harvest, member, hello->incarnation,
                          (uint32_t)hello->cores, skn_monotonic_ns());
        cli_member_rates_hello(&coordinator->rates, member);
        return;
    }
    (void)snprintf(text, sizeof(text),
                   "node '%.64s' uses protocol version %" PRIu64
                   ", this coordinator version %d: it cannot join",
                   coordinator->names[member], hello->version,
                   CLI_CONTROL_VERSION);
    cli_warn(coordinator->call, text,
             "install the same version of skein on all nodes");
}

static void
take_hello(coordinator_t *coordinator, uint32_t member,
           const cli_control_message_t *message)
{
    enter(coordinator, member, &message->hello);
}

static void
take_pulse(coordinator_t *coordinator, uint32_t member,
           const cli_control_message_t *message)
{
    const cli_pulse_t *pulse = &message->pulse;
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
    cli_member_rates_pulse(&coordinator->rates, member, &harvest, now_ns);
    if (pulse->generation == coordinator->balanced)
        skn_balance_load(coordinator->balance, member, pulse->load_us,
                         pulse->load_at_us, skn_membership_batch(membership));
    const cli_control_message_t answer = {
        .kind = CLI_CONTROL_ACKNOWLEDGE,
        .acknowledge.pulse = pulse->pulse,
    };
    if (skn_membership_hears(membership, member))
        (void)cli_control_send(coordinator->control, member, &answer, NULL);
}

static void
take_unreachable(coordinator_t *coordinator, uint32_t member,
                 const cli_control_message_t *message)
{
    skn_membership_misses(
        coordinator->membership, member,
        cli_node_set(coordinator->model, message->unreachable.nodes),
        skn_monotonic_ns());
}

static void
take_leaving(coordinator_t *coordinator, uint32_t member,
             const cli_control_message_t *message)
{
    (void)message;
    skn_membership_leaving(coordinator->membership, member, skn_monotonic_ns());
    skn_harvest_notice(coordinator->harvest, member);
}

/* Takes a `saved`, once each, from a member that trains or did so under an
 * earlier coordinator process. */
static void
take_saved(coordinator_t *coordinator, uint32_t member,
           const cli_control_message_t *message)
{
    cli_run_journal_t *journal = &coordinator->journal;
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
             (cli_journal_line_t){ .saved = batch, .generation = in });
}

/* Takes a message of a process that has the key of a member. */
static void
take_message(coordinator_t *coordinator, const skn_control_arrival_t *arrival,
             const cli_control_message_t *message)
{
    static void (*const take[CLI_CONTROL_KINDS])(
        coordinator_t *, uint32_t, const cli_control_message_t *) = {
        [CLI_CONTROL_HELLO] = take_hello,
        [CLI_CONTROL_PULSE] = take_pulse,
        [CLI_CONTROL_INVENTORY] = take_inventory,
        [CLI_CONTROL_SAVED] = take_saved,
        [CLI_CONTROL_ENDED] = take_ended,
        [CLI_CONTROL_UNREACHABLE] = take_unreachable,
        [CLI_CONTROL_LEAVING] = take_leaving,
    };
    const char *news = NULL;
    if (!cli_admission_take(&coordinator->admission, arrival, message,
                            skn_monotonic_ns(), &news)) {
        if (news)
            say(coordinator, news);
    } else if (take[message->kind])
        take[message->kind](coordinator, arrival->member, message);
}

/* Takes the hellos that waited until the earlier process with that key was
 * gone. */
static void
take_waiting(coordinator_t *coordinator)
{
    uint32_t member;
    cli_hello_t hello;
    while (cli_admission_next(&coordinator->admission, skn_monotonic_ns(),
                              &member, &hello))
        enter(coordinator, member, &hello);
}

static void
take_arrivals(coordinator_t *coordinator)
{
    skn_control_arrival_t arrival;
    for (int taken = 0; taken < COORDINATOR_TURN_MAX &&
                        skn_control_take(coordinator->control, &arrival);
         taken++) {
        skn_error_t error = { 0 };
        cli_control_message_t message = { .kind = CLI_CONTROL_UNKNOWN };
        if (arrival.kind == SKN_CONTROL_LOST) {
            cli_admission_lost(&coordinator->admission, arrival.member);
            skn_membership_lost(coordinator->membership, arrival.member,
                                skn_monotonic_ns());
        } else if (arrival.kind == SKN_CONTROL_STRANGER)
            cli_warn(coordinator->call, arrival.frame.at,
                     "the coordinator's connection guard");
        else if (cli_control_read(arrival.frame, &message, &error) == SKN_OK)
            take_message(coordinator, &arrival, &message);
        else if (cli_admission_complains(&coordinator->admission,
                                         arrival.member, skn_monotonic_ns()))
            cli_warn(coordinator->call, error.text,
                     error.hint[0] ? error.hint
                                   : coordinator->names[arrival.member]);
        cli_control_message_fini(&message);
        carry_out(coordinator);
    }
}

/* Stops the run at a signal, or when standard output has no reader any more. */
static void
take_signals(coordinator_t *coordinator)
{
    if (cli_stop_take(&coordinator->stop) != CLI_STOP_NOTHING ||
        cli_output_unread())
        skn_membership_stop(coordinator->membership, skn_monotonic_ns());
}

/* Stops the run when the parent closes standard input, as for a signal. */
static void
take_leash(coordinator_t *coordinator)
{
    if (!cli_leash_is_gone())
        return;
    coordinator->leash = false;
    skn_membership_stop(coordinator->membership, skn_monotonic_ns());
}

static void
count(coordinator_t *coordinator)
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
balance(coordinator_t *coordinator)
{
    char text[SKN_DUTY_TEXT_BYTES];
    if (!coordinator->model->coordinator.balance)
        return;
    skn_balance_verdict_t verdict = cli_balancing_turn(
        coordinator->balance, &coordinator->balanced, coordinator->model,
        coordinator->membership, text, sizeof(text));
    if (verdict.kind == SKN_BALANCE_GO_ON)
        return;
    say(coordinator, text);
    cli_balancing_renew(verdict, coordinator->model, coordinator->membership);
}

/* Prints the event `nodes` for people who watch. */
static void
tell_nodes(coordinator_t *coordinator)
{
    if (!coordinator->call->json || !cli_flag(coordinator->call, "progress"))
        return;
    json_t *event = cli_member_rates_event(
        &coordinator->rates, coordinator->membership, coordinator->balance,
        coordinator->names, coordinator->count, skn_monotonic_ns());
    cli_event_put(event);
}

static void
lead(coordinator_t *coordinator)
{
    while (!cli_stop_insisted(&coordinator->stop) &&
           coordinator->journal.broken.status == SKN_OK) {
        struct pollfd polled[2] = {
            { coordinator->stop.descriptor, POLLIN, 0 },
            { coordinator->leash ? STDIN_FILENO : -1, POLLIN, 0 },
        };
        skn_control_wait(coordinator->control, polled, 2, COORDINATOR_TICK_MS);
        take_arrivals(coordinator);
        take_signals(coordinator);
        if (polled[1].revents)
            take_leash(coordinator);
        skn_membership_tick(coordinator->membership, skn_monotonic_ns());
        take_waiting(coordinator);
        count(coordinator);
        balance(coordinator);
        carry_out(coordinator);
        tell_nodes(coordinator);
        if (skn_membership_phase(coordinator->membership) !=
            SKN_MEMBERSHIP_OVER)
            continue;
        if (coordinator->over_ns == 0)
            coordinator->over_ns = skn_monotonic_ns();
        if (skn_monotonic_ns() - coordinator->over_ns >=
            FAREWELL_MS * 1000000ull)
            break;
    }
}

/* --- opening ------------------------------------------------------------- */

static skn_status_t
read_keys(coordinator_t *coordinator, skn_error_t *error)
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
open_membership(coordinator_t *coordinator, uint32_t wait_s, skn_error_t *error)
{
    const skn_model_t *model = coordinator->model;
    const cli_run_journal_t *journal = &coordinator->journal;
    uint32_t copies = (uint32_t)model->checkpoint.copies;
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
        .copies = copies < CLI_COPIES_MIN ? CLI_COPIES_MIN : copies,
        .partial = model->coordinator.recovery == SKN_RECOVERY_PARTIAL,
        .undialled = skn_model_undialled(model),
    };
    return skn_membership_new(&options, coordinator->names, error);
}

static skn_status_t
open_all(coordinator_t *coordinator, skn_error_t *error)
{
    const skn_model_t *model = coordinator->model;
    uint32_t wait_s = FIRST_WAIT_S;
    if (!model->coordinator.address[0])
        return skn_fail_hint(error,
                             skn_fail(error, SKN_USAGE, "%s has no coordinator",
                                      coordinator->call->operands[0]),
                             "set its address under coordinator:");
    skn_status_t status =
        cli_count(coordinator->call, "wait", CLI_WAIT_S_MAX, &wait_s, error);
    if (status == SKN_OK)
        status = read_keys(coordinator, error);
    if (status == SKN_OK)
        status = cli_admission_init(&coordinator->admission, model,
                                    coordinator->names, error);
    if (status == SKN_OK)
        status = cli_run_journal_open(&coordinator->journal, model, error);
    if (status != SKN_OK || coordinator->journal.over)
        return status;
    coordinator->balance =
        cli_balancing_new(model, coordinator->journal.speeds, error);
    coordinator->membership = open_membership(coordinator, wait_s, error);
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

static void
close_all(coordinator_t *coordinator)
{
    skn_control_close(&coordinator->control);
    skn_membership_destroy(&coordinator->membership);
    skn_harvest_destroy(&coordinator->harvest);
    skn_balance_destroy(&coordinator->balance);
    cli_run_journal_close(&coordinator->journal);
    skn_keys_destroy(&coordinator->own);
    for (uint32_t k = 0; k < coordinator->count; k++)
        skn_held_free(&coordinator->holding[k].list,
                      coordinator->holding[k].count);
    cli_manifests_drop(&coordinator->manifests, NULL, NULL);
    cli_composing_fini(&coordinator->composing);
    cli_admission_fini(&coordinator->admission);
    skn_model_destroy(&coordinator->model);
    cli_stop_close(&coordinator->stop);
}

static int
finish(coordinator_t *coordinator)
{
    bool stopped = false;
    skn_error_t error = { 0 };
    skn_status_t status =
        coordinator->journal.broken.status != SKN_OK
            ? coordinator->journal.broken.status
            : skn_membership_result(coordinator->membership, &stopped, &error);
    if (coordinator->journal.broken.status != SKN_OK)
        error = coordinator->journal.broken;
    bool over =
        skn_membership_phase(coordinator->membership) == SKN_MEMBERSHIP_OVER;
    if (status == SKN_OK && over) {
        add_line(coordinator,
                 (cli_journal_line_t){ .over = stopped ? "stopped" : "done" });
        say(coordinator, stopped ? "the run has stopped; start the "
                                   "coordinator again to continue"
                                 : "the run is done");
        if (stopped && !coordinator->call->json)
            cli_resume_command_print(coordinator->call, "to continue:", NULL);
    }
    skn_harvest_sum_t sum;
    skn_harvest_sum(coordinator->harvest, &sum);
    if (over)
        cli_harvest_report_put(&sum, coordinator->call->json);
    if (status != SKN_OK)
        return cli_report(coordinator->call, &error);
    return over ? 0 : cli_stop_code(&coordinator->stop, 0);
}

/* Prints the coordinator's address and the nodes that it waits for. */
static void
welcome(const coordinator_t *coordinator)
{
    if (coordinator->call->json)
        return;
    (void)printf("coordinating %s at %s; to take part, run `skein member NAME "
                 "%s` on any machine, as:",
                 coordinator->model->name,
                 coordinator->model->coordinator.address,
                 coordinator->call->operands[0]);
    for (uint32_t k = 0; k < coordinator->count; k++)
        (void)printf(" %s", coordinator->names[k]);
    (void)putchar('\n');
    (void)fflush(stdout);
}

static int
coordinator_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    const char *overrides[CLI_VALUES_MAX];
    skn_problems_t *problems = skn_problems_new(&error);
    coordinator_t *coordinator = calloc(1, sizeof(*coordinator));
    int code;
    if (!coordinator || !problems) {
        (void)skn_fail(&error, SKN_NO_MEMORY, "no memory for a coordinator");
        free(coordinator);
        skn_problems_destroy(&problems);
        return cli_report(call, &error);
    }
    coordinator->call = call;
    coordinator->leash = cli_flag(call, "leash");
    coordinator->stop =
        (cli_stop_t){ .json = call->json,
                      .doing = "stopping the run, which saves it",
                      .insisting = "quit and leave the members running",
                      .leashed = coordinator->leash };
    cli_output_outlive();
    skn_status_t status = cli_stop_open(&coordinator->stop, &error);
    if (status == SKN_OK)
        status = skn_model_read(call->operands[0], overrides,
                                cli_overrides(call, overrides),
                                &coordinator->model, problems, &error);
    if (status == SKN_OK)
        status = open_all(coordinator, &error);
    if (skn_problems_count(problems) > 0) {
        code = cli_report_problems(call, problems);
    } else if (status != SKN_OK) {
        code = cli_report(call, &error);
    } else if (coordinator->journal.over) {
        cli_warn(call, "this run is done: there is nothing to coordinate",
                 "another run needs another checkpoint.path");
        code = 0;
    } else {
        welcome(coordinator);
        lead(coordinator);
        code = finish(coordinator);
    }
    close_all(coordinator);
    free(coordinator);
    skn_problems_destroy(&problems);
    return code;
}

static const cli_option_t options[] = {
    CLI_OVERRIDE_OPTION,
    { "wait", 0, "SECONDS", "longest wait for all nodes at the start (15)" },
    { "leash", 0, NULL, "stop the run when standard input ends" },
    { "progress", 0, NULL, "with --json: state of all nodes, twice a second" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_coordinator = {
    .name = "coordinator",
    .help = "decide which nodes take part in a run, while it runs",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "Listens at the address under `coordinator:` of the model file, for\n"
        "the nodes that it lists: `skein member` on each machine. The nodes\n"
        "that are there train together; when one joins, leaves or dies, the\n"
        "others continue from the last checkpoint that they hold together. It\n"
        "writes a journal into checkpoint.path: killed and started again, it\n"
        "continues the run. See docs/tasks/elastic.md.",
    .run = coordinator_run,
};
