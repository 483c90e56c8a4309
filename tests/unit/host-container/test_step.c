/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that no thread waits for: many at a time, each with one end. */
#include <pthread.h>

#include <rapahub/error.h>
#include <rapahub/lifecycle.h>

#include "host/call/route.h"
#include "host/owner/detached.h"
#include "tests/support/faults.h"
#include "tests/unit/host-container/step_ends.h"

/* r[verify cluster.step] */
static void each_of_many_steps_is_told_once_and_none_waits(void **state)
{
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 0);
    const struct rapahub_question health = {.kind = RAPAHUB_QUESTION_HEALTH};
    const struct rapahub_question recover = {.kind = RAPAHUB_QUESTION_SCHEDULE_RECOVER,
                                             .lost = {{7, 8}, 9}};

    (void)state;
    assert_int_equal(rapahub_host_hold(handle(&ends), stage_here, true), 0);
    assert_int_equal(rapahub_host_ask_async(handle(&ends), &step, &recover), 0);
    assert_int_equal(rapahub_host_ask_async(handle(&ends), &step, &health), 0);
    assert_int_equal(ends.answering->count, 0);
    assert_int_equal(ends.count, 0);
    turn_until(&ends, 2);
    assert_true(ends.numbers[0] == 77 && ends.numbers[1] == 3);
    ends.goes_on = true; /* in a callback */
    assert_int_equal(rapahub_host_plug_async(handle(&ends), &step, true), 0);
    turn_until(&ends, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ends.codes[i], 0);
    assert_true(ends.numbers[2] == 0 && ends.numbers[3] == 0);
    assert_true(ends.answering->stage->container->sealed);
    assert_int_equal(rapahub_host_remove_async(handle(&ends), &step), 0);
    turn_until(&ends, 5);
    assert_null(answering_find(ends.answering, stage_here));
    assert_int_equal(rapahub_host_remove_async(handle(&ends), &step), 0);
    turn_until(&ends, 6);
    assert_int_equal(ends.codes[5], RAPAHUB_ENOENT);
    close_ends(&ends);
}

/* By an earlier removal that ran after its time. */
static void a_container_that_its_guest_has_ended_already_can_be_removed(void **state)
{
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 0);

    (void)state;
    ends.answering->refuses = HUB_LIFECYCLE_FINI;
    assert_int_equal(rapahub_host_remove_async(handle(&ends), &step), 0);
    turn_until(&ends, 1);
    assert_int_equal(ends.codes[0], RAPAHUB_EAPPLICATION);
    assert_non_null(answering_find(ends.answering, stage_here));
    ends.answering->refusal = RAPAHUB_ENOENT;
    assert_int_equal(rapahub_host_remove_async(handle(&ends), &step), 0);
    turn_until(&ends, 2);
    assert_int_equal(ends.codes[1], 0);
    assert_null(answering_find(ends.answering, stage_here));
    close_ends(&ends);
}

/* r[verify cluster.step] */
static void a_step_that_is_not_answered_ends_at_its_time(void **state)
{
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 10 * HUB_MILLISECOND);

    (void)state;
    ends.answering->is_mute = true;
    assert_int_equal(rapahub_host_plug_async(handle(&ends), &step, true), 0);
    turn_until(&ends, 1);
    assert_int_equal(ends.codes[0], RAPAHUB_ETIMEDOUT);
    assert_int_equal(ends.answering->stage->container->state, HOST_CONTAINER_READY);
    ends.answering->stage->container->gated = true;
    ends.answering->stage->container->state = HOST_CONTAINER_HELD;
    assert_int_equal(rapahub_host_plug_async(handle(&ends), &step, true), 0); /* not begun */
    turn_until(&ends, 2);
    assert_int_equal(ends.codes[1], RAPAHUB_ETIMEDOUT);
    close_ends(&ends);
}

