/* xmc_number.c - parses decimal numbers fast, independent of the locale.
 *
 * Several times faster than strtof. This file owns: a table of powers of ten.
 * It is pure. Up to 19 digits are collected in an integer, which is scaled in
 * double: two roundings of 2^-53, then one to float, so at most 1 ulp from the
 * exact value. Idea: Clinger 1990, "How to read floating point numbers
 * accurately", the fast path.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/dataset/xmc.h"

#include <math.h>

/* 10^0 to 10^22 are exact in a double: 5^22 has 52 bits. */
#define EXACT_POWER_MAX 22
static const double power_of_ten[EXACT_POWER_MAX + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};
/* 10^19 - 1 is the greatest run of nines in 64 bits. */
#define DIGITS_MAX 19
/* Exponents stop growing here: a line has fewer digits than that. */
#define EXPONENT_MAX 1000000000
/* Halfway between the greatest float and 2^128: from here on it rounds up. */
#define FLOAT_OVERFLOW 0x1.ffffffp127

static inline bool
is_digit(char letter)
{
    return (unsigned char)(letter - '0') < 10;
}

/* mantissa * 10^exponent, for an exponent outside +-22. */
static double
scale_far(uint64_t mantissa, int64_t exponent)
{
    /* A mantissa has at most 20 digits; floats are between 1e-46 and 1e39. */
    if (mantissa == 0 || exponent < -70)
        return 0.0;
    if (exponent > 40)
        return HUGE_VAL;
    double scaled = (double)mantissa;
    for (; exponent > EXACT_POWER_MAX; exponent -= EXACT_POWER_MAX)
        scaled *= power_of_ten[EXACT_POWER_MAX];
    for (; exponent < -EXACT_POWER_MAX; exponent += EXACT_POWER_MAX)
        scaled /= power_of_ten[EXACT_POWER_MAX];
    return exponent < 0 ? scaled / power_of_ten[-exponent]
                        : scaled * power_of_ten[exponent];
}

/* Reads [eE][+-]digits at `at`; returns `at` if there is no whole exponent. */
static const char *
exponent_read(const char *at, const char *end, int64_t *exponent)
{
    const char *next = at + 1;
    bool negative = next < end && *next == '-';
    if (next < end && (*next == '-' || *next == '+'))
        next++;
    if (next == end || !is_digit(*next))
        return at;
    int64_t read = 0;
    for (; next < end && is_digit(*next); next++)
        if (read < EXPONENT_MAX)
            read = read * 10 + (*next - '0');
    *exponent += negative ? -read : read;
    return next;
}

/* Reads a run of digits into *mantissa; digits beyond its range are dropped
 * (1e-19 relative) and counted in *dropped. */
static inline const char *
digits_read(const char *at, const char *end, uint64_t *mantissa, int *kept,
            int64_t *dropped)
{
    for (; at < end && is_digit(*at); at++) {
        if (*kept == DIGITS_MAX) {
            ++*dropped;
            continue;
        }
        *mantissa = *mantissa * 10 + (uint64_t)(*at - '0');
        *kept += *mantissa != 0;
    }
    return at;
}

size_t
skn_xmc_number_parse(const char *text, size_t bytes, float *value)
{
    const char *at = text, *end = text + bytes;
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    uint64_t mantissa = 0;
    int kept = 0;
    int64_t exponent = 0, unused = 0;
    const char *whole = at;
    at = digits_read(at, end, &mantissa, &kept, &exponent);
    size_t digit_count = (size_t)(at - whole);
    if (at < end && *at == '.') {
        const char *fraction = ++at;
        at = digits_read(at, end, &mantissa, &kept, &unused);
        exponent -= (at - fraction) - unused;
        digit_count += (size_t)(at - fraction);
    }
    if (digit_count == 0)
        return 0;
    if (at < end && (*at == 'e' || *at == 'E'))
        at = exponent_read(at, end, &exponent);
    double scaled;
    if (exponent <= 0 && exponent >= -EXACT_POWER_MAX)
        scaled = (double)mantissa / power_of_ten[-exponent];
    else
        scaled = scale_far(mantissa, exponent);
    float magnitude = scaled >= FLOAT_OVERFLOW ? HUGE_VALF : (float)scaled;
    *value = negative ? -magnitude : magnitude;
    return (size_t)(at - text);
}
