/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of gRPC, against a server in memory, and against what is none. */
#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "hub/base/random.h"
#include "tests/metastore/grpc_peer.h"
#include "tests/support/testing.h"

#define LARGE ((size_t)3 << 20)

/* A call, and all that was told of it. */
struct call {
    int32_t stream;
    unsigned messages, ends;
    size_t last_size;
    uint8_t last_byte;
    struct cluster_grpc_end end;
    char text[256];
};

struct test {
    struct grpc_peer peer;
    struct cluster_grpc *grpc;
    int message_fails;
};

static int on_message(void *user, void *of, struct rapahub_bytes message)
{
    struct test *test = user;
    struct call *call = of;

    call->messages++;
    call->last_size = message.size;
    call->last_byte = message.size > 0 ? ((const uint8_t *)message.data)[message.size - 1] : 0;
    return test->message_fails;
}

static void on_ended(void *user, void *of, const struct cluster_grpc_end *end)
{
    struct call *call = of;

    (void)user;
    call->ends++;
    call->end = *end;
    snprintf(call->text, sizeof call->text, "%s", end->text);
}

static const struct cluster_grpc_hooks hooks = {.message = on_message, .ended = on_ended};

static int begin(void **state)
{
    struct test *test = calloc(1, sizeof *test);

    grpc_peer_begin(&test->peer);
    assert_int_equal(cluster_grpc_create(&hooks, test, "127.0.0.1:2379", &test->grpc), 0);
    *state = test;
    return 0;
}

static int finish(void **state)
{
    struct test *test = *state;

    cluster_grpc_release(&test->grpc);
    grpc_peer_end(&test->peer);
    free(test);
    return 0;
}

static struct call ask(struct test *test, struct call *call, const void *bytes, size_t size,
                       bool stays_open)
{
    const struct cluster_grpc_request request = {.path = "/etcdserverpb.KV/Range",
                                                 .message = {bytes, size},
                                                 .answer_max = LARGE,
                                                 .stays_open = stays_open};

    *call = (struct call){0};
    assert_int_equal(cluster_grpc_call(test->grpc, &request, call, &call->stream), 0);
    return *call;
}

static void move(struct test *test)
{
    assert_int_equal(grpc_peer_move(&test->peer, test->grpc), 0);
}

/* A message with its prefix. */
static uint8_t *framed(size_t size, uint8_t last)
{
    uint8_t *bytes = calloc(1, size + 5);

    bytes[1] = (uint8_t)(size >> 24);
    bytes[2] = (uint8_t)(size >> 16);
    bytes[3] = (uint8_t)(size >> 8);
    bytes[4] = (uint8_t)size;
    if (size > 0)
        bytes[size + 4] = last;
    return bytes;
}

static void a_call_gets_its_answer_and_ends(void **state)
{
    struct test *test = *state;
    uint8_t *answer = framed(9, 7);
    struct call call;

    ask(test, &call, "hello", 5, false);
    move(test);
    assert_int_equal(test->peer.count, 1);
    assert_string_equal(test->peer.asked[0].path, "/etcdserverpb.KV/Range");
    assert_true(test->peer.asked[0].whole);
    assert_int_equal(test->peer.asked[0].size, 10);
    assert_memory_equal(test->peer.asked[0].bytes, "\0\0\0\0\5hello", 10);
    assert_int_equal(call.ends, 0);
    grpc_peer_answer(&test->peer, call.stream, (struct rapahub_bytes){answer, 14}, "0", NULL);
    move(test);
    assert_int_equal(call.messages, 1);
    assert_int_equal(call.last_size, 9);
    assert_int_equal(call.last_byte, 7);
    assert_int_equal(call.ends, 1);
    assert_int_equal(call.end.status, CLUSTER_GRPC_OK);
    free(answer);
}

/* Larger than the window of a stream, both ways, and in parts of odd sizes. */
static void large_messages_come_in_any_parts(void **state)
{
    struct test *test = *state;
    uint8_t *question = calloc(1, LARGE), *answer = framed(LARGE, 9);
    struct call call;

    test->peer.at_once = 4099;
    ask(test, &call, question, LARGE, false);
    move(test);
    assert_true(test->peer.asked[0].whole);
    assert_int_equal(test->peer.asked[0].size, LARGE + 5);
    grpc_peer_answer(&test->peer, call.stream, (struct rapahub_bytes){answer, LARGE + 5}, "0",
                     NULL);
    move(test);
    assert_int_equal(call.last_size, LARGE);
    assert_int_equal(call.last_byte, 9);
    assert_int_equal(call.ends, 1);
    free(question);
    free(answer);
}

