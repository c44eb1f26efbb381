#!/usr/bin/env python3
"""test_tally.py - the counting of test cases counts no failure as a pass.

SPDX-License-Identifier: Apache-2.0
"""
import os
import subprocess
import sys
import tempfile
import unittest
from xml.sax.saxutils import escape

import checks

HERE = os.path.dirname(os.path.abspath(__file__))
SYNTHESIS = ("[====] Synthesis: Tested: {} | Passing: {} | Failing: {} "
             "| Crashing: {} ")


def case(output, status="run", inside="", name="x"):
    return (f'<testcase name="{name}" time="0.5" status="{status}">{inside}'
            f"<system-out>{escape(output)}</system-out></testcase>")


def tally(text):
    """(exit code, last line, all output) for a report with these cases."""
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as report:
        report.write(f"<testsuite>{text}</testsuite>")
        report.flush()
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "tally.py"), report.name],
            capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()[-1], done.stdout


class Tally(unittest.TestCase):
    def expect(self, text, code, line):
        got = tally(text)
        self.assertEqual(got[:2], (code, line), got[2])

    def test_criterion_cases_are_counted_one_by_one(self):
        self.expect(case(SYNTHESIS.format(7, 7, 0, 0)), 0,
                    "7 passed, 0 failed")

    def test_failing_and_crashing_cases_fail(self):
        self.expect(case(SYNTHESIS.format(9, 6, 3, 1), "fail"), 1,
                    "6 passed, 3 failed")

    def test_a_program_without_a_case_fails(self):
        self.expect(case(SYNTHESIS.format(0, 0, 0, 0)), 1,
                    "0 passed, 1 failed")

    def test_a_program_that_dies_after_its_summary_fails(self):
        self.expect(case(SYNTHESIS.format(4, 4, 0, 0), "fail"), 1,
                    "4 passed, 1 failed")

    def test_failures_hidden_behind_exit_code_0_fail(self):
        self.expect(case(SYNTHESIS.format(4, 3, 1, 0)), 1,
                    "3 passed, 1 failed")

    def test_a_leak_found_in_a_forked_case_fails(self):
        self.expect(case("==7==ERROR: LeakSanitizer: detected memory leaks\n"
                         + SYNTHESIS.format(4, 4, 0, 0)), 1,
                    "4 passed, 1 failed")

    def test_undefined_behaviour_that_was_only_printed_fails(self):
        self.expect(case("a.c:3:1: runtime error: shift exponent 64\n"
                         + SYNTHESIS.format(2, 2, 0, 0)), 1,
                    "2 passed, 1 failed")

    def test_a_program_that_could_not_be_started_fails(self):
        self.expect(case("", "notrun",
                         '<skipped message="Unable to find executable"/>'), 1,
                    "0 passed, 1 failed")

    def test_a_skipped_program_is_counted_as_skipped(self):
        self.expect(case("", "notrun", '<skipped message="'
                         'SKIP_RETURN_CODE=77"/>'), 0,
                    "0 passed, 0 failed, 1 skipped")

    def test_skipped_cases_are_counted_as_skipped(self):
        self.expect(case("[SKIP] a::b: off\n" + SYNTHESIS.format(2, 2, 0, 0)),
                    0, "2 passed, 0 failed, 1 skipped")

    def test_checks_of_a_script_are_counted_one_by_one(self):
        self.expect(case("ok: a\n5 passed, 0 failed, 2 skipped\n"), 0,
                    "5 passed, 0 failed, 2 skipped")

    def test_failed_checks_of_a_script_fail(self):
        self.expect(case("5 passed, 2 failed\n", "fail"), 1,
                    "5 passed, 2 failed")

    def test_a_script_that_checks_nothing_fails(self):
        self.expect(case("0 passed, 0 failed\n"), 1, "0 passed, 1 failed")

    def test_a_plain_program_is_one_case(self):
        self.expect(case("all good\n"), 0, "1 passed, 0 failed")
        self.expect(case("ouch\n", "fail"), 1, "0 passed, 1 failed")

    def test_sums_go_over_all_programs(self):
        self.expect(case(SYNTHESIS.format(7, 7, 0, 0))
                    + case("3 passed, 1 failed\n", "fail") + case("fine\n"),
                    1, "11 passed, 1 failed")

    def test_a_report_without_any_test_fails(self):
        self.expect("", 1, "0 passed, 1 failed")

    def test_a_failure_is_printed_in_full(self):
        output = tally(case("first line\nlast line\n", "fail"))[2]
        self.assertIn("first line\nlast line", output)

    def test_cases_that_passed_are_left_out_of_a_failure(self):
        output = tally(case("[RUN ] a::good\n[PASS] a::good: (0.01s)\n"
                            "[RUN ] a::bad\n[FAIL] a::bad: (0.02s)\n"
                            + SYNTHESIS.format(2, 1, 1, 0), "fail"))[2]
        self.assertNotIn("a::good", output)
        self.assertIn("[RUN ] a::bad\n[FAIL] a::bad", output)


if __name__ == "__main__":
    checks.main()
