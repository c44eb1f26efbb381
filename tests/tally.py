#!/usr/bin/env python3
"""tally.py - counts the test cases of a CTest report, one by one.

A report of CTest (JUnit form) has one entry a program. Criterion programs say
in a closing line how many cases they ran; scripts (tests/e2e/lib.sh) close
with `N passed, N failed`; any other program is one case. A program that
crashes, hangs, could not be started, or ran nothing, counts as a failure, and
so does a finding of a sanitizer in a program that ended well.

Usage: tally.py REPORT.xml    exit code 1 if anything failed
SPDX-License-Identifier: Apache-2.0
"""
import re
import sys
import xml.etree.ElementTree as xml

SYNTHESIS = re.compile(r"Synthesis: Tested: (\d+) \| Passing: (\d+) "
                       r"\| Failing: (\d+) \| Crashing: (\d+)")
CRITERION_SKIP = re.compile(r"^\[SKIP\]", re.M)
SCRIPT = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
FINDING = re.compile(r"ERROR: (?:Address|Leak)Sanitizer: "
                     r"|WARNING: ThreadSanitizer: |: runtime error: ")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Tally:
    """Sums of cases: passed, failed, skipped."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, passed, failed, skipped=0):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def line(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def count(case):
    """(passed, failed, skipped, reason or None) of one entry."""
    output = COLOURS.sub("", case.findtext("system-out") or "")
    status = case.get("status")
    if status == "disabled":
        return 0, 0, 1, "disabled"
    skipped = case.find("skipped")
    if skipped is not None:
        message = skipped.get("message") or ""
        if "SKIP_RETURN_CODE" in message:
            return 0, 0, 1, "skipped"
        return 0, 1, 0, f"was not run: {message or 'no reason given'}"
    if status == "notrun":
        return 0, 1, 0, "was not run"

    ended_well = status == "run"
    passed, failed, left_out = 0, 0, 0
    summaries = SYNTHESIS.findall(output)
    scripts = SCRIPT.findall(output)
    if summaries:
        for tested, good, _bad, _crashed in summaries:
            passed += int(good)
            failed += int(tested) - int(good)
        left_out = len(CRITERION_SKIP.findall(output))
        if passed + failed == 0:
            return 0, 1, left_out, "ran no test at all"
    elif scripts:
        passed, failed, left_out = (int(n or 0) for n in scripts[-1])
        if passed + failed + left_out == 0:
            return 0, 1, 0, "ran no check at all"
    elif ended_well:
        passed = 1
    if not ended_well and failed == 0:
        failure = case.find("failure")
        reason = failure.get("message") if failure is not None else ""
        after = f"after {float(case.get('time') or 0):.0f} s"
        return (passed, 1, left_out,
                f"ended badly {after}: {reason or 'exit code'}")
    if ended_well and failed > 0:
        return passed, failed, left_out, "has failures, but its exit code is 0"
    if failed == 0 and FINDING.search(output):
        return passed, 1, left_out, "a sanitizer found something"
    return passed, failed, left_out, "has failures" if failed else None


def shown(output):
    """What a reader of a failure needs: not the cases that passed."""
    lines = COLOURS.sub("", output).rstrip().split("\n")
    good = {line[6:].strip().rsplit(": (", 1)[0]
            for line in lines if line.startswith("[PASS]")}
    return "\n".join(
        line for line in lines
        if not line.startswith("[PASS]")
        and not (line.startswith("[RUN ]") and line[6:].strip() in good))


def main(arguments):
    if len(arguments) != 2:
        print("usage: tally.py REPORT.xml", file=sys.stderr)
        return 64
    total = Tally()
    try:
        cases = list(xml.parse(arguments[1]).getroot().iter("testcase"))
    except (OSError, xml.ParseError) as problem:
        print(f"tally: no report to read: {problem}", file=sys.stderr)
        cases = []
    if not cases:
        print("tally: not a single test ran", file=sys.stderr)
        total.add(0, 1)
    for case in cases:
        passed, failed, skipped, reason = count(case)
        total.add(passed, failed, skipped)
        name = case.get("name")
        if failed:
            print(f"\n---- {name}: {reason}")
            print(shown(case.findtext("system-out") or ""))
            print(f"---- end of {name}\n")
        else:
            figures = f"{passed:5d} passed"
            figures += f", {skipped} skipped" if skipped else ""
            print(f"{name:32s} {figures}  {float(case.get('time') or 0):.2f} s")
            if skipped:
                output = shown(case.findtext("system-out") or "")
                for line in output.splitlines():
                    if line.startswith(("SKIPPED", "[SKIP]")):
                        print(f"    {line}")
    print()
    print(total.line(), flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
