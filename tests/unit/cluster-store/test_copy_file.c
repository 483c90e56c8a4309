/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/base/ids.h"
#include "cluster/store/copy_head.h"
#include "tests/store/copy_stage.h"
#include "tests/support/testing.h"

struct stage {
    struct disk *disk;
    struct cluster_files_folder folder;
    struct copy_story story;
    struct cluster_copy_file file;
};

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

static int reopen(struct stage *stage)
{
    cluster_copy_file_close(&stage->file);
    return cluster_copy_file_open(&stage->file, &stage->folder, COPY_STAGE_POOL,
                                  COPY_STAGE_CONTAINER);
}

static int begin(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);
    struct hub_random random;

    hub_random_init(&random, 4);
    copy_stage_make(&stage->story, &random);
    stage->disk = disk_new();
    stage->folder = disk_root(stage->disk);
    stage->file.fd = -1;
    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    assert_int_equal(
        cluster_copy_file_open(&stage->file, &stage->folder, COPY_STAGE_POOL, COPY_STAGE_CONTAINER),
        0);
    *state = stage;
    return 0;
}

static int end(void **state)
{
    struct stage *stage = *state;

    cluster_copy_file_close(&stage->file);
    disk_free(stage->disk);
    free(stage);
    return 0;
}

static int keep(struct stage *stage, int number)
{
    return cluster_copy_file_write(&stage->file, &stage->story.copies[number]);
}

static void has(struct stage *stage, int number)
{
    assert_int_equal(copy_stage_newest(&stage->story, &stage->file), number);
    assert_true(copy_stage_has(&stage->story, &stage->file, number));
}

/* The first copy that changes another, and that whose base it is. */
static int first_change(const struct stage *stage)
{
    int i = 1;

    while (stage->story.copies[i].base_token == 0)
        i++;
    return i;
}

/* r[verify cluster.copy.form] */
static void copies_are_read_as_they_were_written(void **state)
{
    struct stage *stage = *state;

    has(stage, 0);
    for (int i = 1; i <= COPY_STAGE_COPIES; i++) {
        assert_int_equal(keep(stage, i), 0);
        assert_int_equal(stage->disk->pending_count, 0);
        has(stage, i);
        if (i % 3 == 0) {
            assert_int_equal(reopen(stage), 0);
            has(stage, i);
        }
    }
    assert_int_equal(disk_count(stage->disk, 0, ""), 1);
    assert_string_equal(stage->file.name, "0000010000000002.00000003.copy");
}

/* r[verify cluster.copy.order] */
static void the_newest_copy_is_kept_and_not_the_last(void **state)
{
    struct stage *stage = *state;
    struct cluster_copy old = stage->story.copies[1], next_life = old;

    assert_int_equal(keep(stage, 1), 0);
    assert_int_equal(keep(stage, 1), 0); /* told again */
    old.seq--;
    assert_int_equal(cluster_copy_file_write(&stage->file, &old), RAPAHUB_ESTALE);
    assert_string_equal(rapahub_last_error()->rule, "cluster.copy.order");
    next_life.token = cluster_ids_next_life(old.token);
    next_life.seq = 1;
    assert_int_equal(cluster_copy_file_write(&stage->file, &next_life), 0);
    assert_int_equal(keep(stage, 1), RAPAHUB_ESTALE);
    assert_int_equal(stage->file.token, next_life.token);
    assert_int_equal(stage->file.seq, 1);
}

/* r[verify cluster.copy.order] */
static void changes_of_another_copy_ask_for_a_whole_state(void **state)
{
    struct stage *stage = *state;
    int number = first_change(stage);
    struct cluster_copy change = stage->story.copies[number];

    assert_int_equal(keep(stage, number), 1);
    has(stage, 0);
    assert_int_equal(keep(stage, number - 1), 0);
    change.base_seq--;
    assert_int_equal(cluster_copy_file_write(&stage->file, &change), 1);
    change.base_seq++;
    assert_int_equal(cluster_copy_file_write(&stage->file, &change), 0);
    has(stage, number);
}

