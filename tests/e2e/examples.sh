#!/usr/bin/env bash
# examples.sh - the programs of docs/examples are built against an installed
# libskein, as C11 and as C++17, and do what they say.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"

check "make install works" cmake --install "$build" --prefix "$work/prefix" ||
    finish
libdir=$(dirname "$(find "$work/prefix" -name libskein.a)")
export PKG_CONFIG_PATH=$libdir/pkgconfig
export LD_LIBRARY_PATH=$libdir
cp -r "$root/docs/examples/." "$work/examples"
cd "$work/examples" || exit 70

lines() { cat "$@" | wc -l; }
check "ping_pong.c is under 40 lines" test "$(lines ping_pong.c)" -lt 40
check "wordcount is under 100 lines with its topology" \
    test "$(lines wordcount/wordcount.c wordcount/wordcount.yaml)" -lt 100
check "train.c has at most 60 lines" test "$(lines train.c)" -le 60
head -c 20000 "$root/LICENSE" >text.txt
seq 0 899 | sed 's/^/label /' >names
ln -s "$work/prefix/share/skein/data/wnhyp/train.txt.zst" .
# The requests to service.c, and the answers of the command.
tiny_model
hold_ports 2
"$skein" keygen a.key >/dev/null && "$skein" keygen lead.key >/dev/null
cat tiny.yaml - >joined.yaml <<YAML
coordinator: { address: "tcp://127.0.0.1:${ports[0]}", key: lead.key }
nodes:
  - { name: a, address: "tcp://127.0.0.1:${ports[1]}", key: a.key }
YAML
check "a model is trained" "$skein" train tiny.yaml -o train.epochs=1
check "and another" "$skein" train tiny.yaml -o train.epochs=1 \
    -o train.seed=2 -o checkpoint.path=other
check "and one with names" "$skein" train tiny.yaml -o train.epochs=1 \
    -o data.labels=examples/names -o checkpoint.path=named
tail -n +2 test.txt | cut -d ' ' -f 2- >requests
"$skein" predict run requests --top 1 >best
for k in {1..40}; do
    printf '__label__sport a ball over the net %d\n' "$k"
    printf '__label__food butter and flour %d\n' "$k"
    printf '__label__music a string and a bow %d\n' "$k"
done >texts
"$skein" train texts --test 0 -o train.epochs=3 -o checkpoint.path=texts-run \
    >texts.txt 2>&1
cat -n best | awk '{ print $1, $2 }' >answers
"$skein" predict named requests --top 1 | cat -n |
    sed 's/^ *//; s/\t/ /' >named_answers
tr -s ' ' <examples/text.txt >once.txt
cat >decoder.yaml <<'YAML'
skein: 1
data: { train: once.txt, context: 32, cache: none }
model: { kind: decoder, layers: 1, width: 32, heads: 2 }
train: { micro_tokens: 256, batch_tokens: 512, steps: 60,
         optimizer: { rate: 0.02 } }
resources: { huge_pages: false }
YAML
check "a decoder is trained" "$skein" train decoder.yaml \
    -o checkpoint.path=decoder
"$skein" generate decoder --prompt "You may" --temperature 0 --tokens 100 \
    >continued
cd "$work/examples" || exit 70

