#!/usr/bin/env bash
# events.sh - docs/reference/events.md names all events and members printed.
#
# Covers the forms of actors/course/course.c, cli/verb_train.c, cli/verb_eval.c
# and others against the document that people write their readers by.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model

# named FILE: every member of every object is between backquotes in the document
named() {
    python3 - "$1" "$root/docs/reference/events.md" <<'PYTHON'
import json, re, sys
words = set(re.findall(r"`(\w+)`", open(sys.argv[2]).read()))
missing = set()
for line in open(sys.argv[1]):
    event = json.loads(line)
    if "event" in event and event["event"] not in words:
        missing.add("event " + event["event"])
    missing |= {"%s.%s" % (event.get("event"), key) for key in event
                if key not in words and not key.startswith("validate_")}
assert not missing, "events.md does not name: " + ", ".join(sorted(missing))
PYTHON
}
quiet() { "$@" 2>/dev/null </dev/null; }

quiet "$skein" train tiny.yaml --json -o train.validate=0.1 \
    -o train.epochs=2 -o train.evaluate.sampler_batches=5 \
    -o 'model.layers.output.sampler={ kind: uniform, rows: 20,
        weight_cap: 2 }' >train.out
check "train: start, epoch, checkpoint, done" named train.out
for kind in simhash dwta; do
    quiet "$skein" train tiny.yaml --json -o train.epochs=1 \
        -o checkpoint.path="$kind" \
        -o "model.layers.output.sampler={ kind: $kind, rows: 20,
            refresh_batches: 2 }" >"$kind.out"
    check "train: an index of $kind" named "$kind.out"
    check_match "  with an index event" '"event":"index"' "$kind.out"
done
quiet "$skein" train tiny.yaml --json -o checkpoint.path=run --resume >done.out
check "train: the end of a finished run again" named done.out
quiet "$skein" train tiny.yaml --json -o checkpoint.path=run >error.out
check "train: an error" named error.out
check_match "  with an error event" '"event":"error"' error.out
quiet "$skein" eval run --json --index >eval.out
check "eval" named eval.out
quiet "$skein" predict run test.txt --json >predict.out
check "predict" named predict.out
quiet "$skein" check tiny.yaml --json >check.out
check "check" named check.out
quiet "$skein" doctor --json >doctor.out
check "doctor" named doctor.out
echo '{"event":"epoch","unheard_of":1}' >odd.out
check_code 1 "a member that is not in the document is found" named odd.out
finish
