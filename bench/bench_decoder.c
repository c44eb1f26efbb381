/* bench_decoder.c - measures the layers of a decoder: tokens a CPU second of
 * forward, B and W, where their time goes, and what the core could do.
 *
 * Usage: bench_decoder [WIDTH INNER]    (256 704, then 512 1376)
 * A micro-batch of 2,048 tokens in sequences of 256 runs through 6 layers with
 * heads of 32 columns, in f32 and with products of bf16. `products` and
 * `attention` are shares of the time of those kernels; `rest` is norms, gates,
 * rotations and copies. The limit is the rate at which the core would do all
 * multiply-adds (of attention, those that causal queries need) in registers;
 * attention is in f32 always. GFLOP/s are those of the products.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/workspace.h"
#include "actors/stage/decoder_layer.h"
#include "bench/bench.h"
#include "bench/kernels/roofs.h"

#define LAYERS 6
#define LENGTH ((size_t)256)
#define SEQUENCES ((size_t)8)
#define TOKENS (SEQUENCES * LENGTH)
#define HEAD_COLUMNS 32u
#define RUNS 7

/* --- kernels with clocks -------------------------------------------------- */

/* The kernels that are timed, and the time spent in some of them. */
static const skn_kernels_t *plain;
static double products_ns, attention_ns;

static void
timed_gemm(const skn_gemm_t *job, void *scratch)
{
    double start = bench_now_ns();
    plain->gemm(job, scratch);
    products_ns += bench_now_ns() - start;
}

static void
timed_attend(const skn_attention_t *job, float *out, size_t out_stride,
             float *log_sum, void *scratch)
{
    double start = bench_now_ns();
    plain->attend(job, out, out_stride, log_sum, scratch);
    attention_ns += bench_now_ns() - start;
}

static void
timed_attend_gradient(const skn_attention_t *job, const float *out,
                      const float *gradient, size_t out_stride,
                      const float *log_sum, float *dq, float *dk, float *dv,
                      size_t gradient_stride, void *scratch)
{
    double start = bench_now_ns();
    plain->attend_gradient(job, out, gradient, out_stride, log_sum, dq, dk, dv,
                           gradient_stride, scratch);
    attention_ns += bench_now_ns() - start;
}

/* --- passes --------------------------------------------------------------- */

typedef enum pass {
    FORWARD,
    B,
    W,
    ALL,
    PASSES
} pass_t;

static const char *const pass_name[PASSES] = { "forward", "B", "W", "all" };

typedef struct trunk {
    skn_kernels_t kernels; /* with clocks */
    skn_decoder_t decoder;
    skn_matrix_t layer[LAYERS];
    skn_decoder_kept_t kept[LAYERS];
    float *angles, *table, *memory, *x, *dx, *gradient;
    void *scratch;
    double ns[PASSES][RUNS], products_ns[PASSES], attention_ns[PASSES];
    double roof[2][RUNS]; /* multiply-adds a ns: of floats, of bf16 */
} trunk_t;

