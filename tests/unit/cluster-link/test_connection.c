/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>

#include "tests/unit/cluster-link/ends.h"

static void a_frame_comes_as_it_was_put(void **state)
{
    const struct cluster_body body = {.nack = {.reason = CLUSTER_NACK_BUSY, .after_ms = 12}};
    struct cluster_frame frame = call_frame;
    struct ends ends;

    (void)state;
    open_ends(&ends, false);
    frame.type = CLUSTER_FRAME_NACK;
    assert_int_equal(cluster_connection_put(ends.one.connection, &frame, &body), 0);
    assert_true(cluster_connection_waits(ends.one.connection));
    assert_int_equal(cluster_connection_events(ends.one.connection), POLLIN | POLLOUT);
    settle(&ends);
    assert_false(cluster_connection_waits(ends.one.connection));
    assert_int_equal(cluster_connection_events(ends.one.connection), POLLIN);
    assert_int_equal(ends.other.frames, 1);
    assert_int_equal(ends.other.frame.type, CLUSTER_FRAME_NACK);
    assert_int_equal(ends.other.frame.uid.number, 9);
    assert_int_equal(ends.other.body.nack.after_ms, 12);
    close_ends(&ends);
}

static void frames_may_be_cut_at_every_byte(void **state)
{
    uint8_t wire[512], *bytes = bytes_of(100, 1);
    const struct cluster_body body = {.call = {.left_us = 1, .arguments = {bytes, 100}}};
    size_t size = write_frame(wire, sizeof wire, call_frame, &body);

    (void)state;
    size += write_frame(wire + size, sizeof wire - size, call_frame, &body);
    for (size_t cut = 0; cut <= size; cut++) {
        struct ends ends;

        open_ends(&ends, true);
        if (cut > 0)
            send_raw(&ends, wire, cut);
        assert_int_equal(dispatch(&ends.one), 0);
        if (cut < size)
            send_raw(&ends, wire + cut, size - cut);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(dispatch(&ends.one), 0);
        assert_int_equal(ends.one.frames, 2);
        assert_int_equal(ends.one.sum, sum_of((struct rapahub_bytes){bytes, 100}));
        close_ends(&ends);
    }
    free(bytes);
}

/* r[verify cluster.link.parts] */
static void a_long_body_goes_in_parts_and_comes_whole(void **state)
{
    static const size_t sizes[] = {0,
                                   1,
                                   CLUSTER_FRAME_BODY_MAX - 40,
                                   CLUSTER_FRAME_BODY_MAX,
                                   CLUSTER_FRAME_BODY_MAX + 1,
                                   2 * CLUSTER_FRAME_BODY_MAX,
                                   2 * CLUSTER_FRAME_BODY_MAX - 30,
                                   (9u << 20) + 12345};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *bytes = bytes_of(sizes[i], i);
        struct ends ends;

        open_ends(&ends, false);
        assert_int_equal(put_call(&ends.one, bytes, sizes[i]), 0);
        settle(&ends);
        assert_int_equal(ends.other.frames, 1);
        assert_int_equal(ends.other.size, sizes[i]);
        assert_int_equal(ends.other.sum, sum_of((struct rapahub_bytes){bytes, sizes[i]}));
        close_ends(&ends);
        free(bytes);
    }
}

/* Also where nothing that fits in a frame of any kind ends at the end of a part. */
static void every_size_around_a_part_gets_through(void **state)
{
    uint8_t *bytes = bytes_of(2 * CLUSTER_FRAME_BODY_MAX, 3);
    struct ends ends;

    (void)state;
    open_ends(&ends, false);
    for (size_t size = CLUSTER_FRAME_BODY_MAX - 70; size < CLUSTER_FRAME_BODY_MAX + 10; size++) {
        uint32_t before = ends.other.frames;

        assert_int_equal(put_call(&ends.one, bytes, size), 0);
        for (unsigned i = 0; i < 40 && ends.other.frames == before; i++) {
            assert_int_equal(dispatch(&ends.one), 0);
            assert_int_equal(dispatch(&ends.other), 0);
        }
        assert_int_equal(ends.other.size, size);
    }
    close_ends(&ends);
    free(bytes);
}

static void a_body_above_its_limit_is_not_sent(void **state)
{
    uint8_t *bytes = bytes_of(ENDS_BODY_MAX, 3);
    struct ends ends;

    (void)state;
    open_ends(&ends, false);
    assert_int_equal(put_call(&ends.one, bytes, ENDS_BODY_MAX), RAPAHUB_EMSGSIZE);
    assert_int_equal(put_call(&ends.one, bytes, 10), 0);
    settle(&ends);
    assert_int_equal(ends.other.size, 10);
    close_ends(&ends);
    free(bytes);
}

