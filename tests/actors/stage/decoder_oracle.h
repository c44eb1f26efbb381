/* decoder_oracle.h - layers of a decoder in double, naively, forwards and
 * backwards: equations (69) to (75) of docs/concepts/equations.md.
 *
 * Sizes are at most ORACLE_TOKENS, ORACLE_WIDTH and ORACLE_INNER. Weights are
 * [layer rows][width] for each layer, then the final gain, without gaps.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ACTORS_STAGE_DECODER_ORACLE_H
#define TESTS_ACTORS_STAGE_DECODER_ORACLE_H

#include <math.h>
#include <string.h>

#include "actors/protocol/decoder.h"

#define ORACLE_TOKENS 48
#define ORACLE_WIDTH 48
#define ORACLE_INNER 48
#define ORACLE_LAYERS 2

typedef double oracle_row_t[ORACLE_WIDTH]; /* of a token */
typedef oracle_row_t oracle_rows_t[ORACLE_TOKENS];
typedef double oracle_inner_t[ORACLE_TOKENS][ORACLE_INNER];

/* Values of one layer, or the gradients by them. */
typedef struct oracle_layer {
    oracle_rows_t x, normed, q, k, v, attention, middle, renormed;
    oracle_inner_t gate, up, product;
    oracle_rows_t y;
} oracle_layer_t;

typedef struct oracle_decoder {
    skn_decoder_shape_t shape;
    size_t layers, sequences, length;
    const double *weights;
    oracle_layer_t layer[ORACLE_LAYERS];
    oracle_rows_t out; /* the final norm's */
} oracle_decoder_t;

static inline size_t
oracle_rows(const oracle_decoder_t *o)
{
    return o->layers * skn_decoder_layer_rows(&o->shape) + 1;
}

/* Element (row, column) of a tensor of layer l. */
static inline size_t
oracle_at(const oracle_decoder_t *o, size_t l, skn_decoder_tensor_t tensor,
          size_t row, size_t column)
{
    return (l * skn_decoder_layer_rows(&o->shape) +
            skn_decoder_first(&o->shape, tensor) + row) *
               o->shape.width +
           column;
}

static inline size_t
oracle_tokens(const oracle_decoder_t *o)
{
    return o->sequences * o->length;
}

static inline double
oracle_norm_scale(const oracle_decoder_t *o, const double *x)
{
    double square = 0;
    for (size_t c = 0; c < o->shape.width; c++)
        square += x[c] * x[c] / o->shape.width;
    return 1 / sqrt(square + (double)o->shape.epsilon);
}

static inline void
oracle_norm(const oracle_decoder_t *o, const double *gain, oracle_row_t *x,
            oracle_row_t *out)
{
    for (size_t t = 0; t < oracle_tokens(o); t++) {
        double scale = oracle_norm_scale(o, x[t]);
        for (size_t c = 0; c < o->shape.width; c++)
            out[t][c] = x[t][c] * scale * gain[c];
    }
}

/* dx += , dgain += */
static inline void
oracle_norm_back(const oracle_decoder_t *o, const double *gain, oracle_row_t *x,
                 oracle_row_t *by, oracle_row_t *dx, double *dgain)
{
    size_t width = o->shape.width;
    for (size_t t = 0; t < oracle_tokens(o); t++) {
        double scale = oracle_norm_scale(o, x[t]), slope = 0;
        for (size_t c = 0; c < width; c++) {
            dgain[c] += by[t][c] * x[t][c] * scale;
            slope += by[t][c] * gain[c] * x[t][c] * scale / (double)width;
        }
        for (size_t c = 0; c < width; c++)
            dx[t][c] += scale * (by[t][c] * gain[c] - x[t][c] * scale * slope);
    }
}

