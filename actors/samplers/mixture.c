/* mixture.c - shares of rows from several samplers.
 *
 * Each part draws by itself, with a seed of its own; a row that part k lists
 * with probability pi_k is in the union with
 *     pi = 1 - product over k of (1 - pi_k)
 * since the parts are independent. The groups are those of the part that has
 * several; if two have, each sample is a group.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/samplers/mixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/protocol/draws.h"
#include "actors/protocol/rowset.h"

typedef struct mixture_part {
    const skn_sampler_kind_t *kind;
    skn_sampler_t *sampler;
    skn_selection_t selection;
    uint32_t *group_of; /* [batch_rows] each sample's group there */
    bool indexed;
} mixture_part_t;

struct skn_sampler {
    skn_sampler_options_t options;
    mixture_part_t part[SKN_MIXTURE_MAX];
    uint32_t part_count;
    uint32_t *leader; /* [batch_rows] 0, 1, 2, ..: each sample by itself */
    uint32_t *nobody; /* [batch_rows + 1] zeros: no sample has labels */
    skn_rowset_t drawn;
    uint32_t *row;
    float *weight;
};

/* --- the parts ------------------------------------------------------------ */

/* "kind:share", the length of which is `length`. */
static skn_status_t
read_part(const char *text, size_t length, skn_mixture_part_t *part,
          skn_error_t *error)
{
    char name[SKN_NAME_MAX + 1], *end = NULL;
    size_t colon = strcspn(text, ":");
    part->kind = NULL;
    if (colon < length && colon <= SKN_NAME_MAX) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)colon, text);
        part->kind = skn_sampler_find(name);
        part->share = skn_text_real(text + colon + 1, &end);
    }
    if (!part->kind || part->kind == &skn_sampler_mixture ||
        part->kind == &skn_sampler_exact || end != text + length ||
        !(part->share > 0.0 && part->share <= 1.0))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "mixture: '%.*s' is no part; \"kind:share\" expected, "
                        "with a share above 0 and at most 1",
                        (int)length, text);
    return SKN_OK;
}

skn_status_t
skn_mixture_read(const char *text, skn_mixture_part_t *part, uint32_t *count,
                 skn_error_t *error)
{
    double sum = 0.0;
    uint32_t even = 0, indexed = 0;
    *count = 0;
    for (const char *at = text ? text : ""; *at;) {
        size_t length = strcspn(at, ",");
        if (*count == SKN_MIXTURE_MAX)
            return skn_fail(error, SKN_BAD_CONFIG,
                            "mixture: more than %u parts", SKN_MIXTURE_MAX);
        skn_status_t status = read_part(at, length, &part[*count], error);
        if (status != SKN_OK)
            return status;
        sum += part[*count].share;
        even += !part[*count].kind->index;
        indexed += part[*count].kind->index != NULL;
        *count += 1;
        at += length + (at[length] == ',');
    }
    if (*count < 2)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "mixture: at least 2 parts expected, as in "
                        "\"uniform:0.5,simhash:0.5\"");
    if (fabs(sum - 1.0) > 1e-6)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "mixture: the shares add up to %g, not to 1", sum);
    if (even == 0)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "mixture: a share of uniform or log_uniform is needed; "
                        "the other samplers never draw some rows");
    if (indexed > 1)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "mixture: at most one part may have an index");
    return SKN_OK;
}

/* What part k of the mixture is opened with. The draws of the parts add up to
 * those of the mixture. */
static skn_sampler_options_t
options_of(const skn_sampler_options_t *options, const skn_mixture_part_t *part,
           uint32_t k)
{
    skn_sampler_options_t own = *options;
    double before = 0.0, draws = (double)options->draws;
    for (uint32_t j = 0; j < k; j++)
        before += part[j].share;
    own.seed = skn_draw_key(options->seed, SKN_DRAW_SAMPLE, UINT64_MAX - k);
    own.draws = (uint64_t)(floor(draws * (before + part[k].share) + 0.5) -
                           floor(draws * before + 0.5));
    own.tail = 0;
    own.weight_cap = 0.0;
    own.part = true;
    own.parts = NULL;
    /* Here a share of the rows is what a list is made of. */
    if (part[k].kind == &skn_sampler_cluster)
        own.list_rows = own.draws ? (uint32_t)own.draws : 1;
    return own;
}

