/* SPDX-License-Identifier: Apache-2.0 */
/* All the ways in which a version does not take over, and the old one serves on. */
#include <errno.h>

#include "tests/integration/upgrading.h"

/* The running version is told once that no call comes, and once that calls come again, or nothing
 * at all. */
static void serves_on(struct hosting *on, int32_t pid, uint32_t told)
{
    assert_int_equal(pid_of(on), pid);
    assert_int_equal(version(on), 1);
    assert_int_equal(count(on, 9), 1);
    assert_int_equal(number_of(on, here, "told", NULL), told);
    assert_int_equal(enter(on, 10), 1);
    assert_int_equal(on->told.restart, 0);
    be(on, 0);
    assert_done(upgrade(on, LEDGER2)); /* nothing is in its way */
    assert_int_equal(version(on), 2);
    assert_int_equal(count(on, 9), 1);
    assert_int_equal(count(on, 10), 1);
}

static const struct refusal {
    const char *chimod;
    uint32_t fault; /* fault of the running version */
    int code;
    const char *words;
    uint32_t told;
} refusals[] = {
    {MODULE("ledger_load_fails"), 0, RAPAHUB_EAPPLICATION, "asked not to load", 101},
    {MODULE("ledger_load_dies"), 0, RAPAHUB_EDIED, "SIGKILL", 101},
    {MODULE("ledger_init_fails"), 0, RAPAHUB_EAPPLICATION, "asked not to begin", 0},
    {MODULE("ledger_init_dies"), 0, RAPAHUB_EDIED, "SIGKILL", 0},
    {LEDGER2, SAVE_FAILS, RAPAHUB_EAPPLICATION, "asked not to save", 101},
    {CALC, 0, RAPAHUB_ESTATE, "is a version of calc", 0},
    {MODULE("no_symbol"), 0, RAPAHUB_ELOAD, "", 0},
    {MODULE("wrong_abi"), 0, RAPAHUB_EABI, "abi", 0},
    {MODULE("constructor_crash"), 0, RAPAHUB_ESTART, "SIG", 0},
    {"/etc/passwd", 0, RAPAHUB_ELOAD, "no ELF file", 0},
    {"/nowhere/ledger.so", 0, -ENOENT, "/nowhere/ledger.so", 0},
};

/* r[verify supervise.upgrade.rollback] */
static void what_fails_leaves_the_old_one_serving(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        const struct refusal *refusal = &refusals[i];
        struct hosting on;

        int32_t pid;

        open_ledger(&on);
        enter(&on, 9);
        pid = pid_of(&on);
        be(&on, refusal->fault);
        assert_refused(upgrade(&on, refusal->chimod), refusal->code, refusal->words);
        serves_on(&on, pid, refusal->told);
        close_host(&on);
    }
}

static void a_state_of_a_newer_version_is_refused(void **state)
{
    struct hosting on;

    (void)state;
    open_ledger(&on);
    enter(&on, 9);
    assert_done(upgrade(&on, LEDGER2));
    assert_refused(upgrade(&on, MODULE("ledger_too_old")), RAPAHUB_EAPPLICATION,
                   "a state of version 2");
    assert_int_equal(version(&on), 2);
    assert_int_equal(count(&on, 9), 1);
    close_host(&on);
}

/* r[verify supervise.upgrade.deadline] */
static void one_that_is_never_ready_is_given_up(void **state)
{
    struct hosting on;
    int32_t pid;

    (void)state;
    open_ledger(&on);
    enter(&on, 9);
    pid = pid_of(&on);
    assert_refused(upgrade_within(&on, MODULE("constructor_loop"), 300 * MS, 0), RAPAHUB_ETIMEDOUT,
                   "did not start");
    serves_on(&on, pid, 0);
    close_host(&on);
}

static void one_that_loads_for_ever_is_given_up(void **state)
{
    uint64_t began;
    struct hosting on;
    int32_t pid;

    (void)state;
    open_ledger(&on);
    enter(&on, 9);
    pid = pid_of(&on);
    began = now_ms();
    assert_refused(upgrade_within(&on, MODULE("ledger_load_hangs"), 0, 200 * MS), RAPAHUB_ETIMEDOUT,
                   "did not load");
    assert_true(now_ms() - began < 3000);
    assert_true(result.blackout_ns >= 200 * MS && result.blackout_ns < 1000 * MS);
    serves_on(&on, pid, 101);
    close_host(&on);
}

