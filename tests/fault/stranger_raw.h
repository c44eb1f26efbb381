/* stranger_raw.h - the bytes that attackers send over bare TCP: a table of
 * attacks, each a function that gives the next bytes of its k-th connection.
 *
 * Owns nothing. No socket and no clock, and the same bytes for the same seed.
 * The greeting is that of ZMTP 3.1 (rfc.zeromq.org/spec/37), a CURVE hello that
 * of ZMTP's CURVE mechanism (spec/26), with random bytes in place of keys.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAULT_STRANGER_RAW_H
#define TESTS_FAULT_STRANGER_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GREETING_BYTES 64u
#define SCRIPT_BYTES_MAX 320u
#define CURVE_HELLO_BYTES 200u
#define ENDLESS_BYTES_MAX ((uint64_t)64 << 20)
#define HUGE_BYTES_MAX 65536u
#define NOISE_BYTES_MAX 4096u

/* Steele, Lea and Flood 2014, SplitMix: any noise will do. */
static inline uint64_t
raw_draw(uint64_t seed, uint64_t index)
{
    uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline void
raw_noise(uint64_t seed, uint64_t first, unsigned char *bytes, size_t count)
{
    for (size_t k = 0; k < count; k++)
        bytes[k] = (unsigned char)raw_draw(seed, first + k);
}

/* A whole opening of a connection: greeting, then what its mechanism says
 * first. `which` 0: NULL, 1: PLAIN, 2: CURVE. Gives its length. */
static inline size_t
raw_script(unsigned which, uint64_t seed,
           unsigned char script[static SCRIPT_BYTES_MAX])
{
    static const char *const mechanism[] = { "NULL", "PLAIN", "CURVE" };
    static const char ready[] = "\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06"
                                "DEALER";
    static const char plain[] = "\x04\x0c\x05HELLO\x02me\x02me";
    unsigned char *end = script + GREETING_BYTES;
    memset(script, 0, SCRIPT_BYTES_MAX);
    script[0] = 0xff;
    script[9] = 0x7f;
    script[10] = 3;
    script[11] = 1;
    (void)memcpy(script + 12, mechanism[which], strlen(mechanism[which]));
    if (which == 0) {
        (void)memcpy(end, ready, sizeof(ready) - 1);
        end += sizeof(ready) - 1;
    } else if (which == 1) {
        (void)memcpy(end, plain, sizeof(plain) - 1);
        end += sizeof(plain) - 1;
    } else {
        (void)memcpy(end, "\x04\xc8\x05HELLO\x01\x00", 10);
        raw_noise(seed, 0, end + 82, CURVE_HELLO_BYTES + 2 - 82);
        end += CURVE_HELLO_BYTES + 2;
    }
    return (size_t)(end - script);
}

/* Bytes [sent, sent + count) of `script`; 0 behind its end. */
static inline size_t
raw_part(const unsigned char *script, size_t length, uint64_t sent,
         unsigned char *bytes, size_t room)
{
    size_t count = sent < length ? length - (size_t)sent : 0;
    count = count < room ? count : room;
    (void)memcpy(bytes, script + (count ? sent : 0), count);
    return count;
}

/* The next bytes of the connection with this number, of which `sent` are
 * gone already: how many were written to `bytes`; 0: it has said all. */
typedef size_t raw_next_t(uint64_t seed, uint64_t number, uint64_t sent,
                          unsigned char *bytes, size_t room);

static inline size_t
raw_random(uint64_t seed, uint64_t number, uint64_t sent, unsigned char *bytes,
           size_t room)
{
    uint64_t own = raw_draw(seed, number);
    uint64_t length = 1 + own % NOISE_BYTES_MAX;
    size_t count = sent < length ? (size_t)(length - sent) : 0;
    count = count < room ? count : room;
    raw_noise(own, sent, bytes, count);
    return count;
}

/* An opening that ends after its (number modulo length)-th byte. */
static inline size_t
raw_greeting(uint64_t seed, uint64_t number, uint64_t sent,
             unsigned char *bytes, size_t room)
{
    unsigned char script[SCRIPT_BYTES_MAX];
    size_t length = raw_script((unsigned)(number % 3), seed, script);
    return raw_part(script, 1 + number / 3 % length, sent, bytes, room);
}

/* A whole opening with one bit of it flipped. */
static inline size_t
raw_flipped(uint64_t seed, uint64_t number, uint64_t sent, unsigned char *bytes,
            size_t room)
{
    unsigned char script[SCRIPT_BYTES_MAX];
    size_t length = raw_script((unsigned)(number % 3), seed, script);
    uint64_t bit = number / 3 % (8 * length);
    script[bit / 8] ^= (unsigned char)(1u << bit % 8);
    return raw_part(script, length, sent, bytes, room);
}

/* A message of frames of 8 bytes that each promise another frame. */
static inline size_t
raw_endless(uint64_t seed, uint64_t number, uint64_t sent, unsigned char *bytes,
            size_t room)
{
    unsigned char script[SCRIPT_BYTES_MAX];
    size_t length = raw_script(0, seed, script);
    (void)number;
    if (sent < length)
        return raw_part(script, length, sent, bytes, room);
    if (sent >= ENDLESS_BYTES_MAX)
        return 0;
    for (size_t k = 0; k < room; k++) {
        uint64_t place = (sent - length + k) % 10;
        bytes[k] = (unsigned char)(place == 0 ? 1 : place == 1 ? 8 : 0);
    }
    return room;
}

/* A frame of 2^62 bytes, of which 64 KiB come. */
static inline size_t
raw_huge(uint64_t seed, uint64_t number, uint64_t sent, unsigned char *bytes,
         size_t room)
{
    unsigned char script[SCRIPT_BYTES_MAX];
    size_t length = raw_script(0, seed, script);
    (void)number;
    script[length] = 2;
    script[length + 1] = 0x40;
    length += 9;
    if (sent < length)
        return raw_part(script, length, sent, bytes, room);
    if (sent >= HUGE_BYTES_MAX)
        return 0;
    memset(bytes, 0, room);
    return room;
}

/* An opening, byte by byte, and its mechanism's first word over and over. */
static inline size_t
raw_drip(uint64_t seed, uint64_t number, uint64_t sent, unsigned char *bytes,
         size_t room)
{
    unsigned char script[SCRIPT_BYTES_MAX];
    size_t length = raw_script((unsigned)(number % 3), seed, script);
    if (room == 0)
        return 0;
    if (sent >= length)
        sent = GREETING_BYTES + (sent - length) % (length - GREETING_BYTES);
    bytes[0] = script[sent];
    return 1;
}

static inline size_t
raw_silent(uint64_t seed, uint64_t number, uint64_t sent, unsigned char *bytes,
           size_t room)
{
    (void)seed, (void)number, (void)sent, (void)bytes, (void)room;
    return 0;
}

typedef struct raw_attack {
    const char *name;
    raw_next_t *next;
    bool held; /* its sockets stay till the time is over, or they are closed */
    bool slow; /* a byte at a time, with pauses */
    const char *help;
} raw_attack_t;

static const raw_attack_t raw_attacks[] = {
    { "random", raw_random, false, false, "1 to 4,096 random bytes" },
    { "greeting", raw_greeting, false, false,
      "an opening of ZMTP, cut after each of its bytes" },
    { "flipped", raw_flipped, false, false,
      "an opening of ZMTP with each of its bits flipped" },
    { "huge", raw_huge, false, false, "a frame of 2^62 bytes begins" },
    { "endless", raw_endless, true, false, "a message that never ends" },
    { "drip", raw_drip, true, true, "an opening, a byte now and then" },
    { "silent", raw_silent, true, false, "a connection that says nothing" },
};
#define RAW_ATTACK_COUNT (sizeof(raw_attacks) / sizeof(raw_attacks[0]))

#endif