static void
mixture_close(skn_sampler_t *sampler)
{
    for (uint32_t k = 0; k < sampler->part_count; k++) {
        mixture_part_t *part = &sampler->part[k];
        if (part->sampler)
            part->kind->close(part->sampler);
        skn_selection_fini(&part->selection);
        free(part->group_of);
    }
    skn_rowset_fini(&sampler->drawn);
    free(sampler->leader);
    free(sampler->nobody);
    free(sampler->row);
    free(sampler->weight);
    free(sampler);
}

static skn_status_t
prepare(skn_sampler_t *sampler, skn_error_t *error)
{
    const skn_sampler_options_t *options = &sampler->options;
    skn_mixture_part_t read[SKN_MIXTURE_MAX];
    uint32_t count, batch_rows = options->batch_rows;
    skn_status_t status = skn_mixture_read(options->parts, read, &count, error);
    if (status != SKN_OK)
        return status;
    for (uint32_t k = 0; k < count; k++) {
        mixture_part_t *part = &sampler->part[k];
        skn_sampler_options_t own = options_of(options, read, k);
        part->kind = read[k].kind;
        part->indexed = part->kind->index != NULL;
        sampler->part_count = k + 1;
        part->group_of = malloc(batch_rows * sizeof(uint32_t));
        if (!part->group_of)
            return skn_fail(error, SKN_NO_MEMORY, "no room for a sampler");
        part->sampler = part->kind->open(&own, error);
        if (!part->sampler)
            return error ? error->status : SKN_BAD_CONFIG;
    }
    sampler->leader = malloc(batch_rows * sizeof(uint32_t));
    sampler->nobody = calloc(batch_rows + 1u, sizeof(uint32_t));
    sampler->row = malloc((options->row_count + 1u) * sizeof(uint32_t));
    sampler->weight = malloc((options->row_count + 1u) * sizeof(float));
    if (!sampler->leader || !sampler->nobody || !sampler->row ||
        !sampler->weight)
        return skn_fail(error, SKN_NO_MEMORY, "no room for a sampler");
    for (uint32_t i = 0; i < batch_rows; i++)
        sampler->leader[i] = i;
    return skn_rowset_init(&sampler->drawn, options->row_count, error);
}

static skn_sampler_t *
mixture_open(const skn_sampler_options_t *options, skn_error_t *error)
{
    skn_sampler_t *sampler = calloc(1, sizeof(*sampler));
    if (!sampler) {
        skn_fail(error, SKN_NO_MEMORY, "no room for a sampler");
        return NULL;
    }
    sampler->options = *options;
    if (prepare(sampler, error) == SKN_OK) {
        sampler->options.frequency = NULL; /* the caller's */
        return sampler;
    }
    mixture_close(sampler);
    return NULL;
}

/* --- draws ---------------------------------------------------------------- */

static double
mixture_chance(const skn_sampler_t *sampler, const skn_sampler_query_t *query,
               uint32_t sample, uint32_t row)
{
    double missed = 1.0;
    for (uint32_t k = 0; k < sampler->part_count; k++)
        missed *= 1.0 - sampler->part[k].kind->chance(sampler->part[k].sampler,
                                                      query, sample, row);
    return 1.0 - missed;
}

static void
find_groups(mixture_part_t *part)
{
    const skn_selection_t *selection = &part->selection;
    for (uint32_t g = 0; g < selection->group_count; g++) {
        const skn_group_t *group = &selection->group[g];
        for (uint32_t s = 0; s < group->sample_count; s++)
            part->group_of[selection->sample[group->sample_first + s]] = g;
    }
}

