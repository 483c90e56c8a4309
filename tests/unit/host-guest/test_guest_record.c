/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/exit_command.h"
#include "host/process/fd_store.h"
#include "host/supervise/lint.h"
#include "tests/unit/host-guest/module_file.h"
#include "tests/unit/host-guest/stage.h"

static void on_death(void *user, struct rapahub_guest_id guest, const char *cause)
{
    (void)user;
    (void)guest;
    (void)cause;
}

/* What it is called whose file is called so. */
static void check_name(struct host_supervision *host, const char *file_name, const char *expected)
{
    struct module_file file;
    const struct rapahub_guest_options options = {.chimod = file.path};
    struct host_guest *guest = NULL;

    module_file_make(&file, file_name);
    assert_int_equal(host_guest_record_create(host, &options, &guest), 0);
    assert_string_equal(guest->name, expected);
    assert_int_equal(guest->named, HOST_GUEST_UNNAMED);
    host_guest_record_release(&guest);
    module_file_remove(&file);
}

static void without_a_name_it_is_called_as_its_file(void **state)
{
    struct host_supervision *host = stage_new();

    (void)state;
    check_name(host, "calc.so", "calc");
    check_name(host, "calc.so.1", "calc.so.1");
    check_name(host, "calc", "calc");
    check_name(host, ".so", ".so"); /* nothing would be left of it */
    check_name(host, "a.so", "a");
    check_name(host, "a\nb.so", "a\\x0ab");
    stage_free(host);
}

/* No pointer of the caller's stays in it. */
static void all_that_it_needs_of_its_options_is_copied(void **state)
{
    struct host_supervision *host = stage_new();
    struct module_file file;
    char name[] = "mine", one[] = "add(u32, u32) -> u32", two[] = "sub(u32, u32) -> u32";
    const char *plain[] = {one, two, NULL};
    int user = 0;
    const struct rapahub_guest_options options = {
        .chimod = file.path, .name = name, .plain = plain, .on_death = on_death, .user = &user};
    struct host_guest *guest;
    char path[sizeof file.path];

    (void)state;
    module_file_make(&file, "calc.so");
    memcpy(path, file.path, sizeof path);
    assert_int_equal(host_guest_record_create(host, &options, &guest), 0);
    module_file_remove(&file);
    name[0] = one[0] = two[0] = file.path[0] = 'x';
    plain[0] = plain[1] = NULL;
    assert_string_equal(guest->name, "mine");
    assert_int_equal(guest->named, HOST_GUEST_NAMED_BY_CALLER);
    assert_string_equal(guest->module.chimod, path);
    assert_string_equal(guest->module.plain[0], "add(u32, u32) -> u32");
    assert_string_equal(guest->module.plain[1], "sub(u32, u32) -> u32");
    assert_null(guest->module.plain[2]);
    assert_true(guest->on_death == on_death);
    assert_ptr_equal(guest->on_death_user, &user);
    host_guest_record_release(&guest);
    assert_null(guest);
    stage_free(host);
}

static void a_new_guest_is_nobodys_child_and_has_no_life(void **state)
{
    struct host_supervision *host = stage_new();
    struct module_file file;
    const struct rapahub_guest_options options = {.chimod = file.path};
    struct host_guest *guest;

    (void)state;
    module_file_make(&file, "calc.so");
    assert_int_equal(host_guest_record_create(host, &options, &guest), 0);
    assert_ptr_equal(guest->host, &host->call.process);
    assert_int_equal(guest->state, HOST_GUEST_STOPPED);
    assert_int_equal(guest->child.node, HOST_TREE_NONE);
    assert_true(guest->child.initial);
    assert_true(guest->module.fd >= 0);
    assert_string_equal(guest->ends.rule, "");
    assert_true(hub_list_empty(&guest->containers));
    assert_true(!guest->anonymous && !guest->life && !guest->module.plain && !guest->finish &&
                !guest->keep);
    host_guest_record_release(&guest);
    module_file_remove(&file);
    stage_free(host);
}

/* Trusted ones may share a copy of it, others may not. */
static void each_level_of_trust_gets_its_module(void **state)
{
    static const enum rapahub_trust levels[] = {RAPAHUB_TRUST_TRUSTED, RAPAHUB_TRUST_STANDARD};
    struct host_supervision *host = stage_new();
    struct module_file file;

    (void)state;
    module_file_make(&file, "calc.so");
    host->call.process.modules.settled_ns = 0;
    for (int i = 0; i < 2; i++) {
        const struct rapahub_guest_options options = {.chimod = file.path, .trust = levels[i]};
        uint64_t before = host->call.process.modules.uses;
        struct host_guest *guest;

        assert_int_equal(host_guest_record_create(host, &options, &guest), 0);
        assert_true(guest->module.fd >= 0);
        assert_int_equal(guest->trust, levels[i]);
        assert_int_equal(host->call.process.modules.uses > before,
                         levels[i] == RAPAHUB_TRUST_TRUSTED);
        host_guest_record_release(&guest);
    }
    module_file_remove(&file);
    stage_free(host);
}