c11=(gcc -std=c11)
cxx17=(g++ -std=c++17 -x c++)
# example PACKAGES ARGUMENT...: compiles with $compile what has no warning.
example() {
    local flags packages=$1
    shift
    # shellcheck disable=SC2086
    flags=$(pkg-config --cflags --libs $packages) || return 1
    # shellcheck disable=SC2086
    "${compile[@]}" -Wall -Wextra -pedantic -Werror "$@" -x none $flags
}
# builds NAME PACKAGES OPTION...
builds() {
    local name=$1 packages=$2
    shift 2
    check "$language: $name.c builds" \
        example "$packages" "$name.c" -o "$name" "$@"
}
for language in c11 cxx17; do
    declare -n compile=$language
    for name in ping_pong daemon; do builds $name skein-core; done
    for name in check generate join model predict texts train tune yielding; do
        builds $name skein
    done
    for name in host ports; do builds $name "skein libczmq libzmq"; done
    builds watch "skein-core libuv"
    builds service skein -pthread
    check "$language: the plug-in wordcount.c builds" example skein-core \
        -shared -fPIC wordcount/wordcount.c -o wordcount/wordcount.so
    # The C++ is the C: nightly runs it, too.
    [ $language = c11 ] || [ -n "${SKEIN_TESTS:-}" ] || continue

    check_equal "$language: two actors hit the ball in turn" \
        "$(timeout 20 ./ping_pong | tr '\n' ,)" \
        "$(for k in 1 3 5 7 9; do
            printf 'a hits %d,b hits %d,' "$k" $((k + 1))
        done)"

    # The library and libzmq are built without the sanitizer.
    if example skein-core ping_pong.c -fsanitize=thread -o sanitized \
        2>/dev/null; then
        check "$language: its thread sanitizer finds no race" \
            timeout 60 ./sanitized
    fi

    cd "$work" || exit 70
    for epochs in 1 1000000; do
        run=joined_$epochs
        sed -e "s/epochs: .*/epochs: $epochs/" -e "s/path: [^,]*/path: $run/" \
            joined.yaml >$run.yaml
        "$skein" coordinator $run.yaml >$run.lead 2>&1 </dev/null &
        lead=$!
        at_exit "kill -9 $lead 2>/dev/null"
        timeout 120 examples/join $run.yaml a "$skein" >$run.out &
        join=$!
        [ $epochs = 1 ] || wait_until 300 grep -q '"checkpoint"' $run.out
        [ $epochs = 1 ] || pkill -TERM -P $join
        check "$language: a service takes part and ends well" wait $join
        kill -TERM $lead 2>/dev/null
        wait $lead
        rm -rf $run
    done
    check_match "$language:   when the run is done" '"event":"over"' \
        joined_1.out
    check_match "$language:   and when it leaves" \
        '"event":"left","node":"a","reason":"asked"' joined_1000000.out
    cd examples || exit 70

    cp text.txt wordcount/
    timeout 20 "$work/prefix/bin/skein" run wordcount/wordcount.yaml >counts
    pattern='s/.*"word":"\([a-z]*\)","count":\([0-9]*\).*/\1 \2/'
    check_equal "$language: it counts words as a shell does" \
        "$(sed "$pattern" counts | sort)" \
        "$(tr 'A-Z' 'a-z' <text.txt | tr -cs 'a-z' '\n' |
            sed '/^$/d' | sort | uniq -c | awk '{ print $2, $1 }' | sort)"
    check_code 66 "$language: a file that is missing is named" \
        sh -c "rm wordcount/text.txt; '$work/prefix/bin/skein' run \
            wordcount/wordcount.yaml"

    timeout 20 ./host >sums 2>report
    check_equal "$language: a host follows the run in its own loop" \
        "$(tr '\n' ' ' <sums)" \
        "$(printf '{"sum":%d} ' 0 1 3 6 10 15)SIGINT is still mine "
    check_match "$language: and prints where the time went" \
        '^counter .* 6 ' report
    timeout 20 ./ports <text.txt >words
    check_equal "$language: a program's lines go through an actor and back" \
        "$(cat words)" "$(awk '{ print NF, "words" }' text.txt)"

    check_equal "$language: a daemon gets the total of every line" \
        "$(seq 100000 | timeout 20 ./daemon)" "100000 lines, 488895 bytes"
    check_equal "$language: SIGTERM loses nothing of what it has read" \
        "$(timeout 60 python3 - <<'PYTHON'
import fcntl, os, subprocess, sys, termios, time
daemon = subprocess.Popen("./daemon", stdin=subprocess.PIPE)
daemon.stdin.write(b"".join(b"%d\n" % k for k in range(5000)))
daemon.stdin.flush()
while fcntl.ioctl(daemon.stdin, termios.FIONREAD, bytes(4)) != bytes(4):
    time.sleep(.01)
