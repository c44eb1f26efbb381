#!/usr/bin/env bash
# own_data.sh - a user's own file, from rows of texts to predictions with names:
# each format, each layout of processes, and what is wrong with files. Covers
# cli/verb_new.c, topology/plan/plan_auto_texts.c,
# topology/model/model_text.c,
# topology/model/model_preprocessing.c,
# topology/predict/predictor_texts.c and formats/dataset/text_reader.h.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 70

# 1,200 rows of five topics, with words that many rows have and that few do.
python3 - <<'END'
import csv, json, random
random.seed(1)
topics = {
    "sport": "ball net goal team match player coach season",
    "music, old": "bow string violin quartet opera tenor score",
    "cooking": "oven flour butter salt dough spoon preprocessing",
    "straße": "Straßen lorry bridge road traffic lights crossing",
    "quotes \"here\"": "saying speech author phrase book page line",
}
rows = []
for k in range(1200):
    names = random.sample(sorted(topics), random.choice((1, 1, 2)))
    words = [random.choice(topics[name].split()) for name in names
             for _ in range(5)] + random.choices("the a of and in".split(), k=3)
    random.shuffle(words)
    rows.append((" ".join(words) + random.choice(("", ", %d!" % (k % 7))),
                 names))
with open("rows.csv", "w", newline="") as file:
    out = csv.writer(file)
    out.writerow(["id", "tags", "title"])
    out.writerows([k, ";".join(names), text]
                  for k, (text, names) in enumerate(rows))
with open("rows.jsonl", "w") as file:
    for text, names in rows:
        print(json.dumps({"title": text, "tags": names}), file=file)
with open("rows.ft", "w") as file:
    for text, names in rows:
        labels = " ".join("__label__" + n.replace(" ", "_") for n in names)
        print(labels, text, file=file)
END
zstd -q rows.csv -o packed.csv.zst

config=$root/configs/xmc.yaml
columns=(-o data.text_column=title -o data.label_column=tags)
same=(-o train.reduction=fixed -o train.epochs=3 -o train.seed=7
    -o data.test=0.1)
train() { # FILE RUN ARGUMENTS...
    "$skein" train "$config" -o data.train="$1" -o checkpoint.path="$2" \
        "${columns[@]}" "${same[@]}" "${@:3}" >"$2.txt" 2>&1
}
weights() { grep -o 'weights_sha256 .*' "$1.txt" | tail -1; }

for format in csv jsonl ft; do
    check "rows.$format trains" train rows.$format "run.$format"
done
check_equal "JSON lines give the weights of the CSV" \
    "$(weights run.jsonl)" "$(weights run.csv)"
check_equal "and so does fastText's format" \
    "$(weights run.ft)" "$(weights run.csv)"
check "a packed CSV trains" train packed.csv.zst packed
check_equal "and gives the same weights" \
    "$(weights packed)" "$(weights run.csv)"
check_match "rows are held back as a test" '; [0-9]+ test points' run.csv.txt
check_match "the parts of labels are found" 'data.label_separator=;' run.csv.txt
check_equal "the labels are named" "$(sort run.csv/labels | tr '\n' '|')" \
    'cooking|music, old|quotes "here"|sport|straße|'

ask() { "$skein" predict "$@" -k 1 2>err.txt; }
check_match "a text is answered by a name" '^sport:0[.][0-9]+$' \
    <(ask run.csv --text "a BALL over the net, goal")
check_match "letters are folded" '^straße:' <(ask run.csv --text "STRASSEN")
check_match "a line of text on standard input is answered" '^cooking:' \
    <(echo 'flour, butter and salt' | ask run.csv)
check_equal "each row of a CSV has one line" \
    "$(ask run.csv rows.csv | wc -l)" 1200
ask run.csv rows.csv >one.txt
ask run.csv rows.jsonl >other.txt
check "rows of JSON have the same answers" cmp one.txt other.txt
ask run.csv rows.ft >other.txt
check "and so have those of fastText" cmp one.txt other.txt
check_match "JSON answers have names" '"names":\["music, old"\]' \
    <(ask run.csv --json --text "violin and opera")
