/* SPDX-License-Identifier: Apache-2.0 */
/* pair: both ends of a link in one process, over one segment that is mapped twice: what crosses
 * goes through shared memory as between processes, and a sanitizer sees both sides. */
#ifndef TESTS_UNIT_LINK_PAIR_H
#define TESTS_UNIT_LINK_PAIR_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/clock.h"
#include "hub/base/futex.h"
#include "hub/call/call_table.h"
#include "hub/call/inbound_state.h"
#include "hub/channel/channel_state.h"
#include "hub/connection/connection.h"
#include "hub/link/link_state.h"
#include "hub/shm/doorbell.h"
#include "hub/shm/peer_table.h"
#include "hub/wire/response.h"
#include "tests/support/testing.h"

#define SOON (20 * HUB_SECOND) /* a test that waits longer has failed */

/* An end of the pair. */
struct end {
    struct hub_segment *segment;
    struct hub_segment_view view;
    struct hub_slots pool;
    struct hub_connection connection;
    int doorbell;
    struct hub_a32 requests, ready, pending, closed, hints;
    char goodbye[1100];
};

struct pair {
    struct end host, guest;
    uint32_t peer, epoch;
};

static inline void pair_count(struct hub_a32 *counter)
{
    hub_add(counter, 1);
}

static void pair_on_request(void *user)
{
    struct end *end = user;

    pair_count(&end->requests);
    hub_futex_wake_private(&end->requests);
}

static void pair_on_ready(void *user)
{
    pair_count(&((struct end *)user)->ready);
}

static void pair_on_pending(void *user)
{
    pair_count(&((struct end *)user)->pending);
}

static void pair_on_close(void *user)
{
    pair_count(&((struct end *)user)->closed);
}

static void pair_on_hint(void *user)
{
    struct end *end = user;

    pair_count(&end->hints);
    hub_link_dead(end->connection.link);
}

static void pair_on_goodbye(void *user, const char *reason)
{
    snprintf(((struct end *)user)->goodbye, sizeof((struct end *)user)->goodbye, "%s", reason);
}

/* Small, so that rings and pools run full. */
__attribute__((unused)) static struct hub_limits pair_limits(void)
{
    return (struct hub_limits){.payload_max = 1020,
                               .credit_size = 1024,
                               .guests_max = 1,
                               .ring_size = 8,
                               .slot_size = 1024,
                               .slot_count = 4,
                               .channels_max = 4,
                               .heartbeat_ns = 0};
}

static void pair_open_end(struct pair *pair, struct end *end, enum hub_role role)
{
    const struct hub_link_options options = {.role = role,
                                             .segment = end->segment,
                                             .view = &end->view,
                                             .pool = &end->pool,
                                             .peer = pair->peer,
                                             .epoch = pair->epoch,
                                             .doorbell = end->doorbell,
                                             .pidfd = -1};
    const struct hub_connection_events events = {pair_on_request,
                                                 pair_on_ready,
                                                 pair_on_pending,
                                                 pair_on_close,
                                                 pair_on_hint,
                                                 pair_on_goodbye,
                                                 end,
                                                 NULL};
    bool host = role == HUB_ROLE_HOST;

    if (host) {
        assert_int_equal(hub_slots_init_host(&end->pool, end->segment), 0);
        hub_slots_endow(&end->pool, pair->peer);
    } else {
        assert_int_equal(hub_slots_init_guest(&end->pool, end->segment, &end->view, pair->peer), 0);
    }
    assert_int_equal(hub_connection_open(&end->connection, &options, &events), 0);
}

