#!/bin/bash
# words_of_failures.sh - a failure, a crash and a handler that does not return
# name the actor, its kind, the plug-in, the hook and the message.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 70
ulimit -c 0
victim='victim of ./victim.so' in_total="in its handler of 'total'"

gcc -shared -fPIC -O1 -Wno-infinite-recursion -I"$root/include" \
    "$root/tests/fault/victim.c" -o victim.so || exit 70

# topology SENDER VICTIM: options of the two, in YAML's short form.
topology() {
    cat >top.yaml <<END
skein: 1
topology:
  name: victims
  plugins: [./victim.so]
  actors:
    - { name: count, kind: victim_sender, options: { $1 } }
    - { name: print, kind: victim, ${3:-} options: { $2 } }
  pipes:
    - { from: count, to: print, message: total, pattern: broadcast }
END
}
run() { # OPTIONS...: out, err, code
    code=0
    timeout 60 "$skein" run top.yaml "$@" >out 2>err </dev/null || code=$?
}

# --- failures ---------------------------------------------------------------
while read -r at place; do
    topology "$([ "$at" != timer ] || echo how: rest)" "at: $at, how: fail"
    run
    check_equal "a failure of $at is named" "$code $(cat err)" \
        "65 skein: print (victim of ./victim.so, in $place): oh no"
done <<'END'
open its open
start its start
handler its handler of 'total'
timer its timer 'tick'
alarm its alarm 'bell'
drain its drain
END
topology 'at: produce, how: fail' ''
run
check_equal "a failure of produce is named" "$code $(cat err)" \
    "65 skein: count (victim_sender of ./victim.so, in its produce): oh no"
topology '' 'at: handler, how: mute'
run
check_match "a failure without a sentence is named" \
    "print \($victim, $in_total\) failed without giving a reason" err
topology '' 'at: open, how: fail' 'replicate: 12,'
run --json
check_match "of twelve replicas the one that failed, as an event, too" \
    '"message":"print\.[0-9]+ \(victim of ./victim.so, in its open\): oh no"' \
    out

# --- crashes ----------------------------------------------------------------
while read -r how number text; do
    topology '' "at: handler, how: $how"
    run
    check_equal "$how is named" "$code $(cut -d';' -f1 err)" \
        "70 skein: the worker process was killed by signal $number ($text) in \
actor print ($victim, $in_total)"
    check "and no wrong advice is given" sh -c "! grep -e --resume err"
done <<'END'
segv 11 Segmentation fault
bus 7 Bus error
fpe 8 Floating point exception
ill 4 Illegal instruction
abort 6 Aborted
trap 5 Trace/breakpoint trap
sys 31 Bad system call
END
topology '' 'at: handler, how: exit'
run
check_equal "an end of the process from within is no good end" \
    "$code $(cat err)" "70 skein: the worker process exited on its own, \
with code 0; a plug-in, or a library that it calls, must not call exit()"
topology '' 'at: handler, how: overflow'
run
check_match "a stack that is full is named" \
    "signal 11 .*in actor print \($victim, $in_total\): its stack over" err
check_match "the plug-in is to blame" "the fault is in ./victim.so" err
for at in open start timer drain close; do
    topology "$([ "$at" != timer ] || echo how: rest)" "at: $at, how: segv"
    run
    check_match "a crash in $at is named" \
        "signal 11 .* in actor print \(victim of ./victim.so, in its $at" err
done
topology 'at: produce, how: abort' ''
run --json
check_match "a crash is an event, too" \
    '"message":"the worker process was killed by signal 6 .Aborted. in actor '\
'count \(victim_sender of ./victim.so, in its produce\)"' out

# --- handlers that do not return --------------------------------------------
# hang REGEX OPTIONS...: runs until a line of err matches, then kills it.
hang() {
    local regex=$1 pid
    shift
    : >err # now: the shell in the background empties it after we looked
    "$skein" run top.yaml --warn-after 1 "$@" >out 2>err </dev/null &
    pid=$!
    wait_until 100 grep -Eq "$regex" err
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
}
topology 'count: 50' 'at: handler, how: hang'
sed -i 's/broadcast }/broadcast, credit: 2 }/' top.yaml
hang ' for 2 s ' --json
check_match "a handler that does not return is named" \
    "^skein: warning: print has been $in_total for 1 s \($victim\)" err
check_match "as an event" \
    '"event":"stuck","actor":"print","kind":"victim","plugin":"./victim.so",'\
'"in":"its handler of .total.","seconds":1' out
check "and those that wait for it are not" sh -c "! grep 'has waited' err"
topology 'at: produce, how: hang' ''
hang has.been
check_match "produce, too, where others have nothing to wait for" \
    "count has been in its produce for 1 s" err
topology '' 'at: open, how: hang' 'replicate: 3,'
hang have.been
check_match "replicas are one line" \
    "print.0 and 2 more of its kind have been in its open for 1 s" err
finish
