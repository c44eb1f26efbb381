#!/usr/bin/env bash
# wow.sh - two minutes of a run whose nodes die, come, and give way: `make wow`.
#
# As root each node is a host of its own (a network namespace) on a link of 100
# Mbit/s; without, all of them share loopback, which is said. Plain lines; what
# `[coordinator]` says is its own. At the end the same model is trained once
# more, undisturbed, and the weights are compared.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../tests/e2e/lib.sh" >/dev/null
# shellcheck source=tests/e2e/hosts.sh
. "$(dirname "$0")/../tests/e2e/hosts.sh"
rate=100mbit
began=$SECONDS
say() { printf '%4d s  %s\n' $((SECONDS - began)) "$*"; }
stop() {
    say "$1"
    tail -n 5 "$work"/*.log
    exit 1
}

if can_make_networks; then
    hosts_up 6 || stop "no hosts"
    for k in 0 1 2 3 4 5; do
        wire_limit $k "$rate" || stop "no limit for host $k"
    done
    address() { echo "tcp://10.77.0.$(($1 + 1)):7001"; }
    on() { on_host "$@"; }
    say "six hosts, each on a link of $rate both ways: five for the run, one" \
        "for a stranger"
else
    base=$((20000 + $$ % 10000))
    address() { echo "tcp://127.0.0.1:$((base + $1))"; }
    on() { shift && "$@"; }
    say "not root: no hosts of their own, no thin links; all on loopback"
fi

# Host 0 coordinates, 1 to 4 are a to d.
names=(lead a b c d)
nodes=
for k in 0 1 2 3 4; do
    "$skein" keygen "$work/${names[k]}.key" >/dev/null || stop "no key"
    [ $k = 0 ] || nodes+="${nodes:+, }{name: ${names[k]}, address: \
\"$(address $k)\", key: \"$work/${names[k]}.key\", cores: 1}"
done
model=(-o train.reduction=fixed -o train.epochs=5 -o train.window=4
    -o checkpoint.every_batches=40 -o train.evaluate.every_epochs=1)
run=("${model[@]}" -o checkpoint.path="$work/run" -o "nodes=[$nodes]"
    -o coordinator.address="$(address 0)" -o coordinator.key="$work/lead.key")
file=$root/configs/wnhyp.yaml

declare -A process
start() { # HOST NAME VERB...: behind; its words go to NAME.log
    local host=$1 name=$2
    shift 2
    on "$host" "$skein" "$@" >>"$work/$name.log" 2>&1 </dev/null &
    process[$name]=$!
    at_exit "kill -9 ${process[$name]} 2>/dev/null"
}
member() { # K OPTION...
    local k=$1
    shift
    start "$k" "${names[k]}" member "${names[k]}" "$file" "${run[@]}" "$@"
}
await() { # PATTERN FILE
    local tries=0
    until grep -Eq -- "$1" "$2" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || stop "waited in vain for: $1"
        kill -0 "${process[lead]}" 2>/dev/null || stop "the run has ended"
        sleep 0.1
    done
}

start 0 lead coordinator "$file" "${run[@]}" --wait 3
touch "$work"/{a,b,c,d}.log
tail --pid=$$ -qn +1 -F "$work/lead.log" 2>/dev/null |
    sed -u 's/^/        [coordinator] /' &
at_exit "kill $! 2>/dev/null"
for k in 1 2 3; do member $k; done
tail --pid=$$ -qn +1 -F "$work"/{a,b,c,d}.log 2>/dev/null |
    grep --line-buffered -E '^(epoch|done|idle|gives|computes)' |
    sed -u 's/  P@3.*//' | sed -u 's/^/        /' &
at_exit "kill $! 2>/dev/null"
await 'generation 1' "$work/lead.log"
say "a, b and c train; d is not there yet"
await '^epoch' "$work/a.log"

say "kill -9 of b, and its disk is lost"
tree=$(pgrep -f "member b $file" | tr '\n' ' ')
# shellcheck disable=SC2086
kill -9 $tree 2>/dev/null
rm -rf "$work/run/b"
await 'generation 2' "$work/lead.log"
say "the others went back to the last checkpoint and go on without it"

say "a stranger with a key of its own making wants to be d"
mkdir "$work/stranger"
cp "$work"/*.key "$work/stranger"
rm "$work/stranger/d.key"
"$skein" keygen "$work/stranger/d.key" >/dev/null
on 5 "$skein" member d "$file" "${run[@]//$work\/d.key/$work/stranger/d.key}" \
    >"$work/stranger.log" 2>&1 </dev/null
say "it ends with exit code $?: $(grep -m1 skein: "$work/stranger.log")"

sleep 4
say "d comes, on a machine that somebody owns, and b comes back with nothing"
member 4 -o idle.enabled=true
member 2
await '[abcd], .*d; [bd] joins' "$work/lead.log"
sleep 5
say "the owner of d's machine compiles something on all cores for 8 s"
for _ in $(seq "$(nproc)"); do
    timeout 8 python3 -c 'while True: pass' &
    at_exit "kill $! 2>/dev/null"
done
sleep 9
say "the owner is done; the run goes on to its end"
wait "${process[lead]}" || stop "the coordinator failed"
sleep 0.5
done_line=$(grep -h '^done' "$work"/{a,b,c,d}.log | tail -n 1)
got=$(grep -h '^weights_sha256' "$work"/{a,b,c,d}.log | tail -n 1)
folder=$(ls -d "$work"/run/[abcd] | head -n 1)
say "$done_line"
ledger=$("$skein" inspect "$folder" 2>/dev/null | grep -i -m1 'lost' || true)
say "the ledger: ${ledger:-not told}"
say "the same model once more, in one process that nobody disturbs"
"$skein" train "$file" "${model[@]}" -o checkpoint.path="$work/alone" \
    >"$work/alone.log" 2>&1 </dev/null
want=$(grep -h '^weights_sha256' "$work/alone.log" | tail -n 1)
if [ -n "$got" ] && [ "$got" = "$want" ]; then
    say "same weights as an undisturbed run: ${got#weights_sha256 }"
else
    stop "NOT the same weights: $got, undisturbed $want"
fi
