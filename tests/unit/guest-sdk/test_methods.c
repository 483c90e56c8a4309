/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "guest-sdk/methods.h"
#include "tests/support/testing.h"

static int add(void *self, int64_t a, int64_t b, int64_t *sum)
{
    (void)self;
    *sum = a + b;
    return 0;
}

static int count(void *self, int64_t *result)
{
    (void)self;
    *result = 1;
    return 0;
}

static const struct rapahub_method two[] = {
    RAPAHUB_METHOD(add, add, i64, i64, i64),
    RAPAHUB_METHOD(count, count, i64, void),
    RAPAHUB_METHOD_END,
};

static const struct rapahub_method twins[] = {
    RAPAHUB_METHOD(count, count, i64, void),
    RAPAHUB_METHOD(count, count, i64, void),
    RAPAHUB_METHOD_END,
};

static const struct rapahub_method ours[] = {
    RAPAHUB_METHOD(rapahub_count, count, i64, void),
    RAPAHUB_METHOD_END,
};

static struct rapahub_method nameless[] = {
    RAPAHUB_METHOD(count, count, i64, void),
    RAPAHUB_METHOD_END,
};

static void refuse(const struct rapahub_method *list, const char *words)
{
    struct guest_methods methods = {.count = 0};

    assert_int_equal(guest_methods_prepare(&methods, list, "m.so"), RAPAHUB_EABI);
    assert_non_null(strstr(rapahub_last_error()->text, "m.so"));
    assert_non_null(strstr(rapahub_last_error()->text, words));
    guest_methods_release(&methods);
    assert_null(methods.list);
}

static void each_is_found_by_the_id_of_its_signature(void **state)
{
    struct guest_methods methods = {.count = 0};
    struct hub_invoke *found;

    (void)state;
    assert_int_equal(guest_methods_prepare(&methods, two, "m.so"), 0);
    assert_int_equal(methods.count, 2);
    found = guest_methods_find(&methods, hub_signature_hash("add(i64, i64) -> i64"));
    assert_non_null(found);
    assert_string_equal(hub_invoke_signature(found)->name, "add");
    assert_null(guest_methods_find(&methods, hub_signature_hash("add(i64, i64) -> u64")));
    guest_methods_release(&methods);
}

static void a_module_may_offer_nothing(void **state)
{
    struct guest_methods methods = {.count = 0};

    (void)state;
    assert_null(guest_methods_find(&methods, 1));
    assert_int_equal(guest_methods_prepare(&methods, NULL, "m.so"), 0);
    assert_int_equal(methods.count, 0);
    assert_null(guest_methods_find(&methods, 1));
    guest_methods_release(&methods);
}

static void the_same_signature_twice_is_refused(void **state)
{
    (void)state;
    refuse(twins, "count() -> i64");
}

static void names_that_begin_as_ours_are_refused(void **state)
{
    (void)state;
    refuse(ours, "rapahub_count");
}

static void a_name_that_is_none_is_refused(void **state)
{
    struct guest_methods methods = {.count = 0};

    (void)state;
    nameless[0].name = "no name";
    assert_int_equal(guest_methods_prepare(&methods, nameless, "m.so"), -EINVAL);
    assert_int_equal(methods.count, 0);
    guest_methods_release(&methods);
}

static void more_than_1024_are_refused_and_1024_are_not(void **state)
{
    static struct rapahub_method list[GUEST_METHODS_MAX + 2];
    static char names[GUEST_METHODS_MAX + 1][16];
    struct guest_methods methods = {.count = 0};

    (void)state;
    for (int i = 0; i <= GUEST_METHODS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        list[i] = two[1];
        list[i].name = names[i];
    }
    refuse(list, "1024");
    list[GUEST_METHODS_MAX].name = NULL;
    assert_int_equal(guest_methods_prepare(&methods, list, "m.so"), 0);
    assert_int_equal(methods.count, GUEST_METHODS_MAX);
    guest_methods_release(&methods);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_found_by_the_id_of_its_signature),
        cmocka_unit_test(a_module_may_offer_nothing),
        cmocka_unit_test(the_same_signature_twice_is_refused),
        cmocka_unit_test(names_that_begin_as_ours_are_refused),
        cmocka_unit_test(a_name_that_is_none_is_refused),
        cmocka_unit_test(more_than_1024_are_refused_and_1024_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
