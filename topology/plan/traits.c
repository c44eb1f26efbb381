/* traits.c - computes what about a data set decides `auto`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/plan/traits.h"

int64_t
skn_traits_clamp(double value, int64_t least, int64_t most)
{
    if (value < (double)least)
        return least;
    return value > (double)most ? most : (int64_t)(value + 0.5);
}

double
skn_traits_points_per_label(const skn_plan_data_t *data)
{
    return data->labels_occurring
               ? (double)data->train_points * data->labels_per_point /
                     (double)data->labels_occurring
               : 1.0;
}

bool
skn_traits_has_names(const skn_plan_data_t *data)
{
    return data->labels > SKN_EXACT_LABELS_MAX &&
           data->train_points >= SKN_SOME_POINTS &&
           skn_traits_points_per_label(data) < SKN_SINGLE_POINTS;
}

bool
skn_traits_has_rare_labels(const skn_plan_data_t *data)
{
    return skn_traits_points_per_label(data) < SKN_RARE_POINTS &&
           data->labels > SKN_EXACT_LABELS_MAX;
}

void
skn_traits_why_points(skn_why_t why, const skn_plan_data_t *data,
                      const char *what)
{
    skn_count_text_t points;
    skn_why(why, "%s training points are %s",
            skn_count_text(data->train_points, points), what);
}

void
skn_traits_why_labels(skn_why_t why, const skn_plan_data_t *data,
                      const char *what)
{
    skn_why(why, "labels have %.1f points each, %s",
            skn_traits_points_per_label(data), what);
}
