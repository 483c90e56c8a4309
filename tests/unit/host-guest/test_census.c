/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/census.h"
#include "host/process/life.h"
#include "host/supervise/supervisor.h"
#include "tests/unit/host-guest/stage.h"

static const struct rapahub_supervision by_hand = {.start = RAPAHUB_START_MANUAL};

static struct rapahub_host *handle(struct host_supervision *host)
{
    return (struct rapahub_host *)(void *)host;
}

static uint32_t add_group(struct host_supervision *host, uint32_t parent, const char *name,
                          struct rapahub_supervisor_options group)
{
    const struct host_tree_plan plan = {.name = name, .parent = parent, .group = &group};
    uint32_t place = 0;

    assert_int_equal(host_supervisor_add(&host->machine, &plan, hub_clock_now(), &place), 0);
    host_supervision_settle(host);
    return place;
}

static void the_default_supervisor_has_no_parent_and_no_guest(void **state)
{
    struct host_supervision *host = stage_new();
    struct rapahub_child_status status = {.pid = 1, .restarts = 1};

    (void)state;
    host_census_status(host, HOST_SUPERVISION_ROOT, &status);
    assert_int_equal(status.child.number, 1);
    assert_string_equal(status.name, "");
    assert_int_equal(status.parent.number, 0);
    assert_true(status.is_supervisor);
    assert_int_equal(status.strategy, RAPAHUB_ONE_FOR_ONE);
    assert_int_equal(status.guest.peer, 0);
    assert_int_equal(status.pid, 0);
    assert_int_equal(status.restarts, 0);
    stage_free(host);
}

static void a_guest_is_shown_with_its_life_and_its_supervisor(void **state)
{
    struct host_supervision *host = stage_new();
    uint32_t group =
        add_group(host, HOST_SUPERVISION_ROOT, "group",
                  (struct rapahub_supervisor_options){.strategy = RAPAHUB_ONE_FOR_ALL});
    struct host_guest *guest =
        stage_add(host, group, "calc", (struct rapahub_supervision){.restarts_max = 7});
    struct host_life life = {.process.pid = 77};
    struct rapahub_child_status status;

    (void)state;
    stage_serve(guest);
    guest->id = (struct rapahub_guest_id){.group = 1, .epoch = 2, .peer = 3};
    guest->totals.restarts = 4;
    guest->life = &life;
    host_census_status(host, guest->child.node, &status);
    assert_int_equal(status.child.number, stage_child(guest)->number);
    assert_string_equal(status.name, "calc");
    assert_string_equal(status.state, "ready");
    assert_int_equal(status.parent.number, host_machine_child(&host->machine, group)->number);
    assert_int_equal(status.guest.peer, 3);
    assert_int_equal(status.incarnation, guest->child.incarnation);
    assert_int_equal(status.pid, 77);
    assert_int_equal(status.restarts, 4);
    assert_int_equal(status.failures, 0);
    assert_int_equal(status.failures_max, 7);
    assert_int_equal(status.due_ns, 0);
    assert_false(status.is_supervisor);
    guest->life = NULL;
    host_census_status(host, guest->child.node, &status);
    assert_int_equal(status.pid, 0);
    host_census_status(host, group, &status);
    assert_int_equal(status.strategy, RAPAHUB_ONE_FOR_ALL);
    stage_free(host);
}

static void die(struct host_guest *guest)
{
    static const struct hub_exit killed = {2, 9};
    const struct host_ending ending = {.class = RAPAHUB_EXIT_SIGNAL, .exit = &killed};

    host_supervision_exited(guest, &ending);
}

/* The first restart comes at once, the next after an hour. */
static void failures_are_counted_and_a_delay_is_what_is_left_of_it(void **state)
{
    const struct rapahub_supervision slow = {.backoff_initial_ns = 3600 * HUB_SECOND,
                                             .backoff_max_ns = 3600 * HUB_SECOND,
                                             .period_ns = RAPAHUB_FOREVER,
                                             .restarts_max = 9};
    struct host_supervision *host = stage_new();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", slow);
    struct rapahub_child_status status;

    (void)state;
    for (uint32_t i = 1; i <= 2; i++) {
        die(guest);
        host_census_status(host, guest->child.node, &status);
        assert_int_equal(status.failures, i);
        assert_int_equal(status.failures_max, 9);
    }
    assert_string_equal(status.state, "backoff");
    assert_true(status.due_ns > 0 && status.due_ns <= 3600 * HUB_SECOND);
    stage_child(guest)->due_ns = 1; /* long ago */
    host_census_status(host, guest->child.node, &status);
    assert_int_equal(status.due_ns, 0);
    stage_free(host);
}

