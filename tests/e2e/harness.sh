#!/usr/bin/env bash
# harness.sh - bench/nodes.py runs commands on hosts, counts and limits them.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/hosts.sh
. "$(dirname "$0")/hosts.sh"
nodes=$root/bench/nodes.py
if ! can_make_networks; then
    skip "the harness for several hosts" "needs root and its rights"
    finish
fi

# Host 0 sends 1,000,000 bytes to host 1, and each says what it saw.
cat >"$work/talk.py" <<'END'
import json, socket, sys, time
node, nodes, address, first = sys.argv[1:5]
size = 1000000
if node == "1":
    server = socket.create_server((address, 7001))
    peer, seen = server.accept()[0], 0
    while seen < size:
        seen += len(peer.recv(65536))
else:
    for _ in range(200):
        try:
            peer = socket.create_connection(("10.77.0.2", 7001), 1)
            break
        except OSError:
            time.sleep(0.05)
    peer.sendall(bytes(size))
    seen = size
print("no JSON at all")
print(json.dumps({"node": int(node), "nodes": nodes, "seen": seen,
                  "first": first}), flush=True)
END

# holds EXPRESSION FILE: Python's view of the JSON object `r` in FILE.
holds() {
    python3 -c 'import json, sys
r = json.load(open(sys.argv[2]))
sys.exit(not eval("(" + sys.argv[1] + ")"))' "$@"
}

run_nodes() { # FILE ARGUMENTS...
    local file=$1
    shift
    "$nodes" "$@" >"$file" 2>"$work/said"
}

check "two hosts talk" run_nodes "$work/r" --limit-s 60 -- \
    python3 "$work/talk.py" '{node}' '{nodes}' '{address}' '{first}'
check "each host's line is taken up" holds \
    '[l["line"] for l in sorted(r["lines"], key=lambda l: l["node"])] == [
    {"node": k, "nodes": "2", "seen": 1000000, "first": "10.77.0.1"}
    for k in (0, 1)]' "$work/r"
check "what is no JSON goes to standard error" \
    grep -q '^node 1: no JSON at all$' "$work/said"
check "the interfaces' bytes are counted" holds \
    '1000000 <= r["hosts"][0]["bytes_sent"] <= 1100000 and
    abs(r["hosts"][0]["bytes_sent"] - r["hosts"][1]["bytes_received"]) < 2000
    and r["hosts"][1]["bytes_sent"] < 100000' "$work/r"
check "and those of each line" holds \
    'max(l["interfaces"][0][0] for l in r["lines"]) >= 1000000' "$work/r"
check "at 10 Mbit/s too" run_nodes "$work/r" --rate 10mbit --limit-s 60 -- \
    python3 "$work/talk.py" '{node}' '{nodes}' '{address}' '{first}'
# No test of speed: the link cannot be faster, whatever else the machine does.
check "and then no faster than the link" holds \
    'max(l["at_s"] for l in r["lines"]) >= 0.7' "$work/r"
check_code 1 "a host with another command that fails" run_nodes "$work/r" \
    --limit-s 60 --on 1 'sh -c "exit 5"' -- true
check "has its own exit code" holds \
    '[h["exit_code"] for h in r["hosts"]] == [0, 5]' "$work/r"
check_code 1 "what takes too long is ended" run_nodes "$work/r" \
    --limit-s 1 --nodes 1 -- sleep 1000
check "and the result says so" holds 'r["timed_out"] is True' "$work/r"
check "a quota" run_nodes "$work/r" --nodes 1 --quota 0.2 -- \
    python3 -c 'sum(range(20000000))'
check "holds the host back" holds \
    'r["hosts"][0]["throttled_periods"] > 0' "$work/r"
check_code 1 "a host over its memory cap fails" run_nodes "$work/r" \
    --nodes 1 --memory 64MiB -- python3 -c 'bytearray(200000000)'
check "by the kernel's hand" holds \
    'r["hosts"][0]["exit_code"] == -9 and
    60000000 < r["hosts"][0]["memory_peak_bytes"] <= 64 << 20' "$work/r"
check_code 1 "a rate that is none" run_nodes "$work/r" --nodes 1 \
    --rate banana -- true
check "the wrong rate is reported" holds '"banana" in r["error"]' "$work/r"
"$nodes" --nodes 2 -- true >"$work/r" 2>"$work/said" &
wait $!
check_equal "no host is left behind" "$(ip netns list | grep -c "^skn$!")" 0
finish
