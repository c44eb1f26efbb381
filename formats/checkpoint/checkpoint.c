/* checkpoint.c - opens a checkpoint, verifies it, and maps its tensors.
 *
 * This file owns: the checks before a byte of it is trusted. Hashes are
 * computed through read(), not through the map: a bad sector is then a status
 * and not a SIGBUS.
 * Not here: the choice of a checkpoint (checkpoint_find.c), its files in other
 * folders (checkpoint_beside.c), the form of the manifest (manifest.c), blocks
 * (checkpoint_block.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "formats/checkpoint/reader_internal.h"

#include "formats/folder/folder.h"
#include "formats/text/paths.h"
#include "formats/checkpoint/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

/* Bytes read at once for hashing: beyond 64 KiB it gets no faster. */
#define HASH_STEP_BYTES (256u * 1024)

const char *
skn_checkpoint_path(const skn_checkpoint_t *checkpoint)
{
    return checkpoint->path;
}

uint64_t
skn_checkpoint_batch(const skn_checkpoint_t *checkpoint)
{
    return checkpoint->manifest.batch;
}

const char *
skn_checkpoint_run_id(const skn_checkpoint_t *checkpoint)
{
    return checkpoint->manifest.run_id;
}

const char *
skn_checkpoint_metadata(const skn_checkpoint_t *checkpoint)
{
    return checkpoint->manifest.metadata;
}

const char *
skn_checkpoint_warning(const skn_checkpoint_t *checkpoint)
{
    return checkpoint->warning;
}

const skn_manifest_t *
skn_checkpoint_manifest(const skn_checkpoint_t *checkpoint)
{
    return &checkpoint->manifest;
}

bool
skn_checkpoint_has_file(const skn_checkpoint_t *checkpoint, size_t file)
{
    return file < checkpoint->manifest.file_count && checkpoint->file[file].map;
}

bool
skn_checkpoint_is_whole(const skn_checkpoint_t *checkpoint)
{
    for (size_t k = 0; k < checkpoint->manifest.file_count; k++)
        if (!checkpoint->file[k].map)
            return false;
    return true;
}

bool
skn_checkpoint_is_gathered(const skn_checkpoint_t *checkpoint)
{
    return checkpoint->beside_count > 0;
}

size_t
skn_checkpoint_tensor_count(const skn_checkpoint_t *checkpoint)
{
    return checkpoint->tensor_count;
}

const skn_checkpoint_tensor_t *
skn_checkpoint_tensor(const skn_checkpoint_t *checkpoint, size_t index)
{
    return index < checkpoint->tensor_count ? &checkpoint->tensor[index] : NULL;
}

static int
compare_name(const void *name, const void *tensor)
{
    return strcmp(name, ((const skn_checkpoint_tensor_t *)tensor)->name);
}

const skn_checkpoint_tensor_t *
skn_checkpoint_find(const skn_checkpoint_t *checkpoint, const char *name)
{
    if (checkpoint->tensor_count == 0)
        return NULL;
    return bsearch(name, checkpoint->tensor, checkpoint->tensor_count,
                   sizeof(*checkpoint->tensor), compare_name);
}

const skn_piece_t *
skn_checkpoint_piece(const skn_checkpoint_t *checkpoint, size_t index)
{
    const skn_manifest_t *manifest = &checkpoint->manifest;
    return index < manifest->piece_count
               ? &manifest->piece[checkpoint->order[index]].piece
               : NULL;
}

size_t
skn_checkpoint_piece_file(const skn_checkpoint_t *checkpoint, size_t index)
{
    return checkpoint->manifest.piece[checkpoint->order[index]].file;
}

/* Checks that `byte_count` bytes at `offset_bytes` have this hash. */
static skn_status_t
check_hash(const checkpoint_file_t *file, uint64_t offset_bytes,
           uint64_t byte_count, const char *want, const char *what,
           skn_error_t *error)
{
    char got[SKN_HASH_TEXT_BYTES];
    skn_status_t status = SKN_OK;
    unsigned char *step = malloc(HASH_STEP_BYTES);
    XXH3_state_t *state = XXH3_createState();
    if (!step || !state || XXH3_128bits_reset(state) != XXH_OK)
        status = skn_fail(error, SKN_NO_MEMORY, "%s: no memory for a hash",
                          file->path);
    while (status == SKN_OK && byte_count > 0) {
        size_t count =
            byte_count < HASH_STEP_BYTES ? (size_t)byte_count : HASH_STEP_BYTES;
        status = skn_file_read(file->file, file->path, step, count,
                               offset_bytes, error);
        (void)XXH3_128bits_update(state, step, count);
        offset_bytes += count;
        byte_count -= count;
    }
    if (status == SKN_OK) {
        XXH128_hash_t hash = XXH3_128bits_digest(state);
        (void)snprintf(got, sizeof(got), "%016llx%016llx",
                       (unsigned long long)hash.high64,
                       (unsigned long long)hash.low64);
        if (strcmp(got, want) != 0)
            status = skn_fail(error, SKN_BAD_DATA,
                              "%s: %s is damaged: XXH3-128 is %s, the manifest "
                              "says %s",
                              file->path, what, got, want);
    }
    (void)XXH3_freeState(state);
    free(step);
    return status;
}

