#!/usr/bin/env bash
# tune.sh - successive halving on a tiny model: what it tells, keeps, refuses.
#
# Covers cli/tune/tune.c and topology/tuning/trials.c, and topology/run/
# trained_find.c: which run is the newest one.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
sed -i -e 's/epochs: 5/epochs: 9/' -e '/kind: constant/d' tiny.yaml
some=(-o train.validate=0.3 --candidates 6 --rounds 2)

# --- a whole tuning ---------------------------------------------------------
mv test.txt away.txt # it must not be needed
check "a tuning runs to its end, without the test file" \
    "$skein" tune tiny.yaml "${some[@]}"
cp .check out
mv away.txt test.txt
check_match "auto is tried first" '^ +1 +3\.00 +0\.[0-9]{4} +[0-9.]+  auto$' out
check_match "the best are trained three times longer" '^ +2 +9\.00 .* auto$' out
check_match "it prints how much better the best is" '^       .*auto' out
check_equal "of 8 or 9 trials each has a line" \
    "$(grep -cE '^ +[12] +[0-9.]+ +0\.' out | tr 9 8)" 8
check "tune.yaml is in a folder beside the run's" test -s run-tune/tune.yaml
check "the trials' checkpoints are gone" test ! -e run-tune/trial
check_match "tune.yaml has a comment that describes it" \
    '^# p1 of the [0-9]+ training points that were held back: 0\.' \
    run-tune/tune.yaml
check "check takes it" "$skein" check run-tune/tune.yaml
(cd / && "$skein" train "$work/run-tune/tune.yaml" --json) >trained 2>&1
check_match "train takes it, from any folder" '"event":"done"' trained
cp -r run-tune whole

# --- the newest run -----------------------------------------------------------
# Neither the folder of a tuning, with a trial or without, nor a run that has
# saved nothing yet.
mkdir -p runs/begun
cp -r run runs/one
cp -r whole runs/one-tune
cp -r run runs/other-tune
mv runs/other-tune/run.json runs/begun
cp -r run runs/other-tune/trial
cp whole/tune.journal runs/other-tune
touch -d '1 hour ago' runs/one
for verb in inspect eval "train --resume"; do
    read -ra words <<<"$verb"
    check "$verb takes runs/latest" "$skein" "${words[@]}" runs/latest
    check_match "  the newest run with a checkpoint" "runs/one(\$|/| )" \
        .check
done
check "so does export" "$skein" export runs/latest one
check "predict" "$skein" predict runs/latest test.txt
check_code 64 "join would, but for its copy" \
    "$skein" join runs/latest run --into joined
check_match "  which has the same network" \
    'runs/latest and run are the same network' .check
rm -r runs/one
check_code 66 "without one it is a run that has none" "$skein" eval runs/latest
check_match "  which is said" 'runs/begun' .check
mkdir -p runs/many/network-1
mv runs/begun/run.json runs/many/network-1
rm -r runs/begun
cp tiny.yaml runs/many/ensemble.yaml
check_code 66 "or one of several networks" "$skein" eval runs/latest
check_match "  which is said" 'runs/many: none of its networks has' .check
rm -r runs/many
check_code 66 "without any there is none" "$skein" eval runs/latest
check_match "  which is said" 'runs/latest: No such file' .check
rm -rf run runs one

# --- the same again ---------------------------------------------------------
check_code 73 "a tuning is not begun over another" \
    "$skein" tune tiny.yaml "${some[@]}"
check_match "with what to do" 'continue it with \-\-resume' .check
check_code 64 "another seed is refused" \
    "$skein" tune tiny.yaml "${some[@]}" --resume --seed 2
check_match "with its reason" "another 'seed': 1, not 2" .check
sed -i 's/units: 32/units: 24/' tiny.yaml
check_code 64 "another config is refused" \
    "$skein" tune tiny.yaml "${some[@]}" --resume
sed -i 's/units: 24/units: 32/' tiny.yaml
check_code 66 "there must be something to resume" \
    "$skein" tune tiny.yaml "${some[@]}" --resume --folder nowhere
check "no folder is made then" test ! -e nowhere
"$skein" tune tiny.yaml "${some[@]}" --folder again >again.out
check_equal "the same seed finds the same config" \
    "$(tail -n +4 again/tune.yaml)" "$(tail -n +4 whole/tune.yaml)"

# --- killed, and resumed ----------------------------------------------------
rm -rf killed
"$skein" tune tiny.yaml "${some[@]}" --folder killed >/dev/null 2>&1 &
victim=$!
wait_until 300 grep -q '"candidate": *2' killed/tune.journal
kill -9 "$victim"
wait "$victim" 2>/dev/null
trials=$(grep -c '"score"' killed/tune.journal)
check "after kill -9 it continues" \
    "$skein" tune tiny.yaml "${some[@]}" --folder killed --resume
check_equal "and finds the same config" \
    "$(tail -n +4 killed/tune.yaml)" "$(tail -n +4 whole/tune.yaml)"
check "it had some trials already" test "$trials" -ge 3
check_equal "no trial was run twice" \
    "$(grep -c '"score"' killed/tune.journal)" \
    "$(grep -c '"score"' whole/tune.journal)"

# --- a trial that dies ------------------------------------------------------
"$skein" tune tiny.yaml -o train.validate=0.3 -o train.epochs=60 --rounds 1 \
    --candidates 3 --folder died --json >died.out 2>died.err &
