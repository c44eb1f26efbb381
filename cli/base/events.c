/* events.c - prints the events of a run, as text for people or as JSON lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/events.h"

#include <math.h>
#include <string.h>

#include "cli/base/resume_command.h"
#include "cli/base/auto_report.h"
#include "formats/text/json_text.h"
#include "skein/text.h"

void
cli_event_put(json_t *event)
{
    char *line = event ? json_dumps(event, JSON_COMPACT) : NULL;
    if (line)
        (void)puts(line);
    (void)fflush(stdout);
    free(line);
    json_decref(event);
}

static void
print_scores(const json_t *event)
{
    static const char *const names[][2] = {
        { "p1", "P@1" },     { "p3", "P@3" },     { "p5", "P@5" },
        { "psp1", "PSP@1" }, { "psp3", "PSP@3" }, { "psp5", "PSP@5" },
    };
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
        if (json_object_get(event, names[k][0]))
            (void)skn_text_print(stdout, "  %s %.4f", names[k][1],
                                 skn_json_number(event, names[k][0]));
}

static void
print_nats(const json_t *event)
{
    if (json_object_get(event, "validation_nats"))
        (void)skn_text_print(stdout, "  validation %.4f nats",
                             skn_json_number(event, "validation_nats"));
    if (json_object_get(event, "bits_per_byte"))
        (void)skn_text_print(stdout, ", %.4f bits a byte",
                             skn_json_number(event, "bits_per_byte"));
    if (json_object_get(event, "test_nats"))
        (void)skn_text_print(stdout, "  test %.4f nats",
                             skn_json_number(event, "test_nats"));
}

/* A decoder's loss is that since the last line. */
static void
print_loss(const json_t *event)
{
    char loss[CLI_LOSS_BYTES];
    bool is_recent = json_object_get(event, "recent_loss") != NULL;
    double number = skn_json_number(event, is_recent ? "recent_loss" : "loss");
    (void)skn_text_print(stdout, "  loss %8s%s", cli_loss_text(number, loss),
                         json_object_get(event, "step") ? " nats" : "");
}

static void
print_validation(const cli_call_t *call, const json_t *event,
                 cli_event_run_t *run)
{
    (void)call;
    (void)run;
    (void)skn_text_print(stdout, "step %6.0f", skn_json_number(event, "step"));
    print_loss(event);
    print_nats(event);
    (void)skn_text_print(stdout, "  %.1f s\n",
                         skn_json_number(event, "seconds"));
}

static void
print_skipped(const cli_call_t *call, const json_t *event, cli_event_run_t *run)
{
    (void)call;
    (void)run;
    (void)skn_text_print(
        stdout,
        "batch %6.0f  step left out, %.0f since this start: the "
        "gradient of layer '%s' is not finite\n",
        skn_json_number(event, "batch"), skn_json_number(event, "skipped"),
        skn_json_word(event, "layer"));
}

static void
print_epoch(const cli_call_t *call, const json_t *event, cli_event_run_t *run)
{
    (void)call;
    (void)run;
    (void)skn_text_print(stdout, "epoch %3.0f",
                         skn_json_number(event, "epoch"));
    if (json_object_get(event, "step"))
        (void)skn_text_print(stdout, "  step %.0f",
                             skn_json_number(event, "step"));
    print_loss(event);
    bool is_text = json_object_get(event, "tokens_per_s") != NULL;
    (is_text ? print_nats : print_scores)(event);
    if (json_object_get(event, "validate_p1") && !is_text)
        (void)skn_text_print(stdout, "  validation P@1 %.4f",
                             skn_json_number(event, "validate_p1"));
    double rate = skn_json_number(event, "examples_per_s");
    if (rate > 0) /* 0: everything was trained already */
        (void)skn_text_print(stdout, "  %.0f %s/s", rate,
                             is_text ? "tokens" : "examples");
    (void)skn_text_print(stdout, "  %.1f s  %.0f MB\n",
                         skn_json_number(event, "seconds"),
                         skn_json_number(event, "rss_mb"));
}

