/* keys.h - key pairs of nodes: generated, stored in files, loaded, wiped.
 *
 * A pair is stored in two files of the form that CZMQ's zcert reads: NAME holds
 * the public half and is copied to the other machines; NAME_secret holds both,
 * has mode 0600 and never leaves its node. Keys are Z85 text of 40 letters
 * (ZeroMQ RFC 32), 32 bytes each, for CurveZMQ (RFC 26).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRANSPORT_SOCKET_KEYS_H
#define TRANSPORT_SOCKET_KEYS_H

#include <stdbool.h>

#include "skein/error.h"

/* A key as text, with its NUL. */
#define SKN_KEY_TEXT_BYTES 41
/* Added to the path of the public half. */
#define SKN_KEY_SECRET_SUFFIX "_secret"
/* A key file of zcert has some 500 bytes; metadata may make it longer. */
#define SKN_KEY_FILE_BYTES_MAX 8192u

typedef struct skn_keys skn_keys_t; /* both halves, in locked memory */

/* Whether `text` is a key: 40 letters of Z85, neither all zero bytes nor a
 * number that 32 bytes cannot hold. Other text makes libzmq fail and CZMQ
 * abort, so that only keys go into a socket option. */
bool skn_key_good(const char *text);

/* Whether `name` may name a node, or a layer: a letter, then letters, digits,
 * '_' and '-', SKN_NAME_MAX at most. Names are used in overrides (a.b.c), file
 * names and reports. */
bool skn_name_good(const char *name);

/* Makes a pair and writes `path` (0644) and `path`_secret (0600 from the
 * start), both on disk when it returns. `name` (may be NULL) is stored in them
 * as metadata. No file is ever overwritten: if one exists, the result is
 * SKN_CANNOT_CREATE, and neither is left behind. SKN_USAGE: `name` is not a
 * valid name (skn_name_good). `public_key` is filled. */
skn_status_t skn_keys_make(const char *path, const char *name,
                           char public_key[SKN_KEY_TEXT_BYTES],
                           skn_error_t *error);

/* A pair that is not on disk: for canaries and tests. NULL: SKN_NO_MEMORY. */
skn_keys_t *skn_keys_new(skn_error_t *error);

/* Copies a pair. NULL: SKN_NO_MEMORY. */
skn_keys_t *skn_keys_copy(const skn_keys_t *keys, skn_error_t *error);

/* Loads the pair whose public half is at `path`; from then on the process
 * leaves no core, and other processes of the same user cannot trace it. NULL:
 * SKN_NO_INPUT (no such file), SKN_NO_PERMISSION (the secret half is readable
 * by group or others, or belongs to another user), SKN_BAD_CONFIG (a file is
 * damaged, or the halves do not belong together), SKN_NO_MEMORY. */
skn_keys_t *skn_keys_load(const char *path, skn_error_t *error);

/* Wipes, frees, sets *keys to NULL; *keys may be NULL already. */
void skn_keys_destroy(skn_keys_t **keys);

/* Z85 text, valid as long as `keys` is. The secret is for socket options alone:
 * do not put it into a log, argument or environment. */
const char *skn_keys_public(const skn_keys_t *keys);
const char *skn_keys_secret(const skn_keys_t *keys);

/* Loads only the public half, of a peer: `path` may be a secret file too, whose
 * secret is then not kept. SKN_NO_INPUT, SKN_NO_PERMISSION, SKN_BAD_CONFIG. */
skn_status_t skn_key_load_public(const char *path,
                                 char public_key[SKN_KEY_TEXT_BYTES],
                                 skn_error_t *error);

/* Writes the public key of a peer, received over a connection, to `path`; an
 * existing file is replaced. SKN_BAD_CONFIG: `public_key` is not a key. */
skn_status_t skn_key_save_public(const char *path, const char *name,
                                 const char *public_key, skn_error_t *error);

#endif
