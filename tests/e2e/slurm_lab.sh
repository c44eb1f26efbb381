# slurm_lab.sh - a private Slurm of four nodes on loopback.
#
# Sourced after lib.sh; needs what `.ci/deps --engines` installs, and neither
# root, systemd nor control groups. `slurm_start` starts it in $work/slurm and
# gives $lead, an address for a coordinator, and $SKEIN_PORT, a port of every
# node; nodes n0 to n3 have addresses of their own in 127.0.0.0/8. Jobs in the
# partition `idle`, the default, make room for those in `owner`: they get
# SIGTERM, and $grace_s seconds, and go back into the queue. All daemons are
# children of the script, and are ended at its end.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
PATH=$PATH:/usr/sbin:/sbin
grace_s=30
slurm=$work/slurm
slurm_nodes="n0 n1 n2 n3"

# cred_expire bounds for how long a job that is put back may not start (121 s
# without it). The sizes are those of no machine: four nodes on any will do.
slurm_configure() {
    local host net k=0 node
    host=$(uname -n) host=${host%%.*}
    hold_ports 7
    # A network of the script's own, so that any address there is free.
    net=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1))
    # Slurm wants the machine to have another address than 127.0.0.1, which a
    # network of the test's own (tests/own_net.sh) has not.
    ip -o -4 address | grep -qv ' 127\.0\.0\.1/' ||
        ip address add "$net.100/32" dev lo
    lead=$net.100:${ports[5]}
    export SKEIN_PORT=${ports[6]}
    cat <<CONF
ClusterName=skein
SlurmctldHost=$host($net.100)
SlurmctldPort=${ports[4]}
AuthType=auth/munge
AuthInfo=socket=$slurm/munge.sock,cred_expire=5
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool/%n
SlurmctldPidFile=$slurm/ctld.pid
SlurmdPidFile=$slurm/%n.pid
SlurmctldLogFile=$slurm/log/ctld
SlurmdLogFile=$slurm/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,batch_sched_delay=0,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
ReturnToService=2
KillWait=10
SlurmdTimeout=60
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=idle Nodes=ALL Default=YES PriorityTier=1 GraceTime=$grace_s
PartitionName=owner Nodes=ALL PriorityTier=10 PreemptMode=OFF
CONF
    for node in $slurm_nodes; do
        echo "NodeName=$node NodeHostname=$host NodeAddr=$net.$((k + 1))" \
            "Port=${ports[k]} CPUs=1 RealMemory=1000"
        k=$((k + 1))
    done
}

daemons=()
daemon() { # COMMAND...: in the background; it does not outlive the script
    setpriv --pdeathsig TERM "$@" >>"$slurm/log/said" 2>&1 </dev/null &
    daemons+=("$!")
}
# Jobs first, as the daemon of a node leaves them alone when it ends.
slurm_stop() {
    timeout 10 scancel --full --user="$(id -un)" 2>/dev/null
    wait_until 100 no_jobs
    kill "${daemons[@]}" 2>/dev/null
    wait_until 100 all_ended || kill -9 "${daemons[@]}" 2>/dev/null
    wait "${daemons[@]}" 2>/dev/null
}
# Or nobody to ask.
no_jobs() { [ -z "$(timeout 10 squeue -h 2>/dev/null)" ]; }
all_ended() { ! kill -0 "${daemons[@]}" 2>/dev/null; }
idle_or_dead() {
    local daemon
    all_idle && return
    for daemon in "${daemons[@]}"; do
        kill -0 "$daemon" 2>/dev/null || return 0
    done
    return 1
}
all_idle() { [ "$(timeout 20 sinfo -h -o '%D %t')" = "4 idle" ]; }

slurm_start() {
    local node
    mkdir -m 700 "$slurm" && mkdir "$slurm"/{state,spool,log} || return 1
    slurm_configure >"$slurm/slurm.conf" || return 1
    export SLURM_CONF=$slurm/slurm.conf
    head -c 1024 /dev/urandom >"$slurm/munge.key"
    chmod 600 "$slurm/munge.key"
    at_exit slurm_stop
    daemon munged --foreground --force --key-file="$slurm/munge.key" \
        --socket="$slurm/munge.sock" --pid-file="$slurm/munge.pid" \
        --log-file="$slurm/log/munge" --seed-file="$slurm/munge.seed"
    wait_until 100 test -S "$slurm/munge.sock" || return 1
    daemon slurmctld -D -c
    for node in $slurm_nodes; do daemon slurmd -D -N "$node"; done
    wait_until 600 idle_or_dead && all_idle
}

# job_is ID "KEY=VALUE ...": what Slurm says of a job has all of these.
job_is() {
    local words fact
    words=" $(timeout 20 scontrol show job -o "$1") " || return 1
    for fact in $2; do
        [[ $words == *" $fact "* ]] || return 1
    done
}
