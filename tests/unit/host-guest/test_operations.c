/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/supervise.h>

#include "host/owner/detached.h"
#include "host/supervise/supervisor.h"
#include "tests/unit/host-guest/stage.h"

static const struct rapahub_supervision by_hand = {.start = RAPAHUB_START_MANUAL,
                                                   .restarts_max = 5};

/* A guest serves, or ends, in the first turn after it was started or asked. */
static enum { SERVES, HANGS, DIES } manner;
static struct host_guest *starting;
static bool stops;       /* when it is asked to */
static bool stops_later; /* or in the next turn */
static struct host_guest *asked_to_stop;

static void on_start(struct host_guest *guest)
{
    starting = guest;
}

static void on_ask(struct host_guest *guest)
{
    if (stops_later)
        asked_to_stop = guest;
    else if (stops)
        stage_end(guest);
}

static int turn(struct host_owner *owner, uint64_t deadline_ns)
{
    static const struct hub_exit killed = {2, 9};
    const struct host_ending ending = {.class = RAPAHUB_EXIT_SIGNAL, .exit = &killed};
    struct host_guest *guest = starting;

    (void)deadline_ns;
    starting = NULL;
    if (asked_to_stop) {
        struct host_guest *stopping = asked_to_stop;

        asked_to_stop = NULL;
        stage_end(stopping);
    }
    if (guest && manner == SERVES)
        stage_serve(guest);
    else if (guest && manner == DIES)
        host_supervision_exited(guest, &ending);
    return host_loop_turn(&owner->loop, 1);
}

static int turn_once(struct host_owner *owner, int timeout_ms)
{
    (void)timeout_ms;
    return turn(owner, 0);
}

static struct host_supervision *open_operated(void)
{
    static const struct host_turns turns = {turn_once, turn};
    static struct host_supervision_hooks hooks;
    struct host_supervision *host = stage_new();

    hooks = stage_hooks;
    hooks.decisions.start = on_start;
    hooks.decisions.ask = on_ask;
    host->hooks = &hooks;
    HOST_OWNER(host)->turns = &turns;
    manner = SERVES;
    stops = true;
    stops_later = false;
    starting = asked_to_stop = NULL;
    return host;
}

static void close_operated(struct host_supervision *host)
{
    stops = true;
    host->hooks = &stage_hooks;
    stage_free(host);
}

static struct host_guest *add(struct host_supervision *host)
{
    return stage_add(host, HOST_SUPERVISION_ROOT, "calc", by_hand);
}

static struct rapahub_host *handle(struct host_supervision *host)
{
    return (struct rapahub_host *)(void *)host;
}

static struct rapahub_child_id id_of(const struct host_guest *guest)
{
    return (struct rapahub_child_id){stage_child(guest)->number};
}

static void a_start_is_over_when_the_child_serves(void **state)
{
    struct host_supervision *host = open_operated();
    struct host_guest *guest = add(host);

    (void)state;
    assert_int_equal(rapahub_child_start(handle(host), id_of(guest), HUB_SECOND), 0);
    assert_int_equal(guest->state, HOST_GUEST_READY);
    close_operated(host);
}

static void without_time_an_operation_is_over_as_soon_as_it_has_begun(void **state)
{
    struct host_supervision *host = open_operated();
    struct host_guest *guest = add(host);

    (void)state;
    manner = HANGS;
    assert_int_equal(rapahub_child_start(handle(host), id_of(guest), 0), 0);
    assert_int_equal(guest->state, HOST_GUEST_STARTING);
    stops = false;
    assert_int_equal(rapahub_child_stop(handle(host), id_of(guest), 0), 0);
    assert_int_equal(guest->state, HOST_GUEST_STOPPING);
    stage_end(guest);
    close_operated(host);
}

