/* spec_kinds.c - the kinds and messages that a topology may name, and the
 * loading of plug-ins.
 *
 * This file owns: the list of kinds (the host's, and those of plug-ins), the
 * list of messages that they send and handle, and the plug-ins themselves.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/runtime/crash.h"
#include "actors/kinds/kind_check.h"
#include "actors/runtime/port.h"
#include "formats/text/system_error.h"
#include "topology/spec/spec_internal.h"
#include "topology/config/values.h"

/* A list of pointers that grows in the document's memory by doubling; the
 * memory of the former copies is at most as much again. */
static skn_status_t
make_room(skn_spec_t *spec, const void ***list, uint32_t count, uint32_t *room)
{
    if (count < *room)
        return SKN_OK;
    uint32_t larger = *room ? *room * 2 : 32;
    const void **grown = skn_spec_memory(spec, larger, sizeof(*grown));
    if (!grown)
        return SKN_NO_MEMORY;
    if (count > 0)
        memcpy(grown, *list, count * sizeof(*grown));
    *list = grown;
    *room = larger;
    return SKN_OK;
}

static bool
same_message(const skn_schema_t *a, const skn_schema_t *b)
{
    if (a == b)
        return true;
    if (a->id != b->id || strcmp(a->name, b->name) != 0 ||
        a->struct_bytes != b->struct_bytes || a->field_count != b->field_count)
        return false;
    for (size_t k = 0; k < a->field_count; k++)
        if (strcmp(a->fields[k].name, b->fields[k].name) != 0 ||
            a->fields[k].kind != b->fields[k].kind ||
            a->fields[k].offset != b->fields[k].offset ||
            a->fields[k].max != b->fields[k].max)
            return false;
    return true;
}

static skn_status_t
add_schema(skn_spec_t *spec, skn_mark_t mark, const skn_kind_t *kind,
           const skn_schema_t *schema)
{
    for (uint32_t k = 0; k < spec->schema_count; k++) {
        const skn_schema_t *known = spec->schemas[k];
        if (same_message(known, schema))
            return SKN_OK;
        if (known->id == schema->id || strcmp(known->name, schema->name) == 0)
            return skn_problems_add(
                spec->problems, mark,
                "message '%s' (%u) of kind '%s' is not the message '%s' (%u) "
                "that other kinds know",
                schema->name, schema->id, kind->name, known->name, known->id);
    }
    const void **list = (const void **)spec->schemas;
    skn_status_t status =
        make_room(spec, &list, spec->schema_count, &spec->schema_room);
    spec->schemas = (const skn_schema_t **)list;
    if (status == SKN_OK)
        spec->schemas[spec->schema_count++] = schema;
    return status;
}

static skn_status_t
add_kind(skn_spec_t *spec, skn_mark_t mark, const skn_kind_t *kind)
{
    skn_error_t why = { 0 };
    if (skn_kind_check_size(kind, "a kind of actor", &why) != SKN_OK)
        return skn_problems_add(spec->problems, mark, "%s", why.text);
    if (!kind->name || !kind->name[0])
        return skn_problems_add(spec->problems, mark,
                                "a kind of actor has no name");
    skn_status_t status = skn_kind_check(kind, &why);
    if (status != SKN_OK)
        return skn_problems_add(spec->problems, mark, "%s", why.text);
    if (skn_spec_kind(spec, kind->name))
        return skn_problems_add(spec->problems, mark,
                                "kind '%s' is already known", kind->name);
    const void **list = (const void **)spec->kinds;
    status = make_room(spec, &list, spec->kind_count, &spec->kind_room);
    spec->kinds = (const skn_kind_t **)list;
    if (status == SKN_OK)
        spec->kinds[spec->kind_count++] = kind;
    for (size_t k = 0; status == SKN_OK && kind->sends && kind->sends[k]; k++)
        status = add_schema(spec, mark, kind, kind->sends[k]);
    const skn_handler_t *handler = kind->handlers;
    for (; status == SKN_OK && handler && handler->schema; handler++)
        status = add_schema(spec, mark, kind, handler->schema);
    return status;
}

