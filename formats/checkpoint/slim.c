/* slim.c - writes, maps and checks a model in one file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/slim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "formats/folder/folder.h"
#include "formats/text/json_text.h"

#define FIRST "{\"__metadata__\":{\"format\":\"skein-model\",\"version\":\""
#define HEADER_HASH "1\",\"header_xxh3_128\":\""
#define SEAL_DIGITS (SKN_HASH_TEXT_BYTES - 1u)
#define HASH_AT (SKN_SAFETENSORS_LENGTH_BYTES + sizeof(FIRST HEADER_HASH) - 1)
#define ZEROS "00000000000000000000000000000000"
#define ALIGN 64u /* a cache line */

static const unsigned char padding[ALIGN];

/* --- writing -------------------------------------------------------------- */

/* The tensors in the order of the file, and where their bytes are. */
typedef struct plan {
    skn_safetensor_t *tensor; /* [count], with the padding */
    const void **bytes;       /* [count] */
    size_t count;
    uint64_t data_bytes;
    unsigned char *header;
    size_t header_bytes;
} plan_t;

static void
plan_fini(plan_t *plan)
{
    free(plan->tensor);
    free(plan->bytes);
    free(plan->header);
}

static skn_status_t
place(plan_t *plan, const skn_safetensor_t *tensor, const void *bytes,
      skn_error_t *error)
{
    skn_safetensor_t *placed = &plan->tensor[plan->count];
    *placed = *tensor;
    placed->offset_bytes = plan->data_bytes;
    skn_status_t status =
        skn_safetensor_size(placed, &placed->size_bytes, error);
    if (status != SKN_OK)
        return status;
    plan->bytes[plan->count++] = bytes;
    plan->data_bytes += placed->size_bytes;
    return SKN_OK;
}

/* Places a part, and zeros up to the next multiple of 64. */
static skn_status_t
place_part(plan_t *plan, const skn_slim_part_t *part, skn_error_t *error)
{
    skn_safetensor_t tensor = { .dtype = part->dtype,
                                .dims = part->columns > 0 ? 2 : 1,
                                .shape = { part->rows, part->columns } };
    (void)snprintf(tensor.name, sizeof(tensor.name), "%s", part->name);
    skn_status_t status = place(plan, &tensor, part->bytes, error);
    uint64_t past = plan->data_bytes % ALIGN;
    if (status != SKN_OK || past == 0)
        return status;
    skn_safetensor_t pad = { .dtype = SKN_DTYPE_U8,
                             .dims = 1,
                             .shape = { ALIGN - past } };
    (void)snprintf(pad.name, sizeof(pad.name), "pad.%zu", plan->count);
    return place(plan, &pad, padding, error);
}

/* XXH3-128 of the data as they will be in the file. */
static skn_status_t
hash_data(const plan_t *plan, char text[SKN_HASH_TEXT_BYTES],
          skn_error_t *error)
{
    XXH128_canonical_t digest;
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a hash");
    (void)XXH3_128bits_reset(state);
    for (size_t k = 0; k < plan->count; k++)
        (void)XXH3_128bits_update(state, plan->bytes[k],
                                  (size_t)plan->tensor[k].size_bytes);
    XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state));
    (void)XXH3_freeState(state);
    for (size_t k = 0; k < sizeof(digest.digest); k++)
        (void)snprintf(text + 2 * k, 3, "%02x", digest.digest[k]);
    return SKN_OK;
}

static skn_status_t
make_header(plan_t *plan, const skn_slim_facts_t *facts, const char *data_hash,
            skn_error_t *error)
{
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text,
                      "\"format\":\"skein-model\",\"version\":\"" HEADER_HASH
                      "%s\",\"data_xxh3_128\":\"%s\",\"run_id\":\"%s\","
                      "\"batch\":\"%" PRIu64 "\",\"features\":\"%u\","
                      "\"created\":",
                      ZEROS, data_hash, facts->run_id, facts->batch,
                      facts->feature_count);
    skn_json_text_add_string(&text, facts->created);
    skn_json_text_add(&text, ",\"config\":");
    skn_json_text_add_string(&text, facts->config);
    skn_status_t status =
        text.failed
            ? skn_fail(error, SKN_NO_MEMORY, "no memory for a header")
            : skn_safetensors_header(plan->tensor, plan->count, text.bytes, 64,
                                     &plan->header, &plan->header_bytes, error);
    skn_json_text_fini(&text);
    if (status != SKN_OK)
        return status;
    char hash[SKN_HASH_TEXT_BYTES];
    skn_hash_text(plan->header, plan->header_bytes, hash);
    memcpy(plan->header + HASH_AT, hash, SEAL_DIGITS);
    return SKN_OK;
}

