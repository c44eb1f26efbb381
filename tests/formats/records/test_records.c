/* test_records.c - tests that rows are read from each format, whole, and that a
 * bad one is named and passed over (records.c, formats/records/records_csv.c,
 * formats/records/records_fasttext.c, formats/records/records_json.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/records/records.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *out;
static char *printed;
static size_t printed_bytes;

static void
print_spans(const skn_span_t *span, size_t count, char mark)
{
    for (size_t k = 0; k < count; k++)
        (void)fprintf(out, "%c%.*s", mark, (int)span[k].bytes, span[k].at);
}

/* All rows of `text` as "line<label<label>text>text", one a line; of a bad one
 * its sentence. The first line is the format or why it was not opened. */
static const char *
rows_of(const char *text, size_t bytes, const skn_records_options_t *options)
{
    skn_error_t error = { 0 };
    const skn_error_t *refusal;
    skn_records_row_t record;
    skn_records_kind_t kind;
    free(printed);
    out = open_memstream(&printed, &printed_bytes);
    cr_assert_not_null(out);
    skn_records_t *records =
        skn_records_open_text(text, bytes, "f", options, &error);
    (void)fprintf(out, "%s\n",
                  records ? skn_records_names[skn_records_format(records)]
                          : error.text);
    if (!records && error.hint[0])
        (void)fprintf(out, "%s\n", error.hint);
    while (records) {
        cr_assert_eq(
            skn_records_next(records, true, &kind, &record, &refusal, &error),
            SKN_OK, "%s", error.text);
        if (kind == SKN_RECORDS_END)
            break;
        if (kind == SKN_RECORDS_BAD) {
            (void)fprintf(out, "%s\n", refusal->text);
            continue;
        }
        (void)fprintf(out, "%d", (int)record.line);
        print_spans(record.label, record.label_count, '<');
        print_spans(record.text, record.text_count, '>');
        (void)fputc('\n', out);
    }
    skn_records_close(&records);
    cr_assert_null(records);
    (void)fclose(out);
    return printed;
}

static void
expect(const char *text, const skn_records_options_t *options, const char *want)
{
    cr_expect_str_eq(rows_of(text, strlen(text), options), want, "%s",
                     rows_of(text, strlen(text), options));
}

static const skn_records_options_t spaced = { .label_separator = " " };
static const skn_records_options_t two = { .text_columns = "title, body",
                                           .label_column = "tag",
                                           .label_separator = ";" };
static const skn_records_options_t asked = { .labels_optional = true };

Test(records, fasttext)
{
    expect("__label__a __label__b  x y  z \n"
           "no label\n"
           "\n"
           "__label__c\n"
           "\t__label__d one __label__e two\n",
           NULL,
           "fasttext\n"
           "1<a<b>x y  z \n"
           "2>no label\n"
           "3\n"
           "4<c\n"
           "5<d<e>one >two\n");
}

Test(records, csv)
{
    expect("labels,text\r\na b,plain\r\n", &spaced, "csv\n2<a<b>plain\n");
    expect("labels,text\na b,plain\n", NULL, "csv\n2<a b>plain\n");
    expect("\xef\xbb\xbf"
           "id;tag;\"title\";body\n"
           "1;x;\"say \"\"so\"\"\";\"two\nlines\"\n"
           "\n"
           "2;\"x; y;\";;\n"
           "3;x\n"
           "4;z;t;b",
           &two,
           "csv\n"
           "2<x>say \"so\">two\nlines\n"
           "5<x<y>>\n"
           "f:6: the row has 2 columns, the first one 4\n"
           "7<z>t>b\n");
    expect("labels\ttext\na\t\"b\tc\"\n", NULL, "csv\n2<a>b\tc\n");
    expect("text\nalone\n", &asked, "csv\n2>alone\n");
}

Test(records, csv_as_few_programs_write_it)
{
    expect("labels, text \na, \"b, c\"\nd,5\" e\nf,\"g\" h\n", NULL,
           "csv\n2<a>b, c\n3<d>5\" e\n4<f>g h\n");
    expect("labels,text\ra,b\rc,\"d\re\"\r", NULL, "csv\n1<a>b\n1<c>d\re\n");
    expect("labels,text\n  \na,b\n \n", NULL, "csv\n3<a>b\n");
    expect("labels,text\na,\"b\nc,d\ne\",f,g\n", NULL,
           "csv\nf:2: the row, which ends in line 4, has 4 columns, the first "
           "one 2\n");
}

Test(records, csv_names_a_column_that_is_missing)
{
    expect("labels,title\n", NULL,
           "f:1: no column is named 'text'\n"
           "set data.text_column; there are labels, title\n");
    expect("text,title\n", NULL,
           "f:1: no column is named 'labels'\n"
           "set data.label_column; there are text, title\n");
    expect("labels, TexT ,xtext\n", NULL,
           "f:1: no column is named 'text'\n"
           "did you mean 'TexT'? set data.text_column; there are labels,  TexT "
           ", xtext\n");
    expect("text,labels,text\n", NULL, "f:1: two columns are named 'text'\n");
}

