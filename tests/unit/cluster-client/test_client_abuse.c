/* SPDX-License-Identifier: Apache-2.0 */
/* A client whose node keeps to no rule: the test is the node, frame by frame. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/client.h>
#include <rapahub/error.h>

#include "cluster/link/connection.h"
#include "host/socket/listener.h"
#include "hub/base/atomic.h"
#include "hub/base/clock.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define SOON_MS    30000

struct stage {
    char folder[64], path[96], address[104];
    struct hub_closer *closer;
    int listener;
    struct cluster_connection *connection;
    struct cluster_frame frame; /* the last one */
    struct cluster_body body;   /* only its numbers */
    uint8_t cluster[CLUSTER_BODY_UUID];
    size_t cluster_size; /* of the last HELLO */
    unsigned frames, calls;
    uint64_t numbers[8]; /* of the first calls that came */
    pthread_t opener;
    struct rapahub_client *client;
    int opened;
    char text[128];
};

static int note(void *user, const struct cluster_frame *frame, const struct cluster_body *body)
{
    struct stage *stage = user;

    if (frame->type == CLUSTER_FRAME_ACK)
        return 0;
    if (frame->type == CLUSTER_FRAME_HELLO)
        stage->cluster_size = body->hello.cluster.size;
    if (frame->type == CLUSTER_FRAME_CALL && stage->calls++ < 8)
        stage->numbers[stage->calls - 1] = frame->uid.number;
    stage->frame = *frame;
    stage->body = *body;
    stage->frames++;
    return 0;
}

static void no_credit(void *user)
{
    (void)user;
}

static const struct cluster_connection_hooks hooks = {note, no_credit};

static void *open_client(void *user)
{
    struct stage *stage = user;
    const char *const nodes[] = {stage->address, NULL};
    const struct rapahub_client_options options = {
        .nodes = nodes, .wait_ns = 2 * HUB_SECOND, .call_timeout_ns = 60 * HUB_SECOND};

    stage->opened = rapahub_client_open(&options, &stage->client);
    if (stage->opened < 0)
        snprintf(stage->text, sizeof stage->text, "%s", rapahub_last_error()->text);
    return NULL;
}

/* Waits for the client's next connection. */
static void accept_client(struct stage *stage)
{
    const struct cluster_connection_options options = {.body_max = 1u << 20,
                                                       .closer = stage->closer};
    struct pollfd listener = {.fd = stage->listener, .events = POLLIN};
    int fd;

    cluster_connection_release(&stage->connection);
    assert_int_equal(poll(&listener, 1, SOON_MS), 1);
    assert_int_equal(host_listener_accept(stage->listener, &fd), 1);
    assert_int_equal(cluster_connection_create(fd, &options, &hooks, stage, &stage->connection), 0);
}

/* Waits for the next frame, of this type. Returns false if the connection ends instead. */
static bool expect(struct stage *stage, uint8_t type)
{
    struct pollfd link = {.fd = cluster_connection_fd(stage->connection), .events = POLLIN};
    unsigned before = stage->frames;

    while (stage->frames == before) {
        assert_int_equal(poll(&link, 1, SOON_MS), 1);
        if (cluster_connection_dispatch(stage->connection, hub_clock_now()) < 0)
            return false;
    }
    assert_int_equal(stage->frame.type, type);
    return true;
}

static void put(struct stage *stage, struct cluster_frame frame, const struct cluster_body *body)
{
    assert_int_equal(cluster_connection_put(stage->connection, &frame, body), 0);
    assert_int_equal(cluster_connection_flush(stage->connection), 0);
}

static void put_hello(struct stage *stage)
{
    const struct cluster_body body = {.hello = {.protocol_least = 1,
                                                .protocol_most = 1,
                                                .role = CLUSTER_ROLE_NODE,
                                                .cluster = {stage->cluster, CLUSTER_BODY_UUID},
                                                .node = 1,
                                                .boot = 1,
                                                .origin = 9}};

    put(stage, (struct cluster_frame){.type = CLUSTER_FRAME_HELLO_OK}, &body);
}

/* A connection that is served; the client is open. */
static void greet(struct stage *stage)
{
    accept_client(stage);
    assert_true(expect(stage, CLUSTER_FRAME_HELLO));
    put_hello(stage);
}

static int set_up(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);

    assert_non_null(stage);
    snprintf(stage->folder, sizeof stage->folder, "/tmp/rapahub-test-XXXXXX");
    assert_non_null(mkdtemp(stage->folder));
    snprintf(stage->path, sizeof stage->path, "%s/node.node", stage->folder);
    snprintf(stage->address, sizeof stage->address, "unix:%s", stage->path);
    memset(stage->cluster, 5, sizeof stage->cluster);
    assert_int_equal(hub_closer_create(&stage->closer), 0);
    assert_int_equal(host_listener_open(stage->path, NULL, &stage->listener), 0);
    assert_int_equal(pthread_create(&stage->opener, NULL, open_client, stage), 0);
    *state = stage;
    return 0;
}

