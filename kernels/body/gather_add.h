/* gather_add.h - the embedding of a sparse sample: a weighted sum of rows.
 *
 * Columns are taken in groups whose sums stay in registers while k runs, so
 * the output is read and written once.
 * SPDX-License-Identifier: Apache-2.0 */

/* Vectors of a group: 8 sums hide the latency of the multiply-adds. */
#define GATHER_VECTORS 8
/* Rows fetched ahead: a row of 512 bytes is summed in about 20 ns, memory
 * answers in about 100. */
#define GATHER_AHEAD 6

static void
gather_group(float *out, const float *table, size_t stride, const uint32_t *row,
             const float *value, size_t count)
{
    vf_t sum[GATHER_VECTORS];
    for (size_t v = 0; v < GATHER_VECTORS; v++)
        sum[v] = vf_load(out + v * VF_LANES);
    for (size_t k = 0; k < count; k++) {
        const float *from = table + row[k] * stride;
        vf_t factor = vf_set(value[k]);
        if (k + GATHER_AHEAD < count) {
            const float *next = table + row[k + GATHER_AHEAD] * stride;
            for (size_t c = 0; c < GATHER_VECTORS * VF_LANES; c += 16)
                __builtin_prefetch(next + c);
        }
        for (size_t v = 0; v < GATHER_VECTORS; v++)
            sum[v] = vf_fma(factor, vf_load(from + v * VF_LANES), sum[v]);
    }
    for (size_t v = 0; v < GATHER_VECTORS; v++)
        vf_store(out + v * VF_LANES, sum[v]);
}

static void
gather_add(float *out, const float *table, size_t stride, const uint32_t *row,
           const float *value, size_t count, size_t columns)
{
    const size_t group = GATHER_VECTORS * VF_LANES;
    size_t c = 0;
    for (; c + group <= columns; c += group)
        gather_group(out + c, table + c, stride, row, value, count);
    for (; c < columns; c += VF_LANES) {
        size_t lanes = vf_lanes(columns - c);
        vf_t sum = vf_load_n(out + c, lanes);
        for (size_t k = 0; k < count; k++)
            sum = vf_fma(vf_set(value[k]),
                         vf_load_n(table + row[k] * stride + c, lanes), sum);
        vf_store_n(out + c, sum, lanes);
    }
}
