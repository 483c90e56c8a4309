/* SPDX-License-Identifier: Apache-2.0 */
#include "chimods/kv/store.h"
#include "tests/unit/chimods/folder.h"

static struct rapahub_string text(const char *c)
{
    return (struct rapahub_string){c, strlen(c)};
}

static int put(struct kv_store *store, const char *key, const char *value)
{
    return kv_store_put(store, text(key), (struct rapahub_bytes){value, strlen(value)});
}

/* The value as text, to be freed; NULL if there is none. */
static char *get(struct kv_store *store, const char *key)
{
    struct rapahub_bytes value;
    int r = kv_store_get(store, text(key), malloc, &value);
    char *copy;

    if (r == RAPAHUB_ENOENT)
        return NULL;
    assert_int_equal(r, 0);
    copy = strndup(value.data, value.size);
    free((void *)(uintptr_t)value.data);
    return copy;
}

static void assert_value(struct kv_store *store, const char *key, const char *value)
{
    char *is = get(store, key);

    if (value)
        assert_string_equal(is ? is : "(none)", value);
    else
        assert_null(is);
    free(is);
}

static struct kv_store *reopened(struct kv_store *store, const struct folder *folder)
{
    struct kv_store *again = NULL;

    kv_store_close(store);
    assert_int_equal(kv_store_open(folder->path, &again), 0);
    return again;
}

static void the_last_value_of_a_key_is_found_again_after_a_restart(void **state)
{
    struct folder folder;
    struct kv_store *store;
    bool found;

    (void)state;
    folder_make(&folder);
    store = reopened(NULL, &folder);
    assert_int_equal(put(store, "a", "old"), 0);
    assert_int_equal(put(store, "b", "kept"), 0);
    assert_int_equal(put(store, "a", "new"), 0);
    assert_int_equal(put(store, "c", "gone"), 0);
    assert_int_equal(put(store, "empty", ""), 0);
    assert_int_equal(kv_store_remove(store, text("c"), &found), 0);
    assert_true(found);
    for (int restarts = 0; restarts < 2; restarts++) {
        assert_int_equal(kv_store_count(store), 3);
        assert_value(store, "a", "new");
        assert_value(store, "b", "kept");
        assert_value(store, "c", NULL);
        assert_value(store, "empty", "");
        store = reopened(store, &folder);
    }
    assert_int_equal(kv_store_remove(store, text("c"), &found), 0);
    assert_false(found);
    kv_store_close(store);
    folder_drop(&folder);
}

static void what_was_put_later_is_there_at_once_and_after_a_restart(void **state)
{
    struct folder folder;
    struct kv_store *store;

    (void)state;
    folder_make(&folder);
    store = reopened(NULL, &folder);
    assert_int_equal(kv_store_put_later(store, text("k"), (struct rapahub_bytes){"v", 1}), 0);
    assert_value(store, "k", "v");
    assert_int_equal(kv_store_sync(store), 0);
    store = reopened(store, &folder);
    assert_value(store, "k", "v");
    kv_store_close(store);
    folder_drop(&folder);
}

static void a_missing_key_is_named(void **state)
{
    struct folder folder;
    struct rapahub_bytes value;
    struct kv_store *store;

    (void)state;
    folder_make(&folder);
    store = reopened(NULL, &folder);
    assert_int_equal(kv_store_get(store, text("nowhere"), malloc, &value), RAPAHUB_ENOENT);
    assert_string_equal(rapahub_last_error()->text, "no key 'nowhere'");
    assert_int_equal(put(store, "two\nlines", "v"), RAPAHUB_EINVAL);
    assert_int_equal(put(store, "", "v"), RAPAHUB_EINVAL);
    kv_store_close(store);
    folder_drop(&folder);
}

static void two_never_share_a_folder(void **state)
{
    struct folder folder;
    struct kv_store *store, *second = NULL;

    (void)state;
    folder_make(&folder);
    store = reopened(NULL, &folder);
    assert_int_equal(kv_store_open(folder.path, &second), RAPAHUB_EBUSY);
    assert_null(second);
    store = reopened(store, &folder);
    kv_store_close(store);
    folder_drop(&folder);
}

