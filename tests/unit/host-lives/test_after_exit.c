/* SPDX-License-Identifier: Apache-2.0 */
#include "host/process/fd_store.h"
#include "hub/shm/fd_store.h"
#include "tests/unit/host-lives/mortal.h"

/* The events so far are told, and do not count. */
static void forget_events(struct mortal *mortal)
{
    (void)mortal_events(mortal);
    mortal->events = 0;
}

static void assert_told(const struct mortal *mortal, unsigned at, enum rapahub_event_kind kind)
{
    assert_true(at < mortal->events);
    assert_int_equal(mortal->told[at].kind, kind);
}

/* r[verify supervise.container] */
static void the_containers_of_a_dead_guest_wait_for_its_next_life(void **state)
{
    struct mortal *mortal = mortal_open(eager);
    struct host_container *container = stage_container(mortal->guest, 1);

    (void)state;
    mortal_serve(mortal);
    forget_events(mortal);
    mortal_crash(mortal);
    assert_int_equal(container->state, HOST_CONTAINER_DOWN);
    assert_int_equal(mortal_events(mortal), 2);
    assert_told(mortal, 0, RAPAHUB_EVENT_DOWN);
    assert_told(mortal, 1, RAPAHUB_EVENT_RESTART);
    assert_int_equal(mortal->told[1].restarts, 1);
    assert_int_equal(mortal->told[1].restarts_max, 5);
    assert_non_null(strstr(mortal->guest->ends.cause, "SIGSEGV"));
    mortal_close(mortal);
}

static void a_restart_that_waits_says_how_long(void **state)
{
    struct mortal *mortal =
        mortal_serving((struct rapahub_supervision){.restarts_max = 5,
                                                    .backoff_initial_ns = 10 * HUB_SECOND,
                                                    .backoff_max_ns = 10 * HUB_SECOND,
                                                    .jitter = RAPAHUB_JITTER_NONE,
                                                    .backoff_first = true});

    (void)state;
    forget_events(mortal);
    mortal_crash(mortal);
    (void)mortal_events(mortal);
    assert_told(mortal, 1, RAPAHUB_EVENT_RESTART);
    assert_in_range(mortal->told[1].due_ns, 8 * HUB_SECOND, 10 * HUB_SECOND);
    assert_in_range(hub_clock_left(mortal->guest->child.due_ns), 8 * HUB_SECOND, 10 * HUB_SECOND);
    assert_int_equal(mortal->guest->state, HOST_GUEST_BACKOFF);
    mortal_close(mortal);
}

/* r[verify supervise.failed.told] */
static void a_spent_budget_is_told_with_its_numbers_and_ends_the_containers(void **state)
{
    struct mortal *mortal = mortal_open((struct rapahub_supervision){.restarts_max = 1});
    struct host_container *container = stage_container(mortal->guest, 1);

    (void)state;
    mortal_serve(mortal);
    mortal_crash(mortal);
    forget_events(mortal);
    kill_guest(mortal->guest); /* its next life */
    assert_int_equal(mortal_events(mortal), 1);
    assert_told(mortal, 0, RAPAHUB_EVENT_FAILED);
    assert_true(mortal->told[0].restarts == 1 && mortal->told[0].restarts_max == 1);
    assert_int_equal(mortal->guest->state, HOST_GUEST_FAILED);
    assert_int_equal(container->state, HOST_CONTAINER_GONE);
    mortal_close(mortal);
}

static void a_guest_that_is_not_to_be_started_again_has_ended_as_asked(void **state)
{
    struct mortal *mortal =
        mortal_serving((struct rapahub_supervision){.restart = RAPAHUB_RESTART_TEMPORARY});

    (void)state;
    forget_events(mortal);
    mortal_crash(mortal);
    (void)mortal_events(mortal);
    assert_int_equal(mortal->events, 2);
    assert_told(mortal, 1, RAPAHUB_EVENT_FAILED);
    assert_int_equal(mortal->told[1].restarts, 0);
    assert_true(mortal->guest->state == HOST_GUEST_FAILED && mortal->guest->child.over);
    mortal_close(mortal);
}

