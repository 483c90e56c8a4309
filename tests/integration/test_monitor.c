/* SPDX-License-Identifier: Apache-2.0 */
/* Guests that are told of the deaths of others; and the default supervisor, the same for all. */
#include <errno.h>

#include "tests/integration/child.h"

static const struct rapahub_container_id post = {.pool = {3, 0}};

struct last {
    uint32_t told, deaths, class, child;
    uint64_t incarnation;
    struct rapahub_string name;
};
RAPAHUB_RECORD(last, RAPAHUB_MEMBER(last, told, u32), RAPAHUB_MEMBER(last, deaths, u32),
               RAPAHUB_MEMBER(last, class, u32), RAPAHUB_MEMBER(last, child, u32),
               RAPAHUB_MEMBER(last, incarnation, u64), RAPAHUB_MEMBER(last, name, string));

#define LAST                                                                              \
    "last() -> {told: u32, deaths: u32, class: u32, child: u32, incarnation: u64, name: " \
    "string}"

struct pair {
    struct lazy lazy;
    struct rapahub_child_id target, watcher;
};

static void open_pair(struct pair *pair)
{
    const struct rapahub_supervision quick = {.backoff_initial_ns = RAPAHUB_NONE,
                                              .restarts_max = 100};

    open_lazy(&pair->lazy, false);
    pair->target = put(&pair->lazy, here, quick);
    pair->watcher = put_module(&pair->lazy, MODULE("watcher"), post, quick);
    pid(&pair->lazy, here);
    assert_done(rapahub_child_monitor(pair->lazy.on.host, pair->watcher, pair->target));
}

static struct last last_of(struct pair *pair)
{
    const struct rapahub_call call = {.target = post, .method = LAST};
    struct last last = {0};

    assert_done(rapahub_host_call(pair->lazy.on.host, &call, &last));
    return last;
}

static struct last await_deaths(struct pair *pair, uint32_t wanted)
{
    struct last last = {0};

    for (uint64_t end = now_ms() + 10000; now_ms() < end && last.deaths < wanted;) {
        dispatch(&pair->lazy, 10);
        last = last_of(pair);
    }
    assert_int_equal(last.deaths, wanted);
    return last;
}

/* r[verify supervise.monitor] */
static void a_death_is_told_with_class_and_incarnation(void **state)
{
    struct pair pair;
    struct last last;

    (void)state;
    open_pair(&pair);
    assert_int_equal(last_of(&pair).told, 0);
    for (uint32_t i = 1; i <= 3; i++) {
        uint64_t incarnation = status_of(&pair.lazy, pair.target).incarnation;

        die(&pair.lazy);
        last = await_deaths(&pair, i);
        assert_int_equal(last.told, i);
        assert_int_equal(last.incarnation, incarnation);
        assert_int_equal(last.child, pair.target.number);
        assert_true(last.class == RAPAHUB_EXIT_SIGNAL || last.class == RAPAHUB_EXIT_CORE);
        assert_int_equal(last.name.size, 4);
        assert_memory_equal(last.name.data, "calc", 4);
        pid(&pair.lazy, here);
    }
    assert_done(rapahub_child_stop(pair.lazy.on.host, pair.target, 5 * SECOND));
    assert_int_equal(await_deaths(&pair, 4).class, RAPAHUB_EXIT_CLEAN);
    close_host(&pair.lazy.on);
}

/* In its next life too; and what it missed is told as one. r[verify supervise.monitor] */
static void a_monitor_outlives_its_watcher(void **state)
{
    struct pair pair;
    struct last last;

    (void)state;
    open_pair(&pair);
    assert_int_equal(call(&pair.lazy, post, "leave()", NULL), RAPAHUB_EDIED);
    assert_int_equal(last_of(&pair).told, 0); /* another life */
    die(&pair.lazy);
    assert_int_equal(await_deaths(&pair, 1).told, 1);
    assert_done(rapahub_child_stop(pair.lazy.on.host, pair.watcher, 5 * SECOND));
    for (int i = 0; i < 3; i++) {
        pid(&pair.lazy, here);
        die(&pair.lazy);
    }
    pid(&pair.lazy, here);
    assert_done(rapahub_child_start(pair.lazy.on.host, pair.watcher, 5 * SECOND));
    last = await_deaths(&pair, 3);
    assert_int_equal(last.told, 1);
    assert_int_equal(last.incarnation + 2, status_of(&pair.lazy, pair.watcher).incarnation);
    close_host(&pair.lazy.on);
}

static void what_is_no_pair_is_refused(void **state)
{
    struct rapahub_host *host;
    struct pair pair;

    (void)state;
    open_pair(&pair);
    host = pair.lazy.on.host;
    assert_refused(rapahub_child_monitor(host, pair.watcher, pair.target), -EALREADY, "already");
    assert_refused(rapahub_child_monitor(host, pair.watcher, pair.watcher), RAPAHUB_EINVAL, "own");
    assert_refused(rapahub_child_monitor(host, pair.watcher, (struct rapahub_child_id){999}),
                   RAPAHUB_ESTALE, "no such");
    assert_refused(rapahub_child_demonitor(host, pair.target, pair.watcher), RAPAHUB_ENOENT,
                   "not told");
    assert_done(rapahub_child_demonitor(host, pair.watcher, pair.target));
    die(&pair.lazy);
    pid(&pair.lazy, here);
    dispatch(&pair.lazy, 50);
    assert_int_equal(last_of(&pair).told, 0);
    assert_done(rapahub_child_monitor(host, pair.watcher, pair.target));
    assert_done(rapahub_child_close(host, pair.target, 5 * SECOND));
    assert_refused(rapahub_child_demonitor(host, pair.watcher, pair.target), RAPAHUB_ENOENT,
                   "not told");
    assert_int_equal(await_deaths(&pair, 1).class, RAPAHUB_EXIT_CLEAN);
    close_host(&pair.lazy.on);
}

struct asker {
    struct rapahub_host *host;
    struct rapahub_supervisor *got;
    pthread_t thread;
};

static void *ask_default(void *user)
{
    struct asker *asker = user;

    assert_done(rapahub_host_supervisor(asker->host, &asker->got));
    return NULL;
}

/* r[verify supervise.default] */
static void first_callers_get_one_supervisor(void **state)
{
    struct asker askers[16];
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.own_thread = true});
    for (int i = 0; i < 16; i++) {
        askers[i].host = on.host;
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_default, &askers[i]), 0);
    }
    for (int i = 0; i < 16; i++)
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
    for (int i = 0; i < 16; i++)
        assert_ptr_equal(askers[i].got, askers[0].got);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_is_told_with_class_and_incarnation),
        cmocka_unit_test(a_monitor_outlives_its_watcher),
        cmocka_unit_test(what_is_no_pair_is_refused),
        cmocka_unit_test(first_callers_get_one_supervisor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