/* r[verify cluster.copy.form] */
static void a_copy_that_there_cannot_be_is_refused(void **state)
{
    struct stage *stage = *state;
    struct cluster_copy copy = stage->story.copies[1];

    copy.seq = 0;
    assert_int_equal(cluster_copy_file_write(&stage->file, &copy), RAPAHUB_EINVAL);
    copy.seq = 5;
    copy.token = 0;
    assert_int_equal(cluster_copy_file_write(&stage->file, &copy), RAPAHUB_EINVAL);
    copy.token = stage->story.copies[1].token;
    copy.base_token = cluster_ids_next_life(copy.token);
    copy.base_seq = 1;
    assert_int_equal(cluster_copy_file_write(&stage->file, &copy), RAPAHUB_EINVAL);
    copy.base_token = copy.token;
    copy.base_seq = 5;
    assert_int_equal(cluster_copy_file_write(&stage->file, &copy), RAPAHUB_EINVAL);
    copy.base_token = 0;
    copy.base_seq = 4;
    assert_int_equal(cluster_copy_file_write(&stage->file, &copy), RAPAHUB_EINVAL);
    assert_int_equal(disk_count(stage->disk, 0, ""), 0);
}

/* Damage of a copy that others follow is told; of the last one it cannot be told from a crash.
 * r[verify cluster.copy.durable] */
static void each_damage_is_found(void **state)
{
    struct stage *stage = *state;
    int number = first_change(stage);
    size_t size, last;
    uint8_t *bytes;

    for (int i = number - 1; i <= number; i++)
        assert_int_equal(keep(stage, i), 0);
    last = stage->file.whole + CLUSTER_COPY_HEAD_SIZE;
    bytes = disk_bytes(stage->disk, 0, stage->file.name, &size);
    for (size_t at = 0; at < size; at++) {
        struct disk *image;
        struct cluster_copy_file file;
        struct cluster_files_folder folder;

        bytes[at] ^= (uint8_t)(1 << at % 8);
        image = disk_after(stage->disk, DISK_KILLED, NULL);
        folder = disk_root(image);
        assert_int_equal(
            cluster_copy_file_open(&file, &folder, COPY_STAGE_POOL, COPY_STAGE_CONTAINER),
            at < last);
        assert_true(copy_stage_has(&stage->story, &file, at < last ? 0 : number - 1));
        assert_int_equal(disk_count(image, 0, ".bad"), at < last);
        cluster_copy_file_close(&file);
        disk_free(image);
        bytes[at] ^= (uint8_t)(1 << at % 8);
    }
    assert_int_equal(reopen(stage), 0);
    has(stage, number);
}

/* Puts the head of the file's first copy right after `change` of a byte. */
static int open_forged(struct stage *stage, size_t at, uint8_t flip)
{
    struct disk *image = disk_after(stage->disk, DISK_KILLED, NULL);
    struct cluster_files_folder folder = disk_root(image);
    size_t size;
    uint8_t *bytes = disk_bytes(image, 0, stage->file.name, &size);
    struct cluster_copy_file file;
    struct cluster_copy_head head;
    uint64_t calls = image->calls;
    int r;

    bytes[at] ^= flip;
    cluster_copy_head_take(bytes, &head);
    cluster_copy_head_put(&head, bytes);
    r = cluster_copy_file_open(&file, &folder, COPY_STAGE_POOL, COPY_STAGE_CONTAINER);
    assert_true(r >= 0 || image->calls == calls); /* refused: it is left as it is */
    cluster_copy_file_close(&file);
    disk_free(image);
    return r;
}

/* r[verify cluster.copy.form] */
static void a_file_that_this_node_does_not_write_is_refused(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(keep(stage, 1), 0);
    assert_int_equal(open_forged(stage, 8, 0), 0);
    assert_int_equal(open_forged(stage, 16, 1), RAPAHUB_EFORMAT); /* pool */
    assert_int_equal(open_forged(stage, 24, 1), RAPAHUB_EFORMAT); /* container */
    assert_non_null(strstr(rapahub_last_error()->text, stage->file.name));
    assert_int_equal(open_forged(stage, 68, 2), RAPAHUB_EABI); /* version */
    assert_int_equal(open_forged(stage, 48, 1), 1);            /* not whole */
    assert_int_equal(open_forged(stage, 73, 0x80), 1);         /* longer than the file */
    assert_int_equal(open_forged(stage, 79, 0x80), 1);         /* than any */
    assert_int_equal(open_forged(stage, 87, 0xff), 1);
}

/* A state may have the bytes of a copy in it; it is none for that.
 * r[verify cluster.copy.durable] */
