#!/usr/bin/env bash
# partial.sh - after a death survivors keep what they have (recovery: partial).
#
# Covers topology/cluster/composing.c, cli/base/follow.c, cli/elastic/torture.c,
# actors/runtime/system_run.c (cuts): real processes, kill -9 with the folder,
# two at once, one more while the others write, a disk that is full then. No
# block may have a batch twice, and no more may be lost than was told.
# SKEIN_SEED=N repeats the kills.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/pair.sh
. "$(dirname "$0")/pair.sh"
# shellcheck source=tests/e2e/members.sh
. "$(dirname "$0")/members.sh"
tiny_model
sed -i -e 's/, shards: 2//' -e 's/^train:/train:\n  window: 4/' tiny.yaml
for name in a b c d lead; do
    "$skein" keygen "$name.key" >/dev/null || exit 70
done
seed=${SKEIN_SEED:-$(($$ % 30000 + 1))}
echo "seed $seed of the kills: SKEIN_SEED repeats them"
epochs=600
members_file=four.yaml
cat tiny.yaml - >four.yaml <<YAML
coordinator:
  address: "tcp://127.0.0.1:${ports[4]}"
  key: lead.key
  recovery: partial
  balance: false
nodes:
  - { name: a, address: "tcp://127.0.0.1:${ports[0]}", key: a.key }
  - { name: b, address: "tcp://127.0.0.1:${ports[1]}", key: b.key }
  - { name: c, address: "tcp://127.0.0.1:${ports[2]}", key: c.key }
  - { name: d, address: "tcp://127.0.0.1:${ports[3]}", key: d.key }
YAML
# A death right at a checkpoint costs nothing, and needs no cut: it has to come
# some way behind one, and before the next one, which a fast machine saves after
# a second (2,200 batches, of which .3 s are a fourth).
every=2400
long=(-o train.evaluate.every_epochs=0 -o checkpoint.every_batches=$every
    -o checkpoint.every_epochs=0)

# begin RUN [OPTION...]: all four train, and have saved.
begin() {
    lead "$1" "${long[@]}" "${@:2}"
    lead_pid=$started
    for name in a b c d; do
        member "$1" $name "${long[@]}" "${@:2}"
        eval "pid_$name=$started"
    done
    await "$1: four begin" 'generation 1 from batch 0: a, b, c and d' \
        "$1.lead.json"
    await "$1: and save" '"checkpoint"' "$1.a.json"
    sleep 0.3 # there must be something behind it to keep
}
# strike RUN NAME...: they die, and all that they had with them.
strike() {
    local run=$1 name victims=()
    shift
    for name in "$@"; do eval "victims+=(\$pid_$name)"; done
    kill -9 "${victims[@]}"
    for name in "$@"; do find "$run/$name" -mindepth 1 -delete; done
}
# ends RUN: it comes to its end, and its ledger closes.
ends() {
    check "$1: the run comes to its end" wait "$lead_pid"
    check "$1: no block had a batch twice, and no more is lost than reported" \
        python3 - "$1" <<'PYTHON'
import glob, json, sys
events = [json.loads(line) for name in glob.glob(sys.argv[1] + ".*.json")
          for line in open(name)]
done = [e for e in events if e.get("event") == "done"][-1]
told = sum(e["lost"] for e in events if e.get("event") == "partial")
print(done["lost"], told, done["applied_twice"])
assert done["applied_twice"] == 0
assert 0 <= done["lost"] <= told
PYTHON
}
count_of() { grep -c '"event":"partial"' "$1.lead.json"; }

# --- one, and one more when all is whole again -----------------------------
begin one
strike one c
await "one: the others keep what they have" '"partial","generation":2' \
    one.lead.json
check_match "one: the journal records that this start was composed" \
    '"generation":2,.*"composed":true' one/coordinator.journal
check_match "  and which generation saved the last checkpoint" \
    '"saved":[0-9]*,"generation":1' \
    one/coordinator.journal
check "one: the dead one's blocks are set back by a checkpoint's distance" \
    python3 - $every <<'PYTHON'
import json, sys
every = int(sys.argv[1])
event = [e for e in map(json.loads, open("one.lead.json"))
         if e["event"] == "partial"][0]
print(event)
behind = event["batch"] - event["from"]
assert 0 < behind <= every + 8, event
# At most a window is lost of what others keep.
assert event["back"] * behind <= event["lost"], event
assert event["lost"] <= event["back"] * behind + event["kept"] * 8, event
assert event["kept"] > event["back"] > 0, event
PYTHON
await "one: and save that first" 'batch-[0-9]*-g000002' one.a.json
check_code 1 "one: then no cut is left" test -e one/a/cut
sleep 0.3
strike one a
await "one: who leads may die, too" '"partial","generation":3' one.lead.json
ends one

# --- two at once -----------------------------------------------------------
begin two
strike two a c
await "two: the other two keep what they have" '"partial"' two.lead.json
ends two

# --- one more while the others write ---------------------------------------
begin late
strike late b
await "late: it is noticed" 'b is (gone|silent)' late.lead.json
strike late d
await "late: two are left" ': a and c' late.lead.json
ends late

# --- a worker alone --------------------------------------------------------
begin worker
# The one that trains is a child of the child.
victim=$(pgrep -P "$(pgrep -P "$pid_b" | head -1)" | head -1)
kill -9 "${victim:-$(pgrep -P "$pid_b" | head -1)}"
await "worker: the others keep what they have" '"partial"' worker.lead.json
await "worker: and its member continues with them" \
    'generation 2 .*a, b, c and d' worker.lead.json
ends worker

# --- a disk that is full just then -----------------------------------------
mkdir -p full/a
if [ "$(id -u)" = 0 ] &&
    mount -t tmpfs -o size=24m none full/a 2>/dev/null; then
    at_exit "umount -l '$work/full/a'"
    begin full
    dd if=/dev/zero of=full/a/filled bs=64k 2>/dev/null
    strike full c
    await "full: the others continue" \
        'generation [2-9].*; (c|a) ' full.lead.json
    rm -f full/a/filled
    ends full
else
    skip "a disk that is full when a cut is written" "it takes a mount"
fi

# --- by the dozen ----------------------------------------------------------
"$skein" torture tiny.yaml --local-nodes 3 --kills 5 --seed "$seed" --json \
    -o coordinator.recovery=partial -o train.epochs=200 \
    -o checkpoint.every_batches=190 -o checkpoint.every_epochs=0 \
    -o train.evaluate.every_epochs=0 -o checkpoint.path=torture \
    >torture.json 2>torture.err </dev/null
check_equal "torture: kills are survived: $(cat torture.err)" $? 0
check "torture: and some without a rollback" grep -q '"event":"partial"' \
    torture.json
check_code 78 "a run whose bits are promised is refused" "$skein" check \
    tiny.yaml -o coordinator.recovery=partial -o train.reduction=fixed
finish
