#!/usr/bin/env bash
# parts.sh - what the nodes of a stopped run hold is one model, from the folder
# that holds theirs, or from any of them; and a run whose networks are not
# joined yet is one, too.
#
# Covers topology/run/checkpoint_inventory.c, cli/combinations.c,
# topology/run/trained_find.c, topology/run/trained_missing.c,
# topology/run/resume.c, formats/checkpoint/node_folders.c,
# formats/checkpoint/checkpoint_find.c and
# formats/checkpoint/checkpoint_beside.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
sed -i -e 's/, shards: 2//' -e 's/^train:/train:\n  reduction: fixed/' tiny.yaml
long=(-o train.epochs=100000 -o train.evaluate.every_epochs=0)

# busy FOLDER: who may not train beside the run in it; both wait for it.
busy() {
    local folder=$1 beside code=0
    cp -r "$folder/n0" "$folder/gone"
    "$skein" train tiny.yaml --resume "${long[@]}" \
        -o checkpoint.path="$folder/gone" >beside.out 2>&1 </dev/null &
    beside=$!
    check_code 75 "one process does not train beside nodes" "$skein" train \
        tiny.yaml --resume "${long[@]}" -o checkpoint.path="$folder"
    check_match "  with a message" "^skein: $folder/.* is held by another \
process; nodes still train there" .check
    check "  and leaves the folder to them" test ! -e "$folder/run.json"
    wait $beside || code=$?
    check_equal "nor in the folder of a node that is gone" $code 75
    check_match "  with a message, too" \
        "^skein: .*/coordinator.journal is held \
by another process; nodes still train there" beside.out
    rm -r "$folder/gone"
}
# stopped_run FOLDER NODES OPTION...: an elastic run, told to stop on its way.
stopped_run() {
    local folder=$1 nodes=$2 up
    shift 2
    "$skein" up tiny.yaml --local-nodes "$nodes" --elastic --json "${long[@]}" \
        -o checkpoint.path="$folder" "$@" >"$folder.json" 2>"$folder.err" \
        </dev/null &
    up=$!
    at_exit "kill -9 $up 2>/dev/null"
    wait_until 300 eval "[ \$(grep -c '\"checkpoint\"' '$folder.json') -ge 3 ]"
    frozen "$up" busy "$folder"
    kill -TERM "$up"
    check "a run of $nodes nodes in $folder stops after SIGTERM" wait "$up"
}
# sha_in PATH: what `inspect` says of the weights.
sha_in() {
    "$skein" inspect "$1" --json 2>/dev/null |
        grep -o '"weights_sha256":"[0-9a-f]*"' |
        head -n 1
}
# list FOLDER: every file, with its length.
list() { find "$1" -type f -printf '%p %s\n' | sort; }

# --- three nodes, of which none has all --------------------------------------
stopped_run three 3
list three >three.before
check_match "up names the command that combines the parts" \
    "skein predict short" <("$skein" up tiny.yaml --local-nodes 2 --elastic \
        -o train.epochs=1 -o checkpoint.path=short)
check_code 1 "no node has the model whole" \
    bash -c 'ls three/n*/batch-*/output.1.safetensors | grep n0'
check "predict takes the folder of the run" \
    "$skein" predict three test.txt -k 3
cp .check answers
check_equal "  a line a point" "$(grep -c : answers)" 200
for node in n0 n1 n2; do
    check "and that of node $node" "$skein" predict three/$node test.txt -k 3
    check_equal "  with the same answers" "$(cat .check)" "$(cat answers)"
    check_equal "  and the same weights" "$(sha_in three/$node)" \
        "$(sha_in three)"
done
check "eval takes it" "$skein" eval three
check "inspect takes it" "$skein" inspect three
check_match "  and prints which node has which part" \
    '^holds +batch-[0-9]*-g000001  latest  n0 3 of 4 files, n1 3, n2 2$' .check
check "join makes one folder of it" "$skein" join three --into joined
check_equal "  that predicts the same" \
    "$("$skein" predict joined test.txt -k 3 | sed 's/:[^ ]*//g')" \
    "$(sed 's/:[^ ]*//g' answers)"
check_match "  calibrated now" '"calibrated":true' \
    <("$skein" eval joined --json)
check_code 64 "but three parts are not three networks" \
    "$skein" join three/n0 three/n1 three/n2 --into thrice
check_match "  with a message" 'three/n0 and three/n1 are the same network' \
    .check

"$skein" keygen lead.key >/dev/null || exit 70
# --- up --predict ------------------------------------------------------------
up=("$skein" up tiny.yaml --local-nodes 3 -o checkpoint.path=three "${long[@]}")
check "up --elastic --predict predicts" "${up[@]}" --elastic --json \
    --predict test.txt -k 3