/* Turns the heads of q or k by their positions, or back. */
static inline void
oracle_turn(const oracle_decoder_t *o, oracle_row_t *x, int sign)
{
    size_t head = skn_decoder_head(&o->shape);
    for (size_t t = 0; t < oracle_tokens(o); t++)
        for (size_t c = 0; c < o->shape.width; c++) {
            size_t i = c % head;
            if (i >= head / 2)
                continue;
            double angle =
                (double)(t % o->length) * pow((double)o->shape.rope_base,
                                              -2.0 * (double)i / (double)head);
            double s = sign * sin(angle), a = x[t][c], b = x[t][c + head / 2];
            x[t][c] = a * cos(angle) - b * s;
            x[t][c + head / 2] = b * cos(angle) + a * s;
        }
}

/* The weights of the keys that token t sees in the head of column c. */
static inline void
oracle_scores(const oracle_decoder_t *o, oracle_layer_t *l, size_t t, size_t c,
              double *p)
{
    size_t head = skn_decoder_head(&o->shape), first = t / o->length;
    double sum = 0, greatest = -1e300;
    first *= o->length;
    for (size_t j = first; j <= t; j++) {
        p[j] = 0;
        for (size_t i = 0; i < head; i++)
            p[j] += l->q[t][c + i] * l->k[j][c + i] / sqrt((double)head);
        greatest = p[j] > greatest ? p[j] : greatest;
    }
    for (size_t j = first; j <= t; j++)
        sum += p[j] = exp(p[j] - greatest);
    for (size_t j = first; j <= t; j++)
        p[j] /= sum;
}

static inline void
oracle_attend(const oracle_decoder_t *o, oracle_layer_t *l)
{
    size_t head = skn_decoder_head(&o->shape);
    double p[ORACLE_TOKENS];
    for (size_t t = 0; t < oracle_tokens(o); t++)
        for (size_t c = 0; c < o->shape.width; c += head) {
            oracle_scores(o, l, t, c, p);
            for (size_t i = c; i < c + head; i++) {
                l->attention[t][i] = 0;
                for (size_t j = t / o->length * o->length; j <= t; j++)
                    l->attention[t][i] += p[j] * l->v[j][i];
            }
        }
}

/* d->q, d->k, d->v from d->attention. */
static inline void
oracle_attend_back(const oracle_decoder_t *o, oracle_layer_t *l,
                   oracle_layer_t *d)
{
    size_t head = skn_decoder_head(&o->shape);
    double p[ORACLE_TOKENS], dp[ORACLE_TOKENS];
    for (size_t t = 0; t < oracle_tokens(o); t++)
        for (size_t c = 0; c < o->shape.width; c += head) {
            size_t first = t / o->length * o->length;
            double mean = 0;
            oracle_scores(o, l, t, c, p);
            for (size_t j = first; j <= t; j++) {
                dp[j] = 0;
                for (size_t i = c; i < c + head; i++) {
                    dp[j] += d->attention[t][i] * l->v[j][i];
                    d->v[j][i] += p[j] * d->attention[t][i];
                }
                mean += p[j] * dp[j];
            }
            for (size_t j = first; j <= t; j++)
                for (size_t i = c; i < c + head; i++) {
                    double slope = p[j] * (dp[j] - mean) / sqrt((double)head);
                    d->q[t][i] += slope * l->k[j][i];
                    d->k[j][i] += slope * l->q[t][i];
                }
        }
}

/* out[t][r] += sum over c of in[t][c] tensor[r][c]; rows of `out` are `apart`
 * apart. */
static inline void
oracle_product(const oracle_decoder_t *o, size_t first, oracle_row_t *in,
               double *out, size_t apart, size_t rows)
{
    for (size_t t = 0; t < oracle_tokens(o); t++)
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < o->shape.width; c++)
                out[t * apart + r] +=
                    in[t][c] * o->weights[first + r * o->shape.width + c];
}

