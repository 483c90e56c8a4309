/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>
#include <rapahub/method.h>

#include "tests/unit/host-container/answering.h"

static const struct rapahub_container_options options = {.id = {{4, 5}, 6}, .pool_name = "pool"};

static int begin_as(struct answering *answering, enum rapahub_begin how,
                    struct rapahub_source *state)
{
    const struct host_container_lifecycle_begin begin = {answering->stage->guest.id, &options, how,
                                                         state};

    return host_container_lifecycle_begin(&answering->stage->host, &begin);
}

static int begin(struct answering *answering)
{
    return begin_as(answering, RAPAHUB_BEGIN_INIT, NULL);
}

/* Plugs the container of the stage, as if it had been long ago. */
static struct host_call *plugged(struct answering *answering)
{
    answering->stage->container->state = HOST_CONTAINER_PLUGGED;
    return &answering->stage->host;
}

static void a_container_is_reachable_after_it_has_begun_in_its_guest(void **state)
{
    struct answering *answering = answering_open();
    struct host_container *container;

    (void)state;
    assert_int_equal(begin(answering), 0);
    container = answering_find(answering, answering_id);
    assert_int_equal(container->state, HOST_CONTAINER_READY);
    assert_ptr_equal(container->guest, &answering->stage->guest);
    assert_ptr_equal(answering->stage->guest.containers.previous, &container->of_guest);
    assert_true(answering->count == 1 && answering->asked[0] == HUB_LIFECYCLE_BEGIN);
    assert_int_equal(begin(answering), -EEXIST);
    assert_int_equal(answering->count, 1);
    answering_close(answering);
}

static void of_a_container_that_could_not_begin_nothing_is_left(void **state)
{
    struct answering *answering = answering_open();

    (void)state;
    answering->refuses = HUB_LIFECYCLE_BEGIN;
    assert_int_equal(begin(answering), RAPAHUB_EAPPLICATION);
    assert_null(answering_find(answering, answering_id));
    answering->refuses = HUB_LIFECYCLE_COUNT;
    assert_int_equal(begin(answering), 0);
    answering_close(answering);
}

/* Its guest has it already. */
static void a_container_whose_state_cannot_be_loaded_is_ended_there(void **state)
{
    struct answering *answering = answering_open();
    struct rapahub_source *source;

    (void)state;
    assert_int_equal(rapahub_source_of_memory("no state at all, but long enough", 32, &source), 0);
    assert_int_equal(begin_as(answering, RAPAHUB_BEGIN_RESTART, source), RAPAHUB_EABI);
    rapahub_source_destroy(source);
    assert_null(answering_find(answering, answering_id));
    assert_int_equal(answering->count, 2);
    assert_int_equal(answering->asked[1], HUB_LIFECYCLE_FINI);
    answering_close(answering);
}

static void a_container_does_not_begin_in_a_guest_that_ended_meanwhile(void **state)
{
    struct answering *answering = answering_open();

    (void)state;
    answering->dies = true;
    assert_int_equal(begin(answering), RAPAHUB_EDIED);
    assert_null(answering_find(answering, answering_id));
    answering_close(answering);
}

static void a_container_begins_only_in_a_guest_that_serves_and_stays(void **state)
{
    struct answering *answering = answering_open();
    struct host_guest *guest = &answering->stage->guest;

    (void)state;
    assert_int_equal(begin_as(answering, RAPAHUB_BEGIN_RECOVER + 1, NULL), RAPAHUB_EINVAL);
    guest->upgrade = (struct host_upgrade *)(void *)guest;
    assert_int_equal(begin(answering), RAPAHUB_EBUSY);
    guest->upgrade = NULL;
    guest->state = HOST_GUEST_STOPPING;
    assert_int_equal(begin(answering), RAPAHUB_ESTALE);
    guest->state = HOST_GUEST_READY;
    guest->id.epoch++;
    {
        const struct host_container_lifecycle_begin stale = {
            {.group = 1, .peer = 2, .epoch = 3}, &options, RAPAHUB_BEGIN_INIT, NULL};

        assert_int_equal(host_container_lifecycle_begin(&answering->stage->host, &stale),
                         RAPAHUB_ESTALE);
    }
    assert_int_equal(answering->count, 0);
    answering_close(answering);
}

static int begin_managed(struct answering *answering, uint64_t token)
{
    const struct rapahub_container_options managed = {
        .id = answering_id, .pool_name = "pool", .token = token, .managed = true};
    const struct host_container_lifecycle_begin order = {answering->stage->guest.id, &managed,
                                                         RAPAHUB_BEGIN_RESTART, NULL};

    return host_container_lifecycle_begin(&answering->stage->host, &order);
}

