/* fuzz_checkpoint.c - feeds any bytes to the readers of headers, manifests and
 * sealed texts.
 *
 * The first byte chooses. What is accepted must be consistent: tensors fill the
 * data, and a manifest that is printed again reads back.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "formats/checkpoint/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count);

/* The length field would keep nearly every input out: it is set right, but for
 * inputs whose data begin with a byte above 'z'. */
static void
fuzz_header(const uint8_t *bytes, size_t byte_count, uint8_t data_bytes)
{
    skn_safetensors_t tensors;
    unsigned char *whole = malloc(byte_count + 8);
    if (!whole)
        return;
    uint64_t length = byte_count;
    memcpy(whole, &length, 8);
    if (byte_count > 0)
        memcpy(whole + 8, bytes, byte_count);
    if (byte_count >= 8 && bytes[0] > 'z')
        memcpy(whole, bytes, 8);
    skn_error_t error = { 0 };
    if (skn_safetensors_parse("fuzz", whole, byte_count + 8,
                              byte_count + 8 + data_bytes, &tensors,
                              &error) == SKN_OK) {
        uint64_t sum = 0;
        for (size_t i = 0; i < tensors.count; i++) {
            assert(tensors.tensor[i].offset_bytes == sum);
            sum += tensors.tensor[i].size_bytes;
        }
        assert(tensors.header_bytes + sum == byte_count + 8 + data_bytes);
    } else {
        assert(*error.text && !tensors.tensor);
    }
    skn_safetensors_fini(&tensors);
    free(whole);
}

static void
fuzz_manifest(const char *bytes, size_t byte_count)
{
    skn_manifest_t manifest, again;
    skn_json_text_t text = { 0 };
    skn_error_t error = { 0 };
    if (skn_manifest_parse("fuzz", bytes, byte_count, &manifest, &error) !=
        SKN_OK) {
        assert(*error.text && !manifest.metadata);
        return;
    }
    skn_manifest_print(&manifest, &text);
    skn_status_t status = skn_json_text_seal(&text, NULL);
    assert(status == SKN_OK);
    status = skn_json_check_seal("again", text.bytes, text.count, NULL);
    assert(status == SKN_OK);
    status = skn_manifest_parse("again", text.bytes, text.count, &again, NULL);
    assert(status == SKN_OK);
    assert(again.piece_count == manifest.piece_count);
    (void)status;
    skn_manifest_fini(&again);
    skn_manifest_fini(&manifest);
    skn_json_text_fini(&text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t byte_count)
{
    if (byte_count < 2)
        return 0;
    const uint8_t *rest = bytes + 2;
    size_t rest_count = byte_count - 2;
    if (bytes[0] == 'h')
        fuzz_header(rest, rest_count, (uint8_t)(bytes[1] - '0'));
    else if (bytes[0] == 'm')
        fuzz_manifest((const char *)rest, rest_count);
    else
        (void)skn_json_check_seal("fuzz", (const char *)rest, rest_count, NULL);
    return 0;
}
