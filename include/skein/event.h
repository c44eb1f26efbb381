/* event.h - reads values of an event, which is one line of JSON.
 *
 * The same for every source of events: a topology, a training, a coordinator, a
 * member, a search for a config, and the output of `skein ... --json`. The
 * names of events and of their members are in docs/reference/events.md.
 *
 *     while (skn_training_event(training, -1, line, sizeof line, &error) ==
 *            SKN_OK)
 *         if (skn_event_is(line, "epoch") &&
 *             skn_event_number(line, "p1", &p1))
 *             show(p1);
 *
 * No function allocates memory, waits, or depends on the locale. Any thread. A
 * NULL where none is allowed is answered as if the member were missing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SKEIN_EVENT_H
#define SKEIN_EVENT_H

#include <stdbool.h>
#include <stddef.h>

#include "skein/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the event is called `name`. */
SKN_API bool skn_event_is(const char *line, const char *name);
/* The number at `key` of the line's object, or 1 and 0 for true and false.
 * False, and *number is as before: there is none. */
SKN_API bool skn_event_number(const char *line, const char *key,
                              double *number);
/* The string at `key`, in UTF-8 without its escapes; a value that is no string
 * as it stands in the line. Writes at most `text_bytes` with the NUL, cut
 * before a character that does not fit, and returns the bytes that all of it
 * needs, with the NUL. 0: there is no such member, or the line is not an
 * object; `text` (may be NULL if text_bytes is 0) is "" then. */
SKN_API size_t skn_event_text(const char *line, const char *key, char *text,
                              size_t text_bytes);

#ifdef __cplusplus
}
#endif

#endif
