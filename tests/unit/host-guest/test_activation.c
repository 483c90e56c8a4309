/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/activation.h"
#include "tests/unit/host-guest/stage.h"

#define STATES (HOST_GUEST_CLOSED + 1)

/* What a call meets at a guest in this state: the code, and whether the call starts the guest. */
static int look(struct host_guest *guest, enum host_guest_state state, bool *calls)
{
    *calls = true;
    guest->state = (uint32_t)state;
    return host_activation_look(guest, calls);
}

static void check_all(struct host_guest *guest, const int codes[STATES])
{
    for (uint32_t i = 0; i < STATES; i++) {
        bool calls;

        assert_int_equal(look(guest, (enum host_guest_state)i, &calls), codes[i]);
        assert_false(calls);
    }
}

/* As it is while a guest has a process: no outlook is asked for. */
static struct host_guest a_guest(struct host_supervision *host)
{
    return (struct host_guest){.host = &host->call.process,
                               .name = "calc",
                               .child.node = HOST_TREE_NONE,
                               .ends.cause = "signal SIGSEGV"};
}

/* r[verify supervise.call.when-down] r[verify supervise.call] */
static void a_call_waits_for_a_start_and_is_refused_where_none_comes(void **state)
{
    static const int codes[STATES] = {[HOST_GUEST_STOPPED] = RAPAHUB_ESTOPPED,
                                      [HOST_GUEST_STARTING] = -EAGAIN,
                                      [HOST_GUEST_ATTACHED] = -EAGAIN,
                                      [HOST_GUEST_READY] = -EAGAIN,
                                      [HOST_GUEST_DEGRADED] = RAPAHUB_EDEGRADED,
                                      [HOST_GUEST_STOPPING] = -EAGAIN,
                                      [HOST_GUEST_EXITED] = -EAGAIN,
                                      [HOST_GUEST_BACKOFF] = -EAGAIN,
                                      [HOST_GUEST_FAILED] = RAPAHUB_EGIVENUP,
                                      [HOST_GUEST_CLOSED] = RAPAHUB_ESTOPPED};
    struct host_supervision *host = stage_new();
    struct host_guest guest = a_guest(host);

    (void)state;
    check_all(&guest, codes);
    guest.supervision.when_down = RAPAHUB_WHEN_DOWN_WAIT;
    check_all(&guest, codes);
    stage_free(host);
}

/* r[verify supervise.call.when-down] */
static void with_when_down_fail_no_call_waits(void **state)
{
    static const int codes[STATES] = {
        [HOST_GUEST_STOPPED] = RAPAHUB_ESTOPPED,     [HOST_GUEST_STARTING] = RAPAHUB_ERESTARTING,
        [HOST_GUEST_ATTACHED] = RAPAHUB_ERESTARTING, [HOST_GUEST_READY] = RAPAHUB_ERESTARTING,
        [HOST_GUEST_DEGRADED] = RAPAHUB_EDEGRADED,   [HOST_GUEST_STOPPING] = RAPAHUB_ERESTARTING,
        [HOST_GUEST_EXITED] = RAPAHUB_ERESTARTING,   [HOST_GUEST_BACKOFF] = RAPAHUB_ERESTARTING,
        [HOST_GUEST_FAILED] = RAPAHUB_EGIVENUP,      [HOST_GUEST_CLOSED] = RAPAHUB_ESTOPPED};
    struct host_supervision *host = stage_new();
    struct host_guest guest = a_guest(host);
    bool calls;

    (void)state;
    guest.supervision.when_down = RAPAHUB_WHEN_DOWN_FAIL;
    check_all(&guest, codes);
    guest.child.outlook = HOST_OUTLOOK_STARTS;
    assert_int_equal(look(&guest, HOST_GUEST_STOPPED, &calls), RAPAHUB_ERESTARTING);
    stage_free(host);
}

