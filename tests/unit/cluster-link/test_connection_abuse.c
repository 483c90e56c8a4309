/* SPDX-License-Identifier: Apache-2.0 */
/* A connection whose other side keeps to no rule. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>

#include "hub/base/crc32c.h"
#include "tests/unit/cluster-link/ends.h"

/* The connection ends by this rule. Until then it may take a few turns. */
static void ends_by(struct ends *ends, int code, const char *rule)
{
    int r = 0;

    for (unsigned i = 0; i < 200 && r == 0; i++)
        r = dispatch(&ends->one);
    assert_int_equal(r, code);
    assert_string_equal(rapahub_last_error()->rule, rule);
    close_ends(ends);
}

static void send_header(const struct ends *ends, struct cluster_frame frame)
{
    uint8_t header[CLUSTER_FRAME_SIZE];

    cluster_frame_write(&frame, header);
    send_raw(ends, header, sizeof header);
}

static void send_body(const struct ends *ends, struct cluster_frame frame,
                      const struct cluster_body *body)
{
    uint8_t wire[4096];

    send_raw(ends, wire, write_frame(wire, sizeof wire, frame, body));
}

/* r[verify cluster.frame.checksum] */
static void garbage_and_a_wrong_checksum_end_it(void **state)
{
    uint8_t wire[CLUSTER_FRAME_SIZE] = "GET / HTTP/1.1";
    struct ends ends;

    (void)state;
    open_ends(&ends, true);
    send_raw(&ends, wire, sizeof wire);
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.frame.checksum");
    for (unsigned bit = 0; bit < 8 * CLUSTER_FRAME_SIZE; bit += 5) {
        cluster_frame_write(&(struct cluster_frame){.type = CLUSTER_FRAME_PING}, wire);
        wire[bit / 8] ^= (uint8_t)(1u << bit % 8);
        open_ends(&ends, true);
        send_raw(&ends, wire, sizeof wire);
        ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.frame.checksum");
    }
}

static void headers_that_cannot_be_end_it(void **state)
{
    struct cluster_frame frame = call_frame;
    struct ends ends;

    (void)state;
    frame.body_size = UINT32_MAX;
    open_ends(&ends, true);
    send_header(&ends, frame);
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.frame.size");

    open_ends(&ends, true);
    send_header(&ends, (struct cluster_frame){.type = 99});
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.frame.type");

    open_ends(&ends, true);
    send_header(&ends, (struct cluster_frame){.type = CLUSTER_FRAME_CALL});
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.frame.members");

    open_ends(&ends, true); /* a call without a body */
    frame.body_size = 0;
    send_header(&ends, frame);
    ends_by(&ends, RAPAHUB_EFORMAT, "cluster.wire.strict");

    open_ends(&ends, true); /* streams are of other connections */
    send_header(&ends, (struct cluster_frame){.type = CLUSTER_FRAME_BULK_DONE, .stream = 1});
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.frame.type");

    open_ends(&ends, true);
    send_header(&ends, (struct cluster_frame){.type = CLUSTER_FRAME_PING, .body_size = 1});
    send_raw(&ends, "x", 1);
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.wire.strict");
}

/* r[verify cluster.frame.type] */
static void a_type_of_a_later_release_is_passed_over(void **state)
{
    uint8_t body[300] = {0};
    struct ends ends;

    (void)state;
    open_ends(&ends, true);
    send_header(&ends, (struct cluster_frame){.type = 200, .body_size = sizeof body});
    send_raw(&ends, body, sizeof body);
    send_body(&ends, call_frame, &(struct cluster_body){.call = {.left_us = 1}});
    assert_int_equal(dispatch(&ends.one), 0);
    assert_int_equal(ends.one.frames, 1);
    close_ends(&ends);
}

static void half_a_frame_waits_for_ever_and_ends_by_the_hang_up(void **state)
{
    uint8_t wire[256];
    struct ends ends;
    size_t size =
        write_frame(wire, sizeof wire, call_frame, &(struct cluster_body){.call = {.left_us = 1}});

    (void)state;
    for (size_t part = 0; part < size; part++) {
        open_ends(&ends, true);
        if (part > 0)
            send_raw(&ends, wire, part);
        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(dispatch(&ends.one), 0);
        assert_int_equal(shutdown(ends.raw, SHUT_WR), 0);
        ends_by(&ends, RAPAHUB_ECLOSED, "");
    }
}

/* ---- parts ---- */

static void send_part(struct ends *ends, struct cluster_frame frame, uint8_t flags, uint32_t size)
{
    static uint8_t zeros[CLUSTER_FRAME_BODY_MAX];
    size_t sent = 0;

    frame.flags = flags;
    frame.body_size = size;
    send_header(ends, frame);
    while (sent < size) {
        ssize_t n = send(ends->raw, zeros, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0)
            sent += (size_t)n;
        if (dispatch(&ends->one) < 0)
            return;
    }
}

#define BOTH (CLUSTER_FRAME_FIRST | CLUSTER_FRAME_MORE)

