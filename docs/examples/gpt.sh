#!/usr/bin/env bash
# gpt.sh - trains a small transformer on a text, and lets it write.
#
# Usage: docs/examples/gpt.sh SKEIN FOLDER [TEXT]
# TEXT is a file or a folder; Python's library if it is left out. FOLDER gets
# the run; if it has one already, that one is trained to its end, and writes.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
skein=$1 folder=$2 text=${3:-}
config=$(cd "$(dirname "$0")" && pwd)/../../configs/gpt-small.yaml
trap 'exit 130' INT

# A fifth of the size of gpt-small.yaml: 1.8 million tokens in two minutes on
# two cores.
small=(-o model.layers=4 -o model.width=128 -o model.heads=4
    -o data.context=128 -o train.micro_tokens=1024 -o train.batch_tokens=2048
    -o train.steps=900 -o train.optimizer.rate=0.004
    -o train.schedule.warmup_batches=50 -o train.validate=0.002
    -o train.evaluate.every_steps=100)
[ -z "$text" ] || small+=(-o data.train="$text")
[ ! -d "$folder" ] || small+=(--resume)
"$skein" train "$config" "${small[@]}" -o checkpoint.path="$folder"
echo
"$skein" generate "$folder" --tokens 600 --temperature 0.7
echo
echo
echo "That was written by the model. Its bits a byte: $skein eval $folder"
