/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/base/peer_frame.h"
#include "cluster/wire/body.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

#define POOL    UINT64_C(0x0000010000000000)
#define CLIENT  (UINT64_C(1) << 63 | 5)
#define TOKEN   UINT64_C(0x30000)
#define NOW     UINT64_C(5000000000)
#define SECOND  UINT64_C(1000000000)
#define CHAIN   (UINT64_C(1) << 63 | 77)
#define ATTEMPT (CLUSTER_PEER_FRAME_ATTEMPTS - 3)

static uint8_t bytes[4096];

static const struct cluster_peer_frame call = {.node = 2,
                                               .type = CLUSTER_FRAME_CALL,
                                               .ttl = 2,
                                               .maybe = true,
                                               .repeat = true,
                                               .attempt = ATTEMPT,
                                               .uid = {CLIENT, 9},
                                               .pool = POOL,
                                               .container = 3,
                                               .order = 4,
                                               .token = TOKEN,
                                               .lineage = TOKEN | 1,
                                               .revision = 70,
                                               .method = UINT64_C(0xfedcba9876543210),
                                               .chain = CHAIN,
                                               .order_previous = 8,
                                               .done_below = 6,
                                               .deadline_ns = NOW + SECOND},
                                       result = {.node = 2,
                                                 .type = CLUSTER_FRAME_RESULT,
                                                 .attempt = ATTEMPT,
                                                 .uid = {CLIENT, 9},
                                                 .pool = POOL,
                                                 .container = 3,
                                                 .token = TOKEN | 2,
                                                 .lineage = TOKEN | 1,
                                                 .revision = 71,
                                                 .application = 5},
                                       nack = {.node = 2,
                                               .type = CLUSTER_FRAME_NACK,
                                               .reason = CLUSTER_NACK_MOVED,
                                               .attempt = 1,
                                               .uid = {CLIENT, 9},
                                               .pool = POOL,
                                               .container = 3,
                                               .revision = 72,
                                               .lineage = TOKEN,
                                               .epoch = 3,
                                               .owner = 4},
                                       cancel = {.node = 2,
                                                 .type = CLUSTER_FRAME_CANCEL,
                                                 .attempt = 1,
                                                 .uid = {CLIENT, 9},
                                                 .pool = POOL,
                                                 .container = 3};

static size_t put(const struct cluster_peer_frame *frame, struct rapahub_bytes body,
                  struct cluster_frame *header)
{
    uint8_t wire[CLUSTER_FRAME_SIZE];
    struct cluster_frame written;
    struct hub_writer writer;

    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_peer_frame_put(frame, body, NOW, &written, &writer), 0);
    assert_int_equal(written.body_size, writer.size);
    cluster_frame_write(&written, wire);
    assert_int_equal(cluster_frame_read(wire, header), 0);
    return writer.size;
}

static int take(const struct cluster_frame *header, size_t size, struct cluster_peer_frame *out,
                struct rapahub_bytes *body)
{
    const struct cluster_peer_frame_came came = {2, header, {bytes, size}};

    return cluster_peer_frame_read(&came, 2 * NOW, out, body);
}

#define SAME(member) assert_true(a->member == b->member)

/* Member by member: what lies between two of them may differ. */
static void same_frame(const struct cluster_peer_frame *a, const struct cluster_peer_frame *b)
{
    SAME(node), SAME(type), SAME(ttl), SAME(reason);
    SAME(maybe), SAME(repeat), SAME(pinned), SAME(attempt);
    SAME(uid.origin), SAME(uid.number), SAME(pool), SAME(container), SAME(order);
    SAME(token), SAME(lineage), SAME(revision), SAME(method), SAME(digest), SAME(chain);
    SAME(order_previous), SAME(done_below), SAME(deadline_ns), SAME(epoch), SAME(owner);
    SAME(status), SAME(application);
}

static void goes_round(const struct cluster_peer_frame *frame, const char *text)
{
    const struct rapahub_bytes body = {text, strlen(text)};
    struct cluster_peer_frame expected = *frame, read;
    struct cluster_frame header;
    struct rapahub_bytes got;

    assert_int_equal(take(&header, put(frame, body, &header), &read, &got), 0);
    if (frame->type == CLUSTER_FRAME_CALL)
        expected.deadline_ns += NOW; /* time left, by another clock */
    expected.digest = read.digest;
    assert_int_equal(got.size, body.size);
    if (body.size > 0)
        assert_memory_equal(got.data, body.data, body.size);
    same_frame(&read, &expected);
}

/* r[verify cluster.peer.frames] */
static void what_nodes_say_of_a_call_goes_round(void **state)
{
    struct cluster_peer_frame other = call;

    (void)state;
    goes_round(&call, "arguments");
    other.pinned = true;
    other.chain = 0;
    other.order = 0;
    other.order_previous = 0;
    other.maybe = other.repeat = false;
    goes_round(&other, "");
    goes_round(&result, "answer");
    other = result;
    other.status = RAPAHUB_EMAYBE;
    goes_round(&other, "it may have run");
    goes_round(&nack, "it has moved");
    goes_round(&cancel, "");
}

