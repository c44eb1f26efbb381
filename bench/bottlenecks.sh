#!/usr/bin/env bash
# bottlenecks.sh - plants twelve bottlenecks, one a run, and looks whether the
# last sentence of --report names it.
#
# Usage: bench/bottlenecks.sh [--by PROGRAM] [NAME...]
#   --by    a program that starts every run, such as "chrt -r 1": other work on
#           the machine is a bottleneck, too, and would be named, rightly
#   NAME    only these: actor, reading, credit, batches, core, others, quota,
#           disk, checkpoints, rate, latency, node
# Prints a line a plant: what was planted, yes or no, and the sentence. Needs
# root for quota, rate, latency and node: control groups and networks. Set
# SKEIN_BUILD for another build. Exit code: how many were not named.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../tests/e2e/lib.sh"
# shellcheck source=tests/e2e/hosts.sh
. "$(dirname "$0")/../tests/e2e/hosts.sh"
by=()
if [ "${1:-}" = --by ]; then
    read -ra by <<<"$2"
    shift 2
fi
wanted=" $* "
cd "$work" || exit 70
model=$root/configs/wnhyp.yaml
data=(-o data.train="$root/data/wnhyp/train.txt.zst"
    -o data.test="$root/data/wnhyp/test.txt.zst")
gcc -shared -fPIC -O1 -I"$root/include" "$root/tests/fault/victim.c" \
    -o victim.so 2>gcc.log || { cat gcc.log && exit 70; }

missed=0
is_wanted() { [ "$wanted" = "  " ] || [[ $wanted = *" $1 "* ]]; }
# judge NAME REGEX: of the last line of out.
judge() {
    local said named=no
    said=$(tail -1 out)
    if grep -Eq "^bound by ($2)" <<<"$said"; then
        named=yes
    elif grep -Eq "then by ($2)" <<<"$said"; then
        named=second
    fi
    [ "$named" = yes ] || missed=$((missed + 1))
    printf '%s\t%s\t%s\n' "$1" "$named" "$said"
}
# train OPTION...: a run on the data set that comes with the sources.
train() {
    rm -rf run
    "${before[@]}" "${by[@]}" timeout 120 "$skein" train "$model" "${data[@]}" \
        -o checkpoint.path=run --report "$@" >out 2>err </dev/null
}
# actors COUNT CREDIT SENDER_US TAKER_US: two actors of a plug-in that burn CPU
# time, for each of COUNT messages.
actors() {
    cat >actors.yaml <<END
skein: 1
topology:
  name: planted
  plugins: [./victim.so]
  actors:
    - { name: count, kind: victim_sender, options: { count: $1, at: produce,
        how: burn, microseconds: $3 } }
    - { name: print, kind: victim, options: { at: handler, how: burn,
        microseconds: $4 } }
  pipes:
    - { from: count, to: print, message: total, credit: $2 }
END
    "${by[@]}" timeout 120 "$skein" run actors.yaml --report >out 2>err \
        </dev/null
}
burners=()
# burn PROGRAM...: spins, one process a core, until `cool`.
burn() {
    local k
    for ((k = 0; k < $(nproc) * 2; k++)); do
        "$@" bash -c 'while :; do :; done' &
        burners+=($!)
    done
}
cool() {
    [ ${#burners[@]} = 0 ] || kill "${burners[@]}" 2>/dev/null
    wait "${burners[@]}" 2>/dev/null
    burners=()
}
at_exit cool

# two_nodes OPTION...: over a wire between two hosts, started by `up` as over
# ssh. `on_b` is what starts the second one.
two_nodes() {
    local name
    for name in a b; do "$skein" keygen $name.key >/dev/null 2>&1; done
    sed 's/^nodes:.*//' "$model" >nodes.yaml
    cat >>nodes.yaml <<END
nodes:
  - { name: a, address: "tcp://10.77.0.1:7001", key: a.key, ssh: h0 }
  - { name: b, address: "tcp://10.77.0.2:7001", key: b.key, ssh: h1 }
END
    cat >ssh.sh <<END
#!/bin/bash
# what ssh is given: -o X -o Y HOST -- LINE
while [ "\$1" = -o ]; do shift 2; done
case \$1 in
    h0) exec ip netns exec ${hosts_prefix}0 sh -c "\$3" ;;
    h1) exec ${on_b:-} ip netns exec ${hosts_prefix}1 sh -c "\$3" ;;
esac
END
    chmod +x ssh.sh
    rm -rf run run-a run-b
    timeout 180 "${by[@]}" "$skein" up nodes.yaml "${data[@]}" --report \
        --ssh ./ssh.sh --remote-program "$skein" -o checkpoint.path=run "$@" \
        >out 2>err </dev/null
}
cgroup=/sys/fs/cgroup/cpu
# cage NAME MICROSECONDS: a control group that may use so much of 100,000.
cage() {
    mkdir -p "$cgroup/$1" &&
        echo 100000 >"$cgroup/$1/cpu.cfs_period_us" &&
        echo "$2" >"$cgroup/$1/cpu.cfs_quota_us" || return 1
    at_exit "rmdir $cgroup/$1 2>/dev/null"
    printf '#!/bin/bash\necho $$ >%s/cgroup.procs && exec "$@"\n' \
        "$cgroup/$1" >"$1.sh"
    chmod +x "$1.sh"
}
before=()

