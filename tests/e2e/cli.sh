#!/usr/bin/env bash
# cli.sh - what the verbs print, and what they say when something is wrong.
#
# Covers cli/verb_actors.c, cli/verb_bench.c, cli/verb_check.c,
# cli/verb_completion.c, cli/doctor/doctor.c, cli/verb_eval.c,
# cli/base/follow.c, cli/verb_graph.c, cli/base/help.c, cli/verb_inspect.c,
# cli/main.c, cli/verb_man.c, cli/verb_new.c, cli/verb_plan.c,
# cli/verb_predict.c, cli/verb_reference.c, cli/verb_run.c,
# cli/base/supervise.c, cli/verb_train.c, cli/verbs.c and cli/doctor/version.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model

# says SENTENCE CODE TEXT COMMAND...: exit code and all of standard error.
says() {
    local sentence=$1 code=$2 text=$3 got
    shift 3
    "$@" >out 2>err </dev/null
    got=$?
    check_equal "$sentence" "$got: $(cat err)" "$code: $text"
}
verbs=$("$skein" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')

# --- help -------------------------------------------------------------------
check "help lists the verbs" test "$(echo "$verbs" | wc -l)" -ge 14
for verb in $verbs; do
    "$skein" "$verb" --help >help.out 2>&1
    check_match "$verb --help names its options" '^      --json ' help.out
done
says "without a verb the list is an error" 64 "$("$skein" --help)" "$skein"
says "an unknown verb is reported" 64 \
    "skein: unknown verb 'trian'; did you mean 'skein train'?" \
    "$skein" trian
says "an unknown option is reported" 64 \
    "skein: unknown option '--resum'; did you mean --resume?" \
    "$skein" train tiny.yaml --resum
says "an option without its value is reported" 64 \
    "skein: option --trace needs a value; write a Chrome / Perfetto trace at \
the end" \
    "$skein" train tiny.yaml --trace
says "a value where none belongs is reported" 64 \
    "skein: option --resume takes no value; leave the value out" \
    "$skein" train tiny.yaml --resume=yes
says "an argument too few is reported" 64 \
    "skein: skein train needs one more argument; \
use it as skein train FILE..." \
    "$skein" train
says "an argument too many is reported" 64 \
    "skein: unexpected argument 'b'; see --help" "$skein" eval a b
says "a missing model file is reported" 66 \
    "none.yaml: No such file or directory; check the path" \
    "$skein" train none.yaml
"$skein" train none.yaml --json >json.out 2>/dev/null
check "with --json the error is an event too" every_line_is_json json.out
check_equal "the event has the exit code" "$(event error code json.out)" 66

# --- new --------------------------------------------------------------------
printf 'title,tags\n' >rows.csv
for k in $(seq 1 40); do
    printf 'a ball %d,sport;x\na soup %d,food\n' "$k" "$k"
done >>rows.csv
check "a new model file" "$skein" new rows.csv rows.yaml --text title \
    --labels tags -o train.epochs=3 -o "data.label_separator=;" \
    -o train.schedule.kind=auto -o model.layers.hidden.units=8 \
    -o train.optimizer.rate=0.25 -o "resources.cores=[0]"
check_equal "has the keys that are set, too" \
    "$(grep -v '^ *#' rows.yaml | tr -d ' "' | tr '\n' ' ')" \
    "skein:1  data: train:rows.csv held_back:0.1 text_column:title \
label_column:tags label_separator:;  model: layers: -name:hidden units:8 \
-name:output  train: epochs:3 optimizer: rate:0.25  resources: cores:[0] "
check_match "and others as comments" '^  # schedule:$' rows.yaml
check "and is good" "$skein" check rows.yaml

# --- check, graph -----------------------------------------------------------
says "a good model is ok" 0 "" "$skein" check tiny.yaml
check_equal "check prints what kind of file it is" "$(cat out)" \
    "ok: tiny.yaml is a model of 2 layers"
"$skein" plan tiny.yaml >plan.yaml 2>/dev/null
"$skein" check plan.yaml >out 2>&1
check_match "a plan is a good topology" \
    '^ok: plan.yaml is a topology of [0-9]+ actors and [0-9]+ pipes$' out
"$skein" plan --model tiny.yaml >decided.yaml
says "a model with every value decided is good" 0 "" \
    "$skein" check decided.yaml
says "a wrong override is reported" 78 \
    "-o train.epoch=3: unknown option 'epoch' of train; did you mean \
'epochs'?" "$skein" check tiny.yaml -o train.epoch=3
printf 'skein: 1\ndata: { train: t }\nmodel: { layers: [] }\n' >bad.yaml
check_code 78 "a bad model is refused" "$skein" check bad.yaml
"$skein" check bad.yaml >out 2>err
check_match "with the line of the source" '^ +3 \| model:' err
check_code 66 "check reports a missing file" "$skein" check none.yaml
"$skein" check tiny.yaml -o data.train=gone.txt >out 2>err
check_match "check warns of missing data" \
    '^skein: warning: data.train: gone.txt cannot be read' err
"$skein" graph plan.yaml >graph.dot
check_match "graph draws a topology" '^digraph "tiny" \{$' graph.dot
check_match "with the pipes' messages" 'label="[^"]*activation' graph.dot
if command -v dot >/dev/null; then
    "$skein" graph --svg tiny.yaml >graph.svg
    check_match "graph --svg draws a model" '^<svg ' graph.svg
else
    skip "graph --svg draws a model" "graphviz is not installed"
fi
mkdir -p empty
says "without graphviz the way out is reported" 69 \
    "skein: --svg needs graphviz, and its \`dot\` cannot be started: No such \
file or directory; apt-get install graphviz, or leave out --svg" \
    env PATH="$work/empty" "$skein" graph --svg plan.yaml

# --- what there is ----------------------------------------------------------
"$skein" actors source >out
check_match "actors prints an option" '^    window +whole number, 1 to 127' out
says "an unknown kind is reported" 64 \
    "skein: unknown actor kind 'sorce'; did you mean 'source'?" \
    "$skein" actors sorce
"$skein" actors --json >json.out
check "actors --json is JSON" every_line_is_json json.out
check "version runs" "$skein" version
"$skein" version --json >json.out
check "version --json is JSON" every_line_is_json json.out
check "--version is version" "$skein" --version
"$skein" doctor >out
check_match "the doctor sums up" \
    '^[0-9]+ fine, [0-9]+ cost speed, 0 broken$' out
"$skein" doctor --json >json.out
check "doctor --json is JSON" every_line_is_json json.out
check_code 69 "what is broken is an exit code" \
    env SKEIN_ISA=mmx "$skein" doctor
says "an unknown benchmark is reported" 64 \
    "skein: unknown benchmark 'flaw'; available: flow" \
    "$skein" bench flaw
# Its first lines will do: all of them take 20 s.
for words in flow "flow --json"; do
    # shellcheck disable=SC2086
    "$skein" bench $words >"bench $words" 2>err &
    bench=$!
    wait_until 300 grep -q 'one 1:1' "bench $words"
    kill "$bench"
    wait "$bench"
done
check_equal "bench flow measures a pipe, beside libzmq and memcpy" \
    "$(head -n 5 "bench flow" | sed 's/  .*//')" "case
libzmq with pointers
memcpy
libzmq copying
one 1:1"
check_match "bench flow gives its rate and latency" \
    '^one 1:1 +64( +[0-9.]+){2} +[0-9]+%( +[0-9.]+){2} +[0-9]+%$' "bench flow"
check "bench flow --json is JSON" every_line_is_json "bench flow --json"
"$skein" schema >schema.json
check "schema is JSON" python3 -m json.tool schema.json
"$skein" reference >out
check_match "reference prints the keys" '^\| `epochs` \|' out
"$skein" reference messages >out
check_match "and the messages" '^## activation$' out
says "there is no other reference" 64 \
    "skein: unknown reference 'verbs'; available: config, messages" \
    "$skein" reference verbs
for verb in $verbs; do
    "$skein" man "$verb" >"man.$verb" || fail "man $verb"
    grep -q '^\.SH OPTIONS$' "man.$verb" || fail "man $verb has options"
done
mkdir pages
check "man writes the pages of all verbs" "$skein" man --write pages
check_equal "one each, and skein(1)" "$(ls pages | wc -l)" \
    "$(($(echo "$verbs" | wc -l) + 1))"
check_equal "a page is what man prints" "$(cat pages/skein-train.1)" \
    "$("$skein" man train)"
says "a folder that is not there is reported" 73 \
    "skein: gone/skein.1: No such file or directory" "$skein" man --write gone
if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww man.* >out 2>err
    check_equal "groff has no complaint of the manual" "$(cat err)" ""
else
    skip "groff has no complaint of the manual" "groff is not installed"
fi
"$skein" man >out
check_match "skein(1) names the verbs" '^\.BR skein\\-train \(1\)$' out
"$skein" completion bash >completion.bash
check "bash takes its completion" bash -n completion.bash
complete_words() {
    bash -c '. ./completion.bash; COMP_WORDS=(skein "$@")
COMP_CWORD=$#; _skein; echo "${COMPREPLY[@]}"' _ "$@"
}
check_equal "bash completes a verb" "$(complete_words tra)" "train"
check_equal "bash completes an option" \
    "$(complete_words train --res)" "--resume"
for shell in zsh fish; do
    check "there is a completion for $shell" "$skein" completion $shell
    if command -v $shell >/dev/null; then
        "$skein" completion $shell >completion.$shell
        check "$shell takes it" $shell -n completion.$shell
    fi
done
says "there is none for others" 64 \
    "skein: no completion for 'tcsh'; available: bash, zsh, fish" \
    "$skein" completion tcsh

# --- a trained model --------------------------------------------------------
"$skein" train tiny.yaml --json >train.json 2>train.err
check "a small run is trained" event "done" - train.json
"$skein" eval run --json >eval.json 2>err
check "eval --json is JSON" every_line_is_json eval.json
for score in p1 p3 p5 psp1 psp3 psp5 ndcg3 ndcg5; do
    check_equal "eval has the $score of the training" \
        "$(event eval $score eval.json)" "$(event "done" $score train.json)"
done
"$skein" eval run >out 2>err
check_match "eval prints text" '^P@1    0\.[0-9]{4}$' out
"$skein" eval run -o data.test=train.txt --json >other.json
check_equal "eval takes another file" \
    "$(event eval points other.json)" 600
check "eval --test is the same" \
    bash -c "'$skein' eval run --test train.txt --json >same.json"
check_equal "  file" "$(event eval test same.json)" \
    "$(event eval test other.json)"
says "which a text has not" 64 \
    "skein: --test has no effect with --data; a text is scored as it is: \
leave one of them out" \
    "$skein" eval run --test train.txt --data train.txt
says "eval sets nothing but data" 64 \
    "skein: -o train.epochs=3: only the data files can be set for a \
trained model; set data.test or data.train" \
    "$skein" eval run -o train.epochs=3
says "eval reports a missing test file" 66 \
    "skein: gone.txt: no such file; check the path" \
    "$skein" eval run -o data.test=gone.txt
says "eval refuses what is no model" 66 \
    "skein: empty is neither a run folder, a checkpoint nor an exported model; \
\`skein train\` prints the run folder as it starts" "$skein" eval empty
says "predict reports a missing folder" 66 \
    "skein: gone: No such file or directory" "$skein" predict gone

"$skein" predict run test.txt >predicted
check_equal "a line comes out for each that goes in" \
    "$(wc -l <predicted)" 200
precision=$(python3 - <<'PYTHON'
lines = open("test.txt").read().splitlines()[1:]
hits = 0
for line, answer in zip(lines, open("predicted")):
    best = answer.split()[0].split(":")[0]
    hits += best in line.split(" ")[0].split(",")
print("%.5f" % (hits / len(lines)))
PYTHON
)
check_equal "the best labels have the P@1 of eval" \
    "$(python3 -c "print('%.5f' % $(event eval p1 eval.json))")" "$precision"
check_equal "-k sets the number of labels" \
    "$(echo '1:1 5:2' | "$skein" predict run -k 3 | wc -w)" 3
cp -r run raw
rm raw/calibration
check_equal "all labels of a softmax that is not calibrated sum to one" \
    "$(echo '1:1 5:2' | "$skein" predict raw -k 128 | tr ' ' '\n' |
    cut -d: -f2 |
    awk '{ sum += $1 } END { print (sum > 0.1 && sum <= 1.00001) }')" 1
