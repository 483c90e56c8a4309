/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "host/call/inquiries.h"
#include "tests/support/testing.h"

static int begin(void *user, const struct rapahub_raw_call *call, struct rapahub_request_id answer)
{
    (void)user;
    (void)call;
    (void)answer;
    return 0;
}

static const char *const methods[] = {"put(string,bytes)->u64", "get({x: f64, y: f64})", NULL};

static void signatures_are_copied_in_their_canonical_form(void **state)
{
    const struct rapahub_inquiries given = {.methods = methods, .begin = begin};
    struct host_inquiries *made = NULL;

    (void)state;
    assert_int_equal(host_inquiries_create(&given, &made), 0);
    assert_int_equal(made->methods->count, 2);
    assert_string_equal(made->methods->list[0]->text, "put(string, bytes) -> u64");
    assert_string_equal(made->methods->list[1]->text, "get({x: f64, y: f64}) -> void");
    assert_ptr_equal(made->router.begin, begin);
    host_inquiries_release(&made);
    assert_null(made);
    host_inquiries_release(&made);
}

static void what_is_not_complete_is_refused(void **state)
{
    const struct rapahub_inquiries wrong[] = {
        {.methods = methods},
        {.begin = begin},
        {.methods = methods + 2, .begin = begin},
        {.methods = methods, .begin = begin, .reserved = {1}},
        {.methods = methods, .begin = begin, .reserved = {0, 0, 1}}};
    struct host_inquiries *made = NULL;

    (void)state;
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(host_inquiries_create(&wrong[i], &made), RAPAHUB_EINVAL);
    assert_null(made);
}

static int check(const struct host_inquiries *made, uint64_t id, const char *bytes, size_t size)
{
    return host_inquiries_check(made, "it", id, (struct rapahub_bytes){bytes, size});
}

/* r[verify hub.inquiry.checked] */
static void only_arguments_of_the_types_of_a_method_pass(void **state)
{
    const struct rapahub_inquiries given = {.methods = methods, .begin = begin};
    struct host_inquiries *made = NULL;
    uint64_t put, get;

    (void)state;
    assert_int_equal(host_inquiries_create(&given, &made), 0);
    put = made->methods->list[0]->id;
    get = made->methods->list[1]->id;
    assert_int_equal(check(made, put, "\2ab\1x", 5), 0);
    assert_int_equal(check(made, put, "\0\0", 2), 0);
    assert_int_equal(check(made, get, "12345678abcdefgh", 16), 0);
    assert_int_equal(check(made, get, "12345678abcdefg", 15), RAPAHUB_EARGUMENTS);
    assert_int_equal(check(made, get, "12345678abcdefghi", 17), RAPAHUB_EARGUMENTS);
    assert_int_equal(check(made, put, "\2ab\2x", 5), RAPAHUB_EARGUMENTS);
    assert_int_equal(check(made, put, "\2\xff\xff\0", 4), RAPAHUB_EARGUMENTS); /* no UTF-8 */
    assert_int_equal(check(made, put, "\xff\xff\xff\xff\x0f", 5), RAPAHUB_EARGUMENTS);
    assert_int_equal(check(made, put, NULL, 0), RAPAHUB_EARGUMENTS);
    assert_non_null(strstr(rapahub_last_error()->text, "put(string, bytes) -> u64"));
    assert_int_equal(check(made, put + 1, "\0\0", 2), RAPAHUB_ENOMETHOD);
    host_inquiries_release(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_are_copied_in_their_canonical_form),
        cmocka_unit_test(what_is_not_complete_is_refused),
        cmocka_unit_test(only_arguments_of_the_types_of_a_method_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
