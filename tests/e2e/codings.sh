#!/usr/bin/env bash
# codings.sh - what a coding does to gradients is told, and warned of.
#
# `gradient_error` of epochs on two and three nodes, in every coding, with a
# softmax that is merged early (whose u and v cancel more and more as it learns)
# or late, and one-vs-all (where nothing cancels). Covers
# actors/combine/rounding.c from link to event.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
sed -i 's/, shards: 2//' tiny.yaml

# up NAME NODES OPTION...: learns by heart.
up() {
    local name=$1 nodes=$2
    shift 2
    timeout 120 "$skein" up tiny.yaml --local-nodes "$nodes" --json \
        -o checkpoint.path="$name" -o model.layers.hidden.dropout=0 \
        -o train.optimizer.rate=0.02 -o train.epochs=12 "$@" \
        >"$name.json" 2>"$name.err" </dev/null
}
# errors NAME PYTHON: whether it holds for `e`, the errors that its epochs told;
# `bad`, the batches of warnings about them; `done`; errors_of(another).
errors() {
    python3 - "$1" "$2" <<'PYTHON'
import json, re, sys
def events_of(name):
    return [json.loads(line) for line in open(name + ".json")]
def errors_of(name):
    return [event["gradient_error"] for event in events_of(name)
            if event["event"] == "epoch" and "gradient_error" in event]
told, e = events_of(sys.argv[1]), errors_of(sys.argv[1])
bad = [int(found.group(1)) for found in
       (re.search(r"the coding of links .* \(batch (\d+)\)$", event["message"])
        for event in told if event["event"] == "warning") if found]
done = [event for event in told if event["event"] == "done"][-1]
assert eval(sys.argv[2]), (e, bad, done)
PYTHON
}

for loss in softmax late one_vs_all; do
    way=(-o model.layers.output.loss="${loss/late/softmax}")
    [ "$loss" != softmax ] || way+=(-o train.merge=early)
    for coding in f32 bf16 int8 int4; do
        check "$loss, $coding: two nodes train" up "$loss.$coding" 2 \
            -o links.coding="$coding" "${way[@]}"
        check "  and measure often enough" errors "$loss.$coding" \
            "len(e) >= 6 and done['gradient_error'] == e[-1]"
    done
    check "f32 changes nothing" errors "$loss.f32" "set(e) == {0} and not bad"
    check "int4 is warned of at once, and once" \
        errors "$loss.int4" "min(e) > 0.02 and bad == [19]"
    check "int4 has steps that are 18 times those of int8" errors "$loss.int4" \
        "8 < e[0] / errors_of('$loss.int8')[0] < 36"
done
check "bf16 changes about 2^-9 of a gradient" \
    errors one_vs_all.bf16 "all(2**-12 < x < 2**-8 for x in e) and not bad"
check "and is not warned of with a softmax" \
    errors softmax.bf16 "2**-11 < e[0] < 2**-8 and not bad"
for loss in late one_vs_all; do
    check "int8 is fine with $loss to the end" \
        errors "$loss.int8" "max(e) < 0.01 and not bad"
done
check "int8 is fine with an early softmax until it has learnt" \
    errors softmax.int8 \
    "e[0] < 0.01 and max(e) > 0.02 and len(bad) == 1 and bad[0] > 38"
check_match "  then there is a warning with a hint" \
    '"hint":"[^"]*links.coding[^"]*merge: late[^"]*one_vs_all' softmax.int8.json
check "the same run reports the same" up again 2 \
    -o links.coding=int8 -o train.merge=early \
    -o model.layers.output.loss=softmax
check_equal "  error" "$(event "done" gradient_error again.json)" \
    "$(event "done" gradient_error softmax.int8.json)"
check_equal "  the same weights" "$(sha_of again.json)" \
    "$(sha_of softmax.int8.json)"
check "three nodes train a model with a dense layer" up deep 3 \
    -o links.coding=int8 -o 'model.layers=[{ name: hidden, units: 32,
        dropout: 0 }, { name: second, units: 24, dropout: 0 },
        { name: output, loss: softmax }]'
check "  and measures" errors deep "0.001 < e[0] < 0.02"
check "a single node has no coding to report" up alone 1
check "  and reports none" errors alone "not e and 'gradient_error' not in done"
finish
