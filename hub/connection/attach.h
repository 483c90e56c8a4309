/* SPDX-License-Identifier: Apache-2.0 */
/* attach: the end of a link that is not the host's: from a ticket, or from the path of a segment,
 * to an attached connection. Both a guest and a program that only calls begin with it. A single
 * thread opens and closes it. */
#ifndef HUB_CONNECTION_ATTACH_H
#define HUB_CONNECTION_ATTACH_H

#include "hub/connection/connection.h"
#include "hub/shm/segment.h"
#include "hub/shm/slots.h"
#include "hub/wire/ticket.h"

struct hub_attach {
    struct hub_ticket ticket; /* without a ticket the peer is known only after attaching */
    struct hub_segment *segment;
    struct hub_segment_view view;
    struct hub_slots pool;
    struct hub_connection connection;
    uint32_t epoch;
    /* gets descriptors that the host sends and that are no memory for slots; NULL: those are closed
     */
    const struct hub_doorbell_inbox *inbox;
};

/* Maps and checks the segment that `ticket` names, and attaches to the entry; without a peer in the
 * ticket, to the first Empty entry. A path "/proc/self/fd/N" names descriptor N: it and the
 * doorbell may have been inherited, or received from another process. The struct is zeroed but for
 * `inbox`, and `ticket`, whose texts must stay. Errors: RAPAHUB_EFORMAT if the segment is not
 * valid, RAPAHUB_ESTALE if the entry is not reserved for this process, RAPAHUB_EDIED if the host is
 * already gone, and those of hub_anonymous_enter. hub_attach_close follows, also after a failure.
 * r[impl shm.spawn.guest-init] r[impl shm.guest.attach] */
int hub_attach_open(struct hub_attach *attach, const struct hub_connection_events *events);

/* Unmaps the segment and closes all descriptors, those of the ticket too. From then on this process
 * writes nothing there. A struct that was only zeroed is allowed. */
void hub_attach_close(struct hub_attach *attach);

#endif