skn_status_t
skn_spec_read_kinds(skn_spec_t *spec, const skn_kind_t *const *kinds)
{
    skn_status_t status = SKN_OK;
    skn_mark_t mark = { skn_document_name(spec->document), 0, 0 };
    for (; kinds && *kinds && status == SKN_OK; kinds++)
        status = add_kind(spec, mark, *kinds);
    return status == SKN_OK ? add_kind(spec, mark, &skn_port_kind) : status;
}

const skn_kind_t *
skn_spec_kind(const skn_spec_t *spec, const char *name)
{
    for (uint32_t k = 0; k < spec->kind_count; k++)
        if (strcmp(spec->kinds[k]->name, name) == 0)
            return spec->kinds[k];
    return NULL;
}

const skn_schema_t *
skn_spec_schema(const skn_spec_t *spec, const char *name)
{
    for (uint32_t k = 0; k < spec->schema_count; k++)
        if (strcmp(spec->schemas[k]->name, name) == 0)
            return spec->schemas[k];
    return NULL;
}

bool
skn_spec_sends(const skn_kind_t *kind, const skn_schema_t *schema)
{
    for (size_t k = 0; kind->sends && kind->sends[k]; k++)
        if (kind->sends[k]->id == schema->id)
            return true;
    return kind == &skn_port_kind;
}

const skn_handler_t *
skn_spec_handler(const skn_kind_t *kind, const skn_schema_t *schema)
{
    const skn_handler_t *handler = kind->handlers;
    for (; handler && handler->schema; handler++)
        if (handler->schema->id == schema->id)
            return handler;
    return NULL;
}

/* --- plug-ins ------------------------------------------------------------ */

/* A topology with more plug-ins than this is taken for a mistake. */
#define PLUGINS_MAX 64u

/* The path for dlopen, which searches other folders for a name without a
 * slash. */
static const char *
plugin_path(skn_spec_t *spec, const skn_node_t *item)
{
    const char *text = skn_value_path(spec->document, item, spec->problems);
    if (!text || strchr(text, '/'))
        return text;
    size_t bytes = strlen(text) + 3;
    char *path = skn_spec_memory(spec, bytes, 1);
    if (path)
        (void)snprintf(path, bytes, "./%s", text);
    return path;
}

/* True if the file ends before its segments do. dlopen would map them anyway,
 * and the process would die of SIGBUS on reading the missing part. False: the
 * file is complete, or dlopen will report what is wrong. */
static bool
is_cut_short(const char *path)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) segment;
    struct stat about;
    bool cut = false;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return false;
    bool known = fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
                 pread(file, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
                 memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
                 head.e_phentsize == sizeof(segment);
    uint64_t bytes = known ? (uint64_t)about.st_size : 0;
    for (uint32_t k = 0; known && k < head.e_phnum && !cut; k++) {
        uint64_t at = head.e_phoff + (uint64_t)k * sizeof(segment);
        cut = at > bytes || pread(file, &segment, sizeof(segment), (off_t)at) !=
                                (ssize_t)sizeof(segment);
        cut = cut || (segment.p_type == PT_LOAD &&
                      (segment.p_offset > bytes ||
                       segment.p_filesz > bytes - segment.p_offset));
    }
    (void)close(file);
    return cut;
}

/* The errno of a lack of descriptors or memory, which is no fault of the file:
 * dlopen would report it as one. */
static int
find_shortage(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int code = file < 0 ? errno : 0;
    if (file >= 0)
        (void)close(file);
    return skn_errno_status(code, SKN_OK) == SKN_NO_MEMORY ? code : 0;
}

/* The plug-in's constructors run here: a crash in one is reported with its
 * path. */
static void *
load(const char *path)
{
    char role[SKN_TEXT_MAX];
    skn_crash_thread_t thread;
    (void)snprintf(role, sizeof(role), "the loading of plug-in %s", path);
    skn_crash_enter(&thread, NULL, role);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    skn_crash_leave(&thread);
    return handle;
}

