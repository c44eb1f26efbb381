/* tunnel_words.h - the preface of a tunnel, and the messages that set one up.
 *
 * The first bytes of a connection to a hub name one of three protocols:
 *
 *     ff ...                               ZMTP: a link, as without tunnels
 *     "skntun/1" control 0 0 0 ... 0       followed by ZMTP, to the hub
 *     "skntun/1" tunnel  0 0 0  token      followed by the bytes of the other
 *        8 bytes  4 bytes       32 bytes   end of the tunnel
 *
 * The hub's control connection (CURVE, keys of nodes only) carries messages of
 * 48 bytes:
 *
 *     1  here    0     0        0          the sender is present
 *     1  want    node  number   0          requests a tunnel to `node`
 *     1  open    node  number   token      connect to the hub with `token`;
 *                                          number 0: `node` requested it,
 *                                          otherwise this node did
 *     1  none    node  number   0          `node` is not available
 *     u16 u16    u32   u64      32 bytes   little-endian
 *
 * Pure; any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_TUNNEL_TUNNEL_WORDS_H
#define TRANSPORT_TUNNEL_TUNNEL_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "skein/error.h"

#define SKN_TUNNEL_TOKEN_BYTES 32u
#define SKN_PREFACE_BYTES 44u
#define SKN_TUNNEL_WORD_BYTES 48u

/* The protocol that the first bytes of a connection name. */
typedef enum skn_preface_kind {
    SKN_PREFACE_MORE, /* too few bytes to decide; valid so far */
    SKN_PREFACE_ZMTP,
    SKN_PREFACE_CONTROL,
    SKN_PREFACE_TUNNEL,
    SKN_PREFACE_NONE /* none that a node sends */
} skn_preface_kind_t;

/* Examines the first bytes, of which the first SKN_PREFACE_BYTES count. `token`
 * (SKN_TUNNEL_TOKEN_BYTES) is filled for SKN_PREFACE_TUNNEL. */
skn_preface_kind_t skn_preface_read(const uint8_t *bytes, size_t count,
                                    uint8_t *token);
/* SKN_PREFACE_CONTROL (`token` NULL) or _TUNNEL, as SKN_PREFACE_BYTES. */
void skn_preface_write(skn_preface_kind_t kind, const uint8_t *token,
                       uint8_t *bytes);

typedef enum skn_tunnel_kind {
    SKN_TUNNEL_HERE = 1,
    SKN_TUNNEL_WANT = 2,
    SKN_TUNNEL_OPEN = 3,
    SKN_TUNNEL_NONE = 4
} skn_tunnel_kind_t;

typedef struct skn_tunnel_word {
    skn_tunnel_kind_t kind;
    uint32_t node;   /* 0 in HERE */
    uint64_t number; /* 0 in HERE, not 0 in WANT and NONE */
    uint8_t token[SKN_TUNNEL_TOKEN_BYTES]; /* 0 except in OPEN */
} skn_tunnel_word_t;

/* Writes SKN_TUNNEL_WORD_BYTES. */
void skn_tunnel_word_write(const skn_tunnel_word_t *word, uint8_t *bytes);
/* Strict: SKN_BAD_MESSAGE for another length, version or kind, and for fields
 * that the kind does not have. */
skn_status_t skn_tunnel_word_read(const uint8_t *bytes, size_t count,
                                  skn_tunnel_word_t *word, skn_error_t *error);

#endif