/* The union of what the parts drew for `sample`, weighted. */
static uint32_t
join(skn_sampler_t *sampler, const skn_sampler_query_t *query, uint32_t sample)
{
    uint32_t cursor = 0;
    for (uint32_t k = 0; k < sampler->part_count; k++) {
        const mixture_part_t *part = &sampler->part[k];
        const skn_group_t *group =
            &part->selection.group[part->group_of[sample]];
        for (uint32_t at = 0; at < group->unit_count; at++)
            skn_rowset_add(&sampler->drawn,
                           part->selection.unit[group->unit_first + at]);
    }
    uint32_t count = skn_rowset_take(&sampler->drawn, &cursor, sampler->row,
                                     sampler->options.row_count);
    for (uint32_t k = 0; k < count; k++)
        sampler->weight[k] = skn_sampler_weight(
            &sampler->options,
            mixture_chance(sampler, query, sample, sampler->row[k]));
    return count;
}

/* The part whose groups the mixture takes; none: each sample is a group. */
static const mixture_part_t *
leading_part(const skn_sampler_t *sampler)
{
    const mixture_part_t *leading = &sampler->part[0];
    for (uint32_t k = 1; k < sampler->part_count; k++) {
        const mixture_part_t *part = &sampler->part[k];
        if (part->selection.group_count <= 1)
            continue;
        if (leading->selection.group_count > 1)
            return NULL;
        leading = part;
    }
    return leading;
}

/* The group of the samples which, in the leading part, are with `sample`. */
static skn_status_t
draw_group(skn_sampler_t *sampler, const skn_sampler_query_t *query,
           const uint32_t *member, uint32_t member_count,
           skn_selection_t *selection, skn_error_t *error)
{
    bool alone = member_count == 1 && query->rows > 1;
    const uint32_t *label = query->positive;
    uint32_t label_count = query->positive_count;
    if (alone) {
        label = query->own + query->own_offset[member[0]];
        label_count =
            query->own_offset[member[0] + 1] - query->own_offset[member[0]];
    }
    uint32_t count = join(sampler, query, member[0]);
    uint64_t units = (uint64_t)selection->unit_count + count + label_count;
    if (units > UINT32_MAX ||
        skn_selection_room(selection, selection->group_count + 1, query->rows,
                           (uint32_t)units, error) != SKN_OK)
        return skn_fail(error, SKN_NO_MEMORY,
                        "no room for the lists of a batch: %llu rows",
                        (unsigned long long)units);
    skn_group_t group = { .sample_first = selection->sample_count,
                          .sample_count = member_count,
                          .unit_first = selection->unit_count };
    memcpy(selection->sample + group.sample_first, member,
           member_count * sizeof(*member));
    selection->sample_count += member_count;
    skn_selection_union(selection, label, label_count, sampler->row,
                        sampler->weight, count);
    group.unit_count = selection->unit_count - group.unit_first;
    selection->group[selection->group_count++] = group;
    return SKN_OK;
}

static skn_status_t
mixture_draw(skn_sampler_t *sampler, const skn_sampler_query_t *query,
             skn_selection_t *selection, skn_error_t *error)
{
    skn_sampler_query_t bare = *query; /* labels are put in here, once */
    bare.positive_count = 0;
    skn_status_t status = SKN_OK;
    bare.own_offset = sampler->nobody;
    for (uint32_t k = 0; k < sampler->part_count && status == SKN_OK; k++) {
        mixture_part_t *part = &sampler->part[k];
        status =
            part->kind->draw(part->sampler, &bare, &part->selection, error);
        if (status == SKN_OK)
            find_groups(part);
    }
    const mixture_part_t *leading = leading_part(sampler);
    uint32_t groups = leading ? leading->selection.group_count : query->rows;
    skn_selection_clear(selection);
    if (status == SKN_OK)
        status = skn_selection_room(selection, groups, query->rows, 1, error);
    for (uint32_t g = 0; g < groups && status == SKN_OK; g++) {
        const uint32_t *member = sampler->leader + g;
        uint32_t count = 1;
        if (leading) {
            const skn_group_t *group = &leading->selection.group[g];
            member = leading->selection.sample + group->sample_first;
            count = group->sample_count;
        }
        status = draw_group(sampler, query, member, count, selection, error);
    }
    return status;
}

