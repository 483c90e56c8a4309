/* SPDX-License-Identifier: Apache-2.0 */
/* A callback for a guest's deaths: it is called once for each, with its id, on the owner, while the
 * dead guest still has its place; never for a guest that went in order. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/integration/hosting.h"

struct deaths {
    struct hosting *on;
    unsigned count;
    struct rapahub_guest_id guest;
    char cause[128];
    uint32_t state; /* state of its entry at the callback */
    bool elsewhere; /* on another thread than the host's owner */
    pthread_t owner;
    int called; /* result of a call to another container inside the callback */
};

static uint32_t state_of(struct rapahub_host *host, uint32_t peer)
{
    int fd = open(rapahub_host_path(host), O_RDONLY | O_CLOEXEC);
    uint32_t state = UINT32_MAX;

    assert_int_equal(pread(fd, &state, sizeof state, 128 + 64 * (off_t)(peer - 1)), sizeof state);
    close(fd);
    return state;
}

static int negate(void *self, int64_t number, int64_t *result)
{
    (void)self;
    *result = -number;
    return 0;
}

static const struct rapahub_method offered[] = {
    RAPAHUB_METHOD(negate, negate, i64, i64),
    RAPAHUB_METHOD_END,
};

static const struct rapahub_container_id of_host = {.pool = {2, 0}};

static void on_death(void *user, struct rapahub_guest_id guest, const char *cause)
{
    const int64_t number = 1;
    const void *const arguments[] = {&number, NULL};
    const struct rapahub_call call = {
        .target = of_host, .method = "negate(i64) -> i64", .arguments = arguments};
    struct deaths *deaths = user;
    int64_t result = 0;

    deaths->count++;
    deaths->guest = guest;
    snprintf(deaths->cause, sizeof deaths->cause, "%s", cause);
    deaths->state = state_of(deaths->on->host, guest.peer);
    deaths->elsewhere = !pthread_equal(deaths->owner, pthread_self());
    deaths->called = rapahub_host_call(deaths->on->host, &call, &result);
}

/* Its segment has a path, so that the test can look into it. */
static void open_stage(struct hosting *on, struct deaths *deaths)
{
    const struct rapahub_host_options options = {.anonymous = true, .guests_max = 1};
    const struct rapahub_container_options offer = {.id = of_host, .pool_name = "host"};
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    const struct rapahub_guest_options guest = {
        .chimod = CALC, .trust = RAPAHUB_TRUST_TRUSTED, .on_death = on_death, .user = deaths};

    *deaths = (struct deaths){.on = on, .owner = pthread_self(), .state = UINT32_MAX};
    open_host(on, options);
    assert_done(rapahub_host_offer(on->host, &offer, offered, NULL));
    assert_done(rapahub_host_spawn(on->host, &guest, &on->guest));
    assert_done(rapahub_host_add_container(on->host, on->guest, &container));
}

static void check_death(const struct deaths *deaths, unsigned count, uint32_t epoch,
                        const char *cause)
{
    assert_int_equal(deaths->count, count);
    assert_int_equal(deaths->guest.epoch, epoch);
    assert_int_equal(deaths->guest.peer, 1);
    assert_non_null(strstr(deaths->cause, cause));
    assert_int_equal(deaths->state, 2); /* Goodbye: not Empty yet */
    assert_false(deaths->elsewhere);
    assert_int_equal(deaths->called, 0);
}

/* r[verify shm.death.callback] r[verify shm.death.callback-context] r[verify shm.death.recovery]
 * r[verify shm.crash.recovery] */
static void each_death_is_told_once_before_the_place_is_free(void **state)
{
    struct deaths deaths;
    struct hosting on;

    (void)state;
    open_stage(&on, &deaths);
    assert_int_equal(ask(&on, "crash()", NULL, NULL), RAPAHUB_EDIED);
    assert_true(until(&on, &on.told.ready, 2));
    check_death(&deaths, 1, 1, "SIGSEGV");
    assert_done(rapahub_host_kill(on.host, on.told.guest));
    assert_true(until(&on, &on.told.ready, 3));
    check_death(&deaths, 2, 2, "SIGKILL");
    assert_done(rapahub_host_stop(on.host, on.told.guest));
    assert_true(until(&on, &on.told.down, 3));
    assert_int_equal(deaths.count, 2);
    close_host(&on);
    assert_int_equal(deaths.count, 2);
}

/* Status 0 without a goodbye is no way to go. */
static void one_that_just_exits_has_died(void **state)
{
    const int32_t status = 0;
    struct deaths deaths;
    struct hosting on;

    (void)state;
    open_stage(&on, &deaths);
    assert_int_equal(ask(&on, "leave(i32)", (const void *const[]){&status, NULL}, NULL),
                     RAPAHUB_EDIED);
    assert_true(until(&on, &deaths.count, 1));
    check_death(&deaths, 1, 1, "exit status 0");
    close_host(&on);
}

static void a_host_that_ends_in_order_tells_of_no_death(void **state)
{
    struct deaths deaths;
    struct hosting on;

    (void)state;
    open_stage(&on, &deaths);
    close_host(&on);
    assert_int_equal(deaths.count, 0);
    assert_int_equal(on.told.down, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_death_is_told_once_before_the_place_is_free),
        cmocka_unit_test(one_that_just_exits_has_died),
        cmocka_unit_test(a_host_that_ends_in_order_tells_of_no_death),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
