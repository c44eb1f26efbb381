#!/usr/bin/env bash
# damage.sh - what breaks under a run: bytes of its checkpoints, room on its
# disks, memory, and its worker again and again. One line each, never a crash.
#
# EVERY=N tries each N-th byte of a checkpoint's tensors only (397); headers,
# and JSON texts are tried at each 17th byte.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
# Few weights: a byte costs a process.
small=(-o model.layers.hidden.units=16 -o train.epochs=1
    -o checkpoint.every_batches=0)

# --- any byte of a checkpoint ------------------------------------------------
"$skein" train tiny.yaml "${small[@]}" >small.log 2>&1
newest=run/$(readlink run/latest)
check "there is a checkpoint" "$skein" inspect "$newest"
cat >bytes.py <<'PYTHON'
"""bytes.py SKEIN CHECKPOINT EVERY: changes bytes and cuts files of CHECKPOINT,
one at a time; each time `skein inspect` must refuse it in one line that names
the file. Prints how many were tried, and what was wrong."""
import os, subprocess, sys
skein, folder, every = sys.argv[1], sys.argv[2], int(sys.argv[3])
wrong = []
def look(label, path):
    done = subprocess.run([skein, "inspect", folder], capture_output=True,
                          timeout=60, text=True, errors="replace")
    lines = done.stderr.splitlines()
    if done.returncode != 65 or len(lines) != 1 or not \
            lines[0].startswith("skein: ") or \
            os.path.basename(path) not in lines[0]:
        wrong.append("%s: exit code %d, %s" % (label, done.returncode, lines))
counts = [0, 0]
for name in sorted(os.listdir(folder)):
    path = os.path.join(folder, name)
    good = open(path, "rb").read()
    head = len(good) if name.endswith(".json") else \
        8 + int.from_bytes(good[:8], "little")
    places = sorted(set(range(0, head, 17)) | set(range(8)) |
                    set(range(head, len(good), every)) | {len(good) - 1})
    for at in places:
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(bytes([good[at] ^ (1 << at % 8)]))
        look("%s: byte %d" % (name, at), path)
        with open(path, "r+b") as file:
            file.seek(at)
            file.write(good[at:at + 1])
        counts[0] += 1
    for length in sorted({0, 1, 7, 8, 9, head - 1, head, head + 1,
                          len(good) // 2, len(good) - 1} & set(
                              range(len(good)))):
        os.truncate(path, length)
        look("%s: cut to %d bytes" % (name, length), path)
        with open(path, "wb") as file:
            file.write(good)
        counts[1] += 1
    os.rename(path, path + ".away")
    done = subprocess.run([skein, "inspect", folder], capture_output=True,
                          timeout=60, text=True)
    if done.returncode not in (65, 66) or len(done.stderr.splitlines()) != 1:
        wrong.append("%s missing: %d %s" % (name, done.returncode, done.stderr))
    os.rename(path + ".away", path)
print("%d bytes changed, %d cuts" % tuple(counts))
print("\n".join(wrong[:20]))
sys.exit(len(wrong) > 0)
PYTHON
check "any byte changed, any cut, any file missing is refused in a line" \
    python3 bytes.py "$skein" "$newest" "${EVERY:-397}"
sed 's/^/    /' "$work/.check"
check "  and as it was, it is good" "$skein" inspect "$newest"

