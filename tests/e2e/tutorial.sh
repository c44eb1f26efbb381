#!/usr/bin/env bash
# tutorial.sh - the steps of docs/start/tutorial.md, and every file of configs/,
# on the data that come with the sources; a few batches each.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 70
few=(-o train.epochs=1 -o train.max_batches=30 -o train.evaluate.rows=300)

# The data of files.yaml are made from an index of the archive: a small one.
example=$root/docs/examples/files/files.py
for package in {1..60}; do
    for part in {1..20}; do
        echo "usr/share/thing$package/part$part.txt  misc/thing$package"
    done
done >Contents
check "an index becomes points" python3 "$example" convert paths Contents
data_of() { # CONFIG: the options that say where its data are
    [ "$1" != files ] || printf '%s\n' -o data.train="$work/paths/train.txt" \
        -o data.test="$work/paths/test.txt"
}

# What a file says of its nodes is an example; their ports are the test's.
hold_ports 2
places=(-o "nodes.a.address=tcp://127.0.0.1:${ports[0]}"
    -o "nodes.b.address=tcp://127.0.0.1:${ports[1]}")
for config in "$root"/configs/*.yaml; do
    name=$(basename "$config" .yaml)
    verb=train
    mapfile -t data < <(data_of "$name")
    if grep -q "^nodes:" "$config"; then
        verb=up
        data+=("${places[@]}")
    fi
    fewer=("${few[@]}")
    if grep -q "kind: decoder" "$config"; then
        fewer=(-o train.steps=1 -o model.width=64 -o train.batch_tokens=1024
            -o train.micro_tokens=512 -o train.validate=0.002)
    fi
    check "configs/$name.yaml is good" "$skein" check "$config" "${data[@]}"
    check "configs/$name.yaml trains" "$skein" $verb "$config" "${fewer[@]}" \
        "${data[@]}" \
        -o checkpoint.path="$work/$name" -o data.cache="$work/$name"
done

for file in "$root"/configs/*.yaml; do
    case $file in
    *sample* | *gpt*) continue ;;
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
    --label-names names.txt three.txt
check "the package that ships a file is predicted by name" \
    sh -c "python3 '$example' \
    ask paths files /usr/share/thing7/new.txt --skein '$skein' |
    grep -E '^/usr/share/thing7/new.txt -> thing[0-9]+ [.01]'"
check "and scored" python3 "$example" score paths files --skein "$skein"
"$skein" plan "$root/configs/wnhyp.yaml" "${few[@]}" \
    -o checkpoint.path="$work/planned" -o data.cache="$work/wnhyp" >plan.yaml
check "what plan prints runs" "$skein" run plan.yaml --json
finish
