#!/usr/bin/env bash
# apart.sh - nodes that share no disk go on with a run.
#
# Three nodes of loopback, each with a working folder of its own and the run in
# `run`, so that only the first one has checkpoints. Whatever ends the run, it
# goes on to the weights of a run that nobody disturbed; and what it has learnt
# is told by all of them together as by one process. Covers
# actors/rows/restore.c, actors/checkpoints/restorer.c,
# topology/plan/plan_restore.c, and --predict of `node` and `up`.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
sed -i 's/, shards: 2//; s/^train:/train:\n  reduction: fixed\n  window: 4/
    s/epochs: 5/epochs: 12/' tiny.yaml
cp tiny.yaml alone.yaml
names=(a b c)
hold_ports 3
echo "nodes:" >>tiny.yaml
for k in 0 1 2; do
    "$skein" keygen "${names[k]}.key" >/dev/null || exit 70
    echo "  - { name: ${names[k]}, address: \"tcp://127.0.0.1:${ports[k]}\"," \
        "key: ${names[k]}.key }" >>tiny.yaml
done
head -n -1 tiny.yaml >two.yaml
for name in "${names[@]}"; do
    mkdir "$name" || exit 70
    cp -p ./*.yaml ./*.txt ./*.key "$name.key_secret" "$name" || exit 70
done

# node K FILE OPTION...: node K in its folder, behind.
pids=()
node() {
    local k=$1
    shift
    (cd "${names[k]}" && exec "$skein" node "$@") \
        >"$k.json" 2>"$k.err" </dev/null &
    pids[k]=$!
}
# start COUNT FILE OPTION...: the first COUNT nodes of FILE.
start() {
    local count=$1 file=$2 k
    shift 2
    for ((k = 0; k < count; k++)); do
        node "$k" "${names[k]}" "$file" --json --wait 60 "$@"
    done
}
# all COUNT FILE OPTION...: the same to the end; 0 if all ended well.
all() {
    local k code=0
    start "$@"
    for ((k = 0; k < $1; k++)); do wait "${pids[k]}" || code=$?; done
    [ "$code" = 0 ] || cat ./?.err
    return "$code"
}
# stop NODE...: kills these nodes some time after the first checkpoint, and
# waits for all.
stop() {
    local k victims=()
    wait_until 300 has_checkpoint
    # shellcheck disable=SC2207
    for k in "$@"; do victims+=("${pids[k]}" $(pgrep -P "${pids[k]}")); done
    kill -9 "${victims[@]}"
    for k in "${!pids[@]}"; do wait "${pids[k]}"; done 2>/dev/null
}
has_checkpoint() { ls -d a/run/batch-*; }
alone() { # OPTION...: the weights of a run of one process
    "$skein" train alone.yaml --json -o checkpoint.path=alone.run "$@" \
        >alone.json 2>alone.err </dev/null
    rm -rf alone.run
    want=$(sha_of alone.json)
}
# goes_on SENTENCE COUNT FILE OPTION...: with the weights $want, and nobody but
# the first has a run.
goes_on() {
    local sentence=$1
    shift
    check "$sentence: the run continues" all "$@" --resume
    check_equal "  to the weights of an undisturbed run" "$(sha_of 0.json)" \
        "$want"
    check "  and only the first node has a folder of it" \
        test -d a/run -a ! -e b/run -a ! -e c/run
}

alone
start 3 tiny.yaml
stop 1
check_match "a node is killed: the others report it" "node 'b'" 0.err
goes_on "a node that was killed" 3 tiny.yaml
check "  from a checkpoint" python3 -c "
assert $(event resume batch 0.json) > 0"
rm -rf a/run

start 3 tiny.yaml
stop 0 1 2
goes_on "on two nodes in place of three" 2 two.yaml

# same_answers FILE LABELS: the lines of three nodes are those of one process,
# but for the last digits of scores, and the order of scores that are alike.
same_answers() {
    python3 - "$@" 0.json <<'PYTHON'
import json, sys
one = [json.loads(line) for line in open(sys.argv[1])]
three = [e for e in map(json.loads, open(sys.argv[3]))
         if e["event"] == "prediction"]
assert len(one) == len(three) == 200, (len(one), len(three))
for a, b in zip(one, three):
    assert len(b["labels"]) == len(b["scores"]) == int(sys.argv[2]), b
    score = dict(zip(a["labels"], a["scores"]))
    for k, (x, y) in enumerate(zip(a["scores"], b["scores"])):
        assert abs(x - y) <= 1e-4 * abs(x), (a, b)
        assert abs(score.get(b["labels"][k], y) - y) <= 1e-4 * y, (a, b)
PYTHON
}
for loss in softmax one_vs_all; do
    options=(-o "model.layers.output.loss=$loss" -o train.reduction=fast)
    rm -rf a/run
    all 3 tiny.yaml "${options[@]}" -o train.epochs=3
    "$skein" predict a/run test.txt --json -k 7 >one.json 2>one.err
    cp a/run/run.json before.json
    check "$loss: three nodes predict what they have learnt" \
        all 3 tiny.yaml "${options[@]}" --predict test.txt -k 7
    check "  as one process does" same_answers one.json 7
    check "  and leave the run as it was" cmp a/run/run.json before.json
done
# What a stream of questions may have in it: the lines without an answer are
# the same, and the others are answered.
{
    printf '# by hand\n3,3 1:1\n5:1\n5:x\n5:1 200:3 999999999999:1\n5:1\n'
    printf '5:1 5:1\n5:nan\n1,2 5:2 # by hand\n'
} >bad.txt
"$skein" predict a/run bad.txt --json -k 1 >one.json 2>one.err
check "lines that cannot be read do not end a prediction by three nodes" \
    all 3 tiny.yaml "${options[@]}" --predict "$PWD/bad.txt" -k 1
check_equal "  and their answers are empty, as those of one" \
    "$(grep '"prediction"' 0.json | grep -o '"labels":[^]]*')" \
    "$(grep -o '"labels":[^]]*' one.json)"
check_match "  they are counted" "bad\.txt:2:1: first of 3 lines \
that cannot be read; the answer is empty; " 0.err
check_match "  and so is what the model lacks" "bad\.txt:5:5: first of 2 \
features, in 1 point, that the model does not have; " 0.err
check_code 66 "without a run there is nothing to predict by" \
    "$skein" up tiny.yaml --local-nodes 2 --predict test.txt \
    -o checkpoint.path=nowhere
check_code 64 "-k 0 is refused" \
    "$skein" node a tiny.yaml --predict test.txt -k 0
rm -rf a/run

start 3 tiny.yaml
stop 0 1 2
rm -rf a/run/batch-* a/run/latest
goes_on "without any checkpoint" 3 tiny.yaml
check_match "  with a warning that there is none" \
    "there is no complete checkpoint" 0.err
rm -rf a/run

options=(-o train.updates=copy -o train.optimizer.kind=adagrad
    -o model.layers.output.sampler.kind=uniform
    -o model.layers.output.sampler.rows=100)
alone "${options[@]}"
start 3 tiny.yaml "${options[@]}"
stop 0 1 2
# What a node has under the name of the run is not looked at.
mkdir -p b/run/batch-000000000020 && echo '{}' >b/run/run.json
check "copies and sums, rubbish on another node: the run continues" \
    all 3 tiny.yaml "${options[@]}" --resume
check_equal "  to the weights of an undisturbed run" "$(sha_of 0.json)" "$want"
rm -rf a/run b/run

options=(-o train.reduction=fast
    -o model.layers.output.sampler.kind=simhash
    -o model.layers.output.sampler.rows=100
    -o model.layers.output.sampler.tables=4
    -o model.layers.output.sampler.bits=4
    -o model.layers.output.sampler.refresh_batches=5)
all 3 tiny.yaml "${options[@]}"
want=$(sha_of 0.json)
rm -rf a/run
start 3 tiny.yaml "${options[@]}"
stop 0 1 2
goes_on "hash tables" 3 tiny.yaml "${options[@]}"
finish