check_equal "an empty line is answered" \
    "$(printf '\n\n' | ask run.csv | wc -l)" 2
printf '{"title": "ball goal"}\n{oops\n{"title": "oven salt"}\n' >odd.jsonl
ask run.csv odd.jsonl >one.txt
check_match "a bad row has an empty line" '^$' one.txt
check_equal "and the others have theirs" "$(grep -c : one.txt)" 2
check_match "and it is named" 'odd.jsonl:2:5: ' err.txt
check_code 65 "--strict ends there" "$skein" predict run.csv odd.jsonl --strict
check_code 64 "--text and a file exclude each other" \
    "$skein" predict run.csv rows.csv --text x

check_match "eval has the rows that were held back" \
    'rows.csv: 1[0-9][0-9] points' \
    <("$skein" eval run.csv)
check_match "and takes a file of another format" 'rows.ft: 1200 points' \
    <("$skein" eval run.csv -o data.test=rows.ft)

# --- columns of categories and numbers ----------------------------------------

# What a row is follows from one number, one category and no text.
python3 - <<'END'
import csv, json, random
random.seed(2)
rows = []
for k in range(1500):
    price, kind = random.choice((random.uniform(0, 1), random.uniform(50, 100),
                                 None)), random.choice(("red", "blue"))
    label = ("none" if price is None else "low" if price < 1 else "high") + kind
    rows.append({"price": price, "kind": kind, "made in": random.choice("xyz"),
                 "label": label})
with open("table.csv", "w", newline="") as file:
    out = csv.DictWriter(file, ["label", "price", "made in", "kind"])
    out.writeheader()
    out.writerows(rows)
with open("table.jsonl", "w") as file:
    for row in rows:
        print(json.dumps({name: value for name, value in row.items()
                          if value is not None}), file=file)
END
table=(--labels label --categories 'kind, made in' --numbers price
    "${same[@]}")
train_table() { # VERB FILE RUN ARGUMENTS...
    "$skein" "$1" "$2" "${table[@]}" -o checkpoint.path="$3" "${@:4}" \
        >"$3.txt" 2>&1
}
check "a table trains" train_table train table.csv table
sed 's/,[^,]*$/&/; 3,$s/^[^,]*,/,/' table.csv >bare.csv
check "rows without labels are in no test" "$skein" eval table \
    --test bare.csv
check_match "which has what is left" 'bare.csv: 1 point' .check
check_match "every row is right" ' P@1 (1[.]|0[.]9[89])' table.txt
check "rows of JSON train" train_table train table.jsonl table.json
check_equal "and give the weights of the CSV" \
    "$(weights table.json)" "$(weights table)"
check "two nodes train on a table" \
    train_table up table.csv table.up --local-nodes 2
check_equal "to the same weights" "$(weights table.up)" "$(weights table)"
row='{"price": 70, "kind": "red", "made in": "x", "more": 1}'
check_match "a row of JSON is answered" '^highred:' <(echo "$row" | ask table)
check_match "a number may be missing" '^noneblue:' \
    <(echo '{"kind": "blue"}' | ask table)
check_equal "each row of the table has one line" \
    "$(ask table table.csv | wc -l)" 1500
"$skein" export table table.skein >/dev/null
ask table table.csv >one.txt
ask table.skein table.csv >other.txt
check "an exported file gives the same answers" cmp one.txt other.txt
check "new writes a model file for a table" \
    "$skein" new table.csv table.yaml "${table[@]:0:6}"
check_match "with its columns" '^  number_columns: price' table.yaml
check_match "of both kinds" '^  category_columns: "kind, made in"' table.yaml
check "which trains" "$skein" train table.yaml "${same[@]}" \
    -o checkpoint.path=table.new
printf 'label,price,kind\na,1,x\nb,12 EUR,x\n' >odd.csv
check_code 65 "a number that is none is named" "$skein" train odd.csv \
    --labels label --numbers price
