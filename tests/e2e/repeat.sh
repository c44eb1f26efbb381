#!/usr/bin/env bash
# repeat.sh - one seed and one config give one model, however it is run.
#
# Covers topology/plan/plan_wire.c, topology/host/topology.c, cli/verb_run.c,
# cli/verb_plan.c and cli/base/follow.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model

# train NAME OPTION...: a run in folder NAME, its events in NAME.json.
train() {
    local name=$1
    shift
    "$skein" train tiny.yaml --json -o checkpoint.path="$name" "$@" \
        >"$name.json" 2>"$name.err" </dev/null
}

# ten_times NAME OPTION...: one of the ten takes the wire path and one is not
# bound to cores; neither changes a bit.
ten_times() {
    local name=$1 k extra
    shift
    for k in 0 1 2 3 4 5 6 7 8 9; do
        extra=()
        [ "$k" != 3 ] || extra=(--wire)
        [ "$k" != 6 ] || extra=(--no-binding)
        train "$name.$k" "${extra[@]}" "$@"
        sha_of "$name.$k.json"
    done | sort | uniq -c | awk '{ print $1, $2 }'
}

# same_story NAME: the ten runs told the same of every epoch.
same_story() {
    python3 <(cat <<'PYTHON'
import json, sys
def told(name):
    events = [json.loads(line) for line in open(name)]
    return [[(key, value) for key, value in sorted(event.items())
             if key in ("event", "epoch", "batches", "loss", "p1", "p3", "p5",
                        "psp1", "psp3", "psp5", "active_fraction")]
            for event in events if event["event"] in ("epoch", "done")]
names = ["%s.%d.json" % (sys.argv[1], k) for k in range(10)]
assert len(told(names[0])) == 6, told(names[0])
for name in names:
    assert told(name) == told(names[0]), (name, told(name), told(names[0]))
PYTHON
    ) "$1"
}

# A plan is kept in another folder than its model, and run from a third.
mkdir -p sub/plans elsewhere
cp tiny.yaml train.txt test.txt sub
"$skein" plan sub/tiny.yaml -o checkpoint.path="$work/planned" \
    >sub/plans/plan.yaml 2>plan.err
check "a plan runs wherever it lies" bash -c "cd elsewhere &&
    '$skein' run ../sub/plans/plan.yaml --json >../planned.json"
train direct
check_equal "  to the weights of its model" "$(sha_of planned.json)" \
    "$(sha_of direct.json)"
(cd sub && "$skein" plan --model tiny.yaml) >sub/plans/model.yaml
train_other() { (cd elsewhere && "$skein" train ../sub/plans/model.yaml \
    -o checkpoint.path="$work/other" --json >../other.json); }
check "a model file that was printed runs wherever it lies" train_other
check_equal "  to the same weights" "$(sha_of other.json)" \
    "$(sha_of direct.json)"

# Half of the shards get their batches from a reader, as if they were on another
# node.
cat >reader.py <<'PYTHON'
"""reader.py <PLAN: a reader feeds embedding.1 and output.1."""
import re, sys
plan = sys.stdin.read()
source = re.search(r"    - \{ name: source, .*\n", plan).group(0)
reader = source.replace("source", "reader").replace("kind: source",
    "kind: reader")
reader = re.sub(r", (window|owners|first_owners): \d+", "", reader)
plan = plan.replace(source, source + reader)
def pipe(message):
    return re.search(r"    - \{ from: source, to: (.*), message: %s, .*\n"
                     % message, plan)
batch, labels = pipe("batch"), pipe("labels")
def moved(found, sender, to, message=None):
    line = found.group(0).replace("from: source", "from: " + sender)
    line = line.replace("to: " + found.group(1), "to: " + to)
    return re.sub("message: \\w+", "message: " + message, line) if message \
        else line
plan = plan.replace(batch.group(0),
    moved(batch, "source", "embedding.0") +
    moved(batch, "reader", "embedding.1") +
    moved(batch, "source", "reader", "issue"))
plan = plan.replace(labels.group(0),
    moved(labels, "source", "[output.0, evaluator]") +
    moved(labels, "reader", "output.1"))
print(plan, end="")
PYTHON
beside() { "$skein" run beside.yaml --json >beside.json 2>beside.err; }
for extra in "" -o\ train.validate=0.1; do
    # shellcheck disable=SC2086
    "$skein" plan tiny.yaml $extra -o checkpoint.path="$work/alone$extra" \
        >alone.yaml && python3 reader.py <alone.yaml >beside.yaml &&
        sed -i 's/alone/beside/' beside.yaml
    "$skein" run alone.yaml --json >alone.json 2>alone.err
    check "half of the shards get their batches from a reader $extra" beside
    check_equal "  no bit is changed by that" "$(sha_of beside.json)" \
        "$(sha_of alone.json)"
    check_equal "  and no score" "$(event "done" p1 beside.json)" \
        "$(event "done" p1 alone.json)"
done

for window in 1 4; do
    got=$(ten_times "w$window" -o train.window="$window")
    sha=$(sha_of "w$window.0.json")
    check_equal "window $window: 10 of 10 runs give the same weights" \
        "$got" "10 $sha"
    check "window $window: the same loss and scores in all of them" \
        same_story "w$window"
    "$skein" plan tiny.yaml -o train.window="$window" \
        -o checkpoint.path="plan$window" >"plan$window.yaml" 2>plan.err
    "$skein" run - --json <"plan$window.yaml" >"plan$window.json" \
        2>>plan.err
    check_equal "window $window: plan | run trains what train does" \
        "$(sha_of "plan$window.json")" "$sha"
done
check_equal "a second seed gives other weights" \
    "$(train seed -o train.seed=2; [ "$(sha_of seed.json)" != "$sha" ] &&
        sha_of seed.json | wc -c)" 65

uniform=(-o "model.layers.output.sampler.kind=uniform"
    -o "model.layers.output.sampler.rows=100" -o train.window=4)
got=$(ten_times uniform "${uniform[@]}")
check_equal "uniform negatives: 10 of 10 runs give the same weights" \
    "$got" "10 $(sha_of uniform.0.json)"

check "order: free runs to its end" train free -o train.order=free \
    -o train.window=4
check_equal "and trains every batch" "$(event "done" batches free.json)" 95
check "validation with patience repeats" train v1 -o train.validate=0.1 \
    -o train.patience=2 -o train.epochs=8
check "in a second run" train v2 -o train.validate=0.1 \
    -o train.patience=2 -o train.epochs=8
check_equal "with the same best model" \
    "$(event "done" best_epoch v1.json) $(sha_of v1.json)" \
    "$(event "done" best_epoch v2.json) $(sha_of v2.json)"
finish
