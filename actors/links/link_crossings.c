/* link_crossings.c - turns parcels into records and back, by their edge.
 *
 * A peer with a key may still be wrong: every value of a record is checked
 * against the crossings before it is used.
 * SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "actors/links/links_internal.h"
#include "kernels/draws.h"
#include "transport/message/field.h"

/* The largest message that a peer may make us hold. Our largest is a batch's
 * activations: 2^16 samples of 2^11 units. */
#define MESSAGE_BYTES_MAX ((size_t)512 << 20)

/* --- sending ------------------------------------------------------------- */

uint64_t
skn_links_seed(const skn_wiring_t *wiring)
{
    for (uint32_t a = 0; a < wiring->actor_count; a++) {
        const skn_option_t *options = wiring->actors[a].kind->options;
        for (size_t k = 0; options && options[k].name; k++)
            if (strcmp(options[k].name, "seed") == 0 &&
                options[k].type == SKN_OPTION_INT)
                return (uint64_t)wiring->actors[a].values[k].number;
    }
    return 0;
}

uint64_t
skn_links_coding_key(uint64_t seed, uint32_t edge, uint64_t number)
{
    return skn_draw_key(seed, SKN_DRAW_CODING, edge) ^ number;
}

/* The random bits of a lossy coding depend on the batch, if the message has
 * one, so that a resumed run rounds like one that was never stopped. */
static uint64_t
coding_key(const skn_links_t *links, const skn_export_t *gate,
           const void *message)
{
    const skn_schema_t *schema = gate->pipe->schema;
    const skn_field_t *batch = skn_field_named(schema, "batch");
    bool known = batch && batch->kind == SKN_FIELD_u64;
    uint64_t number = known ? skn_field_number(batch, message) : gate->sent;
    return skn_links_coding_key(links->seed, gate->edge, number);
}

static skn_status_t
send_message(skn_links_t *links, skn_export_t *gate, const void *message,
             skn_error_t *error)
{
    const skn_schema_t *schema = gate->pipe->schema;
    skn_link_peer_t *peer = &links->peers[gate->node];
    skn_record_t record = { SKN_RECORD_MESSAGE, gate->edge, gate->sent };
    assert(gate->sent - gate->paid < gate->pipe->credit);
    assert(skn_payload_of(message)->schema->id == schema->id);
    skn_coding_t coding = (skn_coding_t)gate->pipe->coding;
    uint64_t key = coding_key(links, gate, message);
    const void *measured = message;
    skn_wire_t wire = { .frame_count = 0 };
    skn_status_t status = SKN_OK;
    if (links->watch)
        status =
            links->builtin->watch_sent(links->watch, schema, message, coding,
                                       key, links->coder, &measured, error);
    if (status == SKN_OK)
        status = skn_coding_encode(schema, measured, coding, key, links->coder,
                                   &wire, error);
    if (status == SKN_OK)
        status = skn_links_send(peer, &record, &wire, error);
    for (size_t k = 0; k < wire.frame_count && status == SKN_OK; k++)
        gate->bytes += wire.frame[k].bytes;
    gate->sent++;
    skn_message_drop(message);
    return status;
}

static skn_status_t
send_end(skn_links_t *links, skn_export_t *gate, skn_error_t *error)
{
    skn_record_t record = { SKN_RECORD_END, gate->edge, gate->sent };
    return skn_links_send(&links->peers[gate->node], &record, NULL, error);
}

/* Takes the credit of a receiver; the sender gets what the slowest receiver of
 * the node has returned. */
static void
note_credit(skn_links_t *links, const skn_parcel_t *parcel)
{
    assert(parcel->slot < links->crossings->landing_count);
    skn_landing_t *landing = &links->crossings->landings[parcel->slot];
    skn_import_t *import = &links->crossings->imports[landing->import];
    landing->returned += parcel->number;
    assert(landing->returned <= import->taken);
    if (!import->owes) {
        import->owes = true;
        assert(links->owing_count < links->crossings->import_count);
        links->owing[links->owing_count++] = landing->import;
    }
}

