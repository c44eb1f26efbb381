/* builtin.c - finds the table of libskein, if the program has it.
 *
 * The reference is weak, in this file alone: the linker does not look for the
 * table on its account, and the address is NULL where nothing defines it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "actors/kinds/builtin.h"

#pragma weak skn_builtin

const skn_builtin_t *
skn_builtin_find(void)
{
    return &skn_builtin;
}
