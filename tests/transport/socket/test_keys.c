/* test_keys.c - tests key pairs in memory and in files.
 * SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <czmq.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"
#include "transport/socket/keys.h"

TestSuite(keys, .timeout = 60);

static char folder[TEMP_FOLDER_BYTES];
static char path[TEMP_FOLDER_BYTES + 16], secret[TEMP_FOLDER_BYTES + 32];
static char public_key[SKN_KEY_TEXT_BYTES];
static skn_error_t error;

static void
start(void)
{
    temp_folder_make(folder);
    (void)snprintf(path, sizeof(path), "%s/a.key", folder);
    (void)snprintf(secret, sizeof(secret), "%s_secret", path);
}

static void
start_with_pair(void)
{
    start();
    cr_assert_eq(skn_keys_make(path, "a", public_key, &error), SKN_OK, "%s",
                 error.text);
}

static void
stop(void)
{
    temp_folder_remove(folder);
}

static size_t
slurp(const char *name, char *text, size_t room)
{
    FILE *file = fopen(name, "rb");
    cr_assert(file, "%s", name);
    size_t bytes = fread(text, 1, room - 1, file);
    (void)fclose(file);
    text[bytes] = '\0';
    return bytes;
}

static void
spill(const char *name, const char *text, size_t bytes)
{
    FILE *file = fopen(name, "wb");
    cr_assert(file, "%s", name);
    cr_assert_eq(fwrite(text, 1, bytes, file), bytes);
    cr_assert_eq(fclose(file), 0);
}

static mode_t
mode_of(const char *name)
{
    struct stat facts;
    cr_assert_eq(stat(name, &facts), 0, "%s", name);
    return facts.st_mode & 07777;
}

/* --- Z85 ----------------------------------------------------------------- */

Test(keys, a_key_is_forty_letters_of_z85)
{
    char key[SKN_KEY_TEXT_BYTES + 1], hidden[SKN_KEY_TEXT_BYTES];
    cr_assert_eq(zmq_curve_keypair(key, hidden), 0);
    cr_expect(skn_key_good(key));
    for (size_t k = 0; k < 40; k++) {
        char kept = key[k];
        for (const char *bad = " \"'\\,;_|~`\n\t\x7f\xff"; *bad; bad++) {
            key[k] = *bad;
            cr_expect(!skn_key_good(key), "letter %zu is %d", k, *bad);
        }
        key[k] = '\0';
        cr_expect(!skn_key_good(key), "%zu letters", k);
        key[k] = kept;
    }
    key[40] = '0';
    key[41] = '\0';
    cr_expect(!skn_key_good(key), "41 letters");
}

Test(keys, a_group_beyond_32_bits_and_zero_are_no_keys)
{
    /* %nSc0 is 2^32 - 1 (RFC 32), %nSc1 one more. */
    cr_expect(skn_key_good("%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0"));
    cr_expect(!skn_key_good("%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc1"));
    cr_expect(!skn_key_good("#####%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0"));
    cr_expect(!skn_key_good("0000000000000000000000000000000000000000"));
    cr_expect(skn_key_good("0000000000000000000000000000000000000001"));
}

Test(keys, new_pairs_differ_and_belong_together)
{
    skn_keys_t *a = skn_keys_new(&error), *b = skn_keys_new(&error);
    char derived[SKN_KEY_TEXT_BYTES];
    cr_assert(a && b);
    cr_expect(skn_key_good(skn_keys_public(a)));
    cr_expect(skn_key_good(skn_keys_secret(a)));
    cr_expect_str_neq(skn_keys_public(a), skn_keys_public(b));
    cr_assert_eq(zmq_curve_public(derived, skn_keys_secret(a)), 0);
    cr_expect_str_eq(derived, skn_keys_public(a));
    skn_keys_destroy(&a);
    skn_keys_destroy(&b);
    cr_expect(!a && !b);
    skn_keys_destroy(&a);
}

/* --- making -------------------------------------------------------------- */