/* Checks the hash of piece `index` of the manifest. */
static skn_status_t
prove_piece(const skn_checkpoint_t *checkpoint, size_t index,
            skn_error_t *error)
{
    const skn_manifest_piece_t *entry = &checkpoint->manifest.piece[index];
    skn_safetensor_t tensor = skn_piece_tensor(&entry->piece);
    return check_hash(&checkpoint->file[entry->file], entry->offset_bytes,
                      entry->size_bytes, entry->hash, tensor.name, error);
}

/* Whether `tensor` of the file's header matches the manifest. */
static bool
same_tensor(const skn_manifest_piece_t *entry, uint64_t header_bytes,
            const skn_safetensor_t *tensor)
{
    skn_safetensor_t want = skn_piece_tensor(&entry->piece);
    return strcmp(want.name, tensor->name) == 0 &&
           want.dtype == tensor->dtype && want.dims == tensor->dims &&
           want.shape[0] == tensor->shape[0] &&
           (want.dims < 2 || want.shape[1] == tensor->shape[1]) &&
           entry->offset_bytes == header_bytes + tensor->offset_bytes;
}

/* Every tensor of the header is listed, and every listed one exists. Names are
 * unique on both sides, so equal counts and a match for each suffice. */
static skn_status_t
match_header(const skn_checkpoint_t *checkpoint, uint32_t index,
             const skn_safetensors_t *tensors, skn_error_t *error)
{
    const skn_manifest_file_t *file = &checkpoint->manifest.file[index];
    const char *path = checkpoint->file[index].path;
    if (tensors->count != file->piece_count)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: %zu tensors, the manifest lists %zu", path,
                        tensors->count, file->piece_count);
    /* Most tensors have their own offset: the search is short. */
    for (size_t k = 0; k < file->piece_count; k++) {
        const skn_manifest_piece_t *entry =
            &checkpoint->manifest.piece[file->piece_first + k];
        size_t low = 0, high = tensors->count;
        uint64_t want = entry->offset_bytes - file->header_bytes;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (tensors->tensor[middle].offset_bytes < want)
                low = middle + 1;
            else
                high = middle;
        }
        while (low < tensors->count &&
               tensors->tensor[low].offset_bytes == want &&
               !same_tensor(entry, file->header_bytes, &tensors->tensor[low]))
            low++;
        if (low == tensors->count || tensors->tensor[low].offset_bytes != want)
            return skn_fail(error, SKN_BAD_DATA,
                            "%s: tensor %s is not as the manifest says", path,
                            entry->piece.name);
    }
    return SKN_OK;
}

static skn_status_t
check_header(const skn_checkpoint_t *checkpoint, uint32_t index,
             skn_error_t *error)
{
    const skn_manifest_file_t *file = &checkpoint->manifest.file[index];
    const checkpoint_file_t *open_file = &checkpoint->file[index];
    skn_safetensors_t tensors;
    skn_status_t status = check_hash(open_file, 0, file->header_bytes,
                                     file->header_hash, "the header", error);
    if (status != SKN_OK)
        return status;
    status = skn_safetensors_parse(open_file->path, open_file->map,
                                   (size_t)file->header_bytes, file->bytes,
                                   &tensors, error);
    if (status != SKN_OK)
        return status;
    if (tensors.header_bytes != file->header_bytes)
        status =
            skn_fail(error, SKN_BAD_DATA,
                     "%s: the header has %" PRIu64 " bytes, the manifest "
                     "says %" PRIu64,
                     open_file->path, tensors.header_bytes, file->header_bytes);
    else
        status = match_header(checkpoint, index, &tensors, error);
    skn_safetensors_fini(&tensors);
    return status;
}

