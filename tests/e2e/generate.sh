#!/usr/bin/env bash
# generate.sh - tests what a trained decoder is used for: it continues text, is
# measured, exported and inspected, and bad input is refused in one line.
#
# cli/verb_generate.c, cli/verb_export.c, cli/verb_eval.c,
# topology/predict/generator_score.c, topology/predict/generator_export.c.
# SPDX-License-Identifier: Apache-2.0
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$(dirname "${BASH_SOURCE[0]}")/tiny.sh"

cd "$work" || exit 70
python3 - <<'PYTHON'
import random
draw = random.Random(3)
words = "the cat sat on a mat and saw ünder it one dog".split()
with open("text.txt", "w", encoding="utf-8") as file:
    for _ in range(3000):
        file.write(draw.choice(words) + draw.choice((" ", " ", " ", ".\n")))
PYTHON
cat >m.yaml <<'YAML'
skein: 1
data: { train: text.txt, context: 32, cache: none }
model: { kind: decoder, layers: 2, width: 64, heads: 4 }
train: { micro_tokens: 256, batch_tokens: 1024, steps: 60, validate: 0.1,
         optimizer: { rate: 0.01 } }
resources: { huge_pages: false }
YAML
check "a decoder that has learnt nothing" "$skein" train m.yaml \
    -o checkpoint.path=random -o train.steps=1
check "a tiny decoder trains" \
    "$skein" train m.yaml --json -o checkpoint.path=run
cp .check train.json
cat >recent.py <<'PYTHON'
import json
events = [json.loads(line) for line in open("train.json")]
lines = [e for e in events if e["event"] in ("validation", "epoch")]
assert lines[-1]["step"] == 60 and lines[-1]["event"] == "epoch", lines[-1]
assert all(e["steps"] == 60 and e["batch"] == 4 * e["step"]
           for e in lines if e["event"] == "validation"), lines
first = [e for e in lines if e["event"] == "epoch"][0]
before = lines[:lines.index(first) + 1]
step = mean = 0
for e in before:  # the recent means have the mean of the epoch
    mean += e["recent_loss"] * (e["step"] - step)
    step = e["step"]
assert abs(mean / step - first["loss"]) < 1e-4, (mean / step, first)
PYTHON
check "losses since the last line have the epoch's mean" python3 recent.py
check "the run folder has its tokenizer" \
    grep -q '^skein-tokenizer 1 bytes 257' run/tokenizer
mv text.txt away.txt

# --- generate ---
greedy=("$skein" generate run --prompt "the cat" --temperature 0 --tokens 24)
"${greedy[@]}" >one.txt
"${greedy[@]}" >two.txt
check "greedy text needs no corpus, and is the same each time" \
    cmp one.txt two.txt
check "it has 24 bytes and a line end" test "$(wc -c <one.txt)" = 25
sampled() { "$skein" generate run --prompt the --tokens 90 "$@"; }
sampled --seed 4 >one.txt
sampled --seed 4 >two.txt
sampled --seed 5 >three.txt
check "a seed has one text, also beyond the context" cmp one.txt two.txt
check_code 1 "another seed has another one" cmp -s one.txt three.txt
sampled --top-k 1 >one.txt
sampled --temperature 0 >two.txt
sampled --top-p 0.000001 >three.txt
check "top-k 1 is greedy" cmp one.txt two.txt
check "so is a top-p near 0" cmp one.txt three.txt
"$skein" generate run --tokens 5 >one.txt
"$skein" generate run --tokens 5 --prompt '' >two.txt
check "an empty prompt begins a document" cmp one.txt two.txt
"$skein" generate run --prompt "the cat" --tokens 40 --stop "t" >stop.txt
check_code 1 "text ends before --stop" grep -q t stop.txt

"$skein" generate run --prompt the --tokens 60 --seed 7 --json >events.json
"$skein" generate run --prompt the --tokens 60 --seed 7 >plain.txt
cat >same.py <<'PYTHON'
import json
events = [json.loads(line) for line in open("events.json", encoding="utf-8")]
done, tokens = events[-1], events[:-1]
assert done["event"] == "done" and done["tokens"] == len(tokens), done
assert done["prompt_tokens"] == 3 and done["tokens_per_s"] > 0, done
assert all(e["event"] == "token" and 0 <= e["id"] < 257 for e in tokens)
raw = open("plain.txt", "rb").read()[:-1]
assert bytes(e["id"] for e in tokens if e["id"] < 256) == raw
text = "".join(e["text"] for e in tokens)
assert text == raw.decode("utf-8", "replace"), (text, raw)
PYTHON
check "--json has an event a token, and the same text" python3 same.py

