"""checks.py - runs Python test cases and closes as tests/tally.py reads it.

SPDX-License-Identifier: Apache-2.0
"""
import sys
import unittest


def main():
    """Runs the cases of the calling script; never returns."""
    program = unittest.main(exit=False, verbosity=2)
    result = program.result
    skipped = len(result.skipped)
    failed = len(result.failures) + len(result.errors)
    passed = result.testsRun - failed - skipped
    line = f"{passed} passed, {failed} failed"
    print(line + (f", {skipped} skipped" if skipped else ""), flush=True)
    sys.exit(1 if failed or result.testsRun == 0 else 0)
