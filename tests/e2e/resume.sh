#!/usr/bin/env bash
# resume.sh - a run that is killed or stopped goes on to the same weights.
#
# Covers cli/base/supervise.c, cli/verb_train.c, topology/run/resume.c,
# topology/run/model_run.c, actors/course/course.c,
# actors/checkpoints/keeper.c and actors/course/progress.c. SKEIN_SEED=N
# repeats the moments of an earlier failure; ROUNDS=N kills more.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
RANDOM=${SKEIN_SEED:-$(($$ % 32768))}
echo "seed $RANDOM of the moments: SKEIN_SEED repeats them"
RANDOM=${SKEIN_SEED:-$RANDOM}
epochs=12
# Of kills at random a few are enough where long tests are left out.
rounds=${ROUNDS:-${SKEIN_TESTS:+7}} rounds=${rounds:-3}

train() { # NAME OPTION...
    local name=$1
    shift
    "$skein" train tiny.yaml --json -o checkpoint.path="$name" \
        -o train.epochs=$epochs "$@" >>"$name.json" 2>>"$name.err" </dev/null
}
# The same in the background; the command's process is $pid.
start() {
    local name=$1
    shift
    "$skein" train tiny.yaml --json -o checkpoint.path="$name" \
        -o train.epochs=$epochs "$@" >>"$name.json" 2>>"$name.err" </dev/null &
    pid=$!
}
worker_of() { pgrep -P "$1" | head -n 1; }

# kill_at_random NAME VICTIM OPTION...: kills the run, or its worker, at a
# random moment of its life; what is killed too late has ended well.
kill_at_random() {
    local name=$1 victim=$2 moment
    shift 2
    # Spread over the life of a run that nobody disturbs, start included.
    moment=$((RANDOM * lifetime_ms / 32768))
    start "$name" --resume "$@"
    sleep "$(printf '0.%03d' "$moment")"
    case $victim in
    parent) kill -9 "$pid" ;;
    worker) worker=$(worker_of "$pid") && kill -9 "$worker" ;;
    esac 2>/dev/null
    wait "$pid" 2>/dev/null
}

# disturbed SENTENCE NAME ROUNDS OPTION...: kills NAME again and again, then
# lets it end. With the same options a run is undisturbed before.
disturbed() {
    local sentence=$1 name=$2 rounds=$3 round begin sha
    shift 3
    begin=$(date +%s%3N)
    train "$name.whole" "$@"
    lifetime_ms=$(($(date +%s%3N) - begin))
    [ "$lifetime_ms" -lt 999 ] || lifetime_ms=999
    sha=$(sha_of "$name.whole.json")
    for ((round = 0; round < rounds; round++)); do
        if [ $((round % 3)) = 2 ]; then
            kill_at_random "$name" worker "$@"
        else
            kill_at_random "$name" parent "$@"
        fi
        # A run that came to its end makes room for the next one.
        if grep -q '"event":"done"' "$name.json"; then
            check_equal "$sentence (ended in round $round)" \
                "$(sha_of "$name.json")" "$sha"
            rm -rf "$name" "$name.json"
        fi
    done
    train "$name" --resume "$@"
    check_equal "$sentence" "$(sha_of "$name.json")" "$sha"
    check "  and every line that was printed is JSON" \
        every_line_is_json "$name.json"
}

disturbed "window 1: killed at random moments, ends the same" \
    killed1 "$rounds" -o train.window=1
# What `auto` takes where labels are many.
uniform=(-o model.layers.output.sampler.kind=uniform
    -o model.layers.output.sampler.rows=100)
disturbed "window 4, uniform: killed at random moments, ends the same" \
    killed4 "$rounds" -o train.window=4 "${uniform[@]}"
disturbed "validation and patience: the same best model" \
    stale "$rounds" -o train.window=4 -o train.validate=0.1 \
    -o train.patience=3 -o train.epochs=20
check_equal "  of the same epoch, with the same scores" \
    "$(event "done" best_epoch stale.json) $(event "done" p1 stale.json)" \
    "$(event "done" best_epoch stale.whole.json) $(event "done" p1 \
        stale.whole.json)"
check "  and best names it" test -f stale/best/manifest.json

# --- the supervisor ----------------------------------------------------------
# Long enough that the worker is there to be killed.
long=(-o train.epochs=100000 -o train.window=4)
has_checkpoint() { [ -n "$(ls -d "$1"/batch-* 2>/dev/null)" ]; }
has_event() { grep -q "\"event\":\"$1\"" "$2"; }

