/* abi.c - the version of the library, and the sizes of structs that hosts fill.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/abi.h"

#include "skein/version.h"

uint32_t
skn_version(void)
{
    return SKN_VERSION;
}

skn_status_t
skn_abi_check(const char *what, size_t struct_bytes, size_t own_bytes,
              const char *macro, skn_error_t *error)
{
    if (struct_bytes == own_bytes)
        return SKN_OK;
    return skn_fail(error, SKN_USAGE,
                    "%s: struct_bytes is %zu, and must be %zu in Skein %s: "
                    "initialise it with %s, and compile with the headers of "
                    "this library",
                    what, struct_bytes, own_bytes, SKN_VERSION_TEXT, macro);
}

skn_status_t
skn_abi_check_grown(const char *what, size_t struct_bytes, size_t least_bytes,
                    size_t own_bytes, skn_error_t *error)
{
    if (struct_bytes >= least_bytes && struct_bytes <= own_bytes)
        return SKN_OK;
    return skn_fail(error, SKN_USAGE,
                    "struct_bytes of %s is %zu, and must be from %zu to %zu in "
                    "Skein %s: set it to the sizeof of the struct, and compile "
                    "with the headers of this library",
                    what, struct_bytes, least_bytes, own_bytes,
                    SKN_VERSION_TEXT);
}
