/* keys.c - key pairs of nodes: generated, stored in files, loaded, wiped.
 *
 * This file owns: the form of the key files and the memory of secrets. The form
 * is ZPL as CZMQ's zcert writes it, read here by a parser of its own: after
 * zcert_load and zcert_destroy copies of the secret are left in memory, and it
 * does not report what is wrong with a file (docs/decisions/0031).
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "formats/text/system_error.h"
#include "skein/limits.h"

#define KEY_LETTERS (SKN_KEY_TEXT_BYTES - 1)
#define SECRET_MODE 0600
#define PUBLIC_MODE 0644

struct skn_keys {
    char public_key[SKN_KEY_TEXT_BYTES];
    char secret_key[SKN_KEY_TEXT_BYTES];
};

/* The contents of a key file; empty text: not present. */
typedef struct key_file {
    char public_key[SKN_KEY_TEXT_BYTES];
    char secret_key[SKN_KEY_TEXT_BYTES];
} key_file_t;

/* --- Z85 ----------------------------------------------------------------- */

/* The value of one letter (RFC 32), or -1. */
static int
z85_value(char letter)
{
    static const char letters[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        ".-:+=^!/*?&<>()[]{}@%$#";
    const char *at = letter ? strchr(letters, letter) : NULL;
    return at ? (int)(at - letters) : -1;
}

bool
skn_key_good(const char *text)
{
    bool any = false;
    if (strnlen(text, SKN_KEY_TEXT_BYTES) != KEY_LETTERS)
        return false;
    for (int group = 0; group < KEY_LETTERS; group += 5) {
        uint64_t number = 0;
        for (int k = group; k < group + 5; k++) {
            int value = z85_value(text[k]);
            if (value < 0)
                return false;
            number = number * 85 + (uint64_t)value;
        }
        if (number > UINT32_MAX) /* five letters can hold a little more */
            return false;
        any = any || number != 0;
    }
    return any;
}

/* --- pairs in memory ----------------------------------------------------- */

static skn_keys_t *
keys_alloc(skn_error_t *error)
{
    skn_keys_t *keys = sodium_init() < 0 ? NULL : sodium_malloc(sizeof(*keys));
    if (!keys) {
        skn_fail(error, SKN_NO_MEMORY, "no memory for a key pair");
        return NULL;
    }
    memset(keys, 0, sizeof(*keys));
    return keys;
}

skn_keys_t *
skn_keys_new(skn_error_t *error)
{
    skn_keys_t *keys = keys_alloc(error);
    if (keys && zmq_curve_keypair(keys->public_key, keys->secret_key) != 0) {
        skn_fail(error, SKN_UNAVAILABLE, "libzmq cannot make a key pair: %s",
                 zmq_strerror(errno));
        skn_keys_destroy(&keys);
    }
    return keys;
}

skn_keys_t *
skn_keys_copy(const skn_keys_t *keys, skn_error_t *error)
{
    skn_keys_t *copy = keys_alloc(error);
    if (copy)
        *copy = *keys;
    return copy;
}

void
skn_keys_destroy(skn_keys_t **keys)
{
    sodium_free(*keys); /* wipes it */
    *keys = NULL;
}

const char *
skn_keys_public(const skn_keys_t *keys)
{
    return keys->public_key;
}

const char *
skn_keys_secret(const skn_keys_t *keys)
{
    return keys->secret_key;
}

/* --- writing ------------------------------------------------------------- */

static skn_status_t
path_of_secret(const char *path, char secret[PATH_MAX], skn_error_t *error)
{
    int bytes = snprintf(secret, PATH_MAX, "%s" SKN_KEY_SECRET_SUFFIX, path);
    if (path[0] && bytes < PATH_MAX)
        return SKN_OK;
    return skn_fail(error, SKN_USAGE,
                    "the path of a key file has %zu bytes, which is too long",
                    strlen(path));
}

static skn_status_t
cannot_create(const char *path, int code, skn_error_t *error)
{
    if (code == EEXIST) {
        skn_fail(error, SKN_CANNOT_CREATE,
                 "%s already exists, and keys are never overwritten", path);
        return skn_fail_hint(error, SKN_CANNOT_CREATE,
                             "choose another path, or move both files away");
    }
    return skn_fail_code(error, SKN_CANNOT_CREATE, code, NULL,
                         "cannot create %s", path);
}

static bool
write_all(int file, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(file, text, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        text += written;
        bytes -= (size_t)written;
    }
    return true;
}

/* Makes a file that no other process can open before it has its mode. */
static skn_status_t
write_file(const char *path, mode_t mode, const char *text, skn_error_t *error)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, SECRET_MODE);
    if (file < 0)
        return cannot_create(path, errno, error);
    bool good = fchmod(file, mode) == 0 &&
                write_all(file, text, strlen(text)) && fsync(file) == 0;
    int code = errno;
    if (close(file) != 0 && good) {
        good = false;
        code = errno;
    }
    if (good)
        return SKN_OK;
    (void)unlink(path);
    return skn_fail_code(error, SKN_STORAGE, code, NULL, "cannot write %s",
                         path);
}