static void
print_done(const cli_call_t *call, const json_t *event, cli_event_run_t *run)
{
    double epochs = skn_json_number(event, "epochs");
    (void)call;
    (void)run;
    (void)skn_text_print(stdout, "done   %3.0f epoch%s in %.1f s (%.1f CPU s)",
                         epochs, epochs > 0.5 && epochs < 1.5 ? "" : "s",
                         skn_json_number(event, "seconds"),
                         skn_json_number(event, "cpu_seconds"));
    if (json_object_get(event, "tokens_per_s")) {
        print_nats(event);
        (void)skn_text_print(stdout, "  %.0f tokens/s",
                             skn_json_number(event, "tokens_per_s"));
    } else {
        print_scores(event);
    }
    if (json_object_get(event, "best_epoch"))
        (void)skn_text_print(stdout, "  best: epoch %.0f",
                             skn_json_number(event, "best_epoch"));
    (void)printf("\nweights_sha256 %s\n",
                 skn_json_word(event, "weights_sha256"));
}

static cli_bar_facts_t
facts_of(const json_t *event)
{
    cli_bar_facts_t facts = {
        .batch = skn_json_number(event, "batch"),
        .batches = skn_json_number(event, "batches"),
        .epoch = skn_json_number(event, "epoch"),
        .epochs = skn_json_number(event, "epochs"),
        .loss = skn_json_number(event, "loss"),
        .examples_per_s = skn_json_number(event, "examples_per_s"),
        .batches_per_s = skn_json_number(event, "batches_per_s"),
        .step = skn_json_number(event, "step"),
        .steps = skn_json_number(event, "steps"),
    };
    if (json_object_get(event, "recent_loss"))
        facts.loss = skn_json_number(event, "recent_loss");
    return facts;
}

static void
show_progress(cli_bar_t *bar, const json_t *event)
{
    cli_bar_facts_t facts = facts_of(event);
    cli_bar_show(bar, &facts);
}

/* Prints progress where it was requested without a terminal: the parts of the
 * bar, one line each time. */
static void
print_progress(const cli_bar_t *bar, const json_t *event)
{
    char text[256];
    cli_bar_t plain = *bar;
    cli_bar_facts_t facts = facts_of(event);
    plain.p1 = plain.p1 > 0 ? plain.p1 : -1; /* no evaluation yet */
    plain.batches_per_s = facts.batches_per_s;
    cli_bar_format(&plain, &facts, 80, text, sizeof(text));
    (void)puts(text);
    (void)fflush(stdout);
}

/* Prints events about other nodes: which have connected, and which the run
 * waits for. */
static void
print_node(const cli_call_t *call, const json_t *event, cli_event_run_t *run)
{
    FILE *file = cli_value(call, "predict") ? stderr : stdout;
    (void)run;
    if (strcmp(skn_json_word(event, "event"), "waiting") == 0)
        (void)fprintf(file, "waiting for %s\n", skn_json_word(event, "for"));
    else if (json_object_get(event, "via"))
        (void)fprintf(file, "joined %s via %s\n", skn_json_word(event, "node"),
                      skn_json_word(event, "via"));
    else
        (void)fprintf(file, "joined %s at %s\n", skn_json_word(event, "node"),
                      skn_json_word(event, "address"));
}

bool
cli_event_actor_waits(const json_t *event)
{
    const char *name = skn_json_word(event, "event");
    return strcmp(name, "stuck") == 0 ||
           (strcmp(name, "waiting") == 0 && json_object_get(event, "actor"));
}

static void
print_stuck(const json_t *event)
{
    const char *plugin = skn_json_word(event, "plugin");
    double more = skn_json_number(event, "more");
    char others[48] = "";
    if (more > 0)
        (void)skn_text_write(others, sizeof(others),
                             " and %.0f more of its kind", more);
    (void)skn_text_print(
        stderr, "skein: warning: %s%s %s been in %s for %.0f s (%s%s%s)\n",
        skn_json_word(event, "actor"), others, more > 0 ? "have" : "has",
        skn_json_word(event, "in"), skn_json_number(event, "seconds"),
        skn_json_word(event, "kind"), plugin[0] ? " of " : "", plugin);
}

