/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/attach.h"

#include <poll.h>
#include <unistd.h>

#include "guest-sdk/serve.h"
#include "hub/base/lock.h"
#include "hub/base/random.h"
#include "hub/shm/anonymous.h"
#include "hub/shm/doorbell.h"
#include "hub/shm/peer_table.h"

#define CHAIN_SHORTER 22 /* bits; a shorter number is encoded in 6 bytes in each call */

static void on_request(void *user)
{
    hub_publish(&((struct guest *)user)->arrived, 1);
}

static void on_nothing(void *user)
{
    (void)user;
}

/* The host's end of the doorbell is closed. No other process ever held it, so the host is gone. */
static void on_hint(void *user)
{
    hub_link_dead(((struct guest *)user)->connection.link);
}

static void on_goodbye(void *user, const char *reason)
{
    struct guest *guest = user;

    hub_publish(&guest->goodbye, 1);
    hub_publish(&guest->arrived, 1); /* wakes a thread that waits for requests */
    rapahub_log(RAPAHUB_LOG_DEBUG, "attach", "the host says goodbye: %s", reason);
}

/* A host of another implementation may have locked nothing. Its end then shows only as silence. */
static bool is_host_known_by_lock(const struct guest *guest)
{
    return guest->ticket.doorbell < 0 &&
           hub_lock_free(guest->segment->mapping.fd, HUB_LOCK_HOST, 1) == 0;
}

static int open_connection(struct guest *guest)
{
    const struct hub_link_options options = {.role = HUB_ROLE_GUEST,
                                             .segment = guest->segment,
                                             .view = &guest->view,
                                             .pool = &guest->pool,
                                             .peer = guest->ticket.peer,
                                             .epoch = guest->epoch,
                                             .doorbell = guest->ticket.doorbell,
                                             .waiting = (enum hub_wait_manner)guest->ticket.waiting,
                                             .by_lock = is_host_known_by_lock(guest),
                                             .pidfd = -1};
    const struct hub_connection_events events = {
        on_request, on_nothing, on_nothing, on_nothing,
        on_hint,    on_goodbye, guest,      guest_serve_streams};

    int r = hub_connection_open(&guest->connection, &options, &events);

    if (r == 0) /* a guest trusts its host */
        hub_inbound_calls_let_view(guest->connection.served);
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

static int enter_by_ticket(struct guest *guest)
{
    int r = hub_segment_attach(guest->ticket.hub_path, guest->ticket.peer, &guest->segment,
                               &guest->view);

    if (r == 0) {
        hub_mapping_forget_file(&guest->segment->mapping, guest->ticket.hub_path);
        r = hub_doorbell_adopt(guest->ticket.doorbell);
    }
    return r == 0 ? check_host_is_there(guest->ticket.doorbell) : r;
}

static int enter(struct guest *guest)
{
    if (guest->ticket.peer != 0)
        return enter_by_ticket(guest);
    return hub_anonymous_enter(guest->ticket.hub_path, &guest->segment, &guest->view,
                               &guest->ticket.peer);
}

int guest_attach_open(struct guest *guest, int argc, char **argv)
{
    int r = hub_ticket_parse_path(argc, argv, &guest->ticket);

    if (r == 0)
        r = enter(guest);
    if (r == 0)
        r = hub_slots_init_guest(&guest->pool, guest->segment, &guest->view, guest->ticket.peer);
    guest->epoch = r == 0 ? hub_load_relaxed(&guest->view.entry->epoch) : 0;
    if (r == 0)
        r = open_connection(guest);
    if (r == 0)
        r = hub_peer_table_attach(guest->view.entry, &guest->epoch);
    if (r < 0)
        return r;
    guest->next_chain = hub_random_nonce() >> CHAIN_SHORTER | 1;
    if (guest->ticket.doorbell >= 0)
        (void)hub_doorbell_ring(guest->ticket.doorbell);
    return 0;
}

void guest_attach_close(struct guest *guest)
{
    hub_connection_close(&guest->connection);
    hub_slots_fini(&guest->pool);
    hub_segment_release(&guest->segment);
    if (guest->ticket.hub_path && guest->ticket.doorbell >= 0)
        close(guest->ticket.doorbell);
}
