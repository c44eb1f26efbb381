#!/usr/bin/env bash
# mpi.sh - two nodes that Open MPI's mpirun starts, by the command of
# docs/tasks/slurm.md: they train, save when mpirun is told to end, and go on.
#
# Covers cli/verb_recipe.c and cli/recipes.c.
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/tiny.sh
. "$(dirname "$0")/tiny.sh"
# shellcheck source=tests/e2e/pair.sh
. "$(dirname "$0")/pair.sh"
needs "nodes that mpirun starts" mpirun
pair_model
cluster nodes
# What ranks say after mpirun is told to end may be lost: it goes to a file.
mkdir tools
cat >tools/skein <<SHELL
#!/bin/sh
[ "\$1" = node ] || exec $skein "\$@"
exec $skein "\$@" --json >>"\$2.json"
SHELL
chmod +x tools/skein
PATH=$work/tools:$PATH
# In a container of CI this is root, which may have one core.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
epochs() { sed -i "s/epochs: [0-9]*/epochs: $1/" nodes.yaml; }
sha() {
    "$skein" inspect run --json >inspected.json
    event inspect weights_sha256 inspected.json
}

epochs 1000000
docs mpi >stopped.said 2>&1 </dev/null &
shell=$!
mpirun_of() { pgrep -P "$shell" -x mpirun; }
check "mpirun starts two nodes, which train" \
    wait_until 600 test -e run/latest || cat stopped.said
check "  SIGTERM is sent to mpirun" kill -TERM "$(mpirun_of)"
wait "$shell"
check_equal "  they save first" "$(batch_of run)" \
    "$(event stopped batch a.json)"
goal=$(($(batch_of run) / 19 + 3))
epochs $goal
"$skein" train tiny.yaml --json -o checkpoint.path=quiet \
    -o train.epochs=$goal >quiet.json 2>quiet.err </dev/null
check "the same command with --resume continues" \
    mpirun -n 2 --bind-to none --mca odls_base_sigkill_timeout 5 \
    bash node.sh --resume
check_equal "  to the weights of an undisturbed run" "$(sha)" \
    "$(sha_of quiet.json)"
finish
