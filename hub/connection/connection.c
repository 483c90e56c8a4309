/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/connection/connection.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/call/call_table.h"
#include "hub/call/response_queue.h"
#include "hub/call/responses.h"
#include "hub/channel/channel_reader.h"
#include "hub/channel/channel_writer.h"
#include "hub/channel/window.h"

#define BUDGET    ((size_t)24 << 20) /* bytes, at least, that may be stored for the peer */
#define HEAD      4096               /* bytes stored besides a payload, and more */
#define GUEST_NAP (10 * HUB_MILLISECOND)

static bool take(void *user, const struct hub_message *message, const void *payload, uint32_t size)
{
    struct hub_connection *connection = user;

    return message->type == HUB_RESPONSE &&
           hub_responses_take(connection->calls, message->id, payload, size);
}

static uint32_t take_line(void *user, const struct hub_descriptor *list, uint32_t count)
{
    return hub_responses_take_line(((struct hub_connection *)user)->calls, list, count);
}

static void *place(void *user, const struct hub_message *message, uint32_t size, uint32_t phase)
{
    struct hub_connection *connection = user;

    switch (message->type) {
    case HUB_REQUEST:
        return hub_inbound_calls_place(connection->served, message, size, phase);
    case HUB_RESPONSE:
        return hub_responses_place(connection->calls, message->id, size, phase);
    case HUB_GOODBYE:
        return size <= sizeof connection->reason ? connection->reason : NULL;
    default:
        return NULL;
    }
}

static void say_goodbye(struct hub_connection *connection, const void *payload, uint32_t size)
{
    char reason[sizeof connection->reason + 1];

    hub_message_reason(payload, payload ? size : 0, reason, sizeof reason);
    /* in this order: a caller whose call ends looks for the reason */
    connection->events.on_goodbye(connection->events.user, reason);
    hub_calls_end_all(connection->calls, RAPAHUB_ECLOSED);
    hub_channel_end_all(connection->channels, RAPAHUB_ECLOSED);
}

/* r[impl shm.topology.hub.calls] r[impl shm.goodbye.guest] r[impl message.goodbye.receive]
 * r[impl hub.goodbye.drain] */
static int accept(void *user, const struct hub_message *message, void *payload, uint32_t size)
{
    struct hub_connection *connection = user;

    switch (message->type) {
    case HUB_REQUEST:
        return hub_inbound_calls_accept(connection->served, message, payload);
    case HUB_RESPONSE:
        hub_responses_accept(connection->calls, message->id, payload, size);
        return 0;
    case HUB_CANCEL:
        hub_inbound_calls_cancel(connection->served, message->id);
        return 0;
    case HUB_GOODBYE:
        say_goodbye(connection, payload, size);
        return 0;
    default:
        return hub_channel_reader_accept(connection->channels, message);
    }
}

static int data(void *user, const struct hub_message *message,
                const struct hub_receive_batch *arrival)
{
    return hub_channel_reader_data(((struct hub_connection *)user)->channels, message, arrival);
}

static bool wants_view(void *user, const struct hub_message *message, uint32_t size)
{
    struct hub_connection *connection = user;

    (void)size;
    if (message->type == HUB_RESPONSE)
        return hub_responses_want_view(connection->calls, message->id);
    return message->type == HUB_REQUEST && hub_inbound_calls_wants_view(connection->served);
}

static int view(void *user, const struct hub_message *message, struct hub_view *view)
{
    struct hub_connection *connection = user;

    if (message->type == HUB_REQUEST)
        return hub_inbound_calls_view(connection->served, message, view);
    hub_responses_view(connection->calls, message->id, view);
    return 0;
}

static void drop(void *user, const struct hub_message *message, void *payload)
{
    struct hub_connection *connection = user;

    if (message->type == HUB_REQUEST)
        hub_inbound_calls_drop(connection->served, payload);
    else if (message->type == HUB_RESPONSE)
        hub_responses_drop(connection->calls, message->id);
}

static bool full(void *user)
{
    return hub_inbound_calls_full(((struct hub_connection *)user)->served);
}

static __attribute__((noinline)) void settle(struct hub_connection *connection, bool queued)
{
    hub_responses_hand_over(connection->calls);
    if (!queued && hub_response_queue_any(connection->served))
        hub_response_queue_settle(connection->served);
    if (hub_channel_owes(connection->channels))
        (void)hub_channel_settle(connection->channels);
}

/* Called after each small call: mostly there is nothing to do. */
static void after(void *user, bool queued)
{
    struct hub_connection *connection = user;

    if (hub_load_relaxed(&connection->calls->following) != 0 ||
        hub_response_queue_any(connection->served) || hub_channel_owes(connection->channels))
        settle(connection, queued);
}

