#!/usr/bin/env bash
# combine.sh - nodes with several shards of a layer: a link carries their parts
# once.
#
# The weights are those of one process, however many shards a node has; with
# windows and credits as tight as they may be; and two nodes of two shards send
# hardly more than two of one, as `skein plan` foretells. Covers
# actors/combine/combiner.c, topology/plan/plan_combiners.c and
# topology/plan/cost.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
sed -i 's/, shards: 2//; s/, every_batches: 20//; s/epochs: 5/epochs: 2/' \
    tiny.yaml
sed 's/^    - { name: output/    - { name: middle, units: 32 }\n&/' tiny.yaml \
    >deep.yaml
grep -q middle deep.yaml || exit 70

# train FILE NAME OPTION...: on one node. up FILE NAME NODES OPTION...
train() {
    local file=$1 name=$2
    shift 2
    "$skein" train "$file" --json -o checkpoint.path="$name" "$@" \
        >"$name.json" 2>"$name.err" </dev/null
}
up() {
    local file=$1 name=$2 nodes=$3
    shift 3
    timeout 120 "$skein" up "$file" --local-nodes "$nodes" --json \
        -o checkpoint.path="$name" "$@" >"$name.json" 2>"$name.err" </dev/null
}

# --- the same bits -----------------------------------------------------------

# compare SENTENCE NAME FILE "NODES SHARDS..." OPTION...
compare() {
    local sentence=$1 name=$2 file=$3 layouts=$4 nodes shards
    shift 4
    set -- "$@" -o train.reduction=fixed
    check "$sentence: one process trains" train "$file" "$name" "$@"
    while read -r nodes shards; do
        check "$sentence: $nodes nodes, $shards shards" \
            up "$file" "$name.$nodes.$shards" "$nodes" "$@" \
            -o model.layers.output.shards="$shards"
        check_equal "  the same weights" \
            "$(sha_of "$name.$nodes.$shards.json")" "$(sha_of "$name.json")"
    done <<<"$layouts"
}
uniform=(-o model.layers.output.sampler.kind=uniform
    -o model.layers.output.sampler.rows=100)
one_vs_all=(-o model.layers.output.loss=one_vs_all)
compare "exact, window 1" a tiny.yaml $'1 4\n2 4\n3 9\n4 8' \
    -o train.window=1
compare "exact, window 4" b tiny.yaml $'2 5\n3 6\n4 16' -o train.window=4
compare "uniform, window 1" c tiny.yaml $'2 4\n4 12' \
    "${uniform[@]}" -o train.window=1
compare "uniform, window 4" d tiny.yaml $'2 8\n3 7' \
    "${uniform[@]}" -o train.window=4
compare "one-vs-all, window 1" e tiny.yaml $'2 4\n3 8' \
    "${one_vs_all[@]}" -o train.window=1
compare "one-vs-all, uniform, window 4" f tiny.yaml $'2 6\n4 9' \
    "${one_vs_all[@]}" "${uniform[@]}" -o train.window=4
compare "window 8, dropout of .7" g tiny.yaml $'2 4\n3 8' \
    -o train.window=8 -o model.layers.hidden.dropout=0.7
compare "two hidden layers" h deep.yaml $'2 4\n3 8' -o train.window=4 \
    -o model.layers.hidden.shards=4 -o model.layers.middle.shards=4

# --- reduction fast, and codings ---------------------------------------------

fast=(-o train.window=4 -o model.layers.hidden.shards=2)
for shards in 2 4; do
    check "fast, $shards shards on two nodes" \
        up tiny.yaml "fast.$shards" 2 "${fast[@]}" -o links.coding=f32 \
        -o model.layers.output.shards="$shards"
done
check "  train alike" python3 -c "
a, b = $(event "done" loss fast.2.json), $(event "done" loss fast.4.json)
assert abs(a - b) < 1e-4 * a, (a, b)"
check "the same layout twice gives the same bits" \
    up tiny.yaml again.1 2 "${fast[@]}" -o links.coding=int8 \
    -o model.layers.output.shards=6
check "  again" up tiny.yaml again.2 2 "${fast[@]}" -o links.coding=int8 \
    -o model.layers.output.shards=6
check_equal "  the same weights" "$(sha_of again.2.json)" \
    "$(sha_of again.1.json)"

# --- credits -----------------------------------------------------------------

# Of every pipe the least that the checker lets through: what the window lets
# in at a time. Nothing may stand still.
hold_ports 2
nodes="[{ name: a, address: \"tcp://127.0.0.1:${ports[0]}\", cores: 2 },"
nodes+=" { name: b, address: \"tcp://127.0.0.1:${ports[1]}\", cores: 2 }]"
# tight FILE NAME WINDOW OPTION...
tight() {
    local file=$1 name=$2 window=$3 least=$(($3 * 2 - 1)) pid code=0
    shift 3
    "$skein" plan "$file" -o train.window="$window" -o nodes="$nodes" \
        -o checkpoint.path="$name" "$@" >"$name.plan" || return
    grep -q "kind: combiner" "$name.plan" || return
    sed -E "s/credit: [0-9]+/credit: $least/" "$name.plan" >"$name.yaml"
    grep -q "credit: $least," "$name.yaml" || return
    timeout 100 "$skein" run "$name.yaml" --node b --json >"$name.b.json" \
        2>"$name.b.err" </dev/null &
    pid=$!
    timeout 100 "$skein" run "$name.yaml" --node a --json >"$name.json" \
        2>"$name.err" </dev/null || code=$?
    wait "$pid" || code=$?
    [ "$code" = 0 ] || cat "$name.err" "$name.b.err"
    return "$code"
}
for window in 1 8; do
    for file in tiny deep; do
        more=()
        [ "$file" = tiny ] || more=(-o model.layers.hidden.shards=4
            -o model.layers.middle.shards=4)
        check "$file, window $window: one process trains" \
            train "$file.yaml" "loose.$file.$window" \
            -o train.window="$window" -o train.reduction=fixed
        check "  two nodes with the least credit, too" \
            tight "$file.yaml" "tight.$file.$window" "$window" \
            -o train.reduction=fixed "${more[@]}"
        check_equal "  to the same weights" \
            "$(sha_of "tight.$file.$window.json")" \
            "$(sha_of "loose.$file.$window.json")"
    done