if is_wanted actor; then
    actors 1000 16 200 2000
    judge actor 'the actor print '
fi
if is_wanted credit; then
    actors 60000 1 10 10
    judge credit 'the credit of total from count to print'
fi
if is_wanted reading; then
    # Lines of a hundred thousand features, packed, and no cache of them.
    python3 - >long.txt <<'PY'
import random
random.seed(7)
print(400, 200000, 50)
for k in range(400):
    f = sorted(random.sample(range(200000), 60000))
    print(k % 50, " ".join("%d:0.%06d" % (x, random.randrange(10**6))
                           for x in f))
PY
    zstd -q -f long.txt
    printf '1 200000 50\n0 1:1\n' >few.txt
    rm -rf run
    "${by[@]}" timeout 120 "$skein" train "$model" \
        -o data.train=long.txt.zst -o data.test=few.txt -o data.cache=none \
        -o train.epochs=1 -o train.max_batches=2 -o checkpoint.path=run \
        --report >out 2>err </dev/null
    judge reading 'reading the data|the actor source'
fi
if is_wanted batches; then
    train -o train.batch_rows=4 -o train.max_batches=2500 -o train.epochs=1
    judge batches 'messages that are too small'
fi
if is_wanted core; then
    before=(taskset -c 0)
    train -o train.epochs=1
    before=()
    judge core 'too few cores'
fi
if is_wanted others; then
    burn "${by[@]}"
    train -o train.epochs=1
    cool
    judge others 'other programs'
fi
if is_wanted quota; then
    if cage skein-quota-$$ 30000 2>cage.log; then
        # A scheduling class of its own would not be held back.
        saved=("${by[@]}") by=() before=("./skein-quota-$$.sh")
        train -o train.epochs=1
        by=("${saved[@]}") before=()
        judge quota 'the CPU quota'
    else
        skip quota "no control groups of version 1: $(cat cage.log)"
    fi
fi
if is_wanted disk; then
    cat >slow_disk.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
static void nap(void)
{ struct timespec t = { 0, 400000000 }; nanosleep(&t, 0); }
int fsync(int f) { nap(); return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(f); }
int fdatasync(int f)
{ nap(); return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(f); }
END
    gcc -shared -fPIC slow_disk.c -o slow_disk.so -ldl
    before=(env LD_PRELOAD=./slow_disk.so)
    train -o train.epochs=1 -o checkpoint.every_batches=40
    before=()
    judge disk 'the disk that checkpoints are written to'
fi
if is_wanted checkpoints; then
    train -o train.max_batches=60 -o checkpoint.every_batches=1
    judge checkpoints 'frequent checkpoints'
fi
if is_wanted rate || is_wanted latency || is_wanted node; then
    if can_make_networks && hosts_up 2; then
        if is_wanted rate; then
            wire_limit 0 4mbit
            wire_limit 1 4mbit
            two_nodes -o train.epochs=1 -o train.max_batches=40
            wire_limit 0 none
            wire_limit 1 none
            judge rate 'the link from (a to b|b to a), which carries'
        fi
        if is_wanted node; then
            if cage skein-node-$$ 20000 2>cage.log; then
                on_b="chrt -o 0 ./skein-node-$$.sh" two_nodes \
                    -o train.epochs=1 -o train.max_batches=60
                judge node '.*(node b|of node b)'
            else
                skip node "no control groups of version 1: $(cat cage.log)"
            fi
        fi
        if is_wanted latency; then
            hosts_prefix=${hosts_prefix}l
            hosts_relayed 2 7001 "$build/fault/fault_relay" --delay-ms 60
            two_nodes -o train.epochs=1 -o train.max_batches=40
            judge latency 'the latency of the link'
        fi
    else
        skip "rate, latency, node" "no right to make networks"
    fi
fi
exit $missed