/* r[verify cluster.link.parts] */
static void parts_that_are_none_end_it(void **state)
{
    struct cluster_frame other = call_frame;
    struct ends ends;

    (void)state;
    other.uid.number++;
    open_ends(&ends, true);
    send_part(&ends, call_frame, CLUSTER_FRAME_FIRST, 0);
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.link.parts");
    open_ends(&ends, true);
    send_part(&ends, call_frame, CLUSTER_FRAME_MORE, 0);
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.link.parts");
    open_ends(&ends, true);
    send_part(&ends, call_frame, BOTH, 0);
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.link.parts");
    open_ends(&ends, true);
    send_part(&ends, call_frame, BOTH, CLUSTER_FRAME_BODY_MAX - 1);
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.link.parts");
    open_ends(&ends, true);
    send_part(&ends, call_frame, BOTH, CLUSTER_FRAME_BODY_MAX);
    send_part(&ends, other, 0, 0);
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.link.parts");
    open_ends(&ends, true);
    send_part(&ends, call_frame, BOTH, CLUSTER_FRAME_BODY_MAX);
    send_part(&ends, call_frame, BOTH, 0);
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.link.parts");
}

/* r[verify cluster.link.parts] */
static void parts_that_never_end_do(void **state)
{
    struct ends ends;
    unsigned parts = 0;

    (void)state;
    open_ends(&ends, true);
    send_part(&ends, call_frame, BOTH, CLUSTER_FRAME_BODY_MAX);
    while (parts < 1000 && dispatch(&ends.one) == 0) {
        send_part(&ends, call_frame, CLUSTER_FRAME_MORE, CLUSTER_FRAME_BODY_MAX);
        parts++;
    }
    assert_int_equal(parts, ENDS_BODY_MAX / CLUSTER_FRAME_BODY_MAX);
    close_ends(&ends);
}

/* Between the parts of a body frames of other kinds may come. r[verify cluster.link.parts]
 * r[verify cluster.link.alive] */
static void a_ping_between_parts_is_answered(void **state)
{
    uint8_t header[CLUSTER_FRAME_SIZE];
    struct cluster_frame frame;
    struct ends ends;

    (void)state;
    open_ends(&ends, true);
    send_part(&ends, call_frame, BOTH, CLUSTER_FRAME_BODY_MAX);
    send_header(&ends, (struct cluster_frame){.type = CLUSTER_FRAME_PING});
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(dispatch(&ends.one), 0);
    assert_int_equal(recv(ends.raw, header, sizeof header, MSG_DONTWAIT), sizeof header);
    assert_int_equal(cluster_frame_read(header, &frame), 0);
    assert_int_equal(frame.type, CLUSTER_FRAME_PONG);
    close_ends(&ends);
}

/* r[verify cluster.link.parts] */
static void the_memory_of_parts_comes_from_the_budget(void **state)
{
    struct hub_budget *budget = hub_budget_create(3u << 20);
    struct ends ends;
    int fds[2], r = 0;

    (void)state;
    open_ends(&ends, true);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    cluster_connection_release(&ends.one.connection);
    close(ends.raw);
    ends.raw = fds[1];
    open_end(&ends, &ends.one, fds[0], budget);
    send_part(&ends, call_frame, BOTH, CLUSTER_FRAME_BODY_MAX);
    assert_int_equal(hub_load_relaxed64(&budget->used), 1u << 20);
    for (unsigned i = 0; i < 20 && r == 0; i++) {
        send_part(&ends, call_frame, CLUSTER_FRAME_MORE, CLUSTER_FRAME_BODY_MAX);
        r = dispatch(&ends.one);
    }
    assert_int_equal(r, RAPAHUB_EBUDGET);
    close_ends(&ends);
    assert_int_equal(hub_load_relaxed64(&budget->used), 0);
    hub_budget_drop(&budget);
}

/* ---- greed ---- */

/* r[verify cluster.link.credit] */
static void who_sends_beyond_its_credit_is_cut_off(void **state)
{
    const struct cluster_body body = {.credit = {CLUSTER_CREDIT_CALLS, 1}};
    struct ends ends;

    (void)state;
    open_ends(&ends, true);
    send_body(&ends, (struct cluster_frame){.type = CLUSTER_FRAME_CREDIT}, &body);
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.link.credit");
    open_ends(&ends, true);
    send_body(&ends, (struct cluster_frame){.type = CLUSTER_FRAME_CREDIT},
              &(struct cluster_body){.credit = {CLUSTER_CREDIT_BULK, 1}});
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.link.credit");
    open_ends(&ends, true);
    send_body(&ends, (struct cluster_frame){.type = CLUSTER_FRAME_CREDIT, .stream = 4}, &body);
    ends_by(&ends, RAPAHUB_EPROTOCOL, "cluster.link.credit");
}

