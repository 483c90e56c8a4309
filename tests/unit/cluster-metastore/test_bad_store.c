/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are no metastore, or cannot be used: each is refused with a line that names it and
 * says what to do, and is left as it was. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/metastore/sqlite/sqlite.h"
#include "tests/metastore/store_stage.h"
#include "tests/support/room.h"
#include "tests/support/testing.h"

static int begin(void **state)
{
    struct store_stage *stage = calloc(1, sizeof *stage);

    store_stage_begin(stage, &cluster_sqlite_end, NULL);
    store_stage_put(stage, "/a", "1");
    store_stage_close(stage);
    *state = stage;
    return 0;
}

static int finish(void **state)
{
    store_stage_end(*state);
    free(*state);
    return 0;
}

/* The line has the path, and `words`. */
static void is_refused(struct store_stage *stage, bool create, int code, const char *words)
{
    const char *text;

    assert_int_equal(store_stage_try(stage, create), code);
    assert_null(stage->store);
    text = rapahub_last_error()->text;
    if (!strstr(text, stage->path) || !strstr(text, words) || strchr(text, '\n'))
        fail_msg("'%s' lacks '%s' or '%s'", text, stage->path, words);
    print_message("%s\n", text);
}

static void change(struct store_stage *stage, const char *statements)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(stage->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, statements, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void write_at(struct store_stage *stage, off_t at, const char *text, size_t size)
{
    int fd = open(stage->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, text, size, at), size);
    close(fd);
}

static off_t size_of(const struct store_stage *stage)
{
    struct stat stat_of;

    assert_int_equal(stat(stage->path, &stat_of), 0);
    return stat_of.st_size;
}

/* r[verify cluster.store.file] */
static void a_file_that_is_missing_is_not_made_anew(void **state)
{
    struct store_stage *stage = *state;

    unlink(stage->path);
    is_refused(stage, false, RAPAHUB_ENOENT, "missing: put a backup of it in its place");
    assert_int_equal(access(stage->path, F_OK), -1);
    write_at(stage, 0, "", 0);
    is_refused(stage, false, RAPAHUB_EIO, "empty: put a backup of it in its place");
    assert_int_equal(size_of(stage), 0);
    assert_int_equal(store_stage_try(stage, true), 0);
}

/* r[verify cluster.store.file] */
static void a_file_that_is_no_database_is_damaged(void **state)
{
    struct store_stage *stage = *state;

    write_at(stage, 0, "what is this?...", 16);
    is_refused(stage, true, RAPAHUB_EIO, "damaged (file is not a database): put a backup");
    assert_int_equal(truncate(stage->path, 100), 0);
    is_refused(stage, true, RAPAHUB_EIO, "damaged");
}

/* r[verify cluster.store.file] */
static void a_file_of_a_newer_release_is_refused(void **state)
{
    struct store_stage *stage = *state;

    change(stage, "PRAGMA user_version = 2");
    is_refused(stage, true, RAPAHUB_ENOTSUP, "newer release (format 2, this one knows 1): install");
    change(stage, "PRAGMA user_version = 1");
    assert_int_equal(store_stage_try(stage, false), 0);
}

/* r[verify cluster.store.file] */
static void a_database_of_another_program_is_refused(void **state)
{
    struct store_stage *stage = *state;

    change(stage, "PRAGMA application_id = 77");
    is_refused(stage, true, RAPAHUB_ECONFIG, "another program (application_id 0x0000004d): name");
    unlink(stage->path);
    change(stage, "CREATE TABLE theirs (x)");
    is_refused(stage, true, RAPAHUB_ECONFIG, "another program (application_id 0x00000000)");
    change(stage, "SELECT * FROM theirs");
}

