#!/usr/bin/env bash
# examples.sh - the programs of docs/examples are built against an installed
# libskein and do what they say.  SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

check "make install works" cmake --install "$build" --prefix "$work/prefix" ||
    finish
libdir=$(dirname "$(find "$work/prefix" -name libskein.a)")
export PKG_CONFIG_PATH=$libdir/pkgconfig
export LD_LIBRARY_PATH=$libdir
cp -r "$root/docs/examples/." "$work/examples"
cd "$work/examples" || exit 70

# example NAME SOURCE PACKAGE...: builds NAME out of SOURCE.
example() {
    local name=$1 source=$2 flags
    shift 2
    flags=$(pkg-config --cflags --libs "$@") || return 1
    # shellcheck disable=SC2086
    gcc -std=gnu11 -Wall -Wextra -Wno-unused-parameter \
        -Wno-missing-field-initializers -Werror "$source" $flags -o "$name"
}
lines() { cat "$@" | wc -l; }

check "ping_pong.c builds" example ping_pong ping_pong.c skein
check "and is under 40 lines" test "$(lines ping_pong.c)" -lt 40
check_equal "two actors hit the ball in turn" \
    "$(timeout 20 ./ping_pong | tr '\n' ,)" \
    "$(for k in 1 3 5 7 9; do
        printf 'a hits %d,b hits %d,' "$k" $((k + 1))
    done)"

plugin() {
    # shellcheck disable=SC2046
    gcc -shared -fPIC -Wall $(pkg-config --cflags skein) \
        wordcount/wordcount.c -o wordcount/wordcount.so
}
check "the plug-in wordcount.c builds" plugin
check "and is under 100 lines with its topology" \
    test "$(lines wordcount/wordcount.c wordcount/wordcount.yaml)" -lt 100
head -c 20000 "$root/LICENSE" >wordcount/text.txt
timeout 20 "$work/prefix/bin/skein" run wordcount/wordcount.yaml >counts
pattern='s/.*"word":"\([a-z]*\)","count":\([0-9]*\).*/\1 \2/'
check_equal "it counts the words of the licence as a shell does" \
    "$(sed "$pattern" counts | sort)" \
    "$(tr 'A-Z' 'a-z' <wordcount/text.txt | tr -cs 'a-z' '\n' |
        sed '/^$/d' | sort | uniq -c | awk '{ print $2, $1 }' | sort)"
check_code 66 "a file that is missing is named" \
    sh -c "rm wordcount/text.txt; '$work/prefix/bin/skein' run \
        wordcount/wordcount.yaml"

check "host.c builds" example host host.c skein libczmq libzmq
timeout 20 ./host >sums 2>report
check_equal "a host follows the run in its own loop" \
    "$(tr '\n' ' ' <sums)" \
    "$(printf '{"sum":%d} ' 0 1 3 6 10 15)SIGINT is still mine "
check_match "and prints where the time went" '^counter .* 6 ' report
finish