static void
print_actor_waiting(const json_t *event)
{
    if (strcmp(skn_json_word(event, "event"), "stuck") == 0) {
        print_stuck(event);
        return;
    }
    (void)skn_text_print(
        stderr, "skein: warning: %s has waited %.0f s for %s\n",
        skn_json_word(event, "actor"), skn_json_number(event, "seconds"),
        skn_json_word(event, "for"));
}

/* Prints how the run gives way to other work on its machine. */
static void
print_idle(const cli_call_t *call, const json_t *event, cli_event_run_t *run)
{
    const char *action = skn_json_word(event, "action");
    const char *reason = skn_json_word(event, "reason");
    (void)call;
    (void)run;
    (void)fputs("idle   ", stdout);
    if (strcmp(action, "begin") == 0 && json_object_get(event, "share"))
        (void)skn_text_print(
            stdout, "gives way by %s: takes %.1f%% of a busy core\n",
            skn_json_word(event, "way"), 100 * skn_json_number(event, "share"));
    else if (strcmp(action, "begin") == 0)
        (void)printf("gives way by %s\n", skn_json_word(event, "way"));
    else if (strcmp(action, "threads") == 0)
        (void)skn_text_print(stdout, "%.0f of %.0f cores: %s\n",
                             skn_json_number(event, "threads"),
                             skn_json_number(event, "cores"), reason);
    else if (strcmp(action, "pause") == 0)
        (void)printf("%s: %s\n",
                     json_is_true(json_object_get(event, "paused"))
                         ? "pauses"
                         : "continues",
                     reason);
    else if (strcmp(action, "memory") == 0)
        (void)printf("%s\n", reason);
    else if (strcmp(action, "leave") == 0)
        (void)printf("the machine will be taken away, according to the %s %s\n",
                     skn_json_word(event, "source"),
                     skn_json_word(event, "what"));
    else
        (void)skn_text_print(
            stdout,
            "%.1f core seconds in %.1f s, others %.1f, of %.0f "
            "cores\n",
            skn_json_number(event, "core_seconds"),
            skn_json_number(event, "seconds"),
            skn_json_number(event, "outside_core_seconds"),
            skn_json_number(event, "cores"));
}

/* Prints every number of the event. */
static void
print_index(const cli_call_t *call, const json_t *event, cli_event_run_t *run)
{
    const char *key;
    json_t *value;
    (void)call;
    (void)run;
    (void)skn_text_print(
        stdout, "index  %s at batch %.0f:", skn_json_word(event, "actor"),
        skn_json_number(event, "batch"));
    json_object_foreach((json_t *)(uintptr_t)event, key, value)
    {
        if (json_is_number(value) && strcmp(key, "batch") != 0)
            (void)skn_text_print(stdout, " %s %.10g", key,
                                 json_number_value(value));
    }
    (void)putchar('\n');
}

/* Prints a prediction in the form of `skein predict`. */
static void
print_prediction(const cli_call_t *call, const json_t *event,
                 cli_event_run_t *run)
{
    const json_t *labels = json_object_get(event, "labels");
    const json_t *scores = json_object_get(event, "scores");
    const json_t *names = json_object_get(event, "names");
    (void)call;
    (void)run;
    for (size_t k = 0; k < json_array_size(labels); k++) {
        const char *name = json_string_value(json_array_get(names, k));
        (void)fputs(k == 0 ? "" : names ? "\t" : " ", stdout);
        if (name && name[0])
            (void)fputs(name, stdout);
        else
            (void)skn_text_print(stdout, "%.0f",
                                 json_number_value(json_array_get(labels, k)));
        (void)skn_text_print(stdout, ":%.6g",
                             json_number_value(json_array_get(scores, k)));
    }
    (void)fputc('\n', stdout);
}

/* --- a run of several networks ------------------------------------------- */

/* Prints the choices for the run; its networks share them. */
static void
print_auto(const cli_call_t *call, const json_t *event, cli_event_run_t *run)
{
    (void)call;
    (void)run;
    cli_auto_report_print(json_object_get(event, "auto"), stdout);
}