start again "${long[@]}" -o train.max_batches=400
wait_until 100 has_checkpoint again
kill -9 "$(worker_of "$pid")"
wait "$pid"
check_equal "a killed worker is started again by itself" $? 0
check "  with a warning on standard error" \
    grep -Fxq "skein: warning: the worker \
process was killed by signal 9 (Killed); it starts again from its last \
checkpoint" again.err
check "  and in an event" has_event warning again.json
check "  it resumes" has_event resume again.json
train again.whole "${long[@]}" -o train.max_batches=400
check_equal "  and ends the same" "$(sha_of again.json)" \
    "$(sha_of again.whole.json)"

# --- ends that are asked for -------------------------------------------------
for name in INT TERM; do
    start "$name" "${long[@]}"
    wait_until 100 has_checkpoint "$name"
    kill -$name "$pid"
    wait "$pid"
    check_equal "SIG$name: the run ends with 0" $? 0
    check "  after it was stopped" has_event stopped $name.json
    batch=$(event stopped batch $name.json)
    check_equal "  and has a checkpoint of that batch" \
        "$(readlink $name/latest)" "$(printf 'batch-%012d' "$batch")"
    train $name --resume "${long[@]}" -o train.max_batches=$((batch + 30))
    check_equal "  --resume continues from there" \
        "$(event resume batch $name.json)" "$batch"
    check_equal "  to its end" "$(event "done" batches $name.json)" \
        $((batch + 30))
    train $name.whole "${long[@]}" -o train.max_batches=$((batch + 30))
    check_equal "  with the weights of a run that was not stopped" \
        "$(sha_of $name.json)" "$(sha_of $name.whole.json)"
    check "  seconds and CPU seconds add up" python3 -c '
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
for key in ("seconds", "cpu_seconds"):
    told = [event[key] for event in events if key in event]
    assert told == sorted(told), (key, told)
    stopped = [e for e in events if e["event"] == "stopped"][0]
    assert stopped[key] <= events[-1][key], key
' $name.json
done

# Held in a stopped state, the worker cannot end well before it is asked twice.
# told FORMER: other signals wait for it than FORMER, or it is no more.
told() {
    [ "$(grep -s ShdPnd "/proc/$worker/status")" != "$1" ]
}
# stopped: no signal of ours is on its way to the worker any more.
stopped() { grep -q '^State:.T' "/proc/$worker/status"; }
start twice "${long[@]}"
wait_until 100 has_checkpoint twice
worker=$(worker_of "$pid")
kill -STOP "$worker"
wait_until 100 stopped
for _ in once twice; do # not both before the parent has looked
    pending=$(grep -s ShdPnd "/proc/$worker/status")
    env kill -INT "$pid" # two of one sender within 5 ms are one (stop.c)
    wait_until 100 told "$pending"
done
kill -CONT "$worker" 2>/dev/null
wait "$pid"
check_equal "SIGINT twice ends the run at once" $? 130
check_code 78 "  it does not continue to fewer batches than it has" \
    train twice --resume "${long[@]}" -o train.max_batches=1
check "  but to more it does" train twice --resume "${long[@]}" \
    -o train.max_batches=$(($(batch_of twice) + 10))

# A person who waits at a terminal would take it for deaf.
script -qec "'$skein' train tiny.yaml -o checkpoint.path='on paper' \
-o train.epochs=100000" paper >/dev/null 2>&1 </dev/null &
pid=$!
wait_until 100 has_checkpoint "on paper"
kill -INT "$(pgrep -f "^$skein train tiny.yaml -o checkpoint.path=on paper" |
    head -n 1)"
wait "$pid"
check_equal "Ctrl-C at a terminal ends well, too" $? 0
check_match "  the user reads what happens, and what a second one does" \
    'skein: stopping: saving a checkpoint \(press Ctrl-C again to quit' paper
check_match "  and then the command that continues it, quoted for a shell" \
    "train tiny.yaml -o 'checkpoint.path=on paper' -o train.epochs=100000 \
--resume" paper
check_match "a second Ctrl-C names the way to continue" \
    '^skein: warning: the run was stopped at once; --resume continues from' \
    twice.err

# --- who may resume what -----------------------------------------------------
train fresh --resume -o train.window=1
check "--resume without a run starts at batch 0 with a warning" grep -Fxq \
    "skein: warning: there is no complete checkpoint to resume from; the run \
starts at batch 0" fresh.err
check_equal "  and trains the whole" "$(sha_of fresh.json)" \
    "$(sha_of killed1.whole.json)"
