/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/conformance_watch.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/testing.h"

#define FROM     "/"
#define TO       "0"
#define TOLD_MAX 6000
#define SOON_MS  20000
#define QUIET_MS 50

static const struct cluster_metastore_end *end;

/* What a watch was told. */
struct told {
    struct store_stage *stage;
    size_t count, calls, marks, ended;
    int status;
    uint64_t last; /* revision */
    bool disorder;
    uint64_t unwatch; /* a watch to be ended at the next change */
    struct {
        uint64_t rev, prev_mod, version, call;
        bool deleted;
        char key[16], value[8];
    } of[TOLD_MAX];
};

static void note(struct told *told, uint64_t rev, const struct cluster_change *change)
{
    size_t at = told->count++;

    if (at >= TOLD_MAX)
        return;
    told->of[at].rev = rev;
    told->of[at].prev_mod = change->prev_mod;
    told->of[at].version = change->pair.version;
    told->of[at].call = told->calls;
    told->of[at].deleted = change->deleted;
    told->disorder |= change->pair.mod_rev != rev;
    snprintf(told->of[at].key, sizeof told->of[at].key, "%.*s", (int)change->pair.key.size,
             (const char *)change->pair.key.data);
    snprintf(told->of[at].value, sizeof told->of[at].value, "%.*s", (int)change->pair.value.size,
             (const char *)change->pair.value.data);
}

static void on_change(void *user, int status, uint64_t rev, const struct cluster_change *changes,
                      size_t count)
{
    struct told *told = user;

    if (status != CLUSTER_TXN_OK) {
        told->status = status;
        told->ended++;
        return;
    }
    told->calls++;
    told->marks += count == 0;
    told->disorder |= rev < told->last || (count > 0 && rev == told->last);
    told->last = rev;
    for (size_t i = 0; i < count; i++)
        note(told, rev, &changes[i]);
    if (told->unwatch != 0)
        cluster_metastore_unwatch(told->stage->store, told->unwatch);
}

static uint64_t watch(struct store_stage *stage, const char *from, const char *to, uint64_t rev,
                      struct told *told)
{
    const struct cluster_span span = {store_stage_bytes(from), store_stage_bytes(to), rev, 0};
    uint64_t number;

    told->stage = stage;
    assert_int_equal(cluster_metastore_watch(stage->store, &span, on_change, told, &number), 0);
    return number;
}

struct test {
    struct store_stage stage;
    struct told told, other;
};

static int begin(void **state)
{
    struct test *test = calloc(1, sizeof *test);

    store_stage_begin(&test->stage, end, NULL);
    *state = test;
    return 0;
}

static int finish(void **state)
{
    struct test *test = *state;

    store_stage_end(&test->stage);
    free(test);
    return 0;
}

/* r[verify cluster.store.watch] */
static void a_watch_tells_what_comes_after_its_revision(void **state)
{
    struct test *test = *state;
    struct told *told = &test->told;
    uint64_t first = store_stage_put(&test->stage, "/a", "1").rev;

    store_stage_put(&test->stage, "/a", "2");
    watch(&test->stage, FROM, TO, first, told);
    store_stage_put(&test->stage, "/b", "3");
    store_stage_delete(&test->stage, "/a");
    store_stage_put(&test->stage, "/a", "4");
    assert_true(store_stage_until(&test->stage, &told->count, 4, SOON_MS));
    assert_false(store_stage_until(&test->stage, &told->count, 5, QUIET_MS));
    assert_string_equal(told->of[0].value, "2");
    assert_int_equal(told->of[0].rev, first + 1);
    assert_int_equal(told->of[0].prev_mod, first);
    assert_int_equal(told->of[0].version, 2);
    assert_string_equal(told->of[1].key, "/b");
    assert_int_equal(told->of[1].prev_mod, 0);
    assert_true(told->of[2].deleted);
    assert_string_equal(told->of[2].key, "/a");
    assert_int_equal(told->of[2].prev_mod, first + 1);
    assert_false(told->of[3].deleted);
    assert_int_equal(told->of[3].prev_mod, 0);
    assert_int_equal(told->of[3].version, 1);
    assert_false(told->disorder);
}

/* r[verify cluster.store.watch] */
static void the_changes_of_a_transaction_come_together(void **state)
{
    struct test *test = *state;
    struct told *told = &test->told;
    const struct cluster_write list[] = {
        {CLUSTER_PUT, store_stage_bytes("/b"), store_stage_bytes("1")},
        {CLUSTER_PUT, store_stage_bytes("x"), store_stage_bytes("1")},
        {CLUSTER_PUT, store_stage_bytes("/a"), store_stage_bytes("1")}};
    struct cluster_txn txn = {.id = store_stage_id(), .then = list, .then_count = 3};

    watch(&test->stage, FROM, TO, 0, told);
    store_stage_run(&test->stage, &txn);
    store_stage_put(&test->stage, "/c", "1");
    assert_true(store_stage_until(&test->stage, &told->count, 3, SOON_MS));
    assert_string_equal(told->of[0].key, "/a");
    assert_string_equal(told->of[1].key, "/b");
    assert_int_equal(told->of[0].rev, told->of[1].rev);
    assert_int_equal(told->of[0].call, told->of[1].call);
    assert_true(told->of[2].call > told->of[1].call);
}