check_equal "a threshold may leave no label" \
    "$(echo '1:1' | "$skein" predict run --threshold 1)" ""
same=$(echo ' 1:1 5:2' | "$skein" predict run)
check_equal "labels of a line are not looked at" \
    "$(echo '3,4 1:1 5:2' | "$skein" predict run)" "$same"
check_equal "a line may begin with a feature" \
    "$(echo '1:1 5:2' | "$skein" predict run -)" "$same"
check_equal "values are scaled as in training" \
    "$(echo '1:10 5:20' | "$skein" predict run -)" "$same"
seq -f 'name %g' 0 899 >names.txt
check_equal "labels have names" \
    "$(echo '1:1 5:2' | "$skein" predict run -k 1 --label-names names.txt)" \
    "name $(echo "$same" | cut -d' ' -f1)"
printf '\357\273\277' | cat - names.txt >marked.txt
check_equal "a byte order mark is none of the first one" \
    "$("$skein" predict run -k 900 --label-names marked.txt <<<'1:1 5:2' |
        grep -c $'\xef')" 0
check_equal "too few names are a warning" "$(echo '1:1' |
    "$skein" predict run --label-names <(echo one) 2>&1 >/dev/null |
    sed 's/warning: [^ ]* has/warning: FILE has/')" \
    "skein: warning: FILE has 1 names, the model has 900 labels; those \