/* Opens file `index` of the manifest in the open folder `folder`. */
static skn_status_t
open_file(skn_checkpoint_t *checkpoint, uint32_t index, int folder,
          const char *path, skn_error_t *error)
{
    const skn_manifest_file_t *file = &checkpoint->manifest.file[index];
    checkpoint_file_t *open_file = &checkpoint->file[index];
    uint64_t bytes;
    skn_status_t status = skn_folder_open_file(folder, path, file->name,
                                               &open_file->file, &bytes, error);
    if (status != SKN_OK)
        return status;
    if (asprintf(&open_file->path, "%s/%s", path, file->name) < 0) {
        open_file->path = NULL;
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for its files",
                        path);
    }
    if (bytes != file->bytes || bytes == 0 || bytes > SIZE_MAX)
        return skn_fail(error, SKN_BAD_DATA,
                        "%s: %" PRIu64 " bytes, the manifest says %" PRIu64,
                        open_file->path, bytes, file->bytes);
    void *map =
        mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, open_file->file, 0);
    if (map == MAP_FAILED)
        return skn_fail_errno(error, SKN_STORAGE, open_file->path, NULL,
                              "cannot map");
    open_file->map = map;
    open_file->bytes = (size_t)bytes;
    return check_header(checkpoint, index, error);
}

/* Makes the list of global tensors from the sorted pieces. */
static void
list_tensors(skn_checkpoint_t *checkpoint)
{
    for (size_t i = 0; i < checkpoint->manifest.piece_count; i++) {
        const skn_piece_t *piece = skn_checkpoint_piece(checkpoint, i);
        skn_checkpoint_tensor_t *tensor =
            checkpoint->tensor + checkpoint->tensor_count;
        if (checkpoint->tensor_count > 0 &&
            strcmp(tensor[-1].name, piece->name) == 0) {
            tensor[-1].piece_count++;
            continue;
        }
        *tensor = (skn_checkpoint_tensor_t){ piece->name,
                                             piece->dtype,
                                             piece->dims,
                                             piece->global_rows,
                                             piece->global_columns,
                                             i,
                                             1 };
        checkpoint->tensor_count++;
    }
}

/* Parses the manifest `bytes` of the file `path` once its seal is checked; the
 * checkpoint's folder must have the name of its batch. */
static skn_status_t
take_manifest(skn_checkpoint_t *checkpoint, const char *path, const char *bytes,
              size_t byte_count, skn_error_t *error)
{
    skn_status_t status = skn_json_check_seal(path, bytes, byte_count, error);
    if (status == SKN_OK)
        status = skn_manifest_parse(path, bytes, byte_count,
                                    &checkpoint->manifest, error);
    if (status == SKN_OK)
        status = skn_batch_check_name(checkpoint->path,
                                      checkpoint->manifest.batch, error);
    return status;
}

static skn_status_t
read_manifest(skn_checkpoint_t *checkpoint, skn_error_t *error)
{
    char *bytes = NULL, *path = NULL;
    size_t byte_count = 0;
    skn_status_t status = skn_folder_read_file(
        checkpoint->folder, checkpoint->path, "manifest.json",
        SKN_MANIFEST_BYTES_MAX, &bytes, &byte_count, error);
    if (status != SKN_OK)
        return status;
    if (asprintf(&path, "%s/manifest.json", checkpoint->path) < 0) {
        path = NULL;
        status = skn_fail(error, SKN_NO_MEMORY, "%s: no memory for its path",
                          checkpoint->path);
    }
    if (status == SKN_OK)
        status = take_manifest(checkpoint, path, bytes, byte_count, error);
    if (status == SKN_OK)
        skn_json_seal_text(bytes, byte_count, checkpoint->seal);
    free(path);
    free(bytes);
    return status;
}

static void
close_file(checkpoint_file_t *file)
{
    if (file->map)
        (void)munmap(file->map, file->bytes);
    if (file->file >= 0)
        (void)close(file->file);
    free(file->path);
    *file = (checkpoint_file_t){ .file = -1 };
}

bool
skn_checkpoint_is_damage(skn_status_t status)
{
    return status == SKN_BAD_DATA || status == SKN_NO_INPUT ||
           status == SKN_STORAGE;
}

/* Replaces file `index` by that of another node's folder, in which piece
 * `piece` is sound (SIZE_MAX: any). The replaced file stays mapped: callers may
 * still use its bytes. */