done
check "  a dense layer has combiners, too" \
    grep -q "combiner_1.1, kind: combiner" tight.deep.8.plan
check "one-vs-all, window 8, the least credit" \
    tight tiny.yaml tight.sums 8 "${one_vs_all[@]}"

# --- bytes -------------------------------------------------------------------

# Labels and features without any order, and nothing is learnt: half of the
# ReLUs are open, and a label is anywhere, as the forecast assumes.
python3 - <<'PYTHON' || exit 70
import random
draw = random.Random(11)
with open("even.txt", "w") as file:
    file.write("2048 400 900\n")
    for _ in range(2048):
        file.write("%s %s\n" % (
            ",".join(map(str, sorted(draw.sample(range(900), 2)))),
            " ".join("%d:%.3f" % (k, draw.choice((-1, 1)) *
                                  draw.uniform(.5, 2))
                     for k in sorted(draw.sample(range(400), 12)))))
PYTHON
cat >even.yaml <<'YAML'
skein: 1
data: { train: even.txt }
model:
  layers:
    - { name: hidden, units: 128, shards: 2, dropout: 0 }
    - { name: output }
train: { epochs: 2, batch_rows: 256, optimizer: { rate: 1.0e-7 } }
YAML
# bytes NAME SHARDS OPTION...: shards of the output layer on each of two nodes.
bytes() {
    local name=$1 shards=$2
    shift 2
    sed -E "s/cores: 2/cores: $shards/g" <<<"$nodes" >nodes.txt
    "$skein" plan even.yaml -o nodes="$(cat nodes.txt)" "$@" >"$name.plan" &&
        up even.yaml "$name" 2 -o model.layers.output.shards=$((2 * shards)) \
            "$@"
}
cat >bytes.py <<'PYTHON'
"""bytes.py NAME...: two nodes with one, two, three shards each."""
import json
import re
import sys

RUNS = []
for name in sys.argv[1:]:
    events = [json.loads(line) for line in open(name + ".json")]
    done = [e for e in events if e["event"] == "done"][0]
    links = [e["messages"] for e in events if e["event"] == "link"]
    plan = re.findall(r"per batch: ([\d.]+) (.)B sent, ([\d.]+) (.)B received",
                      open(name + ".plan").read())
    unit = {"k": 1e3, "M": 1e6}
    RUNS.append({
        "wire": done["wire_bytes_sent"], "batches": done["batches"],
        "links": links,
        "foretold": sum(float(a) * unit[b] for a, b, _, _ in plan),
        "received": sum(float(c) * unit[d] for _, _, c, d in plan)})
one = RUNS[0]
KINDS = ["activation", "output_gradient", "partition"]
for run in RUNS:
    assert len(run["links"]) == 2, run["links"]
    print("wire", run["wire"], "foretold a batch", run["foretold"], end=" ")
    # Nothing is sent that one shard would not have sent.
    assert abs(run["wire"] - one["wire"]) < 0.05 * one["wire"]
    assert run["foretold"] == one["foretold"] == run["received"]
    for kind in KINDS:
        count = [link[kind]["count"] for link in run["links"] if kind in link]
        sent = sum(link[kind]["bytes"] for link in run["links"] if kind in link)
        before = sum(link[kind]["bytes"] for link in one["links"]
                     if kind in link)
        print(kind, sent, end=" ")
        assert abs(sent - before) <= 0.01 * before, (kind, sent, before)
        assert all(n == run["batches"] for n in count), (kind, count)
    told = run["foretold"] * run["batches"]
    sent = sum(link[kind]["bytes"] for link in run["links"] for kind in KINDS
               if kind in link)
    print("as foretold: %.3f" % (sent / told))
    assert abs(sent - told) < 0.05 * told, (sent, told)
    # Headers, credits, results, and what ends a batch.
    assert run["wire"] < 1.1 * told, (run["wire"], told)
PYTHON
# in_bytes SENTENCE NAME OPTION...
in_bytes() {
    local sentence=$1 name=$2 shards
    shift 2
    for shards in 1 2 3; do
        check "$sentence: two nodes with $shards shards" \
            bytes "$name.$shards" "$shards" "$@"
    done
    check "  send the same, and as much as was foretold" \
        python3 bytes.py "$name".{1,2,3}
    sed 's/^/    /' "$work/.check"
}
in_bytes "bf16" bf16
in_bytes "int8" int8 -o links.coding=int8
in_bytes "one-vs-all" sums "${one_vs_all[@]}"
in_bytes "fixed" fixed -o train.reduction=fixed
finish