static skn_status_t
make_plan(plan_t *plan, const skn_slim_facts_t *facts,
          const skn_slim_part_t *part, size_t count, bool hashed,
          skn_error_t *error)
{
    char data_hash[SKN_HASH_TEXT_BYTES] = ZEROS;
    skn_status_t status = SKN_OK;
    plan->tensor = calloc(2 * count + 1, sizeof(*plan->tensor));
    plan->bytes = calloc(2 * count + 1, sizeof(*plan->bytes));
    if (!plan->tensor || !plan->bytes)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for %zu tensors",
                        count);
    for (size_t k = 0; k < count && status == SKN_OK; k++)
        status = place_part(plan, &part[k], error);
    if (status == SKN_OK && hashed)
        status = hash_data(plan, data_hash, error);
    return status == SKN_OK ? make_header(plan, facts, data_hash, error)
                            : status;
}

skn_status_t
skn_slim_size(const skn_slim_facts_t *facts, const skn_slim_part_t *part,
              size_t count, uint64_t *bytes, skn_error_t *error)
{
    plan_t plan = { 0 };
    skn_status_t status = make_plan(&plan, facts, part, count, false, error);
    *bytes = plan.header_bytes + plan.data_bytes;
    plan_fini(&plan);
    return status;
}

static skn_status_t
write_plan(const plan_t *plan, int file, const char *path, skn_error_t *error)
{
    skn_status_t status =
        skn_file_write(file, path, plan->header, plan->header_bytes, 0, error);
    for (size_t k = 0; k < plan->count && status == SKN_OK; k++)
        status = skn_file_write(
            file, path, plan->bytes[k], (size_t)plan->tensor[k].size_bytes,
            plan->header_bytes + plan->tensor[k].offset_bytes, error);
    if (status == SKN_OK && fsync(file) != 0)
        status = skn_fail_errno(error, SKN_STORAGE, path, NULL, "cannot write");
    return status;
}

static skn_status_t
refuse_old(const char *path, skn_error_t *error)
{
    (void)skn_fail(error, SKN_CANNOT_CREATE, "%.400s already exists", path);
    return skn_fail_hint(error, SKN_CANNOT_CREATE,
                         "choose another name, or remove it");
}

/* Opens the file `fresh`, which another export that was killed may have left,
 * and locks it until it is closed. -1: it cannot, or another process has it. */
static int
open_fresh(int folder, const char *fresh, const char *path, skn_error_t *error)
{
    struct stat facts;
    int file = openat(folder, fresh,
                      O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0) {
        (void)skn_fail_errno(error, SKN_CANNOT_CREATE, path, NULL,
                             "cannot create");
        return -1;
    }
    if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &facts) == 0 &&
        facts.st_nlink > 0 && ftruncate(file, 0) == 0)
        return file;
    (void)close(file);
    (void)skn_fail(error, SKN_CANNOT_CREATE,
                   "%s: another process writes it at the moment", path);
    return -1;
}

/* Writes the file `name` of an open folder. */
static skn_status_t
write_file(const plan_t *plan, int folder, const char *path, const char *name,
           skn_error_t *error)
{
    char fresh[NAME_MAX + 8];
    bool taken = false;
    (void)snprintf(fresh, sizeof(fresh), ".tmp-%.*s", NAME_MAX, name);
    int file = open_fresh(folder, fresh, path, error);
    if (file < 0)
        return SKN_CANNOT_CREATE;
    skn_status_t status = write_plan(plan, file, path, error);
    if (status == SKN_OK)
        status = skn_folder_name_file(folder, path, fresh, name, &taken, error);
    if (taken)
        status = refuse_old(path, error);
    if (status == SKN_OK)
        status = skn_folder_sync(folder, path, error);
    (void)unlinkat(folder, fresh, 0);
    (void)close(file); /* which was synced; gives up the lock */
    return status;
}

skn_status_t
skn_slim_write(const char *path, const skn_slim_facts_t *facts,
               const skn_slim_part_t *part, size_t count, skn_error_t *error)
{
    struct stat state;
    plan_t plan = { 0 };
    int folder = -1;
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char *above =
        slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!above)
        return skn_fail(error, SKN_NO_MEMORY, "no memory for a path");
    skn_status_t status = SKN_OK;
    if (!name[0])
        status = skn_fail(error, SKN_USAGE, "%.400s is not the name of a file",
                          path);
    else if (lstat(path, &state) == 0)
        status = refuse_old(path, error);
    if (status == SKN_OK)
        status = skn_folder_open(above, &folder, error);
    if (status == SKN_OK)
        status = make_plan(&plan, facts, part, count, true, error);
    if (status == SKN_OK)
        status = write_file(&plan, folder, path, name, error);
    if (folder >= 0)
        (void)close(folder);
    plan_fini(&plan);
    free(above);
    return status;
}