static skn_status_t
trunk_init(trunk_t *trunk, const skn_decoder_shape_t *shape, bool half,
           skn_error_t *error)
{
    size_t rows = skn_decoder_layer_rows(shape), width = shape->width;
    /* The distance between rows of weights with Adam's moments: rows.h. */
    size_t apart = bench_row_floats(SKN_ROWS_ADAM, shape->width);
    memset(trunk, 0, sizeof(*trunk));
    trunk->kernels = *plain;
    trunk->kernels.gemm = timed_gemm;
    trunk->kernels.attend = timed_attend;
    trunk->kernels.attend_gradient = timed_attend_gradient;
    trunk->angles = skn_floats_new(skn_decoder_angle_floats(shape), error);
    trunk->table = bench_numbers(LAYERS * rows * apart, true, error);
    trunk->x = bench_numbers(TOKENS * width, true, error);
    trunk->dx = bench_numbers(TOKENS * width, true, error);
    trunk->gradient = bench_numbers(LAYERS * rows * width, true, error);
    if (!trunk->angles || !trunk->table || !trunk->x || !trunk->dx ||
        !trunk->gradient)
        return SKN_NO_MEMORY;
    skn_decoder_init(&trunk->decoder, shape, &trunk->kernels, half,
                     trunk->angles);
    size_t kept = skn_decoder_kept_floats(&trunk->decoder, TOKENS);
    trunk->memory = bench_numbers(LAYERS * kept, true, error);
    trunk->scratch = skn_floats_new(
        skn_decoder_scratch_bytes(&trunk->decoder, TOKENS) / sizeof(float),
        error);
    for (size_t n = 0; n < LAYERS && trunk->memory; n++) {
        trunk->layer[n] = (skn_matrix_t){ .at = trunk->table + n * rows * apart,
                                          .row_stride = apart,
                                          .column_stride = 1 };
        skn_decoder_kept_init(&trunk->decoder, &trunk->kept[n], SEQUENCES,
                              LENGTH, trunk->memory + n * kept);
    }
    /* Weights of the usual size: the numbers of a layer stay near 1. */
    plain->scale(trunk->table, 0.03f, LAYERS * rows * apart);
    return trunk->scratch && trunk->memory ? SKN_OK : SKN_NO_MEMORY;
}

static void
trunk_fini(trunk_t *trunk)
{
    free(trunk->angles);
    free(trunk->table);
    free(trunk->memory);
    free(trunk->x);
    free(trunk->dx);
    free(trunk->gradient);
    free(trunk->scratch);
}

static void
forward(trunk_t *trunk)
{
    for (size_t n = 0; n < LAYERS; n++)
        skn_decoder_layer_forward(&trunk->decoder, &trunk->layer[n],
                                  &trunk->kept[n], trunk->x, trunk->scratch);
}

static void
backward(trunk_t *trunk)
{
    for (size_t n = LAYERS; n-- > 0;)
        skn_decoder_layer_backward(&trunk->decoder, &trunk->layer[n],
                                   &trunk->kept[n], trunk->dx, trunk->scratch);
}

static void
weights(trunk_t *trunk)
{
    const skn_decoder_shape_t *shape = &trunk->decoder.shape;
    size_t floats = (size_t)skn_decoder_layer_rows(shape) * shape->width;
    uint32_t parts = skn_decoder_parts(shape, TOKENS);
    for (size_t n = LAYERS; n-- > 0;)
        for (uint32_t part = 0; part < parts; part++)
            skn_decoder_layer_weights(&trunk->decoder, &trunk->kept[n], part,
                                      trunk->gradient + n * floats,
                                      trunk->scratch);
}

/* All passes once, and before them the roofs, since what else the processor
 * does slows both. The run before the first is not counted. */
static void
run_once(bench_session_t *session, trunk_t *trunk, int run)
{
    static void (*const passes[])(trunk_t *) = { forward, backward, weights };
    size_t values = TOKENS * trunk->decoder.shape.width;
    for (size_t i = 0; i < values; i++)
        trunk->x[i] = trunk->dx[i] = (float)(i * 7919 % 2001) * 1e-3f - 1.0f;
    double sum = 0;
    for (int half = 0; half < 2 && run >= 0; half++) {
        bench_roof_t roof = half ? BENCH_HALF : BENCH_MULTIPLY;
        bench_roof(session, roof, 3);
        trunk->roof[half][run] = session->roof[roof];
    }
    for (int pass = 0; pass < ALL; pass++) {
        double start = bench_now_ns(), products = products_ns,
               attention = attention_ns;
        passes[pass](trunk);
        double ns = bench_now_ns() - start;
        sum += ns;
        if (run < 0)
            continue;
        trunk->ns[pass][run] = ns;
        trunk->products_ns[pass] += products_ns - products;
        trunk->attention_ns[pass] += attention_ns - attention;
        trunk->products_ns[ALL] += products_ns - products;
        trunk->attention_ns[ALL] += attention_ns - attention;
    }
    if (run >= 0)
        trunk->ns[ALL][run] = sum;
}

/* --- what is printed ------------------------------------------------------ */

