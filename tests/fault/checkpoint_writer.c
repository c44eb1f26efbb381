/* checkpoint_writer.c - writes or checks a run folder, for checkpoint_crash.sh.
 *
 *     checkpoint_writer write RUN FIRST LAST   one checkpoint a batch, keep 1
 *     checkpoint_writer check RUN              prints the newest whole batch,
 *                                              or -1 where there may be none
 *
 * Exit code 1: a call failed, and the reason was printed; 2: the data read back
 * are wrong.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/checkpoint_fixture.h"

#include "formats/folder/folder.h"

#include <inttypes.h>

static skn_run_folder_t *
open_run(const char *path, size_t *count, skn_error_t *error)
{
    skn_run_options_t options = { .resume = true, .config_text = "skein: 1\n" };
    skn_run_folder_t *run = skn_run_folder_open(path, &options, count, error);
    if (!run && error->status == SKN_NO_INPUT) {
        options.resume = false;
        run = skn_run_folder_open(path, &options, count, error);
    }
    return run;
}

static int
write_all(const char *path, uint64_t first, uint64_t last, skn_error_t *error)
{
    size_t count;
    skn_run_folder_t *run = open_run(path, &count, error);
    skn_status_t status = run ? SKN_OK : error->status;
    for (uint64_t batch = first; batch <= last && status == SKN_OK; batch++)
        status = fixture_write(run, batch, 2, 2, 1, error);
    skn_run_folder_close(&run);
    return status == SKN_OK ? 0 : 1;
}

static skn_status_t
refuse_temp(void *visitor, const char *name, skn_error_t *error)
{
    (void)visitor;
    if (strncmp(name, ".tmp-", 5) == 0)
        return skn_fail(error, SKN_INTERNAL, "%s is left over", name);
    return SKN_OK;
}

static int
check(const char *path, skn_error_t *error)
{
    size_t count;
    int result = 2;
    skn_run_folder_t *run = open_run(path, &count, error);
    if (!run)
        return 1;
    if (skn_folder_list(skn_run_folder_descriptor(run), path, refuse_temp, NULL,
                        error) != SKN_OK)
        goto done;
    if (count == 0) {
        (void)puts("-1");
        result = 0;
        goto done;
    }
    skn_checkpoint_t *checkpoint =
        skn_checkpoint_open(path, SKN_VERIFY_ALL, error);
    if (!checkpoint)
        goto done;
    if (fixture_good(checkpoint) && !*skn_checkpoint_warning(checkpoint)) {
        (void)printf("%" PRIu64 "\n", skn_checkpoint_batch(checkpoint));
        result = 0;
    }
    skn_checkpoint_close(&checkpoint);
done:
    skn_run_folder_close(&run);
    return result;
}

int
main(int count, char **argument)
{
    skn_error_t error = { 0 };
    int result = 64;
    fixture_step_bytes = 4096; /* one write a piece: fewer points */
    if (count == 5 && strcmp(argument[1], "write") == 0)
        result = write_all(argument[2], strtoull(argument[3], NULL, 10),
                           strtoull(argument[4], NULL, 10), &error);
    else if (count == 3 && strcmp(argument[1], "check") == 0)
        result = check(argument[2], &error);
    if (result != 0)
        (void)fprintf(stderr, "checkpoint_writer: %s\n",
                      *error.text ? error.text : "wrong data or arguments");
    return result;
}
