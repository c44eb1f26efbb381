/* admission.c - admits members to a run and refuses wrong or second processes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology/cluster/admission.h"

#include <stdlib.h>
#include <string.h>

#include "topology/model/settings.h"

/* The interval at which an admitted process is asked again whether it lives. */
#define ASK_NS 1000000000ull
/* A warning per second is enough for a member that sends bad messages all the
 * time: it must not fill the disk. */
#define COMPLAINT_NS 1000000000ull

skn_status_t
skn_admission_init(skn_admission_t *admission, const skn_model_t *model,
                   const char *const *names, skn_error_t *error)
{
    admission->names = names;
    admission->settings = skn_settings_text(model, error);
    return admission->settings ? SKN_OK : error->status;
}

void
skn_admission_fini(skn_admission_t *admission)
{
    free(admission->settings);
    admission->settings = NULL;
}

/* Sends `message` to the member or to the `other` process with its key. A
 * process that does not receive it sends hello again. */
static void
give(const skn_admission_t *admission, uint32_t member, bool other,
     const skn_control_message_t *message)
{
    char *text = skn_control_message_write(message);
    const skn_frame_t frame = { text, text ? strlen(text) : 0 };
    if (text)
        (void)(other
                   ? skn_control_answer(admission->control, member, frame, NULL)
                   : skn_control_send(admission->control, member, frame, NULL));
    free(text);
}

/* Refuses the process; returns false, since its message needs no other
 * handling. */
static bool
refuse(skn_admission_t *admission, uint32_t member, bool other,
       const skn_error_t *why, const char **news)
{
    struct skn_admission_member *admitted = &admission->member[member];
    char told[sizeof(admitted->told)];
    const skn_control_message_t message = {
        .kind = SKN_CONTROL_MESSAGE_REFUSE,
        .refuse = { .code = (uint64_t)skn_status_exit_code(why->status),
                    .text = why->text,
                    .hint = why->hint },
    };
    give(admission, member, other, &message);
    (void)snprintf(told, sizeof(told), "refused: %s", why->text);
    if (strcmp(told, admitted->told) != 0)
        *news = memcpy(admitted->told, told, sizeof(told));
    return false;
}

/* --- two processes with one key ------------------------------------------- */

static void
ask(const skn_admission_t *admission, uint32_t member, bool other)
{
    const skn_control_message_t message = { .kind =
                                                SKN_CONTROL_MESSAGE_IDENTIFY };
    give(admission, member, other, &message);
}

/* Whether the admitted process lives as far as is known: it may have just
 * died. */
static bool
lives(const skn_admission_t *admission, uint32_t member)
{
    return admission->member[member].is_connected &&
           skn_membership_hears(admission->membership, member);
}

static bool
let_in(skn_admission_t *admission, uint32_t member,
       const skn_control_hello_t *hello)
{
    struct skn_admission_member *admitted = &admission->member[member];
    if (!skn_control_admit(admission->control, member))
        return false;
    admitted->incarnation = hello->incarnation;
    admitted->is_connected = true;
    admitted->told[0] = '\0';
    admitted->is_waiting = false;
    return true;
}

static bool
take_other(skn_admission_t *admission, uint32_t member,
           const skn_control_hello_t *hello, uint64_t now_ns)
{
    struct skn_admission_member *admitted = &admission->member[member];
    bool same = hello->incarnation == admitted->incarnation;
    if (same || !lives(admission, member))
        return let_in(admission, member, hello);
    admitted->is_waiting = true;
    admitted->waiting = *hello;
    admitted->waiting.settings = "";
    admitted->asked_ns = now_ns;
    ask(admission, member, false);
    return false;
}

/* Refuses the waiting process, since the admitted one has answered. */
static bool
refuse_waiting(skn_admission_t *admission, uint32_t member, const char **news)
{
    skn_error_t why = { 0 };
    admission->member[member].is_waiting = false;
    (void)skn_fail(
        &why, SKN_BUSY,
        "node '%.64s' is already a member, from %s, and cannot join from %s "
        "as well",
        admission->names[member],
        skn_control_where(admission->control, member, false),
        skn_control_where(admission->control, member, true));
    (void)skn_fail_hint(
        &why, SKN_BUSY,
        "stop that one first, or give each machine a node of its own");
    return refuse(admission, member, true, &why, news);
}

bool
skn_admission_take(skn_admission_t *admission,
                   const skn_control_arrival_t *arrival,
                   const skn_control_message_t *message, uint64_t now_ns,
                   const char **news)
{
    uint32_t member = arrival->member;
    skn_error_t why = { 0 };
    struct skn_admission_member *admitted = &admission->member[member];
    bool hello = message->kind == SKN_CONTROL_MESSAGE_HELLO;
    if (arrival->other && arrival->fresh)
        admitted->is_waiting = false; /* a third process replaces the second */
    if (!hello && arrival->other) {
        if (!admitted->is_waiting)
            ask(admission, member, true);
        return false;
    }
    if (!hello)
        return true;
    if (skn_settings_compare(admission->settings, message->hello.settings,
                             admission->names[member], &why) != SKN_OK)
        return refuse(admission, member, arrival->other, &why, news);
    if (arrival->other)
        return take_other(admission, member, &message->hello, now_ns);
    admitted->incarnation = message->hello.incarnation;
    return admitted->is_waiting && lives(admission, member)
               ? refuse_waiting(admission, member, news)
               : true;
}

bool
skn_admission_complains(skn_admission_t *admission, uint32_t member,
                        uint64_t now_ns)
{
    uint64_t *complaint_ns = &admission->member[member].complaint_ns;
    if (*complaint_ns > 0 && now_ns - *complaint_ns < COMPLAINT_NS)
        return false;
    *complaint_ns = now_ns;
    return true;
}

void
skn_admission_lost(skn_admission_t *admission, uint32_t member)
{
    admission->member[member].is_connected = false;
}

bool
skn_admission_next(skn_admission_t *admission, uint64_t now_ns,
                   uint32_t *member, skn_control_hello_t *hello)
{
    for (uint32_t k = 0; k < SKN_CLUSTER_NODES_MAX; k++) {
        struct skn_admission_member *admitted = &admission->member[k];
        if (!admitted->is_waiting)
            continue;
        if (lives(admission, k)) {
            if (now_ns - admitted->asked_ns < ASK_NS)
                continue;
            admitted->asked_ns = now_ns;
            ask(admission, k, false);
            continue;
        }
        *member = k;
        *hello = admitted->waiting;
        if (let_in(admission, k, hello))
            return true;
        admitted->is_waiting = false;
    }
    return false;
}
