/* fragment.c - the wire form of a fragment of a link: two frames.
 *
 * This file owns: how a fragment's header is written and read. It is msgpack,
 * checked by the bounded walk first; then twelve values of two types are read
 * by hand, since msgpack-c would allocate for each fragment.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/link/fragment.h"

#include <assert.h>
#include <string.h>

#include "skein/limits.h"
#include "transport/message/walk.h"

/* First bytes of the msgpack specification, "formats". */
enum {
    FIXARRAY = 0x90,
    BIN_8 = 0xc4,
    UINT_8 = 0xcc,
    UINT_64 = 0xcf,
    ARRAY_16 = 0xdc,
    ARRAY_32 = 0xdd
};

/* --- writing ------------------------------------------------------------- */

static uint8_t *
put_number(uint8_t *at, uint64_t number)
{
    if (number < 0x80) {
        *at++ = (uint8_t)number;
        return at;
    }
    unsigned log = number > UINT32_MAX   ? 3
                   : number > UINT16_MAX ? 2
                   : number > UINT8_MAX  ? 1
                                         : 0;
    *at++ = (uint8_t)(UINT_8 + log);
    for (unsigned shift = 8u << log; shift > 0;) {
        shift -= 8;
        *at++ = (uint8_t)(number >> shift);
    }
    return at;
}

size_t
skn_fragment_write(const skn_fragment_header_t *header,
                   uint8_t bytes[SKN_FRAGMENT_HEADER_BYTES_MAX])
{
    uint8_t *at = bytes;
    *at++ = FIXARRAY + SKN_FRAGMENT_FIELDS;
    at = put_number(at, header->version);
    at = put_number(at, header->type);
    *at++ = BIN_8;
    *at++ = SKN_LINK_RUN_BYTES;
    memcpy(at, header->run, SKN_LINK_RUN_BYTES);
    at += SKN_LINK_RUN_BYTES;
    at = put_number(at, header->node);
    at = put_number(at, header->incarnation);
    at = put_number(at, header->peer);
    at = put_number(at, header->offset);
    at = put_number(at, header->ack);
    at = put_number(at, header->credit);
    at = put_number(at, header->held);
    at = put_number(at, header->stamp);
    at = put_number(at, header->echo);
    assert(at - bytes <= (ptrdiff_t)SKN_FRAGMENT_HEADER_BYTES_MAX);
    return (size_t)(at - bytes);
}

/* --- reading ------------------------------------------------------------- */

/* The position of the reader. The walk has checked that every value is
 * complete; the bounds are checked all the same. */
typedef struct header_cursor {
    const uint8_t *at, *end;
    bool sound;
} header_cursor_t;

static uint64_t
get_big_endian(header_cursor_t *cursor, size_t width)
{
    uint64_t number = 0;
    if ((size_t)(cursor->end - cursor->at) < width) {
        cursor->sound = false;
        return 0;
    }
    for (size_t k = 0; k < width; k++)
        number = number << 8 | *cursor->at++;
    return number;
}

/* Reads an unsigned number of at most `max`. */
static uint64_t
get_number(header_cursor_t *cursor, uint64_t max)
{
    uint64_t number = get_big_endian(cursor, 1);
    if (number >= UINT_8 && number <= UINT_64)
        number = get_big_endian(cursor, (size_t)1 << (number - UINT_8));
    else if (number >= 0x80)
        cursor->sound = false;
    if (number > max)
        cursor->sound = false;
    return cursor->sound ? number : 0;
}

static uint64_t
get_count(header_cursor_t *cursor)
{
    uint64_t first = get_big_endian(cursor, 1);
    if (first >= FIXARRAY && first < FIXARRAY + 16)
        return first - FIXARRAY;
    if (first == ARRAY_16 || first == ARRAY_32)
        return get_big_endian(cursor, first == ARRAY_16 ? 2 : 4);
    cursor->sound = false;
    return 0;
}

static void
get_run(header_cursor_t *cursor, uint8_t run[SKN_LINK_RUN_BYTES])
{
    if (get_big_endian(cursor, 1) != BIN_8 ||
        get_big_endian(cursor, 1) != SKN_LINK_RUN_BYTES ||
        cursor->end - cursor->at < (ptrdiff_t)SKN_LINK_RUN_BYTES) {
        cursor->sound = false;
        return;
    }
    memcpy(run, cursor->at, SKN_LINK_RUN_BYTES);
    cursor->at += SKN_LINK_RUN_BYTES;
}

static void
get_first_fields(header_cursor_t *cursor, skn_fragment_header_t *header)
{
    header->version = (uint32_t)get_number(cursor, UINT32_MAX);
    header->type = (uint32_t)get_number(cursor, UINT32_MAX);
    get_run(cursor, header->run);
    header->node = (uint32_t)get_number(cursor, UINT32_MAX);
    header->incarnation = get_number(cursor, UINT64_MAX);
    header->peer = get_number(cursor, UINT64_MAX);
    if (header->incarnation == 0)
        cursor->sound = false;
}

static void
get_other_fields(header_cursor_t *cursor, skn_fragment_header_t *header)
{
    header->offset = get_number(cursor, SKN_OFFSET_MAX);
    header->ack = get_number(cursor, SKN_OFFSET_MAX);
    header->credit = get_number(cursor, SKN_OFFSET_MAX);
    header->held = get_number(cursor, SKN_OFFSET_MAX);
    header->stamp = get_number(cursor, SKN_OFFSET_MAX);
    header->echo = get_number(cursor, SKN_OFFSET_MAX);
    if (header->offset != 0 && header->type != SKN_FRAGMENT_DATA)
        cursor->sound = false;
    if (header->held != 0 && header->held <= header->ack)
        cursor->sound = false;
}

