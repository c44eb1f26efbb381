/* gather_add.h - kernel that computes a weighted sum of table rows (embedding).
 *
 * Columns are processed in groups whose sums stay in registers while k runs, so
 * that the output is read and written once. The remaining columns are processed
 * in groups half as wide, and so on: a slice of 32 columns of one of four nodes
 * is such a remainder, and a vector at a time it took twice as long.
 * SPDX-License-Identifier: Apache-2.0 */

/* Vectors of a group: 8 sums hide the latency of the multiply-adds. */
#define GATHER_VECTORS 8
/* Rows are prefetched into the second-level cache, which can wait for more
 * lines at once than the first: they arrive in half the time. Floats prefetched
 * ahead, and rows at most: a row of 512 bytes is summed in about 20 ns, memory
 * answers in about 100. */
#define GATHER_AHEAD_FLOATS 768
#define GATHER_AHEAD_MAX 24

/* `vectors` is a constant in each call. */
VF_WORD void
gather_group(float *out, const float *table, size_t stride, const uint32_t *row,
             const float *value, size_t count, size_t vectors)
{
    vf_t sum[GATHER_VECTORS];
    size_t ahead = GATHER_AHEAD_FLOATS / (vectors * VF_LANES);
    if (ahead > GATHER_AHEAD_MAX)
        ahead = GATHER_AHEAD_MAX;
    for (size_t v = 0; v < vectors; v++)
        sum[v] = vf_load(out + v * VF_LANES);
    for (size_t k = 0; k < count; k++) {
        const float *from = table + row[k] * stride;
        vf_t factor = vf_set(value[k]);
        if (k + ahead < count) {
            const float *next = table + row[k + ahead] * stride;
            for (size_t c = 0; c < vectors * VF_LANES; c += 16)
                __builtin_prefetch(next + c, 0, 2);
        }
        for (size_t v = 0; v < vectors; v++)
            sum[v] = vf_fma(factor, vf_load(from + v * VF_LANES), sum[v]);
    }
    for (size_t v = 0; v < vectors; v++)
        vf_store(out + v * VF_LANES, sum[v]);
}

static void
gather_add(float *out, const float *table, size_t stride, const uint32_t *row,
           const float *value, size_t count, size_t columns)
{
    size_t c = 0;
    for (; c + 8 * VF_LANES <= columns; c += 8 * VF_LANES)
        gather_group(out + c, table + c, stride, row, value, count, 8);
    if (c + 4 * VF_LANES <= columns) {
        gather_group(out + c, table + c, stride, row, value, count, 4);
        c += 4 * VF_LANES;
    }
    if (c + 2 * VF_LANES <= columns) {
        gather_group(out + c, table + c, stride, row, value, count, 2);
        c += 2 * VF_LANES;
    }
    if (c + VF_LANES <= columns) {
        gather_group(out + c, table + c, stride, row, value, count, 1);
        c += VF_LANES;
    }
    if (c == columns)
        return;
    size_t lanes = columns - c;
    vf_t sum = vf_load_n(out + c, lanes);
    for (size_t k = 0; k < count; k++)
        sum = vf_fma(vf_set(value[k]),
                     vf_load_n(table + row[k] * stride + c, lanes), sum);
    vf_store_n(out + c, sum, lanes);
}
