#!/usr/bin/env bash
# ssh.sh - skein up with a node over ssh, to a server that the test starts.
#
# OpenSSH's sshd listens on loopback, with keys of its own in $work. Covers
# cli/verb_up.c, cli/up/up_command.c, cli/up/up_process.c and the leash of
# cli/base/follow.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
PATH=$PATH:/usr/sbin:/sbin
server=$(command -v sshd) # it starts itself anew by its whole path
if [ -z "$server" ] || ! command -v ssh >/dev/null; then
    skip "nodes over ssh" "needs ssh and sshd (Debian: openssh-server)"
    finish
fi
tiny_model
sed -i 's/, shards: 2//; s/^train:/train:\n  reduction: fixed\n  window: 4/' \
    tiny.yaml
cp tiny.yaml alone.yaml

hold_ports 7
port=${ports[0]} closed=${ports[1]} silent=${ports[2]}

# --- a server and a user of it ----------------------------------------------
ssh-keygen -q -t ed25519 -N '' -f user || exit 70
chmod 700 "$work"
ssh-keygen -q -t ed25519 -N '' -f host || exit 70
mkdir home # not the user's, whose start-up files take longer than all else
cat >sshd_config <<CONFIG
ListenAddress 127.0.0.1:$port
HostKey $work/host
AuthorizedKeysFile $work/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
SetEnv "HOME=$work/home"
CONFIG
# As root it wants an empty folder, which else its service makes.
if [ "$(id -u)" = 0 ] && [ ! -d /run/sshd ]; then
    mkdir -m 755 /run/sshd && at_exit "rmdir /run/sshd 2>/dev/null"
fi
"$server" -D -f "$work/sshd_config" -E sshd.log &
sshd=$!
at_exit "kill $sshd 2>/dev/null; wait $sshd 2>/dev/null"
listening() { ss -Hltn "sport = :$1" | grep -q .; }
wait_until 100 listening "$port" || {
    cat sshd.log
    exit 70
}
echo "[127.0.0.1]:$port $(cut -d ' ' -f 1,2 host.pub)" >known
# Of what stands twice ssh takes the first, but all keys.
cat >config <<CONFIG
Host nobody
  Port $closed
Host deaf
  Port $silent
Host impostor
  UserKnownHostsFile $work/none
Host stranger
  IdentityFile $work/other
Host * !stranger
  IdentityFile $work/user
Host *
  HostName 127.0.0.1
  Port $port
  User $(id -un)
  IdentitiesOnly yes
  UserKnownHostsFile $work/known
  StrictHostKeyChecking yes
CONFIG
ssh-keygen -q -t ed25519 -N '' -f other || exit 70
: >none
check "the server lets us in" ssh -F config -o BatchMode=yes far true ||
    cat sshd.log

# --- runs --------------------------------------------------------------------
next=3
# cluster NAME HOST: NAME.yaml with node a here, and b over ssh at HOST.
cluster() {
    cp alone.yaml "$1.yaml"
    cat >>"$1.yaml" <<YAML
nodes:
  - { name: a, address: "tcp://127.0.0.1:${ports[next]}", key: a.key }
  - { name: b, address: "tcp://127.0.0.1:${ports[next + 1]}", key: b.key,
      ssh: $2 }
YAML
    next=$((next == 3 ? 5 : 3))
}
for name in a b; do "$skein" keygen "$name.key" >/dev/null || exit 70; done
# up NAME OPTION...: the run that `cluster NAME` made.
up() {
    local name=$1
    shift
    timeout -k 5 100 "$skein" up "$name.yaml" --json --ssh "ssh -F config" \
        --remote-program "${remote:-$skein}" -o checkpoint.path="$name.run" \
        "$@" >"$name.json" 2>"$name.err" </dev/null
}
# start NAME OPTION...: the same, behind, as a process of its own: $up.
start() {
    local name=$1
    shift
    "$skein" up "$name.yaml" --json --ssh "ssh -F config" --remote-program \
        "$skein" -o checkpoint.path="$name.run" "$@" >"$name.json" \
        2>"$name.err" </dev/null &
    up=$!
}
trained() { wait_until 300 grep -q '"checkpoint"' "$1.json"; }
# nodes_of NAME: the processes of its nodes, on both ends.
nodes_of() { pgrep -f "node [ab] $1.yaml --json" | sort -n; }
all_gone() { [ -z "$(nodes_of "$1")" ]; }
# ended SENTENCE CODE FILE: how `start` ended; said is FILE else.
ended() {
    local code=0
    wait "$up" || code=$?
    check_equal "$1" "$code" "$2" || cat "$3"
}

