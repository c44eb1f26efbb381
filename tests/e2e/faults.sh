#!/usr/bin/env bash
# faults.sh - two nodes, and everything that can be wrong with one of them.
#
# Beside strangers.sh (who may not come in) and bad_network.sh: bad numbers from
# a node with a good key, another version, another run, no memory, no disk, a
# clock that jumps, a wire that is pulled out, attackers that drip and never
# end. For each: the line at both ends, the exit codes, the counter. The table
# of docs/tasks/cluster.md holds what is seen here.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/hosts.sh
. "$(dirname "$0")/hosts.sh"
# shellcheck source=tests/e2e/pair.sh
. "$(dirname "$0")/pair.sh"
pair_model
stranger=$build/fault/fault_stranger
for k in 0 1; do # as programs, for \`node\`
    printf '#!/bin/sh\nexec ip netns exec %s %s "$@"\n' "$hosts_prefix$k" \
        "$skein" >"host_$k"
    chmod +x "host_$k"
done

"$skein" train tiny.yaml --json -o checkpoint.path=one >one.json 2>one.err \
    </dev/null
want=$(event "done" weights_sha256 one.json)
same() { # RUN
    check_equal "  to the weights of one process" "$(sha_of "$1.a.json")" \
        "$want"
}

# --- numbers that are none of training ---------------------------------------
hint="training diverged there \(lower train.optimizer.rate\), or that node \
computes wrongly: test its memory, or leave it out"
for coding in f32 bf16 int8; do
    for how in nan infinite huge; do
        run=$how.$coding
        cluster "$run"
        SKEIN_LIE_AFTER=40 SKEIN_LIE_HOW=$how \
            program=$build/fault/fault_liar \
            node "$run" b "$run.yaml" -o links.coding=$coding -o \
            train.reduction=fast
        node "$run" a "$run.yaml" -o links.coding=$coding -o \
            train.reduction=fast
    done
    for how in nan infinite huge; do
        run=$how.$coding what="with values that are not finite"
        reason=not_finite
        if [ $how = huge ]; then
            what="with values up to (1|9.97)e\+(20|19), never above [0-9.e-]+ "
            what="${what}before"
            reason=exploded
        fi
        ended "a gradient with a number that is $how ($coding)" "$run" "79 79"
        said "$run" a "^skein: node 'b' sent output_gradient.pull of batch \
[0-9]+ $what; $hint$"
        said "$run" b "^skein: node 'a': node 'b' sent output_gradient.pull \
of batch [0-9]+ $what; "
        check "  and it is counted" counted "$run" a "broken['$reason'] == 1"
    done
done

# --- another program, another run --------------------------------------------
cluster newer
program=$build/fault/fault_newer node newer b newer.yaml --wait 10
node newer a newer.yaml --wait 10
cluster foreign
node foreign a foreign.yaml --run 0123456789abcdef0123456789abcdef --wait 10
node foreign b foreign.yaml --run 0123456789abcdef0123456789abcdee --wait 10
ended "another version of the link protocol" newer "78 78"
said newer a "^skein: node 'b' speaks another version of the link protocol; \
install the same version of Skein on both$"
said newer b "^skein: node 'a' speaks another version of the link protocol; "
check "  and it is counted" counted newer a "refused['version'] > 0"
ended "two nodes of different runs" foreign "78 78"
hint="stop the nodes of the other run, or start both nodes again"
told="refused the link: it belongs to another run"
for name in a b; do
    said foreign $name "^skein: node '[ab]' ($told|belongs to another run); \
$hint$"
done
check "  and it is counted" counted foreign a "refused['run'] > 0" ||
    check "  and it is counted there" counted foreign b "refused['run'] > 0"

# --- no memory, no disk -------------------------------------------------------
cluster small
sed -i 's/key: b.key/key: b.key, memory: 1MiB/' small.yaml
both small small.yaml
ended "a node with too little memory for its share" small "71 71"
for name in a b; do
    said small $name "node 'b' needs about [0-9]+ MiB of memory for its share, \
nodes.b.memory allows 1 MiB; "
done
# limited RUN KIB: starts node b with that much address space.
limited() {
    (ulimit -v "$2" && exec timeout -k 5 60 "$skein" node b "$1.yaml" --json \
        --wait 3 -o checkpoint.path="$1.run") >"$1.b.json" 2>"$1.b.err" \
        </dev/null &
    pid[$1.b]=$!
}
cluster poor
limited poor 100000
node poor a poor.yaml --wait 3
ended "a machine with too little memory for its node" poor "69 71"
said poor a "^skein: waited 3 s for b \(tcp://127.0.0.1:$port_b\); start these"
said poor b "^skein: node 'b' needs about [0-9]+ MiB of memory for its share, \
97 MiB are available; "
# When memory ends during the run the kernel kills the largest process.
cluster oom
both oom oom.yaml -o train.epochs=100000
trained oom
kill -9 "$(worker_of "${pid[oom.b]}")"
ended "a node that is killed for memory in the middle of the run" oom "69 70"
said oom a "^skein: node 'b' has not answered for 10.0 s; "
said oom b "^skein: the worker process was killed by signal 9 \(Killed\); \
did memory run out\? see dmesg"

