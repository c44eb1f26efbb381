#!/usr/bin/env bash
# ranker.sh - what a network puts first, ordered anew by the features.
#
# Covers topology/predict/rank.c, topology/training/ensemble.c and
# cli/verb_join.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
ranked=(-o train.ranker_trees=2 --json)

# --- at the end of a training, and by hand ----------------------------------
check "a network is trained, and a ranker" "$skein" train tiny.yaml \
    "${ranked[@]}"
cp .check out
check "every line is JSON" every_line_is_json out
check_equal "one network" "$(grep -c '"event":"network"' out)" 1
check_match "the ranker has weights" '"event":"ranker",.*"weights":[1-9]' out
check_equal "its folder is gone" "$(find run -name 'network-*' | wc -l)" 0
check "the whole is evaluated as any run" "$skein" eval run --json
check_equal "with the scores that training printed" "$(event "done" p1 out)" \
    "$(event "eval" p1 .check)"
"$skein" train tiny.yaml -o checkpoint.path=alone --json >alone.out 2>&1
check_match "without ranker_trees there is none" '"event":"done"' alone.out
check_equal "and no event of one" "$(grep -c '"event":"ranker"' alone.out)" 0
check "it is fitted afterwards, too" \
    "$skein" join alone --trees 2 --into after --json
check "the answer is JSON" every_line_is_json .check
sha_in() {
    "$skein" inspect --json "$1" | grep -o '"weights_sha256":"[0-9a-f]*"'
}
check_equal "to the same weights" "$(sha_in after)" "$(sha_in run)"
taskset -c "$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')" \
    "$skein" join alone --trees 2 --into one >/dev/null
"$skein" join after --trees 2 --into twice >/dev/null
check_equal "a second time as the first" "$(sha_in twice)" "$(sha_in run)"
check_equal "on one core as on all" "$(sha_in one)" "$(sha_in run)"
check_match "without --json the same is printed as text" '^ranker 2 trees, ' \
    <("$skein" join alone --trees 2 --into again)
for number in 0 17 two ""; do
    check_code 64 "'$number' is no number of trees" \
        "$skein" join again --trees "$number" --into none
done
check_code 64 "one network alone is not joined" \
    "$skein" join again --into without
check "two networks and a ranker" "$skein" train tiny.yaml "${ranked[@]}" \
    -o train.ensemble=2 -o checkpoint.path=two
check_equal "units of both" "$(event "join" units .check)" 64
check "two with rankers of their own are joined" \
    "$skein" join run after --into plain
check_equal "without them" "$(find plain -name '*ranker*' | wc -l)" 0

# --- what it says ------------------------------------------------------------
check "it predicts" "$skein" predict run test.txt -k 30
cp .check many
"$skein" predict run test.txt -k 3 >few
check_equal "the first of many are those of few" \
    "$(cut -d' ' -f1-3 many | md5sum)" "$(md5sum <few)"
"$skein" predict run test.txt -k 100 >more
check_equal "the first of more are those of many" \
    "$(cut -d' ' -f1-30 more | md5sum)" \
    "$(md5sum <many)"
rm run/calibration
"$skein" predict run test.txt -k 100 >more
check "probabilities fall, and are at most 1 together" awk '
    { sum = 0; last = 2
      for (k = 1; k <= NF; k++) {
          split($k, part, ":"); sum += part[2]
          if (part[2] > last) exit 1
          last = part[2] }
      if (sum > 1.0001) exit 1 }' more
check "an index finds, the ranker orders" \
    "$skein" predict run --index test.txt -k 3

# --- refused ------------------------------------------------------------------
check_code 78 "17 are too many" "$skein" check tiny.yaml \
    -o train.ranker_trees=17
mv train.txt away.txt
check_code 66 "without the training file there is none" \
    "$skein" join alone --trees 2 --into none
check_match "the missing file is named" 'train\.txt' .check
check_code 73 "a folder that is taken is reported at once" \
    "$skein" join alone --trees 2 --into run
cp test.txt train.txt
check_code 78 "nor with another one" \
    "$skein" join alone --trees 2 --into none
check_match "and what to do" 'put the file back' .check
check_equal "no part of a ranker is left" "$(find none 2>/dev/null | wc -l)" 0
mv away.txt train.txt
check_match "a plan is without it" '^# without the ranker .2 trees' \
    <("$skein" plan tiny.yaml -o train.ranker_trees=2 -o checkpoint.path=plan)

# --- broken off ---------------------------------------------------------------
# The network is done, and the process was killed before the ranker was.
few=("${ranked[@]}" -o checkpoint.path=late)
"$skein" train tiny.yaml -o checkpoint.path=late/network-1 >/dev/null 2>&1
check_code 73 "it is not begun over its network" \
    "$skein" train tiny.yaml "${few[@]}"
check "the run continues" "$skein" train tiny.yaml "${few[@]}" --resume
check_match "with the network as it is" '"seed":1,"trained":true' .check
check_equal "to the same weights" "$(sha_of .check)" "$(sha_of out)"
check_equal "and removes what was left" \
    "$(find late -name 'network-*' | wc -l)" 0
