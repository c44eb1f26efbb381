/* link_hello.c - the handshake of a link: hellos, and refusals that end it.
 *
 * A start of the peer is trusted when its hello echoes the incarnation of our
 * own start: it is alive now, and not left over from an earlier connection.
 * Only such a hello can end a link.
 *
 *     a: hello(a, -)      ->
 *                         <-  hello(b, a)   b heard a: a is established with b
 *     a: hello(a, b)      ->                b is established with a
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "transport/link/link_internal.h"

typedef struct refusal {
    skn_status_t status;
    const char *text, *remote, *hint;
} refusal_t;

/* The refusal of `code`, or "gave up" for a code of a later version. */
static refusal_t
refusal_of(uint64_t code)
{
    switch (code) {
#define R(name, number, status, text, remote, hint)                            \
    case number:                                                               \
        return (refusal_t){ status, text, remote, hint };
        SKN_REFUSALS(R)
#undef R
    default:
        return refusal_of(SKN_REFUSAL_GAVE_UP);
    }
}

/* --- the end of a link --------------------------------------------------- */

void
skn_link_die_of(skn_link_t *link, skn_refusal_t refusal,
                const skn_error_t *error)
{
    assert(error->status != SKN_OK);
    link->failure = *error;
    if (link->failure.hint[0] == '\0')
        (void)skn_fail_hint(&link->failure, link->failure.status, "%s",
                            refusal_of(refusal).hint);
    link->state = SKN_LINK_DEAD;
    link->refusal = refusal;
    if (link->established)
        link->refusal_to = link->peer_incarnation;
    link->refusal_due = link->refusal_to != 0;
}

static void
die(skn_link_t *link, skn_refusal_t refusal)
{
    refusal_t why = refusal_of(refusal);
    skn_error_t error = { 0 };
    (void)skn_fail(&error, why.status, "node '%s' %s", link->peer_name,
                   why.text);
    skn_link_die_of(link, refusal, &error);
}

/* --- sending ------------------------------------------------------------- */

void
skn_link_want_hello(skn_link_t *link, uint64_t to, bool wants_answer)
{
    link->hello_due = true;
    link->hello_to = to;
    if (wants_answer)
        link->hello_wants = true;
}

/* Whether the hello that is due would repeat the last one. */
static bool
is_repeated(const skn_link_t *link)
{
    return link->hello_said && link->hello_said_to == link->hello_to &&
           link->hello_said_established == link->established &&
           link->hello_said_run == link->has_run;
}

bool
skn_link_hello_may(const skn_link_t *link)
{
    if (!link->hello_due || link->state == SKN_LINK_DEAD)
        return false;
    return !is_repeated(link) ||
           link->now_ns >= link->hello_said_ns + SKN_HELLO_NS_MIN;
}

uint64_t
skn_link_hello_due_ns(const skn_link_t *link)
{
    if (link->state == SKN_LINK_DEAD)
        return UINT64_MAX;
    if (link->hello_due)
        return skn_link_hello_may(link)
                   ? UINT64_MAX
                   : link->hello_said_ns + SKN_HELLO_NS_MIN;
    return link->state == SKN_LINK_NEW ? link->hello_at_ns : UINT64_MAX;
}

void
skn_link_say_hello(skn_link_t *link, skn_fragment_t *fragment)
{
    uint64_t to = link->hello_to;
    link->hello_said = true;
    link->hello_said_to = to;
    link->hello_said_established = link->established;
    link->hello_said_run = link->has_run;
    link->hello_said_ns = link->now_ns;
    link->hello_at_ns = link->now_ns + SKN_HELLO_NS;
    if (to == 0 && link->established)
        to = link->peer_incarnation;
    /* Another start than the one we know: our streams do not apply to it. */
    bool other = link->established && to != link->peer_incarnation;
    skn_fragment_header_t header =
        skn_link_header(link, SKN_FRAGMENT_HELLO, to);
    header.stamp = skn_link_stamp(link);
    if (!other)
        skn_link_add_acks(link, &header);
    skn_hello_t hello = {
        .config_hash = link->options.config_hash,
        .schemas_hash = link->options.schemas_hash,
        .data_hash = link->options.data_hash,
        .purpose = link->options.purpose,
        .wants_answer = link->hello_wants || !link->established || other,
    };
    skn_hello_write(&hello, link->body);
    link->hello_due = link->hello_wants = false;
    link->hello_to = 0;
    skn_link_leave(link, &header, (skn_frame_t){ link->body, SKN_HELLO_BYTES },
                   fragment);
}

