#!/usr/bin/env bash
# locale.sh - the library does the same in a host that has chosen a locale.
#
# German and French write 0.5 with a comma, Turkish has two letters i. The
# locales are made in the work folder. A program trains, predicts and checks
# what it was told under each; then some unit tests that read or write numbers
# run under one of them: tests/support/host_locale.c makes them such hosts.
# SKEIN_LOCALES=all runs all unit tests under each (nightly).
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
[ -d /usr/share/i18n/locales ] || {
    skip "hosts with a locale" "the package locales is not installed"
    finish
}
export LOCPATH=$work/locales
mkdir "$LOCPATH"
for name in de_DE fr_FR tr_TR; do
    check "the locale $name is made" \
        localedef -i "$name" -f UTF-8 "$LOCPATH/$name.UTF-8"
done

tiny_model
cat >host.c <<'C'
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "skein/predictor.h"
#include "skein/topology.h"

/* host LOCALE POINT TOPOLOGY RUN: trains, then asks for two points. */
static int refused(const char *what, const skn_error_t *error)
{
    fprintf(stderr, "%s: %s\n", what, error->text);
    return 1;
}

static int predict(const char *run)
{
    static const size_t offset[] = { 0, 2, 4 };
    static const uint32_t feature[] = { 3, 4, 50, 51 };
    static const float value[] = { .5f, 1, 1, .25f };
    const skn_points_t points = { 2, offset, feature, value };
    skn_error_t error = { 0 };
    uint32_t label[6], bits;
    float score[6];
    skn_predictor_t *predictor = skn_predictor_open(run, &error);
    if (!predictor || skn_predictor_best(predictor, &points, 3, label, score,
                                         &error) != SKN_OK)
        return refused("predictor", &error);
    for (int k = 0; k < 6; k++) {
        memcpy(&bits, &score[k], sizeof(bits));
        printf("{\"label\":%u,\"bits\":%u}\n", label[k], bits);
    }
    skn_predictor_close(&predictor);
    return 0;
}

int main(int count, char **argument)
{
    static char yaml[1 << 20], line[SKN_EVENT_BYTES_MAX];
    char half[16];
    skn_error_t error = { 0 };
    FILE *file = count == 5 ? fopen(argument[3], "r") : NULL;
    if (!file || fread(yaml, 1, sizeof(yaml) - 1, file) == 0 ||
        !setlocale(LC_ALL, argument[1]))
        return 2;
    (void)fclose(file);
    (void)snprintf(half, sizeof(half), "%.1f", .5);
    if (half[1] != argument[2][0])
        return 3; /* this tests nothing */
    skn_topology_t *topology =
        skn_topology_new(yaml, argument[3], NULL, &error);
    if (!topology || skn_topology_start(topology, NULL, &error) != SKN_OK)
        return refused("start", &error);
    while (skn_topology_event(topology, -1, line, sizeof(line), &error) ==
           SKN_OK)
        puts(line);
    if (skn_topology_wait(topology, &error) != SKN_OK)
        return refused("run", &error);
    skn_topology_report(topology, true, stdout);
    skn_topology_destroy(&topology);
    (void)snprintf(yaml, sizeof(yaml), "%.1f", .5);
    return strcmp(half, yaml) == 0 ? predict(argument[4]) : 4;
}
C
check "the host is built" gcc -std=c11 -Wall -Wextra -Werror \
    -I"$root/include" host.c -o host "$build/libskein.so" \
    "$build/libskein-core.so" -Wl,-rpath,"$build"

# trains LOCALE POINT NAME: the host's output is NAME.out.
trains() {
    local sampler="{kind: log_uniform, rows: 60, weight_cap: 4.5}"
    "$skein" plan tiny.yaml -o checkpoint.path="$3" -o train.epochs=2 \
        -o "model.layers.output.sampler=$sampler" >"$3.yaml" &&
        ./host "$1" "$2" "$3.yaml" "$3" >"$3.out"
}
# What is in every run the same: no times, no paths.
lasting() {
    python3 - "$1" <<'PYTHON'
import json, sys
for event in map(json.loads, open(sys.argv[1])):
    for key in ("loss", "epoch", "batch", "p1", "weights_sha256", "label",
                "bits"):
        if key in event:
            print(event.get("event"), key, event[key])
PYTHON
}
check "a host in the C locale trains and predicts" trains C . plain
lasting plain.out >plain.txt
check_match "it has a hash of its weights" '^done weights_sha256 ' plain.txt
for name in de_DE fr_FR tr_TR; do
    check "a host in $name trains and predicts" \
        trains "$name.UTF-8" , "$name"
    lasting "$name.out" >"$name.txt" 2>&1
    check "with the same events, weights and answers" \
        cmp plain.txt "$name.txt"
    check "the command reads its checkpoint" "$skein" inspect "$name"
done

# under LOCALE TEST
under() {
    SKEIN_TEST_LOCALE=$1.UTF-8 "$root/tests/own_net.sh" "$build/test/test_$2" \
        >"$work/$1.$2.log" 2>&1 || touch "$work/$1.$2.failed"
}
cd "$root" || exit 70
if [ "${SKEIN_LOCALES:-}" = all ]; then
    tests=$(cd "$build/test" && for test in test_*; do
        printf '%s\n' {de_DE,fr_FR,tr_TR}" ${test#test_}"
    done)
else
    tests='de_DE document_write
de_DE idle_sample
de_DE values
fr_FR json_text
fr_FR nodes
fr_FR progress
tr_TR settings
tr_TR text'
fi
while read -r name test; do
    while [ "$(jobs -rp | wc -l)" -gt "$(nproc)" ]; do wait -n; done
    under "$name" "$test" &
done <<<"$tests"
wait
while read -r name test; do
    if [ -e "$work/$name.$test.failed" ]; then
        fail "test_$test passes in $name" "$work/$name.$test.log"
    else
        pass "test_$test passes in $name"
    fi
done <<<"$tests"
finish
