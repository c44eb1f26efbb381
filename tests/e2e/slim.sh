#!/usr/bin/env bash
# slim.sh - a model in one file: its answers are the run's, its size is what was
# asked, numpy reads it, and bad files are refused in one line. Covers
# cli/verb_export.c, topology/predict/predictor_export.c,
# topology/run/inspection_slim.c and docs/reference/checkpoint.md.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 70

# 1,500 rows of 12 topics with 30 words each, and words that belong to none.
python3 - <<'END'
import csv, random
random.seed(1)
words = ["".join(random.choices("abcdefghiklmnoprstuvw", k=6))
         for _ in range(3000)]
with open("rows.csv", "w", newline="") as file:
    out = csv.writer(file)
    out.writerow(["tags", "title"])
    for k in range(1500):
        topics = random.sample(range(12), random.choice((1, 1, 2)))
        text = [words[30 * topic + random.randrange(30)] for topic in topics
                for _ in range(4)] + random.choices(words[360:], k=6)
        out.writerow([";".join("topic %d" % topic for topic in topics),
                      " ".join(text)])
END
train() { # RUN ARGUMENTS...
    "$skein" train "$root/configs/xmc.yaml" -o data.train=rows.csv \
        -o data.text_column=title -o data.label_column=tags -o data.test=0.1 \
        -o train.epochs=4 -o train.seed=7 -o checkpoint.path="$1" "${@:2}" \
        >"$1.txt" 2>&1
}
check "a model with a ranker trains" train run -o train.ranker_trees=1
check "a model without one trains" train plain -o train.ranker_trees=0

# --- the same answers ---------------------------------------------------------

for run in run plain; do
    check "$run is exported" "$skein" export $run $run.model
    "$skein" predict $run rows.csv -k 3 >want.txt
    check "its file answers" \
        bash -c "\"$skein\" predict $run.model rows.csv -k 3 >got.txt"
    check "with the same bits" cmp want.txt got.txt
done
check_match "which are calibrated" '"calibrated":true' \
    <("$skein" eval run.model --json)
check_equal "a threshold chooses the same labels" \
    "$("$skein" predict run.model rows.csv --threshold 0.3 | md5sum)" \
    "$("$skein" predict run rows.csv --threshold 0.3 | md5sum)"
check "eval takes it" bash -c "\"$skein\" eval run >want.txt"
check "and of the file, too" bash -c "\"$skein\" eval run.model >got.txt"
check_equal "with the same scores" "$(grep 'P@1' got.txt)" \
    "$(grep 'P@1' want.txt)"
check_match "inspect shows it" 'output.rows +B?F' \
    <("$skein" inspect run.model)
check_match "and as JSON" '"data_xxh3_128":"[0-9a-f]{32}"' \
    <("$skein" inspect run.model --json)
mkdir other
mv run.model other
check_match "it needs nothing beside it" '^topic [0-9]+:0' \
    <(cd / && "$skein" predict "$work/other/run.model" \
        --text "$(sed -n '2s/.*,//p' "$work/rows.csv")")

# --- smaller files ------------------------------------------------------------

bytes_of() { stat -c %s "$1"; }
p1_of() { sed -n 's/.*"p1":\([0-9.]*\)}/\1/p' "$1"; }
for rows in bf16 int8; do
    check "rows in $rows are exported" bash -c \
        "\"$skein\" export plain $rows --rows $rows --json >$rows.json"
    check_match "with their accuracy" '"p1_before":[01][.].*"p1":' $rows.json
    check "which is nearly the same" awk -v p="$(p1_of $rows.json)" \
        -v all="$(sed -n 's/.*"p1_before":\([0-9.]*\),.*/\1/p' $rows.json)" \
        'BEGIN { exit !(p > all - 0.03) }'
done
check "bf16 is smaller" test "$(bytes_of bf16)" -lt "$(bytes_of plain.model)"
check "int8 is smaller still" test "$(bytes_of int8)" -lt "$(bytes_of bf16)"
check "an export is exported again" "$skein" export bf16 again --rows int8
most=$(($(bytes_of int8) * 9 / 10))
check "a size is kept" bash -c \
    "\"$skein\" export run small --max-size $most >small.txt"
check "it is not larger" test "$(bytes_of small)" -le "$most"
check_match "features are left out" 'int8, of [0-9]+ of [0-9]+ features' \
    small.txt
check_match "and what it costs is printed" \
    'P@1 +[01][.][0-9]+, before [01][.][0-9]+' small.txt
check "it answers" "$skein" predict small --text "a b c"
check_match "a size that is large enough changes nothing" 'rows in f32$' \
    <("$skein" export plain large --max-size 1.5GiB)

# --- numpy --------------------------------------------------------------------

# The program of the page, as it stands there, on numbered features.
sed -n '/^```python$/,/^```$/p' "$root/docs/reference/checkpoint.md" |
    sed '/^```/d' >page.py