static skn_status_t
take_beside(skn_checkpoint_t *checkpoint, uint32_t index, size_t piece,
            skn_error_t *error)
{
    checkpoint_file_t *file = &checkpoint->file[index], *old = NULL;
    skn_status_t status = skn_checkpoint_look_beside(checkpoint, error);
    if (status != SKN_OK)
        return status;
    if (checkpoint->beside_count == 0)
        return SKN_NO_INPUT;
    old = malloc(sizeof(*old));
    if (!old)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for another copy",
                        checkpoint->path);
    *old = *file;
    status = SKN_NO_INPUT;
    for (size_t k = 0; k < checkpoint->beside_count && status != SKN_NO_MEMORY;
         k++) {
        int folder = -1;
        *file = (checkpoint_file_t){ .file = -1 };
        status = skn_folder_open(checkpoint->beside[k], &folder, error);
        if (status == SKN_OK)
            status = open_file(checkpoint, index, folder, checkpoint->beside[k],
                               error);
        if (status == SKN_OK && piece != SIZE_MAX)
            status = prove_piece(checkpoint, piece, error);
        if (folder >= 0)
            (void)close(folder);
        if (status == SKN_OK) {
            const skn_manifest_file_t *listed =
                &checkpoint->manifest.file[index];
            memset(checkpoint->verified + listed->piece_first, 0,
                   listed->piece_count * sizeof(*checkpoint->verified));
            file->damaged = old;
            return SKN_OK;
        }
        close_file(file);
    }
    *file = *old;
    free(old);
    return status;
}

/* Replaces a damaged or missing file by that of another node's folder. If no
 * folder has it, `status` is returned and `fault` stays; a lack of memory
 * replaces both. */
static skn_status_t
mend(skn_checkpoint_t *checkpoint, uint32_t index, size_t piece,
     skn_status_t status, skn_error_t *fault)
{
    if (!skn_checkpoint_is_damage(status))
        return status;
    skn_error_t other = { 0 };
    skn_status_t taken = take_beside(checkpoint, index, piece, &other);
    if (taken == SKN_NO_MEMORY)
        return skn_fail(fault, taken, "%s", other.text);
    return taken == SKN_OK ? SKN_OK : status;
}

/* Verifies piece `index` of the manifest, once. */
static skn_status_t
verify_piece(skn_checkpoint_t *checkpoint, size_t index, skn_error_t *error)
{
    skn_error_t fault = { 0 };
    uint32_t file = checkpoint->manifest.piece[index].file;
    if (checkpoint->verified[index])
        return SKN_OK;
    skn_status_t status = prove_piece(checkpoint, index, &fault);
    status = mend(checkpoint, file, index, status, &fault);
    checkpoint->verified[index] = status == SKN_OK;
    return status == SKN_OK ? SKN_OK
                            : skn_fail(error, status, "%s", fault.text);
}

skn_status_t
skn_checkpoint_piece_at(skn_checkpoint_t *checkpoint, size_t index,
                        const unsigned char **bytes, skn_error_t *error)
{
    size_t entry = checkpoint->order[index];
    const skn_manifest_piece_t *piece = &checkpoint->manifest.piece[entry];
    if (!checkpoint->file[piece->file].map)
        return skn_fail(error, SKN_NO_INPUT, "%s: %s is not here",
                        checkpoint->path,
                        checkpoint->manifest.file[piece->file].name);
    skn_status_t status = verify_piece(checkpoint, entry, error);
    if (status != SKN_OK)
        return status;
    *bytes = (const unsigned char *)checkpoint->file[piece->file].map +
             piece->offset_bytes;
    return SKN_OK;
}

const void *
skn_checkpoint_piece_bytes(skn_checkpoint_t *checkpoint, size_t index,
                           skn_error_t *error)
{
    const unsigned char *bytes = NULL;
    if (index >= checkpoint->manifest.piece_count) {
        skn_fail(error, SKN_NO_INPUT, "%s: piece %zu does not exist",
                 checkpoint->path, index);
        return NULL;
    }
    (void)skn_checkpoint_piece_at(checkpoint, index, &bytes, error);
    return bytes;
}

/* Opens file `index`, or leaves it out where that is allowed. */
static skn_status_t
load_file(skn_checkpoint_t *checkpoint, uint32_t index, skn_error_t *error)
{
    skn_error_t fault = { 0 };
    skn_status_t status = checkpoint->folder < 0
                              ? SKN_NO_INPUT
                              : open_file(checkpoint, index, checkpoint->folder,
                                          checkpoint->path, &fault);
    if (status == SKN_OK)
        return status;
    close_file(&checkpoint->file[index]);
    if (!checkpoint->alone)
        status = mend(checkpoint, index, SIZE_MAX, status, &fault);
    if (status == SKN_OK)
        return SKN_OK;
    if (!skn_checkpoint_is_damage(status) || !checkpoint->alone)
        return skn_fail(error, status, "%s", fault.text);
    if (status != SKN_NO_INPUT)
        (void)snprintf(checkpoint->warning, sizeof(checkpoint->warning), "%s",
                       fault.text);
    return SKN_OK;
}

