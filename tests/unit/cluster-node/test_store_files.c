/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/node/disk/container_folders.h"
#include "cluster/node/disk/copy_jobs.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "tests/store/thread_stage.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define POOL        ((uint64_t)CLUSTER_POOL_MAJOR_LEAST << 32)
#define TOKEN(life) cluster_ids_token(0, 1, (life))

static struct rapahub_bytes text_of(const char *text)
{
    return (struct rapahub_bytes){strdup(text), strlen(text)};
}

static int keep(struct thread_stage *stage, uint32_t container, const struct cluster_copy *copy,
                struct thread_answer *answer)
{
    return cluster_copy_jobs_write(stage->thread, (struct cluster_disk_container){POOL, container},
                                   copy, thread_stage_on_done, answer);
}

static struct thread_answer read_copies(struct thread_stage *stage, uint32_t container)
{
    struct thread_answer answer = {0};

    assert_int_equal(cluster_store_thread_copy_read(
                         stage->thread, (struct cluster_disk_container){POOL, container},
                         thread_stage_on_done, &answer),
                     0);
    thread_stage_wait(stage, &answer);
    assert_int_equal(answer.result.status, 0);
    return answer;
}

static void copies_are_kept_read_and_removed(void **state)
{
    struct thread_stage *stage = *state;
    struct thread_answer whole = {0}, changes = {0}, lost = {0}, older = {0}, removed = {0}, read;

    keep(stage, 1,
         &(struct cluster_copy){
             .token = TOKEN(1), .seq = 1, .state = text_of("state"), .dedup = text_of("calls")},
         &whole);
    keep(stage, 1,
         &(struct cluster_copy){.token = TOKEN(1),
                                .seq = 2,
                                .base_token = TOKEN(1),
                                .base_seq = 1,
                                .state = text_of("changes")},
         &changes);
    keep(stage, 2,
         &(struct cluster_copy){.token = TOKEN(1),
                                .seq = 9,
                                .base_token = TOKEN(1),
                                .base_seq = 8,
                                .state = text_of("changes")},
         &lost);
    keep(stage, 1, &(struct cluster_copy){.token = TOKEN(0), .seq = 7}, &older);
    thread_stage_wait(stage, &older);
    assert_true(whole.result.status == 0 && !whole.result.whole);
    assert_true(changes.result.status == 0 && !changes.result.whole);
    assert_true(lost.result.status == 0 && lost.result.whole);
    assert_int_equal(older.result.status, RAPAHUB_ESTALE);
    assert_true(older.text[0] != 0);
    read = read_copies(stage, 1);
    assert_int_equal(read.result.copies.count, 2);
    assert_memory_equal(read.result.copies.of[0].dedup.data, "calls", 5);
    assert_memory_equal(read.result.copies.of[1].state.data, "changes", 7);
    cluster_disk_job_free_copies(&read.result.copies);
    assert_int_equal(read_copies(stage, 2).result.copies.count, 0);
    cluster_store_thread_copy_remove(stage->thread, (struct cluster_disk_container){POOL, 1},
                                     thread_stage_on_done, &removed);
    thread_stage_wait(stage, &removed);
    assert_int_equal(removed.result.status, 0);
    assert_int_equal(read_copies(stage, 1).result.copies.count, 0);
}

/* More containers than files stay open. */
static void any_number_of_containers_has_copies(void **state)
{
    struct thread_stage *stage = *state;
    static struct thread_answer answers[CLUSTER_DISK_COPIES_OPEN_MAX + 50];
    const uint32_t count = CLUSTER_DISK_COPIES_OPEN_MAX + 50;
    struct thread_answer again = {0}, read;

    memset(answers, 0, sizeof answers);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(
            keep(stage, i, &(struct cluster_copy){.token = TOKEN(0), .seq = 1}, &answers[i]), 0);
    for (uint32_t i = 0; i < count; i++)
        thread_stage_wait(stage, &answers[i]);
    keep(stage, 0,
         &(struct cluster_copy){.token = TOKEN(0), .seq = 2, .base_token = TOKEN(0), .base_seq = 1},
         &again);
    thread_stage_wait(stage, &again);
    assert_true(again.result.status == 0 && !again.result.whole);
    read = read_copies(stage, 0);
    assert_int_equal(read.result.copies.count, 2);
    cluster_disk_job_free_copies(&read.result.copies);
}

static bool is_aside(const struct thread_stage *stage)
{
    char path[FOLDER_STAGE_PATH_MAX + 16];
    struct stat found;

    snprintf(path, sizeof path, "%s/pools/aside", stage->folder.path);
    assert_int_equal(stat(path, &found), 0);
    return found.st_nlink > 2; /* a folder has a link of each folder in it */
}

static void folders_are_made_and_swept(void **state)
{
    struct thread_stage *stage = *state;
    const struct cluster_disk_container of = {POOL, 4};
    struct thread_answer made = {0}, gone = {0};
    char path[CLUSTER_CONTAINER_FOLDERS_PATH + 8] = "pools/";

    cluster_container_folders_path(POOL, 4, path + 6);
    cluster_store_thread_folder_make(stage->thread, of, thread_stage_on_done, &made);
    thread_stage_wait(stage, &made);
    assert_true(made.result.status == 0 && folder_stage_has(&stage->folder, path));
    cluster_store_thread_folder_aside(stage->thread, of, thread_stage_on_done, &gone);
    thread_stage_wait(stage, &gone);
    assert_true(gone.result.status == 0 && !folder_stage_has(&stage->folder, path));
    assert_true(is_aside(stage));
    thread_stage_stop(stage, true, hub_clock_after(HUB_SECOND));
    thread_stage_clock_s += CLUSTER_CONTAINER_FOLDERS_KEPT_S;
    thread_stage_start(stage);
    for (int i = 0; i < 10000 && is_aside(stage); i++)
        pause_ms(1);
    assert_false(is_aside(stage));
}

