/* copy.c - takes leases: lent rows, or new values into a shard's working copy.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/rows/copy.h"

#include <string.h>

skn_status_t
skn_copy_open(skn_copy_t *copy, const skn_actor_t *actor, uint32_t row_count,
              uint32_t width, skn_error_t *error)
{
    bool half = strcmp(skn_actor_option_text(actor, "weights"), "bf16") == 0;
    copy->name = skn_actor_name(actor);
    copy->row_count = row_count;
    copy->width = width;
    copy->has_copy =
        strcmp(skn_actor_option_text(actor, "updates"), "copy") == 0;
    if (!copy->has_copy)
        return SKN_OK;
    return skn_rows_init(&copy->rows, half ? SKN_ROWS_SGD_BF16 : SKN_ROWS_SGD,
                         row_count, width,
                         skn_actor_option_bool(actor, "huge_pages"), error);
}

void
skn_copy_close(skn_copy_t *copy)
{
    skn_rows_fini(&copy->rows);
}

static skn_status_t
refuse(const skn_copy_t *copy, const skn_lease_t *lease, const char *what,
       skn_error_t *error)
{
    return skn_fail(error, SKN_BAD_MESSAGE, "%s: lease of batch %llu: %s",
                    copy->name, (unsigned long long)lease->batch, what);
}

static skn_status_t
check(const skn_copy_t *copy, const skn_lease_t *lease, skn_error_t *error)
{
    size_t cells = lease->unit.count * copy->rows.width;
    bool half = skn_rows_are_bf16(&copy->rows);
    if (lease->rows)
        return refuse(copy, lease, "rows were lent to a shard that has a copy",
                      error);
    if (lease->value.count != (half ? 0 : cells) ||
        lease->half.count != (half ? cells : 0))
        return refuse(copy, lease, "its values have the wrong width or format",
                      error);
    for (size_t k = 0; k < lease->unit.count; k++)
        if (lease->unit.at[k] >= copy->rows.row_count)
            return refuse(copy, lease, "a row beyond the shard", error);
    return SKN_OK;
}

/* Takes lent rows, which are in this process: the decoder of messages refuses
 * an address from another process. */
static skn_status_t
take_loan(const skn_copy_t *copy, const skn_lease_t *lease,
          const skn_rows_t **rows, skn_error_t *error)
{
    const skn_rows_t *lent = lease->rows;
    if (!lent)
        return refuse(copy, lease,
                      "no rows were lent to a shard without a copy", error);
    if (lent->row_count != copy->row_count || lent->width != copy->width)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "%s: lease of batch %llu: %u rows of width %u, but "
                        "the shard has %u of width %u",
                        copy->name, (unsigned long long)lease->batch,
                        lent->row_count, lent->width, copy->row_count,
                        copy->width);
    *rows = lent;
    return SKN_OK;
}

skn_status_t
skn_copy_take(skn_copy_t *copy, const skn_lease_t *lease,
              const skn_rows_t **rows, skn_error_t *error)
{
    size_t width = copy->rows.width;
    if (*rows)
        return refuse(copy, lease, "it returns rows that were not lent", error);
    if (!copy->has_copy)
        return take_loan(copy, lease, rows, error);
    skn_status_t status = check(copy, lease, error);
    if (status != SKN_OK)
        return status;
    for (size_t k = 0; k < lease->unit.count; k++) {
        uint32_t row = lease->unit.at[k];
        if (skn_rows_are_bf16(&copy->rows))
            memcpy(skn_rows_weight_bf16(&copy->rows, row),
                   lease->half.at + k * width, width * sizeof(uint16_t));
        else
            memcpy(skn_rows_weight(&copy->rows, row),
                   lease->value.at + k * width, width * sizeof(float));
    }
    if (!lease->more)
        *rows = &copy->rows;
    return SKN_OK;
}