"$skein" train alone.yaml --json -o checkpoint.path=alone >alone.json \
    2>alone.err </dev/null
want=$(sha_of alone.json)
cluster there far
check "one node here and one over ssh train" up there
check_equal "  to the same weights" "$(sha_of there.json)" "$want"
check_equal "  done has the number of nodes" \
    "$(event "done" nodes there.json)" 2
check_equal "  nothing else is printed" "$(cat there.err)" ""

# Words that a shell would read, in the folder and in an override.
mkdir "it's a \$(folder)" && cp ./*.key* ./*.txt data.yaml there.yaml config \
    "it's a \$(folder)/" 2>/dev/null
quoted() (cd "it's a \$(folder)" && up there -o train.epochs=1 \
    -o "checkpoint.path=a 'b' \$c" && test -d "a 'b' \$c")
check "a folder and options that a shell would read" quoted

# --- ends --------------------------------------------------------------------
long=(-o train.epochs=5000)
for signal in INT TERM; do
    cluster $signal far
    start $signal "${long[@]}"
    trained $signal
    kill -$signal "$up"
    ended "SIG$signal to up ends both well" 0 $signal.err
    check_match "  stopped" '"stopped"' $signal.json
    check "  and nothing is left" wait_until 50 all_gone $signal
done
# As a terminal does it: to all of the foreground. A shell lets what runs
# behind ignore SIGINT, so that another program has to start it.
cluster typed far
cat >foreground.py <<'PYTHON'
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.setpgid(0, 0)
os.execv(sys.argv[1], sys.argv[1:])
PYTHON
python3 foreground.py "$skein" up typed.yaml --json --ssh "ssh -F config" \
    --remote-program "$skein" -o checkpoint.path=typed.run "${long[@]}" \
    >typed.json 2>typed.err </dev/null &
up=$!
trained typed
kill -INT -- "-$up"
ended "Ctrl-C in a terminal ends both well" 0 typed.err
check_match "  stopped" '"stopped"' typed.json
check "  and nothing is left" wait_until 50 all_gone typed

cluster killed far
start killed "${long[@]}"
trained killed
remote=$(pgrep -f -- "node b killed.yaml --json" | while read -r pid; do
    # Of the processes there the one that is skein, and its parent is none.
    grep -q "^$skein" <(tr '\0' ' ' <"/proc/$pid/cmdline") &&
        ! grep -q "^$skein" <(tr '\0' ' ' \
            <"/proc/$(ps -o ppid= "$pid" | tr -d ' ')/cmdline") && echo "$pid"
done)
check "the node over ssh is one process with a worker" test -n "$remote"
# shellcheck disable=SC2086
kill -9 $remote
ended "kill -9 of the node over ssh ends the run" 69 killed.err
check_match "  with its name" "^skein: node 'b'" killed.err
check_equal "  in one line" "$(wc -l <killed.err)" 1 || cat killed.err
check "  and nothing is left" wait_until 150 all_gone killed
unset remote

cluster orphan far
start orphan "${long[@]}"
trained orphan
{ kill -9 "$up" && wait "$up"; } 2>/dev/null
check "kill -9 of up: no node stays, here or there" wait_until 150 all_gone \
    orphan || ps -ef | grep "[n]ode [ab] orphan"

# --- ssh does not get there --------------------------------------------------
# said SENTENCE HOST REGEX: up ends with a line like that, and soon.
said() {
    local code=0 began=$SECONDS
    cluster "$2" "$2"
    up "$2" || code=$?
    check_equal "$1" "$code" 69
    check_match "  is reported" "^skein: node 'b': ssh $2: $3; \`ssh $2 true\` \
must work without a prompt; set ports and keys in ~/.ssh/config, or give \
--ssh COMMAND$" "$2.err"
    check_equal "  in one line" "$(wc -l <"$2.err")" 1
    check "  within 20 s" test $((SECONDS - began)) -le 20
    check "  and nothing is left" wait_until 50 all_gone "$2"
}
said "a host where nobody listens" nobody \
    "ssh: connect to host 127.0.0.1 port $closed: Connection refused"
said "a host that does not know our key" stranger \
    ".*Permission denied \(publickey.*\)\."
said "a host that is another one" impostor "Host key verification failed\."
# A host that takes connections and says nothing.
python3 -c '
import socket, sys, time
held = socket.create_server(("127.0.0.1", int(sys.argv[1])))
time.sleep(60)' "$silent" &
holder=$!
at_exit "kill $holder 2>/dev/null"
wait_until 100 listening "$silent"
said "a host that does not answer" deaf "Connection .*timed out.*"

remote=/no/such/skein
cluster without far
code=0
up without || code=$?
check_equal "a host without skein" "$code" 69
check_match "  is reported with what to install" \
    "^skein: node 'b': ssh far: .*/no/such/skein\
