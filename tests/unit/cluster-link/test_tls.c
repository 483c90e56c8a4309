/* SPDX-License-Identifier: Apache-2.0 */
/* What goes through a link by TLS, and what ends it. */
#include <malloc.h>
#include <poll.h>

#include "cluster/link/tcp.h"
#include "tests/unit/cluster-link/tls_stage.h"

static void open_tls_end(struct ends *ends, struct end *end, int fd, struct cluster_tls *session)
{
    const struct cluster_connection_options options = {.body_max = ENDS_BODY_MAX,
                                                       .ping_ns = CLUSTER_TLS_PING_NS,
                                                       .silent_ns = CLUSTER_TLS_SILENT_NS,
                                                       .closer = ends->closer,
                                                       .transport = &cluster_tls_table,
                                                       .session = session};

    assert_int_equal(cluster_connection_create(fd, &options, &note_hooks, end, &end->connection),
                     0);
}

/* One is the client, other the node. */
static void open_tls_ends(struct ends *ends, const struct stage *stage, const int fds[2])
{
    *ends = (struct ends){.raw = -1};
    assert_int_equal(hub_closer_create(&ends->closer), 0);
    open_tls_end(ends, &ends->one, fds[0], session_of(stage->ana, fds[0], CLUSTER_TLS_CLIENT));
    open_tls_end(ends, &ends->other, fds[1], session_of(stage->node, fds[1], CLUSTER_TLS_SERVER));
}

static void make_tcp_pair(int fds[2])
{
    struct cluster_host_port at;
    struct cluster_host_port_address address, from;
    int listener;

    assert_int_equal(cluster_host_port_parse("127.0.0.1:0", &at), 0);
    assert_true(cluster_host_port_in_numbers(&at, &address));
    assert_int_equal(cluster_tcp_listen(&address, &listener), 0);
    assert_int_equal(cluster_tcp_connect(&address, &fds[0]), 0);
    assert_int_equal(poll(&(struct pollfd){.fd = listener, .events = POLLIN}, 1, 5000), 1);
    assert_int_equal(cluster_tcp_accept(listener, &fds[1], &from), 1);
    close(listener);
}

/* Over TCP bytes take a moment: waits until nothing is to be done for 20 ms. */
static void settle_tcp(struct ends *ends, uint32_t frames)
{
    uint64_t until = hub_clock_after(20 * HUB_SECOND);

    while (ends->other.frames < frames && hub_clock_left(until) > 0) {
        struct pollfd fds[] = {{.fd = cluster_connection_fd(ends->one.connection),
                                .events = cluster_connection_events(ends->one.connection)},
                               {.fd = cluster_connection_fd(ends->other.connection),
                                .events = cluster_connection_events(ends->other.connection)}};
        bool due = cluster_connection_due(ends->one.connection) == 0 ||
                   cluster_connection_due(ends->other.connection) == 0;

        (void)poll(fds, 2, due ? 0 : 20);
        assert_int_equal(dispatch(&ends->one), 0);
        assert_int_equal(dispatch(&ends->other), 0);
    }
}

/* ---- what goes through ---- */

/* r[verify cluster.link.tls] */
static void calls_of_all_sizes_get_through(void **state)
{
    static const size_t sizes[] = {0, 1, 16384, 16385, CLUSTER_FRAME_BODY_MAX + 1, 5u << 20};
    struct stage stage;
    struct ends ends;
    int fds[2];

    (void)state;
    open_stage(&stage);
    make_pair(fds);
    open_tls_ends(&ends, &stage, fds);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *bytes = bytes_of(sizes[i], i);

        assert_int_equal(put_call(&ends.one, bytes, sizes[i]), 0);
        settle(&ends);
        assert_int_equal(ends.other.frames, i + 1);
        assert_int_equal(ends.other.sum, sum_of((struct rapahub_bytes){bytes, sizes[i]}));
        free(bytes);
    }
    close_ends(&ends);
    close_stage(&stage);
}

