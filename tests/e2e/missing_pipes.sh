#!/usr/bin/env bash
# missing_pipes.sh - a plan that lacks a pipe is refused.
#
# Pipes of a printed plan are left out in turn: nobody may wait for ever for
# what never comes. Covers `needs` of the kinds and topology/spec/spec_graph.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
"$skein" plan tiny.yaml -o train.epochs=1 -o checkpoint.path="$work/run" \
    -o 'model.layers.output.sampler={ kind: simhash, rows: 20 }' >plan.yaml
check "the whole plan is right" "$skein" check plan.yaml || finish

# Those that answer a question of their own receiver are not in the list.
for message in batch labels activation gradient lease applied go reached \
    dirty save tensor chunk; do
    sed "/message: $message,/d" plan.yaml >less.yaml
    "$skein" check less.yaml >out 2>&1
    check_equal "without $message the plan is refused" "$?" 78
    check_match "  and the actor that needs it is named" \
        "^less.yaml:[0-9]+:[0-9]+: [a-z_.0-9]+ gets no '$message'" out
done
"$skein" plan tiny.yaml -o checkpoint.path="$work/run" \
    -o checkpoint.copies=2 -o 'nodes=[
        { name: a, address: "tcp://127.0.0.1:7001", cores: 1 },
        { name: b, address: "tcp://127.0.0.1:7002", cores: 1 } ]' >kept.yaml
check "a plan of two keepers is right" "$skein" check kept.yaml
sed '/message: keep,/d' kept.yaml >less.yaml
"$skein" check less.yaml >out 2>&1
check_equal "without keep it is refused" "$?" 78
check_match "  and the keeper without a leader is named" \
    "^less.yaml:[0-9]+:[0-9]+: keeper.1 gets no 'save'" out
sed '/message: batch,/d' plan.yaml >less.yaml
"$skein" check less.yaml >out 2>&1
check_match "an actor that receives nothing is named, with the message" \
    "less.yaml:[0-9]+:[0-9]+: embedding.0 gets no 'batch'; a pipe with \
.message: batch. must lead to it" out
cat >ports.yaml <<'YAML'
skein: 1
topology:
  name: ports
  actors: [ { name: in, kind: port } ]
YAML
"$skein" run ports.yaml >out 2>&1
check_equal "the command refuses a port" "$?" 64
check_match "  and says whose messages it has" \
    "ports.yaml has a port, 'in', whose messages a host program sends" out
finish
