#!/usr/bin/env bash
# outbound.sh - nodes that can dial out and that nobody can dial.
#
# Four hosts: a and b can be dialled; c and d cannot, as behind a NAT of their
# own (hosts_relayed with $undialled: a stream that they dial is passed on, and
# there is no way to them). c and d reach each other through a. The fifth is a
# stranger's, and in the end the coordinator's.
# Covers actors/links/link_tunnels.c, actors/links/routes.c and
# transport/tunnel/tunnels*.c with real processes.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/hosts.sh
. "$(dirname "$0")/hosts.sh"
if ! can_make_networks; then
    skip "nodes that cannot be dialled" "needs root and network namespaces"
    finish
fi
tiny_model
sed -i 's/, shards: 2//; s/^train:/train:\n  reduction: fixed\n  window: 4/
    s/epochs: 5/epochs: 3/; s/, every_batches: 20//' tiny.yaml
cp tiny.yaml alone.yaml
port=7001
names=(a b c d e)
for name in "${names[@]}"; do
    "$skein" keygen "$name.key" >/dev/null || exit 70
done
cat >>tiny.yaml <<YAML
nodes:
  - { name: a, address: "tcp://10.77.0.1:$port", key: a.key }
  - { name: b, address: "tcp://10.77.0.2:$port", key: b.key }
  - { name: c, via: a, key: c.key }
  - { name: d, via: a, key: d.key }
YAML
undialled="2 3"
hosts_relayed 5 $port "$build/fault/fault_relay" --for-ms 550000 || exit 70

# node K NAME [OPTION...]: node K of a run in folder NAME, behind.
pids=()
node() {
    local k=$1 name=$2
    shift 2
    on_host "$k" timeout -k 5 120 "$skein" node "${as:-${names[k]}}" \
        "${file:-tiny.yaml}" --json -o checkpoint.path="$name" "$@" \
        >"$name.$k.json" 2>"$name.$k.err" </dev/null &
    pids[k]=$!
}
# all NAME OPTION...: runs all four to their end; 0 if all ended well.
all() {
    local name=$1 k code=0
    shift
    for k in 3 2 1 0; do node "$k" "$name" "$@"; done
    for k in 0 1 2 3; do wait "${pids[k]}" || code=$?; done
    [ "$code" = 0 ] || cat "$name".?.err
    return "$code"
}
same() { # SENTENCE NAME
    check_equal "  $1" "$(sha_of "$2.0.json")" "$want"
}
counts() { # NAME K PYTHON: of `counts` of the event links
    python3 - "$@" <<'PYTHON'
import collections, json, sys
name, k, holds = sys.argv[1:]
at = collections.Counter()
for line in open("%s.%s.json" % (name, k)):
    event = json.loads(line)
    if event.get("event") == "links":
        at.update(event["counts"])
assert eval("(" + holds + ")"), at
PYTHON
}

# The world is what it should be.
dial_here='
import socket, sys, threading
server = socket.create_server(("0.0.0.0", 7001))
server.settimeout(3)
try:
    server.accept()
except TimeoutError:
    sys.exit(1)'
on_host 2 python3 -c "$dial_here" &
listener=$!
sleep 0.5
on_host 0 python3 -c '
import socket
socket.create_connection(("10.77.0.3", 7001), 2)' 2>/dev/null
check_equal "c cannot be dialled" "$?" 1
wait "$listener"
check_equal "  not even while it listens" "$?" 1

"$skein" train alone.yaml --json -o checkpoint.path=alone >alone.json \
    2>alone.err </dev/null
want=$(sha_of alone.json)
check "two nodes that cannot be dialled train with two others" all plain
same "to the weights of one process" plain
check "  a relayed between them" counts plain 0 \
    'at["tunnel_joined"] >= 2 and at["tunnel_relayed_bytes"] > 100000'
check "  b did not" counts plain 1 'at["tunnel_joined"] == 0'
check "  and no node was taken for a stranger" counts plain 0 \
    'at["tunnel_strangers"] == 0 and at["strangers"] == 0'

# The lines of the relay are cut for two seconds, in the middle.
relays_say 5 "rate 30000"
for k in 0 1 2 3; do node "$k" cut; done
check "  a run over thin links begins" \
    wait_until 300 grep -q '"progress"\|"joined"' cut.0.json
sleep 1
for k in 1 2 3; do
    relay_say $k 0 cut
    relay_say $k 0 "refuse 2000"
done
relay_say 0 1 cut
relay_say 0 1 "refuse 2000"
sleep 5
# Half-open: nothing passes between c and the others, and nobody is told.
for k in 0 1; do relay_say 2 $k "stall 3500"; done
code=0
for k in 0 1 2 3; do wait "${pids[k]}" || code=$?; done
check_equal "the relay's lines are cut for 2 s, c's stall for 3.5 s" "$code" 0
same "to the same weights" cut
check "  through tunnels that were opened again" counts cut 0 \
    'at["tunnel_joined"] >= 4'