/* r[verify cluster.link.credit] */
static void without_credit_a_call_is_not_taken_and_then_it_is(void **state)
{
    const size_t size = 1u << 20;
    uint8_t *bytes = bytes_of(size, 3);
    struct ends ends;
    unsigned put = 0;
    int r = 0;

    (void)state;
    open_ends(&ends, false);
    for (; r == 0 && put < 100; put++)
        r = put_call(&ends.one, bytes, size);
    assert_int_equal(r, RAPAHUB_EAGAIN);
    put--;
    assert_int_equal(put, CLUSTER_CONNECTION_CREDIT / size);
    assert_int_equal(ends.one.credits, 0);
    settle(&ends);
    assert_int_equal(ends.other.frames, put);
    assert_int_equal(ends.one.credits, 1);
    assert_int_equal(put_call(&ends.one, bytes, size), 0);
    settle(&ends);
    assert_int_equal(ends.other.frames, put + 1);
    close_ends(&ends);
    free(bytes);
}

static void a_frame_that_needs_no_credit_is_taken_without(void **state)
{
    uint8_t *bytes = bytes_of(9u << 20, 3);
    struct cluster_frame frame = call_frame;
    struct ends ends;

    (void)state;
    open_ends(&ends, false);
    frame.type = CLUSTER_FRAME_CANCEL;
    assert_int_equal(put_call(&ends.one, bytes, 9u << 20), 0);
    assert_int_equal(put_call(&ends.one, bytes, 1), RAPAHUB_EAGAIN);
    assert_int_equal(cluster_connection_put(ends.one.connection, &frame, &(struct cluster_body){0}),
                     0);
    settle(&ends);
    assert_int_equal(ends.other.frames, 2);
    close_ends(&ends);
    free(bytes);
}

/* r[verify cluster.link.alive] */
static void a_silent_side_is_asked_once_and_answers(void **state)
{
    uint64_t then = hub_clock_now();
    struct ends ends;

    (void)state;
    open_ends(&ends, false);
    assert_true(cluster_connection_due(ends.one.connection) <= hub_clock_now() + HUB_SECOND);
    then = cluster_connection_due(ends.one.connection);
    assert_int_equal(cluster_connection_dispatch(ends.one.connection, then - 1), 0);
    assert_int_equal(dispatch(&ends.other), 0);
    assert_true(cluster_connection_due(ends.other.connection) < then + HUB_SECOND / 2);
    assert_int_equal(cluster_connection_dispatch(ends.one.connection, then), 0);
    assert_int_equal(cluster_connection_due(ends.one.connection), HUB_NEVER);
    assert_int_equal(cluster_connection_dispatch(ends.other.connection, then + 5), 0);
    assert_int_equal(cluster_connection_due(ends.other.connection), then + 5 + HUB_SECOND);
    assert_int_equal(cluster_connection_dispatch(ends.one.connection, then + 9), 0);
    assert_int_equal(cluster_connection_due(ends.one.connection), then + 9 + HUB_SECOND);
    assert_int_equal(ends.one.frames + ends.other.frames, 0);
    close_ends(&ends);
}

/* r[verify cluster.link.silent] */
static void a_side_that_stays_silent_is_given_up(void **state)
{
    struct ends ends = {.raw = -1, .silent_ns = 5 * HUB_SECOND};
    uint64_t then;

    (void)state;
    open_both(&ends, true);
    then = cluster_connection_due(ends.one.connection);
    assert_int_equal(cluster_connection_dispatch(ends.one.connection, then), 0);
    assert_int_equal(cluster_connection_due(ends.one.connection), then + 4 * HUB_SECOND);
    assert_int_equal(cluster_connection_dispatch(ends.one.connection, then + 4 * HUB_SECOND - 1),
                     0);
    assert_int_equal(cluster_connection_dispatch(ends.one.connection, then + 4 * HUB_SECOND),
                     RAPAHUB_ETIMEDOUT);
    assert_string_equal(rapahub_last_error()->rule, "cluster.link.silent");
    close_ends(&ends);
}