static void a_step_ends_when_its_guest_dies(void **state)
{
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 0);

    (void)state;
    ends.answering->is_mute = true;
    assert_int_equal(rapahub_host_plug_async(handle(&ends), &step, true), 0);
    (void)answering_until(HOST_OWNER(&ends.answering->stage->host), 0);
    hub_link_close(ends.answering->stage->life.connection.link, RAPAHUB_EDIED, "");
    turn_until(&ends, 1);
    assert_int_equal(ends.codes[0], RAPAHUB_EDIED);
    close_ends(&ends);
}

/* The last call that ends there tells the owner. */
static void a_drain_goes_on_when_the_last_call_has_ended_and_the_work_is_done(void **state)
{
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, HUB_SECOND);
    struct host_container *container = ends.answering->stage->container;

    (void)state;
    assert_int_equal(rapahub_host_drain_async(handle(&ends), &step), 0);
    turn_until(&ends, 1);
    assert_int_equal(ends.codes[0], RAPAHUB_ESTATE);
    assert_int_equal(rapahub_host_hold(handle(&ends), stage_here, true), 0);
    hub_add(&container->users, 1);
    ends.answering->work = 2;
    assert_int_equal(rapahub_host_drain_async(handle(&ends), &step), 0);
    (void)answering_until(HOST_OWNER(&ends.answering->stage->host), 0);
    assert_int_equal(ends.answering->count, 0);
    assert_true(host_containers_drop(container));
    turn_until(&ends, 2);
    assert_int_equal(ends.codes[1], 0);
    assert_int_equal(ends.answering->count, 3);
    assert_true(container->sealed);
    close_ends(&ends);
}

static bool is_awaited(const struct host_container *container)
{
    return (hub_observe(&container->users) & HOST_CONTAINERS_AWAITED) != 0;
}

/* An upgrade that began meanwhile waits for the same. */
static void the_end_of_calls_is_awaited_no_longer_than_a_drain_lasts(void **state)
{
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 10 * HUB_MILLISECOND);
    struct host_container *container = ends.answering->stage->container;

    (void)state;
    assert_int_equal(rapahub_host_hold(handle(&ends), stage_here, true), 0);
    hub_add(&container->users, 1);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(rapahub_host_drain_async(handle(&ends), &step), 0);
        assert_true(is_awaited(container));
        container->gated = i == 1;
        turn_until(&ends, i + 1);
        assert_int_equal(ends.codes[i], RAPAHUB_ETIMEDOUT);
        assert_true(is_awaited(container) == (i == 1));
    }
    host_containers_await(container, false);
    assert_false(host_containers_drop(container));
    close_ends(&ends);
}

/* However short its time is. */
static void a_drain_looks_once_more_when_its_time_is_up(void **state)
{
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 150 * HUB_MICROSECOND);
    struct host_container *container = ends.answering->stage->container;
    const struct hub_list *timers = &HOST_OWNER(&ends.answering->stage->host)->loop.timers;
    uint64_t latest;

    (void)state;
    assert_int_equal(rapahub_host_hold(handle(&ends), stage_here, true), 0);
    hub_add(&container->users, 1);
    assert_int_equal(rapahub_host_drain_async(handle(&ends), &step), 0);
    latest = hub_clock_after(step.timeout_ns);
    if (!hub_list_empty(timers)) /* else its time is up already */
        assert_true(HUB_LIST_ITEM(timers->next, struct host_timer, link)->due_ns <= latest);
    turn_until(&ends, 1);
    assert_int_equal(ends.codes[0], RAPAHUB_ETIMEDOUT);
    (void)host_containers_drop(container);
    close_ends(&ends);
}

