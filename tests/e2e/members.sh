# members.sh - a coordinator and members that a script starts by hand.
#
# Sourced after lib.sh, tiny.sh and pair.sh. $members_file is the model file,
# $epochs how long it trains. Run NAME writes NAME.lead.json, NAME.lead.err, and
# the same for each member. SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
members_file=three.yaml

# three_model: pair_model, the keys of c and of lead, and three.yaml: nodes a, b
# and c, whose ports nobody else has.
three_model() {
    pair_model
    for name in c lead; do
        "$skein" keygen "$name.key" >/dev/null || exit 70
    done
    cat tiny.yaml - >three.yaml <<YAML
coordinator: { address: "tcp://127.0.0.1:${ports[3]}", key: lead.key }
nodes:
  - { name: a, address: "tcp://127.0.0.1:${ports[0]}", key: a.key }
  - { name: b, address: "tcp://127.0.0.1:${ports[1]}", key: b.key }
  - { name: c, address: "tcp://127.0.0.1:${ports[2]}", key: c.key }
YAML
}

# lead RUN OPTION... and member RUN NAME OPTION...: in the background; $started.
lead() {
    local run=$1
    shift
    "$skein" coordinator "$members_file" --json -o checkpoint.path="$run" \
        -o train.epochs="$epochs" "$@" >>"$run.lead.json" 2>>"$run.lead.err" \
        </dev/null &
    started=$!
    at_exit "kill -9 $started 2>/dev/null"
}
member() {
    local run=$1 name=$2
    shift 2
    "$skein" member "$name" "$members_file" --json -o checkpoint.path="$run" \
        -o train.epochs="$epochs" "$@" >>"$run.$name.json" \
        2>>"$run.$name.err" </dev/null &
    started=$!
    at_exit "kill -9 $started 2>/dev/null"
}
# await SENTENCE PATTERN FILE: until a line of FILE matches, or a minute.
await() {
    local tries=0
    until grep -Eq -- "$2" "$3" 2>/dev/null; do
        tries=$((tries + 1))
        kill -0 "$lead_pid" 2>/dev/null || tries=1200
        [ $tries -lt 1200 ] || { fail "$1" "$3"; return 1; }
        sleep 0.05
    done
    pass "$1"
}
