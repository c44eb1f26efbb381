#!/usr/bin/env bash
# wow.sh - two minutes of a run whose nodes die, come, and give way: `make wow`.
#
# Usage: bench/wow.sh [--plain]
# Four nodes, of which none may have the memory that the model needs. As root
# each is a host of its own (a network namespace with a link of 100 Mbit/s, a
# control group with its memory); without, all share loopback, a node's own
# token bucket holds it to 100 Mbit/s, and the plan alone holds it to its
# memory. On a terminal `skein up` shows the run and takes questions; else, and
# with --plain, lines. At the end the same model is trained once more,
# undisturbed, and the weights are compared. SKEIN_WOW_EPOCHS=3 is a short one.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../tests/e2e/lib.sh" >/dev/null
# shellcheck source=tests/e2e/hosts.sh
. "$(dirname "$0")/../tests/e2e/hosts.sh"
rate=100mbit
memory=180MiB
began=$SECONDS
shown=
[ "${1:-}" = --plain ] || ! [ -t 0 ] || ! [ -t 2 ] || shown=yes
notes=$work/notes
: >"$notes"
say() { # into the view while there is one
    local line
    line=$(printf '%4d s  %s' $((SECONDS - began)) "$*")
    if [ -e "$work/viewing" ]; then
        echo "$line" >>"$notes"
    else
        echo "$line"
    fi
}
stop() {
    rm -f "$work/viewing"
    say "$1"
    tail -n 5 "$work"/*.log 2>/dev/null
    exit 1
}

# Host 0 coordinates, 1 to 4 are a to d, 5 is a stranger's.
names=(lead a b c d)
polite=(-o idle.enabled=true -o idle.reserve_cores=0 -o idle.bandwidth=100
    -o idle.memory=1)
if can_make_networks; then
    hosts_up 6 || stop "no hosts"
    for k in 0 1 2 3 4 5; do
        wire_limit $k "$rate" || stop "no limit for host $k"
    done
    address() { echo "tcp://10.77.0.$(($1 + 1)):7001"; }
    group=/sys/fs/cgroup/memory
    [ -d $group ] || group=
    caps="hosts of their own: links of $rate"
    polite=()
else
    hold_ports 6
    address() { echo "tcp://127.0.0.1:${ports[$1]}"; }
    group=
    caps="no root: loopback, where each sends at most $rate"
fi
on() { # HOST COMMAND...; not `ip netns exec`, which hides control groups
    local host=$1
    shift
    if [ -n "${polite[*]}" ]; then "$@"; else
        nsenter --net="/run/netns/$hosts_prefix$host" "$@"
    fi
}

nodes=
for k in 0 1 2 3 4; do
    "$skein" keygen "$work/${names[k]}.key" >/dev/null || stop "no key"
    [ $k = 0 ] || nodes+="${nodes:+, }{name: ${names[k]}, address: \
\"$(address $k)\", key: \"$work/${names[k]}.key\", cores: 1, memory: $memory, \
ssh: ${names[k]}}"
done
model=(-o train.reduction=fixed -o train.epochs="${SKEIN_WOW_EPOCHS:-3}"
    -o model.layers.hidden.units=256 -o train.window=4
    -o checkpoint.every_batches=58 -o train.evaluate.every_epochs=1)
run=("${model[@]}" "${polite[@]}" -o checkpoint.path="$work/run"
    -o "nodes=[$nodes]" -o coordinator.least=2
    -o coordinator.address="$(address 0)" -o coordinator.key="$work/lead.key")
file=$root/configs/wnhyp.yaml

# In place of ssh: "OPTIONS NAME -- COMMAND". The command runs on that host, in
# its memory; d's machine is not there until it is wanted, and has an owner.
cat >"$work/reach" <<REACH
#!/usr/bin/env bash
while [ "\$1" != -- ]; do name=\$1; shift; done
shift
case \$name in a) k=1 ;; b) k=2 ;; c) k=3 ;; d) k=4 ;; esac
if [ \$name = d ]; then
    while [ ! -e "$work/d.comes" ]; do
        [ -d "$work" ] && [ ! -e "$work/over" ] || exit
        read -r -t 0.3 <> <(:)
    done
    set -- "\$* -o idle.enabled=true -o idle.memory=1 -o idle.reserve_cores=0"
fi
if [ -n "$group" ]; then
    mkdir -p "$group/$hosts_prefix\$name"
    echo $((180 << 20)) >"$group/$hosts_prefix\$name/memory.limit_in_bytes"
    echo \$\$ >"$group/$hosts_prefix\$name/cgroup.procs"
fi
echo \$\$ >"$work/\$name.pid"
exec 2>>"$work/\$name.err"
[ -n "${polite[*]:+x}" ] || exec nsenter --net="/run/netns/$hosts_prefix\$k" \
    bash -c "\$*"
exec bash -c "\$*"
REACH
chmod +x "$work/reach"
[ -z "$group" ] || at_exit "rmdir $group/${hosts_prefix}[abcd] 2>/dev/null"

needs=$("$skein" train "$file" "${model[@]}" -o resources.memory=60MiB \
    -o resources.cores=1 -o checkpoint.path="$work/none" 2>&1 |
    grep -o 'about [0-9]* MiB' | head -n 1)
say "the model needs ${needs:-?} in one process; each node may have $memory"
say "$caps"

# The journal is what both forms of the run leave.
generation() { # NUMBER: waits for it
    local tries=0
    until grep -q "\"generation\":$1," "$work/run/coordinator.journal" \
        2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 900 ] && [ ! -e "$work/over" ] || return 1
        sleep 0.1
    done
}
saved() { grep -c '"saved"' "$work/run/coordinator.journal" 2>/dev/null; }

direct() { # what befalls the run
    generation 1 || return
    say "a, b and c train; d's machine is not there yet"
    until [ "$(saved)" -ge 1 ]; do sleep 0.2; done
    say "kill -9 of b, and its disk is lost"
    kill_tree "$(cat "$work/b.pid")"
    rm -rf "$work/run/b"
    say "a stranger with a key of its own making wants to be d"
    mkdir "$work/stranger"
    cp "$work"/*.key "$work/stranger"
    rm "$work/stranger/d.key"
    "$skein" keygen "$work/stranger/d.key" >/dev/null
    on 5 "$skein" member d "$file" \
        "${run[@]//$work\/d.key/$work/stranger/d.key}" \
        >"$work/stranger.log" 2>&1 </dev/null
    say "it ends with exit code $?: $(grep -m1 skein: "$work/stranger.log")"
    generation 2 || return
    sleep 4
    : >"$work/d.comes"
    say "d's machine comes; and b came back with nothing"
    generation 3 || return
    sleep 10
    say "the owner of d's machine compiles something for 8 s: d yields"
    for _ in $(seq "$(nproc)"); do
        timeout 8 python3 -c 'while True: pass' &
    done
    wait
    say "the owner is done"
}
kill_tree() { # PID
    local child
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        kill_tree "$child"
    done
    kill -9 "$1" 2>/dev/null
}

up=("$skein" up "$file" "${run[@]}" --wait 3 --ssh "$work/reach"
    --remote-program "$skein")
[ -z "$shown" ] || : >"$work/viewing"
direct &
director=$!
at_exit "kill $director 2>/dev/null"
if [ -n "$shown" ]; then
    on 0 "${up[@]}" --notes "$notes" | tee "$work/run.log"
    code=${PIPESTATUS[0]}
else
    on 0 "${up[@]}" --plain 2>"$work/up.log" </dev/null |
        tee "$work/run.log" | grep --line-buffered -v '^saved' |
        sed -u 's/  P@3.*//; s/^/        /'
    code=${PIPESTATUS[0]}
fi
: >"$work/over"
rm -f "$work/viewing"
[ "$code" = 0 ] || stop "the run ended with exit code $code"
[ -z "$shown" ] || cat "$notes"
folder=$(for k in a b c d; do ls -d "$work/run/$k"; done 2>/dev/null |
    head -n 1)
ledger=$("$skein" inspect "$folder" 2>/dev/null | grep -i -m1 'lost' || true)
say "the ledger: ${ledger:-not told}"
say "the same model once more, in one process that nobody disturbs"
"$skein" train "$file" "${model[@]}" -o checkpoint.path="$work/alone" \
    >"$work/alone.log" 2>&1 </dev/null
want=$(grep -h '^weights_sha256' "$work/alone.log" | tail -n 1)
got=$(grep -h '^weights_sha256' "$work/run.log" | tail -n 1)
say "$(grep -h '^done' "$work/run.log" | tail -n 1 | sed 's/  P@3.*//')"
if [ -n "$got" ] && [ "$got" = "$want" ]; then
    say "same weights as in an undisturbed run: ${got#weights_sha256 }"
else
    stop "NOT the same weights: $got, undisturbed $want"
fi
