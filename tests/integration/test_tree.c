/* SPDX-License-Identifier: Apache-2.0 */
/* Supervisors and their children, with real processes: which go together, in which order, requests,
 * and the remains at the end. */
#include "tests/integration/hosting.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)

/* An eagerly added child is ready some time later. */
struct tree {
    struct hosting on;
    struct rapahub_supervisor *root;
    struct rapahub_child_id children[4];
};

static void open_tree(struct tree *tree)
{
    memset(tree, 0, sizeof *tree);
    open_host(&tree->on, (struct rapahub_host_options){0});
    assert_done(rapahub_host_supervisor(tree->on.host, &tree->root));
}

static struct rapahub_supervisor *group(struct tree *tree,
                                        struct rapahub_supervisor_options options)
{
    struct rapahub_supervisor *made = NULL;

    options.name = "group";
    assert_done(rapahub_supervisor_create(tree->root, &options, &made));
    return made;
}

static struct rapahub_child_status status_of(struct tree *tree, unsigned index)
{
    struct rapahub_child_status status;

    assert_done(rapahub_child_status(tree->on.host, tree->children[index], &status));
    return status;
}

static struct rapahub_container_id container(unsigned index)
{
    return (struct rapahub_container_id){.pool = {1 + index, 0}};
}

/* A guest "a", "b" …, ready, with a container of its own. */
static void put(struct tree *tree, unsigned index, struct rapahub_supervisor *under,
                struct rapahub_supervision how)
{
    const char name[2] = {(char)('a' + index), '\0'};
    const struct rapahub_guest_options options = {
        .chimod = CALC, .name = name, .supervision = &how};
    const struct rapahub_container_options demo = {.id = container(index), .pool_name = "test"};
    unsigned ready = tree->on.told.ready;

    assert_done(rapahub_supervisor_add(under, &options, &tree->children[index]));
    assert_true(until(&tree->on, &tree->on.told.ready, ready + 1));
    assert_done(rapahub_host_add_container(tree->on.host, status_of(tree, index).guest, &demo));
}

static int call(struct tree *tree, unsigned index, const char *method, const void *const *arguments,
                void *result)
{
    const struct rapahub_call call = {
        .target = container(index), .method = method, .arguments = arguments};

    return rapahub_host_call(tree->on.host, &call, result);
}

static int32_t pid(struct tree *tree, unsigned index)
{
    int32_t number = 0;

    assert_done(call(tree, index, "pid() -> i32", NULL, &number));
    return number;
}

static void die(struct tree *tree, unsigned index)
{
    assert_int_equal(call(tree, index, "crash()", NULL, NULL), RAPAHUB_EDIED);
}

/* Returns those of the first `count` that have other processes now, as letters. */
static const char *renewed(struct tree *tree, const int32_t *before, unsigned count)
{
    static char letters[8];
    unsigned size = 0;

    for (unsigned i = 0; i < count; i++)
        if (pid(tree, i) != before[i])
            letters[size++] = (char)('a' + i);
    letters[size] = '\0';
    return letters;
}

static void pids(struct tree *tree, int32_t *out, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        out[i] = pid(tree, i);
}

static const struct rapahub_supervision plain = {0};

/* It is busy for a while, and so takes longer to go than who is not. */
static void keep_busy(struct tree *tree, unsigned index)
{
    const uint32_t ms = 300;
    const struct rapahub_call nap = {.target = container(index),
                                     .method = "nap(u32)",
                                     .arguments = (const void *const[]){&ms, NULL},
                                     .timeout_ns = 20 * MS};

    assert_int_equal(rapahub_host_call(tree->on.host, &nap, NULL), RAPAHUB_ETIMEDOUT);
}

