#!/usr/bin/env bash
# too_big.sh - four nodes train and predict a model that none of them can hold.
#
# Each node is a host (a network namespace) with 1.5 GiB of memory (a control
# group); the output layer has 1.6 GiB of weights. One node alone is refused,
# whether it trains or predicts. Takes 2 GB of disk and 5 GiB of memory in all.
# SKEIN_TOO_BIG=LABELS takes another number of labels.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
if ! can_make_networks || ! command -v nsenter >/dev/null; then
    skip "a model that no node can hold" "needs root and network namespaces"
    finish
fi
cd "$work" || exit 70
labels=${SKEIN_TOO_BIG:-1600000}
# 256 training points of 64 topics; labels of a topic lie far from the others'.
python3 - "$labels" <<'PYTHON' || exit 70
import random, sys
FEATURES, LABELS = 1000, int(sys.argv[1])
draw = random.Random(3)
for name, count in (("train", 256), ("test", 32)):
    with open(name + ".txt", "w") as file:
        file.write("%d %d %d\n" % (count, FEATURES, LABELS))
        for _ in range(count):
            topic = draw.randrange(64)
            words = {topic * 15 + k for k in range(6)}
            words |= {draw.randrange(FEATURES) for _ in range(2)}
            file.write("%d %s\n" % (topic * (LABELS // 64),
                " ".join("%d:1" % word for word in sorted(words))))
PYTHON
cat >one.yaml <<'YAML'
skein: 1
data: { train: train.txt, test: test.txt }
model:
  layers:
    - { name: hidden, units: 256, dropout: 0 }
    - { name: output, weights: f32, sampler: { kind: uniform, rows: 2048 } }
train:
  epochs: 20
  batch_rows: 64
  optimizer: { kind: adagrad, rate: 0.1 }
  evaluate: { every_epochs: 0 }
checkpoint: { path: run, every_epochs: 0 }
YAML
cp one.yaml four.yaml
echo "nodes:" >>four.yaml
for k in 0 1 2 3; do
    "$skein" keygen n$k.key >/dev/null || exit 70
    echo "  - { name: n$k, address: \"tcp://10.77.0.$((k + 1)):7001\"," \
        "key: n$k.key }" >>four.yaml
done

# caged NAME COUNT COMMAND...: on COUNT hosts; what they say goes into
# NAME.json (the JSON lines of the first one) and NAME.err.
caged() {
    local name=$1 count=$2 code=0
    shift 2
    python3 "$root/bench/nodes.py" --nodes "$count" --memory 1.5GiB \
        --limit-s 280 -- "$@" >"$name.all" 2>"$name.err" || code=$?
    python3 - "$name" <<'PYTHON' || code=70
import json, sys
name = sys.argv[1]
result = json.load(open(name + ".all"))
with open(name + ".json", "w") as file:
    for line in result["lines"]:
        if line["node"] == 0:
            file.write(json.dumps(line["line"]) + "\n")
print(result["seconds"], "s;", *["%d: exit %d, peak %d MiB;" % (host["node"],
    host["exit_code"], host["memory_peak_bytes"] >> 20)
    for host in result["hosts"]])
PYTHON
    return "$code"
}
event() { # NAME KEY FILE
    python3 -c 'import json, sys
print([e for e in map(json.loads, open(sys.argv[3]))
       if e.get("event") == sys.argv[1]][-1][sys.argv[2]])' "$@"
}

check_code 1 "one node alone does not train it" \
    caged alone 1 "$skein" train one.yaml --json
check_match "  with how much memory is missing" \
    "needs about 1[0-9]{3} MiB of memory, 1[0-9]{3} MiB are available" alone.err
check "four nodes train it" \
    caged trained 4 "$skein" node "n{node}" four.yaml --json
cat .check
check "  and it has learnt something" python3 -c "
assert $(event "done" p1 trained.json) > 0.5"

check_code 1 "one node alone does not predict by it" \
    caged guess 1 "$skein" predict run test.txt
check_match "  with how much memory is missing" \
    "needs 1[0-9]{3} MiB of memory, 1[0-9]{3} MiB are available" guess.err
check "four nodes predict by it" caged guessed 4 \
    "$skein" node "n{node}" four.yaml --json --predict test.txt -k 3
cat .check
check "  every point, as well as they were trained to" python3 -c "
import json
truth = [int(line.split()[0]) for line in list(open('test.txt'))[1:]]
told = [e for e in map(json.loads, open('guessed.json'))
        if e['event'] == 'prediction']
assert len(told) == len(truth), len(told)
assert all(len(e['labels']) == 3 for e in told)
right = sum(e['labels'][0] == t for e, t in zip(told, truth))
assert abs(right / len(truth) - $(event "done" p1 trained.json)) < 1e-4, right"
finish
