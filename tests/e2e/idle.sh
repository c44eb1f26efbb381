#!/usr/bin/env bash
# idle.sh - a run gives way to others on its machine, and learns the same.
#
# Covers cli/base/worker_yielding.c, topology/yielding/notice.c,
# cli/base/supervise.c and cli/base/trainer.c. Spinners stand for the owner's
# work; what no test can do to a machine (its memory, its battery) comes from a
# false /proc and /sys, which SKEIN_IDLE_ROOT names. On a machine
# that is busy all the time a polite run hardly moves: only two short ones are
# waited for.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
mkdir -p false/proc

idle=(-o idle.enabled=true -o idle.reserve_cores=0)
quiet=(-o train.evaluate.every_epochs=0 -o checkpoint.every_batches=0
    -o checkpoint.every_epochs=0)

# start NAME OPTION...: in the background; the command's process is $pid.
start() {
    local name=$1
    shift
    "$skein" train tiny.yaml --json "${quiet[@]}" -o checkpoint.path="$name" \
        "$@" >>"$name.json" 2>>"$name.err" </dev/null &
    pid=$!
}
worker_of() { pgrep -P "$1" | head -n 1; }
says() { grep -q "$1" "$2.json"; }
spin() { while :; do :; done; }
start_spinners() {
    spinners=()
    for ((k = 1; k < units; k++)); do
        spin &
        spinners+=($!)
    done
}
end_spinners() {
    kill "${spinners[@]}"
    wait "${spinners[@]}" 2>/dev/null
    spinners=()
}
spinners=()
at_exit 'kill -9 "${spinners[@]}" 2>/dev/null'
units=$(nproc)

