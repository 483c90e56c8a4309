/* SPDX-License-Identifier: Apache-2.0 */
/* seat_wire: a link between a client of the seat and its server, in memory. Pieces go as bytes, in
 * their order, each once, after a delay of some steps; the link is cut at random instants, or at
 * one piece, which loses all that is under way, and comes back some steps later. */
#ifndef TESTS_METASTORE_SEAT_WIRE_H
#define TESTS_METASTORE_SEAT_WIRE_H

#include "cluster/metastore/metastore.h"
#include "cluster/metastore/seat/seat_server.h"
#include "hub/base/list.h"
#include "hub/base/random.h"

/* How links of this program behave. Zero: they never fail, and deliver at once. */
struct seat_wire_way {
    uint64_t seed;
    uint64_t cut_every;  /* one piece in so many is the last of its link */
    uint64_t cut_at;     /* the piece, from 1, at which the link is cut once */
    bool cut_after;      /* that piece arrives */
    uint64_t delay_most; /* steps that a piece takes */
    uint64_t down_most;  /* steps until the link is there again */
};
extern struct seat_wire_way seat_wire_way;

enum seat_wire_side { SEAT_WIRE_CLIENT, SEAT_WIRE_SERVER, SEAT_WIRE_SIDES };

/* One direction: from this side to the other. */
struct seat_wire_end {
    struct seat_wire *wire;
    enum seat_wire_side side;
    struct hub_list pieces;
    size_t bytes, room; /* room: bytes that it takes before it says that it has none */
    uint64_t arrives;   /* the last one at this step */
};

struct seat_wire {
    struct cluster_metastore *client;
    struct cluster_seat_server *server;
    struct cluster_seat_node node;
    struct cluster_seat_peer *peer; /* NULL: the link is down */
    struct seat_wire_way way;
    struct hub_random random;
    struct seat_wire_end ends[SEAT_WIRE_SIDES];
    uint64_t step, up_at;
    bool cutting, hung_up; /* hung_up: a side asked for it */
    bool held;             /* the client does not read */
    uint64_t pieces, cuts, hang_ups, refused;
    int failure; /* the last one that a side said of a frame */
};

extern const struct cluster_seat_link seat_wire_link; /* its user is a struct seat_wire_end */

void seat_wire_init(struct seat_wire *wire, struct cluster_seat_server *server,
                    const struct cluster_seat_node *node);

/* Delivers what has arrived; cuts the link, or brings it back, where that is due. Says whether
 * anything happened. */
bool seat_wire_deliver(struct seat_wire *wire);

/* One step of the wire's time. */
void seat_wire_step(struct seat_wire *wire);

void seat_wire_cut(struct seat_wire *wire);
void seat_wire_fini(struct seat_wire *wire);

#endif