: (not found|No such file or directory); install skein there, or give its" \
    without.err
check_equal "  in one line" "$(wc -l <without.err)" 1 || cat without.err
unset remote
cluster ghost far
check_code 69 "a program for ssh that is not there" timeout 60 "$skein" up \
    ghost.yaml --ssh no-such-ssh -o checkpoint.path=ghost.run
check_match "  is named" "^skein: node 'b': ssh far: no-such-ssh: No such" \
    "$work/.check"
check_code 64 "--ssh without a word is refused" "$skein" up ghost.yaml --ssh " "
for verb in "up ghost.yaml" "node a ghost.yaml"; do
    # shellcheck disable=SC2086
    check_code 64 "--wait that is no number is refused by ${verb%% *}" \
        "$skein" $verb --wait 1m -o checkpoint.path=ghost.run
    check_match "  and the reason is printed" \
        "^skein: --wait must be a whole number in \
1..86400, found '1m'$" "$work/.check"
done

# --- other instruction sets --------------------------------------------------
# scalar is on every CPU; what this one has beyond AVX2 is its best, else AVX2.
cat >other <<SHELL
#!/bin/sh
SKEIN_ISA=\$(cat '$work/isa') exec '$skein' "\$@"
SHELL
chmod +x other
best=$("$skein" version | sed -n 's/^kernels *\([a-z0-9]*\).*/\1/p')
echo "    this CPU's best: $best"
for isa in scalar avx2; do
    echo $isa >isa
    remote=$work/other
    cluster "mixed.$isa" far
    if ! SKEIN_ISA=$isa "$skein" train alone.yaml --json -o \
        checkpoint.path="one.$isa" >"one.$isa.json" 2>"one.$isa.err"; then
        skip "$isa beside the best" "$(tail -n 1 "one.$isa.err")"
        continue
    fi
    check "$isa beside the best trains" up "mixed.$isa" || cat "mixed.$isa.err"
    check "  to the same loss, but for the last digits" python3 -c "
one = $(event "done" loss alone.json)
mixed = $(event "done" loss "mixed.$isa.json")
assert abs(one - mixed) < 1e-5 * one, (one, mixed)"
    again=$(sha_of "mixed.$isa.json")
    rm -r "mixed.$isa.run"
    check "  and again" up "mixed.$isa"
    check_equal "  to the same weights" "$(sha_of "mixed.$isa.json")" "$again"
done
finish
