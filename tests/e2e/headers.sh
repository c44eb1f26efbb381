#!/usr/bin/env bash
# headers.sh - each header compiles alone, and the public ones in C++ too.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root" || exit 70
read -ra libraries < <(pkg-config --cflags libzmq libczmq msgpack hwloc \
    libfyaml libxxhash jansson libsodium zlib libzstd)
flags=(-fsyntax-only -Wall -Wextra -Werror -I. -Iinclude)

# Twice: the include guard holds. Kernel bodies and the vector words of one
# instruction set are text for kernels/variant.c, not headers.
for header in $(git ls-files -co --exclude-standard -- '*.h'); do
    case $header in
    kernels/body/* | kernels/vec_*.h | kernels/vec.h) continue ;;
    esac
    [ -f "$header" ] || continue
    printf '#include "%s"\n#include "%s"\nextern int nothing;\n' \
        "${header#include/}" "${header#include/}" >"$work/alone.c"
    # clang compiles all of them, too, with the sources that include them.
    compilers=(gcc)
    [[ $header != include/* ]] || compilers+=(clang-14)
    for compiler in "${compilers[@]}"; do
        command -v "$compiler" >/dev/null || continue
        check "$header compiles alone with $compiler" "$compiler" -std=c11 \
            -D_GNU_SOURCE -Wconversion -Wshadow "${flags[@]}" \
            "${libraries[@]}" "$work/alone.c"
    done
done

# C++ has no designators before 20, and a const of its own is not exported.
cat >"$work/plugin.cc" <<'EOF'
#include "skein/actor.h"
#include "skein/predictor.h"
#include "skein/topology.h"
#define FIELDS_count(F, M) F(M, u64, value, UINT64_MAX, "a number")
SKN_MESSAGE_STRUCT(count, FIELDS_count)
SKN_MESSAGE_SCHEMA(count, "count", 1000, FIELDS_count, "a number")
static const skn_kind_t *const kinds[] = { nullptr };
const skn_plugin_t skn_plugin = { SKN_PLUGIN_VERSION, kinds };
int main()
{
    skn_error_t error = {};
    const skn_parts_t parts = {};
    skn_parts_refuse(&parts, 0);
    return skn_fail(&error, SKN_USAGE, "%s", count_schema.name);
}
EOF
for header in include/skein/*.h; do
    printf '#include "%s"\n#include "%s"\n' "${header#include/}" \
        "${header#include/}" >"$work/alone.cc"
    for standard in 11 17 20; do
        check "$header compiles as C++$standard" g++ -std=c++$standard \
            -pedantic-errors -Wold-style-cast "${flags[@]}" "$work/alone.cc"
    done
    if grep -q SKN_API "$header"; then
        check "$header keeps C names in C++" \
            grep -q 'extern "C"' "$header"
    fi
done
for standard in 11 17 20; do
    check "messages and a plug-in in C++$standard" g++ -std=c++$standard \
        -pedantic-errors "${flags[@]}" "$work/plugin.cc"
done
finish
