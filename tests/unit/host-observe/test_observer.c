/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/guest/children.h"
#include "host/process/life.h"
#include "tests/unit/host-observe/stage.h"

#define MANY 16

static struct rapahub_supervisor *root_of(struct host_observe *host)
{
    struct rapahub_supervisor *supervisor;

    assert_int_equal(rapahub_host_supervisor(handle(host), &supervisor), 0);
    return supervisor;
}

static struct rapahub_supervisor *create(struct host_observe *host, const char *name)
{
    const struct rapahub_supervisor_options options = {.name = name};
    struct rapahub_supervisor *made;

    assert_int_equal(rapahub_supervisor_create(root_of(host), &options, &made), 0);
    return made;
}

static uint32_t place_of(const struct rapahub_supervisor *supervisor)
{
    uint32_t place;

    assert_int_equal(host_children_find_supervisor(supervisor, &place), 0);
    return place;
}

static struct rapahub_observer *observe(struct rapahub_supervisor *supervisor, uint32_t max)
{
    const struct rapahub_observer_options options = {.events_max = max};
    struct rapahub_observer *observer;

    assert_int_equal(rapahub_supervisor_observe(supervisor, &options, &observer), 0);
    return observer;
}

static size_t take(struct rapahub_observer *observer, struct rapahub_observation list[MANY])
{
    size_t count = 0;

    assert_int_equal(rapahub_observer_read(observer, list, MANY, &count), 0);
    return count;
}

static bool rings(const struct rapahub_observer *observer)
{
    struct pollfd bell = {.fd = rapahub_observer_fd(observer), .events = POLLIN};

    return poll(&bell, 1, 0) == 1;
}

static void end_stage(struct host_observe *host)
{
    host_children_free(&host->supervision);
    observe_free(host);
}

/* r[verify supervise.observer] */
static void an_observer_hears_of_its_supervisor_and_of_all_below(void **state)
{
    static const enum rapahub_change expected[] = {RAPAHUB_CHANGE_ADDED, RAPAHUB_CHANGE_SPAWN,
                                                   RAPAHUB_CHANGE_ATTACHED, RAPAHUB_CHANGE_READY};
    struct host_observe *host = observe_new();
    struct rapahub_supervisor *group = create(host, "group");
    struct rapahub_observation list[MANY];
    struct rapahub_observer *observer;
    struct host_guest *guest;
    size_t count, of_guest = 0;

    (void)state;
    observer = observe(group, MANY);
    serving(host, "elsewhere");
    assert_int_equal(take(observer, list), 0);
    guest = stage_add(&host->supervision, place_of(group), "below", eager);
    stage_serve(guest);
    count = take(observer, list);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(list[i].sequence, i + 1);
        if (list[i].child.number != id_of(guest).number)
            continue; /* the supervisor itself */
        assert_int_equal(list[i].change, expected[of_guest++]);
        assert_int_equal(list[i].incarnation, of_guest == 1 ? 0 : guest->child.incarnation);
        assert_true(list[i].time_ns > 0 && list[i].time_ns <= hub_clock_now());
    }
    assert_int_equal(of_guest, 4);
    rapahub_observer_close(observer);
    end_stage(host);
}

static void each_state_has_its_change(void **state)
{
    static const enum rapahub_change expected[] = {
        RAPAHUB_CHANGE_STOPPED, RAPAHUB_CHANGE_SPAWN,    RAPAHUB_CHANGE_ATTACHED,
        RAPAHUB_CHANGE_READY,   RAPAHUB_CHANGE_DEGRADED, RAPAHUB_CHANGE_STOPPING,
        RAPAHUB_CHANGE_EXIT,    RAPAHUB_CHANGE_BACKOFF,  RAPAHUB_CHANGE_FAILED,
        RAPAHUB_CHANGE_CLOSED,  RAPAHUB_CHANGE_RESTART,  RAPAHUB_CHANGE_ESCALATED};
    struct host_observe *host = observe_new();
    struct host_guest *guest = stage_add(&host->supervision, HOST_SUPERVISION_ROOT, "calc", manual);
    struct host_decision decision = {
        .place = guest->child.node, .incarnation = 9, .class = RAPAHUB_EXIT_SIGNAL};
    struct rapahub_observer *observer = observe(root_of(host), MANY);
    struct rapahub_observation list[MANY];

    (void)state;
    for (uint32_t i = HOST_CHILD_STOPPED; i <= HOST_CHILD_CLOSED; i++) {
        decision.to = (enum host_child_state)i;
        host_observer_moved(host, &decision);
    }
    decision.from = HOST_CHILD_BACKOFF;
    decision.to = HOST_CHILD_STARTING;
    host_observer_moved(host, &decision);
    decision.fall = HOST_FALL_ESCALATE;
    decision.to = HOST_CHILD_STOPPING;
    host_observer_moved(host, &decision);
    assert_int_equal(take(observer, list), sizeof expected / sizeof *expected);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(list[i].change, expected[i]);
        assert_int_equal(list[i].incarnation, 9);
        assert_int_equal(list[i].exit_class, RAPAHUB_EXIT_SIGNAL);
        assert_int_equal(list[i].child.number, id_of(guest).number);
    }
    rapahub_observer_close(observer);
    end_stage(host);
}

