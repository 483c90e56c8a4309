/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cluster-client/client_stage.h"

/* ---- times ---- */

/* r[verify cluster.client.times] */
static void a_call_ends_at_its_time(void **state)
{
    struct stage *stage = *state;
    struct ending ending = {.size = 0};
    uint64_t then = hub_clock_now();

    assert_int_equal(
        begin(stage->client, "never(bytes) -> bytes", 50 * HUB_MILLISECOND, &ending, NULL), 0);
    assert_true(ends(&ending, SOON_MS));
    assert_int_equal(ending.status, RAPAHUB_ETIMEDOUT);
    assert_true(hub_clock_now() - then >= 50 * HUB_MILLISECOND);
    assert_true(hub_observe64(&stage->node.left_us) <= 50000);
    for (unsigned i = 0; i < SOON_MS && hub_observe(&stage->node.cancelled) == 0; i++)
        pause_ms(1);
    assert_int_equal(hub_observe(&stage->node.cancelled), 1); /* the node is told */
    assert_int_equal(call_bytes(stage->client, "echo(bytes) -> bytes", "x", 1, NULL), 0);
}

/* r[verify cluster.client.times] */
static void a_call_waits_for_its_node_no_longer_than_it_may(void **state)
{
    struct stage *stage = *state;
    struct rapahub_client *client = open_client(stage, 2 * HUB_SECOND);
    struct ending sent = {.size = 0}, later = {.size = 0}, timed = {.size = 0};
    uint64_t then;

    assert_int_equal(begin(client, "never(bytes) -> bytes", 0, &sent, NULL), 0);
    wait_begun(stage, 1);
    stop_node(stage);
    then = hub_clock_now();
    pause_ms(1000);
    assert_int_equal(begin(client, "echo(bytes) -> bytes", 0, &later, NULL), 0);
    assert_int_equal(begin(client, "echo(bytes) -> bytes", 30 * HUB_MILLISECOND, &timed, NULL), 0);
    assert_true(ends(&timed, SOON_MS));
    assert_int_equal(timed.status, RAPAHUB_ETIMEDOUT);
    assert_true(ends(&sent, SOON_MS));
    assert_int_equal(sent.status, RAPAHUB_ENETTIMEOUT);
    assert_true(hub_clock_now() - then < 2900 * HUB_MILLISECOND);
    assert_int_equal(hub_observe(&later.times), 0);
    assert_true(ends(&later, SOON_MS));
    assert_int_equal(later.status, RAPAHUB_ENETTIMEOUT);
    start_node(stage, 51); /* the client is as good as new */
    assert_int_equal(call_bytes(client, "echo(bytes) -> bytes", "x", 1, NULL), 0);
    rapahub_client_close(client);
}

/* ---- cancel, close ---- */

static void a_cancelled_call_ends_and_the_node_is_told(void **state)
{
    struct stage *stage = *state;
    struct ending ending = {.size = 0};
    struct rapahub_request_id id;

    assert_int_equal(begin(stage->client, "never(bytes) -> bytes", 0, &ending, &id), 0);
    wait_begun(stage, 1);
    rapahub_client_cancel(stage->client, (struct rapahub_request_id){id.number + 1});
    rapahub_client_cancel(stage->client, id);
    rapahub_client_cancel(stage->client, id);
    assert_true(ends(&ending, SOON_MS));
    assert_int_equal(ending.status, RAPAHUB_ECANCELED);
    for (unsigned i = 0; i < SOON_MS && hub_observe(&stage->node.cancelled) == 0; i++)
        pause_ms(1);
    assert_int_equal(hub_observe(&stage->node.cancelled), 1);
    rapahub_client_cancel(stage->client, id); /* harmless */
    assert_int_equal(call_bytes(stage->client, "echo(bytes) -> bytes", "x", 1, NULL), 0);
}

static void calls_that_are_cancelled_at_once_end_once(void **state)
{
    struct stage *stage = *state;
    static struct ending endings[2000];

    memset(endings, 0, sizeof endings);
    for (unsigned i = 0; i < 2000; i++) {
        struct rapahub_request_id id;

        assert_int_equal(begin(stage->client, "echo(bytes) -> bytes", 0, &endings[i], &id), 0);
        rapahub_client_cancel(stage->client, id);
    }
    for (unsigned i = 0; i < 2000; i++) {
        assert_true(ends(&endings[i], SOON_MS));
        assert_true(endings[i].status == 0 || endings[i].status == RAPAHUB_ECANCELED);
    }
}

