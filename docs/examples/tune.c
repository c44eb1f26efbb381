/* tune.c - searches for a better config, and goes on where it was stopped.
 * cc tune.c $(pkg-config --cflags --libs skein) -o tune
 * ./tune MODEL FOLDER    Ctrl-C stops it; the same again continues
 * SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <skein/tuning.h>

static skn_tuning_t *tuning;

static void
on_interrupt(int number)
{
    (void)number;
    skn_tuning_stop(tuning);
}

int
main(int count, char **words)
{
    static char line[SKN_EVENT_BYTES_MAX], journal[SKN_TEXT_MAX];
    struct sigaction action;
    skn_error_t error = SKN_ZERO;
    skn_tuning_options_t options = SKN_ZERO;
    if (count != 3)
        return fprintf(stderr, "usage: tune MODEL FOLDER\n"), 64;
    snprintf(journal, sizeof(journal), "%s/tune.journal", words[2]);
    options.struct_bytes = sizeof(options);
    options.path = words[1];
    options.folder = words[2];
    options.candidates = 4;
    options.rounds = 1;
    options.budget_s = 600;
    options.resume = access(journal, F_OK) == 0;
    tuning = skn_tuning_new(&options, &error);
    if (!tuning || skn_tuning_start(tuning, &error) != SKN_OK)
        return fprintf(stderr, "%s\n", error.text), 1;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, NULL);
    while (skn_tuning_event(tuning, -1, line, sizeof(line), NULL) == SKN_OK)
        printf("%.78s\n", line);
    if (skn_tuning_wait(tuning, &error) == SKN_OK && access(journal, F_OK) == 0)
        printf("train with %s/tune.yaml\n", words[2]);
    action.sa_handler = SIG_IGN; /* the handler uses what is freed */
    sigaction(SIGINT, &action, NULL);
    skn_tuning_destroy(&tuning);
    return skn_status_exit_code(error.status);
}
