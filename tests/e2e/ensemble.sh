#!/usr/bin/env bash
# ensemble.sh - several networks, trained one after the other, and joined.
#
# Covers topology/training/ensemble.c, topology/training/networks.c and
# cli/verb_join.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
three=(-o train.ensemble=3 --json)

# --- three at once, and by hand ---------------------------------------------
check "an ensemble is trained" "$skein" train tiny.yaml "${three[@]}"
cp .check out
check "every line is JSON" every_line_is_json out
check_equal "three networks were trained" "$(grep -c '"event":"network"' out)" 3
check_equal "each network from the next seed" \
    "$(grep -o '"seed":.' out | tr '\n' ,)" \
    '"seed":1,"seed":2,"seed":3,'
check_equal "four done events are printed" "$(grep -c '"event":"done"' out)" 4
check_equal "the folders of the networks are gone" \
    "$(find run -name 'network-*' | wc -l)" 0
check_equal "the joined model has all units" "$(event "join" units out)" 96
for seed in 1 2 3; do
    "$skein" train tiny.yaml -o train.seed=$seed \
        -o checkpoint.path=alone/$seed --json >alone.$seed 2>&1
done
check "runs are joined by hand" \
    "$skein" join alone/1 alone/2 alone/3 --into alone/all --json
cp .check joined
check "the answer is JSON" every_line_is_json joined
check_equal "as many units" "$(event "join" units joined)" 96
"$skein" inspect --json alone/all >looked
check_equal "the same weights" "$(sha_of out)" \
    "$(grep -o '"weights_sha256":"[0-9a-f]*"' looked | cut -d'"' -f4)"
check "the joined model is evaluated as any run" "$skein" eval run --json
check_equal "with the scores that training printed" "$(event "done" p1 out)" \
    "$(event "eval" p1 .check)"
check "the joined model predicts" "$skein" predict run test.txt -k 3
check_equal "a line a point" "$(grep -c : .check)" 200
check_match "without --json the same is printed as text" \
    '^model  3 networks side by side: ' \
    <("$skein" join alone/1 alone/2 alone/3 --into alone/again)

# --- refused ----------------------------------------------------------------
check_code 73 "it is not begun over another" \
    "$skein" train tiny.yaml "${three[@]}"
check_code 73 "nor joined over one" \
    "$skein" join alone/1 alone/2 --into alone/3
check_code 64 "one network is no ensemble" "$skein" join alone/1 --into no
check_code 64 "where to must be known" "$skein" join alone/1 alone/2
check_code 66 "what is not there is not joined" \
    "$skein" join alone/1 alone/none --into no
check_code 78 "17 are too many" "$skein" check tiny.yaml -o train.ensemble=17
check_code 78 "nodes that come and go train none" "$skein" check tiny.yaml \
    -o train.ensemble=2 -o checkpoint.path=none -o 'nodes=[{name: a}]' \
    -o 'coordinator={address: "tcp://127.0.0.1:7000"}'
check_match "with what to do" 'skein join' .check
check "a finished one is left as it is" \
    "$skein" train tiny.yaml "${three[@]}" --resume
check_match "its weights are the same" \
    "\"weights_sha256\":\"$(sha_of out)\"" .check
p1_of() { grep -o '"p1":[0-9.]*' "$1" | tail -n 1; }
check_equal "and its scores" "$(p1_of .check)" "$(p1_of out)"
check_match "inspect has the epochs of each" '^  network 3$' \
    <("$skein" inspect run)
check_match "a plan is of one of them" '^# one of 3 networks' \
    <("$skein" plan tiny.yaml -o train.ensemble=3 -o checkpoint.path=plan)

