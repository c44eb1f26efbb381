# lib.sh - what the end-to-end scripts share. Sourced, not run.
#
# A script sources this, calls `check "a sentence" command...` as often as it
# likes, and ends with `finish`. It gets: $root (the sources), $build (what was
# built), $skein (the command), $work (an empty folder, removed at the end).
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "${SKEIN_BUILD:-$root/build}" && pwd) || exit 70
# shellcheck disable=SC2034
skein=$build/skein
work=$(mktemp -d "${TMPDIR:-/tmp}/skein-e2e.XXXXXX") || exit 73
passed=0 failed=0 skipped=0
cleanups=("rm -rf '$work'")

# at_exit COMMAND: runs COMMAND at the end, the last one first.
at_exit() { cleanups=("$1" "${cleanups[@]}"); }
run_cleanups() {
    local command
    for command in "${cleanups[@]}"; do eval "$command" || true; done
}
trap run_cleanups EXIT

pass() {
    passed=$((passed + 1))
    echo "ok: $1"
}
fail() { # SENTENCE [FILE with what was seen]
    failed=$((failed + 1))
    echo "FAILED: $1"
    [ -z "${2:-}" ] || sed 's/^/    /' "$2"
}
skip() { # SENTENCE REASON
    skipped=$((skipped + 1))
    echo "SKIPPED: $1: $2"
}

# needs SENTENCE COMMAND...: ends the script if a command is missing, which is
# told as skipped. In CI, where .ci/run has installed them, it has failed.
needs() {
    local sentence=$1 command missing=()
    shift
    for command in "$@"; do
        command -v "$command" >/dev/null || missing+=("$command")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "${CI:-}" = true ]; then
        fail "$sentence: there is no ${missing[*]} here, and CI has to have it"
    else
        skip "$sentence" "needs ${missing[*]}; .ci/deps --engines installs that"
    fi
    finish
}

# check SENTENCE COMMAND...: passes if the command ends with 0.
check() {
    local sentence=$1 code=0
    shift
    "$@" >"$work/.check" 2>&1 </dev/null || code=$?
    if [ "$code" = 0 ]; then
        pass "$sentence"
    else
        echo "exit code $code of: $*" >>"$work/.check"
        fail "$sentence" "$work/.check"
        return 1
    fi
}

# check_code CODE SENTENCE COMMAND...: passes if the command ends with CODE.
check_code() {
    local wanted=$1 sentence=$2 code=0
    shift 2
    "$@" >"$work/.check" 2>&1 </dev/null || code=$?
    if [ "$code" = "$wanted" ]; then
        pass "$sentence"
    else
        echo "exit code $code, not $wanted, of: $*" >>"$work/.check"
        fail "$sentence" "$work/.check"
        return 1
    fi
}

# check_equal SENTENCE GOT WANT
check_equal() {
    if [ "$2" = "$3" ]; then
        pass "$1"
    else
        printf 'got:  %s\nwant: %s\n' "$2" "$3" >"$work/.check"
        fail "$1" "$work/.check"
        return 1
    fi
}

# check_match SENTENCE EXTENDED_REGEX FILE: some line of FILE matches.
check_match() {
    if grep -Eq -- "$2" "$3"; then
        pass "$1"
    else
        { echo "no line matches $2 in:"; head -c 20000 "$3"; } >"$work/.match"
        fail "$1" "$work/.match"
        return 1
    fi
}

# wait_until TRIES COMMAND...: polls a state that only another process can
# change, often at first; gives up after TRIES tenths of a second or a little
# more.
wait_until() {
    local tries=$1 soon=50
    shift
    while ! "$@" >/dev/null 2>&1; do
        if [ $((soon -= 1)) -ge 0 ]; then
            sleep 0.01
            continue
        fi
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.1
    done
}

# trainers PID: what PID has started that trains: it, or those below it that
# have started nobody, but no coordinator.
trainers() {
    local child children
    children=$(pgrep -P "$1")
    for child in $children; do trainers "$child"; done
    [ -n "$children" ] ||
        grep -aqs "skein.coordinator" "/proc/$1/cmdline" || echo "$1"
}

# frozen PID COMMAND...: runs COMMAND while what PID has started does not train:
# a command that waits in vain for what they hold would wait beside busy cores.
frozen() {
    local code=0 busy
    mapfile -t busy < <(trainers "$1")
    shift
    kill -STOP "${busy[@]}"
    "$@" || code=$?
    kill -CONT "${busy[@]}"
    return $code
}

# hold_ports COUNT: sets `ports` to ports of loopback that nobody else is given
# until the script ends.
hold_ports() {
    read -r -a ports < <(python3 "$root/tests/e2e/hold_ports.py" "$1" $$)
    [ ${#ports[@]} = "$1" ] || exit 70
}

# docs MARK: runs the commands that docs/tasks/slurm.md has below <!-- MARK -->.
docs() {
    local commands
    commands=$(sed -n "/^<!-- $1 -->\$/,/^[^ <]/s/^    //p" \
        "$root/docs/tasks/slurm.md")
    [ -n "$commands" ] && eval "$commands"
}

# can_make_networks: whether this user may make network namespaces.
can_make_networks() {
    [ "$(id -u)" = 0 ] && command -v ip >/dev/null &&
        ip netns add "skein-probe-$$" 2>/dev/null &&
        ip netns del "skein-probe-$$"
}

finish() {
    local line="$passed passed, $failed failed"
    [ "$skipped" = 0 ] || line="$line, $skipped skipped"
    echo "$line"
    [ "$failed" = 0 ]
    exit
}
