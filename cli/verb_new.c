/* verb_new.c - skein new: writes a model file for a data file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/read_config.h"
#include "cli/base/verbs.h"

/* The keys of data that a new file sets, unless they have their default. The
 * others are left to Skein, but for those that an override sets. */
static const char *const data_keys[] = { "train",
                                         "test",
                                         "held_back",
                                         "text_column",
                                         "category_columns",
                                         "number_columns",
                                         "label_column" };

/* Before the reason of a value that was decided. */
#define AUTO "  # auto: "

/* --- lines of the model --------------------------------------------------- */

static bool
is_section(const char *line)
{
    return line[0] && line[strlen(line) - 1] == ':';
}

/* Whether the line sets `key` at the indentation of data's keys. */
static bool
sets(const char *line, const char *key)
{
    size_t bytes = strlen(key);
    return strncmp(line, "  ", 2) == 0 && strncmp(line + 2, key, bytes) == 0 &&
           line[2 + bytes] == ':';
}

/* Whether the line has a key of the list; *is_kept: not with its default. */
static bool
is_data_key(const char *line, bool *is_kept)
{
    for (size_t k = 0; k < sizeof(data_keys) / sizeof(data_keys[0]); k++)
        if (sets(line, data_keys[k])) {
            *is_kept = strcmp(line, "  test: \"\"") != 0 &&
                       strcmp(line, "  held_back: 0") != 0 &&
                       strcmp(line, "  text_column: text") != 0 &&
                       strcmp(line, "  category_columns: \"\"") != 0 &&
                       strcmp(line, "  number_columns: \"\"") != 0 &&
                       strcmp(line, "  label_column: labels") != 0;
            return true;
        }
    return false;
}

/* The key of a line as in an override, "model.layers.hidden.units", from those
 * of the lines above it. */
typedef struct place {
    char key[SKN_TEXT_MAX];
    size_t end[SKN_CONFIG_DEPTH_MAX + 1]; /* of the parts, by indentation */
} place_t;

/* Goes to a line; returns its depth. */
static size_t
go_to(place_t *place, const char *line)
{
    size_t blanks = strspn(line, " "), depth = blanks / 2;
    const char *name = line + blanks;
    size_t bytes = strcspn(name, ":");
    if (name[0] == '-') { /* an item of a list: its name is its part */
        name += strcspn(name, " ") + 1;
        name += strncmp(name, "name: ", 6) == 0 ? 6 : 0;
        bytes = strlen(name);
    }
    size_t from = depth ? place->end[depth - 1] : 0;
    (void)snprintf(place->key + from, sizeof(place->key) - from, "%s%.*s",
                   depth ? "." : "", (int)bytes, name);
    place->end[depth] = strlen(place->key);
    return depth;
}

/* Whether an override has set the key, or a mapping that has it. */
static bool
is_overridden(const cli_call_t *call, const char *key)
{
    const char *overrides[CLI_VALUES_MAX];
    for (size_t k = cli_overrides(call, overrides); k-- > 0;) {
        size_t bytes = strcspn(overrides[k], "=");
        if (strncmp(overrides[k], key, bytes) == 0 &&
            (key[bytes] == '\0' || key[bytes] == '.'))
            return true;
    }
    return false;
}

/* Whether the line is a value that a user sets. */
static bool
is_set(const cli_call_t *call, const char *line, const char *key)
{
    bool is_kept = false;
    if (is_section(line) || strstr(line, AUTO))
        return false;
    if (strncmp(key, "data.", 5) == 0 && is_data_key(line, &is_kept))
        return is_kept;
    return strncmp(line, "    - name:", 11) == 0 || is_overridden(call, key);
}

typedef struct line {
    const char *text;
    bool is_kept; /* as it is: a user sets it, or what is in the section */
} line_t;

