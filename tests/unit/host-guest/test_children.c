/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>

#include <rapahub/supervise.h>

#include "host/guest/children.h"
#include "tests/unit/host-guest/module_file.h"
#include "tests/unit/host-guest/stage.h"

static const struct rapahub_supervision by_hand = {.start = RAPAHUB_START_MANUAL};

static struct rapahub_host *handle(struct host_supervision *host)
{
    return (struct rapahub_host *)(void *)host;
}

static struct rapahub_supervisor *default_of(struct host_supervision *host)
{
    struct rapahub_supervisor *supervisor;

    assert_int_equal(rapahub_host_supervisor(handle(host), &supervisor), 0);
    return supervisor;
}

static struct rapahub_supervisor *create(struct rapahub_supervisor *parent, const char *name)
{
    const struct rapahub_supervisor_options options = {.name = name};
    struct rapahub_supervisor *made;

    assert_int_equal(rapahub_supervisor_create(parent, &options, &made), 0);
    return made;
}

static uint32_t place_of(const struct rapahub_supervisor *supervisor)
{
    uint32_t place;

    assert_int_equal(host_children_find_supervisor(supervisor, &place), 0);
    return place;
}

static uint32_t known_to(const struct host_supervision *host)
{
    uint32_t count = 0;

    HUB_LIST_EACH (&host->supervisors, link)
        count++;
    return count;
}

static void end_stage(struct host_supervision *host)
{
    host_children_free(host);
    assert_true(hub_list_empty(&host->supervisors));
    stage_free(host);
}

/* r[verify supervise.default] */
static void the_default_supervisor_is_the_same_for_all_who_ask(void **state)
{
    struct host_supervision *host = stage_new();
    struct rapahub_supervisor *first = default_of(host);

    (void)state;
    create(first, "other");
    assert_ptr_equal(default_of(host), first);
    assert_ptr_equal(host_children_host(first), host);
    assert_int_equal(place_of(first), HOST_SUPERVISION_ROOT);
    assert_int_equal(known_to(host), 2);
    end_stage(host);
}

static void the_default_supervisor_is_not_stopped(void **state)
{
    struct host_supervision *host = stage_new();
    struct rapahub_supervisor *supervisor = default_of(host);

    (void)state;
    assert_int_equal(rapahub_supervisor_stop(supervisor, 0), RAPAHUB_ESTATE);
    assert_int_equal(place_of(supervisor), HOST_SUPERVISION_ROOT);
    end_stage(host);
}

static uint32_t added_place;

static void note_added(struct host_supervision *host, uint32_t place)
{
    (void)host;
    added_place = place;
}

static void a_new_supervisor_is_below_its_parent_and_told(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_supervision_hooks hooks = stage_hooks;
    struct rapahub_supervisor *outer, *inner;

    (void)state;
    hooks.listeners.added = note_added;
    host->hooks = &hooks;
    outer = create(default_of(host), "outer");
    assert_int_equal(added_place, place_of(outer));
    inner = create(outer, "inner");
    assert_int_equal(added_place, place_of(inner));
    assert_int_equal(host_machine_child(&host->machine, place_of(inner))->parent, place_of(outer));
    assert_string_equal(host_machine_child(&host->machine, place_of(inner))->name, "inner");
    end_stage(host);
}

static void a_supervisor_that_is_refused_leaves_nothing_behind(void **state)
{
    struct host_supervision *host = stage_new();
    struct rapahub_supervisor *root = default_of(host), *made = root;
    const struct rapahub_supervisor_options same = {.name = "same"};

    (void)state;
    create(root, "same");
    assert_int_equal(rapahub_supervisor_create(root, &same, &made), RAPAHUB_EEXIST);
    assert_int_equal(rapahub_supervisor_create(root, NULL, &made), RAPAHUB_EINVAL); /* no name */
    assert_ptr_equal(made, root);
    assert_int_equal(known_to(host), 2);
    end_stage(host);
}

static void a_stopped_supervisor_is_gone_with_all_below_it(void **state)
{
    struct host_supervision *host = stage_new();
    struct rapahub_supervisor *outer = create(default_of(host), "outer");
    struct rapahub_supervisor *inner = create(outer, "inner"), *made;
    const struct rapahub_supervisor_options options = {.name = "late"};
    struct host_guest *guest = stage_add(host, place_of(inner), "calc", by_hand);
    uint32_t place;

    (void)state;
    assert_int_equal(rapahub_supervisor_stop(outer, HUB_SECOND), 0);
    assert_int_equal(guest->state, HOST_GUEST_CLOSED);
    assert_int_equal(known_to(host), 2);
    assert_int_equal(host_children_find_supervisor(inner, &place), RAPAHUB_ESTALE);
    assert_int_equal(rapahub_supervisor_create(inner, &options, &made), RAPAHUB_ESTALE);
    assert_int_equal(rapahub_supervisor_stop(inner, 0), RAPAHUB_ESTALE);
    assert_int_equal(known_to(host), 2);
    end_stage(host);
}

static struct host_guest *slow;

static void note_slow(struct host_guest *guest)
{
    slow = guest;
}

