/* test_spec_pipes.c - tests the messages on single pipes that are wrong. Covers
 * topology/spec/spec_pipes.c and topology/spec/spec_fields.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/spec_checks.h"

#define READER                                                                 \
    "    - { name: reader, kind: word_reader, options: { path: a } }\n"
#define COUNTERS "    - { name: counter, kind: word_counter, replicate: 4 }\n"
#define PRINTER "    - { name: printer, kind: total_printer }\n"
#define TOTALS "    - { from: counter, to: printer, message: total }\n"
#define GOOD(pipe)                                                             \
    TOPOLOGY(READER COUNTERS PRINTER, TOTALS "    - { " pipe " }\n")

/* The problems of one pipe from the reader to the counters, in line 10. */
#define EXPECT_PIPE(pipe, column, want)                                        \
    expect_problems(GOOD(pipe), "t.yaml:10:" column ": " want)
#define WORDS "from: reader, to: counter, message: word"

Test(spec_pipes, refuses_pipes_that_are_not_complete)
{
    EXPECT_PIPE("message: word", "7",
                "the pipe needs a 'from': an actor, or a list\n"
                "t.yaml:10:7: the pipe needs a 'to': an actor, or a list");
    EXPECT_PIPE("from: reader, to: [], message: word", "27",
                "the pipe needs a 'to': an actor, or a list");
    EXPECT_PIPE("from: reader, to: counter", "7",
                "option 'message' of a pipe is missing; message: the "
                "message that it carries");
    EXPECT_PIPE(WORDS ", patern: any, credit: 0", "51",
                "unknown option 'patern' of a pipe; did you mean 'pattern'?\n"
                "t.yaml:10:72: option 'credit' of a pipe must be in 1..65536, "
                "found '0'");
    EXPECT_PIPE(WORDS ", credit: 65537", "59",
                "option 'credit' of a pipe must be in 1..65536, found "
                "'65537'");
    EXPECT_PIPE(WORDS ", pattern: scater", "60",
                "option 'pattern' of a pipe must be one of one, broadcast, "
                "scatter, any, gather, reduce, found 'scater'; did you mean "
                "'scatter'?");
    expect_problems(TOPOLOGY(READER, "    - x\n"),
                    "t.yaml:7:7: a pipe must be a mapping, found 'x'");
}

Test(spec_pipes, refuses_ends_that_are_no_actors)
{
    EXPECT_PIPE("from: raeder, to: counter, message: word", "15",
                "there is no actor named 'raeder'; did you mean 'reader'?");
    EXPECT_PIPE("from: reader, to: counter.4, message: word", "27",
                "there is no actor named 'counter.4'; did you mean "
                "'counter.0'?");
    EXPECT_PIPE("from: reader, to: [x, {a: b}, counter.1, counter],"
                " message: word",
                "28",
                "there is no actor named 'x'; there are counter, printer, "
                "reader\n"
                "t.yaml:10:31: expected the name of an actor, found a "
                "mapping\n"
                "t.yaml:10:50: 'counter.1' is listed twice here");
}

Test(spec_pipes, refuses_messages_that_nobody_sends_or_handles)
{
    EXPECT_PIPE("from: reader, to: counter, message: wrd", "45",
                "unknown message 'wrd'; did you mean 'word'?");
    EXPECT_PIPE("from: reader, to: counter, message: x", "45",
                "unknown message 'x'; there are word, total, work, done");
    EXPECT_PIPE("from: printer, to: counter, message: word, pattern: any", "15",
                "printer (total_printer) does not send 'word'; it sends "
                "nothing");
    EXPECT_PIPE("from: [reader, counter], to: [printer, reader], message: "
                "word, pattern: any",
                "15",
                "counter.0 (word_counter) does not send 'word'; it sends "
                "total\n"
                "t.yaml:10:38: printer (total_printer) does not handle "
                "'word'; it handles total\n"
                "t.yaml:10:38: reader (word_reader) does not handle 'word'; "
                "it handles nothing");
}

