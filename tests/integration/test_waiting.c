/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to wait: none changes what a call does, nor that it ends with its guest. */
#include <pthread.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define CALLS   300
#define THREADS 3

static const enum rapahub_waiting all[] = {RAPAHUB_WAIT_ADAPT, RAPAHUB_WAIT_POLL,
                                           RAPAHUB_WAIT_SLEEP, RAPAHUB_WAIT_BELL};

static void open_waiting(struct hosting *on, enum rapahub_waiting waiting, bool own_thread)
{
    open_host(on, (struct rapahub_host_options){.waiting = waiting, .own_thread = own_thread});
    assert_done(start(on, CALC, here, NULL));
}

static void *call_often(void *user)
{
    struct hosting *on = user;
    int64_t sum = 0;

    for (int64_t i = 0; i < CALLS; i++)
        if (add(on, i, 1, &sum) < 0 || sum != i + 1)
            return user;
    return NULL;
}

static void the_owner_calls(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct hosting on;

        open_waiting(&on, all[i], false);
        assert_null(call_often(&on));
        close_host(&on);
    }
}

static void threads_call(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        pthread_t threads[THREADS];
        struct hosting on;
        void *failed;

        open_waiting(&on, all[i], true);
        for (int n = 0; n < THREADS; n++)
            assert_int_equal(pthread_create(&threads[n], NULL, call_often, &on), 0);
        for (int n = 0; n < THREADS; n++) {
            pthread_join(threads[n], &failed);
            assert_null(failed);
        }
        close_host(&on);
    }
}

struct killer {
    pid_t pid;
    pthread_t thread;
};

static void *kill_soon(void *user)
{
    pause_ms(100); /* while the call is under way */
    kill(((struct killer *)user)->pid, SIGKILL);
    return NULL;
}

/* r[verify hub.wait.bound] r[verify hub.wait.manner] */
static void a_call_ends_with_its_guest(void **state)
{
    const uint32_t long_ms = 20000;

    (void)state;
    for (size_t i = 0; i < 2 * sizeof all / sizeof *all; i++) {
        struct killer killer;
        uint64_t before;
        struct hosting on;
        int64_t sum;

        open_waiting(&on, all[i / 2], i % 2 == 1);
        killer.pid = pid_of(&on);
        assert_int_equal(pthread_create(&killer.thread, NULL, kill_soon, &killer), 0);
        before = now_ms();
        assert_int_equal(ask(&on, "nap(u32) -> void", (const void *const[]){&long_ms, NULL}, NULL),
                         RAPAHUB_EDIED);
        assert_true(now_ms() - before < 5000);
        pthread_join(killer.thread, NULL);
        assert_done(add(&on, 1, 2, &sum));
        assert_int_equal(sum, 3);
        close_host(&on);
    }
}

static void *call_with_much(void *user)
{
    static const uint8_t data[900000];
    const struct rapahub_bytes in = {data, sizeof data};
    struct rapahub_bytes out = {NULL, 0};

    return ask(user, "echo(bytes) -> bytes", (const void *const[]){&in, NULL}, &out) < 0 ||
                   out.size != sizeof data
               ? user
               : NULL;
}

/* A guest has no slot for its first large answer, and asks for one: a host that waits for just that
 * answer notices it, whichever thread leads, and however it sleeps; even if no thread dispatches.
 * r[verify hub.var.single-popper] */
static void a_first_large_answer_is_not_waited_for_long(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3 * sizeof all / sizeof *all; i++) {
        uint64_t before;
        struct hosting on;
        pthread_t caller;
        void *failed;

        open_host(&on, (struct rapahub_host_options){.waiting = all[i / 3], .own_thread = i % 3});
        on.guest = (struct rapahub_guest_id){0};
        assert_done(rapahub_host_spawn(
            on.host,
            &(struct rapahub_guest_options){.chimod = CALC, .trust = RAPAHUB_TRUST_TRUSTED},
            &on.guest));
        assert_done(rapahub_host_add_container(
            on.host, on.guest,
            &(struct rapahub_container_options){.id = here, .pool_name = "large"}));
        before = now_ms();
        for (unsigned call = 0; call < 3; call++) {
            if (i % 3 == 2) {
                assert_null(call_with_much(&on));
                continue;
            }
            assert_int_equal(pthread_create(&caller, NULL, call_with_much, &on), 0);
            pthread_join(caller, &failed);
            assert_null(failed);
        }
        assert_true(now_ms() - before < 5000);
        close_host(&on);
    }
}

static void a_way_nobody_knows_is_refused(void **state)
{
    const struct rapahub_host_options odd = {.waiting = (enum rapahub_waiting)4};
    struct rapahub_host *host = NULL;

    (void)state;
    assert_refused(rapahub_host_create(&odd, &host), RAPAHUB_EINVAL, "4 is no way to wait");
    assert_null(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_calls),
        cmocka_unit_test(threads_call),
        cmocka_unit_test(a_call_ends_with_its_guest),
        cmocka_unit_test(a_first_large_answer_is_not_waited_for_long),
        cmocka_unit_test(a_way_nobody_knows_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