/* din += dout tensor, dw += dout^T in. */
static inline void
oracle_product_back(const oracle_decoder_t *o, size_t first, oracle_row_t *in,
                    oracle_row_t *din, const double *dout, size_t apart,
                    size_t rows, double *dw)
{
    for (size_t t = 0; t < oracle_tokens(o); t++)
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < o->shape.width; c++) {
                size_t at = first + r * o->shape.width + c;
                din[t][c] += dout[t * apart + r] * o->weights[at];
                dw[at] += dout[t * apart + r] * in[t][c];
            }
}

/* The product with a tensor of layer n, whose rows have `width` or `inner`
 * columns. */
#define ORACLE_PRODUCT(o, n, tensor, in, out, rows)                            \
    oracle_product(o, oracle_at(o, n, tensor, 0, 0), in, (out)[0],             \
                   sizeof(*(out)) / sizeof(double), rows)
#define ORACLE_PRODUCT_BACK(o, n, tensor, in, din, dout, rows, dw)             \
    oracle_product_back(o, oracle_at(o, n, tensor, 0, 0), in, din, (dout)[0],  \
                        sizeof(*(dout)) / sizeof(double), rows, dw)

static inline void
oracle_layer_forward(oracle_decoder_t *o, size_t n)
{
    oracle_layer_t *l = &o->layer[n];
    size_t width = o->shape.width, inner = o->shape.inner;
    size_t down = oracle_at(o, n, SKN_DECODER_DOWN, 0, 0);
    oracle_rows_t x;
    memcpy(x, l->x, sizeof(x));
    memset(l, 0, sizeof(*l));
    memcpy(l->x, x, sizeof(x));
    oracle_norm(o, o->weights + oracle_at(o, n, SKN_DECODER_INPUT_GAIN, 0, 0),
                l->x, l->normed);
    ORACLE_PRODUCT(o, n, SKN_DECODER_Q, l->normed, l->q, width);
    ORACLE_PRODUCT(o, n, SKN_DECODER_K, l->normed, l->k, width);
    ORACLE_PRODUCT(o, n, SKN_DECODER_V, l->normed, l->v, width);
    oracle_turn(o, l->q, 1);
    oracle_turn(o, l->k, 1);
    oracle_attend(o, l);
    memcpy(l->middle, x, sizeof(x));
    ORACLE_PRODUCT(o, n, SKN_DECODER_O, l->attention, l->middle, width);
    oracle_norm(o, o->weights + oracle_at(o, n, SKN_DECODER_MIDDLE_GAIN, 0, 0),
                l->middle, l->renormed);
    ORACLE_PRODUCT(o, n, SKN_DECODER_GATE, l->renormed, l->gate, inner);
    ORACLE_PRODUCT(o, n, SKN_DECODER_UP, l->renormed, l->up, inner);
    memcpy(l->y, l->middle, sizeof(x));
    for (size_t t = 0; t < oracle_tokens(o); t++)
        for (size_t i = 0; i < inner; i++) {
            l->product[t][i] =
                l->gate[t][i] / (1 + exp(-l->gate[t][i])) * l->up[t][i];
            for (size_t c = 0; c < width; c++)
                l->y[t][c] +=
                    l->product[t][i] * o->weights[down + i * width + c];
        }
}

static inline void
oracle_inner_back(const oracle_decoder_t *o, size_t n, oracle_layer_t *l,
                  oracle_layer_t *d, double *dw)
{
    size_t width = o->shape.width, inner = o->shape.inner;
    size_t down = oracle_at(o, n, SKN_DECODER_DOWN, 0, 0);
    for (size_t t = 0; t < oracle_tokens(o); t++)
        for (size_t i = 0; i < inner; i++) {
            double s = 1 / (1 + exp(-l->gate[t][i])), by = 0;
            for (size_t c = 0; c < width; c++) {
                size_t at = down + i * width + c;
                by += d->y[t][c] * o->weights[at];
                dw[at] += d->y[t][c] * l->product[t][i];
            }
            d->up[t][i] = by * l->gate[t][i] * s;
            d->gate[t][i] =
                by * l->up[t][i] * s * (1 + l->gate[t][i] * (1 - s));
        }
    memcpy(d->middle, d->y, sizeof(d->y));
    ORACLE_PRODUCT_BACK(o, n, SKN_DECODER_GATE, l->renormed, d->renormed,
                        d->gate, inner, dw);
    ORACLE_PRODUCT_BACK(o, n, SKN_DECODER_UP, l->renormed, d->renormed, d->up,
                        inner, dw);
    size_t gain = oracle_at(o, n, SKN_DECODER_MIDDLE_GAIN, 0, 0);
    oracle_norm_back(o, o->weights + gain, l->middle, d->renormed, d->middle,
                     dw + gain);
}

