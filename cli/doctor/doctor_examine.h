/* doctor_examine.h - examines this machine: one finding for each check.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_DOCTOR_DOCTOR_EXAMINE_H
#define CLI_DOCTOR_DOCTOR_EXAMINE_H

#include <stddef.h>

typedef enum cli_health {
    CLI_FINE,
    CLI_SLOW,  /* it works, but costs speed or comfort */
    CLI_BROKEN /* a run will fail */
} cli_health_t;

typedef struct cli_finding {
    const char *name;
    cli_health_t health;
    char found[160];
    char fix[200]; /* "" if it is fine */
} cli_finding_t;

#define CLI_FINDINGS_MAX 32

/* Makes all checks; returns the number of findings. `root` is the root of the
 * control groups: "" except in tests, which have /proc and /sys below it. */
size_t cli_examine(const char *root, cli_finding_t *findings);

/* The word in brackets of "always [madvise] never", as the kernel shows a
 * choice; "" if there is none. */
void cli_auto_report_word(const char *line, char *word, size_t word_bytes);

#endif
