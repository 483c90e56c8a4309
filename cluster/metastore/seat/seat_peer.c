/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/metastore/seat/seat_peer.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"

struct answer {
    struct hub_list link;
    uint8_t type;
    size_t size, sent;
    uint8_t data[];
};

void cluster_seat_peer_wake(struct cluster_seat_peer *peer)
{
    if (hub_list_empty(&peer->busy))
        hub_list_append(&peer->server->busy, &peer->busy);
}

int cluster_seat_peer_broke(struct cluster_seat_peer *peer, enum cluster_seat_server_rule rule,
                            int failure)
{
    peer->server->broken[rule]++;
    peer->broken = true;
    cluster_seat_peer_wake(peer);
    return failure;
}

void cluster_seat_peer_hang_up(struct cluster_seat_peer *peer)
{
    if (peer->broken)
        return;
    peer->broken = true;
    cluster_seat_peer_wake(peer);
    peer->way->hang_up(peer->user);
}

/* ---- answers ---- */

static struct answer *make(uint8_t type, size_t size)
{
    struct answer *answer = malloc(sizeof *answer + size);

    if (answer)
        *answer = (struct answer){.type = type, .size = size};
    return answer;
}

static void add(struct cluster_seat_peer *peer, struct answer *answer)
{
    if (hub_list_empty(&peer->out))
        peer->moved_ns = 0;
    peer->out_bytes += answer->size;
    hub_list_append(&peer->out, &answer->link);
    cluster_seat_peer_wake(peer);
}

void cluster_seat_peer_reply(struct cluster_seat_peer *peer, const struct cluster_seat_reply *reply)
{
    struct answer *answer = NULL;
    struct hub_writer writer;

    hub_writer_count(&writer);
    if (cluster_seat_message_put_reply(&writer, reply) == 0)
        answer = make(CLUSTER_FRAME_STORE_REPLY, writer.size);
    if (!answer) {
        cluster_seat_peer_hang_up(peer);
        return;
    }
    hub_writer_init(&writer, answer->data, answer->size);
    (void)cluster_seat_message_put_reply(&writer, reply);
    add(peer, answer);
}

void cluster_seat_peer_event(struct cluster_seat_peer *peer, const struct cluster_seat_event *event)
{
    struct answer *answer = NULL;
    struct hub_writer writer;

    hub_writer_count(&writer);
    if (cluster_seat_message_put_event(&writer, event) == 0)
        answer = make(CLUSTER_FRAME_STORE_EVENT, writer.size);
    if (!answer) {
        cluster_seat_peer_hang_up(peer);
        return;
    }
    hub_writer_init(&writer, answer->data, answer->size);
    (void)cluster_seat_message_put_event(&writer, event);
    add(peer, answer);
}

static void done(struct cluster_seat_peer *peer, struct answer *answer)
{
    hub_list_remove(&answer->link);
    peer->out_bytes -= answer->size;
    free(answer);
}

/* Returns whether the link took anything. */
static bool send_out(struct cluster_seat_peer *peer)
{
    bool moved = false;
    int r = 0;

    while (r == 0 && !hub_list_empty(&peer->out)) {
        struct answer *answer = HUB_LIST_ITEM(peer->out.next, struct answer, link);
        const struct rapahub_bytes message = {answer->data, answer->size};
        size_t before = answer->sent;

        r = cluster_seat_pieces_send(peer->way, peer->user, answer->type, message, &answer->sent);
        moved |= answer->sent > before;
        if (r == 0)
            done(peer, answer);
    }
    if (r < 0)
        cluster_seat_peer_hang_up(peer);
    return moved;
}

/* r[impl cluster.store.seat.room] */
uint64_t cluster_seat_peer_send(struct cluster_seat_peer *peer, uint64_t now_ns)
{
    if (send_out(peer) || peer->moved_ns == 0)
        peer->moved_ns = now_ns;
    if (hub_list_empty(&peer->out) || peer->broken)
        return HUB_NEVER;
    if (now_ns - peer->moved_ns < CLUSTER_SEAT_SERVER_STALL_NS)
        return peer->moved_ns + CLUSTER_SEAT_SERVER_STALL_NS;
    peer->server->broken[CLUSTER_SEAT_SERVER_STALL]++;
    cluster_seat_peer_hang_up(peer);
    return HUB_NEVER;
}

void cluster_seat_peer_drop(struct cluster_seat_peer *peer)
{
    while (!hub_list_empty(&peer->out))
        done(peer, HUB_LIST_ITEM(peer->out.next, struct answer, link));
}