/* d->x from d->y; dw += the gradients by the weights of all layers. */
static inline void
oracle_layer_back(const oracle_decoder_t *o, size_t n, oracle_layer_t *l,
                  oracle_layer_t *d, double *dw)
{
    size_t width = o->shape.width;
    oracle_inner_back(o, n, l, d, dw);
    memcpy(d->x, d->middle, sizeof(d->x));
    ORACLE_PRODUCT_BACK(o, n, SKN_DECODER_O, l->attention, d->attention,
                        d->middle, width, dw);
    oracle_attend_back(o, l, d);
    oracle_turn(o, d->q, -1);
    oracle_turn(o, d->k, -1);
    ORACLE_PRODUCT_BACK(o, n, SKN_DECODER_Q, l->normed, d->normed, d->q, width,
                        dw);
    ORACLE_PRODUCT_BACK(o, n, SKN_DECODER_K, l->normed, d->normed, d->k, width,
                        dw);
    ORACLE_PRODUCT_BACK(o, n, SKN_DECODER_V, l->normed, d->normed, d->v, width,
                        dw);
    size_t gain = oracle_at(o, n, SKN_DECODER_INPUT_GAIN, 0, 0);
    oracle_norm_back(o, o->weights + gain, l->x, d->normed, d->x, dw + gain);
}

/* From x [tokens][width] to o->out. */
static inline void
oracle_forward(oracle_decoder_t *o, const double *x)
{
    size_t width = o->shape.width;
    memset(o->layer, 0, sizeof(o->layer));
    for (size_t t = 0; t < oracle_tokens(o); t++)
        memcpy(o->layer[0].x[t], x + t * width, width * sizeof(*x));
    for (size_t n = 0; n < o->layers; n++) {
        if (n > 0)
            memcpy(o->layer[n].x, o->layer[n - 1].y, sizeof(oracle_rows_t));
        oracle_layer_forward(o, n);
    }
    oracle_norm(o, o->weights + oracle_at(o, o->layers, 0, 0, 0),
                o->layer[o->layers - 1].y, o->out);
}

/* After oracle_forward: for `by` [tokens][width], the gradient by o->out, dx
 * [tokens][width] = that by x, and dw [rows][width] += those by the weights. */
static inline void
oracle_backward(oracle_decoder_t *o, const double *by, double *dx, double *dw)
{
    static oracle_layer_t d;
    oracle_rows_t last, below = { { 0 } };
    size_t width = o->shape.width, final = oracle_at(o, o->layers, 0, 0, 0);
    for (size_t t = 0; t < oracle_tokens(o); t++)
        memcpy(last[t], by + t * width, width * sizeof(*by));
    oracle_norm_back(o, o->weights + final, o->layer[o->layers - 1].y, last,
                     below, dw + final);
    for (size_t n = o->layers; n-- > 0;) {
        memset(&d, 0, sizeof(d));
        memcpy(d.y, below, sizeof(below));
        oracle_layer_back(o, n, &o->layer[n], &d, dw);
        memcpy(below, d.x, sizeof(below));
    }
    for (size_t t = 0; t < oracle_tokens(o); t++)
        memcpy(dx + t * width, below[t], width * sizeof(*dx));
}

#endif