static void only_lives_of_children_are_told_to_be_reaped(void **state)
{
    struct host_observe *host = observe_new();
    struct host_guest *guest = stage_add(&host->supervision, HOST_SUPERVISION_ROOT, "calc", manual);
    struct host_guest *anonymous = stage_enter(&host->supervision, "anonymous");
    const struct host_life of_child = {.guest = guest, .incarnation = 3};
    const struct host_life of_stranger = {.guest = anonymous}, of_nobody = {.guest = NULL};
    struct rapahub_observer *observer = observe(root_of(host), MANY);
    struct rapahub_observation list[MANY];

    (void)state;
    host_observer_reaped(host, &of_nobody);
    host_observer_reaped(host, &of_stranger);
    assert_int_equal(take(observer, list), 0);
    host_observer_reaped(host, &of_child);
    assert_int_equal(take(observer, list), 1);
    assert_int_equal(list[0].change, RAPAHUB_CHANGE_REAPED);
    assert_int_equal(list[0].incarnation, 3);
    rapahub_observer_close(observer);
    end_stage(host);
}

static void its_descriptor_is_readable_as_long_as_there_is_something_to_read(void **state)
{
    struct host_observe *host = observe_new();
    struct rapahub_observer *observer = observe(root_of(host), MANY);
    struct rapahub_observation list[MANY];
    size_t count = 7;

    (void)state;
    assert_false(rings(observer));
    host_observer_added(host, HOST_SUPERVISION_ROOT);
    host_observer_added(host, HOST_SUPERVISION_ROOT);
    assert_true(rings(observer));
    assert_int_equal(rapahub_observer_read(observer, list, 1, &count), 0);
    assert_int_equal(count, 1);
    assert_true(rings(observer));
    assert_int_equal(take(observer, list), 1);
    assert_false(rings(observer));
    assert_int_equal(take(observer, list), 0);
    rapahub_observer_close(observer);
    end_stage(host);
}

/* r[verify supervise.observer] */
static void what_is_not_read_in_time_is_dropped_and_counted(void **state)
{
    struct host_observe *host = observe_new();
    struct rapahub_observer *observer = observe(root_of(host), 2);
    struct rapahub_observation list[MANY];

    (void)state;
    for (int i = 0; i < 5; i++)
        host_observer_added(host, HOST_SUPERVISION_ROOT);
    assert_true(take(observer, list) >= 2);
    assert_int_equal(list[0].sequence, 1);
    assert_int_equal(list[1].sequence, 2);
    assert_false(list[1].overflow);
    host_observer_added(host, HOST_SUPERVISION_ROOT);
    assert_int_equal(take(observer, list), 1);
    assert_int_equal(list[0].sequence, 6);
    assert_int_equal(list[0].dropped, 3);
    rapahub_observer_close(observer);
    end_stage(host);
}

/* r[verify supervise.observer.first] */
static void the_first_observer_of_a_supervisor_stays_until_it_is_closed(void **state)
{
    struct host_observe *host = observe_new();
    struct rapahub_supervisor *root = root_of(host), *group = create(host, "group");
    struct rapahub_observer *first = observe(root, 0), *second = NULL, *of_group;

    (void)state;
    assert_int_equal(rapahub_supervisor_observe(root, NULL, &second), -EALREADY);
    assert_null(second);
    of_group = observe(group, 0);
    rapahub_observer_close(first);
    assert_int_equal(rapahub_supervisor_observe(root, NULL, &second), 0);
    rapahub_observer_close(second);
    rapahub_observer_close(of_group);
    rapahub_observer_close(NULL);
    host_observer_added(host, HOST_SUPERVISION_ROOT); /* the last that holds them frees them */
    assert_true(hub_list_empty(&host->observers));
    end_stage(host);
}

