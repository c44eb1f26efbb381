#!/usr/bin/env bash
# command_line.sh - what is typed is what is taken: values of -o, numbers,
# help for a verb; and every problem of a file is told once, with its place.
#
# Covers cli/base/call.c, cli/verb_check.c, cli/verb_eval.c, cli/main.c,
# cli/up/up_command.c and topology/config/document_set.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
newline=$'\n'

# says SENTENCE CODE TEXT COMMAND...: exit code and all of standard error.
says() {
    local sentence=$1 code=$2 text=$3 got
    shift 3
    "$@" >out 2>err </dev/null
    got=$?
    check_equal "$sentence" "$got: $(cat err)" "$code: $text"
}

# --- values of -o -------------------------------------------------------------
for name in 'run #1' '- a: b' '[y] ' "it's \\&*" "a${newline}b"; do
    "$skein" train tiny.yaml -o train.epochs=1 -o "checkpoint.path=$name" \
        >out 2>err
    check "a run is saved in '${name//$newline/\\n}'" \
        test -f "./$name/latest/manifest.json"
done
check_match "a line break in a path is printed as \\n" '^saved  a\\nb/batch' out
"$skein" train tiny.yaml -o train.epochs=1 -o checkpoint.path='"run #2"' \
    >out 2>err
check "text in quotes is what the quotes hold" test -d "run #2/latest"
check "only these are there" test ! -e run -a ! -e a -a ! -e '"run #2"'
says "of several files the missing one is reported" 66 \
    "skein: no: no such file; check the path" \
    "$skein" train tiny.yaml -o data.train="no${newline}file"
cp test.txt "te #1.txt"
for value in "te #1.txt" '"te #1.txt"'; do
    "$skein" eval "run #1" -o data.test="$value" >out 2>err
    check_match "eval takes data.test=$value" '^test   te #1.txt: 200' out
done
"$skein" up tiny.yaml --local-nodes 2 -o train.epochs=1 \
    -o checkpoint.path="up #1" >out 2>err
check "up hands it to its nodes" test -f "up #1/latest/manifest.json"

for value in 'train.epochs=3 #x' $'train.epochs=3\n4' 'train.epochs=- 3' \
    'train.order=fixed #' 'resources.cores=[0] # x' 'resources.cores=[0' \
    'data.train=' 'data.train=""' 'data.cache=""' 'checkpoint.path=' \
    'train.seed=9007199254740993' 'train.seed=18446744073709551615'; do
    check_code 78 "-o ${value//$newline/\\n} is refused" \
        "$skein" check tiny.yaml -o "$value"
done
says "big numbers are refused with the limit in digits" 78 \
    "-o train.seed=9007199254740993: option 'seed' of train must be in \
0..9007199254740992, found '9007199254740993'" \
    "$skein" plan tiny.yaml -o train.seed=9007199254740993
check "and the limit itself is not" \
    "$skein" plan tiny.yaml -o train.seed=9007199254740992
says "of sizes, too" 78 \
    "-o resources.memory=99999999TiB: option 'memory' of resources must be at \
most 8388607TiB or auto, found '99999999TiB'" \
    "$skein" check tiny.yaml -o resources.memory=99999999TiB

# --- numbers ------------------------------------------------------------------
for number in 0x3 3.0 1e1 ' 3' +3 03 '3 ' 99999999999999999999; do
    check_code 64 "-k '$number' is refused" \
        "$skein" predict "run #1" test.txt -k "$number"
    check_code 64 "--wait '$number' is refused" \
        "$skein" up tiny.yaml --local-nodes 2 --wait "$number"
done
for number in 0x1p-1 ' .5' nan inf .5x; do
    check_code 64 "--threshold '$number' is refused" \
        "$skein" predict "run #1" test.txt --threshold "$number"
    check_code 64 "--keep '$number' is refused" \
        "$skein" tune tiny.yaml --keep "$number"
    check_code 64 "--budget '$number' is refused" \
        "$skein" tune tiny.yaml --budget "$number"
done