/* r[verify cluster.link.queue] */
static void who_asks_and_never_reads_is_cut_off(void **state)
{
    uint8_t pings[64 * CLUSTER_FRAME_SIZE];
    struct ends ends;
    uint64_t sent = 0;
    int r = 0;

    (void)state;
    for (size_t at = 0; at < sizeof pings; at += CLUSTER_FRAME_SIZE)
        cluster_frame_write(&(struct cluster_frame){.type = CLUSTER_FRAME_PING}, pings + at);
    open_ends(&ends, true);
    while (r == 0 && sent < 4 * CLUSTER_CONNECTION_CONTROL_MAX) {
        send_raw(&ends, pings, sizeof pings);
        sent += sizeof pings;
        r = dispatch(&ends.one);
    }
    assert_int_equal(r, RAPAHUB_EFULL);
    assert_string_equal(rapahub_last_error()->rule, "cluster.link.queue");
    assert_true(sent < 2 * CLUSTER_CONNECTION_CONTROL_MAX);
    close_ends(&ends);
}

/* What was read is not counted, however much of it there was. */
static void who_reads_may_ask_for_ever(void **state)
{
    uint8_t pings[64 * CLUSTER_FRAME_SIZE], pongs[sizeof pings];
    struct ends ends;

    (void)state;
    for (size_t at = 0; at < sizeof pings; at += CLUSTER_FRAME_SIZE)
        cluster_frame_write(&(struct cluster_frame){.type = CLUSTER_FRAME_PING}, pings + at);
    open_ends(&ends, true);
    send_raw(&ends, pings, sizeof pings); /* so that some always wait, and a frame is cut */
    for (uint64_t sent = 0; sent < 2 * CLUSTER_CONNECTION_CONTROL_MAX; sent += sizeof pings) {
        send_raw(&ends, pings, sizeof pings);
        assert_int_equal(dispatch(&ends.one), 0);
        assert_int_equal(recv(ends.raw, pongs, sizeof pongs - 7, MSG_DONTWAIT), sizeof pongs - 7);
        assert_int_equal(recv(ends.raw, pongs, 7, MSG_DONTWAIT), 7);
    }
    close_ends(&ends);
}

static void descriptors_are_closed_and_change_nothing(void **state)
{
    uint8_t wire[CLUSTER_FRAME_SIZE];
    struct iovec piece = {wire, sizeof wire};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.room};
    struct pollfd end = {.events = POLLIN};
    struct ends ends;
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    cluster_frame_write(&(struct cluster_frame){.type = CLUSTER_FRAME_PING}, wire);
    control.head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &fds[1], sizeof(int));
    open_ends(&ends, true);
    assert_int_equal(sendmsg(ends.raw, &message, 0), sizeof wire);
    close(fds[1]);
    assert_int_equal(dispatch(&ends.one), 0);
    end.fd = fds[0];
    assert_int_equal(poll(&end, 1, 5000), 1); /* the last writer is gone */
    assert_int_equal(recv(ends.raw, wire, sizeof wire, MSG_DONTWAIT), sizeof wire);
    close(fds[0]);
    close_ends(&ends);
}

/* Frames of which some bits are turned, with a checksum that is right: nothing but a refusal or
 * silence comes of them. */
static void random_frames_do_no_harm(void **state)
{
    struct hub_random random;
    unsigned refused = 0;

    (void)state;
    hub_random_init(&random, 2024);
    for (unsigned round = 0; round < 3000; round++) {
        uint8_t wire[512] = {0};
        const struct cluster_body body = {.call = {.left_us = 7, .arguments = {"abcdefgh", 8}}};
        size_t size = write_frame(wire, sizeof wire, call_frame, &body);
        uint32_t checksum;
        struct ends ends;
        int r = 0;

        for (uint64_t turned = hub_random_below(&random, 4); turned > 0; turned--)
            wire[hub_random_below(&random, size)] ^= (uint8_t)(1u << hub_random_below(&random, 8));
        checksum = hub_crc32c(0, wire, CLUSTER_FRAME_SIZE - 4);
        memcpy(wire + CLUSTER_FRAME_SIZE - 4, &checksum, sizeof checksum);
        open_ends(&ends, true);
        send_raw(&ends, wire, size);
        for (unsigned i = 0; i < 3 && r == 0; i++)
            r = dispatch(&ends.one);
        assert_true(r == 0 || r == RAPAHUB_EPROTOCOL || r == RAPAHUB_EFORMAT);
        refused += r != 0;
        close_ends(&ends);
    }
    assert_true(refused > 500 && refused < 2900);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(garbage_and_a_wrong_checksum_end_it),
        cmocka_unit_test(headers_that_cannot_be_end_it),
        cmocka_unit_test(a_type_of_a_later_release_is_passed_over),
        cmocka_unit_test(half_a_frame_waits_for_ever_and_ends_by_the_hang_up),
        cmocka_unit_test(parts_that_are_none_end_it),
        cmocka_unit_test(parts_that_never_end_do),
        cmocka_unit_test(a_ping_between_parts_is_answered),
        cmocka_unit_test(the_memory_of_parts_comes_from_the_budget),
        cmocka_unit_test(who_sends_beyond_its_credit_is_cut_off),
        cmocka_unit_test(who_asks_and_never_reads_is_cut_off),
        cmocka_unit_test(who_reads_may_ask_for_ever),
        cmocka_unit_test(descriptors_are_closed_and_change_nothing),
        cmocka_unit_test(random_frames_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
