/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/peers/peer_mesh.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/node/peers/peer_dial.h"

#define TOPIC "peers"
#define RULE  "cluster.nodes.gone"

void cluster_peer_mesh_begin(struct cluster_peer_links *links, uint32_t seat, bool dials)
{
    links->seat_node = seat;
    links->dials = dials;
}

bool cluster_peer_mesh_is_gone(const struct cluster_record_node *record)
{
    return !record || record->state == CLUSTER_NODE_LEFT;
}

/* ---- dialled ---- */

/* Both sides know the same of each other, so one of them dials.
 * r[impl cluster.nodes.mesh] */
static bool is_dialled(const struct cluster_peer_links *links, const struct cluster_peer_row *row)
{
    return links->dials && row->node != links->seat_node && !row->gone && row->session != 0 &&
           row->dial.to_count > 0 && (row->node < links->node || !links->reachable);
}

static void warn_mute(const struct cluster_peer_links *links, struct cluster_peer_row *row)
{
    if (row->mute || !links->dials || row->node == links->seat_node || row->session == 0 ||
        row->dial.to_count > 0 || links->reachable)
        return;
    row->mute = true;
    rapahub_log(RAPAHUB_LOG_WARN, TOPIC,
                "neither node %" PRIu32 " nor this one has an address, so calls between them wait: "
                "start one of them with --listen HOST:PORT",
                row->node);
}

static void decide(struct cluster_peer_links *links, struct cluster_peer_row *row)
{
    bool wanted = is_dialled(links, row);

    if (wanted && !row->dial.wanted)
        cluster_peer_dial_hurry(&row->dial);
    row->dial.wanted = wanted;
}

static void decide_all(struct cluster_peer_links *links)
{
    for (unsigned i = 0; i < CLUSTER_PEER_ROWS_MAX; i++)
        if (links->rows[i].node != 0)
            decide(links, &links->rows[i]);
}

/* ---- rows ---- */

static struct cluster_peer_row *row_of(struct cluster_peer_links *links, uint32_t node)
{
    struct cluster_peer_row *row = cluster_peer_link_row(links, node);

    if (!row)
        row = cluster_peer_link_row(links, 0);
    for (unsigned i = 0; !row && i < CLUSTER_PEER_ROWS_MAX; i++)
        if (links->rows[i].gone && !links->rows[i].dial.link)
            row = &links->rows[i];
    if (!row) {
        rapahub_fail(RAPAHUB_EFULL, "cluster.nodes.bounds",
                     "no link to node %" PRIu32 " is kept: there are %d other nodes already", node,
                     CLUSTER_PEER_ROWS_MAX);
    } else if (row->node != node) {
        *row = (struct cluster_peer_row){.node = node};
        row->dial.node = node;
    }
    return row;
}

static bool is_same(const struct cluster_host_port *one, const struct cluster_host_port *other)
{
    return one->port == other->port && strcmp(one->host, other->host) == 0;
}

/* An address that cannot be read is of a later release, or of a node that does as it likes. Names
 * are none: each look-up has a thread, and who writes its record again and again would make many.
 */
static bool read_address(struct rapahub_string from, struct cluster_host_port *out)
{
    struct cluster_host_port_address numbers;
    char text[CLUSTER_HOST_PORT_HOST + 16];
    bool sound = from.size < sizeof text;

    if (sound) {
        snprintf(text, sizeof text, "%.*s", (int)from.size, from.data);
        sound = text[0] != '*' && cluster_host_port_parse(text, out) == 0 &&
                cluster_host_port_in_numbers(out, &numbers);
    }
    rapahub_clear_error();
    return sound;
}

static void note_addresses(struct cluster_peer_dial *dial, struct cluster_list addresses)
{
    unsigned count = 0, same = 0;
    struct rapahub_string address;
    struct cluster_host_port to;

    while (count < CLUSTER_RECORD_ADDRESSES_MAX &&
           cluster_record_next_address(&addresses, &address)) {
        if (!read_address(address, &to))
            continue;
        same += count < dial->to_count && is_same(&dial->to[count], &to);
        dial->to[count++] = to;
    }
    if (same == count && count == dial->to_count)
        return;
    cluster_name_lookup_release(&dial->lookup);
    dial->to_count = count;
    dial->to_next = dial->tried = dial->found.count = 0;
    cluster_peer_dial_hurry(dial);
}

/* ---- links that end ---- */

/* Says why a link of a node ends; 0: it does not. A node that is fenced and begins anew has no
 * session yet. r[impl cluster.session.back] */
static int why_ends(const struct cluster_peer_link *link, const struct cluster_peer_row *row)
{
    if (row->gone)
        return rapahub_fail(RAPAHUB_ESTALE, RULE,
                            "node %" PRIu32 " is no node of the cluster any more", row->node);
    if (link->session == 0)
        return 0;
    if (link->session < row->session)
        return rapahub_fail(RAPAHUB_EACCES, RULE, "node %" PRIu32 " has begun another session",
                            row->node);
    return row->fenced && row->session == 0
               ? rapahub_fail(RAPAHUB_EFENCED, "cluster.session.back",
                              "the session of node %" PRIu32 " is over: the node is held for dead",
                              row->node)
               : 0;
}

static void refuse(struct cluster_peer_links *links, const struct cluster_peer_row *row)
{
    for (unsigned i = 0; i < CLUSTER_PEER_LINKS_MAX; i++) {
        struct cluster_peer_link *link = &links->all[i];
        int code;

        if (link->node != row->node || link->state == CLUSTER_PEER_LINK_FREE ||
            link->state == CLUSTER_PEER_LINK_DOOMED)
            continue;
        code = why_ends(link, row);
        if (code < 0)
            cluster_peer_link_refuse(link, code);
    }
}

/* r[impl cluster.nodes.gone] r[impl cluster.nodes.mesh] */
int cluster_peer_mesh_take(struct cluster_peer_links *links, uint32_t node, uint64_t session,
                           const struct cluster_record_node *record)
{
    struct cluster_peer_row *row;

    (void)eventfd_write(links->wake, 1);
    if (node == links->node) {
        links->reachable = record && record->addresses.count > 0;
        decide_all(links);
        return 0;
    }
    row = row_of(links, node);
    if (!row)
        return RAPAHUB_EFULL;
    if (session != row->session) {
        cluster_peer_dial_hurry(&row->dial);
        row->over = row->session > row->over ? row->session : row->over;
    }
    row->session = session;
    row->gone = cluster_peer_mesh_is_gone(record);
    row->fenced =
        record && (record->state == CLUSTER_NODE_FENCED || record->state == CLUSTER_NODE_DRAINING);
    note_addresses(&row->dial, row->gone ? (struct cluster_list){.count = 0} : record->addresses);
    refuse(links, row);
    decide(links, row);
    warn_mute(links, row);
    return 0;
}