# --- nothing ------------------------------------------------------------------
for verb in train check plan run predict eval inspect keygen; do
    says "$verb of nothing is told" 64 \
        "skein: an argument of skein $verb is empty; is a shell variable \
unset?" "$skein" $verb ""
done
check_code 64 "so is an option of nothing" \
    "$skein" predict "run #1" test.txt --label-names ""

# --- help for a verb ----------------------------------------------------------
for verb in train bench version; do
    check_equal "help $verb is $verb --help" "$("$skein" help $verb)" \
        "$("$skein" $verb --help)"
done
check_equal "help alone is --help" "$("$skein" help)" "$("$skein" --help)"
says "help for no verb is reported" 64 \
    "skein: unknown verb 'trian'; did you mean 'skein train'?" \
    "$skein" help trian

# --- completion ---------------------------------------------------------------
completes() { # WORDS...: what bash offers for the last of them
    bash -c 'eval "$("$1" completion bash)"
        compopt() { :; }
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _skein
        echo "${COMPREPLY[*]}"' - "$skein" skein "$@"
}
check_equal "keys are completed after -o" "$(completes train -o train.eva)" \
    "train.evaluate.every_epochs= train.evaluate.every_steps= \
train.evaluate.rows= train.evaluate.topk= train.evaluate.sampler_batches="
check_equal "so are keys of layers" \
    "$(completes plan m.yaml -o model.layers.output.sampler.b)" \
    "model.layers.output.sampler.bits="
check_equal "the words of bench are completed" \
    "$(completes bench '')" "flow"
check_equal "kinds of actors are completed" \
    "$(completes actors emb)" "embedding"
check_equal "verbs after help are completed" "$(completes help tr)" "train"
check_equal "short options are completed" "$(completes predict -k)" "-k"

# --- every problem, once ------------------------------------------------------
cat >bad.yaml <<'YAML'
skein: 1
data: { train: "", tset: x }
model:
  layers:
    - { name: hidden, units: many }
    - { name: output }
train: { epochs: 0 }
YAML
problems() { # COMMAND...: file, line and column of each error event
    "$@" --json 2>err | python3 -c '
import json, sys
for line in sys.stdin:
    e = json.loads(line)
    if e["event"] == "error":
        print(e["code"], e.get("file"), e.get("line"), e.get("column"))'
}
for verb in check plan graph train; do
    check_equal "$verb --json has an event a problem" \
        "$(problems "$skein" $verb bad.yaml -o train.order=any)" \
        "78 bad.yaml 2 16
78 bad.yaml 2 20
78 bad.yaml 5 30
78 bad.yaml 7 18
78 None None None"
    check_equal "and standard error a line" "$(grep -c '^[b-].*: ' err)" 5
done

cat >plugin.yaml <<'YAML'
skein: 1
topology:
  name: logs
  plugins: [./nope.so]
  actors:
    - { name: a, kind: log_tail, options: { path: x } }
    - { name: b, kind: log_count }
  pipes:
    - { from: a, to: b, message: line }
YAML
check_equal "a plug-in that is not there is one problem" \
    "$(problems "$skein" check plugin.yaml)" "78 plugin.yaml 4 13"
{
    cat tiny.yaml
    echo 'plugins: [./nope.so, train.txt]'
    echo 'data: {}'
    echo 'trian: 1'
} >plugged.yaml
lines=$(wc -l <plugged.yaml)
check_equal "a repeated key hides no other mistake" \
    "$(problems "$skein" check plugged.yaml)" "78 plugged.yaml $((lines - 1)) 1
78 plugged.yaml $lines 1"
sed -i -e '$d' plugged.yaml
sed -i -e '$d' plugged.yaml
lines=$(wc -l <plugged.yaml)
check_equal "each plug-in of a model that cannot be loaded is a problem" \
    "$(problems "$skein" check plugged.yaml)" "78 plugged.yaml $lines 11
78 plugged.yaml $lines 22"

