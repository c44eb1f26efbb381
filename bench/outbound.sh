#!/usr/bin/env bash
# outbound.sh - what it costs that two of four nodes cannot be dialled.
#
# Usage: bench/outbound.sh [RATE...]    of each host's wire, both ways; without
#                                       one 10mbit and 50mbit
# Four hosts (network namespaces) train the same model twice: all with an
# address, and with c and d via a. Prints seconds of training and what passed
# a's and c's wire. Needs root. SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../tests/e2e/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$root/tests/e2e/tiny.sh"
# shellcheck source=tests/e2e/hosts.sh
. "$root/tests/e2e/hosts.sh"
can_make_networks || { echo "outbound: needs root" >&2; exit 77; }
tiny_model
# Wide and deep, so that there are bytes between all nodes.
sed -i 's/units: 32, shards: 2/units: 512/; s/epochs: 5/epochs: 6/
    s/- { name: output, shards: 2 }/- { name: second, units: 512 }\n    &/
    s/output, shards: 2/output/; s/batch_rows: 32/batch_rows: 128/
    s/^train:/train:\n  window: 4\n  evaluate: { every_epochs: 0 }/
    s/, every_batches: 20/, every_epochs: 0/' tiny.yaml
names=(a b c d)
cp tiny.yaml direct.yaml
cp tiny.yaml via.yaml
echo "nodes:" | tee -a direct.yaml >>via.yaml
for k in 0 1 2 3; do
    name=${names[k]}
    "$skein" keygen "$name.key" >/dev/null || exit 70
    line="address: \"tcp://10.77.0.$((k + 1)):7001\""
    echo "  - { name: $name, $line, key: $name.key }" >>direct.yaml
    [ "$k" -lt 2 ] || line="via: a"
    echo "  - { name: $name, $line, key: $name.key }" >>via.yaml
done
hosts_up 4 || exit 70
wire_sum() { # K: bytes, both ways
    local both
    both=$(wire_bytes "$1")
    echo $((${both% *} + ${both#* }))
}
[ $# -gt 0 ] || set -- 10mbit 50mbit
printf '%-8s %-7s %9s %12s %12s %12s\n' rate way seconds a_wire_MB c_wire_MB \
    relayed_MB
for rate in "$@"; do
    for k in 0 1 2 3; do wire_limit "$k" "$rate" || exit 70; done
    for way in direct via direct via direct via; do
        rm -rf run.*
        before_a=$(wire_sum 0) before_c=$(wire_sum 2)
        for k in 3 2 1 0; do
            on_host "$k" timeout 300 "$skein" node "${names[k]}" "$way.yaml" \
                --json -o checkpoint.path="run.$k" >"$k.json" 2>"$k.err" \
                </dev/null &
        done
        wait
        seconds=$(event "done" seconds 0.json) || { cat ./*.err; exit 70; }
        python3 - "$rate" "$way" "$seconds" \
            $(($(wire_sum 0) - before_a)) \
            $(($(wire_sum 2) - before_c)) <<'PYTHON'
import json, sys
rate, way, seconds, a, c = sys.argv[1:]
events = [json.loads(line) for line in open("0.json")]
relayed = [e["counts"].get("tunnel_relayed_bytes", 0) for e in events
           if e.get("event") == "links"][-1]
print("%-8s %-7s %9.1f %12.1f %12.1f %12.1f" % (
    rate, way, float(seconds), int(a) / 1e6, int(c) / 1e6, relayed / 1e6))
PYTHON
    done
done
