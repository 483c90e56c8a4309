/* SPDX-License-Identifier: Apache-2.0 */
/* Each write, sync and truncation of a few transactions fails once, or fails and all after it do.
 * A transaction that was told as done is there afterwards, one that was told as refused is not, and
 * any other is wholly or not at all. */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/metastore/sqlite/sqlite.h"
#include "tests/metastore/failing_vfs.h"
#include "tests/metastore/store_stage.h"
#include "tests/support/testing.h"

#define TXNS 5

struct counts {
    unsigned points, refused, broken, opening;
};

static int put_two(struct store_stage *stage, unsigned number, struct store_answer *answer)
{
    char keys[2][16];
    struct cluster_write puts[2];

    for (unsigned i = 0; i < 2; i++) {
        snprintf(keys[i], sizeof keys[i], "/t%u/%u", number, i);
        puts[i] =
            (struct cluster_write){CLUSTER_PUT, store_stage_bytes(keys[i]), store_stage_bytes("v")};
    }
    return cluster_metastore_submit(
        stage->store, &(struct cluster_txn){.id = store_stage_id(), .then = puts, .then_count = 2},
        store_stage_on_txn, answer);
}

/* After the first error that is not one of space the store takes nothing, says why, and writes
 * nothing more, not even when it is closed: what a failed sync lost, a second one would not tell.
 */
static void is_broken(struct store_stage *stage)
{
    struct store_answer unused = {0};
    uint64_t next, calls;

    assert_true(put_two(stage, 0, &unused) < 0);
    assert_true(cluster_metastore_step(stage->store, 2, &next) < 0);
    assert_non_null(strstr(rapahub_last_error()->text, stage->path));
    assert_int_equal(unused.ends, 0);
    calls = failing_vfs_calls();
    store_stage_close(stage);
    assert_int_equal(failing_vfs_calls(), calls);
}

static void check(struct store_stage *stage, const struct store_answer *answers)
{
    for (unsigned i = 0; i < TXNS; i++) {
        struct store_answer found;
        char from[16], to[16];

        snprintf(from, sizeof from, "/t%u/", i);
        snprintf(to, sizeof to, "/t%u0", i);
        found = store_stage_range(stage, from, to, 0, 10);
        assert_true(found.count == 0 || found.count == 2);
        if (answers[i].ends > 0 && answers[i].status == CLUSTER_TXN_OK)
            assert_int_equal(found.count, 2);
        if (answers[i].ends == 0 || answers[i].status == CLUSTER_TXN_NO_SPACE)
            assert_int_equal(found.count, 0);
    }
}

static void run(struct store_stage *stage, struct store_answer *answers, struct counts *counts)
{
    if (store_stage_try(stage, false) != 0) {
        assert_non_null(strstr(rapahub_last_error()->text, stage->path));
        counts->opening++;
        return;
    }
    for (unsigned i = 0; i < TXNS; i++) {
        if (put_two(stage, i, &answers[i]) != 0)
            break;
        store_stage_wait(stage, &answers[i]);
        counts->refused += answers[i].status == CLUSTER_TXN_NO_SPACE;
        if (answers[i].status == CLUSTER_TXN_NO_SPACE)
            assert_string_equal(store_stage_range(stage, "/a", "/b", 0, 1).pairs[0].value, "1");
        if (answers[i].status != CLUSTER_TXN_CORRUPT)
            continue;
        counts->broken++;
        is_broken(stage);
        break;
    }
    store_stage_close(stage);
}

/* Returns whether something failed. */
static bool point(uint64_t number, int code, bool on, struct counts *counts)
{
    struct store_answer answers[TXNS] = {0};
    struct store_stage *stage = calloc(1, sizeof *stage);
    bool fired;

    store_stage_begin(stage, &cluster_sqlite_end, NULL);
    store_stage_put(stage, "/a", "1");
    store_stage_close(stage);
    failing_vfs_arm(number, code, on);
    run(stage, answers, counts);
    fired = failing_vfs_fired();
    failing_vfs_arm(0, 0, false);
    assert_int_equal(store_stage_try(stage, false), 0);
    check(stage, answers);
    store_stage_end(stage);
    free(stage);
    counts->points += fired;
    return fired;
}

static struct counts sweep(const char *what, int code, bool on)
{
    struct counts counts = {0};
    uint64_t number = 1;

    failing_vfs_begin();
    while (point(number, code, on, &counts))
        number++;
    failing_vfs_end();
    print_message("%s%s: %u points; refused %u, store ended %u, not opened %u\n", what,
                  on ? ", for good" : "", counts.points, counts.refused, counts.broken,
                  counts.opening);
    return counts;
}

/* r[verify cluster.store.space] r[verify cluster.store.outcome] */
static void a_full_disk_refuses_and_loses_nothing(void **state)
{
    struct counts once = sweep("no space", SQLITE_FULL, false);
    struct counts good = sweep("no space", SQLITE_FULL, true);

    (void)state;
    assert_true(once.refused > TXNS);
    assert_true(good.refused > once.refused);
}

/* r[verify cluster.store.outcome] */
static void an_error_of_the_disk_ends_the_store(void **state)
{
    struct counts once = sweep("input or output", SQLITE_IOERR_WRITE, false);
    struct counts good = sweep("input or output", SQLITE_IOERR_WRITE, true);

    (void)state;
    assert_true(once.broken >= TXNS);
    assert_int_equal(once.refused, 0);
    assert_true(good.broken >= TXNS);
}

/* r[verify cluster.store.outcome] */
static void a_transaction_is_synced_before_it_is_told(void **state)
{
    struct store_stage *stage = calloc(1, sizeof *stage);

    (void)state;
    failing_vfs_begin();
    store_stage_begin(stage, &cluster_sqlite_end, NULL);
    for (unsigned i = 0; i < TXNS; i++) {
        uint64_t before = failing_vfs_syncs();

        assert_int_equal(store_stage_put(stage, "/a", "1").status, CLUSTER_TXN_OK);
        assert_true(failing_vfs_syncs() > before);
    }
    store_stage_end(stage);
    free(stage);
    failing_vfs_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transaction_is_synced_before_it_is_told),
        cmocka_unit_test(a_full_disk_refuses_and_loses_nothing),
        cmocka_unit_test(an_error_of_the_disk_ends_the_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