static void each_byte_may_come_alone(void **state)
{
    struct test *test = *state;
    uint8_t *answer = framed(300, 4);
    struct call call;

    test->peer.at_once = 1;
    ask(test, &call, "", 0, false);
    move(test);
    grpc_peer_answer(&test->peer, call.stream, (struct rapahub_bytes){answer, 305}, "0", NULL);
    move(test);
    assert_int_equal(call.messages, 1);
    assert_int_equal(call.last_byte, 4);
    assert_int_equal(call.ends, 1);
    free(answer);
}

static void a_stream_that_stays_open_takes_and_tells_more(void **state)
{
    struct test *test = *state;
    uint8_t two[12] = {0, 0, 0, 0, 1, 'a', 0, 0, 0, 0, 1, 'b'};
    struct call call;

    ask(test, &call, "1", 1, true);
    move(test);
    assert_false(test->peer.asked[0].whole);
    assert_int_equal(cluster_grpc_send(test->grpc, call.stream, (struct rapahub_bytes){"23", 2}),
                     0);
    move(test);
    assert_int_equal(test->peer.asked[0].size, 13);
    test->peer.stays_open = true;
    grpc_peer_answer(&test->peer, call.stream, (struct rapahub_bytes){two, sizeof two}, NULL, NULL);
    move(test);
    assert_int_equal(call.messages, 2);
    assert_int_equal(call.last_byte, 'b');
    assert_int_equal(call.ends, 0);
}

static void failures_are_told_with_status_and_text(void **state)
{
    struct test *test = *state;
    struct call call;

    ask(test, &call, "", 0, false);
    move(test);
    grpc_peer_refuse(&test->peer, call.stream, "200", "8",
                     "etcdserver: mvcc: database space exceeded\xff");
    move(test);
    assert_int_equal(call.ends, 1);
    assert_int_equal(call.end.status, CLUSTER_GRPC_RESOURCE_EXHAUSTED);
    assert_string_equal(call.text, "etcdserver: mvcc: database space exceeded?");
    ask(test, &call, "", 0, false);
    move(test);
    grpc_peer_refuse(&test->peer, call.stream, "404", NULL, NULL);
    move(test);
    assert_int_equal(call.end.status, CLUSTER_GRPC_UNIMPLEMENTED);
    assert_non_null(strstr(call.text, "404"));
    ask(test, &call, "", 0, false);
    move(test);
    grpc_peer_answer(&test->peer, call.stream, (struct rapahub_bytes){"", 0}, NULL, NULL);
    move(test);
    assert_int_equal(call.ends, 1);
    assert_int_equal(call.end.status, CLUSTER_GRPC_UNAVAILABLE);
    assert_false(call.end.refused);
}

/* Only a stream that was refused has certainly done nothing. */
static void a_reset_leaves_the_outcome_open_and_a_refusal_does_not(void **state)
{
    struct test *test = *state;
    struct call calls[3];

    for (unsigned i = 0; i < 3; i++)
        ask(test, &calls[i], "", 0, false);
    move(test);
    grpc_peer_reset(&test->peer, calls[0].stream, NGHTTP2_INTERNAL_ERROR);
    grpc_peer_reset(&test->peer, calls[1].stream, NGHTTP2_REFUSED_STREAM);
    move(test);
    assert_int_equal(calls[0].ends + calls[1].ends, 2);
    assert_int_equal(calls[0].end.status, CLUSTER_GRPC_UNAVAILABLE);
    assert_false(calls[0].end.refused);
    assert_true(calls[1].end.refused);
    assert_false(cluster_grpc_is_over(test->grpc));
    grpc_peer_go_away(&test->peer, calls[1].stream);
    move(test);
    assert_int_equal(calls[2].ends, 1);
    assert_true(calls[2].end.refused);
    assert_true(cluster_grpc_is_over(test->grpc));
}

static void a_message_that_is_too_large_ends_its_call_alone(void **state)
{
    struct test *test = *state;
    uint8_t *answer = framed(LARGE + 1, 0);
    struct call calls[2];

    for (unsigned i = 0; i < 2; i++)
        ask(test, &calls[i], "", 0, false);
    move(test);
    grpc_peer_answer(&test->peer, calls[0].stream, (struct rapahub_bytes){answer, LARGE + 6}, "0",
                     NULL);
    move(test);
    assert_int_equal(calls[0].messages, 0);
    assert_int_equal(calls[0].ends, 1);
    assert_true(calls[0].end.too_large);
    grpc_peer_answer(&test->peer, calls[1].stream, (struct rapahub_bytes){framed(0, 0), 5}, "0",
                     NULL);
    move(test);
    free((void *)(uintptr_t)test->peer.answer);
    assert_int_equal(calls[1].messages, 1);
    assert_int_equal(calls[1].end.status, CLUSTER_GRPC_OK);
    free(answer);
}