/* A frame that is left comes again, after what waits to be sent is away. */
static void leave_a_frame(size_t size)
{
    uint8_t *bytes = bytes_of(size, 4);
    struct ends ends;

    open_ends(&ends, false);
    ends.other.answer = CLUSTER_CONNECTION_LATER;
    ends.other.answers = 3;
    assert_int_equal(put_call(&ends.one, bytes, size), 0);
    assert_int_equal(put_call(&ends.one, bytes, 5), 0);
    while (ends.other.answers == 3) {
        assert_int_equal(dispatch(&ends.one), 0);
        assert_int_equal(dispatch(&ends.other), 0);
    }
    assert_int_equal(cluster_connection_due(ends.other.connection), 0);
    assert_int_equal(put_call(&ends.other, bytes, 8), 0);
    assert_int_equal(cluster_connection_events(ends.other.connection), POLLOUT);
    assert_int_equal(ends.other.frames, 0);
    settle(&ends);
    assert_int_equal(ends.other.frames, 2);
    assert_int_equal(ends.other.size, 5);
    assert_int_equal(ends.one.size, 8);
    close_ends(&ends);
    free(bytes);
}

static void a_frame_that_is_left_comes_again(void **state)
{
    (void)state;
    leave_a_frame(20);
    leave_a_frame(CLUSTER_FRAME_BODY_MAX + 10);
    leave_a_frame(3 * CLUSTER_FRAME_BODY_MAX);
}

static void the_failure_of_the_hook_ends_the_connection(void **state)
{
    struct ends ends;

    (void)state;
    open_ends(&ends, false);
    ends.other.answer = RAPAHUB_EACCES;
    ends.other.answers = 1;
    assert_int_equal(put_call(&ends.one, NULL, 0), 0);
    assert_int_equal(dispatch(&ends.one), 0);
    assert_int_equal(dispatch(&ends.other), RAPAHUB_EACCES);
    close_ends(&ends);
}

static void a_hang_up_is_told_after_what_came_before_it(void **state)
{
    struct ends ends;

    (void)state;
    open_ends(&ends, false);
    assert_int_equal(put_call(&ends.one, NULL, 0), 0);
    assert_int_equal(cluster_connection_flush(ends.one.connection), 0);
    cluster_connection_release(&ends.one.connection);
    assert_int_equal(put_call(&ends.other, NULL, 0), 0); /* nobody reads it */
    assert_int_equal(dispatch(&ends.other), RAPAHUB_ECLOSED);
    assert_int_equal(ends.other.frames, 1);
    close_ends(&ends);
}

/* ---- descriptors ---- */

static void put_segment(struct ends *ends, const int fds[2])
{
    assert_int_equal(
        cluster_connection_put_descriptors(ends->one.connection,
                                           &(struct cluster_frame){.type = CLUSTER_FRAME_SHARED},
                                           &(struct cluster_body){.shared = {.peer = 9}}, fds),
        0);
}

static void make_pipe(int fds[2], char mark)
{
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], &mark, 1), 1);
}

static void assert_pipe(const int fds[2], char mark)
{
    char got = 0;

    assert_int_equal(read(fds[0], &got, 1), 1);
    assert_int_equal(got, mark);
    close(fds[0]);
    close(fds[1]);
}

/* Other frames are before and after it, and more than the socket takes at once. */
static void descriptors_come_with_their_frame(void **state)
{
    struct cluster_connection *other;
    uint8_t *bytes = bytes_of(3u << 20, 5);
    struct ends ends = {.raw = -1};
    int fds[2], got[2];

    (void)state;
    open_ends_with(&ends, true);
    other = ends.other.connection;
    for (char round = 'a'; round < 'f'; round++) {
        make_pipe(fds, round);
        assert_int_equal(put_call(&ends.one, bytes, 2u << 20), 0);
        put_segment(&ends, fds);
        assert_int_equal(put_call(&ends.one, bytes, 1000), 0);
        settle(&ends);
        assert_true(cluster_connection_take_descriptors(other, got));
        assert_false(cluster_connection_take_descriptors(other, got));
        assert_int_equal(fcntl(got[0], F_GETFD), FD_CLOEXEC);
        assert_pipe(got, round);
    }
    assert_int_equal(ends.other.frames, 15);
    close_ends(&ends);
    free(bytes);
}

/* Reads so many bytes at most, and the descriptors that come with them. */
static void read_raw(const struct ends *ends, size_t most, int fds[2])
{
    char bytes[4096], control[CMSG_SPACE(2 * sizeof(int))];
    struct iovec part = {bytes, most};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};

    assert_true(recvmsg(ends->raw, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) > 0);
    fds[0] = -1;
    if (CMSG_FIRSTHDR(&message))
        memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), 2 * sizeof(int));
}