/* r[verify cluster.store.file] */
static void numbers_that_do_not_fit_are_damage(void **state)
{
    struct store_stage *stage = *state;

    change(stage, "UPDATE meta SET n = 0 WHERE name = 'rev'");
    is_refused(stage, true, RAPAHUB_EIO, "damaged");
    change(stage, "UPDATE meta SET n = 1 WHERE name = 'rev'; UPDATE meta SET n = 2 WHERE name = "
                  "'compacted'");
    is_refused(stage, true, RAPAHUB_EIO, "damaged");
    change(stage, "UPDATE meta SET n = 2048 WHERE name = 'generation'; UPDATE meta SET n = 0 WHERE "
                  "name = 'compacted'");
    is_refused(stage, true, RAPAHUB_EIO, "damaged");
    change(stage, "DELETE FROM meta WHERE name = 'generation'");
    is_refused(stage, true, RAPAHUB_EIO, "damaged");
    change(stage, "DROP TABLE kv");
    assert_true(store_stage_try(stage, true) < 0);
}

/* A page of zeros or of garbage is found when the file is opened, or changes nothing. */
static void each_damaged_page_is_found(void **state)
{
    struct store_stage *stage = *state;
    char garbage[4096], whole[4096], key[16];
    unsigned found = 0;
    off_t size;
    int fd;

    assert_int_equal(store_stage_try(stage, false), 0);
    for (unsigned i = 0; i < 200; i++) {
        snprintf(key, sizeof key, "/k%u", i);
        store_stage_put(stage, key, "a value that takes some room in a page of the file");
    }
    store_stage_close(stage);
    size = size_of(stage);
    memset(garbage, 0xa5, sizeof garbage);
    fd = open(stage->path, O_RDWR | O_CLOEXEC);
    for (off_t at = 0; at < size; at += 4096) {
        assert_int_equal(pread(fd, whole, sizeof whole, at), sizeof whole);
        write_at(stage, at, garbage, sizeof garbage);
        if (store_stage_try(stage, false) == 0)
            store_stage_close(stage);
        else
            found += strstr(rapahub_last_error()->text, stage->path) != NULL;
        write_at(stage, at, whole, sizeof whole);
        assert_int_equal(size_of(stage), size);
    }
    close(fd);
    print_message("%u of %" PRId64 " damaged pages found\n", found, (int64_t)size / 4096);
    assert_int_equal(found, size / 4096);
    assert_int_equal(truncate(stage->path, size - 4096), 0);
    is_refused(stage, false, RAPAHUB_EIO, "damaged");
}

/* The process that has it is named. r[verify cluster.store.file] */
static void a_file_that_another_process_has_is_refused(void **state)
{
    struct store_stage *stage = *state;
    int pipes[2];
    char byte, words[64];
    pid_t other;

    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    other = fork();
    if (other == 0) {
        byte = store_stage_try(stage, false) == 0 ? '1' : '0';
        if (write(pipes[1], &byte, 1) != 1)
            _exit(1);
        alarm(20);
        for (;;)
            pause();
    }
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    assert_int_equal(byte, '1');
    snprintf(words, sizeof words, "locked by process %d: stop that one", (int)other);
    is_refused(stage, false, RAPAHUB_EAGAIN, words);
    is_refused(stage, true, RAPAHUB_EAGAIN, words);
    kill(other, SIGKILL);
    assert_int_equal(waitpid(other, NULL, 0), other);
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(store_stage_try(stage, false), 0);
}

static void a_file_that_this_process_has_is_refused(void **state)
{
    struct store_stage *stage = *state, second = *stage;

    assert_int_equal(store_stage_try(stage, false), 0);
    is_refused(&second, false, RAPAHUB_EAGAIN, "open in this process already");
    store_stage_put(stage, "/b", "1");
    is_refused(&second, false, RAPAHUB_EAGAIN, "open in this process already");
}

/* r[verify cluster.store.file] */
static void a_folder_that_is_missing_or_a_file_is_named(void **state)
{
    struct store_stage *stage = *state, other = *stage;

    snprintf(other.url, sizeof other.url, "sqlite:%s/none/meta.db", stage->folder);
    other.path = other.url + strlen("sqlite:");
    assert_int_equal(store_stage_try(&other, true), RAPAHUB_ENOENT);
    assert_non_null(strstr(rapahub_last_error()->text, "/none: "));
    snprintf(other.url, sizeof other.url, "sqlite:%s", stage->folder);
    is_refused(&other, true, RAPAHUB_ECONFIG, "is no file: name another folder");
    snprintf(other.url, sizeof other.url, "other:%s", stage->path);
    assert_int_equal(store_stage_try(&other, true), RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, "no metastore of this kind"));
}

