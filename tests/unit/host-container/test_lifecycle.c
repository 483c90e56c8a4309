/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>
#include <rapahub/lifecycle.h>

#include "tests/unit/host-container/answering.h"

static struct rapahub_host *handle(const struct answering *answering)
{
    return (struct rapahub_host *)(void *)&answering->stage->host;
}

static void assert_asked(struct answering *answering, enum hub_lifecycle_method method)
{
    assert_int_equal(answering->count, 1);
    assert_int_equal(answering->asked[0], method);
    assert_true(answering->handle == answering->stage->container->handle);
    answering->count = 0;
}

static void each_question_names_its_container_and_carries_its_argument(void **state)
{
    const struct rapahub_container_id lost = {{7, 8}, 9};
    const struct rapahub_node_id node = {42};
    struct answering *answering = answering_open();
    struct rapahub_host *host = handle(answering);
    struct rapahub_node_id found = {0};

    (void)state;
    assert_int_equal(rapahub_host_migrate(host, stage_here, node), 0);
    assert_int_equal(answering->last[0], 42);
    assert_asked(answering, HUB_LIFECYCLE_MIGRATE);
    assert_int_equal(rapahub_host_expand(host, stage_here, node), 0);
    assert_int_equal(answering->last[0], 42);
    assert_asked(answering, HUB_LIFECYCLE_EXPAND);
    assert_int_equal(rapahub_host_schedule_recover(host, stage_here, lost, &found), 0);
    assert_memory_equal(answering->last, "\7\10\11", 3);
    assert_true(found.number == 77);
    assert_asked(answering, HUB_LIFECYCLE_RECOVER);
    answering_close(answering);
}

static void figures_of_a_container_are_written_only_if_it_has_told_them(void **state)
{
    struct answering *answering = answering_open();
    struct rapahub_host *host = handle(answering);
    uint32_t health = 99;
    uint64_t work = 99;

    (void)state;
    answering->refuses = HUB_LIFECYCLE_HEALTH;
    assert_int_equal(rapahub_host_health(host, stage_here, &health), RAPAHUB_EAPPLICATION);
    assert_int_equal(health, 99);
    answering->refuses = HUB_LIFECYCLE_COUNT;
    assert_int_equal(rapahub_host_health(host, stage_here, &health), 0);
    assert_int_equal(health, 3);
    answering->count = 0;
    answering->work = 5;
    assert_int_equal(rapahub_host_work_remaining(host, stage_here, &work), 0);
    assert_true(work == 5);
    assert_asked(answering, HUB_LIFECYCLE_WORK);
    answering_close(answering);
}

static void a_container_lives_from_begin_to_remove(void **state)
{
    const struct rapahub_container_options options = {.id = answering_id, .pool_name = "pool"};
    struct answering *answering = answering_open();
    struct rapahub_host *host = handle(answering);

    (void)state;
    assert_int_equal(
        rapahub_host_begin(host, answering->stage->guest.id, &options, RAPAHUB_BEGIN_INIT, NULL),
        0);
    assert_int_equal(rapahub_host_plug(host, answering_id, true), 0);
    assert_int_equal(answering_find(answering, answering_id)->state, HOST_CONTAINER_PLUGGED);
    assert_int_equal(rapahub_host_drain(host, answering_id, HUB_SECOND), 0);
    assert_int_equal(rapahub_host_plug(host, answering_id, false), 0);
    assert_int_equal(answering_find(answering, answering_id)->state, HOST_CONTAINER_READY);
    assert_int_equal(rapahub_host_remove_container(host, answering_id), 0);
    assert_null(answering_find(answering, answering_id));
    answering_close(answering);
}

/* It would wait for a turn inside of a callback that runs in one. */
static void a_callback_of_the_embedder_changes_no_container(void **state)
{
    struct answering *answering = answering_open();
    struct rapahub_host *host = handle(answering);
    struct rapahub_sink *sink;

    (void)state;
    assert_int_equal(rapahub_sink_of_memory(100, &sink), 0);
    HOST_OWNER(&answering->stage->host)->callbacks = 1;
    assert_int_equal(rapahub_host_plug(host, stage_here, true), RAPAHUB_ESTATE);
    assert_int_equal(rapahub_host_drain(host, stage_here, 1), RAPAHUB_ESTATE);
    assert_int_equal(rapahub_host_save(host, stage_here, sink), RAPAHUB_ESTATE);
    assert_int_equal(rapahub_host_remove_container(host, stage_here), RAPAHUB_ESTATE);
    assert_int_equal(answering->count, 0);
    assert_int_equal(answering->stage->container->state, HOST_CONTAINER_READY);
    HOST_OWNER(&answering->stage->host)->callbacks = 0;
    rapahub_sink_destroy(sink);
    answering_close(answering);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_question_names_its_container_and_carries_its_argument),
        cmocka_unit_test(figures_of_a_container_are_written_only_if_it_has_told_them),
        cmocka_unit_test(a_container_lives_from_begin_to_remove),
        cmocka_unit_test(a_callback_of_the_embedder_changes_no_container),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