/* ---- blobs ---- */

static void digest_of(const uint8_t *bytes, size_t size, uint8_t to[CLUSTER_DIGEST_SIZE])
{
    struct cluster_digest digest;

    assert_int_equal(cluster_digest_begin(&digest), 0);
    cluster_digest_add(&digest, bytes, size);
    cluster_digest_end(&digest, to);
}

static struct thread_answer push(struct thread_stage *stage, const struct cluster_disk_part *part)
{
    struct thread_answer answer = {0};

    assert_int_equal(
        cluster_store_thread_blob_part(stage->thread, part, thread_stage_on_done, &answer), 0);
    thread_stage_wait(stage, &answer);
    return answer;
}

static void a_blob_comes_in_parts_and_is_loaded(void **state)
{
    struct thread_stage *stage = *state;
    static uint8_t bytes[600000], back[600000];
    struct cluster_disk_part part = {.size = sizeof bytes};
    struct thread_answer answer = {0}, none = {0}, removed = {0};
    OWN(hub_fd) int fd = -1;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i >> 3);
    digest_of(bytes, sizeof bytes, part.digest);
    part.part = (struct rapahub_bytes){bytes + 5, 10};
    part.offset = 5;
    assert_int_equal(push(stage, &part).result.status, RAPAHUB_EINVAL);
    for (int round = 0; round < 2; round++) /* begun anew */
        for (part.offset = 0; part.offset < sizeof bytes; part.offset += 200000) {
            part.part = (struct rapahub_bytes){bytes + part.offset, 200000};
            if (round == 0 && part.offset == 400000)
                break;
            answer = push(stage, &part);
            assert_int_equal(answer.result.status, 0);
            assert_int_equal(answer.result.done, part.offset == 400000);
        }
    part.offset = 0;
    assert_true(push(stage, &part).result.done); /* it is there */
    answer = (struct thread_answer){0};
    cluster_store_thread_blob_get(stage->thread, part.digest, thread_stage_on_done, &answer);
    thread_stage_wait(stage, &answer);
    assert_int_equal(answer.result.status, 0);
    fd = answer.result.fd;
    assert_int_equal(answer.result.size, sizeof bytes);
    assert_int_equal(pread(fd, back, sizeof back, 0), sizeof bytes);
    assert_memory_equal(back, bytes, sizeof bytes);
    assert_int_equal(fcntl(fd, F_GET_SEALS),
                     F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    cluster_store_thread_blob_remove(stage->thread, part.digest, thread_stage_on_done, &removed);
    cluster_store_thread_blob_get(stage->thread, part.digest, thread_stage_on_done, &none);
    thread_stage_wait(stage, &none);
    assert_true(removed.result.status == 0 && none.result.status == RAPAHUB_ENOENT);
    assert_int_equal(none.result.fd, -1);
}

static void a_blob_of_other_bytes_is_refused(void **state)
{
    struct thread_stage *stage = *state;
    struct cluster_disk_part part = {.size = 4, .part = {"good", 4}};
    struct thread_answer got = {0};
    char path[128];
    int at;

    assert_int_equal(push(stage, &part).result.status, RAPAHUB_EFORMAT);
    digest_of((const uint8_t *)"good", 4, part.digest);
    assert_true(push(stage, &part).result.done);
    at = snprintf(path, sizeof path, "blobs/sha256/%02x/", part.digest[0]);
    for (size_t i = 0; i < CLUSTER_DIGEST_SIZE; i++)
        at += snprintf(path + at, sizeof path - (size_t)at, "%02x", part.digest[i]);
    folder_stage_remove(&stage->folder, path);
    folder_stage_write(&stage->folder, path, "evil", 4);
    cluster_store_thread_blob_get(stage->thread, part.digest, thread_stage_on_done, &got);
    thread_stage_wait(stage, &got);
    assert_int_equal(got.result.status, RAPAHUB_EFORMAT);
    part.part.size = CLUSTER_DISK_PART_MAX + 1;
    assert_int_equal(
        cluster_store_thread_blob_part(stage->thread, &part, thread_stage_on_done, &got),
        RAPAHUB_EMSGSIZE);
}

static void a_push_that_may_go_on_keeps_its_place(void **state)
{
    struct thread_stage *stage = *state;
    struct cluster_disk_part part = {.size = 2, .part = {"x", 1}};

    for (uint8_t i = 0; i < CLUSTER_DISK_BLOBS_PUSHES; i++) {
        part.digest[0] = i;
        assert_int_equal(push(stage, &part).result.status, 0);
    }
    part.digest[0] = 99;
    assert_int_equal(push(stage, &part).result.status, RAPAHUB_EBUSY);
    part.digest[0] = 3;
    part.offset = 1;
    assert_int_equal(push(stage, &part).result.status, RAPAHUB_EFORMAT); /* it ended */
    part.digest[0] = 99;
    part.offset = 0;
    assert_int_equal(push(stage, &part).result.status, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, thread_stage_begin, thread_stage_end)
    const struct CMUnitTest tests[] = {
        TEST(copies_are_kept_read_and_removed), TEST(any_number_of_containers_has_copies),
        TEST(folders_are_made_and_swept),       TEST(a_blob_comes_in_parts_and_is_loaded),
        TEST(a_blob_of_other_bytes_is_refused), TEST(a_push_that_may_go_on_keeps_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
