/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <string.h>

#include "cluster/node/base/event_queue.h"
#include "tests/support/testing.h"

static bool is_readable(const struct cluster_event_queue *queue)
{
    struct pollfd fd = {.fd = cluster_event_queue_fd(queue), .events = POLLIN};

    return poll(&fd, 1, 0) == 1;
}

/* r[verify cluster.node.turns] */
static void events_leave_in_the_order_in_which_they_came(void **state)
{
    struct cluster_event_queue *queue;

    (void)state;
    assert_int_equal(cluster_event_queue_create(&queue), 0);
    assert_null(cluster_event_queue_take(queue));
    assert_false(is_readable(queue));
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(cluster_event_queue_add(queue, &(struct cluster_event){.id = i}), 0);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_true(is_readable(queue));
        assert_int_equal(cluster_event_queue_take(queue)->id, i);
        cluster_event_queue_done(queue);
    }
    assert_false(is_readable(queue));
    cluster_event_queue_release(&queue);
}

static void fill(char text[8], char letter)
{
    memset(text, letter, 8);
}

/* r[verify cluster.node.turns] */
static void all_that_an_event_names_is_copied(void **state)
{
    struct cluster_event_queue *queue;
    char body[8], text[8], spec[8], manifest[8];
    const struct cluster_orders_order order = {.number = 5,
                                               .pool = {text, 8},
                                               .spec = {spec, 8},
                                               .digest = {body, 8},
                                               .manifest = {manifest, 8}};
    const struct cluster_body_step_done done = {.container = 3, .text = {manifest, 8}};
    struct cluster_event event = {
        .text = {text, 8}, .order = &order, .body = {{body, 8}, 0, 8}, .done = &done};
    const struct cluster_event *taken;

    (void)state;
    fill(body, 'b');
    fill(text, 't');
    fill(spec, 's');
    fill(manifest, 'm');
    assert_int_equal(cluster_event_queue_create(&queue), 0);
    assert_int_equal(cluster_event_queue_add(queue, &event), 0);
    fill(body, 'x');
    fill(text, 'x');
    fill(spec, 'x');
    fill(manifest, 'x');
    taken = cluster_event_queue_take(queue);
    assert_memory_equal(taken->body.bytes.data, "bbbbbbbb", 8);
    assert_memory_equal(taken->text.data, "tttttttt", 8);
    assert_true(taken->order != &order && taken->order->number == 5);
    assert_memory_equal(taken->order->pool.data, "tttttttt", 8);
    assert_memory_equal(taken->order->spec.data, "ssssssss", 8);
    assert_memory_equal(taken->order->digest.data, "bbbbbbbb", 8);
    assert_memory_equal(taken->order->manifest.data, "mmmmmmmm", 8);
    assert_true(taken->done != &done && taken->done->container == 3);
    assert_memory_equal(taken->done->text.data, "mmmmmmmm", 8);
    cluster_event_queue_release(&queue);
}

/* r[verify cluster.node.turns] */
static void the_body_of_a_call_is_copied(void **state)
{
    struct cluster_event_queue *queue;
    char body[8];
    const struct cluster_send_call call = {.number = 9, .body = {{body, 8}, 0, 8}};
    const struct cluster_event event = {.kind = CLUSTER_EVENT_CALL, .call = &call};
    const struct cluster_event *taken;

    (void)state;
    fill(body, 'b');
    assert_int_equal(cluster_event_queue_create(&queue), 0);
    assert_int_equal(cluster_event_queue_add(queue, &event), 0);
    fill(body, 'x');
    taken = cluster_event_queue_take(queue);
    assert_true(taken->call != &call && taken->call->number == 9);
    assert_memory_equal(taken->call->body.bytes.data, "bbbbbbbb", 8);
    cluster_event_queue_done(queue);
    cluster_event_queue_release(&queue);
}

static void count(void *user)
{
    ++*(unsigned *)user;
}

