/* point_text.h - prints a parsed point as text again, for tests to compare.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_POINT_TEXT_H
#define TESTS_SUPPORT_POINT_TEXT_H

#include <stdio.h>

#include "formats/dataset/xmc.h"

/* Golden sentences carry this name: real paths differ from machine to
 * machine. */
#define NAME "f.txt"

/* Writes a point as sorted text, to be compared. */
static inline void
point_print(const skn_xmc_point_t *point, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t k = 0; k < point->label_count; k++)
        used += (size_t)snprintf(text + used, room - used, "%s%u", k ? "," : "",
                                 point->label[k]);
    for (size_t k = 0; k < point->feature_count; k++)
        used +=
            (size_t)skn_text_write(text + used, room - used, " %u:%g",
                                   point->feature[k], (double)point->value[k]);
}

#endif
