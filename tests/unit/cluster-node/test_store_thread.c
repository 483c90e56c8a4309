/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/node/boot/log_map.h"
#include "cluster/node/disk/copy_jobs.h"
#include "hub/base/clock.h"
#include "tests/store/thread_stage.h"
#include "tests/support/testing.h"

#define POOL        ((uint64_t)CLUSTER_POOL_MAJOR_LEAST << 32)
#define TOKEN(life) cluster_ids_token(0, 1, (life))

static int append(struct thread_stage *stage, uint64_t revision, struct thread_answer *answer)
{
    const struct cluster_delta_change change = {.pool = POOL,
                                                .container = (uint32_t)(revision % 100),
                                                .entry = {.state = CLUSTER_ENTRY_STARTING,
                                                          .owner = 1,
                                                          .session = 1,
                                                          .epoch = 1,
                                                          .lineage = cluster_ids_lineage(1, 0)}};

    return cluster_store_thread_append(
        stage->thread,
        &(struct cluster_wal_record){.revision = revision, .previous = revision - 1, .count = 1},
        &change, thread_stage_on_done, answer);
}

static struct cluster_log_map replay(struct thread_stage *stage)
{
    struct cluster_log_map map;

    assert_int_equal(cluster_log_map_read(&map, &stage->log), 0);
    return map;
}

/* r[verify cluster.disk.order] */
static void records_are_told_when_they_are_durable(void **state)
{
    struct thread_stage *stage = *state;
    static struct thread_answer answers[1000];
    struct cluster_store_thread_stats stats;
    struct cluster_log_map map;

    memset(answers, 0, sizeof answers);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(append(stage, i + 1, &answers[i]), 0);
    cluster_store_thread_stats(stage->thread, &stats);
    assert_int_equal(stats.open, 1000);
    for (size_t i = 0; i < 1000; i++) {
        thread_stage_wait(stage, &answers[i]);
        assert_int_equal(answers[i].result.status, 0);
    }
    cluster_store_thread_stats(stage->thread, &stats);
    assert_true(stats.open == 0 && stats.bytes == 0 && stats.synced == 1000 && !stats.full);
    map = replay(stage);
    assert_int_equal(map.revision, 1000);
    assert_int_equal(map.count, 100);
    assert_non_null(cluster_log_map_find(&map, POOL, 99));
    assert_null(cluster_log_map_find(&map, POOL, 100));
    cluster_log_map_release(&map);
}

static void a_record_that_does_not_follow_is_refused(void **state)
{
    struct thread_stage *stage = *state;
    struct thread_answer first = {0}, gap = {0}, next = {0};

    append(stage, 1, &first);
    append(stage, 3, &gap);
    append(stage, 2, &next);
    thread_stage_wait(stage, &gap);
    thread_stage_wait(stage, &next);
    assert_int_equal(first.result.status, 0);
    assert_int_equal(gap.result.status, RAPAHUB_EINVAL);
    assert_int_equal(next.result.status, 0);
}

static int keep(struct thread_stage *stage, uint32_t container, const struct cluster_copy *copy,
                struct thread_answer *answer)
{
    return cluster_copy_jobs_write(stage->thread, (struct cluster_disk_container){POOL, container},
                                   copy, thread_stage_on_done, answer);
}

/* r[verify cluster.wal.space] */
static void a_full_disk_lets_records_wait(void **state)
{
    struct thread_stage *stage = *state;
    struct thread_answer first = {0}, second = {0}, copy = {0};
    struct cluster_store_thread_stats stats;
    const struct cluster_copy kept = {.token = TOKEN(0), .seq = 1};
    uint64_t deadline_ns = hub_clock_after(10 * HUB_SECOND);

    __atomic_store_n(&thread_stage_full, 1, __ATOMIC_SEQ_CST);
    append(stage, 1, &first);
    append(stage, 2, &second);
    do {
        thread_stage_step(stage, 10);
        cluster_store_thread_stats(stage->thread, &stats);
    } while (!stats.full && hub_clock_left(deadline_ns) > 0);
    assert_true(stats.full);
    assert_int_equal(cluster_copy_jobs_write(stage->thread,
                                             (struct cluster_disk_container){POOL, 1}, &kept,
                                             thread_stage_on_done, &copy),
                     0);
    assert_int_equal(thread_stage_wait(stage, &copy), 0); /* the others go on */
    assert_int_equal(copy.result.status, 0);
    assert_true(first.ends == 0 && second.ends == 0);
    __atomic_store_n(&thread_stage_full, 0, __ATOMIC_SEQ_CST);
    thread_stage_wait(stage, &second);
    assert_true(first.result.status == 0 && second.result.status == 0);
    cluster_store_thread_stats(stage->thread, &stats);
    assert_false(stats.full);
}