Test(keys, what_is_made_can_be_loaded, .init = start, .fini = stop)
{
    char peer[SKN_KEY_TEXT_BYTES];
    mode_t before = umask(0);
    cr_assert_eq(skn_keys_make(path, NULL, public_key, &error), SKN_OK);
    cr_expect_eq(umask(before), 0, "the umask is nobody's business");
    cr_expect_eq(mode_of(path), 0644);
    cr_expect_eq(mode_of(secret), 0600);
    skn_keys_t *keys = skn_keys_load(path, &error);
    cr_assert(keys, "%s", error.text);
    cr_expect_str_eq(skn_keys_public(keys), public_key);
    cr_assert_eq(skn_key_load_public(path, peer, &error), SKN_OK);
    cr_expect_str_eq(peer, public_key);
    cr_assert_eq(skn_key_load_public(secret, peer, &error), SKN_OK);
    cr_expect_str_eq(peer, public_key);
    skn_keys_destroy(&keys);
}

Test(keys, modes_do_not_hang_on_the_umask, .init = start, .fini = stop)
{
    mode_t before = umask(0777);
    cr_assert_eq(skn_keys_make(path, NULL, public_key, &error), SKN_OK);
    (void)umask(before);
    cr_expect_eq(mode_of(path), 0644);
    cr_expect_eq(mode_of(secret), 0600);
}

Test(keys, nothing_is_overwritten, .init = start_with_pair, .fini = stop)
{
    char before[SKN_KEY_FILE_BYTES_MAX], after[SKN_KEY_FILE_BYTES_MAX];
    char text[1400];
    (void)slurp(secret, before, sizeof(before));
    cr_assert_eq(skn_keys_make(path, "a", public_key, &error),
                 SKN_CANNOT_CREATE);
    (void)snprintf(text, sizeof(text),
                   "%s already exists, and keys are never overwritten", secret);
    cr_expect_str_eq(error.text, text);
    cr_expect_str_eq(error.hint,
                     "choose another path, or move both files away");
    (void)slurp(secret, after, sizeof(after));
    cr_expect_str_eq(before, after);
}

Test(keys, one_old_half_stays_alone, .init = start, .fini = stop)
{
    spill(path, "x", 1);
    cr_assert_eq(skn_keys_make(path, "a", public_key, &error),
                 SKN_CANNOT_CREATE);
    cr_expect_neq(access(secret, F_OK), 0, "no secret without its public half");
    char text[8];
    cr_expect_eq(slurp(path, text, sizeof(text)), 1);
}

Test(keys, a_link_in_the_way_is_not_followed, .init = start, .fini = stop)
{
    char elsewhere[TEMP_FOLDER_BYTES + 16];
    (void)snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", folder);
    cr_assert_eq(symlink(elsewhere, secret), 0);
    cr_expect_eq(skn_keys_make(path, "a", public_key, &error),
                 SKN_CANNOT_CREATE);
    cr_expect_neq(access(elsewhere, F_OK), 0);
}

Test(keys, the_folder_of_the_keys_is_made, .init = start, .fini = stop)
{
    char keys[TEMP_FOLDER_BYTES + 16];
    (void)snprintf(keys, sizeof(keys), "%s/keys", folder);
    (void)snprintf(path, sizeof(path), "%s/keys/a", folder);
    cr_assert_eq(skn_keys_make(path, NULL, public_key, &error), SKN_OK, "%s",
                 error.text);
    cr_expect_eq(mode_of(keys), 0700);
    cr_expect_eq(mode_of(path), 0644);
}

Test(keys, a_missing_folder_is_reported, .init = start, .fini = stop)
{
    char text[1400];
    (void)snprintf(path, sizeof(path), "%s/no/no/a", folder);
    cr_expect_eq(skn_keys_make(path, NULL, public_key, &error),
                 SKN_CANNOT_CREATE);
    (void)snprintf(text, sizeof(text),
                   "cannot create %s_secret: No such file or directory", path);
    cr_expect_str_eq(error.text, text);
    cr_expect_eq(skn_keys_make("", NULL, public_key, &error), SKN_USAGE);
    char *longest = malloc(5000);
    memset(longest, 'x', 4999);
    longest[4999] = '\0';
    cr_expect_eq(skn_keys_make(longest, NULL, public_key, &error), SKN_USAGE);
    cr_expect_null(skn_keys_load(longest, &error));
    free(longest);
}