static void descriptors_go_with_the_first_byte_of_their_frame(void **state)
{
    const struct cluster_frame ping = {.type = CLUSTER_FRAME_PING};
    struct ends ends;
    int fds[2];

    (void)state;
    open_ends(&ends, true);
    assert_int_equal(cluster_connection_put(ends.one.connection, &ping, &(struct cluster_body){0}),
                     0);
    make_pipe(fds, 'x');
    put_segment(&ends, fds);
    assert_int_equal(cluster_connection_put(ends.one.connection, &ping, &(struct cluster_body){0}),
                     0);
    assert_int_equal(cluster_connection_flush(ends.one.connection), 0);
    read_raw(&ends, CLUSTER_FRAME_SIZE, fds);
    assert_int_equal(fds[0], -1);
    read_raw(&ends, 1, fds);
    assert_pipe(fds, 'x');
    close_ends(&ends);
}

/* Also where they were not taken, or not sent: the guard of descriptors would tell. */
static void descriptors_are_closed_where_nobody_takes_them(void **state)
{
    const struct cluster_frame frame = {.type = CLUSTER_FRAME_SHARED};
    const struct cluster_body wrong = {.shared = {.status = 1}};
    struct ends ends = {.raw = -1};
    int fds[2];

    (void)state;
    open_ends_with(&ends, true);
    for (unsigned i = 0; i < 2; i++) { /* the second finds no room */
        make_pipe(fds, 'x');
        put_segment(&ends, fds);
        settle(&ends);
    }
    make_pipe(fds, 'x');
    put_segment(&ends, fds); /* stays unsent */
    make_pipe(fds, 'x');
    assert_int_equal(cluster_connection_put_descriptors(ends.one.connection, &frame, &wrong, fds),
                     RAPAHUB_EBUSY);
    close_ends(&ends);
    open_ends_with(&ends, false);
    make_pipe(fds, 'x');
    assert_int_equal(cluster_connection_put_descriptors(ends.one.connection, &frame, &wrong, fds),
                     RAPAHUB_EINVAL);
    make_pipe(fds, 'x');
    put_segment(&ends, fds); /* the other end takes none */
    settle(&ends);
    assert_false(cluster_connection_take_descriptors(ends.other.connection, fds));
    assert_int_equal(ends.other.frames, 1);
    close_ends(&ends);
}

/* Calls of random sizes in both directions, each sent where it is taken. */
static void all_that_is_sent_comes_in_order(void **state)
{
    uint8_t *bytes = bytes_of(3u << 20, 5);
    uint32_t sent[2] = {0};
    struct hub_random random;
    struct ends ends;

    (void)state;
    hub_random_init(&random, 11);
    open_ends(&ends, false);
    for (unsigned round = 0; round < 3000; round++) {
        struct end *end = hub_random_below(&random, 2) ? &ends.one : &ends.other;
        size_t most = hub_random_below(&random, 30) == 0 ? 3u << 20 : 3000;

        switch (hub_random_below(&random, 3)) {
        case 0:
            sent[end == &ends.other] += put_call(end, bytes, hub_random_below(&random, most)) == 0;
            break;
        default:
            assert_int_equal(dispatch(end), 0);
        }
    }
    for (unsigned i = 0; i < 20; i++)
        settle(&ends);
    assert_true(sent[0] > 100 && sent[1] > 100);
    assert_int_equal(ends.other.frames, sent[0]);
    assert_int_equal(ends.one.frames, sent[1]);
    close_ends(&ends);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_comes_as_it_was_put),
        cmocka_unit_test(frames_may_be_cut_at_every_byte),
        cmocka_unit_test(a_long_body_goes_in_parts_and_comes_whole),
        cmocka_unit_test(every_size_around_a_part_gets_through),
        cmocka_unit_test(a_body_above_its_limit_is_not_sent),
        cmocka_unit_test(without_credit_a_call_is_not_taken_and_then_it_is),
        cmocka_unit_test(a_frame_that_needs_no_credit_is_taken_without),
        cmocka_unit_test(a_silent_side_is_asked_once_and_answers),
        cmocka_unit_test(a_side_that_stays_silent_is_given_up),
        cmocka_unit_test(a_frame_that_is_left_comes_again),
        cmocka_unit_test(the_failure_of_the_hook_ends_the_connection),
        cmocka_unit_test(a_hang_up_is_told_after_what_came_before_it),
        cmocka_unit_test(descriptors_come_with_their_frame),
        cmocka_unit_test(descriptors_go_with_the_first_byte_of_their_frame),
        cmocka_unit_test(descriptors_are_closed_where_nobody_takes_them),
        cmocka_unit_test(all_that_is_sent_comes_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
