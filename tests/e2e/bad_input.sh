#!/usr/bin/env bash
# bad_input.sh - what is refused is refused in one clear line.
#
# Every line of "Bad input": data files, configs, topologies, checkpoints, the
# disk, permissions, memory, and a loss that is no number. Each is run with
# --json, too. Covers topology/plan/plan_make.c and cli/verb_train.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model

# seen CODE PATTERN COMMAND...: the command ends with CODE and its first line
# on standard error is, but for "skein: ", what the shell pattern says.
seen() {
    local wanted=$1 pattern=$2 code=0 line
    shift 2
    timeout -k 5 60 "$@" >out 2>err </dev/null || code=$?
    IFS= read -r line <err || true
    echo "exit code $code: ${line#skein: }"
    # shellcheck disable=SC2053
    [ "$code" = "$wanted" ] && [[ ${line#skein: } = $pattern ]] &&
        [[ $(<err) != *"signal 11"* ]]
}
# told CODE PATTERN COMMAND...: with --json the line stands alone, but for the
# lines of the file below one that has a place in it. An error event has the
# code, the place, the message and the hint of that line.
told() {
    local wanted=$1
    seen "$@" --json || return 1
    python3 -c '
import json, re, sys
line, *rest = sys.stdin.read().splitlines()
line = line.removeprefix("skein: ")
events = [json.loads(text) for text in open("out")]
assert all(isinstance(each, dict) for each in events), events
event = events[-1]
assert event["event"] == "error", event
assert event["code"] == int(sys.argv[1]), event
hint = "; " + event["hint"] if event["hint"] else ""
assert event["message"] + hint == line, (event, line)
if rest:
    place = "%s:%d:%d: " % (event["file"], event["line"], event["column"])
    assert line.startswith(place), (event, line)
    assert re.fullmatch(" *%d [|] .*" % event["line"], rest[0]), rest
    assert len(rest) == 2 and re.fullmatch(" *[|] *\\^", rest[1]), rest
' "$wanted" <err
}
# refused SENTENCE CODE PATTERN COMMAND...
refused() {
    local sentence=$1
    shift
    if check "$sentence" seen "$@"; then
        check "  with --json, too" told "$@"
    fi
}
train() { "$skein" train tiny.yaml -o checkpoint.path=out "$@"; }
training=("$skein" train tiny.yaml -o checkpoint.path=new)
data() { # SENTENCE FILE PATTERN
    refused "$1" 65 "$2$3" "${training[@]}" -o data.train="$2"
}
line() { # SENTENCE TEXT PATTERN: a file with that text
    printf '%b' "$2" >bad.txt
    data "$1" bad.txt "$3"
}

form='; a line is label,label feature:value feature:value'

# --- data --------------------------------------------------------------------
gone="nowhere.txt: no such file; check the path"
refused "a missing file" 66 "$gone" \
    "${training[@]}" -o data.train=nowhere.txt
refused "a missing test file" 66 "$gone" \
    "${training[@]}" -o data.test=nowhere.txt
mkdir empty
refused "an empty folder" 66 \
    "empty: there is no file in it; name a file, or a folder of them" \
    "${training[@]}" -o data.train=empty
: >empty.txt
data "an empty file" empty.txt ": the file is empty; \
a row has labels and a text, or labels and feature:value"
gzip -c train.txt | head -c 3000 >cut.txt.gz
data "a cut gzip file" cut.txt.gz \
    ": the gzip data is truncated; copy or download it again"
zstd -q -c train.txt | head -c 3000 >cut.txt.zst
data "a cut zstd file" cut.txt.zst \
    ": the zstd data is truncated; copy or download it again"
head -c 4000 train.txt >cut.txt
data "a cut text file" cut.txt \
    ":1:1: the header says 600 points, but the file ends after *; is the \
file truncated[?] if not, correct the header"
printf '1 2:\xbf\x00\x01' >binary.txt
data "a binary file" binary.txt \
    ":1:5: byte 0xbf does not belong in a data file, which is plain text$form"
head -c 34000000 /dev/zero | tr '\0' '1' >giant.txt
data "a gigantic line" giant.txt \
    ":1:1: the line is longer than 33554432 bytes; is it a text file[?]"
rm giant.txt
line "too few lines" '5 10 20\n1 2:3\n' \
    ":1:1: the header says 5 points, but the file ends after 1; is the \
file truncated[?] if not, correct the header"
line "too many lines" '1 10 20\n1 2:3\n2 3:1\n' \
    ":3:1: the header says 1 point, but here is one more; correct the \
header, or leave it out"
line "a label out of range" '2 10 20\n1 2:3\n20 3:1\n' \
    ":3:1: label 20 is out of range: the header says 20 labels, counted \
from 0; correct the header or the line"
line "a feature out of range" '2 10 20\n1 2:3\n19 10:1\n' \
    ":3:4: feature 10 is out of range: the header says 10 features, counted \
from 0; correct the header or the line"
line "NaN" '2 10 20\n1 2:nan\n19 1:1\n' \
    ':2:5: expected a finite decimal number, found "nan"'"$form"
line "Inf" '2 10 20\n1 2:1\n19 1:-inf\n' \
    ':3:6: expected a finite decimal number, found "-inf"'"$form"
line "a value too large" '2 10 20\n1 2:1\n19 7:1e999\n' \
    ":3:6: value 1e999 is too large: the maximum of a float is 3.4e38; \
scale the values"
line "a colon without a value" '2 10 20\n1 2:1\n19 7:\n' \
    ":3:6: expected a value after the colon, found nothing$form"
line "a word" '2 10 20\n1 2:1\nx 7:1\n' \
    ':3:1: expected a label, found "x"'"$form"
line "a label twice" '2 10 20\n1 2:1\n19,7,19 7:1\n' \
    ":3:6: label 19 occurs twice in this line; keep one of them"
line "a sum of a feature's values that is too large" \
    '2 10 20\n1 2:1\n19 7:3e38 7:3e38\n' \
    ":3:11: the values of feature 7 add up to more than a float can hold; \
scale the values"
line "no label at all" '2 10 20\n 2:1\n 7:1\n' \
    ": no point has a label; labels are written before the first space of a \
line"
# What only the test file has is left out, by whatever header.
widen='to train a wider model, begin the training file with a line `points '\
'features labels`, or set data\.label_count and data\.feature_count'
for header in '3 300 1000\n' ''; do
    printf '%b950,3 3:1\n950 250:1 4:1\n7 4:1\n' "$header" >wide.txt
    rm -rf new
    "${training[@]}" -o data.test=wide.txt >out 2>err </dev/null
    check_equal "a test file with more than the model has" $? 0
    at=$(($(printf '%b' "$header" | wc -l) + 1)):1
    check_match "  its surplus is left out, with a warning" \
        "^skein: warning: wide\.txt:$at: \
first of 2 labels and 1 feature, in 2 points, that the model does \
not have; they are left out; 1 point has no label left and counts as wrong; \
$widen$" err
    "$skein" eval new -o data.test=wide.txt --json >out 2>err
    check_match "  eval leaves it out, too, and counts it" \
        '"points":3,"unlabelled":1,'\
'"unknown_labels":2,"unknown_features":1,"unknown_points":2,' out
    check_match "  and warns of it" \
        "in 2 points, that the model does not have" err
done
rm -rf new
wider=(-o data.label_count=1000 -o data.feature_count=300)
"${training[@]}" -o data.test=wide.txt "${wider[@]}" >out 2>err </dev/null
check_equal "the model can be wider than its training file" \
    "$? $(cat err) $(grep -c '300 features, 1000 labels' out)" "0  1"
rm -rf new
refused "but not narrower than the header" 78 \
    "data.label_count is 899, but the header of * counts 900 labels; \
give at least 900, or correct the header" \
    "${training[@]}" -o data.label_count=899
tail -n +2 train.txt >headless.txt
greatest=$(cut -d' ' -f1 headless.txt | tr , '\n' | sort -n | tail -n 1)
refused "  nor than the lines" 65 "headless.txt:*: label $greatest is out of \
range: the model has $greatest labels (0 to $((greatest - 1))), this file has \
no header; choose a file that fits the model, or train with a larger \
data.label_count" "${training[@]}" -o data.train=headless.txt \
    -o data.label_count="$greatest" -o data.bad_rows=0

# Counts in a first line that is not exactly a header.
for counts in '600,200,900' '600 200 900 7' '600 200' ' 600 200 900'; do
    { echo "$counts" && cat headless.txt; } >counts.txt
    rm -rf new
    "${training[@]}" -o data.train=counts.txt >out 2>err </dev/null
    check_match "'$counts' is not taken for a header without a word" \
        "^skein: warning: counts\.txt:1:1: this line looks like a header, but \
is read as a point; the file has [0-9]+ labels and [0-9]+ \
features with it; " err
done
{ cat headless.txt && echo '9999,3 5:1'; } >stray.txt
rm -rf new
"${training[@]}" -o data.train=stray.txt >out 2>err </dev/null
check_match "a label far beyond all others is a warning" "^skein: warning: \
stray\.txt:601:1: label 9999 is far beyond those of all other lines, which end \
at $greatest, and makes the model have 10000 labels; " err
rm -rf new
"$skein" check tiny.yaml --data -o data.train=stray.txt >out 2>err
check_match "check --data warns of it, too" \
    "^skein: warning: stray\.txt:601:1: " err
{ cat headless.txt && echo '2000000000 5:1'; } >far.txt
data "a label that would make gigabytes is refused" far.txt \
    ":601:1: label 2000000000 is far beyond*begin the file with a line *"

printf '4 10 20\n1 2:1\n 7\n19 \n3 5:1\n' >odd.txt
odd=(-o data.train=odd.txt -o data.test=odd.txt)
check "lines without labels or features are accepted" \
    seen 0 "" "${training[@]}" "${odd[@]}"
rm -rf new
check_match "  counted, and how they are treated is printed" \
    "1 point without labels left out, 1 without features kept" out
check "  and in the start event" seen 0 "" "$skein" train tiny.yaml --json \
    -o checkpoint.path=odd "${odd[@]}"
check_equal "  by number" \
    "$(event start unlabelled out) $(event start featureless out)" "1 1"
sed 's/$/\r/' train.txt >crlf.txt
train -o checkpoint.path=unix --json >unix.json
train -o checkpoint.path=dos --json -o data.train=crlf.txt >dos.json
check_equal "CRLF gives the weights of LF" "$(sha_of dos.json)" \
    "$(sha_of unix.json)"
tail -n +2 train.txt >headless.txt
train -o checkpoint.path=headless --json -o data.train=headless.txt \
    >headless.json
check "a file without a header is accepted" sha_of headless.json

# --- configs -----------------------------------------------------------------
config() { # SENTENCE SED-SCRIPT PATTERN
    sed "$2" tiny.yaml >bad.yaml
    refused "$1" 78 "bad.yaml:$3" "$skein" train bad.yaml
}
config "an unknown key" 's/epochs/epoches/' \
    "8:3: unknown option 'epoches' of train; did you mean 'epochs'[?]"
config "an unknown section" 's/^train:/trian:/' \
    "7:1: unknown option 'trian' of the model file; did you mean 'train'[?]"
config "a key twice" 's/epochs: 5/epochs: 5\n  epochs: 2/' \
    "9:3: key 'epochs' is repeated; it is already in line 8"
config "a word for a number" 's/epochs: 5/epochs: many/' \
    "8:11: option 'epochs' of train must be an integer or auto, found 'many'"
config "a number out of range" 's/epochs: 5/epochs: -1/' \
    "8:11: option 'epochs' of train must be in 1..1000000000 or auto, found \
'-1'"
config "a sampler that is gone" \
    's/output, shards: 2/output, sampler: { kind: mixture }/' \
    "6:40: option 'kind' of the sampler of layer 'output' must be one of auto, \
exact, *, found 'mixture'"
config "another version" 's/^skein: 1/skein: 9/' \
    "1:8: option 'skein' of the model file must be 1, found '9'"
config "no YAML" 's/epochs: 5/epochs: [5/' \
    "10:12: missing comma in flow sequence"
two='$a nodes: [{ name: a, address: "tcp://127.0.0.1:7001" }, { name: b, '
config "an address beyond the machine without keys" \
    "$two"'address: "tcp://10.0.0.2:7001", key: b.key }]' \
    "13:9: node 'a' has no key, and node 'b' is at tcp://10.0.0.2:7001, \
beyond this machine, where links need CURVE; run \`skein \
keygen\` for each node, and give it \`key: keys/a.key\`"
config "two nodes of one name" \
    "${two/name: b/name: a}"'address: "tcp://127.0.0.1:7002" }]' \
    "13:63: there are two nodes named 'a'"
config "a node without an address" "$two"'cores: 1 }]' \
    "13:55: node 'b' has no address; give tcp://host:port as the other nodes \
reach it, for example tcp://10.0.0.1:7001"
sed "$two"'address: "tcp://127.0.0.1:7002", memory: 1MiB }]' tiny.yaml >bad.yaml
refused "a share that a node cannot hold" 71 "node 'b' needs about * MiB of \
memory for its share, nodes.b.memory allows 1 MiB; allow more, *" \
    "$skein" node a bad.yaml
refused "a model with nodes in one process" 64 "bad.yaml has 2 nodes, but \
this is one process; start them all with \`skein up bad.yaml\`, or each by \
hand, such as \`skein node a bad.yaml\`" "$skein" train bad.yaml
refused "a node that the model does not have" \
    64 "bad.yaml has no node 'z'; its \
nodes are listed under nodes:, such as a" "$skein" node z bad.yaml
refused "nodes that the model does not have" \
    64 "tiny.yaml has no nodes; list them \
under nodes:, or give --local-nodes N" "$skein" up tiny.yaml
refused "no number of nodes" 64 \
    "--local-nodes must be a whole number in 1..64, found '0'" \
    "$skein" up tiny.yaml --local-nodes 0
refused "a missing config" 66 \
    "nowhere.yaml: No such file or directory; check the path" \
    "$skein" train nowhere.yaml
refused "an unknown key in an override" 78 \
    "-o train.epochz=3: unknown option 'epochz' of train; did you mean \
'epochs'[?]" "${training[@]}" -o train.epochz=3
refused "a word in an override" 78 "-o train.epochs=x: option 'epochs' of \
train must be an integer or auto, found 'x'" "${training[@]}" -o train.epochs=x
refused "a rate out of range" 78 "-o train.optimizer.rate=1e30: option 'rate' \
of train.optimizer must be in 0..100 or auto, found '1e30'" \
    "${training[@]}" -o train.optimizer.rate=1e30
refused "an override without a value" 78 "-o nonsense: an override needs a \
path and a value; -o path.to.key=value" "${training[@]}" -o nonsense
refused "an unknown option" 64 "unknown option '--resum'; did you mean \
--resume[?]" "${training[@]}" --resum

# --- topologies --------------------------------------------------------------
"$skein" plan tiny.yaml >plan.yaml
topology() { # SENTENCE SED-SCRIPT PATTERN
    sed "$2" plan.yaml >bad.yaml
    refused "$1" 78 "bad.yaml:$3" "$skein" run bad.yaml
}
topology "a cycle without a gate" \
    's/\(output_gradient.*\), peer: true/\1/' \
    "*: embedding.0 -> output.0 -> embedding.0 is a cycle of pipes without a \
gate; lead it through a gate (source, course), or give pipes that only \
answer \`peer: true\`"
topology "too little credit" \
    's/\(from: embedding, to: output, .*\)credit: [0-9]*/\1credit: 1/' \
    "*: the pipe of 'activation' has credit 1 and is in a cycle with source, \
whose window is 3; give credit: 3 or more"
topology "an actor in no pipe" \
    's/^  pipes:/    - { name: alone, kind: keeper, '\
'options: { path: x, owners: 1 } }\n&/' \
    "*: alone is not connected to any pipe; connect it, or leave it out"
topology "two owners of one shard" 's/row_first: 450/row_first: 400/' \
    "*: output.0 and output.1 both own rows 400..449; give each row to one of \
them: row_first, row_count"
topology "two owners of one block of columns" \
    's/\(embedding.1.*\)column_first: 16/\1column_first: 8/' \
    "*embedding.0 and embedding.1 both own columns*"
topology "an unknown kind" 's/kind: evaluator/kind: evaluater/' \
    "*: *evaluater*did you mean 'evaluator'[?]"

# --- checkpoints -------------------------------------------------------------
train -o checkpoint.path=good -o train.epochs=3 >good.log
check "three checkpoints are kept" test -f good/latest/manifest.json
newest=$(readlink good/latest)
# fallback SENTENCE FAULT PATTERN: FAULT works in the newest checkpoint.
fallback() {
    rm -rf hurt
    cp -a good hurt
    (cd "hurt/$newest" && eval "$2")
    "$skein" train tiny.yaml --resume -o checkpoint.path=hurt --json \
        >hurt.json 2>hurt.err
    check_match "$1: an older one is used, with a warning" \
        "^skein: warning: using the checkpoint of batch [0-9]+; 1 newer \
refused, the newest because: hurt/$newest/$3; an older checkpoint is used\$" \
        hurt.err
    check_equal "  and the run ends the same" "$(sha_of hurt.json)" \
        "$(sha_of unix.json)"
}
flip() { printf X | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
fallback "a byte of a tensor changed" \
    'flip output.1.safetensors 5000' \
    'output.1.safetensors: output.weight@450,0 is damaged: '\
'XXH3-128 is .*, the manifest says .*'
fallback "a byte of a header changed" \
    'flip hidden.0.safetensors 20' 'hidden.0.safetensors: .*'
fallback "a cut shard" 'truncate -s -1 output.1.safetensors' \
    'output.1.safetensors: [0-9]+ bytes, the manifest says [0-9]+'
fallback "a missing shard" 'rm hidden.1.safetensors' \
    'hidden.1.safetensors: cannot open: No such file or directory'
fallback "a cut manifest" 'truncate -s -1 manifest.json' \
    'manifest.json: the text and its seal do not match'
resuming=("$skein" train tiny.yaml --resume -o checkpoint.path=hurt)
rm -rf hurt && cp -a good hurt
for file in hurt/*/hidden.0.safetensors; do truncate -s -1 "$file"; done
refused "all checkpoints damaged" 65 "hurt: none of 3 checkpoints can be used; \
the newest is refused: hurt/$newest/hidden.0.safetensors: * bytes, the \
manifest says *" "${resuming[@]}"
rm -rf hurt && cp -a good hurt && truncate -s -1 hurt/run.json
refused "a damaged run.json" 65 \
    "hurt/run.json: the text and its seal do not match; put a copy of run.json \
in its place; *" "${resuming[@]}"
: >hurt/run.json
refused "an empty run.json" 65 \
    "hurt/run.json is truncated: it has 0 bytes; put a copy of *" \
    "${resuming[@]}"
# other WHAT OPTION...: a run that is not at its end, and another network. What
# is smaller than it was fits into the old weights.
rm -rf hurt && cp -a good hurt && rm -rf "hurt/$newest"
other() {
    local what=$1
    shift
    refused "a resume with another $what" 78 "hurt was started with another \
$what, and cannot continue with this one; *another checkpoint.path" \
        "${resuming[@]}" "$@"
}
sed '1s/ 200 / 201 /' train.txt >features.txt
sed '1s/ 900$/ 901/' train.txt >labels.txt
other "number of units of layer 'hidden'" -o model.layers.hidden.units=16
other "number of features" -o data.train=features.txt
other "number of labels of layer 'output'" -o data.train=labels.txt
other "loss of the output layer" -o model.layers.output.loss=softmax
other "data.normalize" -o data.normalize=none
sed '2s/^[0-9]*/7/' train.txt >points.txt
other "data.train (its points differ)" -o data.train=points.txt
other "train.validate" -o train.validate=0.2
other "train.seed" -o train.seed=9
other "train.ensemble or train.ranker_trees" -o train.ensemble=2
refused "a resume that is shorter than what there is" 78 \
    "hurt has * batches, and train.max_batches is 1; *" \
    "${resuming[@]}" -o train.max_batches=1
other "train.batch_rows" -o train.batch_rows=20
other "train.optimizer.kind" -o train.optimizer.kind=adagrad
other "number format of layer 'output'" -o train.optimizer.kind=sgd \
    -o model.layers.output.weights=bf16
check "  and the old config still continues" "${resuming[@]}" >resumed.log

# --- the machine -------------------------------------------------------------
refused "more memory than the config allows" 71 "the run needs about * MiB of \
memory, resources.memory allows 1 MiB; allow more, or use fewer \
model.layers.hidden.units" "${training[@]}" -o resources.memory=1MiB
refused "more memory than there is" 71 "the run needs about * MiB of memory, * \
MiB are available; *" bash -c 'ulimit -v 100000 && exec "$@"' - \
    "${training[@]}"
check_equal "  is refused before anything is written" "$(ls -d new 2>&1)" \
    "ls: cannot access 'new': No such file or directory"
: >file
refused "a file where the folder should be" 73 \
    "file: cannot create the folder: file is a file; choose another path, or \
move that file away" "$skein" train tiny.yaml \
    -o checkpoint.path=file
refused "a file on the way to the folder" 73 \
    "file/run: cannot create the folder: file is a file; choose another path, \
or move that file away" "$skein" train tiny.yaml \
    -o checkpoint.path=file/run
check_equal "  before the run is announced" "$(grep -c start out)" 0
refused "a name that is too long" 73 "*: File name too long; choose shorter \
names" "$skein" train tiny.yaml -o checkpoint.path="$(printf '%0300d' 1)"

if [ "$(id -u)" = 0 ]; then
    nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    chmod 755 .
    mkdir -m 755 closed
    mkdir -m 777 open
    (umask 077 && cp train.txt secret.txt)
    if "${nobody[@]}" test -x "$skein"; then
        refused "no permission to write" 77 \
            "closed/run: cannot create the folder: closed: Permission denied; \
choose a folder that you may write to" \
            "${nobody[@]}" "$skein" train tiny.yaml -o data.cache=none \
            -o checkpoint.path=closed/run
        refused "no permission to read" 77 \
            "secret.txt: no permission to read it; chmod it, or run as its \
owner" "${nobody[@]}" "$skein" \
            train tiny.yaml -o data.train=secret.txt -o checkpoint.path=open/new
    else
        skip "permissions" "nobody cannot reach $skein"
    fi
else
    skip "permissions" "only root can become somebody without them"
fi

mkdir full
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=40k tmpfs full 2>mount.log
then
    at_exit "umount '$work/full' 2>/dev/null"
    check "a full disk at the end of a run fails it" seen 74 \
        "keeper.0 (in its handler of 'chunk'): full/run/.tmp-*safetensors: \
cannot reserve its length: No space left on device; free some space, or \
choose another disk; no batch of this run is saved yet, so all of it may be \
lost" \
        "$skein" train tiny.yaml -o checkpoint.path=full/run -o train.epochs=1
    "$skein" train tiny.yaml -o checkpoint.path=full/two -o train.epochs=2 \
        >two.out 2>two.err </dev/null
    check_match "  and before the end it warns that nothing is saved yet" \
        "No space left on device; free some space, or choose another disk; \
no batch of this run is saved yet, so all of it may be lost$" two.err
    rm -rf full/*
    seq -f '%g 1:1 2:0.5 3:0.25' 0 20 >full/small.txt
    head -c 1m /dev/zero >full/filler 2>filler.log
    mkdir cache
    small=(-o data.train=full/small.txt -o data.test=full/small.txt)
    check "no room beside the data sends their cache elsewhere" \
        seen 0 "" \
        env XDG_CACHE_HOME="$work/cache" "${training[@]}" "${small[@]}"
    check_equal "  to the user's folder" "$(ls cache/skein | wc -l)" 1
    rm -rf new cache
    refused "and if there is no room anywhere, the places are named" 74 \
        "full/small.txt.skc: the cache cannot be written: No space left on \
device; nor elsewhere: a temporary file in full (TMPDIR): the cache cannot be \
written: No space left on device; free some space, *" \
        env XDG_CACHE_HOME="$work/full" TMPDIR=full \
        "${training[@]}" "${small[@]}"
    umount full && mount -t tmpfs -o size=2m tmpfs full
    # The first checkpoint fits, then somebody fills the disk.
    "$skein" train tiny.yaml --json -o checkpoint.path=full/run \
        -o train.epochs=100000 >full.json 2>full.err </dev/null &
    wait_until 100 test -e full/run/latest
    head -c 2m /dev/zero >full/filler 2>filler.log
    wait_until 100 grep -q "No space left" full.err
    check_match "a full disk during a run is a warning" "^skein: warning: \
full/run/.*: No space left on device; free some space, or choose another \
disk; batch [0-9]+ is saved$" \
        full.err
    rm full/filler
    before=$(grep -c '"event":"checkpoint"' full.json)
    more() { [ "$(grep -c '"event":"checkpoint"' full.json)" -gt "$before" ]; }
    check "  and the run saves again when there is room" wait_until 100 more
    kill -TERM $!
    wait $!
    check_equal "  and it ends well" $? 0
    head -c 2m /dev/zero >full/filler 2>filler.log
    saved=$(readlink full/run/latest | sed 's/batch-0*//')
    "$skein" train --resume full/run -o train.epochs=$((saved / 19 + 2)) \
        -o checkpoint.every_batches=1000000 >out 2>err </dev/null
    check_equal "one that is full at the end fails the run" $? 74
    check_match "  and says which batch is saved" "^skein: keeper.0 .*: No \
space left on device; free some space, or choose another disk; batch $saved is \
saved$" err
    umount full
else
    skip "a full disk" "only root can mount a small one"
fi

# --- a loss that is no number ------------------------------------------------
awk 'NR == 1 { print; next } { gsub(/:[0-9.]+/, ":3e38"); print }' \
    train.txt >huge.txt
diverge=(-o data.train=huge.txt -o data.normalize=none -o train.window=1
    -o model.layers.output.shards=1)
rm -rf new
refused "a loss that is not finite stops the run" 79 \
    "output.0 (in its handler of *): batch [0-9]*: the loss \
of output.0 is not finite; training diverged; lower train.optimizer.rate, or \
warm up with train.schedule" \
    bash -c 'rm -rf new && exec "$@"' - "${training[@]}" "${diverge[@]}"
# Shards that are in work when another fails: nobody may pull out their rows.
for _ in 1 2 3 4 5 6; do
    rm -rf new
    seen 79 "* batch *" "${training[@]}" "${diverge[@]}" -o train.window=4 \
        -o model.layers.output.shards=2 -o model.layers.output.loss=one_vs_all
    echo $?
done | grep -v "^exit" | sort | uniq -c >ends
check_equal "a failure among busy actors is an error, never a crash" \
    "$(awk '{ print $1, $2 }' ends)" "6 0"
finish
