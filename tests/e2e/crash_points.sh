#!/usr/bin/env bash
# crash_points.sh - a training run killed at any step of its checkpoints
# resumes from the old or the new one, and ends with the undisturbed weights.
#
# strace kills the worker when it enters the k-th of a kind of system call. Of
# all points POINTS (24) are taken, spread evenly; POINTS=1000 takes all. The
# writer by itself is killed at every one: tests/fault/checkpoint_crash.sh.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
if ! command -v strace >/dev/null ||
    ! strace -f -o /dev/null -e trace=fsync \
        -e inject=fsync:error=EIO true 2>/dev/null; then
    skip "kills in checkpoints" "strace is missing or may not trace"
    finish
fi
tiny_model
export ASAN_OPTIONS=detect_leaks=0
# One checkpoint is kept: nothing else is left if that one is broken. Plans
# have no supervisor that would start the run again under our hands.
options=(-o train.epochs=2 -o train.window=4 -o checkpoint.every_batches=15
    -o checkpoint.keep=1)
"$skein" plan tiny.yaml "${options[@]}" >plan.yaml || finish
calls=write,pwrite64,fsync,fdatasync,fallocate,mkdirat,openat,unlinkat
calls=$calls,symlinkat,renameat,renameat2

strace -f -y -o calls.log -e "trace=$calls" "$skein" run plan.yaml --json \
    >whole.json 2>whole.err
sha=$(sha_of whole.json)
check_equal "an undisturbed run saves four checkpoints" \
    "$(grep -c '"event":"checkpoint"' whole.json) ${#sha}" "4 64"
rm -rf run

# The points: what is done to the run folder, as "call k", k counted as strace
# counts: for each thread by itself. Only one thread writes there.
python3 - >points <<'PYTHON'
import collections, re
counts, points = collections.defaultdict(int), []
for line in open("calls.log"):
    found = re.match(r"(\d+) +(\w+)\((.*)", line)
    if not found:
        continue
    thread, call, rest = found.groups()
    counts[thread, call] += 1
    writes = call not in ("openat", "write") or "O_CREAT" in rest \
        or call == "write" and "/run/" in rest
    if writes and "/run" in rest:
        points.append("%s %d" % (call, counts[thread, call]))
print("\n".join(points))
PYTHON
total=$(wc -l <points)
echo "$total points: $(awk '{ print $1 }' points | sort | uniq -c | xargs)"
check "there are points of every kind" test \
    "$(grep -Ec '^(pwrite64|fsync|mkdirat|symlinkat)' points)" -ge 30
check "  renames among them" test "$(grep -c '^renameat' points)" -ge 8

points=${POINTS:-24} killed=0 number=0
[ "$points" -le "$total" ] || points=$total
: >wrong.txt
while read -r call k; do
    number=$((number + 1))
    [ $((number * points / total)) -gt $(((number - 1) * points / total)) ] ||
        continue
    rm -rf run out.json
    { strace -f -o /dev/null -e "trace=$call" \
        -e "inject=$call:signal=KILL:when=$k" \
        "$skein" run plan.yaml --json </dev/null >cut.json 2>cut.err
    } 2>/dev/null
    # What was complete before, as far as it was told.
    told=$(event checkpoint batch cut.json 2>/dev/null || echo 0)
    grep -q '"event":"done"' cut.json || killed=$((killed + 1))
    "$skein" train tiny.yaml --resume --json "${options[@]}" \
        </dev/null >out.json 2>out.err
    found=$(event resume batch out.json 2>/dev/null || echo 0)
    if [ "$(sha_of out.json)" != "$sha" ]; then
        echo "$call $k: ends with $(sha_of out.json); $(cat out.err)"
    elif grep -q '"event":"start"' out.json && [ "$found" -lt "$told" ]; then
        echo "$call $k: resumes at batch $found, $told was told"
    fi >>wrong.txt
done <points
wrong=$(wc -l <wrong.txt)
[ "$wrong" = 0 ] || cat wrong.txt
check_equal "killed at $killed steps of its checkpoints, it ends the same" \
    "$wrong wrong" "0 wrong"
check "  and most points were met" test $((killed * 10)) -ge $((points * 8))
finish
