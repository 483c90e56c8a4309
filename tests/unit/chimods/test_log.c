/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/resource.h>

#include "chimods/kv/log.h"
#include "tests/unit/chimods/folder.h"

#define RECORDS 3

/* The visits of a replay, one letter a record: the value's first, or '-' for a removal. */
struct seen {
    char letters[64];
    size_t count;
    uint64_t at[64];
};

static int note(void *user, uint64_t at, const struct kv_log_record *record)
{
    struct seen *seen = user;

    assert_true(seen->count + 1 < sizeof(seen->letters));
    seen->letters[seen->count] = record->removed ? '-' : *(const char *)record->value.data;
    seen->at[seen->count++] = at;
    seen->letters[seen->count] = 0;
    return 0;
}

static int add(struct kv_log *log, const char *key, const char *value)
{
    const struct kv_log_record record = {{key, strlen(key)}, {value, strlen(value)}, false, 0};
    uint64_t at;

    return kv_log_append(log, &record, &at);
}

static int open_and_replay(const struct folder *folder, struct kv_log **log, struct seen *seen)
{
    *seen = (struct seen){.count = 0};
    assert_int_equal(kv_log_open(folder->log, log), 0);
    return kv_log_replay(*log, note, seen);
}

/* Three records, each synced: what a later one knows to be on the disk. */
static void make_log(const struct folder *folder, struct seen *seen)
{
    struct kv_log *log = NULL;

    assert_int_equal(open_and_replay(folder, &log, seen), 0);
    assert_int_equal(add(log, "one", "first value"), 0);
    assert_int_equal(kv_log_sync(log), 0);
    assert_int_equal(add(log, "two", "second"), 0);
    assert_int_equal(kv_log_sync(log), 0);
    assert_int_equal(add(log, "three", "third of them"), 0);
    kv_log_close(log);
    assert_int_equal(open_and_replay(folder, &log, seen), 0);
    assert_string_equal(seen->letters, "fst");
    kv_log_close(log);
}

static void what_was_added_is_replayed_in_order(void **state)
{
    struct folder folder;
    struct seen seen;

    (void)state;
    folder_make(&folder);
    make_log(&folder, &seen);
    assert_int_equal(seen.at[0], KV_LOG_HEAD_SIZE);
    assert_int_equal(seen.at[1], KV_LOG_HEAD_SIZE + KV_LOG_RECORD_HEAD_SIZE + 3 + 11);
    folder_drop(&folder);
}

static void a_tail_torn_at_any_byte_is_cut_and_the_rest_kept(void **state)
{
    struct folder folder;
    struct seen seen, whole;
    struct kv_log *log = NULL;
    size_t size, now;
    char *bytes;

    (void)state;
    folder_make(&folder);
    make_log(&folder, &whole);
    bytes = folder_read(folder.log, &size);
    for (size_t cut = KV_LOG_HEAD_SIZE; cut < size; cut++) {
        size_t whole_ones = 0, end;

        while (whole_ones + 1 < RECORDS && whole.at[whole_ones + 1] <= cut)
            whole_ones++;
        end = (size_t)whole.at[whole_ones];
        folder_write(folder.log, bytes, cut);
        assert_int_equal(open_and_replay(&folder, &log, &seen), 0);
        assert_int_equal(seen.count, whole_ones);
        assert_int_equal(kv_log_size(log), end);
        assert_int_equal(add(log, "next", "next"), 0);
        kv_log_close(log);
        free(folder_read(folder.log, &now));
        assert_int_equal(now, end + KV_LOG_RECORD_HEAD_SIZE + 8);
    }
    free(bytes);
    folder_drop(&folder);
}

static void a_log_killed_at_its_birth_is_empty(void **state)
{
    struct folder folder;
    struct seen seen;
    struct kv_log *log = NULL;
    size_t size;
    char *bytes;

    (void)state;
    folder_make(&folder);
    make_log(&folder, &seen);
    bytes = folder_read(folder.log, &size);
    for (size_t cut = 0; cut < KV_LOG_HEAD_SIZE; cut++) {
        folder_write(folder.log, bytes, cut);
        assert_int_equal(open_and_replay(&folder, &log, &seen), 0);
        assert_int_equal(seen.count, 0);
        kv_log_close(log);
    }
    free(bytes);
    folder_drop(&folder);
}