static void a_child_that_is_not_there_in_time_is_said_to_be_late(void **state)
{
    struct host_supervision *host = open_operated();
    struct host_guest *guest = add(host);

    (void)state;
    manner = HANGS;
    assert_int_equal(rapahub_child_start(handle(host), id_of(guest), HUB_MILLISECOND),
                     RAPAHUB_ETIMEDOUT);
    assert_string_equal(rapahub_last_error()->text, "calc is not ready yet");
    stops = false;
    assert_int_equal(rapahub_child_stop(handle(host), id_of(guest), HUB_MILLISECOND),
                     RAPAHUB_ETIMEDOUT);
    assert_string_equal(rapahub_last_error()->text, "calc is not down yet");
    stage_end(guest);
    close_operated(host);
}

static void a_start_of_a_child_that_is_given_up_says_so_at_once(void **state)
{
    struct host_supervision *host = open_operated();
    struct host_guest *guest =
        stage_add(host, HOST_SUPERVISION_ROOT, "calc",
                  (struct rapahub_supervision){.start = RAPAHUB_START_MANUAL, .restarts_max = -1});
    uint64_t deadline = hub_clock_after(30 * HUB_SECOND);

    (void)state;
    manner = DIES;
    assert_int_equal(rapahub_child_start(handle(host), id_of(guest), 60 * HUB_SECOND),
                     RAPAHUB_EGIVENUP);
    assert_true(hub_clock_left(deadline) > 0);
    manner = SERVES;
    assert_int_equal(rapahub_child_start(handle(host), id_of(guest), HUB_SECOND), RAPAHUB_EGIVENUP);
    assert_int_equal(rapahub_child_renew(handle(host), id_of(guest), HUB_SECOND), 0);
    assert_int_equal(guest->state, HOST_GUEST_READY);
    assert_int_equal(rapahub_child_reset(handle(host), id_of(guest)), RAPAHUB_ESTATE);
    close_operated(host);
}

static void stop_anew(struct host_guest *guest)
{
    static bool inside;

    if (inside)
        return;
    inside = true;
    (void)host_supervisor_stop(&HOST_SUPERVISION(guest->host)->machine, guest->child.node,
                               hub_clock_now());
    host_supervision_settle(HOST_SUPERVISION(guest->host));
    inside = false;
}

static int turn_that_stops(struct host_owner *owner, uint64_t deadline_ns)
{
    struct host_guest *guest = starting;

    (void)deadline_ns;
    starting = NULL;
    if (guest)
        stop_anew(guest);
    return host_loop_turn(&owner->loop, 1);
}

static int turn_once_that_stops(struct host_owner *owner, int timeout_ms)
{
    (void)timeout_ms;
    return turn_that_stops(owner, 0);
}

static void a_child_that_is_stopped_meanwhile_is_not_waited_for(void **state)
{
    static const struct host_turns turns = {turn_once_that_stops, turn_that_stops};
    struct host_supervision *host = open_operated();
    struct host_guest *guest = add(host);

    (void)state;
    HOST_OWNER(host)->turns = &turns;
    assert_int_equal(rapahub_child_start(handle(host), id_of(guest), 60 * HUB_SECOND),
                     RAPAHUB_ESTOPPED);
    close_operated(host);
}

static void a_stop_is_over_when_the_child_is_down(void **state)
{
    struct host_supervision *host = open_operated();
    struct host_guest *guest = add(host);

    (void)state;
    assert_int_equal(rapahub_child_stop(handle(host), id_of(guest), HUB_SECOND), 0);
    assert_int_equal(rapahub_child_start(handle(host), id_of(guest), HUB_SECOND), 0);
    assert_int_equal(rapahub_child_stop(handle(host), id_of(guest), HUB_SECOND), 0);
    assert_int_equal(guest->state, HOST_GUEST_STOPPED);
    close_operated(host);
}

static void a_restart_is_over_when_the_next_life_serves(void **state)
{
    struct host_supervision *host = open_operated();
    struct host_guest *guest = add(host);
    uint64_t first;

    (void)state;
    assert_int_equal(rapahub_child_start(handle(host), id_of(guest), HUB_SECOND), 0);
    first = guest->child.incarnation;
    assert_int_equal(rapahub_child_restart(handle(host), id_of(guest), HUB_SECOND), 0);
    assert_true(guest->child.incarnation > first);
    assert_int_equal(guest->state, HOST_GUEST_READY);
    close_operated(host);
}

