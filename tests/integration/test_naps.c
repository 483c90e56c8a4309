/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that sleeps in a futex notices nothing else for 10 ms: events that must not wait so long
 * end its sleep. The bounds lie between the necessary time, some 100 us, and those 10 ms; the
 * median tolerates the noise. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define ROUNDS 15
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BOUND 8000000 /* ns: below a slice, and what a slow program needs */
#else
#define BOUND 4000000 /* ns */
#endif
#define ASLEEP 1000000 /* ns after which the other one sleeps */

static const struct rapahub_container_id offered = {.pool = {7, 0}};
static const struct rapahub_container_id second = {.pool = {9, 0}};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

static void assert_soon(uint64_t *spans)
{
    qsort(spans, ROUNDS, sizeof *spans, ascending);
    print_message("median %u us, longest %u us\n", (unsigned)(spans[ROUNDS / 2] / 1000),
                  (unsigned)(spans[ROUNDS - 1] / 1000));
    assert_in_range(spans[ROUNDS / 2], 0, BOUND);
}

static int offer_twice(void *self, int64_t number, int64_t *result)
{
    *result = 2 * number;
    if (self)
        *(uint64_t *)self = now_ns();
    return 0;
}

static const struct rapahub_method methods[] = {
    RAPAHUB_METHOD(twice, offer_twice, i64, i64),
    RAPAHUB_METHOD_END,
};

static void open_sleeping(struct hosting *on)
{
    open_host(on, (struct rapahub_host_options){.waiting = RAPAHUB_WAIT_SLEEP});
    assert_done(start(on, CALC, here, NULL));
}

static int nap(struct hosting *on, uint32_t ms)
{
    return ask(on, "nap(u32) -> void", (const void *const[]){&ms, NULL}, NULL);
}

/* ---- the end of the guest ---- */

struct sleeper {
    struct hosting *on;
    int code;
    uint64_t ended_ns;
};

static void *sleep_for_ever(void *user)
{
    struct sleeper *sleeper = user;

    sleeper->code = nap(sleeper->on, 20000);
    sleeper->ended_ns = now_ns();
    return NULL;
}

struct killer {
    int pidfd;
    uint64_t proven_ns;
};

static void *kill_soon(void *user)
{
    struct killer *killer = user;
    struct pollfd end = {.fd = killer->pidfd, .events = POLLIN};

    pause_ns(ASLEEP);
    (void)syscall(SYS_pidfd_send_signal, killer->pidfd, SIGKILL, NULL, 0);
    (void)poll(&end, 1, 10000);
    killer->proven_ns = now_ns();
    return NULL;
}

/* One of the two waits on this thread, the owner: for its answer, or for an event outside of the
 * host. */
static uint64_t time_of_a_death(bool owner_calls)
{
    struct sleeper sleeper;
    struct killer killer = {.proven_ns = 0};
    struct hosting on;
    pthread_t thread;

    open_sleeping(&on);
    sleeper = (struct sleeper){.on = &on};
    killer.pidfd = (int)syscall(SYS_pidfd_open, pid_of(&on), 0);
    assert_true(killer.pidfd >= 0);
    assert_int_equal(pthread_create(&thread, NULL, owner_calls ? kill_soon : sleep_for_ever,
                                    owner_calls ? (void *)&killer : (void *)&sleeper),
                     0);
    if (owner_calls)
        sleep_for_ever(&sleeper);
    else
        kill_soon(&killer);
    pthread_join(thread, NULL);
    close(killer.pidfd);
    assert_int_equal(sleeper.code, RAPAHUB_EDIED);
    close_host(&on);
    return sleeper.ended_ns > killer.proven_ns ? sleeper.ended_ns - killer.proven_ns : 0;
}

/* r[verify hub.wait.bound] */
static void a_call_ends_soon_where_the_owner_does_not_dispatch(void **state)
{
    uint64_t spans[ROUNDS];

    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        spans[i] = time_of_a_death(false);
    assert_soon(spans);
}

/* r[verify hub.wait.bound] */
static void a_call_of_the_owner_ends_soon(void **state)
{
    uint64_t spans[ROUNDS];

    (void)state;
    for (int i = 0; i < ROUNDS; i++)
        spans[i] = time_of_a_death(true);
    assert_soon(spans);
}

/* ---- other duties of the owner ---- */

struct asker {
    struct hosting *on;
    int code;
    int64_t result;
    uint64_t span_ns;
    atomic_bool done;
};

static void *ask_the_owner(void *user)
{
    static const int64_t number = 21;
    struct asker *asker = user;
    const struct rapahub_call call = {.target = offered,
                                      .method = "twice(i64) -> i64",
                                      .arguments = (const void *const[]){&number, NULL}};
    uint64_t begun;

    pause_ns(ASLEEP);
    begun = now_ns();
    asker->code = rapahub_host_call(asker->on->host, &call, &asker->result);
    asker->span_ns = now_ns() - begun;
    atomic_store(&asker->done, true);
    return NULL;
}

static void a_posted_job_is_done_soon_while_the_owner_naps(void **state)
{
    const struct rapahub_container_options options = {.id = offered, .pool_name = "offers"};
    uint64_t spans[ROUNDS];
    struct hosting on;

    (void)state;
    open_sleeping(&on);
    assert_done(rapahub_host_offer(on.host, &options, methods, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        struct asker asker = {.on = &on};
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, ask_the_owner, &asker), 0);
        assert_done(nap(&on, 40));
        while (!atomic_load(&asker.done)) /* it came late */
            assert_done(rapahub_host_dispatch(on.host, 10));
        pthread_join(thread, NULL);
        assert_done(asker.code);
        assert_int_equal(asker.result, 42);
        spans[i] = asker.span_ns;
    }
    close_host(&on);
    assert_soon(spans);
}

static void count_done(void *user, int status, const void *result)
{
    (void)result;
    *(unsigned *)user += status == 0;
}

/* Its own doorbell is heard while the owner sleeps in the futex of another one. */
static void a_second_guest_is_served_soon_while_the_owner_naps(void **state)
{
    static const uint32_t pool = 7;
    static const int64_t number = 21;
    const struct rapahub_call call = {.target = second,
                                      .method = "ask(u32, i64) -> i64",
                                      .arguments = (const void *const[]){&pool, &number, NULL}};
    uint64_t spans[ROUNDS], served_ns = 0, begun_ns;
    const struct rapahub_container_options options = {.id = offered, .pool_name = "offers"};
    unsigned done = 0;
    struct hosting on;

    (void)state;
    open_sleeping(&on);
    assert_done(rapahub_host_offer(on.host, &options, methods, &served_ns));
    assert_done(start(&on, MODULE("caller"), second, NULL));
    for (unsigned i = 0; i < ROUNDS; i++) {
        begun_ns = now_ns();
        assert_done(rapahub_host_call_async(on.host, &call, count_done, &done, NULL));
        assert_done(nap(&on, 40));
        assert_true(served_ns > begun_ns);
        spans[i] = served_ns - begun_ns;
        assert_true(until(&on, &done, i + 1));
    }
    close_host(&on);
    assert_soon(spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_ends_soon_where_the_owner_does_not_dispatch),
        cmocka_unit_test(a_call_of_the_owner_ends_soon),
        cmocka_unit_test(a_posted_job_is_done_soon_while_the_owner_naps),
        cmocka_unit_test(a_second_guest_is_served_soon_while_the_owner_naps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
