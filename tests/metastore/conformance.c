/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/metastore/conformance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define FROM "/"
#define TO   "0"

static const struct cluster_metastore_end *end;

static int begin(void **state)
{
    struct store_stage *stage = calloc(1, sizeof *stage);

    store_stage_begin(stage, end, NULL);
    *state = stage;
    return 0;
}

static int finish(void **state)
{
    store_stage_end(*state);
    free(*state);
    return 0;
}

static struct rapahub_bytes bytes(const char *text)
{
    return store_stage_bytes(text);
}

/* A transaction of small lists, each given by its count and items. */
static struct cluster_txn txn_of(const struct cluster_compare *compare,
                                 const struct cluster_write *then, uint32_t then_count)
{
    return (struct cluster_txn){.id = store_stage_id(),
                                .compares = compare,
                                .compares_count = compare ? 1 : 0,
                                .then = then,
                                .then_count = then_count};
}

/* r[verify cluster.store.atomic] */
static void each_transaction_takes_one_revision_above_the_last(void **state)
{
    struct store_stage *stage = *state;
    const struct cluster_write two[] = {{CLUSTER_PUT, bytes("/a"), bytes("1")},
                                        {CLUSTER_PUT, bytes("/b"), bytes("2")}};
    struct cluster_txn txn = txn_of(NULL, two, 2);
    struct store_answer first = store_stage_run(stage, &txn), all;

    assert_int_equal(first.status, CLUSTER_TXN_OK);
    assert_true(store_stage_put(stage, "/a", "3").rev > first.rev);
    all = store_stage_range(stage, FROM, TO, first.rev, 10);
    assert_int_equal(all.count, 2);
    assert_int_equal(all.pairs[0].mod_rev, first.rev);
    assert_int_equal(all.pairs[1].mod_rev, first.rev);
    assert_string_equal(all.pairs[0].value, "1");
    assert_string_equal(all.pairs[1].value, "2");
}

/* r[verify cluster.store.atomic] */
static void revisions_rise_over_a_close(void **state)
{
    struct store_stage *stage = *state;
    uint64_t before = store_stage_put(stage, "/a", "1").rev;

    store_stage_reopen(stage);
    assert_int_equal(store_stage_sync(stage).rev, before);
    assert_int_equal(store_stage_put(stage, "/a", "2").rev, before + 1);
}

/* In etcd the outcome that is remembered is a change. */
static bool outcomes_take_revisions(void)
{
    return strncmp(end->scheme, "etcd", 4) == 0;
}

/* r[verify cluster.store.atomic] r[verify cluster.store.etcd.marker] */
static void a_transaction_that_changes_nothing_takes_no_revision(void **state)
{
    struct store_stage *stage = *state;
    uint64_t before = store_stage_put(stage, "/a", "1").rev;
    const struct cluster_write get = {CLUSTER_GET, bytes("/a"), {0}};
    struct cluster_txn reads = {.then = &get, .then_count = 1};

    if (!outcomes_take_revisions())
        assert_int_equal(store_stage_delete(stage, "/none").rev, before);
    assert_int_equal(store_stage_run(stage, &reads).rev, before);
    assert_int_equal(store_stage_sync(stage).rev, before);
}

static int holds(struct store_stage *stage, enum cluster_compare_kind kind, const char *key,
                 const char *value, uint64_t rev)
{
    const struct cluster_compare compare = {kind, bytes(key), bytes(value), rev};
    struct cluster_txn txn = {.compares = &compare, .compares_count = 1};
    int status = store_stage_run(stage, &txn).status;

    assert_true(status == CLUSTER_TXN_OK || status == CLUSTER_TXN_CONFLICT);
    return status == CLUSTER_TXN_OK;
}

