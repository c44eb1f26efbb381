# tiny.sh - a small data set and a model of it, so that a run takes a moment.
#
# Sourced after lib.sh. `tiny_model` fills $work with train.txt, test.txt (600
# and 200 points, 200 features, 900 labels in 60 topics; the seed is fixed) and
# tiny.yaml (two shards a layer, 12 actors); the script then works there.
# `event`, `sha_of` and `every_line_is_json` read what `--json` printed,
# `batch_of` what a run has saved; `interrupted` stops a command as it reads,
# `at_line` as it prints.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
tiny_model() {
    cd "$work" || exit 70
    python3 - <<'PYTHON' || exit 70
import random
FEATURES, LABELS = 200, 900
draw = random.Random(7)
def point():
    topic = int(draw.random() ** 2 * 60)
    labels = sorted(draw.sample(range(15), draw.randint(1, 3)))
    words = {(topic * 3 + draw.randrange(12)) % FEATURES for _ in range(8)}
    words |= {draw.randrange(FEATURES) for _ in range(3)}
    return "%s %s\n" % (",".join(str(topic * 15 + k) for k in labels),
        " ".join("%d:%.3f" % (word, draw.uniform(.1, 2))
                 for word in sorted(words)))
for name, count in (("train", 600), ("test", 200)):
    with open(name + ".txt", "w") as file:
        file.write("%d %d %d\n" % (count, FEATURES, LABELS))
        for _ in range(count):
            file.write(point())
PYTHON
    cat >tiny.yaml <<'YAML'
skein: 1
data: { train: train.txt, test: test.txt }
model:
  layers:
    - { name: hidden, units: 32, shards: 2 }
    - { name: output, shards: 2 }
train:
  epochs: 5
  batch_rows: 32
  optimizer: { rate: 0.01 }
  schedule: { kind: constant } # what a shorter run begins, a longer one goes on
checkpoint: { path: run, every_batches: 20 }
YAML
}

# event NAME KEY FILE: the value of KEY in the last event NAME of FILE; with
# KEY `-` the whole event. Fails if there is none.
event() {
    python3 - "$@" <<'PYTHON'
import json, sys
name, key, path = sys.argv[1:]
found = [e for e in map(json.loads, open(path)) if e.get("event") == name]
print(json.dumps(found[-1]) if key == "-" else found[-1][key])
PYTHON
}
# sha_of FILE: without a `done` event, words that equal no other's.
sha_of() {
    event "done" weights_sha256 "$1" 2>/dev/null ||
        echo "no done in $1: $(tail -c 400 "$1")"
}
# batch_of FOLDER: the batches that its newest checkpoint has. Who is killed may
# not have led `latest` to it yet.
batch_of() {
    local newest
    newest=$(cd "$1" && printf '%s\n' batch-* | sort | tail -n 1 | cut -d- -f2)
    [ "$newest" != '*' ] && echo $((10#$newest))
}
every_line_is_json() {
    python3 -c 'import json, sys
for line in open(sys.argv[1]):
    assert isinstance(json.loads(line), dict), line' "$1"
}
# at_line PATTERN COMMAND...: passes on its input, and runs the command as soon
# as a line matches.
at_line() {
    local pattern=$1 line
    shift
    while IFS= read -r line; do
        echo "$line"
        # shellcheck disable=SC2053
        [[ $line != $pattern ]] || break
    done
    "$@"
    cat
}
# interrupted PIPE SAID COMMAND...: sends the command SIGINT once it, or its
# worker, reads the named pipe, which has nothing; prints its exit code. What it
# said is in SAID.
interrupted() {
    local pipe=$1 said=$2 victim code=0
    shift 2
    exec 3<>"$pipe"
    "$@" >"$said" 2>&1 3>&- &
    victim=$!
    wait_until 300 sh -c "ls -l /proc/$victim/fd \
        \$(pgrep -P $victim | sed 's|.*|/proc/&/fd|') | grep -q '$pipe\$'"
    kill -INT "$victim"
    wait_until 100 sh -c "! kill -0 $victim" || kill -KILL "$victim"
    wait "$victim" 2>/dev/null || code=$?
    exec 3>&-
    echo $code
}