/* r[verify cluster.peer.frames] */
static void the_digest_is_of_the_arguments(void **state)
{
    struct cluster_peer_frame one, other;
    struct cluster_frame header;
    struct rapahub_bytes body;

    (void)state;
    assert_int_equal(
        take(&header, put(&call, (struct rapahub_bytes){"one", 3}, &header), &one, &body), 0);
    assert_int_equal(
        take(&header, put(&call, (struct rapahub_bytes){"two", 3}, &header), &other, &body), 0);
    assert_true(one.digest != other.digest);
}

/* r[verify cluster.peer.frames] */
static void time_that_is_left_has_no_end_beyond_time(void **state)
{
    struct cluster_peer_frame frame = call, read;
    struct cluster_frame header;
    struct rapahub_bytes body;

    (void)state;
    frame.deadline_ns = UINT64_MAX;
    assert_int_equal(
        take(&header, put(&frame, (struct rapahub_bytes){"", 0}, &header), &read, &body), 0);
    assert_true(read.deadline_ns >= UINT64_MAX - 1000 - NOW);
    frame.deadline_ns = NOW - 1;
    assert_int_equal(
        take(&header, put(&frame, (struct rapahub_bytes){"", 0}, &header), &read, &body), 0);
    assert_int_equal(read.deadline_ns, 2 * NOW);
}

static int take_body(uint8_t type, const struct cluster_body *body, uint64_t token, uint64_t pool)
{
    const struct cluster_frame header = {
        .type = type, .uid = {CLIENT, 9}, .pool = pool, .token = token};
    struct cluster_peer_frame out;
    struct rapahub_bytes got;
    struct hub_writer writer;

    hub_writer_init(&writer, bytes, sizeof bytes);
    assert_int_equal(cluster_body_put(&writer, type, body), 0);
    return take(&header, writer.size, &out, &got);
}

/* r[verify cluster.peer.frames] */
static void what_no_node_says_is_refused(void **state)
{
    static const struct cluster_body_member member = {3, TOKEN};
    const struct cluster_body good = {.call = {.method_id = 7}};
    const struct cluster_body calls[] = {
        {.call = {.mode = CLUSTER_MODE_BROADCAST}},
        {.call = {.mode = CLUSTER_MODE_LOCAL}},
        {.call = {.mode = CLUSTER_MODE_HASH, .number = 5}},
        {.call = {.sources = 1}},
        {.call = {.sinks = 1}},
        {.call = {.members = {.of = &member, .count = 1}}},
    };
    const struct cluster_body positive = {.result = {.status = 1}};

    (void)state;
    assert_int_equal(take_body(CLUSTER_FRAME_CALL, &good, TOKEN, POOL), 0);
    assert_int_equal(take_body(CLUSTER_FRAME_CALL, &good, 0, POOL), RAPAHUB_EPROTOCOL);
    assert_int_equal(take_body(CLUSTER_FRAME_CALL, &good, TOKEN, UINT64_C(0xffffffff00000010)),
                     RAPAHUB_EPROTOCOL);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        assert_int_equal(take_body(CLUSTER_FRAME_CALL, &calls[i], TOKEN, POOL), RAPAHUB_EPROTOCOL);
    assert_int_equal(take_body(CLUSTER_FRAME_RESULT, &positive, TOKEN, POOL), RAPAHUB_EPROTOCOL);
    assert_int_equal(
        take_body(CLUSTER_FRAME_EACH, &(struct cluster_body){.result = {.status = 0}}, TOKEN, POOL),
        RAPAHUB_EPROTOCOL);
    assert_int_equal(take_body(CLUSTER_FRAME_ACK, &good, TOKEN, POOL), RAPAHUB_EPROTOCOL);
}

/* Any byte of a body changed, and any end cut off: refused, or read, and never more than is there.
 */
static void bytes_of_a_stranger_do_no_harm(void **state)
{
    const struct cluster_peer_frame *frames[] = {&call, &result, &nack, &cancel};
    struct cluster_peer_frame out;
    struct cluster_frame header;
    struct cluster_peer_frame_came came = {2, &header, {NULL, 0}};
    struct hub_random random;
    struct rapahub_bytes body;

    (void)state;
    hub_random_init(&random, 3);
    for (unsigned i = 0; i < 40000; i++) {
        size_t size = put(frames[i % 4], (struct rapahub_bytes){"some bytes", 10}, &header);
        uint8_t *copy = test_malloc(size + 1);

        memcpy(copy, bytes, size);
        if (size > 0 && i % 3 != 0)
            copy[hub_random_below(&random, size)] = (uint8_t)hub_random_next(&random);
        if (size > 0 && i % 3 != 1)
            size = hub_random_below(&random, size + 1);
        came.body = (struct rapahub_bytes){copy, size};
        if (cluster_peer_frame_read(&came, NOW, &out, &body) == 0)
            assert_true(body.size <= size);
        test_free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nodes_say_of_a_call_goes_round),
        cmocka_unit_test(the_digest_is_of_the_arguments),
        cmocka_unit_test(time_that_is_left_has_no_end_beyond_time),
        cmocka_unit_test(what_no_node_says_is_refused),
        cmocka_unit_test(bytes_of_a_stranger_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