static void a_state_that_looks_like_a_copy_is_no_copy(void **state)
{
    struct stage *stage = *state;
    const struct cluster_files *files = &stage->disk->files;
    int number = first_change(stage);
    uint8_t body[2 * CLUSTER_COPY_HEAD_SIZE] = {0}, *bytes;
    struct cluster_copy change = stage->story.copies[number];
    struct cluster_copy_head head = {.id = 77, .pool = COPY_STAGE_POOL, .token = 1 << 16, .seq = 1};
    size_t size;

    assert_int_equal(keep(stage, number - 1), 0);
    cluster_copy_head_put(&head, body + 5);
    change.state = (struct rapahub_bytes){body, sizeof body};
    assert_int_equal(cluster_copy_file_write(&stage->file, &change), 0);
    bytes = disk_bytes(stage->disk, 0, stage->file.name, &size);
    bytes[size - 1] ^= 1;
    assert_int_equal(files->cut(files, stage->file.fd, size - 1), 0);
    assert_int_equal(reopen(stage), 0);
    has(stage, number - 1);
}

/* It stays until the next write, so another process that opens it knows of it too.
 * r[verify cluster.copy.durable] */
static void what_was_cut_is_known_until_the_next_write(void **state)
{
    struct stage *stage = *state;
    const struct cluster_files *files = &stage->disk->files;
    int number = first_change(stage);
    struct cluster_copy change = stage->story.copies[number];
    uint64_t end;

    assert_int_equal(keep(stage, number - 1), 0);
    assert_false(stage->file.cut);
    end = stage->file.end;
    assert_int_equal(keep(stage, number), 0);
    assert_int_equal(files->cut(files, stage->file.fd, stage->file.end - 1), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(reopen(stage), 0);
        assert_true(stage->file.cut && stage->file.end == end);
        has(stage, number - 1);
    }
    change.state.size = change.dedup.size = 0; /* it is shorter than what was left */
    assert_int_equal(cluster_copy_file_write(&stage->file, &change), 0);
    assert_false(stage->file.cut);
    assert_int_equal(files->size(files, stage->file.fd), (int64_t)stage->file.end);
    assert_int_equal(reopen(stage), 0);
    assert_false(stage->file.cut);
}

/* r[verify cluster.copy.durable] */
static void a_file_that_is_removed_leaves_room_for_any_copy(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(keep(stage, 1), 0);
    assert_int_equal(cluster_copy_file_remove(&stage->file), 0);
    assert_int_equal(stage->disk->pending_count, 0);
    has(stage, 0);
    assert_int_equal(cluster_copy_file_remove(&stage->file), 0);
    assert_int_equal(disk_count(stage->disk, 0, ""), 0);
    assert_int_equal(keep(stage, 1), 0);
    has(stage, 1);
}

/* ---- a disk that fails ---- */

struct failing {
    int code;
    bool on;
    unsigned points, refused, asked;
};

/* Keeps all copies, each once more as a whole state where it is asked for. Returns the newest that
 * was told as kept. */
static int keep_all(struct stage *stage, struct failing *failing)
{
    int kept = 0;

    for (int i = 1; i <= COPY_STAGE_COPIES; i++) {
        int r = keep(stage, i);

        failing->refused += r < 0;
        failing->asked += r == 1;
        assert_true(r >= 0 || r == failing->code);
        if (r == 0)
            kept = i;
        /* The file is as before. */
        assert_int_equal(copy_stage_newest(&stage->story, &stage->file), kept);
        assert_true(copy_stage_has(&stage->story, &stage->file, kept));
    }
    return kept;
}

static void check_after(struct stage *stage, enum disk_crash crash, struct hub_random *random,
                        int kept)
{
    struct disk *image = disk_after(stage->disk, crash, random);
    struct cluster_files_folder folder = disk_root(image);
    struct cluster_copy_file file;
    int number;

    assert_int_equal(cluster_copy_file_open(&file, &folder, COPY_STAGE_POOL, COPY_STAGE_CONTAINER),
                     0);
    number = copy_stage_newest(&stage->story, &file);
    assert_true(number >= kept && copy_stage_has(&stage->story, &file, number));
    cluster_copy_file_close(&file);
    disk_free(image);
}

static bool fail_at(struct failing *failing, uint64_t point)
{
    struct hub_random random;
    struct stage *stage;
    void *state;
    bool fired;
    int kept;

    hub_random_init(&random, point);
    begin(&state);
    stage = state;
    stage->disk->fail_at = point;
    stage->disk->fail_code = failing->code;
    stage->disk->fail_on = failing->on;
    stage->disk->short_writes = point % 2 == 0;
    kept = keep_all(stage, failing);
    assert_false(stage->disk->misused);
    fired = stage->disk->fired;
    check_after(stage, DISK_KILLED, &random, kept);
    check_after(stage, DISK_TORN, &random, kept);
    failing->points += fired;
    end(&state);
    return fired;
}

