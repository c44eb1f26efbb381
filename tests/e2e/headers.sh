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
    for compiler in gcc clang-14; do
        command -v "$compiler" >/dev/null || continue
        check "$header compiles alone with $compiler" "$compiler" -std=c11 \
            -D_GNU_SOURCE -Wconversion -Wshadow "${flags[@]}" \
            "${libraries[@]}" "$work/alone.c"
    done
done

for header in include/skein/*.h; do
    printf '#include "%s"\n#include "%s"\n' "${header#include/}" \
        "${header#include/}" >"$work/alone.cc"
    check "$header compiles as C++17" g++ -std=c++17 "${flags[@]}" \
        "$work/alone.cc"
    if grep -q SKN_API "$header"; then
        check "$header keeps C names in C++" \
            grep -q 'extern "C"' "$header"
    fi
done
finish
