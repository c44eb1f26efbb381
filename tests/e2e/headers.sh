#!/usr/bin/env bash
# headers.sh - each header compiles alone. languages.sh has the public ones in
# C++, too.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root" || exit 70
read -ra libraries < <(pkg-config --cflags libzmq libczmq msgpack hwloc \
    libfyaml libxxhash jansson libsodium zlib libzstd libutf8proc)
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
    check "$header compiles alone" gcc -std=c11 -D_GNU_SOURCE -Wconversion \
        -Wshadow "${flags[@]}" "${libraries[@]}" "$work/alone.c"
done
finish
