/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a container beside its calls: it begins, is plugged, drained, saved, moved, removed.
 */
#include <stdlib.h>

#include "tests/integration/hosting.h"

#define COUNTER MODULE("counter")
#define MS      UINT64_C(1000000)

static const struct rapahub_container_id there = {.pool = {2, 0}};

static void open_counter(struct hosting *on)
{
    open_host(on, (struct rapahub_host_options){0});
    assert_done(start(on, COUNTER, here, NULL));
}

static int64_t count(struct hosting *on, int64_t amount)
{
    int64_t total = -1;

    assert_done(ask(on, "add(i64) -> i64", (const void *const[]){&amount, NULL}, &total));
    return total;
}

static uint64_t seen(struct hosting *on, const char *what)
{
    const struct rapahub_string name = rapahub_string_of(what);
    uint64_t times = 77;

    assert_done(ask(on, "seen(string) -> u64", (const void *const[]){&name, NULL}, &times));
    return times;
}

static uint32_t begun(struct hosting *on)
{
    uint32_t how = 0;

    assert_done(ask(on, "begun() -> u32", NULL, &how));
    return how;
}

static void a_container_begins_in_the_way_asked_for(void **state)
{
    static const enum rapahub_begin ways[] = {RAPAHUB_BEGIN_INIT, RAPAHUB_BEGIN_RESTART,
                                              RAPAHUB_BEGIN_RECOVER};
    const struct rapahub_container_options options = {
        .id = here, .pool_name = "test", .params = {"hello", 5}};
    const struct rapahub_guest_options guest = {.chimod = COUNTER};
    struct rapahub_string params;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_spawn(on.host, &guest, &on.guest));
    for (uint32_t i = 0; i < 3; i++) {
        assert_done(rapahub_host_begin(on.host, on.guest, &options, ways[i], NULL));
        assert_int_equal(begun(&on), i + 1);
        assert_done(ask(&on, "params() -> string", NULL, &params));
        assert_int_equal(params.size, 5);
        assert_memory_equal(params.data, "hello", 5);
        assert_done(rapahub_host_remove_container(on.host, here));
    }
    close_host(&on);
}

static void a_container_whose_init_fails_is_not_there(void **state)
{
    const struct rapahub_container_options options = {
        .id = there, .pool_name = "test", .params = {"fail", 4}};
    const struct rapahub_call call = {.target = there, .method = "begun() -> u32"};
    struct hosting on;
    uint32_t how;

    (void)state;
    open_counter(&on);
    assert_refused(rapahub_host_add_container(on.host, on.guest, &options), RAPAHUB_EAPPLICATION,
                   "asked to fail");
    assert_int_equal(rapahub_last_error()->application, RAPAHUB_EACCES);
    assert_refused(rapahub_host_call(on.host, &call, &how), RAPAHUB_ENOENT, "2.0[0]");
    close_host(&on);
}

static void an_id_is_taken_once(void **state)
{
    const struct rapahub_container_options options = {.id = here, .pool_name = "test"};
    struct hosting on;

    (void)state;
    open_counter(&on);
    assert_refused(rapahub_host_add_container(on.host, on.guest, &options), RAPAHUB_EEXIST,
                   "1.0[0]");
    assert_done(rapahub_host_remove_container(on.host, here));
    assert_done(rapahub_host_add_container(on.host, on.guest, &options));
    close_host(&on);
}

static void a_guest_has_many_containers(void **state)
{
    struct hosting on;

    (void)state;
    open_counter(&on);
    for (uint32_t i = 1; i < 20; i++) {
        const struct rapahub_container_options options = {.id = {.pool = {1, 0}, .container = i},
                                                          .pool_name = "test"};

        assert_done(rapahub_host_add_container(on.host, on.guest, &options));
    }
    for (uint32_t i = 0; i < 20; i++) {
        const int64_t amount = i;
        const struct rapahub_call call = {.target = {.pool = {1, 0}, .container = i},
                                          .method = "add(i64) -> i64",
                                          .arguments = (const void *const[]){&amount, NULL}};
        int64_t total;

        assert_done(rapahub_host_call(on.host, &call, &total));
        assert_int_equal(total, amount);
    }
    close_host(&on);
}

