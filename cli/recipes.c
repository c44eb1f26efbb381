/* recipes.c - the texts that `skein recipe` prints, one or two for each engine.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/recipes.h"

#include <stddef.h>

/* clang-format off */
/* The lines about restarts in every batch file of Slurm. */
#define SLURM_LIVES                                                            \
    "#SBATCH --requeue            # preempted, or a node failed: start again\n"\
    "#SBATCH --open-mode=append   # a restart appends to the output\n"         \
    "#SBATCH --signal=USR1@120    # this many seconds before the time limit\n"

#define SLURM_AGAIN                                                            \
    "# 85: the run was stopped, has saved, and is not done. A cluster with\n"  \
    "# RequeueExit=85 starts it again; any other one is asked to do so.\n"     \
    "if [ \"$code\" = 85 ] &&\n"                                               \
    "    ! scontrol show config | grep -Eq '^RequeueExit .*\\<85\\>'; then\n"  \
    "    scontrol requeue \"$job\"\n"                                          \
    "fi\n"                                                                     \
    "exit \"$code\"\n"

static const char slurm_fixed[] =
    "#!/bin/bash\n"
    "# @file@ on @nodes@ nodes of a Slurm cluster: sbatch THIS-FILE\n"
    "#\n"
    "# It works in the folder that it is submitted from, which all nodes\n"
    "# share. Keys and checkpoints are in skein-JOB there.\n"
    "# docs/tasks/slurm.md says more.\n"
    "#SBATCH --job-name=skein\n"
    "#SBATCH --nodes=@nodes@\n"
    "#SBATCH --ntasks-per-node=1\n"
    "#SBATCH --cpus-per-task=@cores@    # cores of each node\n"
    "#SBATCH --output=skein-%j.out\n"
    SLURM_LIVES
    "set -uo pipefail\n"
    "umask 077 # for the keys\n"
    "job=$SLURM_JOB_ID\n"
    "folder=$PWD/skein-$job\n"
    "cores=$SLURM_CPUS_PER_TASK\n"
    "port=${SKEIN_PORT:-7001} # of each node; nothing else there may use it\n"
    "\n"
    "# The nodes are those that Slurm gave this time. The first one leads.\n"
    "nodes=\n"
    "for host in $(scontrol show hostnames \"$SLURM_JOB_NODELIST\"); do\n"
    "    key=$folder/$host.key\n"
    "    [ -e \"$key\" ] ||\n"
    "        skein keygen \"$key\" --name \"$host\" >/dev/null || exit\n"
    "    at=$(scontrol show node -o \"$host\" | grep -o ' NodeAddr=[^ ]*')\n"
    "    nodes+=\"{ name: $host, address: \\\"tcp://${at#*=}:$port\\\",\"\n"
    "    nodes+=\" key: \\\"$key\\\", cores: $cores }, \"\n"
    "done\n"
    "\n"
    "# From the second start on, the run continues from what was saved.\n"
    "resume=()\n"
    "[ ! -e \"$folder/run\" ] || resume=(--resume)\n"
    "\n"
    "# When one node has ended, the others have a minute to end, too. With\n"
    "# --kill-on-bad-exit=1, the 85 of one would kill those that still save.\n"
    "code=0\n"
    "srun --cpus-per-task=\"$cores\" --kill-on-bad-exit=0 --wait=60 \\\n"
    "    bash -c 'exec skein node \"$SLURMD_NODENAME\" \"$@\"' \\\n"
    "    bash @file@ \\\n"
    "@overrides@\n"
    /* These keys are for a run in one process, and are refused with nodes. */
    "    -o resources.cores=auto -o resources.memory=auto \\\n"
    "    -o \"nodes=[$nodes]\" -o \"checkpoint.path=$folder/run\" \\\n"
    /* With bash 4.3 an empty list counts as unset. */
    "    --requeue-code 85 ${resume[@]+\"${resume[@]}\"} || code=$?\n"
    "\n"
    SLURM_AGAIN;

static const char slurm_elastic[] =
    "#!/bin/bash\n"
    "# Members of the run of @file@ on a Slurm cluster: sbatch THIS-FILE\n"
    "#\n"
    "# Each is a job of one node, which Slurm may take away and start again,\n"
    "# there or elsewhere, while the others train on. For one more:\n"
    "#\n"
    "#     sbatch --array=@nodes@ THIS-FILE\n"
    "#\n"
    "# It works in the folder that it is submitted from, which all nodes\n"
    "# share. The coordinator is started by hand, on the machine that the\n"
    "# file names for it, which has to stay:\n"
    "#\n"
    "#     skein coordinator @file@\n"
    "#SBATCH --job-name=skein-member\n"
    "#SBATCH --array=0-@last@\n"
    "#SBATCH --nodes=1 --ntasks=1\n"
    "#SBATCH --exclusive          # one member a host: the file names hosts\n"
    /* In two parts, so that compilers do not read it as a conversion. */
    "#SBATCH --output=member-%" "a.out\n"
    SLURM_LIVES
    "set -uo pipefail\n"
    "job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\n"
    "\n"
    "# SIGTERM, which comes before the node is taken away, is notice: what\n"
    "# the member holds goes to the others. --grace N (25 s) bounds that, and\n"
    "# should be less than the GraceTime of the partition.\n"
    "code=0\n"
    "srun --cpus-per-task=\"$SLURM_CPUS_ON_NODE\" \\\n"
    "    bash -c 'exec skein member \"$SLURMD_NODENAME\" \"$@\"' \\\n"
    "    bash @file@ \\\n"
    "@overrides@\n"
    "    --requeue-code 85 || code=$?\n"
    "\n"
    SLURM_AGAIN;

static const char mpi_fixed[] =
    "#!/bin/bash\n"
    "# A node of the run of @file@, for each rank that mpirun starts:\n"
    "#\n"
    "#     mpirun -n @nodes@ --bind-to none \\\n"
    "#         --mca odls_base_sigkill_timeout 5 bash THIS-FILE\n"
    "#\n"
    "# The nodes are those of the file, in its order: rank 0 is the first. On\n"
    "# several machines name their hosts in that order, too (--host A,B,...).\n"
    "# When it is stopped, mpirun waits that many seconds before it sends\n"
    "# SIGTERM to its ranks, and again before it kills them: set the time\n"
    "# that a checkpoint takes. To continue: bash THIS-FILE --resume\n"
    "nodes=(@names@)\n"
    "rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:?start this with mpirun}}\n"
    "exec skein node \"${nodes[$rank]}\" @file@ \\\n"
    "@overrides@\n"
    "    \"$@\"\n";
/* clang-format on */

const cli_engine_t cli_engines[] = {
    { "slurm", "Slurm", true, slurm_fixed, slurm_elastic },
    { "mpi", "mpirun", false, mpi_fixed, NULL },
    { 0 },
};
