/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/attach.h"

#include "guest-sdk/serve.h"
#include "hub/base/random.h"

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
    hub_link_dead(((struct guest *)user)->attach.connection.link);
}

static void on_goodbye(void *user, const char *reason)
{
    struct guest *guest = user;

    hub_publish(&guest->goodbye, 1);
    hub_publish(&guest->arrived, 1); /* wakes a thread that waits for requests */
    rapahub_log(RAPAHUB_LOG_DEBUG, "attach", "the host says goodbye: %s", reason);
}

int guest_attach_open(struct guest *guest, int argc, char **argv)
{
    const struct hub_connection_events events = {
        on_request, on_nothing, on_nothing, on_nothing,
        on_hint,    on_goodbye, guest,      guest_serve_streams};
    int r = hub_ticket_parse_path(argc, argv, &guest->attach.ticket);

    guest->attach.inbox = &guest->roles.arrivals.inbox;
    if (r == 0)
        r = hub_attach_open(&guest->attach, &events);
    if (r == 0)
        guest->next_chain = hub_random_nonce() >> CHAIN_SHORTER | 1;
    return r;
}

void guest_attach_close(struct guest *guest)
{
    hub_attach_close(&guest->attach);
}