without a name are printed as numbers"
check "a run keeps the names of its labels" "$skein" train tiny.yaml \
    -o train.epochs=1 -o data.labels=names.txt -o checkpoint.path=named
mv names.txt gone.names
check_match "  so that answers have them" '^name [0-9]+:[0-9.e-]+$' \
    <(echo '1:1 5:2' | "$skein" predict named -k 1)
check_equal "  but for those of --label-names" "$(echo '1:1 5:2' |
    "$skein" predict named -k 1 --label-names <(echo) 2>/dev/null)" \
    "$(echo '1:1 5:2' | "$skein" predict named -k 1 | sed 's/^name //')"
check_code 66 "  a missing file of names ends a new run" \
    "$skein" train tiny.yaml -o data.labels=names.txt -o checkpoint.path=new
mv gone.names names.txt
"$skein" predict run test.txt --json >json.out
check "predict --json is JSON" every_line_is_json json.out
printf '1:1\n\n2:1 x\n3:1\n' >bad.txt
"$skein" predict run bad.txt --strict >out 2>err
check_equal "--strict: a bad line is reported with its place" "$?: $(cat err)" \
    "65: skein: bad.txt:3:5: expected a feature, found \"x\"; a line is \
label,label feature:value feature:value"
check_equal "  lines before it are answered" "$(wc -l <out)" 2
echo '200:1' | "$skein" predict run --strict >out 2>err
check_equal "  a feature that the model lacks ends it, too" "$?" 65

