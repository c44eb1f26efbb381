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
check "then nobody is reached" refuses 0 10.77.0.2
check "and joined again" wire_join 1
check "then the other is reached again" wait_until 100 reaches 0 10.77.0.2
check "a wire is limited to a rate" wire_limit 0 100mbit
check "then the other is still reached" wait_until 100 reaches 0 10.77.0.2
check "and the limit is lifted" wire_limit 0 none
check "the machine's own network is out of reach" refuses 0 192.0.2.1
finish