static void calls_get_through_over_tcp(void **state)
{
    uint8_t *bytes = bytes_of(3u << 20, 1);
    struct stage stage;
    struct ends ends;
    int fds[2];

    (void)state;
    open_stage(&stage);
    make_tcp_pair(fds);
    open_tls_ends(&ends, &stage, fds);
    for (uint32_t i = 1; i < 20; i++) {
        assert_int_equal(put_call(&ends.one, bytes, (size_t)i << 17), 0);
        settle_tcp(&ends, i);
        assert_int_equal(ends.other.frames, i);
        assert_int_equal(ends.other.sum, sum_of((struct rapahub_bytes){bytes, (size_t)i << 17}));
    }
    close_ends(&ends);
    close_stage(&stage);
    free(bytes);
}

/* A record may have more than is read at once, and poll does not see the rest. */
static void bytes_that_a_session_has_are_asked_for(void **state)
{
    uint8_t *bytes = bytes_of(100000, 1);
    struct pollfd fd = {.events = POLLIN};
    struct stage stage;
    struct ends ends;
    int fds[2];

    (void)state;
    open_stage(&stage);
    make_pair(fds);
    open_tls_ends(&ends, &stage, fds);
    settle(&ends);
    assert_int_equal(put_call(&ends.one, bytes, 100000), 0);
    assert_int_equal(dispatch(&ends.one), 0);
    fd.fd = cluster_connection_fd(ends.other.connection);
    while (cluster_connection_due(ends.other.connection) == 0 || poll(&fd, 1, 0) > 0)
        assert_int_equal(dispatch(&ends.other), 0);
    assert_int_equal(ends.other.frames, 1);
    close_ends(&ends);
    close_stage(&stage);
    free(bytes);
}

/* The first reason is told, and not what follows from it. */
static void a_side_that_speaks_no_tls_is_told_apart(void **state)
{
    static const char hello[] = "SSH-2.0-OpenSSH_9.2\r\n";
    struct stage stage;
    struct ends ends = {.raw = -1};
    char first[200];
    int fds[2];

    (void)state;
    open_stage(&stage);
    make_pair(fds);
    assert_int_equal(hub_closer_create(&ends.closer), 0);
    open_tls_end(&ends, &ends.one, fds[0], session_of(stage.ana, fds[0], CLUSTER_TLS_CLIENT));
    assert_int_equal(put_call(&ends.one, (uint8_t[]){1}, 1), 0);
    assert_int_equal(send(fds[1], hello, sizeof hello, 0), (ssize_t)sizeof hello);
    assert_int_equal(dispatch(&ends.one), RAPAHUB_EPROTOCOL);
    snprintf(first, sizeof first, "%s", rapahub_last_error()->text);
    assert_non_null(strstr(first, "does not speak TLS 1.3: wrong version"));
    assert_int_equal(dispatch(&ends.one), RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->text, first);
    close(fds[1]);
    close_ends(&ends);
    close_stage(&stage);
}

/* Passes bytes on, at most so many at a time. Returns whether there were any. */
static bool relay(int from, int to, size_t most)
{
    char bytes[4096];
    ssize_t n = recv(from, bytes, most, MSG_DONTWAIT);

    if (n > 0)
        assert_int_equal(send(to, bytes, (size_t)n, MSG_NOSIGNAL), n);
    return n > 0;
}

/* One byte at a time, the handshake too. */
static void records_may_be_cut_at_every_byte(void **state)
{
    struct stage stage;
    struct ends ends;
    int one[2], other[2], fds[2];

    (void)state;
    open_stage(&stage);
    make_pair(one);
    make_pair(other);
    fds[0] = one[0];
    fds[1] = other[0];
    open_tls_ends(&ends, &stage, fds);
    assert_int_equal(put_call(&ends.one, (uint8_t[]){1, 2, 3}, 3), 0);
    for (unsigned i = 0; i < 20000 && ends.other.frames == 0; i++) {
        assert_int_equal(dispatch(&ends.one), 0);
        assert_int_equal(dispatch(&ends.other), 0);
        (void)relay(one[1], other[1], 1);
        (void)relay(other[1], one[1], 1);
    }
    assert_int_equal(ends.other.frames, 1);
    assert_int_equal(ends.other.size, 3);
    close(one[1]);
    close(other[1]);
    close_ends(&ends);
    close_stage(&stage);
}