/* `first_index`: where all four ring indices begin. */
__attribute__((unused)) static void pair_open(struct pair *pair, const struct hub_limits *limits,
                                              uint32_t first_index)
{
    struct hub_peer_entry *entry;
    char path[64];

    memset(pair, 0, sizeof *pair);
    assert_int_equal(hub_segment_create(limits, limits->guests_max > 1, &pair->host.segment), 0);
    assert_int_equal(hub_peer_table_reserve(pair->host.segment, &pair->peer, &pair->epoch), 0);
    hub_segment_view(pair->host.segment, pair->peer, &pair->host.view);
    entry = pair->host.view.entry;
    hub_store_relaxed(&entry->guest_to_host_head, first_index);
    hub_store_relaxed(&entry->guest_to_host_tail, first_index);
    hub_store_relaxed(&entry->host_to_guest_head, first_index);
    hub_store_relaxed(&entry->host_to_guest_tail, first_index);
    snprintf(path, sizeof path, "/proc/self/fd/%d", pair->host.segment->mapping.fd);
    assert_int_equal(hub_segment_attach(path, pair->peer, &pair->guest.segment, &pair->guest.view),
                     0);
    assert_int_equal(hub_doorbell_create(&pair->host.doorbell, &pair->guest.doorbell), 0);
    pair_open_end(pair, &pair->host, HUB_ROLE_HOST);
    pair_open_end(pair, &pair->guest, HUB_ROLE_GUEST);
    assert_int_equal(hub_peer_table_attach(pair->guest.view.entry, &pair->epoch), 0);
}

/* Each hindrance is counted, for itself, as long as it exists. */
static void pair_check_hindrances(const struct hub_connection *connection)
{
    const struct hub_link *link = connection->link;

    if (hub_observe(&link->closed) == 0 && hub_observe(&link->dead) == 0)
        assert_int_equal(hub_observe(&link->hindrances),
                         hub_load_relaxed(&link->crowd) + hub_load_relaxed(&link->corks) +
                             hub_load_relaxed(&connection->calls->following) +
                             hub_load_relaxed(&connection->served->owes) +
                             hub_load_relaxed(&connection->channels->owes));
    else
        assert_true(hub_observe(&link->hindrances) > 0);
}

static void pair_close_end(struct end *end)
{
    pair_check_hindrances(&end->connection);
    hub_connection_close(&end->connection);
    hub_slots_fini(&end->pool);
    hub_segment_release(&end->segment);
    if (end->doorbell >= 0)
        close(end->doorbell);
}

__attribute__((unused)) static void pair_close(struct pair *pair)
{
    pair_close_end(&pair->guest);
    pair_close_end(&pair->host);
}

/* Answers every request with its own arguments, until the link closes or the host leaves. */
static bool pair_has_work(void *user)
{
    struct end *end = user;

    return hub_load_relaxed(&end->requests) != 0;
}

__attribute__((unused)) static void *pair_echo(void *user)
{
    struct end *end = user;
    struct hub_connection *connection = &end->connection;

    while (!hub_link_closed(connection->link) && !hub_link_host_left(connection->link)) {
        const struct hub_link_until until = {.done = pair_has_work,
                                             .user = end,
                                             .stage = HUB_WAIT_SLEEP,
                                             .deadline_ns = hub_clock_after(HUB_SECOND)};
        const struct hub_response ok = {.kind = HUB_RESPONSE_OK};
        struct hub_request *request;

        if (hub_link_lead(connection->link, &until) == -EBUSY)
            (void)hub_futex_wait_private(&end->requests, 0, hub_clock_after(HUB_MILLISECOND));
        hub_store_relaxed(&end->requests, 0);
        while ((request = hub_inbound_calls_next(connection->served, NULL, NULL)))
            (void)hub_inbound_calls_answer(connection->served, request, &ok, request->arguments);
    }
    return NULL;
}

/* A call of `size` bytes filled with `fill`; the answer must be the same bytes. */
__attribute__((unused)) static int pair_call(struct end *end, uint8_t fill, uint32_t size,
                                             uint64_t deadline)
{
    uint8_t head = 0, bytes[1024]; /* no metadata */
    struct hub_answer answer = {0};
    const struct hub_call call = {.method_id = 1,
                                  .payload = {.head = {&head, 1}, .tail = {bytes, size}},
                                  .deadline_ns = deadline,
                                  .answer = &answer};
    uint64_t number = 0;
    int r;

    memset(bytes, fill, sizeof bytes);
    r = hub_calls_begin(end->connection.calls, &call, &number);
    if (r == 0)
        r = hub_calls_wait(end->connection.calls, number, false);
    if (r == 0 && (answer.size != size + 2 || memcmp(answer.data, "\0\0", 2) != 0 ||
                   memcmp(answer.data + 2, bytes, size) != 0))
        r = 1;
    hub_responses_fini(&answer);
    return r;
}

#endif
