/* SPDX-License-Identifier: Apache-2.0 */
#include "hub/base/random.h"
#include "tests/support/testing.h"

/* The first numbers of splitmix64 for this seed, as its author's program prints them. */
static void a_seed_gives_the_same_numbers_everywhere(void **state)
{
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423),
        UINT64_C(4593380528125082431), UINT64_C(16408922859458223821)};
    struct hub_random random;

    (void)state;
    hub_random_init(&random, 1234567);
    for (int i = 0; i < 5; i++)
        assert_true(hub_random_next(&random) == expected[i]);
}

static void numbers_below_a_bound_reach_every_number_below_it(void **state)
{
    struct hub_random random;
    unsigned seen[7] = {0};

    (void)state;
    hub_random_init(&random, 1);
    for (int i = 0; i < 7000; i++) {
        uint64_t drawn = hub_random_below(&random, 7);

        assert_true(drawn < 7);
        seen[drawn]++;
    }
    for (int i = 0; i < 7; i++)
        assert_in_range(seen[i], 800, 1200);
}

/* A remainder of 64 bits by 3 * 2^62 would give the lower third twice as often. */
static void no_number_below_a_large_bound_is_favoured(void **state)
{
    const uint64_t bound = UINT64_C(3) << 62;
    struct hub_random random;
    int lower = 0;

    (void)state;
    hub_random_init(&random, 2);
    for (int i = 0; i < 3000; i++)
        lower += hub_random_below(&random, bound) < bound / 3;
    assert_in_range(lower, 850, 1150);
}

static void below_1_there_is_only_0(void **state)
{
    struct hub_random random;

    (void)state;
    hub_random_init(&random, 3);
    for (int i = 0; i < 10; i++)
        assert_int_equal(hub_random_below(&random, 1), 0);
}

static void nonces_differ(void **state)
{
    uint64_t nonces[32];

    (void)state;
    for (int i = 0; i < 32; i++) {
        nonces[i] = hub_random_nonce();
        for (int j = 0; j < i; j++)
            assert_true(nonces[i] != nonces[j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_gives_the_same_numbers_everywhere),
        cmocka_unit_test(numbers_below_a_bound_reach_every_number_below_it),
        cmocka_unit_test(no_number_below_a_large_bound_is_favoured),
        cmocka_unit_test(below_1_there_is_only_0),
        cmocka_unit_test(nonces_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
