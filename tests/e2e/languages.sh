#!/usr/bin/env bash
# languages.sh - what users include and write compiles as C and as C++: public
# headers, the programs of docs/examples, the code of docs/tasks.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root" || exit 70

others=(c:c11:clang-14 c++:c++11:g++ c++:c++17:clang++-14 c++:c++20:g++)
every=(c:c11:gcc c++:c++17:g++ "${others[@]}")
# What a header forgets to include is missing whatever compiles it.
oldest=(c:c11:gcc c++:c++11:g++)
read -ra system < <(pkg-config --cflags libczmq libzmq)
# compile FILE [LANGUAGE...]: with every compiler, without a warning; or with
# some.
compile() {
    local file=$1 language compiler flags
    shift
    [ $# -gt 0 ] || set -- "${every[@]}"
    for language; do
        compiler=${language##*:} language=${language%:*}
        command -v "$compiler" >/dev/null || continue
        flags=(-Wall -Wextra -Wshadow -pedantic -Werror)
        flags+=(-Iinclude "${system[@]}")
        [[ ! $file -ef $work/all || $language == c:* ]] ||
            flags+=(-Wold-style-cast)
        "$compiler" -x "${language%:*}" -std="${language#*:}" -fsyntax-only \
            "${flags[@]}" "$file" || return 1
    done
}

# Twice: the include guard holds.
for header in include/skein/*.h; do
    name=${header#include/}
    printf '#include "%s"\n' "$name" "$name" >"$work/alone"
    cat "$work/alone" >>"$work/all"
    echo 'extern int nothing;' >>"$work/alone"
    check "$name compiles alone" compile "$work/alone" "${oldest[@]}"
    if grep -q SKN_API "$header"; then
        check "$name keeps C names in C++" grep -q 'extern "C"' "$header"
    fi
done
echo 'extern int nothing;' >>"$work/all"
check "all public headers compile together" compile "$work/all"

# Two compilers have had them in examples.sh.
for example in docs/examples/*.c docs/examples/*/*.c; do
    check "$example compiles" compile "$example" "${others[@]}"
done

# The page's plug-in: its declarations of messages and of the kind.
blocks() { # NUMBER: the code of that section
    awk -v number="$1." '/^## / { here = $2 == number } here && /^    /' \
        docs/tasks/writing-actors.md
}
{
    blocks 1
    echo 'typedef struct counter { uint64_t words; } counter_t;
        static skn_status_t on_word(skn_actor_t *, void *, const void *,
                                    skn_error_t *);
        static skn_status_t open_(skn_actor_t *, void *, skn_error_t *);
        static skn_status_t drain(skn_actor_t *, void *, skn_error_t *);
        static void close_(skn_actor_t *, void *);'
    blocks 3
    echo 'static skn_status_t on_word(skn_actor_t *actor, void *state,
            const void *message, skn_error_t *error)
        {
            ((counter_t *)state)->words += ((const word_t *)message)->count;
            return open_(actor, state, error);
        }
        static skn_status_t open_(skn_actor_t *actor, void *state,
                                  skn_error_t *error)
        {
            return drain(actor, state, error);
        }
        static skn_status_t drain(skn_actor_t *actor, void *state,
                                  skn_error_t *error)
        {
            return skn_fail(error, SKN_USAGE, "%s %p", skn_actor_name(actor),
                            state);
        }
        static void close_(skn_actor_t *actor, void *state)
        {
            skn_message_drop(state);
            skn_actor_finish(actor);
        }'
} >"$work/page"
check "the plug-in of docs/tasks/writing-actors.md compiles" \
    compile "$work/page"

# What no example uses.
cat >"$work/rest" <<'EOC'
#include <skein/predictor.h>
#include <skein/topology.h>
#include <skein/version.h>
#define FIELDS_rows(F, M)                                                      \
    F(M, u32, columns, 100, "columns")                                         \
    F(M, f32s, value, 1000, "values")                                          \
    F(M, u32s, unit, 1000, "units")
#define CODED_rows(V, C)                                                       \
    V(value, "columns", NULL, true)                                            \
    C(unit, ascending)
SKN_MESSAGE_STRUCT(rows, FIELDS_rows)
SKN_MESSAGE_SCHEMA_CODED(rows, "rows", 1001, FIELDS_rows, "rows", CODED_rows)
static skn_status_t
tick(skn_actor_t *actor, void *state, skn_error_t *error)
{
    skn_parts_t parts = SKN_ZERO;
    skn_parts_refuse(&parts, state != NULL);
    return skn_actor_send_event(actor, error, "{\"event\":\"%s\"}", "tick");
}
static const skn_timer_t timers[] = { { "tick", 100, tick }, SKN_ZERO };
static const skn_handler_t handlers[] = { { &rows_schema, NULL, NULL },
                                          SKN_ZERO };
static const skn_kind_t ticker = SKN_KIND(
    SKN_SET(name, "ticker") SKN_SET(timers, timers) SKN_SET(handlers, handlers)
    SKN_SET(is_compute_bound, true));
int
main(void)
{
    const skn_kind_t *kinds[] = { &ticker, NULL };
    uint32_t node = skn_version() < SKN_VERSION;
    skn_start_options_t options = SKN_START_OPTIONS();
    skn_start_options_t others =
        SKN_START_OPTIONS(SKN_SET(node, node) SKN_SET(trace_path, "a"));
    skn_points_t points = SKN_ZERO;
    skn_error_t error = SKN_ZERO;
    options.wire = others.node == 0;
    skn_topology_t *topology = skn_topology_new("", "none", kinds, &error);
    skn_predictor_t *predictor = skn_predictor_open("none", &error);
    skn_predictor_best(predictor, &points, 1, NULL, NULL, &error);
    return skn_topology_start(topology, &options, &error);
}
EOC
check "coded messages, timers and start options compile" compile "$work/rest"
finish