static void each_compare_holds_where_it_says(void **state)
{
    struct store_stage *stage = *state;
    uint64_t created = store_stage_put(stage, "/a", "1").rev;
    uint64_t changed = store_stage_put(stage, "/a", "2").rev;

    assert_true(holds(stage, CLUSTER_MOD_EQ, "/a", "", changed));
    assert_false(holds(stage, CLUSTER_MOD_EQ, "/a", "", created));
    assert_true(holds(stage, CLUSTER_CREATE_EQ, "/a", "", created));
    assert_false(holds(stage, CLUSTER_CREATE_EQ, "/a", "", changed));
    assert_true(holds(stage, CLUSTER_PRESENT, "/a", "", 0));
    assert_false(holds(stage, CLUSTER_ABSENT, "/a", "", 0));
    assert_true(holds(stage, CLUSTER_VALUE_EQ, "/a", "2", 0));
    assert_false(holds(stage, CLUSTER_VALUE_EQ, "/a", "1", 0));
    assert_false(holds(stage, CLUSTER_VALUE_EQ, "/a", "22", 0));
    assert_false(holds(stage, CLUSTER_PRESENT, "/none", "", 0));
    assert_true(holds(stage, CLUSTER_ABSENT, "/none", "", 0));
    assert_false(holds(stage, CLUSTER_MOD_EQ, "/none", "", changed));
    assert_false(holds(stage, CLUSTER_VALUE_EQ, "/none", "", 0));
    store_stage_delete(stage, "/a");
    assert_true(holds(stage, CLUSTER_ABSENT, "/a", "", 0));
    assert_false(holds(stage, CLUSTER_VALUE_EQ, "/a", "", 0));
    store_stage_put(stage, "/a", "");
    assert_true(holds(stage, CLUSTER_VALUE_EQ, "/a", "", 0));
}

/* Of two lists one runs, and wholly. r[verify cluster.store.atomic] */
static void a_compare_that_fails_runs_the_other_list(void **state)
{
    struct store_stage *stage = *state;
    const struct cluster_compare compares[] = {{CLUSTER_ABSENT, bytes("/b"), {0}, 0},
                                               {CLUSTER_PRESENT, bytes("/a"), {0}, 0}};
    const struct cluster_write then[] = {{CLUSTER_PUT, bytes("/x"), bytes("1")}};
    const struct cluster_write otherwise[] = {{CLUSTER_PUT, bytes("/y"), bytes("1")},
                                              {CLUSTER_GET, bytes("/y"), {0}},
                                              {CLUSTER_GET, bytes("/x"), {0}}};
    struct cluster_txn txn = {.id = store_stage_id(),
                              .compares = compares,
                              .compares_count = 2,
                              .then = then,
                              .then_count = 1,
                              .otherwise = otherwise,
                              .otherwise_count = 3};
    struct store_answer answer = store_stage_run(stage, &txn);

    assert_int_equal(answer.status, CLUSTER_TXN_CONFLICT);
    assert_int_equal(answer.count, 2);
    assert_int_equal(answer.pairs[0].mod_rev, answer.rev);
    assert_string_equal(answer.pairs[0].value, "1");
    assert_int_equal(answer.pairs[1].mod_rev, 0);
    assert_string_equal(answer.pairs[1].key, "/x");
}

static void a_get_sees_what_its_list_wrote_before(void **state)
{
    struct store_stage *stage = *state;
    const struct cluster_write list[] = {{CLUSTER_GET, bytes("/a"), {0}},
                                         {CLUSTER_PUT, bytes("/a"), bytes("new")},
                                         {CLUSTER_GET, bytes("/a"), {0}},
                                         {CLUSTER_DELETE, bytes("/b"), {0}},
                                         {CLUSTER_GET, bytes("/b"), {0}}};
    struct cluster_txn txn = txn_of(NULL, list, 5);
    struct store_answer answer;

    store_stage_put(stage, "/a", "old");
    store_stage_put(stage, "/b", "old");
    answer = store_stage_run(stage, &txn);
    assert_int_equal(answer.count, 3);
    assert_string_equal(answer.pairs[0].value, "old");
    assert_string_equal(answer.pairs[1].value, "new");
    assert_int_equal(answer.pairs[1].version, 2);
    assert_int_equal(answer.pairs[2].mod_rev, 0);
}

