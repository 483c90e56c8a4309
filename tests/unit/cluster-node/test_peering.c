/* SPDX-License-Identifier: Apache-2.0 */
/* Frames between the core of a node and its links, one at a time. */
#include <errno.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/node/calls/peering.h"
#include "cluster/wire/body.h"
#include "tests/support/testing.h"

#define POOL  UINT64_C(0x0000010000000000)
#define LARGE 5000
#define BYTES 8000

struct links {
    int status; /* of the next frame; then it is 0 */
    unsigned sent, ended;
    uint32_t node;
    struct cluster_frame header;
    struct cluster_body body;
    uint8_t bytes[2 * LARGE];
};

static struct links links;
static struct cluster_event_queue *events;
static struct cluster_buffers *buffers;
static struct cluster_peering *peering;
static uint8_t large[LARGE];

static int take_sent(void *user, uint32_t node, const struct cluster_frame *header,
                     struct rapahub_bytes body)
{
    int status = links.status;

    assert_ptr_equal(user, &links);
    links.status = 0;
    if (status < 0)
        return rapahub_fail(status, "", "as the test says");
    links.sent++;
    links.node = node;
    links.header = *header;
    assert_true(body.size <= sizeof links.bytes && body.size == header->body_size);
    memcpy(links.bytes, body.data, body.size);
    assert_int_equal(cluster_body_read(header->type, (struct rapahub_bytes){links.bytes, body.size},
                                       &links.body),
                     0);
    return 0;
}

static void take_end(void *user, uint32_t node)
{
    assert_ptr_equal(user, &links);
    links.ended++;
    links.node = node;
}

static int open_stage(void **state)
{
    static const struct cluster_peering_links both = {take_sent, take_end, &links};
    struct cluster_peering_parts parts = {.links = &both};

    (void)state;
    memset(&links, 0, sizeof links);
    memset(large, 'l', sizeof large);
    assert_int_equal(cluster_event_queue_create(&events), 0);
    assert_int_equal(cluster_buffers_create(100, BYTES, &buffers), 0);
    parts.events = events;
    parts.buffers = buffers;
    assert_int_equal(cluster_peering_create(&parts, &peering), 0);
    return 0;
}

static int close_stage(void **state)
{
    (void)state;
    assert_null(cluster_event_queue_take(events));
    assert_int_equal(cluster_buffers_figures(buffers).count, 0);
    cluster_peering_release(&peering);
    cluster_event_queue_release(&events);
    cluster_buffers_release(&buffers);
    return 0;
}

static struct cluster_peer_frame frame_of(uint8_t type)
{
    return (struct cluster_peer_frame){.node = 2,
                                       .type = type,
                                       .ttl = 3,
                                       .reason =
                                           type == CLUSTER_FRAME_NACK ? CLUSTER_NACK_MOVED : 0,
                                       .attempt = 77777,
                                       .uid = {22, 5},
                                       .pool = POOL,
                                       .container = 1,
                                       .token = 9,
                                       .lineage = cluster_ids_lineage(1, 0),
                                       .method = type == CLUSTER_FRAME_CALL ? 7 : 0,
                                       .deadline_ns = UINT64_MAX / 2};
}

static void send(const struct cluster_peer_frame *frame, struct rapahub_bytes body)
{
    struct cluster_payload_body kept;

    assert_int_equal(cluster_buffers_keep(buffers, body, &kept), 0);
    cluster_peering_send(peering, &(struct cluster_effect){.kind = CLUSTER_EFFECT_SEND,
                                                           .frame = frame,
                                                           .payload = kept.number,
                                                           .body = kept.bytes});
    cluster_buffers_drop(buffers, kept.number);
}

/* The one event that waits. */
static const struct cluster_event *next(uint8_t kind)
{
    const struct cluster_event *event = cluster_event_queue_take(events);

    assert_non_null(event);
    assert_int_equal(event->kind, kind);
    return event;
}

static void says(uint8_t change, uint32_t node, uint64_t session)
{
    const struct cluster_event *event = next(CLUSTER_EVENT_PEER);

    assert_int_equal(event->change, change);
    assert_int_equal(event->node, node);
    assert_int_equal(event->session, session);
    cluster_event_queue_done(events);
}

/* A frame comes from node 3. */
static int come(const struct cluster_peer_frame *frame, struct rapahub_bytes body)
{
    static uint8_t bytes[2 * LARGE];
    struct cluster_frame header;
    struct hub_writer writer;

    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_peer_frame_put(frame, body, 0, &header, &writer), 0);
    return cluster_peering_frame(peering, 3, &header, (struct rapahub_bytes){bytes, writer.size});
}

static const struct rapahub_bytes small = {"hello", 5}, none = {NULL, 0};

/* ---- frames that go ---- */

