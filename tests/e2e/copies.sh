#!/usr/bin/env bash
# copies.sh - where rows lie, and over how many shards, changes no model: not
# in a run, not across a resume; and checkpoints hold the masters.
#
# Covers actors/rows/copy.c, actors/rows/updater.c, actors/rows/tensors.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model

# train NAME OPTION...: a run in folder NAME, its events in NAME.json.
train() {
    local name=$1
    shift
    "$skein" train tiny.yaml --json -o checkpoint.path="$name" "$@" \
        >>"$name.json" 2>>"$name.err" </dev/null
}
copy=(-o train.updates=copy)
half=("${copy[@]}" -o model.layers.output.weights=bf16)

# resumed SENTENCE NAME OPTION...: a run that goes on from batch 38, with the
# words after -- added, ends as the one that made this checkpoint.
resumed() {
    local sentence=$1 name=$2 options=() folder
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    [ $# -eq 0 ] || shift
    train "$name.whole" "${options[@]}" -o checkpoint.keep=99
    cp -r "$name.whole" "$name"
    for folder in "$name"/batch-*; do
        [[ $folder > $name/batch-000000000038 ]] && rm -r "$folder"
    done
    ln -sfn batch-000000000038 "$name/latest"
    train "$name" "${options[@]}" --resume "$@"
    check_equal "$sentence" "$(sha_of "$name.json")" \
        "$(sha_of "$name.whole.json")"
    check_equal "  and it continued after 38 batches" \
        "$(event resume batch "$name.json")" 38
}

# has_dtype TENSOR DTYPE FOLDER: its pieces are named TENSOR@row,column.
has_dtype() {
    grep -aqE "\"$1@[0-9,]*\":\{[^}]*\"dtype\":\"$2\"" "$3"/latest/*.safetensors
}

for kind in adam adagrad sgd; do
    one=(-o "train.optimizer.kind=$kind" -o train.window=3)
    train "lent.$kind" "${one[@]}"
    train "copied.$kind" "${one[@]}" "${copy[@]}"
    check_equal "$kind: copies in f32 train what loans do" \
        "$(sha_of "copied.$kind.json")" "$(sha_of "lent.$kind.json")"
    resumed "$kind: a resumed run with bf16 copies ends the same" \
        "half.$kind" "${one[@]}" "${half[@]}"
    check "$kind: the masters are f32" has_dtype output.weight F32 "half.$kind"
    resumed "$kind: a run goes on the same on other shards" "shards.$kind" \
        "${one[@]}" -o train.reduction=fixed -- \
        -o model.layers.hidden.shards=3 -o model.layers.output.shards=1
    resumed "$kind: and with copies in place of loans" "other.$kind" \
        "${one[@]}" -- "${copy[@]}"
done
sampler="{ kind: simhash, tables: 4, bits: 4, rows: 50, refresh_batches: 5 }"
resumed "an index is built from bf16 copies alike behind a resume" index \
    "${half[@]}" -o train.window=3 -o "model.layers.output.sampler=$sampler"
train bf16 -o train.optimizer.kind=sgd -o model.layers.output.weights=bf16
check "rows that are lent in bf16 have no masters" \
    has_dtype output.weight BF16 bf16

# The scores in training are the copies', those of `eval` the masters'.
train scores "${half[@]}"
"$skein" eval scores --json >eval.json 2>eval.err </dev/null
check "eval reads the masters, and agrees with training to bf16" python3 -c '
import sys
trained, read = map(float, sys.argv[1:])
assert abs(trained - read) <= 0.02, (trained, read)
' "$(event "done" p1 scores.json)" "$(event eval p1 eval.json)"
finish
