/* test_figures_read.c - tests that a report sent as an event is read back as
 * the same report.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "topology/run/figures_read.h"

TestSuite(figures_read, .timeout = 60);

/* Every number another one. */
static void
fill(skn_figures_t *figures)
{
    uint64_t next = 1;
    *figures = (skn_figures_t){
        .node = "b", .others_known = true, .actor_count = 2, .link_count = 1
    };
    figures->actors = calloc(2, sizeof(*figures->actors));
    figures->links = calloc(1, sizeof(*figures->links));
#define N(number) figures->number = next++ << 33;
    SKN_NODE_FIGURES(N)
#undef N
    for (int k = 0; k < 2; k++) {
        skn_actor_figures_t *actor = &figures->actors[k];
        (void)snprintf(actor->name, sizeof(actor->name), "output.%d", k);
        (void)snprintf(actor->kind, sizeof(actor->kind), "output");
        (void)snprintf(actor->full_message, 16, "gradient");
        (void)snprintf(actor->full_receiver, 16, "up_output.%d", k);
        actor->core = k - 1;
        actor->handler_count = 1;
        actor->handler[0] =
            (skn_handler_figures_t){ "batch", next, next + 1, 3, 4, 5 };
#define N(number) actor->number = next++;
        SKN_ACTOR_FIGURES(N)
#undef N
    }
    (void)snprintf(figures->links[0].peer, 8, "a");
#define N(number) figures->links[0].number = next++;
    SKN_LINK_FIGURES(N)
#undef N
}

static char *
text_of(const skn_figures_t *figures)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    skn_figures_json(figures, file);
    (void)fputs("}", file);
    (void)fclose(file);
    return text;
}

Test(figures_read, what_was_written_is_read)
{
    skn_figures_t figures, again;
    skn_error_t error = { 0 };
    fill(&figures);
    char *text = text_of(&figures);
    json_t *event = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    cr_assert(event, "%s", text);
    cr_assert_eq(skn_figures_read(event, &again, &error), SKN_OK);
    char *other = text_of(&again);
    cr_expect_str_eq(text, other);
    cr_expect_eq(again.actors[1].busy_ns, figures.actors[1].busy_ns);
    cr_expect_eq(again.saves, figures.saves);
    free(text);
    free(other);
    json_decref(event);
    skn_figures_fini(&figures);
    skn_figures_fini(&again);
}

Test(figures_read, what_is_missing_is_nothing)
{
    skn_figures_t figures;
    json_t *event =
        json_loads("{\"actors\":[{\"name\":7},{}],\"run_ns\":-1}", 0, NULL);
    cr_assert_eq(skn_figures_read(event, &figures, NULL), SKN_OK);
    cr_expect_eq(figures.actor_count, 2);
    cr_expect_eq(figures.link_count, 0);
    cr_expect_str_eq(figures.actors[0].name, "");
    cr_expect_eq(figures.run_ns, 0);
    json_decref(event);
    skn_figures_fini(&figures);
}
