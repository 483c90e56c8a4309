/* SPDX-License-Identifier: Apache-2.0 */
#include "host/registry/containers.h"
#include "hub/wire/lifecycle.h"
#include "tests/support/testing.h"

static struct rapahub_container_id id_of(uint32_t number)
{
    return (struct rapahub_container_id){.pool = {number / 7, number % 7}, .container = number};
}

static struct host_container *add(struct host_containers *containers, uint32_t number)
{
    const struct rapahub_container_options options = {
        .id = id_of(number), .pool_name = "p", .params = {"abc", 3}};
    struct host_container *container = NULL;

    assert_int_equal(host_containers_add(containers, &options, &container), 0);
    return container;
}

static void what_was_added_is_found(void **state)
{
    struct host_containers containers;

    (void)state;
    host_containers_init(&containers);
    for (uint32_t i = 0; i < 3000; i++)
        add(&containers, i);
    for (uint32_t i = 0; i < 3000; i++) {
        struct host_container *found = host_containers_find(&containers, id_of(i));

        assert_non_null(found);
        assert_int_equal(found->id.container, i);
        assert_int_equal(found->handle, i + 1);
        assert_memory_equal(found->params.data, "abc", 3);
    }
    assert_null(host_containers_find(&containers, id_of(3000)));
    host_containers_fini(&containers);
}

static void an_id_is_taken_once(void **state)
{
    const struct rapahub_container_options again = {.id = id_of(1), .pool_name = "p"};
    struct host_containers containers;
    struct host_container *container;

    (void)state;
    host_containers_init(&containers);
    add(&containers, 1);
    assert_int_equal(host_containers_add(&containers, &again, &container), RAPAHUB_EEXIST);
    host_containers_fini(&containers);
}

static void a_full_table_takes_no_more(void **state)
{
    const struct rapahub_container_options more = {.id = id_of(100000), .pool_name = "p"};
    struct host_containers containers;
    struct host_container *container;

    (void)state;
    host_containers_init(&containers);
    for (uint32_t i = 0; i < HOST_CONTAINERS_MAX; i++)
        add(&containers, i);
    assert_int_equal(host_containers_add(&containers, &more, &container), RAPAHUB_EFULL);
    host_containers_remove(&containers, host_containers_find(&containers, id_of(5)));
    assert_int_equal(host_containers_add(&containers, &more, &container), 0);
    host_containers_fini(&containers);
}

static void what_is_removed_twice_is_counted_once(void **state)
{
    struct host_containers containers;
    struct host_container *first, *again;

    (void)state;
    host_containers_init(&containers);
    first = add(&containers, 1);
    hub_add(&first->users, 1);
    add(&containers, 2);
    host_containers_remove(&containers, first);
    host_containers_remove(&containers, first);
    assert_int_equal(containers.count, 1);
    again = add(&containers, 1);
    host_containers_remove(&containers, first); /* its place has another one now */
    assert_int_equal(containers.count, 2);
    assert_ptr_equal(host_containers_find(&containers, again->id), again);
    (void)host_containers_drop(first);
    host_containers_sweep(&containers, NULL, NULL);
    host_containers_fini(&containers);
}

static bool is_inside(void *user, const struct host_container *container)
{
    (void)container;
    return *(bool *)user;
}

static void what_is_used_is_freed_later(void **state)
{
    struct host_containers containers;
    struct host_container *container;
    bool inside = true;

    (void)state;
    host_containers_init(&containers);
    container = add(&containers, 1);
    hub_add(&container->users, 1);
    host_containers_remove(&containers, container);
    assert_null(host_containers_find(&containers, id_of(1)));
    host_containers_sweep(&containers, NULL, NULL);
    assert_int_equal(container->id.container, 1);
    host_containers_drop(container);
    host_containers_sweep(&containers, is_inside, &inside);
    assert_false(hub_list_empty(&containers.gone));
    inside = false;
    host_containers_sweep(&containers, is_inside, &inside);
    assert_true(hub_list_empty(&containers.gone));
    host_containers_fini(&containers);
}

