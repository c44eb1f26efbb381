/* faults.c - makes the n-th allocation or system call of a test fail.
 *
 * This file owns: the counters, and the table of live blocks. Each wrapped
 * function calls `fails` first, then the real function. Only blocks that were
 * allocated while armed are in the table, so that earlier blocks of a fixture
 * may be freed at any time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

/* More blocks than any operation under test takes at once. */
#define BLOCKS_MAX (1u << 16)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool armed, forever;
static fault_kind_t armed_kind;
static uint64_t armed_n, counted, hits;
static int armed_code;
static const char *hit_name = "";
static void *block[BLOCKS_MAX];
static size_t block_count;

void
faults_arm(fault_kind_t kind, uint64_t n, int code, bool for_ever)
{
    (void)pthread_mutex_lock(&lock);
    armed = true;
    armed_kind = kind;
    armed_n = n;
    armed_code = code;
    forever = for_ever;
    counted = hits = 0;
    hit_name = "";
    memset(block, 0, sizeof(block));
    block_count = 0;
    (void)pthread_mutex_unlock(&lock);
}

void
faults_pause(bool paused)
{
    (void)pthread_mutex_lock(&lock);
    armed = !paused;
    (void)pthread_mutex_unlock(&lock);
}

uint64_t
faults_disarm(void)
{
    (void)pthread_mutex_lock(&lock);
    armed = false;
    (void)pthread_mutex_unlock(&lock);
    return counted;
}

uint64_t
faults_hit(void)
{
    return hits;
}

const char *
faults_hit_name(void)
{
    return hit_name;
}

size_t
faults_blocks_live(void)
{
    return block_count;
}

/* Whether this call is the one that fails; errno is set then. */
static bool
fails(fault_kind_t kind, const char *name)
{
    bool hit = false;
    (void)pthread_mutex_lock(&lock);
    if (armed && kind == armed_kind) {
        counted++;
        hit = armed_n > 0 &&
              (counted == armed_n || (forever && counted > armed_n));
        if (hit && hits++ == 0)
            hit_name = name;
    }
    (void)pthread_mutex_unlock(&lock);
    if (hit)
        errno = kind == FAULT_MEMORY ? ENOMEM : armed_code;
    return hit;
}

/* --- the table of blocks: open addressing, no deletion but a mark -------- */

static char gone; /* its address: a place whose block was freed */

static size_t
place_of(const void *memory)
{
    return (size_t)(((uintptr_t)memory >> 4) * 0x9e3779b97f4a7c15u >> 40) %
           BLOCKS_MAX;
}

static void *
remember(void *memory)
{
    (void)pthread_mutex_lock(&lock);
    if (memory && armed && block_count < BLOCKS_MAX / 2) {
        size_t k = place_of(memory);
        while (block[k] && block[k] != &gone)
            k = (k + 1) % BLOCKS_MAX;
        block[k] = memory;
        block_count++;
    }
    (void)pthread_mutex_unlock(&lock);
    return memory;
}

static void
forget(const void *memory)
{
    (void)pthread_mutex_lock(&lock);
    size_t k = place_of(memory);
    while (memory && block_count > 0 && block[k]) {
        if (block[k] == memory) {
            block[k] = &gone;
            block_count--;
            break;
        }
        k = (k + 1) % BLOCKS_MAX;
    }
    (void)pthread_mutex_unlock(&lock);
}

/* --- memory -------------------------------------------------------------- */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void __real_free(void *memory);
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t bytes);
FILE *__real_open_memstream(char **text, size_t *bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void __wrap_free(void *memory);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t bytes);
int __wrap_asprintf(char **text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
FILE *__wrap_open_memstream(char **text, size_t *bytes);

void *
__wrap_malloc(size_t bytes)
{
    return fails(FAULT_MEMORY, "malloc") ? NULL
                                         : remember(__real_malloc(bytes));
}

void *
__wrap_calloc(size_t count, size_t bytes)
{
    return fails(FAULT_MEMORY, "calloc")
               ? NULL
               : remember(__real_calloc(count, bytes));
}

void *
__wrap_realloc(void *memory, size_t bytes)
{
    if (fails(FAULT_MEMORY, "realloc"))
        return NULL;
    forget(memory);
    return remember(__real_realloc(memory, bytes));
}

void
__wrap_free(void *memory)
{
    forget(memory);
    __real_free(memory);
}

int
__wrap_posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    if (fails(FAULT_MEMORY, "posix_memalign"))
        return ENOMEM;
    int code = __real_posix_memalign(memory, alignment, bytes);
    if (code == 0)
        (void)remember(*memory);
    return code;
}