/* r[verify cluster.managed] r[verify cluster.token] */
static void a_managed_container_that_is_down_is_begun_again_with_its_next_token(void **state)
{
    struct answering *answering = answering_open();
    struct host_call *host = &answering->stage->host;
    struct host_container *container;

    (void)state;
    assert_int_equal(begin_managed(answering, 5), 0);
    container = answering_find(answering, answering_id);
    assert_int_equal(answering->asked[0], HUB_LIFECYCLE_BEGIN_TOKEN);
    assert_true(container->managed && container->token == 5);
    assert_int_equal(begin_managed(answering, 6), -EEXIST);
    host_containers_move(container, HOST_CONTAINER_DOWN, "in a test");
    answering->refuses = HUB_LIFECYCLE_BEGIN_TOKEN;
    assert_int_equal(begin_managed(answering, 6), RAPAHUB_EAPPLICATION);
    assert_ptr_equal(answering_find(answering, answering_id), container);
    assert_int_equal(container->state, HOST_CONTAINER_DOWN);
    answering->refuses = HUB_LIFECYCLE_COUNT;
    assert_int_equal(begin_managed(answering, 7), 0);
    assert_int_equal(answering->last[answering->last_size - 1], 7);
    assert_ptr_equal(answering_find(answering, answering_id), container);
    assert_true(container->state == HOST_CONTAINER_READY && container->token == 7);
    assert_ptr_equal(answering->stage->guest.containers.previous, &container->of_guest);
    host_containers_move(container, HOST_CONTAINER_DOWN, "in a test");
    answering->count = 0;
    assert_int_equal(answering_remove(host, answering_id), 0); /* no guest has it */
    assert_int_equal(answering->count, 0);
    assert_null(answering_find(answering, answering_id));
    answering_close(answering);
}

/* r[verify cluster.managed] */
static void a_managed_container_begins_again_in_no_other_guest(void **state)
{
    struct answering *answering = answering_open();
    struct host_guest other = {.name = "other"};
    struct host_container *container;

    (void)state;
    assert_int_equal(begin_managed(answering, 5), 0);
    container = answering_find(answering, answering_id);
    host_containers_move(container, HOST_CONTAINER_DOWN, "in a test");
    container->guest = &other;
    assert_int_equal(begin_managed(answering, 6), -EEXIST);
    assert_true(container->token == 5 && answering->count == 1);
    container->guest = &answering->stage->guest;
    answering_close(answering);
}

/* r[verify supervise.container] */
static void a_guest_that_is_down_keeps_its_containers_in_their_order(void **state)
{
    struct answering *answering = answering_open();
    struct host_guest *guest = &answering->stage->guest;
    struct host_container *container;

    (void)state;
    assert_int_equal(host_container_lifecycle_keep(guest, &options), 0);
    container = answering_find(answering, answering_id);
    assert_true(container->state == HOST_CONTAINER_DOWN && container->is_new);
    assert_ptr_equal(guest->containers.next, &answering->stage->container->of_guest);
    assert_ptr_equal(guest->containers.previous, &container->of_guest);
    assert_int_equal(host_container_lifecycle_keep(guest, &options), -EEXIST);
    assert_int_equal(answering->count, 0);
    answering_close(answering);
}

static void the_id_of_a_container_that_is_gone_may_be_given_again(void **state)
{
    struct answering *answering = answering_open();
    struct host_container *before;

    (void)state;
    assert_int_equal(host_container_lifecycle_keep(&answering->stage->guest, &options), 0);
    before = answering_find(answering, answering_id);
    hub_list_remove(&before->of_guest);
    before->state = HOST_CONTAINER_GONE;
    assert_int_equal(begin(answering), 0);
    assert_ptr_not_equal(answering_find(answering, answering_id), before);
    answering_close(answering);
}

static void an_offer_serves_at_once_and_cannot_be_removed(void **state)
{
    static const struct rapahub_method methods[] = {RAPAHUB_METHOD_END};
    const struct rapahub_container_options of_offer = {.id = floor_service, .pool_name = "pool"};
    struct answering *answering = answering_open();
    struct host_call *host = &answering->stage->host;

    (void)state;
    assert_int_equal(host_container_lifecycle_offer(host, &of_offer, NULL, NULL), RAPAHUB_EINVAL);
    assert_null(answering_find(answering, floor_service));
    assert_int_equal(host_container_lifecycle_offer(host, &of_offer, methods, NULL), 0);
    assert_int_equal(answering_find(answering, floor_service)->state, HOST_CONTAINER_READY);
    assert_int_equal(answering_remove(host, floor_service), -ENOTSUP);
    assert_non_null(answering_find(answering, floor_service));
    answering_close(answering);
}