/* r[verify cluster.node.frames] */
static void what_the_core_sends_goes_to_the_link_of_its_node(void **state)
{
    const struct cluster_peer_frame call = frame_of(CLUSTER_FRAME_CALL);

    (void)state;
    send(&call, small);
    assert_int_equal(links.node, 2);
    assert_int_equal(links.header.type, CLUSTER_FRAME_CALL);
    assert_int_equal(links.header.uid.number, 5);
    assert_int_equal(links.header.replica << 8 | links.header.attempt, 77777);
    assert_memory_equal(links.body.call.arguments.data, "hello", 5);
    send(&call, (struct rapahub_bytes){large, sizeof large});
    assert_int_equal(links.sent, 2);
    assert_int_equal(links.body.call.arguments.size, sizeof large);
    assert_memory_equal(links.body.call.arguments.data, large, sizeof large);
    assert_int_equal(links.ended, 0);
}

/* r[verify cluster.node.unsent] */
static void a_call_for_which_a_link_has_no_room_was_not_admitted(void **state)
{
    const struct cluster_peer_frame call = frame_of(CLUSTER_FRAME_CALL);
    const struct cluster_event *event;

    (void)state;
    links.status = RAPAHUB_EFULL;
    send(&call, small);
    event = next(CLUSTER_EVENT_ARRIVED);
    assert_int_equal(event->frame->type, CLUSTER_FRAME_NACK);
    assert_int_equal(event->frame->reason, CLUSTER_NACK_BUSY);
    assert_int_equal(event->frame->node, 2);
    assert_int_equal(event->frame->attempt, 77777);
    assert_int_equal(event->frame->uid.number, 5);
    assert_int_equal(event->frame->container, 1);
    cluster_event_queue_done(events);
    assert_int_equal(links.ended, 0);
}

/* r[verify cluster.node.unsent] */
static void a_call_that_no_link_can_take_ends(void **state)
{
    const struct cluster_peer_frame call = frame_of(CLUSTER_FRAME_CALL);
    const struct cluster_event *event;

    (void)state;
    links.status = RAPAHUB_EMSGSIZE;
    send(&call, small);
    event = next(CLUSTER_EVENT_ARRIVED);
    assert_int_equal(event->frame->type, CLUSTER_FRAME_RESULT);
    assert_int_equal(event->frame->status, RAPAHUB_EMSGSIZE);
    assert_int_equal(event->frame->token, 9);
    assert_true(event->body.bytes.size > 0);
    cluster_event_queue_done(events);
}

/* r[verify cluster.node.unsent] */
static void a_frame_without_a_link_says_that_it_is_lost(void **state)
{
    static const struct cluster_peering_links no_links;
    const struct cluster_peering_parts parts = {events, buffers, &no_links};
    const struct cluster_peer_frame call = frame_of(CLUSTER_FRAME_CALL),
                                    result = frame_of(CLUSTER_FRAME_RESULT);

    (void)state;
    links.status = -ENOTCONN;
    send(&call, small);
    says(CLUSTER_PEER_LOST, 2, 0);
    cluster_peering_release(&peering);
    assert_int_equal(cluster_peering_create(&parts, &peering), 0);
    send(&result, small);
    says(CLUSTER_PEER_LOST, 2, 0);
    assert_int_equal(links.ended + links.sent, 0);
}

/* r[verify cluster.node.unsent] */
static void a_link_that_does_not_take_an_answer_ends(void **state)
{
    static const uint8_t types[] = {CLUSTER_FRAME_RESULT, CLUSTER_FRAME_NACK, CLUSTER_FRAME_CANCEL};

    (void)state;
    for (unsigned i = 0; i < sizeof types; i++) {
        const struct cluster_peer_frame frame = frame_of(types[i]);

        links.status = RAPAHUB_EFULL;
        send(&frame, none);
        assert_int_equal(links.ended, i + 1);
        assert_int_equal(links.node, 2);
    }
    assert_int_equal(links.sent, 0);
}

/* r[verify cluster.node.unsent] */
static void an_answer_that_no_link_can_take_says_that(void **state)
{
    const struct cluster_peer_frame result = frame_of(CLUSTER_FRAME_RESULT);

    (void)state;
    links.status = RAPAHUB_EMSGSIZE;
    send(&result, (struct rapahub_bytes){large, sizeof large});
    assert_int_equal(links.sent, 1);
    assert_int_equal(links.header.replica << 8 | links.header.attempt, 77777);
    assert_int_equal(links.body.result.status, RAPAHUB_EMSGSIZE);
    assert_true(links.body.result.text.size > 0);
    assert_int_equal(links.body.result.payload.size, 0);
    assert_int_equal(links.ended, 0);
}

/* ---- frames that come ---- */

/* r[verify cluster.node.frames] */
static void a_frame_that_comes_is_copied_for_the_core(void **state)
{
    char text[] = "hello";
    const struct cluster_peer_frame call = frame_of(CLUSTER_FRAME_CALL);
    const struct cluster_event *event;

    (void)state;
    assert_int_equal(come(&call, (struct rapahub_bytes){text, 5}), 0);
    memset(text, 'x', 5);
    assert_int_equal(come(&call, (struct rapahub_bytes){large, sizeof large}), 0);
    event = next(CLUSTER_EVENT_ARRIVED);
    assert_int_equal(event->frame->node, 3);
    assert_int_equal(event->frame->attempt, 77777);
    assert_int_equal(event->body.number, 0);
    assert_memory_equal(event->body.bytes.data, "hello", 5);
    cluster_event_queue_done(events);
    event = next(CLUSTER_EVENT_ARRIVED);
    assert_int_equal(event->body.size, sizeof large);
    assert_memory_equal(cluster_buffers_bytes(buffers, event->body.number).data, large,
                        sizeof large);
    cluster_peering_refused(peering, event);
    assert_int_equal(links.ended, 1);
    assert_int_equal(links.node, 3);
    cluster_event_queue_done(events);
}