/* --- opening -------------------------------------------------------------- */

/* Whether `bytes` begin as a header of ours, of any version. */
static bool
is_ours(const unsigned char *bytes, size_t count)
{
    return count >= SKN_SAFETENSORS_LENGTH_BYTES + sizeof(FIRST) - 1 &&
           memcmp(bytes + SKN_SAFETENSORS_LENGTH_BYTES, FIRST,
                  sizeof(FIRST) - 1) == 0;
}

bool
skn_slim_is(const char *path)
{
    unsigned char first[SKN_SAFETENSORS_LENGTH_BYTES + sizeof(FIRST)];
    struct stat facts;
    /* A FIFO would block. */
    if (stat(path, &facts) != 0 || !S_ISREG(facts.st_mode))
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : read(file, first, sizeof(first));
    if (file >= 0)
        (void)close(file);
    return got > 0 && is_ours(first, (size_t)got);
}

/* Maps the file `path`. */
static skn_status_t
map_file(skn_slim_t *slim, const char *path, skn_error_t *error)
{
    struct stat facts;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return skn_fail_errno(error, SKN_NO_INPUT, path, NULL, "cannot open");
    skn_status_t status = SKN_OK;
    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode) ||
        facts.st_size < (off_t)HASH_AT)
        status = skn_fail(error, SKN_BAD_DATA,
                          "%.400s: is not an exported model", path);
    else
        slim->map_bytes = (size_t)facts.st_size;
    void *map = status == SKN_OK ? mmap(NULL, slim->map_bytes, PROT_READ,
                                        MAP_SHARED, file, 0)
                                 : MAP_FAILED;
    if (status == SKN_OK && map == MAP_FAILED)
        status = skn_fail_errno(error, SKN_STORAGE, path, NULL, "cannot map");
    slim->map = map == MAP_FAILED ? NULL : map;
    (void)close(file);
    return status;
}

/* Compares the hash of the header, whose size is known. */
static skn_status_t
check_header(const skn_slim_t *slim, size_t header_bytes, skn_error_t *error)
{
    char hash[SKN_HASH_TEXT_BYTES] = "";
    unsigned char *header =
        header_bytes >= HASH_AT + SEAL_DIGITS ? malloc(header_bytes) : NULL;
    if (header) {
        memcpy(header, slim->map, header_bytes);
        memcpy(header + HASH_AT, ZEROS, SEAL_DIGITS);
        skn_hash_text(header, header_bytes, hash);
        free(header);
    }
    return memcmp(hash, slim->map + HASH_AT, SEAL_DIGITS) == 0
               ? SKN_OK
               : skn_fail(error, SKN_BAD_DATA,
                          "%.400s: its header is damaged: the hash does not "
                          "fit",
                          slim->path);
}

static skn_status_t
check_version(const skn_slim_t *slim, skn_error_t *error)
{
    const char *path = slim->path;
    const unsigned char *at =
        slim->map + SKN_SAFETENSORS_LENGTH_BYTES + sizeof(FIRST) - 1;
    if (!is_ours(slim->map, slim->map_bytes))
        return skn_fail(error, SKN_BAD_DATA, "%.400s: is not an exported model",
                        path);
    if (memcmp(at, HEADER_HASH, sizeof(HEADER_HASH) - 1) == 0)
        return SKN_OK;
    if (at[0] < '1' || at[0] > '9')
        return skn_fail(error, SKN_BAD_DATA, "%.400s: its header is damaged",
                        path);
    (void)skn_fail(error, SKN_BAD_DATA,
                   "%.400s: was written by a newer version of Skein", path);
    return skn_fail_hint(error, SKN_BAD_DATA,
                         "use that version, or export the run again");
}

static bool
read_number(const json_t *metadata, const char *key, uint64_t most,
            uint64_t *number)
{
    const char *text = skn_json_word(metadata, key);
    char again[24];
    *number = strtoull(text, NULL, 10);
    (void)snprintf(again, sizeof(again), "%" PRIu64, *number);
    return strcmp(text, again) == 0 && *number <= most;
}

