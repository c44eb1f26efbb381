# hosts.sh - hosts for end-to-end tests: network namespaces on one switch.
#
# Sourced after lib.sh. Host k (from 0) has the address 10.77.0.(k+1), reaches
# the other hosts and nothing else. The switch is a namespace of its own, so
# that the machine's network is left alone. Everything is removed at the end.
# Needs root: ask `can_make_networks` (lib.sh) first, and `skip` without it.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
hosts_prefix=${hosts_prefix:-sk$$}

# hosts_up COUNT: makes the hosts.
hosts_up() {
    local k switch=${hosts_prefix}sw
    at_exit "hosts_prefix=$hosts_prefix hosts_down $1"
    ip netns add "$switch" || return 1
    ip -n "$switch" link add switch type bridge || return 1
    ip -n "$switch" link set switch up || return 1
    for ((k = 0; k < $1; k++)); do
        ip netns add "$hosts_prefix$k" || return 1
        ip link add wire netns "$hosts_prefix$k" type veth \
            peer name "port$k" netns "$switch" || return 1
        ip -n "$switch" link set "port$k" master switch up || return 1
        ip -n "$hosts_prefix$k" address add "10.77.0.$((k + 1))/24" \
            dev wire || return 1
        ip -n "$hosts_prefix$k" link set wire up || return 1
        ip -n "$hosts_prefix$k" link set lo up || return 1
    done
}

# hosts_down COUNT: ends what runs on them, and removes them.
hosts_down() {
    local k
    for ((k = 0; k < $1; k++)); do
        ip netns pids "$hosts_prefix$k" 2>/dev/null | xargs -r kill -9
        ip netns del "$hosts_prefix$k" 2>/dev/null
    done
    ip netns del "${hosts_prefix}sw" 2>/dev/null
}

# on_host K COMMAND...
on_host() {
    local k=$1
    shift
    ip netns exec "$hosts_prefix$k" "$@"
}

# wire_limit K RATE: both directions of host K's wire, such as 100mbit. RATE
# `none` lifts the limit. A token bucket: some kernels come without netem. It
# lets 2 ms of the rate through at once (and a packet of 16 KiB at least), so
# that a short message is not free of the limit. TCP hands packets of at most
# so much to the wire, as it does to a card that cuts them itself: cutting them
# in the bucket would cost hosts the CPU time of 1,500 bytes at a time.
wire_limit() {
    local side command burst=16384 packet
    case $2 in
    *gbit) burst=$((${2%gbit} * 250000)) ;;
    *mbit) [ "${2%mbit}" -lt 66 ] || burst=$((${2%mbit} * 250)) ;;
    esac
    packet=$((burst < 65536 ? burst - 1024 : 65536))
    [ "$2" != none ] || packet=65536
    ip -n "$hosts_prefix$1" link set wire gso_max_size "$packet" || return 1
    for side in "$hosts_prefix$1 wire" "${hosts_prefix}sw port$1"; do
        command="tc -n ${side% *} qdisc"
        if [ "$2" = none ]; then
            $command del dev "${side#* }" root 2>/dev/null || true
        else
            $command replace dev "${side#* }" root tbf rate "$2" \
                burst "$burst" latency 50ms || return 1
        fi
    done
}

# wire_cut K / wire_join K: unplugs host K, and plugs it in again.
wire_cut() { ip -n "${hosts_prefix}sw" link set "port$1" down; }
wire_join() { ip -n "${hosts_prefix}sw" link set "port$1" up; }

# way_cut J K / way_join J K: nothing that host J sends reaches host K any more,
# silently; and it does again. What K sends reaches J all the time, so that both
# ways are cut by two of them. The switch knows no host of that address.
way_cut() {
    ip -n "$hosts_prefix$1" neigh replace "10.77.0.$(($2 + 1))" \
        lladdr 02:00:00:00:00:01 dev wire nud permanent
}
way_join() {
    ip -n "$hosts_prefix$1" neigh del "10.77.0.$(($2 + 1))" dev wire
}

# wire_bytes K: what host K has received and sent, in bytes.
wire_bytes() {
    on_host "$1" cat /sys/class/net/wire/statistics/rx_bytes \
        /sys/class/net/wire/statistics/tx_bytes | paste -sd ' '
}

# hosts_relayed COUNT PORT RELAY OPTION...: makes hosts with the same addresses,
# but each alone on its wire: whoever dials PORT of another host reaches a
# relay (tests/fault/relay.c, started with the options), and that the host.
# Both believe to talk to each other. One relay an ordered pair of hosts; hosts
# of $undialled (such as "2 3") are led to by none: they dial out, and nobody
# can dial them, as behind a NAT.
hosts_relayed() {
    local count=$1 port=$2 relay=$3 j k beyond
    shift 3
    at_exit "hosts_prefix=$hosts_prefix hosts_down $count"
    at_exit "hosts_prefix=$hosts_prefix relays_down $count"
    for ((k = 0; k < count; k++)); do
        beyond=${hosts_prefix}beyond$k
        ip netns add "$hosts_prefix$k" || return 1
        ip netns add "$beyond" || return 1
        ip link add wire netns "$hosts_prefix$k" type veth \
            peer name others netns "$beyond" || return 1
        ip -n "$hosts_prefix$k" address add "10.77.0.$((k + 1))/24" \
            dev wire || return 1
        ip -n "$hosts_prefix$k" link set wire up || return 1
        ip -n "$hosts_prefix$k" link set lo up || return 1
        ip -n "$beyond" link set others up || return 1
        for ((j = 0; j < count; j++)); do
            [ "$j" = "$k" ] || ip -n "$beyond" address add \
                "10.77.0.$((j + 1))/32" dev others || return 1
        done
        ip -n "$beyond" route add "10.77.0.$((k + 1))/32" dev others ||
            return 1
    done
    for ((j = 0; j < count; j++)); do
        for ((k = 0; k < count; k++)); do
            if [ "$j" = "$k" ] || is_undialled "$k"; then continue; fi
            relay_up "$j" "$k" "$port" "$relay" "$@" || return 1
        done
    done
}

is_undialled() { [[ " ${undialled:-} " == *" $1 "* ]]; }

# relay_up J K PORT RELAY OPTION...: from host J to host K.
relay_up() {
    local name=$1.$2 to="10.77.0.$(($2 + 1)):$3" relay=$4
    local from=${hosts_prefix}beyond$1 end=${hosts_prefix}beyond$2
    shift 4
    mkfifo "$work/relay.$name" || return 1
    "$relay" "$to" "$to" --listen-in "$from" --connect-from "$end" "$@" \
        <>"$work/relay.$name" >"$work/relay.$name.said" &
    relays="${relays:-} $!"
    wait_until 100 grep -q listening "$work/relay.$name.said"
}

# relay_say J K COMMAND: such as `cut`; to the relay from host J to host K.
relay_say() { echo "$3" >"$work/relay.$1.$2"; }
# relays_say COUNT COMMAND: to all of them.
relays_say() {
    local j k
    for ((j = 0; j < $1; j++)); do
        for ((k = 0; k < $1; k++)); do
            if [ "$j" = "$k" ] || is_undialled "$k"; then continue; fi
            relay_say "$j" "$k" "$2"
        done
    done
}
relays_down() {
    local k
    # shellcheck disable=SC2086
    [ -z "${relays:-}" ] || kill $relays 2>/dev/null
    # shellcheck disable=SC2086
    wait ${relays:-} 2>/dev/null
    for ((k = 0; k < $1; k++)); do
        ip netns del "${hosts_prefix}beyond$k" 2>/dev/null
    done
}
