#!/usr/bin/env bash
# convert.sh - skein convert: rows from each format into each other and into
# numbered features, packed or not. Covers cli/verb_convert.c,
# formats/dataset/convert.c, formats/dataset/convert_points.c,
# formats/records/records_write.c and formats/source/sink.c.
#
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 70

python3 - <<'END_OF_ROWS'
import csv
rows = [(";".join(names), text) for names, text in (
    (["a", "b c"], "plain words"), (["b c"], 'say "so",\nthen'), (["a"], ""),
    ([], "no label"), (["日本", "a"], " blanks \t around "),
    (["a"], "__label__x is a word"), (["a"], "\0\x1f \\ é"))]
with open("rows.csv", "w", newline="") as file:
    out = csv.writer(file, lineterminator="\n")
    out.writerow(["tags", "title"])
    out.writerows(rows)
END_OF_ROWS
columns=(--text title --labels tags)
convert() { "$skein" convert "$@" >out.txt 2>err.txt; }
same() { # FILE FILE: the same rows, as Python reads them
    python3 - "$@" <<'END_OF_LOOK'
import csv, sys
one, other = ([[c.strip() for c in row] for row in
               csv.reader(open(name, newline=""))] for name in sys.argv[1:])
sys.exit(one != other)
END_OF_LOOK
}

check "CSV becomes JSON lines" convert rows.csv rows.jsonl.zst "${columns[@]}"
check_match "which are counted" 'rows.csv .csv.: 7 rows -> rows.jsonl.zst' \
    out.txt
check "and are packed" zstd -qdf rows.jsonl.zst
check_equal "as Python reads them" "$(python3 -c '
import json
rows = [json.loads(line) for line in open("rows.jsonl")]
print(rows[0]["tags"], rows[1]["title"] == "say \"so\",\nthen",
      rows[3]["tags"], rows[6]["title"] == "\0\x1f \\ é")')" \
    "['a', 'b c'] True [] True"
check "back to CSV" convert rows.jsonl.zst back.csv "${columns[@]}"
check "they are the same rows" same rows.csv back.csv
check "to TSV, by gzip" convert rows.csv rows.tsv.gz "${columns[@]}"
check "and back" convert rows.tsv.gz again.csv "${columns[@]}"
check "they are the same" same rows.csv again.csv

check "JSON lines become fastText's" \
    convert rows.jsonl rows.ft "${columns[@]}"
check_match "a label has no blanks there" '__label__a __label__b_c plain' \
    rows.ft
check_match "  which is said" '2 labels had characters that fasttext cannot' \
    err.txt
check_match "  and of texts, too" '2 texts had characters' err.txt
check_equal "each row is a line" "$(wc -l <rows.ft)" 7
check "and back to CSV" convert rows.ft last.csv "${columns[@]}"
check_equal "with the labels that they have" \
    "$(head -2 last.csv | tail -1 | tr -d '"')" "a;b_c,plain words"

printf 'tags,title\na,b\nonly\nc,d\n' >bad.csv
check "a bad row is left out" convert bad.csv good.jsonl "${columns[@]}"
check_match "  and named" 'bad.csv:3: the row has 1 columns' err.txt
check_match "  and counted" '2 rows, 1 left out' out.txt
check_code 65 "--strict refuses it" "$skein" convert bad.csv no.jsonl \
    "${columns[@]}" --strict
check_equal "and leaves no file" "$(ls no.jsonl* 2>/dev/null)" ""
check_match "JSON has the counts" '"rows":2,"bad_rows":1' \
    <("$skein" convert bad.csv counted.jsonl "${columns[@]}" --json 2>/dev/null)
check_code 64 "an ending that names no format" \
    "$skein" convert rows.csv rows.x "${columns[@]}"
check_code 64 "a format that is unknown" \
    "$skein" convert rows.csv rows.x "${columns[@]}" --to xml
check_code 66 "a file that is missing" "$skein" convert none.csv x.csv
check_code 73 "a folder that is missing" \
    "$skein" convert rows.csv none/x.csv "${columns[@]}"
check_code 73 "what is no file" "$skein" convert rows.csv /dev/null --to csv \
    "${columns[@]}"
check "rows become numbered features" convert rows.csv rows.svm \
    "${columns[@]}"
check_match "which are counted" \
    'rows.csv .csv.: 7 rows -> rows.svm .svmlight.' out.txt
check_equal "with names of labels beside them" \
    "$(tr '\n' '|' <rows.svm.labels)" 'a|b c|日本|'
