#!/usr/bin/env bash
# keygen.sh - skein keygen: two files, their modes, and every refusal.
#
# Covers cli/verb_keygen.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 70

# says SENTENCE CODE TEXT COMMAND...: exit code and all of standard error.
says() {
    local sentence=$1 code=$2 text=$3 got
    shift 3
    "$@" >out 2>err </dev/null
    got=$?
    check_equal "$sentence" "$got: $(cat err)" "$code: $text"
}
says "a pair is made" 0 "" "$skein" keygen keys/a.key --name a
check_equal "  in a folder that it makes" "$(stat -c %a keys)" 700
check_equal "the public half may be read by all" \
    "$(stat -c %a keys/a.key)" 644
check_equal "the secret half by its owner" \
    "$(stat -c %a keys/a.key_secret)" 600
key=$(sed -n 's/^public key   //p' out)
check_match "it prints the public key" '^public key   [^ ]{40}$' out
check_match "which is in the file" 'public-key = "[^"]{40}"$' keys/a.key
check "  the same" grep -qF "\"$key\"" keys/a.key
check_match "it prints what to do next" \
    '^next         copy keys/a.key to the other machines, and give the node$' \
    out
secret=$(sed -n 's/.*secret-key = "\(.*\)"/\1/p' keys/a.key_secret)
check_equal "a secret is made" ${#secret} 40
check "the secret is not printed" bash -c "! grep -qF '$secret' out"
check "the secret is not in the public half" \
    bash -c "! grep -qF '$secret' keys/a.key"

before=$(cat keys/a.key keys/a.key_secret)
says "a pair is never overwritten" 73 "skein: keys/a.key_secret already \
exists, and keys are never overwritten; choose another path, or move both \
files away" "$skein" keygen keys/a.key
rm keys/a.key_secret
says "nor one half" 73 "skein: keys/a.key already exists, and keys are never \
overwritten; choose another path, or move both files away" \
    "$skein" keygen keys/a.key
check "  and no new half stays" test ! -e keys/a.key_secret
check_equal "  the old one does" "$(cat keys/a.key)" "${before%%$'\n# '*}"

says "a missing folder of a folder is reported" 73 "skein: cannot create \
none/at/all_secret: No such file or directory" "$skein" keygen none/at/all
for name in "a b" a.b; do
    says "a wrong name is reported: $name" 64 "skein: the name of a node is a \
letter, then letters, digits, '_' and '-', at most 64 in all" \
        "$skein" keygen keys/b --name "$name"
done
says "a path is needed" 64 \
    "skein: skein keygen needs one more argument; use it as skein keygen PATH" \
    "$skein" keygen
says "a full output is an error" 74 "skein: standard output: No space left on \
device; free some space, or choose another disk" \
    bash -c '"$0" keygen keys/full >/dev/full' "$skein"

says "with --json it is one object" 0 "" "$skein" keygen keys/c --json
check_equal "  which names files and key" "$(python3 -c '
import json
said = json.load(open("out"))
print(said["event"], said["public"], said["secret"], len(said["key"]))')" \
    "key keys/c keys/c_secret 40"
check "two keys differ" bash -c "! cmp -s keys/a.key keys/c"
(umask 0 && "$skein" keygen keys/open >out)
check_equal "a umask of 0 opens no secret" \
    "$(stat -c %a keys/open_secret)" 600
finish
