/* bench_coding.c - times the encoding and decoding of a batch's messages under
 * each link coding, and prints the bytes that they take.
 *
 * bench_coding [part of a case's name]. An activation of 1,024 samples and 128
 * units, half of them open; a gradient of the same size, all sent; labels of
 * 1,024 samples, three each of 100,000. Rates are bytes of the message a
 * second; the roof is a copy of the same bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <string.h>

#include "actors/protocol/messages.h"
#include "tests/support/coding_words.h"
#include "tests/support/flat.h"
#include "transport/message/coding.h"

#define SAMPLES 1024u
#define UNITS 128u
#define SAMPLE_LABELS 3u
#define LABELS 100000u

typedef struct link_case {
    const skn_schema_t *schema;
    void *message;
    skn_coding_t coding;
    skn_coder_t *coder;
    skn_pool_t *pool;
    skn_wire_t wire; /* points into `flat` when decoding */
    void *copy;
    size_t message_bytes;
    uint64_t key;
} link_case_t;

static const char *wanted = "";

static void
stop(const char *what)
{
    fprintf(stderr, "bench_coding: %s\n", what);
    _Exit(1);
}

static void
call_copy(void *subject)
{
    link_case_t *link = subject;
    memcpy(link->copy, link->message, link->message_bytes);
    __asm__ volatile("" : : "r"(link->copy) : "memory");
}

static void
call_encode(void *subject)
{
    link_case_t *link = subject;
    if (skn_coding_encode(link->schema, link->message, link->coding,
                          link->key++, link->coder, &link->wire,
                          NULL) != SKN_OK)
        stop("a message was refused");
}

static void
call_decode(void *subject)
{
    link_case_t *link = subject;
    void *message;
    if (skn_coding_decode(link->schema, link->wire.frame,
                          link->wire.frame_count, SIZE_MAX, link->coder,
                          link->pool, &message, NULL) != SKN_OK)
        stop("frames were refused");
    skn_payload_drop(message);
    skn_pool_collect(link->pool);
}

/* Encoding and decoding `message` with the best kernels, each coding. */
static void
run_message(const skn_schema_t *schema, void *message, size_t message_bytes,
            const skn_kernels_t *kernels)
{
    link_case_t link = { .schema = schema, .message = message };
    char name[96];
    link.message_bytes = message_bytes;
    link.coder = skn_coder_new(kernels, NULL);
    link.pool = skn_pool_new((size_t)64 << 20, NULL);
    link.copy = malloc(message_bytes);
    if (!link.coder || !link.pool || !link.copy)
        stop("no memory");
    bench_time_t copy = bench_measure(call_copy, &link);
    double roof = (double)message_bytes / copy.median_ns;
    for (; link.coding < SKN_CODING_COUNT; link.coding++) {
        snprintf(name, sizeof name, "encode/%s/%s/%s", schema->name,
                 coding_word(link.coding), kernels->isa);
        if (!strstr(name, wanted))
            continue;
        bench_line(name, bench_measure(call_encode, &link),
                   (double)message_bytes, "GB/s", roof);
        call_encode(&link);
        size_t bytes = flat_bytes_of(&link.wire);
        void *flat = malloc(bytes);
        if (!flat)
            stop("no memory");
        flat_write(&link.wire, flat);
        if (skn_wire_split(flat, bytes, &link.wire, NULL) != SKN_OK)
            stop("flat frames were refused");
        snprintf(name, sizeof name, "decode/%s/%s/%s", schema->name,
                 coding_word(link.coding), kernels->isa);
        bench_line(name, bench_measure(call_decode, &link),
                   (double)message_bytes, "GB/s", roof);
        printf("%-44s %12zu bytes, %.1f a sample, %.1f%% of %zu\n", "  frames",
               bytes, (double)bytes / SAMPLES,
               100.0 * (double)bytes / (double)message_bytes, message_bytes);
        free(flat);
    }
    free(link.copy);
    skn_pool_destroy(&link.pool);
    skn_coder_destroy(&link.coder);
}

static uint32_t
draw(void)
{
    static uint64_t state = 12345;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static float
draw_float(void)
{
    return (float)(draw() >> 8) * 0x1p-23f - 1.0f;
}

static skn_activation_t *
activation_new(skn_pool_t *pool)
{
    size_t counts[] = { SAMPLES * UNITS };
    skn_activation_t *activation =
        skn_payload_new(pool, &skn_activation_schema, counts, NULL);
    if (!activation)
        stop("no memory");
    activation->rows = SAMPLES;
    activation->columns = UNITS;
    for (size_t k = 0; k < counts[0]; k++) {
        float value = draw_float();
        activation->value.at[k] = value > 0 ? value : 0.0f;
    }
    return activation;
}

static skn_hidden_gradient_t *
gradient_new(skn_pool_t *pool)
{
    size_t counts[] = { 0, 1, SAMPLES * UNITS, 0 };
    skn_hidden_gradient_t *gradient =
        skn_payload_new(pool, &skn_hidden_gradient_schema, counts, NULL);
    if (!gradient)
        stop("no memory");
    gradient->node.at[0] = 0;
    gradient->rows = SAMPLES;
    gradient->columns = UNITS;
    for (size_t k = 0; k < gradient->value.count; k++)
        gradient->value.at[k] = draw_float();
    return gradient;
}

static int
order(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static skn_labels_t *
labels_new(skn_pool_t *pool)
{
    size_t counts[] = { SAMPLES + 1, SAMPLES * SAMPLE_LABELS,
                        SAMPLES * SAMPLE_LABELS };
    skn_labels_t *labels =
        skn_payload_new(pool, &skn_labels_schema, counts, NULL);
    if (!labels)
        stop("no memory");
    labels->rows = SAMPLES;
    for (uint32_t k = 0; k <= SAMPLES; k++)
        labels->offset.at[k] = k * SAMPLE_LABELS;
    for (size_t k = 0; k < labels->label.count; k++)
        labels->label.at[k] = labels->distinct.at[k] = draw() % LABELS;
    for (size_t k = 0; k < SAMPLES; k++)
        qsort(labels->label.at + k * SAMPLE_LABELS, SAMPLE_LABELS,
              sizeof(uint32_t), order);
    qsort(labels->distinct.at, labels->distinct.count, sizeof(uint32_t), order);
    return labels;
}

int
main(int argc, char **argv)
{
    const skn_kernels_t *kernels;
    wanted = argc > 1 ? argv[1] : "";
    skn_pool_t *pool = skn_pool_new((size_t)64 << 20, NULL);
    if (!pool)
        stop("no memory");
    void *activation = activation_new(pool), *gradient = gradient_new(pool),
         *labels = labels_new(pool);
    bench_head();
    for (unsigned rank = 0; (kernels = skn_kernels_variant(rank)); rank++) {
        run_message(&skn_activation_schema, activation, SAMPLES * UNITS * 4,
                    kernels);
        run_message(&skn_hidden_gradient_schema, gradient, SAMPLES * UNITS * 4,
                    kernels);
        run_message(&skn_labels_schema, labels,
                    SAMPLES * (1 + 2 * SAMPLE_LABELS) * 4, kernels);
    }
    skn_payload_drop(activation);
    skn_payload_drop(gradient);
    skn_payload_drop(labels);
    skn_pool_destroy(&pool);
    return 0;
}