static void a_key_begins_anew_after_it_was_deleted(void **state)
{
    struct store_stage *stage = *state;
    struct store_answer answer;
    uint64_t rev;

    store_stage_put(stage, "/a", "1");
    store_stage_put(stage, "/a", "2");
    store_stage_delete(stage, "/a");
    assert_int_equal(store_stage_range(stage, FROM, TO, 0, 10).count, 0);
    rev = store_stage_put(stage, "/a", "3").rev;
    answer = store_stage_range(stage, FROM, TO, 0, 10);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.pairs[0].create_rev, rev);
    assert_int_equal(answer.pairs[0].version, 1);
}

/* r[verify cluster.store.outcome] */
static void a_transaction_that_is_sent_again_does_not_run_again(void **state)
{
    struct store_stage *stage = *state;
    const struct cluster_write list[] = {{CLUSTER_PUT, bytes("/a"), bytes("1")},
                                         {CLUSTER_GET, bytes("/a"), {0}}};
    struct cluster_txn txn = txn_of(NULL, list, 2);
    struct store_answer first = store_stage_run(stage, &txn), again;

    store_stage_put(stage, "/a", "2");
    for (int i = 0; i < 2; i++) {
        again = store_stage_run(stage, &txn);
        assert_int_equal(again.status, CLUSTER_TXN_OK);
        assert_int_equal(again.rev, first.rev);
        assert_int_equal(again.count, 1);
        assert_string_equal(again.pairs[0].value, "2");
        store_stage_reopen(stage);
    }
    assert_int_equal(store_stage_range(stage, FROM, TO, 0, 10).pairs[0].version, 2);
}

/* r[verify cluster.store.outcome] */
static void a_conflict_remains_one_when_it_is_sent_again(void **state)
{
    struct store_stage *stage = *state;
    const struct cluster_compare compare = {CLUSTER_PRESENT, bytes("/b"), {0}, 0};
    const struct cluster_write put = {CLUSTER_PUT, bytes("/a"), bytes("1")};
    struct cluster_txn txn = txn_of(&compare, &put, 1);

    assert_int_equal(store_stage_run(stage, &txn).status, CLUSTER_TXN_CONFLICT);
    store_stage_put(stage, "/b", "1");
    assert_int_equal(store_stage_run(stage, &txn).status, CLUSTER_TXN_CONFLICT);
    store_stage_reopen(stage);
    assert_int_equal(store_stage_run(stage, &txn).status, CLUSTER_TXN_CONFLICT);
    txn.id = store_stage_id();
    assert_int_equal(store_stage_run(stage, &txn).status, CLUSTER_TXN_OK);
}

/* r[verify cluster.store.outcome] */
static void what_comes_too_late_is_denied(void **state)
{
    struct store_stage *stage = *state;
    const struct cluster_write put = {CLUSTER_PUT, bytes("/a"), bytes("1")};
    struct cluster_txn txn = txn_of(NULL, &put, 1), other = txn;

    assert_int_equal(store_stage_run(stage, &txn).status, CLUSTER_TXN_OK);
    other.id.seq += CLUSTER_TXN_FLIGHT_MAX;
    assert_int_equal(store_stage_run(stage, &other).status, CLUSTER_TXN_OK);
    assert_int_equal(store_stage_run(stage, &txn).status, CLUSTER_TXN_DENIED);
    other.id = (struct cluster_txn_id){cluster_txn_client(2, 8), 1};
    assert_int_equal(store_stage_run(stage, &other).status, CLUSTER_TXN_OK);
    other.id = (struct cluster_txn_id){cluster_txn_client(2, 9), 1};
    assert_int_equal(store_stage_run(stage, &other).status, CLUSTER_TXN_OK);
    other.id = (struct cluster_txn_id){cluster_txn_client(2, 8), 1};
    assert_int_equal(store_stage_run(stage, &other).status, CLUSTER_TXN_DENIED);
    other.id = (struct cluster_txn_id){cluster_txn_client(2, 8), 2};
    assert_int_equal(store_stage_run(stage, &other).status, CLUSTER_TXN_DENIED);
    assert_int_equal(store_stage_range(stage, FROM, TO, 0, 10).pairs[0].version, 4);
}