head -c 1000 "$build/libskein.so.0" >cut.so
sed 's/nope/cut/' plugin.yaml >cut.yaml
check_equal "a truncated plug-in, which would kill the process, is a problem" \
    "$(problems "$skein" check cut.yaml)" "78 cut.yaml 4 13"
echo 'void __attribute__((constructor)) die(void) { __builtin_trap(); }' |
    cc -shared -fPIC -x c - -o dying.so
sed 's/nope/dying/' plugin.yaml >dying.yaml
says "a crash of its constructor is reported with its path" 132 \
    "signal 4 (Illegal instruction) in the loading of plug-in ./dying.so" \
    "$skein" check dying.yaml
printf '#include "skein/actor.h"\n%s\n' \
    'const skn_plugin_t skn_plugin = { SKN_PLUGIN_VERSION, 0 };' |
    cc -shared -fPIC -I"$root/include" -x c - -o empty.so
sed 's/nope/empty/' plugin.yaml >empty.yaml
"$skein" check empty.yaml >out 2>err
check_equal "one that brings no kind is refused" "$(head -n 1 err)" \
    "empty.yaml:4:13: plug-in ./empty.so brings no kind of actor"
"$skein" plan tiny.yaml >planned.yaml
"$skein" train planned.yaml 2>err
check_equal "train names a topology file as such" \
    "$(head -n 1 err)" "planned.yaml:2:1: this is a topology file, not a \
model file; use \`skein run\` for it"
"$skein" run tiny.yaml 2>err
check_equal "run names a model file as such" \
    "$(head -n 1 err)" "tiny.yaml:1:1: this is a \
model file, not a topology file; use \`skein train\` for it"

# --- data files ---------------------------------------------------------------
"$skein" check tiny.yaml --data >out 2>err
check_equal "check --data counts what it reads" "$(grep ^data: out)" \
    "data: 600 training points, 0 validation points, 200 test points, \
200 features, 900 labels"
"$skein" check tiny.yaml --data --json >out 2>err
check_equal "with --json as an event" "$(event data labels out)" 900
sed '4s/:/;/' train.txt >broken.txt
sed '7s/ / x/' test.txt >worse.txt
check "without --data they are not looked at" \
    "$skein" check tiny.yaml -o data.train=broken.txt
check_code 65 "with it a bad line is refused" "$skein" check tiny.yaml --data \
    -o data.train=broken.txt -o data.test=worse.txt -o data.bad_rows=0
"$skein" check tiny.yaml --data -o data.train=broken.txt \
    -o data.test=worse.txt -o data.bad_rows=0 >out 2>err
check_match "with its place" '^skein: broken.txt:4:' err
check_match "the first mistake of the other file, too" \
    '^skein: worse.txt:7:' err
check_code 66 "a file that is not there is refused" \
    "$skein" check tiny.yaml --data -o data.test=none.txt
sed '1s/600/601/' train.txt >short.txt
check_code 65 "a header that does not fit is refused" \
    "$skein" check tiny.yaml --data -o data.train=short.txt

# --- cores --------------------------------------------------------------------
warns() { # SENTENCE REGEX COMMAND...
    local sentence=$1 regex=$2
    shift 2
    "$@" >out 2>err </dev/null
    check_match "$sentence" "^skein: warning: .*$regex" err
}
sed '$a resources: { cores: [0, 4000] }' tiny.yaml >cores.yaml
for verb in check plan; do
    warns "$verb tells a core that is not there, and those that are" \
        "cores.yaml:13:21: .cores. of resources names core 4000, .* use [0-9]" \
        "$skein" $verb cores.yaml
done
"$skein" plan cores.yaml >plan.yaml 2>err
warns "check of a topology, too" \
    "plan.yaml:[0-9]+:[0-9]+: '[a-z_.1]*' is to run on core 4000" \
    "$skein" check plan.yaml
warns "run reports it" "core 4000 of '.*' does not exist" "$skein" run plan.yaml
warns "train reports it" "core 4000 of '.*' does not exist" \
    "$skein" train cores.yaml -o train.epochs=1 -o checkpoint.path=cores
