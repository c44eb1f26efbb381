/* version.h - the version of Skein: of these headers, and of the library that
 * was loaded.
 *
 * A program that was built with these headers runs with every library of the
 * same SONAME that is not older (skn_version() >= SKN_VERSION). The version of
 * the package, of the libraries and of the command is the one below.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_VERSION_H
#define SKEIN_VERSION_H

#include <stdint.h>

#include "skein/text.h"

#define SKN_VERSION_MAJOR 0
#define SKN_VERSION_MINOR 1
#define SKN_VERSION_PATCH 0

/* As a number, for #if: 10,000 for each major version, 100 for each minor. */
#define SKN_VERSION                                                            \
    (10000 * SKN_VERSION_MAJOR + 100 * SKN_VERSION_MINOR + SKN_VERSION_PATCH)

/* As text: "0.1.0". */
#define SKN_VERSION_TEXT                                                       \
    SKN_VERSION_JOIN(SKN_VERSION_MAJOR, SKN_VERSION_MINOR, SKN_VERSION_PATCH)
#define SKN_VERSION_JOIN(major, minor, patch)                                  \
    SKN_VERSION_JOIN_RAW(major, minor, patch)
#define SKN_VERSION_JOIN_RAW(major, minor, patch) #major "." #minor "." #patch

#ifdef __cplusplus
extern "C" {
#endif

/* SKN_VERSION of the library that the process has loaded. Any thread. */
SKN_API uint32_t skn_version(void);

#ifdef __cplusplus
}
#endif

#endif
