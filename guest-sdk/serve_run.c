/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/serve_run.h"

#include <rapahub/guest.h>

#include "guest-sdk/raw_method.h"
#include "guest-sdk/serve.h"
#include "hub/base/clock.h"
#include "hub/call/direct_serve.h"

#define IDLE_SLICE HUB_SECOND
#define IDLE_LONG  (10 * HUB_SECOND)
#define EACH       16 /* direct requests between two full checks for the end, and for messages */

static bool has_arrived(void *user)
{
    return hub_load_relaxed(&((struct guest *)user)->arrived) != 0;
}

static int exit_status(const struct guest *guest)
{
    const struct hub_link *link = guest->attach.connection.link;

    switch (hub_link_cause(link)) {
    case 0:
    case RAPAHUB_ECLOSED:
        return RAPAHUB_GUEST_DONE;
    case RAPAHUB_EPROTOCOL:
        rapahub_log(RAPAHUB_LOG_ERROR, "serve", "the host broke %s", hub_link_rule(link));
        return RAPAHUB_GUEST_PROTOCOL;
    default:
        return RAPAHUB_GUEST_ORPHAN;
    }
}

/* The time after which an unused loop counts as idle. Reading the clock costs as much as the rest
 * of a small call, so it is read when a slice has ended, not for each wait. */
struct slice {
    uint64_t end_ns;
    bool busy;  /* a message came during the slice */
    bool peeks; /* the next wait leaves its message in the ring, for serve_directly to receive */
};

static void begin_slice(struct slice *slice)
{
    *slice = (struct slice){.end_ns = hub_clock_after(IDLE_SLICE), .peeks = true};
}

/* Waits for requests. A message that a wait left in the ring, and that serve_directly did not
 * receive, is received by the next wait. If nothing came during a whole slice, the guest returns
 * cached slots and sleeps for long: an idle guest costs nothing. */
static void wait_for_requests(struct guest *guest, struct slice *slice)
{
    struct hub_link_until until = {.done = has_arrived,
                                   .user = guest,
                                   .stage = HUB_WAIT_SLEEP,
                                   .deadline_ns = slice->end_ns,
                                   .peeks = slice->peeks};

    slice->peeks = !slice->peeks;

    if (hub_link_wait(guest->attach.connection.link, &until) != -ETIMEDOUT) {
        slice->busy = true;
        return;
    }
    if (!slice->busy) {
        hub_link_rest(guest->attach.connection.link);
        hub_connection_trim(&guest->attach.connection, true);
        until.idle = true;
        do
            until.deadline_ns = hub_clock_after(IDLE_LONG);
        while (hub_link_wait(guest->attach.connection.link, &until) == -ETIMEDOUT &&
               !guest_serve_over(guest));
    }
    begin_slice(slice);
}

/* A host that withdrew the entry without a goodbye has given up this guest. */
static bool is_orphan(const struct guest *guest)
{
    return hub_link_host_left(guest->attach.connection.link) &&
           hub_observe(&guest->attach.view.header->host_goodbye) == 0 &&
           hub_observe(&guest->goodbye) == 0 && !hub_link_closed(guest->attach.connection.link);
}

static bool has_messages(const struct guest *guest)
{
    return hub_load_relaxed(&guest->roles.due) != 0;
}

/* The messages of roles have their turn, however many requests are there. */
static __attribute__((noinline)) bool is_over(const struct guest *guest, uint32_t count)
{
    return guest_serve_over(guest) || (count % EACH == 0 && has_messages(guest));
}

/* Serves requests that come at once; false if there were none. All functions called here are
 * inlined unless they are marked otherwise, as in host_cached_call. A response that was sent
 * directly has already found the entry ours, the link open and the host alive, so only the requests
 * to leave are checked after it. A host that leaves in good order is detected by the full check,
 * after 16 requests at most. */
static __attribute__((flatten)) bool serve_directly(struct guest *guest)
{
    enum guest_raw_end end;
    uint32_t count = 0;

    do {
        struct hub_request *request = hub_direct_serve_next(guest->attach.connection.served);

        if (!request)
            return count > 0;
        end = guest_raw_method_run(guest, request);
        if (end == GUEST_RAW_REFUSED)
            guest_serve_request(guest, request);
        count++;
    } while ((end == GUEST_RAW_DIRECT && count % EACH != 0 &&
              (hub_observe(&guest->leave) | hub_observe(&guest->goodbye)) == 0) ||
             !is_over(guest, count));
    return true;
}

int guest_serve_run(struct guest *guest)
{
    struct slice slice;

    begin_slice(&slice);
    while (!guest_serve_over(guest)) {
        bool served = serve_directly(guest);

        if (!served || has_messages(guest))
            served |= guest_serve_queued(guest);
        if (served) {
            slice.busy = slice.peeks = true;
            continue;
        }
        (void)hub_heartbeat_enter(&guest->heartbeat, HUB_HEARTBEAT_WAITS);
        if (!guest_serve_over(guest))
            wait_for_requests(guest, &slice);
    }
    if (is_orphan(guest))
        return RAPAHUB_GUEST_ORPHAN;
    guest_serve_leave(guest);
    return exit_status(guest);
}
