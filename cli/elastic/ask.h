/* ask.h - questions to the newest checkpoint of a run whose parts lie in the
 * folders of its nodes, all on this machine.
 *
 * The parts are put together by hard links in a folder beside them, and `skein
 * predict` reads it as any other; it lives until there is a newer one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_ELASTIC_ASK_H
#define CLI_ELASTIC_ASK_H

#include "cli/base/names.h"
#include "cli/up/up.h"
#include "cli/elastic/view.h"

typedef struct cli_ask {
    const char *path; /* of the run: PATH/NODE/batch-... */
    const skn_model_t *model;
    cli_view_log_t *answers;
    /* --- inside --- */
    bool ready, alive;
    cli_names_t features;
    char labels[SKN_TEXT_MAX + 32]; /* a file of names; "" if there is none */
    char checkpoint[64];            /* that is open: its folder's name */
    cli_up_node_t process;
} cli_ask_t;

/* `ask` has its first members filled. */
void cli_ask_open(cli_ask_t *ask);
/* Words, or "12:.5 40:.1": features and their values. */
void cli_ask(cli_ask_t *ask, const char *question);
/* Reads what came, and puts it to the answers. */
void cli_ask_turn(cli_ask_t *ask);
void cli_ask_close(cli_ask_t *ask);

/* The features of a question as `skein predict` reads them; "" if it knows
 * none of its words. */
void cli_ask_features(const cli_names_t *features, const char *question,
                      char *line, size_t line_bytes);

#endif