Test(keys, names_are_checked, .init = start, .fini = stop)
{
    const char *bad[] = { "",         "a b", "a\"", "a\n",
                          "\xc3\xa4", "a/b", "a.b", "1a" };
    char text[80];
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
        cr_expect_eq(skn_keys_make(path, bad[k], public_key, &error),
                     SKN_USAGE);
        cr_expect_neq(access(secret, F_OK), 0);
    }
    cr_expect_str_eq(error.text, "the name of a node is a letter, then "
                                 "letters, digits, '_' and '-', at most 64 "
                                 "in all");
    memset(text, 'n', sizeof(text));
    text[65] = '\0';
    cr_expect_eq(skn_keys_make(path, text, public_key, &error), SKN_USAGE);
    text[64] = '\0';
    cr_expect_eq(skn_keys_make(path, text, public_key, &error), SKN_OK);
}

/* --- CZMQ ---------------------------------------------------------------- */

Test(keys, czmq_reads_our_files, .init = start_with_pair, .fini = stop)
{
    zsys_handler_set(NULL);
    zcert_t *cert = zcert_load(path);
    cr_assert(cert);
    cr_expect_str_eq(zcert_public_txt(cert), public_key);
    cr_expect_str_eq(zcert_meta(cert, "name"), "a");
    skn_keys_t *keys = skn_keys_load(path, &error);
    cr_assert(keys);
    cr_expect_str_eq(zcert_secret_txt(cert), skn_keys_secret(keys));
    skn_keys_destroy(&keys);
    zcert_destroy(&cert);
}

/* The folder of the public halves is an allow-list for CZMQ's programs. */
Test(keys, czmq_finds_our_keys_in_their_folder, .init = start_with_pair,
     .fini = stop)
{
    char store_path[PATH_MAX];
    (void)snprintf(store_path, sizeof(store_path), "%s", path);
    *strrchr(store_path, '/') = '\0';
    zsys_handler_set(NULL);
    zcertstore_t *store = zcertstore_new(store_path);
    zcert_t *cert = zcertstore_lookup(store, public_key);
    cr_assert(cert);
    cr_expect_str_eq(zcert_meta(cert, "name"), "a");
    zcertstore_destroy(&store);
}

Test(keys, we_read_the_files_of_czmq, .init = start, .fini = stop)
{
    zsys_handler_set(NULL);
    zcert_t *cert = zcert_new();
    zcert_set_meta(cert, "name", "%s", "b");
    cr_assert_eq(zcert_save(cert, path), 0);
    skn_keys_t *keys = skn_keys_load(path, &error);
    cr_assert(keys, "%s", error.text);
    cr_expect_str_eq(skn_keys_public(keys), zcert_public_txt(cert));
    cr_expect_str_eq(skn_keys_secret(keys), zcert_secret_txt(cert));
    skn_keys_destroy(&keys);
    zcert_destroy(&cert);
}

/* --- loading ------------------------------------------------------------- */

Test(keys, only_its_owner_may_read_a_secret, .init = start_with_pair,
     .fini = stop)
{
    char text[1400];
    for (mode_t mode = 0; mode < 01000; mode++) {
        cr_assert_eq(chmod(secret, mode), 0);
        skn_keys_t *keys = skn_keys_load(path, &error);
        if ((mode & 077) == 0 && (mode & 0400 || geteuid() == 0)) {
            cr_expect(keys, "mode %04o: %s", mode, error.text);
            skn_keys_destroy(&keys);
            continue;
        }
        cr_assert(!keys, "mode %04o", mode);
        cr_expect_eq(error.status, SKN_NO_PERMISSION);
        if ((mode & 077) == 0 || (!(mode & 0400) && geteuid() != 0))
            continue;
        (void)snprintf(text, sizeof(text),
                       "%s can be read by others (mode %04o), so its key is "
                       "not secret",
                       secret, (unsigned)mode);
        cr_expect_str_eq(error.text, text);
        (void)snprintf(text, sizeof(text), "chmod 600 %s", secret);
        cr_expect_str_eq(error.hint, text);
    }
}