/* Reads the metadata, which the hash has proved to be ours. */
static skn_status_t
read_facts(skn_slim_t *slim, size_t header_bytes, skn_error_t *error)
{
    uint64_t features;
    json_t *root = skn_json_object_parse(
        slim->path, (const char *)slim->map + SKN_SAFETENSORS_LENGTH_BYTES,
        header_bytes - SKN_SAFETENSORS_LENGTH_BYTES, error);
    slim->root = root;
    if (!root)
        return SKN_BAD_DATA;
    const json_t *metadata = json_object_get(root, "__metadata__");
    slim->facts = (skn_slim_facts_t){
        .run_id = skn_json_word(metadata, "run_id"),
        .created = skn_json_word(metadata, "created"),
        .config = skn_json_word(metadata, "config"),
    };
    slim->data_hash = skn_json_word(metadata, "data_xxh3_128");
    bool good =
        read_number(metadata, "batch", UINT64_MAX, &slim->facts.batch) &&
        read_number(metadata, "features", UINT32_MAX, &features) &&
        skn_hash_text_good(slim->facts.run_id) &&
        skn_hash_text_good(slim->data_hash);
    if (!good)
        return skn_fail(error, SKN_BAD_DATA,
                        "%.400s: its metadata lack a member", slim->path);
    slim->facts.feature_count = (uint32_t)features;
    return SKN_OK;
}

static skn_status_t
read_header(skn_slim_t *slim, skn_error_t *error)
{
    uint64_t length = 0;
    skn_status_t status = check_version(slim, error);
    if (status == SKN_OK)
        status = skn_safetensors_length(slim->path, slim->map, slim->map_bytes,
                                        &length, error);
    size_t header_bytes = SKN_SAFETENSORS_LENGTH_BYTES + (size_t)length;
    if (status == SKN_OK)
        status = check_header(slim, header_bytes, error);
    if (status == SKN_OK)
        status = skn_safetensors_parse(slim->path, slim->map, header_bytes,
                                       slim->map_bytes, &slim->tensors, error);
    for (size_t k = 0; k < slim->tensors.count && status == SKN_OK; k++) {
        const skn_safetensor_t *tensor = &slim->tensors.tensor[k];
        if (strncmp(tensor->name, "pad.", 4) != 0 &&
            (header_bytes + tensor->offset_bytes) % ALIGN != 0)
            status = skn_fail(error, SKN_BAD_DATA,
                              "%.300s: tensor %.60s is not aligned to %u bytes",
                              slim->path, tensor->name, ALIGN);
    }
    return status == SKN_OK ? read_facts(slim, header_bytes, error) : status;
}

skn_slim_t *
skn_slim_open(const char *path, skn_error_t *error)
{
    skn_slim_t *slim = calloc(1, sizeof(*slim));
    char *copy = strdup(path);
    if (!slim || !copy) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for a model");
        free(slim);
        free(copy);
        return NULL;
    }
    slim->path = copy;
    skn_status_t status = map_file(slim, path, error);
    if (status == SKN_OK)
        status = read_header(slim, error);
    if (status != SKN_OK)
        skn_slim_close(&slim);
    return slim;
}

void
skn_slim_close(skn_slim_t **slim)
{
    skn_slim_t *own = *slim;
    *slim = NULL;
    if (!own)
        return;
    if (own->map)
        (void)munmap((void *)(uintptr_t)own->map, own->map_bytes);
    skn_safetensors_fini(&own->tensors);
    json_decref(own->root);
    free(own->path);
    free(own);
}

const skn_safetensor_t *
skn_slim_find(const skn_slim_t *slim, const char *layer, const char *name)
{
    char whole[SKN_SAFETENSORS_NAME_MAX + 1];
    (void)snprintf(whole, sizeof(whole), "%.48s%s%s", layer ? layer : "",
                   layer ? "." : "", name);
    for (size_t k = 0; k < slim->tensors.count; k++)
        if (strcmp(slim->tensors.tensor[k].name, whole) == 0)
            return &slim->tensors.tensor[k];
    return NULL;
}

const void *
skn_slim_bytes(const skn_slim_t *slim, const skn_safetensor_t *tensor)
{
    return slim->map + slim->tensors.header_bytes + tensor->offset_bytes;
}

skn_status_t
skn_slim_verify(const skn_slim_t *slim, skn_error_t *error)
{
    char hash[SKN_HASH_TEXT_BYTES];
    skn_hash_text(slim->map + slim->tensors.header_bytes,
                  slim->map_bytes - (size_t)slim->tensors.header_bytes, hash);
    return strcmp(hash, slim->data_hash) == 0
               ? SKN_OK
               : skn_fail(error, SKN_BAD_DATA,
                          "%.400s: is damaged: the hash of its data does not "
                          "fit",
                          slim->path);
}