void *
__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(FAULT_MEMORY, "aligned_alloc")
               ? NULL
               : remember(__real_aligned_alloc(alignment, bytes));
}

char *
__wrap_strdup(const char *text)
{
    return fails(FAULT_MEMORY, "strdup") ? NULL : remember(__real_strdup(text));
}

char *
__wrap_strndup(const char *text, size_t bytes)
{
    return fails(FAULT_MEMORY, "strndup")
               ? NULL
               : remember(__real_strndup(text, bytes));
}

/* As in glibc before 2.38, *text is undefined after a failure: make it so. */
int
__wrap_asprintf(char **text, const char *format, ...)
{
    va_list arguments;
    if (fails(FAULT_MEMORY, "asprintf")) {
        *text = (char *)(uintptr_t)1;
        return -1;
    }
    va_start(arguments, format);
    int bytes = vasprintf(text, format, arguments);
    va_end(arguments);
    if (bytes >= 0)
        (void)remember(*text);
    return bytes;
}

FILE *
__wrap_open_memstream(char **text, size_t *bytes)
{
    return fails(FAULT_MEMORY, "open_memstream")
               ? NULL
               : __real_open_memstream(text, bytes);
}

/* --- files: those with a mode that may be missing ------------------------- */

int __real_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);

int
__wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode =
        flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    return fails(FAULT_SYSTEM, "open") ? -1 : __real_open(path, flags, mode);
}

int
__wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    return fails(FAULT_SYSTEM, "openat")
               ? -1
               : __real_openat(folder, path, flags, mode);
}

/* --- files: reading and writing ------------------------------------------ */

ssize_t __real_read(int file, void *bytes, size_t count);
ssize_t __real_write(int file, const void *bytes, size_t count);
ssize_t __real_pread(int file, void *bytes, size_t count, off_t at);
ssize_t __real_pwrite(int file, const void *bytes, size_t count, off_t at);
ssize_t __wrap_read(int file, void *bytes, size_t count);
ssize_t __wrap_write(int file, const void *bytes, size_t count);
ssize_t __wrap_pread(int file, void *bytes, size_t count, off_t at);
ssize_t __wrap_pwrite(int file, const void *bytes, size_t count, off_t at);

/* Half of `count`, at least 1, when this is the call that is cut short. */
static size_t
shortened(const char *name, size_t count)
{
    int code = errno;
    bool hit = fails(FAULT_SHORT, name);
    errno = code;
    return hit && count > 1 ? count / 2 : count;
}

static bool
moves_nothing(const char *name)
{
    return fails(FAULT_SYSTEM, name) || fails(FAULT_SIGNAL, name);
}

ssize_t
__wrap_read(int file, void *bytes, size_t count)
{
    return moves_nothing("read")
               ? -1
               : __real_read(file, bytes, shortened("read", count));
}

ssize_t
__wrap_write(int file, const void *bytes, size_t count)
{
    return moves_nothing("write")
               ? -1
               : __real_write(file, bytes, shortened("write", count));
}

ssize_t
__wrap_pread(int file, void *bytes, size_t count, off_t at)
{
    return moves_nothing("pread")
               ? -1
               : __real_pread(file, bytes, shortened("pread", count), at);
}

ssize_t
__wrap_pwrite(int file, const void *bytes, size_t count, off_t at)
{
    return moves_nothing("pwrite")
               ? -1
               : __real_pwrite(file, bytes, shortened("pwrite", count), at);
}

/* A close that fails has closed the file all the same, as on Linux. */
int __real_close(int file);
int __wrap_close(int file);

int
__wrap_close(int file)
{
    bool hit = fails(FAULT_SYSTEM, "close");
    int code = errno, result = __real_close(file);
    if (!hit)
        return result;
    errno = code;
    return -1;
}