for seed in {1..20}; do
    "$skein" generate random --prompt the --tokens 400 --temperature 9 \
        --seed "$seed" --json
done >random.json
check "any bytes are JSON" python3 -c '
import json
text = "".join(json.loads(line).get("text", "")
               for line in open("random.json", encoding="utf-8"))
assert "\0" in text and "\ufffd" in text and "\n" in text, repr(text)'

long=$(printf 'the cat sat %.0s' 1 2 3 4 5)
greedy=("$skein" generate run --tokens 9 --temperature 0)
"${greedy[@]}" --prompt "$long" >one.txt 2>note
"${greedy[@]}" --prompt "${long: -32}" >two.txt
check "a long prompt is cut to the context" cmp one.txt two.txt
check "which a line says" grep -q \
    "prompt has 60 tokens, of which the model reads the last 32" note
check "in one line" test "$(wc -l <note)" = 1

# refuses CODE SENTENCE PATTERN COMMAND...: one line on standard error.
refuses() {
    local code=$1 sentence=$2 pattern=$3 found=0
    shift 3
    "$@" >out 2>err </dev/null || found=$?
    if [ "$found" = "$code" ] && [ "$(wc -l <err)" = 1 ] &&
        grep -q -- "$pattern" err && [ ! -s out ]; then
        pass "$sentence"
    else
        echo "exit code $found of: $*" >>err
        fail "$sentence" err
    fi
}
refuses 66 "a missing run" "nowhere" "$skein" generate nowhere
refuses 64 "a negative temperature" "--temperature must be a number in 0..100" \
    "$skein" generate run --temperature -1
refuses 64 "which may be written short" "-t must be a number in 0..100" \
    "$skein" generate run -t -1
refuses 64 "a top-p above 1" "top-p" "$skein" generate run --top-p 2
refuses 64 "a top-p of 0" "must be above 0" "$skein" generate run --top-p 0
refuses 64 "an empty stop" "--stop is empty" \
    "$skein" generate run --stop ''
refuses 64 "no tokens" "--tokens must be a whole number" \
    "$skein" generate run --tokens 0
refuses 64 "a seed that is no number" "-s must be a whole number" \
    "$skein" generate run -s x
refuses 64 "a short option without its value" "option -n needs a value" \
    "$skein" generate run -n
refuses 64 "predict of a decoder" "skein generate" "$skein" predict run
refuses 64 "a join of decoders" "cannot be joined" \
    "$skein" join run run --into joined
refuses 78 "a search for a decoder" "models of layers" \
    "$skein" tune m.yaml --folder tuned
cp -r run damaged
sed -i '1s/bytes/bytez/' damaged/tokenizer
refuses 65 "a damaged tokenizer" "tokenizer" "$skein" generate damaged
check_code 65 "which inspect finds, too" "$skein" inspect damaged
tiny_model
"$skein" train tiny.yaml -o train.epochs=1 -o checkpoint.path=labels \
    >/dev/null
refuses 64 "a model that ranks labels" "skein predict" \
    "$skein" generate labels
check "export of such a model writes a file" "$skein" export labels labels.out
check_match "which is none of a decoder's" 'rows in f32' .check
refuses 64 "eval --data of such a model" "data.test" \
    "$skein" eval labels --data m.yaml

# --- text that is not as it should be ---
mkdir folder
cp away.txt folder/a.txt
printf 'caf\xe9' >folder/latin1.txt
check "a folder with a file that is not text" "$skein" train m.yaml \
    -o data.train=folder -o checkpoint.path=from_folder
cp .check folder.out
check "which is reported" grep -qx \
    " *1 file was left out: not UTF-8 text: .*folder/latin1.txt" folder.out
refuses 65 "a step longer than the text" "fewer than a step" \
    "$skein" train m.yaml -o data.train=folder/a.txt \
    -o train.batch_tokens=1048576 -o checkpoint.path=longer
check_code 1 "no run is begun" test -e longer
refuses 71 "weights that do not fit" "fewer model.layers or" \
    "$skein" train m.yaml -o data.train=folder/a.txt \
    -o model.width=8192 -o model.layers=900 -o model.stages=900 \
    -o checkpoint.path=longer

