#!/usr/bin/env bash
# tutorial.sh - the steps of docs/tutorial.md, and every file of configs/, on
# the data that come with the sources; a few batches each.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 70
few=(-o train.epochs=1 -o train.max_batches=30 -o train.evaluate.rows=300)

for config in "$root"/configs/*.yaml; do
    name=$(basename "$config" .yaml)
    verb=train
    ! grep -q "^nodes:" "$config" || verb=up
    check "configs/$name.yaml is good" "$skein" check "$config"
    check "configs/$name.yaml trains" "$skein" $verb "$config" "${few[@]}" \
        -o checkpoint.path="$work/$name" -o data.cache="$work/$name"
done

for file in "$root"/configs/*.yaml; do
    case $file in
    *sample*) continue ;;
    esac
    check_equal "the layers of $(basename "$file") are hidden and output" \
        "$(grep -c -E 'name: (hidden|output)' "$file")" 2
done

lines() { zstdcat "$root/data/wnhyp/test.txt.zst" | sed -n 2,4p; }
check "eval scores the model" "$skein" eval "$work/wnhyp"
lines >three.txt
"$skein" predict "$work/wnhyp" -k 3 three.txt >predicted.txt 2>err.txt
check_equal "predict answers each line" "$(wc -l <predicted.txt)" 3
check_match "predict prints label:score" \
    '^[0-9]+:[0-9.e-]+ [0-9]+:[0-9.e-]+ [0-9]+:[0-9.e-]+$' predicted.txt
zstdcat "$root/data/wnhyp/labels.txt.zst" >names.txt
check "predict knows names" "$skein" predict "$work/wnhyp" -k 3 \
    --labels names.txt three.txt
"$skein" plan "$root/configs/wnhyp.yaml" "${few[@]}" \
    -o checkpoint.path="$work/planned" -o data.cache="$work/wnhyp" >plan.yaml
check "what plan prints runs" "$skein" run plan.yaml --json
finish
