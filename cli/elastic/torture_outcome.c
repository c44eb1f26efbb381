/* torture_outcome.c - prints and judges the result of `skein torture`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/elastic/torture_outcome.h"

#include <inttypes.h>
#include <string.h>

#include "skein/text.h"

/* How much P@1 may fall because of lost updates and by chance: more than it
 * differs between seeds (docs/evidence/partial.md). */
#define P1_LESS_MAX .03

uint32_t
cli_torture_to_come(const cli_torture_outcome_t *outcome)
{
    return outcome->kills - outcome->killed + outcome->leaves - outcome->left;
}

static bool
has_same_weights(const cli_torture_outcome_t *outcome)
{
    return strcmp(outcome->sha256, outcome->want_sha256) == 0;
}

/* Prints the result of a run that may lose updates. */
static void
print_partial(const cli_torture_outcome_t *outcome, bool json, FILE *file)
{
    if (json)
        (void)skn_text_print(
            file,
            "{\"event\":\"torture_partial\",\"partials\":%u,"
            "\"told_lost\":%.0f,\"p1\":%.5f,\"want_p1\":%.5f}\n",
            outcome->partials, outcome->told_lost, outcome->p1,
            outcome->want_p1);
    else
        (void)skn_text_print(
            file,
            "survivors kept their state %u times; %.0f updates of blocks lost, "
            "%.0f reported; P@1 %.4f, undisturbed %.4f\n",
            outcome->partials, outcome->lost, outcome->told_lost, outcome->p1,
            outcome->want_p1);
}

static double
mean_back_s(const cli_torture_outcome_t *outcome)
{
    uint32_t nodes = outcome->killed - outcome->killed_coordinator;
    return nodes ? outcome->back_s_sum / nodes : 0;
}

static void
print_event(const cli_torture_outcome_t *outcome, FILE *file)
{
    uint32_t together = outcome->together > 1 && outcome->left > 0
                            ? outcome->together
                            : outcome->left > 0;
    (void)skn_text_print(
        file,
        "{\"event\":\"torture\",\"kills\":%u,"
        "\"kills_coordinator\":%u,\"leaves\":%u,\"lost\":%.0f,"
        "\"applied_twice\":%.0f,\"same_weights\":%s,"
        "\"generations\":%" PRIu64 ",\"back_s_mean\":%.2f,\"back_s_max\":%.2f"
        ",\"leaves_together\":%u,\"leave_s_median\":%.2f,"
        "\"leave_s_max\":%.2f}\n",
        outcome->killed, outcome->killed_coordinator, outcome->left,
        outcome->lost, outcome->applied_twice,
        has_same_weights(outcome) ? "true" : "false", outcome->generations,
        mean_back_s(outcome), outcome->back_s_max, together,
        outcome->leave_s_median, outcome->leave_s_max);
}

void
cli_torture_outcome_print(const cli_torture_outcome_t *outcome, bool json,
                          FILE *file)
{
    if (outcome->partial)
        print_partial(outcome, json, file);
    if (json)
        print_event(outcome, file);
    else
        (void)skn_text_print(
            file,
            "%u kills (%u of the coordinator) and %u leaves in %" PRIu64 " "
            "generations: %.0f batches lost, %.0f applied twice\n"
            "training again after %.1f s, at most %.1f s; left after %.1f s, "
            "at most %.1f s\n"
            "%s as in an undisturbed run: %s\n",
            outcome->killed, outcome->killed_coordinator, outcome->left,
            outcome->generations, outcome->lost, outcome->applied_twice,
            mean_back_s(outcome), outcome->back_s_max, outcome->leave_s_median,
            outcome->leave_s_max,
            has_same_weights(outcome) ? "same weights"
            : outcome->partial ? "not the same weights, which is expected,"
                               : "NOT the same weights",
            outcome->sha256);
    (void)fflush(file);
}

/* A rollback to before a partial recovery undoes its losses, so fewer updates
 * may be lost than were reported. */
static skn_status_t
judge_partial(const cli_torture_outcome_t *outcome, skn_error_t *error)
{
    if (outcome->applied_twice != 0 || outcome->lost < 0 ||
        outcome->lost > outcome->told_lost)
        return skn_fail(error, SKN_INTERNAL,
                        "the ledger does not balance: %.0f lost, %.0f "
                        "reported, %.0f applied twice",
                        outcome->lost, outcome->told_lost,
                        outcome->applied_twice);
    if (outcome->p1 < outcome->want_p1 - P1_LESS_MAX)
        return skn_fail(error, SKN_INTERNAL,
                        "P@1 is %.4f, but %.4f in the undisturbed run",
                        outcome->p1, outcome->want_p1);
    return SKN_OK;
}

static skn_status_t
judge_same(const cli_torture_outcome_t *outcome, skn_error_t *error)
{
    if (!has_same_weights(outcome))
        return skn_fail(error, SKN_INTERNAL,
                        "the weights differ from those of the undisturbed run, "
                        "%s",
                        outcome->want_sha256);
    if (outcome->lost != 0 || outcome->applied_twice != 0)
        return skn_fail(error, SKN_INTERNAL, "the ledger does not balance");
    return SKN_OK;
}

skn_status_t
cli_torture_outcome_judge(const cli_torture_outcome_t *outcome,
                          skn_error_t *error)
{
    skn_status_t status = outcome->partial ? judge_partial(outcome, error)
                                           : judge_same(outcome, error);
    if (status != SKN_OK || cli_torture_to_come(outcome) == 0)
        return status;
    status = skn_fail(
        error, SKN_USAGE, "the run was over after %u of %u kills and leaves",
        outcome->killed + outcome->left, outcome->kills + outcome->leaves);
    return skn_fail_hint(error, status, "give it more epochs");
}