/* Cuts a model into its lines, for free(); NULL: no memory. */
static line_t *
cut_lines(const cli_call_t *call, char *model, size_t *count)
{
    size_t above[SKN_CONFIG_DEPTH_MAX + 1] = { 0 }, room = 1;
    place_t place = { 0 };
    for (const char *at = model; (at = strchr(at, '\n')); at++)
        room++;
    line_t *lines = calloc(room, sizeof(*lines));
    for (*count = 0; lines && *count < room; (*count)++) {
        const char *text = strsep(&model, "\n");
        size_t depth = go_to(&place, text);
        lines[*count].text = text;
        above[depth] = *count;
        if (is_set(call, text, place.key))
            for (size_t k = 0; k <= depth; k++)
                lines[above[k]].is_kept = true;
    }
    return lines;
}

/* Writes a line as a comment at its own indentation. */
static void
comment(const char *line, FILE *file)
{
    size_t blanks = strspn(line, " ");
    (void)fprintf(file, "%.*s# %s\n", (int)blanks, line, line + blanks);
}

/* Writes the lines of a model with every value and reason: those that a user
 * sets, and as comments those that were decided, with their sections. */
static void
write_lines(const line_t *lines, size_t count, const char *train, FILE *file)
{
    const char *parent = "";
    for (size_t k = 0; k < count; k++) {
        const char *line = lines[k].text;
        if (is_section(line))
            parent = lines[k].is_kept ? "" : line;
        if (is_section(line) && lines[k].is_kept)
            (void)fprintf(file, "%s%s\n", line[0] == ' ' ? "" : "\n", line);
        else if (sets(line, "train"))
            (void)fprintf(file, "  train: %s\n", train);
        else if (lines[k].is_kept)
            (void)fprintf(file, "%s\n", line);
        else if (strstr(line, AUTO)) {
            if (parent[0] == ' ')
                comment(parent, file);
            else if (parent[0])
                (void)fprintf(file, "\n# %s\n", parent);
            parent = "";
            comment(line, file);
        }
    }
}

/* --- the file ------------------------------------------------------------- */

static skn_status_t
refuse(const char *path, const char *why, skn_error_t *error)
{
    skn_status_t status = errno == EEXIST ? SKN_CANNOT_CREATE : SKN_STORAGE;
    (void)skn_fail(error, status, "%.300s: %s: %s", path, why, strerror(errno));
    return errno == EEXIST
               ? skn_fail_hint(error, status, "give a name that is not taken")
               : status;
}

/* Writes a training file as a text of YAML, as a file in `folder` has to name
 * it: without its folder if that is the same. A pattern has no path. */
static void
write_train(const char *path, const char *folder, FILE *file)
{
    char *whole = realpath(path, NULL), *here = getcwd(NULL, 0);
    char *name = whole ? strrchr(whole, '/') : NULL;
    bool is_same = name && (size_t)(name - whole) == strlen(folder) &&
                   strncmp(whole, folder, strlen(folder)) == 0;
    if (!whole && path[0] != '/' && here &&
        asprintf(&whole, "%s/%s", here, path) < 0)
        whole = NULL;
    cli_json_string(is_same ? name + 1 : whole ? whole : path, file);
    free(whole);
    free(here);
}

/* The training files as a value of YAML in the file `out`, for free(); NULL: no
 * memory. */
static char *
train_of(const char *data, const char *out)
{
    char *copy = strdup(out), *files = strdup(data), *rest = files, *path;
    char *slash = copy ? strrchr(copy, '/') : NULL, *text = NULL;
    if (slash)
        slash[slash == copy] = '\0';
    char *folder = copy ? realpath(slash ? copy : ".", NULL) : NULL;
    size_t bytes = 0;
    bool is_several = strchr(data, '\n') != NULL;
    FILE *file = files && folder ? open_memstream(&text, &bytes) : NULL;
    while (file && (path = strsep(&rest, "\n"))) {
        (void)fputs(!is_several ? "" : path == files ? "[ " : ", ", file);
        write_train(path, folder, file);
    }
    if (file) {
        (void)fputs(is_several ? " ]" : "", file);
        (void)fclose(file);
    }
    free(copy);
    free(files);
    free(folder);
    return text;
}

