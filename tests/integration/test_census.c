/* SPDX-License-Identifier: Apache-2.0 */
/* Children as they are listed, a container that is there from the first life on, and a new life
 * whatever the state, with real processes. */
#include "tests/integration/hosting.h"

#define SECOND UINT64_C(1000000000)

struct list {
    char text[512]; /* "(0) 1: ready; (1)a 2: backoff; " with the parent's number in front */
    struct rapahub_child_status last;
};

static void note(void *user, const struct rapahub_child_status *status)
{
    struct list *list = user;
    size_t at = strlen(list->text);

    snprintf(list->text + at, sizeof list->text - at, "%s%s<%u %s; ",
             status->is_supervisor ? "*" : "", status->name, status->parent.number, status->state);
    list->last = *status;
}

static void assert_listed(struct hosting *on, const char *wanted)
{
    struct list list = {.text = ""};

    assert_done(rapahub_host_children(on->host, note, &list));
    assert_string_equal(list.text, wanted);
}

/* Lazy, so that nothing is under way. */
static struct rapahub_child_id put(struct rapahub_supervisor *under, const char *name,
                                   const struct rapahub_container_options *container)
{
    const struct rapahub_supervision lazy = {.start = RAPAHUB_START_LAZY};
    const struct rapahub_guest_options options = {
        .chimod = CALC, .name = name, .supervision = &lazy, .container = container};
    struct rapahub_child_id child;

    assert_done(rapahub_supervisor_add(under, &options, &child));
    return child;
}

static void children_are_listed_behind_their_supervisors(void **state)
{
    const struct rapahub_supervisor_options options = {.name = "group",
                                                       .strategy = RAPAHUB_ONE_FOR_ALL};
    struct rapahub_supervisor *root, *group;
    struct rapahub_child_status status;
    struct rapahub_child_id first;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_supervisor(on.host, &root));
    first = put(root, "first", NULL);
    assert_done(rapahub_supervisor_create(root, &options, &group));
    put(root, "last", NULL);
    put(group, "inner", NULL);
    assert_listed(&on, "*<0 ready; first<1 stopped; *group<1 ready; inner<3 stopped; "
                       "last<1 stopped; ");
    assert_done(rapahub_child_close(on.host, first, SECOND));
    assert_done(rapahub_child_status(on.host, (struct rapahub_child_id){3}, &status));
    assert_true(status.is_supervisor);
    assert_int_equal(status.strategy, RAPAHUB_ONE_FOR_ALL);
    assert_int_equal(status.failures_max, 10);
    assert_listed(&on, "*<0 ready; *group<1 ready; inner<3 stopped; last<1 stopped; ");
    close_host(&on);
}

static void a_container_given_at_once_is_there_in_the_first_life(void **state)
{
    const struct rapahub_container_options demo = {.id = here, .pool_name = "demo"};
    struct rapahub_supervisor *root;
    struct rapahub_child_id child;
    struct hosting on;
    int32_t pid, again;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_supervisor(on.host, &root));
    child = put(root, "a", &demo);
    assert_done(ask(&on, "pid() -> i32", NULL, &pid));
    assert_int_equal(ask(&on, "crash()", NULL, NULL), RAPAHUB_EDIED);
    assert_done(ask(&on, "pid() -> i32", NULL, &again));
    assert_int_not_equal(pid, again);
    assert_done(rapahub_child_close(on.host, child, SECOND));
    put(root, "b", &demo); /* the id is free again */
    assert_done(ask(&on, "pid() -> i32", NULL, &again));
    close_host(&on);
}

static void a_container_that_is_taken_leaves_no_guest(void **state)
{
    const struct rapahub_container_options demo = {.id = here, .pool_name = "demo"};
    const struct rapahub_guest_options options = {.chimod = CALC, .name = "b", .container = &demo};
    struct rapahub_supervisor *root;
    struct rapahub_child_id child;
    struct hosting on;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_supervisor(on.host, &root));
    put(root, "a", &demo);
    assert_refused(rapahub_supervisor_add(root, &options, &child), RAPAHUB_EEXIST, "");
    assert_listed(&on, "*<0 ready; a<1 stopped; ");
    close_host(&on);
}

static void a_new_life_comes_whatever_the_state(void **state)
{
    const struct rapahub_supervision once = {.restarts_max = -1};
    const struct rapahub_container_options demo = {.id = here, .pool_name = "demo"};
    const struct rapahub_guest_options options = {
        .chimod = CALC, .supervision = &once, .container = &demo};
    struct rapahub_guest_id guest;
    struct rapahub_child_id child;
    struct hosting on;
    int32_t pid, again;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_spawn(on.host, &options, &guest));
    assert_done(rapahub_child_of(on.host, guest, &child));
    assert_done(ask(&on, "pid() -> i32", NULL, &pid));
    assert_done(rapahub_child_renew(on.host, child, 10 * SECOND)); /* ready */
    assert_done(ask(&on, "pid() -> i32", NULL, &again));
    assert_int_not_equal(pid, again);
    assert_done(rapahub_child_stop(on.host, child, 10 * SECOND));
    assert_int_equal(ask(&on, "pid() -> i32", NULL, &again), RAPAHUB_ESTOPPED);
    assert_done(rapahub_child_renew(on.host, child, 10 * SECOND)); /* stopped */
    assert_int_equal(ask(&on, "crash()", NULL, NULL), RAPAHUB_EDIED);
    assert_true(until(&on, &on.told.failed, 1));
    assert_int_equal(ask(&on, "pid() -> i32", NULL, &again), RAPAHUB_EGIVENUP);
    assert_done(rapahub_child_renew(on.host, child, 10 * SECOND)); /* failed */
    assert_done(ask(&on, "pid() -> i32", NULL, &again));
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_listed_behind_their_supervisors),
        cmocka_unit_test(a_container_given_at_once_is_there_in_the_first_life),
        cmocka_unit_test(a_container_that_is_taken_leaves_no_guest),
        cmocka_unit_test(a_new_life_comes_whatever_the_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