# stream SENTENCE: predicts the lines of stream.txt to out, err and json.out. Of
# all but $bad lines the answers are those that they have alone.
stream() {
    local code=0
    "$skein" predict run stream.txt -k 2 >out 2>err || code=$?
    "$skein" predict run stream.txt -k 2 --json >json.out 2>json.err
    check_equal "$1: the stream is answered to its end" "$code" 0
    check_equal "  an answer a line" "$(wc -l <out) $(wc -l <json.out)" \
        "$2 $(($2 + $3))"
    check "  also in JSON" every_line_is_json json.out
}
good=$(echo '5:1' | "$skein" predict run -k 2)
{
    printf '\xef\xbb\xbf# by hand\r\n#\n1 200 900\r\n5:1\n5:x\n5:1\n'
    printf '5:nan\n5:1e999\n5:-inf\n5:1 \x00\n\xff\xfe\n7:\n,\n3,3 1:1\n'
    printf '5:1 #y\n'
    head -c 33554433 /dev/zero | tr '\0' 1
    printf '\n5:1\n'
} >stream.txt
stream "lines that cannot be read" 14 1
check_equal "  and an empty one for each of those" "$(grep -c '^$' out)" 10
check_equal "  none of the others is touched" \
    "$(grep -v '^$' out | sort -u)" "$good"
check_match "  errors have the place" \
    '^skein: stream.txt:5:3: expected a finite decimal number, found "x"; ' err
check_match "  also where it is the length" '^skein: stream.txt:16:1: the '\
'line has 33554433 bytes, at most 33554432 allowed' err
check_match "  and are counted" '^skein: warning: stream.txt: 10 of 17 lines '\
'were refused, and have an empty answer; ' err
check_equal "  in JSON they take the place of the answers" \
    "$(grep -n '"event":"error"' json.out | cut -d: -f1 | tr '\n' ' ')" \
    "2 4 5 6 7 8 9 10 11 13 "
