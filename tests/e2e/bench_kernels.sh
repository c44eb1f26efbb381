#!/usr/bin/env bash
# bench_kernels.sh - bench/bench_kernels.c measures every kernel that there is.
#
# One run a case: what is printed counts here, not how fast it was.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 70
bench=$build/bench/bench_kernels

# refuses SENTENCE CODE TEXT ARGUMENTS...: exit code and standard error.
refuses() {
    local sentence=$1 code=$2 text=$3 got
    shift 3
    "$bench" "$@" >out 2>err </dev/null
    got=$?
    check_equal "$sentence" "$got: $(cat err)" "$code: $text"
}
# The fields of each line of a file, by name: name=value name=value ...
fields() { python3 -c '
import json, sys
for line in open(sys.argv[1]):
    print(*(f"{k}={v}" for k, v in json.loads(line).items()))' "$1"; }

# --- every kernel, as JSON ---------------------------------------------------
# But those that only prepare a product.
check "bench_kernels --json runs" \
    bash -c "'$bench' --runs 1 --json >json.out"
fields json.out >fields.out
sed -n 's/^ *K([a-z_0-9]*, \([a-z_0-9]*\), .*/\1/p' \
    "$root/kernels/kernels.h" | grep -v '^gemm_[a-z_]*$\|_bytes$' | sort >wanted
sed -n 's/^kernel=\([a-z_0-9]*\) .*/\1/p' fields.out | sort -u >measured
check "the table of kernels was read" test "$(wc -l <wanted)" -gt 30
check_equal "every kernel of the table is measured" \
    "$(comm -23 wanted measured)" ""
check_equal "all roofs are measured, and are more than nothing" \
    "$(grep -c '^roof=.* rate=[0-9.]*[1-9][0-9.]* unit=' fields.out)" 9
check_equal "bounds are compute, cache or memory" \
    "$(sed -n 's/.* bound=\([a-z]*\) .*/\1/p' fields.out | sort -u | xargs)" \
    "cache compute memory"
# A roof measured while others ran is too low: noise, if it is not so thrice.
shares() { python3 - json.out <<'EOF'; }
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
cases = [line for line in lines if "case" in line]
for case in cases:
    share = 100 * case["rate"] / case["roof"]
    # Both are printed with three digits.
    assert abs(share - case["percent"]) < 1 + .1 * case["percent"], case
    # A roof that a kernel breaks through is none; noise is allowed for.
    assert 0 < case["percent"] < 300, case
last = lines[-1]
assert last["kernels"] == len(cases), last
below = sum(case["percent"] < last["wanted_percent"] for case in cases)
assert abs(last["below"] - below) <= 1, (last, below)
EOF
for _ in 1 2 3; do
    shares >out 2>&1 && break
    "$bench" --runs 1 --json >json.out
done
check_equal "percentages follow from figures and roofs, and are counted" \
    "$(cat out)" ""

# --- a part of them, as text -------------------------------------------------
"$bench" row --runs 1 >out 2>err
check_equal "bench_kernels prints text with exit code 0" "$?" 0
check_match "a line a kernel, with a percentage" \
    '^adam_row/[^ ]+ +memory +[0-9.]+ +[0-9.]+ [A-Z][A-Za-z/]+ +[0-9.]+% ' out
check_match "the last line counts the kernels" \
    '^[0-9]+ of [0-9]+ kernels below 70% of their bound$' out
check_equal "no other kernel is measured" "$(grep -c '^dropout' out)" 0
check_equal "SKEIN_ISA is respected" \
    "$(SKEIN_ISA=scalar "$bench" dropout --runs 1 --json |
        sed -n 's/.*"isa":"\([a-z0-9_]*\)".*/\1/p' | sort -u)" scalar

# --- what is wrong -----------------------------------------------------------
refuses "an unknown kernel is reported, before anything is measured" 64 \
    "bench_kernels: no kernel is called 'gem,'" gem,
check_equal "an unknown kernel prints nothing on standard output" \
    "$(cat out)" ""
for words in "--runs 0" "--runs 26" "--runs 4294967299" "--runs 3x" "--runs=" \
    "gemm row"; do
    # shellcheck disable=SC2086
    refuses "the usage is printed for $words" 64 \
        "usage: bench_kernels [--json] [--runs 1..25] [NAME]" $words
done
SKEIN_ISA=mmx "$bench" >out 2>err
check_equal "an instruction set that does not exist is refused" \
    "$?: $(cut -c 1-29 err)" \
    "78: bench_kernels: SKEIN_ISA=mmx:"

finish