static void only_a_supervisor_with_an_intensity_has_a_most(void **state)
{
    struct host_supervision *host = stage_new();
    uint32_t with = add_group(host, HOST_SUPERVISION_ROOT, "with",
                              (struct rapahub_supervisor_options){.restarts_max = 3});
    uint32_t without =
        add_group(host, HOST_SUPERVISION_ROOT, "without", (struct rapahub_supervisor_options){0});
    struct rapahub_child_status status;

    (void)state;
    host_census_status(host, with, &status);
    assert_int_equal(status.failures_max, 3);
    host_census_status(host, without, &status);
    assert_int_equal(status.failures_max, 0);
    stage_free(host);
}

static void a_child_that_is_closed_or_never_was_has_no_status(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", by_hand);
    const struct rapahub_child_id id = {stage_child(guest)->number};
    struct rapahub_child_status status = {.pid = 7};

    (void)state;
    assert_int_equal(rapahub_child_status(handle(host), id, &status), 0);
    assert_string_equal(status.name, "calc");
    assert_string_equal(status.state, "stopped");
    status.pid = 7;
    assert_int_equal(
        rapahub_child_status(handle(host), (struct rapahub_child_id){id.number + 1}, &status),
        RAPAHUB_ESTALE);
    assert_int_equal(rapahub_child_status(handle(host), (struct rapahub_child_id){0}, &status),
                     RAPAHUB_ESTALE);
    host_supervision_end(guest);
    assert_int_equal(guest->state, HOST_GUEST_CLOSED);
    assert_int_equal(rapahub_child_status(handle(host), id, &status), RAPAHUB_ESTALE);
    assert_int_equal(status.pid, 7);
    stage_free(host);
}

struct seen {
    struct host_supervision *host;
    char names[128];
};

/* A visitor may look, and nothing else. */
static void see(void *user, const struct rapahub_child_status *status)
{
    struct seen *seen = user;
    size_t size = strlen(seen->names);
    struct rapahub_child_status again;
    struct rapahub_supervisor *supervisor;

    snprintf(seen->names + size, sizeof seen->names - size, "%s/", status->name);
    assert_int_equal(rapahub_child_status(handle(seen->host), status->child, &again), 0);
    assert_string_equal(again.name, status->name);
    assert_int_equal(rapahub_host_supervisor(handle(seen->host), &supervisor), RAPAHUB_ESTATE);
}

static void all_are_visited_each_after_its_supervisor(void **state)
{
    struct host_supervision *host = stage_new();
    const struct rapahub_supervisor_options group = {.strategy = RAPAHUB_ONE_FOR_ONE};
    struct seen seen = {.host = host};
    struct host_guest *closed;
    uint32_t a, b;

    (void)state;
    a = add_group(host, HOST_SUPERVISION_ROOT, "a", group);
    b = add_group(host, HOST_SUPERVISION_ROOT, "b", group);
    stage_add(host, b, "b1", by_hand);
    stage_add(host, a, "a1", by_hand);
    closed = stage_add(host, HOST_SUPERVISION_ROOT, "closed", by_hand);
    host_supervision_end(closed);
    add_group(host, a, "a2", group);
    assert_int_equal(rapahub_host_children(handle(host), see, &seen), 0);
    assert_string_equal(seen.names, "/a/a1/a2/b/b1/");
    assert_int_equal(HOST_OWNER(host)->callbacks, 0);
    stage_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_supervisor_has_no_parent_and_no_guest),
        cmocka_unit_test(a_guest_is_shown_with_its_life_and_its_supervisor),
        cmocka_unit_test(failures_are_counted_and_a_delay_is_what_is_left_of_it),
        cmocka_unit_test(only_a_supervisor_with_an_intensity_has_a_most),
        cmocka_unit_test(a_child_that_is_closed_or_never_was_has_no_status),
        cmocka_unit_test(all_are_visited_each_after_its_supervisor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