# --- nodes that keep parts of the checkpoints ---
hold_ports 2
list="nodes=[{name: a, address: \"tcp://127.0.0.1:${ports[0]}\"},
    {name: b, address: \"tcp://127.0.0.1:${ports[1]}\"}]"
pids=()
for name in a b; do
    timeout -k 5 60 "$skein" node "$name" m.yaml -o "$list" \
        -o data.train=folder/a.txt -o data.tokenizer=words -o train.steps=8 \
        -o checkpoint.copies=2 -o checkpoint.path="of.$name" \
        >"$name.out" 2>&1 </dev/null &
    pids+=($!)
done
ended() { # PID...: whether all of them end well
    local pid code=0
    for pid; do wait "$pid" || code=$?; done
    return "$code"
}
check "two nodes train" ended "${pids[@]}"
rm of.a/tokenizer
check "the tokenizer of either folder is enough" \
    "$skein" generate of.b --tokens 5

cp -r run other
cp of.b/tokenizer other/
refuses 65 "a tokenizer of other words" "but the model has 257" \
    "$skein" generate other
check_code 65 "which inspect finds, too" "$skein" inspect other

sed 's/cat/cow/g' folder/a.txt >cows.txt
for name in cats:folder/a.txt cows:cows.txt; do
    "$skein" train m.yaml -o data.train="${name#*:}" -o train.steps=1 \
        -o data.tokenizer=words -o checkpoint.path="${name%:*}" >/dev/null
done
check "inspect of a decoder of words" "$skein" inspect cats
cp cows/tokenizer cats/
refuses 65 "as many other words" "that of another run" "$skein" generate cats
refuses 65 "which export refuses, too" "that of another run" \
    "$skein" export cats out
refuses 65 "and eval" "that of another run" \
    "$skein" eval cats --data cows.txt
check_code 65 "which inspect finds, too" "$skein" inspect cats

# --- eval ---
refuses 66 "eval without the run's text" "text.txt" "$skein" eval run
mv away.txt text.txt
check "eval" "$skein" eval run --json
cp .check eval.json
cat >close.py <<'PYTHON'
import json, math
found = json.loads(open("eval.json").readline())
events = map(json.loads, open("train.json"))
nats = [e for e in events if e["event"] == "done"][-1]["validation_nats"]
assert abs(found["validation_nats"] - nats) < 1e-5, nats
nats = found["validation_nats"]
assert 0 < nats < math.log(257), found
assert abs(math.exp(nats) / found["perplexity"] - 1) < 1e-3, found
bits = nats * found["tokens"] / found["bytes"] / math.log(2)
assert abs(bits - found["bits_per_byte"]) < 1e-3, found
assert found["tokens_per_s"] > 0 and found["tokens"] % 32 == 0, found
PYTHON
check "its numbers agree" python3 close.py
printf 'the cat sat on a mat and saw it one dog the cat sat on a' >part.txt
check "a text is scored to its end" "$skein" eval run --data part.txt --json
cp .check part.json
check "all of its bytes but the first" grep -q '"bytes":55,' part.json
check "another text" "$skein" eval run --data m.yaml --json
cp .check other.json
check "which leaves nothing beside it" test ! -e m.yaml.bytes.skt
check "that text is predicted worse" python3 -c '
import json, sys
nats = [json.loads(open(n).readline()) for n in sys.argv[1:]]
assert nats[1]["nats"] > nats[0]["validation_nats"], nats' eval.json other.json
refuses 64 "-o for a decoder" "-o cannot be used" \
    "$skein" eval run -o data.test=x
printf 'the cat' >short.txt
check "a text shorter than the context is scored" \
    "$skein" eval run --data short.txt --json
cp .check short.json
check "all of its tokens but the first" grep -q '"tokens":7,' short.json
: >empty.txt
refuses 65 "a text without a token" "it is empty" \
    "$skein" eval run --data empty.txt
printf 'more text' >>text.txt
refuses 65 "a text that has changed" "has changed" "$skein" eval run
"$skein" train m.yaml -o data.tokenizer=words -o train.steps=8 \
    -o checkpoint.path=worded >/dev/null
printf ' some new words, words' >>text.txt
refuses 65 "another text has other words" "has changed" "$skein" eval worded

# --- export and inspect ---
check "export" "$skein" export run llama --json
check "files of the export" test -s llama/model.safetensors \
    -a -s llama/config.json -a -s llama/tokenizer
refuses 73 "a second export to that folder" "already has" \
    "$skein" export run llama
cat >shapes.py <<'PYTHON'
import json, struct
config = json.load(open("llama/config.json"))
data = open("llama/model.safetensors", "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + length])
assert header.pop("__metadata__") == {"format": "pt"}
assert config["architectures"] == ["LlamaForCausalLM"]
w, i, v = (config[k] for k in ("hidden_size", "intermediate_size",
                               "vocab_size"))
shapes = {name: entry["shape"] for name, entry in header.items()}
wanted = {"model.embed_tokens.weight": [v, w], "lm_head.weight": [v, w],
          "model.norm.weight": [w]}
for layer in range(config["num_hidden_layers"]):
    for name, shape in (("input_layernorm", [w]),
                        ("post_attention_layernorm", [w]),
                        ("self_attn.q_proj", [w, w]),
                        ("self_attn.k_proj", [w, w]),
                        ("self_attn.v_proj", [w, w]),
                        ("self_attn.o_proj", [w, w]),
                        ("mlp.gate_proj", [i, w]), ("mlp.up_proj", [i, w]),
                        ("mlp.down_proj", [w, i])):
        wanted["model.layers.%d.%s.weight" % (layer, name)] = shape
assert shapes == wanted, shapes
assert len(data) == 8 + length + max(e["data_offsets"][1]
                                     for e in header.values())
PYTHON
check "names and shapes are Llama's" python3 shapes.py
check "inspect" "$skein" inspect run

python=
for candidate in python3 /usr/bin/python3; do
    "$candidate" -c 'import importlib.util, numpy
assert importlib.util.find_spec("torch")' 2>/dev/null && python=$candidate
done
if [ -n "$python" ]; then
    "$skein" generate run --prompt "the cat" --temperature 0 --tokens 24 \
        --json >ours.json
    check "a decoder of words trains" "$skein" train m.yaml \
        -o data.tokenizer=words -o checkpoint.path=words
    check "and is exported" "$skein" export words llama_words
    # The program of docs/reference/text.md, with both tokenizers, within the
    # context.
    awk '/^## / { here = /in Python$/ } here && sub(/^    /, "")
        here && /^$/' "$root/docs/reference/text.md" >snippet.py
    # All in one process, as PyTorch takes seconds to start. The program finds
    # gpt.py in the clone by itself.
    cat >peers.py <<'PYTHON'
import contextlib, os, runpy, sys
root, work = sys.argv[1:]
os.chdir(root)

def run(path, main, *words):
    sys.argv = ["program", *words]
    with open(path, "w") as file, contextlib.redirect_stdout(file):
        main()

for name in ("llama", "llama_words"):
    run(work + "/" + name + ".said",
        lambda: runpy.run_path(work + "/snippet.py", None, "__main__"),
        work + "/" + name, "a zat")
import gpt, numpy
os.chdir(work)
run("theirs.json", gpt.main, "generate", "--load", "llama", "--tokens", "24",
    "--prompt", ",".join(map(str, b"the cat")))
for text in ("part", "short"):
    ids = [*open(text + ".txt", "rb").read(), 256]
    numpy.array(ids, "<u2").tofile(text + ".ids")
    run(text + ".peer", gpt.main, "eval", "--load", "llama", "--ids",
        text + ".ids")
PYTHON
    check "PyTorch takes the exports" "$python" peers.py "$root" "$work"
    check "PyTorch continues with the same tokens" python3 -c '
import json
ours = [json.loads(line) for line in open("ours.json")]
ours = [e["id"] for e in ours if e["event"] == "token"]
theirs = [json.loads(line) for line in open("theirs.json")][-1]["ids"][7:]
assert ours == theirs[:len(ours)], (ours, theirs)'

    # The last sequence of part.txt, and the only one of short.txt, is shorter.
    for pair in part:56 short:7; do
        text=${pair%:*}
        check "PyTorch scores $text.txt as eval does, to its end" python3 -c '
import json, sys
ours, theirs = (json.loads(open(name).read().splitlines()[-1])
                for name in (sys.argv[1] + ".json", sys.argv[1] + ".peer"))
assert ours["tokens"] == theirs["tokens"] == int(sys.argv[2]), (ours, theirs)
assert abs(ours["nats"] - theirs["nats"]) < 1e-4, (ours, theirs)' \
            "$text" "${pair#*:}"
    done
    for pair in run:llama words:llama_words; do
        greedy=("$skein" generate "${pair%:*}" --temperature 0 --tokens 24)
        "${greedy[@]}" --prompt "a zat" >one.txt
        check_equal "the program of the page continues as ${pair%:*} does" \
            "$(cat "${pair#*:}.said")" "$(cat one.txt)"
    done
else
    skip "PyTorch continues with the same tokens" "needs python3-torch"
fi

finish
