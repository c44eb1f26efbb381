#!/usr/bin/env bash
# recipe.sh - what `skein recipe` prints, run with stand-ins for the engine, and
# what it refuses. A real Slurm runs it in slurm.sh, and mpirun in mpi.sh.
#
# Covers cli/verb_recipe.c and cli/recipes.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
tiny_model
cat tiny.yaml - >nodes.yaml <<'YAML'
nodes:
  - { name: a, address: "tcp://127.0.0.1:7001", key: a.key }
  - { name: b, address: "tcp://127.0.0.1:7002", key: b.key }
  - { name: c, address: "tcp://127.0.0.1:7003", key: c.key }
YAML
cat nodes.yaml - >elastic.yaml <<'YAML'
coordinator: { address: "tcp://127.0.0.1:7000", key: lead.key }
YAML

# --- an engine that says what it was asked ------------------------------------
# srun and mpirun's program write down their words, one a line, and end with
# $ends; scontrol knows two hosts, and a slurm.conf.
mkdir tools
tool() {
    cat >"tools/$1"
    chmod +x "tools/$1"
}
tool scontrol <<'SHELL'
#!/bin/bash
echo "$*" >>asked
case $* in
"show hostnames"*) printf '%s\n' h1 h2 ;;
"show node -o "*) echo "NodeName=$4 NodeAddr=10.0.0.${4#h} Port=6818" ;;
"show config") cat config ;;
esac
SHELL
tool srun <<'SHELL'
#!/bin/bash
printf '%s\n' "$@" >words
exit "$ends"
SHELL
tool skein <<'SHELL'
#!/bin/bash
[ "$1" != keygen ] || exec "$skein" "$@"
printf '%s\n' "$@" >words
SHELL
export skein ends
# batch FILE CODE: runs a batch file whose nodes end with CODE; its own is told.
batch() {
    ends=$2
    rm -f asked words
    PATH=$work/tools:$PATH SLURM_JOB_ID=7 SLURM_JOB_NODELIST='h[1-2]' \
        SLURM_CPUS_PER_TASK=3 SLURM_CPUS_ON_NODE=4 SLURM_ARRAY_JOB_ID=8 \
        SLURM_ARRAY_TASK_ID=2 bash "$1" >said 2>&1 </dev/null
}
asked_again() { grep -c "^requeue $1\$" asked; }

"$skein" recipe slurm tiny.yaml --nodes 2 -o "train.epochs=7" \
    -o "data.train=it's \"here\"  # and \$there" -o resources.cores=3 \
    -o resources.memory=2GiB >run.sbatch
check_match "it asks for the nodes" '^#SBATCH --nodes=2$' run.sbatch
check_match "  and their cores" '^#SBATCH --cpus-per-task=3 ' run.sbatch
echo "RequeueExit             = 85" >config
check "a finished run is not started again" batch run.sbatch 0
grep -vE '^nodes=|^checkpoint' words >plain
check_equal "each node runs skein node, with what was given as it was typed" \
    "$(sed -n '/^bash$/,$p' plain | tail -n +4)" "bash
tiny.yaml
-o
train.epochs=7
-o
data.train=it's \"here\"  # and \$there
-o
resources.cores=3
-o
resources.memory=2GiB
-o
resources.cores=auto
-o
resources.memory=auto
-o
-o
--requeue-code
85"
check_match "  by a list of all" "^nodes=\[\{ name: h1, address: \
\"tcp://10.0.0.1:7001\", key: \"$work/skein-7/h1.key\", cores: 3 \}, \
\{ name: h2, address: \"tcp://10.0.0.2:7001\", .*, \]\$" words
mapfile -t given < <(sed -n '/^tiny.yaml$/,/^--requeue-code$/p' words |
    head -n -1)
check "  and skein takes all of it, whatever the file says of one process" \
    "$skein" check "${given[@]}"
check_equal "  whose secret halves are the owner's alone" \
    "$(stat -c %a skein-7/h1.key_secret)" 600
mkdir skein-7/run
check_code 85 "85 is 85" batch run.sbatch 85
check_match "  from the second life on it resumes" "^--resume$" words
check_equal "  a cluster that starts it again by that is not asked" \
    "$(asked_again 7)" 0
for config in "(null)" 185 "70-84" "85,99"; do
    echo "RequeueExit             = $config" >config
    want=1
    [ "$config" != "85,99" ] || want=0
    batch run.sbatch 85
    check_equal "  with RequeueExit=$config asked $want times" \
        "$(asked_again 7)" $want