static const skn_records_options_t table = { .category_columns = "kind,made",
                                             .number_columns = " price" };

Test(records, columns_of_categories_and_numbers)
{
    const char *const csv = "price,made,labels,kind,text\n"
                            "1e3, in x ,a,k,words\n"
                            ",,b,,\n"
                            "12 EUR,m,c,k,t\n"
                            " -.5 ,m,d,k,t\n";
    expect(csv, &table,
           "csv\n"
           "2<a>words>k> in x >1e3\n"
           "3<b>>>>\n"
           "f:4: column 'price' has '12 EUR', which is not a number\n"
           "5<d>t>k>m> -.5 \n");
    expect("price,made,labels,kind\n1,m,a,k\n", &table, "csv\n2<a>>k>m>1\n");
    expect("made,labels,kind,text\n", &table,
           "f:1: no column is named 'price'\n"
           "set data.number_columns; there are made, labels, kind, text\n");
    expect("price,made,labels,text\n", &table,
           "f:1: no column is named 'kind'\n"
           "set data.category_columns; there are price, made, labels, text\n");
    expect("{\"labels\": \"a\", \"price\": 1.5, \"kind\": true}\n"
           "{\"labels\": \"b\", \"price\": \"x\", \"text\": \"t\"}\n"
           "{\"labels\": \"c\", \"kind\": [\"k\"]}\n"
           "{\"labels\": \"d\", \"kind\": 7, \"made\": null}\n",
           &table,
           "json\n"
           "1<a>>true>>1.5\n"
           "f:2: column 'price' has 'x', which is not a number\n"
           "f:3: \"kind\" must be a string or a number, found an array\n"
           "4<d>>7>>\n");
    /* A number is rounded, as in csv; a name is not. */
    expect("{\"labels\": \"a\", \"price\": 18446744073709551616}\n"
           "{\"labels\": \"b\", \"price\": 9007199254740993, "
           "\"id\": 18446744073709551616, \"kind\": 7}\n"
           "{\"labels\": \"c\", \"kind\": 18446744073709551616}\n"
           "{\"labels\": \"d\", \"kind\": {}}\n",
           &table,
           "json\n"
           "1<a>>>>1.8446744073709552e+19\n"
           "2<b>>7>>9007199254740992\n"
           "f:3: \"kind\" must be a string or a number, found a number of too "
           "many digits\n"
           "f:4: \"kind\" must be a string or a number, found an object\n");
    skn_records_options_t question = table;
    question.labels_optional = true;
    question.otherwise = SKN_RECORDS_FASTTEXT;
    expect("made,text\nm,t\n", &question, "csv\n2>t>>m>\n");
    expect("price\n2\n", &question, "csv\n2>>>>2\n");
    expect("{\"kind\": \"k\"}\n{}\n", &question, "json\n1>>k>>\n2>>>>\n");
    expect("some words\n", &question, "fasttext\n1>some words\n");
    question.format = SKN_RECORDS_CSV;
    expect("a,b\n", &question,
           "f:1: no column is named 'text'\n"
           "set data.text_column; there are a, b\n");
    /* A row of fastText has none. */
    expect("__label__a some 12\n", &table, "fasttext\n1<a>some 12\n");
}

Test(records, a_column_is_read_once)
{
    expect("x\n",
           &(skn_records_options_t){ .text_columns = "a,b",
                                     .number_columns = "c, b" },
           "column 'b' is named twice, in data.text_column, "
           "data.category_columns and data.number_columns\n");
    char names[2000] = "";
    for (int k = 0; k < 256; k++)
        (void)snprintf(names + strlen(names), 8, "x%d,", k);
    expect("x\n", &(skn_records_options_t){ .number_columns = names },
           "there are more than 256 columns to be read\n");
}

/* It would be found in every line of text. */
Test(records, a_column_has_a_name)
{
    expect("some words\n",
           &(skn_records_options_t){ .category_columns = " ,shop",
                                     .otherwise = SKN_RECORDS_FASTTEXT },
           "data.category_columns has an empty name\n");
    expect("x\n", &(skn_records_options_t){ .text_columns = "a,,b" },
           "data.text_column has an empty name\n");
    expect("x\n", &(skn_records_options_t){ .number_columns = "a, ," },
           "data.number_columns has an empty name\n");
}

Test(records, csv_whose_quotation_mark_is_not_closed)
{
    expect("labels,text\na,\"b\nc,d\n", NULL,
           "csv\nf:2: the row has a quotation mark that is not closed before "
           "the end of the file\n");
}

/* `bytes` bytes of lines that begin with `start`, for free(). */
static char *
long_text(const char *start, size_t bytes)
{
    char *text = malloc(bytes);
    cr_assert_not_null(text);
    memset(text, 'x', bytes);
    for (size_t k = 0; k < bytes; k += 1 << 20)
        text[k] = '\n';
    memcpy(text, start, strlen(start));
    return text;
}