Test(keys, a_secret_of_somebody_else_is_refused, .init = start_with_pair,
     .fini = stop)
{
    char text[1400];
    if (geteuid() != 0)
        cr_skip_test("only root can give a file away");
    cr_assert_eq(chown(secret, 65534, 65534), 0);
    cr_assert(!skn_keys_load(path, &error));
    cr_expect_eq(error.status, SKN_NO_PERMISSION);
    (void)snprintf(text, sizeof(text),
                   "%s belongs to user 65534, this process runs as user 0",
                   secret);
    cr_expect_str_eq(error.text, text);
}

Test(keys, missing_files_are_reported, .init = start_with_pair, .fini = stop)
{
    char text[1400];
    cr_assert_eq(unlink(secret), 0);
    cr_assert(!skn_keys_load(path, &error));
    cr_expect_eq(error.status, SKN_NO_INPUT);
    (void)snprintf(text, sizeof(text), "%s: no such key file", secret);
    cr_expect_str_eq(error.text, text);
    cr_expect_str_eq(error.hint, "make a key with skein keygen PATH; its "
                                 "secret half stays on its node");
    cr_assert_eq(unlink(path), 0);
    cr_assert(!skn_keys_load(path, NULL));
}

Test(keys, what_is_no_file_is_refused, .init = start, .fini = stop)
{
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_expect_eq(skn_key_load_public(path, public_key, &error), SKN_NO_INPUT);
    cr_assert_eq(mkfifo(secret, 0600), 0);
    cr_expect_eq(skn_key_load_public(secret, public_key, &error), SKN_NO_INPUT);
    cr_expect(strstr(error.text, "_secret is not a file"), "%s", error.text);
}

Test(keys, halves_of_two_pairs_are_refused, .init = start_with_pair,
     .fini = stop)
{
    char other[TEMP_FOLDER_BYTES + 16], text[1400];
    (void)snprintf(other, sizeof(other), "%s/b.key", folder);
    cr_assert_eq(skn_keys_make(other, "b", public_key, &error), SKN_OK);
    cr_assert_eq(rename(other, path), 0);
    cr_assert(!skn_keys_load(path, &error));
    cr_expect_eq(error.status, SKN_BAD_CONFIG);
    (void)snprintf(text, sizeof(text), "%s and %s do not match", path, secret);
    cr_expect_str_eq(error.text, text);
}