/* r[verify supervise.group] r[verify supervise.strategy] */
static void all_children_of_a_group_go_and_come_together_in_order(void **state)
{
    struct rapahub_supervisor *under;
    struct tree tree;
    int32_t before[4];
    const char *text;

    (void)state;
    open_tree(&tree);
    under = group(&tree, (struct rapahub_supervisor_options){.strategy = RAPAHUB_ONE_FOR_ALL});
    for (unsigned i = 0; i < 3; i++)
        put(&tree, i, under, plain);
    put(&tree, 3, tree.root, plain);
    pids(&tree, before, 4);
    tree.on.told.size = 0;
    tree.on.told.ready = 0;
    keep_busy(&tree, 2);
    die(&tree, 1);
    assert_true(until(&tree.on, &tree.on.told.ready, 3));
    assert_string_equal(renewed(&tree, before, 4), "abc");
    text = tree.on.told.text;
    assert_true(strstr(text, "down c") < strstr(text, "down a"));
    assert_true(strstr(text, "down a") < strstr(text, "ready a"));
    assert_true(strstr(text, "ready a") < strstr(text, "ready b"));
    assert_true(strstr(text, "ready b") < strstr(text, "ready c"));
    assert_int_equal(status_of(&tree, 0).failures, 0);
    assert_int_equal(status_of(&tree, 1).failures, 1);
    close_host(&tree.on);
}

static void only_those_behind_go_under_rest_for_one(void **state)
{
    struct rapahub_supervisor *under;
    struct tree tree;
    int32_t before[3];

    (void)state;
    open_tree(&tree);
    under = group(&tree, (struct rapahub_supervisor_options){.strategy = RAPAHUB_REST_FOR_ONE});
    for (unsigned i = 0; i < 3; i++)
        put(&tree, i, under, plain);
    pids(&tree, before, 3);
    tree.on.told.ready = 0;
    die(&tree, 1);
    assert_true(until(&tree.on, &tree.on.told.ready, 2));
    assert_string_equal(renewed(&tree, before, 3), "bc");
    close_host(&tree.on);
}

/* r[verify supervise.requires] r[verify supervise.once] */
static void who_requires_a_child_goes_with_it(void **state)
{
    const struct rapahub_dependency on_a[] = {{RAPAHUB_REQUIRES, "a"}, {0}};
    const struct rapahub_supervision bound = {.dependencies = on_a};
    struct tree tree;
    int32_t before[3];
    uint64_t life;

    (void)state;
    open_tree(&tree);
    put(&tree, 0, tree.root, plain);
    put(&tree, 1, tree.root, bound);
    put(&tree, 2, tree.root, plain);
    pids(&tree, before, 3);
    tree.on.told.ready = 0;
    die(&tree, 0);
    assert_true(until(&tree.on, &tree.on.told.ready, 2));
    assert_string_equal(renewed(&tree, before, 3), "ab");
    assert_int_equal(status_of(&tree, 1).failures, 0);
    life = status_of(&tree, 0).incarnation;
    assert_done(rapahub_child_restart(tree.on.host, tree.children[0], 5 * SECOND));
    assert_true(status_of(&tree, 0).incarnation > life); /* though "b" has to go first */
    close_host(&tree.on);
}

/* r[verify supervise.exhausted] */
static void a_child_that_escalates_takes_its_group_along(void **state)
{
    const struct rapahub_supervision once = {.restarts_max = 1,
                                             .on_exhausted = RAPAHUB_EXHAUSTED_ESCALATE};
    struct rapahub_supervisor *under;
    struct tree tree;
    int32_t before[3];

    (void)state;
    open_tree(&tree);
    under = group(&tree, (struct rapahub_supervisor_options){0});
    put(&tree, 0, under, once);
    put(&tree, 1, under, plain);
    put(&tree, 2, tree.root, plain);
    pids(&tree, before, 3);
    tree.on.told.ready = 0;
    die(&tree, 0);
    assert_true(until(&tree.on, &tree.on.told.ready, 1));
    assert_string_equal(renewed(&tree, before, 3), "a");
    die(&tree, 0);
    assert_true(until(&tree.on, &tree.on.told.ready, 3));
    assert_string_equal(renewed(&tree, before, 3), "ab");
    close_host(&tree.on);
}

