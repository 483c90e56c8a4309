/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "hub/base/crc32c.h"
#include "tests/support/testing.h"

/* Vectors of RFC 3720, appendix B.4, and the check value of the Castagnoli polynomial. */
static void known_texts_have_their_known_checksums(void **state)
{
    uint8_t bytes[32];

    (void)state;
    assert_int_equal(hub_crc32c(0, "123456789", 9), 0xe3069283);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(hub_crc32c(0, bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    assert_int_equal(hub_crc32c(0, bytes, sizeof bytes), 0x62a8ab43);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    assert_int_equal(hub_crc32c(0, bytes, sizeof bytes), 0x46dd794e);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(31 - i);
    assert_int_equal(hub_crc32c(0, bytes, sizeof bytes), 0x113fdb5c);
}

static void nothing_has_the_checksum_before_it(void **state)
{
    (void)state;
    assert_int_equal(hub_crc32c(0, NULL, 0), 0);
    assert_int_equal(hub_crc32c(0xe3069283, NULL, 0), 0xe3069283);
}

static void pieces_give_the_checksum_of_the_whole(void **state)
{
    static const char text[] = "123456789";

    (void)state;
    for (size_t cut = 0; cut <= 9; cut++)
        assert_int_equal(hub_crc32c(hub_crc32c(0, text, cut), text + cut, 9 - cut), 0xe3069283);
}

static void each_flipped_bit_is_found(void **state)
{
    (void)state;
    for (size_t bit = 0; bit < 72; bit++) {
        char text[10] = "123456789";

        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
        assert_int_not_equal(hub_crc32c(0, text, 9), 0xe3069283);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts_have_their_known_checksums),
        cmocka_unit_test(nothing_has_the_checksum_before_it),
        cmocka_unit_test(pieces_give_the_checksum_of_the_whole),
        cmocka_unit_test(each_flipped_bit_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
