#!/usr/bin/env bash
# rest.sh - a member whose machine needs its memory hands over what it has,
# ends its worker, and comes back when there has been enough for a minute.
#
# The memory comes from a false /proc, which SKEIN_IDLE_ROOT names. The minute
# is waited for. Covers cli/member/member_rest.c and cli/member/verb_member.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/pair.sh
. "$(dirname "$0")/pair.sh"
# shellcheck source=tests/e2e/members.sh
. "$(dirname "$0")/members.sh"
pair_model
"$skein" keygen lead.key >/dev/null || exit 70
# shellcheck disable=SC2034
epochs=1000000
cat tiny.yaml >three.yaml
cat >>three.yaml <<YAML
coordinator: { address: "tcp://127.0.0.1:${ports[2]}", key: lead.key }
nodes:
  - { name: a, address: "tcp://127.0.0.1:${ports[0]}", key: a.key }
  - { name: b, address: "tcp://127.0.0.1:${ports[1]}", key: b.key }
YAML
calm=(-o train.evaluate.every_epochs=0 -o train.reduction=fast)
mkdir -p false/proc other/proc
memory_free() { # PERCENT [FOLDER]
    printf 'MemTotal: 100 kB\nMemAvailable: %d kB\n' "$1" >"${2:-false}/new"
    mv "${2:-false}/new" "${2:-false}/proc/meminfo"
}
says() { grep -qE -- "$1" "$2"; }
worker_of() { pgrep -P "$1" | head -n 1; }
no_worker() { [ -z "$(worker_of "$1")" ]; }

memory_free 50
lead run "${calm[@]}"
lead_pid=$started
member run a "${calm[@]}"
pid_a=$started
export SKEIN_IDLE_ROOT=false
polite=(-o idle.enabled=true -o idle.reserve_cores=0)
member run b "${calm[@]}" "${polite[@]}" --wait 20
pid_b=$started
unset SKEIN_IDLE_ROOT
await "two members train" 'generation 1 from batch 0: a and b' run.lead.json
memory_free 5
check "memory that others need is reported" \
    wait_until 300 says '"action":"memory","needed":true' run.b.json
check "its member leaves" wait_until 300 says 'b has left' run.lead.json
check "with its worker" wait_until 100 no_worker "$pid_b"
check "but for the process that watches" kill -0 "$pid_b"
await "the other one continues" 'generation [0-9]+ from batch [0-9]+: a;' \
    run.lead.json
memory_free 50
check "when memory is available again it comes back" \
    wait_until 1200 says ': a and b; b joins' run.lead.json
memory_free 5
check "and leaves again" \
    wait_until 300 says 'generation [4-9] .*: a; b leaves' run.lead.json
kill -TERM "$lead_pid"
check "the run is stopped" wait "$lead_pid"
check "and the other member ends" wait "$pid_a"

# Beside it another one, which is told to end while it looks.
memory_free 50
memory_free 50 other
sed -e "s/${ports[0]}/${ports[3]}/" -e "s/${ports[2]}/${ports[4]}/" \
    three.yaml >other.yaml
members_file=other.yaml
lead alone "${calm[@]}" --wait 1
lead_pid=$started
export SKEIN_IDLE_ROOT=other
member alone a "${calm[@]}" "${polite[@]}"
pid_a=$started
unset SKEIN_IDLE_ROOT
await "a member trains alone" 'generation 1 from batch 0: a' alone.lead.json
memory_free 5 other
check "it leaves, too" wait_until 300 says 'a has left' alone.lead.json
check "SIGTERM while a member waits" kill -TERM "$pid_a"
check "  it does" wait "$pid_a"
kill -TERM "$lead_pid"
check "the coordinator, too" wait "$lead_pid"
check_code 69 "and who comes back to a run that is over waits no longer than \
any other" wait "$pid_b"
check_equal "nothing was lost, nothing applied twice" \
    "$(grep -hoE '"(lost|applied_twice)":[1-9]' run.a.json run.lead.json)" ""
finish
