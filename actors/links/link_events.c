/* link_events.c - sends the events and figures of the link driver to the host.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/links/links_internal.h"
#include "formats/text/json_text.h"

static void
tell(skn_links_t *links, skn_json_text_t *text)
{
    char *line = text->failed ? NULL : strdup(text->bytes);
    if (line)
        skn_links_report(links, SKN_PARCEL_NOTICE, line);
    skn_json_text_fini(text);
}

void
skn_links_warn(skn_links_t *links, const char *message)
{
    skn_json_text_t text = { 0 };
    skn_json_text_add(&text, "{\"event\":\"warning\",\"node\":");
    skn_json_text_add_string(&text,
                             links->system->wiring->nodes[links->node].name);
    skn_json_text_add(&text, ",\"message\":");
    skn_json_text_add_string(&text, message);
    skn_json_text_add(&text, ",\"hint\":\"\"}");
    tell(links, &text);
}

void
skn_links_tell_joined(skn_links_t *links, skn_link_peer_t *peer)
{
    skn_json_text_t text = { 0 };
    peer->joined = true;
    skn_json_text_add(&text, "{\"event\":\"joined\",\"node\":");
    skn_json_text_add_string(&text, peer->node->name);
    skn_json_text_add(&text, ",\"at\":");
    skn_json_text_add_string(&text,
                             links->system->wiring->nodes[links->node].name);
    skn_json_text_add(&text, ",\"address\":");
    skn_json_text_add_string(&text, peer->node->address);
    if (!peer->node->address[0]) {
        skn_json_text_add(&text, ",\"via\":");
        skn_json_text_add_string(&text, peer->node->via);
    }
    skn_json_text_add(&text, "}");
    tell(links, &text);
}

/* Warns at once about unknown host names: a name server may still learn one,
 * but it may be a typing error. */
void
skn_links_tell_unknown(skn_links_t *links)
{
    char text[SKN_ADDRESS_BYTES + 2 * SKN_NAME_MAX];
    for (uint32_t k = 0; k < links->node_count; k++) {
        const skn_wired_node_t *node = links->peers[k].node;
        if (k == links->node || !skn_endpoint_is_unknown(links->endpoint, k))
            continue;
        (void)snprintf(text, sizeof(text),
                       "node '%.64s': the host name in %s cannot be resolved; "
                       "still trying",
                       node->name, node->address);
        skn_links_warn(links, text);
    }
}

/* Lists the nodes that are not ready: "b (tcp://10.0.0.2:7001), c (...)". */
void
skn_links_missing(const skn_links_t *links, char *text, size_t text_bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t k = 0; k < links->node_count && used < text_bytes; k++) {
        const skn_wired_node_t *node = links->peers[k].node;
        if (k == links->node || links->peers[k].is_ready)
            continue;
        bool dialled = node->address[0] != '\0';
        used += (size_t)snprintf(text + used, text_bytes - used,
                                 "%s%s (%s%s%s)", used ? ", " : "", node->name,
                                 dialled ? "" : "via ",
                                 dialled ? node->address : node->via,
                                 skn_endpoint_is_unknown(links->endpoint, k)
                                     ? ", whose host name cannot be resolved"
                                     : "");
    }
}

void
skn_links_tell_waiting(skn_links_t *links)
{
    char missing[400];
    skn_json_text_t text = { 0 };
    links->told_waiting_ns = links->now_ns;
    skn_links_missing(links, missing, sizeof(missing));
    skn_json_text_add(&text, "{\"event\":\"waiting\",\"node\":");
    skn_json_text_add_string(&text,
                             links->system->wiring->nodes[links->node].name);
    skn_json_text_add(&text, ",\"for\":");
    skn_json_text_add_string(&text, missing);
    skn_json_text_add(&text, "}");
    tell(links, &text);
}

void
skn_links_tell_silent(skn_links_t *links)
{
    skn_json_text_t text = { 0 };
    const char *comma = "";
    skn_json_text_add(&text, "{\"event\":\"silent\",\"node\":");
    skn_json_text_add_string(&text,
                             links->system->wiring->nodes[links->node].name);
    skn_json_text_add(&text, ",\"peers\":[");
    for (uint32_t k = 0; k < links->node_count; k++) {
        if (!links->peers[k].is_silent)
            continue;
        skn_json_text_add(&text, "%s", comma);
        skn_json_text_add_string(&text, links->peers[k].node->name);
        comma = ",";
    }
    skn_json_text_add(&text, "]}");
    tell(links, &text);
}

/* Adds the bytes that each type of message took to a peer. */
static void
add_messages(const skn_links_t *links, uint32_t node, skn_json_text_t *text)
{
    const skn_crossings_t *crossings = links->crossings;
    const char *comma = "";
    skn_json_text_add(text, ",\"messages\":{");
    for (uint32_t k = 0; k < crossings->export_count; k++) {
        const skn_schema_t *schema = crossings->exports[k].pipe->schema;
        uint64_t count = 0, bytes = 0;
        bool told = false;
        for (uint32_t other = 0; other < crossings->export_count; other++) {
            const skn_export_t *gate = &crossings->exports[other];
            if (gate->node != node || gate->pipe->schema != schema)
                continue;
            told = told || other < k;
            count += gate->sent;
            bytes += gate->bytes;
        }
        if (crossings->exports[k].node != node || told)
            continue;
        skn_json_text_add(
            text, "%s\"%s\":{\"count\":%" PRIu64 ",\"bytes\":%" PRIu64 "}",
            comma, schema->name, count, bytes);
        comma = ",";
    }
    skn_json_text_add(text, "}}");
}