warns "train reports more cores than there are" ".cores. of resources is 4000" \
    "$skein" train tiny.yaml -o train.epochs=1 -o checkpoint.path=many \
    -o resources.cores=4000
"$skein" train cores.yaml --json -o train.epochs=1 -o checkpoint.path=json \
    >out 2>err
check_match "as an event" '"event":"warning".*core 4000 of' out
"$skein" check cores.yaml --json >out 2>err
check_match "with its place" '"event":"warning","file":"cores.yaml","line":13' \
    out
last=$(python3 -c 'import os; print(max(os.sched_getaffinity(0)))')
if [ "$last" -gt 0 ]; then
    warns "a core that taskset renames is reported" \
        "core 0 of resources is CPU $last of the system" \
        taskset -c "$last" "$skein" check tiny.yaml -o 'resources.cores=[0]'
    warns "and what it leaves" \
        "may use 1 core, 0 \\(CPU $last of the system\\)" \
        taskset -c "$last" "$skein" check tiny.yaml -o 'resources.cores=[1]'
fi
"$skein" check tiny.yaml -o resources.cores=1 >out 2>err
check "cores that exist cause no warning" test ! -s err

# Each node binds its own actors, and not the first one's alone.
bound() { # whether the actor output.1 of node n1 is held on one core
    local task
    for task in /proc/[0-9]*/task/*; do
        [ "$(cat "$task/comm" 2>/dev/null)" = output.1 ] &&
            grep -q '^Cpus_allowed_list:[[:space:]]*[0-9]*$' "$task/status" &&
            tr '\0' ' ' <"${task%/task/*}/cmdline" | grep -q "bound.run" &&
            return 0
    done
    return 1
}
if [ "$last" -gt 0 ]; then
    "$skein" up tiny.yaml --local-nodes 2 -o train.epochs=100000 \
        -o checkpoint.path=bound.run -o checkpoint.every_epochs=0 \
        >out 2>err &
    up=$!
    check "the second node's actors are on its cores" wait_until 300 bound
    kill -TERM "$up"
    wait "$up"
fi

# --- names, owners ------------------------------------------------------------
nowhere=tcp://no-such-host.invalid
cat >nodes.yaml <<'YAML'
skein: 1
data: { train: train.txt }
model: { layers: [{ name: hidden, units: 8 }, { name: output }] }
nodes:
  - { name: a, address: "tcp://no-such-host.invalid:17101", key: a.key }
  - { name: b, address: "tcp://127.0.0.1:PORT", key: b.key }
coordinator: { address: "tcp://no-such-host.invalid:17100", key: a.key }
YAML
hold_ports 1
sed -i "s/PORT/${ports[0]}/" nodes.yaml
for name in a b; do "$skein" keygen $name.key >out 2>&1; done
check "a run with a coordinator and no folder is a valid file" \
    "$skein" check nodes.yaml
check_match "  which may need one" "^skein: warning: checkpoint.path is not \
set, which .skein coordinator. and .skein member. need; give -o" .check
"$skein" node b nodes.yaml --wait 1 >out 2>err
check_match "an unknown host name is reported at once" \
    "^skein: warning: node 'a': the host name in $nowhere:17101 cannot be " err
check_match "and again at the end" "whose host name cannot be resolved" err
"$skein" member b nodes.yaml --wait 1 -o checkpoint.path=member >out 2>err
check_match "a member reports it of its coordinator" \
    "^skein: warning: the coordinator's host name in $nowhere:17100 cannot be \
resolved" err
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$work"
    # A build tree may lie where nobody else may enter.
    cp "$skein" skein-copy
    setpriv --reuid 65534 --regid 65534 --clear-groups ./skein-copy train \
        tiny.yaml --resume -o data.cache=none -o 'checkpoint.path=run #2' \
        -o train.epochs=9 >out 2>err
    check_equal "another user's run is reported as such" "$?" 77
    check_match "with its owner" \
        "run #2: the folder exists and belongs to root" err
else
    skip "another user's run is reported as such" "needs root and setpriv"
fi
finish
