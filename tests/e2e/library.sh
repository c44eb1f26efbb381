#!/usr/bin/env bash
# library.sh - installed libraries are found, linked and run by programs.
#
# Installs into a folder, moves that folder, and builds small programs against
# it: on libskein and on libskein-core alone, C and C++, shared and static, with
# pkg-config and with CMake.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

check "make install works" cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/prefix" || finish
prefix=$work/prefix
libdir=$(dirname "$(find "$prefix" -name libskein.a)")
check "the core can be installed alone" \
    cmake --install "$build" --prefix "$work/core" --component core
core=$work/core
core_libdir=$core/${libdir#"$prefix"/}
cd "$work" || exit 70

# --- names ----------------------------------------------------------------
# exported LIBRARY NODE: the names that it defines at that version.
exported() {
    nm -D --defined-only --with-symbol-versions "$libdir/$1" |
        awk '$2 != "A" { print $3 }' | sed -n "s/@@$2\$//p" | sort
}
# declared HEADER: the names behind SKN_API. Plug-ins define skn_plugin.
declared() {
    tr '\n' ' ' <"$1" | grep -o 'SKN_API[^;]*;' |
        sed 's/__attribute__((.*)) //' |
        sed -n 's/.*[ *]\(skn_[a-z0-9_]*\)[(;].*/\1/p' | grep -vx skn_plugin
}
version=$(find "$libdir" -name 'libskein.so.*.*.*' | sed 's/.*\.so\.//')
for header in "$core"/include/skein/*.h; do declared "$header"; done | sort \
    >declared.core
for header in "$prefix"/include/skein/*.h; do
    [ -e "$core/include/skein/$(basename "$header")" ] || declared "$header"
done | sort >declared.own
exported libskein-core.so SKEIN_CORE_0 >exported.core
exported libskein.so SKEIN_0 >exported.own
check "libskein-core.so exports what its headers declare" \
    diff declared.core exported.core
check "libskein.so exports what its headers declare" \
    diff declared.own exported.own
for library in libskein-core.so libskein.so; do
    nm -D --defined-only --with-symbol-versions "$libdir/$library" |
        awk '$2 != "A" { print $3 }' |
        grep -Ev "^skn_[a-z0-9_]+@@SKEIN(_CORE)?_(0|PRIVATE_$version)$" \
            >strangers
    check_equal "$library has no other names than these and private ones" \
        "$(cat strangers)" ""
done
check_equal "libskein needs the private names of this version of the core" \
    "$(objdump -T "$libdir/libskein.so" | grep -o 'SKEIN_CORE_PRIVATE_[0-9.]*' |
        sort -u)" "SKEIN_CORE_PRIVATE_$version"
check_equal "the private names of libskein are the table of the core" \
    "$(exported libskein.so "SKEIN_PRIVATE_$version")" skn_builtin
# The command is the library's first embedder: what it calls, a host can call.
# `skein doctor` looks behind the scenes, at most at 30 functions.
# objects FOLDER: of the sources below that folder.
objects() {
    (cd "$root" && find "$1" -name '*.c') | while read -r source; do
        if [ "$source" = cli/main.c ]; then
            echo "$build/CMakeFiles/skein.dir/$source.o"
        else
            echo "$build/CMakeFiles/skn_cli.dir/$source.o"
        fi
    done
}
# wanted FOLDER: the names of the library that its sources need and no header
# declares.
wanted() {
    objects cli | xargs nm -g --defined-only | awk 'NF == 3 { print $3 }' |
        cat - exported.core exported.own | sort -u >known
    objects "$1" | xargs nm -u | awk '$2 ~ /^skn_/ { print $2 }' | sort -u |
        comm -23 - known
}
wanted cli/doctor >of_doctor
check_equal "the command calls what the headers declare, except for doctor" \
    "$(wanted cli | comm -23 - of_doctor)" ""
check "doctor looks at no more than 30 other functions" \
    test "$(wc -l <of_doctor)" -le 30
nm -g --defined-only "$libdir"/libskein{,-core}.a 2>/dev/null |
    awk 'NF == 3 { print $3 }' | sort >names
grep -Ev '^(skn_|__odr_asan)' names >strangers
check_equal "the archives claim skn_ names only" "$(cat strangers)" ""
check_equal "no symbol is defined twice" "$(uniq -d names)" ""
# Each of them is called wrongly there.
cat exported.core exported.own | while read -r name; do
    grep -qw "$name" "$root/tests/topology/run/test_misuse.c" || echo "$name"
done >untested
check_equal "tests/topology/run/test_misuse.c knows every public function" \
    "$(cat untested)" ""
# Kernel bodies and the vector words of a set are text for kernels/variant.c.
git -C "$root" ls-files -co --exclude-standard -- include kernels transport \
    formats actors topology cli | grep '\.h$' |
    grep -Ev '^kernels/(body/|vec)' |
    sed 's|^include/||; s|.*|#include "&"|' >all.c
check "all headers of the tree compile in one unit" gcc -std=c11 -D_GNU_SOURCE \
    -DSKN_ISA=scalar -I"$root" -I"$root/include" -Wall -Wextra -Werror \
    -fsyntax-only all.c

# --- what the libraries need ------------------------------------------------
needed() { # FILE: the shared objects that it names
    objdump -p "$1" | awk '$1 == "NEEDED" { print $2 }' |
        grep -Ev '^(libc|libm|ld-linux.*)\.so' | sort | tr '\n' ' '
}
# documented LIBRARY: those of the page's table.
documented() {
    sed -n "s/^| \`\(lib[^\`]*\)\` | \`$1\` .*/\1/p" \
        "$root/docs/tasks/packaging.md" | sort | tr '\n' ' '
}
for library in libskein-core libskein; do
    check_equal "$library.so needs what docs/tasks/packaging.md lists" \
        "$(needed "$libdir/$library.so")" "$(documented $library)"
    check_equal "the name of $library.so carries its version" \
        "$(objdump -p "$libdir/$library.so" |
            awk '$1 == "SONAME" { print $2 }')" "$library.so.0"