/* Adds `"word":number`; zeroes are left out, because the tables are long. */
static void
add_count(skn_json_text_t *text, const char *word, uint64_t number)
{
    bool first = text->bytes && text->bytes[text->count - 1] == '{';
    if (number > 0)
        skn_json_text_add(text, "%s\"%s\":%" PRIu64, first ? "" : ",", word,
                          number);
}

/* Reports the bytes that this node has sent to all others so far. */
void
skn_links_tell_traffic(skn_links_t *links)
{
    uint64_t sent, received;
    skn_json_text_t text = { 0 };
    if (!links->system->options.tells_traffic)
        return;
    skn_links_bytes(links, &sent, &received);
    skn_json_text_add(&text,
                      "{\"event\":\"traffic\",\"bytes_sent\":%" PRIu64
                      ",\"bytes_received\":%" PRIu64 "}",
                      sent, received);
    tell(links, &text);
}

static void
tell_link(skn_links_t *links, const skn_link_peer_t *peer)
{
    skn_link_counts_t counts;
    skn_json_text_t text = { 0 };
    skn_link_count(peer->link, &counts);
    skn_json_text_add(&text, "{\"event\":\"link\",\"node\":");
    skn_json_text_add_string(&text,
                             links->system->wiring->nodes[links->node].name);
    skn_json_text_add(&text, ",\"peer\":");
    skn_json_text_add_string(&text, peer->node->name);
    skn_json_text_add(
        &text,
        ",\"bytes_sent\":%" PRIu64 ",\"bytes_received\":%" PRIu64
        ",\"records_sent\":%" PRIu64 ",\"records_received\":%" PRIu64
        ",\"fragments_sent\":%" PRIu64 ",\"fragments_received\":%" PRIu64
        ",\"resent\":%" PRIu64 ",\"duplicates\":%" PRIu64
        ",\"out_of_order\":%" PRIu64 ",\"connects\":%" PRIu64
        ",\"rtt_us\":%" PRIu64 ",\"bytes_per_second\":%" PRIu64
        ",\"refused\":{",
        counts.header_bytes_sent + counts.body_bytes_sent,
        counts.header_bytes_taken + counts.body_bytes_taken,
        counts.records_sent, counts.records_taken, counts.fragments_sent,
        counts.fragments_taken, counts.resent_fragments,
        counts.duplicate_fragments, counts.out_of_order_fragments,
        counts.connects, counts.rtt_min_ns / 1000u, counts.bytes_per_second);
    for (unsigned k = 0; k < SKN_LINK_REASON_COUNT; k++)
        add_count(&text, skn_link_reason_name((skn_link_reason_t)k),
                  counts.refused[k]);
    skn_json_text_add(&text, "},\"records_refused\":{");
#define R(name, word, help)                                                    \
    add_count(&text, word, peer->records_refused[SKN_RECORD_REASON_##name]);
    SKN_RECORD_REASONS(R)
#undef R
    skn_json_text_add(&text, "}");
    add_messages(links, peer->number, &text);
    tell(links, &text);
}

/* Reports the connections that the connection guard accepted and refused. */
static void
tell_door(skn_links_t *links)
{
    skn_endpoint_counts_t counts;
    skn_json_text_t text = { 0 };
    skn_endpoint_count(links->endpoint, &counts);
    skn_json_text_add(&text, "{\"event\":\"links\",\"node\":");
    skn_json_text_add_string(&text,
                             links->system->wiring->nodes[links->node].name);
    skn_json_text_add(&text, ",\"counts\":{");
#define C(word, help) add_count(&text, #word, counts.word);
    SKN_ENDPOINT_COUNTS(C)
#undef C
    add_count(&text, "nobodys", links->nobodys_fragments);
    if (links->tunnels) {
        skn_tunnel_counts_t tunnels;
        skn_tunnels_count(links->tunnels, &tunnels);
#define C(word, help) add_count(&text, "tunnel_" #word, tunnels.word);
        SKN_TUNNEL_COUNTS(C)
#undef C
    }
    skn_json_text_add(&text, "}}");
    tell(links, &text);
}

void
skn_links_add_figures(const skn_links_t *links, skn_figures_t *figures)
{
    figures->capped_ns = links->capped_ns;
    for (uint32_t k = 0; k < links->node_count; k++) {
        skn_link_counts_t counts;
        skn_link_figures_t *link = &figures->links[figures->link_count];
        if (k == links->node || !links->peers[k].link)
            continue;
        skn_link_count(links->peers[k].link, &counts);
        (void)snprintf(link->peer, sizeof(link->peer), "%s",
                       links->peers[k].node->name);
        link->bytes_sent = counts.header_bytes_sent + counts.body_bytes_sent;
        link->bytes_received =
            counts.header_bytes_taken + counts.body_bytes_taken;
        link->rtt_ns = counts.rtt_ns;
        link->rtt_min_ns = counts.rtt_min_ns;
        link->bytes_per_second = counts.bytes_per_second;
        figures->link_count++;
    }
}

/* Reports the counters of the links, for people who study a run. */
void
skn_links_tell_end(skn_links_t *links)
{
    for (uint32_t k = 0; k < links->node_count; k++)
        if (k != links->node)
            tell_link(links, &links->peers[k]);
    tell_door(links);
}
