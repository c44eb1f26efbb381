/* bench_payload.c - times the cost of a pooled message for its sender and its
 * receiver.
 *
 * Columns: case, median and spread (quartile to quartile) of ns a call over 21
 * runs. It uses the fixture of the tests.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/sample_messages.h"
#include "transport/message/schema.h"

#define RUN_COUNT 21

static skn_pool_t *pool;
static skn_scratch_t *scratch;
static size_t value_count;
static activation_t *sample;

static void
new_and_drop(void)
{
    skn_payload_drop(
        skn_payload_new(pool, &activation_schema, &value_count, NULL));
}

static void
keep_and_drop(void)
{
    skn_payload_drop(skn_payload_keep(sample));
}

static void
copy_and_drop(void)
{
    skn_payload_drop(skn_payload_copy(pool, &activation_schema, sample, NULL));
}

static void
encode(void)
{
    skn_wire_t wire;
    (void)skn_encode(&activation_schema, sample, scratch, &wire, NULL);
}

static void
recode_and_drop(void)
{
    void *copy = NULL;
    (void)skn_recode(&activation_schema, sample, scratch, pool, &copy, NULL);
    skn_payload_drop(copy);
}

static const struct {
    const char *name;
    void (*call)(void);
} cases[] = {
    { "new_and_drop", new_and_drop },       { "keep_and_drop", keep_and_drop },
    { "copy_and_drop", copy_and_drop },     { "encode", encode },
    { "recode_and_drop", recode_and_drop },
};

static double
now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int
compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int
main(void)
{
    skn_error_t error = { SKN_OK, "", "" };
    pool = skn_pool_new((size_t)64 << 20, &error);
    scratch = skn_scratch_new(&error);
    if (!pool || !scratch) {
        (void)fprintf(stderr, "%s\n", error.text);
        return skn_status_exit_code(error.status);
    }
    (void)printf("%-40s %12s %10s\n", "case", "ns_per_call", "spread");
    for (value_count = 256; value_count <= 1 << 18; value_count <<= 2) {
        size_t call_count = 50000 / (1 + value_count / 4096);
        sample =
            skn_payload_new(pool, &activation_schema, &value_count, &error);
        if (!sample)
            break;
        memset(sample->value.at, 0, value_count * sizeof(float));
        for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
            double ns[RUN_COUNT];
            char name[80];
            for (size_t run = 0; run < RUN_COUNT; run++) {
                double start = now_ns();
                for (size_t k = 0; k < call_count; k++)
                    cases[c].call();
                ns[run] = (now_ns() - start) / (double)call_count;
            }
            qsort(ns, RUN_COUNT, sizeof(ns[0]), compare);
            (void)snprintf(name, sizeof(name), "%s/value_bytes=%zu",
                           cases[c].name, value_count * sizeof(float));
            (void)printf("%-40s %12.1f %10.1f\n", name, ns[RUN_COUNT / 2],
                         ns[RUN_COUNT * 3 / 4] - ns[RUN_COUNT / 4]);
        }
        skn_payload_drop(sample);
    }
    skn_scratch_destroy(&scratch);
    skn_pool_destroy(&pool);
    return error.status == SKN_OK ? 0 : skn_status_exit_code(error.status);
}