/* Budget 1: after the second death the call is refused; a reset brings all of it back. */
static void a_child_that_was_given_up_serves_again_after_a_reset(void **state)
{
    const struct rapahub_supervision once = {.restarts_max = 1};
    struct tree tree;

    (void)state;
    open_tree(&tree);
    put(&tree, 0, tree.root, once);
    die(&tree, 0);
    assert_true(until(&tree.on, &tree.on.told.ready, 2));
    die(&tree, 0);
    assert_true(until(&tree.on, &tree.on.told.failed, 1));
    assert_refused(call(&tree, 0, "pid() -> i32", NULL, &(int32_t){0}), RAPAHUB_EGIVENUP, "a was");
    assert_refused(rapahub_child_start(tree.on.host, tree.children[0], SECOND), RAPAHUB_EGIVENUP,
                   "reset it");
    assert_string_equal(status_of(&tree, 0).state, "failed");
    assert_done(rapahub_child_reset(tree.on.host, tree.children[0]));
    assert_true(until(&tree.on, &tree.on.told.ready, 3));
    assert_true(pid(&tree, 0) == status_of(&tree, 0).pid);
    assert_refused(rapahub_child_reset(tree.on.host, tree.children[0]), RAPAHUB_ESTATE, "not fail");
    close_host(&tree.on);
}

/* r[verify supervise.incarnation] */
static void each_death_is_followed_by_one_life(void **state)
{
    const struct rapahub_supervision often = {.on_exhausted = RAPAHUB_EXHAUSTED_SLOW_RETRY,
                                              .backoff_initial_ns = MS,
                                              .backoff_max_ns = MS};
    struct rapahub_child_status before, after;
    struct tree tree;

    (void)state;
    open_tree(&tree);
    put(&tree, 0, tree.root, often);
    before = status_of(&tree, 0);
    for (unsigned i = 1; i <= 30; i++) {
        kill(status_of(&tree, 0).pid, SIGKILL);
        assert_true(until(&tree.on, &tree.on.told.ready, 1 + i));
    }
    after = status_of(&tree, 0);
    assert_int_equal(after.incarnation, before.incarnation + 30);
    assert_int_equal(after.restarts, 30);
    assert_int_equal(tree.on.told.down, 30);
    assert_int_equal(pid(&tree, 0), after.pid);
    close_host(&tree.on);
}

static int escalate(void *user, struct rapahub_child_id child, enum rapahub_exit_class cause)
{
    struct tree *tree = user;

    assert_int_equal(child.number, tree->children[0].number);
    assert_true(cause == RAPAHUB_EXIT_SIGNAL || cause == RAPAHUB_EXIT_CORE);
    return RAPAHUB_EXHAUSTED_ESCALATE;
}

static void who_is_asked_says_what_follows_a_spent_budget(void **state)
{
    struct rapahub_supervision ask = {
        .restarts_max = -1, .on_exhausted = RAPAHUB_EXHAUSTED_CALLBACK, .on_budget = escalate};
    struct rapahub_supervisor *under;
    struct tree tree;
    int32_t before[2];

    (void)state;
    open_tree(&tree);
    ask.user = &tree;
    under = group(&tree, (struct rapahub_supervisor_options){0});
    put(&tree, 0, under, ask);
    put(&tree, 1, under, plain);
    pids(&tree, before, 2);
    tree.on.told.ready = 0;
    die(&tree, 0);
    assert_true(until(&tree.on, &tree.on.told.ready, 2));
    assert_string_equal(renewed(&tree, before, 2), "ab");
    close_host(&tree.on);
}