python3 - >points.txt <<'END'
import random
random.seed(2)
print("400 6 5")
for k in range(400):
    label = k % 5
    print(label, "%d:1 5:%.2f" % (label, random.random()))
END
check "numbered features are trained on" "$skein" train \
    "$root/configs/xmc.yaml" -o data.train=points.txt -o 'data.test=""' \
    -o train.ranker_trees=0 -o train.ensemble=1 -o train.epochs=2 \
    -o model.layers.output.loss=softmax -o checkpoint.path=numbers
echo '0:0.6 2:0.8' >point.txt
check "the smallest size is found" bash -c "for k in {1..60}; do \
    \"$skein\" export numbers pruned --max-size \$((4000 + 100 * k)) && break; \
    done"
cat >compare.py <<'END'
exec(open("page.py").read())
answers = open("said.txt").read().split()
assert len(answers) == 5, answers
share = np.exp(logits - logits.max())
share /= share.sum()
for answer in answers:
    label, said = answer.split(":")
    assert abs(share[int(label)] - float(said)) < 1e-4, (answer, share)
END
numpy=
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import numpy' 2>/dev/null && numpy=$candidate
done
for rows in f32 bf16 int8 pruned; do
    rm -f model.skein
    if [ -z "$numpy" ]; then
        skip "numpy reads $rows" "needs python3-numpy"
        continue
    fi
    if [ $rows = pruned ]; then
        cp pruned model.skein
    else
        "$skein" export numbers model.skein --rows $rows >/dev/null
    fi
    "$skein" predict model.skein point.txt -k 5 >said.txt
    check "numpy computes the logits of $rows as the page says" \
        "$numpy" compare.py
done

# --- what is wrong ------------------------------------------------------------

refuses() { # CODE SENTENCE PATTERN COMMAND...
    check_code "$1" "$2" "${@:4}"
    check_match "  and says why" "$3" .check
}
refuses 73 "a name that is taken" 'plain.model already exists' \
    "$skein" export run plain.model
refuses 66 "a folder that is missing" 'none/' \
    "$skein" export run none/model
refuses 64 "an unknown format" 'f32, bf16 and int8' \
    "$skein" export run x --rows f16
refuses 64 "a size that is none" 'not a size' \
    "$skein" export run x --max-size many
refuses 65 "a size that cannot be reached" 'cannot have 2000 bytes' \
    "$skein" export run x --max-size 2KB
size=$(bytes_of plain.model)
head -c $((size - 1)) plain.model >short
refuses 65 "a truncated file" 'short: ' "$skein" predict short --text x
head -c 1000 plain.model >short
refuses 65 "a file with half a header" 'short: ' "$skein" predict short --text x
head -c 20 plain.model >short
refuses 66 "less than that" 'short is neither' "$skein" predict short --text x
cp plain.model odd
printf 'X' | dd of=odd bs=1 seek=300 conv=notrunc status=none
for verb in predict eval inspect; do
    refuses 65 "a changed header ($verb)" 'odd: its header is damaged' \
        "$skein" $verb odd
done
sed 's/"version":"1"/"version":"2"/' plain.model >odd
refuses 65 "a newer version" 'odd: was written by a newer version' \
    "$skein" predict odd --text x
cp plain.model odd
printf 'X' | dd of=odd bs=1 seek=$((size - 100)) conv=notrunc status=none
refuses 65 "changed data" 'odd: is damaged: the hash of its data' \
    "$skein" inspect odd
cp "$(find plain/ -name '*.safetensors' | head -1)" foreign
refuses 66 "another safetensors file" 'foreign is neither' \
    "$skein" predict foreign --text x
refuses 64 "generate" 'ranks labels' "$skein" generate plain.model
refuses 73 "join" '' bash -c "\"$skein\" join plain.model --into out; exit 73"
(ulimit -f 8 && exec "$skein" export plain full) >full.txt 2>&1
check "a disk that is full is an error" test $? -ne 0
check_match "in one line" '^skein: full: cannot write: File too large' full.txt
rm full.txt
check_equal "and leaves nothing" "$(find . -maxdepth 1 -name '*full*')" ""
# --- two at once --------------------------------------------------------------
for k in 1 2 3 4 5 6; do
    "$skein" export run "both$k" --rows f32 >/dev/null 2>&1 &
    one=$!
    "$skein" export run "both$k" --rows int8 >/dev/null 2>&1
    other=$?
    wait "$one"
    one=$?
    rows=$("$skein" inspect "both$k" | grep -c ' I8 ')
    [ "$one.$other.$((rows > 0))" = 0.73.0 ] ||
        [ "$one.$other.$((rows > 0))" = 73.0.1 ] ||
        echo "$k: $one $other $rows" >>both
done
check_equal "of two exports to one name one succeeds, and it is its file" \
    "$(cat both 2>/dev/null)" ""
finish