/* r[verify cluster.node.turns] */
static void an_urgent_event_is_announced(void **state)
{
    static const struct cluster_event_queue_hooks hooks = {count};
    const struct cluster_event event = {.id = 1};
    struct cluster_event_queue *queue;
    unsigned counted = 0;

    (void)state;
    assert_int_equal(cluster_event_queue_create(&queue), 0);
    assert_int_equal(cluster_event_queue_add_urgent(queue, &event), 0);
    cluster_event_queue_set(queue, &hooks, &counted);
    assert_int_equal(cluster_event_queue_add(queue, &event), 0);
    assert_int_equal(counted, 0);
    assert_int_equal(cluster_event_queue_add_urgent(queue, &event), 0);
    assert_int_equal(counted, 1);
    cluster_event_queue_release(&queue);
}

/* r[verify cluster.node.turns] */
static void a_queue_that_is_held_says_nothing_until_it_is_let_go(void **state)
{
    const struct cluster_event event = {.id = 1};
    struct cluster_event_queue *queue;

    (void)state;
    assert_int_equal(cluster_event_queue_create(&queue), 0);
    cluster_event_queue_hold(queue, true);
    assert_int_equal(cluster_event_queue_add(queue, &event), 0);
    assert_int_equal(cluster_event_queue_add_urgent(queue, &event), 0);
    assert_false(is_readable(queue));
    assert_non_null(cluster_event_queue_take(queue));
    cluster_event_queue_done(queue);
    cluster_event_queue_hold(queue, false); /* one is left */
    assert_true(is_readable(queue));
    assert_non_null(cluster_event_queue_take(queue));
    cluster_event_queue_done(queue);
    assert_false(is_readable(queue));
    cluster_event_queue_hold(queue, true);
    cluster_event_queue_hold(queue, false); /* none is */
    assert_false(is_readable(queue));
    cluster_event_queue_release(&queue);
}

static void take_one(void *user)
{
    struct cluster_event_queue *queue = user;

    assert_false(is_readable(queue)); /* its taker is here */
    assert_non_null(cluster_event_queue_take(queue));
    cluster_event_queue_done(queue);
}

/* r[verify cluster.node.turns] */
static void an_urgent_event_that_is_taken_at_once_makes_nothing_readable(void **state)
{
    static const struct cluster_event_queue_hooks hooks = {take_one};
    const struct cluster_event event = {.id = 1};
    struct cluster_event_queue *queue;

    (void)state;
    assert_int_equal(cluster_event_queue_create(&queue), 0);
    cluster_event_queue_set(queue, &hooks, queue);
    assert_int_equal(cluster_event_queue_add_urgent(queue, &event), 0);
    assert_false(is_readable(queue));
    assert_null(cluster_event_queue_take(queue));
    cluster_event_queue_set(queue, NULL, NULL);
    assert_int_equal(cluster_event_queue_add_urgent(queue, &event), 0);
    assert_true(is_readable(queue));
    cluster_event_queue_release(&queue);
}

/* r[verify cluster.node.lost] */
static void a_queue_that_has_lost_an_event_says_so(void **state)
{
    struct cluster_event_queue *queue;

    (void)state;
    assert_int_equal(cluster_event_queue_create(&queue), 0);
    assert_false(cluster_event_queue_has_lost(queue));
    cluster_event_queue_hold(queue, true);
    cluster_event_queue_lose(queue);
    assert_true(cluster_event_queue_has_lost(queue));
    cluster_event_queue_hold(queue, false);
    assert_true(is_readable(queue));
    assert_int_equal(cluster_event_queue_add(queue, &(struct cluster_event){.id = 1}), 0);
    assert_int_equal(cluster_event_queue_take(queue)->id, 1);
    cluster_event_queue_done(queue);
    assert_true(is_readable(queue));
    cluster_event_queue_release(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_leave_in_the_order_in_which_they_came),
        cmocka_unit_test(all_that_an_event_names_is_copied),
        cmocka_unit_test(the_body_of_a_call_is_copied),
        cmocka_unit_test(an_urgent_event_is_announced),
        cmocka_unit_test(a_queue_that_is_held_says_nothing_until_it_is_let_go),
        cmocka_unit_test(an_urgent_event_that_is_taken_at_once_makes_nothing_readable),
        cmocka_unit_test(a_queue_that_has_lost_an_event_says_so)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
