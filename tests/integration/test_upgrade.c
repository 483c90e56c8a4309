/* SPDX-License-Identifier: Apache-2.0 */
/* Another version takes over from a guest that serves. */
#include <unistd.h>

#include "tests/integration/upgrading.h"
#include "tests/support/process.h"

/* r[verify supervise.upgrade.state] */
static void the_new_version_has_the_state_of_the_old_one(void **state)
{
    struct hosting on;

    (void)state;
    open_ledger(&on);
    assert_int_equal(enter(&on, 5), 1);
    assert_int_equal(enter(&on, 5), 1);
    assert_int_equal(enter(&on, 300000), 1);
    assert_done(upgrade(&on, LEDGER2));
    assert_int_equal(version(&on), 2);
    assert_int_equal(count(&on, 5), 2);
    assert_int_equal(count(&on, 300000), 1);
    assert_int_equal(count(&on, 6), 0);
    assert_string_equal(result.version_before, "1.0");
    assert_string_equal(result.version_after, "2.0");
    assert_int_equal(result.containers, 1);
    assert_int_equal(result.state_bytes, 524288); /* several messages */
    assert_int_equal(result.methods_lost, 0);
    assert_int_equal(result.methods_new, 1);
    assert_true(result.blackout_ns > 0 && result.start_ns > 0);
    assert_int_equal(enter(&on, 7), 2);
    assert_done(upgrade(&on, LEDGER)); /* and back */
    assert_int_equal(count(&on, 7), 1);
    assert_int_equal(version(&on), 1);
    assert_int_equal(result.methods_lost, 1);
    close_host(&on);
}

static void all_containers_go_over(void **state)
{
    const struct rapahub_container_options second = {.id = there, .pool_name = "test"};
    const uint64_t one = 1;
    struct hosting on;

    (void)state;
    open_ledger(&on);
    assert_done(rapahub_host_add_container(on.host, on.guest, &second));
    enter(&on, 1);
    number_of(&on, there, "enter", &one);
    number_of(&on, there, "enter", &one);
    assert_done(upgrade(&on, LEDGER2));
    assert_int_equal(result.containers, 2);
    assert_int_equal(count(&on, 1), 1);
    assert_int_equal(number_of(&on, there, "count", &one), 2);
    assert_done(rapahub_host_remove_container(on.host, there));
    assert_done(rapahub_host_add_container(on.host, on.guest, &second));
    assert_int_equal(number_of(&on, there, "count", &one), 0);
    close_host(&on);
}

static void a_guest_without_containers_is_upgraded_too(void **state)
{
    const struct rapahub_guest_options guest = {.chimod = LEDGER};
    const struct rapahub_container_options first = {.id = here, .pool_name = "test"};
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_spawn(on.host, &guest, &on.guest));
    assert_done(upgrade(&on, LEDGER2));
    assert_int_equal(result.containers, 0);
    assert_done(rapahub_host_add_container(on.host, on.guest, &first));
    assert_int_equal(version(&on), 2);
    close_host(&on);
}

static void a_sandboxed_guest_is_upgraded_too(void **state)
{
    const struct rapahub_guest_options guest = {.chimod = LEDGER, .trust = RAPAHUB_TRUST_STANDARD};
    const struct rapahub_container_options first = {.id = here, .pool_name = "test"};
    struct hosting on;
    int r;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    r = rapahub_host_spawn(on.host, &guest, &on.guest);
    if (r == RAPAHUB_ESANDBOX) {
        close_host(&on);
        skip();
    }
    assert_done(r);
    assert_done(rapahub_host_add_container(on.host, on.guest, &first));
    enter(&on, 3);
    assert_done(upgrade(&on, LEDGER2));
    assert_int_equal(version(&on), 2);
    assert_int_equal(count(&on, 3), 1);
    close_host(&on);
}