static void
print_network(const cli_call_t *call, const json_t *event, cli_event_run_t *run)
{
    (void)call;
    (void)run;
    (void)skn_text_print(
        stdout, "network %.0f of %.0f of %s, seed %.0f%s\n",
        skn_json_number(event, "network"), skn_json_number(event, "of"),
        skn_json_word(event, "whole"), skn_json_number(event, "seed"),
        json_is_true(json_object_get(event, "trained")) ? ": already trained"
                                                        : "");
}

static void
print_ranker(const cli_call_t *call, const json_t *event, cli_event_run_t *run)
{
    double trees = skn_json_number(event, "trees");
    (void)call;
    (void)run;
    (void)skn_text_print(
        stdout,
        "ranker %.0f tree%s, %.0f nodes, %.1f million weights, %.0f MiB, in "
        "%.1f s (%.1f CPU s)\n",
        trees, trees > 1 ? "s" : "", skn_json_number(event, "nodes"),
        skn_json_number(event, "weights") * 1e-6,
        floor(skn_json_number(event, "bytes") / (1 << 20)),
        skn_json_number(event, "seconds"),
        skn_json_number(event, "cpu_seconds"));
}

static void
print_calibration(const cli_call_t *call, const json_t *event,
                  cli_event_run_t *run)
{
    (void)call;
    (void)run;
    (void)skn_text_print(
        stdout,
        "calibrated on %.0f test points: the best label's probability is off "
        "by %.3f, before by %.3f\n",
        skn_json_number(event, "points"), skn_json_number(event, "error"),
        skn_json_number(event, "error_before"));
}

static void
print_join(const cli_call_t *call, const json_t *event, cli_event_run_t *run)
{
    double networks = skn_json_number(event, "networks");
    (void)call;
    (void)run;
    (void)skn_text_print(
        stdout, "joined %.0f network%s: %.0f units, %.1f million parameters\n",
        networks, networks > 1 ? "s side by side" : " and its ranker",
        skn_json_number(event, "units"),
        skn_json_number(event, "parameters") * 1e-6);
    cli_print_path("run    ", skn_json_word(event, "path"), "\n");
}

/* --- start and stop ------------------------------------------------------ */

/* The start of a run in another process. */
static void
print_start_elsewhere(const json_t *event)
{
    (void)skn_text_print(
        stdout,
        "model  %.1f million parameters, %.0f actors, about %.0f MiB "
        "of memory\n",
        skn_json_number(event, "parameters") * 1e-6,
        skn_json_number(event, "actors"), skn_json_number(event, "memory_mb"));
    cli_print_path("run    ", skn_json_word(event, "path"), "\n");
    cli_auto_report_print(json_object_get(event, "auto"), stdout);
}

static void
print_text(const json_t *event)
{
    double left_out = skn_json_number(event, "files_left_out");
    const char *first = skn_json_word(event, "first_left_out");
    (void)skn_text_print(
        stdout,
        "data   %.0f training tokens, %.0f held back, vocabulary of %.0f; "
        "%.0f a step\n",
        skn_json_number(event, "train_points"),
        skn_json_number(event, "validate_points"),
        skn_json_number(event, "labels"),
        skn_json_number(event, "step_tokens"));
    if (left_out > 0)
        (void)skn_text_print(stdout,
                             "       %.0f file%s left out: not UTF-8 text",
                             left_out, left_out == 1 ? " was" : "s were");
    if (left_out > 0 && first[0])
        cli_print_path(": ", first, "");
    if (left_out > 1 && first[0])
        (void)skn_text_print(stdout, " and %.0f more", left_out - 1);
    if (left_out > 0)
        (void)putchar('\n');
}

static void
print_data(const json_t *event)
{
    if (json_object_get(event, "step_tokens"))
        print_text(event);
    else
        (void)skn_text_print(
            stdout,
            "data   %.0f training points, %.0f features, %.0f labels, %.2f "
            "per point; %.0f test points\n",
            skn_json_number(event, "train_points"),
            skn_json_number(event, "features"),
            skn_json_number(event, "labels"),
            skn_json_number(event, "labels_per_point"),
            skn_json_number(event, "test_points"));
}

