/* keygen.c - makes the key pair of a node for a host.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "skein/member.h"
#include "transport/socket/keys.h"

static_assert(SKN_PUBLIC_KEY_BYTES == SKN_KEY_TEXT_BYTES, "one size of keys");
static_assert(sizeof(SKN_SECRET_KEY_SUFFIX) == sizeof(SKN_KEY_SECRET_SUFFIX),
              "one name of secret halves");

skn_status_t
skn_keygen(const char *path, const char *name,
           char public_key[SKN_PUBLIC_KEY_BYTES], skn_error_t *error)
{
    if (!path || !path[0] || !public_key)
        return skn_fail(error, SKN_USAGE,
                        "skn_keygen: the path or the public key is NULL");
    return skn_keys_make(path, name, public_key, error);
}