static bool granted(void *user)
{
    return hub_channels_granted(((struct hub_connection *)user)->channels);
}

static void push(void *user, uint64_t deadline_ns)
{
    hub_channel_writer_push(((struct hub_connection *)user)->channels, deadline_ns);
}

bool hub_connection_owes(struct hub_connection *connection)
{
    return hub_response_queue_any(connection->served);
}

/* A thread in hub_link_wait may wait for one of these too. */
static void on_request(void *user)
{
    struct hub_connection *connection = user;

    connection->events.on_request(connection->events.user);
    hub_calls_stir(connection->calls);
    hub_link_tell(connection->link);
}

static void on_ready(void *user)
{
    struct hub_connection *connection = user;

    connection->events.on_ready(connection->events.user);
    hub_link_tell(connection->link);
}

/* The link is closed: every call ends, once. r[impl core.error.call-vs-connection] */
static void on_close(void *user)
{
    struct hub_connection *connection = user;

    hub_calls_end_all(connection->calls, hub_link_cause(connection->link));
    hub_inbound_calls_end_all(connection->served);
    hub_channel_end_all(connection->channels, hub_link_cause(connection->link));
    hub_publish(&connection->over, 1);
    connection->events.on_close(connection->events.user);
}

static void on_hint(void *user)
{
    struct hub_connection *connection = user;

    connection->events.on_hint(connection->events.user);
}

static void on_pending(void *user)
{
    struct hub_connection *connection = user;

    connection->events.on_pending(connection->events.user);
}

/* All requests to a guest come by its one link. */
static uint64_t nap_of_guest(void *user)
{
    (void)user;
    return GUEST_NAP;
}

/* A request and an answer of any size always fit, though a host that forwards them has each twice
 * for a moment. */
static size_t budget(const struct hub_link_options *options)
{
    size_t one = options->segment->geometry.limits.payload_max, least = 4 * (one + HEAD);

    return least > BUDGET ? least : BUDGET;
}

int hub_connection_open(struct hub_connection *connection, const struct hub_link_options *options,
                        const struct hub_connection_events *events)
{
    struct hub_link_options of_link = *options;
    int r;

    *connection = (struct hub_connection){.events = *events};
    hub_thread_pool_init(&connection->pool);
    of_link.events = (struct hub_link_events){.take = take,
                                              .take_line = take_line,
                                              .place = place,
                                              .accept = accept,
                                              .data = data,
                                              .wants_view = wants_view,
                                              .view = view,
                                              .drop = drop,
                                              .full = full,
                                              .after = after,
                                              .granted = granted,
                                              .push = push,
                                              .user = connection};
    of_link.on_close = on_close;
    of_link.on_hint = on_hint;
    of_link.on_pending = on_pending;
    of_link.user = connection;
    r = hub_calls_create(HUB_CALLS_MAX, &connection->calls);
    if (r == 0)
        r = hub_inbound_calls_create(HUB_CALLS_MAX, budget(options), &connection->served);
    if (r == 0)
        r = hub_channels_create(&options->segment->geometry.limits, options->role,
                                &connection->channels);
    if (r == 0)
        r = hub_link_create(&of_link, &connection->link);
    if (r < 0) {
        hub_connection_close(connection);
        return r;
    }
    hub_calls_bind(connection->calls, connection->link);
    hub_calls_on_ready(connection->calls, on_ready, connection);
    hub_channels_bind(connection->channels, connection->link, options->view->channels);
    hub_inbound_calls_bind(connection->served, connection->link, connection->channels);
    hub_inbound_calls_on_request(connection->served, on_request, connection);
    hub_inbound_calls_find_streams(connection->served, events->streams, events->user);
    if (options->role == HUB_ROLE_HOST)
        hub_inbound_calls_keep_answers(connection->served);
    else
        hub_calls_on_nap(connection->calls, nap_of_guest, NULL);
    return 0;
}

bool hub_connection_over(const struct hub_connection *connection)
{
    return hub_observe(&connection->over) != 0;
}

void hub_connection_trim(struct hub_connection *connection, bool at_once)
{
    hub_window_rest(connection->channels, at_once);
}

void hub_connection_close(struct hub_connection *connection)
{
    if (connection->calls) /* NULL: it was never opened, and has no threads */
        hub_thread_pool_fini(&connection->pool);
    hub_calls_release(&connection->calls);
    hub_inbound_calls_release(&connection->served);
    hub_channels_release(&connection->channels);
    hub_link_release(&connection->link);
}
