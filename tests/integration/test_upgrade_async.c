/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous upgrades: they go on in the turns of their host. */
#include "tests/integration/child.h"
#include "tests/integration/upgrading.h"

struct ended {
    unsigned count;
    int code;
    char text[256];
    struct rapahub_upgrade_result result;
};

static void on_upgraded(void *user, int status, const struct rapahub_upgrade_result *upgraded)
{
    struct ended *ended = user;

    ended->code = status;
    ended->result = *upgraded;
    if (status < 0)
        snprintf(ended->text, sizeof ended->text, "%s", rapahub_last_error()->text);
    __atomic_add_fetch(&ended->count, 1, __ATOMIC_RELEASE);
}

static int begin(struct hosting *on, const char *chimod, struct ended *ended)
{
    char path[256];
    const struct rapahub_upgrade_options options = {.chimod = path};

    snprintf(path, sizeof path, "%s", chimod); /* it is gone when it is used */
    return rapahub_host_upgrade_async(on->host, on->guest, &options, on_upgraded, ended);
}

static void it_goes_on_in_the_turns_of_its_host(void **state)
{
    struct ended ended = {.count = 0}, second = {.count = 0};
    struct hosting on;

    (void)state;
    open_ledger(&on);
    assert_int_equal(enter(&on, 5), 1);
    assert_done(begin(&on, LEDGER2, &ended));
    assert_int_equal(ended.count, 0);
    assert_refused(begin(&on, LEDGER2, &second), RAPAHUB_EBUSY, "upgraded already");
    assert_true(until(&on, &ended.count, 1));
    assert_done(ended.code);
    assert_string_equal(ended.result.version_after, "2.0");
    on.guest = ended.result.guest;
    assert_int_equal(version(&on), 2);
    assert_int_equal(count(&on, 5), 1);
    assert_int_equal(second.count, 0);
    close_host(&on);
}

static void one_that_fails_says_why(void **state)
{
    struct ended ended = {.count = 0};
    struct hosting on;

    (void)state;
    open_ledger(&on);
    assert_refused(begin(&on, "/nowhere/ledger.so", &ended), -ENOENT, "");
    assert_int_equal(rapahub_host_upgrade_async(on.host, on.guest, NULL, on_upgraded, &ended),
                     RAPAHUB_EINVAL);
    assert_int_equal(ended.count, 0);
    assert_done(begin(&on, MODULE("ledger_load_fails"), &ended));
    assert_true(until(&on, &ended.count, 1));
    assert_int_equal(ended.code, RAPAHUB_EAPPLICATION);
    assert_non_null(strstr(ended.text, "asked not to load"));
    assert_int_equal(version(&on), 1);
    close_host(&on);
}

static void one_of_a_host_with_a_thread_is_told_there(void **state)
{
    struct ended ended = {.count = 0};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.own_thread = true});
    assert_done(start(&on, LEDGER, here, NULL));
    assert_done(begin(&on, LEDGER2, &ended));
    for (uint64_t end = now_ms() + 10000;
         __atomic_load_n(&ended.count, __ATOMIC_ACQUIRE) == 0 && now_ms() < end;)
        pause_ms(1);
    assert_int_equal(__atomic_load_n(&ended.count, __ATOMIC_ACQUIRE), 1);
    assert_done(ended.code);
    assert_int_equal(version(&on), 2);
    close_host(&on);
}

/* At any point: as it starts, as it loads, after the switch. */
static void a_host_that_ends_ends_it(void **state)
{
    static const int after_ms[] = {0, 1, 5, 20, 100};

    (void)state;
    for (size_t i = 0; i < 2 * sizeof after_ms / sizeof *after_ms; i++) {
        struct ended ended = {.count = 0};
        struct lazy lazy;

        open_ledger(&lazy.on);
        assert_done(begin(&lazy.on, i % 2 ? LEDGER2 : MODULE("ledger_load_hangs"), &ended));
        dispatch(&lazy, (uint64_t)after_ms[i / 2]);
        close_host(&lazy.on);
        assert_int_equal(ended.count, 1);
        assert_true(i % 2 || ended.code < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_on_in_the_turns_of_its_host),
        cmocka_unit_test(one_that_fails_says_why),
        cmocka_unit_test(one_of_a_host_with_a_thread_is_told_there),
        cmocka_unit_test(a_host_that_ends_ends_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
