/* tunnel_words.c - the preface of a tunnel, and the messages that set one up.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/tunnel/tunnel_words.h"

#include <stdbool.h>
#include <string.h>

#define MAGIC "skntun/1"
#define MAGIC_BYTES 8u
#define KIND_AT MAGIC_BYTES
#define TOKEN_AT 12u
#define KIND_CONTROL 1u
#define KIND_TUNNEL 2u
/* A greeting begins with it: RFC 23 (ZMTP). */
#define ZMTP_FIRST 0xff

#define VERSION 1u
#define NODE_AT 4u
#define NUMBER_AT 8u
#define WORD_TOKEN_AT 16u

static bool
all_zero(const uint8_t *bytes, size_t count)
{
    for (size_t k = 0; k < count; k++)
        if (bytes[k])
            return false;
    return true;
}

/* --- the first bytes ----------------------------------------------------- */

skn_preface_kind_t
skn_preface_read(const uint8_t *bytes, size_t count, uint8_t *token)
{
    size_t magic_bytes = count < MAGIC_BYTES ? count : MAGIC_BYTES;
    if (count > 0 && bytes[0] == ZMTP_FIRST)
        return SKN_PREFACE_ZMTP;
    if (memcmp(bytes, MAGIC, magic_bytes) != 0)
        return SKN_PREFACE_NONE;
    if (count < SKN_PREFACE_BYTES)
        return SKN_PREFACE_MORE;
    if (!all_zero(bytes + KIND_AT + 1, TOKEN_AT - KIND_AT - 1))
        return SKN_PREFACE_NONE;
    if (bytes[KIND_AT] == KIND_TUNNEL) {
        memcpy(token, bytes + TOKEN_AT, SKN_TUNNEL_TOKEN_BYTES);
        return SKN_PREFACE_TUNNEL;
    }
    return bytes[KIND_AT] == KIND_CONTROL &&
                   all_zero(bytes + TOKEN_AT, SKN_TUNNEL_TOKEN_BYTES)
               ? SKN_PREFACE_CONTROL
               : SKN_PREFACE_NONE;
}

void
skn_preface_write(skn_preface_kind_t kind, const uint8_t *token, uint8_t *bytes)
{
    memset(bytes, 0, SKN_PREFACE_BYTES);
    memcpy(bytes, MAGIC, MAGIC_BYTES);
    bytes[KIND_AT] = kind == SKN_PREFACE_TUNNEL ? KIND_TUNNEL : KIND_CONTROL;
    if (kind == SKN_PREFACE_TUNNEL)
        memcpy(bytes + TOKEN_AT, token, SKN_TUNNEL_TOKEN_BYTES);
}

/* --- messages ------------------------------------------------------------ */

static void
write_number(uint8_t *bytes, uint64_t number, size_t count)
{
    for (size_t k = 0; k < count; k++)
        bytes[k] = (uint8_t)(number >> (8 * k));
}

static uint64_t
read_number(const uint8_t *bytes, size_t count)
{
    uint64_t number = 0;
    for (size_t k = 0; k < count; k++)
        number |= (uint64_t)bytes[k] << (8 * k);
    return number;
}

void
skn_tunnel_word_write(const skn_tunnel_word_t *word, uint8_t *bytes)
{
    write_number(bytes, VERSION, 2);
    write_number(bytes + 2, word->kind, 2);
    write_number(bytes + NODE_AT, word->node, 4);
    write_number(bytes + NUMBER_AT, word->number, 8);
    memcpy(bytes + WORD_TOKEN_AT, word->token, SKN_TUNNEL_TOKEN_BYTES);
}

/* Whether a message has the fields of its kind and no others. */
static bool
is_whole(const skn_tunnel_word_t *word)
{
    bool no_token = all_zero(word->token, SKN_TUNNEL_TOKEN_BYTES);
    switch (word->kind) {
    case SKN_TUNNEL_HERE:
        return no_token && word->node == 0 && word->number == 0;
    case SKN_TUNNEL_WANT:
    case SKN_TUNNEL_NONE:
        return no_token && word->number > 0;
    case SKN_TUNNEL_OPEN:
        return !no_token;
    }
    return false;
}

skn_status_t
skn_tunnel_word_read(const uint8_t *bytes, size_t count,
                     skn_tunnel_word_t *word, skn_error_t *error)
{
    *word = (skn_tunnel_word_t){ 0 };
    if (count != SKN_TUNNEL_WORD_BYTES)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "a tunnel word of %zu bytes, expected %u", count,
                        SKN_TUNNEL_WORD_BYTES);
    uint64_t kind = read_number(bytes + 2, 2);
    if (read_number(bytes, 2) != VERSION || kind < SKN_TUNNEL_HERE ||
        kind > SKN_TUNNEL_NONE)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "a tunnel word of another version, or not a tunnel "
                        "word");
    word->kind = (skn_tunnel_kind_t)kind;
    word->node = (uint32_t)read_number(bytes + NODE_AT, 4);
    word->number = read_number(bytes + NUMBER_AT, 8);
    memcpy(word->token, bytes + WORD_TOKEN_AT, SKN_TUNNEL_TOKEN_BYTES);
    return is_whole(word)
               ? SKN_OK
               : skn_fail(error, SKN_BAD_MESSAGE,
                          "a tunnel word with fields that its kind does not "
                          "have");
}