check_equal "  every point" "$(grep -c '"event":"prediction"' .check)" 200
check "so it does without --elastic, and with copies" "${up[@]}" --json \
    -o checkpoint.copies=2 --predict test.txt -k 3
check_equal "  every point" "$(grep -c '"event":"prediction"' .check)" 200
check "and where the file has a coordinator" "${up[@]}" --json \
    -o 'coordinator.address=tcp://127.0.0.1:9' -o coordinator.key=lead.key \
    --predict test.txt -k 3
check_equal "  every point" "$(grep -c '"event":"prediction"' .check)" 200
list three >three.after
check "nothing of the run was touched" cmp three.before three.after

# --- options that leave each other without a meaning -------------------------
refused() { # OPTION...: of up
    check_code 64 "up $* is refused" "$skein" up tiny.yaml \
        -o checkpoint.path=none "$@"
}
refused --elastic
refused --local-nodes 2 -k 3
refused --local-nodes 2 --predict test.txt --resume
refused --local-nodes 2 --predict test.txt --elastic --plain
refused --local-nodes 2 --predict test.txt --elastic --notes x
refused --local-nodes 2 --plain
refused --local-nodes 2 --notes x
refused --local-nodes 2 --elastic --notes x --plain
refused --local-nodes 2 --ssh ssh
refused --local-nodes 2 --remote-program skein
check_code 64 "an elastic resume must know of what" "$skein" up tiny.yaml \
    --local-nodes 2 --elastic --resume -o 'checkpoint.path=""'
for options in "--predict x --resume" "--predict x --from 3" \
    "--predict x --generation 2" "-k 3"; do
    # shellcheck disable=SC2086
    check_code 64 "node $options is refused" \
        "$skein" node a tiny.yaml $options
done
check_code 64 "graph draws in one way" "$skein" graph tiny.yaml --svg --text

# --- what is missing ---------------------------------------------------------
cp -r three less
rm -r less/n1 less/n2
check_code 66 "two folders are missing" "$skein" predict less
check_match "  with a message for each" "skein: less: batch-[0-9]*-g000001 is \
incomplete: 1 of its 4 files, output.1.safetensors, is in no node's folder; \
n1 has no folder there; n2 has no folder there; copy " .check
check_code 66 "one node's folder alone lacks the same" \
    "$skein" eval less/n0
check_match "  with a message" "output.1.safetensors, is in no node's folder" \
    .check
check "inspect shows what there is" "$skein" inspect less
check_match "  of each" '  in part  n0 3 of 4 files$' .check
check_code 66 "nor can it be continued" "$skein" train tiny.yaml --resume \
    -o checkpoint.path=less "${long[@]}"
check_match "  for that reason" "output.1.safetensors, is in no node's folder" \
    .check
cp -r three/n1 less/
rm -r less/n1/batch-*
check_code 66 "a folder has nothing of it" "$skein" predict less
check_match "  and distinguished from a folder that is not there" \
    'n1 lacks it \(it has no checkpoint\); n2 has no folder there' .check
cp -r three/n2 less/
check "what is missing in one folder is taken from another" \
    "$skein" predict less test.txt -k 3
check_equal "  with the same answers" "$(cat .check)" "$(cat answers)"
newest=$(basename "$(readlink -f three/n0/latest)")
rm less/n2/"$newest"/manifest.json
check "a node that lacks the newest manifest" \
    "$skein" predict less test.txt -k 3
check_match "  makes predict use the newest whole one" \
    '^skein: warning: using the checkpoint of batch [0-9]*; 1 newer' .check

# --- damage ------------------------------------------------------------------
cp -r three damaged
cp -r three again
printf x | dd of="$(ls damaged/n0/"$newest"/output.0.safetensors)" bs=1 \
    seek=5000 conv=notrunc 2>/dev/null
check "a byte is wrong in one copy: another one is used" \
    "$skein" predict damaged test.txt -k 3
check_equal "  with the same answers" "$(cat .check)" "$(cat answers)"
check_code 65 "inspect reports it" "$skein" inspect damaged
check_match "  with its file" \
    'damaged/n0/[^ ]*/output.0.safetensors: .* is damaged' .check

# --- one process goes on -----------------------------------------------------
check_code 73 "a new run is not begun over the folders of nodes" \
    "$skein" train tiny.yaml -o checkpoint.path=three