check_match "with its place" \
    "odd.csv:3: column 'price' has '12 EUR', which is not a number" .check
check_code 65 "a column that is not there is named" \
    "$skein" train odd.csv --labels label --numbers prize
check_match "with those that are" 'there are label, price, kind' .check
printf 'label,price,text\na,nan,x y\nb,inf,x y\n' >nan.csv
check_code 65 "a column without a number is named" "$skein" train nan.csv \
    --labels label --numbers price
check_match "with its name" "none of the 2 rows has 'price'" .check
check_code 65 "a key that no row has is named" "$skein" train table.jsonl \
    --labels label --numbers prize
check_match "with the rows that were looked at" \
    "none of the 1500 rows has 'prize'" .check
check_code 65 "rows without labels are named" "$skein" train table.jsonl \
    --labels tags --numbers price
check_match "by what they lack" 'table.jsonl:1: has no "tags"' .check
check_match "of a file that is asked one column suffices" \
    '^(high|low|none)red:' <(printf 'kind\nred\n' | ask table)

# --- probabilities ------------------------------------------------------------

check_match "a run is calibrated on its test" \
    '^calibrated on 1[0-9]{2} test points: .* 0[.][0-9]{3}, before' run.csv.txt
"$skein" predict run.csv rows.csv --threshold 0.5 >some.txt
check_equal "a threshold leaves a line for each row" "$(wc -l <some.txt)" 1200
check "of the labels that are named with .5, most are right" python3 - <<'END'
import csv
rows = [set(row["tags"].split(";")) for row in csv.DictReader(open("rows.csv"))]
right = count = 0
for tags, line in zip(rows, open("some.txt")):
    for answer in filter(None, line.rstrip("\n").split("\t")):
        label, probability = answer.rsplit(":", 1)
        assert float(probability) >= 0.5, answer
        right += label in tags
        count += 1
assert count > 1000 and right > 0.7 * count, (count, right)
END
check_equal "with one that nothing reaches lines are empty" \
    "$("$skein" predict run.csv rows.csv --threshold 1 | sort -u)" ""
check_equal "all labels that reach it are named" \
    "$("$skein" predict run.csv --text goal --threshold 1e-9 | tr '\t' '\n' |
        wc -l)" 5
check "a run without a test trains" train rows.csv untested -o data.test='""'
check_match "and is not calibrated, which --threshold says" \
    'is not calibrated: --threshold goes by its scores' \
    <("$skein" predict untested --text goal --threshold 0.1 2>&1)
mv run.csv/calibration kept.calibration
check_match "nor is one whose curves are gone, as eval says" 'not calibrated' \
    <("$skein" eval run.csv)
check_match "the run that is resumed has them again" '^calibrated on' \
    <("$skein" train "$config" -o data.train=rows.csv "${columns[@]}" \
        "${same[@]}" -o checkpoint.path=run.csv --resume)
check "they are the same" cmp run.csv/calibration kept.calibration

# --- two commands -------------------------------------------------------------

check "a data file in place of a model file trains" "$skein" train rows.csv \
    --text title --labels tags -o train.epochs=2
check "the newest run is runs/latest" "$skein" predict runs/latest --text goal
check_match "which has held back a tenth" 'rows.csv: 1[0-9][0-9] points' \
    <("$skein" eval runs/latest)
check "a test file takes the place of the tenth" "$skein" train rows.ft \
    --test rows.jsonl --text title --labels tags -o train.epochs=1 \
    -o checkpoint.path=tested
check_match "all rows train then" '^held_back: 0$' \
    <("$skein" inspect tested/ --json | grep -o 'held_back: [0-9.]*')
check_code 78 "a test file and a share exclude each other" "$skein" check \
    rows.csv --test rows.ft -o data.held_back=0.1
check "a model file is written for a data file" "$skein" new rows.csv new.yaml \
    --text title --labels tags --test 0.2