[ "$code" = 0 ] || cat cut.?.err

# Who is not in the list. e claims to be d, and then just talks.
relays_say 5 "rate 60000"
sed 's/d\.key/e.key/' tiny.yaml >strange.yaml
for k in 0 1 2; do node "$k" stranger; done
as=d file=strange.yaml node 4 stranger --wait 8
wait_until 200 grep -q 'refused a stranger' stranger.0.err stranger.0.json
check_equal "a stranger is refused by the relay" "$?" 0
on_host 4 python3 -c '
import os, socket
for k in range(300):
    line = socket.create_connection(("10.77.0.1", 7001), 5)
    try:
        line.sendall([b"skntun/1" + bytes([2, 0, 0, 0]) + os.urandom(32),
                      b"skntun/1" + bytes([1]) + bytes(35) + b"\xff",
                      b"GET / HTTP/1.0\r\n\r\n"][k % 3])
        line.recv(1) if k % 3 != 1 else None
    except OSError:
        pass
    line.close()' || fail "  a stranger may at least talk"
node 3 stranger
code=0
wait "${pids[4]}" || code=$?
check_equal "  and gives up" "$code" 69
code=0
for k in 0 1 2 3; do wait "${pids[k]}" || code=$?; done
check_equal "  the run continues" "$code" 0
[ "$code" = 0 ] || cat stranger.?.err
same "and has the same weights" stranger
check "  the relay counted what it refused" counts stranger 0 \
    'at["tunnel_unknown_tokens"] >= 50 and at["tunnel_strangers"] >= 50'
relays_say 5 "rate 0"

# The relay dies, or stands still: the others end, and say that it was a.
worker_of() { # PID: the last of its line
    local child
    child=$(pgrep -P "$1" | head -n 1)
    if [ -n "$child" ]; then worker_of "$child"; else echo "$1"; fi
}
relays_say 5 "rate 20000"
for signal in KILL STOP; do
    for k in 0 1 2 3; do node "$k" "$signal"; done
    wait_until 300 grep -q '"joined"' "$signal.0.json"
    sleep 2
    relay=$(worker_of "${pids[0]}")
    kill "-$signal" "$relay"
    codes=()
    for k in 1 2 3; do
        code=0
        wait "${pids[k]}" || code=$?
        codes+=("$code")
    done
    kill -KILL "$relay" 2>/dev/null
    wait "${pids[0]}"
    check_equal "the relay is gone (SIG$signal): the others end" \
        "${codes[*]}" "69 69 69"
    for k in 1 2 3; do
        check_match "  ${names[k]} says that it was a" \
            "node 'a'(, which relays .*,)? has not answered" "$signal.$k.err"
    done
done
relays_say 5 "rate 0"

# Nodes that come and go. The coordinator is on e's host.
cp tiny.yaml elastic.yaml
echo "coordinator: { address: \"tcp://10.77.0.5:$port\", key: e.key }" \
    >>elastic.yaml
long=(-o train.epochs=150 -o train.evaluate.every_epochs=0
    -o checkpoint.every_batches=20)
"$skein" train alone.yaml --json -o checkpoint.path=alone_long "${long[@]}" \
    >long.json 2>long.err </dev/null
on_host 4 timeout -k 5 200 "$skein" coordinator elastic.yaml --json --wait 30 \
    -o checkpoint.path=lead "${long[@]}" >lead.json 2>lead.err </dev/null &
lead=$!
member() { # K
    on_host "$1" timeout -k 5 200 "$skein" member "${names[$1]}" elastic.yaml \
        --json -o checkpoint.path=members "${long[@]}" \
        >>"member.$1.json" 2>>"member.$1.err" </dev/null &
    pids[$1]=$!
}
told() { # SENTENCE PATTERN
    wait_until 600 grep -Eq -- "$2" lead.json
    check_match "$1" "$2" lead.json
}
# A relay that finds nobody behind it hangs up, which looks like a refusal.
wait_until 200 on_host 4 bash -c "exec 3<>/dev/tcp/10.77.0.5/$port"
for k in 0 1 2 3; do member "$k"; done
told "an elastic run of the four begins" 'from batch 0: a, b, c and d'
wait_until 300 grep -q '"checkpoint"' member.0.json
# shellcheck disable=SC2046
kill -KILL $(pgrep -P "$(pgrep -P "${pids[0]}")") \
    $(pgrep -P "${pids[0]}") 2>/dev/null
told "its relay dies, and it continues with another one" ': b, c and d; a is'
wait_until 300 grep -q '"checkpoint"' member.1.json
member 0
told "the relay comes back" 'a, b, c and d; a joins'
code=0
wait "$lead" || code=$?
check_equal "  and the run comes to its end" "$code" 0
[ "$code" = 0 ] || cat lead.err lead.json member.?.err
for k in 0 1 2 3; do wait "${pids[k]}"; done
check_equal "  with the weights of one process" \
    "$(sha_of <(cat member.?.json))" "$(sha_of long.json)"
finish
