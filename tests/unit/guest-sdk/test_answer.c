/* SPDX-License-Identifier: Apache-2.0 */
#include "guest-sdk/answer.h"
#include "tests/support/testing.h"

static void a_result_is_lent_where_it_begins_and_fits(void **state)
{
    static uint8_t memory[16];
    struct guest_frame frame = {.loan = {.data = memory, .room = 8}};
    struct rapahub_bytes result = {memory, 8};

    (void)state;
    assert_true(guest_answer_is_lent(&frame, &result));
    result.size = 0;
    assert_true(guest_answer_is_lent(&frame, &result));
    result.size = 9;
    assert_false(guest_answer_is_lent(&frame, &result));
    result = (struct rapahub_bytes){memory + 1, 4};
    assert_false(guest_answer_is_lent(&frame, &result));
    frame.loan.data = NULL;
    result = (struct rapahub_bytes){NULL, 0};
    assert_false(guest_answer_is_lent(&frame, &result));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_is_lent_where_it_begins_and_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
