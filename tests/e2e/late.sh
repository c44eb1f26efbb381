#!/usr/bin/env bash
# late.sh - late: stale. The others go on without the parts of a slow shard:
# with estimates of its normalisers, and with its gradients when they come.
#
# As in window.sh a relay of tests/fault/slow_relay.c makes what output.1 hears,
# or what it answers, 40 ms late. That late gradients become part of an update,
# each once and whole, is seen in the weights: with steps that are very small
# gradients do not depend on when they are applied, so that the way from the
# first weights to the last is that of a run which waits. With one-vs-all, since
# no normaliser is estimated there.
# Covers actors/protocol/lateness.c, actors/output/normalisers.c,
# actors/hidden/layer.c, actors/hidden/embedding.c and actors/output/output.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
sed -i 's/, test: test.txt//' tiny.yaml
delay_ms=${DELAY_MS:-40}

cat >relay.py <<'PYTHON'
"""relay.py WAY DELAY_MS <PLAN: puts the relay before (out) or behind (home)
output.1."""
import re, sys
way, delay_ms, plan = sys.argv[1], sys.argv[2], sys.stdin.read()
line = "    - { from: %s, to: %s, message: %s }\n"
message = {"out": "activation", "home": "output_gradient"}[way]
sender, receiver, rest = re.search(
    r"    - \{ from: (\S+), to: (\S+), message: (%s, .*) \}\n" % message,
    plan).groups()
if way == "out":
    pipes = (line % (sender, "[output.0, relay]", rest) +
             line % ("relay", "output.1", rest))
else:
    pipes = (line % ("[output.0, relay]", receiver, rest) +
             line % ("output.1", "relay", rest))
plan = plan.replace(line % (sender, receiver, rest), pipes)
print(plan.replace("  pipes:\n", "    - { name: relay, kind: slow_relay, "
    "options: { delay_ms: %s } }\n  pipes:\n" % delay_ms), end="")
PYTHON

cat >look.py <<'PYTHON'
"""look.py EXPRESSION: of the runs here, by their names."""
import array, glob, json, math, struct, sys
def events(name):
    lines = [json.loads(line) for line in open(name + ".json")]
    return [line for line in lines if line.get("event") == "epoch"]
def count(name, what):
    return sum(event.get(what, 0) for event in events(name))
def loss(name):
    return events(name)[-1]["loss"]
def verdict(name):
    done = [json.loads(line) for line in open(name + ".json")
            if '"done"' in line][-1]
    return "%d %d %d" % (done["batches"], done["lost"], done["applied_twice"])
def weights(name):
    """All numbers of the embedding that the run ended with."""
    found = []
    for path in sorted(glob.glob("run.%s/latest/hidden.*" % name)):
        data = open(path, "rb").read()
        length = struct.unpack("<Q", data[:8])[0]
        for key, tensor in sorted(json.loads(data[8:8 + length]).items()):
            if ".weight" in key and tensor.get("dtype") == "F32":
                first, end = tensor["data_offsets"]
                found += array.array("f", data[8 + length + first:
                                               8 + length + end])
    assert found, name
    return found
def apart(first, one, other):
    """How far the ways from `first` to both are apart, in percent."""
    start, a, b = weights(first), weights(one), weights(other)
    way = math.sqrt(sum((x - s) ** 2 for x, s in zip(a, start)))
    between = math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b)))
    return 100 * between / way
print(eval("(" + sys.argv[1] + ")"))
PYTHON
look() { python3 look.py "$1"; }

run() { # NAME WAY DELAY_MS OPTION...
    local name=$1 way=$2 delay=$3
    shift 3
    "$skein" plan tiny.yaml -o train.batch_rows=8 -o train.epochs=2 \
        -o model.layers.hidden.shards=1 -o checkpoint.path="run.$name" \
        -o checkpoint.every_batches=0 -o train.order=free \
        -o train.window=4 "$@" >"$name.plan" || return
    if [ "$delay" != 0 ]; then
        python3 relay.py "$way" "$delay" <"$name.plan" >"$name.yaml"
    else
        cp "$name.plan" "$name.yaml"
    fi
    timeout -k 5 120 "$build/fault/fault_slow_relay" "$name.yaml" \
        >"$name.json" 2>"$name.err"
}
stale="train.late=stale"

# --- a softmax: estimates ----------------------------------------------------
check "a run waits for a shard that hears late" run waits out "$delay_ms"
check "another one does not" run goes out "$delay_ms" -o $stale
check_equal "and every batch is applied once all the same" \
    "$(look 'verdict("goes")')" "150 0 0"
# 2 to 7 of them, where normalisers are mostly waited for.
check "gradients came late" \
    test "$(look 'count("goes", "late_parts") > 0')" = True
check "normalisers were estimated, of a twentieth of the batches at most" \
    test "$(look '2 <= count("goes", "estimated_parts") <= 150 / 20')" = True ||
    look 'count("goes", "estimated_parts")'
check_equal "who waits estimates nothing" "$(look 'count("waits",
    "late_parts") +
    count("waits", "estimated_parts")')" 0
check "the loss is that of a run that waits, or nearly" \
    test "$(look 'abs(loss("goes") / loss("waits") - 1) < .05')" = True

# --- one-vs-all: nothing but late gradients ----------------------------------
small="model.layers.output.loss=one_vs_all"
steps=(-o $small -o train.optimizer.kind=sgd -o model.layers.hidden.dropout=0)
check "first weights" run first home 0 "${steps[@]}" \
    -o train.optimizer.rate=1e-9 -o train.max_batches=1
check "small steps of a run that waits" run exact home "$delay_ms" \
    "${steps[@]}" -o train.optimizer.rate=0.002
check "the same of a run that goes on" run late home "$delay_ms" \
    "${steps[@]}" -o train.optimizer.rate=0.002 -o $stale
check "gradients came late" \
    test "$(look 'count("late", "late_parts") > 5')" = True
check "and they became part of the weights, each once" \
    test "$(look 'apart("first", "exact", "late") < 4')" = True || look \
    'apart("first", "exact", "late")'
check "staleness_max 0: nothing may be late" run strict home "$delay_ms" \
    "${steps[@]}" -o train.optimizer.rate=0.002 -o $stale \
    -o train.staleness_max=0
check_equal "and nothing is" "$(look 'count("strict", "late_parts")')" 0
# The check above sees what it is there for: weights without these parts.
check "a run of another number of batches is farther away" \
    run shorter home 0 "${steps[@]}" -o train.optimizer.rate=0.002 \
    -o train.max_batches=120
check "  by its weights" \
    test "$(look 'apart("first", "exact", "shorter") > 10')" = True

# --- nodes, and what does not go with it -------------------------------------
check "three nodes, one of two cores" "$skein" up tiny.yaml --local-nodes 3 \
    -o nodes.n1.cores=2 -o model.layers.hidden.shards=auto \
    -o model.layers.output.shards=auto -o train.order=free -o $stale \
    -o checkpoint.path=run.nodes -o train.epochs=2 --json
check_code 78 "late: stale does not go with the order that is the default" \
    "$skein" check tiny.yaml -o $stale
sed -e 's/collect: parts/collect: gather, by: batch/' -e 's/run.goes/run.odd/' \
    goes.plan >gathers.yaml
check_code 76 "shards that put parts together refuse those that are" \
    timeout -k 5 60 "$skein" run gathers.yaml
finish