static void fill(struct store_stage *stage, unsigned count)
{
    char key[16];

    for (unsigned i = 0; i < count; i++) {
        snprintf(key, sizeof key, "/k%04u", i);
        assert_int_equal(store_stage_put(stage, key, "1").status, CLUSTER_TXN_OK);
    }
}

/* r[verify cluster.store.range] */
static void pages_at_one_revision_do_not_mix_revisions(void **state)
{
    struct store_stage *stage = *state;
    char from[16] = FROM, key[16];
    struct store_answer page;
    uint64_t rev;
    size_t seen = 0;

    fill(stage, 20);
    rev = store_stage_sync(stage).rev;
    do {
        page = store_stage_range(stage, from, TO, rev, 3);
        assert_int_equal(page.status, CLUSTER_TXN_OK);
        assert_int_equal(page.rev, rev);
        for (size_t i = 0; i < page.count; i++, seen++) {
            snprintf(key, sizeof key, "/k%04zu", seen);
            assert_string_equal(page.pairs[i].key, key);
            assert_string_equal(page.pairs[i].value, "1");
        }
        snprintf(from, sizeof from, "%s!", page.pairs[page.count - 1].key);
        snprintf(key, sizeof key, "/k%04zu", seen);
        store_stage_put(stage, key, "2");
        store_stage_put(stage, "/k0019x", "2");
        store_stage_delete(stage, "/k0018");
    } while (page.more);
    assert_int_equal(seen, 20);
}

/* r[verify cluster.store.range] */
static void a_page_ends_before_it_is_too_large(void **state)
{
    struct store_stage *stage = *state;
    char *large = malloc(CLUSTER_TXN_VALUE_MAX);
    struct cluster_write put = {CLUSTER_PUT, {0}, {large, CLUSTER_TXN_VALUE_MAX}};
    struct store_answer page;
    char key[16];

    memset(large, 'x', CLUSTER_TXN_VALUE_MAX);
    for (unsigned i = 0; i < 18; i++) {
        struct cluster_txn txn = txn_of(NULL, &put, 1);

        snprintf(key, sizeof key, "/k%04u", i);
        put.key = bytes(key);
        assert_int_equal(store_stage_run(stage, &txn).status, CLUSTER_TXN_OK);
    }
    page = store_stage_range(stage, FROM, TO, 0, 100);
    assert_true(page.more || strcmp(end->scheme, "oracle") == 0);
    assert_true(page.count * (size_t)CLUSTER_TXN_VALUE_MAX <= CLUSTER_METASTORE_PAGE_MAX ||
                !page.more);
    assert_int_equal(page.pairs[0].value_size, CLUSTER_TXN_VALUE_MAX);
    free(large);
}

