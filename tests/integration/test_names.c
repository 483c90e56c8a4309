/* SPDX-License-Identifier: Apache-2.0 */
/* No guest gets a name that another one bears by saying that it is called so: be that one up, on
 * its way, down for a while, or not called yet; and be the liar one that the host has started or
 * not. */
#include <errno.h>
#include <fcntl.h>

#include "tests/integration/visiting.h"

#define IMPOSTOR MODULE("impostor")
#define MS       UINT64_C(1000000)
#define MOST     8

/* The guests that are not over, each with its name. */
struct names {
    char list[MOST][64];
    size_t count;
};

static void note(void *user, const struct rapahub_guest_status *status)
{
    struct names *names = user;

    if (strcmp(status->state, "stopped") == 0 || strcmp(status->state, "failed") == 0)
        return;
    assert_true(names->count < MOST);
    snprintf(names->list[names->count++], sizeof names->list[0], "%s", status->name);
}

/* All of these are there, and no name twice. */
static void check_names(struct hosting *on, size_t count, const char *const *wanted)
{
    struct names names = {.count = 0};

    assert_done(rapahub_host_guests(on->host, note, &names));
    assert_int_equal(names.count, count);
    for (size_t i = 0; i < count; i++) {
        size_t found = 0;

        for (size_t k = 0; k < count; k++)
            found += strcmp(names.list[k], wanted[i]) == 0;
        if (found != 1)
            print_error("%zu guests are called %s\n", found, wanted[i]);
        assert_int_equal(found, 1);
    }
}

static int spawn(struct hosting *on, const char *chimod, const char *name,
                 const struct rapahub_supervision *how, struct rapahub_guest_id *out)
{
    const struct rapahub_guest_options options = {
        .chimod = chimod, .name = name, .supervision = how};

    return rapahub_host_spawn(on->host, &options, out);
}

static const char *const both[] = {"calc", "calc-2"};

/* r[verify sec.name.own] */
static void a_name_that_is_borne_is_not_given_again(void **state)
{
    static const char *const names[] = {NULL, "calc"};
    struct rapahub_guest_id first, second;
    struct hosting on;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        open_host(&on, (struct rapahub_host_options){0});
        assert_done(spawn(&on, CALC, names[i], NULL, &first));
        assert_done(spawn(&on, IMPOSTOR, NULL, NULL, &second));
        check_names(&on, 2, both);
        assert_non_null(strstr(on.told.text, "ready calc ; ready calc-2 ; "));
        close_host(&on);
    }
}

/* Both start before either has said anything. r[verify sec.name.own] */
static void of_two_that_start_together_one_has_it(void **state)
{
    const struct rapahub_guest_options calc = {.chimod = CALC}, impostor = {.chimod = IMPOSTOR};
    struct rapahub_supervisor *root;
    struct rapahub_child_id child;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_supervisor(on.host, &root));
    assert_done(rapahub_supervisor_add(root, &impostor, &child));
    assert_done(rapahub_supervisor_add(root, &calc, &child));
    assert_true(until(&on, &on.told.ready, 2));
    check_names(&on, 2, both);
    close_host(&on);
}

/* While it is down, and is to come again. r[verify sec.name.own] */
static void one_that_is_started_again_has_its_name_still(void **state)
{
    const struct rapahub_supervision later = {
        .backoff_first = true, .backoff_initial_ns = 500 * MS, .backoff_max_ns = 500 * MS};
    struct rapahub_guest_id first, second;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(spawn(&on, CALC, NULL, &later, &first));
    assert_done(rapahub_host_kill(on.host, first));
    assert_true(until(&on, &on.told.restart, 1));
    assert_done(spawn(&on, IMPOSTOR, NULL, NULL, &second));
    assert_true(until(&on, &on.told.ready, 3));
    check_names(&on, 2, both);
    assert_non_null(strstr(on.told.text, "ready calc-2 ; ready calc ; "));
    close_host(&on);
}

/* r[verify sec.name.own] */
static void one_that_nobody_has_called_yet_has_its_name(void **state)
{
    const struct rapahub_supervision lazy = {.start = RAPAHUB_START_LAZY};
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    const struct rapahub_guest_options calc = {
        .chimod = CALC, .name = "calc", .supervision = &lazy, .container = &container};
    struct rapahub_supervisor *root;
    struct rapahub_guest_id second;
    struct rapahub_child_id child;
    struct hosting on;
    int64_t sum = 0;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_supervisor(on.host, &root));
    assert_done(rapahub_supervisor_add(root, &calc, &child));
    assert_done(spawn(&on, IMPOSTOR, NULL, NULL, &second));
    assert_done(add(&on, 3, 2, &sum));
    assert_int_equal(sum, 5);
    check_names(&on, 2, both);
    close_host(&on);
}

/* The second is refused, and the first serves on. r[verify sec.name.own] */
static void a_name_that_one_has_given_itself_is_refused(void **state)
{
    struct rapahub_guest_id first, second;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(spawn(&on, IMPOSTOR, NULL, NULL, &first));
    assert_refused(spawn(&on, CALC, "calc", NULL, &second), -EEXIST, "calls itself so");
    assert_string_equal(rapahub_last_error()->rule, "sec.name.own");
    check_names(&on, 1, both);
    assert_int_equal(on.told.down, 0);
    assert_done(rapahub_host_stop(on.host, first));
    assert_done(spawn(&on, CALC, "calc", NULL, &second));
    check_names(&on, 1, both);
    close_host(&on);
}

/* r[verify sec.name.own] */
static void one_that_came_by_itself_is_as_any_other(void **state)
{
    static const char *const all[] = {"calc", "calc-2", "calc-3"};
    struct rapahub_guest_id second;
    struct anonymous_guest first, third;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){.anonymous = true});
    send_anonymous_guest(&first, rapahub_host_path(on.host), IMPOSTOR);
    (void)await_anonymous_guest(&on);
    assert_refused(spawn(&on, CALC, "calc", NULL, &second), -EEXIST, "calls itself so");
    assert_done(spawn(&on, CALC, NULL, NULL, &second));
    check_names(&on, 2, both);
    send_anonymous_guest(&third, rapahub_host_path(on.host), IMPOSTOR);
    (void)await_anonymous_guest(&on);
    check_names(&on, 3, all);
    process_kill(&first.process, SIGTERM);
    process_kill(&third.process, SIGTERM);
    assert_true(until(&on, &on.told.down, 2));
    assert_int_equal(end_of(&first), 0);
    assert_int_equal(end_of(&third), 0);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_is_borne_is_not_given_again),
        cmocka_unit_test(of_two_that_start_together_one_has_it),
        cmocka_unit_test(one_that_is_started_again_has_its_name_still),
        cmocka_unit_test(one_that_nobody_has_called_yet_has_its_name),
        cmocka_unit_test(a_name_that_one_has_given_itself_is_refused),
        cmocka_unit_test(one_that_came_by_itself_is_as_any_other),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