static void
print_start(const cli_call_t *call, const json_t *event, cli_event_run_t *run)
{
    double unlabelled = skn_json_number(event, "unlabelled");
    double featureless = skn_json_number(event, "featureless");
    double cores = skn_json_number(event, "cores");
    double offload_mb = skn_json_number(event, "offload_mb");
    char file[48] = "";
    (void)call;
    if (!run) {
        print_start_elsewhere(event);
        return;
    }
    if (offload_mb > 0)
        (void)skn_text_write(file, sizeof(file), ", %.0f MiB in a file",
                             offload_mb);
    print_data(event);
    if (unlabelled > 0 || featureless > 0)
        (void)skn_text_print(stdout,
                             "       %.0f point%s without labels left out, "
                             "%.0f without features kept\n",
                             unlabelled, unlabelled == 1 ? "" : "s",
                             featureless);
    (void)skn_text_print(
        stdout,
        "model  %.1f million parameters, %.0f actors on %.0f core%s, about "
        "%.0f MiB of memory%s\n",
        skn_json_number(event, "parameters") * 1e-6,
        skn_json_number(event, "actors"), cores, cores < 1.5 ? "" : "s",
        skn_json_number(event, "memory_mb"), file);
    cli_print_path("run    ", skn_json_word(event, "path"), "\n");
    if (run->network_count == 0)
        cli_auto_report_print(json_object_get(event, "auto"), stdout);
}

/* The unit in which the progress of the run is counted. */
static const char *
unit_of(const json_t *event)
{
    return json_object_get(event, "step") ? "step" : "batch";
}

static void
print_resume(const cli_call_t *call, const json_t *event, cli_event_run_t *run)
{
    (void)call;
    (void)run;
    cli_print_path("resume ", skn_json_word(event, "path"), "");
    (void)skn_text_print(stdout, " at %s %.0f\n", unit_of(event),
                         skn_json_number(event, unit_of(event)));
}

void
cli_event_tell_stop(const cli_call_t *call, const json_t *event,
                    const char *resume_path)
{
    (void)skn_text_print(stdout, "stopped at %s %.0f; to continue:\n",
                         unit_of(event),
                         skn_json_number(event, unit_of(event)));
    cli_resume_command_write(call, resume_path, stdout);
}

/* The folder that the command which resumes the run has to name; NULL: it does
 * so already. */
static const char *
resume_path(const cli_event_run_t *run)
{
    return !run             ? NULL
           : run->moved[0]  ? run->moved
           : !run->is_named ? run->path
                            : NULL;
}

static void
tell_pause_in_words(const cli_call_t *call, const cli_event_run_t *run)
{
    char sentence[96] = "stopped; to continue:";
    if (run->is_joined)
        (void)snprintf(sentence, sizeof(sentence),
                       "stopped; to get the scores:");
    else if (run->is_trained)
        (void)snprintf(sentence, sizeof(sentence),
                       "stopped, with all networks trained; to continue:");
    else if (run->has_network)
        (void)snprintf(sentence, sizeof(sentence),
                       "stopped after network %u of %u; to continue:",
                       run->network, run->network_count);
    cli_resume_command_print(call, sentence, resume_path(run));
}

void
cli_event_tell_pause(const cli_call_t *call, const cli_event_run_t *run)
{
    if (!call->json) {
        tell_pause_in_words(call, run);
        return;
    }
    (void)fputs("{\"event\":\"stopped\",\"path\":", stdout);
    cli_json_string(run->path, stdout);
    (void)puts("}");
}

static void
print_stopped(const cli_call_t *call, const json_t *event, cli_event_run_t *run)
{
    char sentence[64];
    if (!json_object_get(event, "batch") && run) {
        tell_pause_in_words(call, run);
    } else if (!run || run->network_count == 0) {
        cli_event_tell_stop(call, event, resume_path(run));
    } else {
        (void)snprintf(sentence, sizeof(sentence),
                       "stopped in network %u of %u; to continue:",
                       run->network, run->network_count);
        cli_resume_command_print(call, sentence, resume_path(run));
    }
}

