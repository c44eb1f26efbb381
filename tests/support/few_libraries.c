/* few_libraries.c - shows Criterion only those libraries that can have tests.
 *
 * Criterion maps every loaded library five times for each test case, to look
 * for sections of its own. None of the 40 has any but the program and Criterion
 * itself; the others took more than half of a case's time. Other callers of
 * dl_iterate_phdr (sanitizers, for one) see every library.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef int visit_t(struct dl_phdr_info *info, size_t size, void *data);
typedef int iterate_t(visit_t *visit, void *data);

typedef struct search {
    visit_t *visit;
    void *data;
} search_t;

static bool
is_criterion(const struct dl_phdr_info *info)
{
    return strstr(info->dlpi_name, "/libcriterion.so");
}

/* Whether `data`, an address, is in Criterion. */
static int
find_caller(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    for (size_t i = 0; is_criterion(info) && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD &&
            (uintptr_t)data - info->dlpi_addr - segment->p_vaddr <
                segment->p_memsz)
            return true;
    }
    return false;
}

static int
visit_few(struct dl_phdr_info *info, size_t size, void *data)
{
    const search_t *search = data;
    bool is_program = info->dlpi_name[0] == '\0';
    return is_program || is_criterion(info)
               ? search->visit(info, size, search->data)
               : 0;
}

__attribute__((visibility("default"))) int
dl_iterate_phdr(visit_t *visit, void *data)
{
    static iterate_t *iterate; /* found by the first call, before main */
    if (!iterate) {
        void *symbol = dlsym(RTLD_NEXT, "dl_iterate_phdr");
        memcpy(&iterate, &symbol, sizeof iterate);
    }
    search_t search = { visit, data };
    return iterate(find_caller, (void *)(uintptr_t)visit)
               ? iterate(visit_few, &search)
               : iterate(visit, data);
}