/* r[verify cluster.peer.frames] */
static void garbage_is_refused(void **state)
{
    struct cluster_frame header = {.type = CLUSTER_FRAME_CALL, .pool = POOL, .token = 1};
    uint8_t bytes[64];

    (void)state;
    for (unsigned i = 0; i < 256; i++) {
        memset(bytes, (int)i, sizeof bytes);
        header.type = (uint8_t)i;
        assert_true(cluster_peering_frame(peering, 3, &header,
                                          (struct rapahub_bytes){bytes, i % sizeof bytes}) < 0);
    }
    assert_int_equal(links.sent, 0);
}

/* r[verify cluster.node.frames] */
static void a_call_for_which_the_node_has_no_room_is_refused(void **state)
{
    const struct cluster_peer_frame call = frame_of(CLUSTER_FRAME_CALL),
                                    result = frame_of(CLUSTER_FRAME_RESULT);
    const struct rapahub_bytes body = {large, sizeof large};
    struct cluster_payload_body kept;

    (void)state;
    assert_int_equal(cluster_buffers_keep(buffers, body, &kept), 0);
    assert_int_equal(come(&call, body), 0);
    assert_int_equal(links.header.type, CLUSTER_FRAME_NACK);
    assert_int_equal(links.node, 3);
    assert_int_equal(links.header.uid.number, 5);
    assert_int_equal(links.body.nack.reason, CLUSTER_NACK_BUSY);
    assert_int_equal(come(&result, body), RAPAHUB_EBUSY);
    links.status = -ENOTCONN;
    assert_int_equal(come(&call, body), -ENOTCONN);
    cluster_buffers_drop(buffers, kept.number);
}

/* r[verify cluster.node.frames] */
static void so_many_frames_wait_and_no_more(void **state)
{
    const struct cluster_peer_frame call = frame_of(CLUSTER_FRAME_CALL),
                                    result = frame_of(CLUSTER_FRAME_RESULT);

    (void)state;
    for (unsigned i = 0; i < CLUSTER_EVENT_QUEUE_FRAMES_MAX; i++)
        assert_int_equal(come(&result, none), 0);
    assert_int_equal(come(&result, (struct rapahub_bytes){large, sizeof large}), RAPAHUB_EFULL);
    assert_int_equal(come(&call, none), 0);
    assert_int_equal(links.body.nack.reason, CLUSTER_NACK_BUSY);
    cluster_peering_up(peering, 4, 44, 1);
    (void)next(CLUSTER_EVENT_ARRIVED);
    cluster_event_queue_done(events);
    assert_int_equal(come(&call, none), 0);
    for (unsigned i = 0; i < CLUSTER_EVENT_QUEUE_FRAMES_MAX - 1; i++) {
        (void)next(CLUSTER_EVENT_ARRIVED);
        cluster_event_queue_done(events);
    }
    says(CLUSTER_PEER_UP, 4, 44);
    assert_int_equal(next(CLUSTER_EVENT_ARRIVED)->frame->type, CLUSTER_FRAME_CALL);
    cluster_event_queue_done(events);
    assert_int_equal(links.sent, 1);
}

/* r[verify cluster.node.frames] */
static void links_and_frames_are_told_in_their_order(void **state)
{
    const struct cluster_peer_frame nack = frame_of(CLUSTER_FRAME_NACK);

    (void)state;
    cluster_peering_up(peering, 3, 33, 2);
    assert_int_equal(come(&nack, small), 0);
    cluster_peering_lost(peering, 3);
    says(CLUSTER_PEER_UP, 3, 33);
    assert_int_equal(next(CLUSTER_EVENT_ARRIVED)->frame->reason, CLUSTER_NACK_MOVED);
    cluster_event_queue_done(events);
    says(CLUSTER_PEER_LOST, 3, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stage, close_stage)
    const struct CMUnitTest tests[] = {TEST(what_the_core_sends_goes_to_the_link_of_its_node),
                                       TEST(a_call_for_which_a_link_has_no_room_was_not_admitted),
                                       TEST(a_call_that_no_link_can_take_ends),
                                       TEST(a_frame_without_a_link_says_that_it_is_lost),
                                       TEST(a_link_that_does_not_take_an_answer_ends),
                                       TEST(an_answer_that_no_link_can_take_says_that),
                                       TEST(a_frame_that_comes_is_copied_for_the_core),
                                       TEST(garbage_is_refused),
                                       TEST(a_call_for_which_the_node_has_no_room_is_refused),
                                       TEST(so_many_frames_wait_and_no_more),
                                       TEST(links_and_frames_are_told_in_their_order)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