static skn_status_t
check_body(const skn_fragment_header_t *header, size_t body_bytes,
           skn_link_reason_t *reason, skn_error_t *error)
{
    size_t least = 0, most = 0;
    switch (header->type) {
#define T(name, number, low, high)                                             \
    case number:                                                               \
        least = low;                                                           \
        most = high;                                                           \
        break;
        SKN_FRAGMENT_TYPES(T)
#undef T
    default:
        *reason = SKN_LINK_REASON_TYPE;
        return skn_fail(error, SKN_BAD_MESSAGE, "fragment: type %u is unknown",
                        header->type);
    }
    if (body_bytes >= least && body_bytes <= most &&
        body_bytes <= SKN_OFFSET_MAX - header->offset)
        return SKN_OK;
    *reason = SKN_LINK_REASON_BODY;
    return skn_fail(error, SKN_BAD_MESSAGE,
                    "fragment: type %u with a body of %zu bytes, %zu to %zu "
                    "allowed",
                    header->type, body_bytes, least, most);
}

skn_status_t
skn_fragment_read(skn_frame_t frame, size_t body_bytes,
                  skn_fragment_header_t *header, skn_link_reason_t *reason,
                  skn_error_t *error)
{
    *header = (skn_fragment_header_t){ 0 };
    *reason = SKN_LINK_REASON_HEADER;
    if (frame.bytes > SKN_FRAGMENT_HEADER_BYTES_MAX)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "fragment: a header of %zu bytes, at most %u allowed",
                        frame.bytes, SKN_FRAGMENT_HEADER_BYTES_MAX);
    skn_status_t status = skn_walk_check(frame.at, frame.bytes, error);
    if (status != SKN_OK)
        return status;
    header_cursor_t cursor = { frame.at,
                               (const uint8_t *)frame.at + frame.bytes, true };
    uint64_t count = get_count(&cursor);
    if (cursor.sound && count >= SKN_FRAGMENT_FIRST_FIELDS)
        get_first_fields(&cursor, header);
    else
        cursor.sound = false;
    if (cursor.sound && header->version != SKN_LINK_VERSION) {
        *reason = SKN_LINK_REASON_VERSION;
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "fragment: version %u of the link protocol, ours is %u",
                        header->version, SKN_LINK_VERSION);
    }
    if (cursor.sound && count == SKN_FRAGMENT_FIELDS)
        get_other_fields(&cursor, header);
    else
        cursor.sound = false;
    if (!cursor.sound)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "fragment: the header is not an array of %u fields as "
                        "in docs/reference/wire.md",
                        SKN_FRAGMENT_FIELDS);
    return check_body(header, body_bytes, reason, error);
}

/* --- bodies -------------------------------------------------------------- */

static void
put_u64(uint8_t *at, uint64_t number)
{
    for (unsigned k = 0; k < 8; k++)
        at[k] = (uint8_t)(number >> 8 * k);
}

static uint64_t
get_u64(const uint8_t *at)
{
    uint64_t number = 0;
    for (unsigned k = 0; k < 8; k++)
        number |= (uint64_t)at[k] << 8 * k;
    return number;
}

void
skn_hello_write(const skn_hello_t *hello, uint8_t body[SKN_HELLO_BYTES])
{
    put_u64(body, hello->config_hash);
    put_u64(body + 8, hello->schemas_hash);
    put_u64(body + 16, hello->data_hash);
    put_u64(body + 24, hello->wants_answer | hello->purpose << 8);
}

void
skn_hello_read(const uint8_t *body, skn_hello_t *hello)
{
    hello->config_hash = get_u64(body);
    hello->schemas_hash = get_u64(body + 8);
    hello->data_hash = get_u64(body + 16);
    uint64_t flags = get_u64(body + 24);
    hello->wants_answer = flags & 1;
    hello->purpose = flags >> 8 & 0xff;
}

void
skn_refusal_write(uint64_t code, uint8_t body[SKN_REFUSAL_BYTES])
{
    put_u64(body, code);
}

uint64_t
skn_refusal_read(const uint8_t *body)
{
    return get_u64(body);
}

/* --- the id of a run ------------------------------------------------------ */

#define ID_BYTES (SKN_LINK_RUN_BYTES / 2)
#define MARK_BYTES (sizeof(SKN_RUN_PART_MARK) - 1)

static bool
has_mark(const uint8_t run[SKN_LINK_RUN_BYTES])
{
    return memcmp(run + ID_BYTES, SKN_RUN_PART_MARK, MARK_BYTES) == 0;
}

bool
skn_link_run_is_known(const uint8_t run[SKN_LINK_RUN_BYTES])
{
    static const uint8_t none[SKN_LINK_RUN_BYTES];
    return memcmp(run, none, has_mark(run) ? ID_BYTES : sizeof(none)) != 0;
}

bool
skn_link_run_is_other_part(const uint8_t one[SKN_LINK_RUN_BYTES],
                           const uint8_t other[SKN_LINK_RUN_BYTES])
{
    return has_mark(one) && has_mark(other) &&
           memcmp(one + ID_BYTES, other + ID_BYTES, ID_BYTES) != 0;
}