done
strip -o stripped "$libdir/libskein-core.so"
check "libskein-core.so has at most 700 KB" \
    test "$(stat -c %s stripped)" -le 700000

# --- programs -----------------------------------------------------------------
# It prints the kind that the core offers in place of a wrong one.
cat >program.c <<'EOC'
#include <stdio.h>
#include <string.h>
#include "skein/topology.h"
int main(void)
{
    skn_error_t error = SKN_ZERO;
    skn_topology_t *none = skn_topology_new(
        "skein: 1\ntopology: { name: none, actors: "
        "[{ name: a, kind: evaluato }], pipes: [] }", "none", NULL, &error);
    skn_topology_destroy(&none);
    const char *last = strrchr(error.hint, ';');
    return puts(last ? last + 2 : error.hint) < 0;
}
EOC
cp program.c program.cc
with_it="did you mean 'evaluator'?"
without_it="the kinds that train are in libskein, this program has only \
libskein-core"
# build_with PREFIX PACKAGE OPTIONS COMPILER...: with what pkg-config prints.
build_with() {
    local folder=$1 package=$2 options=$3 flags
    shift 3
    # shellcheck disable=SC2086
    flags=$(PKG_CONFIG_PATH=$folder/${libdir#"$prefix"/}/pkgconfig \
        pkg-config $options --cflags --libs "$package") || return 1
    # shellcheck disable=SC2086
    "$@" $flags -o program
}
in_tree() { LD_LIBRARY_PATH=$libdir "$@"; }

check "a C program links with the shared library" \
    build_with "$prefix" skein "" gcc -std=c11 program.c
check_equal "and has the built-in kinds" "$(in_tree ./program)" "$with_it"
check "a C++ program links with it" \
    build_with "$prefix" skein "" g++ -std=c++17 program.cc
check_equal "and has the built-in kinds" "$(in_tree ./program)" "$with_it"
for linker in bfd gold lld-14; do
    command -v ld.$linker >/dev/null || continue
    check "a linker that leaves out libraries keeps it ($linker)" \
        build_with "$prefix" skein "" gcc -fuse-ld=${linker%-14} \
        -Wl,--as-needed program.c
    check_equal "and the program has the built-in kinds" \
        "$(in_tree ./program)" "$with_it"
done

check "a program links with the core alone" \
    build_with "$core" skein-core "" gcc -std=c11 program.c
check_equal "it needs nothing else" "$(needed program)" "libskein-core.so.0 "
check_equal "and it has no built-in kinds" \
    "$(LD_LIBRARY_PATH=$core_libdir ./program)" "$without_it"
check "two actors run on the core alone" build_with "$core" skein-core "" \
    gcc -std=c11 "$root/docs/examples/ping_pong.c"
check_equal "to their end" \
    "$(LD_LIBRARY_PATH=$core_libdir timeout 20 ./program | wc -l)" 10

# Without shared objects of ours, the linker takes the archives.
for tree in prefix core; do
    cp -r "${!tree}" "$work/$tree.static"
    find "$work/$tree.static" -name 'libskein*.so*' -delete
done
check "a program links with the archives" \
    build_with "$work/prefix.static" skein --static gcc -std=c11 program.c
check_equal "it names no library of ours" "$(needed program | grep -o skein)" ""
check_equal "and has the built-in kinds" "$(./program)" "$with_it"
check "a program links with the archive of the core" \
    build_with "$work/core.static" skein-core --static gcc -std=c11 program.c
check_equal "it needs what the core needs" "$(needed program)" \
    "$(documented libskein-core)"
check_equal "and has no built-in kinds" "$(./program)" "$without_it"
export PKG_CONFIG_PATH=$libdir/pkgconfig
for package in skein:"$with_it" skein-core:"$without_it"; do
    # shellcheck disable=SC2046
    check "a program links with archives beside shared objects of ours" \
        gcc -std=c11 -I"$prefix/include" program.c -o program \
        $(pkg-config --variable=static_libs "${package%%:*}")
    check_equal "it names no library of ours" \
        "$(needed program | grep -o skein)" ""
    check_equal "and has the kinds of ${package%%:*}" "$(./program)" \
        "${package#*:}"
done

# --- plug-ins and dlopen ------------------------------------------------------
cat >plugin.cc <<'EOC'
#include <skein/actor.h>
static skn_status_t tell(skn_actor_t *actor, void *, skn_error_t *error)
{
    skn_actor_finish(actor);
    return skn_actor_send_event(actor, error, "{\"event\":\"from C++\"}");
}
static const skn_kind_t teller =
    SKN_KIND(SKN_SET(name, "teller") SKN_SET(produce, tell));
static const skn_kind_t *const kinds[] = { &teller, nullptr };
const skn_plugin_t skn_plugin = { SKN_PLUGIN_VERSION, kinds };
EOC
cat >plugin.yaml <<'EOC'
skein: 1
topology:
  name: plugin
  plugins: [./plugin.so]
  actors: [{ name: a, kind: teller }]
EOC
check "a plug-in in C++ is built" g++ -std=c++17 -shared -fPIC \
    -fvisibility=hidden -I"$core/include" plugin.cc -o plugin.so
"$skein" run plugin.yaml --json >plugin.out 2>&1
check_match "and its kind runs" '"from C\+\+"' plugin.out
cat >runner.c <<'EOC'
#include <stdio.h>
#include <skein/topology.h>
int main(void)
{
    char text[4096] = "", line[SKN_EVENT_BYTES_MAX];
    skn_error_t error = SKN_ZERO;
    FILE *file = fopen("plugin.yaml", "r");
    size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    skn_topology_t *topology =
        bytes ? skn_topology_new(text, "plugin.yaml", NULL, &error) : NULL;
    if (topology && skn_topology_start(topology, NULL, &error) == SKN_OK)
        while (skn_topology_event(topology, -1, line, sizeof line, &error) ==
               SKN_OK)
            puts(line);
    skn_topology_destroy(&topology);
    return error.text[0] && puts(error.text) < 0;
}
EOC
check "a program on the core alone is built" \
    build_with "$core" skein-core "" gcc -std=c11 runner.c
LD_LIBRARY_PATH=$core_libdir ./program >plugin.out 2>&1
check_match "and runs the plug-in's kind" '"from C\+\+"' plugin.out

# It loads libskein and closes it again; each time it asks the core for a kind.
cat >loader.c <<'EOC'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <skein/topology.h>
typedef skn_topology_t *new_t(const char *, const char *,
                              const skn_kind_t *const *, skn_error_t *);
int main(int count, char **words)
{
    for (int k = 0; k < 20; k++) {
        skn_error_t error = SKN_ZERO;
        void *library = dlopen(words[count - 1], RTLD_NOW | RTLD_LOCAL);
        void *symbol = library ? dlsym(library, "skn_topology_new") : NULL;
        new_t *make = NULL;
        memcpy(&make, &symbol, sizeof make);
        if (!make || make("skein: 1\ntopology: { name: none, actors: "
                          "[{ name: a, kind: evaluato }], pipes: [] }",
                          "none", NULL, &error))
            return puts(library ? "no skn_topology_new" : dlerror()), 1;
        if (!strstr(error.hint, "evaluator"))
            return puts(error.hint), 1;
        dlclose(library);
    }
    return 0;
}
EOC
check "a program that links no library of ours is built" gcc -std=c11 \
    -I"$prefix/include" loader.c -o loader
check "it loads libskein, has its kinds, and closes it, twenty times" \
    ./loader "$libdir/libskein.so.0"

# --- nodes -----------------------------------------------------------------
# Node 0 sends rows, which the link codes; node 1 compares them with its own.
hold_ports 2
cat >nodes.c <<'EOC'
#include <math.h>
#include <stdlib.h>
#include <skein/topology.h>
#define COLUMNS 40
#define ROWS 100
#define FIELDS_row(F, M)                                                       \
    F(M, u64, batch, UINT64_MAX, "number of the row")                          \
    F(M, u32, columns, COLUMNS, "its length")                                  \
    F(M, f32s, value, COLUMNS, "its numbers")
#define CODED_row(V, C) V(value, "columns", NULL, true)
SKN_MESSAGE_STRUCT(row, FIELDS_row)
SKN_MESSAGE_SCHEMA_CODED(row, "row", 1000, FIELDS_row, "numbers", CODED_row)
static float bound; /* of the coding's error */
static float number(uint64_t row, int column)
{
    return column % 3 ? (float)((int)row - column) : 0.0f;
}
static skn_status_t send_row(skn_actor_t *actor, void *state, skn_error_t *e)
{
    uint64_t *sent = state;
    const size_t counts[] = { COLUMNS };
    row_t *row = skn_actor_message(actor, &row_schema, counts, e);
    if (!row)
        return e->status;
    row->batch = *sent;
    row->columns = COLUMNS;
    for (int k = 0; k < COLUMNS; k++)
        row->value.at[k] = number(*sent, k);
    if (++*sent == ROWS)
        skn_actor_finish(actor);
    return skn_actor_post(actor, row, e);
}
static skn_status_t on_row(skn_actor_t *actor, void *state,
                           const void *message, skn_error_t *e)
{
    const row_t *row = message;
    (void)actor;
    for (int k = 0; k < COLUMNS; k++) {
        float want = number(row->batch, k), got = row->value.at[k];
        if (fabsf(got - want) > bound || (got == 0.0f) != (want == 0.0f))
            return skn_fail(e, SKN_BAD_DATA, "column %d is %g, not %g", k,
                            (double)got, (double)want);
    }
    ++*(uint64_t *)state;
    return SKN_OK;
}
static skn_status_t drain(skn_actor_t *actor, void *state, skn_error_t *e)
{
    return skn_actor_send_event(actor, e, "{\"rows\":%d}",
                                (int)*(uint64_t *)state);
}
static const skn_schema_t *const sends[] = { &row_schema, NULL };
static const skn_handler_t takes[] = { { &row_schema, on_row, NULL },
                                       SKN_ZERO };
static const skn_kind_t sender = SKN_KIND(
    SKN_SET(name, "sender") SKN_SET(state_bytes, sizeof(uint64_t))
    SKN_SET(sends, sends) SKN_SET(produce, send_row));
static const skn_kind_t taker = SKN_KIND(
    SKN_SET(name, "taker") SKN_SET(state_bytes, sizeof(uint64_t))
    SKN_SET(handlers, takes) SKN_SET(drain, drain));
int main(int count, char **words) /* NODE PORT PORT CODING BOUND */
{
    const skn_kind_t *kinds[] = { &sender, &taker, NULL };
    char yaml[1000], line[SKN_EVENT_BYTES_MAX];
    skn_error_t error = SKN_ZERO;
    skn_start_options_t start = SKN_START_OPTIONS();
    start.node = (uint32_t)atoi(words[count - 5]);
    bound = (float)atof(words[count - 1]);
    start.wait_s = 20;
    snprintf(yaml, sizeof yaml,
             "skein: 1\n"
             "topology:\n"
             "  name: rows\n"
             "  nodes: [{ name: a, address: 'tcp://127.0.0.1:%s' },\n"
             "          { name: b, address: 'tcp://127.0.0.1:%s' }]\n"
             "  actors: [{ name: a, kind: sender, node: a },\n"
             "           { name: b, kind: taker, node: b }]\n"
             "  pipes: [{ from: a, to: b, message: row, coding: %s }]\n",
             words[count - 4], words[count - 3], words[count - 2]);
    skn_topology_t *topology = skn_topology_new(yaml, "rows", kinds, &error);
    if (topology && skn_topology_start(topology, &start, &error) == SKN_OK)
        while (skn_topology_event(topology, -1, line, sizeof line, NULL) ==
               SKN_OK)
            puts(line);
    if (topology && error.status == SKN_OK)
        (void)skn_topology_wait(topology, &error);
    skn_topology_destroy(&topology);
    return error.status != SKN_OK && puts(error.text) < 0;
}
EOC
check "a program for two nodes is built on the core alone" \
    build_with "$core" skein-core "" gcc -std=c11 nodes.c
mv program alone
check "and on libskein" build_with "$prefix" skein "" gcc -std=c11 nodes.c
mv program whole
for pair in "alone alone f32 0" "alone whole int4 20" "whole alone int8 1.2"; do
    read -r one other coding bound <<<"$pair"
    in_tree timeout 60 "./$one" 0 "${ports[@]}" "$coding" "$bound" >one.out \
        2>&1 &
    in_tree timeout 60 "./$other" 1 "${ports[@]}" "$coding" "$bound" \
        >other.out 2>&1
    wait $!
    cat one.out >>other.out
    check_match "rows cross a link in $coding ($one to $other)" '"rows":100' \
        other.out
done

# --- CMake --------------------------------------------------------------------
mkdir cmake && cp program.c cmake/
cat >cmake/CMakeLists.txt <<'EOC'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
if(ALONE)
  find_package(skein-core 0.1 REQUIRED)
else()
  find_package(skein 0.1 REQUIRED)
  add_executable(shared program.c)
  target_link_libraries(shared PRIVATE skein::skein)
  add_executable(static program.c)
  target_link_libraries(static PRIVATE skein::static)
endif()
add_executable(core program.c)
target_link_libraries(core PRIVATE skein::core)
add_executable(core_static program.c)
target_link_libraries(core_static PRIVATE skein::core_static)
EOC
check "find_package(skein) finds it" cmake -S cmake -B cmake/b \
    -DCMAKE_PREFIX_PATH="$prefix"
check "CMake links all four" cmake --build cmake/b
check_equal "those on libskein have the built-in kinds" \
    "$(for name in shared static; do cmake/b/$name; done)" \
    "$with_it"$'\n'"$with_it"
check_equal "those on the core have not" \
    "$(for name in core core_static; do cmake/b/$name; done)" \
    "$without_it"$'\n'"$without_it"
check "find_package(skein-core) finds the core alone" cmake -S cmake \
    -B cmake/c -DCMAKE_PREFIX_PATH="$core" -DALONE=ON
check "CMake links both" cmake --build cmake/c
check "and they run" sh -c "cmake/c/core && cmake/c/core_static"
check "the licence is installed" test -f "$prefix/share/doc/skein/LICENSE"
check "the headers are installed" test -f "$prefix/include/skein/actor.h"
finish