void
skn_link_say_refusal(skn_link_t *link, skn_fragment_t *fragment)
{
    skn_fragment_header_t header =
        skn_link_header(link, SKN_FRAGMENT_REFUSE, link->refusal_to);
    skn_refusal_write(link->refusal, link->body);
    link->refusal_due = false;
    skn_link_leave(link, &header,
                   (skn_frame_t){ link->body, SKN_REFUSAL_BYTES }, fragment);
}

/* --- receiving ----------------------------------------------------------- */

static const char *
purpose_text(uint64_t purpose)
{
    switch (purpose) {
#define P(name, number, text)                                                  \
    case number:                                                               \
        return text;
        SKN_LINK_PURPOSES(P)
#undef P
    default:
        return "uses features that this version does not have";
    }
}

/* One node resumes a run, and the other begins one or predicts: then their
 * plans differ, and with them all that is compared next. */
static void
die_of_purpose(skn_link_t *link, uint64_t other)
{
    uint64_t own = link->options.purpose;
    bool is_prediction = other == SKN_LINK_PREDICT || own == SKN_LINK_PREDICT;
    skn_error_t error = { 0 };
    (void)skn_fail(&error, SKN_BAD_CONFIG, "node '%s' %s, this one %s",
                   link->peer_name, purpose_text(other), purpose_text(own));
    (void)skn_fail_hint(&error, SKN_BAD_CONFIG,
                        "stop all nodes, then start all with %s, or all "
                        "without",
                        is_prediction ? "--predict" : "--resume");
    skn_link_die_of(link, SKN_REFUSAL_PURPOSE, &error);
}

/* Takes a hello of a start that receives from us: compares configs, schemas and
 * data. */
static void
establish(skn_link_t *link, const skn_fragment_header_t *header,
          const skn_hello_t *hello)
{
    const skn_link_options_t *own = &link->options;
    link->refusal_to = header->incarnation;
    if (hello->purpose != own->purpose) {
        die_of_purpose(link, hello->purpose);
    } else if (hello->schemas_hash != own->schemas_hash) {
        die(link, SKN_REFUSAL_SCHEMAS);
    } else if (hello->config_hash != own->config_hash) {
        die(link, SKN_REFUSAL_CONFIG);
    } else if (hello->data_hash != own->data_hash) {
        die(link, SKN_REFUSAL_DATA);
    } else {
        link->established = true;
        link->peer_incarnation = header->incarnation;
        link->state = SKN_LINK_LIVE;
        link->heard_ns = link->pulse_at_ns = link->now_ns;
    }
}

/* Takes a hello from another run. */
static skn_status_t
take_foreign(skn_link_t *link, const skn_fragment_header_t *header,
             skn_link_reason_t *reason, skn_error_t *error)
{
    if (link->state == SKN_LINK_NEW &&
        header->peer == link->options.incarnation) {
        link->refusal_to = header->incarnation;
        die(link, SKN_REFUSAL_RUN);
    } else {
        skn_link_want_hello(link, header->incarnation, false);
    }
    *reason = SKN_LINK_REASON_RUN;
    return skn_fail(error, SKN_BAD_MESSAGE, "node '%s': a hello of another run",
                    link->peer_name);
}

