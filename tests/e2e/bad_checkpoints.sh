#!/usr/bin/env bash
# bad_checkpoints.sh - checkpoint files of the right length, other bytes.
#
# Covers topology/cluster/bad_checkpoints.c, choose of
# topology/cluster/coordinating.c and the mistakes that all members make
# (topology/elastic/membership.c).
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/pair.sh
. "$(dirname "$0")/pair.sh"
pair_model

# go_on NAME [OPTION...]: three nodes, in the folder `run`.
go_on() {
    exec timeout --foreground 150 "$skein" up tiny.yaml --local-nodes 3 \
        --elastic --json \
        -o checkpoint.path=run -o checkpoint.every_epochs=2 \
        -o checkpoint.keep=3 -o train.evaluate.every_epochs=0 \
        "${@:2}" >"$1.json" 2>"$1.err" </dev/null
}
# whole NAME [OPTION...]: the same, and waits for its end.
whole() { (go_on "$@"); }
saved() { [ "$(grep -c '"event":"checkpoint"' "$1.json")" -ge "$2" ]; }
# Who is out for a failure when the run is stopped ends with its code.
all_in() { grep '"membership"' "$1.json" | tail -n 1 | grep -q 'n0","n1","n2'; }
# some NAME COUNT: the same until it has saved so often, and all take part.
some() {
    go_on "$1" -o train.epochs=100000 &
    local process=$!
    wait_until 300 saved "$1" "$2"
    wait_until 300 all_in "$1"
    kill -TERM "$process"
    wait "$process"
}
# spoil COUNT: the newest checkpoints of all nodes, that many.
spoil() {
    python3 - "$1" <<'PYTHON'
import glob, os, sys
for node in glob.glob("run/n*"):
    for batch in sorted(glob.glob(node + "/batch-*"))[-int(sys.argv[1]):]:
        for name in glob.glob(batch + "/*.safetensors"):
            with open(name, "r+b") as file:
                file.seek(os.path.getsize(name) // 2)
                file.write(b"XXXX")
PYTHON
}
check "three nodes train, and are stopped" some first 4
spoil 1
check "they continue although the newest checkpoint is damaged on all" \
    some second 4
check_match "  from an older one, with a warning" \
    'continuing from an older one' second.json
check_code 78 "with other units none of them can continue: the run ends" \
    whole third -o train.epochs=100000 -o model.layers.hidden.units=48
check_match "  and says why" 'was started with another' third.err
spoil 4
check_code 66 "where all checkpoints are damaged it ends, too" \
    whole fourth -o train.epochs=100000
check_match "  with one line" '^skein: .*no node holds rows' fourth.err
finish
