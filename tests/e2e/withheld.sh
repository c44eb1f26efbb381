#!/usr/bin/env bash
# withheld.sh - two nodes, one of which keeps back what is due, or spoils what
# is saved.
#
# A node whose link answers but whose messages do not come (fault_liar, `hold`)
# keeps all waiting: it is said for whom, and one SIGTERM ends it. What goes
# into a checkpoint, or out of one, has to be finite (`state`).
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/pair.sh
. "$(dirname "$0")/pair.sh"
pair_model
liar=$build/fault/fault_liar

# It takes 30 s until somebody speaks up: meanwhile the others.
cluster hold
SKEIN_LIE_AFTER=60 SKEIN_LIE_HOW=hold program=$liar node hold b hold.yaml
node hold a hold.yaml

# --- state that is not finite -------------------------------------------------
cluster spoilt
both spoilt spoilt.yaml -o train.epochs=100000
trained spoilt
kill -TERM "$(pgrep -P "${pid[spoilt.a]}")"
ended "a run that is well, and asked to stop" spoilt "0 0"
saved=$(ls spoilt.run)
SKEIN_LIE_AFTER=1 SKEIN_LIE_HOW=state program=$liar \
    node spoilt b spoilt.yaml -o train.epochs=100000 --resume
node spoilt a spoilt.yaml -o train.epochs=100000 --resume
ended "a node that sends NaN to be saved" spoilt "79 79"
said spoilt a "^skein: keeper.0.*: output.weight of batch [0-9]+ has \
values that are not finite, in the \
part of [^ ]+ \(chunk from up_output.* of node \
'b'\); training diverged \(lower train.optimizer.rate\), or the node that sends"
check_equal "  and the older checkpoints stay" "$(ls spoilt.run)" "$saved"
node spoilt b spoilt.yaml -o train.epochs=100000 --resume
SKEIN_LIE_AFTER=1 SKEIN_LIE_HOW=state program=$liar \
    node spoilt a spoilt.yaml -o train.epochs=100000 --resume
ended "a first node that sends NaN at a resume" spoilt "65 65"
said spoilt b "^skein: up_[^ ]+ .*: [a-z]+.(weight|bias) of the checkpoint of \
batch [0-9]+ has values that are not finite \(restored from keeper.0.* of \
node 'a'\); look at the memory of the node that holds the checkpoint"
check_equal "  and the checkpoints stay" "$(ls spoilt.run)" "$saved"

# --- messages that do not come ------------------------------------------------
is_told() { grep -q '"event":"waiting","actor"' hold.a.json; }
wait_until 400 is_told
check "a node that keeps messages back is named" is_told
check_match "  with the message that is missing" \
    '"for":"[a-z_ ]+ (of batch [0-9]+ from|at) [^"]* of node .b.[^"]*"' \
    hold.a.json
said hold a "^skein: warning: [a-z_.0-9]+ has waited 30 s for .* of node 'b'"
kill -TERM "$(pgrep -P "${pid[hold.a]}")"
ended "one SIGTERM ends it" hold "69 69"
said hold a "has waited [0-9]+ s for .* and the run was asked to stop"
finish