/* r[verify supervise.restart.asked] r[verify supervise.closed] */
static void what_is_asked_for_is_done_and_counts_nothing(void **state)
{
    struct rapahub_child_status before, after;
    struct tree tree;

    (void)state;
    open_tree(&tree);
    put(&tree, 0, tree.root, plain);
    before = status_of(&tree, 0);
    for (int i = 0; i < 7; i++)
        assert_done(rapahub_child_restart(tree.on.host, tree.children[0], 5 * SECOND));
    after = status_of(&tree, 0);
    assert_true(after.incarnation > before.incarnation && after.pid != before.pid);
    assert_int_equal(after.failures, 0);
    assert_int_equal(tree.on.told.failed, 0);
    assert_int_equal(pid(&tree, 0), after.pid);
    assert_done(rapahub_child_stop(tree.on.host, tree.children[0], 5 * SECOND));
    assert_refused(call(&tree, 0, "pid() -> i32", NULL, &(int32_t){0}), RAPAHUB_ESTOPPED, "a was");
    assert_int_equal(status_of(&tree, 0).pid, 0);
    assert_done(rapahub_child_start(tree.on.host, tree.children[0], 5 * SECOND));
    assert_int_equal(pid(&tree, 0), status_of(&tree, 0).pid);
    assert_done(rapahub_child_close(tree.on.host, tree.children[0], 5 * SECOND));
    assert_refused(rapahub_child_start(tree.on.host, tree.children[0], 0), RAPAHUB_ESTALE, "child");
    assert_refused(call(&tree, 0, "pid() -> i32", NULL, &(int32_t){0}), RAPAHUB_ECLOSED, "a was");
    put(&tree, 0, tree.root, plain); /* name and container are free again */
    close_host(&tree.on);
}

/* Exactly as many starts as the budget allows, and then none. r[verify supervise.window] */
static void a_child_that_never_starts_is_given_up_after_its_budget(void **state)
{
    const struct rapahub_supervision three = {
        .restarts_max = 3, .backoff_initial_ns = MS, .backoff_max_ns = MS};
    const struct rapahub_guest_options options = {.chimod = MODULE("constructor_exit"),
                                                  .supervision = &three};
    struct tree tree;

    (void)state;
    open_tree(&tree);
    assert_done(rapahub_supervisor_add(tree.root, &options, &tree.children[0]));
    assert_true(until(&tree.on, &tree.on.told.failed, 1));
    for (int i = 0; i < 5; i++)
        assert_done(rapahub_host_dispatch(tree.on.host, 20));
    assert_int_equal(tree.on.told.down, 4);
    assert_int_equal(tree.on.told.restart, 3);
    assert_int_equal(status_of(&tree, 0).restarts, 3);
    close_host(&tree.on);
}

/* r[verify supervise.exit.codes] r[verify supervise.failed.told] */
static void one_that_ends_with_125_is_not_started_again(void **state)
{
    const int32_t never = 125;
    struct tree tree;

    (void)state;
    open_tree(&tree);
    put(&tree, 0, tree.root, plain);
    assert_int_equal(call(&tree, 0, "leave(i32)", (const void *const[]){&never, NULL}, NULL),
                     RAPAHUB_EDIED);
    assert_true(until(&tree.on, &tree.on.told.failed, 1));
    assert_int_equal(tree.on.told.restart, 0);
    assert_non_null(strstr(tree.on.told.text, "exit status 125, which is one of prevent_exit; "));
    assert_int_equal(tree.on.told.restarts_max, 0);
    assert_string_equal(status_of(&tree, 0).state, "failed");
    close_host(&tree.on);
}

static void stop_stuck(struct rapahub_supervision how, const char *wanted)
{
    struct tree tree;
    const struct rapahub_call spin = {
        .target = container(0), .method = "spin()", .timeout_ns = 20 * MS};

    open_tree(&tree);
    put(&tree, 0, tree.root, how);
    assert_int_equal(rapahub_host_call(tree.on.host, &spin, NULL), RAPAHUB_ETIMEDOUT);
    assert_done(rapahub_child_stop(tree.on.host, tree.children[0], 5 * SECOND));
    if (!strstr(tree.on.told.text, wanted))
        print_error("%s\n", tree.on.told.text);
    assert_non_null(strstr(tree.on.told.text, wanted));
    close_host(&tree.on);
}

/* r[verify supervise.stop] */
static void one_that_does_not_go_is_asked_by_signals(void **state)
{
    (void)state;
    stop_stuck((struct rapahub_supervision){.goodbye_ns = 30 * MS}, "down a signal SIGTERM");
    stop_stuck((struct rapahub_supervision){.goodbye_ns = 30 * MS, .term_ns = RAPAHUB_NONE},
               "down a did not stop when asked");
    stop_stuck((struct rapahub_supervision){.brutal = true}, "down a signal SIGKILL");
}