/* --- the index ------------------------------------------------------------ */

static skn_status_t
mixture_adopt(skn_sampler_t *sampler, const skn_index_t *index,
              skn_error_t *error)
{
    for (uint32_t k = 0; k < sampler->part_count; k++)
        if (sampler->part[k].indexed)
            return sampler->part[k].kind->adopt(sampler->part[k].sampler, index,
                                                error);
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "an index for a mixture that has none");
}

/* Which part has an index, and what it is opened with. */
static const skn_sampler_kind_t *
indexed_part(const skn_sampler_options_t *options, skn_sampler_options_t *own)
{
    skn_mixture_part_t read[SKN_MIXTURE_MAX];
    uint32_t count;
    if (skn_mixture_read(options->parts, read, &count, NULL) != SKN_OK)
        return NULL;
    for (uint32_t k = 0; k < count; k++)
        if (read[k].kind->index) {
            *own = options_of(options, read, k);
            return read[k].kind;
        }
    return NULL;
}

struct skn_builder {
    const skn_index_kind_t *kind;
    skn_builder_t *builder; /* of the part */
};

static skn_builder_t *
builder_open(const skn_sampler_options_t *options, const skn_rows_t *rows,
             skn_error_t *error)
{
    skn_sampler_options_t own = *options;
    const skn_sampler_kind_t *part = indexed_part(options, &own);
    skn_builder_t *builder = part ? calloc(1, sizeof(*builder)) : NULL;
    if (!builder) {
        skn_fail(error, SKN_NO_MEMORY, "no room for a builder");
        return NULL;
    }
    builder->kind = part->index(&own);
    builder->builder = builder->kind->open(&own, rows, error);
    if (builder->builder)
        return builder;
    free(builder);
    return NULL;
}

static void
builder_close(skn_builder_t *builder)
{
    builder->kind->close(builder->builder);
    free(builder);
}

static void
builder_change(skn_builder_t *builder, const uint32_t *row, uint32_t count)
{
    if (builder->kind->change)
        builder->kind->change(builder->builder, row, count);
}

static void
builder_observe(skn_builder_t *builder, const float *hidden, size_t stride,
                uint32_t count)
{
    if (builder->kind->observe)
        builder->kind->observe(builder->builder, hidden, stride, count);
}

static skn_status_t
builder_build(skn_builder_t *builder, skn_index_t *index, skn_error_t *error)
{
    return builder->kind->build(builder->builder, index, error);
}

static const float *
builder_state(skn_builder_t *builder, uint32_t *rows, uint32_t *columns)
{
    return builder->kind->state
               ? builder->kind->state(builder->builder, rows, columns)
               : NULL;
}

static skn_status_t
builder_restore(skn_builder_t *builder, const float *state, uint32_t rows,
                uint32_t columns, skn_error_t *error)
{
    return builder->kind->restore
               ? builder->kind->restore(builder->builder, state, rows, columns,
                                        error)
               : SKN_OK;
}

static void
builder_describe(const skn_builder_t *builder, char *text, size_t bytes)
{
    builder->kind->describe(builder->builder, text, bytes);
}

static const skn_index_kind_t index_kind = {
    .open = builder_open,
    .close = builder_close,
    .change = builder_change,
    .observe = builder_observe,
    .build = builder_build,
    .state = builder_state,
    .restore = builder_restore,
    .describe = builder_describe,
};

static const skn_index_kind_t *
mixture_index(const skn_sampler_options_t *options)
{
    skn_sampler_options_t own;
    return indexed_part(options, &own) ? &index_kind : NULL;
}

const skn_sampler_kind_t skn_sampler_mixture = {
    .name = "mixture",
    .help = "shares of the rows from several samplers",
    .open = mixture_open,
    .close = mixture_close,
    .draw = mixture_draw,
    .chance = mixture_chance,
    .index = mixture_index,
    .adopt = mixture_adopt,
};