/* r[verify supervise.upgrade.child] */
static void a_restart_behind_it_starts_the_new_version(void **state)
{
    struct rapahub_child_status before, after;
    struct rapahub_child_id child;
    struct hosting on;
    unsigned ready;

    (void)state;
    open_ledger(&on);
    assert_done(rapahub_child_of(on.host, on.guest, &child));
    assert_done(rapahub_child_status(on.host, child, &before));
    assert_done(upgrade(&on, LEDGER2));
    assert_done(rapahub_child_status(on.host, child, &after));
    assert_true(after.incarnation > before.incarnation);
    assert_int_not_equal(after.pid, before.pid);
    assert_int_equal(after.restarts, 0);
    assert_int_equal(after.failures, 0);
    assert_string_equal(after.state, "ready");
    ready = on.told.ready;
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, ready + 1));
    assert_int_equal(version(&on), 2);
    assert_done(rapahub_child_status(on.host, child, &after));
    assert_int_equal(after.restarts, 1);
    close_host(&on);
}

static void a_plugged_container_stays_plugged(void **state)
{
    const struct rapahub_call call = {.target = here, .method = "version() -> u32"};
    struct hosting on;
    uint32_t number;

    (void)state;
    open_ledger(&on);
    enter(&on, 4);
    assert_done(rapahub_host_plug(on.host, here, true));
    assert_done(upgrade(&on, LEDGER2));
    assert_refused(rapahub_host_call(on.host, &call, &number), RAPAHUB_EPLUGGED, "plugged");
    assert_done(rapahub_host_plug(on.host, here, false));
    assert_int_equal(version(&on), 2);
    assert_int_equal(count(&on, 4), 1);
    assert_int_equal(number_of(&on, here, "told", NULL), 101);
    close_host(&on);
}

static void a_look_changes_nothing(void **state)
{
    const struct rapahub_upgrade_options options = {.chimod = LEDGER2, .check = true};
    const struct rapahub_upgrade_options other = {.chimod = CALC, .check = true};
    struct hosting on;
    int32_t pid;

    (void)state;
    open_ledger(&on);
    pid = pid_of(&on);
    assert_done(rapahub_host_upgrade(on.host, on.guest, &options, &result));
    assert_int_equal(pid_of(&on), pid);
    assert_int_equal(version(&on), 1);
    assert_int_equal(number_of(&on, here, "told", NULL), 0);
    assert_string_equal(result.version_after, "2.0");
    assert_int_equal(result.methods_new, 1);
    assert_int_equal(result.blackout_ns, 0);
    assert_refused(rapahub_host_upgrade(on.host, on.guest, &other, &result), RAPAHUB_ESTATE,
                   "calc");
    close_host(&on);
}

/* ---- a folder that one process can have ---- */

#define KV          PROCESS_CHIMOD("kv")
#define FOLDER_SIZE 64

static void open_kv(struct hosting *on, char *folder)
{
    const struct rapahub_guest_options guest = {.chimod = KV};
    struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    char params[80];

    snprintf(folder, FOLDER_SIZE, "/tmp/rapahub-upgrade-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(params, sizeof params, "dir=%s", folder);
    container.params = (struct rapahub_bytes){params, strlen(params)};
    open_host(on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_spawn(on->host, &guest, &on->guest));
    assert_done(rapahub_host_add_container(on->host, on->guest, &container));
}

static void close_kv(struct hosting *on, const char *folder)
{
    static const char *const names[] = {"log", "lock"};
    char path[96];

    close_host(on);
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

static void put(struct hosting *on, const char *key, const char *value)
{
    const struct rapahub_string name = rapahub_string_of(key);
    const struct rapahub_bytes bytes = {value, strlen(value)};

    assert_done(ask(on, "put(string, bytes)", (const void *const[]){&name, &bytes, NULL}, NULL));
}

static void has(struct hosting *on, const char *key, const char *value)
{
    const struct rapahub_string name = rapahub_string_of(key);
    struct rapahub_bytes bytes;

    assert_done(ask(on, "get(string) -> bytes", (const void *const[]){&name, NULL}, &bytes));
    assert_int_equal(bytes.size, strlen(value));
    assert_memory_equal(bytes.data, value, bytes.size);
}

static void what_one_process_can_have_goes_over(void **state)
{
    struct hosting on;
    char folder[FOLDER_SIZE];
    unsigned ready;

    (void)state;
    open_kv(&on, folder);
    put(&on, "a", "1");
    assert_done(upgrade(&on, KV));
    has(&on, "a", "1");
    put(&on, "b", "2");
    assert_done(upgrade(&on, KV));
    has(&on, "b", "2");
    ready = on.told.ready;
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, ready + 1));
    has(&on, "a", "1");
    has(&on, "b", "2");
    close_kv(&on, folder);
}

