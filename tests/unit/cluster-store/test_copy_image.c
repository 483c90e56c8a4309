/* SPDX-License-Identifier: Apache-2.0 */
/* The file of copies that goes to another node, and the seal beside it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/store/copy_image.h"
#include "cluster/store/copy_seal.h"
#include "tests/store/copy_stage.h"
#include "tests/support/testing.h"

#define PIECE 1000

struct stage {
    struct disk *here, *there;
    struct cluster_files_folder from, to;
    struct copy_story story;
    struct cluster_copy_file source, own;
};

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user, (void)level, (void)topic, (void)text;
}

static int begin(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);
    struct hub_random random;

    hub_random_init(&random, 4);
    copy_stage_make(&stage->story, &random);
    stage->here = disk_new();
    stage->there = disk_new();
    stage->from = disk_root(stage->here);
    stage->to = disk_root(stage->there);
    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    assert_int_equal(
        cluster_copy_file_open(&stage->source, &stage->from, COPY_STAGE_POOL, COPY_STAGE_CONTAINER),
        0);
    assert_int_equal(
        cluster_copy_file_open(&stage->own, &stage->to, COPY_STAGE_POOL, COPY_STAGE_CONTAINER), 0);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(cluster_copy_file_write(&stage->source, &stage->story.copies[i]), 0);
    *state = stage;
    return 0;
}

static int end(void **state)
{
    struct stage *stage = *state;

    cluster_copy_file_close(&stage->source);
    cluster_copy_file_close(&stage->own);
    disk_free(stage->here);
    disk_free(stage->there);
    free(stage);
    return 0;
}

/* Carries all bytes over; one of them is another one, unless `wrong` is beyond. */
static void carry(struct stage *stage, uint64_t wrong)
{
    uint8_t bytes[PIECE];
    int64_t n = PIECE;

    for (uint64_t at = 0; n == PIECE; at += PIECE) {
        n = cluster_copy_image_read(&stage->source, at, bytes, sizeof bytes);
        assert_true(n >= 0);
        if (wrong >= at && wrong < at + (uint64_t)n)
            bytes[wrong - at] ^= 1;
        assert_int_equal(cluster_copy_image_write(&stage->own, at, bytes, (size_t)n), 0);
    }
}

static int adopt(struct stage *stage)
{
    return cluster_copy_image_adopt(&stage->own, stage->source.token, stage->source.seq);
}

/* r[verify cluster.copy.fetch] */
static void a_file_of_another_node_becomes_the_own_one(void **state)
{
    struct stage *stage = *state;

    carry(stage, UINT64_MAX);
    assert_int_equal(adopt(stage), 0);
    assert_int_equal(stage->own.token, stage->source.token);
    assert_int_equal(stage->own.seq, stage->source.seq);
    assert_int_equal(stage->own.end, stage->source.end);
    assert_true(copy_stage_has(&stage->story, &stage->own, 3));
}

/* An own file that has a newer copy is no holder's: it is replaced. r[verify cluster.copy.own] */
static void a_newer_own_file_is_replaced(void **state)
{
    struct stage *stage = *state;

    for (int i = 1; i <= 6; i++)
        (void)cluster_copy_file_write(&stage->own, &stage->story.copies[i]);
    assert_true(stage->own.token > stage->source.token || stage->own.seq > stage->source.seq);
    carry(stage, UINT64_MAX);
    assert_int_equal(adopt(stage), 0);
    assert_true(copy_stage_has(&stage->story, &stage->own, 3));
}

/* The own file is as it was. r[verify cluster.copy.fetch] */
static void damaged_bytes_are_not_adopted(void **state)
{
    struct stage *stage = *state;

    assert_int_equal(cluster_copy_file_write(&stage->own, &stage->story.copies[1]), 0);
    for (uint64_t at = 0; at < stage->source.end; at += 61) {
        carry(stage, at);
        assert_int_equal(adopt(stage), RAPAHUB_EFORMAT);
        assert_true(copy_stage_has(&stage->story, &stage->own, 1));
    }
}

static void a_file_that_ends_with_another_copy_is_not_adopted(void **state)
{
    struct stage *stage = *state;

    carry(stage, UINT64_MAX);
    assert_int_equal(
        cluster_copy_image_adopt(&stage->own, stage->source.token, stage->source.seq + 1),
        RAPAHUB_EFORMAT);
    assert_int_equal(stage->own.token, 0);
    assert_true(adopt(stage) < 0); /* there is no trace of it */
}

/* r[verify cluster.copy.seal] */
static void a_seal_is_read_back(void **state)
{
    struct stage *stage = *state;
    uint64_t token = 5;

    assert_int_equal(cluster_copy_seal_read(&stage->to, COPY_STAGE_POOL, 7, &token), 0);
    assert_int_equal(token, 0);
    assert_int_equal(cluster_copy_seal_write(&stage->to, COPY_STAGE_POOL, 7, 0x30001), 0);
    assert_int_equal(cluster_copy_seal_write(&stage->to, COPY_STAGE_POOL, 7, 0x40000), 0);
    assert_int_equal(cluster_copy_seal_read(&stage->to, COPY_STAGE_POOL, 7, &token), 0);
    assert_int_equal(token, 0x40000);
    assert_int_equal(cluster_copy_seal_read(&stage->to, COPY_STAGE_POOL, 8, &token), 0);
    assert_int_equal(token, 0);
    assert_int_equal(cluster_copy_seal_remove(&stage->to, COPY_STAGE_POOL, 7), 0);
    assert_int_equal(cluster_copy_seal_remove(&stage->to, COPY_STAGE_POOL, 7), 0);
    assert_int_equal(cluster_copy_seal_read(&stage->to, COPY_STAGE_POOL, 7, &token), 0);
    assert_int_equal(token, 0);
}

/* r[verify cluster.copy.seal] */
static void a_damaged_seal_is_refused(void **state)
{
    struct stage *stage = *state;
    const struct cluster_files *files = stage->to.files;
    char name[64];
    uint8_t byte;
    uint64_t token;
    int fd;

    assert_int_equal(cluster_copy_seal_write(&stage->to, COPY_STAGE_POOL, 7, 0x30001), 0);
    snprintf(name, sizeof name, "%016llx.00000007.seal", (unsigned long long)COPY_STAGE_POOL);
    fd = files->open(files, stage->to.fd, name, O_RDWR, 0);
    assert_true(fd >= 0);
    for (uint64_t at = 0; at < 40; at++) {
        assert_int_equal(files->read(files, fd, &byte, 1, at), 1);
        byte ^= 4;
        assert_int_equal(files->write(files, fd, &byte, 1, at), 1);
        assert_int_equal(cluster_copy_seal_read(&stage->to, COPY_STAGE_POOL, 7, &token),
                         RAPAHUB_EFORMAT);
        byte ^= 4;
        assert_int_equal(files->write(files, fd, &byte, 1, at), 1);
    }
    files->close(files, fd);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
    const struct CMUnitTest tests[] = {TEST(a_file_of_another_node_becomes_the_own_one),
                                       TEST(a_newer_own_file_is_replaced),
                                       TEST(damaged_bytes_are_not_adopted),
                                       TEST(a_file_that_ends_with_another_copy_is_not_adopted),
                                       TEST(a_seal_is_read_back),
                                       TEST(a_damaged_seal_is_refused)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