static int take(struct answering *answering, struct rapahub_container_id id, struct host_asked *out)
{
    return host_container_lifecycle_take(&answering->stage->host, id,
                                         hub_clock_after(5 * HUB_MILLISECOND), out);
}

static void a_container_can_be_asked_in_each_state_in_which_its_guest_has_it(void **state)
{
    struct answering *answering = answering_open();
    struct stage *stage = answering->stage;
    struct host_asked care;

    (void)state;
    for (int i = 0; i < 3; i++) {
        stage->container->state = i == 1 ? HOST_CONTAINER_PLUGGED : HOST_CONTAINER_READY;
        stage->guest.state = i == 2 ? HOST_GUEST_DEGRADED : HOST_GUEST_READY;
        assert_int_equal(take(answering, stage_here, &care), 0);
        assert_int_equal(host_containers_users(stage->container), 1);
        assert_int_equal(hub_observe(&stage->life.users), 1);
        host_asked_drop(&care);
        assert_int_equal(host_containers_users(stage->container), 0);
        assert_int_equal(hub_observe(&stage->life.users), 0);
    }
    assert_int_equal(take(answering, answering_id, &care), RAPAHUB_ENOENT);
    assert_non_null(strstr(rapahub_last_error()->text, "4.5[6]"));
    stage->container->state = HOST_CONTAINER_GONE;
    assert_int_equal(take(answering, stage_here, &care), RAPAHUB_ENOENT);
    answering_close(answering);
}

static void ready_again(struct answering *answering)
{
    answering->stage->container->state = HOST_CONTAINER_READY;
}

static void a_container_whose_guest_is_replaced_is_waited_for_until_the_deadline(void **state)
{
    struct answering *answering = answering_open();
    struct host_asked care;

    (void)state;
    answering->stage->container->state = HOST_CONTAINER_HELD;
    answering->stage->container->gated = true;
    assert_int_equal(take(answering, stage_here, &care), RAPAHUB_ETIMEDOUT);
    assert_true(!care.life && !care.container);
    answering->in_turn = ready_again;
    assert_int_equal(take(answering, stage_here, &care), 0);
    host_asked_drop(&care);
    answering_close(answering);
}

/* r[verify cluster.hold] */
static void calls_to_a_container_are_held_at_once_and_its_guest_is_not_told(void **state)
{
    static const struct rapahub_method methods[] = {RAPAHUB_METHOD_END};
    struct answering *answering = answering_open();
    struct host_call *host = &answering->stage->host;
    struct host_container *container = answering->stage->container;
    uint32_t changes = hub_observe(&HOST_REGISTRY(host)->routes.changes);

    (void)state;
    assert_int_equal(host_container_lifecycle_hold(host, stage_here, true), 0);
    assert_true(container->state == HOST_CONTAINER_HELD && container->on_hold);
    assert_int_not_equal(hub_observe(&HOST_REGISTRY(host)->routes.changes), changes);
    assert_true(floor_is_woken(answering->stage));
    assert_int_equal(answering_plug(host, stage_here, true), 0);
    assert_int_equal(container->state, HOST_CONTAINER_PLUGGED);
    assert_int_equal(answering_plug(host, stage_here, false), 0);
    assert_int_equal(container->state, HOST_CONTAINER_HELD);
    container->state = HOST_CONTAINER_DOWN; /* it is held when it is there again */
    assert_int_equal(host_container_lifecycle_hold(host, stage_here, false), 0);
    assert_int_equal(container->state, HOST_CONTAINER_DOWN);
    assert_int_equal(host_containers_open(container), HOST_CONTAINER_READY);
    assert_int_equal(answering->count, 2);
    assert_int_equal(host_container_lifecycle_hold(host, answering_id, true), RAPAHUB_ENOENT);
    container->state = HOST_CONTAINER_GONE;
    assert_int_equal(host_container_lifecycle_hold(host, stage_here, true), RAPAHUB_ENOENT);
    (void)floor_offer(answering->stage, methods, NULL);
    assert_int_equal(host_container_lifecycle_hold(host, floor_service, true), -ENOTSUP);
    answering_close(answering);
}

