/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/member_cache.h"
#include "tests/support/testing.h"

#define POOL UINT64_C(0x10000000000)

static const struct cluster_body_member first = {1, 3u << 16}, second = {2, 4u << 16};

static void assert_member(const struct cluster_body_member *out,
                          const struct cluster_body_member *expected)
{
    assert_int_equal(out->container, expected->container);
    assert_int_equal(out->lineage, expected->lineage);
}

static void a_member_is_found_by_what_the_call_asked_for(void **state)
{
    static const struct rapahub_query direct = {.mode = RAPAHUB_QUERY_DIRECT},
                                      hash = {.mode = RAPAHUB_QUERY_HASH, .number = 7},
                                      other = {.mode = RAPAHUB_QUERY_HASH, .number = 8},
                                      local = {.mode = RAPAHUB_QUERY_LOCAL, .number = 9},
                                      again = {.mode = RAPAHUB_QUERY_LOCAL, .number = 10};
    struct cluster_member_cache cache = {{{0}}};
    struct cluster_body_member out;

    (void)state;
    assert_false(cluster_member_cache_find(&cache, POOL, 0, &direct, &out));
    cluster_member_cache_put(&cache, POOL, 1, &direct, &first);
    assert_true(cluster_member_cache_find(&cache, POOL, 1, &direct, &out));
    assert_member(&out, &first);
    assert_false(cluster_member_cache_find(&cache, POOL, 2, &direct, &out));
    assert_false(cluster_member_cache_find(&cache, POOL + 1, 1, &direct, &out));
    cluster_member_cache_put(&cache, POOL, 0, &hash, &second);
    assert_true(cluster_member_cache_find(&cache, POOL, 5, &hash, &out)); /* it has no container */
    assert_member(&out, &second);
    assert_false(cluster_member_cache_find(&cache, POOL, 0, &other, &out));
    cluster_member_cache_put(&cache, POOL, 0, &local, &first);
    assert_true(cluster_member_cache_find(&cache, POOL, 0, &again, &out)); /* nor a number */
    cluster_member_cache_put(&cache, POOL, 1, &direct, &second);
    assert_true(cluster_member_cache_find(&cache, POOL, 1, &direct, &out));
    assert_member(&out, &second);
}

static void the_last_one_of_a_place_stays(void **state)
{
    static const struct rapahub_query direct = {.mode = RAPAHUB_QUERY_DIRECT};
    static struct cluster_member_cache cache;
    struct cluster_body_member out;
    uint32_t found = 0;

    (void)state;
    for (uint32_t i = 0; i < 4096; i++) {
        const struct cluster_body_member member = {i, 1u << 16};

        cluster_member_cache_put(&cache, POOL, i, &direct, &member);
        assert_true(cluster_member_cache_find(&cache, POOL, i, &direct, &out));
        assert_int_equal(out.container, i);
    }
    for (uint32_t i = 0; i < 4096; i++)
        if (cluster_member_cache_find(&cache, POOL, i, &direct, &out)) {
            assert_int_equal(out.container, i);
            found++;
        }
    assert_true(found > CLUSTER_MEMBER_CACHE_SIZE / 2 && found <= CLUSTER_MEMBER_CACHE_SIZE);
}

/* All places are taken by one pool and one mode, and most keys of others fall on one of them. */
static void keys_that_fall_on_one_place_are_told_apart(void **state)
{
    static struct cluster_member_cache cache;
    struct rapahub_query query = {.mode = RAPAHUB_QUERY_HASH};
    const struct rapahub_query direct = {.mode = RAPAHUB_QUERY_DIRECT};
    struct cluster_body_member out;

    (void)state;
    for (uint32_t i = 0; i < 4096; i++) {
        const struct cluster_body_member member = {i, 1u << 16};

        query.number = i;
        cluster_member_cache_put(&cache, POOL, 0, &query, &member);
        query.mode = RAPAHUB_QUERY_PHYSICAL;
        assert_false(cluster_member_cache_find(&cache, POOL, 0, &query, &out));
        query.mode = RAPAHUB_QUERY_HASH;
    }
    for (uint32_t i = 0; i < 4096; i++) {
        query = (struct rapahub_query){.mode = RAPAHUB_QUERY_HASH, .number = i};
        assert_true(!cluster_member_cache_find(&cache, POOL, 0, &query, &out) ||
                    out.container == i);
        assert_false(cluster_member_cache_find(&cache, POOL + 1, 0, &query, &out));
        assert_false(cluster_member_cache_find(&cache, POOL, i, &direct, &out));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_found_by_what_the_call_asked_for),
        cmocka_unit_test(the_last_one_of_a_place_stays),
        cmocka_unit_test(keys_that_fall_on_one_place_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
