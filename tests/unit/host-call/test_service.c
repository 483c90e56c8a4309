/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "host/call/service.h"
#include "tests/support/testing.h"

struct short_of {
    uint32_t a, b;
};
RAPAHUB_RECORD(short_of, RAPAHUB_MEMBER(short_of, a, u32));

static int add(void *self, int64_t a, int64_t b, int64_t *result)
{
    (void)self;
    *result = a + b;
    return 0;
}

static int nap(void *self, uint32_t ms)
{
    (void)self;
    (void)ms;
    return 0;
}

static int takes_record(void *self, struct short_of record)
{
    (void)self;
    (void)record;
    return 0;
}

static void no_method(void)
{
}

#define AS_FUNCTION ((void (*)(void))nap)

static void refuse(const struct rapahub_method *methods, int code, const char *text)
{
    struct host_service *service = NULL;

    assert_int_equal(host_service_create(methods, NULL, &service), code);
    assert_null(service);
    if (text)
        assert_non_null(strstr(rapahub_last_error()->text, text));
}

static void methods_are_offered_in_the_order_of_their_list(void **state)
{
    const struct rapahub_method methods[] = {
        RAPAHUB_METHOD(add, add, i64, i64, i64),
        RAPAHUB_METHOD(nap, nap, void, u32),
        {"add", RAPAHUB_TYPES(i64, i64), (void (*)(void))add, RAPAHUB_METHOD_CHECKED},
        RAPAHUB_METHOD_END};
    struct host_service *service;
    struct host_methods *offered;
    int self;

    (void)state;
    assert_int_equal(host_service_create(methods, &self, &service), 0);
    assert_ptr_equal(service->self, &self);
    offered = host_service_methods(service);
    assert_int_equal(offered->count, 3);
    assert_string_equal(offered->list[0]->text, "add(i64, i64) -> i64");
    assert_string_equal(offered->list[1]->text, "nap(u32) -> void");
    assert_string_equal(offered->list[2]->text, "add(i64) -> i64");
    for (uint32_t i = 0; i < 3; i++) {
        assert_ptr_equal(service->list[i].method, &methods[i]);
        assert_non_null(service->list[i].plan);
        assert_false(service->list[i].busy);
    }
    host_service_release(&service);
    assert_null(service);
    host_service_release(&service);
}

static void an_empty_list_is_an_offer_of_nothing(void **state)
{
    const struct rapahub_method methods[] = {RAPAHUB_METHOD_END};
    struct host_service *service;

    (void)state;
    assert_int_equal(host_service_create(methods, NULL, &service), 0);
    assert_int_equal(host_service_methods(service)->count, 0);
    host_service_release(&service);
}

static void the_same_signature_twice_is_refused(void **state)
{
    const struct rapahub_method methods[] = {
        RAPAHUB_METHOD(add, add, i64, i64, i64), RAPAHUB_METHOD(nap, nap, void, u32),
        RAPAHUB_METHOD(add, add, i64, i64, i64), RAPAHUB_METHOD_END};

    (void)state;
    refuse(methods, RAPAHUB_EINVAL, "add(i64, i64) -> i64 is offered twice");
}

static void a_record_that_is_not_as_the_compiler_has_it_is_refused(void **state)
{
    const struct rapahub_method methods[] = {
        RAPAHUB_METHOD(nap, nap, void, u32),
        RAPAHUB_METHOD(takes_record, takes_record, void, short_of), RAPAHUB_METHOD_END};

    (void)state;
    refuse(methods, RAPAHUB_EABI, NULL);
}

static void a_function_that_cannot_be_called_is_refused(void **state)
{
    const struct rapahub_method plain_bytes[] = {
        {"b", RAPAHUB_TYPES(bytes, void), no_method, RAPAHUB_METHOD_PLAIN}, RAPAHUB_METHOD_END};
    const struct rapahub_method none[] = {
        {"b", RAPAHUB_TYPES(u32, void), NULL, RAPAHUB_METHOD_CHECKED}, RAPAHUB_METHOD_END};
    const struct rapahub_method bad_name[] = {
        {"1b", RAPAHUB_TYPES(void, u32), AS_FUNCTION, RAPAHUB_METHOD_CHECKED}, RAPAHUB_METHOD_END};

    (void)state;
    refuse(plain_bytes, RAPAHUB_ENOTSUP, NULL);
    refuse(none, RAPAHUB_EINVAL, "'b' has no function");
    refuse(bad_name, RAPAHUB_EINVAL, NULL);
}

static void more_methods_than_the_most_are_refused(void **state)
{
    const struct rapahub_type *const *types = RAPAHUB_TYPES(void, u32);
    struct rapahub_method *methods = test_calloc(HOST_METHODS_MAX + 2, sizeof *methods);
    char(*names)[16] = test_calloc(HOST_METHODS_MAX + 1, sizeof *names);
    struct host_service *service;

    (void)state;
    for (int i = 0; i < HOST_METHODS_MAX; i++) {
        snprintf(names[i], sizeof *names, "m%d", i);
        methods[i] = (struct rapahub_method){names[i], types, AS_FUNCTION, RAPAHUB_METHOD_CHECKED};
    }
    assert_int_equal(host_service_create(methods, NULL, &service), 0);
    assert_int_equal(host_service_methods(service)->count, HOST_METHODS_MAX);
    host_service_release(&service);
    methods[HOST_METHODS_MAX] =
        (struct rapahub_method){"more", types, AS_FUNCTION, RAPAHUB_METHOD_CHECKED};
    refuse(methods, RAPAHUB_EFULL, NULL);
    test_free(names);
    test_free(methods);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_are_offered_in_the_order_of_their_list),
        cmocka_unit_test(an_empty_list_is_an_offer_of_nothing),
        cmocka_unit_test(the_same_signature_twice_is_refused),
        cmocka_unit_test(a_record_that_is_not_as_the_compiler_has_it_is_refused),
        cmocka_unit_test(a_function_that_cannot_be_called_is_refused),
        cmocka_unit_test(more_methods_than_the_most_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