static void a_restarted_guest_has_its_containers_again(void **state)
{
    const struct rapahub_container_options second = {
        .id = there, .pool_name = "test", .params = {"second", 6}};
    const struct rapahub_call params = {.target = there, .method = "params() -> string"};
    struct rapahub_string text;
    struct hosting on;

    (void)state;
    open_counter(&on);
    assert_done(rapahub_host_add_container(on.host, on.guest, &second));
    assert_int_equal(begun(&on), 1);
    count(&on, 3);
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, 2));
    assert_int_equal(begun(&on), 2);
    assert_int_equal(count(&on, 1), 1); /* state that it does not keep itself is gone */
    assert_done(rapahub_host_call(on.host, &params, &text));
    assert_memory_equal(text.data, "second", 6);
    close_host(&on);
}

static void a_plugged_container_takes_no_calls(void **state)
{
    const int64_t amount = 1;
    struct hosting on;
    int64_t total;

    (void)state;
    open_counter(&on);
    assert_done(rapahub_host_plug(on.host, here, true));
    assert_refused(ask(&on, "add(i64) -> i64", (const void *const[]){&amount, NULL}, &total),
                   RAPAHUB_EPLUGGED, "1.0[0]");
    assert_done(rapahub_host_plug(on.host, here, false));
    assert_int_equal(count(&on, 1), 1);
    assert_int_equal(seen(&on, "plugged"), 1);
    assert_int_equal(seen(&on, "unplugged"), 1);
    close_host(&on);
}

static void a_plugged_container_stays_so_over_a_restart(void **state)
{
    struct hosting on;

    (void)state;
    open_counter(&on);
    assert_done(rapahub_host_plug(on.host, here, true));
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, 2));
    assert_int_equal(ask(&on, "begun() -> u32", NULL, &(uint32_t){0}), RAPAHUB_EPLUGGED);
    assert_done(rapahub_host_plug(on.host, here, false));
    assert_int_equal(seen(&on, "plugged"), 1);
    close_host(&on);
}

static void a_drain_waits_for_the_work(void **state)
{
    uint64_t work = 77;
    struct hosting on;

    (void)state;
    open_counter(&on);
    assert_refused(rapahub_host_drain(on.host, here, MS), RAPAHUB_ESTATE, "not plugged");
    count(&on, 4);
    assert_done(rapahub_host_work_remaining(on.host, here, &work));
    assert_int_equal(work, 4);
    assert_done(rapahub_host_plug(on.host, here, true));
    assert_refused(rapahub_host_drain(on.host, here, 20 * MS), RAPAHUB_ETIMEDOUT, "works");
    assert_done(rapahub_host_plug(on.host, here, false));
    count(&on, -4);
    assert_done(rapahub_host_plug(on.host, here, true));
    assert_done(rapahub_host_drain(on.host, here, 1000 * MS));
    close_host(&on);
}

static const void *save(struct hosting *on, struct rapahub_sink **sink, size_t *size)
{
    assert_done(rapahub_host_plug(on->host, here, true));
    assert_done(rapahub_sink_of_memory((size_t)1 << 20, sink));
    assert_done(rapahub_host_save(on->host, here, *sink));
    return rapahub_sink_data(*sink, size);
}

static void a_state_is_carried_to_another_guest(void **state)
{
    const struct rapahub_guest_options guest = {.chimod = COUNTER};
    const struct rapahub_container_options options = {.id = here, .pool_name = "test"};
    struct rapahub_source *source;
    struct rapahub_sink *sink;
    struct rapahub_guest_id next;
    struct hosting on;
    const void *data;
    size_t size;

    (void)state;
    open_counter(&on);
    assert_refused(rapahub_host_save(on.host, here, NULL), RAPAHUB_ESTATE, "not plugged");
    count(&on, 41);
    data = save(&on, &sink, &size);
    assert_int_equal(size, 32 + 8 + 200000);
    assert_done(rapahub_source_of_memory(data, size, &source));
    assert_done(rapahub_host_remove_container(on.host, here));
    assert_done(rapahub_host_spawn(on.host, &guest, &next));
    assert_done(rapahub_host_begin(on.host, next, &options, RAPAHUB_BEGIN_INIT, source));
    assert_int_equal(count(&on, 1), 42);
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
    close_host(&on);
}

