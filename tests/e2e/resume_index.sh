#!/usr/bin/env bash
# resume_index.sh - a run whose sampler has an index goes on to the same
# weights, wherever it was cut off.
#
# Covers actors/output/shard_index.c and actors/output/table_builder.c with
# what is around them. SKEIN_SEED=N repeats the moments of an earlier failure.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
RANDOM=${SKEIN_SEED:-$(($$ % 32768))}
echo "seed $RANDOM of the moments: SKEIN_SEED repeats them"
RANDOM=${SKEIN_SEED:-$RANDOM}
# Rounds of 7 batches do not fall together with markers: an epoch is 19
# batches, and every 20th is a checkpoint.
common="rows: 60, uniform_rows: 40, refresh_batches: 7"
samplers=(
    "{kind: simhash, tables: 6, bits: 4, $common}"
    "{kind: dwta, tables: 6, bits: 2, $common}"
)
names=(simhash dwta)

train() { # NAME OPTION...
    local name=$1
    shift
    "$skein" train tiny.yaml --json -o checkpoint.path="$name" "$@" \
        >>"$name.json" 2>>"$name.err" </dev/null
}

# cut_off NAME BATCH: the run NAME.whole as it was at that checkpoint.
cut_off() {
    local checkpoint
    rm -rf "$1" "$1.json"
    cp -a "$1.whole" "$1"
    for checkpoint in "$1"/batch-*; do
        [[ ${checkpoint##*/} > $2 ]] && rm -r "$checkpoint"
    done
    ln -sfn "$2" "$1/latest"
}

# kill_at_random NAME OPTION...: kills the run at a moment of its life.
kill_at_random() {
    local name=$1 pid
    shift
    "$skein" train tiny.yaml --json --resume -o checkpoint.path="$name" "$@" \
        >>"$name.json" 2>>"$name.err" </dev/null &
    pid=$!
    sleep "$(printf '0.%03d' $((RANDOM * lifetime_ms / 32768)))"
    kill -9 "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
}

for k in "${!samplers[@]}"; do
    for window in 1 4; do
        name=${names[$k]}$window
        options=(-o "model.layers.output.sampler=${samplers[$k]}"
            -o train.window=$window -o train.epochs=4
            -o checkpoint.every_epochs=1 -o checkpoint.keep=100)
        begin=$(date +%s%3N)
        train "$name.whole" "${options[@]}"
        lifetime_ms=$(($(date +%s%3N) - begin))
        [ "$lifetime_ms" -lt 999 ] || lifetime_ms=999
        sha=$(sha_of "$name.whole.json")

        for checkpoint in "$name.whole"/batch-*; do
            batch=${checkpoint##*/}
            [ "$batch" != "$(readlink "$name.whole/latest")" ] || continue
            cut_off "$name" "$batch"
            train "$name" --resume "${options[@]}"
            check_equal "${names[$k]}, window $window: from $batch, ends the \
same" "$(sha_of "$name.json")" "$sha"
        done

        cut_off "$name" batch-000000000040
        check "  resumes on other shards" train "$name" --resume \
            "${options[@]}" -o model.layers.output.shards=3 \
            -o model.layers.hidden.shards=1
        check_equal "  to its end" "$(event "done" batches "$name.json")" 76

        [ $k != 0 ] || options+=(-o train.updates=copy) # of rows: the same
        for round in 0 1 2; do
            kill_at_random "$name.killed" "${options[@]}"
        done
        train "$name.killed" --resume "${options[@]}"
        check_equal "  killed at random moments, ends the same" \
            "$(sha_of "$name.killed.json")" "$sha"
        rm -rf "$name" "$name".*
    done
done
finish
