#!/usr/bin/env bash
# first_day.sh - two nodes, and what somebody does wrong on the first day.
#
# A node that waited in vain, the same command again; --resume or --predict on
# one node alone. Beside faults.sh, where it is the machines that fail. Covers
# formats/checkpoint/run_folder.c, cli/verb_up.c, cli/verb_node.c and the
# sentences of the links.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/pair.sh
. "$(dirname "$0")/pair.sh"
tiny_model
sed -i 's/, shards: 2//; s/^train:/train:\n  window: 4/' tiny.yaml
for name in a b; do "$skein" keygen "$name.key" >/dev/null || exit 70; done

# --- a start that failed ------------------------------------------------------
cluster again
node again a again.yaml --wait 1
one "a node that waited in vain" again 69
check_equal "  has a folder with no checkpoint in it" \
    "$(cd again.run && echo *)" "lock run.json"
both again again.yaml
ended "the same command once more, with the other node, trains" again "0 0"
check_code 73 "  and now the folder is refused" "$skein" node a again.yaml \
    -o checkpoint.path=again.run
cluster three
"$skein" keygen c.key >/dev/null
echo "  - { name: c, address: \"tcp://127.0.0.1:${ports[0]}\", key: c.key }" \
    >>three.yaml
node three a three.yaml --wait 1
node three b three.yaml --wait 9
ended "two nodes without a third" three "69 69"
said three b "^skein: node 'a': waited 1 s for c .*; fix the cause, then \
start all nodes again$"

# --- of two nodes one goes on ------------------------------------------------
# half RUN A B: node a with the options A, node b with those of B.
half() {
    local run=$1 a=$2 b=$3
    cp again.yaml "$run.yaml"
    # shellcheck disable=SC2086
    node "$run" a "$run.yaml" --wait 9 -o checkpoint.path=again.run \
        -o train.epochs=9 $a
    # shellcheck disable=SC2086
    node "$run" b "$run.yaml" --wait 9 -o train.epochs=9 $b
    ended "a with '$a', b with '$b'" "$run" "78 78"
    check_match "  both report the reason" \
        "^skein: node '[ab]' (refused the link: it \
does not agree with this node on --resume or --predict|continues a run, \
this one (starts a new run|predicts)|starts a new run, this one continues a \
run|predicts, this one continues a run); stop all nodes, then start all with \
--(resume|predict), or all without$" "$run.a.err"
    said "$run" b "^skein: node 'a' (refused the link: it does not agree|\
[^,]*, this one (starts|predicts|continues))"
}
rm -rf again.run/batch-* again.run/latest again.run/best
half resume_a --resume ""
half predict_b --resume "--predict test.txt"

# --- the wrong file -----------------------------------------------------------
check_code 64 "a file without nodes" "$skein" node a tiny.yaml
check_match "  is reported as such" \
    "^skein: tiny.yaml has no \`nodes:\`; list the \
nodes there, train it in one process with \`skein train\`, or on nodes of this \
machine with \`skein up FILE --local-nodes N\`$" .check

check_code 71 "too little memory for all nodes of a machine" \
    "$skein" up tiny.yaml --local-nodes 2 -o resources.memory=9MiB \
    -o checkpoint.path=memory.run
check_match "  is reported as such" \
    "the 2 nodes of this machine need about [0-9]+ \
MiB of memory, resources.memory allows 9 MiB; allow more, use fewer nodes, or \
use fewer model.layers.hidden.units$" .check

# --- nobody reads -------------------------------------------------------------
mkdir tmp
up() { # RUN OPTION...
    local run=$1
    shift
    TMPDIR=$work/tmp timeout -k 5 60 "$skein" up tiny.yaml --local-nodes 2 \
        --json -o checkpoint.path="$run.run" -o train.epochs=100000 "$@"
}
up headless 2>err | head -n 3 >out
check_equal "head ends up quietly" "${PIPESTATUS[0]} $(cat err)" "141 "
check "  in order: it has saved" test -f headless.run/latest/manifest.json
check_equal "  and left no keys behind" "$(ls tmp)" ""
cluster cut
timeout -k 5 60 "$skein" node b cut.yaml --json -o train.epochs=100000 \
    >cut.b.json 2>cut.b.err </dev/null &
pid[cut.b]=$!
"$skein" node a cut.yaml --json -o checkpoint.path=cut.run \
    -o train.epochs=100000 2>cut.a.err | head -n 4 >cut.a.json
check_equal "head ends a node quietly" "${PIPESTATUS[0]} $(cat cut.a.err)" \
    "141 "
wait "${pid[cut.b]}"
check_equal "  the other node is informed, and ends well" \
    "$? $(cat cut.b.err)" "0 "
TMPDIR=$work/tmp "$skein" up tiny.yaml --local-nodes 2 --json \
    -o checkpoint.path=killed.run -o train.epochs=100000 >killed.json \
    2>killed.err </dev/null &
pid[up]=$!
check "up trains" wait_until 150 grep -q '"checkpoint"' killed.json
check_equal "  and has no keys in a file any more" "$(ls tmp)" ""
mapfile -t nodes < <(pgrep -P "${pid[up]}")
kill -9 "${pid[up]}"
wait "${pid[up]}" 2>/dev/null
gone() { ! kill -0 "${nodes[@]}" 2>/dev/null; }
check "  killed: its ${#nodes[@]} nodes end, too" wait_until 80 gone
finish