Test(keys, a_loaded_secret_leaves_no_core, .init = start_with_pair,
     .fini = stop)
{
    struct rlimit limit;
    cr_assert_eq(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
    skn_keys_t *keys = skn_keys_load(path, &error);
    cr_assert(keys);
    cr_assert_eq(getrlimit(RLIMIT_CORE, &limit), 0);
    cr_expect_eq(limit.rlim_cur, 0);
    cr_expect_eq(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
    skn_keys_destroy(&keys);
}

/* Loads the pair with `text` as one of its files: either the same keys come
 * out (a comment was hurt), or a status and a sentence that names the file and
 * nothing of the secret. */
static void
load_hurt(const char *name, const char *text, size_t bytes, const char *want)
{
    error = (skn_error_t){ 0 };
    spill(name, text, bytes);
    skn_keys_t *keys = skn_keys_load(path, &error);
    if (keys) {
        cr_expect_str_eq(skn_keys_secret(keys), want);
        skn_keys_destroy(&keys);
        return;
    }
    cr_expect_eq(error.status, SKN_BAD_CONFIG, "%s", error.text);
    cr_expect(strstr(error.text, folder), "%s", error.text);
    char part[9];
    (void)snprintf(part, sizeof(part), "%s", want + 8);
    cr_expect(!strstr(error.text, part), "%s", error.text);
}

Test(keys, damage_at_any_byte_is_a_sentence, .init = start_with_pair,
     .fini = stop)
{
    char text[SKN_KEY_FILE_BYTES_MAX], kept[SKN_KEY_TEXT_BYTES];
    const unsigned char flips[] = { 0x01, 0x80 };
    const char *files[] = { path, secret };
    skn_keys_t *keys = skn_keys_load(path, &error);
    (void)snprintf(kept, sizeof(kept), "%s", skn_keys_secret(keys));
    skn_keys_destroy(&keys);
    for (size_t f = 0; f < 2; f++) {
        size_t bytes = slurp(files[f], text, sizeof(text));
        for (size_t k = 0; k < bytes; k++) {
            char good = text[k];
            for (size_t j = 0; j < sizeof(flips); j++) {
                text[k] = (char)((unsigned char)good ^ flips[j]);
                load_hurt(files[f], text, bytes, kept);
            }
            text[k] = '\0';
            load_hurt(files[f], text, bytes, kept);
            text[k] = good;
            load_hurt(files[f], text, k, kept); /* cut there */
        }
        spill(files[f], text, bytes);
    }
    keys = skn_keys_load(path, &error);
    cr_expect(keys, "%s", error.text);
    skn_keys_destroy(&keys);
}

/* What the sentence for a file with `text` is, behind the file's name. */
static void
refused(const char *text, const char *sentence)
{
    spill(path, text, strlen(text));
    cr_assert_eq(skn_key_load_public(path, public_key, &error), SKN_BAD_CONFIG,
                 "%s", text);
    cr_expect_str_eq(error.text + strlen(path), sentence);
}

#define KEY "%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0%nSc0"

Test(keys, each_mistake_in_a_file_has_its_sentence, .init = start, .fini = stop)
{
    refused("", " is not a key file: it has no public-key under curve");
    refused("curve\n", " is not a key file: it has no public-key under curve");
    refused("    public-key = \"" KEY "\"\n",
            " is not a key file: it has no public-key under curve");
    refused("other\n    public-key = \"" KEY "\"\n",
            " is not a key file: it has no public-key under curve");
    refused("curve\n    public-key \"" KEY "\"\n", ":2: '=' expected");
    refused("curve\n    public-key = " KEY "\n",
            ":2: a key is 40 characters of Z85 in quotes");
    refused("curve\n    public-key = \"short\"\n",
            ":2: a key is 40 characters of Z85 in quotes");
    refused("curve\n    public-key = \"" KEY "\" x\n",
            ":2: a key is 40 characters of Z85 in quotes");
    refused("curve\n    public-key = \"" KEY "0\"\n",
            ":2: a key is 40 characters of Z85 in quotes");
    refused("curve\n    public-key = \"" KEY "\"\n"
            "    public-key = \"" KEY "\"\n",
            ":3: a second key");
    cr_assert_eq(truncate(path, SKN_KEY_FILE_BYTES_MAX), 0);
    cr_assert_eq(skn_key_load_public(path, public_key, &error), SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text + strlen(path),
                     " is not a key file: it has more than 8191 bytes");
    spill(path, "a\0b", 3);
    cr_assert_eq(skn_key_load_public(path, public_key, &error), SKN_BAD_CONFIG);
    cr_expect_str_eq(error.text + strlen(path),
                     " is not a key file: it is not a text");
}

Test(keys, other_ways_to_write_the_same_are_read, .init = start, .fini = stop)
{
    const char *texts[] = {
        "curve\n\tpublic-key=\"" KEY "\"",
        "\n# a\r\ncurve\r\n  public-key  =  \"" KEY "\" \t\r\n",
        "metadata\n    public-key = 1\ncurve = x\n    role = \"y\"\n"
        "    public-key = \"" KEY "\"\nmore\n    secret-key = 3\n",
    };
    for (size_t k = 0; k < 3; k++) {
        spill(path, texts[k], strlen(texts[k]));
        cr_assert_eq(skn_key_load_public(path, public_key, &error), SKN_OK,
                     "%s: %s", texts[k], error.text);
        cr_expect_str_eq(public_key, KEY);
    }
}

Test(keys, a_secret_file_without_its_secret_is_reported,
     .init = start_with_pair, .fini = stop)
{
    char text[SKN_KEY_FILE_BYTES_MAX];
    size_t bytes = slurp(path, text, sizeof(text));
    spill(secret, text, bytes);
    cr_assert(!skn_keys_load(path, &error));
    cr_expect_str_eq(error.text + strlen(secret),
                     " has no secret-key under curve");
}
