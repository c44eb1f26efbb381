/* host_locale.c - makes every test program a host that has set a locale.
 *
 * Linked into all test programs; does nothing unless SKEIN_TEST_LOCALE is set.
 * Used by tests/e2e/locale.sh. SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void
choose_locale(void)
{
    const char *name = getenv("SKEIN_TEST_LOCALE");
    if (name && !setlocale(LC_ALL, name)) {
        (void)fprintf(stderr, "there is no locale %s\n", name);
        exit(77);
    }
    /* What the system says of its errors may be in the host's language; the
     * tests know the English sentences. */
    if (name)
        (void)setlocale(LC_MESSAGES, "C");
}