if [ "$(id -u)" = 0 ] && mkdir disk && mount -t tmpfs -o size=40k tmpfs disk \
    2>mount.log; then
    at_exit "umount '$work/disk' 2>/dev/null"
    cluster full
    both full full.yaml -o checkpoint.path=disk/run \
        -o checkpoint.every_batches=0
    ended "the first node's disk is full" full "74 74"
    said full a "^skein: keeper.0 .in its .*: disk/run/.tmp-.*: No \
space left on device"
    said full b "^skein: node 'a': keeper.0 .in its .*: disk/run/.tmp-.*: \
No space left on device"
    umount disk && mount -t tmpfs -o size=60k tmpfs disk
    cp train.txt disk
    cluster cache
    node cache a cache.yaml --wait 3
    node cache b cache.yaml --wait 3 -o data.train=disk/train.txt \
        -o data.cache=disk/named
    ended "the other node has no room for the cache that it names" cache "69 74"
    said cache a "^skein: waited 3 s for b "
    said cache b "^skein: disk/named-train.skc: the cache cannot be written: \
No space left on device"
    umount disk
else
    skip "a full disk on one node" "only root can mount a small one"
fi

# --- a clock that jumps -------------------------------------------------------
jumping() { # COMMAND...
    LD_PRELOAD=$build/fault/fault_clock_jump.so \
        SKEIN_CLOCK_READS=$work/reads "$@"
}
# It jumps every 50 ms: of some looks one is at another century.
jumps() {
    local k
    for ((k = 0; k < 40; k++)); do
        jumping date +%Y
        sleep 0.01
    done >years
    grep -qx 1970 years && grep -qx 2100 years
}
check "the wall clock jumps" jumps
: >reads
cluster clock
jumping both clock clock.yaml
ended "  and two nodes train as before" clock "0 0"
same clock
check "  since they look at it for the name of a folder alone" test \
    "$(wc -c <reads)" -lt 10
echo "    looks: $(wc -c <reads)"

# --- a wire that is pulled out -----------------------------------------------
if can_make_networks; then
    hosts_up 2 || exit 70
    cluster wire
    sed -i 's/127.0.0.1:[0-9]*/10.77.0.1:7001/
        /name: b/s/10.77.0.1/10.77.0.2/' wire.yaml
    program=./host_1 node wire b wire.yaml -o train.epochs=100000
    program=./host_0 node wire a wire.yaml -o train.epochs=100000
    check "two hosts train" trained wire
    saved() { grep -c '"checkpoint"' wire.a.json; }
    check "  their wire is pulled out" wire_cut 1
    sleep 4.5
    before=$(saved)
    check "  and put back after 4.5 s" wire_join 1
    more() { [ "$(saved)" -gt "$before" ]; }
    check "  the run continues" wait_until 150 more
    wire_cut 1
    ended "  pulled out for good: both end" wire "69 69"
    said wire a "^skein: node 'b' has not answered for 10.0 s; "
    said wire b "^skein: node 'a' has not answered for 10.0 s; "
else
    skip "a half-open connection" "needs root and network namespaces"
fi

# --- attackers that take their time -------------------------------------------
# attacked RUN FILE COMMAND...: a run that lasts as long as the attack on a,
# which gets its port behind the command.
attacked() {
    local run=$1 file=$2
    shift 2
    cluster "$run"
    both "$run" "$run.$file" -o train.epochs=100000
    trained "$run"
    "$@" "$port_a" >"$run.stranger"
    # Not to `timeout`, which would pass it on twice: that means at once.
    kill -TERM "$(pgrep -P "${pid[$run.a]}")"
}
strange() { # ATTACKS OPTION... PORT
    "$stranger" "127.0.0.1:${*: -1}" --what "${@:1:$#-1}"
}
# A good beginning, as a DEALER without keys, and then frame after frame of one
# message, until the door is shut.
cat >endless.py <<'PYTHON'
import socket, sys
def take(count):
    while count > 0:
        count -= len(to.recv(count)) or sys.exit("refused")
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) as to:
    to.sendall(b"\xff\0\0\0\0\0\0\0\0\x7f\3\0NULL".ljust(64, b"\0"))
    take(64)
    to.sendall(b"\4\x1c\5READY\x0bSocket-Type\0\0\0\6DEALER")
    take(43)
    to.settimeout(5)
    try:
        for _ in range(4096):
            to.sendall(b"\1\x08endless!" * 1024)
    except OSError: # reset, or nobody takes anything any more
        print("cut")
PYTHON
attacked slow yaml strange drip,silent --for-ms 6000 --sockets 20
ended "a drip of bytes, and silence, at a run with keys" slow "0 0"
said slow a "refused a connection that has no key, uses another protocol, or \
is too slow"
check "  and it is counted" counted slow a "at['handshakes_failed_here'] > 19"
attacked endless keyless.yaml python3 endless.py
ended "messages without an end at a run without keys" endless "0 0"
check_equal "  are cut" "$(cat endless.stranger)" cut
said endless a "^skein: warning: closed a connection: it sent an \
endless message"
check "  and it is counted" counted endless a "at['connections_cut'] == 1"
attacked garbage keyless.yaml strange random,huge --for-ms 1000 --count 40
ended "garbage at a run without keys" garbage "0 0"
said garbage a "^skein: warning: [0-9]+ connections ended without sending a \
fragment; does something scan this port\?"
check "  and it is counted" counted garbage a "at['connections_empty'] > 39"
finish