static void
write_all(const cli_call_t *call, const line_t *lines, size_t line_count,
          const char *train, FILE *file)
{
    const char *data = call->operands[0], *out = call->operands[1];
    const char *name = strrchr(out, '/');
    (void)fprintf(file,
                  "# %s - trains on %.*s%s. Other keys are auto or have their\n"
                  "# defaults; comments show what Skein decided, and why.\n"
                  "# Every key: docs/reference/config.md, and\n"
                  "# `skein plan %s --model`.\n"
                  "#\n"
                  "#   skein train %s\n"
                  "skein: 1\n",
                  name ? name + 1 : out, (int)strcspn(data, "\n"), data,
                  strchr(data, '\n') ? " and more" : "", out, out);
    write_lines(lines, line_count, train, file);
}

static skn_status_t
write_file(const cli_call_t *call, char *model, skn_error_t *error)
{
    const char *out = call->operands[1];
    char *train = train_of(call->operands[0], out);
    size_t count;
    line_t *lines = cut_lines(call, model, &count);
    int descriptor =
        train && lines
            ? open(out, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
            : -1;
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (!file) {
        free(train);
        free(lines);
        return refuse(out, "cannot create", error);
    }
    write_all(call, lines, count, train, file);
    free(train);
    free(lines);
    bool good = !ferror(file);
    if (fclose(file) == 0 && good)
        return SKN_OK;
    (void)refuse(out, "cannot write", error);
    (void)unlink(out);
    return error->status;
}

/* --- the verb ------------------------------------------------------------- */

static int
make(const cli_call_t *call, skn_config_t *config)
{
    skn_error_t error = { 0 };
    char *model = NULL;
    size_t bytes = 0;
    if (skn_config_plan(config, &error) != SKN_OK)
        return cli_config_report(call, config);
    cli_config_warn(call, config);
    FILE *file = open_memstream(&model, &bytes);
    skn_status_t status =
        file ? skn_config_print(config, SKN_CONFIG_MODEL, file, &error)
             : skn_fail(&error, SKN_NO_MEMORY, "no memory for a model file");
    if (file)
        (void)fclose(file);
    if (status == SKN_OK)
        status = write_file(call, model, &error);
    free(model);
    if (status != SKN_OK)
        return cli_report(call, &error);
    cli_print_path("", call->operands[1], ": train it with `skein train ");
    cli_print_path("", call->operands[1], "`\n");
    return 0;
}

static int
new_run(const cli_call_t *call)
{
    skn_error_t error = { 0 };
    skn_config_t *config = cli_config_load(
        call, 0, (skn_config_options_t){ .sort = SKN_CONFIG_IS_MODEL }, &error);
    int code = config ? make(call, config) : cli_report(call, &error);
    skn_config_destroy(&config);
    return code;
}

static const cli_option_t options[] = {
    CLI_MODEL_OPTIONS,
    CLI_DOCUMENT_OPTIONS,
    { 0 },
};

const cli_verb_t cli_new = {
    .name = "new",
    .help = "write a model file for a data file",
    .operands = "DATA... FILE",
    .operands_min = 2,
    .operands_max = 2,
    .several = 1,
    .options = options,
    .description =
        "Reads DATA as `skein train` does, and writes a model file that\n"
        "trains on it: a few keys are set, those of -o too, and what Skein\n"
        "decides is there as comments, each with its reason, to be set by\n"
        "removing the `#`.\n"
        "A tenth of the rows is held back as a test, unless --test says\n"
        "otherwise. FILE must not exist.\n"
        "    skein new titles.csv titles.yaml --text title --labels tags\n"
        "    skein train titles.yaml",
    .run = new_run,
};