done
check_code 78 "what failed has failed" batch run.sbatch 78
check_equal "  and is not started again" "$(asked_again 7)" 0

"$skein" recipe slurm elastic.yaml --elastic >members.sbatch
check_match "an array of members, of as many as the file has" \
    '^#SBATCH --array=0-2$' members.sbatch
echo "RequeueExit             = (null)" >config
check_code 85 "a member that gets SIGTERM" batch members.sbatch 85
check_equal "  asks for its own task" "$(asked_again 8_2)" 1
check_match "  has all cores of its node" '^--cpus-per-task=4$' words

"$skein" recipe mpi nodes.yaml -o train.epochs=3 >node.sh
rank() { OMPI_COMM_WORLD_RANK=$1 PATH=$work/tools:$PATH bash node.sh --resume; }
check "a rank of mpirun" rank 2
check_equal "  is a node of the file" "$(paste -sd ' ' words)" \
    "node c nodes.yaml -o train.epochs=3 --resume"
check_code 1 "  without mpirun it is reported" bash node.sh
check_match "    so" "start this with mpirun" .check
for text in run.sbatch members.sbatch node.sh; do
    check "$text is good shell" bash -n $text
    check_equal "  without a place left" "$(grep -c '@[a-z]' $text)" 0
done
mkdir "a folder"
cp tiny.yaml "a folder/it's.yaml"
"$skein" recipe slurm "a folder/it's.yaml" -o data.train=x >odd.sbatch
check "a file whose name a shell would take apart" batch odd.sbatch 0
check_match "  stays one word" "^a folder/it's.yaml$" words
for name in $'x\necho taken' $'x\recho' $'x\x7f'; do
    cp tiny.yaml "$name"
    check_code 64 "  a control character in a name is refused" \
        "$skein" recipe slurm "$name"
    check_match "  as one" "^skein: the name of .*control character" .check
done

# --- tests that need an engine ------------------------------------------------
engine() { # CI: what a test says that needs one which is not there
    CI=$1 bash -c ". '$root/tests/e2e/lib.sh'
        needs 'an engine' no-such-engine; pass 'what needs it'; finish"
}
check "without the engine its test is skipped" engine ""
check_match "  and says so" \
    '^SKIPPED: an engine: needs no-such-engine; .ci/deps --engines' .check
check_match "  not as passed" '^0 passed, 0 failed, 1 skipped$' .check
check_code 1 "  but in CI it has failed" engine true

# --- what it refuses ----------------------------------------------------------
refused() { # CODE REGEX WORD...
    local code=$1 regex=$2
    shift 2
    check_code "$code" "recipe $*" "$skein" recipe "$@"
    check_match "  is reported" "$regex" .check
}
refused 64 "no recipe for 'slrum'.*did you mean 'slurm'" slrum tiny.yaml
refused 64 "no recipe for 'kubernetes'; available: slurm, mpi$" kubernetes \
    tiny.yaml
for count in 0 65 x 1.5 -1; do
    refused 64 "^skein: --nodes must be a whole number in 1..64, found" slurm \
        tiny.yaml --nodes "$count"
done
refused 64 "has no .coordinator:., which --elastic needs" slurm tiny.yaml \
    --elastic
refused 64 "has no .coordinator:., which --elastic needs" slurm nodes.yaml \
    --elastic
refused 64 "has a .coordinator:.: its nodes come and go" slurm elastic.yaml
refused 64 "^skein: --nodes is 4, but elastic.yaml lists 3" slurm elastic.yaml \
    --elastic --nodes 4
refused 64 "mpirun starts all nodes at once" mpi elastic.yaml --elastic
refused 64 "mpirun starts all nodes at once" mpi elastic.yaml
refused 64 "^skein: tiny.yaml has no nodes" mpi tiny.yaml
refused 64 "^skein: --nodes is 2, but nodes.yaml lists 3" mpi nodes.yaml \
    --nodes 2
refused 64 "checkpoint.copies is 2" slurm tiny.yaml -o checkpoint.copies=2
refused 64 "standard input" slurm -
"$skein" plan tiny.yaml >plan.yaml
refused 64 "^skein: plan.yaml is a topology" slurm plan.yaml
refused 66 "none.yaml" slurm none.yaml
sed 's/epochs: 5/epoch: 5/' tiny.yaml >wrong.yaml
refused 78 "^wrong.yaml:8:3: .*epoch" slurm wrong.yaml
refused 64 "" slurm
finish