static void a_flipped_bit_before_synced_records_is_refused_wherever_it_is(void **state)
{
    struct folder folder;
    struct seen seen, whole;
    struct kv_log *log = NULL;
    char place[32];
    size_t size, now;
    char *bytes;

    (void)state;
    folder_make(&folder);
    make_log(&folder, &whole);
    bytes = folder_read(folder.log, &size);
    for (size_t i = KV_LOG_HEAD_SIZE; i < whole.at[2]; i++) {
        bytes[i] ^= 0x10;
        folder_write(folder.log, bytes, size);
        bytes[i] ^= 0x10;
        assert_int_equal(open_and_replay(&folder, &log, &seen), RAPAHUB_EIO);
        (void)snprintf(place, sizeof(place), "record at %d is", (int)whole.at[i >= whole.at[1]]);
        assert_non_null(strstr(rapahub_last_error()->text, place));
        assert_non_null(strstr(rapahub_last_error()->text, folder.log));
        kv_log_close(log);
        free(folder_read(folder.log, &now));
        assert_int_equal(now, size);
    }
    free(bytes);
    folder_drop(&folder);
}

static void a_flipped_bit_in_the_last_record_cuts_that_one(void **state)
{
    struct folder folder;
    struct seen seen, whole;
    struct kv_log *log = NULL;
    size_t size;
    char *bytes;

    (void)state;
    folder_make(&folder);
    make_log(&folder, &whole);
    bytes = folder_read(folder.log, &size);
    for (size_t i = (size_t)whole.at[2]; i < size; i++) {
        bytes[i] ^= 0x01;
        folder_write(folder.log, bytes, size);
        bytes[i] ^= 0x01;
        assert_int_equal(open_and_replay(&folder, &log, &seen), 0);
        assert_string_equal(seen.letters, "fs");
        kv_log_close(log);
    }
    free(bytes);
    folder_drop(&folder);
}

/* A machine that stops may keep later pages and lose earlier ones: neither was confirmed. */
static void a_hole_in_what_was_never_synced_is_cut(void **state)
{
    struct folder folder;
    struct seen seen;
    struct kv_log *log = NULL;
    uint64_t kept;
    size_t size;
    char *bytes;

    (void)state;
    folder_make(&folder);
    make_log(&folder, &seen);
    assert_int_equal(open_and_replay(&folder, &log, &seen), 0);
    kept = kv_log_size(log);
    assert_int_equal(add(log, "lost", "lost by the machine"), 0);
    assert_int_equal(add(log, "kept", "on a later page"), 0);
    kv_log_close(log);
    bytes = folder_read(folder.log, &size);
    memset(bytes + kept, 0, KV_LOG_RECORD_HEAD_SIZE);
    folder_write(folder.log, bytes, size);
    free(bytes);
    assert_int_equal(open_and_replay(&folder, &log, &seen), 0);
    assert_string_equal(seen.letters, "fst");
    assert_int_equal(kv_log_size(log), kept);
    kv_log_close(log);
    folder_drop(&folder);
}

static void a_log_kept_as_a_value_is_not_taken_for_records(void **state)
{
    struct folder folder, inner;
    struct kv_log_record record = {{"log", 3}, {NULL, 0}, false, 0};
    struct seen seen;
    struct kv_log *log = NULL;
    size_t size;
    uint64_t at;
    char *bytes;

    (void)state;
    folder_make(&inner);
    make_log(&inner, &seen);
    bytes = folder_read(inner.log, &size);
    folder_drop(&inner);
    folder_make(&folder);
    assert_int_equal(open_and_replay(&folder, &log, &seen), 0);
    record.value = (struct rapahub_bytes){bytes, size};
    assert_int_equal(kv_log_append(log, &record, &at), 0);
    kv_log_close(log);
    assert_int_equal(truncate(folder.log, (off_t)(at + size)), 0);
    assert_int_equal(open_and_replay(&folder, &log, &seen), 0);
    assert_int_equal(seen.count, 0);
    assert_int_equal(kv_log_size(log), KV_LOG_HEAD_SIZE);
    kv_log_close(log);
    free(bytes);
    folder_drop(&folder);
}