/* r[verify cluster.store.watch] */
static void a_watch_from_a_compacted_revision_says_so_and_ends(void **state)
{
    struct test *test = *state;
    uint64_t first = store_stage_put(&test->stage, "/a", "1").rev;
    uint64_t last = store_stage_put(&test->stage, "/a", "2").rev;

    store_stage_compact(&test->stage, last);
    watch(&test->stage, FROM, TO, first, &test->told);
    watch(&test->stage, FROM, TO, last, &test->other);
    assert_true(store_stage_until(&test->stage, &test->told.ended, 1, SOON_MS));
    store_stage_put(&test->stage, "/a", "3");
    assert_true(store_stage_until(&test->stage, &test->other.count, 1, SOON_MS));
    assert_int_equal(test->told.status, CLUSTER_TXN_COMPACTED);
    assert_int_equal(test->told.count, 0);
    assert_int_equal(test->told.ended, 1);
    assert_int_equal(test->other.ended, 0);
    assert_int_equal(test->other.of[0].prev_mod, last);
}

static void a_watch_of_a_revision_to_come_is_denied(void **state)
{
    struct test *test = *state;
    uint64_t first = store_stage_put(&test->stage, "/a", "1").rev;

    watch(&test->stage, FROM, TO, first + 1, &test->told);
    assert_true(store_stage_until(&test->stage, &test->told.ended, 1, SOON_MS));
    assert_int_equal(test->told.status, CLUSTER_TXN_DENIED);
}

/* Some watches of which one is much behind: none misses a change or gets one twice. r[verify
 * cluster.store.watch] */
static void many_changes_come_once_and_in_order(void **state)
{
    struct test *test = *state;
    char key[16];

    watch(&test->stage, FROM, TO, 0, &test->told);
    for (unsigned i = 0; i < 1500; i++) {
        snprintf(key, sizeof key, "/k%u", i % 7);
        store_stage_put(&test->stage, key, "1");
    }
    watch(&test->stage, "/k3", "/k4", 0, &test->other);
    assert_true(store_stage_until(&test->stage, &test->told.count, 1500, SOON_MS));
    assert_true(store_stage_until(&test->stage, &test->other.count, 214, SOON_MS));
    assert_false(store_stage_until(&test->stage, &test->other.count, 215, QUIET_MS));
    assert_int_equal(test->told.count, 1500);
    assert_false(test->told.disorder);
    assert_false(test->other.disorder);
    for (unsigned i = 0; i < 1500; i++)
        assert_int_equal(test->told.of[i].rev, test->told.of[0].rev + i);
}

/* A watch that is told many changes at once is told those of a transaction together all the same.
 * r[verify cluster.store.watch] */
static void a_transaction_is_not_told_in_two_parts(void **state)
{
    struct test *test = *state;
    char keys[7][8];
    struct cluster_write puts[7];

    for (unsigned i = 0; i < 7; i++) {
        snprintf(keys[i], sizeof keys[i], "/k%u", i);
        puts[i] =
            (struct cluster_write){CLUSTER_PUT, store_stage_bytes(keys[i]), store_stage_bytes("1")};
    }
    for (unsigned i = 0; i < 200; i++)
        store_stage_run(&test->stage, &(struct cluster_txn){
                                          .id = store_stage_id(), .then = puts, .then_count = 7});
    watch(&test->stage, FROM, TO, 0, &test->told);
    assert_true(store_stage_until(&test->stage, &test->told.count, 1400, SOON_MS));
    assert_int_equal(test->told.count, 1400);
    assert_false(test->told.disorder);
    for (unsigned i = 0; i < 1400; i += 7)
        assert_int_equal(test->told.of[i].call, test->told.of[i + 6].call);
}

static void a_watch_that_was_ended_tells_nothing_more(void **state)
{
    struct test *test = *state;
    struct cluster_metastore_stats stats;

    for (unsigned i = 0; i < 5; i++)
        store_stage_put(&test->stage, "/a", "1");
    test->told.unwatch = watch(&test->stage, FROM, TO, 0, &test->told);
    test->other.unwatch = test->told.unwatch;
    watch(&test->stage, FROM, TO, 0, &test->other);
    assert_true(store_stage_until(&test->stage, &test->other.count, 5, SOON_MS));
    assert_true(test->told.count <= 1);
    assert_int_equal(test->told.ended, 0);
    cluster_metastore_stats(test->stage.store, &stats);
    assert_int_equal(stats.watches, 1);
}

/* Nothing of the span changes: a mark says up to where that is so, now and then, and no change is
 * told. r[verify cluster.store.watch] */
static void a_mark_has_no_changes(void **state)
{
    struct test *test = *state;

    watch(&test->stage, "/x", "/y", 0, &test->told);
    for (unsigned i = 0; i < 300; i++)
        store_stage_put(&test->stage, "/a", "1");
    store_stage_until(&test->stage, &test->told.marks, 1, QUIET_MS);
    assert_int_equal(test->told.count, 0);
    assert_true(test->told.calls <= 300);
    assert_false(test->told.disorder);
    store_stage_put(&test->stage, "/x", "1");
    assert_true(store_stage_until(&test->stage, &test->told.count, 1, SOON_MS));
}

int conformance_watch_run(const struct cluster_metastore_end *of)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, finish)
    const struct CMUnitTest tests[] = {
        EACH(a_watch_tells_what_comes_after_its_revision),
        EACH(the_changes_of_a_transaction_come_together),
        EACH(a_watch_from_a_compacted_revision_says_so_and_ends),
        EACH(a_watch_of_a_revision_to_come_is_denied),
        EACH(many_changes_come_once_and_in_order),
        EACH(a_transaction_is_not_told_in_two_parts),
        EACH(a_watch_that_was_ended_tells_nothing_more),
        EACH(a_mark_has_no_changes),
    };

    end = of;
    return cmocka_run_group_tests_name(of->scheme, tests, NULL, NULL);
}