static void what_one_process_can_have_comes_back(void **state)
{
    struct hosting on;
    char folder[FOLDER_SIZE];

    (void)state;
    open_kv(&on, folder);
    put(&on, "a", "1");
    for (int i = 0; i < 5; i++) {
        assert_refused(upgrade(&on, MODULE("kv_load_fails")), RAPAHUB_EAPPLICATION,
                       "asked not to load");
        has(&on, "a", "1");
    }
    put(&on, "a", "2");
    assert_done(upgrade(&on, KV));
    has(&on, "a", "2");
    close_kv(&on, folder);
}

/* ---- calls meanwhile ---- */

struct answered {
    unsigned ended, failed;
    uint32_t version;
};

static void on_answered(void *user, int code, const void *value)
{
    struct answered *answered = user;

    answered->ended++;
    answered->failed += code < 0;
    if (code == 0)
        answered->version = *(const uint32_t *)value;
}

static void enter_later(struct hosting *on, uint64_t number, uint32_t ms, struct answered *answered)
{
    const struct rapahub_call call = {.target = here,
                                      .method = "enter_slowly(u64, u32) -> u32",
                                      .arguments = (const void *const[]){&number, &ms, NULL}};

    assert_done(rapahub_host_call_async(on->host, &call, on_answered, answered, NULL));
}

/* r[verify supervise.upgrade.hold] */
static void a_call_that_runs_is_waited_for(void **state)
{
    struct answered answered = {0};
    struct hosting on;

    (void)state;
    open_ledger(&on);
    enter_later(&on, 1, 1500, &answered);
    assert_done(upgrade(&on, LEDGER2));
    assert_true(until(&on, &answered.ended, 1));
    assert_int_equal(answered.failed, 0);
    assert_int_equal(answered.version, 1);
    assert_int_equal(count(&on, 1), 1);
    assert_int_equal(version(&on), 2);
    close_host(&on);
}

/* A running call that outlasts the time to hold: it is not harmed, and neither is what was held. */
static void a_call_that_runs_too_long_keeps_the_old_one(void **state)
{
    struct answered slow = {0};
    struct hosting on;

    (void)state;
    open_ledger(&on);
    enter_later(&on, 9, 1500, &slow);
    assert_refused(upgrade_within(&on, LEDGER2, 0, 100 * MS), RAPAHUB_ETIMEDOUT, "");
    assert_true(until(&on, &slow.ended, 1));
    assert_int_equal(slow.failed, 0);
    assert_int_equal(version(&on), 1);
    assert_int_equal(count(&on, 9), 1);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_new_version_has_the_state_of_the_old_one),
        cmocka_unit_test(all_containers_go_over),
        cmocka_unit_test(a_guest_without_containers_is_upgraded_too),
        cmocka_unit_test(a_sandboxed_guest_is_upgraded_too),
        cmocka_unit_test(a_restart_behind_it_starts_the_new_version),
        cmocka_unit_test(a_plugged_container_stays_plugged),
        cmocka_unit_test(a_look_changes_nothing),
        cmocka_unit_test(what_one_process_can_have_goes_over),
        cmocka_unit_test(what_one_process_can_have_comes_back),
        cmocka_unit_test(a_call_that_runs_is_waited_for),
        cmocka_unit_test(a_call_that_runs_too_long_keeps_the_old_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
