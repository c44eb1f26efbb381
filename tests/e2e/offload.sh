#!/usr/bin/env bash
# offload.sh - moments in a file: the same model, nothing left, and no surprise
# in the middle of a run.
#
# Covers actors/rows/offload.c, actors/rows/updater.c, topology/plan/plan_make.c
# and model_run.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
mkdir disk
key=train.optimizer.offload

train() { # NAME OPTION...
    local name=$1
    shift
    "$skein" train tiny.yaml --json -o checkpoint.path="$name" \
        -o train.epochs=12 "$@" >>"$name.json" 2>>"$name.err" </dev/null
}
in_file=(-o "$key=file" -o "${key}_path=disk")
disk_is_empty() { [ -z "$(ls -A disk)" ]; }

train memory -o $key=none
sha=$(sha_of memory.json)
train file "${in_file[@]}"
check_equal "a run with its moments in a file ends the same" \
    "$(sha_of file.json)" "$sha"
check "  and leaves nothing in its folder" disk_is_empty
check "  its start event has the size of the file" \
    test "$(event start offload_mb file.json)" -gt 0
check "  and its checkpoints have the same moments" \
    cmp <(cd memory/latest/ && cat -- *.safetensors) \
    <(cd file/latest/ && cat -- *.safetensors)
train copies.memory -o $key=none -o train.updates=copy
train copies.file "${in_file[@]}" -o train.updates=copy
check_equal "a run whose shards have copies ends the same" \
    "$(sha_of copies.file.json)" \
    "$(sha_of copies.memory.json)"
"$skein" plan tiny.yaml "${in_file[@]}" -o checkpoint.path=planned >plan.yaml
"$skein" run plan.yaml --json >planned.json 2>planned.err </dev/null
train five -o train.epochs=5
check_equal "what \`plan\` prints runs" "$(sha_of planned.json)" \
    "$(sha_of five.json)"

# --- a run that is killed ----------------------------------------------------
train killed "${in_file[@]}" -o train.epochs=100000 &
wait_until 300 test -e killed/latest
mapped() { # the workers' mapping of a file in disk/
    grep -l "$work/disk/" /proc/[0-9]*/maps 2>/dev/null
}
nameless() { [ -n "$(mapped)" ] && disk_is_empty; }
check "while it runs, the file is mapped and has no name" nameless
parent=$(pgrep -P $! | head -n 1)
worker=$(pgrep -P "$parent" | head -n 1)
kill -9 "$parent" "$worker"
wait $! 2>/dev/null
gone() { [ -z "$(mapped)" ] && disk_is_empty; }
check "after kill -9 nothing of it is left" wait_until 100 gone

# A run that is stopped in the middle goes on with its moments elsewhere.
for first in file none; do
    name=stopped.$first
    second="file"
    [ "$first" = none ] || second=none
    "$skein" train tiny.yaml --json -o checkpoint.path="$name" \
        -o train.epochs=12 -o $key="$first" >"$name.json" 2>"$name.err" \
        </dev/null &
    wait_until 300 test -e "$name/latest"
    kill -TERM $!
    wait $!
    train "$name" --resume -o $key="$second"
    check_equal "with $first, then with $second, it ends the same" \
        "$(sha_of "$name.json")" "$sha"
done

# --- where it goes -----------------------------------------------------------
wide=(-o model.layers.hidden.units=2048)
"$skein" plan tiny.yaml "${wide[@]}" -o $key=none >none.plan
need=$(sed -nE '1s/.*about ([0-9]+) MiB.*/\1/p' none.plan)
"$skein" plan tiny.yaml "${wide[@]}" -o resources.memory=$((need - 1))MiB \
    >auto.plan
check_match "moments that do not fit go to a file by themselves" \
    "^# adam's moments: [0-9]+ MiB more, in an unnamed file in run$" \
    auto.plan
train auto "${wide[@]}" -o resources.memory=$((need - 1))MiB -o train.epochs=1
train roomy "${wide[@]}" -o $key=none -o train.epochs=1
check_match "  with a warning" "warning: adam's moments do not fit into \
memory: [0-9]+ MiB go to an unnamed file in auto; " auto.err
check_equal "  to the same end" "$(sha_of auto.json)" "$(sha_of roomy.json)"
cat >placed.yaml <<'YAML'
skein: 1
data: { train: train.txt }
model: { layers: [ { name: hidden, units: 32 }, { name: output } ] }
train:
  optimizer:
    kind: adam
    offload: file
YAML
(ulimit -f 1000 && "$skein" plan placed.yaml -o checkpoint.path=small \
    >small.out 2>small.err)
check_equal "a disk without room is refused" $? 74
check_match "  in one line, with its place" "^skein: placed.yaml:7:14: adam's \
moments need a file of [0-9]+ MiB in small, where 0 MiB are free; give -o \
train.optimizer.offload_path=FOLDER on a disk with more, " small.err
mkdir small
"$skein" plan tiny.yaml -o $key=file -o ${key}_path=small \
    -o checkpoint.path=fresh >small.yaml
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=1m tmpfs small 2>mount.log; then
    at_exit "umount '$work/small' 2>/dev/null"
    check_code 74 "  which a mounted one is, too" "$skein" train tiny.yaml \
        -o $key=file -o ${key}_path=small -o checkpoint.path=refused
    check_code 74 "  and one that the plan could not look at" \
        "$skein" run small.yaml
    umount small
else
    skip "a mounted disk" "only root can mount a small one"
fi
check_code 73 "a folder that is not there is refused" "$skein" plan tiny.yaml \
    -o $key=file -o ${key}_path=no/such
check_code 78 "a folder for a file that is not wanted is refused" \
    "$skein" check tiny.yaml -o $key=none -o ${key}_path=disk
check_code 78 "so is one for an optimizer without moments" \
    "$skein" check tiny.yaml -o train.optimizer.kind=sgd -o $key=file
finish