check_match "and those of features" '^plain$' rows.svm.features
check_equal "labels and words are numbered" "$(python3 -c '
names = open("rows.svm.features").read().split("\n")
rows = [line.split() for line in open("rows.svm")]
print(rows[0][0], [names[int(f.split(":")[0])] for f in rows[0][1:]],
      len(rows), rows[2])')" "0,1 ['plain', 'words'] 7 ['0']"
check "with a header, packed" convert rows.csv rows.xmc.gz "${columns[@]}"
check_match "which has the sizes" '^7 [0-9]+ 3$' <(zcat rows.xmc.gz)
check "Skein trains on it" "$skein" train rows.xmc.gz -o train.epochs=1 \
    --test 0 -o checkpoint.path=run
check "numbered features become those of the other form" \
    convert rows.xmc.gz points.svm
check_match "which are counted" '.points.: 7 rows -> points.svm .svm' out.txt
check "and back" convert points.svm points.xmc.gz
check "they are the same" cmp <(zcat rows.xmc.gz) <(zcat points.xmc.gz)
check_equal "without names, which are not known" "$(ls points.*)" \
    $'points.svm\npoints.xmc.gz'
check_code 64 "they are no texts" "$skein" convert points.svm texts.csv
check_code 64 "a pipe cannot be read twice" bash -c \
    "'$skein' convert - piped.svm --text title --labels tags <rows.csv"
mkdir part
(cat rows.csv; yes 'a,some more words') | "$skein" convert - part/b.jsonl \
    "${columns[@]}" >/dev/null 2>&1 &
victim=$!
wait_until 300 bash -c 'compgen -G "part/.tmp-b.jsonl*"'
kill -KILL "$victim"
wait "$victim" 2>/dev/null
check_equal "what a killed one leaves is hidden" "$(ls part)" ""
check "a pipe is read" bash -c \
    "'$skein' convert - piped.jsonl --text title --labels tags <rows.csv"

# Several inputs, and columns that are left out.
printf 'id,tags,title,when\n1,a,one,x\n2,b,two,y\n' >more.csv
check "several files become one" convert rows.csv more.csv three.jsonl \
    "${columns[@]}"
check_match "which are named" '^rows.csv, more.csv .csv.: 9 rows' out.txt
check_equal "no column is left out" "$(grep 'left out' err.txt)" ""
left='^skein: warning: 2 columns are left out: id, when; --text COLUMN'
check "columns that are left out" convert more.csv more.jsonl "${columns[@]}"
check_match "are named" "$left" err.txt
check "also for numbered features" convert more.csv more.svm "${columns[@]}"
check_match "  are they named" "$left" err.txt
check "no column is left out of all" convert more.csv all.jsonl \
    --text id,title,when --labels tags
check_equal "  and none is named" "$(cat err.txt)" ""
python3 -c '
print(",".join(["tags", "title"] + ["n%d" % k * 8 for k in range(99)]))
print(",".join("a" * 101))' >wide.csv
check "very many columns" convert wide.csv wide.jsonl "${columns[@]}"
check_match "  of which the first are named" \
    ': 99 columns are left out: n0n0n0n0n0n0n0n0, [n0-9, ]*, [.]{3};' err.txt
check_equal "check names several files, too" \
    "$("$skein" check rows.csv more.csv "${columns[@]}")" \
    "ok: rows.csv, more.csv are a model of 2 layers"

# No file is overwritten.
refuses() { # WHAT TAKEN IN OUT [OPTION...]: and TAKEN stays as it is
    local before
    before=$(sha256sum "$2")
    check_code 73 "$1" "$skein" convert "${@:3}"
    check_match "  and says so" "$2: cannot be created: File exists; give" \
        "$work/.check"
    check_equal "  and leaves it as it is" "$(sha256sum "$2")" "$before"
}
cp rows.csv keep.csv
refuses "convert does not write over its input" keep.csv keep.csv keep.csv \
    "${columns[@]}"
refuses "nor over another file" back.csv rows.csv back.csv "${columns[@]}"
refuses "nor with numbered features" points.svm rows.xmc.gz points.svm
echo mine | tee taken.svm.labels >packed.svm.features
refuses "nor names of labels" taken.svm.labels rows.csv taken.svm \
    "${columns[@]}"
refuses "nor names of features" packed.svm.features rows.csv packed.svm.gz \
    "${columns[@]}"
check_equal "nor is anything written beside them" \
    "$(echo taken.* packed.*)" "taken.svm.labels packed.svm.features"
finish