check_match "  with the line, and without labels" '^\{"event":"error",'\
'"line":5,"message":"stream.txt:5:3: .*","labels":\[\],"scores":\[\]\}$' \
    json.out

yes '5:x' | head -n 40 >stream.txt
stream "many bad lines" 40 1
check_equal "  are not reported one by one" "$(wc -l <err)" 12

printf '5:1 200:3 999999999999:1\n5:1\n4294967296:2\n' >stream.txt
stream "features that the model lacks" 3 1
check_equal "  are left out before the values are scaled" \
    "$(head -n 2 out | sort -u)" "$good"
check_equal "  and counted, with the first place" "$(cat err)" "skein: \
warning: stream.txt:1:5: 3 features, in 2 lines, that the model does not have \
were left out (the first is here); --strict refuses them"

printf '7:2 5:1 5:0.5 7:-1 5:1.5 7:1\n7:2 5:3\n' | "$skein" predict run >out
check_equal "the values of a repeated feature add up" "$(sort -u out | wc -l)" 1
printf '3 qid:4 7:2 # 1:1\n 7:2\n# not at the top\n' | "$skein" predict run >out
check_equal "qid: and comments are passed over" \
    "$(sort -u out | wc -l) $(sed -n 3p out)" "2 "

printf '2 4 9\n5:1\n' | "$skein" predict run -k 2 2>err >out
check_equal "a header of another model is a warning" "$(cat out err)" "$good
skein: warning: stdin:1:1: three whole numbers count as the header of a data \
file, and get no answer; if they are features, begin the line with a space"
printf ' 2 4 9\n5:1\n' | "$skein" predict run -k 2 2>err >out
check_equal "  after a space they are features" "$(wc -l <out) $(cat err)" "2 "

printf '5:1\n1 5\n0 5\n0,1 5\n' | "$skein" predict run -k 2 2>err >out
check_equal "a line of bare numbers has a label, which is said once" \
    "$(sort -u out && cat err)" "$good
skein: warning: stdin:2:1: the first number of a line is a label, which is \
ignored; only the others are features; if it is a feature, too, begin the line \
with a space"

printf '1\n0\n' | "$skein" predict run -k 2 2>err >out
check_equal "  but not where it is all that the line has" \
    "$(wc -l <out) $(cat err)" "2 "

says "-k must be a number" 64 \
    "skein: -k must be a whole number in 1..128, found 'x'" \
    "$skein" predict run -k x
says "a threshold must be a share" 64 \
    "skein: --threshold must be a number in 0..1, found '2'" \
    "$skein" predict run --threshold 2
# A pipe that stays open: the answer comes before the next line is written.
coproc answers { "$skein" predict run -k 1; }
echo '1:1 5:2' >&"${answers[1]}"
read -r -t 20 line <&"${answers[0]}" || true
check_equal "each line is answered at once" \
    "$line" "$(echo "$same" | cut -d' ' -f1)"
eval "exec ${answers[1]}>&-"
wait "${answers_PID:-}" 2>/dev/null
says "a full disk is reported once" 74 \
    "skein: standard output: No space left on device; free some space, or \
choose another disk" \
    bash -c "\"$skein\" predict run test.txt >/dev/full"
for _ in $(seq 20); do tail -n +2 test.txt; done |
    "$skein" predict run 2>err | head -n 1 >out
check_equal "head ends predict quietly" "$(wc -l <out) $(cat err)" "1 "

# --- hasty users -------------------------------------------------------------
mkdir -p "a place/ü"
cp tiny.yaml "a place/ü/mein Modell é.yaml"
cp train.txt test.txt "a place/ü/"
check "spaces and letters of any language in paths are fine" "$skein" train \
    "a place/ü/mein Modell é.yaml" -o train.epochs=1
check "  also for eval" "$skein" eval "a place/ü/run"
"$skein" plan "a place/ü/mein Modell é.yaml" >plan.yaml 2>err
check_match "  the topology has a plain name" \
    '^  name: mein_Modell____?$' plan.yaml
check "  and is good" "$skein" check plan.yaml
# With SIGPIPE as a shell has it: Python's children may ignore it.
for verb in "plan tiny.yaml" reference schema "inspect run" actors doctor; do
    # shellcheck disable=SC2086
    "$skein" $verb 2>err | head -n 1 >out
    check_equal "head ends $verb quietly" "$(wc -l <out) $(cat err)" "1 "