/* Loads a changed copy: it is refused, and no container is left. */
static void refuse_state(struct hosting *on, const void *data, size_t size, size_t at, int code)
{
    const struct rapahub_container_options options = {.id = there, .pool_name = "test"};
    const struct rapahub_call call = {.target = there, .method = "begun() -> u32"};
    struct rapahub_source *source;
    char *copy = malloc(size);
    uint32_t how;

    memcpy(copy, data, size);
    if (at < size)
        copy[at] ^= 1;
    else
        size /= 2;
    assert_done(rapahub_source_of_memory(copy, size, &source));
    assert_int_equal(rapahub_host_begin(on->host, on->guest, &options, RAPAHUB_BEGIN_INIT, source),
                     code);
    assert_int_equal(rapahub_host_call(on->host, &call, &how), RAPAHUB_ENOENT);
    rapahub_source_destroy(source);
    free(copy);
}

static void a_damaged_state_is_refused(void **state)
{
    struct rapahub_sink *sink;
    struct hosting on;
    const void *data;
    size_t size;

    (void)state;
    open_counter(&on);
    data = save(&on, &sink, &size);
    refuse_state(&on, data, size, 0, RAPAHUB_EABI);          /* its magic */
    refuse_state(&on, data, size, 100000, RAPAHUB_EABI);     /* a byte of it */
    refuse_state(&on, data, size, 12, RAPAHUB_EAPPLICATION); /* its version: the module's matter */
    refuse_state(&on, data, size, size, RAPAHUB_ERESET);     /* cut short */
    rapahub_sink_destroy(sink);
    close_host(&on);
}

static void the_other_callbacks_are_reached(void **state)
{
    struct rapahub_node_id node = {0};
    uint32_t health = 77;
    struct hosting on;

    (void)state;
    open_counter(&on);
    assert_done(rapahub_host_migrate(on.host, here, (struct rapahub_node_id){12}));
    assert_int_equal(seen(&on, "migrated"), 12);
    assert_done(rapahub_host_expand(on.host, here, (struct rapahub_node_id){13}));
    assert_int_equal(seen(&on, "joined"), 13);
    assert_done(rapahub_host_schedule_recover(
        on.host, here, (struct rapahub_container_id){.container = 5}, &node));
    assert_int_equal(node.number, 105);
    assert_done(rapahub_host_health(on.host, here, &health));
    assert_int_equal(health, 0);
    count(&on, 9);
    assert_done(rapahub_host_health(on.host, here, &health));
    assert_int_equal(health, 1);
    close_host(&on);
}

static void a_container_that_is_not_there_is_refused(void **state)
{
    struct hosting on;
    uint64_t work;

    (void)state;
    open_counter(&on);
    assert_int_equal(rapahub_host_plug(on.host, there, true), RAPAHUB_ENOENT);
    assert_int_equal(rapahub_host_work_remaining(on.host, there, &work), RAPAHUB_ENOENT);
    assert_int_equal(rapahub_host_remove_container(on.host, there), RAPAHUB_ENOENT);
    close_host(&on);
}

static void a_guest_that_dies_meanwhile_is_told(void **state)
{
    uint64_t work;
    struct hosting on;
    int r;

    (void)state;
    open_counter(&on);
    assert_done(rapahub_host_kill(on.host, on.guest));
    r = rapahub_host_work_remaining(on.host, here, &work);
    assert_true(r == RAPAHUB_EDIED || r == RAPAHUB_ESTALE || r == 0);
    assert_true(until(&on, &on.told.ready, 2));
    assert_done(rapahub_host_work_remaining(on.host, here, &work));
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_begins_in_the_way_asked_for),
        cmocka_unit_test(a_container_whose_init_fails_is_not_there),
        cmocka_unit_test(an_id_is_taken_once),
        cmocka_unit_test(a_guest_has_many_containers),
        cmocka_unit_test(a_restarted_guest_has_its_containers_again),
        cmocka_unit_test(a_plugged_container_takes_no_calls),
        cmocka_unit_test(a_plugged_container_stays_so_over_a_restart),
        cmocka_unit_test(a_drain_waits_for_the_work),
        cmocka_unit_test(a_state_is_carried_to_another_guest),
        cmocka_unit_test(a_damaged_state_is_refused),
        cmocka_unit_test(the_other_callbacks_are_reached),
        cmocka_unit_test(a_container_that_is_not_there_is_refused),
        cmocka_unit_test(a_guest_that_dies_meanwhile_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
