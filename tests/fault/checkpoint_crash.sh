#!/usr/bin/env bash
# checkpoint_crash.sh - a checkpoint survives a kill, or an error, at any step.
#
# Usage: checkpoint_crash.sh CHECKPOINT_WRITER [EVERY]    each EVERYth k: 4
# For each system call that changes the disk, and each k: the writer is killed
# when it enters the k-th one, or the call fails. Afterwards the run folder must
# open, hold no left-over, and give the old or a newer checkpoint, every byte
# right. k rises until the writer ends undisturbed.
# SPDX-License-Identifier: Apache-2.0
set -u
writer=$1 every=${2:-4} sweeps=0
# The leak finder cannot work in a process that is being traced.
export ASAN_OPTIONS=detect_leaks=0
if ! command -v strace >/dev/null ||
    ! strace -o /dev/null -e inject=fsync:error=EIO true 2>/dev/null; then
    echo "checkpoint_crash: SKIPPED: strace is missing or may not trace"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/skein-crash-XXXXXX") || exit 70
trap 'rm -rf "$work"' EXIT
"$writer" write "$work/base" 1 1 || exit 1
points=0 failed=0

fail() {
    echo "checkpoint_crash: FAILED: $*"
    failed=$((failed + 1))
}

# disturb INJECTION: runs the writer on $work/run; its exit code is the result.
# The braces take up what the shell says about a killed child.
disturb() {
    { strace -f -o /dev/null -e "trace=${1%%:*}" -e "inject=$1" \
        "$writer" write "$work/run" 1 3; } 2>"$work/said"
}

# inspect LABEL OLDEST EXIT_CODE: what the folder gives now.
inspect() {
    local batch
    points=$((points + 1))
    batch=$("$writer" check "$work/run" 2>"$work/why") ||
        { fail "$1: $(cat "$work/why")"; return; }
    [ "$batch" -ge "$2" ] || fail "$1: batch $batch is older than $2"
    [ "$3" -ne 0 ] || [ "$batch" -eq 3 ] ||
        fail "$1: the writer was content, but batch $batch is the newest"
}

# sweep FROM OLDEST CALL EFFECT: FROM is a folder to start with, or nothing.
sweep() {
    local k=$((1 + sweeps++ % every - every)) code
    while [ $((k += every)) -le 400 ]; do
        rm -rf "$work/run"
        [ -z "$1" ] || cp -a "$1" "$work/run"
        disturb "$3:$4:when=$k"
        code=$?
        # A step whose failure is only a warning does not end the sweep.
        if [ $code -eq 0 ] && ! reached "$3" $k; then
            return
        fi
        case $4 in
        error=*)
            [ $code -lt 126 ] || [ ! -s "$work/said" ] ||
                grep -q 'shared libraries' "$work/said" ||
                fail "$3 $k $4: exit code $code: $(cat "$work/said")"
            # A replaced checkpoint (it has a manifest) stays when the sync
            # after the exchange fails: the exchange may not be durable.
            if [ "$3" != unlinkat ] && [ $code -eq 1 ] &&
                compgen -G "$work/run/.tmp-*" >/dev/null &&
                ! compgen -G "$work/run/.tmp-*/manifest.json" >/dev/null; then
                fail "$3 $k $4: the unfinished folder was not removed"
            fi ;;
        esac
        inspect "$3 $k $4" "$2" $code
    done
    fail "$3: no end after 400 points"
}

# reached CALL K: does an undisturbed writer make this call K times?
declare -A calls
reached() {
    [ "$2" -le "${calls[$1]:-0}" ]
}
count_calls() {
    rm -rf "$work/run"
    [ -z "$1" ] || cp -a "$1" "$work/run"
    strace -f -o "$work/trace" "$writer" write "$work/run" 1 3 || exit 1
    local call
    for call in "${all[@]}"; do
        calls[$call]=$(grep -c "^[0-9]* *$call(" "$work/trace")
    done
}

all=(mkdir mkdirat openat flock ftruncate fallocate pwrite64 fsync renameat
    renameat2 symlinkat unlinkat)
count_calls ""
for call in mkdir flock ftruncate fsync renameat; do
    sweep "" -1 "$call" signal=KILL
done
count_calls "$work/base"
for call in "${all[@]}"; do
    sweep "$work/base" 1 "$call" signal=KILL
done
for call in mkdirat fallocate pwrite64 fsync renameat renameat2 symlinkat \
    unlinkat; do
    sweep "$work/base" 1 "$call" error=ENOSPC
done
sweep "$work/base" 1 fsync error=EIO
echo "checkpoint_crash: $points points, $failed failed"
[ $failed -eq 0 ]
