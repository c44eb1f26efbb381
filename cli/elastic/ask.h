/* ask.h - answers questions from the newest checkpoint of a live run.
 *
 * All of its nodes are on this machine. `skein predict` reads the checkpoint's
 * parts from the nodes' folders; its process lives until there is a newer
 * checkpoint.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_ASK_H
#define CLI_ELASTIC_ASK_H

#include "skein/points.h"
#include "cli/up/up.h"
#include "cli/elastic/view.h"
#include "skein/config.h"

typedef struct cli_ask {
    const char *path;     /* folder of the run: PATH/NODE/batch-... */
    skn_config_t *config; /* of the run */
    cli_view_log_t *answers;
    /* --- inside --- */
    bool ready, alive;
    skn_names_t *features;          /* NULL: none */
    char labels[SKN_TEXT_MAX + 32]; /* file of names; "": none */
    char checkpoint[64];            /* folder name of the open checkpoint */
    cli_up_node_t process;
} cli_ask_t;

/* The caller has set the first fields of `ask`. */
void cli_ask_open(cli_ask_t *ask);
/* Sends a question: words, or features with values as in "12:.5 40:.1". */
void cli_ask(cli_ask_t *ask, const char *question);
/* Reads what the predictor has printed and adds it to the answers. */
void cli_ask_turn(cli_ask_t *ask);
void cli_ask_close(cli_ask_t *ask);

/* Writes the features of a question in the form that `skein predict` reads; ""
 * if none of its words is known. */
void cli_ask_features(const skn_names_t *features, const char *question,
                      char *line, size_t line_bytes);

#endif