static void a_folder_that_is_not_there_is_made_for_its_owner_only(void **state)
{
    struct folder folder;
    struct kv_store *store = NULL;
    struct stat info;

    (void)state;
    folder_make(&folder);
    folder_drop(&folder);
    assert_int_equal(kv_store_open(folder.path, &store), 0);
    assert_int_equal(stat(folder.path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(stat(folder.log, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    kv_store_close(store);
    folder_drop(&folder);
}

static void keys_are_listed_in_order_and_in_parts(void **state)
{
    struct folder folder;
    struct rapahub_string keys;
    struct kv_store *store;
    char *found;

    (void)state;
    folder_make(&folder);
    store = reopened(NULL, &folder);
    assert_int_equal(put(store, "bb", "1"), 0);
    assert_int_equal(put(store, "a", "2"), 0);
    assert_int_equal(put(store, "b", "3"), 0);
    assert_int_equal(put(store, "c", "4"), 0);
    assert_int_equal(kv_store_keys(store, text(""), 3, malloc, &keys), 0);
    found = strndup(keys.data, keys.size);
    assert_string_equal(found, "a\nb\nbb\n");
    free(found);
    free((void *)(uintptr_t)keys.data);
    assert_int_equal(kv_store_keys(store, text("bb"), 3, malloc, &keys), 0);
    assert_int_equal(keys.size, 2);
    assert_memory_equal(keys.data, "c\n", 2);
    free((void *)(uintptr_t)keys.data);
    kv_store_close(store);
    folder_drop(&folder);
}

static void compaction_keeps_every_value_and_saves_what_was_replaced(void **state)
{
    struct folder folder;
    struct kv_store *store;
    char key[16], value[16];
    uint64_t saved = 0;
    size_t before, after;

    (void)state;
    folder_make(&folder);
    store = reopened(NULL, &folder);
    for (int i = 0; i < 500; i++) {
        (void)snprintf(key, sizeof(key), "k%d", i % 50);
        (void)snprintf(value, sizeof(value), "v%d", i);
        assert_int_equal(put(store, key, value), 0);
    }
    free(folder_read(folder.log, &before));
    assert_int_equal(kv_store_compact(store, &saved), 0);
    free(folder_read(folder.log, &after));
    assert_true(saved > 0);
    assert_int_equal(before - after, saved);
    assert_int_equal(put(store, "k0", "behind it"), 0);
    for (int restarts = 0; restarts < 2; restarts++) {
        assert_int_equal(kv_store_count(store), 50);
        assert_value(store, "k0", "behind it");
        assert_value(store, "k49", "v499");
        store = reopened(store, &folder);
    }
    kv_store_close(store);
    folder_drop(&folder);
}

static void what_a_killed_compaction_left_is_removed(void **state)
{
    struct folder folder;
    struct kv_store *store;
    char next[128];
    uint64_t saved;

    (void)state;
    folder_make(&folder);
    store = reopened(NULL, &folder);
    assert_int_equal(put(store, "k", "v"), 0);
    kv_store_close(store);
    (void)snprintf(next, sizeof(next), "%s.new", folder.log);
    folder_write(next, "half a lo", 9);
    store = reopened(NULL, &folder);
    assert_int_equal(access(next, F_OK), -1);
    assert_int_equal(kv_store_compact(store, &saved), 0);
    assert_value(store, "k", "v");
    kv_store_close(store);
    folder_drop(&folder);
}

static void load_again(struct kv_store *store, const void *bytes, size_t size, int result)
{
    struct rapahub_source *source = NULL;

    assert_int_equal(rapahub_source_of_memory(bytes, size, &source), 0);
    assert_int_equal(kv_store_load(store, source), result);
    rapahub_source_destroy(source);
}

static void a_state_crosses_into_an_empty_store(void **state)
{
    struct folder old, new;
    struct kv_store *from, *to;
    struct rapahub_sink *sink = NULL;
    struct rapahub_source *source = NULL;
    const void *bytes;
    size_t size;

    (void)state;
    folder_make(&old);
    folder_make(&new);
    from = reopened(NULL, &old);
    to = reopened(NULL, &new);
    assert_int_equal(put(from, "a", "1"), 0);
    assert_int_equal(put(from, "empty", ""), 0);
    assert_int_equal(rapahub_sink_of_memory(1 << 16, &sink), 0);
    assert_int_equal(kv_store_save(from, sink), 0);
    bytes = rapahub_sink_data(sink, &size);
    for (size_t cut = 0; cut < size; cut++) {
        struct folder other;
        struct kv_store *half;

        folder_make(&other);
        half = reopened(NULL, &other);
        assert_int_equal(rapahub_source_of_memory(bytes, cut, &source), 0);
        assert_true(kv_store_load(half, source) < 0);
        rapahub_source_destroy(source);
        kv_store_close(half);
        folder_drop(&other);
    }
    assert_int_equal(rapahub_source_of_memory(bytes, size, &source), 0);
    assert_int_equal(kv_store_load(to, source), 0);
    rapahub_source_destroy(source);
    to = reopened(to, &new);
    assert_int_equal(kv_store_count(to), 2);
    assert_value(to, "a", "1");
    assert_value(to, "empty", "");
    load_again(to, bytes, size, 0); /* it is the same */
    assert_int_equal(put(to, "a", "2"), 0);
    load_again(to, bytes, size, RAPAHUB_ESTATE);
    assert_int_equal(put(to, "a", "1"), 0);
    assert_int_equal(put(to, "more", "3"), 0);
    load_again(to, bytes, size, RAPAHUB_ESTATE);
    assert_value(to, "more", "3");
    rapahub_sink_destroy(sink);
    kv_store_close(from);
    kv_store_close(to);
    folder_drop(&old);
    folder_drop(&new);
}

static void a_hostile_state_is_refused(void **state)
{
    static const uint32_t too_long[2] = {1025, 1}, too_big[2] = {1, (16u << 20) + 1};
    struct folder folder;
    struct kv_store *store;
    struct rapahub_source *source = NULL;

    (void)state;
    folder_make(&folder);
    store = reopened(NULL, &folder);
    assert_int_equal(rapahub_source_of_memory(too_long, sizeof(too_long), &source), 0);
    assert_int_equal(kv_store_load(store, source), RAPAHUB_EINVAL);
    rapahub_source_destroy(source);
    assert_int_equal(rapahub_source_of_memory(too_big, sizeof(too_big), &source), 0);
    assert_int_equal(kv_store_load(store, source), RAPAHUB_EINVAL);
    rapahub_source_destroy(source);
    kv_store_close(store);
    folder_drop(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_value_of_a_key_is_found_again_after_a_restart),
        cmocka_unit_test(what_was_put_later_is_there_at_once_and_after_a_restart),
        cmocka_unit_test(a_missing_key_is_named),
        cmocka_unit_test(two_never_share_a_folder),
        cmocka_unit_test(a_folder_that_is_not_there_is_made_for_its_owner_only),
        cmocka_unit_test(keys_are_listed_in_order_and_in_parts),
        cmocka_unit_test(compaction_keeps_every_value_and_saves_what_was_replaced),
        cmocka_unit_test(what_a_killed_compaction_left_is_removed),
        cmocka_unit_test(a_state_crosses_into_an_empty_store),
        cmocka_unit_test(a_hostile_state_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
