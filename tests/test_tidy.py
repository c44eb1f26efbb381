#!/usr/bin/env python3
"""test_tidy.py - .ci/tidy sees a planted violation of each of its rules.

Every test writes a small source tree, clean but for one thing.
SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import tempfile
import unittest
import unittest.mock

import checks

HERE = os.path.dirname(os.path.abspath(__file__))
LOADER = importlib.machinery.SourceFileLoader(
    "tidy", os.path.join(HERE, "..", ".ci", "tidy"))
TIDY = importlib.util.module_from_spec(
    importlib.util.spec_from_loader("tidy", LOADER))
LOADER.exec_module(TIDY)
SOURCE = "formats/text/answer.c"
TEST = "tests/formats/text/test_answer.c"
BODY = """#include <stdint.h>

int
skn_answer(void)
{
    return 42;
}
"""


def head(name):
    return (f"/* {os.path.basename(name)} - a planted file.\n *\n"
            " * SPDX-License-Identifier: Apache-2.0 */\n")


def header(name, guard):
    return head(name) + f"#ifndef {guard}\n#define {guard}\n\n#endif\n"


class Tidy(unittest.TestCase):
    """A source tree, what tidy says of it, and what it should say."""

    def run_tidy(self, files):
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                code = TIDY.main(["tidy", root])
        return code, output.getvalue()

    def source(self, name, body, extra=None):
        """A tree of one source with its test."""
        stem = os.path.basename(name)[:-2]
        test = f"tests/{os.path.dirname(name)}/test_{stem}.c"
        files = {name: head(name) + body}
        if not name.startswith("tests/"):
            files[test] = head(test) + BODY
        files.update(extra or {})
        return self.run_tidy(files)

    def clean(self, result):
        self.assertEqual(result[0], 0, result[1])

    def caught(self, result, place, words):
        self.assertEqual(result[0], 1, result[1])
        for line in result[1].splitlines():
            if line.startswith(place) and words in line:
                return
        self.fail(f"no line {place}... {words} in:\n{result[1]}")

    def calls(self, name, statement):
        return self.source(name, "int\nskn_answer(void)\n{\n    "
                           + statement + ";\n    return 0;\n}\n")

    # --- any text ---

    def test_a_clean_tree_passes(self):
        self.clean(self.source(SOURCE, BODY))

    def test_80_columns_pass_and_81_do_not(self):
        line = "/* " + "x" * 74 + " */"
        self.assertEqual(len(line), 80)
        self.clean(self.source(SOURCE, line + "\n" + BODY))
        self.caught(self.source(SOURCE, "/*  " + line[3:] + "\n"),
                    SOURCE + ":4:", "81 columns")

    def test_columns_are_counted_in_letters_not_bytes(self):
        self.clean(self.source(SOURCE,
                               "/* " + "é" * 74 + " */\n" + BODY))

    def test_trailing_blanks_are_caught(self):
        self.caught(self.source(SOURCE, "int skn_x; \n"),
                    SOURCE + ":4:", "blanks")

    def test_tabs_are_caught(self):
        self.caught(self.source(SOURCE, "\tint skn_x;\n"),
                    SOURCE + ":4:", "tab")

    def test_a_missing_newline_at_the_end_is_caught(self):
        self.caught(self.source(SOURCE, "int skn_x;"),
                    SOURCE + ":4:", "newline")

    def test_left_overs_are_caught(self):
        for word in ("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"):
            self.caught(self.source(SOURCE,
                                    f"/* {word}: later */\n"),
                        SOURCE + ":4:", "left over")

    def test_scripts_need_an_spdx_line(self):
        self.caught(self.run_tidy({"tests/x.sh": "#!/bin/sh\n"}),
                    "tests/x.sh:1:", "SPDX")

    # --- references ---

    def test_paths_in_comments_are_in_the_tree(self):
        for line in ("/* see {} */\n", "// see {}.\n",
                     "/* a sentence\n * about {}, and more */\n"):
            self.clean(self.source(SOURCE, BODY + line.format(TEST)))
            for path in ("actors/lost.c", "docs/lost.md", "tests/e2e/lost.sh",
                         "bench/lost.py", "include/skein/lost.h"):
                place = SOURCE + (":12:" if "\n *" in line else ":11:")
                self.caught(self.source(SOURCE, BODY + line.format(path)),
                            place, path + " is not in the tree")

    def test_paths_of_all_folders_are_looked_for(self):
        for folder in ("actors", "transport", "topology", "formats", "cli",
                       "kernels", "include", "docs", "tests", "bench",
                       "configs"):
            path = folder + "/deep/lost.h"
            self.caught(self.run_tidy({"README.md": f"See `{path}`.\n"}),
                        "README.md:1:", path)

    def test_paths_in_code_are_none(self):
        self.clean(self.source(
            SOURCE, 'const char *skn_x = "docs/lost.md";\n' + BODY))

    def test_paths_in_scripts_are_in_the_tree(self):
        spdx = "# SPDX-License-Identifier: Apache-2.0\n"
        for name in ("tests/x.sh", "bench/x.py", ".ci/x", "Makefile"):
            self.clean(self.run_tidy({name: spdx + f"cat {name}\n"}))
            self.caught(self.run_tidy({name: spdx + "cat tests/lost.sh\n"}),
                        name + ":2:", "tests/lost.sh is not in the tree")

    def test_a_star_stands_for_anything_that_is_there(self):
        self.clean(self.source(SOURCE, "/* formats/text/a*.c */\n" + BODY))
        self.caught(self.source(SOURCE, "/* formats/text/b*.c */\n" + BODY),
                    SOURCE + ":4:", "formats/text/b*.c is not in the tree")

    def test_pairs_of_a_page_are_in_the_tree(self):
        page = "# x\n\n`{}.[ch]` does it.\n"
        stem = os.path.basename(SOURCE)[:-2]
        room = os.path.dirname(SOURCE) + "/README.md"
        self.clean(self.source(SOURCE, BODY, {room: page.format(stem)}))
        self.caught(self.source(SOURCE, BODY, {room: page.format("lost")}),
                    room + ":3:", "lost.c is not in the tree")
        self.caught(self.source(SOURCE, BODY, {room: "# x\n\n`lost.h`\n"}),
                    room + ":3:", "lost.h is not in the tree")

    def test_names_that_stand_for_others_pass(self):
        self.clean(self.source(
            SOURCE, "/* tests/ROOM/test_NAME.c, docs/decisions/NNNN-x.md */\n"
            + BODY))

    def test_other_paths_pass(self):
        self.clean(self.source(
            SOURCE, "/* build/docs/x.md, lib/x.c, docs/, an actors/x.cc,\n"
            " * https://example.org/docs/x.md */\n" + BODY))

    def test_links_of_a_page_are_from_its_folder(self):
        page = "docs/deep/page.md"
        good = {page: "[a](other.md#part) [b](../../README.md) [c](..)\n"
                "[d](#here) [e](https://example.org/docs/lost.md)\n"
                "[f](other.md \"a title\")\n",
                "docs/deep/other.md": "[back](page.md)\n",
                "README.md": "[a page](docs/deep/page.md) [all](docs)\n"}
        self.clean(self.run_tidy(good))
        for target, place in (("lost.md", "docs/deep/lost.md"),
                              ("docs/deep/other.md",
                               "docs/deep/docs/deep/other.md"),
                              ("../other.md#part", "docs/other.md"),
                              ("../../src", "src")):
            self.caught(self.run_tidy({**good, page: f"\n[a]({target})\n"}),
                        page + ":2:", f"a link to {place}, which")

    def test_what_does_not_ship_is_no_reference(self):
        word = "DES" "IGN"
        spdx = "# SPDX-License-Identifier: Apache-2.0\n"
        for text in (word + " section 5", word + "'s section 5",
                     word + ", section 5", word + "\n * section 5", word):
            self.caught(self.source(SOURCE, f"/* {text} */\n" + BODY),
                        SOURCE + ":4:", "a plan that is not in the tree")
            self.caught(self.run_tidy({"docs/x.md": text + "\n"}),
                        "docs/x.md:1:", "a plan that is not in the tree")
            self.caught(self.run_tidy({"bench/x.sh": spdx + f"# {text}\n"}),
                        "bench/x.sh:2:", "a plan that is not in the tree")
        self.clean(self.run_tidy({"docs/x.md": "design section 5, RE"
                                  + word + "ED\n"}))

    # --- the shape of a source ---

    def test_a_missing_head_is_caught(self):
        self.caught(self.run_tidy({"tests/test_x.c": BODY}),
                    "tests/test_x.c:1:", "the first line is not")

    def test_a_missing_spdx_line_is_caught(self):
        self.caught(self.run_tidy({"tests/test_x.c": "/* test_x.c - x. */\n"}),
                    "tests/test_x.c:1:", "SPDX")

    def test_functions_of_60_lines_pass_and_61_do_not(self):
        def function(count):
            return ("int\nskn_x(void)\n{\n" + "    ;\n" * (count - 1)
                    + "}\n")
        self.clean(self.source(SOURCE, function(60)))
        self.caught(self.source(SOURCE, function(61)),
                    SOURCE + ":6:", "a function of 61 lines")

    def test_files_of_800_lines_pass_with_a_warning(self):
        code, output = self.source(SOURCE, "int skn_x;\n" * 797)
        self.assertEqual(code, 0, output)
        self.assertIn("warning: formats/text/answer.c:1: 800 lines", output)

    def test_files_of_801_lines_are_caught(self):
        self.caught(self.source(SOURCE, "int skn_x;\n" * 798),
                    SOURCE + ":1:", "801 lines")

    def test_include_guards_stand_for_the_path(self):
        good = {"include/skein/x.h": header("x.h", "SKEIN_X_H"),
                "actors/output/y.h": header("y.h", "ACTORS_OUTPUT_Y_H")}
        self.clean(self.run_tidy(good))
        self.caught(self.run_tidy({"actors/output/y.h": header("y.h", "Y_H")}),
                    "actors/output/y.h:1:",
                    "ACTORS_OUTPUT_Y_H")

    def test_a_source_without_a_test_is_caught(self):
        name = SOURCE
        self.caught(self.run_tidy({name: head(name) + BODY}),
                    SOURCE + ":1:", "no " + TEST)

    def test_a_contract_test_may_name_the_source(self):
        name, test = SOURCE, "tests/contract_answers.c"
        self.clean(self.run_tidy({
            name: head(name) + BODY,
            test: head(test) + "/* Covers formats/text/answer.c. */\n"}))

    def test_a_test_may_include_the_header_of_the_source(self):
        name, test = SOURCE, "tests/formats/text/test_questions.c"
        self.clean(self.run_tidy({
            name: head(name) + BODY,
            test: head(test) + '#include "formats/text/answer.h"\n'}))

    def test_a_test_that_nothing_runs_is_caught(self):
        test, script = TEST, "tests/e2e/answer.sh"
        files = {test: head(test) + BODY, script: "#!/bin/sh\n",
                 "CMakeLists.txt": "skn_tests(answers all)\n"}
        output = self.run_tidy(files)
        self.caught(output, test + ":1:", "no skn_tests")
        self.caught(output, script + ":1:", "neither tests/")
        files["CMakeLists.txt"] = ("skn_tests(answer all)\n"
                                   f"skn_script(answer {script})\n")
        self.assertNotIn("runs it", self.run_tidy(files)[1])

    # --- calls ---

    def test_banned_calls_are_caught_with_what_to_use(self):
        for call, better in (("strcpy(a, b)", "snprintf"),
                             ("sprintf(a, b)", "snprintf"),
                             ("strcat(a, b)", "snprintf"),
                             ("atoi(a)", "strtol"),
                             ("atof(a)", "skn_text_real"),
                             ("gets(a)", "fgets"), ("alloca(4)", "bounded"),
                             ("abort()", "a status"), ("exit(1)", "status"),
                             ("sleep(1)", "waiting"),
                             ("usleep (1)", "waiting")):
            self.caught(self.calls(SOURCE, call),
                        SOURCE + ":7:", better)

    def test_banned_words_in_comments_and_text_are_fine(self):
        self.clean(self.source(SOURCE, "/* not strcpy() */\n"
                               "const char *skn_x = \"exit(\\\"1\\\")\";\n"))

    def test_names_that_only_contain_a_banned_word_are_fine(self):
        self.clean(self.calls(SOURCE,
                              "at_exit(); x.exit(); skn_abort(1)"))

    def test_numbers_with_a_point_ask_no_locale(self):
        for call in ('snprintf(a, 9, "%s %.3f", b, c)',
                     'fprintf(file, "x" /* y */\n "%-8g%%", a)',
                     'printf("%*.*Le", a, b, c)', 'sscanf(a, "%lf", &b)',
                     'const char *f = "%.17g"'):
            self.caught(self.calls("cli/verb.c", call), "cli/verb.c:",
                        "skn_text_")
            self.clean(self.calls("tests/test_x.c", call))
        for call in ('skn_text_write(a, 9, "%.3f", b)',
                     'skn_fail(error, 1, "%g of %g", share(a, (b)), c)',
                     'printf("%d%% free, %s", a, "100% gone")',
                     'printf("%s", text(b, "%.1f", c))'):
            self.clean(self.calls("cli/verb.c", call))

    def test_readers_and_letters_of_the_locale_are_caught(self):
        for call, better in (("strtod(a, 0)", "skn_text_real"),
                             ("strtof(a, 0)", "skn_text_real"),
                             ("vsnprintf(a, 1, b, c)", "skn_text_write_list"),
                             ("vfprintf(a, b, c)", "skn_text_print_list"),
                             ("isalpha(a)", "formats/text/text.h"),
                             ("strcasecmp(a, b)", "formats/text/text.h"),
                             ("setlocale(0, a)", "skn_text_enter")):
            self.caught(self.calls("topology/run/x.c", call),
                        "topology/run/x.c:7:", better)
            self.clean(self.calls("tests/test_x.c", call))
        self.clean(self.calls("formats/text/text.c", "strtod(a, 0)"))

    def test_calls_that_a_signal_ends_are_caught_in_transport(self):
        for call, better in (("zmq_bind(a, b)", "skn_socket_bind"),
                             ("zmq_connect(a, b)", "skn_socket_connect"),
                             ("zmq_getsockopt(a, 1, b, c)", "skn_socket_get"),
                             ("zmq_recv(a, b, 1, 0)", "skn_socket_take")):
            self.caught(self.calls("transport/socket/x.c", call),
                        "transport/socket/x.c:7:", better)
            self.clean(self.calls("transport/socket/socket.c", call))

    def test_only_the_main_file_exits(self):
        self.clean(self.calls("cli/main.c", "exit(1)"))
        self.caught(self.calls("cli/verb.c", "exit(1)"), "cli/verb.c:7:",
                    "exit")

    def test_tests_may_exit_but_not_sleep(self):
        self.clean(self.calls("tests/test_x.c", "exit(1)"))
        self.caught(self.calls("tests/test_x.c", "sleep(1)"),
                    "tests/test_x.c:7:", "waiting")

    def test_an_actor_asks_no_clock_and_starts_no_thread(self):
        for call in ("clock_gettime(0, 0)", "poll(0, 0, 0)",
                     "pthread_create(0, 0, 0, 0)"):
            self.caught(self.calls("actors/course/source.c", call),
                        "actors/course/source.c:7:", "use")
            self.clean(self.calls("actors/runtime/run_loop.c", call))

    def test_kernels_do_not_allocate(self):
        self.caught(self.calls("kernels/variant.c", "malloc(1)"),
                    "kernels/variant.c:7:", "malloc")
        self.clean(self.calls("kernels/dispatch.c", "malloc(1)"))

    # --- who may include whom ---

    def includes(self, name, line):
        return self.source(name, f"#include {line}\n")

    def test_each_folder_includes_what_the_table_allows(self):
        for name, line in (
                ("kernels/x.c", '"skein/limits.h"'),
                ("kernels/x.c", '"vec.h"'), ("kernels/x.c", "<math.h>"),
                ("transport/socket/x.c", '"skein/message.h"'),
                ("transport/message/x.c", '"kernels/kernels.h"'),
                ("transport/socket/x.c", "<czmq.h>"),
                ("transport/socket/x.c", "<msgpack.h>"),
                ("formats/text/x.c", '"skein/error.h"'),
                ("formats/text/x.c", "<zstd.h>"),
                ("actors/rows/x.c", '"skein/actor.h"'),
                ("actors/runtime/x.c", '"transport/inproc/pipe.h"'),
                ("actors/protocol/x.c", '"formats/dataset/xmc.h"'),
                ("actors/rows/x.c", '"kernels/kernels.h"'),
                ("actors/rows/x.c", '"kernels/philox.h"'),
                ("actors/rows/x.c", '"kernels/topk.h"'),
                ("cli/x.c", "<jansson.h>"),
                ("actors/rows/x.c", "<hwloc.h>"),
                ("actors/output/x.c", '"../protocol/messages.h"'),
                ("actors/runtime/run_loop.c", "<zmq.h>"),
                ("topology/run/x.c", '"actors/runtime/wiring.h"'),
                ("topology/run/x.c", "<libfyaml.h>"),
                ("cli/x.c", '"topology/plan/plan.h"'),
                ("cli/x.c", '"transport/socket/keys.h"'),
                ("topology/model/x.c", '"transport/socket/keys.h"'),
                ("transport/socket/x.c", "<sodium.h>"),
                ("cli/doctor/doctor.c", '"transport/inproc/pipe.h"')):
            self.clean(self.includes(name, line))

    def test_each_folder_includes_nothing_else(self):
        for name, line in (
                ("kernels/x.c", '"skein/error.h"'),
                ("kernels/x.c", '"transport/inproc/pipe.h"'),
                ("kernels/x.c", '"../actors/actor.h"'),
                ("transport/socket/x.c", '"skein/actor.h"'),
                ("transport/socket/x.c", '"actors/protocol/messages.h"'),
                ("transport/socket/x.c", '"kernels/vec.h"'),
                ("transport/socket/x.c", "<hwloc.h>"),
                ("formats/text/x.c", '"transport/inproc/pipe.h"'),
                ("formats/text/x.c", "<czmq.h>"),
                ("actors/rows/x.c", '"topology/plan/plan.h"'),
                ("actors/rows/x.c", '"kernels/vec.h"'),
                ("actors/rows/x.c", "<libfyaml.h>"),
                ("actors/rows/x.c", "<czmq.h>"),
                ("topology/run/x.c", '"transport/inproc/pipe.h"'),
                ("topology/run/x.c", '"cli/base/verbs.h"'),
                ("topology/run/x.c", "<zmq.h>"),
                ("cli/x.c", '"actors/runtime/wiring.h"'),
                ("cli/x.c", "<hwloc.h>")):
            self.caught(self.includes(name, line), f"{name}:4:",
                        "include" if "czmq" not in line else "")

    def test_what_lies_in_no_room_is_caught(self):
        self.caught(self.source("actors/attic/x.c", BODY),
                    "actors/attic/x.c:1:", "table of rooms")

    def test_a_room_of_40_files_passes_and_of_41_does_not(self):
        def room(count):
            names = [f"formats/text/x{k}.h" for k in range(count)]
            return self.run_tidy({
                name: header(name, f"FORMATS_TEXT_X{k}_H")
                for k, name in enumerate(names)})
        self.clean(room(40))
        self.caught(room(41), "formats/text:1:", "41 sources")

    def test_a_table_of_rooms_goes_from_the_ground_up(self):
        with unittest.mock.patch.dict(TIDY.ROOMS, {"kernels": "cli/base"}):
            self.caught(self.source(SOURCE, BODY), ".ci/tidy:1:",
                        "kernels includes cli/base")

    def circle(self, last):
        """Modules a, b and c of a room; `last` is what c includes."""
        files = {}
        for stem, other in (("a", "b"), ("b", "c"), ("c", last)):
            name = f"formats/text/{stem}.h"
            guard = f"FORMATS_TEXT_{stem.upper()}_H"
            files[name] = header(name, guard).replace(
                "\n\n#endif", f'\n#include "formats/text/{other}.h"\n#endif')
        for stem in ("a", "c"):
            name = f"formats/text/{stem}.c"
            files[name] = head(name) + f'#include "formats/text/{stem}.h"\n'
            test = f"tests/formats/text/test_{stem}.c"
            files[test] = head(test) + BODY
        return self.run_tidy(files)

    def test_a_circle_of_includes_is_caught(self):
        self.clean(self.circle("d"))
        self.caught(self.circle("a"), "formats/text/a.c:1:",
                    "a circle of includes: formats/text/a formats/text/c")

    def test_public_headers_bring_no_library(self):
        name = "include/skein/x.h"
        text = header(name, "SKEIN_X_H").replace(
            "\n\n#endif", "\n#include <zmq.h>\n\n#endif")
        self.caught(self.run_tidy({name: text}), name + ":6:", "ZeroMQ")

    def public(self, declarations):
        name = "include/skein/x.h"
        return self.run_tidy({name: header(name, "SKEIN_X_H").replace(
            "\n\n#endif", "\n\n" + declarations + "\n#endif")})

    def test_a_public_function_without_a_contract_is_caught(self):
        declaration = "SKN_API int skn_x(int a,\n                  int b);\n"
        self.clean(self.public("/* The sum. */\n" + declaration))
        self.clean(self.public("/* Both. */\n" + declaration + declaration))
        self.caught(self.public("/* The sum. */\n\n" + declaration),
                    "include/skein/x.h:9:", "without a contract")

    def test_too_many_public_functions_are_caught(self):
        declaration = "SKN_API int skn_x(void);\n"
        self.clean(self.public("/* All. */\n" + 155 * declaration
                               + "SKN_API extern const int skn_y;\n"))
        self.caught(self.public("/* All. */\n" + 156 * declaration),
                    "include/skein:1:", "156 public functions, at most 155")

    # --- English ---

    def test_comments_that_begin_without_a_noun_are_caught(self):
        for words in ("Of two of them one", "Who waits.", "... and so on"):
            self.caught(self.source(SOURCE, f"/* {words} */\n"),
                        SOURCE + ":4:", "begin with a noun")
        self.clean(self.source(SOURCE, "/* Often two of them; who cares. */\n"))

    def test_banned_phrases_in_comments_are_caught(self):
        for words, better in (("begins anew", "again"), ("till it ends",
                              "until"), ("cannot be\n * had", "be obtained"),
                              ("goes on with it", "continues"),
                              ("can go on with it", "continue")):
            self.caught(self.source(SOURCE, f"/* It {words}. */\n"),
                        SOURCE + ":4:", better)

    def test_banned_phrases_in_messages_are_caught(self):
        for words, better in (("begins anew", "again"),
                              ("the node is told", "is sent"),
                              ("nodes are told", "are sent"),
                              ("labels come twice", "received twice"),
                              ("no room for a link", "no memory"),
                              ("bytes behind the end", "after the"),
                              ("medians behind each", "per"),
                              ("a file cut short", "truncated"),
                              ("it died of it", "was killed by"),
                              ("it means nothing", "has no effect"),
                              ("what is left", "the rest"),
                              ("there are: a, b", "available:"),
                              ("nobody can dial", "a noun"),
                              ("somebody asks", "a noun")):
            self.caught(self.source(
                SOURCE, f'const char *skn_x = "{words}";\n'),
                SOURCE + ":4:", better)
        for name in ("cli/base/x.c", "topology/run/x.c"):
            self.caught(self.source(
                name, 'const char *skn_x = "begins anew";\n'),
                name + ":4:", "again")
        self.clean(self.source(SOURCE, 'const char *skn_x = "told";\n'
                               "/* The node is told. */\n"))

    def test_a_head_that_is_a_riddle_is_caught(self):
        for words in ("for whoever asks", "less once"):
            text = head(SOURCE).replace("a planted file", words)
            self.caught(self.run_tidy({
                SOURCE: text + BODY, TEST: head(TEST) + BODY}),
                SOURCE + ":1:", "riddle")

    # --- names ---

    def test_a_word_for_two_things_is_caught(self):
        for first, second in (
                ("typedef struct x {\n    int a;\n} x_t;\n",
                 "typedef struct x {\n    int b;\n} x_t;\n"),
                ("enum {\n    LOW,\n    HIGH\n};\n",
                 "enum {\n    HIGH = 2\n};\n"),
                ("#define SIZE 1\n", "#define SIZE 2\n"),
                ("int\nskn_x(void)\n{\n    return 1;\n}\n",
                 "int\nskn_x(void)\n{\n    return 2;\n}\n")):
            other, test = "cli/base/other.c", "tests/cli/base/test_other.c"
            files = {other: head(other) + second, test: head(test) + BODY}
            self.caught(self.source(SOURCE, first, files), SOURCE,
                        "one word for one thing")
        self.clean(self.source(
            SOURCE, "#define E(name) name,\nenum {\n    A\n};\n#undef E\n",
            {other: head(other) + "#define E(name) 1\n#undef E\n",
             test: head(test) + BODY}))

    def test_a_tag_that_is_not_the_type_is_caught(self):
        self.caught(self.source(SOURCE, "typedef struct x {\n    int a;\n"
                                "} y_t;\n"), SOURCE + ":4:", "one name")

    def test_two_sources_of_one_name_are_caught(self):
        other, test = "cli/base/answer.c", "tests/cli/base/test_answer.c"
        self.caught(self.source(SOURCE, "int skn_x;\n",
                                {other: head(other) + "int skn_y;\n",
                                 test: head(test) + BODY}),
                    SOURCE + ":1:", "the same name")

    # --- words ---

    def test_zeromq_stays_in_transport_and_the_runtime(self):
        call = "zmq_msg_init(0)"
        for name in ("transport/socket/x.c", "actors/runtime/run_loop.c",
                     "actors/runtime/system_run.c",
                     "actors/runtime/system_build.c",
                     "actors/links/link_driver.c", "tests/test_x.c"):
            self.clean(self.calls(name, call))
        for name in ("actors/course/source.c", "topology/run/x.c", "cli/x.c"):
            self.caught(self.calls(name, call), name + ":7:", "ZeroMQ")
            self.caught(self.calls(name, "zsock_t *x"), name, "ZeroMQ")

    def test_actors_share_no_memory(self):
        for words in ("pthread_mutex_lock(&x)", "atomic_load(&x)",
                      "_Atomic int x", "__atomic_load_n(&x, 0)",
                      "volatile int x"):
            self.caught(self.calls("actors/course/source.c", words),
                        "actors/course/source.c:7:", "send a message")
            for name in ("actors/runtime/run_loop.c",
                         "actors/runtime/system_run.c",
                         "actors/links/link_driver.c",
                         "actors/runtime/trace.c"):
                self.clean(self.calls(name, words))


if __name__ == "__main__":
    checks.main()
