#!/usr/bin/env bash
# networks.sh - the hosts that tests of several nodes run on are as promised.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/hosts.sh
. "$(dirname "$0")/hosts.sh"
if ! can_make_networks; then
    skip "hosts as network namespaces" "needs root and the right to make them"
    finish
fi

# reaches K ADDRESS: host K opens a connection to port 7001 of ADDRESS.
reaches() {
    on_host "$1" python3 -c 'import socket, sys
socket.create_connection((sys.argv[1], 7001), 2).close()' "$2"
}
refuses() { ! reaches "$@"; }

check "two hosts come up" hosts_up 2 || finish
on_host 1 python3 -c 'import socket
server = socket.create_server(("10.77.0.2", 7001))
while True:
    server.accept()[0].close()' &
check "a host reaches the other" wait_until 100 reaches 0 10.77.0.2
before=$(wire_bytes 0)
check "its bytes are counted" test "${before#* }" -gt 0
check "a wire is cut" wire_cut 1
check "then no host is reached" refuses 0 10.77.0.2
check "and joined again" wire_join 1
check "then the other is reached again" wait_until 100 reaches 0 10.77.0.2
check "one way of a line is cut" way_cut 0 1
check "then no connection is made, since both are needed" refuses 0 10.77.0.2
check "and joined again" way_join 0 1
check "then the other is reached again" wait_until 100 reaches 0 10.77.0.2
check "the other way is cut" way_cut 1 0
check "then no connection is made either" refuses 0 10.77.0.2
check "until it is joined again" way_join 1 0
check "and the other is reached" wait_until 100 reaches 0 10.77.0.2
check "a wire is limited to a rate" wire_limit 0 100mbit
check "then the other is still reached" wait_until 100 reaches 0 10.77.0.2
check "and the limit is lifted" wire_limit 0 none
check "the machine's own network is out of reach" refuses 0 192.0.2.1

# answers K ADDRESS: port 7001 of ADDRESS says to host K whom it sees there.
answers() {
    on_host "$1" python3 -c 'import socket, sys
peer = socket.create_connection((sys.argv[1], 7001), 2)
sys.exit(peer.recv(99).decode() != sys.argv[1])' "$2"
}
never_heard() { [ "$(stat -c %s "$work/relay.0.1.said")" -gt 0 ] &&
    ! grep -q '"cuts":1' "$work/relay.0.1.said"; }
hosts_prefix=sr$$
check "three hosts come up behind relays" hosts_relayed 3 7001 \
    "$build/fault/fault_relay" --delay-ms 5 || finish
for k in 0 1 2; do
    on_host "$k" python3 -c 'import socket
server = socket.create_server(("0.0.0.0", 7001))
while True:
    peer = server.accept()[0]
    peer.sendall(peer.getsockname()[0].encode())
    peer.close()' &
done
for j in 0 1 2; do
    for k in 0 1 2; do
        [ "$j" = "$k" ] || check "host $j reaches host $k, itself it seems" \
            wait_until 100 answers "$j" "10.77.0.$((k + 1))"
    done
done
check "no relay has cut anything yet" never_heard
relays_say 3 cut
for name in 0.1 0.2 1.0 1.2 2.0 2.1; do
    check "the relay $name obeys" wait_until 100 grep -q '"cuts":1' \
        "$work/relay.$name.said"
done
check "and serves on" wait_until 100 answers 0 10.77.0.3
relay_say 1 2 "refuse 60000"
check "a relay that refuses cuts a host from one other" wait_until 100 \
    refuses 1 10.77.0.3
check "and from no third one" answers 1 10.77.0.1
finish