Test(spec_pipes, refuses_patterns_that_do_not_fit)
{
    EXPECT_PIPE(WORDS, "7",
                "pattern one pairs 1 senders with 4 receivers; as "
                "many receivers as senders, or a single one");
    EXPECT_PIPE(WORDS ", pattern: gather, collect: reduce", "77",
                "pattern gather collects by itself, but collect is reduce; "
                "leave 'collect' out");
    EXPECT_PIPE(WORDS ", pattern: any, collect: gather", "74",
                "pattern any gives each part to another receiver, so no set "
                "of parts would be complete");
    EXPECT_PIPE(WORDS ", pattern: any, key: hash, bounds: [0], by: batch", "70",
                "'key' is only for pattern scatter\n"
                "t.yaml:10:84: 'bounds' is only for pattern scatter\n"
                "t.yaml:10:93: 'by' is only for pipes that gather or reduce");
    expect_problems(TOPOLOGY(READER "    - { name: b, kind: relay }\n",
                             "    - { from: reader, to: b, message: word,\n"
                             "        pattern: reduce }\n"),
                    "t.yaml:9:18: b (relay) has no way to combine 'word'; "
                    "gather instead of reduce");
}

Test(spec_pipes, refuses_fields_that_cannot_serve)
{
    EXPECT_PIPE(WORDS ", pattern: scatter", "7",
                "scatter needs a 'key': a field of 'word'");
    EXPECT_PIPE(WORDS ", pattern: scatter, key: hsh", "74",
                "message 'word' has no field 'hsh' for 'key'; did you mean "
                "'hash'?");
    EXPECT_PIPE(WORDS ", pattern: scatter, key: zzz", "74",
                "message 'word' has no field 'zzz' for 'key'; possible "
                "fields: hash, wide, narrow, few, ids, batch");
    EXPECT_PIPE(WORDS ", pattern: scatter, key: text", "74",
                "field 'text' of message 'word' is str; 'key' must be u32, "
                "u64, u32s or u64s");
    EXPECT_PIPE(WORDS ", pattern: gather, by: narrow", "72",
                "field 'narrow' of message 'word' is u32; 'by' must be u64");
    expect_problems(
        TOPOLOGY(READER COUNTERS PRINTER,
                 "    - { from: counter, to: printer, message: total,\n"
                 "        pattern: gather }\n"),
        "t.yaml:9:7: message 'total' has no field 'batch' for 'by'; possible "
        "fields: count");
}

Test(spec_pipes, refuses_bounds_that_are_none)
{
#define SCATTER WORDS ", pattern: scatter, key: "
    EXPECT_PIPE(SCATTER "hash, bounds: 3", "88",
                "'bounds' must be a list, found '3'");
    EXPECT_PIPE(SCATTER "hash, bounds: [0, 1, 2, 3]", "88",
                "4 bounds for 4 receivers, which need 5; where each one's "
                "range starts, and the end of the last");
    EXPECT_PIPE(SCATTER "hash, bounds: [0, 1, 2, 2, 3]", "98",
                "bounds must ascend, but 2 follows 2");
    EXPECT_PIPE(SCATTER "hash, bounds: [0, 1, -2, 2, 3]", "95",
                "a bound must be an integer from 0, found '-2'");
    EXPECT_PIPE(SCATTER "hash, bounds: [0, 1, '2', 3, 4]", "95",
                "a bound must be an integer from 0, found '2'");
    static const char *const keys[] = { "wide", "ids", "few" };
    for (size_t k = 0; k < 3; k++) {
        char text[1024], want[256];
        (void)snprintf(text, sizeof(text), "%s",
                       GOOD(WORDS ", pattern: scatter, key: wide"));
        char *end = strstr(text, "wide }");
        (void)snprintf(end, 16, "%s }\n", keys[k]);
        (void)snprintf(want, sizeof(want),
                       "t.yaml:10:7: scatter by '%s' needs 'bounds'; 5 "
                       "ascending numbers: where each receiver's range "
                       "starts, and the end",
                       keys[k]);
        expect_problems(text, want);
    }
}
