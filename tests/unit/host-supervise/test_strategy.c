/* SPDX-License-Identifier: Apache-2.0 */
/* The children that go with a child, for each strategy and each kind of dependency. */
#include "tests/unit/host-supervise/stage.h"

/* a; b, which depends on a; c, which does not; d, which requires b. */
struct family {
    struct stage stage;
    uint32_t a, b, c, d;
};

static void raise_family(struct family *family, enum rapahub_strategy strategy,
                         enum rapahub_dependency_kind kind)
{
    const struct rapahub_dependency on_a[] = {{kind, "a"}, {0}},
                                    on_b[] = {{RAPAHUB_REQUIRES, "b"}, {0}};
    const struct rapahub_supervisor_options group = {.strategy = strategy};
    struct rapahub_supervision how = often;
    uint32_t root;

    begin(&family->stage);
    root = add_group(&family->stage, HOST_TREE_NONE, "", group);
    family->a = add(&family->stage, root, "a", how);
    how.dependencies = on_a;
    family->b = add(&family->stage, root, "b", how);
    how.dependencies = NULL;
    family->c = add(&family->stage, root, "c", how);
    how.dependencies = on_b;
    family->d = add(&family->stage, root, "d", how);
}

/* The names of those that are marked. */
static const char *marked(struct family *family)
{
    static char names[5];
    const uint32_t places[] = {family->a, family->b, family->c, family->d};
    size_t size = 0;

    for (size_t i = 0; i < 4; i++)
        if (child(&family->stage, places[i])->marked)
            names[size++] = "abcd"[i];
    names[size] = '\0';
    return names;
}

static const enum rapahub_dependency_kind kinds[] = {RAPAHUB_REQUIRES, RAPAHUB_PART_OF,
                                                     RAPAHUB_WANTS, RAPAHUB_AFTER};

static bool binds(enum rapahub_dependency_kind kind)
{
    return kind == RAPAHUB_REQUIRES || kind == RAPAHUB_PART_OF;
}

/* r[verify supervise.strategy] */
static void one_for_one_takes_along_only_those_that_may_not_run_without_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct family family;

        raise_family(&family, RAPAHUB_ONE_FOR_ONE, kinds[i]);
        host_strategy_mark(&family.stage.machine.tree, family.a);
        assert_string_equal(marked(&family), binds(kinds[i]) ? "abd" : "a");
        host_strategy_mark(&family.stage.machine.tree, family.c);
        assert_string_equal(marked(&family), "c");
        end(&family.stage);
    }
}

/* With dependencies the rest is who depends on it, in any way; not who was added later.
 * r[verify supervise.strategy] */
static void rest_for_one_takes_along_all_that_depend_on_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct family family;

        raise_family(&family, RAPAHUB_REST_FOR_ONE, kinds[i]);
        host_strategy_mark(&family.stage.machine.tree, family.a);
        assert_string_equal(marked(&family), "abd");
        host_strategy_mark(&family.stage.machine.tree, family.b);
        assert_string_equal(marked(&family), "bd");
        host_strategy_mark(&family.stage.machine.tree, family.c);
        assert_string_equal(marked(&family), "c");
        end(&family.stage);
    }
}

/* r[verify supervise.strategy] */
static void one_for_all_takes_along_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct family family;

        raise_family(&family, RAPAHUB_ONE_FOR_ALL, kinds[i]);
        host_strategy_mark(&family.stage.machine.tree, family.c);
        assert_string_equal(marked(&family), "abcd");
        end(&family.stage);
    }
}

/* r[verify supervise.requires] */
static void a_stop_takes_along_only_those_that_may_not_run_without_it(void **state)
{
    static const enum rapahub_strategy strategies[] = {RAPAHUB_ONE_FOR_ONE, RAPAHUB_REST_FOR_ONE,
                                                       RAPAHUB_ONE_FOR_ALL};

    (void)state;
    for (size_t i = 0; i < 12; i++) {
        struct family family;

        raise_family(&family, strategies[i / 4], kinds[i % 4]);
        host_strategy_mark_dependants(&family.stage.machine.tree, family.a);
        assert_string_equal(marked(&family), binds(kinds[i % 4]) ? "abd" : "a");
        end(&family.stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_for_one_takes_along_only_those_that_may_not_run_without_it),
        cmocka_unit_test(rest_for_one_takes_along_all_that_depend_on_it),
        cmocka_unit_test(one_for_all_takes_along_all),
        cmocka_unit_test(a_stop_takes_along_only_those_that_may_not_run_without_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
