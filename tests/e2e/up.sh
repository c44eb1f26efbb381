#!/usr/bin/env bash
# up.sh - one model on several nodes is the model of one.
#
# Real processes, real sockets of loopback, keys that `up` makes. Covers
# the driver of the links, cli/base/trainer.c, cli/verb_up.c,
# cli/up/up_local.c, cli/up/up_process.c and cli/verb_node.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
sed -i 's/, shards: 2//' tiny.yaml
fixed=(-o train.reduction=fixed)

# train NAME OPTION...: on one node.
train() {
    local name=$1
    shift
    "$skein" train tiny.yaml --json -o checkpoint.path="$name" "$@" \
        >"$name.json" 2>"$name.err" </dev/null
}
# up NAME NODES OPTION...
up() {
    local name=$1 nodes=$2
    shift 2
    timeout 120 "$skein" up tiny.yaml --local-nodes "$nodes" --json \
        -o checkpoint.path="$name" "$@" >"$name.json" 2>"$name.err" </dev/null
}

# How many nodes train in make test; the nightly has 1 to 4 of each.
declare -A counts=([exact.1]="2 4" [exact.4]=3 [uniform.1]=3
    [uniform.4]="1 2 4")
every=${SKEIN_TESTS:+1 2 3 4}
for sampler in exact uniform; do
    options=("${fixed[@]}" -o "model.layers.output.sampler.kind=$sampler")
    [ "$sampler" = exact ] ||
        options+=(-o model.layers.output.sampler.rows=100)
    for window in 1 4; do
        check "$sampler, window $window: one process trains" \
            train "$sampler.$window" "${options[@]}" -o train.window="$window"
        for nodes in ${every:-${counts[$sampler.$window]}}; do
            check "$sampler, window $window: $nodes nodes train" \
                up "$sampler.$window.$nodes" "$nodes" "${options[@]}" \
                -o train.window="$window"
            check_equal "  to the same weights" \
                "$(sha_of "$sampler.$window.$nodes.json")" \
                "$(sha_of "$sampler.$window.json")"
        done
    done
done
# Rows and units by speed.
for window in 1 4; do
    check "nodes of different speeds, window $window, train" \
        up "speeds.$window" 3 "${fixed[@]}" -o train.window=$window \
        -o nodes.n0.speed=0.3 -o nodes.n2.speed=2
    check_equal "  to the same weights" "$(sha_of "speeds.$window.json")" \
        "$(sha_of "exact.$window.json")"
done
# Ports are held from when they are found until the end, not let go between.
thief=$build/fault/fault_thief
for kind in plain elastic; do
    more=(-o train.epochs=1)
    [ $kind = plain ] || more+=(--elastic)
    check "$kind nodes beside a program that takes every free port" \
        timeout 120 "$thief" up tiny.yaml --local-nodes 3 --json \
        -o checkpoint.path="thief.$kind" "${more[@]}"
done
check "a file with resources of its own runs on nodes, too" \
    up resources 2 -o resources.cores=1 -o train.epochs=1
check "a run that is over is not trained again" \
    timeout 20 "$skein" up tiny.yaml --local-nodes 2 --json --resume \
    -o checkpoint.path=resources -o resources.cores=1 -o train.epochs=1
check "every line of up --json is JSON" every_line_is_json exact.4.3.json
check_equal "done has the number of nodes" \
    "$(event "done" nodes exact.4.3.json)" 3
sent=$(event "done" wire_bytes_sent exact.4.3.json)
received=$(event "done" wire_bytes_received exact.4.3.json)
check "what was sent was received, but for what was on its way" \
    python3 -c "assert abs($sent - $received) < 0.02 * $sent and $sent > 1e5, \
        ($sent, $received)"
check "the same layout twice gives the same bits, window 4, bf16" \
    up twice.1 2 -o train.window=4 -o links.coding=bf16
check "  again" up twice.2 2 -o train.window=4 -o links.coding=bf16
check_equal "  the same weights" "$(sha_of twice.2.json)" \
    "$(sha_of twice.1.json)"
for coding in int8 int4; do
    check "$coding: two nodes train" up "$coding" 2 -o links.coding="$coding"
    check "  about as well" python3 -c "
assert abs($(event "done" p1 "$coding.json") -
    $(event "done" p1 twice.1.json)) < 0.15"
done
# --- where the time went, of all nodes ---------------------------------------
check "a report and a trace of two nodes" up reported 2 "${fixed[@]}" \
    -o train.epochs=1 --report --trace trace.json
check_equal "a report a node, and one verdict" \
    "$(grep -o '"event":"\(report\|verdict\)"' reported.json | sort | uniq -c |
        tr -s ' \n' ' ')" ' 2 "event":"report" 1 "event":"verdict" '
check "a trace of both, whose messages leave before they come" python3 - <<'PY'
import json, sys
events = json.load(open("trace.json"))["traceEvents"]
names = {e["pid"]: e["args"]["name"] for e in events
         if e["name"] == "process_name"}
assert names == {0: "skein up", 1: "n0", 2: "n1"}, names
sent = {e["id"]: e for e in events if e["ph"] == "s"}
across = [(sent[e["id"]], e) for e in events if e["ph"] == "f"
          and e["id"] in sent and sent[e["id"]]["pid"] != e["pid"]]
assert across, "no message from node to node"
late = [(s["ts"], f["ts"]) for s, f in across if f["ts"] < s["ts"] - 1e6]
assert not late, late[:3]
PY
timeout 120 "$skein" up tiny.yaml --local-nodes 2 "${fixed[@]}" --report \
    -o train.epochs=1 -o checkpoint.path=tabled >out 2>err </dev/null
check_equal "as text a table a node" "$(grep '^node' out | tr '\n' ' ')" \
    "node n0 node n1 "
check_match "and the last line says what bounds the run" '^bound by .*\.$' \
    <(tail -1 out)
for option in --report "--trace trace.json"; do
    # shellcheck disable=SC2086
    check_code 64 "elastic nodes have no $option" "$skein" up tiny.yaml \
        --local-nodes 2 --elastic $option
done
finish