/* r[verify cluster.store.etcd.hostile] */
static void a_compressed_message_breaks_a_rule(void **state)
{
    struct test *test = *state;
    struct call call;

    ask(test, &call, "", 0, false);
    move(test);
    grpc_peer_answer(&test->peer, call.stream, (struct rapahub_bytes){"\1\0\0\0\1a", 6}, "0", NULL);
    assert_int_equal(grpc_peer_move(&test->peer, test->grpc), RAPAHUB_EPROTOCOL);
    assert_non_null(strstr(rapahub_last_error()->text, "compresses"));
    assert_int_equal(call.messages, 0);
}

static void the_failure_of_a_hook_is_that_of_receiving(void **state)
{
    struct test *test = *state;
    struct call call;

    test->message_fails = RAPAHUB_EFORMAT;
    ask(test, &call, "", 0, false);
    move(test);
    grpc_peer_answer(&test->peer, call.stream, (struct rapahub_bytes){"\0\0\0\0\1a", 6}, "0", NULL);
    assert_int_equal(grpc_peer_move(&test->peer, test->grpc), RAPAHUB_EFORMAT);
}

static void a_ping_is_answered(void **state)
{
    struct test *test = *state;

    move(test);
    cluster_grpc_ping(test->grpc);
    move(test);
    assert_int_equal(test->peer.pings, 1);
}

/* r[verify cluster.store.etcd.hostile] */
static void an_address_that_speaks_something_else_is_refused(void **state)
{
    static const char *const texts[] = {"HTTP/1.1 400 Bad Request\r\n\r\n",
                                        "SSH-2.0-OpenSSH_9.2\r\n",
                                        "-ERR unknown command\r\n-ERR unknown command\r\n"};
    struct test *test = *state;

    for (unsigned i = 0; i < 3; i++) {
        struct rapahub_bytes out;
        struct call call;
        int r = 0;

        cluster_grpc_release(&test->grpc);
        assert_int_equal(cluster_grpc_create(&hooks, test, "", &test->grpc), 0);
        ask(test, &call, "", 0, false);
        for (unsigned at = 0; at < 40 && r == 0; at++)
            r = cluster_grpc_receive(test->grpc, (const uint8_t *)texts[i], strlen(texts[i]));
        for (out.size = 1; r == 0 && out.size > 0; cluster_grpc_sent(test->grpc, out.size))
            r = cluster_grpc_output(test->grpc, &out);
        assert_true(r == RAPAHUB_EPROTOCOL || cluster_grpc_is_over(test->grpc));
        assert_int_equal(call.messages, 0);
    }
}

/* Bytes of a real session, some of them changed: each call ends at most once, and nothing is read
 * that is not there. r[verify cluster.store.etcd.hostile] */
static void changed_bytes_do_no_harm(void **state)
{
    struct test *test = *state;
    struct hub_random random;

    hub_random_init(&random, 7);
    for (unsigned round = 0; round < 3000; round++) {
        uint8_t *answer = framed(200, 1), *bytes;
        const uint8_t *sent;
        struct call call;
        ssize_t size;
        int r = 0;

        finish(state);
        begin(state);
        test = *state;
        ask(test, &call, "x", 1, false);
        move(test);
        grpc_peer_answer(&test->peer, call.stream, (struct rapahub_bytes){answer, 205}, "0", NULL);
        while (r == 0 && (size = nghttp2_session_mem_send(test->peer.session, &sent)) > 0) {
            bytes = malloc((size_t)size);
            memcpy(bytes, sent, (size_t)size);
            for (uint64_t n = hub_random_next(&random) % 3; n > 0; n--)
                bytes[hub_random_next(&random) % (uint64_t)size] =
                    (uint8_t)hub_random_next(&random);
            r = cluster_grpc_receive(test->grpc, bytes, (size_t)size);
            free(bytes);
        }
        assert_true(call.ends <= 1);
        free(answer);
    }
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, finish)
    const struct CMUnitTest tests[] = {
        EACH(a_call_gets_its_answer_and_ends),
        EACH(large_messages_come_in_any_parts),
        EACH(each_byte_may_come_alone),
        EACH(a_stream_that_stays_open_takes_and_tells_more),
        EACH(failures_are_told_with_status_and_text),
        EACH(a_reset_leaves_the_outcome_open_and_a_refusal_does_not),
        EACH(a_message_that_is_too_large_ends_its_call_alone),
        EACH(a_compressed_message_breaks_a_rule),
        EACH(the_failure_of_a_hook_is_that_of_receiving),
        EACH(a_ping_is_answered),
        EACH(an_address_that_speaks_something_else_is_refused),
        EACH(changed_bytes_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
