/* fuzz_xmc.c - feeds any bytes to the reader of data files, of lines, and of
 * numbers.
 *
 * Accepted input must keep the promises of formats/dataset/xmc.h. The first
 * byte chooses between bounds, so that both sides of every limit are met.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/dataset/xmc.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void
require(bool promise)
{
    if (!promise)
        __builtin_trap();
}

/* Lists rise, end below the limits, and every value is finite. */
static void
point_require(const skn_xmc_point_t *point, uint64_t features, uint64_t labels)
{
    require(point->label_count <= SKN_LINE_ITEMS_MAX);
    require(point->feature_count <= SKN_LINE_ITEMS_MAX);
    for (size_t k = 0; k < point->label_count; k++) {
        require(point->label[k] < labels);
        require(k == 0 || point->label[k - 1] < point->label[k]);
    }
    for (size_t k = 0; k < point->feature_count; k++) {
        require(point->feature[k] < features);
        require(k == 0 || point->feature[k - 1] < point->feature[k]);
        require(isfinite(point->value[k]));
    }
}

static void
file_fuzz(const char *text, size_t count, const skn_xmc_bounds_t *bounds)
{
    skn_xmc_reader_t *reader;
    skn_xmc_point_t point;
    skn_error_t error = { 0 };
    bool more = true;
    skn_xmc_point_init(&point);
    skn_status_t status =
        skn_xmc_open_memory("fuzz", text, count, bounds, &reader, &error);
    while (status == SKN_OK && more) {
        status = skn_xmc_next(reader, &point, &more, &error);
        skn_xmc_sizes_t sizes = skn_xmc_sizes(reader);
        if (status == SKN_OK)
            point_require(&point, sizes.feature_count, sizes.label_count);
    }
    require((status == SKN_OK) == (error.text[0] == '\0'));
    if (status == SKN_OK)
        require(skn_xmc_odd(reader).line <= count + 1);
    skn_xmc_close(&reader);
    skn_xmc_point_fini(&point);
}

static void
line_fuzz(const char *text, size_t count, const skn_xmc_bounds_t *bounds)
{
    skn_xmc_point_t point;
    skn_error_t error = { 0 };
    skn_xmc_line_t line = { text, count, "fuzz", 1 };
    uint64_t features = bounds->expected_features, labels = features;
    skn_xmc_point_init(&point);
    if (skn_xmc_line_parse(&line, bounds, &point, &error) == SKN_OK)
        point_require(&point, features ? features : SKN_UNIT_MAX,
                      labels ? labels : SKN_UNIT_MAX);
    skn_xmc_point_fini(&point);
}

/* Against strtod, which reads more forms: only what both read in full. */
static void
number_fuzz(const char *text, size_t count)
{
    char copy[64];
    float got = 0;
    size_t used = skn_xmc_number_parse(text, count, &got);
    require(used <= count);
    if (used == 0 || used >= sizeof(copy))
        return;
    memcpy(copy, text, used);
    copy[used] = '\0';
    char *end;
    double exact = strtod(copy, &end);
    require(end == copy + used);
    float want = fabs(exact) >= 0x1.ffffffp127
                     ? (float)copysign(HUGE_VAL, exact)
                     : (float)exact;
    require(got == want || got == nextafterf(want, -HUGE_VALF) ||
            got == nextafterf(want, HUGE_VALF));
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    if (count == 0)
        return 0;
    skn_xmc_bounds_t bounds = { 0 };
    bounds.expected_features = bounds.expected_labels = bytes[0] & 0x1f;
    bounds.unknown_ignored = bytes[0] & 0x20;
    bounds.labels_optional = bytes[0] & 0x40;
    bounds.bad_rows = bytes[0] & 0x80 ? 0.5 : 0;
    const char *text = (const char *)bytes + 1;
    file_fuzz(text, count - 1, &bounds);
    line_fuzz(text, count - 1, &bounds);
    number_fuzz(text, count - 1);
    return 0;
}