skn_status_t
skn_links_give_credit(skn_links_t *links, skn_error_t *error)
{
    skn_crossings_t *crossings = links->crossings;
    skn_status_t status = SKN_OK;
    for (uint32_t k = 0; k < links->owing_count; k++) {
        skn_import_t *import = &crossings->imports[links->owing[k]];
        uint64_t least = UINT64_MAX;
        for (uint32_t at = import->first_landing; at != SKN_CROSSING_NONE;
             at = crossings->landings[at].next)
            if (crossings->landings[at].returned < least)
                least = crossings->landings[at].returned;
        assert(import->owes && least >= import->granted);
        import->owes = false;
        if (least == import->granted || import->ended || links->finishing)
            continue;
        skn_record_t record = { SKN_RECORD_CREDIT, import->edge,
                                least - import->granted };
        import->granted = least;
        if (status == SKN_OK)
            status = skn_links_send(&links->peers[import->node], &record, NULL,
                                    error);
    }
    links->owing_count = 0;
    return status;
}

skn_status_t
skn_links_take_parcel(skn_links_t *links, const skn_parcel_t *parcel,
                      skn_error_t *error)
{
    assert((parcel->type != SKN_PARCEL_MESSAGE &&
            parcel->type != SKN_PARCEL_END) ||
           parcel->slot < links->crossings->export_count);
    switch (parcel->type) {
    case SKN_PARCEL_MESSAGE:
        return send_message(links, &links->crossings->exports[parcel->slot],
                            parcel->pointer, error);
    case SKN_PARCEL_END:
        return send_end(links, &links->crossings->exports[parcel->slot], error);
    case SKN_PARCEL_CLOCK:
        return skn_links_ask_clock(links, parcel, error);
    default:
        assert(parcel->type == SKN_PARCEL_CREDIT);
        note_credit(links, parcel);
        return SKN_OK;
    }
}

/* --- receiving ----------------------------------------------------------- */

/* Counts an error that ends the run, by its reason; returns `status`. */
static skn_status_t
counted(skn_link_peer_t *peer, skn_record_reason_t reason, skn_status_t status)
{
    if (status == SKN_BAD_MESSAGE || status == SKN_DIVERGED)
        peer->records_refused[reason]++;
    return status;
}

/* The crossing of the edge that a peer names, if the edge is between us;
 * `of_import`: one on which the peer sends. If not, the peer has broken the
 * protocol: SKN_CROSSING_NONE and a filled `error`. */
static uint32_t
crossing_of(const skn_links_t *links, skn_link_peer_t *peer, uint32_t edge,
            bool of_import, skn_error_t *error)
{
    const skn_crossings_t *crossings = links->crossings;
    uint32_t crossing = edge < crossings->edge_count
                            ? crossings->crossing_of_edge[edge]
                            : SKN_CROSSING_NONE;
    bool is_known =
        crossing != SKN_CROSSING_NONE &&
        (of_import ? crossing < crossings->import_count &&
                         crossings->imports[crossing].edge == edge &&
                         crossings->imports[crossing].node == peer->number
                   : crossing < crossings->export_count &&
                         crossings->exports[crossing].edge == edge &&
                         crossings->exports[crossing].node == peer->number);
    if (is_known)
        return crossing;
    peer->records_refused[SKN_RECORD_REASON_EDGE]++;
    skn_fail(error, SKN_BAD_MESSAGE,
             "node '%s' sent a record for edge %" PRIu32 ", which it does not "
             "own",
             peer->node->name, edge);
    return SKN_CROSSING_NONE;
}

