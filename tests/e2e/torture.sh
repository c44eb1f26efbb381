#!/usr/bin/env bash
# torture.sh - `skein torture`: random kills and leaves, and the weights are the
# same.
#
# Covers cli/elastic/torture.c over what elastic.sh and leaves.sh do one by one.
# SKEIN_SEED=N repeats the kills and leaves of a failure.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
sed -i 's/, shards: 2//' tiny.yaml # as many as there are nodes
seed=${SKEIN_SEED:-$(($$ % 30000 + 1))}
echo "seed $seed of the kills: SKEIN_SEED repeats them"
"$skein" torture tiny.yaml --local-nodes 3 --kills 6 --leaves 2 \
    --seed "$seed" --json \
    -o checkpoint.path=torture -o train.epochs=300 \
    -o train.evaluate.every_epochs=0 >torture.json \
    2>torture.err </dev/null
check_equal "skein torture: exit code" $? 0 || tail -n 40 torture.json \
    torture.err
check_equal "all kills were made" "$(event torture kills torture.json)" 6
check_equal "one of them the coordinator's" \
    "$(event torture kills_coordinator torture.json)" 1
check_equal "and two left and came back" \
    "$(event torture leaves torture.json)" 2
check_equal "and the weights are the same after kills and leaves" \
    "$(event torture same_weights torture.json)" True
check_code 73 "and another one wants a folder of its own" \
    "$skein" torture tiny.yaml --local-nodes 3 -o checkpoint.path=torture

"$skein" torture tiny.yaml --local-nodes 4 --leaves 2 --leaves-together 3 \
    --seed "$seed" --json -o checkpoint.path=together -o train.epochs=200 \
    -o train.evaluate.every_epochs=0 >together.json 2>together.err </dev/null
check_equal "skein torture --leaves-together: exit code" $? 0 ||
    tail -n 40 together.json together.err
check_equal "three of four left twice" "$(event torture leaves together.json)" 2
check_equal "and the weights are the same after leaves" \
    "$(event torture same_weights together.json)" True
finish
