#!/usr/bin/env bash
# same_weights.sh - trains the same 22 runs with two builds of the command: do
# the weights agree, bit for bit?
#
# Usage: bench/same_weights.sh OLD/skein NEW/skein
# For a change that moves code and must not change results: every sampler,
# optimizer, window, merging and kind of layer, two and three nodes, and a run
# of OLD that NEW resumes. Exit code 1 if any hash differs or is missing.
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
[ $# -eq 2 ] || { sed -n 's/^# Usage: //p' "$0" >&2; exit 64; }
old=$(realpath "$1") new=$(realpath "$2")
work=$(mktemp -d "${TMPDIR:-/tmp}/same-weights.XXXXXX") || exit 73
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 73
sampler=model.layers.output.sampler
same=0 different=0

python3 - <<'PYTHON'
import random
draw = random.Random(3)
for name, count in (("train.txt", 3000), ("test.txt", 300)):
    with open(name, "w", encoding="ascii") as file:
        for _ in range(count):
            label = draw.randrange(400)
            labels = sorted({label, draw.randrange(400)})
            features = {(label * 7 + k * k) % 500 for k in range(6)}
            features |= {draw.randrange(500) for _ in range(5)}
            file.write("%s %s\n" % (",".join(map(str, labels)), " ".join(
                "%d:%.3f" % (k, draw.random()) for k in sorted(features))))
PYTHON
cat >model.yaml <<'YAML'
skein: 1
data: { train: train.txt, test: test.txt, cache: none }
model:
  layers:
    - { name: hidden, units: 32, activation: relu }
    - { name: output, loss: softmax, shards: 2,
        sampler: { kind: uniform, rows: 64 } }
train: { batch_rows: 64, epochs: 2, optimizer: { kind: adam, rate: 0.01 },
         seed: 7, reduction: fixed }
YAML

# compare NAME: the hashes in NAME.old.log and NAME.new.log.
compare() {
    local before after
    before=$(grep -o 'weights_sha256 [0-9a-f]*' "$1.old.log" | head -n 1)
    after=$(grep -o 'weights_sha256 [0-9a-f]*' "$1.new.log" | head -n 1)
    if [ -n "$before" ] && [ "$before" = "$after" ]; then
        same=$((same + 1))
        echo "same       $1"
    else
        different=$((different + 1))
        echo "DIFFERENT  $1: ${before:-none} and ${after:-none}"
        tail -n 2 "$1.new.log"
    fi
}

train() { # NAME OPTIONS...: by both builds
    local name=$1
    shift
    "$old" train model.yaml -o checkpoint.path="$name.old" "$@" \
        >"$name.old.log" 2>&1 </dev/null
    "$new" train model.yaml -o checkpoint.path="$name.new" "$@" \
        >"$name.new.log" 2>&1 </dev/null
    compare "$name"
}

train uniform
train exact -o $sampler='{ kind: exact }'
train log_uniform -o $sampler='{ kind: log_uniform, rows: 64 }'
train simhash -o $sampler='{ kind: simhash, bits: 4, tables: 4 }'
train dwta -o $sampler='{ kind: dwta, bits: 4, tables: 4 }'
train sgd -o train.optimizer='{ kind: sgd, rate: 0.1 }'
train adagrad -o train.optimizer='{ kind: adagrad, rate: 0.05 }'
train bf16 -o train.precision=bf16 -o train.reduction=fast
train one_vs_all -o model.layers.output.loss=one_vs_all
train window_8 -o train.window=8
train window_1 -o train.window=1
train early -o train.merge=early
train late -o train.merge=late -o train.reduction=fast
train shards_3 -o model.layers.output.shards=3
train smoothing -o model.layers.output.label_smoothing=0.1
train dropout -o model.layers.hidden.dropout=0.2
train fast -o train.reduction=fast
train auto -o $sampler.kind=auto -o model.layers.hidden.units=auto
train deep -o 'model.layers=[{ name: h1, units: 32, activation: relu },
    { name: h2, units: 24, activation: relu },
    { name: output, loss: softmax, shards: 2,
      sampler: { kind: uniform, rows: 64 } }]'
for nodes in 2 3; do
    for build in old new; do
        "${!build}" up model.yaml --local-nodes $nodes \
            -o model.layers.output.shards=3 -o checkpoint.path=n$nodes.$build \
            >n$nodes.$build.log 2>&1 </dev/null
    done
    compare n$nodes
done
"$old" train model.yaml -o checkpoint.path=resume.old -o train.epochs=1 \
    >begun.log 2>&1 </dev/null
cp -r resume.old resume.new
for build in old new; do
    "${!build}" train model.yaml --resume -o checkpoint.path=resume.$build \
        -o train.epochs=3 >resume.$build.log 2>&1 </dev/null
done
compare resume
echo "$same the same, $different different"
[ $different = 0 ]
