/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/seat_wire.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/seat/seat_client.h"

#define ROOM ((size_t)256 << 10)

struct seat_wire_way seat_wire_way;

struct piece {
    struct hub_list link;
    uint64_t arrives;
    uint8_t type;
    size_t size;
    uint8_t data[];
};

static bool has_room(const void *user)
{
    const struct seat_wire_end *end = user;

    return end->bytes < end->room;
}

static struct piece *encode(uint8_t type, const struct cluster_body *body)
{
    struct hub_writer writer;
    struct piece *piece;

    hub_writer_count(&writer);
    if (cluster_body_put(&writer, type, body) != 0)
        abort();
    piece = malloc(sizeof *piece + writer.size);
    *piece = (struct piece){.type = type, .size = writer.size};
    hub_writer_init(&writer, piece->data, piece->size);
    if (cluster_body_put(&writer, type, body) != 0)
        abort();
    return piece;
}

/* The piece that is the last of its link gets lost, unless it is said to arrive. */
static int put(void *user, uint8_t type, const struct cluster_body *body)
{
    struct seat_wire_end *end = user;
    struct seat_wire *wire = end->wire;
    struct piece *piece;
    uint64_t delay = wire->way.delay_most;

    if (wire->cutting)
        return rapahub_fail(RAPAHUB_ECLOSED, "", "the link is cut");
    wire->pieces++;
    wire->cutting =
        wire->pieces == wire->way.cut_at ||
        (wire->way.cut_every && hub_random_below(&wire->random, wire->way.cut_every) == 0);
    if (wire->cutting && !wire->way.cut_after)
        return 0;
    piece = encode(type, body);
    piece->arrives = wire->step + (delay ? hub_random_below(&wire->random, delay) : 0);
    if (piece->arrives < end->arrives)
        piece->arrives = end->arrives;
    end->arrives = piece->arrives;
    end->bytes += piece->size;
    hub_list_append(&end->pieces, &piece->link);
    return 0;
}

static void hang_up(void *user)
{
    struct seat_wire *wire = ((struct seat_wire_end *)user)->wire;

    wire->hung_up = true;
    wire->hang_ups++;
}

static int fd_of(const void *user)
{
    (void)user;
    return -1;
}

const struct cluster_seat_link seat_wire_link = {
    .has_room = has_room, .put = put, .hang_up = hang_up, .fd = fd_of};

void seat_wire_init(struct seat_wire *wire, struct cluster_seat_server *server,
                    const struct cluster_seat_node *node)
{
    *wire = (struct seat_wire){.server = server, .node = *node, .way = seat_wire_way};
    hub_random_init(&wire->random, wire->way.seed + 1);
    for (unsigned side = 0; side < SEAT_WIRE_SIDES; side++) {
        wire->ends[side].wire = wire;
        wire->ends[side].side = (enum seat_wire_side)side;
        wire->ends[side].room = ROOM;
        hub_list_init(&wire->ends[side].pieces);
    }
}

static void drop(struct seat_wire_end *end)
{
    struct hub_list *link;

    while ((link = hub_list_pop(&end->pieces)))
        free(HUB_LIST_ITEM(link, struct piece, link));
    end->bytes = 0;
}

void seat_wire_cut(struct seat_wire *wire)
{
    drop(&wire->ends[SEAT_WIRE_CLIENT]);
    drop(&wire->ends[SEAT_WIRE_SERVER]);
    wire->cutting = wire->hung_up = false;
    wire->up_at = wire->step +
                  (wire->way.down_most ? hub_random_below(&wire->random, wire->way.down_most) : 0);
    if (!wire->peer)
        return;
    wire->cuts++;
    cluster_seat_server_detach(wire->peer);
    wire->peer = NULL;
    cluster_seat_client_link_down(wire->client);
}

static void bring_back(struct seat_wire *wire)
{
    if (cluster_seat_server_attach(wire->server, &wire->node, &seat_wire_link,
                                   &wire->ends[SEAT_WIRE_SERVER], &wire->peer) != 0)
        abort();
    cluster_seat_client_link_up(wire->client);
}

static void arrive(struct seat_wire_end *end, struct piece *piece)
{
    struct seat_wire *wire = end->wire;
    struct cluster_body body;
    int r = cluster_body_read(piece->type, (struct rapahub_bytes){piece->data, piece->size}, &body);

    if (r == 0)
        r = end->side == SEAT_WIRE_CLIENT
                ? cluster_seat_server_frame(wire->peer, piece->type, &body)
                : cluster_seat_client_frame(wire->client, piece->type, &body);
    free(piece);
    if (r == 0)
        return;
    wire->failure = r;
    wire->refused++;
    wire->hung_up = true;
}

static bool deliver_from(struct seat_wire_end *end)
{
    struct seat_wire *wire = end->wire;
    bool any = false;

    if (wire->held && end->side == SEAT_WIRE_SERVER)
        return false;
    while (wire->peer && !wire->hung_up && !hub_list_empty(&end->pieces)) {
        struct piece *piece = HUB_LIST_ITEM(end->pieces.next, struct piece, link);

        if (piece->arrives > wire->step)
            break;
        hub_list_remove(&piece->link);
        end->bytes -= piece->size;
        arrive(end, piece);
        any = true;
    }
    return any;
}

/* A piece that arrives although the link is cut after it does so before. */
bool seat_wire_deliver(struct seat_wire *wire)
{
    bool any = false;

    if (!wire->peer && wire->step >= wire->up_at) {
        bring_back(wire);
        any = true;
    }
    any |= deliver_from(&wire->ends[SEAT_WIRE_CLIENT]);
    any |= deliver_from(&wire->ends[SEAT_WIRE_SERVER]);
    if (!wire->cutting && !wire->hung_up)
        return any;
    seat_wire_cut(wire);
    return true;
}

void seat_wire_step(struct seat_wire *wire)
{
    wire->step++;
}

void seat_wire_fini(struct seat_wire *wire)
{
    drop(&wire->ends[SEAT_WIRE_CLIENT]);
    drop(&wire->ends[SEAT_WIRE_SERVER]);
}