static int turn_in_which_it_ends(struct host_owner *owner, int timeout_ms)
{
    (void)owner;
    (void)timeout_ms;
    if (slow)
        stage_end(slow);
    slow = NULL;
    return 0;
}

/* r[verify supervise.stop.deadline] */
static void a_stop_takes_turns_until_the_last_guest_has_ended(void **state)
{
    static const struct host_turns turns = {turn_in_which_it_ends, stage_until};
    struct host_supervision *host = stage_new();
    struct host_supervision_hooks hooks = stage_hooks;
    struct rapahub_supervisor *group = create(default_of(host), "group");
    struct host_guest *guest =
        stage_add(host, place_of(group), "slow", (struct rapahub_supervision){.restarts_max = 1});

    (void)state;
    stage_serve(guest);
    hooks.decisions.ask = note_slow;
    host->hooks = &hooks;
    HOST_OWNER(host)->turns = &turns;
    slow = NULL;
    assert_int_equal(rapahub_supervisor_stop(group, 3600 * HUB_SECOND), 0);
    assert_int_equal(guest->state, HOST_GUEST_CLOSED);
    host->hooks = &stage_hooks;
    end_stage(host);
}

static int turn_that_fails(struct host_owner *owner, int timeout_ms)
{
    (void)owner;
    (void)timeout_ms;
    return rapahub_fail(-EBADF, "", "no turn");
}

static void where_no_turn_can_be_taken_a_stop_fails_and_the_supervisor_stays(void **state)
{
    static const struct host_turns turns = {turn_that_fails, stage_until};
    struct host_supervision *host = stage_new();
    struct host_supervision_hooks hooks = stage_hooks;
    struct rapahub_supervisor *group = create(default_of(host), "group");
    struct host_guest *guest =
        stage_add(host, place_of(group), "slow", (struct rapahub_supervision){.restarts_max = 1});

    (void)state;
    stage_serve(guest);
    hooks.decisions.ask = note_slow;
    host->hooks = &hooks;
    HOST_OWNER(host)->turns = &turns;
    assert_int_equal(rapahub_supervisor_stop(group, 0), -EBADF);
    assert_int_equal(known_to(host), 2);
    stage_end(guest);
    host->hooks = &stage_hooks;
    end_stage(host);
}

static void a_child_is_found_until_it_is_closed(void **state)
{
    struct host_supervision *host = stage_new();
    struct rapahub_supervisor *group = create(default_of(host), "group");
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", by_hand), *found;
    const struct rapahub_child_id id = {stage_child(guest)->number};
    const struct rapahub_child_id of_group = {
        host_machine_child(&host->machine, place_of(group))->number};
    uint32_t place;

    (void)state;
    assert_int_equal(host_children_find(host, id, &found), 0);
    assert_ptr_equal(found, guest);
    assert_int_equal(host_children_find_any(host, id, &place), 0);
    assert_int_equal(place, guest->child.node);
    assert_int_equal(host_children_find(host, of_group, &found), RAPAHUB_ESTALE);
    assert_int_equal(host_children_find_any(host, of_group, &place), 0);
    assert_int_equal(place, place_of(group));
    host_supervision_end(guest);
    assert_int_equal(host_children_find(host, id, &found), RAPAHUB_ESTALE);
    assert_int_equal(host_children_find_any(host, id, &place), RAPAHUB_ESTALE);
    end_stage(host);
}

static void what_is_no_child_is_refused(void **state)
{
    struct host_supervision *host = stage_new();
    const struct rapahub_child_id root = {
        host_machine_child(&host->machine, HOST_SUPERVISION_ROOT)->number};
    const struct rapahub_child_id never = {root.number + 1}, zero = {0};
    struct host_guest *found;
    uint32_t place;

    (void)state;
    assert_int_equal(host_children_find(host, root, &found), RAPAHUB_ESTALE);
    assert_int_equal(host_children_find_any(host, root, &place), RAPAHUB_ESTATE);
    assert_int_equal(host_children_find(host, never, &found), RAPAHUB_ESTALE);
    assert_int_equal(host_children_find_any(host, never, &place), RAPAHUB_ESTALE);
    assert_int_equal(host_children_find(host, zero, &found), RAPAHUB_ESTALE);
    assert_int_equal(host_children_find_any(host, zero, &place), RAPAHUB_ESTALE);
    assert_int_equal(host_children_refuse_stale(), RAPAHUB_ESTALE);
    assert_string_equal(rapahub_last_error()->text, "there is no such child any more");
    end_stage(host);
}

static void an_added_guest_is_kept_below_its_supervisor(void **state)
{
    struct host_supervision *host = stage_new();
    struct rapahub_supervisor *group = create(default_of(host), "group");
    struct module_file file;
    const struct rapahub_guest_options options = {.chimod = file.path, .supervision = &by_hand};
    struct rapahub_child_id id = {0};
    struct host_guest *guest;

    (void)state;
    module_file_make(&file, "calc.so");
    assert_int_equal(rapahub_supervisor_add(group, &options, &id), 0);
    module_file_remove(&file);
    assert_int_equal(host_children_find(host, id, &guest), 0);
    assert_string_equal(guest->name, "calc");
    assert_true(guest->kept);
    assert_int_equal(guest->pins, 0);
    assert_int_equal(stage_child(guest)->parent, place_of(group));
    end_stage(host);
}