/* r[verify cluster.disk.failed] */
static void a_log_that_fails_ends_the_node(void **state)
{
    struct thread_stage *stage = *state;
    struct thread_answer first = {0}, second = {0};
    struct pollfd fd = {.fd = cluster_store_thread_fd(stage->thread), .events = POLLIN};
    uint64_t deadline_ns = hub_clock_after(10 * HUB_SECOND);
    int r = 0;

    __atomic_store_n(&thread_stage_broken, 1, __ATOMIC_SEQ_CST);
    append(stage, 1, &first);
    thread_stage_wait(stage, &first);
    assert_int_equal(first.result.status, -EIO);
    while (r == 0 && hub_clock_left(deadline_ns) > 0) {
        poll(&fd, 1, 100);
        r = cluster_store_thread_step(stage->thread);
    }
    assert_int_equal(r, RAPAHUB_EIO);
    assert_non_null(strstr(rapahub_last_error()->text, "look at the disk"));
    append(stage, 2, &second);
    assert_int_equal(thread_stage_wait(stage, &second), RAPAHUB_EIO);
    assert_int_equal(second.result.status, RAPAHUB_EIO);
}

static struct cluster_disk_entries entries_of(uint64_t revision, size_t count)
{
    struct cluster_disk_entries entries = {
        .revision = revision, .of = calloc(count, sizeof *entries.of), .count = count};

    for (uint32_t i = 0; i < count; i++)
        entries.of[i] =
            (struct cluster_delta_change){.pool = POOL,
                                          .container = i,
                                          .entry = {.state = CLUSTER_ENTRY_ACTIVE,
                                                    .owner = 1,
                                                    .session = 1,
                                                    .epoch = 2,
                                                    .lineage = cluster_ids_lineage(1, 0)}};
    return entries;
}

static void a_snapshot_follows_the_records_before_it(void **state)
{
    struct thread_stage *stage = *state;
    struct cluster_disk_entries entries = entries_of(2, 150), early = entries_of(9, 1);
    struct thread_answer answers[2] = {0}, taken = {0}, refused = {0};
    struct cluster_log_map map;

    append(stage, 1, &answers[0]);
    append(stage, 2, &answers[1]);
    assert_int_equal(
        cluster_store_thread_snapshot(stage->thread, &entries, thread_stage_on_done, &taken), 0);
    assert_int_equal(
        cluster_store_thread_snapshot(stage->thread, &early, thread_stage_on_done, &refused), 0);
    thread_stage_wait(stage, &refused);
    assert_int_equal(taken.result.status, 0);
    assert_int_equal(refused.result.status, RAPAHUB_EINVAL);
    map = replay(stage);
    assert_int_equal(map.revision, 2);
    assert_int_equal(map.count, 150);
    assert_int_equal(cluster_log_map_find(&map, POOL, 1)->entry.state, CLUSTER_ENTRY_ACTIVE);
    cluster_log_map_release(&map);
}

static void a_revision_that_was_seen_is_noted(void **state)
{
    struct thread_stage *stage = *state;
    struct thread_answer later = {0}, earlier = {0};

    cluster_store_thread_seen(stage->thread, 70, thread_stage_on_done, &later);
    cluster_store_thread_seen(stage->thread, 60, thread_stage_on_done, &earlier);
    thread_stage_wait(stage, &earlier);
    assert_true(later.result.status == 0 && earlier.result.status == 0);
    thread_stage_stop(stage, true, hub_clock_after(HUB_SECOND));
    cluster_data_folder_close(&stage->data);
    thread_stage_open(stage);
    assert_int_equal(stage->data.store.revision, 70);
    thread_stage_start(stage);
}

static void guests_are_noted(void **state)
{
    struct thread_stage *stage = *state;
    struct thread_answer came[3] = {0}, gone = {0}, wrong = {0};
    struct cluster_guest_records records;

    for (int i = 0; i < 3; i++)
        cluster_store_thread_guest_came(stage->thread, (struct cluster_guest_record){1000 + i, 7},
                                        thread_stage_on_done, &came[i]);
    cluster_store_thread_guest_came(stage->thread, (struct cluster_guest_record){1, 7},
                                    thread_stage_on_done, &wrong);
    cluster_store_thread_guest_gone(stage->thread, (struct cluster_guest_record){1001, 7},
                                    thread_stage_on_done, &gone);
    thread_stage_wait(stage, &gone);
    assert_true(came[0].result.status == 0 && came[2].result.status == 0);
    assert_int_equal(wrong.result.status, RAPAHUB_EINVAL);
    cluster_guest_records_init(&records, &stage->data.root, thread_stage_boot);
    assert_int_equal(cluster_guest_records_read(&records), 0);
    assert_int_equal(records.count, 2);
}