batch=$((10#${newest:6:12}))
more=(-o train.epochs=$((batch / 19 + 3)) -o train.evaluate.every_epochs=0)
# The file may list nodes: they are left.
sed 's/^train:/train:\n  ranker_trees: auto/' tiny.yaml >nodes.yaml
cat >>nodes.yaml <<'YAML'
nodes:
  - { name: n0, address: "tcp://127.0.0.1:7001", cores: 1 }
  - { name: n1, address: "tcp://127.0.0.1:7002", cores: 1 }
YAML
check_code 64 "nodes are not trained by one process" "$skein" train \
    nodes.yaml --resume -o checkpoint.path=alone "${more[@]}"
check "but one process continues with what the nodes have" "$skein" train \
    nodes.yaml --resume --json -o checkpoint.path=three "${more[@]}"
grep '^{' .check >gone.json
check_equal "  from what the nodes had together" \
    "$(event resume batch gone.json)" "$batch"
check_equal "  with each batch once" "$(event "done" lost gone.json) \
$(event "done" applied_twice gone.json)" "0 0"
"$skein" train tiny.yaml --json -o checkpoint.path=alone "${more[@]}" \
    >alone.json 2>&1
check_equal "  to the weights of a run of one process" \
    "$(sha_of gone.json)" "$(sha_of alone.json)"
list three | grep '^three/n' >three.after
check "  and the nodes' folders are as they were" \
    cmp <(grep '^three/n' three.before) three.after
check_equal "predict takes what is newest" \
    "$("$skein" predict three test.txt -k 3)" \
    "$("$skein" predict alone test.txt -k 3)"
check "  also where it is given the folder of a node, which it left behind" \
    "$skein" predict three/n0 test.txt -k 3
check_match "  which is said" \
    'three/n0 lacks the newest checkpoint of its run; this is .*/three, batch' \
    .check
check_equal "  with the same answers" "$(grep -v '^skein: ' .check)" \
    "$("$skein" predict three test.txt -k 3)"
check_equal "  and the same weights" "$(sha_in three/n0)" "$(sha_in three)"
mkdir -p later/n2 # as if another node had gone on without this one
cp three/coordinator.journal later/
cp -r three/n0 later/
cp -r three/run.json three/batch-* later/n2/
check_code 66 "a node's folder that a run has left behind cannot be continued" \
    "$skein" train --resume later/n0
check_match "  for want of a file that it names" \
    'later/n0: .*output.1.safetensors, is in no node.s folder' .check
cp -r three/n1 solo
check_code 66 "a node alone cannot" "$skein" train --resume solo
check "one process continues from any node's folder, by its own config" \
    "$skein" train --resume --json again/n1 "${more[@]}"
check_match "  with a message" 'the run continues in this one process' .check
cp .check gone.json
check_equal "  to the same weights" "$(sha_of <(grep '^{' gone.json))" \
    "$(sha_of alone.json)"
check_code 73 "and the nodes do not begin before it" "$skein" up tiny.yaml \
    --local-nodes 3 --elastic -o checkpoint.path=three "${long[@]}"

# --- nodes of a fixed run that each have a folder ----------------------------
check "a fixed run of three that keep two copies" "$skein" up tiny.yaml \
    --local-nodes 3 --json -o checkpoint.path=fixed -o checkpoint.copies=2
rm -r fixed/batch-*/output.0.safetensors fixed/latest
check "  is read from the first folder and those beside it" \
    "$skein" predict fixed test.txt -k 3
check_equal "  from each alike" "$(sha_in fixed-n1)" "$(sha_in fixed)"
mkdir moved
mv fixed moved/a
mv fixed-n1 moved/b
mv fixed-n2 moved/c
check "  and from where they were moved to" "$skein" eval moved

# --- networks that are not joined --------------------------------------------
several=(-o train.ensemble=2 --json -o train.epochs=2000)
"$skein" train tiny.yaml "${several[@]}" -o checkpoint.path=half \
    >half.json 2>half.err </dev/null &
victim=$!
at_exit "kill -9 $victim 2>/dev/null"
wait_until 300 test -e half/network-1/latest
kill -TERM "$victim"
wait "$victim"
list half >half.before
for verb in predict eval inspect; do
    data=$([ $verb = predict ] && echo test.txt)
    # shellcheck disable=SC2086
    check "$verb takes a run whose networks are not joined" \
        "$skein" $verb half $data
    check_match "  with a warning" "half is unfinished: 0 of its 2 \
networks are trained, and none are joined yet; this is network 1 of 2 alone" \
        .check
done
check "nothing was touched" cmp half.before <(list half)
check_code 66 "what holds several runs is none of them" "$skein" predict .
check_match "  with a message" 'it holds several runs, such as ' .check
finish
