/* SPDX-License-Identifier: Apache-2.0 */
/* A begin that is waited for, while others change the same container in its turns. */
#include "tests/unit/host-container/answering.h"

static int begin_managed(struct answering *answering, uint64_t token)
{
    const struct rapahub_container_options managed = {
        .id = answering_id, .pool_name = "pool", .token = token, .managed = true};
    const struct host_container_lifecycle_begin order = {answering->stage->guest.id, &managed,
                                                         RAPAHUB_BEGIN_RESTART, NULL};

    return host_container_lifecycle_begin(&answering->stage->host, &order);
}

/* Its guest dies, and another step removes it. */
static void remove_in_turn(struct answering *answering)
{
    struct host_containers *containers = &HOST_REGISTRY(&answering->stage->host)->containers;
    struct host_container *container = answering_find(answering, answering_id);

    if (container) {
        host_containers_move(container, HOST_CONTAINER_GONE, "");
        host_containers_remove(containers, container);
        hub_link_close(answering->stage->life.connection.link, RAPAHUB_EDIED, "");
    }
    host_containers_sweep(containers, NULL, NULL);
}

static void a_container_that_begins_is_used_until_its_begin_has_ended(void **state)
{
    struct answering *answering = answering_open();
    struct host_containers *containers = &HOST_REGISTRY(&answering->stage->host)->containers;

    (void)state;
    assert_int_equal(begin_managed(answering, 1), 0);
    host_containers_move(answering_find(answering, answering_id), HOST_CONTAINER_DOWN, "");
    answering->is_mute = true;
    answering->in_turn = remove_in_turn;
    assert_int_equal(begin_managed(answering, 2), RAPAHUB_EDIED);
    assert_false(hub_list_empty(&containers->gone)); /* else it would have been freed before */
    host_containers_sweep(containers, NULL, NULL);
    assert_true(hub_list_empty(&containers->gone));
    answering_close(answering);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_that_begins_is_used_until_its_begin_has_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