/* Until then it still serves, as it did before. */
static void a_restart_that_waits_for_others_to_stop_is_not_over(void **state)
{
    const struct rapahub_dependency needs[] = {{.on = "calc", .kind = RAPAHUB_REQUIRES}, {0}};
    struct host_supervision *host = open_operated();
    struct host_guest *guest = add(host), *other;
    uint64_t first;

    (void)state;
    other = stage_add(host, HOST_SUPERVISION_ROOT, "kv",
                      (struct rapahub_supervision){
                          .start = RAPAHUB_START_MANUAL, .restarts_max = 5, .dependencies = needs});
    assert_int_equal(rapahub_child_start(handle(host), id_of(guest), HUB_SECOND), 0);
    assert_int_equal(rapahub_child_start(handle(host), id_of(other), HUB_SECOND), 0);
    first = guest->child.incarnation;
    stops_later = true;
    assert_int_equal(rapahub_child_restart(handle(host), id_of(guest), HUB_SECOND), 0);
    assert_true(guest->child.incarnation > first);
    assert_int_equal(guest->state, HOST_GUEST_READY);
    stops_later = false;
    close_operated(host);
}

static void a_closed_child_is_gone_for_good(void **state)
{
    struct host_supervision *host = open_operated();
    struct host_guest *guest = add(host);
    struct rapahub_child_id id = id_of(guest);

    (void)state;
    assert_int_equal(rapahub_child_start(handle(host), id, HUB_SECOND), 0);
    assert_int_equal(rapahub_child_close(handle(host), id, HUB_SECOND), 0);
    assert_true(guest->closed);
    assert_int_equal(guest->state, HOST_GUEST_CLOSED);
    assert_int_equal(rapahub_child_start(handle(host), id, HUB_SECOND), RAPAHUB_ESTALE);
    assert_int_equal(rapahub_child_close(handle(host), id, HUB_SECOND), RAPAHUB_ESTALE);
    close_operated(host);
}

static unsigned told;
static int told_code;

static void on_done(void *user, int code, const void *result)
{
    (void)user;
    (void)result;
    told++;
    told_code = code;
}

static void without_a_thread_that_waits_its_end_is_told_once(void **state)
{
    struct host_supervision *host = open_operated();
    struct host_guest *guest = add(host);

    (void)state;
    told = 0;
    assert_int_equal(
        rapahub_child_renew_async(handle(host), id_of(guest), HUB_SECOND, on_done, NULL), 0);
    assert_int_equal(host_detached_settle(HOST_OWNER(host)), 0);
    (void)turn(HOST_OWNER(host), 0); /* it starts */
    (void)turn(HOST_OWNER(host), 0);
    assert_int_equal(host_detached_settle(HOST_OWNER(host)), 1);
    assert_true(told == 1 && told_code == 0);
    stops = false;
    assert_int_equal(
        rapahub_child_stop_async(handle(host), id_of(guest), HUB_SECOND, on_done, NULL), 0);
    assert_int_equal(host_detached_settle(HOST_OWNER(host)), 0);
    stage_end(guest);
    assert_int_equal(host_detached_settle(HOST_OWNER(host)), 1);
    assert_true(told == 2 && told_code == 0);
    close_operated(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_is_over_when_the_child_serves),
        cmocka_unit_test(without_time_an_operation_is_over_as_soon_as_it_has_begun),
        cmocka_unit_test(a_child_that_is_not_there_in_time_is_said_to_be_late),
        cmocka_unit_test(a_start_of_a_child_that_is_given_up_says_so_at_once),
        cmocka_unit_test(a_child_that_is_stopped_meanwhile_is_not_waited_for),
        cmocka_unit_test(a_stop_is_over_when_the_child_is_down),
        cmocka_unit_test(a_restart_is_over_when_the_next_life_serves),
        cmocka_unit_test(a_restart_that_waits_for_others_to_stop_is_not_over),
        cmocka_unit_test(a_closed_child_is_gone_for_good),
        cmocka_unit_test(without_a_thread_that_waits_its_end_is_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
