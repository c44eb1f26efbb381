/* sim_link.c - runs the link protocol in simulated worlds, many a second.
 *
 * Usage: sim_link [--seeds A..B]      1..2000 by default
 *        sim_link --seed N --verbose  one of them, told in full
 * Exit code 1 if an invariant of tests/sim/sim_world.h broke; the line names
 * the seed. All parts of a link run: transport/link/link.c,
 * transport/link/link_hello.c, transport/link/link_lanes.c,
 * transport/link/sending.c, transport/link/receiving.c, transport/link/pace.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/sim/sim_world.h"

static bool
read_number(const char **text, uint64_t *number)
{
    char *end = NULL;
    *number = strtoull(*text, &end, 10);
    bool read = end != *text;
    *text = end;
    return read;
}

static bool
read_range(const char *text, uint64_t *first, uint64_t *last)
{
    if (!read_number(&text, first))
        return false;
    *last = *first;
    if (strncmp(text, "..", 2) == 0) {
        text += 2;
        if (!read_number(&text, last))
            return false;
    }
    return *text == '\0' && *first <= *last;
}

static void
print_tally(const sim_tally_t *tally)
{
    (void)printf("%" PRIu64 " worlds, %" PRIu64 " simulated hours: %" PRIu64
                 " links done, %" PRIu64 " dead; %" PRIu64
                 " fragments, %" PRIu64 " sent again, %" PRIu64
                 " duplicates, %" PRIu64 " out of order, %" PRIu64
                 " timeouts, %" PRIu64 " refused, %" PRIu64 " restarts\n",
                 tally->runs, tally->seconds / 3600, tally->done, tally->dead,
                 tally->packets, tally->resent, tally->duplicates,
                 tally->disorder, tally->timeouts, tally->refused,
                 tally->restarts);
}

int
main(int count, char **arguments)
{
    uint64_t first = 1, last = 2000, failed = 0;
    bool verbose = false, usable = true;
    sim_tally_t tally = { 0 };
    for (int k = 1; k < count && usable; k++) {
        if (strcmp(arguments[k], "--verbose") == 0)
            verbose = true;
        else if (strncmp(arguments[k], "--seed", 6) == 0 && k + 1 < count)
            usable = read_range(arguments[++k], &first, &last);
        else
            usable = false;
    }
    if (!usable) {
        (void)fprintf(stderr, "usage: sim_link [--seeds A..B] [--verbose]\n");
        return 64;
    }
    for (uint64_t seed = first; seed <= last && failed < 10; seed++) {
        const char *wrong = sim_run(seed, verbose, &tally);
        if (!wrong)
            continue;
        failed++;
        (void)printf("seed %" PRIu64 ": %s; sim_link --seed %" PRIu64
                     " --verbose tells all\n",
                     seed, wrong, seed);
    }
    print_tally(&tally);
    return failed > 0;
}