static int try_options(struct host_observe *host, struct rapahub_observer_options options)
{
    struct rapahub_observer *observer = NULL;
    int r = rapahub_supervisor_observe(root_of(host), &options, &observer);

    rapahub_observer_close(observer);
    return r;
}

static void options_out_of_range_are_refused(void **state)
{
    struct host_observe *host = observe_new();

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct rapahub_observer_options options = {.events_max = 0};

        options.reserved[i] = 1;
        assert_int_equal(try_options(host, options), RAPAHUB_EINVAL);
    }
    assert_int_equal(try_options(host, (struct rapahub_observer_options){3, {0}}), RAPAHUB_EINVAL);
    assert_int_equal(try_options(host, (struct rapahub_observer_options){65537, {0}}),
                     RAPAHUB_EINVAL);
    assert_int_equal(try_options(host, (struct rapahub_observer_options){131072, {0}}),
                     RAPAHUB_EINVAL);
    assert_true(hub_list_empty(&host->observers));
    assert_int_equal(try_options(host, (struct rapahub_observer_options){65536, {0}}), 0);
    assert_int_equal(try_options(host, (struct rapahub_observer_options){1, {0}}), 0);
    end_stage(host);
}

static void the_end_of_its_supervisor_is_the_last_it_hears(void **state)
{
    struct host_observe *host = observe_new();
    struct rapahub_supervisor *group = create(host, "group");
    struct rapahub_observer *observer = observe(group, MANY);
    struct host_guest *guest = stage_add(&host->supervision, place_of(group), "below", manual);
    uint32_t number = host_machine_child(&host->supervision.machine, place_of(group))->number;
    struct rapahub_observation list[MANY];
    size_t count;

    (void)state;
    host_supervision_end(guest); /* the end of another one is not */
    assert_int_equal(rapahub_supervisor_stop(group, 0), 0);
    count = take(observer, list);
    assert_true(count > 0);
    assert_int_equal(list[count - 1].change, RAPAHUB_CHANGE_CLOSED);
    assert_int_equal(list[count - 1].child.number, number);
    assert_true(rings(observer)); /* so that a reader that polls sees the end */
    assert_int_equal(rapahub_observer_read(observer, list, MANY, &count), RAPAHUB_ECLOSED);
    assert_int_equal(rapahub_observer_read(observer, list, 0, &count), 0);
    assert_int_equal(count, 0);
    rapahub_observer_close(observer);
    end_stage(host);
}

static void an_observer_may_outlive_its_host(void **state)
{
    struct host_observe *host = observe_new();
    struct rapahub_observer *observer = observe(root_of(host), MANY);
    struct rapahub_observation list[MANY];
    size_t count;

    (void)state;
    host_observer_added(host, HOST_SUPERVISION_ROOT);
    end_stage(host);
    assert_int_equal(take(observer, list), 1);
    assert_int_equal(rapahub_observer_read(observer, list, MANY, &count), RAPAHUB_ECLOSED);
    rapahub_observer_close(observer);
}