void *__real_mmap(void *at, size_t bytes, int allowed, int flags, int file,
                  off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int allowed, int flags, int file,
                  off_t offset);

void *
__wrap_mmap(void *at, size_t bytes, int allowed, int flags, int file,
            off_t offset)
{
    fault_kind_t kind = flags & MAP_ANONYMOUS ? FAULT_MEMORY : FAULT_SYSTEM;
    return fails(kind, "mmap")
               ? MAP_FAILED
               : __real_mmap(at, bytes, allowed, flags, file, offset);
}

/* --- all that answer with 0 or -1 ----------------------------------------- */

#define CALL(kind, name, parameters, arguments)                                \
    int __real_##name parameters;                                              \
    int __wrap_##name parameters;                                              \
    int __wrap_##name parameters                                               \
    {                                                                          \
        return fails(kind, #name) ? -1 : __real_##name arguments;              \
    }

CALL(FAULT_SYSTEM, ftruncate, (int file, off_t bytes), (file, bytes))
CALL(FAULT_SYSTEM, fstat, (int file, struct stat *facts), (file, facts))
CALL(FAULT_SYSTEM, fstatat,
     (int folder, const char *name, struct stat *facts, int flags),
     (folder, name, facts, flags))
CALL(FAULT_SYSTEM, mkdir, (const char *path, mode_t mode), (path, mode))
CALL(FAULT_SYSTEM, mkdirat, (int folder, const char *path, mode_t mode),
     (folder, path, mode))
CALL(FAULT_SYSTEM, unlinkat, (int folder, const char *name, int flags),
     (folder, name, flags))
CALL(FAULT_SYSTEM, rename, (const char *from, const char *to), (from, to))
CALL(FAULT_SYSTEM, renameat,
     (int folder, const char *from, int other, const char *to),
     (folder, from, other, to))
CALL(FAULT_SYSTEM, renameat2,
     (int folder, const char *from, int other, const char *to, unsigned flags),
     (folder, from, other, to, flags))
CALL(FAULT_SYSTEM, linkat,
     (int folder, const char *from, int other, const char *to, int flags),
     (folder, from, other, to, flags))
CALL(FAULT_SYSTEM, symlinkat, (const char *to, int folder, const char *name),
     (to, folder, name))
CALL(FAULT_SYSTEM, mkostemp, (char *form, int flags), (form, flags))
CALL(FAULT_SYSTEM, flock, (int file, int operation), (file, operation))

/* Nothing here has to outlive a power cut, and a true sync takes 10 ms. */
int __wrap_fsync(int file);

int
__wrap_fsync(int file)
{
    (void)file;
    return fails(FAULT_SYSTEM, "fsync") ? -1 : 0;
}

/* These two take an interruption in their stride, so they have both kinds. */
int __real_sync_file_range(int file, off_t at, off_t bytes, unsigned how);
int __wrap_sync_file_range(int file, off_t at, off_t bytes, unsigned how);

int
__wrap_sync_file_range(int file, off_t at, off_t bytes, unsigned how)
{
    return moves_nothing("sync_file_range")
               ? -1
               : __real_sync_file_range(file, at, bytes, how);
}

int __real_fallocate(int file, int mode, off_t at, off_t bytes);
int __wrap_fallocate(int file, int mode, off_t at, off_t bytes);

int
__wrap_fallocate(int file, int mode, off_t at, off_t bytes)
{
    return moves_nothing("fallocate") ? -1
                                      : __real_fallocate(file, mode, at, bytes);
}

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

FILE *
__wrap_fopen(const char *path, const char *mode)
{
    return fails(FAULT_SYSTEM, "fopen") ? NULL : __real_fopen(path, mode);
}

DIR *__real_fdopendir(int file);
DIR *__wrap_fdopendir(int file);

DIR *
__wrap_fdopendir(int file)
{
    return fails(FAULT_SYSTEM, "fdopendir") ? NULL : __real_fdopendir(file);
}

ssize_t __real_getrandom(void *bytes, size_t count, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t count, unsigned flags);

ssize_t
__wrap_getrandom(void *bytes, size_t count, unsigned flags)
{
    return fails(FAULT_SYSTEM, "getrandom")
               ? -1
               : __real_getrandom(bytes, count, flags);
}
