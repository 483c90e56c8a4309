/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/connection/attach.h"

#include <poll.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/lock.h"
#include "hub/shm/anonymous.h"
#include "hub/shm/doorbell.h"
#include "hub/shm/peer_table.h"

/* A host of another implementation may have locked nothing. Its end then shows only as silence. */
static bool is_host_known_by_lock(const struct hub_attach *attach)
{
    return attach->ticket.doorbell < 0 &&
           hub_lock_free(attach->segment->mapping.fd, HUB_LOCK_HOST, 1) == 0;
}

static int open_connection(struct hub_attach *attach, const struct hub_connection_events *events)
{
    const struct hub_link_options options = {.role = HUB_ROLE_GUEST,
                                             .segment = attach->segment,
                                             .view = &attach->view,
                                             .pool = &attach->pool,
                                             .peer = attach->ticket.peer,
                                             .epoch = attach->epoch,
                                             .doorbell = attach->ticket.doorbell,
                                             .waiting =
                                                 (enum hub_wait_manner)attach->ticket.waiting,
                                             .by_lock = is_host_known_by_lock(attach),
                                             .inbox = attach->inbox,
                                             .pidfd = -1};
    int r = hub_connection_open(&attach->connection, &options, events);

    if (r == 0) /* a guest trusts its host */
        hub_inbound_calls_let_view(attach->connection.served);
    return r;
}

/* If the host died before this process asked for a parent-death signal, its end of the doorbell is
 * closed. */
static int check_host_is_there(int doorbell)
{
    struct pollfd bell = {.fd = doorbell, .events = POLLIN};

    if (poll(&bell, 1, 0) > 0 && (bell.revents & (POLLHUP | POLLERR)))
        return rapahub_fail(RAPAHUB_EDIED, "shm.doorbell.death", "the host is gone");
    return 0;
}

static int enter_by_ticket(struct hub_attach *attach)
{
    const struct hub_ticket *ticket = &attach->ticket;
    int r = hub_segment_attach(ticket->hub_path, ticket->peer, &attach->segment, &attach->view);

    if (r == 0) {
        hub_mapping_forget_file(&attach->segment->mapping, ticket->hub_path);
        r = hub_doorbell_adopt(ticket->doorbell);
    }
    return r == 0 ? check_host_is_there(ticket->doorbell) : r;
}

static int enter(struct hub_attach *attach)
{
    if (attach->ticket.peer != 0)
        return enter_by_ticket(attach);
    return hub_anonymous_enter(attach->ticket.hub_path, &attach->segment, &attach->view,
                               &attach->ticket.peer);
}

int hub_attach_open(struct hub_attach *attach, const struct hub_connection_events *events)
{
    int r = enter(attach);

    if (r == 0)
        r = hub_slots_init_guest(&attach->pool, attach->segment, &attach->view,
                                 attach->ticket.peer);
    attach->epoch = r == 0 ? hub_load_relaxed(&attach->view.entry->epoch) : 0;
    if (r == 0)
        r = open_connection(attach, events);
    if (r == 0)
        r = hub_peer_table_attach(attach->view.entry, &attach->epoch);
    if (r < 0)
        return r;
    if (attach->ticket.doorbell >= 0)
        (void)hub_doorbell_ring(attach->ticket.doorbell);
    return 0;
}

void hub_attach_close(struct hub_attach *attach)
{
    hub_connection_close(&attach->connection);
    hub_slots_fini(&attach->pool);
    hub_segment_release(&attach->segment);
    if (attach->ticket.hub_path && attach->ticket.doorbell >= 0)
        close(attach->ticket.doorbell);
}