/* Takes a hello that echoes our incarnation. */
static skn_status_t
take_echo(skn_link_t *link, const skn_fragment_header_t *header,
          const skn_hello_t *hello, skn_link_reason_t *reason,
          skn_error_t *error)
{
    bool known = link->established;
    *reason = SKN_LINK_REASON_INCARNATION;
    if (known && header->incarnation != link->peer_incarnation) {
        if (skn_link_is_open(link))
            die(link, SKN_REFUSAL_RESTARTED);
        link->refusal = SKN_REFUSAL_RESTARTED; /* it need not know of DONE */
        link->refusal_to = header->incarnation;
        link->refusal_due = true;
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "node '%s': a hello from an earlier start of that node",
                        link->peer_name);
    }
    *reason = SKN_LINK_REASON_ACK;
    if (header->ack > link->sending.sent || header->held > link->sending.sent)
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "node '%s': an acknowledgement of bytes that were "
                        "never sent",
                        link->peer_name);
    if (!link->has_run ||
        !skn_link_run_is_known(header->run)) { /* one of us has no run yet */
        bool adopts = !link->has_run && skn_link_run_is_known(header->run) &&
                      header->node == 0;
        if (!adopts) {
            skn_link_want_hello(link, header->incarnation, false);
            return SKN_OK;
        }
        memcpy(link->options.run, header->run, SKN_LINK_RUN_BYTES);
        link->has_run = true;
    }
    if (!known)
        establish(link, header, hello);
    if (link->state == SKN_LINK_DEAD)
        return SKN_OK; /* its failure is more specific */
    (void)skn_link_take_acks(link, header);
    if (hello->wants_answer)
        skn_link_want_hello(link, header->incarnation, false);
    return SKN_OK;
}

skn_status_t
skn_link_take_hello(skn_link_t *link, const skn_fragment_header_t *header,
                    const uint8_t *body, skn_link_reason_t *reason,
                    skn_error_t *error)
{
    skn_hello_t hello;
    skn_hello_read(body, &hello);
    /* It may still end the last part, or have begun the next one: it is the
     * node that we wait for when it comes to ours. */
    if (skn_link_run_is_other_part(header->run, link->options.run)) {
        *reason = SKN_LINK_REASON_RUN;
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "node '%s': a hello of another part of the run",
                        link->peer_name);
    }
    if (skn_link_run_is_known(header->run) && link->has_run &&
        memcmp(header->run, link->options.run, SKN_LINK_RUN_BYTES) != 0)
        return take_foreign(link, header, reason, error);
    if (header->peer == link->options.incarnation)
        return take_echo(link, header, &hello, reason, error);
    if (header->peer != 0) {
        *reason = SKN_LINK_REASON_INCARNATION;
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "node '%s': a hello for another start of this node",
                        link->peer_name);
    }
    skn_link_want_hello(link, header->incarnation, false);
    return SKN_OK;
}

skn_status_t
skn_link_take_refusal(skn_link_t *link, const skn_fragment_header_t *header,
                      uint64_t code, skn_link_reason_t *reason,
                      skn_error_t *error)
{
    bool meant =
        header->peer == link->options.incarnation &&
        (!link->established || header->incarnation == link->peer_incarnation ||
         code == SKN_REFUSAL_RESTARTED);
    if (!meant || link->state == SKN_LINK_DONE) {
        *reason = SKN_LINK_REASON_INCARNATION;
        return skn_fail(error, SKN_BAD_MESSAGE,
                        "node '%s': a refusal for another start of this node",
                        link->peer_name);
    }
    refusal_t why = refusal_of(code);
    skn_error_t failure = { 0 };
    (void)skn_fail(&failure, why.status, "node '%s' refused the link: %s",
                   link->peer_name, why.remote);
    (void)skn_fail_hint(&failure, why.status, "%s", why.hint);
    skn_link_die_of(link, SKN_REFUSAL_GAVE_UP, &failure);
    link->refusal_due = false; /* it knows already */
    return SKN_OK;
}

void
skn_link_take_other_version(skn_link_t *link,
                            const skn_fragment_header_t *header)
{
    if (header->node != link->options.peer || link->state != SKN_LINK_NEW)
        return;
    if (header->peer == link->options.incarnation) {
        link->refusal_to = header->incarnation;
        die(link, SKN_REFUSAL_VERSION);
    } else if (header->peer == 0) {
        skn_link_want_hello(link, header->incarnation, false);
    }
}

void
skn_link_take_dead(skn_link_t *link, const skn_fragment_header_t *header)
{
    bool meant = header->peer == link->options.incarnation || header->peer == 0;
    if (header->type == SKN_FRAGMENT_REFUSE || !meant)
        return;
    if (link->established && header->incarnation != link->peer_incarnation)
        link->refusal = SKN_REFUSAL_RESTARTED;
    link->refusal_to = header->incarnation;
    link->refusal_due = true;
}
