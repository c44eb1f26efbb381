#!/usr/bin/env bash
# partitions.sh - lines are cut, machines stand still, disks are full; the run
# heals by itself, and its weights are those of an undisturbed one.
#
# Usage: partitions.sh [CASE...]    without one a short selection, for each
#                                   change; `all`: the whole set, 20 minutes
# A case is WHAT-WAYS-SECONDS. WHAT: coordinator (a member and the coordinator),
# worker (two members, both heard by the coordinator), everybody (a member from
# all). WAYS: both, out, in. Or stop-NAME-SECONDS (SIGSTOP of a, b, c, d with
# its worker, or of lead), full-NAME-SECONDS (a disk, of b or lead); and
# as the last one full-b-end, till the end of the run.
# Hosts are network namespaces; partitions.py drives, and says what healed
# means.
# All the time the wall clock of all processes jumps by an hour and more, twenty
# times a second (tests/fault/clock_jump.c): nothing may depend on it.
# SKEIN_PARTITIONS=FILE writes the measured times there, as a table.
#
# Covers topology/elastic/membership_apart.c, transport/socket/reachability.c,
# the silent of actors/links/link_driver.c, and the waits of
# topology/cluster/participant.c and topology/cluster/coordinating.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/pair.sh
. "$(dirname "$0")/pair.sh"
# shellcheck source=tests/e2e/hosts.sh
. "$(dirname "$0")/hosts.sh"
if ! can_make_networks; then
    skip "partitions between hosts" "needs root and network namespaces"
    finish
fi
cases=("$@")
[ $# -gt 0 ] || cases=(worker-out-10 coordinator-both-5 stop-lead-2 full-b-end)
if [ "${1:-}" = all ]; then
    cases=()
    for seconds in 5 60; do
        for what in coordinator worker everybody; do
            for ways in both out in; do
                cases+=("$what-$ways-$seconds")
            done
        done
    done
    for seconds in 2 20; do
        cases+=("stop-a-$seconds" "stop-c-$seconds" "stop-lead-$seconds")
    done
    cases+=(full-b-5 full-lead-5 full-b-end)
fi

pair_model
mkdir -p run/b run/lead || exit 70
names=(lead a b c d)
for name in c d lead; do
    "$skein" keygen "$name.key" >/dev/null || exit 70
done
cat tiny.yaml >four.yaml
{
    echo "coordinator: { address: \"tcp://10.77.0.1:7000\", key: lead.key }"
    echo "nodes:"
    for k in 1 2 3 4; do
        echo "  - { name: ${names[k]}, key: ${names[k]}.key, cores: 1," \
            "address: \"tcp://10.77.0.$((k + 1)):7001\" }"
    done
} >>four.yaml
sed -i -e 's/every_batches: 20/every_batches: 190/' \
    -e 's/^train:/&\n  evaluate: { every_epochs: 0 }/' tiny.yaml four.yaml
# The disks that get full are small ones.
for name in b lead; do
    case " ${cases[*]} " in *" full-$name-"*)
        mount -t tmpfs -o size=32m none "run/$name" || exit 77
        at_exit "umount '$work/run/$name'" ;;
    esac
done
check "five hosts come up" hosts_up 5 || finish
jump=$build/fault/fault_clock_jump.so
[ -e "$jump" ] || jump=
PRELOAD=$jump nice python3 "$root/tests/e2e/partitions.py" "$skein" \
    "$hosts_prefix" "${cases[@]}" | tee driver
[ "${PIPESTATUS[0]}" = 0 ] || failed=$((failed + $(grep -c ^FAILED driver)))
passed=$((passed + $(grep -c ^ok: driver)))
[ -e epochs ] || { fail "the driver comes to its end"; finish; }
"$skein" train tiny.yaml --json -o checkpoint.path=alone \
    -o train.epochs="$(cat epochs)" >alone.json 2>alone.err </dev/null
check_equal "the weights are those of an undisturbed run" \
    "$(python3 -c 'import json
print(json.load(open("measured.json"))["weights_sha256"])')" \
    "$(sha_of alone.json)"
[ -z "${SKEIN_PARTITIONS:-}" ] || python3 -c '
import json
print("| case | healed | all train together | nobody trained, longest"
      " | generations |\n|---|---|---|---|---|")
for row in json.load(open("measured.json"))["rows"]:
    if row:
        print("| %s | %.1f s | %.1f s | %.1f s | %d |" % (row["case"],
            row["healed_s"], row["all_s"], row["longest_pause_s"],
            row["generations"]))' >"$SKEIN_PARTITIONS"
finish