/* r[verify cluster.store.file] */
static void a_folder_that_is_read_only_is_named(void **state)
{
    struct store_stage stage = {0};

    (void)state;
    if (!room_enter(16))
        skip();
    store_stage_begin(&stage, &cluster_sqlite_end, NULL);
    store_stage_close(&stage);
    assert_int_equal(mount("none", "/dev/shm", "", MS_REMOUNT | MS_RDONLY, NULL), 0);
    assert_int_equal(store_stage_try(&stage, true), RAPAHUB_EROFS);
    assert_non_null(strstr(rapahub_last_error()->text, stage.folder));
    assert_non_null(strstr(rapahub_last_error()->text, "make it writable for this user"));
    print_message("%s\n", rapahub_last_error()->text);
    assert_int_equal(mount("none", "/dev/shm", "", MS_REMOUNT, NULL), 0);
    store_stage_end(&stage);
}

static void put_until(struct store_stage *stage, int status)
{
    char *large = calloc(1, CLUSTER_TXN_VALUE_MAX);
    const struct cluster_write put = {
        CLUSTER_PUT, store_stage_bytes("/large"), {large, CLUSTER_TXN_VALUE_MAX}};
    struct store_answer answer = {.status = -1};

    for (unsigned i = 0; i < 200 && answer.status != status; i++)
        answer = store_stage_run(
            stage, &(struct cluster_txn){.id = store_stage_id(), .then = &put, .then_count = 1});
    assert_int_equal(answer.status, status);
    free(large);
}

/* Reads go on, and writes do once there is space. r[verify cluster.store.space] */
static void a_full_disk_refuses_writes_only(void **state)
{
    struct store_stage stage = {0};
    uint64_t rev;

    (void)state;
    if (!room_enter(16))
        skip();
    store_stage_begin(&stage, &cluster_sqlite_end, NULL);
    store_stage_put(&stage, "/a", "1");
    room_fill(2u << 20);
    put_until(&stage, CLUSTER_TXN_NO_SPACE);
    rev = store_stage_sync(&stage).rev;
    put_until(&stage, CLUSTER_TXN_NO_SPACE);
    assert_int_equal(store_stage_sync(&stage).rev, rev);
    assert_string_equal(store_stage_range(&stage, "/a", "/b", 0, 1).pairs[0].value, "1");
    room_clear();
    assert_int_equal(store_stage_put(&stage, "/b", "1").rev, rev + 1);
    store_stage_reopen(&stage);
    assert_int_equal(store_stage_sync(&stage).rev, rev + 1);
    store_stage_close(&stage);
    unlink(stage.path);
    room_fill(0);
    assert_int_equal(store_stage_try(&stage, true), RAPAHUB_ENOSPC);
    assert_non_null(strstr(rapahub_last_error()->text, "no space left on its disk: free some"));
    print_message("%s\n", rapahub_last_error()->text);
    room_clear();
    assert_int_equal(store_stage_try(&stage, true), 0);
    store_stage_end(&stage);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, finish)
    const struct CMUnitTest tests[] = {
        EACH(a_file_that_is_missing_is_not_made_anew),
        EACH(a_file_that_is_no_database_is_damaged),
        EACH(a_file_of_a_newer_release_is_refused),
        EACH(a_database_of_another_program_is_refused),
        EACH(numbers_that_do_not_fit_are_damage),
        EACH(each_damaged_page_is_found),
        EACH(a_file_that_another_process_has_is_refused),
        EACH(a_file_that_this_process_has_is_refused),
        EACH(a_folder_that_is_missing_or_a_file_is_named),
        cmocka_unit_test(a_folder_that_is_read_only_is_named),
        cmocka_unit_test(a_full_disk_refuses_writes_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
