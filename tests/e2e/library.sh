#!/usr/bin/env bash
# library.sh - an installed libskein is found, linked and run by programs.
#
# Installs into a folder, moves that folder, and builds small programs against
# it: C and C++, shared and static, with pkg-config and with CMake.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

check "make install works" cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/prefix" || finish
prefix=$work/prefix
libdir=$(dirname "$(find "$prefix" -name libskein.a)")
export PKG_CONFIG_PATH=$libdir/pkgconfig
export LD_LIBRARY_PATH=$libdir
cd "$work" || exit 70

# The program takes the address of a function, so that it must be there.
cat >program.c <<'EOF'
#include <stdio.h>
#include "skein/error.h"
#include "skein/topology.h"
int main(void)
{
    skn_topology_t *none = NULL;
    skn_topology_destroy(&none);
    return printf("%s\n", skn_status_text(SKN_OK)) < 0;
}
EOF
cp program.c program.cc

# with PKG_CONFIG_OPTIONS COMPILER...: builds program with what it prints.
with() {
    local options=$1 flags
    shift
    # shellcheck disable=SC2086
    flags=$(pkg-config $options --cflags --libs skein) || return 1
    # shellcheck disable=SC2086
    "$@" $flags -o program
}
runs() { [ "$(./program)" = ok ]; }

# Only public names leave the shared library; all names carry the prefix.
nm -D --defined-only "$libdir/libskein.so" | awk '{ print $3 }' |
    grep -v '^skn_' >strangers
check_equal "libskein.so shows skn_ symbols only" "$(cat strangers)" ""
nm -g --defined-only "$libdir/libskein.a" 2>/dev/null |
    awk 'NF == 3 { print $3 }' | grep -Ev '^(skn_|__odr_asan)' >strangers
check_equal "libskein.a claims skn_ names only" "$(cat strangers)" ""
# Each of them is called wrongly there.
nm -D --defined-only "$libdir/libskein.so" | awk '{ print $3 }' |
    while read -r name; do
        grep -qw "$name" "$root/tests/topology/run/test_misuse.c" ||
            echo "$name"
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
check "the library's name carries its version" \
    sh -c "objdump -p '$libdir/libskein.so' | grep -q 'SONAME *libskein.so.0'"

if nm -D --defined-only "$libdir/libskein.so" |
    grep -q skn_topology_destroy; then
    check "a C program links with the shared library" \
        with "" gcc -std=c11 program.c
    check "and runs" runs
    check "a C++ program links with the shared library" \
        with "" g++ -std=c++17 program.cc
    check "and runs" runs
    cat >plugin.cc <<'EOF'
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
EOF
    cat >plugin.yaml <<'EOF'
skein: 1
topology:
  name: plugin
  plugins: [./plugin.so]
  actors: [{ name: a, kind: teller }]
EOF
    check "a plug-in in C++ is built" g++ -std=c++17 -shared -fPIC \
        -fvisibility=hidden -I"$prefix/include" plugin.cc -o plugin.so
    "$skein" run plugin.yaml --json >plugin.out 2>&1
    check_match "and its kind runs" '"from C\+\+"' plugin.out

    mkdir static && cp "$libdir/libskein.a" static/
    check "a C program links with the static library" \
        with --static gcc -std=c11 program.c -Lstatic -Wl,-Bstatic -lskein \
        -Wl,-Bdynamic
    check "and runs" env LD_LIBRARY_PATH= ./program

    mkdir cmake && cp program.c cmake/
    cat >cmake/CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(skein 0.1 REQUIRED)
add_executable(shared program.c)
target_link_libraries(shared PRIVATE skein::skein)
add_executable(static program.c)
target_link_libraries(static PRIVATE skein::static)
EOF
    check "find_package(skein) finds it" cmake -S cmake -B cmake/b \
        -DCMAKE_PREFIX_PATH="$prefix"
    check "CMake links both" cmake --build cmake/b
    check "the one linked by CMake runs" cmake/b/shared
    check "and the static one" env LD_LIBRARY_PATH= cmake/b/static
else
    skip "programs link with the library" "it has no topologies yet"
fi
check "the licence is installed" test -f "$prefix/share/doc/skein/LICENSE"
check "the headers are installed" test -f "$prefix/include/skein/actor.h"
finish