done
"$skein" train tiny.yaml --json -o checkpoint.path=unread \
    -o train.epochs=100000 2>err | head -n 2 >out
check_equal "head ends train quietly, and nothing starts again" \
    "${PIPESTATUS[0]} $(wc -l <out) $(cat err)" "141 2 "
# A slow head leaves the run time for some batches.
check "  the run can be continued" "$skein" train tiny.yaml --resume \
    -o checkpoint.path=unread \
    -o train.max_batches=$(($(batch_of unread) + 5))
says "a finished run that is resumed stays as it is" 0 \
    "skein: warning: this run has finished: there is nothing to train; to \
train another model, or longer, start a new run with another \
checkpoint.path" \
    "$skein" train tiny.yaml --resume -o checkpoint.path=unread \
    -o train.epochs=200000
check_code 74 "a run that cannot print its lines is an error" \
    bash -c "exec \"$skein\" train tiny.yaml -o checkpoint.path=mute \
-o train.epochs=2 >/dev/full"
check_match "  and says so" \
    'skein: standard output: (No space left|not every)' \
    .check
check "  but trains" test -f mute/latest/manifest.json
mkdir -p linkless/latest
check "a run trains where no link can be set" \
    "$skein" train tiny.yaml -o train.epochs=1 -o checkpoint.path=linkless
check_match "  with a warning" \
    'linkless/latest: cannot replace.*; the checkpoint is saved; .latest., ' \
    .check
says "a closed standard output is an error" 74 \
    "skein: standard output: Bad file descriptor" \
    bash -c "exec \"$skein\" eval run >&-"
# Where the first file opened would get number 1, and what is printed with it.
bash -c "exec \"$skein\" train tiny.yaml -o checkpoint.path=closed \
-o train.epochs=2 >&- 2>err <&-"
check "  and nothing is printed into a checkpoint" "$skein" inspect closed
says "a closed standard input is reported" 74 \
    "stdin: Bad file descriptor; check the path" \
    bash -c "exec \"$skein\" check - <&-"
says "a folder for a model file is reported" 66 \
    "skein: run is a folder, not a model file; if it holds a run, continue \
it with \`skein train --resume run\`" "$skein" train run
check "a data file stands for a model file" \
    "$skein" check train.txt
cp train.txt data.yaml
check_code 78 "data in a file that is called YAML are reported" \
    "$skein" train data.yaml
says "a model file for a run folder is reported" 66 \
    "skein: tiny.yaml is neither a run folder, a checkpoint nor an exported \
model; \`skein train\` prints the run folder as it starts" \
    "$skein" eval tiny.yaml
says "a trace that cannot be written is reported before the run" 73 \
    "skein: gone/trace.json: No such file or directory; choose a \
file for the trace that you may write to" \
    "$skein" train tiny.yaml --trace gone/trace.json \
    -o checkpoint.path=untraced
check_equal "  which leaves no folder" "$(ls -d untraced 2>/dev/null)" ""
for value in train.epochs=99999999999999999999 train.batch_rows=1000000000 \
    train.window=65 train.seed=-1 model.layers.output.shards=100000 \
    checkpoint.keep=1e400 resources.memory=99999999999999999GiB \
    train.optimizer.rate=nan train.epochs= =3 model.layers.hidden=3 data=; do
    "$skein" train tiny.yaml -o checkpoint.path=huge -o "$value" >out 2>err
    check_equal "-o $value is refused in a sentence" \
        "$? $(grep -c "^-o $value: " err) $(grep -ci 'signal' err)" "78 1 0"
done

# --- watching and ending ----------------------------------------------------
# on_terminal TERM COMMAND...: what the command writes to a terminal.
on_terminal() {
    TERM=$1 python3 - "${@:2}" <<'PYTHON'
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
PYTHON
}
# Long enough for some draws, five a second.
watched=(-o train.epochs=200 -o train.evaluate.every_epochs=100
    -o checkpoint.every_epochs=0 -o checkpoint.every_batches=0)
on_terminal xterm "$skein" train tiny.yaml "${watched[@]}" \
    -o checkpoint.path=watched >out
check_match "a terminal gets a progress bar" \
    'epoch [0-9]+/200 \[#*\.*\] [0-9]+%  [0-9]+/s  loss [0-9.]+' out
NO_COLOR=1 on_terminal xterm "$skein" train tiny.yaml "${watched[@]}" \
    -o checkpoint.path=watched.plain >out