/* Loads everything but the manifest, which is loaded already. */
static skn_status_t
load_files(skn_checkpoint_t *checkpoint, skn_verify_t verify,
           skn_error_t *error)
{
    skn_manifest_t *manifest = &checkpoint->manifest;
    skn_status_t status = SKN_OK;
    size_t pieces = manifest->piece_count;
    checkpoint->alone = verify == SKN_VERIFY_HERE;
    checkpoint->file =
        calloc(manifest->file_count + 1, sizeof(*checkpoint->file));
    for (size_t i = 0; checkpoint->file && i < manifest->file_count; i++)
        checkpoint->file[i].file = -1; /* before anything can fail */
    checkpoint->tensor = calloc(pieces + 1, sizeof(*checkpoint->tensor));
    checkpoint->verified = calloc(pieces + 1, sizeof(*checkpoint->verified));
    checkpoint->order = skn_manifest_order(manifest, error);
    if (!checkpoint->file || !checkpoint->tensor || !checkpoint->verified ||
        !checkpoint->order)
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for %zu tensors",
                        checkpoint->path, pieces);
    for (size_t i = 0; i < manifest->file_count && status == SKN_OK; i++)
        status = load_file(checkpoint, (uint32_t)i, error);
    for (size_t i = 0; verify == SKN_VERIFY_ALL && i < pieces; i++)
        if (status == SKN_OK)
            status = verify_piece(checkpoint, i, error);
    list_tensors(checkpoint);
    return status;
}

static skn_status_t
load(skn_checkpoint_t *checkpoint, skn_verify_t verify, skn_error_t *error)
{
    skn_status_t status = read_manifest(checkpoint, error);
    return status == SKN_OK ? load_files(checkpoint, verify, error) : status;
}

skn_status_t
skn_checkpoint_load(const char *path, int folder, skn_verify_t verify,
                    skn_checkpoint_t **checkpoint, skn_error_t *error)
{
    *checkpoint = calloc(1, sizeof(**checkpoint));
    if (!*checkpoint) {
        (void)close(folder);
        return skn_fail(error, SKN_NO_MEMORY, "%s: no memory for it", path);
    }
    (*checkpoint)->folder = folder;
    (*checkpoint)->path = strdup(path);
    skn_status_t status =
        (*checkpoint)->path
            ? load(*checkpoint, verify, error)
            : skn_fail(error, SKN_NO_MEMORY, "%s: no memory for it", path);
    if (status != SKN_OK)
        skn_checkpoint_close(checkpoint);
    return status;
}

skn_checkpoint_t *
skn_checkpoint_open_here(const char *path, const char *bytes, size_t byte_count,
                         skn_error_t *error)
{
    skn_error_t fault = { 0 };
    skn_checkpoint_t *checkpoint = calloc(1, sizeof(*checkpoint));
    if (!checkpoint || !(checkpoint->path = strdup(path))) {
        free(checkpoint);
        skn_fail(error, SKN_NO_MEMORY, "%s: no memory for it", path);
        return NULL;
    }
    checkpoint->folder = -1;
    skn_status_t status =
        take_manifest(checkpoint, path, bytes, byte_count, error);
    if (status == SKN_OK &&
        skn_folder_open(path, &checkpoint->folder, &fault) != SKN_OK)
        checkpoint->folder = -1; /* none of its files is here */
    if (status == SKN_OK)
        status = load_files(checkpoint, SKN_VERIFY_HERE, error);
    if (status != SKN_OK)
        skn_checkpoint_close(&checkpoint);
    return checkpoint;
}

static void
close_all(checkpoint_file_t *file)
{
    checkpoint_file_t *older = file->damaged;
    close_file(file);
    while (older) {
        checkpoint_file_t *last = older;
        older = last->damaged;
        close_file(last);
        free(last);
    }
}

void
skn_checkpoint_close(skn_checkpoint_t **checkpoint)
{
    skn_checkpoint_t *old = *checkpoint;
    if (!old)
        return;
    int code = errno;
    for (size_t i = 0; old->file && i < old->manifest.file_count; i++)
        close_all(&old->file[i]);
    skn_paths_free(&old->beside, &old->beside_count);
    if (old->folder >= 0)
        (void)close(old->folder);
    skn_manifest_fini(&old->manifest);
    free(old->file);
    free(old->tensor);
    free(old->verified);
    free(old->order);
    free(old->path);
    free(old);
    *checkpoint = NULL;
    errno = code;
}