/* r[verify supervise.call.when-down] */
static void before_the_delay_is_over_only_when_down_wait_waits(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest guest = a_guest(host);
    bool calls;

    (void)state;
    guest.child.outlook = HOST_OUTLOOK_STARTS;
    guest.child.due_ns = HUB_NEVER;
    assert_int_equal(look(&guest, HOST_GUEST_BACKOFF, &calls), RAPAHUB_ERESTARTING);
    guest.child.due_ns = 1; /* long ago */
    assert_int_equal(look(&guest, HOST_GUEST_BACKOFF, &calls), -EAGAIN);
    assert_int_equal(look(&guest, HOST_GUEST_STOPPED, &calls), -EAGAIN);
    guest.child.due_ns = HUB_NEVER;
    guest.supervision.when_down = RAPAHUB_WHEN_DOWN_WAIT;
    assert_int_equal(look(&guest, HOST_GUEST_BACKOFF, &calls), -EAGAIN);
    assert_int_equal(look(&guest, HOST_GUEST_FAILED, &calls), RAPAHUB_EGIVENUP);
    assert_false(calls);
    stage_free(host);
}

static void a_call_starts_a_guest_that_waits_for_one(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest guest = a_guest(host);
    bool calls;

    (void)state;
    guest.child.outlook = HOST_OUTLOOK_CALL;
    guest.child.due_ns = 1;
    assert_int_equal(look(&guest, HOST_GUEST_STOPPED, &calls), -EAGAIN);
    assert_true(calls);
    guest.child.due_ns = HUB_NEVER;
    assert_int_equal(look(&guest, HOST_GUEST_STOPPED, &calls), RAPAHUB_ESTOPPED);
    assert_false(calls);
    guest.supervision.when_down = RAPAHUB_WHEN_DOWN_WAIT;
    assert_int_equal(look(&guest, HOST_GUEST_BACKOFF, &calls), -EAGAIN);
    assert_true(calls);
    assert_int_equal(look(&guest, HOST_GUEST_STARTING, &calls), -EAGAIN);
    assert_false(calls);
    stage_free(host);
}

static void one_that_was_asked_to_stop_is_not_waited_for(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest guest = a_guest(host);
    bool calls;

    (void)state;
    guest.child.asked = true;
    assert_int_equal(look(&guest, HOST_GUEST_STOPPING, &calls), RAPAHUB_ESTOPPED);
    assert_string_equal(rapahub_last_error()->text, "calc was stopped");
    guest.closed = true;
    assert_int_equal(look(&guest, HOST_GUEST_STOPPING, &calls), RAPAHUB_ECLOSED);
    assert_int_equal(look(&guest, HOST_GUEST_STOPPED, &calls), RAPAHUB_ECLOSED);
    assert_int_equal(look(&guest, HOST_GUEST_CLOSED, &calls), RAPAHUB_ECLOSED);
    assert_string_equal(rapahub_last_error()->text, "calc was closed");
    stage_free(host);
}

static const char *refusal(struct host_guest *guest, enum host_guest_state state)
{
    bool calls;

    assert_true(look(guest, state, &calls) < 0);
    return rapahub_last_error()->text;
}

static void a_refusal_says_why_and_for_how_long(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest guest = a_guest(host);
    bool calls;

    (void)state;
    assert_string_equal(refusal(&guest, HOST_GUEST_FAILED),
                        "calc was given up after 0 restarts: signal SIGSEGV");
    guest.supervision.restarts_max = 1;
    assert_string_equal(refusal(&guest, HOST_GUEST_FAILED),
                        "calc was given up after 1 restart: signal SIGSEGV");
    guest.supervision.restarts_max = -1;
    assert_string_equal(refusal(&guest, HOST_GUEST_FAILED),
                        "calc was given up after 0 restarts: signal SIGSEGV");
    guest.child.over = true;
    assert_int_equal(look(&guest, HOST_GUEST_FAILED, &calls), RAPAHUB_ENORESTART);
    assert_string_equal(rapahub_last_error()->text,
                        "calc has ended and is not restarted: signal SIGSEGV");
    guest.supervision.when_down = RAPAHUB_WHEN_DOWN_FAIL;
    assert_string_equal(refusal(&guest, HOST_GUEST_STARTING), "calc is not ready yet");
    guest.child.due_ns = 1;
    assert_string_equal(refusal(&guest, HOST_GUEST_BACKOFF), "calc is not ready yet");
    guest.child.due_ns = hub_clock_now() + 3600 * HUB_SECOND;
    assert_non_null(strstr(refusal(&guest, HOST_GUEST_BACKOFF), "calc restarts in 3"));
    stage_free(host);
}