/* Multiply-adds of a layer and token: of products, and of attention. */
static void
count_work(const skn_decoder_shape_t *shape, pass_t pass, double *products,
           double *attention)
{
    static const double of_attention[PASSES] = { 2, 5, 0, 7 };
    double width = shape->width, inner = shape->inner;
    *products = (4 * width * width + 3 * width * inner) * (pass == ALL ? 3 : 1);
    *attention = of_attention[pass] * width * (LENGTH + 1) / 2;
}

/* The time that run `run` of a pass would take in registers. */
static double
limit_ns(const trunk_t *trunk, pass_t pass, int run)
{
    double products, attention;
    count_work(&trunk->decoder.shape, pass, &products, &attention);
    return LAYERS * TOKENS *
           (products / trunk->roof[trunk->decoder.half][run] +
            attention / trunk->roof[0][run]);
}

static void
print_pass(trunk_t *trunk, pass_t pass)
{
    const skn_decoder_shape_t *shape = &trunk->decoder.shape;
    double products, attention, share[RUNS], *ns = trunk->ns[pass], sum_ns = 0;
    count_work(shape, pass, &products, &attention);
    for (int run = 0; run < RUNS; run++) {
        sum_ns += ns[run];
        share[run] = limit_ns(trunk, pass, run) / ns[run];
    }
    double median_ns = bench_median(ns, RUNS);
    double in_products = trunk->products_ns[pass] / sum_ns;
    double in_attention = trunk->attention_ns[pass] / sum_ns;
    printf("%4u/%u %-5s%-8s %9.0f %6.1f%% %8.1f%% %8.1f%% %6.1f%% %9.1f "
           "%7.1f%%\n",
           shape->width, shape->inner, trunk->decoder.half ? "bf16" : "f32",
           pass_name[pass], TOKENS / median_ns * 1e9,
           100 * (ns[RUNS * 3 / 4] - ns[RUNS / 4]) / median_ns,
           100 * in_products, 100 * in_attention,
           100 * (1 - in_products - in_attention),
           2 * products * LAYERS * TOKENS * RUNS / trunk->products_ns[pass],
           100 * bench_median(share, RUNS));
    (void)fflush(stdout);
}

static skn_status_t
measure(bench_session_t *session, uint32_t width, uint32_t inner,
        skn_error_t *error)
{
    const skn_decoder_shape_t shape = { .layers = LAYERS,
                                        .width = width,
                                        .heads = width / HEAD_COLUMNS,
                                        .inner = inner,
                                        .context = LENGTH,
                                        .epsilon = 1e-5f,
                                        .rope_base = 1e4f };
    static trunk_t trunk;
    skn_status_t status = skn_decoder_check(&shape, error);
    for (int half = 0; half < 2 && status == SKN_OK; half++) {
        status = trunk_init(&trunk, &shape, half, error);
        for (int run = -1; run < RUNS && status == SKN_OK; run++)
            run_once(session, &trunk, run);
        for (int pass = 0; pass < PASSES && status == SKN_OK; pass++)
            print_pass(&trunk, (pass_t)pass);
        trunk_fini(&trunk);
    }
    return status;
}

int
main(int argc, char **argv)
{
    bench_session_t session = { 0 };
    skn_error_t error = SKN_ZERO;
    session.kernels = plain = skn_kernels_pick(&error);
    if (argc != 1 && argc != 3) {
        (void)fprintf(stderr, "usage: bench_decoder [WIDTH INNER]\n");
        return skn_status_exit_code(SKN_USAGE);
    }
    if (plain) {
        printf("%-22s %9s %7s %9s %9s %7s %9s %8s\n", plain->isa, "tokens/s",
               "spread", "products", "attention", "rest", "GFLOP/s",
               "of limit");
        if (argc == 3)
            (void)measure(&session, (uint32_t)strtoul(argv[1], NULL, 10),
                          (uint32_t)strtoul(argv[2], NULL, 10), &error);
        else if (measure(&session, 256, 704, &error) == SKN_OK)
            (void)measure(&session, 512, 1376, &error);
    }
    if (error.status != SKN_OK)
        (void)fprintf(stderr, "bench_decoder: %s\n", error.text);
    return skn_status_exit_code(error.status);
}
