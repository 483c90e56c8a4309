/* SPDX-License-Identifier: Apache-2.0 */
/* seat_link: how messages get from a node to the seat of the metastore, and back: over a link of
 * another room. The link takes and gives pieces in their order, each once, until it is down;
 * then pieces that were under way may or may not have come.
 */
#ifndef CLUSTER_METASTORE_SEAT_LINK_H
#define CLUSTER_METASTORE_SEAT_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/wire/body.h"

struct cluster_metastore;
struct cluster_metastore_options;

/* Functions of the owner of the link; none waits, and none calls what it was called by. */
struct cluster_seat_link {
    /* Says whether a piece may be put now. A link that says no tells, by a step of the one who
     * asked, when it has sent some of what waits in it. */
    bool (*has_room)(const void *user);
    /* Takes a frame of this type, and copies its body. A failure, with its diagnosis: the link
     * can be used no more, and its owner says so soon. */
    int (*put)(void *user, uint8_t type, const struct cluster_body *body);
    /* The link is to be ended, since the other side does not do what it must. Its owner says
     * that it is down afterwards, but not from inside. */
    void (*hang_up)(void *user);
    /* The descriptor that is readable when the link has something; -1: there is none. */
    int (*fd)(const void *user);
    /* The next four are of a link that its client drives. NULL: it comes and goes by itself.
     * begin: the metastore is being opened with these options; the seat is at HOST:PORT. A failure,
     * with its diagnosis, is that of the opening. */
    int (*begin)(void *user, struct cluster_metastore *store, const char *seat,
                 const struct cluster_metastore_options *options);
    /* Goes on with the link, first in each step of the client, of which it may call the functions
     * of seat_client.h. Returns when it wants that again at the latest, or HUB_NEVER. */
    uint64_t (*step)(void *user, uint64_t now_ns);
    /* After each of its steps: a failure, with its diagnosis, once the seat has said that it will
     * never serve this node. Each step of the client fails with it. */
    int (*refused)(const void *user);
    /* The metastore is being closed. */
    void (*end)(void *user);
};

#endif