static void a_guest_that_is_refused_leaves_nothing_behind(void **state)
{
    struct host_supervision *host = stage_new();
    struct rapahub_supervisor *group = create(default_of(host), "group");
    const struct rapahub_guest_options nowhere = {.chimod = "/nowhere/calc.so"}, nameless = {0};
    struct rapahub_child_id id = {7};

    (void)state;
    assert_int_equal(rapahub_supervisor_add(group, &nameless, &id), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_supervisor_add(group, &nowhere, &id), RAPAHUB_ENOENT);
    assert_int_equal(id.number, 7);
    assert_null(HOST_REGISTRY(host)->guests[0]);
    end_stage(host);
}

static int add_container(struct host_supervision *host, struct host_guest *guest, uint32_t number)
{
    const struct rapahub_container_options options = {.id = {{1, 0}, number}, .pool_name = "pool"};
    const struct rapahub_child_id id = {stage_child(guest)->number};

    return rapahub_child_add_container(handle(host), id, &options);
}

static void a_child_that_is_down_begins_its_container_with_its_next_life(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", by_hand);
    struct host_container *container;

    (void)state;
    assert_int_equal(add_container(host, guest, 5), 0);
    container = host_containers_find(&HOST_REGISTRY(host)->containers,
                                     (struct rapahub_container_id){{1, 0}, 5});
    assert_non_null(container);
    assert_int_equal(container->state, HOST_CONTAINER_DOWN);
    assert_true(container->is_new);
    assert_ptr_equal(container->guest, guest);
    assert_int_equal(add_container(host, guest, 5), RAPAHUB_EEXIST);
    assert_int_equal(guest->pins, 0);
    end_stage(host);
}

static void a_container_is_refused_by_a_child_that_is_closed(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", by_hand);

    (void)state;
    host_supervision_end(guest);
    assert_int_equal(add_container(host, guest, 5), RAPAHUB_ESTALE);
    assert_int_equal(HOST_REGISTRY(host)->containers.count, 0);
    end_stage(host);
}

static void one_that_starts_is_waited_for_as_long_as_a_call_may_last(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "slow",
                                         (struct rapahub_supervision){.restarts_max = 1});

    (void)state;
    assert_int_equal(guest->state, HOST_GUEST_STARTING);
    host->call.process.options.call_timeout_ns = 1;
    assert_int_equal(add_container(host, guest, 5), RAPAHUB_ETIMEDOUT);
    assert_string_equal(rapahub_last_error()->text, "slow was not ready in time");
    assert_int_equal(guest->pins, 0);
    assert_int_equal(HOST_REGISTRY(host)->containers.count, 0);
    end_stage(host);
}

static void *ask_for_default(void *user)
{
    struct rapahub_supervisor *supervisor;

    return (void *)(intptr_t)rapahub_host_supervisor(user, &supervisor);
}

static void only_the_owner_and_no_callback_of_it_may_ask(void **state)
{
    struct host_supervision *host = stage_new();
    struct rapahub_supervisor *supervisor;
    pthread_t thread;
    void *code;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, ask_for_default, handle(host)), 0);
    assert_int_equal(pthread_join(thread, &code), 0);
    assert_int_equal((intptr_t)code, RAPAHUB_ESTATE);
    HOST_OWNER(host)->callbacks = 1;
    assert_int_equal(rapahub_host_supervisor(handle(host), &supervisor), RAPAHUB_ESTATE);
    HOST_OWNER(host)->callbacks = 0;
    assert_true(hub_list_empty(&host->supervisors));
    end_stage(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_supervisor_is_the_same_for_all_who_ask),
        cmocka_unit_test(the_default_supervisor_is_not_stopped),
        cmocka_unit_test(a_new_supervisor_is_below_its_parent_and_told),
        cmocka_unit_test(a_supervisor_that_is_refused_leaves_nothing_behind),
        cmocka_unit_test(a_stopped_supervisor_is_gone_with_all_below_it),
        cmocka_unit_test(a_stop_takes_turns_until_the_last_guest_has_ended),
        cmocka_unit_test(where_no_turn_can_be_taken_a_stop_fails_and_the_supervisor_stays),
        cmocka_unit_test(a_child_is_found_until_it_is_closed),
        cmocka_unit_test(what_is_no_child_is_refused),
        cmocka_unit_test(an_added_guest_is_kept_below_its_supervisor),
        cmocka_unit_test(a_guest_that_is_refused_leaves_nothing_behind),
        cmocka_unit_test(a_child_that_is_down_begins_its_container_with_its_next_life),
        cmocka_unit_test(a_container_is_refused_by_a_child_that_is_closed),
        cmocka_unit_test(one_that_starts_is_waited_for_as_long_as_a_call_may_last),
        cmocka_unit_test(only_the_owner_and_no_callback_of_it_may_ask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
