# pair.sh - two nodes on loopback, a and b, that a script starts by hand.
#
# Sourced after lib.sh and tiny.sh; works in the folder of `tiny_model`, where
# a.key and b.key lie. Run NAME writes NAME.a.json, NAME.a.err, and the same for
# b; its files are those of `cluster NAME`.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# pair_model: tiny_model in one shard a layer, whose bits are the same however
# it is dealt, and the keys of a and b.
pair_model() {
    tiny_model
    sed -i -e 's/, shards: 2//' \
        -e 's/^train:/train:\n  reduction: fixed\n  window: 4/' tiny.yaml
    for name in a b; do "$skein" keygen "$name.key" >/dev/null || exit 70; done
}
key_of() { sed -n 's/.*public-key = "\(.*\)"/\1/p' "$1"; }
hold_ports 150
# cluster NAME: writes NAME.yaml, of nodes a and b on ports of their own, and
# NAME.keyless.yaml; $port_a and $port_b are set.
cluster() {
    port_a=${ports[0]} port_b=${ports[1]}
    ports=("${ports[@]:2}")
    cp tiny.yaml "$1.yaml"
    cat >>"$1.yaml" <<YAML
nodes:
  - { name: a, address: "tcp://127.0.0.1:$port_a", key: a.key }
  - { name: b, address: "tcp://127.0.0.1:$port_b", key: b.key }
YAML
    sed 's/, key: .*\.key//' "$1.yaml" >"$1.keyless.yaml"
}

declare -A pid
# node RUN NAME FILE OPTION...: starts node NAME, behind.
node() {
    local run=$1 name=$2 file=$3
    shift 3
    timeout -k 5 120 "${program:-$skein}" node "$name" "$file" --json \
        -o checkpoint.path="$run.run" "$@" >"$run.$name.json" \
        2>"$run.$name.err" </dev/null &
    pid[$run.$name]=$!
}
both() { # RUN FILE OPTION...
    local run=$1 file=$2
    shift 2
    node "$run" b "$file" "$@"
    node "$run" a "$file" "$@"
}
# codes RUN: how a and b ended; 124 and 137 are hangs.
codes() {
    local name code said=()
    for name in a b; do
        code=0
        wait "${pid[$1.$name]}" || code=$?
        said+=("$code")
    done
    echo "${said[*]}" >"$1.codes"
}
ended() { # SENTENCE RUN "CODE_A CODE_B"
    codes "$2"
    check_equal "$1" "$(cat "$2.codes")" "$3" || cat "$2".?.err
}
said() { # RUN NAME REGEX
    check_match "  $2 says so" "$3" "$1.$2.err"
}
joined() { wait_until 150 grep -q '"joined"' "$1.a.json"; }
trained() { wait_until 150 grep -q '"checkpoint"' "$1.a.json"; }
# worker_of PID: the last of its line.
worker_of() {
    local child
    child=$(pgrep -P "$1" | head -n 1)
    if [ -n "$child" ]; then worker_of "$child"; else echo "$1"; fi
}
# counted RUN NAME PYTHON: of what the door counted (`at`), the fragments that
# links dropped (`refused`) and the records that ended the run (`broken`), by
# reason; counters that are 0 are not there.
counted() {
    python3 - "$@" <<'PYTHON'
import collections, json, sys
run, name, holds = sys.argv[1:]
at, refused, broken = [collections.Counter() for _ in range(3)]
for line in open("%s.%s.json" % (run, name)):
    event = json.loads(line)
    if event.get("event") == "links":
        at.update(event["counts"])
    if event.get("event") == "link":
        refused.update(event["refused"])
        broken.update(event["records_refused"])
assert eval("(" + holds + ")"), (at, refused, broken)
PYTHON
}
one() { # SENTENCE RUN CODE
    local code=0
    wait "${pid[$2.a]}" || code=$?
    check_equal "$1" "$code" "$3"
}