check_equal "which sets a few keys" \
    "$(grep -v '#' new.yaml | tr -d ' "' | tr '\n' ' ')" \
    "skein:1  data: train:rows.csv held_back:0.2 text_column:title \
label_column:tags  model: layers: -name:hidden -name:output  "
check "and trains as it is" "$skein" train new.yaml -o train.epochs=1 \
    -o checkpoint.path=new
check_code 73 "but is not written over another" "$skein" new rows.csv new.yaml \
    --text title --labels tags
mkdir elsewhere
check "in another folder" "$skein" new rows.ft elsewhere/new.yaml
check "it trains, too" "$skein" train elsewhere/new.yaml -o train.epochs=1 \
    -o checkpoint.path=elsewhere/run
check_code 66 "there may be no newest run" "$skein" predict none/latest --text x

# --- several files -----------------------------------------------------------

python3 - <<'END'
import csv, gzip, os
os.mkdir("parts")
rows = list(csv.DictReader(open("rows.csv", newline="")))
for name, some, columns in (
        ("a.csv", rows[:500], ["id", "tags", "title"]),
        ("b.csv.gz", rows[500:], ["title", "tags"])):
    with (gzip.open if name.endswith("z") else open)(
            "parts/" + name, "wt", newline="") as file:
        out = csv.DictWriter(file, columns, extrasaction="ignore")
        out.writeheader()
        out.writerows(some)
open("parts/.hidden", "w").write("nothing")
open("parts/_SUCCESS", "w")
END
short=(--text title --labels tags -o train.epochs=3 -o train.seed=7
    -o train.reduction=fixed -o train.ranker_trees=0 -o train.ensemble=1)
several() { # RUN FILE...
    "$skein" train "${@:2}" "${short[@]}" -o checkpoint.path="$1" \
        >"$1.txt" 2>&1
}
check "one file, all short" several whole rows.csv
check "several files train" several list parts/a.csv parts/b.csv.gz
check_equal "to the weights of all rows in one" \
    "$(weights list)" "$(weights whole)"
check "a folder of files trains" several folder parts/
check_equal "to the same" "$(weights folder)" "$(weights whole)"
check_match "its cache is beside it" 'parts[.]skc' <(ls)
check "a pattern trains" several pattern 'parts/*.csv*'
check_equal "to the same" "$(weights pattern)" "$(weights whole)"
export XDG_CACHE_HOME=$work/kept
check "and so does standard input" bash -c \
    "'$skein' train - --text title --labels tags -o train.epochs=3 \
        -o train.seed=7 -o train.reduction=fixed -o train.ranker_trees=0 \
        -o train.ensemble=1 -o checkpoint.path=piped <rows.csv >piped.txt"
check_equal "to the same" "$(weights piped)" "$(weights whole)"
check_match "which is kept for eval" 'stdin-[0-9a-f]*: 1[0-9][0-9] points' \
    <("$skein" eval piped)
check "a model file from standard input is one" bash -c \
    "'$skein' check - <'$config' -o data.train=rows.csv --text title \
        --labels tags"
check_match "eval has them all" '/parts: 1[0-9][0-9] points' \
    <("$skein" eval folder)
check_match "and takes a list" '1700 points' \
    <("$skein" eval folder -o 'data.test=[rows.csv, parts/a.csv]' 2>&1)
check_equal "predict takes several" \
    "$(ask folder parts/a.csv parts/b.csv.gz | wc -l)" 1200
check "a model file is written for several" "$skein" new parts/a.csv \
    parts/b.csv.gz list.yaml --text title --labels tags
check_match "with a list" 'train: . "/.*/a.csv", "/.*/b.csv.gz" .' list.yaml
check "which is read" "$skein" check list.yaml
check "nodes have the same list" "$skein" up parts/a.csv parts/b.csv.gz \
    --local-nodes 2 "${short[@]}" -o checkpoint.path="$work/nodes"
"$skein" inspect nodes >nodes.txt
check_equal "and train to the same" "$(weights nodes)" "$(weights whole)"
check_code 66 "one that is missing is named" "$skein" train rows.csv gone.csv
check_match "  alone" '^gone.csv: no such file; check the path' .check
check_code 65 "one of another format" "$skein" train rows.csv rows.jsonl \
    --text title --labels tags
