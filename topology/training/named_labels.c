/* named_labels.c - adds the names of labels to the events `prediction` of a run
 * on several nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/training/named_labels.h"

#include <string.h>

#include "formats/checkpoint/run_form.h"
#include "skein/event.h"
#include "topology/run/trained.h"

skn_status_t
skn_named_labels_open(const char *path, skn_names_t **names, skn_error_t *error)
{
    skn_trained_place_t place = { 0 };
    char form[SKN_RUN_FORM_PATH_BYTES];
    *names = NULL;
    skn_status_t status = skn_trained_find(path, &place, error);
    if (status == SKN_OK && skn_trained_form(&place, SKN_LABELS_NAME, form)) {
        *names = skn_names_open(form, error);
        status = *names ? SKN_OK : error->status;
    }
    skn_trained_place_fini(&place);
    return status;
}

bool
skn_named_labels_write(const skn_names_t *names, const char *line,
                       skn_json_text_t *event)
{
    if (!names || names->count == 0 || !skn_event_is(line, "prediction"))
        return false;
    json_t *read = skn_json_read(line);
    const json_t *labels = json_object_get(read, "labels");
    const char *end = strrchr(line, '}');
    if (labels && end) {
        skn_json_text_add(event, "%.*s,\"names\":[", (int)(end - line), line);
        for (size_t k = 0; k < json_array_size(labels); k++) {
            json_int_t label = json_integer_value(json_array_get(labels, k));
            skn_json_text_add(event, "%s", k ? "," : "");
            skn_json_text_add_string(event,
                                     label >= 0 && (size_t)label < names->count
                                         ? names->name[label]
                                         : "");
        }
        skn_json_text_add(event, "]}");
    }
    json_decref(read);
    return labels && end;
}
