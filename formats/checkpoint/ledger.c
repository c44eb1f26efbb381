/* ledger.c - checks that each block of rows has had each batch exactly once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Entries read at once. */
#define STEP 256u

uint64_t
skn_ledger_hash(uint64_t batch)
{
    uint64_t bits = batch + UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

skn_ledger_entry_t
skn_ledger_of(uint64_t batches)
{
    skn_ledger_entry_t entry = { .batches = batches };
    for (uint64_t batch = 0; batch < batches; batch++)
        entry.sum += skn_ledger_hash(batch);
    return entry;
}

void
skn_ledger_add(skn_ledger_entry_t *entry, size_t count, uint64_t batch)
{
    uint64_t hash = skn_ledger_hash(batch);
    for (size_t k = 0; k < count; k++) {
        entry[k].batches++;
        entry[k].sum += hash;
    }
}

void
skn_ledger_miss(const skn_ledger_entry_t *entry, skn_ledger_entry_t *missed,
                size_t count, uint64_t batches)
{
    for (size_t k = 0; k < count; k++)
        for (uint64_t batch = entry[k].batches + missed[k].batches;
             batch < batches; batch++)
            skn_ledger_add(&missed[k], 1, batch);
}

void
skn_ledger_check(const skn_ledger_entry_t *entry,
                 const skn_ledger_entry_t *missed, size_t count,
                 const skn_ledger_entry_t *want, skn_ledger_verdict_t *verdict)
{
    static const skn_ledger_entry_t none;
    verdict->known = true;
    for (size_t k = 0; k < count; k++) {
        const skn_ledger_entry_t *lost = missed ? &missed[k] : &none;
        uint64_t batches = entry[k].batches + lost->batches;
        uint64_t sum = entry[k].sum + lost->sum;
        verdict->lost += lost->batches;
        if (batches < want->batches)
            verdict->lost += want->batches - batches;
        else if (batches > want->batches)
            verdict->applied_twice += batches - want->batches;
        else if (sum != want->sum) {
            verdict->lost++;
            verdict->applied_twice++;
        }
    }
}

static bool
is_ledger(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && strcmp(dot + 1, SKN_LEDGER_NAME) == 0;
}

/* LAYER.missed beside LAYER.ledger; NULL: no batch was missed. */
static const skn_checkpoint_tensor_t *
missed_of(const skn_checkpoint_t *checkpoint,
          const skn_checkpoint_tensor_t *ledger)
{
    char name[SKN_NAME_MAX + 1];
    size_t stem = strlen(ledger->name) - strlen(SKN_LEDGER_NAME);
    (void)snprintf(name, sizeof(name), "%.*s" SKN_MISSED_NAME, (int)stem,
                   ledger->name);
    const skn_checkpoint_tensor_t *missed =
        skn_checkpoint_find(checkpoint, name);
    return missed && missed->dtype == SKN_DTYPE_U64 && missed->columns == 2 &&
                   missed->rows == ledger->rows
               ? missed
               : NULL;
}

static skn_status_t
read_one(skn_checkpoint_t *checkpoint, const skn_checkpoint_tensor_t *tensor,
         const skn_ledger_entry_t *want, skn_ledger_verdict_t *verdict,
         skn_error_t *error)
{
    skn_ledger_entry_t step[STEP], lost[STEP];
    skn_status_t status = SKN_OK;
    const skn_checkpoint_tensor_t *missed = missed_of(checkpoint, tensor);
    if (tensor->dtype != SKN_DTYPE_U64 || tensor->columns != 2)
        return skn_fail(error, SKN_BAD_DATA, "%s: tensor %s is not a ledger",
                        skn_checkpoint_path(checkpoint), tensor->name);
    for (uint64_t row = 0; row < tensor->rows && status == SKN_OK;
         row += STEP) {
        uint64_t left = tensor->rows - row, count = left < STEP ? left : STEP;
        status = skn_checkpoint_read_block(checkpoint, tensor->name, row, count,
                                           0, 2, step, sizeof(step[0]), error);
        if (status == SKN_OK && missed)
            status =
                skn_checkpoint_read_block(checkpoint, missed->name, row, count,
                                          0, 2, lost, sizeof(lost[0]), error);
        if (status == SKN_OK)
            skn_ledger_check(step, missed ? lost : NULL, count, want, verdict);
    }
    return status;
}

skn_status_t
skn_ledger_read(skn_checkpoint_t *checkpoint, skn_ledger_verdict_t *verdict,
                skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    skn_ledger_entry_t want = { 0 };
    *verdict = (skn_ledger_verdict_t){ 0 };
    size_t count = skn_checkpoint_tensor_count(checkpoint);
    for (size_t k = 0; k < count && status == SKN_OK; k++) {
        const skn_checkpoint_tensor_t *tensor =
            skn_checkpoint_tensor(checkpoint, k);
        if (!is_ledger(tensor->name))
            continue;
        if (!verdict->known)
            want = skn_ledger_of(skn_checkpoint_batch(checkpoint));
        status = read_one(checkpoint, tensor, &want, verdict, error);
    }
    return status;
}

void
skn_ledger_write(const skn_ledger_verdict_t *verdict, skn_json_text_t *text)
{
    if (verdict->known)
        skn_json_text_add(text,
                          ",\"lost\":%" PRIu64 ",\"applied_twice\":%" PRIu64,
                          verdict->lost, verdict->applied_twice);
}

skn_status_t
skn_ledger_read_back(const char *path, char hex[SKN_SHA256_TEXT_BYTES],
                     skn_ledger_verdict_t *verdict, skn_error_t *error)
{
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path, SKN_VERIFY_LAZY, error);
    if (!checkpoint)
        return error->status;
    skn_status_t status = skn_checkpoint_weights_sha256(checkpoint, hex, error);
    if (status == SKN_OK)
        status = skn_ledger_read(checkpoint, verdict, error);
    skn_checkpoint_close(&checkpoint);
    return status;
}
