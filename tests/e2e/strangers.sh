#!/usr/bin/env bash
# strangers.sh - two nodes on loopback, and everybody who wants to harm them.
#
# Strangers attack both ports of a live run (tests/fault/stranger.c), with keys
# and without: the weights stay, memory stays, all is counted. A node with a
# good key lies (tests/fault/liar.c). Then what people do wrong, each with its
# line at both ends. Needs neither root nor namespaces. Throughput is said, not
# judged. Covers the driver of the links, the endpoint and its door.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/pair.sh
. "$(dirname "$0")/pair.sh"
pair_model
stranger=$build/fault/fault_stranger
long=(-o train.epochs=200)
short=(-o train.epochs=30)

# peak RUN NAME: writes the most KiB of memory that the node ever had.
peak() {
    local worker kib
    worker=$(worker_of "${pid[$1.$2]}")
    while kib=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' \
        "/proc/$worker/status" 2>/dev/null) && [ -n "$kib" ]; do
        echo "$kib" >"$1.$2.peak"
        sleep 0.1
    done
}
watched() {
    joined "$1"
    peak "$1" a &
    pid[$1.a.peak]=$!
    peak "$1" b &
    pid[$1.b.peak]=$!
}
unwatched() { wait "${pid[$1.a.peak]}" "${pid[$1.b.peak]}"; }
tried() { # LEAST FILE...: attacks tried that often
    python3 - "$@" <<'PYTHON'
import json, sys
all = [json.loads(line) for path in sys.argv[2:] for line in open(path)]
count = sum(attack["tried"] for said in all for attack in said.values())
assert count >= int(sys.argv[1]), count
PYTHON
}
same() { # FILE [WEIGHTS]
    check_equal "  to the weights of a quiet run" "$(sha_of "$1")" \
        "${2:-$want}"
}
# grown RUN: what a and b took more than in the quiet run.
grown() {
    local name
    for name in a b; do
        check "  $name grew by $((($(cat "$1.$name.peak") - \
            $(cat "quiet.$name.peak")) / 1024)) MiB, at most 16" test \
            "$(cat "$1.$name.peak")" -le \
            $(($(cat "quiet.$name.peak") + 16384))
    done
    echo "    throughput: $(python3 -c "
print('%.0f%%' % (100 * $(event "done" seconds quiet.a.json) /
    $(event "done" seconds "$1.a.json")))") of a quiet run"
}

# --- strangers --------------------------------------------------------------
cluster quiet
both quiet quiet.yaml "${long[@]}"
watched quiet
ended "a quiet run of two nodes with keys" quiet "0 0"
unwatched quiet
want=$(event "done" weights_sha256 quiet.a.json)

raw=random,greeting,flipped,huge
attacks=()
attack() { # FILE OPTION...
    local file=$1
    shift
    "$stranger" "$@" >"$file" &
    attacks+=($!)
}
attack_both() { # RUN
    local to
    attacks=()
    for to in a b; do
        local port=$port_a
        [ $to = a ] || port=$port_b
        # With a key that nobody knows, without any, and no frames at all.
        attack "$1.$to.key" "127.0.0.1:$port" --what frames --for-ms 2000 \
            --server-key "$(key_of $to.key)"
        attack "$1.$to.none" "127.0.0.1:$port" --what frames,mild \
            --for-ms 2000
        attack "$1.$to.raw" "127.0.0.1:$port" --what $raw --count 1250
    done
    wait "${attacks[@]}"
}
cluster keyed
both keyed keyed.yaml "${long[@]}"
watched keyed
attack_both keyed
check "the run lasts as long as the attack" kill -0 "${pid[keyed.a]}"
ended "strangers at both ports of a run with keys" keyed "0 0"
unwatched keyed
same keyed.a.json
grown keyed
check "  10,000 malformed frames" tried 10000 keyed.?.key keyed.?.none
check "  10,000 connections" tried 10000 keyed.?.raw
for name in a b; do
    check "  $name counts them by reason, and none came in" counted keyed \
        $name 'at["strangers"] > 0 and at["handshakes_failed_here"] > 3000 and
        at["accepted"] > 5000 and not refused and not at["nobodys"] and
        not at["malformed"] and not at["too_large"] and not at["unknown_key"]'
done
check_match "  and reports it" "refused a stranger with key" keyed.a.err
check "  but not ten thousand times" test "$(wc -l <keyed.a.err)" -lt 100

both keyless keyed.keyless.yaml "${long[@]}"
watched keyless
attack_both keyless
check "the run lasts as long as the attack" kill -0 "${pid[keyless.a]}"
ended "strangers at both ports of a run on loopback, no keys" keyless "0 0"
unwatched keyless
same keyless.a.json
grown keyless
check "  10,000 malformed frames" tried 10000 keyless.?.key keyless.?.none
for name in a b; do
    check "  $name counts them by reason" counted keyless $name \
        'at["malformed"] > 1000 and at["too_large"] > 0 and
        at["nobodys"] > 1000 and at["handshakes_failed_here"] > 1000'
done