check_match "  is named" \
    'rows.jsonl:1: is json, and the file before it is csv' .check

# --- processes ----------------------------------------------------------------

files_of() { (cd "$1/latest" && sha256sum -- *.safetensors); }
ranked=(--text title --labels tags -o train.reduction=fixed
    -o train.ranker_trees=2 -o train.epochs=3)
check "one process trains a network and a ranker" "$skein" train rows.csv \
    "${ranked[@]}" -o checkpoint.path=one
check "two nodes train them" "$skein" up rows.csv --local-nodes 2 \
    "${ranked[@]}" -o checkpoint.path=two
check_equal "to the same weights and trees" "$(files_of two)" "$(files_of one)"
check "and the same calibration" cmp two/calibration one/calibration
check_equal "the ranker's among them" "$(files_of two | grep -c ranker)" 1
check "so do nodes that come and go" timeout 120 "$skein" up rows.csv \
    --local-nodes 3 --elastic --plain "${ranked[@]}" -o checkpoint.path=three
check_equal "to the same weights and trees" \
    "$(files_of three)" "$(files_of one)"
ask one rows.csv >one.txt
for run in two three three/n1; do
    ask $run rows.csv >other.txt
    check "$run has the same answers" cmp one.txt other.txt
done

check "without a ranker nodes that come and go are calibrated" timeout 120 \
    "$skein" up rows.csv --local-nodes 2 --elastic --plain --text title \
    --labels tags "${same[@]}" -o checkpoint.path=four
ask run.csv rows.csv >one.txt
ask four rows.csv >other.txt
check "and give the probabilities of one process" cmp one.txt other.txt

mkdir left && cp -r three/n[012] left # as if it had been stopped before that
check "one process finds their network alone" "$skein" train --resume left
check_match "and says that the ranker is left out" \
    'the ranker is left out.*skein join left --trees 2' .check
# The nodes of a prediction have a share of the weights each, and no ranker.
"$skein" up rows.csv --local-nodes 2 "${ranked[@]}" -o checkpoint.path=two \
    --predict rows.csv -k 2 >two.txt 2>two.err
check_match "nodes predict without the ranker, and say so" \
    'warning: the ranker of this run is left out' two.err
check_equal "with names, as one process does" \
    "$(grep -cE '^(cooking|music, old|quotes "here"|sport|straße):0.*'$'\t' \
        two.txt)" 1200

# --- what is wrong with the first look ----------------------------------------

first() { # SENTENCE PATTERN CODE FILE...: the first file is looked at.
    check_code "$3" "$1" "$skein" train "${@:4}" --text title --labels tags
    check_match "  and says why" "$2" .check
}
: >empty.csv
first "an empty file" '^empty.csv: the file is empty; ' 65 empty.csv
check_equal "  once" "$(wc -l <.check)" 1
first "an empty file before others" '^empty.csv: the file is empty; ' 65 \
    empty.csv rows.csv
cp rows.csv shut.csv
if [ "$(id -u)" != 0 ]; then
    chmod 0 shut.csv
    first "a first file that may not be read" \
        '^shut.csv: no permission to read it; ' 77 shut.csv rows.csv
fi
mkfifo fifo
first "a pipe among files" 'fifo.*is neither a regular file nor a folder' 66 \
    fifo rows.csv
iconv -t utf-16 rows.csv >wide.csv
first "a file of UTF-16" '^wide.csv:1: the text is UTF-16; save it as' 65 \
    wide.csv
echo '[{"title": "a", "tags": "b"}]' >array.json
first "an array of JSON" '^array.json:1: begins an array of JSON' 65 array.json
first "a model file among others" '^new.yaml: is a model file; give it alone' \
    65 new.yaml rows.csv
echo '{ skein: 1, data: {} }' >flow
first "a model file of one line" '^flow: is a model file; ' 65 flow rows.csv
{ echo '{"title": "a skein: of wool", "skeins": 1, "tags": "yarn"}'
    cat rows.jsonl; } >wool.jsonl