static skn_status_t
land(skn_links_t *links, const skn_import_t *import, skn_parcel_type_t type,
     const void *message, uint64_t number, skn_error_t *error)
{
    skn_status_t status = SKN_OK;
    assert(import->landing_count > 0);
    if (message)
        skn_payload_keep_many(message, import->landing_count - 1);
    for (uint32_t at = import->first_landing; at != SKN_CROSSING_NONE;) {
        const skn_landing_t *landing = &links->crossings->landings[at];
        skn_parcel_t parcel = { .type = type,
                                .slot = landing->slot,
                                .number = number,
                                .pointer = (void *)(uintptr_t)message };
        if (status == SKN_OK)
            status = skn_outlet_put(landing->inbox, &parcel, error);
        else
            skn_message_drop(message);
        at = landing->next;
    }
    return status;
}

/* Lets libskein check the message's numbers, and drops it if they are bad. */
static skn_status_t
look_at_values(skn_links_t *links, skn_link_peer_t *peer, skn_import_t *import,
               void *message, skn_error_t *error)
{
    skn_error_t cause;
    skn_link_finding_t finding = SKN_LINK_GOOD;
    skn_error_clear(&cause);
    if (links->watch)
        finding = links->builtin->watch_received(
            links->watch, (uint32_t)(import - links->crossings->imports),
            import->pipe->schema, message, &cause);
    if (finding == SKN_LINK_GOOD)
        return SKN_OK;
    skn_message_drop(message);
    (void)counted(peer,
                  finding == SKN_LINK_NOT_FINITE ? SKN_RECORD_REASON_NOT_FINITE
                                                 : SKN_RECORD_REASON_EXPLODED,
                  cause.status);
    (void)skn_fail(error, cause.status, "node '%s' sent %.400s",
                   peer->node->name, cause.text);
    return skn_fail_hint(error, cause.status, "%s", cause.hint);
}

static skn_status_t
take_message(skn_links_t *links, skn_link_peer_t *peer,
             const skn_record_t *record, const skn_wire_t *wire,
             skn_error_t *error)
{
    void *message = NULL;
    uint32_t crossing = crossing_of(links, peer, record->edge, true, error);
    if (crossing == SKN_CROSSING_NONE)
        return SKN_BAD_MESSAGE;
    skn_import_t *import = &links->crossings->imports[crossing];
    const skn_schema_t *schema = import->pipe->schema;
    if (import->ended || record->number != import->taken ||
        import->taken - import->granted >= import->pipe->credit)
        return counted(peer, SKN_RECORD_REASON_ORDER,
                       skn_fail(error, SKN_BAD_MESSAGE,
                                "node '%s' sent %s number %" PRIu64 " of edge "
                                "%" PRIu32 " without credit or out of order",
                                peer->node->name, schema->name, record->number,
                                record->edge));
    skn_error_t cause;
    skn_error_clear(&cause);
    if (skn_coding_decode(schema, wire->frame, wire->frame_count,
                          MESSAGE_BYTES_MAX, links->coder, links->pool,
                          &message, &cause) != SKN_OK)
        return counted(peer, SKN_RECORD_REASON_FORM,
                       skn_fail(error, cause.status, "node '%s': %.400s",
                                peer->node->name, cause.text));
    skn_status_t status = look_at_values(links, peer, import, message, error);
    if (status != SKN_OK)
        return status;
    uint64_t number = import->taken;
    SKN_COUNT(import->taken, 1);
    return land(links, import, SKN_PARCEL_MESSAGE, message, number, error);
}

static skn_status_t
take_end(skn_links_t *links, skn_link_peer_t *peer, const skn_record_t *record,
         skn_error_t *error)
{
    uint32_t crossing = crossing_of(links, peer, record->edge, true, error);
    if (crossing == SKN_CROSSING_NONE)
        return SKN_BAD_MESSAGE;
    skn_import_t *import = &links->crossings->imports[crossing];
    if (import->ended || record->number != import->taken)
        return counted(peer, SKN_RECORD_REASON_ORDER,
                       skn_fail(error, SKN_BAD_MESSAGE,
                                "node '%s' ended edge %" PRIu32
                                " after %" PRIu64 " messages, but %" PRIu64
                                " arrived",
                                peer->node->name, record->edge, record->number,
                                import->taken));
    import->ended = true;
    return land(links, import, SKN_PARCEL_END, NULL, 0, error);
}

