#!/usr/bin/env bash
# index.sh - eval and predict through an index of the labels.
#
# Covers cli/index.c. With all lists looked into, answers are the exact ones;
# with fewer, scores say what that costs.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
check "a model is trained" "$skein" train tiny.yaml \
    -o checkpoint.path=run -o model.layers.output.label_smoothing=0 || finish

"$skein" predict run test.txt -k 3 | sed 's/:[^ ]*//g' >exact
"$skein" predict run test.txt -k 3 --index --lists 4 --probes 4 |
    sed 's/:[^ ]*//g' >all
check "with all lists searched, labels are the exact ones" cmp exact all
"$skein" predict run test.txt -k 3 --index --lists 12 --probes 1 >some
check_equal "with one list a point, every point is answered" \
    "$(wc -l <some)" "$(wc -l <exact)"
check "  not all of them as exactly" \
    bash -c "! cmp -s exact <(sed 's/:[^ ]*//g' some)"

score() { # ARGUMENTS...: P@1
    "$skein" eval run --json "$@" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["p1"])'
}
check_equal "eval with all lists scores as eval does" \
    "$(score --index --lists 5 --probes 5)" "$(score)"
check "eval with one list a point scores less" python3 -c \
    "assert $(score --index --lists 12 --probes 1) < $(score)"
"$skein" eval run --index --lists 12 --probes 3 >out
check_match "eval prints the size of the index" \
    "^index  12 lists, of which each point searches 3$" out
"$skein" eval run --json --index --lists 12 --probes 3 >out
check_match "eval --json, too" \
    '"index_lists":12,"index_probes":3,"seconds":[0-9.]+}$' out
"$skein" eval run --json >out
check_match "without --index eval prints nothing about one" \
    '"calibration_error_5":[0-9.]+,"seconds":[0-9.]+}$' out

says() { # SENTENCE WANTED COMMAND...: exit code 64 and this line
    local sentence=$1 wanted=$2 code=0
    shift 2
    "$@" >out 2>err </dev/null || code=$?
    check_equal "$sentence" "$code: $(cat err)" "64: $wanted"
}
says "lists without an index are refused" \
    "skein: --lists has no effect without --index; give --index, too" \
    "$skein" predict run --lists 3
says "and probes" \
    "skein: --probes has no effect without --index; give --index, too" \
    "$skein" eval run --probes 3
for wrong in 0 -1 x 1.5 99999999999999999999; do
    says "--probes '$wrong' is refused" \
        "skein: --probes must be a whole number in 1..2147483647, found \
'$wrong'" \
        "$skein" predict run --index --probes "$wrong"
done
says "--probes '' is refused" \
    "skein: option --probes needs a value, found ''; lists searched per point \
(default a twentieth)" "$skein" predict run --index --probes ''
says "more lists than labels are refused" \
    "skein: the index has 1000 lists for 900 labels" \
    "$skein" predict run --index --lists 1000
says "more probes than lists are refused" \
    "skein: 4 probes: the index has 3 lists, of which a point can probe at \
most 128" "$skein" eval run --index --lists 3 --probes 4
finish