/* r[verify cluster.step] */
static void a_container_begins_without_a_wait_or_is_not_there(void **state)
{
    static const struct rapahub_container_options options = {
        .id = {{4, 5}, 6}, .pool_name = "pool", .token = 9, .managed = true};
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 10 * HUB_MILLISECOND);
    const struct rapahub_guest_id guest = ends.answering->stage->guest.id;

    (void)state;
    assert_int_equal(
        rapahub_host_begin_async(handle(&ends), &step, guest, &options, RAPAHUB_BEGIN_INIT), 0);
    assert_int_equal(
        rapahub_host_begin_async(handle(&ends), &step, guest, &options, RAPAHUB_BEGIN_INIT),
        RAPAHUB_EEXIST);
    turn_until(&ends, 1);
    assert_int_equal(ends.codes[0], 0);
    assert_int_equal(answering_find(ends.answering, answering_id)->state, HOST_CONTAINER_READY);
    host_containers_move(answering_find(ends.answering, answering_id), HOST_CONTAINER_DOWN, "");
    ends.answering->is_mute = true;
    assert_int_equal(
        rapahub_host_begin_async(handle(&ends), &step, guest, &options, RAPAHUB_BEGIN_RESTART), 0);
    turn_until(&ends, 2);
    assert_int_equal(ends.codes[1], RAPAHUB_ETIMEDOUT);
    assert_int_equal(answering_find(ends.answering, answering_id)->state, HOST_CONTAINER_DOWN);
    assert_int_equal(
        rapahub_host_begin_async(handle(&ends), &step, guest, NULL, RAPAHUB_BEGIN_INIT),
        RAPAHUB_EINVAL);
    close_ends(&ends);
}

/* Neither counts the other as a call. */
static void two_drains_of_one_container_end_both(void **state)
{
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 300 * HUB_MILLISECOND);

    (void)state;
    assert_int_equal(rapahub_host_hold(handle(&ends), stage_here, true), 0);
    hub_add(&ends.answering->stage->container->users, 1);
    assert_int_equal(rapahub_host_drain_async(handle(&ends), &step), 0);
    assert_int_equal(rapahub_host_drain_async(handle(&ends), &step), 0);
    (void)host_containers_drop(ends.answering->stage->container);
    turn_until(&ends, 2);
    assert_int_equal(ends.codes[0], 0);
    assert_int_equal(ends.codes[1], 0);
    assert_false(is_awaited(ends.answering->stage->container));
    assert_int_equal(ends.answering->stage->container->awaiters, 0);
    close_ends(&ends);
}

/* An upgrade awaits the end of calls, too, and of the drain. */
static void a_drain_does_not_wait_for_the_upgrade_that_waits_for_it(void **state)
{
    struct ends ends = open_ends();
    struct host_container *container = ends.answering->stage->container;
    struct rapahub_step step = within(&ends, 300 * HUB_MILLISECOND);

    (void)state;
    assert_int_equal(rapahub_host_hold(handle(&ends), stage_here, true), 0);
    hub_add(&container->users, 1); /* a call */
    assert_int_equal(rapahub_host_drain_async(handle(&ends), &step), 0);
    hub_add(&container->users, 1); /* the gate of the upgrade */
    container->awaiters++;
    container->gated = true;
    (void)host_containers_drop(container);
    turn_until(&ends, 1);
    assert_int_equal(ends.codes[0], 0);
    assert_true(is_awaited(container));
    assert_int_equal(container->awaiters, 1);
    host_containers_await(container, false);
    (void)host_containers_drop(container);
    close_ends(&ends);
}

/* The guest may have begun it all the same: it ends it then. */
static void a_begin_that_is_late_is_taken_back_in_its_guest(void **state)
{
    static const struct rapahub_container_options options = {.id = {{4, 5}, 6},
                                                             .pool_name = "pool"};
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 10 * HUB_MILLISECOND);

    (void)state;
    ends.answering->is_mute = true;
    assert_int_equal(rapahub_host_begin_async(handle(&ends), &step, ends.answering->stage->guest.id,
                                              &options, RAPAHUB_BEGIN_INIT),
                     0);
    turn_until(&ends, 1);
    assert_int_equal(ends.codes[0], RAPAHUB_ETIMEDOUT);
    ends.answering->is_mute = false;
    for (int i = 0; i < 10; i++)
        (void)answering_until(HOST_OWNER(&ends.answering->stage->host), 0);
    assert_int_equal(ends.answering->count, 2);
    assert_int_equal(ends.answering->asked[1], HUB_LIFECYCLE_FINI);
    assert_int_equal(hub_load_relaxed(&ends.answering->stage->life.unsure), 0);
    close_ends(&ends);
}