/* A call that waits holds no drain up, and a chain passes only before. */
static void a_container_on_hold_can_be_asked_drained_and_ended(void **state)
{
    struct answering *answering = answering_open();
    struct host_call *host = &answering->stage->host;
    struct host_container *container = answering->stage->container;

    (void)state;
    assert_int_equal(host_container_lifecycle_hold(host, stage_here, true), 0);
    hub_add(&container->users, 1);
    assert_int_equal(answering_drain(host, stage_here, HUB_MILLISECOND), RAPAHUB_ETIMEDOUT);
    assert_false(container->sealed);
    hub_add(&container->users, UINT32_MAX);
    hub_add(&container->held, 1);
    assert_int_equal(answering_drain(host, stage_here, HUB_SECOND), 0);
    assert_true(container->sealed);
    assert_int_equal(host_container_lifecycle_hold(host, stage_here, false), 0);
    assert_false(container->sealed);
    assert_int_equal(host_container_lifecycle_hold(host, stage_here, true), 0);
    assert_int_equal(answering_remove(host, stage_here), 0);
    assert_null(answering_find(answering, stage_here));
    hub_add(&container->held, UINT32_MAX);
    answering_close(answering);
}

/* No call arrives there while it is plugged in its guest. */
static void a_container_is_closed_here_before_its_guest_is_told_and_opened_after(void **state)
{
    struct answering *answering = answering_open();
    struct host_container *container = answering->stage->container;

    (void)state;
    assert_int_equal(answering_plug(&answering->stage->host, stage_here, true), 0);
    assert_true(answering->count == 1 && answering->asked[0] == HUB_LIFECYCLE_PLUG);
    assert_int_equal(answering->last[0], 1);
    assert_int_equal(answering->then[0], HOST_CONTAINER_PLUGGED);
    assert_true(container->state == HOST_CONTAINER_PLUGGED && container->plugged);
    assert_int_equal(answering_plug(&answering->stage->host, stage_here, false), 0);
    assert_int_equal(answering->last[0], 0);
    assert_int_equal(answering->then[1], HOST_CONTAINER_PLUGGED);
    assert_true(container->state == HOST_CONTAINER_READY && !container->plugged);
    answering_close(answering);
}

static void a_plug_that_the_guest_refuses_changes_nothing(void **state)
{
    struct answering *answering = answering_open();
    struct host_container *container = answering->stage->container;

    (void)state;
    answering->refuses = HUB_LIFECYCLE_PLUG;
    assert_int_equal(answering_plug(&answering->stage->host, stage_here, true),
                     RAPAHUB_EAPPLICATION);
    assert_true(container->state == HOST_CONTAINER_READY && !container->plugged);
    container->plugged = true;
    assert_int_equal(answering_plug(plugged(answering), stage_here, false), RAPAHUB_EAPPLICATION);
    assert_true(container->state == HOST_CONTAINER_PLUGGED && container->plugged);
    answering_close(answering);
}

static void a_container_is_drained_when_its_guest_has_no_work_left(void **state)
{
    struct answering *answering = answering_open();

    (void)state;
    assert_int_equal(answering_drain(&answering->stage->host, stage_here, HUB_SECOND),
                     RAPAHUB_ESTATE);
    assert_int_equal(answering->count, 0);
    answering->work = 2;
    assert_int_equal(answering_drain(plugged(answering), stage_here, HUB_SECOND), 0);
    assert_int_equal(answering->count, 3);
    assert_int_equal(answering->asked[2], HUB_LIFECYCLE_WORK);
    assert_true(answering->handle == answering->stage->container->handle);
    answering_close(answering);
}

static void call_ends(struct answering *answering)
{
    assert_int_equal(answering->count, 0);
    answering->in_turn = NULL;
    host_containers_drop(answering->stage->container);
}

static void a_container_with_open_calls_is_not_asked_for_work(void **state)
{
    struct answering *answering = answering_open();

    (void)state;
    hub_add(&answering->stage->container->users, 1);
    assert_int_equal(answering_drain(plugged(answering), stage_here, 10 * HUB_MILLISECOND),
                     RAPAHUB_ETIMEDOUT);
    assert_int_equal(answering->count, 0);
    answering->in_turn = call_ends;
    assert_int_equal(answering_drain(plugged(answering), stage_here, HUB_SECOND), 0);
    answering_close(answering);
}

static void only_a_plugged_container_is_saved(void **state)
{
    struct answering *answering = answering_open();
    struct rapahub_sink *sink;
    size_t size;

    (void)state;
    assert_int_equal(rapahub_sink_of_memory(100, &sink), 0);
    assert_int_equal(host_container_lifecycle_save(&answering->stage->host, stage_here, sink),
                     RAPAHUB_ESTATE);
    (void)rapahub_sink_data(sink, &size);
    assert_true(size == 0 && answering->count == 0);
    rapahub_sink_destroy(sink);
    answering_close(answering);
}

