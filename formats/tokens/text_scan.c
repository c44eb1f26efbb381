/* text_scan.c - reads one file of text a part at a time, and checks that it is
 * text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/tokens/text_scan.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "formats/source/stream.h"
#include "formats/text/text.h"

/* The longest UTF-8 character, of which the last byte may not have come. */
#define CHARACTER_BYTES_MAX 4u

/* The bytes of text at the beginning of `text`, without a last character that
 * may not be whole. Fewer than `bytes`: what follows is such a character, or no
 * text. */
static size_t
text_bytes(const char *text, size_t bytes)
{
    const char *end = text + bytes;
    size_t at = 0;
    while (at < bytes) {
        uint64_t word;
        /* Eight characters of ASCII at once; a byte that is 0 borrows from the
         * one above it, or from the highest bit. */
        if (bytes - at >= sizeof(word)) {
            memcpy(&word, text + at, sizeof(word));
            if (((word | (word - UINT64_C(0x0101010101010101))) &
                 UINT64_C(0x8080808080808080)) == 0) {
                at += sizeof(word);
                continue;
            }
        }
        size_t character =
            text[at] == '\0' ? 0 : skn_text_character_bytes(text + at, end);
        if (character == 0)
            break;
        at += character;
    }
    return at;
}

/* A part of a text: bytes [0, checked) are text, the others up to `filled` are
 * not checked yet. */
typedef struct text_part {
    char *room;
    size_t checked, filled;
    bool is_end;
} text_part_t;

/* Whether the bytes that were not accepted may begin a character. */
static bool
may_be_cut(const text_part_t *part)
{
    size_t left = part->filled - part->checked;
    return !part->is_end && left < CHARACTER_BYTES_MAX &&
           (left == 0 || part->room[part->checked] != '\0');
}

static bool
is_utf16(const text_part_t *part)
{
    return part->filled >= 2 && (memcmp(part->room, "\xff\xfe", 2) == 0 ||
                                 memcmp(part->room, "\xfe\xff", 2) == 0);
}

static skn_status_t
part_fill(text_part_t *part, skn_stream_t *stream, skn_text_facts_t *facts,
          skn_error_t *error)
{
    size_t got;
    skn_status_t status =
        skn_stream_read(stream, part->room + part->filled,
                        SKN_TEXT_ROOM_BYTES - part->filled, &got, error);
    if (status != SKN_OK)
        return status;
    part->is_end = got == 0;
    part->filled += got;
    facts->bytes += got;
    part->checked +=
        text_bytes(part->room + part->checked, part->filled - part->checked);
    if (part->checked == part->filled || may_be_cut(part))
        return SKN_OK;
    facts->is_text = false;
    facts->bad_is_nul = part->room[part->checked] == '\0';
    facts->bad_at = facts->bytes - (part->filled - part->checked);
    facts->is_utf16 = facts->bad_at == 0 && is_utf16(part);
    return SKN_OK;
}

static skn_status_t
part_visit(text_part_t *part, skn_text_visit_t *visit, void *visitor,
           skn_error_t *error)
{
    size_t used = part->checked;
    skn_status_t status = visit ? visit(visitor, part->room, part->checked,
                                        part->is_end, &used, error)
                                : SKN_OK;
    if (status != SKN_OK)
        return status;
    assert(used <= part->checked &&
           part->checked - used < (part->is_end ? 1 : SKN_TEXT_LEFT_MAX));
    memmove(part->room, part->room + used, part->filled - used);
    part->checked -= used;
    part->filled -= used;
    return SKN_OK;
}

skn_status_t
skn_text_scan(const char *path, char *room, skn_text_visit_t *visit,
              void *visitor, skn_text_facts_t *facts, skn_error_t *error)
{
    text_part_t part = { .room = room };
    skn_stream_t *stream;
    *facts = (skn_text_facts_t){ .is_text = true };
    skn_status_t status = skn_stream_open(path, &stream, error);
    while (status == SKN_OK && facts->is_text && !part.is_end) {
        status = part_fill(&part, stream, facts, error);
        if (status == SKN_OK)
            status = part_visit(&part, visit, visitor, error);
    }
    if (status == SKN_OK)
        facts->hash = skn_stream_hash(stream);
    skn_stream_close(&stream);
    return status;
}

skn_status_t
skn_text_refuse(const char *path, const skn_text_facts_t *facts,
                skn_error_t *error)
{
    (void)skn_fail(error, SKN_BAD_DATA, "%s: byte %" PRIu64 " %s",
                   skn_stream_name_shown(path), facts->bad_at,
                   facts->bad_is_nul ? "is NUL: this is no text"
                                     : "is not UTF-8");
    if (facts->bad_is_nul)
        return skn_fail_hint(error, SKN_BAD_DATA, "name a text file");
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "convert it, as with iconv -f %s -t utf8",
                         facts->is_utf16 ? "utf-16" : "latin1");
}