/* The mark is no user. */
static void while_its_end_is_awaited_each_user_that_goes_says_so(void **state)
{
    struct host_containers containers;
    struct host_container *container;

    (void)state;
    host_containers_init(&containers);
    container = add(&containers, 1);
    hub_add(&container->users, 3);
    host_containers_hold_own(container);
    assert_false(host_containers_drop(container));
    host_containers_await(container, true);
    host_containers_await(container, true);
    assert_int_equal(host_containers_users(container), 3);
    assert_true(host_containers_drop(container));
    assert_true(host_containers_drop_own(container));
    assert_int_equal(host_containers_users(container), 1);
    host_containers_hold_own(container);
    host_containers_await(container, false);
    host_containers_await(container, false);
    assert_int_equal(host_containers_users(container), 2);
    assert_false(host_containers_drop_own(container));
    assert_false(host_containers_drop(container));
    assert_int_equal(host_containers_users(container), 0);
    host_containers_fini(&containers);
}

static void handles_are_never_used_again(void **state)
{
    struct host_containers containers;
    uint64_t first;

    (void)state;
    host_containers_init(&containers);
    first = add(&containers, 1)->handle;
    host_containers_remove(&containers, host_containers_find(&containers, id_of(1)));
    assert_true(add(&containers, 1)->handle > first);
    host_containers_fini(&containers);
}

/* Whatever was added before: a plain handle never has the bit. */
static void the_handle_of_a_managed_container_says_so(void **state)
{
    const struct rapahub_container_options managed = {
        .id = id_of(3), .pool_name = "p", .managed = true};
    struct host_containers containers;
    struct host_container *container;

    (void)state;
    host_containers_init(&containers);
    assert_int_equal(add(&containers, 1)->handle, 1);
    assert_false(host_containers_find(&containers, id_of(1))->managed);
    assert_int_equal(host_containers_add(&containers, &managed, &container), 0);
    assert_true(container->managed);
    assert_int_equal(container->handle, HUB_LIFECYCLE_LEASED + 2);
    containers.handles = HUB_LIFECYCLE_LEASED - 1;
    assert_int_equal(add(&containers, 2)->handle, 2 * HUB_LIFECYCLE_LEASED);
    assert_int_equal(add(&containers, 4)->handle, 2 * HUB_LIFECYCLE_LEASED + 1);
    host_containers_fini(&containers);
}

static void assert_open(struct host_container *container, uint32_t wanted)
{
    host_containers_settle(container, "in a test");
    assert_int_equal(container->state, wanted);
    assert_int_equal(host_containers_open(container), wanted);
}

static void a_container_is_open_unless_it_is_plugged_on_hold_or_gated(void **state)
{
    struct host_containers containers;
    struct host_container *container;

    (void)state;
    host_containers_init(&containers);
    container = add(&containers, 1);
    container->gated = true;
    host_containers_settle(container, "in a test");
    assert_int_equal(container->state, HOST_CONTAINER_STARTING);
    host_containers_move(container, HOST_CONTAINER_HELD, "in a test");
    container->sealed = container->plugged = true;
    assert_open(container, HOST_CONTAINER_PLUGGED);
    container->plugged = container->gated = false;
    container->on_hold = true;
    assert_open(container, HOST_CONTAINER_HELD);
    assert_true(container->sealed);
    container->on_hold = false;
    assert_open(container, HOST_CONTAINER_READY);
    assert_false(container->sealed);
    host_containers_fini(&containers);
}

static void an_id_is_printed(void **state)
{
    char text[HOST_CONTAINERS_ID_SIZE];

    (void)state;
    assert_string_equal(
        host_containers_print((struct rapahub_container_id){{UINT32_MAX, UINT32_MAX}, UINT32_MAX},
                              text),
        "4294967295.4294967295[4294967295]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_found),
        cmocka_unit_test(an_id_is_taken_once),
        cmocka_unit_test(a_full_table_takes_no_more),
        cmocka_unit_test(what_is_removed_twice_is_counted_once),
        cmocka_unit_test(what_is_used_is_freed_later),
        cmocka_unit_test(while_its_end_is_awaited_each_user_that_goes_says_so),
        cmocka_unit_test(handles_are_never_used_again),
        cmocka_unit_test(the_handle_of_a_managed_container_says_so),
        cmocka_unit_test(a_container_is_open_unless_it_is_plugged_on_hold_or_gated),
        cmocka_unit_test(an_id_is_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
