/* doctor_libraries.h - the versions of the libraries that this program uses.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_DOCTOR_DOCTOR_LIBRARIES_H
#define CLI_DOCTOR_DOCTOR_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_library {
    const char *name;
    char version[48];  /* of the loaded library */
    char compiled[48]; /* of the headers it was compiled with */
} cli_library_t;

#define CLI_LIBRARIES_MAX 13

/* Fills `libraries` (room for CLI_LIBRARIES_MAX); returns their number. */
size_t cli_libraries(cli_library_t *libraries);
/* Whether libzmq can encrypt. */
bool cli_has_curve(void);
/* "gcc 12.2.0", "clang 14.0.6". */
const char *cli_compiler(void);
/* The kernels in use, NULL if SKEIN_ISA names ones that cannot run; the best
 * ones that this processor can run; all that this build has. */
const char *cli_kernels_used(void);
const char *cli_kernels_best(void);
const char *cli_kernels_built(void);

#endif
