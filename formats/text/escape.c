/* escape.c - prints a text for a terminal or for JSON, escaped.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/text/json_write.h"
#include "skein/text.h"

static void
print_line(const char *text, FILE *file)
{
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '\n')
            (void)fputs("\\n", file);
        else if (byte < 0x20 || byte == 0x7F)
            (void)fprintf(file, "\\x%02x", byte);
        else
            (void)fputc(byte, file);
    }
}

static void
print_json(const char *text, FILE *file)
{
    skn_json_text_t string = { 0 };
    skn_json_text_add_string(&string, text);
    (void)fputs(string.failed ? "\"\"" : string.bytes, file);
    skn_json_text_fini(&string);
}

void
skn_text_escape(skn_text_form_t form, const char *text, FILE *file)
{
    static void (*const print[])(const char *text, FILE *file) = {
        [SKN_TEXT_LINE] = print_line,
        [SKN_TEXT_JSON] = print_json,
    };
    if (text && file && (size_t)form < sizeof(print) / sizeof(print[0]))
        print[form](text, file);
}