static void wait_opened(struct stage *stage)
{
    pthread_join(stage->opener, NULL);
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    rapahub_client_close(stage->client);
    cluster_connection_release(&stage->connection);
    hub_closer_release(&stage->closer);
    close(stage->listener);
    unlink(stage->path);
    rmdir(stage->folder);
    free(stage);
    return 0;
}

static void open_stage(struct stage *stage)
{
    greet(stage);
    wait_opened(stage);
    assert_int_equal(stage->opened, 0);
}

/* ---- calls ---- */

struct ending {
    struct hub_a32 times, each;
    int status;
    int64_t result;
    char text[64];
};

static void on_done(void *user, int status, const void *result)
{
    struct ending *ending = user;

    ending->status = status;
    if (result)
        ending->result = *(const int64_t *)result;
    if (status < 0)
        snprintf(ending->text, sizeof ending->text, "%s", rapahub_last_error()->text);
    hub_add(&ending->times, 1);
}

static void on_each(void *user, struct rapahub_container_id from, int status, const void *result)
{
    struct ending *ending = user;

    (void)from, (void)status, (void)result;
    hub_add(&ending->each, 1);
}

static struct rapahub_request_id begin(struct stage *stage, struct ending *ending)
{
    const struct rapahub_query query = {
        .mode = RAPAHUB_QUERY_BROADCAST, .each = on_each, .user = ending};
    const struct rapahub_call call = {
        .target = {{300, 0}, 0}, .method = "sum() -> i64", .query = &query};
    struct rapahub_request_id id;

    *ending = (struct ending){.status = 0};
    assert_int_equal(rapahub_client_call_async(stage->client, &call, on_done, ending, &id), 0);
    return id;
}

static void wait_end(struct ending *ending)
{
    for (unsigned i = 0; i < SOON_MS && hub_observe(&ending->times) == 0; i++)
        pause_ms(1);
    assert_int_equal(hub_observe(&ending->times), 1);
}

/* A frame for the call that came last. */
static struct cluster_frame for_call(const struct stage *stage, uint8_t type)
{
    return (struct cluster_frame){.type = type, .uid = stage->frame.uid, .pool = stage->frame.pool};
}

static const struct cluster_body fourteen = {.result = {.payload = {"\x1c", 1}}};

/* The client ends this connection, and sends the call by the next one: there it ends. */
static void ends_by_the_next_connection(struct stage *stage, struct ending *ending)
{
    assert_false(expect(stage, CLUSTER_FRAME_CANCEL));
    greet(stage);
    assert_true(expect(stage, CLUSTER_FRAME_CALL));
    assert_true(stage->body.call.maybe);
    put(stage, for_call(stage, CLUSTER_FRAME_RESULT), &fourteen);
    wait_end(ending);
    assert_int_equal(ending->status, 0);
    assert_int_equal(ending->result, 14);
}

static void a_result_that_comes_twice_counts_once(void **state)
{
    struct stage *stage = *state;
    struct ending one, other;

    open_stage(stage);
    begin(stage, &one);
    assert_true(expect(stage, CLUSTER_FRAME_CALL));
    put(stage, for_call(stage, CLUSTER_FRAME_RESULT), &fourteen);
    put(stage, for_call(stage, CLUSTER_FRAME_RESULT), &fourteen);
    put(stage, for_call(stage, CLUSTER_FRAME_EACH), &fourteen);
    wait_end(&one);
    begin(stage, &other);
    assert_true(expect(stage, CLUSTER_FRAME_CALL));
    put(stage, for_call(stage, CLUSTER_FRAME_RESULT), &fourteen);
    wait_end(&other);
    assert_int_equal(hub_observe(&one.times), 1);
    assert_int_equal(hub_observe(&one.each), 0);
}

