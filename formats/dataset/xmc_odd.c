/* xmc_odd.c - detects likely mistakes in a data file without a header.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/xmc_odd.h"

#include <string.h>

/* How many times the greatest index of all other lines a stray one must be, and
 * how many rows it must cost to be reported. */
#define STRAY_TIMES 10u
#define STRAY_ROWS_MIN 1000u
/* The same for a line that already has the form of counts. */
#define COUNTS_TIMES 2u
/* Points in the form of a header are reported if at most one in ten has it. */
#define BARE_SHARE 10u
#define HEADER_COUNTS 3u

/* Reads the whole numbers of a line that has nothing else but blanks and
 * commas; 0: it has, or too many. */
static size_t
numbers_read(const skn_xmc_line_t *line, uint64_t number[SKN_XMC_COUNTS_MAX])
{
    const char *at = line->text, *end = at + line->bytes;
    size_t count = 0;
    while (at < end) {
        if (*at == ' ' || *at == '\t' || *at == ',') {
            at++;
            continue;
        }
        if (*at < '0' || *at > '9' || count == SKN_XMC_COUNTS_MAX)
            return 0;
        uint64_t read = 0;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
            read = read > UINT32_MAX ? read : read * 10 + (uint64_t)(*at - '0');
        number[count++] = read;
    }
    return count;
}

static void
peak_add(skn_xmc_peak_t *peak, const uint32_t *index, size_t count,
         uint64_t line)
{
    uint32_t greatest = count > 0 ? index[count - 1] + 1 : 0;
    if (greatest > peak->greatest) {
        peak->next = peak->greatest;
        peak->greatest = greatest;
        peak->line = line;
    } else if (greatest > peak->next) {
        peak->next = greatest;
    }
}

void
skn_xmc_watch_point(skn_xmc_watch_t *watch, const skn_xmc_line_t *line,
                    const skn_xmc_point_t *point)
{
    peak_add(&watch->label, point->label, point->label_count, line->number);
    peak_add(&watch->feature, point->feature, point->feature_count,
             line->number);
    if (watch->first_line == 0) {
        watch->first_line = line->number;
        watch->number_count = numbers_read(line, watch->number);
        return;
    }
    uint64_t number[SKN_XMC_COUNTS_MAX];
    if (!watch->valued)
        watch->valued = memchr(line->text, ':', line->bytes) != NULL;
    if (numbers_read(line, number) == HEADER_COUNTS &&
        !memchr(line->text, ',', line->bytes) && watch->bare_count++ == 0)
        watch->bare_line = line->number;
}

/* Whether the greatest index is in `line` alone, more than `times` the
 * others'. */
static bool
stands_out(const skn_xmc_peak_t *peak, uint64_t line, uint32_t times)
{
    return peak->next > 0 && peak->line == line &&
           peak->greatest / times > peak->next;
}

/* How many of the sizes of the other lines are among the numbers, each number
 * used once. */
static unsigned
sizes_found(const skn_xmc_watch_t *watch, const uint64_t size[3])
{
    bool used[SKN_XMC_COUNTS_MAX] = { false };
    unsigned found = 0;
    for (int k = 0; k < 3; k++)
        for (size_t n = 0; n < watch->number_count; n++)
            if (!used[n] && size[k] > 0 && watch->number[n] == size[k]) {
                used[n] = true;
                found++;
                break;
            }
    return found;
}

/* Whether the first line is made of counts, judged by its numbers and by their
 * effect on the sizes of the model. A line without values among lines with
 * values is suspicious by its form already. */
static bool
is_counts(const skn_xmc_watch_t *watch, uint64_t point_count)
{
    uint64_t first = watch->first_line;
    const skn_xmc_peak_t *label = &watch->label, *feature = &watch->feature;
    if (watch->number_count == 0 || point_count < 3)
        return false;
    const uint64_t size[3] = {
        point_count - 1,
        feature->line == first ? feature->next : feature->greatest,
        label->line == first ? label->next : label->greatest,
    };
    bool is_count = watch->number[0] == size[0];
    bool far = stands_out(label, first, COUNTS_TIMES) ||
               stands_out(feature, first, COUNTS_TIMES);
    if (watch->number_count == 1)
        return watch->valued && is_count && far;
    return sizes_found(watch, size) >= 2 ||
           (watch->valued && (is_count || far));
}

skn_xmc_odd_t
skn_xmc_watch_end(const skn_xmc_watch_t *watch, uint64_t point_count)
{
    const skn_xmc_peak_t *peak[] = { &watch->label, &watch->feature };
    static const skn_xmc_oddity_t what[] = { SKN_XMC_ODD_LABEL,
                                             SKN_XMC_ODD_FEATURE };
    if (is_counts(watch, point_count))
        return (skn_xmc_odd_t){ .what = SKN_XMC_ODD_COUNTS,
                                .line = watch->first_line };
    if (watch->valued && watch->bare_count > 0 &&
        watch->bare_count * BARE_SHARE <= point_count)
        return (skn_xmc_odd_t){ .what = SKN_XMC_ODD_COUNTS,
                                .line = watch->bare_line };
    for (int k = 0; k < 2; k++)
        if (peak[k]->greatest >= STRAY_ROWS_MIN &&
            stands_out(peak[k], peak[k]->line, STRAY_TIMES))
            return (skn_xmc_odd_t){ what[k], peak[k]->line,
                                    peak[k]->greatest - 1, peak[k]->next - 1 };
    return (skn_xmc_odd_t){ .what = SKN_XMC_NOTHING_ODD };
}