static void
print_checkpoint(const cli_call_t *call, const json_t *event,
                 cli_event_run_t *run)
{
    const char *path = skn_json_word(event, "path");
    const char *slash = strrchr(path, '/');
    int bytes = slash ? (int)(slash - path) : 0;
    (void)call;
    cli_print_path("saved  ", path, "\n");
    if (!run || run->network_count > 0 || bytes == 0)
        return;
    (void)snprintf(run->moved, sizeof(run->moved), "%.*s", bytes, path);
    if (strcmp(run->moved, run->path) == 0)
        run->moved[0] = '\0';
}

/* --- any event ----------------------------------------------------------- */

/* How each event is printed for people. NULL: it is not, or on standard error
 * alone. Those that are not here come from the user's own actors. */
static const struct {
    const char *name;
    void (*print)(const cli_call_t *call, const json_t *event,
                  cli_event_run_t *run);
} printers[] = {
    { "auto", print_auto },
    { "calibration", print_calibration },
    { "checkpoint", print_checkpoint },
    { "done", print_done },
    { "epoch", print_epoch },
    { "error", NULL },
    { "idle", print_idle },
    { "index", print_index },
    { "join", print_join },
    { "joined", print_node },
    { "link", NULL },
    { "links", NULL },
    { "network", print_network },
    { "prediction", print_prediction },
    { "ranker", print_ranker },
    { "resume", print_resume },
    { "silent", NULL },
    { "skipped", print_skipped },
    { "start", print_start },
    { "stopped", print_stopped },
    { "validation", print_validation },
    { "waiting", print_node },
    { "warning", NULL },
};

static void
print_in_words(const cli_call_t *call, const char *line, const char *name,
               const json_t *event, cli_event_run_t *run)
{
    size_t k = 0, count = sizeof(printers) / sizeof(printers[0]);
    while (k < count && strcmp(name, printers[k].name) != 0)
        k++;
    if (k == count)
        (void)puts(line);
    else if (printers[k].print)
        printers[k].print(call, event, run);
}

/* Prints what belongs on standard error, with and without --json. */
static void
print_complaint(const char *name, const json_t *event)
{
    const char *message = skn_json_word(event, "message");
    const char *hint = skn_json_word(event, "hint");
    const char *excerpt = skn_json_word(event, "excerpt");
    if (strcmp(name, "warning") == 0)
        cli_print_sentence("skein: warning: ", message, hint);
    else if (json_object_get(event, "excerpt"))
        cli_print_sentence("", message, hint); /* a problem of a config */
    else
        cli_print_sentence("skein: ", message, hint);
    if (excerpt[0])
        (void)fprintf(stderr, "%s\n", excerpt);
}

/* Keeps what later sentences need. */
static void
follow_networks(const char *name, const json_t *event, cli_bar_t *bar,
                cli_event_run_t *run)
{
    if (strcmp(name, "epoch") == 0 && json_object_get(event, "p1"))
        bar->p1 = skn_json_number(event, "p1");
    if (run && strcmp(name, "network") == 0)
        run->has_network = false;
    if (run && strcmp(name, "done") == 0)
        run->has_network = true;
}

void
cli_event_print(const cli_call_t *call, const char *line, cli_bar_t *bar,
                cli_event_run_t *run)
{
    json_t *event = json_loads(line, 0, NULL);
    const char *name = skn_json_word(event, "event");
    if (strcmp(name, "progress") == 0 && (bar->wanted || !call->json)) {
        if (bar->wanted)
            show_progress(bar, event);
        else
            print_progress(bar, event);
        json_decref(event);
        return;
    }
    cli_bar_hide(bar);
    follow_networks(name, event, bar, run);
    if (strcmp(name, "warning") == 0 || strcmp(name, "error") == 0)
        print_complaint(name, event);
    if (cli_event_actor_waits(event)) {
        print_actor_waiting(event);
        name = "warning"; /* it was printed as a warning */
    }
    if (call->json)
        cli_print_event(line);
    else
        print_in_words(call, line, name, event, run);
    (void)fflush(stdout);
    json_decref(event);
}

void
cli_event_show(const cli_call_t *call, const char *line)
{
    cli_bar_t none = { 0 };
    cli_event_print(call, line, &none, NULL);
}
