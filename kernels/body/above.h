/* above.h - kernel that finds the positions of the elements above a threshold.
 *
 * Built for a threshold that few elements exceed, as in finding the best k of
 * many: four vectors are compared before the first branch.
 * SPDX-License-Identifier: Apache-2.0 */

static size_t
above(const float *x, size_t n, float threshold, uint32_t *index)
{
    vf_t limit = vf_set(threshold);
    size_t i = 0, count = 0;
    for (; i + 4 * VF_LANES <= n; i += 4 * VF_LANES) {
        uint64_t hits = 0;
        for (size_t v = 0; v < 4; v++) {
            vm_t m = vf_above(vf_load(x + i + v * VF_LANES), limit);
            hits |= (uint64_t)vm_bits(m) << (v * VF_LANES);
        }
        for (; hits; hits &= hits - 1)
            index[count++] = (uint32_t)i + (uint32_t)__builtin_ctzll(hits);
    }
    for (; i < n; i++)
        if (x[i] > threshold)
            index[count++] = (uint32_t)i;
    return count;
}