check "rows with a skein of wool are data" "$skein" check wool.jsonl \
    --text title --labels tags
printf 'title\ttags\nball goal\tsport\n' | tee one.tsv >other.tsv
check "several files of TSV are, whose format is named" "$skein" check one.tsv \
    other.tsv -o data.format=tsv --text title --labels tags
check_code 78 "a column without a name is refused" "$skein" train rows.csv \
    --text title --labels tags --categories ,shop
check_match "  and says so" 'data.category_columns has an empty name' .check

# --- what is wrong ------------------------------------------------------------

refuse() { # SENTENCE PATTERN CODE ARGUMENTS...
    check_code "$3" "$1" "$skein" train "$config" -o checkpoint.path=none \
        "${@:4}"
    check_match "  and says why" "$2" .check
}
refuse "a column that is missing" \
    "rows.csv:1: no column is named 'text'.*id, tags, title" 65 \
    -o data.train=rows.csv
echo "words and more words" >lines.txt
refuse "a file of text alone" 'lines.txt:1: is not recognised' 65 \
    -o data.train=lines.txt
{ cat rows.csv; for k in {1..30}; do echo "$k,only two"; done; } >bad.csv
refuse "too many bad rows" \
    'bad.csv:1202: the row has 2 columns.*30 of 1230 rows.*allows 12' 65 \
    -o data.train=bad.csv "${columns[@]}"
check "as many as are allowed are left out" train bad.csv some \
    -o data.bad_rows=0.05
check_match "and counted" \
    'bad.csv:1202: the row has .* .first of 30 rows that cannot be' some.txt
{ cat rows.csv; printf '1200,sport,caf\351\n1201,sport,caf\351 goal\n'; } \
    >latin.csv
check "a file in Latin-1 trains" train latin.csv latin
check_equal "and is warned of once" "$(grep -c 'not UTF-8' latin.txt)" 1
check_match "with its first row" \
    'latin.csv:1202: first of 2 rows that are not UTF-8.*iconv -f latin1' \
    latin.txt
{ for k in {1..300}; do echo "$((k % 3)) $((k % 7)):1 9:.5"; done
    echo "1 x:1"; } >bad.svm
check "bad lines of numbered features are left out, too" "$skein" train \
    "$config" -o data.train=bad.svm -o train.epochs=1 -o checkpoint.path=svm \
    -o data.test=0.1
check_match "and counted" \
    'bad.svm:301:3: .* .first of 1 row that cannot be read' .check
check_match "eval leaves them out as well" ' points' <("$skein" eval svm)
refuse "none if none is allowed" 'bad.svm:301:3: ' 65 -o data.train=bad.svm \
    -o data.bad_rows=0
cp run.csv/vocabulary run.ft/vocabulary
check_code 65 "the vocabulary of another model" "$skein" predict run.ft --text x
check_match "  and says so" 'is the vocabulary of another model' .check
cp -r run.csv names
sed -i 1s/$/s/ names/labels
check_code 65 "names that the vocabulary does not have" \
    "$skein" predict names --text x
check_match "  and says so" 'has other names than the vocabulary' .check
for form in labels vocabulary; do
    rm names/$form && mkfifo names/$form
    check_code 65 "a pipe for $form" timeout 20 "$skein" predict names --text x
    check_match "  is named" "names/$form: is not a regular file" .check
    rm names/$form && cp run.csv/$form names
done
rm run.jsonl/vocabulary
check_code 66 "a run without its vocabulary" "$skein" predict run.jsonl --text x
printf 'x' | dd of=run.ft/vocabulary bs=1 seek=60 conv=notrunc status=none
check_code 65 "a vocabulary that is damaged" "$skein" predict run.ft --text x
check "a model of numbered features trains" "$skein" train "$config" \
    -o train.max_batches=2 -o checkpoint.path=numbers
check_code 64 "which knows no words" "$skein" predict numbers --text x
finish