victim=$!
# The first trial after auto's: candidate 1 of round 1.
began() { grep -q '"event":"forecast"' died.out && [ -e died/trial ]; }
while ! began; do sleep 0.01; done # the trial lasts for a moment
worker=$(pgrep -P "$victim" | head -n 1)
kill -9 "$worker"
wait "$victim"
check_equal "a trial that dies does not end the tuning" $? 0
check_match "  which is reported" \
    'killed by signal 9 .*; it starts again after the last trial that' died.err
check_equal "  and it alone has failed" \
    "$(grep -c '"message":"its process died"' died.out)" 1
check_equal "  so that the tuning comes to its end" \
    "$(event tuned path died.out)" died

# --- stopped ----------------------------------------------------------------
"$skein" tune tiny.yaml "${some[@]}" -o train.epochs=3000 --folder stopped \
    --json >stopped.out 2>&1 &
victim=$!
wait_until 300 grep -q '"event": *"tune"' stopped.out
wait_until 100 test -e stopped/trial
frozen "$victim" check_code 75 "two do not tune in one folder" \
    "$skein" tune tiny.yaml "${some[@]}" -o train.epochs=3000 \
    --folder stopped --resume
kill -TERM "$victim"
wait "$victim"
check_equal "SIGTERM ends it well" $? 0
check_equal "and prints that it was stopped" \
    "$(event stopped trials stopped.out)" 0
check "the trial's folder is gone" test ! -e stopped/trial
check "every line was JSON" every_line_is_json stopped.out

cat tiny.yaml - >nodes.yaml <<'YAML'
nodes:
  - { name: a, address: "tcp://127.0.0.1:7001", cores: 1 }
  - { name: b, address: "tcp://127.0.0.1:7002", cores: 1 }
YAML
check_code 64 "several nodes are not tuned" "$skein" tune nodes.yaml
check_match "  with what to do" "give -o 'nodes=\[\]'" .check
check "  and that works" \
    "$skein" tune nodes.yaml -o 'nodes=[]' --candidates 1 \
    --rounds 1 --folder one-process
mkfifo slow.txt
check_equal "Ctrl-C while the data is read ends it" "$(interrupted slow.txt \
    said "$skein" tune tiny.yaml "${some[@]}" -o data.train=slow.txt \
    --folder slow)" 0
check_equal "  in one line" "$(tail -n 1 said)" "stopped before a trial began"
check "  and nothing is left" test ! -e slow

# --- the budget -------------------------------------------------------------
begin=$SECONDS
check_code 64 "a budget that is too small for one trial is reported" \
    "$skein" tune tiny.yaml "${some[@]}" -o train.epochs=30000 --budget 2s \
    --folder small
check "and honoured" test $((SECONDS - begin)) -le 20

# --- trials that fail -------------------------------------------------------
sed 's/units: 32/units: 2000/' tiny.yaml >wide.yaml
"$skein" tune wide.yaml --candidates 5 --rounds 1 --folder wide --json \
    --seed 8 -o train.validate=0.3 -o train.epochs=1 \
    -o train.optimizer.offload=none -o resources.memory=155MiB \
    >wide.out 2>&1
check_equal "a tuning reports its end as an event" \
    "$(event tuned path wide.out)" wide
check_match "a plan that needs too much memory loses" \
    '"message": *"the run needs about' wide.out
awk 'NR == 1 { print; next } { gsub(/:[0-9.]+/, ":3e38"); print }' \
    train.txt >huge.txt
check_code 79 "a file that cannot be trained is reported, with its code" \
    "$skein" tune tiny.yaml "${some[@]}" -o data.train=huge.txt \
    -o data.normalize=none -o train.window=1 --folder bad
check_match "in one line" '^skein: the file itself cannot be trained: .*batch' \
    .check
check_code 71 "as are few descriptors" bash -c 'ulimit -n 30 && exec "$@"' - \
    "$skein" tune tiny.yaml "${some[@]}" --folder few
check_match "and what to do" 'itself cannot be trained: .*; raise .*ulimit -n' \
    .check

# --- rows of two bytes ------------------------------------------------------
sed -e 's/name: output,/name: output, weights: bf16,/' \
    -e 's/rate: 0.01/kind: adagrad/' tiny.yaml >half.yaml
"$skein" tune half.yaml -o train.validate=0.3 --candidates 8 --rounds 1 \
    --folder half >half.out 2>&1
check_match "of a file that wants them are trained" '^ +1 .* auto$' half.out
check_equal "never with adam, which loses its steps in them" \
    "$(grep -c adam half.out)" 0

# --- bad input --------------------------------------------------------------
check_code 66 "a missing file" "$skein" tune none.yaml
check_code 78 "a wrong key" "$skein" tune tiny.yaml -o train.epoch=3
check_code 64 "a wrong share" "$skein" tune tiny.yaml --keep 2
check_code 64 "a wrong time" "$skein" tune tiny.yaml --budget soon
check_code 64 "a wrong metric" "$skein" tune tiny.yaml --metric p2
check_code 64 "no candidates" "$skein" tune tiny.yaml --candidates 0
check_code 64 "standard input" "$skein" tune -
check_code 65 "no point is held back" \
    "$skein" tune tiny.yaml -o train.validate=1e-9 --folder none
finish