check "a finished one is left as it is" \
    "$skein" train tiny.yaml "${few[@]}" --resume
check_match "its weights are the same" \
    "\"weights_sha256\":\"$(sha_of out)\"" .check

# --- asked to end -------------------------------------------------------------
# In the last batches of the network, and while the ranker is fitted.
long=("${ranked[@]}" -o checkpoint.path=asked -o train.epochs=400 -o
    train.evaluate.every_epochs=0 -o checkpoint.every_batches=0)
"$skein" train tiny.yaml "${long[@]}" >asked.out 2>&1 &
victim=$!
wait_until 300 grep -q '"epoch":2,' asked.out
kill -TERM "$victim"
wait "$victim"
check_equal "a stop is no failure" "$?" 0
check_equal "no ranker is fitted then" \
    "$(grep -c '"event":"ranker"' asked.out)" 0
mkdir slow # its network is trained
cp -r alone slow/network-1
"$skein" train tiny.yaml --json -o checkpoint.path=slow --resume \
    -o train.ranker_trees=16 >slow.out 2>&1 &
victim=$!
wait_until 300 grep -q '"trained":true' slow.out
kill -TERM "$victim"
wait "$victim"
check_equal "a stop while a ranker is fitted is no failure" "$?" 0
check_match "the stop is reported, or the run is done" \
    '"event":"(stopped|done)"' slow.out
check "the run continues" \
    "$skein" train tiny.yaml --json -o checkpoint.path=slow \
    --resume -o train.ranker_trees=16
"$skein" join alone --trees 16 --into sixteen >/dev/null
check_equal "to the same weights" "$(sha_in slow)" "$(sha_in sixteen)"

# --- on several nodes ---------------------------------------------------------
# `up` gives the files of `train`, also if it is told to stop meanwhile. Each
# node begins each network, and the first one fits the ranker and joins.
fixed=(-o train.reduction=fixed -o train.ranker_trees=16 -o train.epochs=3)
pair=("${fixed[@]}" -o train.ensemble=2)
sed 's/, shards: 2//' tiny.yaml >loose.yaml
up=(timeout 200 "$skein" up loose.yaml --local-nodes)
files_of() { (cd "$1/latest" && sha256sum -- *.safetensors); }
"$skein" train tiny.yaml "${pair[@]}" -o checkpoint.path=p1 >/dev/null
for nodes in 2 3; do
    check "$nodes nodes train two networks and a ranker" \
        "${up[@]}" $nodes "${pair[@]}" -o checkpoint.path=p$nodes
    check_equal "with the files of one process" \
        "$(files_of p$nodes)" "$(files_of p1)"
    check_match "it prints what the ranker took" \
        '^ranker 16 trees.*CPU s' .check
    check_equal "and removes what it joined" \
        "$(find p$nodes -name 'network-*' | wc -l)" 0
done
check "copies change nothing" "${up[@]}" 2 "${pair[@]}" \
    -o checkpoint.copies=2 -o checkpoint.path=copies
check_equal "  in the files" "$(files_of copies)" "$(files_of p1)"
# Five times the points, so that there is time to stop the ranker.
sed '1s/^600/3000/' train.txt >more.txt
for _ in 2 3 4 5; do sed 1d train.txt; done >>more.txt
fixed+=(-o data.train=more.txt)
"$skein" train tiny.yaml "${fixed[@]}" -o checkpoint.path=f1 >/dev/null
mkfifo f2.pipe
"${up[@]}" 2 "${fixed[@]}" -o checkpoint.path=f2 --requeue-code 85 \
    >f2.pipe 2>&1 &
victim=$!
at_line 'done*' kill -TERM "$victim" <f2.pipe >f2.out
wait "$victim"
check_equal "a stop while the ranker is fitted has the requeue code" "$?" 85
check_match "and a command that continues" '^stopped, with all networks' f2.out
cp -r f2 f3
check "the nodes continue" "${up[@]}" 2 "${fixed[@]}" --resume \
    -o checkpoint.path=f2
check_equal "to the files of one process" "$(files_of f2)" "$(files_of f1)"
check "a run that is over is scored again" "${up[@]}" 2 "${fixed[@]}" \
    --resume --json -o checkpoint.path=f2
check_equal "once" "$(grep -c '"event":"done"' .check)" 1
check "one process continues it, too" "$skein" train --resume f3
check_equal "to the same files" "$(files_of f3)" "$(files_of f1)"

# --- damaged ------------------------------------------------------------------
printf '\377\377\377' | dd of=late/latest/output.ranker.safetensors \
    bs=1 seek=900 conv=notrunc 2>/dev/null
check_code 65 "a damaged ranker is no model" "$skein" eval late
check_match "the ranker is named" 'ranker' .check
rm late/latest/output.ranker.safetensors
check_code 65 "nor is a missing one" "$skein" eval late
finish
