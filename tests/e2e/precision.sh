#!/usr/bin/env bash
# precision.sh - products of bf16: the same model as with f32 but for rounding,
# with every instruction set that this machine has, and the same bits each time.
#
# Covers kernels/vec_amx.h, kernels/vec_avx512_bf16.h, kernels/body/gemm_half.h
# and the option `precision` of the actors `output` and `dense`.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model

# train NAME ISA OPTION...
train() {
    local name=$1 isa=$2
    shift 2
    SKEIN_ISA=$isa "$skein" train tiny.yaml --json -o checkpoint.path="$name" \
        "$@" >"$name.json" 2>"$name.err" </dev/null
}
deep='model.layers=[{name: hidden, units: 32}, {name: second, units: 24},
    {name: output}]'

# within NAME NAME PARTS: losses that differ by at most 1 in PARTS.
within() {
    python3 -c 'import json, sys
def losses(name):
    return [e["loss"] for e in map(json.loads, open(name + ".json"))
            if e["event"] == "epoch"]
a, b = losses(sys.argv[1]), losses(sys.argv[2])
assert len(a) == len(b) == 5, (a, b)
assert all(abs(x - y) * int(sys.argv[3]) < y for x, y in zip(a, b)), (a, b)
' "$@"
}

isas=
for isa in amx avx512_bf16 avx512 avx2 neon scalar; do
    if SKEIN_ISA=$isa "$skein" doctor >doctor.out 2>&1 ||
        ! grep -q SKEIN_ISA doctor.out; then
        isas="$isas $isa"
    else
        skip "bf16 by $isa" "this processor or build has no $isa"
    fi
done
check "there is an instruction set" test -n "$isas"

for loss in softmax one_vs_all; do
    one="model.layers.output.loss=$loss"
    train "f32.$loss" scalar -o "$one" -o train.precision=f32
    for isa in $isas; do
        train "a.$isa" "$isa" -o "$one" -o train.precision=bf16
        train "b.$isa" "$isa" -o "$one" -o train.precision=bf16
        check "$loss by $isa: the loss of bf16 is that of f32 to 1%" \
            within "a.$isa" "f32.$loss" 100
        check_equal "$loss by $isa: the same bits twice" \
            "$(sha_of "a.$isa.json")" "$(sha_of "b.$isa.json")"
        check "$loss by $isa: but not those of f32" \
            test "$(sha_of "a.$isa.json")" != "$(sha_of "f32.$loss.json")"
        rm -rf "a.$isa" "b.$isa"
    done
done
train deep.f32 scalar -o "$deep" -o train.precision=f32
for isa in $isas; do
    train "deep.$isa" "$isa" -o "$deep" -o train.precision=bf16
    check "two hidden layers by $isa: the loss is that of f32 to 1%" \
        within "deep.$isa" deep.f32 100
    rm -rf "deep.$isa"
done
finish