# --- killed, stopped, and resumed -------------------------------------------
long=("${three[@]}" -o checkpoint.path=killed -o train.epochs=10)
mkfifo events
"$skein" train tiny.yaml "${long[@]}" -o checkpoint.path=whole >whole.out 2>&1
for signal in KILL TERM; do
    rm -rf killed
    setsid "$skein" train tiny.yaml "${long[@]}" >events 2>&1 &
    victim=$!
    whom=$victim
    [ $signal = TERM ] || whom=-$victim
    # Soon after its first checkpoint the second network ends.
    at_line '*"network":2*' at_line '*"event":"checkpoint"*' \
        kill -$signal -- "$whom" <events >killed.out
    code=0
    wait "$victim" 2>/dev/null || code=$?
    [ $signal = KILL ] || check_equal "a stop is no failure" "$code" 0
    check "a part of an ensemble is evaluated by the networks that exist" \
        "$skein" eval killed
    check_match "with a warning" "killed is unfinished: 1 of its 3 \
networks are trained, and none are joined yet; this is network 1 of 3 alone" \
        .check
    check_equal "after SIG$signal there is no third network" \
        "$(find killed -name network-3 | wc -l)" 0
    check_code 73 "it is not begun over its networks" \
        "$skein" train tiny.yaml "${long[@]}"
    check "it continues after SIG$signal" \
        "$skein" train tiny.yaml "${long[@]}" --resume
    check_match "the first network was trained already" \
        '"network":1,"of":3,"seed":1,"trained":true' .check
    check_match "the second network was continued" '"event":"resume"' .check
    check_equal "the joined model is that of an undisturbed run" \
        "$(sha_of .check)" \
        "$(sha_of whole.out)"
done

# A person is told once what to do, of the whole.
"$skein" train tiny.yaml -o train.ensemble=2 -o train.epochs=100000 \
    -o checkpoint.path='for people' >people.out 2>&1 &
victim=$!
wait_until 300 test -e 'for people/network-1/latest'
kill -TERM "$victim"
wait "$victim"
check_equal "a stop is reported once, with the folder of the joined run" \
    "$(grep -A 1 stopped people.out)" "stopped in network 1 of 2; to continue:
$skein train tiny.yaml -o train.ensemble=2 -o train.epochs=100000 \
-o 'checkpoint.path=for people' --resume"

# Standard input has the model once, whatever is trained by it.
"$skein" train - "${three[@]}" -o checkpoint.path='from a pipe' \
    <tiny.yaml >pipe.out 2>&1
check_equal "from standard input all networks are trained" \
    "$(sha_of pipe.out)" "$(sha_of out)"
"$skein" train - -o train.ensemble=2 -o train.epochs=100000 \
    -o checkpoint.path=pipe <tiny.yaml >pipe.out 2>&1 &
victim=$!
wait_until 300 test -e pipe/network-1/latest
kill -TERM "$victim"
wait "$victim"
check_equal "and are continued by the folder" \
    "$(grep -A 1 stopped pipe.out)" "stopped in network 1 of 2; to continue:
$skein train pipe -o train.ensemble=2 -o train.epochs=100000 \
-o checkpoint.path=pipe --resume"

# A stop is heard where nothing is trained, too: here while the whole is scored.
mv test.txt kept.txt
mkfifo test.txt
check_equal "a stop while the joined model is scored ends it; the run is done" \
    "$(interrupted test.txt said "$skein" train tiny.yaml \
        -o train.ensemble=3 --resume --requeue-code 86)" 0
check_equal "  with what to do" "$(tail -n 2 said)" "stopped; to get the \
scores:
$skein train tiny.yaml -o train.ensemble=3 --requeue-code 86 --resume"
rm test.txt
mv kept.txt test.txt

# --- what is there is looked at ---------------------------------------------
# Three networks that are done, and no whole: a file in its place stops the
# join, which must be done again by the next --resume, and by nothing else.
few=("${three[@]}" -o checkpoint.path=late -o train.epochs=2)
"$skein" train tiny.yaml "${few[@]}" -o checkpoint.path=right >right.out 2>&1
(ulimit -f 40 && exec "$skein" train tiny.yaml "${few[@]}") >late.out 2>&1
check_equal "a small limit of files ends it" "$?" 74
rm -rf late
"$skein" train tiny.yaml "${few[@]}" -o train.epochs=2000 >late.out 2>&1 &
victim=$!
wait_until 300 test -e late/network-1/latest
check_code 73 "another run is not begun beside its networks" \
    "$skein" train tiny.yaml -o checkpoint.path=late
