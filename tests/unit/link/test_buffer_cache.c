/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "hub/call/buffer_cache.h"
#include "tests/support/testing.h"

static void what_is_given_back_is_taken_again(void **state)
{
    struct hub_buffer_cache buffers = {0};
    void *pieces[3];

    (void)state;
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 3; i++) {
            pieces[i] = round == 0 ? malloc(8) : hub_buffer_cache_get(&buffers);
            assert_non_null(pieces[i]);
        }
        assert_null(hub_buffer_cache_get(&buffers));
        for (int i = 0; i < 3; i++)
            assert_true(hub_buffer_cache_give(&buffers, pieces[i]));
    }
    hub_buffer_cache_fini(&buffers);
}

static void no_more_than_a_few_are_kept(void **state)
{
    struct hub_buffer_cache buffers = {0};
    void *more = malloc(8);
    unsigned count = 0;
    void *piece;

    (void)state;
    for (int i = 0; i < HUB_BUFFER_CACHE; i++)
        assert_true(hub_buffer_cache_give(&buffers, malloc(8)));
    assert_false(hub_buffer_cache_give(&buffers, more));
    free(more);
    for (; (piece = hub_buffer_cache_get(&buffers)); count++)
        free(piece);
    assert_int_equal(count, HUB_BUFFER_CACHE);
    assert_true(hub_buffer_cache_give(&buffers, malloc(8))); /* fini frees it */
    hub_buffer_cache_fini(&buffers);
    assert_null(hub_buffer_cache_get(&buffers));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given_back_is_taken_again),
        cmocka_unit_test(no_more_than_a_few_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
