#!/usr/bin/env bash
# decoder_nodes.sh - a decoder on several nodes is the decoder of one process,
# also after a node was killed, after a stop, and while nodes come and go.
#
# Real processes; real sockets of loopback and, where networks may be made, of
# hosts with slow links. Covers topology/plan/plan_decoder.c,
# topology/plan/plan_decoder_wire.c, actors/stage/stage.c and
# actors/rows/clipper.c between processes.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/pair.sh
. "$(dirname "$0")/pair.sh"
# shellcheck source=tests/e2e/members.sh
. "$(dirname "$0")/members.sh"
# shellcheck source=tests/e2e/hosts.sh
. "$(dirname "$0")/hosts.sh"
cd "$work" || exit 70
python3 - <<'PYTHON' || exit 70
import random
draw = random.Random(5)
words = ["stage", "layer", "of ", "the ", "gradient ", ".\n", "token "]
with open("text.txt", "w") as file:
    file.write("".join(draw.choice(words) for _ in range(1200)))
PYTHON
cat >tiny.yaml <<'YAML'
skein: 1
data: { train: text.txt, context: 32, cache: none }
model: { kind: decoder, layers: 4, width: 32, heads: 2 }
train:
  reduction: fixed
  micro_tokens: 128
  batch_tokens: 512
  validate: 0.1
  optimizer: { rate: 0.01, weight_decay: 0.1 }
checkpoint: { path: run, every_batches: 12 }
YAML
short=(-o train.steps=6)

# train NAME OPTION...: in one process.
train() {
    local name=$1
    shift
    timeout 120 "$skein" train tiny.yaml --json -o checkpoint.path="$name" \
        "$@" >"$name.json" 2>"$name.err" </dev/null
}
# up NAME NODES OPTION...
up() {
    local name=$1 nodes=$2
    shift 2
    timeout 120 "$skein" up tiny.yaml --local-nodes "$nodes" --json \
        -o checkpoint.path="$name" "$@" >"$name.json" 2>"$name.err" </dev/null
}
# same SENTENCE NAME: the weights of NAME are $want.
same() { check_equal "$1" "$(sha_of "$2.json")" "$want"; }

# --- the same bits -----------------------------------------------------------
check "one process with one stage trains" train alone "${short[@]}" \
    -o model.stages=1
want=$(sha_of alone.json)
for nodes in 2 3 4; do
    check "one process with $nodes stages trains" train "stages.$nodes" \
        "${short[@]}" -o model.stages=$nodes
    same "  to the same weights" "stages.$nodes"
    check "$nodes nodes train" up "nodes.$nodes" $nodes "${short[@]}"
    same "  to the same weights" "nodes.$nodes"
done
check "a head in two parts trains on three nodes" up head.2 3 "${short[@]}" \
    -o model.head.shards=2
same "  to the same weights" head.2
check "a head in two parts a node trains on three" up head.6 3 "${short[@]}" \
    -o model.head.shards=6
same "  to the same weights" head.6
check "nodes of different speeds train" up speeds 3 "${short[@]}" \
    -o nodes.n0.speed=0.3 -o nodes.n2.speed=2
same "  to the same weights" speeds
check_code 78 "a node without a layer is refused" "$skein" up tiny.yaml \
    --local-nodes 5 -o checkpoint.path=five
check_match "  with a message" "5 nodes are more than" .check

# --- over links: 5 ms each way, 20 Mbit/s ------------------------------------
port=7001

# names COUNT: writes hosts.COUNT.yaml, of so many hosts.
names() {
    local k
    cp tiny.yaml "hosts.$1.yaml"
    echo "nodes:" >>"hosts.$1.yaml"
    for ((k = 0; k < $1; k++)); do
        echo "  - { name: h$k, address: \"tcp://10.77.0.$((k + 1)):$port\"," \
            "key: h$k.key }" >>"hosts.$1.yaml"
    done
}
# over NAME COUNT OPTION...: a run of so many hosts; 0 if all ended well.
over() {
    local name=$1 count=$2 k code=0 pids=()
    shift 2
    for ((k = 0; k < count; k++)); do
        on_host "$k" timeout -k 5 120 "$skein" node "h$k" "hosts.$count.yaml" \
            --json -o checkpoint.path="$name" "$@" >"$name.$k.json" \
            2>"$name.$k.err" </dev/null &
        pids+=($!)
    done
    for k in "${pids[@]}"; do wait "$k" || code=$?; done
    [ "$code" = 0 ] || cat "$name".?.err
    mv "$name.0.json" "$name.json"
    return "$code"
}
if can_make_networks; then
    for k in 0 1 2 3; do "$skein" keygen h$k.key >/dev/null || exit 70; done
    hosts_relayed 4 $port "$build/fault/fault_relay" --for-ms 550000 || exit 70
    relays_say 4 "delay 5"
    relays_say 4 "rate 2500000"
    for count in 2 3 4; do names $count; done
    for shape in 2.2 2.4 3.3 3.4 4.4; do # hosts, stages
        check "${shape%.*} hosts train ${shape#*.} stages" over "over.$shape" \
            "${shape%.*}" "${short[@]}" -o model.stages="${shape#*.}"
        same "  to the same weights" "over.$shape"
    done