/* r[verify hub.host.fork] */
static void a_forked_child_has_no_observer(void **state)
{
    static struct host_observe *host; /* the child ends without giving back what it has of them */
    static struct rapahub_observer *observer;
    int status;
    pid_t child;

    (void)state;
    host = observe_new();
    observer = observe(root_of(host), MANY);
    child = fork();
    if (child == 0) {
        struct rapahub_observation one;
        size_t count;
        bool refused = rapahub_observer_fd(observer) == RAPAHUB_ESTATE &&
                       rapahub_observer_read(observer, &one, 1, &count) == RAPAHUB_ESTATE;

        host_observer_forget_all(host);
        _exit(refused && hub_list_empty(&host->observers) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(rapahub_observer_fd(observer) >= 0);
    rapahub_observer_close(observer);
    end_stage(host);
}

static void a_supervisor_that_is_gone_has_no_observer_and_no_snapshot(void **state)
{
    struct host_observe *host = observe_new();
    struct rapahub_supervisor *group = create(host, "group");
    struct rapahub_observer *observer = NULL;
    struct rapahub_snapshot snapshot = {.count = 7};

    (void)state;
    (void)host_supervisor_close(&host->supervision.machine, place_of(group), hub_clock_now());
    host_supervision_settle(&host->supervision);
    assert_int_equal(rapahub_supervisor_observe(group, NULL, &observer), RAPAHUB_ESTALE);
    assert_null(observer);
    assert_int_equal(rapahub_supervisor_snapshot(group, NULL, 0, &snapshot), RAPAHUB_ESTALE);
    assert_int_equal(snapshot.count, 7);
    end_stage(host);
}

/* r[verify supervise.observer.snapshot] */
static void a_snapshot_has_all_below_and_the_number_of_the_last_event(void **state)
{
    struct host_observe *host = observe_new();
    struct rapahub_supervisor *group = create(host, "group");
    struct rapahub_observer *observer = observe(group, 1);
    struct rapahub_child_status list[MANY] = {{.pid = 0}};
    struct rapahub_snapshot snapshot;

    (void)state;
    host_observer_added(host, place_of(group));
    serving(host, "elsewhere");
    stage_add(&host->supervision, place_of(group), "below", manual);
    host_supervision_end(stage_add(&host->supervision, place_of(group), "closed", manual));
    assert_int_equal(rapahub_supervisor_snapshot(group, list, MANY, &snapshot), 0);
    assert_int_equal(snapshot.count, 2);
    assert_string_equal(list[0].name, "group");
    assert_string_equal(list[1].name, "below");
    assert_true(snapshot.sequence >= 3); /* those that were dropped count */
    memset(list, 0, sizeof list);
    assert_int_equal(rapahub_supervisor_snapshot(group, list, 1, &snapshot), 0);
    assert_int_equal(snapshot.count, 2);
    assert_string_equal(list[0].name, "group");
    assert_string_equal(list[1].name, "");
    assert_int_equal(rapahub_supervisor_snapshot(root_of(host), list, MANY, &snapshot), 0);
    assert_int_equal(snapshot.count, 4);
    assert_int_equal(snapshot.sequence, 0); /* it has no observer */
    rapahub_observer_close(observer);
    end_stage(host);
}

/* r[verify supervise.observer.snapshot] */
static void while_something_is_being_decided_there_is_no_snapshot(void **state)
{
    struct host_observe *host = observe_new();
    struct rapahub_supervisor *root = root_of(host);
    struct host_guest *guest = stage_add(&host->supervision, HOST_SUPERVISION_ROOT, "calc", manual);
    struct rapahub_snapshot snapshot;

    (void)state;
    host->supervision.deciding = true;
    assert_int_equal(rapahub_supervisor_snapshot(root, NULL, 0, &snapshot), RAPAHUB_ESTATE);
    (void)host_supervisor_start(&host->supervision.machine, guest->child.node, hub_clock_now());
    host->supervision.deciding = false;
    assert_int_equal(rapahub_supervisor_snapshot(root, NULL, 0, &snapshot), RAPAHUB_ESTATE);
    host_supervision_settle(&host->supervision);
    assert_int_equal(rapahub_supervisor_snapshot(root, NULL, 0, &snapshot), 0);
    assert_int_equal(snapshot.count, 2);
    end_stage(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_observer_hears_of_its_supervisor_and_of_all_below),
        cmocka_unit_test(each_state_has_its_change),
        cmocka_unit_test(only_lives_of_children_are_told_to_be_reaped),
        cmocka_unit_test(its_descriptor_is_readable_as_long_as_there_is_something_to_read),
        cmocka_unit_test(what_is_not_read_in_time_is_dropped_and_counted),
        cmocka_unit_test(the_first_observer_of_a_supervisor_stays_until_it_is_closed),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(the_end_of_its_supervisor_is_the_last_it_hears),
        cmocka_unit_test(an_observer_may_outlive_its_host),
        cmocka_unit_test(a_forked_child_has_no_observer),
        cmocka_unit_test(a_supervisor_that_is_gone_has_no_observer_and_no_snapshot),
        cmocka_unit_test(a_snapshot_has_all_below_and_the_number_of_the_last_event),
        cmocka_unit_test(while_something_is_being_decided_there_is_no_snapshot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