Test(records, csv_whose_quotation_mark_takes_too_much_is_read_on)
{
    size_t bytes = (33u << 20) + 64;
    char *text = long_text("labels,text\na,\"b", bytes);
    memcpy(text + bytes - 10, "\nc,d\ne,f\n\n", 10);
    const char *got = rows_of(text, bytes, NULL);
    cr_expect(strstr(got, "csv\nf:2: the row has more than 33554432 bytes; is "
                          "a quotation mark not closed?\n") == got);
    cr_expect(strstr(got, "\n37<e>f\n"));
    free(text);
}

Test(records, csv_whose_names_do_not_end_is_not_read_on)
{
    size_t bytes = (33u << 20) + 64;
    char *text = long_text("text,\"labels", bytes);
    cr_expect_str_eq(
        rows_of(text, bytes, NULL),
        "f:1: the row has more than 33554432 bytes; is a quotation "
        "mark not closed?\n");
    free(text);
}

Test(records, json)
{
    expect("{\"text\": \"x \\u00e9\", \"labels\": [\"a b\", 7, null]}\n"
           "{\"text\": [\"x\", 2, null, \"y\"], \"labels\": \"a b\"}\n"
           "{\"text\": null, \"labels\": 1.5}\n",
           &spaced,
           "json\n"
           "1<a b<7>x \xc3\xa9\n"
           "2<a<b>x 2 y\n"
           "3<1.5>\n");
    expect("{\"text\": \"a\"}\n[1]\n{\"text\": {}}\n{\"text\": \"b\"\n{}\n"
           "{\"text\": \"a\", \"text\": \"b\"}\n",
           &asked,
           "json\n"
           "1>a\n"
           "f:2:1: the line is not an object\n"
           "f:3: \"text\" must be a string or an array of strings, found an "
           "object\n"
           "f:4:12: '}' expected near end of file\n"
           "f:5: has no \"text\"\n"
           "f:6:20: duplicate object key near '\"text\"'\n");
    expect("{\"text\": \"a\"}\n", NULL, "json\nf:1: has no \"labels\"\n");
    expect("{\"text\": 18446744073709551616}\n"
           "{\"text\": 7, \"id\": 18446744073709551616}\n",
           &asked,
           "json\n"
           "f:1: \"text\" must be a string or an array of strings, found a "
           "number of too many digits\n"
           "2>7\n");
}

Test(records, what_is_not_recognised_is_refused)
{
    expect("\xff\xfet", NULL, "f:1: the text is UTF-16\nsave it as UTF-8\n");
    expect("", NULL,
           "f: the file is empty\n"
           "a row has labels and a text, or labels and feature:value\n");
    const char *const array =
        "f:1: begins an array of JSON, and each line has to be one object\n"
        "write its elements as lines, for example with jq -c '.[]'\n";
    expect("[\n {\"text\": \"a\"}\n]\n", NULL, array);
    expect(" [ {\"text\": \"a\", \"labels\": []}]\n", NULL, array);
    expect("[{\"text\": \"a\"}]\n",
           &(skn_records_options_t){ .format = SKN_RECORDS_JSON }, array);
    expect("[text],labels\n",
           &(skn_records_options_t){ .text_columns = "[text]" }, "csv\n");
    expect("Nothing of it\n", NULL,
           "f:1: is not recognised as fastText, CSV, TSV, JSON lines or "
           "numbered features\n"
           "name its format with data.format, and the columns of a CSV file in "
           "its first line\n");
}

static skn_records_format_t
format_of(const char *line)
{
    char path[] = "/tmp/skein-records-XXXXXX";
    skn_records_format_t format = SKN_RECORDS_AUTO;
    skn_error_t error = { 0 };
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, line, strlen(line)), (ssize_t)strlen(line));
    (void)close(file);
    skn_status_t status = skn_records_recognise(path, NULL, &format, &error);
    (void)unlink(path);
    cr_expect_eq(status, format == SKN_RECORDS_AUTO ? SKN_BAD_DATA : SKN_OK);
    return format;
}

Test(records, are_told_from_numbered_features)
{
    static const char *const points[] = {
        "3 4 5\n", "1,2 3:4e5", " 7:1", "# a,b\n1 2:3\n", "\n", "-1 2:3",
    };
    for (size_t k = 0; k < sizeof(points) / sizeof(points[0]); k++)
        cr_expect_eq(format_of(points[k]), SKN_RECORDS_POINTS, "%s", points[k]);
    cr_expect_eq(format_of("2020 name,text"), SKN_RECORDS_POINTS);
    cr_expect_eq(format_of("id,text"), SKN_RECORDS_CSV);
    cr_expect_eq(format_of("text"), SKN_RECORDS_CSV);
    cr_expect_eq(format_of("{}"), SKN_RECORDS_JSON);
    cr_expect_eq(format_of("__label__1 2:3"), SKN_RECORDS_FASTTEXT);
    cr_expect_eq(format_of("words"), SKN_RECORDS_AUTO);
}