static void a_container_is_removed_after_it_has_ended_in_its_guest(void **state)
{
    struct answering *answering = answering_open();
    struct host_call *host = &answering->stage->host;

    (void)state;
    assert_int_equal(begin(answering), 0);
    answering->refuses = HUB_LIFECYCLE_FINI;
    assert_int_equal(answering_remove(host, answering_id), RAPAHUB_EAPPLICATION);
    assert_int_equal(answering_find(answering, answering_id)->state, HOST_CONTAINER_READY);
    answering->refuses = HUB_LIFECYCLE_COUNT;
    assert_int_equal(answering_remove(host, answering_id), 0);
    assert_null(answering_find(answering, answering_id));
    assert_int_equal(answering_remove(host, answering_id), RAPAHUB_ENOENT);
    answering_close(answering);
}

static void a_container_whose_guest_has_ended_is_removed_without_it(void **state)
{
    struct answering *answering = answering_open();
    struct host_container *container;

    (void)state;
    assert_int_equal(host_container_lifecycle_keep(&answering->stage->guest, &options), 0);
    container = answering_find(answering, answering_id);
    hub_list_remove(&container->of_guest);
    container->state = HOST_CONTAINER_GONE;
    assert_int_equal(answering_remove(&answering->stage->host, answering_id), 0);
    assert_null(answering_find(answering, answering_id));
    assert_int_equal(answering->count, 0);
    answering_close(answering);
}

/* r[verify sec.call.time] */
static void a_guest_that_does_not_answer_is_late(void **state)
{
    struct answering *answering = answering_open();

    (void)state;
    answering->is_mute = true;
    answering->stage->host.process.options.call_timeout_ns = 50 * HUB_MILLISECOND;
    assert_int_equal(begin(answering), RAPAHUB_ETIMEDOUT);
    assert_null(answering_find(answering, answering_id));
    answering->is_mute = false;
    for (int i = 0; i < 1000 && answering->count < 2; i++)
        (void)answering_until(HOST_OWNER(&answering->stage->host), 0);
    assert_int_equal(answering->count, 2);
    assert_int_equal(answering->asked[1], HUB_LIFECYCLE_FINI); /* it may have begun it */
    assert_int_equal(hub_load_relaxed(&answering->stage->life.unsure), 0);
    answering_close(answering);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_is_reachable_after_it_has_begun_in_its_guest),
        cmocka_unit_test(of_a_container_that_could_not_begin_nothing_is_left),
        cmocka_unit_test(a_container_whose_state_cannot_be_loaded_is_ended_there),
        cmocka_unit_test(a_container_does_not_begin_in_a_guest_that_ended_meanwhile),
        cmocka_unit_test(a_container_begins_only_in_a_guest_that_serves_and_stays),
        cmocka_unit_test(a_guest_that_is_down_keeps_its_containers_in_their_order),
        cmocka_unit_test(the_id_of_a_container_that_is_gone_may_be_given_again),
        cmocka_unit_test(an_offer_serves_at_once_and_cannot_be_removed),
        cmocka_unit_test(a_container_can_be_asked_in_each_state_in_which_its_guest_has_it),
        cmocka_unit_test(a_container_whose_guest_is_replaced_is_waited_for_until_the_deadline),
        cmocka_unit_test(a_managed_container_that_is_down_is_begun_again_with_its_next_token),
        cmocka_unit_test(a_managed_container_begins_again_in_no_other_guest),
        cmocka_unit_test(calls_to_a_container_are_held_at_once_and_its_guest_is_not_told),
        cmocka_unit_test(a_container_on_hold_can_be_asked_drained_and_ended),
        cmocka_unit_test(a_container_is_closed_here_before_its_guest_is_told_and_opened_after),
        cmocka_unit_test(a_plug_that_the_guest_refuses_changes_nothing),
        cmocka_unit_test(a_container_is_drained_when_its_guest_has_no_work_left),
        cmocka_unit_test(a_container_with_open_calls_is_not_asked_for_work),
        cmocka_unit_test(only_a_plugged_container_is_saved),
        cmocka_unit_test(a_container_is_removed_after_it_has_ended_in_its_guest),
        cmocka_unit_test(a_container_whose_guest_has_ended_is_removed_without_it),
        cmocka_unit_test(a_guest_that_does_not_answer_is_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