/* RLIMIT_FSIZE stands for a full disk: a write beyond it is short, then fails. */
static void a_full_disk_fails_that_record_and_leaves_the_log_sound(void **state)
{
    static const char big[4096] = "big";
    const struct kv_log_record record = {{"big", 3}, {big, sizeof(big)}, false, 0};
    struct rlimit old, small;
    struct folder folder;
    struct seen seen;
    struct kv_log *log = NULL;
    uint64_t before, at;
    size_t now;
    void (*handler)(int);

    (void)state;
    folder_make(&folder);
    make_log(&folder, &seen);
    assert_int_equal(open_and_replay(&folder, &log, &seen), 0);
    before = kv_log_size(log);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){before + 1000, old.rlim_max};
    handler = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(kv_log_append(log, &record, &at), -EFBIG);
    assert_int_equal(kv_log_size(log), before);
    free(folder_read(folder.log, &now));
    assert_int_equal(now, before);
    assert_int_equal(add(log, "small", "xyz"), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    assert_false(kv_log_is_broken(log));
    kv_log_close(log);
    assert_int_equal(open_and_replay(&folder, &log, &seen), 0);
    assert_string_equal(seen.letters, "fstx");
    kv_log_close(log);
    folder_drop(&folder);
}

static void a_file_of_another_kind_is_refused_and_left_alone(void **state)
{
    static const char text[] = "this is somebody's diary, not a log";
    struct folder folder;
    struct kv_log *log = NULL;
    size_t size;
    char *bytes;

    (void)state;
    folder_make(&folder);
    folder_write(folder.log, text, sizeof(text));
    assert_int_equal(kv_log_open(folder.log, &log), RAPAHUB_EIO);
    bytes = folder_read(folder.log, &size);
    assert_int_equal(size, sizeof(text));
    assert_memory_equal(bytes, text, size);
    free(bytes);
    folder_drop(&folder);
}

static void keys_and_values_beyond_the_limits_are_refused(void **state)
{
    static const char key[KV_LOG_KEY_MAX + 1] = "k";
    const struct kv_log_record no_key = {{key, 0}, {"v", 1}, false, 0};
    const struct kv_log_record long_key = {{key, sizeof(key)}, {"v", 1}, false, 0};
    const struct kv_log_record long_value = {{"k", 1}, {key, KV_LOG_VALUE_MAX + 1}, false, 0};
    struct folder folder;
    struct seen seen;
    struct kv_log *log = NULL;
    uint64_t at;

    (void)state;
    folder_make(&folder);
    assert_int_equal(open_and_replay(&folder, &log, &seen), 0);
    assert_int_equal(kv_log_append(log, &no_key, &at), RAPAHUB_EINVAL);
    assert_int_equal(kv_log_append(log, &long_key, &at), RAPAHUB_EINVAL);
    assert_int_equal(kv_log_append(log, &long_value, &at), RAPAHUB_EMSGSIZE);
    assert_int_equal(kv_log_size(log), KV_LOG_HEAD_SIZE);
    kv_log_close(log);
    folder_drop(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_replayed_in_order),
        cmocka_unit_test(a_tail_torn_at_any_byte_is_cut_and_the_rest_kept),
        cmocka_unit_test(a_log_killed_at_its_birth_is_empty),
        cmocka_unit_test(a_flipped_bit_before_synced_records_is_refused_wherever_it_is),
        cmocka_unit_test(a_flipped_bit_in_the_last_record_cuts_that_one),
        cmocka_unit_test(a_hole_in_what_was_never_synced_is_cut),
        cmocka_unit_test(a_log_kept_as_a_value_is_not_taken_for_records),
        cmocka_unit_test(a_full_disk_fails_that_record_and_leaves_the_log_sound),
        cmocka_unit_test(a_file_of_another_kind_is_refused_and_left_alone),
        cmocka_unit_test(keys_and_values_beyond_the_limits_are_refused),
    };

    rapahub_log_to(NULL, NULL, RAPAHUB_LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
