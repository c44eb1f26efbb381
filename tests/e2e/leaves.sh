#!/usr/bin/env bash
# leaves.sh - several nodes are told to leave at the same moment, and their
# folders are deleted when they have: nothing is lost.
#
# Covers topology/elastic/membership_leave.c, topology/plan/plan_keepers.c,
# actors/checkpoints/keeper.c, cli/elastic/leaving.c,
# topology/cluster/run_journal.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/pair.sh
. "$(dirname "$0")/pair.sh"
# shellcheck source=tests/e2e/members.sh
. "$(dirname "$0")/members.sh"
three_model
sed -i 's/lead.key }/lead.key, least: 2 }/' three.yaml
epochs=100000
long=(-o train.evaluate.every_epochs=0)

# --- two of three, where two are to train ------------------------------------
lead few --wait 600 "${long[@]}"
lead_pid=$started
for name in a b c; do
    member few $name --grace 60 "${long[@]}"
    eval "pid_$name=$started"
done
await "three members train" '"checkpoint"' few.a.json
# shellcheck disable=SC2154
kill -TERM "$pid_a" "$pid_b"
await "those who leave hand over what the third lacks" \
    'generation 2 from batch [0-9]+: c; .*hands? over' few.lead.json
check "and end before their notice is over" wait "$pid_a" "$pid_b"
rm -rf few/a few/b
saved=$(readlink few/c/latest | cut -d- -f2)
await "who stays waits for others to train with" 'waiting for a and b' \
    few.lead.json
member few a "${long[@]}"
await "one that is back, and has nothing, makes two" \
    "generation 3 from batch [0-9]+: a and c" few.lead.json
check_match "the others continue from what was handed over" \
    "generation 3 from batch $((10#$saved)):" few.lead.json
kill -TERM "$lead_pid"
check "and stop well" wait "$lead_pid"

# --- all of them ------------------------------------------------------------
lead all "${long[@]}"
lead_pid=$started
for name in a b c; do
    member all $name --grace 60 "${long[@]}"
    eval "pid_$name=$started"
done
await "three members train again" '"checkpoint"' all.a.json
kill -TERM "$pid_a" "$pid_b" "$pid_c"
check "all that get SIGTERM end before their notice is over" \
    wait "$pid_a" "$pid_b" "$pid_c"
check_code 1 "in the generation that they trained in" \
    grep -q 'generation 2 from' all.lead.json
kill -TERM "$lead_pid"
wait "$lead_pid"

# --- what `skein torture` refuses; torture.sh has it ------------------------
check_code 64 "more than there are do not leave" "$skein" torture tiny.yaml \
    --local-nodes 3 --leaves 1 --leaves-together 4 -o checkpoint.path=no
check_code 64 "and how often is to be said" "$skein" torture tiny.yaml \
    --local-nodes 3 --leaves-together 2 -o checkpoint.path=no
finish
