/* heads.c - rotary positions and causal attention of all heads.
 *
 * A head of one sequence is a job of the attention kernels. Its gradients are
 * made in a small array, so that they can replace q, k and v.
 * Rotary positions: Su et al. 2021; attention: Vaswani et al. 2017.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/stage/heads.h"

#include <math.h>
#include <string.h>

#include "actors/protocol/workspace.h"

void
skn_heads_angles(float *cosine, float *sine, size_t context, size_t head,
                 double base)
{
    size_t half = head / 2;
    for (size_t i = 0; i < half; i++) {
        double speed = pow(base, -2.0 * (double)i / (double)head);
        for (size_t t = 0; t < context; t++) {
            cosine[t * half + i] = (float)cos((double)t * speed);
            sine[t * half + i] = (float)sin((double)t * speed);
        }
    }
}

static size_t
kernel_floats(const skn_kernels_t *kernels, size_t length, size_t head)
{
    size_t bytes = kernels->attention_scratch_bytes(length, head);
    return skn_array_floats(bytes / sizeof(float) + 1);
}

size_t
skn_heads_scratch_bytes(const skn_kernels_t *kernels, size_t length,
                        size_t head)
{
    return (kernel_floats(kernels, length, head) + 3 * length * head) *
           sizeof(float);
}

static skn_attention_t
job_of(const skn_heads_t *heads, size_t sequence, size_t h)
{
    size_t width = heads->heads * heads->head;
    const float *q = heads->qkv + sequence * heads->length * heads->qkv_stride +
                     h * heads->head - heads->first * heads->qkv_stride;
    return (skn_attention_t){ .tokens = heads->first + heads->length,
                              .head = heads->head,
                              .first = heads->first,
                              .q = q,
                              .k = q + width,
                              .v = q + 2 * width,
                              .stride = heads->qkv_stride,
                              .scale = 1.0f / sqrtf((float)heads->head),
                              .causal = true };
}

void
skn_heads_turn(const skn_heads_t *heads, size_t t)
{
    size_t head = heads->head, width = heads->heads * head;
    size_t at = (heads->first + t % heads->length) * (head / 2);
    float *row = heads->qkv + t * heads->qkv_stride;
    for (size_t c = 0; c < 2 * width; c += head)
        heads->kernels->rotate(row + c, heads->cosine + at, heads->sine + at,
                               head, false);
}

void
skn_heads_forward(const skn_heads_t *heads, void *scratch)
{
    size_t tokens = heads->sequences * heads->length;
    for (size_t s = 0; s < heads->sequences; s++)
        for (size_t h = 0; h < heads->heads; h++) {
            skn_attention_t job = job_of(heads, s, h);
            size_t first = s * heads->length;
            heads->kernels->attend(
                &job, heads->out + first * heads->stride + h * heads->head,
                heads->stride, heads->log_sum + h * tokens + first, scratch);
        }
}

/* Writes the gradients [length][3 head] of a head over its q, k and v. */
static void
replace(const skn_heads_t *heads, size_t sequence, size_t h,
        const float *slopes)
{
    size_t head = heads->head, width = heads->heads * head;
    for (size_t t = 0; t < heads->length; t++, slopes += 3 * head) {
        float *row = heads->qkv +
                     (sequence * heads->length + t) * heads->qkv_stride +
                     h * head;
        for (size_t part = 0; part < 3; part++) {
            memcpy(row + part * width, slopes + part * head,
                   head * sizeof(float));
            if (part < 2)
                heads->kernels->rotate(
                    row + part * width, heads->cosine + t * (head / 2),
                    heads->sine + t * (head / 2), head, true);
        }
    }
}

void
skn_heads_backward(const skn_heads_t *heads, const float *gradient,
                   void *scratch)
{
    size_t head = heads->head, tokens = heads->sequences * heads->length;
    float *slopes =
        (float *)scratch + kernel_floats(heads->kernels, heads->length, head);
    for (size_t s = 0; s < heads->sequences; s++)
        for (size_t h = 0; h < heads->heads; h++) {
            skn_attention_t job = job_of(heads, s, h);
            size_t first = s * heads->length;
            size_t at = first * heads->stride + h * head;
            heads->kernels->attend_gradient(
                &job, heads->out + at, gradient + at, heads->stride,
                heads->log_sum + h * tokens + first, slopes, slopes + head,
                slopes + 2 * head, 3 * head, scratch);
            replace(heads, s, h, slopes);
        }
}