static void a_client_that_closes_ends_its_calls_and_its_origin(void **state)
{
    struct stage *stage = *state;
    struct rapahub_client *client = open_client(stage, 0);
    struct ending endings[10] = {{.size = 0}};

    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(begin(client, "never(bytes) -> bytes", 0, &endings[i], NULL), 0);
    wait_begun(stage, 10);
    rapahub_client_close(client);
    for (unsigned i = 0; i < 10; i++) {
        assert_int_equal(hub_observe(&endings[i].times), 1);
        assert_int_equal(endings[i].status, RAPAHUB_ECANCELED);
    }
    for (unsigned i = 0; i < SOON_MS && hub_observe(&stage->node.ended) == 0; i++)
        pause_ms(1);
    assert_int_equal(hub_observe(&stage->node.ended), 1);
    assert_int_equal(hub_observe(&stage->node.cancelled), 10);
    rapahub_client_close(NULL);
}

/* A callback may begin calls, but not wait for one. */
struct chain {
    struct stage *stage;
    struct hub_a32 left;
    int waited;
};

static void go_on(void *user, int status, const void *result)
{
    struct chain *chain = user;
    const struct rapahub_bytes argument = {"abc", 3};
    const void *arguments[2];
    const struct rapahub_call call = call_of("echo(bytes) -> bytes", &argument, arguments);

    (void)result;
    assert_int_equal(status, 0);
    chain->waited = rapahub_client_call(chain->stage->client, &call, NULL);
    if (hub_add(&chain->left, UINT32_MAX) > 1)
        assert_int_equal(rapahub_client_call_async(chain->stage->client, &call, go_on, chain, NULL),
                         0);
}

static void a_callback_begins_calls_and_waits_for_none(void **state)
{
    struct stage *stage = *state;
    struct chain chain = {.stage = stage};

    hub_publish(&chain.left, 100);
    go_on(&chain, 0, NULL);
    for (unsigned i = 0; i < SOON_MS && hub_observe(&chain.left) > 0; i++)
        pause_ms(1);
    assert_int_equal(hub_observe(&chain.left), 0);
    assert_int_equal(chain.waited, RAPAHUB_ESTATE);
}

/* ---- several containers, order ---- */

struct seen {
    uint32_t count, containers[64];
    int failed;
};

static void see(void *user, struct rapahub_container_id from, int status, const void *result)
{
    struct seen *seen = user;
    const struct rapahub_bytes *bytes = result;

    assert_int_equal(from.pool.major, 300);
    seen->containers[seen->count++ % 64] = from.container;
    if (status < 0) {
        seen->failed = status;
        assert_string_equal(rapahub_last_error()->text, "13");
    } else {
        assert_int_equal(bytes->size, 1);
        assert_int_equal(*(const uint8_t *)bytes->data, from.container);
    }
}

