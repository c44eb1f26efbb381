#!/usr/bin/env bash
# old_journal.sh - the coordinator's journal is of a backup, or is gone, and the
# members live.
#
# Covers skn_membership_newest (topology/elastic/membership.c),
# topology/cluster/coordinating.c.
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
epochs=100000
calm=(-o train.evaluate.every_epochs=0)
lead run "${calm[@]}"
lead_pid=$started
for name in a b c; do
    member run $name "${calm[@]}"
    eval "pid_$name=$started"
done
await "three train" '"checkpoint"' run.a.json
cp run/coordinator.journal early
kill -9 "$pid_c"
await "without c" 'generation 2 ' run.lead.json
member run c "${calm[@]}"
pid_c=$started
await "with c" 'generation 3 ' run.lead.json
sleep 0.5

kill -9 "$lead_pid"
wait "$lead_pid" 2>/dev/null
cp early run/coordinator.journal
lead run "${calm[@]}"
lead_pid=$started
await "an older journal is reported" \
    'took part in generation 3, but the journal ends with 1' run.lead.json
await "and the next generation is newer than all" \
    'generation [4-9] from batch [1-9][0-9]*: a, b and c' run.lead.json
kill -9 "$lead_pid"
wait "$lead_pid" 2>/dev/null
rm run/coordinator.journal
lead run "${calm[@]}"
lead_pid=$started
check_code 73 "without its journal it has nothing to continue from, and ends" \
    wait "$lead_pid"
check_match "  and says why" '^skein: .*run/[abc] holds another run' \
    run.lead.err
check_match "  and what to do" 'lost its journal, restore that' \
    run.lead.err
finish
