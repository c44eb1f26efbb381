#!/usr/bin/env bash
# slurm.sh - Skein on a Slurm of its own, by recipes and docs/tasks/slurm.md.
#
# What is submitted is what `skein recipe slurm` prints, and the commands are
# those of docs/tasks/slurm.md. First a run on three nodes is preempted as a
# whole and goes on; then an array of members grows, loses one, then two at
# once, and they come back elsewhere. Runs are long enough for any machine; they
# are told to end soon when all that was to be seen has been. Covers
# cli/verb_recipe.c, cli/recipes.c and --requeue-code.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
needs "runs on Slurm" munged slurmctld slurmd sbatch srun scontrol
tiny_model
sed -i 's/, shards: 2//; s/epochs: 5/epochs: 1000000/
    s/^train:/train:\n  reduction: fixed\n  window: 4/' tiny.yaml
mv tiny.yaml model.yaml
PATH=$build:$PATH
slurm_start || {
    tail -n 20 "$slurm"/log/*
    exit 70
}
pass "a Slurm of four nodes starts"

# owner HOSTS COMMAND: those who own the nodes take them, until COMMAND ends.
owner() {
    sbatch --parsable --partition=owner --nodelist="$1" --exclusive \
        --output=/dev/null --wrap "$2"
}
# end_soon FILE BATCHES: the run ends two epochs, of 19 batches, after them.
end_soon() {
    sed -i "s/epochs: [0-9]*/epochs: $(($2 / 19 + 3))/" "$1"
}
undisturbed() { # FILE RUN OPTION...
    local file=$1 run=$2
    shift 2
    "$skein" train "$file" --json -o checkpoint.path="$run" "$@" \
        >"$run.json" 2>"$run.err" </dev/null
}
# ended_with CODE JOB: so often did a life of the job.
ended_with() {
    grep -cE "JobId=$2(_[0-9*]+\([0-9]+\))? WEXITSTATUS $1\$" "$slurm/log/ctld"
}

# --- the same nodes from the first batch to the last --------------------------
docs fixed >fixed.said
job=$(grep -oE '[0-9]+$' fixed.said)
check "a batch file of three nodes trains" \
    wait_until 600 test -e "skein-$job/run/latest"
owners=$(owner n0,n1,n2 true)
check "the owners of its nodes get them" \
    wait_until 600 job_is "$owners" JobState=COMPLETED
check "  and it is in the queue again" wait_until 300 job_is "$job" Restarts=1
check_match "  having saved" "stopped at batch [0-9]+" "skein-$job.out"
check_match "  since it asked for that" "Requeuing JobId=$job\$" \
    "$slurm/log/ctld"
before=$(batch_of "skein-$job/run")
goes_on() { [ "$(batch_of "skein-$job/run")" -gt "$before" ]; }
check "  it starts again, and continues" wait_until 600 goes_on
check "SIGUSR1, as before the time limit" scancel --signal=USR1 "$job"
check "  brings it there, too" wait_until 300 job_is "$job" Restarts=2
end_soon model.yaml "$(batch_of "skein-$job/run")"
undisturbed model.yaml alone
check "  and it starts again, and ends" \
    wait_until 900 job_is "$job" "JobState=COMPLETED ExitCode=0:0" ||
    cat "skein-$job.out"
"$skein" inspect "skein-$job/run" --json >inspected.json
check_equal "  with the weights of an undisturbed run" \
    "$(event inspect weights_sha256 inspected.json)" "$(sha_of alone.json)"
check_equal "  no batch lost, none applied twice" \
    "$(event inspect lost inspected.json) $(event inspect applied_twice \
        inspected.json)" "0 0"

# --- nodes that come and go ---------------------------------------------------
# From here on exit code 85 is enough.
echo "RequeueExit=85" >>"$slurm/slurm.conf"
check "slurm.conf is changed" scontrol reconfigure
sed -i "s/epochs: [0-9]*/epochs: 1000000/" model.yaml
docs elastic-file || exit 70
docs elastic >elastic.said
coordinator=$!
at_exit "kill -9 $coordinator 2>/dev/null"
job=$(grep -oE '[0-9]+$' elastic.said)
# generation: who trains, a name each; the newest line of the coordinator.
generation() {
    grep -oE 'generation [0-9]+ from batch [0-9]+: [^;]*' coordinator.out |
        tail -n 1 | sed 's/.*: //; s/,/ /g; s/ and / /g'
}
trains() { # COUNT [HOST ...]: so many, these among them
    local host now
    read -r -a now < <(generation)
    [ ${#now[@]} = "$1" ] || return 1
    shift
    for host in "$@"; do [[ " ${now[*]} " == *" $host "* ]] || return 1; done
}
# trained SENTENCE COUNT [HOST ...]: within a minute or so.
trained() {
    local sentence=$1
    shift
    if wait_until 600 trains "$@"; then
        pass "$sentence"
    else
        fail "$sentence" coordinator.out
    fi
}
trained "two members of an array train" 2
docs grow >grow.said
more=$(grep -oE '[0-9]+$' grow.said)
trained "a third one joins" 3
read -r first second third < <(generation)
for free in $slurm_nodes; do trains 3 "$free" || break; done
one=$(owner "$first" "sleep 600")
trained "one is taken away, and comes back on another host" 3 \
    "$second" "$third" "$free"
two=$(owner "$second,$third" "sleep 600")
trained "two are taken away at once, and the last one trains on" 1 "$free"
scancel "$one"
trained "one of them comes back on a host that became free" 2 "$free" "$first"
scancel "$two"
trained "and the other one" 3 "$free" "$first"
check_equal "  all by their exit code" \
    "$(($(ended_with 85 "$job") + $(ended_with 85 "$more")))" 3
kill -TERM "$coordinator"
check "SIGTERM stops the coordinator" wait "$coordinator"
all_left() {
    [ $(($(ended_with 85 "$job") + $(ended_with 85 "$more"))) = 6 ]
}
check "  and the members go into the queue" wait_until 300 all_left
end_soon elastic.yaml "$(basename -a run/n?/batch-* |
    sed 's/^batch-0*\([0-9]*\).*/\1/' | sort -n | tail -n 1)"
"$skein" coordinator elastic.yaml --wait 3 >>coordinator.out 2>&1 &
coordinator=$!
at_exit "kill -9 $coordinator 2>/dev/null"
undisturbed model.yaml quiet \
    -o train.epochs="$(sed -n 's/.*epochs: //p' elastic.yaml)"
all_over() {
    [ $(($(ended_with 0 "$job") + $(ended_with 0 "$more"))) = 3 ]
}
check "started again, it continues with them, and ends" wait "$coordinator" ||
    cat coordinator.out
check "  which ends all members, too" wait_until 300 all_over
# Each node keeps its parts; the first of the last ones had all put together.
sum_of() {
    local folder
    for folder in run/n?; do
        "$skein" inspect "$folder" --json >inspected.json 2>/dev/null &&
            event inspect weights_sha256 inspected.json && return
    done
}
check_equal "  with the weights of an undisturbed run" "$(sum_of)" \
    "$(sha_of quiet.json)"
finish