/* The folder of a path; "." if it names none. */
static void
folder_of(const char *path, char folder[PATH_MAX])
{
    (void)snprintf(folder, PATH_MAX, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    else
        (void)snprintf(folder, PATH_MAX, ".");
}

/* The names of the two files must survive a power failure, too. */
static skn_status_t
sync_folder_of(const char *path, skn_error_t *error)
{
    char folder[PATH_MAX];
    folder_of(path, folder);
    int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = file >= 0 && fsync(file) == 0;
    int code = errno;
    if (file >= 0)
        (void)close(file);
    return good ? SKN_OK
                : skn_fail_code(error, SKN_STORAGE, code, NULL,
                                "cannot sync %s", folder);
}

/* Makes the folder of the keys, if it alone is missing; only its owner may read
 * it. If this fails, creating the first file reports why. */
static skn_status_t
make_folder_of(const char *path, skn_error_t *error)
{
    char folder[PATH_MAX];
    folder_of(path, folder);
    return mkdir(folder, 0700) == 0 ? sync_folder_of(folder, error) : SKN_OK;
}

/* The text of both halves, or of the public one (`keys` without a secret). */
static void
print_file(char text[SKN_KEY_FILE_BYTES_MAX], const skn_keys_t *keys,
           const char *name, bool secret)
{
    (void)snprintf(
        text, SKN_KEY_FILE_BYTES_MAX,
        "# A CurveZMQ key of Skein, %s\n"
        "metadata\n    name = \"%s\"\ncurve\n    public-key = \"%s\"\n"
        "%s%s%s",
        secret ? "secret half. It stays on its node, with mode 0600."
               : "public half. Copy it to the other machines.",
        name ? name : "", keys->public_key, secret ? "    secret-key = \"" : "",
        secret ? keys->secret_key : "", secret ? "\"\n" : "");
}

bool
skn_name_good(const char *name)
{
    size_t letters = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return strspn(name, "0123456789_-") == 0 && letters > 0 &&
           letters <= SKN_NAME_MAX && !name[letters];
}

skn_status_t
skn_keys_make(const char *path, const char *name,
              char public_key[SKN_KEY_TEXT_BYTES], skn_error_t *error)
{
    char secret[PATH_MAX], text[SKN_KEY_FILE_BYTES_MAX];
    skn_status_t status = path_of_secret(path, secret, error);
    if (status == SKN_OK && name && !skn_name_good(name))
        status = skn_fail(error, SKN_USAGE,
                          "the name of a node is a letter, then letters, "
                          "digits, '_' and '-', at most %u in all",
                          SKN_NAME_MAX);
    if (status != SKN_OK)
        return status;
    skn_keys_t *keys = skn_keys_new(error);
    if (!keys)
        return error ? error->status : SKN_NO_MEMORY;
    (void)memcpy(public_key, keys->public_key, SKN_KEY_TEXT_BYTES);
    print_file(text, keys, name, true);
    status = make_folder_of(path, error);
    if (status == SKN_OK)
        status = write_file(secret, SECRET_MODE, text, error);
    sodium_memzero(text, sizeof(text));
    if (status == SKN_OK) {
        print_file(text, keys, name, false);
        status = write_file(path, PUBLIC_MODE, text, error);
        if (status == SKN_OK) {
            status = sync_folder_of(path, error);
            if (status != SKN_OK)
                (void)unlink(path);
        }
        if (status != SKN_OK)
            (void)unlink(secret);
    }
    skn_keys_destroy(&keys);
    return status;
}

skn_status_t
skn_key_save_public(const char *path, const char *name, const char *public_key,
                    skn_error_t *error)
{
    char text[SKN_KEY_FILE_BYTES_MAX];
    skn_keys_t half = { 0 };
    if (!skn_key_good(public_key))
        return skn_fail(error, SKN_BAD_CONFIG, "the key of %.64s is not valid",
                        name);
    (void)memcpy(half.public_key, public_key, SKN_KEY_TEXT_BYTES);
    print_file(text, &half, name, false);
    if (unlink(path) != 0 && errno != ENOENT)
        return cannot_create(path, errno, error);
    return write_file(path, PUBLIC_MODE, text, error);
}

/* --- reading ------------------------------------------------------------- */

static skn_status_t
cannot_open(const char *path, int code, skn_error_t *error)
{
    if (code != ENOENT && code != ENOTDIR)
        return skn_fail_code(error, SKN_NO_INPUT, code, NULL, "%s", path);
    skn_fail(error, SKN_NO_INPUT, "%s: no such key file", path);
    return skn_fail_hint(error, SKN_NO_INPUT,
                         "make a key with skein keygen PATH; its secret half "
                         "stays on its node");
}

/* Refuses a secret file that other users can read. */
static skn_status_t
check_mode(const char *path, const struct stat *facts, skn_error_t *error)
{
    if (facts->st_uid != geteuid()) {
        skn_fail(error, SKN_NO_PERMISSION,
                 "%s belongs to user %u, this process runs as user %u", path,
                 (unsigned)facts->st_uid, (unsigned)geteuid());
        return skn_fail_hint(error, SKN_NO_PERMISSION,
                             "a secret key must belong to its user: chown "
                             "it, or make your own with skein keygen");
    }
    if ((facts->st_mode & 077) == 0)
        return SKN_OK;
    skn_fail(error, SKN_NO_PERMISSION,
             "%s can be read by others (mode %04o), so its key is not secret",
             path, (unsigned)facts->st_mode & 07777);
    return skn_fail_hint(error, SKN_NO_PERMISSION, "chmod 600 %.200s", path);
}

/* The whole file as text, with a NUL. */
static skn_status_t
read_file(const char *path, bool secret, char text[SKN_KEY_FILE_BYTES_MAX],
          skn_error_t *error)
{
    struct stat facts;
    size_t bytes = 0;
    skn_status_t status = SKN_OK;
    /* O_NONBLOCK: a FIFO must not block us. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return cannot_open(path, errno, error);
    if (fstat(file, &facts) != 0)
        status = skn_fail_code(error, SKN_STORAGE, errno, NULL, "%s", path);
    else if (!S_ISREG(facts.st_mode))
        status = skn_fail(error, SKN_NO_INPUT, "%s is not a file", path);
    else if (secret)
        status = check_mode(path, &facts, error);
    while (status == SKN_OK && bytes < SKN_KEY_FILE_BYTES_MAX) {
        ssize_t got = read(file, text + bytes, SKN_KEY_FILE_BYTES_MAX - bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            status = skn_fail_code(error, SKN_STORAGE, errno, NULL, "%s", path);
        if (got <= 0)
            break;
        bytes += (size_t)got;
    }
    (void)close(file);
    if (status == SKN_OK && bytes == SKN_KEY_FILE_BYTES_MAX)
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s is not a key file: it has more than %u bytes", path,
                        SKN_KEY_FILE_BYTES_MAX - 1);
    if (status == SKN_OK && memchr(text, '\0', bytes))
        return skn_fail(error, SKN_BAD_CONFIG,
                        "%s is not a key file: it is not a text", path);
    if (status == SKN_OK)
        text[bytes] = '\0';
    return status;
}

/* `line` is `    NAME = "KEY"` inside the section curve. */
static skn_status_t
read_key(const char *path, unsigned number, const char *value,
         char key[SKN_KEY_TEXT_BYTES], skn_error_t *error)
{
    char found[SKN_KEY_TEXT_BYTES] = "";
    if (key[0])
        return skn_fail(error, SKN_BAD_CONFIG, "%s:%u: a second key", path,
                        number);
    if (strlen(value) >= KEY_LETTERS + 2 && value[0] == '"' &&
        value[KEY_LETTERS + 1] == '"') {
        (void)memcpy(found, value + 1, KEY_LETTERS);
        value += KEY_LETTERS + 2;
        value += strspn(value, " \t\r");
    }
    if (*value == '\0' && skn_key_good(found)) {
        (void)memcpy(key, found, sizeof(found));
        sodium_memzero(found, sizeof(found));
        return SKN_OK;
    }
    sodium_memzero(found, sizeof(found)); /* no part of it is printed */
    return skn_fail(error, SKN_BAD_CONFIG,
                    "%s:%u: a key is %d characters of Z85 in quotes", path,
                    number, KEY_LETTERS);
}

/* One line of ZPL. Sections start at the margin; those other than `curve` are
 * ignored. */
static skn_status_t
read_line(const char *path, unsigned number, const char *line, bool *in_curve,
          key_file_t *file, skn_error_t *error)
{
    size_t indent = strspn(line, " \t");
    const char *word = line + indent;
    size_t letters = strcspn(word, " \t\r=");
    if (!word[0] || word[0] == '#' || word[0] == '\r')
        return SKN_OK;
    if (indent == 0) {
        *in_curve = letters == 5 && memcmp(word, "curve", 5) == 0;
        return SKN_OK;
    }
    bool public_half = letters == 10 && memcmp(word, "public-key", 10) == 0;
    bool secret_half = letters == 10 && memcmp(word, "secret-key", 10) == 0;
    if (!*in_curve || !(public_half || secret_half))
        return SKN_OK;
    const char *value = word + letters;
    value += strspn(value, " \t");
    if (*value != '=')
        return skn_fail(error, SKN_BAD_CONFIG, "%s:%u: '=' expected", path,
                        number);
    value++;
    value += strspn(value, " \t");
    return read_key(path, number, value,
                    public_half ? file->public_key : file->secret_key, error);
}

static skn_status_t
load_file(const char *path, bool secret, key_file_t *file, skn_error_t *error)
{
    char text[SKN_KEY_FILE_BYTES_MAX];
    bool in_curve = false;
    memset(file, 0, sizeof(*file));
    skn_status_t status = read_file(path, secret, text, error);
    unsigned number = 0;
    char *line = status == SKN_OK ? text : NULL;
    while (line && status == SKN_OK) {
        char *end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        status = read_line(path, ++number, line, &in_curve, file, error);
        line = end;
    }
    if (status == SKN_OK && !file->public_key[0])
        status = skn_fail(error, SKN_BAD_CONFIG,
                          "%s is not a key file: it has no public-key under "
                          "curve",
                          path);
    if (status == SKN_OK && secret && !file->secret_key[0])
        status = skn_fail(error, SKN_BAD_CONFIG,
                          "%s has no secret-key under curve", path);
    sodium_memzero(text, sizeof(text));
    if (status != SKN_OK)
        sodium_memzero(file, sizeof(*file));
    return status;
}

skn_status_t
skn_key_load_public(const char *path, char public_key[SKN_KEY_TEXT_BYTES],
                    skn_error_t *error)
{
    key_file_t file;
    skn_status_t status = load_file(path, false, &file, error);
    if (status == SKN_OK)
        (void)memcpy(public_key, file.public_key, SKN_KEY_TEXT_BYTES);
    sodium_memzero(&file, sizeof(file));
    return status;
}

/* A core would reveal the secret, and so could a process that traces us. */
static skn_status_t
leave_no_core(skn_error_t *error)
{
    struct rlimit none = { 0, 0 };
    if (getrlimit(RLIMIT_CORE, &none) == 0) {
        none.rlim_cur = 0;
        if (setrlimit(RLIMIT_CORE, &none) == 0 &&
            prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
            return SKN_OK;
    }
    return skn_fail(error, SKN_NO_PERMISSION,
                    "cannot keep keys out of core files: %s", strerror(errno));
}

static skn_status_t
check_pair(const char *path, const char *public_path, const key_file_t *file,
           const char *public_key, skn_error_t *error)
{
    char derived[SKN_KEY_TEXT_BYTES] = "";
    skn_status_t status = SKN_OK;
    if (zmq_curve_public(derived, file->secret_key) != 0 ||
        strcmp(derived, file->public_key) != 0)
        status = skn_fail(error, SKN_BAD_CONFIG,
                          "%s is damaged: its two halves do not match", path);
    else if (strcmp(derived, public_key) != 0)
        status = skn_fail(error, SKN_BAD_CONFIG, "%s and %s do not match",
                          public_path, path);
    if (status != SKN_OK)
        skn_fail_hint(error, status,
                      "copy both from the machine where they were made, or "
                      "make a new pair with skein keygen");
    return status;
}

skn_keys_t *
skn_keys_load(const char *path, skn_error_t *error)
{
    char secret_path[PATH_MAX], public_key[SKN_KEY_TEXT_BYTES];
    key_file_t file;
    skn_keys_t *keys = NULL;
    if (path_of_secret(path, secret_path, error) != SKN_OK ||
        skn_key_load_public(path, public_key, error) != SKN_OK ||
        leave_no_core(error) != SKN_OK ||
        load_file(secret_path, true, &file, error) != SKN_OK)
        return NULL;
    if (check_pair(secret_path, path, &file, public_key, error) == SKN_OK)
        keys = keys_alloc(error);
    if (keys) {
        (void)memcpy(keys->public_key, file.public_key, SKN_KEY_TEXT_BYTES);
        (void)memcpy(keys->secret_key, file.secret_key, SKN_KEY_TEXT_BYTES);
    }
    sodium_memzero(&file, sizeof(file));
    return keys;
}
