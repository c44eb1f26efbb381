/* document_write.c - prints a tree of nodes as YAML.
 *
 * Stable: the same tree gives the same text, and that text parses to the same
 * tree.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/folder/folder.h"
#include "formats/text/text.h"
#include "topology/config/document.h"

/* --- scalars ------------------------------------------------------------- */

/* True if a reader may take plain `text` for something other than text: a
 * number, true, false, null, or one of YAML 1.1's yes, no, on, off. */
static bool
looks_typed(const char *text)
{
    static const char *const words[] = { "true", "false", "null",  "~",   "yes",
                                         "no",   "on",    "off",   "y",   "n",
                                         ".inf", "-.inf", "+.inf", ".nan" };
    for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
        if (skn_text_same_word(text, words[k]))
            return true;
    const char *digits = text + (*text == '-' || *text == '+' ? 1 : 0);
    return (*digits >= '0' && *digits <= '9') ||
           (*digits == '.' && digits[1] >= '0' && digits[1] <= '9');
}

/* True if `text` may be without quotes anywhere, also inside [] and {}.
 * Narrower than YAML: doubtful cases are quoted. */
static bool
is_plain(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || strchr("-?:,[]{}#&*!|>'\"%@` ", text[0])) {
        /* A sign before a digit makes a number, which needs no quotes. */
        if (length < 2 || text[0] != '-' ||
            !((text[1] >= '0' && text[1] <= '9') || text[1] == '.'))
            return false;
    }
    if (text[length - 1] == ' ' || text[length - 1] == ':' ||
        strcmp(text, "...") == 0 || strcmp(text, "<<") == 0)
        return false;
    for (size_t k = 0; k < length; k++) {
        unsigned char byte = (unsigned char)text[k];
        if (byte < 0x20 || byte >= 0x7F || strchr(",[]{}\"", byte))
            return false;
        if ((byte == '#' && text[k - 1] == ' ') ||
            (byte == ':' && (text[k + 1] == ' ' || text[k + 1] == ':')))
            return false;
    }
    return true;
}

/* A reader counts open brackets, in quotes too, and stops at many. True if
 * `text` leaves some open, or many are open at once. */
static bool
opens_brackets(const char *text)
{
    uint32_t open = 0, most = 0;
    for (; *text; text++) {
        if (*text == '[' || *text == '{')
            open++;
        else if ((*text == ']' || *text == '}') && open > 0)
            open--;
        if (open > most)
            most = open;
    }
    return open > 0 || most > 8;
}

/* Returns the character at `at` if a reader would refuse it or end the line
 * there, and sets *bytes to its length if that is not 1; else returns 0. */
static uint32_t
unprintable(const char *at, size_t *bytes)
{
    const unsigned char *byte = (const unsigned char *)at;
    if (byte[0] < 0x20 || byte[0] == 0x7F)
        return byte[0];
    if (byte[0] == 0xC2 && byte[1] >= 0x80 && byte[1] < 0xA0) { /* U+0085 */
        *bytes = 2;
        return byte[1];
    }
    uint32_t found = 0;
    if (byte[0] == 0xE2 && byte[1] == 0x80 && (byte[2] | 1) == 0xA9)
        found = 0x2000u | (byte[2] & 0x3Fu); /* U+2028, U+2029 */
    else if (byte[0] == 0xEF && byte[1] == 0xBB && byte[2] == 0xBF)
        found = 0xFEFF; /* a byte order mark */
    else if (byte[0] == 0xEF && byte[1] == 0xBF && byte[2] >= 0xBE)
        found = 0xFFC0u | (byte[2] & 0x3Fu); /* not characters */
    if (found)
        *bytes = 3;
    return found;
}

void
skn_document_write_text(const char *text, bool text_only, FILE *file)
{
    if (is_plain(text) && !(text_only && looks_typed(text))) {
        (void)fputs(text, file);
        return;
    }
    bool must_quote = opens_brackets(text);
    (void)fputc('"', file);
    for (const char *at = text; *at; at++) {
        size_t bytes = 1;
        uint32_t hidden = unprintable(at, &bytes);
        if (must_quote && (*at == '[' || *at == '{'))
            hidden = (unsigned char)*at;
        if (*at == '"' || *at == '\\')
            (void)fprintf(file, "\\%c", *at);
        else if (*at == '\n')
            (void)fputs("\\n", file);
        else if (*at == '\t')
            (void)fputs("\\t", file);
        else if (hidden)
            (void)fprintf(file, hidden < 0x100 ? "\\x%02x" : "\\u%04x", hidden);
        else
            (void)fputc(*at, file);
        at += bytes - 1;
    }
    (void)fputc('"', file);
}

char *
skn_override_of(const char *key, const char *text, skn_error_t *error)
{
    char *override = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&override, &bytes);
    if (file) {
        (void)fprintf(file, "%s=", key);
        skn_document_write_text(text, true, file);
    }
    if (file && fclose(file) == 0)
        return override;
    free(override);
    (void)skn_fail(error, SKN_NO_MEMORY, "no memory for -o %s", key);
    return NULL;
}

static void
write_scalar(const skn_node_t *node, FILE *file)
{
    if (skn_node_is_null(node))
        (void)fputs("null", file);
    else
        skn_document_write_text(node->text, node->quoted, file);
}

/* --- trees --------------------------------------------------------------- */

static bool
holds_only_scalars(const skn_node_t *node)
{
    for (const skn_node_t *item = node->first; item; item = item->next)
        if (item->type != SKN_NODE_SCALAR)
            return false;
    return true;
}

static void
indent(uint32_t levels, FILE *file)
{
    for (uint32_t k = 0; k < levels; k++)
        (void)fputs("  ", file);
}

/* True if the node is written on the line of its key: scalars, empty nodes,
 * lists of scalars. */
static bool
fits_line(const skn_node_t *node)
{
    return node->count == 0 ||
           (node->type == SKN_NODE_LIST && holds_only_scalars(node));
}

static void
write_line(const skn_node_t *node, FILE *file)
{
    if (node->type == SKN_NODE_SCALAR) {
        write_scalar(node, file);
    } else if (node->type == SKN_NODE_MAPPING) {
        (void)fputs("{}", file);
    } else {
        (void)fputc('[', file);
        for (const skn_node_t *item = node->first; item; item = item->next) {
            write_scalar(item, file);
            if (item->next)
                (void)fputs(", ", file);
        }
        (void)fputc(']', file);
    }
    if (node->note)
        (void)fprintf(file, "  # %s", node->note);
    (void)fputc('\n', file);
}

/* Depth is at most SKN_CONFIG_DEPTH_MAX, so recursion is bounded. `started`:
 * the indentation of the first child's line was already written ("- "). */
static void
write_children(const skn_node_t *node, uint32_t level, bool started, FILE *file)
{
    for (const skn_node_t *item = node->first; item; item = item->next) {
        if (!started)
            indent(level, file);
        started = false;
        if (item->key) {
            skn_document_write_text(item->key, false, file);
            (void)fputc(':', file);
        } else {
            (void)fputc('-', file);
        }
        if (fits_line(item)) {
            (void)fputc(' ', file);
            write_line(item, file);
        } else if (item->key) {
            (void)fputc('\n', file);
            write_children(item, level + 1, false, file);
        } else {
            (void)fputc(' ', file);
            write_children(item, level + 1, true, file);
        }
    }
}

skn_status_t
skn_document_write(const skn_node_t *node, FILE *file, const char *what,
                   skn_error_t *error)
{
    if (fits_line(node))
        write_line(node, file);
    else
        write_children(node, 0, false, file);
    return skn_file_finish(file, what, error);
}