/* r[verify cluster.client.again] r[verify cluster.client.frame] */
static void frames_that_a_node_does_not_send_end_the_connection(void **state)
{
    static const struct cluster_body none, credit = {.credit = {CLUSTER_CREDIT_CALLS, 1 << 20}},
                                           above = {.result = {.status = 5}};
    struct stage *stage = *state;
    const struct {
        uint8_t type;
        const struct cluster_body *body;
    } bad[] = {{CLUSTER_FRAME_CANCEL, &none},   {CLUSTER_FRAME_ACK, &none},
               {CLUSTER_FRAME_RESULT, &above},  {CLUSTER_FRAME_EACH, &above},
               {CLUSTER_FRAME_RESOLVED, &none}, {CLUSTER_FRAME_CREDIT, &credit}};

    open_stage(stage);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cluster_frame frame;
        struct ending ending;

        begin(stage, &ending);
        assert_true(expect(stage, CLUSTER_FRAME_CALL));
        frame = for_call(stage, bad[i].type);
        if (frame.type == CLUSTER_FRAME_CREDIT)
            frame = (struct cluster_frame){.type = frame.type};
        put(stage, frame, bad[i].body);
        ends_by_the_next_connection(stage, &ending);
    }
}

/* r[verify cluster.client.frame] */
static void frames_for_other_clients_end_the_connection(void **state)
{
    struct stage *stage = *state;
    struct cluster_frame frame;
    struct ending ending;

    open_stage(stage);
    begin(stage, &ending);
    assert_true(expect(stage, CLUSTER_FRAME_CALL));
    frame = for_call(stage, CLUSTER_FRAME_RESULT);
    frame.uid.origin ^= 1;
    put(stage, frame, &fourteen);
    ends_by_the_next_connection(stage, &ending);
    begin(stage, &ending);
    assert_true(expect(stage, CLUSTER_FRAME_CALL));
    put_hello(stage); /* a second time */
    ends_by_the_next_connection(stage, &ending);
}

/* The first was delayed, and would come after the others. r[verify cluster.client.again] */
static void calls_come_again_in_the_order_of_their_numbers(void **state)
{
    const struct cluster_body later = {.nack = {.reason = CLUSTER_NACK_BUSY, .after_ms = 1000}};
    static struct ending endings[3];
    struct stage *stage = *state;

    open_stage(stage);
    for (unsigned i = 0; i < 3; i++) {
        begin(stage, &endings[i]);
        assert_true(expect(stage, CLUSTER_FRAME_CALL));
        if (i == 0)
            put(stage, for_call(stage, CLUSTER_FRAME_NACK), &later);
    }
    greet(stage);
    while (stage->calls < 6)
        assert_true(expect(stage, CLUSTER_FRAME_CALL));
    for (unsigned i = 3; i < 6; i++)
        assert_int_equal(stage->numbers[i], stage->numbers[i - 3]);
}

static void garbage_ends_the_connection(void **state)
{
    struct stage *stage = *state;
    struct ending ending;
    uint8_t garbage[128];

    open_stage(stage);
    begin(stage, &ending);
    assert_true(expect(stage, CLUSTER_FRAME_CALL));
    memset(garbage, 0xa5, sizeof garbage);
    assert_int_equal(write(cluster_connection_fd(stage->connection), garbage, sizeof garbage),
                     sizeof garbage);
    ends_by_the_next_connection(stage, &ending);
}

/* r[verify cluster.client.result] */
static void a_result_of_another_type_is_the_calls_failure(void **state)
{
    const struct cluster_body bodies[] = {{.result = {.payload = {"", 0}}},
                                          {.result = {.payload = {"\x1c\x1c", 2}}},
                                          {.result = {.payload = {"\xff\xff\xff\xff\xff\xff\xff"
                                                                  "\xff\xff\xff\xff",
                                                                  11}}}};
    struct stage *stage = *state;

    open_stage(stage);
    for (unsigned i = 0; i < 3; i++) {
        struct ending ending;

        begin(stage, &ending);
        assert_true(expect(stage, CLUSTER_FRAME_CALL));
        put(stage, for_call(stage, CLUSTER_FRAME_RESULT), &bodies[i]);
        wait_end(&ending);
        assert_int_equal(ending.status, RAPAHUB_EPROTOCOL);
    }
}

/* A call may be refused for ever, with a name for that, or for a while.
 * r[verify cluster.client.again] */