static void a_call_to_one_that_is_dead_for_good_fails_at_once(void **state)
{
    const struct rapahub_supervision never = {.restart = RAPAHUB_RESTART_TEMPORARY};
    struct tree tree;
    uint64_t begun;

    (void)state;
    open_tree(&tree);
    put(&tree, 0, tree.root, never);
    die(&tree, 0);
    begun = now_ms();
    assert_refused(call(&tree, 0, "pid() -> i32", NULL, &(int32_t){0}), RAPAHUB_ENORESTART,
                   "a has");
    assert_in_range(now_ms() - begun, 0, 5000);
    close_host(&tree.on);
}

/* r[verify supervise.stop.order] r[verify supervise.stop.deadline] */
static void a_supervisor_that_is_stopped_takes_all_below_it(void **state)
{
    struct rapahub_supervisor *under, *again = NULL;
    struct tree tree;
    const char *text;

    (void)state;
    open_tree(&tree);
    assert_done(rapahub_host_supervisor(tree.on.host, &again));
    assert_ptr_equal(again, tree.root);
    under = group(&tree, (struct rapahub_supervisor_options){.strategy = RAPAHUB_ONE_FOR_ALL});
    for (unsigned i = 0; i < 3; i++)
        put(&tree, i, under, plain);
    put(&tree, 3, tree.root, plain);
    keep_busy(&tree, 2);
    assert_done(rapahub_supervisor_stop(under, 5 * SECOND));
    assert_true(until(&tree.on, &tree.on.told.down, 3));
    text = tree.on.told.text;
    assert_true(strstr(text, "down c") < strstr(text, "down b"));
    assert_true(strstr(text, "down b") < strstr(text, "down a"));
    assert_int_equal(pid(&tree, 3), status_of(&tree, 3).pid);
    assert_int_equal(tree.on.told.failed, 0);
    assert_refused(rapahub_supervisor_stop(tree.root, 0), RAPAHUB_ESTATE, "ends with its host");
    close_host(&tree.on);
}

/* r[verify supervise.lint] */
static void what_contradicts_itself_is_refused_and_leaves_nothing(void **state)
{
    const struct rapahub_supervision shrinks = {.backoff_factor = 0.5};
    struct rapahub_guest_options options = {.chimod = CALC, .supervision = &shrinks};
    struct rapahub_guest_id guest;
    struct tree tree;

    (void)state;
    open_tree(&tree);
    assert_refused(rapahub_supervisor_add(tree.root, &options, &tree.children[0]), RAPAHUB_EINVAL,
                   "backoff_factor");
    assert_string_equal(rapahub_last_error()->rule, "supervise.lint.factor");
    assert_refused(rapahub_host_spawn(tree.on.host, &options, &guest), RAPAHUB_EINVAL, "calc");
    close_host(&tree.on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_children_of_a_group_go_and_come_together_in_order),
        cmocka_unit_test(only_those_behind_go_under_rest_for_one),
        cmocka_unit_test(who_requires_a_child_goes_with_it),
        cmocka_unit_test(a_child_that_escalates_takes_its_group_along),
        cmocka_unit_test(a_child_that_was_given_up_serves_again_after_a_reset),
        cmocka_unit_test(each_death_is_followed_by_one_life),
        cmocka_unit_test(who_is_asked_says_what_follows_a_spent_budget),
        cmocka_unit_test(what_is_asked_for_is_done_and_counts_nothing),
        cmocka_unit_test(a_child_that_never_starts_is_given_up_after_its_budget),
        cmocka_unit_test(one_that_ends_with_125_is_not_started_again),
        cmocka_unit_test(one_that_does_not_go_is_asked_by_signals),
        cmocka_unit_test(a_call_to_one_that_is_dead_for_good_fails_at_once),
        cmocka_unit_test(a_supervisor_that_is_stopped_takes_all_below_it),
        cmocka_unit_test(what_contradicts_itself_is_refused_and_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