/* Its guest ends while there is no space for the message, and another step removes it. */
static void a_container_that_is_removed_while_it_begins_again_is_not_used(void **state)
{
    static const struct rapahub_container_options options = {
        .id = {{4, 5}, 6}, .pool_name = "pool", .managed = true};
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 0), remove = step;
    struct stage *stage = ends.answering->stage;
    const struct rapahub_guest_id guest = stage->guest.id;

    (void)state;
    remove.target = answering_id;
    assert_int_equal(
        rapahub_host_begin_async(handle(&ends), &step, guest, &options, RAPAHUB_BEGIN_INIT), 0);
    turn_until(&ends, 1);
    host_containers_move(answering_find(ends.answering, answering_id), HOST_CONTAINER_DOWN, "");
    ends.answering->is_mute = true;
    assert_int_equal(
        rapahub_host_begin_async(handle(&ends), &step, guest, &options, RAPAHUB_BEGIN_RESTART), 0);
    host_containers_move(answering_find(ends.answering, answering_id), HOST_CONTAINER_DOWN, "");
    assert_int_equal(rapahub_host_remove_async(handle(&ends), &remove), 0);
    assert_null(answering_find(ends.answering, answering_id));
    host_containers_sweep(&HOST_REGISTRY(&stage->host)->containers, NULL, NULL);
    hub_link_close(stage->life.connection.link, RAPAHUB_EDIED, "");
    turn_until(&ends, 3);
    close_ends(&ends);
}

/* Returns the handle that a call would send. */
static uint64_t handle_sent(const struct ends *ends)
{
    struct host_route route;
    uint64_t sent;

    assert_int_equal(host_route_find(&ends->answering->stage->host, stage_here, &route), 0);
    sent = route.handle;
    host_route_drop(&route);
    return sent;
}

/* Its guest may have it, or have begun another one meanwhile, which would be its first. */
static void a_container_is_named_while_it_is_unknown_which_ones_its_guest_has(void **state)
{
    static const struct rapahub_container_options options = {.id = {{4, 5}, 6},
                                                             .pool_name = "pool"};
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 10 * HUB_MILLISECOND);
    struct stage *stage = ends.answering->stage;

    (void)state;
    stage->container->handle = 9;
    assert_int_equal(handle_sent(&ends), 0);
    ends.answering->refuses = HUB_LIFECYCLE_BEGIN;
    assert_int_equal(rapahub_host_begin_async(handle(&ends), &step, stage->guest.id, &options,
                                              RAPAHUB_BEGIN_INIT),
                     0);
    assert_int_equal(handle_sent(&ends), 9);
    turn_until(&ends, 1);
    assert_int_equal(ends.codes[0], RAPAHUB_EAPPLICATION);
    assert_int_equal(handle_sent(&ends), 0); /* it has answered that it has none */
    ends.answering->is_mute = true;
    assert_int_equal(rapahub_host_remove_async(handle(&ends), &step), 0);
    turn_until(&ends, 2);
    assert_int_equal(ends.codes[1], RAPAHUB_ETIMEDOUT);
    assert_int_equal(handle_sent(&ends), 9);
    close_ends(&ends);
}

