/* authenticator.c - admits connections by key: those of our peers, no others.
 *
 * Why not CZMQ's zauth: docs/decisions/0031-czmq-pipelines.md.
 * Source: ZeroMQ RFC 27, the request and reply frames in their order.
 * SPDX-License-Identifier: Apache-2.0 */
#include "transport/socket/authenticator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "formats/text/system_error.h"
#include "transport/socket/socket.h"

#define ZAP_ADDRESS "inproc://zeromq.zap.01"
#define ZAP_VERSION "1.0"

/* Frames of a request, in their order. A CURVE request has one credential. */
enum {
    VERSION,
    REQUEST_ID,
    DOMAIN,
    ASKED_ADDRESS,
    ROUTING_ID,
    MECHANISM,
    ASKED_KEY,
    FRAMES
};

#define FRAME_BYTES_MAX 256
#define KEY_BYTES 32

typedef struct request {
    size_t bytes[FRAMES];
    unsigned char frame[FRAMES][FRAME_BYTES_MAX];
    size_t frame_count;
    bool too_long;
} request_t;

struct skn_authenticator {
    void *socket;
    bool keyed;
    size_t count;
    skn_admitted_t admitted[];
};

skn_authenticator_t *
skn_authenticator_new(bool keyed, const skn_admitted_t *admitted, size_t count,
                      skn_error_t *error)
{
    skn_authenticator_t *authenticator =
        calloc(1, sizeof(*authenticator) + count * sizeof(*admitted));
    if (!authenticator) {
        (void)skn_fail(error, SKN_NO_MEMORY, "no memory for %zu keys", count);
        return NULL;
    }
    if (count > 0)
        (void)memcpy(authenticator->admitted, admitted,
                     count * sizeof(*admitted));
    authenticator->count = count;
    authenticator->keyed = keyed;
    return authenticator;
}

skn_status_t
skn_authenticator_start(skn_authenticator_t *authenticator, void *context,
                        skn_error_t *error)
{
    int none = 0;
    authenticator->socket = zmq_socket(context, ZMQ_REP);
    if (authenticator->socket &&
        zmq_setsockopt(authenticator->socket, ZMQ_LINGER, &none,
                       sizeof(none)) == 0 &&
        skn_socket_bind(authenticator->socket, ZAP_ADDRESS))
        return SKN_OK;
    return skn_fail_code(error, SKN_UNAVAILABLE, errno, NULL,
                         "the authenticator cannot start");
}

void
skn_authenticator_destroy(skn_authenticator_t **authenticator)
{
    if (*authenticator && (*authenticator)->socket)
        (void)zmq_close((*authenticator)->socket);
    free(*authenticator);
    *authenticator = NULL;
}

void *
skn_authenticator_socket(const skn_authenticator_t *authenticator)
{
    return authenticator->socket;
}

/* --- one request --------------------------------------------------------- */

/* libzmq itself sends the requests, so that one that is not as in RFC 27 is
 * refused and not reported. */
static bool
receive(void *socket, request_t *request)
{
    unsigned char rest[FRAME_BYTES_MAX];
    int more = 1;
    memset(request, 0, sizeof(*request));
    for (size_t k = 0; more; k++) {
        unsigned char *frame = k < FRAMES ? request->frame[k] : rest;
        int bytes = skn_socket_take(socket, frame, FRAME_BYTES_MAX);
        if (bytes < 0)
            return false;
        if (bytes > FRAME_BYTES_MAX || k >= FRAMES)
            request->too_long = true;
        else
            request->bytes[k] = (size_t)bytes;
        request->frame_count = k + 1;
        if (!skn_socket_get(socket, ZMQ_RCVMORE, &more, sizeof(more)))
            return false;
    }
    return true;
}

static bool
frame_is(const request_t *request, size_t k, const char *text)
{
    return request->bytes[k] == strlen(text) &&
           memcmp(request->frame[k], text, request->bytes[k]) == 0;
}

static const skn_admitted_t *
find_key(const skn_authenticator_t *authenticator, const char *public_key)
{
    for (size_t k = 0; k < authenticator->count; k++)
        if (strcmp(authenticator->admitted[k].public_key, public_key) == 0)
            return &authenticator->admitted[k];
    return NULL;
}

static bool
on_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 ||
           strncmp(address, "::ffff:127.", 11) == 0;
}

/* Whether to admit it, and as which peer (NULL: unknown). */
static bool
judge(const skn_authenticator_t *authenticator, const request_t *request,
      const skn_admitted_t **admitted, skn_refused_t *refused)
{
    *admitted = NULL;
    memset(refused, 0, sizeof(*refused));
    (void)snprintf(refused->address, sizeof(refused->address), "%.*s",
                   (int)request->bytes[ASKED_ADDRESS],
                   (const char *)request->frame[ASKED_ADDRESS]);
    if (request->too_long || !frame_is(request, VERSION, ZAP_VERSION) ||
        !frame_is(request, DOMAIN, SKN_ZAP_DOMAIN))
        return false;
    if (!authenticator->keyed)
        return request->frame_count == ASKED_KEY &&
               frame_is(request, MECHANISM, "NULL") &&
               on_loopback(refused->address);
    if (request->frame_count != FRAMES ||
        !frame_is(request, MECHANISM, "CURVE") ||
        request->bytes[ASKED_KEY] != KEY_BYTES ||
        !zmq_z85_encode(refused->public_key, request->frame[ASKED_KEY],
                        KEY_BYTES))
        return false;
    *admitted = find_key(authenticator, refused->public_key);
    return *admitted != NULL;
}

static void
reply(void *socket, const request_t *request, bool good,
      const skn_admitted_t *admitted, uint64_t ends)
{
    char user[48] = "";
    if (good)
        (void)snprintf(user, sizeof(user), "%u.%llu",
                       admitted ? admitted->peer : 0, (unsigned long long)ends);
    const char *code = good ? "200" : "400";
    const char *text = good ? "OK" : "not a peer";
    (void)zmq_send(socket, ZAP_VERSION, strlen(ZAP_VERSION), ZMQ_SNDMORE);
    (void)zmq_send(socket, request->frame[REQUEST_ID],
                   request->bytes[REQUEST_ID], ZMQ_SNDMORE);
    (void)zmq_send(socket, code, strlen(code), ZMQ_SNDMORE);
    (void)zmq_send(socket, text, strlen(text), ZMQ_SNDMORE);
    (void)zmq_send(socket, user, strlen(user), ZMQ_SNDMORE);
    (void)zmq_send(socket, "", 0, 0);
}

bool
skn_authenticator_answer(skn_authenticator_t *authenticator, uint64_t ends,
                         skn_refused_t *refused)
{
    request_t request;
    const skn_admitted_t *admitted;
    if (!receive(authenticator->socket, &request))
        return false;
    bool good = judge(authenticator, &request, &admitted, refused);
    reply(authenticator->socket, &request, good, admitted, ends);
    return !good;
}

bool
skn_authenticator_read(const char *user, uint32_t *peer, uint64_t *ends)
{
    char *end;
    unsigned long number = user ? strtoul(user, &end, 10) : 0;
    if (!user || end == user || *end != '.')
        return false;
    *peer = (uint32_t)number;
    user = end + 1;
    *ends = strtoull(user, &end, 10);
    return end != user && !*end;
}