check_match "NO_COLOR: a progress bar without color" '.\[#*\.*\] [0-9]+%' out
check_equal "NO_COLOR: nothing is colored" "$(grep -c '.\[36m' out)" 0
on_terminal dumb "$skein" train tiny.yaml "${watched[@]}" \
    -o checkpoint.path=watched.dumb >out
check_equal "a dumb terminal gets none" "$(grep -c '%  [0-9]*/s' out)" 0
check_equal "a file gets none" "$(grep -c '%  [0-9]*/s' train.err)" 0

mkfifo held.txt
"$skein" train tiny.yaml -o data.train=held.txt -o checkpoint.path=never \
    >out 2>err </dev/null &
pid=$!
worker() { worker=$(pgrep -P "$pid"); }
check "a worker waits for its data" wait_until 100 worker
kill -9 "$worker"
wait "$pid"
check_equal "a worker that dies before the run began is not started again" \
    "$?: $(cat err)" \
    "70: skein: the worker process was killed by signal 9 (Killed); did \
memory run out? see dmesg"

cp train.txt goes.txt
"$skein" train tiny.yaml "${watched[@]}" -o train.epochs=1000000 --json \
    -o data.train=goes.txt -o data.cache=none -o checkpoint.path=goes \
    -o checkpoint.every_batches=20 >out 2>err </dev/null &
pid=$!
wait_until 300 test -e goes/latest
rm goes.txt
mkfifo goes.txt # what takes the dead one's place waits for its data
worker
kill -9 "$worker"
wait_until 300 grep -q 'it starts again' err
kill -TERM "$pid"
wait "$pid"
check_equal "a stop before a run continues is not a stop before it began" \
    "$? $(event stopped begun out)" "0 True"

"$skein" train tiny.yaml -o train.epochs=1000000 -o checkpoint.path=here \
    -o checkpoint.every_batches=20 >out 2>err </dev/null &
pid=$!
at_exit "kill -9 $pid 2>/dev/null"
wait_until 300 test -e here/latest
mv here there
check "a run whose folder is moved saves there" \
    wait_until 300 grep -q "^saved .*/there/batch-" out
kill -TERM "$pid"
check "  stops" wait "$pid"
check_match "  and is gone on with there" \
    'checkpoint.path=here .*-o checkpoint.path=/[^ ]*/there --resume$' out

(timeout 20 cat train.txt >held.txt &)
says "data from a pipe is reported" \
    66 "skein: held.txt: is neither a regular file nor a folder, \
and data is read more than once; copy it into a file" \
    timeout 30 "$skein" train tiny.yaml -o data.train=held.txt \
    -o checkpoint.path=never

"$skein" inspect run --config >out
check_match "inspect names a tensor" \
    '^  output\.weight +F32 +\[900\]\[32\]' out
check_match "inspect has the hash of the run" \
    "^weights_sha256 $(event "done" weights_sha256 train.json)\$" out
check_match "inspect has the history" '^ +5 +[0-9.]+ +0\.[0-9]{4}' out
check_match "inspect has the config" '^  epochs: 5$' out
"$skein" inspect run/latest --json >json.out
check "inspect --json is JSON" every_line_is_json json.out
check_equal "inspect --json has the batch" \
    "$(event inspect batch json.out)" "$(event "done" batches train.json)"
cp -r run damaged
file=$(find damaged/"$(readlink run/latest)" -name 'output.0.safetensors')
printf 'X' | dd of="$file" bs=1 seek=9000 conv=notrunc 2>/dev/null
check_code 65 "inspect finds a changed byte" "$skein" inspect damaged
"$skein" inspect damaged >out 2>err
check_match "the warning names the place" \
    'cannot be used: .*output.*is damaged' err
cp -r run bestless
ln -sfn batch-000000009999 bestless/best
check_code 65 "a best model that is gone is no sound run" \
    "$skein" inspect bestless
check_match "the newest is evaluated, with a warning" \
    'warning: .best. names a checkpoint that is missing' \
    <("$skein" eval bestless 2>&1)
check_code 64 "names and lines are not both standard input" \
    "$skein" predict run --label-names -
check_match "the list of inspect marks it" \
    "^holds *$(readlink run/latest) .*DAMAGED" out
check "an older checkpoint is evaluated" "$skein" eval damaged
check_code 65 "the damaged one by itself is refused" \
    "$skein" eval damaged/latest
finish