else
    skip "hosts with slow links" "needs root and network namespaces"
fi

# --- codings -----------------------------------------------------------------
# Uniform guessing costs ln 257 = 5.55 nats.
for coding in f32 bf16 int8; do
    check "$coding: two nodes train" up "$coding" 2 -o links.coding=$coding \
        -o train.reduction=fast -o train.steps=20
    check "  and learn" python3 -c "
assert $(event "done" loss "$coding.json") < 4
assert abs($(event "done" loss "$coding.json") -
    $(event "done" loss f32.json)) < 0.1"
done

# --- killed and stopped ------------------------------------------------------
long=(-o train.epochs=12)
check "an undisturbed run ends" train whole "${long[@]}" -o model.stages=2
want=$(sha_of whole.json)

# disturbed NAME OPTION...: a run of three nodes, which has saved something;
# its process is $up, its nodes' are $nodes.
disturbed() {
    local name=$1
    shift
    "$skein" up tiny.yaml --local-nodes 3 --json -o checkpoint.path="$name" \
        "${long[@]}" "$@" >"$name.json" 2>"$name.err" </dev/null &
    up=$!
    at_exit "kill -9 $up 2>/dev/null"
    wait_until 600 grep -q '"checkpoint"' "$name.json"
    mapfile -t nodes < <(pgrep -P $up)
}
# continues NAME: the run continues on as many nodes, on others, and in one
# process.
continues() {
    local name=$1
    for other in four one; do cp -r "$name" "$name.$other"; done
    check "  it continues on three nodes" up "$name" 3 --resume "${long[@]}"
    same "  to the weights of an undisturbed run" "$name"
    check "  and on four" up "$name.four" 4 --resume "${long[@]}"
    same "  to the same" "$name.four"
    check "  and in one process of one stage" train "$name.one" --resume \
        "${long[@]}" -o model.stages=1
    same "  to the same" "$name.one"
}
disturbed killed
kill -9 "${nodes[1]}"
code=0
wait "$up" || code=$?
check_equal "a run one of whose nodes was killed ends with code 69" $code 69
continues killed
disturbed stopped -o checkpoint.every_epochs=0 -o checkpoint.every_batches=100
kill -TERM "$up"
check "a run that gets SIGTERM ends well" wait "$up"
check_equal "  at the end of a step" "$(($(batch_of stopped) % 4))" 0
continues stopped

# --- nodes come and go -------------------------------------------------------
# Enough for members to come, leave and die in the meantime.
epochs=120
hold_ports 4
for name in a b c lead; do
    "$skein" keygen "$name.key" >/dev/null || exit 70
done
cat tiny.yaml - >three.yaml <<YAML
coordinator:
  { address: "tcp://127.0.0.1:${ports[3]}", key: lead.key, balance: false }
nodes:
  - { name: a, address: "tcp://127.0.0.1:${ports[0]}", key: a.key }
  - { name: b, address: "tcp://127.0.0.1:${ports[1]}", key: b.key }
  - { name: c, address: "tcp://127.0.0.1:${ports[2]}", key: c.key }
YAML
sed -i 's/every_batches: 12/every_batches: 40/' three.yaml
check "an undisturbed run ends, too" train longest -o train.epochs=$epochs \
    -o checkpoint.every_batches=1000
want=$(sha_of longest.json)
lead moving --wait 1
lead_pid=$started
member moving a
pid_a=$started
member moving b
pid_b=$started
await "two members begin" 'generation 1 from batch 0: a and b' \
    moving.lead.json
await "and train" '"checkpoint"' moving.a.json
member moving c
pid_c=$started
await "a third one joins" 'a, b and c; c joins' moving.lead.json
kill -TERM "$pid_b"
check "one that gets SIGTERM leaves with exit code 0" wait "$pid_b"
await "the others continue" 'a and c; b leaves' moving.lead.json
kill -9 "$pid_c"
await "a dead one is noticed" 'c is (gone|silent)' moving.lead.json
check "the coordinator ends well" wait "$lead_pid"
check "and the member that stayed" wait "$pid_a"
check_equal "with the weights of an undisturbed run" \
    "$(sha_of <(cat moving.[abc].json))" "$want"
finish