# --- a node that stands still: looked at in the end -------------------------
cluster still
both still still.yaml -o train.epochs=2000
trained still
worker=$(worker_of "${pid[still.b]}")
kill -STOP "$worker"
stopped_s=$SECONDS
other=$(worker_of "${pid[still.a]}")
gone() { ! kill -0 "$other" 2>/dev/null; }
(wait_until 140 gone && echo $((SECONDS - stopped_s)) >still.seconds) &
watch=$!

# --- somebody who has a key -------------------------------------------------
"$skein" train tiny.yaml --json -o checkpoint.path=one "${short[@]}" \
    >one.json 2>one.err </dev/null
want_short=$(event "done" weights_sha256 one.json)
cluster gone
both gone gone.yaml "${short[@]}"
joined gone
"$stranger" "127.0.0.1:$port_a" --what mild,frames --for-ms 2000 \
    --server-key "$(key_of a.key)" --certificate b.key_secret >gone.stranger
ended "malformed frames with the key of a peer" gone "0 0"
same gone.a.json "$want_short"
check "  are counted by reason" counted gone a \
    'at["malformed"] > 1000 and len(refused) >= 3 and
    sum(refused.values()) > 1000'

cluster alone
node alone a alone.yaml --wait 4
wait_until 50 grep -q . <(ss -Hltn "sport = :$port_a")
"$stranger" "127.0.0.1:$port_a" --what mild --for-ms 2000 \
    --server-key "$(key_of a.key)" --certificate b.key_secret >alone.stranger
code=0
wait "${pid[alone.a]}" || code=$?
check_equal "a key of a peer is no peer: a waits in vain" "$code" 69
said alone a "waited 4 s for b "

lies="noise cut long edge number credit kind"
for how in $lies; do
    cluster "$how"
    SKEIN_LIE_AFTER=200 SKEIN_LIE_HOW=$how program=$build/fault/fault_liar \
        node "$how" b "$how.yaml"
    node "$how" a "$how.yaml"
done
for how in $lies; do
    ended "a node that lies ($how) ends the run" "$how" "76 76"
    said "$how" a "^skein: node 'b'"
    said "$how" b "^skein: node 'a': node 'b'"
    check "  and it is counted" counted "$how" a "sum(broken.values()) == 1"
done
said noise a "node 'b': a record of unknown kind"
said edge a "node 'b' sent a record for edge 4294967295, which it does not own"
said number a "without credit or out of order|gives credit for"

# --- a node that is asked to stop -------------------------------------------
cluster asked
both asked asked.yaml "${short[@]}"
trained asked
# Not to `timeout`, which would pass it on twice: that means at once.
kill -TERM "$(pgrep -P "${pid[asked.b]}")"
ended "SIGTERM to the second node" asked "0 0"
check_match "  stops all" '"stopped"' asked.a.json
both asked asked.yaml "${short[@]}" --resume
ended "  and the run continues" asked "0 0"
same asked.a.json "$want_short"

# --- what people do wrong ---------------------------------------------------
cluster config
node config a config.yaml --wait 10
node config b config.yaml --wait 10 -o train.optimizer.rate=0.02
cluster data
mkdir elsewhere
cp ./*.key* data.yaml test.txt elsewhere
sed '2s/:[0-9.]*/:1.5/' train.txt >elsewhere/train.txt
node data a data.yaml --wait 10
(cd elsewhere && exec timeout -k 5 60 "$skein" node b data.yaml --json --wait \
    10 -o checkpoint.path=run) >data.b.json 2>data.b.err </dev/null &
pid[data.b]=$!
cluster nokey
node nokey a nokey.yaml --wait 4
node nokey b nokey.keyless.yaml --wait 4
cluster far
node far a far.yaml --wait 2
cluster twice
sed -i 's/name: b/name: a/' twice.yaml
node twice a twice.yaml
cluster used
python3 -c '
import socket, sys, time
held = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
time.sleep(50)' "$port_a" >used.said &
holder=$!
at_exit "kill $holder 2>/dev/null"
wait_until 100 grep -q listening used.said
node used a used.yaml
ended "another config" config "78 78"
said config a "^skein: node 'b' refused the link: it runs another config; "
said config b "^skein: node 'a' runs another config; start both with "
ended "other data" data "65 65"
said data a "^skein: node 'b' refused the link: it reads other data; "
said data b "^skein: node 'a' reads other data; give both the same "
ended "a node without a key" nokey "69 69"
# Whoever closes first may keep the other from seeing why.
said nokey a "refused a connection that has no key( \(no CURVE\)|, uses \
another protocol, or is too slow)"
said nokey b "refused a connection .* needs a key, which this node does not \
have"
said nokey b "waited 4 s for a "
one "a peer that cannot be reached" far 69
said far a "waited 2 s for b "
one "a name twice" twice 78
said twice a "twice.yaml:[0-9:]* there are two nodes named 'a'"
one "a port that is in use" used 69
said used a "is in use by another program; choose another port"

# A zombie can still be signalled: its worker is what must be gone.
wait "$watch"
while [ $((SECONDS - stopped_s)) -lt 15 ]; do sleep 0.2; done
kill -CONT "$worker"
ended "a node that stands still for 15 s: both end" still "69 69"
said still a "node 'b' has not answered for 10.0 s"
said still b "node 'a' has not answered for 10.0 s"
check "  the other one within 12 s" test "$(cat still.seconds)" -le 12
finish
