#!/usr/bin/env bash
# kept.sh - checkpoints that nodes keep in folders of their own: any one of them
# may be lost, and the run goes on to the same weights, on fewer nodes and back.
#
# Covers actors/checkpoints/keeper.c, fetcher.c, gatherer.c, restorer.c,
# formats/checkpoint/held.c, topology/plan/plan_keepers.c, and --from and
# --generation of `skein node`.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/pair.sh
. "$(dirname "$0")/pair.sh"
tiny_model
# One shard a layer on one core: the same bits however the nodes are dealt.
sed -i -e 's/, shards: 2//' -e 's/epochs: 5/epochs: 14/' \
    -e 's/^train:/train:\n  reduction: fixed\n  window: 4/' \
    -e 's/every_batches: 20/every_batches: 20, copies: 2/' tiny.yaml

# nodes_of NAME...: an override that lists them, on ports of their own.
nodes_of() {
    local name list=()
    for name in "$@"; do
        list+=("{name: $name, address: \"tcp://127.0.0.1:${ports[0]}\"}")
        ports=("${ports[@]:1}")
    done
    (IFS=,; echo "nodes=[${list[*]}]")
}
# start RUN "NODES" OPTION...: each node behind, with folder RUN.NODE.
start() {
    local run=$1 names=$2 name list
    shift 2
    # shellcheck disable=SC2086
    list=$(nodes_of $names)
    # Ports that were taken in a subshell are taken here, too.
    for name in $names; do ports=("${ports[@]:1}"); done
    for name in $names; do
        timeout -k 5 60 "$skein" node "$name" tiny.yaml --json \
            -o checkpoint.path="$folder.$name" -o "$list" "$@" \
            >"$run.$name.json" 2>"$run.$name.err" </dev/null &
        pid[$run.$name]=$!
    done
}
# ended SENTENCE RUN "NODES" "CODES"
ended() {
    local name got=()
    for name in $3; do
        wait "${pid[$2.$name]}"
        got+=("$?")
    done
    check_equal "$1" "${got[*]}" "$4" || head -n 3 "$2".*.err
}
# saved RUN COUNT: that many checkpoints were told.
saved() { [ "$(grep -c '"checkpoint"' "$1.a.json")" -ge "$2" ]; }
kill_node() { # RUN NAME
    kill -9 "$(worker_of "${pid[$1.$2]}")"
}
# newest FOLDER: the name of the newest checkpoint.
newest() { basename "$(find "$1" -name 'batch-*' | sort | tail -n 1)"; }
# from_of NAME: as --from has it.
from_of() { sed 's/^batch-0*\([0-9]\)/\1/' <<<"$1"; }

# --- undisturbed -------------------------------------------------------------
folder=whole
start whole "a b c"
ended "three nodes keep two copies" whole "a b c" "0 0 0"
sha=$(sha_of whole.a.json)
check "the first node has the last checkpoint whole" \
    "$skein" inspect whole.a/latest
"$skein" inspect whole.a/latest --json >inspected.json
check_equal "  with the weights that were reported" \
    "$(event inspect weights_sha256 inspected.json)" "$sha"
check_equal "a part of it is read with those beside it" \
    "$("$skein" predict whole.b/latest test.txt | sed 's/:[^ ]*//g')" \
    "$("$skein" predict whole.a test.txt | sed 's/:[^ ]*//g')"
mkdir apart
cp -r whole.b apart/
check_code 66 "  and is no model without them" "$skein" predict \
    apart/whole.b/latest test.txt
check_equal "  predict reports what is missing" \
    "$(head -n 1 "$work/.check")" "skein: \
apart/whole.b/latest: batch-000000000266 is incomplete: 1 of its 4 files, \
output.2.safetensors, is in no node's folder; copy the folders of the other \
nodes beside those that are there"
check_equal "every node has two nodes' files of those before" \
    "$(find whole.?/batch-000000000260 -name '*.safetensors' -printf '%f\n' |
        sort | uniq -c | awk '{ print $1 }' | xargs)" "2 2 2 2"
sed 's/, copies: 2//' tiny.yaml >plain.yaml
"$skein" up plain.yaml --local-nodes 3 --json -o checkpoint.path=plain \
    >plain.json 2>plain.err </dev/null
check_equal "the weights are those of a run with its checkpoints in one place" \
    "$(sha_of plain.json)" "$sha"

# --- a node is lost, with its folder -----------------------------------------
folder=run
start one "a b c"
wait_until 100 saved one 2
kill_node one c
ended "a node is killed: the others end" one "a b c" "69 69 70"
rm -rf run.c
# One may have renamed a newer one, and the other not: then it is not settled.
common() {
    printf '%s\n' "$(newest run.a)" "$(newest run.b)" | sort | head -n 1
}
from=$(common)
check "  both have what all had settled" test -d "run.a/$from" -a \
    -d "run.b/$from"
start two "a b" --generation 1 --from "$(from_of "$from")"
wait_until 100 saved two 3
check_match "two nodes continue from it" \
    "\"event\":\"resume\".*\"batch\":$(from_of "$from")" two.a.json