static void a_hang_up_is_told(void **state)
{
    struct stage stage;
    struct ends ends;
    struct cluster_tls *tls;
    int fds[2];

    (void)state;
    open_stage(&stage);
    make_pair(fds);
    open_tls_ends(&ends, &stage, fds);
    settle(&ends);
    cluster_connection_release(&ends.one.connection);
    assert_int_equal(dispatch(&ends.other), RAPAHUB_ECLOSED);
    close_ends(&ends);
    make_pair(fds);
    tls = session_of(stage.node, fds[1], CLUSTER_TLS_SERVER);
    shutdown(fds[0], SHUT_RDWR);
    assert_int_equal(cluster_tls_handshake(tls), RAPAHUB_ECLOSED);
    cluster_tls_release(&tls);
    close(fds[0]);
    close(fds[1]);
    close_stage(&stage);
}

/* Bytes that a session did not make, after the handshake. */
static void a_damaged_record_ends_the_connection(void **state)
{
    struct stage stage;
    struct ends ends;
    int one[2], other[2], fds[2];
    char bytes[4096];

    (void)state;
    open_stage(&stage);
    make_pair(one);
    make_pair(other);
    fds[0] = one[0];
    fds[1] = other[0];
    open_tls_ends(&ends, &stage, fds);
    for (unsigned i = 0; i < 60; i++) {
        assert_int_equal(dispatch(&ends.one), 0);
        assert_int_equal(dispatch(&ends.other), 0);
        (void)relay(one[1], other[1], sizeof bytes);
        (void)relay(other[1], one[1], sizeof bytes);
    }
    assert_int_equal(put_call(&ends.one, (uint8_t[]){1}, 1), 0);
    assert_int_equal(dispatch(&ends.one), 0);
    assert_true(recv(one[1], bytes, sizeof bytes, 0) > 40);
    bytes[20] ^= 1;
    assert_true(send(other[1], bytes, 200, 0) > 0);
    assert_int_equal(dispatch(&ends.other), RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, "cluster.link.tls");
    assert_int_equal(ends.other.frames, 0);
    close(one[1]);
    close(other[1]);
    close_ends(&ends);
    close_stage(&stage);
}

/* ---- memory ---- */

static size_t in_use(void)
{
    return mallinfo2().uordblks;
}

static void a_connection_takes_little_memory(void **state)
{
    enum { PAIRS = 64, MOST = 96 * 1024 }; /* bytes of both ends */
    struct ends ends[PAIRS];
    struct stage stage;
    size_t before;

    (void)state;
    open_stage(&stage);
    before = in_use();
    for (unsigned i = 0; i < PAIRS; i++) {
        int fds[2];

        make_pair(fds);
        open_tls_ends(&ends[i], &stage, fds);
        settle(&ends[i]);
    }
    print_message("bytes of a connection by TLS that is idle: %zu\n",
                  (in_use() - before) / PAIRS / 2);
    assert_true((in_use() - before) / PAIRS < MOST);
    for (unsigned i = 0; i < PAIRS; i++)
        close_ends(&ends[i]);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_all_sizes_get_through),
        cmocka_unit_test(calls_get_through_over_tcp),
        cmocka_unit_test(bytes_that_a_session_has_are_asked_for),
        cmocka_unit_test(a_side_that_speaks_no_tls_is_told_apart),
        cmocka_unit_test(records_may_be_cut_at_every_byte),
        cmocka_unit_test(a_hang_up_is_told),
        cmocka_unit_test(a_damaged_record_ends_the_connection),
        cmocka_unit_test(a_connection_takes_little_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