static skn_status_t
take_credit(skn_links_t *links, skn_link_peer_t *peer,
            const skn_record_t *record, skn_error_t *error)
{
    uint32_t crossing = crossing_of(links, peer, record->edge, false, error);
    if (crossing == SKN_CROSSING_NONE)
        return SKN_BAD_MESSAGE;
    skn_export_t *gate = &links->crossings->exports[crossing];
    if (record->number == 0 || record->number > gate->sent - gate->paid)
        return counted(peer, SKN_RECORD_REASON_CREDIT,
                       skn_fail(error, SKN_BAD_MESSAGE,
                                "node '%s' gave credit for %" PRIu64 " "
                                "messages of edge %" PRIu32 ", but %" PRIu64
                                " are outstanding",
                                peer->node->name, record->number, record->edge,
                                gate->sent - gate->paid));
    gate->paid += record->number;
    skn_parcel_t parcel = { .type = SKN_PARCEL_CREDIT,
                            .slot = gate->slot,
                            .number = record->number };
    return skn_outlet_put(gate->back, &parcel, error);
}

/* Makes another node's failure ours, with the same text. */
static skn_status_t
take_fail(const skn_links_t *links, const skn_link_peer_t *peer,
          const skn_record_t *record, const skn_wire_t *wire,
          skn_error_t *error)
{
    skn_status_t status =
        record->number > SKN_OK && record->number < SKN_STATUS_COUNT
            ? (skn_status_t)record->number
            : SKN_UNAVAILABLE;
    char text[400];
    size_t bytes = wire->frame[0].bytes;
    if (bytes >= sizeof(text))
        bytes = sizeof(text) - 1;
    memcpy(text, wire->frame[0].at, bytes);
    text[bytes] = '\0';
    for (size_t k = 0; k < bytes; k++) /* it reaches terminals and JSON */
        if (text[k] < ' ' || text[k] > '~')
            text[k] = '?';
    status = skn_fail(error, status, "node '%s': %s", peer->node->name, text);
    return skn_fail_hint(error, status,
                         links->ready_all
                             ? "fix the cause, then continue with --resume"
                             : "fix the cause, then start all nodes again");
}

skn_status_t
skn_links_take_record(skn_links_t *links, skn_link_peer_t *peer,
                      skn_frame_t bytes, skn_error_t *error)
{
    skn_record_t record;
    skn_wire_t wire;
    skn_error_t cause;
    skn_error_clear(&cause);
    if (skn_record_read(bytes, &record, &wire, &cause) != SKN_OK)
        return counted(peer, SKN_RECORD_REASON_FORM,
                       skn_fail(error, cause.status, "node '%s': %.400s",
                                peer->node->name, cause.text));
    switch (record.kind) {
    case SKN_RECORD_MESSAGE:
        return take_message(links, peer, &record, &wire, error);
    case SKN_RECORD_CREDIT:
        return take_credit(links, peer, &record, error);
    case SKN_RECORD_END:
        return take_end(links, peer, &record, error);
    case SKN_RECORD_READY:
        peer->is_ready = true;
        return SKN_OK;
    case SKN_RECORD_ENDED:
        peer->has_ended = true;
        return SKN_OK;
    case SKN_RECORD_STOP:
        skn_links_report(links, SKN_PARCEL_STOP, NULL);
        return SKN_OK;
    case SKN_RECORD_ASK:
        return skn_links_tell_usage(links, peer, record.number, error);
    case SKN_RECORD_USAGE:
        return skn_links_take_usage(links, peer, record.number, wire.frame[0],
                                    error);
    default:
        assert(record.kind == SKN_RECORD_FAIL);
        links->failed_elsewhere = true;
        return take_fail(links, peer, &record, &wire, error);
    }
}
