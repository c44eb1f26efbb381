/* kinds.c - makes the table of built-in kinds from their list.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/protocol/kinds.h"

#define BUILTIN_AT(name) &skn_##name,

const skn_kind_t *const skn_kinds[] = { SKN_BUILTIN_KINDS(BUILTIN_AT) NULL };
