#!/usr/bin/env bash
# run.sh - which package ships this file? Gets the index, trains, asks.
#
# Usage: docs/examples/files/run.sh SKEIN FOLDER [PATH...]
# What FOLDER holds already is not made again: the second call answers at once.
# FILES_SCORE=no leaves the table of P@k out. docs/start/files.md explains
# all of it.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
skein=$1 folder=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
config=$here/../../../configs/files.yaml
model=$folder/model
files() {
    local verb=$1
    shift
    PYTHONDONTWRITEBYTECODE=1 python3 "$here/files.py" "$verb" "$@"
}
# Training ends well on Ctrl-C, and bash would go on with half a model.
trap 'exit 130' INT
trap 'exit 143' TERM
say() { printf 'files: %s\n' "$*" >&2; }

have_index() {
    local name names
    # shellcheck disable=SC2016
    names=$(apt-get indextargets --format '$(FILENAME)' \
        'Identifier: Contents-deb')
    for name in $names; do
        [ ! -s "$name" ] || return 0
    done
    return 1
}
get_index() { # apt gets it with its lists, once apt-file is installed
    if [ "$(id -u)" = 0 ]; then
        apt-get -q update >&2
    elif command -v sudo >/dev/null; then
        sudo apt-get -q update >&2
    else
        say "neither root nor sudo; ask an administrator for: apt-get update"
        exit 77
    fi
}

if [ ! -f "$folder/stats.json" ]; then
    have_index || get_index
    say "reading the index: a minute or two"
    files convert "$folder"
fi
if [ ! -f "$folder/trained" ]; then
    say "training: some two minutes of a core"
    rm -rf "$model"
    "$skein" train "$config" -o data.train="$folder/train.txt" \
        -o data.test="$folder/test.txt" -o checkpoint.path="$model"
    touch "$folder/trained"
    [ "${FILES_SCORE:-}" = no ] ||
        files score "$folder" "$model" --skein "$skein"
fi
# None of these is in the index: made at installation, or of other releases.
[ $# -gt 0 ] || set -- /etc/ssh/sshd_config /etc/nginx/sites-enabled/default \
    /usr/lib/python2.7/dist-packages/yaml/reader.py /var/lib/dpkg/status \
    /usr/lib/x86_64-linux-gnu/libssl.so.1.1 /usr/local/bin/skein
files ask "$folder" "$model" "$@" --skein "$skein"