event "done" - fresh.json >first
train fresh --resume
check_equal "a finished run prints its done again, with exit code 0" \
    "$? $(tail -n 1 fresh.json | python3 -m json.tool --compact)" \
    "0 $(python3 -m json.tool --compact <first)"
"$skein" train tiny.yaml --resume -o checkpoint.path=fresh >fresh.txt
check_match "  as text without --json" \
    '^done +12 epochs in .*P@1 0\.[0-9]{4}' fresh.txt
check_equal "  and nothing else is JSON" "$(grep -c '{' fresh.txt)" 0
cp stale.json stale.first
train stale --resume -o train.window=4 -o train.validate=0.1 \
    -o train.patience=3 -o train.epochs=20
check_equal "  that of its best model too" \
    "$(event "done" - stale.json)" "$(event "done" - stale.first)"
check_code 73 "a folder that holds a run is refused" "$skein" train tiny.yaml \
    -o checkpoint.path=fresh
check_equal "  with the way out" "$(head -n 1 "$work/.check")" \
    "skein: fresh already holds a run; resume it, or choose another folder"
sed 's/path: run, //' tiny.yaml >pathless.yaml
check_code 64 "--resume needs a path" "$skein" train pathless.yaml --resume
check_equal "  and says how to give it" "$(head -n 1 "$work/.check")" \
    "skein: --resume needs to know which run to continue; give \
-o checkpoint.path=FOLDER"

start held "${long[@]}"
wait_until 100 has_checkpoint held
worker=$(worker_of "$pid")
begin=$(date +%s%3N)
frozen "$pid" check_code 75 "a folder in use is refused" "$skein" train \
    tiny.yaml --resume -o checkpoint.path=held
waited_ms=$(($(date +%s%3N) - begin))
check_equal "  with its holder" "$(head -n 1 "$work/.check")" \
    "skein: held is held by process $worker; wait for it, or choose another \
folder"
check "  after 5 seconds ($waited_ms ms)" test "$waited_ms" -ge 5000
kill -TERM "$pid"
wait "$pid"

# --- other folders -----------------------------------------------------------
mkdir -p deep/er
sed 's/train: /train: deep\/..\//' tiny.yaml >aside.yaml
"$skein" train aside.yaml --json -o checkpoint.path=aside -o train.epochs=1 \
    >aside.json 2>aside.err
"$skein" eval aside --json >aside.eval
(cd deep/er && "$skein" eval ../../aside --json) >aside.deep
check_equal "eval finds the data from another folder" \
    "$(event eval psp5 aside.deep)" "$(event eval psp5 aside.eval)"
check_equal "  predict, too" \
    "$(cd deep && "$skein" predict ../aside ../test.txt | sha256sum)" \
    "$("$skein" predict aside test.txt | sha256sum)"
start moved "${long[@]}"
wait_until 100 has_checkpoint moved
kill -9 "$pid"
wait "$pid" 2>/dev/null
(cd deep/er && "$skein" train ../../tiny.yaml --resume --json \
    -o checkpoint.path=../../moved -o train.window=4 -o train.epochs=100000 \
    -o train.max_batches=400 >>../../moved.json 2>>../../moved.err </dev/null)
check_equal "a run continues from another folder to the same end" \
    "$(sha_of moved.json)" "$(sha_of again.whole.json)"

# --- other layouts -----------------------------------------------------------
fixed=(-o train.reduction=fixed -o train.window=2)
for kind in exact uniform; do
    sampler=(-o "model.layers.output.sampler.kind=$kind")
    [ $kind = exact ] || sampler+=(-o model.layers.output.sampler.rows=100)
    train "whole.$kind" "${fixed[@]}" "${sampler[@]}" -o train.epochs=20
    start "$kind" "${fixed[@]}" "${sampler[@]}" -o train.epochs=20
    wait_until 100 has_checkpoint "$kind"
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    train "$kind" --resume "${fixed[@]}" "${sampler[@]}" -o train.epochs=20 \
        -o model.layers.output.shards=3 -o model.layers.hidden.shards=1
    check "$kind: resumes on 3 and 1 shards" has_event resume "$kind.json"
    check_equal "  and ends the same as on 2 and 2" \
        "$(sha_of "$kind.json")" "$(sha_of "whole.$kind.json")"
done

# --- a long file ------------------------------------------------------------
{
    cat tiny.yaml
    for k in {1..200}; do echo "# remark $k of many that stay with a run"; done
} >remarks.yaml
check "a file of many words trains, and its run continues" \
    "$skein" train remarks.yaml -o train.max_batches=3 -o checkpoint.path=words
finish
