#!/usr/bin/env bash
# window.sh - no barrier: behind one slow shard the others go on, as far as the
# window lets them and no farther; and neither queues nor memory grow.
#
# A relay of tests/fault/slow_relay.c stands before output.1 (what it hears is
# DELAY_MS late) or behind it (so are its answers). With window 1 everybody
# waits for it; with window 8 the others work on batches t + 1 to t + 7 in the
# meantime. Under `order: fixed` an update waits for the forward passes of the
# window less one; so that a long way *to* a shard is hidden there too, 15
# batches may be issued and not applied.
#
# The order of events in the trace is what is checked: how far the others were
# ahead of the slow shard, never how long they took. The one ratio of times, of
# two whole runs, is 5 to 7 by the delays alone, and 2.5 is asked for.
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
pipe = re.search(r"    - \{ from: (\S+), to: (\S+), message: (%s, .*) \}\n"
                 % message, plan)
sender, receiver, rest = pipe.groups()
if way == "out":
    pipes = (line % (sender, "[output.0, relay]", rest) +
             line % ("relay", "output.1", rest))
else:
    pipes = (line % ("[output.0, relay]", receiver, rest) +
             line % ("output.1", "relay", rest))
plan = plan.replace(pipe.group(0), pipes)
print(plan.replace("  pipes:\n", "    - { name: relay, kind: slow_relay, "
    "options: { delay_ms: %s } }\n  pipes:\n" % delay_ms), end="")
PYTHON

# plan NAME WAY DELAY_MS OPTION...: NAME.yaml
plan() {
    local name=$1 way=$2 delay=$3
    shift 3
    "$skein" plan tiny.yaml -o train.batch_rows=8 -o train.max_batches=60 \
        -o model.layers.hidden.shards=1 -o checkpoint.path="run.$name" \
        -o checkpoint.every_batches=0 -o checkpoint.every_epochs=0 "$@" |
        python3 relay.py "$way" "$delay" >"$name.yaml"
}
run() { # NAME [TRACE]
    timeout -k 5 120 "$build/fault/fault_slow_relay" "$1.yaml" ${2:+"$2"} \
        >"$1.json"
}
slow() { # WAY WINDOW ORDER: of 75 batches
    plan "$1-$3-$2" "$1" "$delay_ms" -o train.window="$2" \
        -o train.order="$3" && run "$1-$3-$2" "trace.$1-$3-$2.json"
}

cat >look.py <<'PYTHON'
"""look.py EXPRESSION...: reads NAME.json and trace.NAME.json."""
import collections, json, re, sys
def report(name):
    lines = [json.loads(line) for line in open(name + ".json")]
    return [line for line in lines if "actors" in line][-1]
def actors(name):
    return {actor["name"]: actor for actor in report(name)["actors"]}
def faster(case):
    """How much sooner the run was over with window 8, times 100."""
    return 100 * report(case + "-1")["run_ns"] // report(case + "-8")["run_ns"]
def events(name):
    found = json.load(open("trace." + name + ".json"))["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in found
             if e["ph"] == "M" and e["name"] == "thread_name"}
    for e in found:
        if e["ph"] in "Xsf":
            e["actor"] = names[e["tid"]]
            yield e
def handled(name):
    """{(actor, message): {batch: [(begin, end), ...]}}"""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for e in events(name):
        if e["ph"] == "X" and "batch" in e.get("args", {}):
            found[e["actor"], e["name"]][e["args"]["batch"]].append(
                (e["ts"], e["ts"] + e["dur"]))
    return found
def ahead(name):
    """Most batches t + 1, t + 2, ... that the embedding and the shard beside
    had computed when the last part of batch t came from the slow one."""
    found, most = handled(name), 0
    late = found["embedding.0", "output_gradient"]
    for t in late:
        begin, count = late[t][0][0], 0
        while all(found[shard][t + count + 1] and
                  found[shard][t + count + 1][0][1] < begin for shard in
                  (("embedding.0", "batch"), ("output.0", "activation"))):
            count += 1
        most = max(most, count)
    return most
def in_flight(name):
    """Most batches begun and not yet applied by all. A handler's span begins
    where the one before it ended, which may be before its message came: its
    end is what surely follows the message."""
    found = handled(name)
    begun = sorted((spans[0][1], t) for t, spans in
                   found["embedding.0", "batch"].items())
    done = {t: max(span[0] for span in spans) for t, spans in
            found["source", "applied"].items()}
    return max(sum(1 for other in range(t + 1) if done[other] > at)
               for at, t in begun)
def queued(name):
    """Most messages that were on one edge, sent and not taken."""
    waiting, most = collections.Counter(), 0
    for at, order, edge in sorted(
            (e["ts"], e["ph"] == "s", e["id"] >> 32)
            for e in events(name) if e["ph"] in "sf"):
        waiting[edge] += 1 if order else -1
        most = max(most, waiting[edge])
    return most
def credit(name):
    plan = open(name + ".yaml").read()
    return min(map(int, re.findall(r"credit: (\d+)", plan)))
def outbox(name):
    return max(actor["outbox_max"] for actor in actors(name).values())
def rss(name):
    return [int(e["rss_mb"]) for e in map(json.loads, open(name + ".json"))
            if e.get("event") == "epoch"]
print(*[eval(word) for word in sys.argv[1:]])
PYTHON
look() { python3 look.py "$@"; }

for case in out-free out-fixed home-fixed; do
    check "$case: window 1 runs with a slow shard" \
        slow ${case%-*} 1 ${case#*-} &&
        check "  and window 8" slow ${case%-*} 8 ${case#*-} || continue
    read -r more < <(look "faster('$case')")
    check "  it is over $more/100 times sooner" test "$more" -ge 250
    read -r one eight < <(look "ahead('$case-1')" "ahead('$case-8')")
    check_equal "  window 1: no actor works on t + 1 while t is unfinished" \
        "$one" 0
    check "  window 8: batches t + 1 to t + $eight were computed by then" \
        test "$eight" -ge 4 -a "$eight" -le 7
    read -r one eight < <(look "in_flight('$case-1')" \
        "in_flight('$case-8')")
    check_equal "  window 1: never more than 1 batch in flight" "$one" 1
    check "  window 8: never more than 15 ($eight), but more than 4" \
        test "$eight" -le 15 -a "$eight" -gt 4
    for window in 1 8; do
        name=$case-$window
        read -r queue limit box < <(look "queued('$name')" "credit('$name')" \
            "outbox('$name')")
        check "  window $window: no edge holds more than its credit \
($queue of $limit), no outbox more ($box)" \
            test "$queue" -le "$limit" -a "$box" -le "$limit" -a "$queue" -ge 1
    done
done

# --- a slow shard for long ---------------------------------------------------
plan long out 1 -o train.window=8 -o train.order=free -o train.max_batches=0 \
    -o train.epochs=16
check "many epochs with a slow shard" run long &&
    read -r first last < <(look "rss('long')[3]" "rss('long')[-1]") &&
    check "  memory is steady: $first MB after 4 epochs, $last MB after 16" \
        test "$last" -le $((first + 4))
finish