check_match "  and save it again at once" "\"path\":\"run.a/$from-g000001\"" \
    two.a.json
kill_node two b
ended "  until one is killed" two "a b" "69 70"
from=$(common)
check_equal "  the names have the generation" "${from:18}" "-g000001"
cp -r run.a a.before
cp -r run.b b.before

# --- back to three, one with nothing but the manifest ------------------------
give() { # FROM TO
    mkdir -p "$2/$from" && cp "$1/run.json" "$2/" &&
        cp "$1/$from/manifest.json" "$2/$from/"
}
give run.a run.c
start three "c b a" --generation 2 --from "$(from_of "$from")"
ended "three nodes continue, and another one leads, with an empty folder" \
    three "c b a" "0 0 0"
check_equal "the weights are those of an undisturbed run" \
    "$(sha_of three.c.json)" "$sha"
check_equal "  of which each block has taken each batch once" \
    "$(event "done" lost three.c.json) $(event "done" applied_twice \
        three.c.json)" "0 0"
check_match "  inspect says so, too" "^ledger +0 lost, 0 applied twice$" \
    <("$skein" inspect run.c/latest)
check "  and the leader has the whole checkpoint" "$skein" inspect run.c/latest
check_equal "  replaced checkpoints are removed" \
    "$(find run.? -name 'batch-*' -not -name '*g000002' | wc -l)" 0
check "  predict finds them" "$skein" predict run.c test.txt

# --- damage ------------------------------------------------------------------
flip() { # FILE: its last byte
    python3 - "$1" <<'PYTHON'
import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(-1, 2)
    byte = file.read(1)[0]
    file.seek(-1, 2)
    file.write(bytes([byte ^ 1]))
PYTHON
}
again() { # a fresh pair of folders, and a c with the manifest alone
    rm -rf run.?
    cp -r a.before run.a
    cp -r b.before run.b
    give run.a run.c
}
again
flip "run.a/$from/output.0.safetensors"
start flipped "a b c" --generation 3 --from "$(from_of "$from")"
ended "a byte is flipped in a file of one node" flipped "a b c" "0 0 0"
check_equal "  and another's copy gives the same weights" \
    "$(sha_of flipped.a.json)" "$sha"
check_match "  with a warning" "output.0.safetensors: output.step.* is \
damaged.*; another node's copy is used" flipped.a.err

again
rm "run.a/$from/output.0.safetensors" "run.b/$from/output.0.safetensors"
start nobody "a b c" --generation 4 --from "$(from_of "$from")"
ended "a file that no node has ends the run" nobody "a b c" "66 66 66"
check_match "  with what is missing" "no node holds rows [0-9]+ to [0-9]+ of \
output.weight of the checkpoint of batch [0-9]+ \(output.0.safetensors\)" \
    nobody.a.err
check "  and the checkpoint is kept" test -d "run.b/$from"

# --- their folders are moved -------------------------------------------------
folder=here
start moved "a b c" -o train.epochs=100000 \
    -o train.validate=0.2
wait_until 100 saved moved 1
for name in a b c; do mv "here.$name" "there.$name"; done
wait_until 100 grep -q "/there.a/" moved.a.json
kill -TERM "$(pgrep -P "${pid[moved.a]}")"
ended "nodes whose folders are moved end well" moved "a b c" "0 0 0"
check_equal "  with the same checkpoint in each" \
    "$(newest there.b) $(newest there.c)" "$(newest there.a) $(newest there.a)"
check "  which is read from there" "$skein" inspect there.a/latest

# --- a full disk at one of them ----------------------------------------------
rm -rf full.?
mkdir full.b
if mount -t tmpfs -o size=2m tmpfs full.b 2>mount.log; then
    at_exit "umount '$work/full.b' 2>/dev/null"
    folder=full
    start full "a b c" -o train.epochs=100000
    wait_until 100 test -e full.b/latest
    head -c 2m /dev/zero >full.b/filler 2>filler.log
    wait_until 100 grep -q "No space left" full.a.err
    check_match "a full disk at one node is a warning that names it" "^skein: \
warning: node 'b': full.b/.*: No space left on device; batch [0-9]+ is \
saved$" full.a.err
    rm full.b/filler
    before=$(grep -c '"checkpoint"' full.a.json)
    check "  and the run saves again when there is room" \
        wait_until 100 saved full $((before + 1))
    kill -TERM "$(pgrep -P "${pid[full.a]}")" # not twice, by way of timeout
    ended "  and it ends well" full "a b c" "0 0 0"
    check_equal "  after which all have the same" \
        "$(newest full.b) $(newest full.c)" "$(newest full.a) $(newest full.a)"
else
    skip "a full disk" "only root can mount a small one"
fi

# --- who may begin where -----------------------------------------------------
folder=whole
start taken "a b c"
ended "a folder that holds a run is refused on every node" taken "a b c" \
    "73 73 73"
check_code 64 "--from wants a checkpoint's name" "$skein" node a tiny.yaml \
    --from yesterday -o "$(nodes_of a b)"
finish