/* Its spawner is told, who waits for it. */
static void a_guest_that_never_served_is_told_to_nobody_else(void **state)
{
    struct mortal *mortal =
        mortal_open((struct rapahub_supervision){.restart = RAPAHUB_RESTART_TEMPORARY});
    struct host_container *container = stage_container(mortal->guest, 1);

    (void)state;
    mortal->guest->child.initial = true;
    stage_child(mortal->guest)->trial = true;
    container->state = HOST_CONTAINER_DOWN;
    mortal_crash(mortal);
    assert_int_equal(mortal_events(mortal), 0);
    assert_int_equal(mortal->guest->state, HOST_GUEST_CLOSED);
    assert_int_equal(container->state, HOST_CONTAINER_GONE);
    mortal_close(mortal);
}

/* r[verify supervise.probe.told] */
static void a_probe_that_fails_and_passes_is_told_both_times(void **state)
{
    struct mortal *mortal = mortal_serving(eager);

    (void)state;
    forget_events(mortal);
    host_supervision_degraded(mortal->guest);
    host_supervision_restored(mortal->guest);
    assert_int_equal(mortal_events(mortal), 2);
    assert_told(mortal, 0, RAPAHUB_EVENT_DEGRADED);
    assert_told(mortal, 1, RAPAHUB_EVENT_RESTORED);
    host_supervision_degraded(mortal->guest);
    mortal->guest->upgrade = (struct host_upgrade *)(void *)mortal;
    host_supervision_restored(mortal->guest); /* as another process */
    mortal->guest->upgrade = NULL;
    assert_int_equal(mortal_events(mortal), 3);
    mortal_close(mortal);
}

/* r[verify supervise.keep.end] */
static void stored_descriptors_outlast_a_death_and_not_a_stop(void **state)
{
    const char *const names[] = {"state", NULL};
    const struct rapahub_supervision how = {.keep_fds = names};
    struct mortal *mortal = mortal_serving(eager);
    struct hub_closer *closer = HOST_PROCESS(mortal->host)->closer;
    int fd = -1;

    (void)state;
    assert_int_equal(host_fd_store_create(&how, closer, &mortal->guest->keep), 0);
    assert_int_equal(host_fd_store_open(mortal->life, &fd), 0);
    assert_int_equal(hub_fd_store_send(fd, "state", mortal->life->process.pidfd), 0);
    close(fd);
    mortal_crash(mortal); /* what it sent before counts */
    assert_int_equal(host_fd_store_descriptors(mortal->guest->keep, &fd), 1);
    host_supervision_end(mortal->guest);
    stage_end(mortal->guest); /* the next life, which did not begin */
    assert_int_equal(host_fd_store_descriptors(mortal->guest->keep, &fd), 0);
    mortal_close(mortal);
}

/* It comes again by itself, as another guest. */
static void an_anonymous_guest_is_over_with_its_life(void **state)
{
    struct mortal *mortal = mortal_serving(eager);
    struct host_container *container;

    (void)state;
    forget_events(mortal);
    host_supervision_forget(mortal->guest);
    container = stage_container(mortal->guest, 1);
    host_containers_move(container, HOST_CONTAINER_READY, "");
    mortal_crash(mortal);
    assert_int_equal(mortal_events(mortal), 1);
    assert_told(mortal, 0, RAPAHUB_EVENT_DOWN);
    assert_int_equal(mortal->guest->state, HOST_GUEST_CLOSED);
    assert_true(hub_list_empty(&mortal->guest->containers));
    mortal_close(mortal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_containers_of_a_dead_guest_wait_for_its_next_life),
        cmocka_unit_test(a_restart_that_waits_says_how_long),
        cmocka_unit_test(a_spent_budget_is_told_with_its_numbers_and_ends_the_containers),
        cmocka_unit_test(a_guest_that_is_not_to_be_started_again_has_ended_as_asked),
        cmocka_unit_test(a_guest_that_never_served_is_told_to_nobody_else),
        cmocka_unit_test(a_probe_that_fails_and_passes_is_told_both_times),
        cmocka_unit_test(stored_descriptors_outlast_a_death_and_not_a_stop),
        cmocka_unit_test(an_anonymous_guest_is_over_with_its_life),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