static void a_refusal_ends_a_call_or_delays_it(void **state)
{
    static const struct {
        uint8_t reason;
        int code;
    } ends[] = {{CLUSTER_NACK_MAYBE, RAPAHUB_EMAYBE},
                {CLUSTER_NACK_EXPIRED, RAPAHUB_ETIMEDOUT},
                {CLUSTER_NACK_UNKNOWN, RAPAHUB_ENOPOOL},
                {CLUSTER_NACK_VERSION, RAPAHUB_ENOMETHOD},
                {CLUSTER_NACK_HOPS, RAPAHUB_EHOPS}};
    struct stage *stage = *state;
    struct ending ending;
    uint64_t then;

    open_stage(stage);
    for (unsigned i = 0; i < 5; i++) {
        const struct cluster_body body = {.nack = {.reason = ends[i].reason, .text = {"why", 3}}};

        begin(stage, &ending);
        assert_true(expect(stage, CLUSTER_FRAME_CALL));
        put(stage, for_call(stage, CLUSTER_FRAME_NACK), &body);
        wait_end(&ending);
        assert_int_equal(ending.status, ends[i].code);
        assert_string_equal(ending.text, "why");
    }
    begin(stage, &ending);
    assert_true(expect(stage, CLUSTER_FRAME_CALL));
    then = hub_clock_now();
    put(stage, for_call(stage, CLUSTER_FRAME_NACK),
        &(struct cluster_body){.nack = {.reason = CLUSTER_NACK_BUSY, .after_ms = 40}});
    put(stage, for_call(stage, CLUSTER_FRAME_NACK), /* again, for what is not there any more */
        &(struct cluster_body){.nack = {.reason = CLUSTER_NACK_BUSY, .after_ms = 40}});
    assert_true(expect(stage, CLUSTER_FRAME_CALL));
    assert_true(hub_clock_now() - then >= 40 * HUB_MILLISECOND);
    assert_false(stage->body.call.maybe); /* it was surely not admitted */
    put(stage, for_call(stage, CLUSTER_FRAME_RESULT), &fourteen);
    wait_end(&ending);
    assert_int_equal(ending.status, 0);
}

static void a_late_answer_of_a_cancelled_call_is_nobodys(void **state)
{
    struct stage *stage = *state;
    struct ending ending;
    struct rapahub_request_id id;

    open_stage(stage);
    id = begin(stage, &ending);
    assert_true(expect(stage, CLUSTER_FRAME_CALL));
    rapahub_client_cancel(stage->client, id);
    assert_true(expect(stage, CLUSTER_FRAME_CANCEL));
    put(stage, for_call(stage, CLUSTER_FRAME_RESULT), &fourteen);
    wait_end(&ending);
    assert_int_equal(ending.status, RAPAHUB_ECANCELED);
    begin(stage, &ending);
    assert_true(expect(stage, CLUSTER_FRAME_CALL));
    put(stage, for_call(stage, CLUSTER_FRAME_RESULT), &fourteen);
    wait_end(&ending);
}

/* ---- open ---- */

static void a_node_that_refuses_says_why(void **state)
{
    struct stage *stage = *state;

    accept_client(stage);
    assert_true(expect(stage, CLUSTER_FRAME_HELLO));
    assert_int_equal(stage->cluster_size, 0);
    put(stage, (struct cluster_frame){.type = CLUSTER_FRAME_CLOSE},
        &(struct cluster_body){.close = {RAPAHUB_EACCES, {"not you", 7}}});
    cluster_connection_release(&stage->connection);
    wait_opened(stage);
    assert_int_equal(stage->opened, RAPAHUB_EACCES);
    assert_string_equal(stage->text, "not you");
}

static void a_node_that_is_full_is_asked_again(void **state)
{
    struct stage *stage = *state;

    for (unsigned i = 0; i < 3; i++) {
        accept_client(stage);
        assert_true(expect(stage, CLUSTER_FRAME_HELLO));
        put(stage, (struct cluster_frame){.type = CLUSTER_FRAME_CLOSE},
            &(struct cluster_body){.close = {RAPAHUB_EBUSY, {"full", 4}}});
    }
    open_stage(stage);
}

static void a_node_that_never_answers_is_not_waited_for_longer(void **state)
{
    struct stage *stage = *state;

    accept_client(stage);
    wait_opened(stage);
    assert_int_equal(stage->opened, RAPAHUB_ENETTIMEOUT);
}

/* r[verify cluster.client.hello] */
static void the_client_says_which_cluster_it_knows(void **state)
{
    struct stage *stage = *state;

    open_stage(stage);
    greet(stage);
    assert_int_equal(stage->cluster_size, CLUSTER_BODY_UUID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_result_that_comes_twice_counts_once),
        TEST(frames_that_a_node_does_not_send_end_the_connection),
        TEST(frames_for_other_clients_end_the_connection),
        TEST(calls_come_again_in_the_order_of_their_numbers),
        TEST(garbage_ends_the_connection),
        TEST(a_result_of_another_type_is_the_calls_failure),
        TEST(a_refusal_ends_a_call_or_delays_it),
        TEST(a_late_answer_of_a_cancelled_call_is_nobodys),
        TEST(a_node_that_refuses_says_why),
        TEST(a_node_that_is_full_is_asked_again),
        TEST(a_node_that_never_answers_is_not_waited_for_longer),
        TEST(the_client_says_which_cluster_it_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