# --- full disks --------------------------------------------------------------
mkdir disk
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=60k tmpfs disk 2>mount.log
then
    at_exit "umount '$work/disk' 2>/dev/null"
    cp train.txt disk/
    code=0
    timeout 60 "$skein" train tiny.yaml "${small[@]}" -o checkpoint.path=new \
        -o data.train=disk/train.txt -o data.cache=disk/named \
        >out 2>err || code=$?
    check_equal "no room for a cache that is named is an error" \
        "$code $(cat err)" \
        "74 skein: disk/named-train.skc: the cache cannot be written: No space \
left on device; free some space, or set data.cache to a path in a folder that \
has room"
    check_equal "  and leaves nothing behind" "$(ls -A disk)" train.txt
    for cache in none auto; do
        check "  with data.cache=$cache there is a run" "$skein" train \
            tiny.yaml "${small[@]}" --json -o checkpoint.path=new.$cache \
            -o data.train=disk/train.txt -o data.cache=$cache
        cp .check new.$cache.json
    done
    check_equal "  to the same weights" "$(sha_of new.auto.json)" \
        "$(sha_of new.none.json)"
    check_equal "  and leaves nothing behind" "$(ls -A disk)" train.txt
    umount disk && mount -t tmpfs -o size=16k tmpfs disk
    code=0
    timeout 60 "$skein" train tiny.yaml "${small[@]}" --json \
        -o checkpoint.path=traced --trace disk/trace.json >out 2>err || code=$?
    check_equal "no room for a trace is a warning" "$code $(cat err)" \
        "0 skein: warning: the trace could not be written; is the disk full?"
    check "  as an event, too" grep -q '"event":"warning".*trace' out
    umount disk
else
    skip "full disks" "only root can mount a small one"
fi

# --- memory ------------------------------------------------------------------
# Whatever allocation is the first to fail: it ends well or with one sentence;
# but the messaging library, when it gets no memory, ends the worker by itself,
# and the parent says so. Without binding, since hwloc 2.9 writes into a set of
# units without looking whether it got one. The worker that is started again may
# find another allocation to fail at, or none, and end well. In 20 MiB the
# loader of programs gives up (exit code 127), before anything of ours runs.
restarts='^terminate called\|^ *what()\|^FATAL ERROR: OUT OF MEMORY'
restarts="$restarts\\|^skein: warning: .*\\(starts\\|resume\\)"
: >wrong
for megabytes in 24 60 110 140 160 180 200 230 260 300 340 380 420 500; do
    rm -rf memory
    code=0
    (ulimit -v $((megabytes * 1024)) && exec timeout 60 "$skein" train \
        tiny.yaml "${small[@]}" --no-binding -o checkpoint.path=memory) \
        >out 2>err ||
        code=$?
    [ "$code $(grep -vc "$restarts" err)" = "0 0" ] ||
        [ "$code $(wc -l <err)" = "71 1" ] ||
        [ "$code $(tail -n 1 err | grep -c 'killed by signal 6')" = "70 1" ] ||
        [ "$code $(grep -vc "$restarts" err)" = "71 1" ] ||
        echo "$megabytes MiB: exit code $code, $(cat err)" >>wrong
done
check_equal "any limit of memory ends in a run or in one sentence" \
    "$(cat wrong)" ""

# --- a worker that dies again and again --------------------------------------
killed=0
"$skein" train tiny.yaml --json -o checkpoint.path=doomed \
    -o train.epochs=1000000 >doomed.json 2>doomed.err </dev/null &
parent=$!
told() { # COUNT: more than that many checkpoints
    [ "$(grep -c '"event":"checkpoint"' doomed.json)" -gt "$1" ]
}
seen=0
while [ $killed -lt 6 ] && kill -0 $parent 2>/dev/null; do
    wait_until 200 told $seen || break
    worker=$(pgrep -P $parent | head -n 1)
    if [ -n "$worker" ] && kill -9 "$worker" 2>/dev/null; then
        killed=$((killed + 1))
    fi
    wait_until 100 test ! -e "/proc/$worker"
    seen=$(grep -c '"event":"checkpoint"' doomed.json)
done
code=0
if [ $killed = 6 ]; then
    wait $parent || code=$?
else
    kill -9 $parent
fi
check_equal "a worker is started again 5 times in a minute" \
    "$(grep -c '^skein: warning: the worker process was killed by signal 9' \
        doomed.err)" 5
check_equal "  then the run ends with an error" \
    "$code $(tail -n 1 doomed.err)" \
    "70 skein: the worker process was killed by signal 9 (Killed); did \
memory run out? see dmesg"
check "  and it resumes" "$skein" train tiny.yaml --resume \
    -o checkpoint.path=doomed -o train.epochs=1000000 \
    -o train.max_batches=$(($(batch_of doomed) + 10))
finish
