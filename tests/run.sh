#!/usr/bin/env bash
# run.sh - runs every test that CTest knows and counts the cases one by one.
#
# Usage: tests/run.sh [BUILD_DIR [ctest options...]]
#        tests/run.sh build -R schema      only tests whose name has "schema"
# Prints what failed, in full, and closes with `N passed, N failed`.
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
cd "$(dirname "$0")/.." || exit 70
build=${1:-build}
[ $# -eq 0 ] || shift
report=$(mktemp "${TMPDIR:-/tmp}/skein-tests.XXXXXX") || exit 73
trap 'rm -f "$report"' EXIT

# Criterion prints skipped cases only when it is talkative. A finding of a
# sanitizer in a forked test is printed but does not fail the test: tally.py
# looks for it. Core files are of no use to anybody here.
export CRITERION_VERBOSITY_LEVEL=1
# An allocation that cannot be gives NULL, as it does without a sanitizer.
asan=detect_stack_use_after_return=1:allocator_may_return_null=1
export ASAN_OPTIONS=${ASAN_OPTIONS:-$asan}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
ulimit -c 0
# Of many cases alike, some are enough where long tests are left out
# (tests/support/sanitized.h).
[[ " $* " = *" -LE long "* ]] || export SKEIN_TESTS=all
# Debian's python3: the stand-in of a version manager takes ten times as long to
# start, and scripts start it often.
[ ! -x /usr/bin/python3 ] || export PATH=/usr/bin:$PATH
# Asked once, not by each test (tests/own_net.sh).
export SKEIN_OWN_NET=no
unshare -n ip link set lo up 2>/dev/null && SKEIN_OWN_NET=yes
# One more at a time than there are processing units: scripts wait a lot.
ctest --test-dir "$build" --output-junit "$report" --no-tests=error \
    --timeout "${SKEIN_TEST_SECONDS:-600}" -j "$(($(nproc) + 1))" \
    --test-output-size-passed 100000000 --test-output-size-failed 100000000 \
    --quiet "$@" </dev/null
python3 tests/tally.py "$report"
