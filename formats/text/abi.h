/* abi.h - checks that a host was compiled with the structs of this library.
 *
 * A struct that a host fills and passes by address begins with its size, so
 * that members can be added at its end: a library then takes the sizes of
 * before, too, and reads the missing members as zeros. Today there is one size
 * of each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMATS_TEXT_ABI_H
#define FORMATS_TEXT_ABI_H

#include "skein/error.h"

/* SKN_USAGE unless a struct of the host, called `what` in the sentence, has the
 * size that it has here. `macro` initialises it. */
skn_status_t skn_abi_check(const char *what, size_t struct_bytes,
                           size_t own_bytes, const char *macro,
                           skn_error_t *error);

/* The same for a struct that may grow: it has at least the first members,
 * `least_bytes`, and at most those of this library. `what` is "the training's
 * options", for example. */
skn_status_t skn_abi_check_grown(const char *what, size_t struct_bytes,
                                 size_t least_bytes, size_t own_bytes,
                                 skn_error_t *error);

#endif
