/* attention.h - kernel of attention (Vaswani et al. 2017, section 3.2.1) of one
 * head over one sequence, forwards and backwards.
 *
 * Scores are made for ATTENTION_ROWS queries at a time and never for all, so
 * that memory grows with the length of the sequence, not with its square; the
 * backward pass makes them again (Dao et al. 2022). Keys and values are
 * transposed once a call; all other factors are read in place.
 * SPDX-License-Identifier: Apache-2.0 */

#define ATTENTION_ROWS ((size_t)(4 * GEMM_ROWS))

/* c[m][n] = (or +=) a[m][k] b[k][n]. Row i, depth d of a is at
 * a + i * a_row + d * a_depth; rows of b and c are contiguous. */
typedef struct product {
    size_t m, n, k;
    const float *a;
    size_t a_row, a_depth;
    const float *b;
    size_t b_row;
    float *c;
    size_t c_row;
    bool add;
} product_t;

/* `rows` and `vectors` are constants in the calls below; the last vector has
 * `lanes` columns. */
VF_WORD void
product_tile(const product_t *p, size_t row, size_t column, size_t rows,
             size_t vectors, size_t lanes)
{
    vf_t sum[GEMM_ROWS][GEMM_VECTORS];
    const float *a = p->a + row * p->a_row, *b = p->b + column;
    float *c = p->c + row * p->c_row + column;
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++)
            sum[r][v] = !p->add ? vf_zero()
                                : vf_load_n(c + r * p->c_row + v * VF_LANES,
                                            v + 1 < vectors ? VF_LANES : lanes);
    for (size_t d = 0; d < p->k; d++, a += p->a_depth, b += p->b_row) {
        vf_t column_of_b[GEMM_VECTORS];
#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++)
            column_of_b[v] =
                vf_load_n(b + v * VF_LANES, v + 1 < vectors ? VF_LANES : lanes);
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++) {
            vf_t factor = vf_set(a[r * p->a_row]);
#pragma GCC unroll 4
            for (size_t v = 0; v < vectors; v++)
                sum[r][v] = vf_fma(factor, column_of_b[v], sum[r][v]);
        }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++)
            vf_store_n(c + r * p->c_row + v * VF_LANES, sum[r][v],
                       v + 1 < vectors ? VF_LANES : lanes);
}

/* All rows of a strip of at most GEMM_COLUMNS columns. */
#define PRODUCT_STRIP(name, vectors, lanes_of_last)                            \
    static void name(const product_t *p, size_t column, size_t lanes)          \
    {                                                                          \
        size_t row = 0;                                                        \
        (void)lanes;                                                           \
        for (; row + GEMM_ROWS <= p->m; row += GEMM_ROWS)                      \
            product_tile(p, row, column, GEMM_ROWS, vectors, lanes_of_last);   \
        for (; row + TILE_LOW <= p->m; row += TILE_LOW)                        \
            product_tile(p, row, column, TILE_LOW, vectors, lanes_of_last);    \
        for (; row < p->m; row++)                                              \
            product_tile(p, row, column, 1, vectors, lanes_of_last);           \
    }

PRODUCT_STRIP(strip_whole, GEMM_VECTORS, VF_LANES)
PRODUCT_STRIP(strip_one, 1, VF_LANES)
PRODUCT_STRIP(strip_cut, 1, lanes)
#undef PRODUCT_STRIP

static void
product(const product_t *p)
{
    size_t column = 0;
    for (; column + GEMM_COLUMNS <= p->n; column += GEMM_COLUMNS)
        strip_whole(p, column, VF_LANES);
    for (; column + VF_LANES <= p->n; column += VF_LANES)
        strip_one(p, column, VF_LANES);
    if (column < p->n)
        strip_cut(p, column, p->n - column);
}

/* Columns of a row of scores, of transposed keys and of transposed values. */
static size_t
attention_width(size_t tokens)
{
    return round_up(tokens, 16);
}

static size_t
attention_scratch_bytes(size_t tokens, size_t head)
{
    return (2 * head + 2 * ATTENTION_ROWS) * attention_width(tokens) *
           sizeof(float);
}

/* to[j][i] = factor from[i][j]; rows of `to` are `width` apart. */
static void
attention_transpose(float *to, size_t width, const float *from, size_t stride,
                    size_t rows, size_t columns, float factor)
{
    for (size_t first = 0; first < rows; first += 16)
        for (size_t j = 0; j < columns; j++)
            for (size_t i = first; i < rows && i < first + 16; i++)
                to[j * width + i] = factor * from[i * stride + j];
}

/* The scores of `count` queries from `first` on, of the first `seen` keys. */
static void
attention_scores(const skn_attention_t *job, const float *keys, size_t width,
                 size_t first, size_t count, size_t seen, float *scores)
{
    product_t p = { .m = count,
                    .n = seen,
                    .k = job->head,
                    .a = job->q + first * job->stride,
                    .a_row = job->stride,
                    .a_depth = 1,
                    .b = keys,
                    .b_row = width,
                    .c = scores,
                    .c_row = width };
    product(&p);
}

