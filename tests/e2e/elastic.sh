#!/usr/bin/env bash
# elastic.sh - nodes come, leave and die, and the weights are the same.
#
# Covers topology/cluster/coordinating.c, cli/elastic/verb_coordinator.c,
# cli/member/verb_member.c, cli/member/member_lines.c,
# topology/cluster/participant.c, topology/cluster/participant_report.c,
# topology/cluster/member_worker.c,
# cli/elastic/local_cluster.c, cli/elastic/up_elastic.c,
# topology/cluster/control_messages.c, topology/elastic/membership.c and
# actors/course/course.c (patience); cli/base/process.c and
# cli/base/instance_lock.c. torture.sh has them at random.
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
"$skein" keygen d.key >/dev/null || exit 70
epochs=12

"$skein" train tiny.yaml --json -o checkpoint.path=alone \
    -o train.epochs=$epochs >alone.json 2>alone.err </dev/null
want=$(sha_of alone.json)
# A run that lasts while its nodes come and go; its end comes when they have.
unmeasured=(-o train.evaluate.every_epochs=0)
long=(-o train.epochs=1000000 "${unmeasured[@]}")

# done_of RUN: the weights, by whichever node led at the end.
done_of() { sha_of <(cat "$1".[abc].json); }

# --- all are there ---------------------------------------------------------
lead all
lead_pid=$started
for name in a b c; do
    member all $name
    eval "pid_$name=$started"
done
check "the coordinator ends well with the run" wait "$lead_pid"
# shellcheck disable=SC2154
check "and so do its members" wait "$pid_a" "$pid_b" "$pid_c"
check_code 1 "and what is said for the coordinator alone is not passed on" \
    grep -qhE '"event":"(load|traffic)"' all.a.json all.b.json all.c.json
check_equal "three members give the weights of one process" "$(done_of all)" \
    "$want"
check_equal "in one generation" \
    "$(grep -c '"members":\[' all/coordinator.journal)" 1
check_match "a second start reports that the run is done" 'this run is done' <(
    "$skein" coordinator three.yaml -o checkpoint.path=all 2>&1)

# --- they come, leave and die ----------------------------------------------
lead moving --wait 1 "${long[@]}"
lead_pid=$started
member moving a "${long[@]}"
pid_a=$started
member moving b "${long[@]}"
pid_b=$started
await "members find their coordinator" 'b is here' moving.lead.json
await "two of three begin" 'generation 1 from batch 0: a and b' \
    moving.lead.json
await "and train" '"checkpoint"' moving.a.json
member moving c "${long[@]}"
pid_c=$started
await "a third one joins" 'a, b and c; c joins' moving.lead.json
kill -TERM "$pid_b"
check "a member that gets SIGTERM leaves with exit code 0" wait "$pid_b"
await "the others continue" 'a and c; b leaves' moving.lead.json
kill -9 "$pid_c"
rm -rf moving/c
await "a dead one is noticed" 'c is (gone|silent)' moving.lead.json
await "the remaining one continues" ': a; c is' moving.lead.json
kill -9 "$lead_pid"
wait "$lead_pid" 2>/dev/null # its journal is held till it is gone
lead moving --wait 1 "${long[@]}"
lead_pid=$started
await "a coordinator that was killed finds its run" \
    'generation [0-9]+ continues' moving.lead.json
member moving c "${long[@]}"
pid_c=$started
await "  and the dead one comes back" 'a and c; c joins' moving.lead.json
kill -TERM "$lead_pid"
check "SIGTERM stops the run" wait "$lead_pid" "$pid_a" "$pid_c"
batch=0
for name in a b c; do
    held=$(batch_of moving/$name) && [ "$held" -gt "$batch" ] && batch=$held
