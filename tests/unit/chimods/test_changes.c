/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "chimods/kv/changes.h"
#include "tests/unit/chimods/folder.h"

#define ROUNDS 200
#define KEYS   20

struct pair {
    struct folder folders[2];
    struct kv_store *from, *to;
};

static struct rapahub_string text(const char *c)
{
    return (struct rapahub_string){c, strlen(c)};
}

static void put(struct kv_store *store, const char *key, const char *value)
{
    assert_int_equal(
        kv_store_put_later(store, text(key), (struct rapahub_bytes){value, strlen(value)}), 0);
}

static void drop(struct kv_store *store, const char *key)
{
    bool found;

    assert_int_equal(kv_store_remove(store, text(key), &found), 0);
}

static void open_pair(struct pair *pair)
{
    for (int i = 0; i < 2; i++)
        folder_make(&pair->folders[i]);
    assert_int_equal(kv_store_open(pair->folders[0].path, &pair->from), 0);
    assert_int_equal(kv_store_open(pair->folders[1].path, &pair->to), 0);
}

static void close_pair(struct pair *pair)
{
    kv_store_close(pair->from);
    kv_store_close(pair->to);
    for (int i = 0; i < 2; i++)
        folder_drop(&pair->folders[i]);
}

/* Carries changes over; returns their bytes. */
static size_t carry(struct pair *pair)
{
    struct rapahub_source *source = NULL;
    struct rapahub_sink *sink = NULL;
    const void *bytes;
    size_t size;

    assert_int_equal(rapahub_sink_of_memory(1 << 20, &sink), 0);
    assert_int_equal(kv_changes_save(pair->from, sink), 0);
    bytes = rapahub_sink_data(sink, &size);
    assert_int_equal(rapahub_source_of_memory(bytes, size, &source), 0);
    assert_int_equal(kv_changes_load(pair->to, source), 0);
    rapahub_source_destroy(source);
    rapahub_sink_destroy(sink);
    return size;
}

static void assert_same(struct pair *pair)
{
    assert_int_equal(kv_store_count(pair->from), kv_store_count(pair->to));
    for (int i = 0; i < KEYS; i++) {
        struct rapahub_bytes a = {NULL, 0}, b = {NULL, 0};
        char key[16];
        int r;

        snprintf(key, sizeof key, "k%d", i);
        r = kv_store_get(pair->from, text(key), malloc, &a);
        assert_int_equal(kv_store_get(pair->to, text(key), malloc, &b), r);
        assert_int_equal(a.size, b.size);
        if (a.size > 0)
            assert_memory_equal(a.data, b.data, a.size);
        free((void *)(uintptr_t)a.data);
        free((void *)(uintptr_t)b.data);
    }
}

/* Nothing is 9 bytes: a mark and the end. */
static void only_what_changed_is_carried(void **state)
{
    struct pair pair;
    size_t size;

    (void)state;
    open_pair(&pair);
    put(pair.from, "k1", "one");
    put(pair.from, "k2", "two");
    carry(&pair);
    assert_same(&pair);
    assert_int_equal(carry(&pair), 9);
    put(pair.from, "k1", "a value that is replaced at once");
    put(pair.from, "k1", "uno");
    drop(pair.from, "k2");
    size = carry(&pair);
    assert_int_equal(size, 9 + 8 + 2 + 3 + 8 + 2); /* the last value, and a removal */
    assert_same(&pair);
    assert_int_equal(carry(&pair), 9);
    close_pair(&pair);
}

/* Also over compactions, restarts, and removals of what comes again. r[verify hub.changes.order] */
static void changes_in_their_order_give_the_same_store(void **state)
{
    struct pair pair;
    uint32_t seed = 12345;

    (void)state;
    open_pair(&pair);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 10; i++) {
            char key[16], value[64];

            seed = seed * 1103515245 + 12345;
            snprintf(key, sizeof key, "k%d", (int)(seed >> 16) % KEYS);
            snprintf(value, sizeof value, "%u", seed);
            if ((seed >> 8) % 3 == 0)
                drop(pair.from, key);
            else
                put(pair.from, key, value);
        }
        if (round % 7 == 0) {
            uint64_t saved;

            assert_int_equal(kv_store_compact(pair.from, &saved), 0);
        }
        carry(&pair);
        assert_same(&pair);
    }
    close_pair(&pair);
}

static void hostile_changes_are_refused(void **state)
{
    static const uint8_t cut[] = {0, 5, 0}, none[] = {0},
                         too_long[9] = {0, 1, 4, 0, 0, 255, 255, 255, 255};
    static const struct {
        const void *bytes;
        size_t size;
    } cases[] = {{cut, sizeof cut}, {none, 0}, {none, 1}, {too_long, sizeof too_long}};
    struct pair pair;

    (void)state;
    open_pair(&pair);
    put(pair.to, "k1", "kept");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rapahub_source *source = NULL;

        assert_int_equal(rapahub_source_of_memory(cases[i].bytes, cases[i].size, &source), 0);
        assert_true(kv_changes_load(pair.to, source) < 0);
        rapahub_source_destroy(source);
    }
    assert_int_equal(kv_store_count(pair.to), 1);
    close_pair(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_changed_is_carried),
        cmocka_unit_test(changes_in_their_order_give_the_same_store),
        cmocka_unit_test(hostile_changes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
