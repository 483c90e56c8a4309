/* SPDX-License-Identifier: Apache-2.0 */
/* Containers that their host's program manages, with real processes: a new life of the guest does
 * not begin them, and each of their lives has a token of its own. */
#include <pthread.h>

#include <rapahub/upgrade.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"

#define COUNTER MODULE("counter")
#define MS      UINT64_C(1000000)

static int begin(struct hosting *on, enum rapahub_begin how, uint64_t token)
{
    const struct rapahub_container_options options = {
        .id = here, .pool_name = "test", .token = token, .managed = true};

    return rapahub_host_begin(on->host, on->guest, &options, how, NULL);
}

static void open_managed(struct hosting *on)
{
    const struct rapahub_guest_options guest = {.chimod = COUNTER};

    open_host(on, (struct rapahub_host_options){.own_thread = true});
    assert_done(rapahub_host_spawn(on->host, &guest, &on->guest));
    assert_done(begin(on, RAPAHUB_BEGIN_INIT, 7));
}

static uint64_t token_of(struct hosting *on)
{
    uint64_t token = 99;

    assert_done(ask(on, "token() -> u64", NULL, &token));
    return token;
}

static void find(void *user, const struct rapahub_guest_status *status)
{
    ((struct hosting *)user)->guest = status->guest;
}

/* Kills the guest, and waits for its next life. */
static void kill_guest(struct hosting *on)
{
    unsigned before = __atomic_load_n(&on->told.ready, __ATOMIC_RELAXED);

    assert_done(rapahub_host_kill(on->host, on->guest));
    for (int i = 0; i < 1000 && __atomic_load_n(&on->told.ready, __ATOMIC_RELAXED) == before; i++)
        pause_ns(10 * MS);
    assert_done(rapahub_host_guests(on->host, find, on));
}

struct waiting {
    struct hosting *on;
    uint32_t how;
    int code, ended;
};

static void *call_begun(void *user)
{
    struct waiting *waiting = user;

    waiting->code = ask(waiting->on, "begun() -> u32", NULL, &waiting->how);
    __atomic_store_n(&waiting->ended, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* r[verify cluster.managed] r[verify cluster.token] */
static void in_a_new_life_it_stays_down_and_its_calls_wait_until_it_is_begun(void **state)
{
    struct waiting waiting = {.how = 0};
    pthread_t thread;
    struct hosting on;

    (void)state;
    open_managed(&on);
    assert_true(token_of(&on) == 7);
    assert_int_equal(begin(&on, RAPAHUB_BEGIN_RESTART, 8), RAPAHUB_EEXIST);
    kill_guest(&on);
    waiting.on = &on;
    assert_int_equal(pthread_create(&thread, NULL, call_begun, &waiting), 0);
    pause_ns(30 * MS);
    assert_int_equal(__atomic_load_n(&waiting.ended, __ATOMIC_ACQUIRE), 0);
    assert_done(begin(&on, RAPAHUB_BEGIN_RECOVER, 9));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_done(waiting.code);
    assert_int_equal(waiting.how, 3);
    assert_true(token_of(&on) == 9);
    close_host(&on);
}

static void of_one_that_is_removed_while_it_is_down_the_calls_end(void **state)
{
    struct waiting waiting = {.how = 0};
    pthread_t thread;
    struct hosting on;

    (void)state;
    open_managed(&on);
    kill_guest(&on);
    waiting.on = &on;
    assert_int_equal(pthread_create(&thread, NULL, call_begun, &waiting), 0);
    pause_ns(20 * MS);
    assert_done(rapahub_host_remove_container(on.host, here));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(waiting.code, RAPAHUB_ENOENT);
    assert_done(begin(&on, RAPAHUB_BEGIN_INIT, 0));
    assert_true(token_of(&on) == 0);
    close_host(&on);
}

/* r[verify cluster.token] */
static void an_upgrade_begins_it_with_the_next_token(void **state)
{
    const struct rapahub_upgrade_options options = {.chimod = COUNTER};
    struct rapahub_upgrade_result result;
    struct hosting on;

    (void)state;
    open_managed(&on);
    assert_done(rapahub_host_upgrade(on.host, on.guest, &options, &result));
    on.guest = result.guest;
    assert_true(token_of(&on) == 8);
    kill_guest(&on);
    assert_done(rapahub_host_upgrade(on.host, on.guest, &options, &result)); /* it stays down */
    on.guest = result.guest;
    assert_done(begin(&on, RAPAHUB_BEGIN_RESTART, 9));
    assert_true(token_of(&on) == 9);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_a_new_life_it_stays_down_and_its_calls_wait_until_it_is_begun),
        cmocka_unit_test(of_one_that_is_removed_while_it_is_down_the_calls_end),
        cmocka_unit_test(an_upgrade_begins_it_with_the_next_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
