/* coding_words.h - names a coding in the sentences of tests and benchmarks.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_CODING_WORDS_H
#define TESTS_SUPPORT_CODING_WORDS_H

#include "transport/message/coding.h"

static inline const char *
coding_word(skn_coding_t coding)
{
    static const char *const words[] = { "f32", "bf16", "int8", "int4" };
    return words[coding];
}

#endif