/* ---- bounds, and the end ---- */

/* The log has its own bound: a record that is refused would end the node.
 * r[verify cluster.disk.bounds] */
static void a_full_queue_refuses(void **state)
{
    struct thread_stage *stage = *state;
    static struct thread_answer answers[CLUSTER_STORE_THREAD_OPEN_MAX];
    struct thread_answer more = {0}, next = {0}, copies[2] = {0};
    const struct cluster_copy small = {.token = TOKEN(0), .seq = 1, .state = {malloc(10), 10}},
                              none = {.token = TOKEN(0), .seq = 1},
                              large = {.token = TOKEN(0),
                                       .seq = 1,
                                       .state = {NULL, CLUSTER_STORE_THREAD_BYTES_MAX}};

    memset(answers, 0, sizeof answers);
    memset((void *)(uintptr_t)small.state.data, 1, 10);
    for (uint64_t i = 0; i < CLUSTER_STORE_THREAD_OPEN_MAX; i++)
        assert_int_equal(append(stage, i + 1, &answers[i]), 0);
    assert_int_equal(append(stage, CLUSTER_STORE_THREAD_OPEN_MAX + 1, &more), RAPAHUB_EBUSY);
    assert_int_equal(keep(stage, 1, &small, &copies[0]), 0);
    assert_int_equal(keep(stage, 2, &large, &more), RAPAHUB_EBUSY);
    assert_int_equal(keep(stage, 3, &none, &copies[1]), 0);
    for (size_t i = 0; i < CLUSTER_STORE_THREAD_OPEN_MAX; i++)
        thread_stage_wait(stage, &answers[i]);
    thread_stage_wait(stage, &copies[0]);
    thread_stage_wait(stage, &copies[1]);
    assert_int_equal(append(stage, CLUSTER_STORE_THREAD_OPEN_MAX + 1, &next), 0);
    thread_stage_wait(stage, &next);
    assert_int_equal(more.ends, 0);
}

static void a_stop_drains_or_drops(void **state)
{
    struct thread_stage *stage = *state;
    static struct thread_answer answers[100];
    struct cluster_log_map map;
    unsigned done = 0;

    memset(answers, 0, sizeof answers);
    for (uint64_t i = 0; i < 100; i++)
        append(stage, i + 1, &answers[i]);
    thread_stage_stop(stage, true, hub_clock_after(20 * HUB_SECOND));
    for (size_t i = 0; i < 100; i++)
        assert_true(answers[i].ends == 1 && answers[i].result.status == 0);
    stage->wal.revision = 100;
    stage->wal.sequence = 2;
    thread_stage_start(stage);
    memset(answers, 0, sizeof answers);
    for (uint64_t i = 0; i < 100; i++)
        append(stage, i + 101, &answers[i]);
    thread_stage_stop(stage, false, 0);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(answers[i].ends, 1);
        assert_true(answers[i].result.status == 0 || answers[i].result.status == -ECANCELED);
        done += answers[i].result.status == 0;
    }
    map = replay(stage);
    assert_true(map.revision >= 100 + done);
    cluster_log_map_release(&map);
    cluster_store_thread_stop(NULL, true, 0);
}

/* A disk that stays full ends the draining at its deadline. */
static void a_drain_has_a_deadline(void **state)
{
    struct thread_stage *stage = *state;
    struct thread_answer answer = {0};

    __atomic_store_n(&thread_stage_full, 1, __ATOMIC_SEQ_CST);
    append(stage, 1, &answer);
    thread_stage_stop(stage, true, hub_clock_after(200 * HUB_MILLISECOND));
    assert_true(answer.ends == 1 && answer.result.status == -ECANCELED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, thread_stage_begin, thread_stage_end)
    const struct CMUnitTest tests[] = {
        TEST(records_are_told_when_they_are_durable),
        TEST(a_record_that_does_not_follow_is_refused),
        TEST(a_full_disk_lets_records_wait),
        TEST(a_log_that_fails_ends_the_node),
        TEST(a_snapshot_follows_the_records_before_it),
        TEST(a_revision_that_was_seen_is_noted),
        TEST(guests_are_noted),
        TEST(a_full_queue_refuses),
        TEST(a_stop_drains_or_drops),
        TEST(a_drain_has_a_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
