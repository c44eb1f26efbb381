/* verb_keygen.c - skein keygen: makes a key pair for one node.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/verbs.h"
#include "skein/member.h"

static void
say_json(const char *path, const char *public_key)
{
    char secret[4096];
    (void)snprintf(secret, sizeof(secret), "%s" SKN_SECRET_KEY_SUFFIX, path);
    (void)fputs("{\"event\":\"key\",\"public\":", stdout);
    cli_json_string(path, stdout);
    (void)fputs(",\"secret\":", stdout);
    cli_json_string(secret, stdout);
    (void)fputs(",\"key\":", stdout);
    cli_json_string(public_key, stdout);
    (void)fputs("}\n", stdout);
}

static void
say_text(const char *path, const char *public_key)
{
    (void)printf("public key   %s\n"
                 "in           %s\n"
                 "secret half  %s" SKN_SECRET_KEY_SUFFIX
                 ", which never leaves this node\n"
                 "next         copy %s to the other machines, and give the "
                 "node\n"
                 "             `key: %s` in nodes: of the model file\n",
                 public_key, path, path, path, path);
}

static int
keygen_run(const cli_call_t *call)
{
    const char *path = call->operands[0];
    char public_key[SKN_PUBLIC_KEY_BYTES];
    skn_error_t error = { 0 };
    if (skn_keygen(path, cli_value(call, "name"), public_key, &error) != SKN_OK)
        return cli_report(call, &error);
    if (call->json)
        say_json(path, public_key);
    else
        say_text(path, public_key);
    return 0;
}

static const cli_option_t options[] = {
    { "name", 0, "NODE", "the node's name, which is written into the files" },
    CLI_COMMON_OPTIONS,
    { 0 },
};

const cli_verb_t cli_keygen = {
    .name = "keygen",
    .help = "make the key pair of a node",
    .operands = "PATH",
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .description =
        "Writes two files, and never overwrites one. PATH holds the public\n"
        "half: copy it to the other machines of the cluster. PATH_secret\n"
        "holds the secret half, for its owner's eyes only (mode 0600): it\n"
        "stays on the node. Their folder is made if it is missing. Nodes\n"
        "authenticate each other by these keys; without keys they connect\n"
        "over loopback only. See docs/tasks/keys.md.",
    .run = keygen_run,
};
