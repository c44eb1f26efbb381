#!/usr/bin/env bash
# admitted.sh - who has a key and does not fit is refused at once, with a word
# that helps, and the others go on in the generation that they have.
#
# Covers topology/cluster/admission.c, topology/model/settings.c,
# transport/socket/control.c and topology/cluster/coordinating.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/pair.sh
. "$(dirname "$0")/pair.sh"
# shellcheck source=tests/e2e/members.sh
. "$(dirname "$0")/members.sh"
three_model
epochs=2000
calm=(-o train.evaluate.every_epochs=0)

lead run --wait 1 "${calm[@]}"
lead_pid=$started
member run a "${calm[@]}"
pid_a=$started
member run b "${calm[@]}"
pid_b=$started
await "two begin" 'generation 1 from batch 0: a and b' run.lead.json
await "and train" '"checkpoint"' run.a.json

# --- another config ---------------------------------------------------------
# Starts node c so, which has to end by itself; c.out is what it says.
refused() { # SENTENCE CODE PATTERN OPTION...
    local sentence=$1 code=$2 pattern=$3
    shift 3
    check_code "$code" "$sentence" timeout 60 "$skein" member c three.yaml \
        -o checkpoint.path=run "$@"
    cp .check c.out
    check_match "  with the reason" "$pattern" c.out
}
refused "another number of epochs is refused" 78 \
    "train\.epochs is 1999 there, and 2000 in the run" "${calm[@]}" \
    -o train.epochs=1999
check_match "  and what to do" "the same -o: train\.epochs=2000" c.out
refused "it is refused again" 78 "train\.epochs is 1999 there" "${calm[@]}" \
    -o train.epochs=1999
refused "another width of a layer is refused" 78 \
    "model\.layers\.hidden\.units is 48 there, and 32" "${calm[@]}" \
    -o train.epochs=2000 -o model.layers.hidden.units=48
refused "each key that differs is counted" 78 \
    "train\.seed is 5 there, and 1 in the run \(2 more keys differ\)" \
    -o train.epochs=2000 -o train.seed=5 -o train.batch_rows=16
check_equal "the coordinator reports each once" \
    "$(grep -c '"text": *"refused: node .c.' run.lead.json)" 3
check "while the others continue to train" grep -q '"checkpoint"' run.a.json
check_equal "in their first generation" \
    "$(grep -c '"members":\[' run/coordinator.journal)" 1

# What is a machine's own may differ.
member run c "${calm[@]}" -o data.cache=none -o data.memory=2GiB \
    -o resources.huge_pages=false -o resources.memory=8GiB \
    -o idle.share=0.9 -o links.rate=1e8
pid_c=$started
await "one with paths and limits of its own joins" 'a, b and c; c joins' \
    run.lead.json
trains() { grep -q '"how":"begins"' run.c.json; }
check "the member takes part" wait_until 300 trains
check_code 1 "without a failure" grep -q 'failed\|fails\|another config: [^t]' \
    run.a.err run.b.err run.c.err

# --- two machines with the key of one node ----------------------------------
# In folders of their own, as on two machines.
sed 's/checkpoint: { path: run/checkpoint: { path: twin/' three.yaml >twin.yaml
begun() { grep -c '"members":\[' run/coordinator.journal; }
generations=$(begun)
twin() {
    timeout 60 "$skein" member c twin.yaml "${calm[@]}" \
        -o train.epochs=2000 >twin.out 2>&1 </dev/null
}
for time in first second; do
    check_code 75 "a $time process with the key of c is refused" twin
    check_match "  with the reason" \
        "node 'c' is already a member, from 127\.0\.0\.1" twin.out
done
check_equal "the refusal is reported once" \
    "$(grep -c "refused: node 'c' is already a member" run.lead.json)" 1
check_equal "the others, and c, continue in their generation" "$(begun)" \
    "$generations"

# Who is dead, and has not even closed its line, does not keep another one out.
worker_c=$(pgrep -P "$pid_c")
kill -STOP "$pid_c" "$worker_c"
"$skein" member c twin.yaml "${calm[@]}" -o train.epochs=2000 --json \
    >twin.json 2>twin.err </dev/null &
pid_twin=$!
at_exit "kill -9 $pid_twin 2>/dev/null"
takes_over() { grep -q '"how":"begins"' twin.json; }
check "one takes the place of another that is silent" wait_until 300 takes_over
check_equal "it was not refused before" \
    "$(grep -c "refused: node 'c' is already a member" run.lead.json)" 1
generations=$(begun)
kill -CONT "$pid_c" "$worker_c"
code=0
wait "$pid_c" || code=$?
check_equal "the silent one is refused when it wakes" "$code" 75
check_match "  with the reason" "node 'c' is already a member" run.c.err
check_equal "and ends no generation" "$(begun)" "$generations"

# A member that was killed is back at once, by its connection's end.
kill -9 "$pid_twin"
wait "$pid_twin" 2>/dev/null
"$skein" member c twin.yaml "${calm[@]}" -o train.epochs=2000 --json \
    >again.json 2>again.err </dev/null &
pid_twin=$!
at_exit "kill -9 $pid_twin 2>/dev/null"
await "one that was killed comes back" 'c died and is back|c is gone' \
    run.lead.json
is_back() { grep -q '"how":"begins"' again.json; }
check "the member takes part" wait_until 300 is_back
check_equal "no other member was refused" \
    "$(grep -c "refused: node 'c' is already a member" run.lead.json)" 2

kill -TERM "$lead_pid"
check "SIGTERM ends the coordinator well" wait "$lead_pid"
check "its members end well, too" wait "$pid_a" "$pid_b" "$pid_twin"
finish