static void
attend(const skn_attention_t *job, float *out, size_t out_stride,
       float *log_sum, void *scratch)
{
    size_t width = attention_width(job->tokens);
    float *keys = scratch, *scores = keys + job->head * width;
    attention_transpose(keys, width, job->k, job->stride, job->tokens,
                        job->head, job->scale);
    for (size_t first = job->first; first < job->tokens;
         first += ATTENTION_ROWS) {
        size_t count = least(job->tokens - first, ATTENTION_ROWS);
        size_t seen = job->causal ? first + count : job->tokens;
        attention_scores(job, keys, width, first, count, seen, scores);
        for (size_t i = 0; i < count; i++) {
            float *row = scores + i * width;
            size_t n = job->causal ? first + i + 1 : seen;
            float greatest = row_max(row, n);
            float sum = exp_weight_sum(row, row, NULL, n, greatest);
            scale(row, 1.0f / sum, n);
            memset(row + n, 0, (seen - n) * sizeof(float));
            log_sum[first - job->first + i] = greatest + logf(sum);
        }
        product_t p = { .m = count,
                        .n = job->head,
                        .k = seen,
                        .a = scores,
                        .a_row = width,
                        .a_depth = 1,
                        .b = job->v,
                        .b_row = job->stride,
                        .c = out + (first - job->first) * out_stride,
                        .c_row = out_stride };
        product(&p);
    }
}

typedef struct score_job {
    float *out;
    const float *power;
    vf_t offset, factor;
} score_job_t;

VF_WORD void
score_gradient_step(const void *what, size_t i, size_t lanes)
{
    const score_job_t *job = what;
    vf_t inner = vf_sub(vf_load_n(job->out + i, lanes), job->offset);
    vf_t power = vf_mul(vf_load_n(job->power + i, lanes), job->factor);
    vf_store_n(job->out + i, vf_mul(inner, power), lanes);
}

/* Some queries of the backward pass, and the keys that the last of them sees.
 */
typedef struct attention_pass {
    const skn_attention_t *job;
    size_t first, count, seen, width; /* width: of a row of scores */
    float *power, *slope;             /* [count][width] P and dS */
} attention_pass_t;

/* dS = scale P (dP - D), from the scores in `power` and dP in `slope`; both are
 * 0 for keys that a query does not see. D[i] is the sum over j of
 * gradient[i][j] out[i][j]. */
static void
score_gradients(const attention_pass_t *pass, const float *out,
                const float *gradient, size_t out_stride, const float *log_sum)
{
    const skn_attention_t *job = pass->job;
    for (size_t i = 0; i < pass->count; i++) {
        float *e = pass->power + i * pass->width;
        float *d = pass->slope + i * pass->width;
        size_t n = job->causal ? pass->first + i + 1 : pass->seen;
        float offset =
            dot(gradient + i * out_stride, out + i * out_stride, job->head);
        score_job_t row = { d, e, vf_set(offset), vf_set(job->scale) };
        (void)exp_weight_sum(e, e, NULL, n, log_sum[pass->first + i]);
        vf_each(score_gradient_step, &row, d, n);
        memset(e + n, 0, (pass->seen - n) * sizeof(float));
        memset(d + n, 0, (pass->seen - n) * sizeof(float));
    }
}

/* dQ = dS K;  dK += dS^T Q;  dV += P^T gradient. */
static void
input_gradients(const attention_pass_t *pass, const float *gradient,
                size_t out_stride, float *dq, float *dk, float *dv,
                size_t gradient_stride)
{
    const skn_attention_t *job = pass->job;
    product_t of_queries = { .m = pass->count,
                             .n = job->head,
                             .k = pass->seen,
                             .a = pass->slope,
                             .a_row = pass->width,
                             .a_depth = 1,
                             .b = job->k,
                             .b_row = job->stride,
                             .c = dq + pass->first * gradient_stride,
                             .c_row = gradient_stride };
    product_t of_keys = { .m = pass->seen,
                          .n = job->head,
                          .k = pass->count,
                          .a = pass->slope,
                          .a_row = 1,
                          .a_depth = pass->width,
                          .b = job->q + pass->first * job->stride,
                          .b_row = job->stride,
                          .c = dk,
                          .c_row = gradient_stride,
                          .add = true };
    product_t of_values = of_keys;
    of_values.a = pass->power;
    of_values.b = gradient;
    of_values.b_row = out_stride;
    of_values.c = dv;
    product(&of_queries);
    product(&of_keys);
    product(&of_values);
}

static void
attend_gradient(const skn_attention_t *job, const float *out,
                const float *gradient, size_t out_stride, const float *log_sum,
                float *dq, float *dk, float *dv, size_t gradient_stride,
                void *scratch)
{
    size_t width = attention_width(job->tokens), head = job->head;
    float *keys = scratch, *values = keys + head * width;
    float *power = values + head * width;
    float *slope = power + ATTENTION_ROWS * width;
    attention_transpose(keys, width, job->k, job->stride, job->tokens, head,
                        job->scale);
    attention_transpose(values, width, job->v, job->stride, job->tokens, head,
                        1.0f);
    for (size_t i = 0; i < job->tokens; i++) {
        memset(dk + i * gradient_stride, 0, head * sizeof(float));
        memset(dv + i * gradient_stride, 0, head * sizeof(float));
    }
    for (size_t first = 0; first < job->tokens; first += ATTENTION_ROWS) {
        size_t count = least(job->tokens - first, ATTENTION_ROWS);
        size_t seen = job->causal ? first + count : job->tokens;
        const float *g = gradient + first * out_stride;
        attention_pass_t pass = {
            job, first, count, seen, width, power, slope
        };
        product_t p = { .m = count,
                        .n = seen,
                        .k = head,
                        .a = g,
                        .a_row = out_stride,
                        .a_depth = 1,
                        .b = values,
                        .b_row = width,
                        .c = slope,
                        .c_row = width };
        attention_scores(job, keys, width, first, count, seen, power);
        product(&p);
        score_gradients(&pass, out + first * out_stride, g, out_stride,
                        log_sum);
        input_gradients(&pass, g, out_stride, dq, dk, dv, gradient_stride);
    }
}
