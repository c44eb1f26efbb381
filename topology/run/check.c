/* check.c - checks a configuration file, which may be a model or a topology
 * file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/run/check.h"

#include <string.h>

#include "actors/protocol/kinds.h"

skn_status_t
skn_check_file(const char *path, const char *const *overrides,
               size_t override_count, skn_checked_t *checked,
               skn_problems_t *problems, skn_error_t *error)
{
    memset(checked, 0, sizeof(*checked));
    skn_document_t *document = skn_document_load(path, problems);
    skn_status_t status = SKN_OK;
    if (!document)
        return skn_problems_error(problems, error);
    for (size_t k = 0; k < override_count; k++)
        (void)skn_document_set(document, overrides[k], problems);
    if (skn_node_get(skn_document_root(document), "topology")) {
        checked->spec = skn_spec_load(&document, skn_kinds, problems);
    } else {
        status = skn_model_check(document, &checked->model, problems, error);
        if (status == SKN_OK)
            skn_spec_try_plugins(document, skn_kinds, problems);
        skn_document_destroy(&document);
    }
    if (skn_problems_count(problems) > 0) {
        skn_checked_fini(checked);
        return skn_problems_error(problems, error);
    }
    return status;
}

void
skn_checked_fini(skn_checked_t *checked)
{
    skn_model_destroy(&checked->model);
    skn_spec_destroy(&checked->spec);
}