static void one_that_was_given_up_for_another_reason_than_its_budget_says_it(void **state)
{
    const struct rapahub_supervision by_hand = {.start = RAPAHUB_START_MANUAL};
    struct host_supervision *host = stage_new();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "calc", by_hand);
    char expected[128];
    bool calls;

    (void)state;
    snprintf(guest->ends.cause, sizeof guest->ends.cause, "exit status 3");
    for (uint32_t why = HOST_FAILED_STATUS; why <= HOST_FAILED_ABOVE; why++) {
        stage_child(guest)->why = (enum host_failed)why;
        snprintf(expected, sizeof expected, "calc was given up: exit status 3%s",
                 host_tree_reason((enum host_failed)why));
        assert_int_equal(look(guest, HOST_GUEST_FAILED, &calls), RAPAHUB_EGIVENUP);
        assert_string_equal(rapahub_last_error()->text, expected);
    }
    stage_child(guest)->why = HOST_FAILED_BUDGET;
    assert_string_equal(refusal(guest, HOST_GUEST_FAILED),
                        "calc was given up after 5 restarts: exit status 3");
    stage_free(host);
}

static void a_call_is_told_to_the_guest_of_its_container(void **state)
{
    const struct rapahub_supervision lazy = {.start = RAPAHUB_START_LAZY};
    const struct rapahub_container_id unknown = {{1, 0}, 9};
    struct host_supervision *host = stage_new();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "lazy", lazy);
    struct host_container *container = stage_container(guest, 0);
    struct host_container *offer = stage_container(guest, 1);

    (void)state;
    offer->guest = NULL;
    assert_int_equal(guest->child.outlook, HOST_OUTLOOK_CALL);
    assert_int_equal(host_activation_call(host, unknown, HUB_NEVER), 0);
    assert_int_equal(host_activation_call(host, offer->id, HUB_NEVER), 0);
    assert_int_equal(guest->state, HOST_GUEST_STOPPED);
    assert_int_equal(host_activation_call(host, container->id, HUB_NEVER), 0);
    assert_int_equal(guest->state, HOST_GUEST_STARTING);
    stage_free(host);
}

static void *call_late(void *user)
{
    struct host_supervision *host = user;
    const struct rapahub_container_id target = {{1, 0}, 0};

    return (void *)(intptr_t)host_activation_call(host, target, 1);
}

static void an_owner_that_does_not_dispatch_is_not_waited_for(void **state)
{
    const struct rapahub_supervision lazy = {.start = RAPAHUB_START_LAZY};
    struct host_supervision *host = stage_new();
    struct host_guest *guest = stage_add(host, HOST_SUPERVISION_ROOT, "lazy", lazy);
    pthread_t thread;
    void *code;

    (void)state;
    stage_container(guest, 0);
    assert_int_equal(pthread_create(&thread, NULL, call_late, host), 0);
    assert_int_equal(pthread_join(thread, &code), 0);
    assert_int_equal((intptr_t)code, RAPAHUB_ETIMEDOUT);
    assert_int_equal(host_threads_serve(HOST_OWNER(host), true), 0); /* it was taken back */
    assert_int_equal(guest->state, HOST_GUEST_STOPPED);
    stage_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_waits_for_a_start_and_is_refused_where_none_comes),
        cmocka_unit_test(with_when_down_fail_no_call_waits),
        cmocka_unit_test(before_the_delay_is_over_only_when_down_wait_waits),
        cmocka_unit_test(a_call_starts_a_guest_that_waits_for_one),
        cmocka_unit_test(one_that_was_asked_to_stop_is_not_waited_for),
        cmocka_unit_test(a_refusal_says_why_and_for_how_long),
        cmocka_unit_test(one_that_was_given_up_for_another_reason_than_its_budget_says_it),
        cmocka_unit_test(a_call_is_told_to_the_guest_of_its_container),
        cmocka_unit_test(an_owner_that_does_not_dispatch_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
