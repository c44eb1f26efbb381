#!/usr/bin/env bash
# threads.sh - a run is the actors of its plan: one thread each, by that name,
# on that core; and every row of the weights has one writer.
#
# Looks into /proc while a run goes on. Covers actors/runtime/placement.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model

cat >compare.py <<'PYTHON'
"""compare.py PLAN PID [free]: are the threads of PID the actors of PLAN?"""
import os, re, sys
plan, pid = open(sys.argv[1]).read(), int(sys.argv[2])
bound = len(sys.argv) < 4
own = os.getpriority(os.PRIO_PROCESS, 0) # as our caller was started
actors = [(name[:15], core, int(nice)) for name, core, nice in re.findall(
    r"- \{ name: ([\w.]+), kind.* cores: (\w+), nice: (-?\d+) \}", plan)]
process = os.sched_getaffinity(pid)
threads = {}
for task in os.listdir("/proc/%d/task" % pid):
    folder = "/proc/%d/task/%s/" % (pid, task)
    name = open(folder + "comm").read().strip()
    if int(task) == pid or name.startswith("ZMQbg") or name in (
            "watchdog", "training"):
        continue # the host's thread, those of the messaging library, ours
    stat = open(folder + "stat").read().rsplit(")", 1)[1].split()
    threads.setdefault(name, []).append(
        (frozenset(os.sched_getaffinity(int(task))), int(stat[16])))
assert sorted(threads) == sorted(set(a[0] for a in actors)), threads.keys()
assert sum(map(len, threads.values())) == len(actors), threads
units = {}
for name, core, nice in actors:
    mask, kernel_nice = threads[name][0]
    assert kernel_nice == (nice or own), (name, kernel_nice, nice)
    if core == "float" or not bound:
        assert mask == process, (name, mask)
    else:
        assert len(mask) == 1 and mask <= process, (name, mask)
        units.setdefault(core, set()).add(mask)
assert all(len(masks) == 1 for masks in units.values()), units
assert len(set.union(set(), *units.values())) == len(units), units
print(len(actors), "actors on", len(units), "units")
PYTHON
cat >owners.py <<'PYTHON'
"""owners.py PLAN: has every weight of a layer one updater?"""
import re, sys
layers = {}
for line in open(sys.argv[1]):
    if "kind: updater" not in line:
        continue
    option = {key: int(value) for key, value in
              re.findall(r"(\w+): (\d+)[,} ]", line)}
    bias_row = "bias: row" in line
    rows = option["rows"] - (1 if bias_row else 0)
    columns = option["width"] - (0 if bias_row else 1)
    owner = layers.setdefault(option["layer"], {
        "size": (option["global_rows"], option["global_columns"]), "of": {}})
    for row in range(option["row_first"], option["row_first"] + rows):
        for column in range(option["column_first"],
                            option["column_first"] + columns):
            assert (row, column) not in owner["of"], (line, row, column)
            owner["of"][row, column] = True
assert len(layers) >= 2, layers
for number, layer in layers.items():
    rows, columns = layer["size"]
    assert len(layer["of"]) == rows * columns, (number, layer["size"])
PYTHON

# look SENTENCE PLAN-OPTIONS -- RUN-PREFIX...: starts a run, compares, ends it.
look() {
    local sentence=$1 pid worker options=() mode=()
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    rm -rf run
    "$@" "$skein" plan tiny.yaml "${options[@]}" >plan.yaml
    [ "${binding:-}" != --no-binding ] || mode=(free)
    "$@" "$skein" train tiny.yaml "${options[@]}" ${binding:+"$binding"} \
        -o train.epochs=1000000 >run.log 2>run.err </dev/null &
    pid=$!
    wait_until 100 test -e run/latest
    worker=$(pgrep -P $pid | head -n 1)
    check "$sentence" python3 compare.py plan.yaml "$worker" "${mode[@]}"
    sed 's/^/    /' "$work/.check"
    kill -9 $pid
    wait $pid 2>/dev/null
    check "  and one writer for every weight" python3 owners.py plan.yaml
}

look "names, number, cores and niceness are those of the plan" --
sampler=model.layers.output.sampler
look "with table builders, on the core of their shard" \
    -o $sampler.kind=simhash -o $sampler.rows=100 -o $sampler.tables=4 --
check "  which are nice" grep -Eq "kind: table_builder.*nice: 10" plan.yaml
look "with other numbers of shards" -o model.layers.hidden.shards=4 \
    -o model.layers.output.shards=3 --
binding=--no-binding look "--no-binding lets all of them float" --
first=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
look "inside the mask that the process was given" -- taskset -c "$first"
check_equal "  which is one unit" "$(grep -c 'cores: 1' plan.yaml)" 0
finish