# masks PID: the different sets of processors that its threads may use.
masks() {
    local task
    for task in /proc/"$1"/task/*; do
        grep Cpus_allowed_list "$task/status"
    done 2>/dev/null | sort -u
}
all_on_one_core() { [[ $(masks "$1") =~ ^Cpus_allowed_list:.[0-9]+$ ]]; }
is_stopped() { grep -q '^State:.T' "/proc/$1/status"; }
groups() { find /sys/fs/cgroup -maxdepth 2 -name 'skein-idle-*' 2>/dev/null; }

# --- what it learns -------------------------------------------------------
# Some seconds even where an epoch takes 5 ms: the first look comes after one.
a_while=(-o train.epochs=1000)
start whole "${a_while[@]}"
wait "$pid"
if [ "$units" -gt 1 ]; then
    start_spinners
    start yielding "${idle[@]}" "${a_while[@]}"
    wait "$pid"
    end_spinners
    check_match "a run that has others beside it goes down to one core" \
        '"action":"threads","threads":1,' yielding.json
    check_equal "and learns the same as alone" "$(sha_of yielding.json)" \
        "$(sha_of whole.json)"
else
    skip "a run goes down to one core" "this machine has one"
fi
check "every line is still JSON" every_line_is_json yielding.json

# --- down, up, and a notice -----------------------------------------------
start long "${idle[@]}" -o train.epochs=1000000 -o idle.notice.file=leave \
    -o idle.notice.every_s=0.2
check "it reports how it gives way" wait_until 300 says '"action":"begin"' long
check "and how many cores are used" wait_until 300 says '"event":"start"' long
worker=$(worker_of "$pid")
check_match "it is the first to be killed where memory ends" '^1000$' \
    "/proc/$worker/oom_score_adj"
if [ "$units" -gt 1 ]; then
    start_spinners
    check "all threads are held to one core" \
        wait_until 600 all_on_one_core "$worker"
    end_spinners
    if wait_until 900 says "\"action\":\"threads\",\"threads\":$units," long
    then
        pass "the cores come back when nobody else needs them"
        check_equal "and each thread has its own again" \
            "$(masks "$worker" | wc -l)" "$((units + 1))"
    else
        skip "the cores come back" "others use this machine all the time"
    fi
fi
touch leave
wait "$pid"
check_equal "a notice ends the run well" "$?" 0
check_match "with the source of the notice" \
    '"action":"leave","source":"file","what":"leave"' long.json
check_match "and what was saved" '"event":"stopped","batch":[0-9]' long.json
check_match "and what was harvested" \
    '"action":"end","seconds":[0-9.]*,"cores":[0-9]*,"core_seconds":' long.json
check_equal "nothing is left of its control group" "$(groups)" ""
start asked "${idle[@]}" -o train.epochs=1000000 \
    -o "idle.notice.command=test -e leave" -o idle.notice.every_s=0.2
wait "$pid"
check_equal "a command may give the notice" "$?" 0
check_match "which is reported, too" '"action":"leave","source":"command"' \
    asked.json

# --- a death --------------------------------------------------------------
start dead "${idle[@]}" -o train.epochs=1000000
if wait_until 300 says '"action":"begin"' dead && [ -n "$(groups)" ]; then
    worker=$(worker_of "$pid")
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    # What is idle takes its time to die on a busy machine.
    gone() { ! kill -0 "$worker"; }
    wait_until 600 gone
    start after "${idle[@]}" -o train.epochs=1
    wait "$pid"
    check_equal "the next run removes the group of one that was killed" \
        "$(groups)" ""
else
    kill -9 "$pid"
    skip "the group of a dead run is removed" "no control group can be made"
fi

# --- memory and power, of a machine of our making --------------------------
memory_free() { # PERCENT
    printf 'MemTotal: 100 kB\nMemAvailable: %d kB\n' "$1" >false/new
    mv false/new false/proc/meminfo
}
supply=false/sys/class/power_supply/BAT0
mkdir -p $supply
echo Battery >$supply/type
echo Discharging >$supply/status
memory_free 50
SKEIN_IDLE_ROOT=false start paused "${idle[@]}" -o train.epochs=1000000 \
    -o idle.grace_s=0
paused=$pid
check "a battery pauses it" wait_until 300 says '"paused":true' paused
check "the worker stands still" \
    wait_until 50 is_stopped "$(worker_of "$paused")"
kill -TERM "$paused"
wait "$paused"
check_equal "a paused run can be ended well" "$?" 0
check_match "with a checkpoint, or before there was anything to save" \
    '"event":"stopped"' paused.json
SKEIN_IDLE_ROOT=false start paused "${idle[@]}" -o train.epochs=1000000 \
    -o train.max_batches=$(($(batch_of paused 2>/dev/null) + 10)) \
    -o idle.grace_s=0 --resume
paused=$pid
echo Full >$supply/status

mkdir -p more/proc
printf 'MemTotal: 100 kB\nMemAvailable: 50 kB\n' >more/proc/meminfo
SKEIN_IDLE_ROOT=more start lent "${idle[@]}" -o train.epochs=1000000
lent=$pid
wait_until 300 says '"event":"start"' lent
printf 'MemTotal: 100 kB\nMemAvailable: 5 kB\n' >more/proc/meminfo
check "memory that others need is reported" \
    wait_until 300 says '"action":"memory","needed":true' lent
check "the run is saved, and its worker ends" \
    wait_until 300 says '"event":"stopped"' lent
no_worker() { [ -z "$(worker_of "$1")" ]; }
check "so that all memory is given back" wait_until 100 no_worker "$lent"
printf 'MemTotal: 100 kB\nMemAvailable: 50 kB\n' >more/proc/meminfo
check "the run continues when memory is available again" \
    wait_until 1200 says '"event":"resume"' lent
kill -TERM "$lent"
wait "$lent"
check_equal "and ends well" "$?" 0
wait "$paused"
check_equal "a run that was on a battery ends well, too" "$?" 0
check "every line of these is JSON" every_line_is_json lent.json

# --- what leaves for other nodes -------------------------------------------
up() { # NAME OPTION...
    local name=$1
    shift
    timeout 300 "$skein" up tiny.yaml --local-nodes 2 --json \
        -o checkpoint.path="$name" -o train.epochs=3 -o train.reduction=fixed \
        "$@" >"$name.json" 2>"$name.err" </dev/null
}
check "two nodes train" up pair
check "and with a bandwidth of 1 Mbit/s each" \
    up slow "${idle[@]}" -o idle.bandwidth=1
check_equal "to the same weights" "$(sha_of slow.json)" "$(sha_of pair.json)"
sent=$(event "done" wire_bytes_sent slow.json)
seconds=$(event "done" seconds slow.json)
check "no more leaves than that, but for a burst each" \
    python3 -c "assert 1e5 < $sent < 250e3 * $seconds + 2 * 100e3, \
        ($sent, $seconds)"

# --- the plan ---------------------------------------------------------------
check_code 71 "a plan that needs more than its share is refused" \
    "$skein" train tiny.yaml "${idle[@]}" -o idle.memory=0.01 \
    -o model.layers.hidden.units=65536 -o checkpoint.path=big
finish
