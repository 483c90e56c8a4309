/* SPDX-License-Identifier: Apache-2.0 */
/* The resource limits of a guest, seen from inside of it. */
#include <sys/resource.h>

#include <rapahub/upgrade.h>

#include "tests/integration/hosting.h"

#define MIB (UINT64_C(1) << 20)

static int start_greedy(struct hosting *on, const struct rapahub_limits *limits)
{
    const struct rapahub_supervision once = {.restart = RAPAHUB_RESTART_TEMPORARY};
    const struct rapahub_guest_options guest = {
        .chimod = MODULE("greedy"), .supervision = &once, .limits = limits};
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    int r = rapahub_host_spawn(on->host, &guest, &on->guest);

    return r == 0 ? rapahub_host_add_container(on->host, on->guest, &container) : r;
}

static void open_greedy(struct hosting *on, struct rapahub_limits limits)
{
    open_host(on, (struct rapahub_host_options){0});
    assert_done(start_greedy(on, &limits));
}

static bool does(struct hosting *on, const char *signature, uint64_t bytes)
{
    bool done = false;

    assert_done(ask(on, signature, (const void *const[]){&bytes, NULL}, &done));
    return done;
}

/* r[verify supervise.limits] */
static void a_guest_has_no_more_descriptors_than_its_limit(void **state)
{
    struct hosting on;
    uint32_t count = 0;

    (void)state;
    open_greedy(&on, (struct rapahub_limits){.descriptors = 40});
    assert_done(ask(&on, "open() -> u32", NULL, &count));
    assert_in_range(count, 1, 39);
    close_host(&on);
}

/* r[verify supervise.limits] */
static void memory_beyond_its_limit_is_refused_it(void **state)
{
    struct hosting on;

    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they map terabytes */
#endif
    open_greedy(&on, (struct rapahub_limits){.address_bytes = 512 * MIB});
    assert_true(does(&on, "take(u64) -> bool", 64 * MIB));
    assert_false(does(&on, "take(u64) -> bool", 512 * MIB));
    close_host(&on);
    open_greedy(&on, (struct rapahub_limits){.data_bytes = 64 * MIB});
    assert_true(does(&on, "take(u64) -> bool", 8 * MIB));
    assert_false(does(&on, "take(u64) -> bool", 64 * MIB));
    close_host(&on);
}

/* r[verify supervise.limits] r[verify supervise.exit.class] */
static void beyond_its_cpu_time_it_ends_as_one_at_its_limit(void **state)
{
    struct hosting on;

    (void)state;
    open_greedy(&on, (struct rapahub_limits){.cpu_s = 1, .core_bytes = RAPAHUB_NONE});
    assert_int_equal(ask(&on, "spin()", NULL, NULL), RAPAHUB_EDIED);
    assert_true(until(&on, &on.told.down, 1));
    assert_non_null(strstr(on.told.text, "SIGXCPU"));
    close_host(&on);
}

/* r[verify supervise.limits] */
static void a_file_beyond_its_limit_ends_it(void **state)
{
    struct hosting on;
    const uint64_t large = 4 * MIB;
    bool done = true;

    (void)state;
    open_greedy(&on, (struct rapahub_limits){.file_bytes = MIB, .core_bytes = RAPAHUB_NONE});
    assert_true(does(&on, "write(u64) -> bool", MIB));
    assert_int_equal(ask(&on, "write(u64) -> bool", (const void *const[]){&large, NULL}, &done),
                     RAPAHUB_EDIED);
    assert_true(until(&on, &on.told.down, 1));
    assert_non_null(strstr(on.told.text, "SIGXFSZ"));
    close_host(&on);
}

/* r[verify supervise.limits] */
static void they_hold_in_each_life(void **state)
{
    const struct rapahub_limits limits = {.descriptors = 40};
    const struct rapahub_guest_options guest = {.chimod = MODULE("greedy"), .limits = &limits};
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    struct hosting on;
    uint32_t count = 0;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_spawn(on.host, &guest, &on.guest));
    assert_done(rapahub_host_add_container(on.host, on.guest, &container));
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, 2));
    assert_done(ask(&on, "open() -> u32", NULL, &count));
    assert_in_range(count, 1, 39);
    close_host(&on);
}

/* r[verify supervise.limits] r[verify supervise.upgrade.child] */
static void they_hold_in_a_version_that_takes_over(void **state)
{
    const struct rapahub_upgrade_options again = {.chimod = MODULE("greedy")};
    struct hosting on;
    uint32_t count = 0;

    (void)state;
    open_greedy(&on, (struct rapahub_limits){.descriptors = 40});
    assert_done(rapahub_host_upgrade(on.host, on.guest, &again, NULL));
    assert_done(ask(&on, "open() -> u32", NULL, &count));
    assert_in_range(count, 1, 39);
    close_host(&on);
}

/* r[verify supervise.limits] */
static void a_limit_that_leaves_no_room_to_start_is_refused(void **state)
{
    const struct {
        struct rapahub_limits limits;
        const char *words;
    } bad[] = {
        {{.descriptors = 15}, "descriptors is 15; a guest needs 16"},
        {{.address_bytes = MIB}, "address_bytes is 1048576"},
        {{.data_bytes = RAPAHUB_NONE}, "data_bytes: a guest cannot start without any"},
        {{.stack_bytes = 1}, "stack_bytes is 1"},
        {{.processes = 1}, "processes is 1"},
        {{.reserved = {0, 1}}, "does not know"},
    };
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(start_greedy(&on, &bad[i].limits), -EINVAL, bad[i].words);
    close_host(&on);
}

/* r[verify supervise.limits] */
static void nor_may_it_have_more_than_the_host(void **state)
{
    const struct rapahub_limits more = {.descriptors = UINT64_C(1) << 40};
    struct rlimit own;
    struct hosting on;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &own), 0);
    assert_true(own.rlim_max != RLIM_INFINITY);
    open_host(&on, (struct rapahub_host_options){0});
    assert_refused(start_greedy(&on, &more), -EINVAL, "the host itself may have");
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_has_no_more_descriptors_than_its_limit),
        cmocka_unit_test(memory_beyond_its_limit_is_refused_it),
        cmocka_unit_test(beyond_its_cpu_time_it_ends_as_one_at_its_limit),
        cmocka_unit_test(a_file_beyond_its_limit_ends_it),
        cmocka_unit_test(they_hold_in_each_life),
        cmocka_unit_test(they_hold_in_a_version_that_takes_over),
        cmocka_unit_test(a_limit_that_leaves_no_room_to_start_is_refused),
        cmocka_unit_test(nor_may_it_have_more_than_the_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