static skn_status_t
add_plugin(skn_spec_t *spec, skn_mark_t mark, const char *path)
{
    int code = find_shortage(path);
    if (code != 0) {
        const char *remedy = skn_errno_remedy(code, NULL);
        (void)skn_problems_fail(spec->problems, SKN_NO_MEMORY,
                                "%s cannot be loaded: %s", path,
                                strerror(code));
        if (remedy)
            (void)skn_problems_hint(spec->problems, "%s", remedy);
        return SKN_NO_MEMORY;
    }
    if (is_cut_short(path)) {
        (void)skn_problems_add(spec->problems, mark,
                               "the plug-in cannot be loaded: %s ends before "
                               "its segments do",
                               path);
        return skn_problems_hint(
            spec->problems,
            "it is truncated: copy it again, or compile it again");
    }
    void *handle = load(path);
    if (!handle) {
        const char *reason = dlerror();
        return skn_problems_add(spec->problems, mark,
                                "the plug-in cannot be loaded: %s",
                                reason ? reason : path);
    }
    spec->plugin_paths[spec->plugin_count] = path;
    spec->plugins[spec->plugin_count++] = handle;
    const skn_plugin_t *plugin = dlsym(handle, SKN_PLUGIN_SYMBOL);
    if (!plugin)
        return skn_problems_add(spec->problems, mark,
                                "%s is not a plug-in: it exports no symbol "
                                "'%s'",
                                path, SKN_PLUGIN_SYMBOL);
    if (plugin->version != SKN_PLUGIN_VERSION) {
        (void)skn_problems_add(spec->problems, mark,
                               "plug-in %s has version %u, this program needs "
                               "%u",
                               path, plugin->version, SKN_PLUGIN_VERSION);
        return skn_problems_hint(spec->problems, "compile it again");
    }
    skn_status_t status = SKN_OK;
    const skn_kind_t *const *kinds = plugin->kinds;
    if (!kinds || !*kinds)
        return skn_problems_add(spec->problems, mark,
                                "plug-in %s brings no kind of actor", path);
    for (; *kinds && status == SKN_OK; kinds++)
        status = add_kind(spec, mark, *kinds);
    spec->plugin_ends[spec->plugin_count - 1] = spec->kind_count;
    return status;
}

const char *
skn_spec_plugin_of(const skn_spec_t *spec, const skn_kind_t *kind)
{
    uint32_t place = 0, plugin = 0;
    while (place < spec->kind_count && spec->kinds[place] != kind)
        place++;
    if (place < spec->kinds_before || place == spec->kind_count)
        return NULL;
    while (plugin < spec->plugin_count && spec->plugin_ends[plugin] <= place)
        plugin++;
    return plugin < spec->plugin_count ? spec->plugin_paths[plugin] : NULL;
}

skn_status_t
skn_spec_read_plugins(skn_spec_t *spec, const skn_node_t *list)
{
    if (list->count > PLUGINS_MAX)
        return skn_problems_add(spec->problems, list->mark,
                                "%u plug-ins, at most %u allowed", list->count,
                                PLUGINS_MAX);
    spec->plugins = skn_spec_memory(spec, list->count, sizeof(void *));
    spec->plugin_paths = skn_spec_memory(spec, list->count, sizeof(char *));
    spec->plugin_ends = skn_spec_memory(spec, list->count, sizeof(uint32_t));
    spec->kinds_before = spec->kind_count;
    if (!spec->plugins || !spec->plugin_paths || !spec->plugin_ends)
        return SKN_NO_MEMORY;
    skn_status_t status = SKN_OK;
    for (const skn_node_t *item = list->first; item; item = item->next) {
        char found[64];
        if (item->type != SKN_NODE_SCALAR || item->text[0] == '\0') {
            status = skn_problems_add(
                spec->problems, item->mark, "a plug-in is a path, found %s",
                skn_node_describe(item, found, sizeof(found)));
            continue;
        }
        const char *path = plugin_path(spec, item);
        if (!path)
            return SKN_NO_MEMORY;
        skn_status_t added = add_plugin(spec, item->mark, path);
        status = added == SKN_OK ? status : added;
    }
    return status;
}

void
skn_spec_try_plugins(skn_document_t *document, const skn_kind_t *const *kinds,
                     skn_problems_t *problems)
{
    skn_spec_t spec = { .document = document, .problems = problems };
    const skn_node_t *list =
        skn_node_get(skn_document_root(document), "plugins");
    if (list && skn_spec_read_kinds(&spec, kinds) == SKN_OK)
        (void)skn_spec_read_plugins(&spec, list);
    skn_spec_close_plugins(&spec);
}

void
skn_spec_close_plugins(skn_spec_t *spec)
{
    for (uint32_t k = 0; k < spec->plugin_count; k++)
        (void)dlclose(spec->plugins[k]);
    spec->plugin_count = 0;
}