static void each_container_is_told_once(void **state)
{
    struct stage *stage = *state;
    struct seen seen = {0};
    const struct rapahub_query query = {.mode = RAPAHUB_QUERY_RANGE,
                                        .offset = 10,
                                        .count = 5,
                                        .collect = true,
                                        .each = see,
                                        .user = &seen};
    const struct rapahub_call call = {
        .target = FAKE_TARGET, .method = "each() -> bytes", .query = &query};

    assert_int_equal(rapahub_client_call(stage->client, &call, NULL), 0);
    assert_int_equal(seen.count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(seen.containers[i], 14 - i);
    assert_int_equal(seen.failed, RAPAHUB_EAPPLICATION);
    assert_int_equal(hub_observe(&stage->node.members), 5);
}

/* r[verify cluster.client.order] */
static void calls_of_an_order_name_the_one_before(void **state)
{
    struct stage *stage = *state;
    struct rapahub_query query = {.mode = RAPAHUB_QUERY_DIRECT, .order = 4};
    struct rapahub_call call = {.target = FAKE_TARGET, .method = "die() -> void", .query = &query};
    struct ending endings[5] = {{.size = 0}};
    struct rapahub_request_id ids[5];

    call.method = "other() -> void"; /* it ends at once, so none is named */
    assert_int_equal(rapahub_client_call_async(stage->client, &call, on_done, &endings[4], NULL),
                     0);
    assert_true(ends(&endings[4], SOON_MS));
    for (unsigned i = 0; i < 3; i++) {
        const struct rapahub_bytes argument = {"abc", 3};
        const void *arguments[] = {&argument, NULL};

        call.method = "never(bytes) -> bytes";
        call.arguments = arguments;
        call.target.container = i == 1 ? 9 : 2; /* the second goes elsewhere */
        assert_int_equal(
            rapahub_client_call_async(stage->client, &call, on_done, &endings[i], &ids[i]), 0);
        wait_begun(stage, i + 2);
        assert_int_equal(hub_observe64(&stage->node.order_prev), i == 2 ? ids[0].number : 0);
    }
    for (unsigned i = 0; i < 3; i++)
        cancel_and_wait(stage, ids[i], &endings[i]);
}

/* ---- where calls go ---- */

static void echo(struct rapahub_client *client, const char *text)
{
    struct rapahub_bytes result;

    assert_int_equal(call_bytes(client, "echo(bytes) -> bytes", text, strlen(text), &result), 0);
    assert_int_equal(result.size, strlen(text));
    assert_memory_equal(result.data, text, result.size);
}

/* The client has noticed before its next call. */
static void restart_node(struct stage *stage, uint64_t session)
{
    stop_node(stage);
    pause_ms(30);
    start_node(stage, session);
}

/* r[verify cluster.client.resolved] */
static void a_later_call_names_where_the_one_before_went(void **state)
{
    struct stage *stage = *state;

    echo(stage->client, "a");
    assert_int_equal(hub_observe(&stage->node.named), 0);
    echo(stage->client, "b");
    assert_int_equal(hub_observe(&stage->node.named), 1);
    restart_node(stage, 51); /* it has another lineage: the guess is wrong, and the call runs */
    echo(stage->client, "c");
    assert_int_equal(hub_observe(&stage->node.begun), 1);
    assert_int_equal(hub_observe(&stage->node.named), 1);
    assert_int_equal(hub_observe64(&stage->node.lineage), cluster_ids_lineage(51, 0));
}

/* A guess that the node has corrected is not what the call says when it is sent again.
 * r[verify cluster.client.resolved] r[verify cluster.client.again] */
static void a_wrong_guess_is_not_said_again(void **state)
{
    struct stage *stage = *state;
    struct ending ending = {.size = 0};
    struct rapahub_request_id id;

    echo(stage->client, "a");
    restart_node(stage, 51);
    assert_int_equal(begin(stage->client, "never(bytes) -> bytes", 0, &ending, &id), 0);
    wait_begun(stage, 1);
    restart_node(stage, 52);
    wait_begun(stage, 1);
    assert_int_equal(hub_observe(&stage->node.maybe), 1);
    assert_int_equal(hub_observe64(&stage->node.lineage), cluster_ids_lineage(51, 0));
    cancel_and_wait(stage, id, &ending);
}

/* ---- the node starts again ---- */

/* r[verify cluster.client.again] */
static void open_calls_are_sent_again_to_where_they_went(void **state)
{
    struct stage *stage = *state;
    struct ending ending = {.size = 0};

    assert_int_equal(begin(stage->client, "late(bytes) -> bytes", 0, &ending, NULL), 0);
    wait_begun(stage, 1);
    assert_int_equal(hub_observe(&stage->node.maybe), 0);
    stop_node(stage);
    pause_ms(30);
    assert_int_equal(hub_observe(&ending.times), 0);
    start_node(stage, 51);
    assert_true(ends(&ending, SOON_MS));
    assert_int_equal(ending.status, 0);
    assert_int_equal(hub_observe(&stage->node.begun), 1);
    assert_int_equal(hub_observe(&stage->node.maybe), 1);
    assert_int_equal(hub_observe(&stage->node.resolved), 0); /* it was told before */
    assert_int_equal(hub_observe64(&stage->node.lineage), cluster_ids_lineage(50, 0));
}

/* r[verify cluster.client.again] */
static void a_call_that_was_never_sent_is_no_maybe(void **state)
{
    struct stage *stage = *state;
    struct ending ending = {.size = 0};

    stop_node(stage);
    assert_int_equal(begin(stage->client, "echo(bytes) -> bytes", 0, &ending, NULL), 0);
    pause_ms(30);
    start_node(stage, 51);
    assert_true(ends(&ending, SOON_MS));
    assert_int_equal(ending.status, 0);
    assert_int_equal(hub_observe(&stage->node.maybe), 0);
}

static void a_call_that_ends_the_node_is_repeated_until_its_time(void **state)
{
    struct stage *stage = *state;
    struct ending ending = {.size = 0};
    unsigned lives = 0;

    assert_int_equal(begin(stage->client, "die()", 300 * HUB_MILLISECOND, &ending, NULL), 0);
    while (hub_observe(&ending.times) == 0 && lives < 1000) {
        if (hub_observe(&stage->node.stop) == 0) {
            pause_ms(1);
            continue;
        }
        stop_node(stage);
        start_node(stage, 51 + ++lives);
    }
    assert_int_equal(hub_observe(&ending.times), 1);
    assert_int_equal(ending.status, RAPAHUB_ETIMEDOUT);
    assert_true(lives > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_call_ends_at_its_time),
        TEST(a_call_waits_for_its_node_no_longer_than_it_may),
        TEST(a_cancelled_call_ends_and_the_node_is_told),
        TEST(calls_that_are_cancelled_at_once_end_once),
        TEST(a_client_that_closes_ends_its_calls_and_its_origin),
        TEST(a_callback_begins_calls_and_waits_for_none),
        TEST(each_container_is_told_once),
        TEST(calls_of_an_order_name_the_one_before),
        TEST(a_later_call_names_where_the_one_before_went),
        TEST(a_wrong_guess_is_not_said_again),
        TEST(open_calls_are_sent_again_to_where_they_went),
        TEST(a_call_that_was_never_sent_is_no_maybe),
        TEST(a_call_that_ends_the_node_is_repeated_until_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