static void work_that_does_not_end_is_not_cut_off(void **state)
{
    const uint64_t some = 3, none = 0;
    struct hosting on;
    int32_t pid;

    (void)state;
    open_ledger(&on);
    enter(&on, 9);
    pid = pid_of(&on);
    assert_done(ask(&on, "work_on(u64)", (const void *const[]){&some, NULL}, NULL));
    assert_refused(upgrade_within(&on, LEDGER2, 0, 100 * MS), RAPAHUB_ETIMEDOUT, "did not end");
    assert_done(ask(&on, "work_on(u64)", (const void *const[]){&none, NULL}, NULL));
    serves_on(&on, pid, 101);
    close_host(&on);
}

/* The old one's own death is as any other: its module starts again, and has what it keeps. */
static void a_running_version_that_dies_is_started_again(void **state)
{
    static const uint32_t faults[] = {SAVE_DIES, PLUG_DIES};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct hosting on;

        open_ledger(&on);
        enter(&on, 9);
        be(&on, faults[i]);
        assert_refused(upgrade(&on, LEDGER2), RAPAHUB_EDIED, "");
        assert_int_equal(version(&on), 1);
        assert_int_equal(count(&on, 9), 0);
        assert_int_equal(enter(&on, 9), 1);
        close_host(&on);
    }
}

/* Its end and the last answer of the new one reach the host in any order, or together: it has taken
 * over, or has not, and calls go on. */
static void a_running_version_may_die_at_the_switch(void **state)
{
    unsigned refused = 0;

    (void)state;
    for (unsigned i = 0; i < 80; i++) {
        struct hosting on;
        int r;

        open_ledger(&on);
        enter(&on, (uint64_t)pid_of(&on));
        for (unsigned j = 0; j < i; j++)
            enter(&on, 1);
        r = upgrade(&on, MODULE("ledger_load_kills"));
        if (r < 0)
            assert_refused(r, RAPAHUB_EDIED, "the running version ended");
        refused += r < 0;
        assert_int_equal(version(&on), r < 0 ? 1 : 3);
        close_host(&on);
    }
    assert_true(refused > 0);
}

static void what_cannot_be_upgraded_is_refused(void **state)
{
    const struct rapahub_upgrade_options none = {0}, odd = {.chimod = LEDGER2, .reserved = {1}};
    struct hosting on;

    (void)state;
    open_ledger(&on);
    assert_refused(rapahub_host_upgrade(on.host, on.guest, NULL, NULL), RAPAHUB_EINVAL, "module");
    assert_refused(rapahub_host_upgrade(on.host, on.guest, &none, NULL), RAPAHUB_EINVAL, "module");
    assert_refused(rapahub_host_upgrade(on.host, on.guest, &odd, NULL), RAPAHUB_EINVAL, "release");
    assert_done(rapahub_host_stop(on.host, on.guest));
    assert_refused(upgrade(&on, LEDGER2), RAPAHUB_ESTALE, "");
    close_host(&on);
}

/* A place for the second process is needed, while there are two. */
static void a_full_host_says_so(void **state)
{
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.guests_max = 1});
    assert_done(start(&on, LEDGER, here, NULL));
    assert_refused(upgrade(&on, LEDGER2), RAPAHUB_EFULL, "");
    assert_int_equal(version(&on), 1);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fails_leaves_the_old_one_serving),
        cmocka_unit_test(a_state_of_a_newer_version_is_refused),
        cmocka_unit_test(one_that_is_never_ready_is_given_up),
        cmocka_unit_test(one_that_loads_for_ever_is_given_up),
        cmocka_unit_test(work_that_does_not_end_is_not_cut_off),
        cmocka_unit_test(a_running_version_that_dies_is_started_again),
        cmocka_unit_test(a_running_version_may_die_at_the_switch),
        cmocka_unit_test(what_cannot_be_upgraded_is_refused),
        cmocka_unit_test(a_full_host_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