/* r[verify cluster.copy.durable] */
static void a_disk_that_fails_refuses_and_loses_nothing(void **state)
{
    struct failing failings[] = {{-ENOSPC, false, 0, 0, 0},
                                 {-ENOSPC, true, 0, 0, 0},
                                 {-EIO, false, 0, 0, 0},
                                 {-EIO, true, 0, 0, 0}};

    (void)state;
    for (int i = 0; i < 4; i++) {
        uint64_t point = 1;

        while (fail_at(&failings[i], point))
            point++;
        print_message("%s%s: %u points; refused %u, whole states asked for %u\n",
                      failings[i].code == -EIO ? "input or output" : "no space",
                      failings[i].on ? ", for good" : "", failings[i].points, failings[i].refused,
                      failings[i].asked);
        assert_true(failings[i].points > COPY_STAGE_COPIES);
        assert_true(failings[i].refused > 0);
    }
}

/* Fails the call that is `calls` after now, while the change is kept. */
static int keep_failing(struct stage *stage, int number, uint64_t calls, int code, bool on)
{
    int r;

    stage->disk->fail_at = stage->disk->calls + calls;
    stage->disk->fail_code = code;
    stage->disk->fail_on = on;
    r = keep(stage, number);
    stage->disk->fail_at = 0;
    return r;
}

/* r[verify cluster.copy.durable] */
static void the_same_change_is_taken_again_only_by_a_good_file(void **state)
{
    struct stage *stage = *state;
    int number = first_change(stage);
    struct cluster_copy whole = stage->story.copies[number];

    whole.base_token = whole.base_seq = 0;
    assert_int_equal(keep(stage, number - 1), 0);
    assert_int_equal(keep_failing(stage, number, 1, -ENOSPC, false), -ENOSPC);
    assert_int_equal(keep(stage, number), 0); /* what was written of it is cut off */
    assert_int_equal(cluster_copy_file_remove(&stage->file), 0);
    assert_int_equal(keep(stage, number - 1), 0);
    assert_int_equal(keep_failing(stage, number, 1, -ENOSPC, true), -ENOSPC);
    assert_int_equal(keep(stage, number), 1); /* it could not be cut off */
    assert_int_equal(cluster_copy_file_remove(&stage->file), 0);
    assert_int_equal(keep(stage, number - 1), 0);
    assert_int_equal(keep_failing(stage, number, 2, -EIO, false), -EIO);
    assert_int_equal(keep(stage, number), 1);
    assert_false(stage->disk->misused);
    assert_int_equal(cluster_copy_file_write(&stage->file, &whole), 0);
    assert_int_equal(keep(stage, number + 1), 0);
}

static void count_found(void *user, uint64_t pool, uint32_t container)
{
    assert_int_equal(pool, COPY_STAGE_POOL);
    assert_int_equal(container, COPY_STAGE_CONTAINER);
    ++*(int *)user;
}

static void files_of_other_names_are_not_listed(void **state)
{
    static const char *const others[] = {"0000010000000002.00000004.copy.new",
                                         "0000010000000002.00000004.copy.bad",
                                         "0000010000000002.4.copy",
                                         "10000000002.00000004.copy",
                                         "0000000000000002.00000004.copy",
                                         "0000010000000002.00001000.copy",
                                         "0000010000000002.100000003.copy",
                                         ".copy",
                                         "x"};
    struct stage *stage = *state;
    const struct cluster_files *files = &stage->disk->files;
    int count = 0;

    assert_int_equal(keep(stage, 1), 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(files->open(files, 0, others[i], O_RDWR | O_CREAT, 0600) > 0);
    assert_int_equal(cluster_copy_file_list(&stage->folder, count_found, &count), 0);
    assert_int_equal(count, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(copies_are_read_as_they_were_written),
        TEST(the_newest_copy_is_kept_and_not_the_last),
        TEST(changes_of_another_copy_ask_for_a_whole_state),
        TEST(a_copy_that_there_cannot_be_is_refused),
        TEST(each_damage_is_found),
        TEST(a_file_that_this_node_does_not_write_is_refused),
        TEST(a_state_that_looks_like_a_copy_is_no_copy),
        TEST(what_was_cut_is_known_until_the_next_write),
        TEST(a_file_that_is_removed_leaves_room_for_any_copy),
        cmocka_unit_test(a_disk_that_fails_refuses_and_loses_nothing),
        TEST(the_same_change_is_taken_again_only_by_a_good_file),
        TEST(files_of_other_names_are_not_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