/* r[verify cluster.store.range] */
static void a_range_of_the_past_is_that_of_then_until_it_is_compacted(void **state)
{
    struct store_stage *stage = *state;
    uint64_t first = store_stage_put(stage, "/a", "1").rev, last;

    store_stage_put(stage, "/a", "2");
    store_stage_put(stage, "/b", "2");
    last = store_stage_delete(stage, "/a").rev;
    assert_string_equal(store_stage_range(stage, FROM, TO, first, 10).pairs[0].value, "1");
    assert_string_equal(store_stage_range(stage, FROM, TO, first + 1, 10).pairs[0].value, "2");
    assert_int_equal(store_stage_range(stage, FROM, TO, last - 1, 10).count, 2);
    assert_int_equal(store_stage_range(stage, FROM, TO, last + 1, 10).status, CLUSTER_TXN_DENIED);
    assert_int_equal(store_stage_compact(stage, last - 1).status, CLUSTER_TXN_OK);
    assert_int_equal(store_stage_range(stage, FROM, TO, first + 1, 10).status,
                     CLUSTER_TXN_COMPACTED);
    assert_int_equal(store_stage_range(stage, FROM, TO, last - 1, 10).count, 2);
    assert_string_equal(store_stage_range(stage, FROM, TO, last - 1, 10).pairs[0].value, "2");
    assert_int_equal(store_stage_compact(stage, last).status, CLUSTER_TXN_OK);
    assert_int_equal(store_stage_range(stage, FROM, TO, last, 10).count, 1);
    assert_int_equal(store_stage_compact(stage, last + 1).status, CLUSTER_TXN_DENIED);
    assert_int_equal(store_stage_compact(stage, first).status, CLUSTER_TXN_OK);
    store_stage_reopen(stage);
    assert_int_equal(store_stage_range(stage, FROM, TO, last - 1, 10).status,
                     CLUSTER_TXN_COMPACTED);
    assert_int_equal(store_stage_range(stage, FROM, TO, 0, 10).count, 1);
}

static void a_span_has_its_first_key_and_not_its_last(void **state)
{
    struct store_stage *stage = *state;
    struct store_answer answer;

    store_stage_put(stage, "/a", "1");
    store_stage_put(stage, "/b", "1");
    store_stage_put(stage, "/b/", "1");
    store_stage_put(stage, "/c", "1");
    answer = store_stage_range(stage, "/b", "/c", 0, 10);
    assert_int_equal(answer.count, 2);
    assert_string_equal(answer.pairs[0].key, "/b");
    assert_string_equal(answer.pairs[1].key, "/b/");
    assert_int_equal(store_stage_range(stage, "/x", "/y", 0, 10).count, 0);
}

static void a_peek_gives_what_was_once_there(void **state)
{
    struct store_stage *stage = *state;
    const struct cluster_span span = {bytes(FROM), bytes(TO), 0, 10};
    struct store_answer answer = {0};

    store_stage_put(stage, "/a", "1");
    assert_int_equal(cluster_metastore_peek(stage->store, &span, store_stage_on_stale, &answer), 0);
    store_stage_wait(stage, &answer);
    assert_int_equal(answer.status, CLUSTER_TXN_OK);
    assert_int_equal(answer.count, 1);
    assert_string_equal(answer.pairs[0].key, "/a");
}

int conformance_run(const struct cluster_metastore_end *of)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, begin, finish)
    const struct CMUnitTest tests[] = {
        EACH(each_transaction_takes_one_revision_above_the_last),
        EACH(revisions_rise_over_a_close),
        EACH(a_transaction_that_changes_nothing_takes_no_revision),
        EACH(each_compare_holds_where_it_says),
        EACH(a_compare_that_fails_runs_the_other_list),
        EACH(a_get_sees_what_its_list_wrote_before),
        EACH(a_key_begins_anew_after_it_was_deleted),
        EACH(a_transaction_that_is_sent_again_does_not_run_again),
        EACH(a_conflict_remains_one_when_it_is_sent_again),
        EACH(what_comes_too_late_is_denied),
        EACH(pages_at_one_revision_do_not_mix_revisions),
        EACH(a_page_ends_before_it_is_too_large),
        EACH(a_range_of_the_past_is_that_of_then_until_it_is_compacted),
        EACH(a_span_has_its_first_key_and_not_its_last),
        EACH(a_peek_gives_what_was_once_there),
    };

    end = of;
    return cmocka_run_group_tests_name(of->scheme, tests, NULL, NULL);
}
