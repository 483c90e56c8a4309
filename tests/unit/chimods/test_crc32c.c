/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "chimods/kv/crc32c.h"
#include "tests/support/testing.h"

static void known_sums_are_met(void **state)
{
    uint8_t bytes[32] = {0};

    (void)state;
    assert_int_equal(kv_crc32c(0, "", 0), 0);
    assert_int_equal(kv_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(kv_crc32c(0, bytes, 32), 0x8a9136aa); /* RFC 3720, B.4 */
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(kv_crc32c(0, bytes, 32), 0x62a8ab43);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(kv_crc32c(0, bytes, 32), 0x46dd794e);
}

static void a_sum_goes_on_from_any_place(void **state)
{
    static const char text[] = "a sum of two parts is the sum of the whole";
    const size_t size = sizeof(text) - 1;

    (void)state;
    for (size_t cut = 0; cut <= size; cut++)
        assert_int_equal(kv_crc32c(kv_crc32c(0, text, cut), text + cut, size - cut),
                         kv_crc32c(0, text, size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_sums_are_met),
        cmocka_unit_test(a_sum_goes_on_from_any_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
