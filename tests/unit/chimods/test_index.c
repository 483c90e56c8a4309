/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chimods/kv/index.h"
#include "tests/support/testing.h"

#define KEYS 2000u

static struct rapahub_string key_of(unsigned number, char text[16])
{
    return (struct rapahub_string){text, (size_t)snprintf(text, 16, "key %u", number)};
}

static uint64_t place_of(const struct kv_index *index, unsigned number)
{
    char text[16];
    const struct kv_index_entry *entry = kv_index_find(index, key_of(number, text));

    return entry ? entry->at : 0;
}

static struct kv_index *filled(unsigned count)
{
    struct kv_index *index = NULL;
    char text[16];

    assert_int_equal(kv_index_create(&index), 0);
    for (unsigned i = 1; i <= count; i++)
        assert_int_equal(kv_index_set(index, key_of(i, text), i), 0);
    return index;
}

static void a_key_is_found_where_it_was_entered(void **state)
{
    struct kv_index *index = filled(KEYS);

    (void)state;
    assert_int_equal(kv_index_count(index), KEYS);
    for (unsigned i = 1; i <= KEYS; i++)
        assert_int_equal(place_of(index, i), i);
    assert_int_equal(place_of(index, KEYS + 1), 0);
    kv_index_destroy(index);
}

static void a_key_entered_again_has_its_new_place(void **state)
{
    struct kv_index *index = filled(3);
    char text[16];

    (void)state;
    assert_int_equal(kv_index_set(index, key_of(2, text), 77), 0);
    assert_int_equal(place_of(index, 2), 77);
    assert_int_equal(kv_index_count(index), 3);
    kv_index_destroy(index);
}

static void removal_keeps_every_other_key_in_reach(void **state)
{
    bool there[KEYS + 1] = {false};
    struct kv_index *index = filled(KEYS);
    char text[16];

    (void)state;
    memset(there + 1, true, KEYS);
    for (unsigned step = 0; step < KEYS; step++) {
        unsigned number = 1 + step * 7919u % KEYS;

        assert_int_equal(kv_index_remove(index, key_of(number, text)), there[number]);
        there[number] = false;
        if (step % 100 != 0)
            continue;
        for (unsigned i = 1; i <= KEYS; i++)
            assert_int_equal(place_of(index, i), there[i] ? i : 0);
    }
    assert_int_equal(kv_index_count(index), 0);
    kv_index_destroy(index);
}

static void a_walk_meets_every_key_once(void **state)
{
    unsigned met[KEYS + 1] = {0};
    struct kv_index *index = filled(KEYS);
    const struct kv_index_entry *entry;
    size_t cursor = 0;

    (void)state;
    while ((entry = kv_index_next(index, &cursor)) != NULL)
        met[entry->at]++;
    for (unsigned i = 1; i <= KEYS; i++)
        assert_int_equal(met[i], 1);
    kv_index_destroy(index);
}

static void more_bytes_of_keys_than_its_limit_are_refused(void **state)
{
    const size_t size = 1u << 20;
    char *text = calloc(1, size);
    struct kv_index *index = NULL;
    int r = 0;

    (void)state;
    assert_non_null(text);
    assert_int_equal(kv_index_create(&index), 0);
    for (unsigned i = 0; i < 64 && r == 0; i++) {
        text[0] = (char)i;
        r = kv_index_set(index, (struct rapahub_string){text, size}, i);
    }
    assert_int_equal(r, 0);
    text[0] = 64;
    assert_int_equal(kv_index_set(index, (struct rapahub_string){text, size}, 64), RAPAHUB_EFULL);
    assert_int_equal(kv_index_count(index), 64);
    kv_index_destroy(index);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_found_where_it_was_entered),
        cmocka_unit_test(a_key_entered_again_has_its_new_place),
        cmocka_unit_test(removal_keeps_every_other_key_in_reach),
        cmocka_unit_test(a_walk_meets_every_key_once),
        cmocka_unit_test(more_bytes_of_keys_than_its_limit_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