static void what_cannot_be_asked_is_refused_and_not_told(void **state)
{
    struct ends ends = open_ends();
    struct rapahub_step step = within(&ends, 0), other = step;
    struct rapahub_question question = {.kind = RAPAHUB_QUESTION_ROUTE};
    struct rapahub_route route = {.containers = 1};

    (void)state;
    assert_int_equal(rapahub_host_drain_async(handle(&ends), NULL), RAPAHUB_EINVAL);
    other.on_done = NULL;
    assert_int_equal(rapahub_host_plug_async(handle(&ends), &other, true), RAPAHUB_EINVAL);
    other = step;
    other.reserved[1] = 1;
    assert_int_equal(rapahub_host_remove_async(handle(&ends), &other), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_host_ask_async(handle(&ends), &step, &question), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_host_ask_async(handle(&ends), &step, NULL), RAPAHUB_EINVAL);
    question.kind = RAPAHUB_QUESTION_WORK;
    question.route = &route;
    assert_int_equal(rapahub_host_ask_async(handle(&ends), &step, &question), RAPAHUB_EINVAL);
    question.kind = RAPAHUB_QUESTION_ROUTE;
    route.reserved = 1;
    assert_int_equal(rapahub_host_ask_async(handle(&ends), &step, &question), RAPAHUB_EINVAL);
    question = (struct rapahub_question){.kind = RAPAHUB_QUESTION_WORK};
    question.reserved[0] = 1;
    assert_int_equal(rapahub_host_ask_async(handle(&ends), &step, &question), RAPAHUB_EINVAL);
    assert_int_equal(ends.count, 0);
    close_ends(&ends);
}

static void *fault(const char *text)
{
    print_error("%s\n", text);
    return stderr;
}

static void *begin_in_vain(void *user)
{
    struct ends *ends = user;
    const struct rapahub_step step = within(ends, 0);
    int64_t blocks = 0;

    for (int i = 0; i < 3; i++) {
        if (rapahub_host_drain_async(handle(ends), &step) != RAPAHUB_ETIMEDOUT)
            return fault("it was begun, though there was no turn");
        if (i > 0 && faults_blocks() != blocks)
            return fault("something of it is left");
        blocks = faults_blocks();
    }
    return NULL;
}

/* The owner takes no turn. */
static void a_step_that_cannot_begin_in_time_is_refused_and_leaves_nothing(void **state)
{
    struct ends ends = open_ends();
    struct host_options *options = &ends.answering->stage->host.process.options;
    const uint64_t timeout_ns = options->call_timeout_ns;
    pthread_t thread;
    void *failure;

    (void)state;
    options->call_timeout_ns = HUB_MILLISECOND;
    assert_int_equal(pthread_create(&thread, NULL, begin_in_vain, &ends), 0);
    assert_int_equal(pthread_join(thread, &failure), 0);
    options->call_timeout_ns = timeout_ns;
    assert_null(failure);
    assert_int_equal(ends.count, 0);
    close_ends(&ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_of_many_steps_is_told_once_and_none_waits),
        cmocka_unit_test(a_container_that_its_guest_has_ended_already_can_be_removed),
        cmocka_unit_test(a_step_that_is_not_answered_ends_at_its_time),
        cmocka_unit_test(a_step_ends_when_its_guest_dies),
        cmocka_unit_test(a_drain_goes_on_when_the_last_call_has_ended_and_the_work_is_done),
        cmocka_unit_test(the_end_of_calls_is_awaited_no_longer_than_a_drain_lasts),
        cmocka_unit_test(a_drain_looks_once_more_when_its_time_is_up),
        cmocka_unit_test(a_container_begins_without_a_wait_or_is_not_there),
        cmocka_unit_test(two_drains_of_one_container_end_both),
        cmocka_unit_test(a_drain_does_not_wait_for_the_upgrade_that_waits_for_it),
        cmocka_unit_test(a_begin_that_is_late_is_taken_back_in_its_guest),
        cmocka_unit_test(a_container_that_is_removed_while_it_begins_again_is_not_used),
        cmocka_unit_test(a_container_is_named_while_it_is_unknown_which_ones_its_guest_has),
        cmocka_unit_test(what_cannot_be_asked_is_refused_and_not_told),
        cmocka_unit_test(a_step_that_cannot_begin_in_time_is_refused_and_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
