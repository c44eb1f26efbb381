/* activation.h - kernels for GELU and for SiLU with a gate, forwards and
 * backwards.
 *
 * Both are x s(k(x)), where s is the logistic function. GELU (Hendrycks &
 * Gimpel 2016, its approximation by tanh) has
 *     k(x) = 2 sqrt(2 / pi) (x + .044715 x^3),
 * and SiLU has k(x) = x.
 * SPDX-License-Identifier: Apache-2.0 */

#define GELU_SCALE 1.5957691216057308f
#define GELU_CUBE 0.044715f

typedef struct activation_job {
    float *out, *other;
    const float *x, *gate, *gradient;
} activation_job_t;

/* 1 / (1 + exp(-x)) of `ways` vectors, in place. */
VF_WORD void
logistic_ways(vf_t *x, size_t ways)
{
    EXP_EACH x[v] = vf_negative(x[v]);
    vf_exp_ways(x, ways);
    EXP_EACH x[v] = vf_div(vf_set(1.0f), vf_add(vf_set(1.0f), x[v]));
}

/* k(x) of GELU. */
VF_WORD vf_t
gelu_inner(vf_t x)
{
    vf_t square = vf_mul(x, x);
    vf_t inner =
        vf_fma(square, vf_set(GELU_SCALE * GELU_CUBE), vf_set(GELU_SCALE));
    return vf_mul(inner, x);
}

VF_WORD void
gelu_step(const activation_job_t *job, size_t i, size_t ways, size_t lanes)
{
    vf_t x[EXP_WAYS], s[EXP_WAYS];
    EXP_EACH x[v] = vf_load_n(job->x + i + v * VF_LANES, lanes);
    EXP_EACH s[v] = gelu_inner(x[v]);
    logistic_ways(s, ways);
    EXP_EACH vf_store_n(job->out + i + v * VF_LANES, vf_mul(x[v], s[v]), lanes);
}

/* d/dx x s(k) = s + x s (1 - s) k', with k' = c (1 + 3 .044715 x^2). */
VF_WORD void
gelu_gradient_step(const activation_job_t *job, size_t i, size_t ways,
                   size_t lanes)
{
    vf_t x[EXP_WAYS], s[EXP_WAYS], slope[EXP_WAYS];
    EXP_EACH x[v] = vf_load_n(job->x + i + v * VF_LANES, lanes);
    EXP_EACH s[v] = gelu_inner(x[v]);
    EXP_EACH slope[v] =
        vf_fma(vf_mul(x[v], x[v]), vf_set(3.0f * GELU_SCALE * GELU_CUBE),
               vf_set(GELU_SCALE));
    EXP_EACH slope[v] = vf_mul(slope[v], x[v]);
    logistic_ways(s, ways);
    EXP_EACH slope[v] =
        vf_mul(slope[v], vf_mul(s[v], vf_sub(vf_set(1.0f), s[v])));
    EXP_EACH s[v] = vf_add(s[v], slope[v]);
    EXP_EACH vf_store_n(
        job->out + i + v * VF_LANES,
        vf_mul(s[v], vf_load_n(job->gradient + i + v * VF_LANES, lanes)),
        lanes);
}

VF_WORD void
silu_gate_step(const activation_job_t *job, size_t i, size_t ways, size_t lanes)
{
    vf_t x[EXP_WAYS], s[EXP_WAYS];
    EXP_EACH x[v] = vf_load_n(job->x + i + v * VF_LANES, lanes);
    EXP_EACH s[v] = x[v];
    logistic_ways(s, ways);
    EXP_EACH s[v] = vf_mul(s[v], x[v]);
    EXP_EACH vf_store_n(
        job->out + i + v * VF_LANES,
        vf_mul(s[v], vf_load_n(job->gate + i + v * VF_LANES, lanes)), lanes);
}

/* dgate = gradient x s, dx = gradient gate s (1 + x (1 - s)). */
VF_WORD void
silu_gate_gradient_step(const activation_job_t *job, size_t i, size_t ways,
                        size_t lanes)
{
    vf_t x[EXP_WAYS], s[EXP_WAYS], slope[EXP_WAYS], g[EXP_WAYS];
    vf_t gate[EXP_WAYS];
    EXP_EACH x[v] = vf_load_n(job->x + i + v * VF_LANES, lanes);
    EXP_EACH g[v] = vf_load_n(job->gradient + i + v * VF_LANES, lanes);
    EXP_EACH gate[v] = vf_load_n(job->gate + i + v * VF_LANES, lanes);
    EXP_EACH s[v] = x[v];
    logistic_ways(s, ways);
    EXP_EACH slope[v] = vf_fma(x[v], vf_sub(vf_set(1.0f), s[v]), vf_set(1.0f));
    EXP_EACH slope[v] = vf_mul(slope[v], s[v]);
    EXP_EACH slope[v] = vf_mul(slope[v], gate[v]);
    EXP_EACH vf_store_n(job->other + i + v * VF_LANES,
                        vf_mul(g[v], vf_mul(x[v], s[v])), lanes);
    EXP_EACH vf_store_n(job->out + i + v * VF_LANES, vf_mul(g[v], slope[v]),
                        lanes);
}

#define ACTIVATE(step, job, n)                                                 \
    size_t i = 0;                                                              \
    for (; i + EXP_WAYS * VF_LANES <= (n); i += EXP_WAYS * VF_LANES)           \
        step(&(job), i, EXP_WAYS, VF_LANES);                                   \
    for (; i < (n); i += VF_LANES)                                             \
        step(&(job), i, 1, vf_lanes((n)-i));

static void
gelu(float *out, const float *x, size_t n)
{
    activation_job_t job = { .out = out, .x = x };
    ACTIVATE(gelu_step, job, n)
}

static void
gelu_gradient(float *dx, const float *gradient, const float *x, size_t n)
{
    activation_job_t job = { .out = dx, .x = x, .gradient = gradient };
    ACTIVATE(gelu_gradient_step, job, n)
}

static void
silu_gate(float *out, const float *x, const float *gate, size_t n)
{
    activation_job_t job = { .out = out, .x = x, .gate = gate };
    ACTIVATE(silu_gate_step, job, n)
}

static void
silu_gate_gradient(float *dx, float *dgate, const float *gradient,
                   const float *x, const float *gate, size_t n)
{
    activation_job_t job = {
        .out = dx, .other = dgate, .x = x, .gate = gate, .gradient = gradient
    };
    ACTIVATE(silu_gate_gradient_step, job, n)
}
