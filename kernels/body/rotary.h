/* rotary.h - a kernel for rotary positions (Su et al. 2021), in the order of
 * Llama: column i of a head turns with column i + n / 2.
 * SPDX-License-Identifier: Apache-2.0 */

typedef struct rotary_job {
    float *x, *y; /* the halves of the head */
    const float *cosine, *sine;
    bool back;
} rotary_job_t;

VF_WORD void
rotary_step(const void *what, size_t i, size_t lanes)
{
    const rotary_job_t *job = what;
    vf_t c = vf_load_n(job->cosine + i, lanes);
    vf_t s = vf_load_n(job->sine + i, lanes);
    vf_t x = vf_load_n(job->x + i, lanes), y = vf_load_n(job->y + i, lanes);
    if (job->back)
        s = vf_negative(s);
    vf_store_n(job->x + i, vf_sub(vf_mul(x, c), vf_mul(y, s)), lanes);
    vf_store_n(job->y + i, vf_fma(x, s, vf_mul(y, c)), lanes);
}

static void
rotate(float *x, const float *cosine, const float *sine, size_t n, bool back)
{
    rotary_job_t job = { x, x + n / 2, cosine, sine, back };
    vf_each(rotary_step, &job, x, n / 2);
}