static void a_command_and_descriptors_to_keep_are_its_own(void **state)
{
    static const char *const finish[] = {"/bin/true", "x", NULL};
    static const char *const keep[] = {"socket", NULL};
    const struct rapahub_supervision how = {.finish = finish, .keep_fds = keep};
    struct host_supervision *host = stage_new();
    struct module_file file;
    const struct rapahub_guest_options options = {.chimod = file.path, .supervision = &how};
    struct host_guest *guest;

    (void)state;
    module_file_make(&file, "calc.so");
    assert_int_equal(host_guest_record_create(host, &options, &guest), 0);
    assert_non_null(guest->finish);
    assert_non_null(guest->keep);
    host_guest_record_release(&guest);
    module_file_remove(&file);
    stage_free(host);
}

/* And nothing is left of it: the sanitizers, and the guard of all test programs, look. */
static void a_guest_that_cannot_be_is_refused_with_the_reason(void **state)
{
    static const char *const finish[] = {"/bin/true", NULL};
    const struct rapahub_supervision how = {.finish = finish};
    const struct rapahub_limits little = {.stack_bytes = 1};
    struct host_supervision *host = stage_new();
    struct rapahub_guest_options options = {.chimod = "/nowhere/calc.so", .supervision = &how};
    struct host_guest *guest = NULL;

    (void)state;
    assert_int_equal(host_guest_record_create(host, &options, &guest), RAPAHUB_ENOENT);
    options.chimod = "/";
    options.trust = RAPAHUB_TRUST_STANDARD;
    assert_int_equal(host_guest_record_create(host, &options, &guest), RAPAHUB_ELOAD);
    options.limits = &little;
    assert_int_equal(host_guest_record_create(host, &options, &guest), RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->rule, "supervise.limits");
    assert_null(guest);
    stage_free(host);
}

static void one_that_came_by_itself_is_called_by_its_process(void **state)
{
    struct host_supervision *host = stage_new();
    struct rapahub_supervision defaults;
    struct host_guest *guest;

    (void)state;
    assert_int_equal(host_lint_child("pid-77", NULL, NULL, &defaults), 0);
    assert_int_equal(host_guest_record_create_anonymous(host, 77, &guest), 0);
    assert_string_equal(guest->name, "pid-77");
    assert_string_equal(guest->module.chimod, "");
    assert_true(guest->anonymous);
    assert_int_equal(guest->named, HOST_GUEST_UNNAMED);
    assert_int_equal(guest->trust, RAPAHUB_TRUST_TRUSTED);
    assert_int_equal(guest->module.fd, -1);
    assert_int_equal(guest->child.node, HOST_TREE_NONE);
    assert_int_equal(guest->supervision.restarts_max, defaults.restarts_max);
    assert_true(guest->supervision.log_line == defaults.log_line && defaults.log_line > 0);
    host_guest_record_release(&guest);
    assert_int_equal(host_guest_record_create_anonymous(host, 0, &guest), 0);
    assert_string_equal(guest->name, "pid-0");
    host_guest_record_release(&guest);
    stage_free(host);
}

static void on_time(void *user)
{
    (void)user;
}

static void what_is_freed_is_not_waited_for_and_owns_nothing(void **state)
{
    struct host_supervision *host = stage_new();
    struct host_guest *guest, *none = NULL;

    (void)state;
    host_guest_record_release(&none);
    assert_int_equal(host_guest_record_create_anonymous(host, 1, &guest), 0);
    guest->timer.on = on_time;
    host_loop_set(&HOST_OWNER(host)->loop, &guest->timer, 1);
    host_tail_add(&guest->tail, 100, "a line");
    guest->ends.reports = calloc(1, sizeof *guest->ends.reports);
    guest->module.plain = calloc(2, sizeof *guest->module.plain);
    guest->module.plain[0] = strdup("add(u32) -> u32");
    host_guest_record_release(&guest);
    assert_null(guest);
    assert_int_equal(host_loop_run_timers(&HOST_OWNER(host)->loop), 0);
    stage_free(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_name_it_is_called_as_its_file),
        cmocka_unit_test(all_that_it_needs_of_its_options_is_copied),
        cmocka_unit_test(a_new_guest_is_nobodys_child_and_has_no_life),
        cmocka_unit_test(each_level_of_trust_gets_its_module),
        cmocka_unit_test(a_command_and_descriptors_to_keep_are_its_own),
        cmocka_unit_test(a_guest_that_cannot_be_is_refused_with_the_reason),
        cmocka_unit_test(one_that_came_by_itself_is_called_by_its_process),
        cmocka_unit_test(what_is_freed_is_not_waited_for_and_owns_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