done
short=(-o train.epochs=$((batch / 19 + 3)) "${unmeasured[@]}")
lead moving --wait 1 "${short[@]}"
lead_pid=$started
member moving a "${short[@]}"
pid_a=$started
member moving c "${short[@]}"
pid_c=$started
check "it goes on to its end, which may be another one now" wait "$lead_pid"
check "  as do the members" wait "$pid_a" "$pid_c"
"$skein" train tiny.yaml --json -o checkpoint.path=alone_long "${short[@]}" \
    >alone_long.json 2>alone_long.err </dev/null
check_equal "and the weights are those of an undisturbed run" \
    "$(done_of moving)" "$(sha_of alone_long.json)"

# --- who may not -----------------------------------------------------------
check_code 64 "a file without a coordinator is refused" \
    "$skein" member a tiny.yaml -o checkpoint.path=x
lead shut --wait 600
lead_pid=$started
await "the coordinator listens" '"run"' shut/coordinator.journal
member shut b
await "a member waits for the others" 'b is here' shut.lead.json
check_code 75 "a second process of a member is refused" \
    "$skein" member b three.yaml -o checkpoint.path=shut
kill -TERM "$started"
check "  and SIGTERM ends the first" wait "$started"
check_code 75 "a second coordinator of a run is refused" \
    "$skein" coordinator three.yaml -o checkpoint.path=shut
mv a.key a.key.kept && mv a.key_secret a.key_secret.kept
"$skein" keygen a.key >/dev/null
check_code 77 "a member with a key of its own making is refused" \
    "$skein" member a three.yaml -o checkpoint.path=shut
mv a.key.kept a.key && mv a.key_secret.kept a.key_secret
kill -TERM "$lead_pid"
check "SIGTERM ends a coordinator without members" wait "$lead_pid"
check_code 69 "a member that finds no coordinator gives up" \
    "$skein" member a three.yaml -o checkpoint.path=shut --wait 1

# --- what a member tells of itself, and a folder that is another's ----------
lead spoken --wait 1
lead_pid=$started
mkdir spoken
cp -r all/b spoken/b
"$skein" member a three.yaml -o checkpoint.path=spoken \
    -o train.epochs=$epochs >spoken.a.out 2>&1 </dev/null &
pid_a=$!
"$skein" member b three.yaml -o checkpoint.path=spoken \
    -o train.epochs=$epochs >spoken.b.out 2>&1 </dev/null &
pid_b=$!
check "a member with another run's folder does not hinder the others" \
    wait "$lead_pid" "$pid_a"
wait "$pid_b"
check_equal "  and ends with its reason" $? 73
check_match "  which it prints, too" "spoken/b holds another run" spoken.b.out
check_match "  as other members print what they do" "^a starts generation 1$" \
    spoken.a.out

# --- from one place --------------------------------------------------------
"$skein" up tiny.yaml --local-nodes 2 --elastic --json \
    -o checkpoint.path=up -o train.epochs=$epochs >up.json 2>up.err </dev/null
check_equal "skein up --elastic gives the same weights" "$(sha_of up.json)" \
    "$want"
check "each line that it prints is JSON" every_line_is_json up.json
"$skein" inspect up >inspected.out 2>&1
check_match "its folder is the model that its nodes hold" \
    "^ledger +0 lost, 0 applied twice" inspected.out
"$skein" up tiny.yaml --local-nodes 2 --elastic --json -o checkpoint.path=once \
    -o train.epochs=100000 >once.json 2>once.err </dev/null &
lead_pid=$!
at_exit "kill -9 $lead_pid 2>/dev/null"
await "a run that is started from here trains" '"checkpoint"' once.json
frozen "$lead_pid" check_code 75 "it is not started from elsewhere, too" \
    "$skein" up tiny.yaml --local-nodes 2 --elastic -o checkpoint.path=once \
    -o train.epochs=100000
kill -9 "$(pgrep -P "$lead_pid" -f 'skein coordinator')"
kill -TERM "$lead_pid"
check "SIGTERM ends up well while its coordinator is away" \
    wait "$lead_pid"
check_match "  at a marker" '"event":"stopped"' once.json
finish