kill -TERM "$victim"
wait "$victim"
check_code 73 "nor a single one continued" \
    "$skein" train tiny.yaml -o checkpoint.path=late --resume
rm -rf late
for k in 1 2 3; do
    "$skein" train tiny.yaml "${few[@]}" -o train.ensemble=1 \
        -o train.seed=$k -o checkpoint.path=late/network-$k >/dev/null 2>&1
done
for other in train.seed=50 train.epochs=4 model.layers.hidden.units=16 \
    data.train=test.txt train.ensemble=2; do
    check_code 78 "networks of another $other are not taken" \
        "$skein" train tiny.yaml "${few[@]}" --resume -o $other
done
cp -r late again
rm -r again/network-1
check_code 78 "nor where the first network is not there" \
    "$skein" train tiny.yaml "${few[@]}" -o checkpoint.path=again \
    --resume -o train.epochs=4
check_code 73 "nor is another begun beside the others" \
    "$skein" train tiny.yaml "${few[@]}" -o checkpoint.path=again
check_code 73 "nor anything joined into them" \
    "$skein" join alone/1 alone/2 --into again
check "the first is trained again, and joined" "$skein" train tiny.yaml \
    "${few[@]}" -o checkpoint.path=again --resume
check_match "the joined model is the same" "$(sha_of right.out)" .check
rm -rf again
cp -r late again
ln -s batch-000000009999 again/network-1/best
check_code 66 "a missing best model is reported before anything is trained" \
    "$skein" train tiny.yaml "${few[@]}" -o checkpoint.path=again --resume
check_match "with what to do" 'remove again/network-1 to train it again' .check
rm -rf again
check_code 78 "more units than a layer may have are none" \
    "$skein" train tiny.yaml -o train.ensemble=2 \
    -o model.layers.hidden.units=40000 -o checkpoint.path=again
rm -rf again
cp -r late again
echo x >again/network-2/run.json
check_code 65 "a damaged run.json is reported" "$skein" train tiny.yaml \
    "${few[@]}" -o checkpoint.path=again --resume
rm -rf again
cp -r late again
printf '\377\377\377' | dd of=again/network-2/latest/output.0.safetensors \
    bs=1 seek=5000 conv=notrunc 2>/dev/null
check "a damaged network is trained again from before" "$skein" train \
    tiny.yaml "${few[@]}" -o checkpoint.path=again --resume
check_match "to the same weights" "$(sha_of right.out)" .check
# A run.json of the whole, but no checkpoint: so it is where the join ended.
cp -r late networks
"$skein" train tiny.yaml "${few[@]}" --resume >/dev/null 2>&1
cp late/run.json networks/
rm -rf late
mv networks late
check "an interrupted join is done again" "$skein" train tiny.yaml \
    "${few[@]}" -o checkpoint.path="$PWD/late" --resume
check_match "with the same weights" "$(sha_of right.out)" .check
check_equal "and the networks are gone" \
    "$(find late again -name 'network-*' | wc -l)" 0
# Networks that the end of the removal has left.
cp -r right left
mkdir left/network-1
cp right/run.json left/network-1/
cp -r left/network-1 left/network-7
check "what an interrupted removal left" \
    "$skein" train tiny.yaml "${few[@]}" \
    -o checkpoint.path=left --resume
check_equal "is removed only if it belongs to this run" \
    "$(find left -name 'network-*' | wc -l)" 2
cp -r right/. right.copy
mkdir right/network-1 right/network-2
cp right/run.json right/network-1/
cp right/run.json right/network-2/
check "what this run's removal left" "$skein" train tiny.yaml \
    "${few[@]}" -o checkpoint.path=right --resume
check_equal "is removed, and nothing else" \
    "$(diff -r -x lock right right.copy)" ""
check_code 78 "a seed near the end of all is refused" "$skein" train \
    tiny.yaml "${few[@]}" -o checkpoint.path=far -o train.seed=9007199254740992
(ulimit -f 40 && exec "$skein" join alone/1 alone/2 --into limited) \
    >limited.out 2>&1
check_equal "a join beyond the limit of files is an error" "$?" 74
check_match "with its message" 'limited' limited.out
finish