daemon.terminate()
sys.exit(daemon.wait())
PYTHON
        )" "5000 lines, 18890 bytes"

    check_equal "$language: an actor reads what a descriptor brings" \
        "$({
            sed -n 1,30p text.txt
            sleep .2
            sed -n '31,$p' text.txt
        } | timeout 20 ./watch)" "$(awk '{ print NR, $0 }' text.txt)"
    check_code 65 "$language: a failure of the actor is the program's" \
        sh -c 'head -c 9000 /dev/zero | tr "\\0" x | timeout 20 ./watch'

    check_equal "$language: the plan of a file is printed" \
        "$(timeout 20 ./check "$work/tiny.yaml" 2>&1 | grep -c '^topology:')" 1
    check_code 78 "$language: a wrong file is refused" sh -c \
        "sed 's/train:/trian:/' '$work/tiny.yaml' | ./check 2>complaints"
    check_match "$language: with each of its problems" \
        "^stdin:[0-9]+:[0-9]+: error: .*'trian'" complaints

    rm -f input && mkfifo input
    ./service "$work/run" <input >served 2>reloads &
    service=$!
    exec 9>input
    head -n 100 "$work/requests" >&9
    check "$language: it answers while its input is open" \
        wait_until 300 sh -c '[ "$(cat served | wc -l)" -eq 100 ]'
    kill -HUP $service
    check "$language: it opens the model again" \
        wait_until 300 grep -q '^reloaded' reloads
    mv "$work/run" "$work/gone"
    kill -HUP $service
    check "$language: it keeps the model that it has" \
        wait_until 300 grep -q '^the former model stays: .*/run' reloads
    mv "$work/gone" "$work/run"
    tail -n +101 "$work/requests" >&9
    exec 9>&-
    check "$language: it ends with its input" wait $service
    check_equal "$language: and answers as the command does" \
        "$(sort -n served)" "$(cat "$work/answers")"

    check "$language: with the names of a model that has some" \
        sh -c "./service '$work/named' <'$work/requests' >served"
    check_equal "$language:   as the command does" \
        "$(sort -n served)" "$(cat "$work/named_answers")"
    printf 'butter and flour\na ball over the net\n' |
        ./service "$work/texts-run" >served
    check_equal "$language:   and texts, if the model knows them" \
        "$(sort -n served | cut -d: -f1 | tr '\n' ,)" "1 food,2 sport,"

    check_match "$language:   and names the labels of texts" \
        '^sport: [01][.][0-9]+, ' \
        <(./texts "$work/texts-run" "a ball over the net")
    check_equal "$language:   and answers rows of texts" \
        "$(echo "a ball over the net" | ./predict "$work/texts-run")" sport
    check "$language: it answers lines as the command does" \
        sh -c "./predict '$work/run' <'$work/requests' >served"
    check_equal "$language:   with labels" "$(cat served)" "$(cat "$work/best")"
    gzip -c names >names.gz
    echo 'x:y' | cat - "$work/requests" | ./predict "$work/run" names.gz >served
    check_equal "$language:   with names, and with a reason where it has none" \
        "$(cut -d, -f1 served)" \
        "$(echo 'stdin:1:1: expected a feature' &&
            sed 's/\([0-9]*\):.*/label \1/' "$work/best")"

    check "$language: it joins two runs" \
        sh -c "./model '$work/run' '$work/other' both >shown"
    check_equal "$language:   lists the checkpoint of the result" \
        "$(head -n 1 shown)" "$(cd both && ls -d batch-*), the latest"
    check_match "$language:   and its tensors" \
        '^hidden.weight: 12800 numbers$' shown
    check_equal "$language:   and scores it as the command does" \
        "$(sed -n 's/P@1 \([0-9.]*\) .*/\1/p' shown)" \
        "$("$skein" eval both --json | grep -o '"p1":[0-9.]*' | cut -d: -f2)"

    check "$language: it continues a text" \
        sh -c "./generate '$work/decoder' 'You may' >text"
    check "$language:   as the command does" cmp text "$work/continued"
    check_code 66 "$language:   and names a run that is not there" \
        ./generate none

    check "$language: it trains" timeout 120 ./train
    events='"event":"(start|checkpoint|stopped|resume|done)|^label'
    check_equal "$language:   saves on demand, stops, resumes and predicts" \
        "$(grep -Eo "$events" "$work/.check" | uniq | cut -d'"' -f4 |
            tr '\n' ' ')" \
        "start checkpoint stopped resume start checkpoint done label "

    check "$language: it tunes" timeout 300 ./tune "$work/tiny.yaml" tuned
    check_equal "$language:   with an event for each trial" \
        "$(grep -c '"event":"trial"' "$work/.check")" 4
    check_match "$language:   and writes the best config" \
        '^train with tuned/tune.yaml$' "$work/.check"
    check "$language:   and resumes" timeout 300 ./tune "$work/tiny.yaml" tuned
    check_code 7 "$language: a command gives way" ./yielding sh -c 'exit 7'
    check_match "$language:   in a session of its own" \
        '"action":"begin","way":"' "$work/.check"
    touch leave
    check_code 1 "$language:   and ends on a notice" ./yielding sleep 10000
    check_equal "$language:   which is reported" \
        "$(grep -Eo '"action":"(begin|leave|end)' "$work/.check" |
            cut -d'"' -f4 | tr '\n' ' ')" "begin leave end "
    rm -rf ping_pong host ports service model texts predict generate text both \
        train run yielding leave tune tuned wordcount/wordcount.so
done
finish
