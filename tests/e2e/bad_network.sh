#!/usr/bin/env bash
# bad_network.sh - three hosts, keys, and a network that is not kind.
#
# Hosts are network namespaces that reach each other only through relays
# (tests/fault/relay.c), which delay, throttle and cut. Whatever they do, the
# weights are those of one process. Covers the driver of the links, the links
# and the endpoint, over real sockets, with real processes.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/hosts.sh
. "$(dirname "$0")/hosts.sh"
if ! can_make_networks; then
    skip "a run over a bad network" "needs root and network namespaces"
    finish
fi
tiny_model
# Few checkpoints: over half a megabit each of them takes seconds.
sed -i 's/, shards: 2//; s/^train:/train:\n  reduction: fixed\n  window: 4/
    s/epochs: 5/epochs: 3/; s/, every_batches: 20//' tiny.yaml
cp tiny.yaml alone.yaml
port=7001
names=(a b c)
echo "nodes:" >>tiny.yaml
for k in 0 1 2; do
    "$skein" keygen "${names[k]}.key" >/dev/null || exit 70
    address=tcp://10.77.0.$((k + 1)):$port
    echo "  - { name: ${names[k]}, address: \"$address\"," \
        "key: ${names[k]}.key }" >>tiny.yaml
done
hosts_relayed 3 $port "$build/fault/fault_relay" --for-ms 550000 || exit 70

# node K NAME [PROGRAM OPTION...]: node K of a run in folder NAME, behind.
pids=()
node() {
    local k=$1 name=$2
    shift 2
    on_host "$k" timeout -k 5 120 "${program:-$skein}" node "${names[k]}" \
        tiny.yaml --json -o checkpoint.path="$name" "$@" \
        >"$name.$k.json" 2>"$name.$k.err" </dev/null &
    pids[k]=$!
}
# all NAME OPTION...: runs all three to their end; 0 if all ended well.
all() {
    local name=$1 k code=0
    shift
    for k in 0 1 2; do node "$k" "$name" "$@"; done
    for k in 0 1 2; do wait "${pids[k]}" || code=$?; done
    [ "$code" = 0 ] || cat "$name".?.err
    return "$code"
}
same() { # SENTENCE NAME
    check_equal "  $1" "$(sha_of "$2.0.json")" "$want"
}

"$skein" train alone.yaml --json -o checkpoint.path=alone >alone.json \
    2>alone.err </dev/null
want=$(sha_of alone.json)
check "three hosts with keys train" all plain
same "to the weights of one process" plain

relays_say 3 "delay 10"
check "20 ms round trip" all far
same "the same weights" far
relays_say 3 "delay 0"
relays_say 3 "rate 60000"
check "links of half a megabit" all thin
same "the same weights" thin
relays_say 3 "rate 0"

# Cuts, one direction after the other, as long as the run takes.
cut_now_and_then() {
    local k pair
    for ((k = 0; k < 12; k++)); do
        sleep 0.4
        for pair in "0 1" "1 2" "2 0"; do
            # shellcheck disable=SC2086
            relay_say $pair cut
        done
    done
}
relays_say 3 "rate 60000"
cut_now_and_then &
cutter=$!
check "connections that are cut twelve times" all cut
wait "$cutter"
same "the same weights" cut
check "  and there were cuts" python3 -c "
import json
links = [json.loads(line) for k in range(3) for line in open('cut.%d.json' % k)]
links = [link for link in links if link.get('event') == 'link']
assert len(links) == 6 and sum(link['connects'] for link in links) > 6, links"
relays_say 3 "rate 0"

for seed in 1 2; do
    export SKEIN_SHUFFLE_SEED=$seed
    program=$build/fault/fault_shuffle \
        check "fragments repeated and reordered, seed $seed" all "mixed$seed"
    same "the same weights" "mixed$seed"
done
unset SKEIN_SHUFFLE_SEED

# A node that is killed: the others say so, and the run goes on later.
relays_say 3 "rate 30000"
for k in 0 1 2; do node "$k" killed; done
saved() { grep -q '"checkpoint"' killed.0.json; }
wait_until 600 saved
timed=$(pgrep -P "${pids[1]}" | head -n 1)
# shellcheck disable=SC2046
kill -9 "$timed" $(pgrep -P "$timed") 2>/dev/null
codes=()
for k in 0 2; do
    code=0
    wait "${pids[k]}" || code=$?
    codes+=("$code")
done
wait "${pids[1]}"
check_equal "one node is killed: the others end and are unavailable" \
    "${codes[*]}" "69 69"
check_match "  with its name" "node 'b'" killed.0.err
check_match "  on each of them" "node 'b'" killed.2.err
relays_say 3 "rate 0"
check "the run continues with --resume" all killed --resume
same "to the same weights" killed

# Who may not come in.
cp b.key_secret b.secret.kept
cp b.key b.kept
rm b.key b.key_secret
"$skein" keygen b.key >/dev/null
cp b.key b.new
cp b.kept b.key.others
strange() { # the others know b by its old key
    local k code=0
    sed 's/b\.key/b.key.others/' tiny.yaml >others.yaml
    for k in 0 2; do
        on_host "$k" timeout -k 5 60 "$skein" node "${names[k]}" others.yaml \
            --json --wait 5 -o checkpoint.path=strange >"strange.$k.json" \
            2>"strange.$k.err" </dev/null &
        pids[k]=$!
    done
    node 1 strange --wait 5
    for k in 0 1 2; do wait "${pids[k]}" || code=$?; done
    return "$code"
}
check_code 69 "a node with another key gets nowhere" strange
check_match "  it reports which node refused it" "refused our key" strange.1.err
check_match "  and the nodes that refused report it" "refused" strange.0.err
finish
