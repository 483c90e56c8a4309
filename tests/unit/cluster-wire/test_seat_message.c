/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/wire/seat_message.h"
#include "tests/unit/cluster-wire/written.h"

#define BYTES(text)              \
    {                            \
        (text), sizeof(text) - 1 \
    }

static const struct cluster_compare compares[] = {{CLUSTER_MOD_EQ, BYTES("/c/a"), {0}, 5},
                                                  {CLUSTER_VALUE_EQ, BYTES("/c/b"), BYTES("v"), 0},
                                                  {CLUSTER_ABSENT, BYTES("/c/c"), {0}, 0}};
static const struct cluster_write then[] = {{CLUSTER_PUT, BYTES("/c/a"), BYTES("value")},
                                            {CLUSTER_DELETE, BYTES("/c/b"), {0}}},
                                  otherwise[] = {{CLUSTER_GET, BYTES("/c/a"), {0}}};
static const struct cluster_txn txn = {.id = {UINT64_C(0x700000002), 9},
                                       .compares = compares,
                                       .then = then,
                                       .otherwise = otherwise,
                                       .compares_count = 3,
                                       .then_count = 2,
                                       .otherwise_count = 1};
static const struct cluster_seat_request request = {.kind = CLUSTER_SEAT_TXN, .number = 4},
                                         range = {.kind = CLUSTER_SEAT_RANGE,
                                                  .number = 5,
                                                  .from = BYTES("/c/"),
                                                  .to = BYTES("/c0"),
                                                  .rev = 7,
                                                  .pairs_max = 20},
                                         peek = {.kind = CLUSTER_SEAT_PEEK,
                                                 .number = 6,
                                                 .from = BYTES("/c/"),
                                                 .to = BYTES("/c0"),
                                                 .pairs_max = 1},
                                         barrier = {.kind = CLUSTER_SEAT_SYNC, .number = 7},
                                         watch = {.kind = CLUSTER_SEAT_WATCH,
                                                  .number = 1,
                                                  .from = BYTES("/c/log"),
                                                  .to = BYTES("/c/log0"),
                                                  .rev = 7},
                                         unwatch = {.kind = CLUSTER_SEAT_UNWATCH, .number = 1};
static const struct {
    const struct cluster_seat_request *request;
    const struct cluster_txn *txn;
} requests[] = {{&request, &txn}, {&range, NULL}, {&peek, NULL},
                {&barrier, NULL}, {&watch, NULL}, {&unwatch, NULL}};
#define REQUESTS (sizeof requests / sizeof *requests)

static const struct cluster_pair pairs[] = {{BYTES("/c/a"), BYTES("1"), 3, 5, 2},
                                            {BYTES("/c/none"), {0}, 0, 0, 0}};
static const struct cluster_change changes[] = {{{BYTES("/c/a"), BYTES("1"), 3, 8, 2}, 5, false},
                                                {{BYTES("/c/b"), {0}, 0, 8, 0}, 2, true}};
static const struct cluster_seat_reply reply = {
    .number = 5, .rev = 7, .more = true, .pairs = {.of = pairs, .count = 2}};
static const struct cluster_seat_event event = {
    .watch = 1, .rev = 8, .changes = {.of = changes, .count = 2}};

static uint8_t to[WRITTEN_MAX];

static struct written write_request(const struct cluster_seat_request *of,
                                    const struct cluster_txn *with)
{
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    assert_int_equal(cluster_seat_message_put_request(&writer, of, with), 0);
    return written_by(&writer);
}

static int try_request(const struct cluster_seat_request *of)
{
    struct hub_writer writer;

    hub_writer_count(&writer);
    return cluster_seat_message_put_request(&writer, of, NULL);
}

static void assert_bytes(struct rapahub_bytes bytes, struct rapahub_bytes as)
{
    assert_int_equal(bytes.size, as.size);
    if (as.size > 0)
        assert_memory_equal(bytes.data, as.data, as.size);
}

/* r[verify cluster.store.seat.message] */
static void a_request_of_each_kind_is_read_as_it_was_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUESTS; i++) {
        const struct cluster_seat_request *of = requests[i].request;
        struct written written = write_request(of, requests[i].txn);
        struct cluster_seat_request out;

        assert_int_equal(cluster_seat_message_read_request(written_bytes(&written), &out), 0);
        assert_int_equal(out.kind, of->kind);
        assert_int_equal(out.number, of->number);
        assert_int_equal(out.rev, of->rev);
        assert_int_equal(out.pairs_max, of->pairs_max);
        assert_bytes(out.from, of->from);
        assert_bytes(out.to, of->to);
        written_release(&written);
    }
}

static void assert_writes(const struct cluster_write *list, const struct cluster_write *as,
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(list[i].kind, as[i].kind);
        assert_bytes(list[i].key, as[i].key);
        assert_bytes(list[i].value, as[i].value);
    }
}

/* r[verify cluster.store.seat.message] */
static void a_transaction_keeps_all_its_lists(void **state)
{
    struct written written = write_request(&request, &txn);
    struct cluster_seat_request out;
    struct cluster_seat_txn taken;

    (void)state;
    assert_int_equal(cluster_seat_message_read_request(written_bytes(&written), &out), 0);
    cluster_seat_message_take_txn(&out, &taken);
    assert_int_equal(taken.txn.id.client, txn.id.client);
    assert_int_equal(taken.txn.id.seq, txn.id.seq);
    assert_int_equal(taken.txn.compares_count, 3);
    assert_int_equal(taken.txn.then_count, 2);
    assert_int_equal(taken.txn.otherwise_count, 1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(taken.txn.compares[i].kind, compares[i].kind);
        assert_int_equal(taken.txn.compares[i].rev, compares[i].rev);
        assert_bytes(taken.txn.compares[i].key, compares[i].key);
        assert_bytes(taken.txn.compares[i].value, compares[i].value);
    }
    assert_writes(taken.txn.then, then, 2);
    assert_writes(taken.txn.otherwise, otherwise, 1);
    written_release(&written);
}

static struct written write_reply(void)
{
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    assert_int_equal(cluster_seat_message_put_reply(&writer, &reply), 0);
    return written_by(&writer);
}

static struct written write_event(void)
{
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    assert_int_equal(cluster_seat_message_put_event(&writer, &event), 0);
    return written_by(&writer);
}

static void a_reply_keeps_its_pairs(void **state)
{
    struct written written = write_reply();
    struct cluster_seat_reply out;
    struct cluster_pair pair;

    (void)state;
    assert_int_equal(cluster_seat_message_read_reply(written_bytes(&written), &out), 0);
    assert_int_equal(out.number, 5);
    assert_int_equal(out.rev, 7);
    assert_true(out.more);
    for (size_t i = 0; i < 2; i++) {
        assert_true(cluster_seat_message_next_pair(&out.pairs, &pair));
        assert_bytes(pair.key, pairs[i].key);
        assert_bytes(pair.value, pairs[i].value);
        assert_int_equal(pair.create_rev, pairs[i].create_rev);
        assert_int_equal(pair.mod_rev, pairs[i].mod_rev);
        assert_int_equal(pair.version, pairs[i].version);
    }
    assert_false(cluster_seat_message_next_pair(&out.pairs, &pair));
    written_release(&written);
}

static void an_event_keeps_its_changes(void **state)
{
    struct written written = write_event();
    struct cluster_seat_event out;
    struct cluster_change change;

    (void)state;
    assert_int_equal(cluster_seat_message_read_event(written_bytes(&written), &out), 0);
    assert_int_equal(out.watch, 1);
    assert_int_equal(out.rev, 8);
    for (size_t i = 0; i < 2; i++) {
        assert_true(cluster_seat_message_next_change(&out.changes, &change));
        assert_bytes(change.pair.key, changes[i].pair.key);
        assert_bytes(change.pair.value, changes[i].pair.value);
        assert_int_equal(change.pair.mod_rev, 8);
        assert_int_equal(change.prev_mod, changes[i].prev_mod);
        assert_int_equal(change.deleted, changes[i].deleted);
    }
    assert_false(cluster_seat_message_next_change(&out.changes, &change));
    written_release(&written);
}

/* Each beginning of a message, and each with a byte after it. r[verify cluster.wire.strict] */
static void a_message_that_is_cut_or_longer_is_refused(void **state)
{
    struct written all[] = {write_request(&request, &txn), write_request(&range, NULL),
                            write_reply(), write_event()};

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (size_t size = 0; size <= all[i].size; size++) {
            struct written cut = written_cut(&all[i], size);
            struct rapahub_bytes bytes = written_bytes(&cut);
            struct cluster_seat_request asked;
            struct cluster_seat_reply replied;
            struct cluster_seat_event told;
            int r = i < 2    ? cluster_seat_message_read_request(bytes, &asked)
                    : i == 2 ? cluster_seat_message_read_reply(bytes, &replied)
                             : cluster_seat_message_read_event(bytes, &told);

            assert_int_equal(r, size == all[i].size ? 0 : RAPAHUB_EFORMAT);
            written_release(&cut);
        }
        written_release(&all[i]);
    }
}

#define REFUSES(of, member, value)                             \
    do {                                                       \
        struct cluster_seat_request wrong = (of);              \
        wrong.member = (value);                                \
        assert_int_equal(try_request(&wrong), RAPAHUB_EINVAL); \
    } while (0)

/* r[verify cluster.store.seat.message] */
static void a_request_has_what_its_kind_has_and_nothing_else(void **state)
{
    const struct rapahub_bytes some = BYTES("x");

    (void)state;
    REFUSES(barrier, kind, 0);
    REFUSES(barrier, kind, CLUSTER_SEAT_KINDS);
    REFUSES(barrier, number, 0);
    REFUSES(barrier, from, some);
    REFUSES(barrier, to, some);
    REFUSES(barrier, rev, 1);
    REFUSES(unwatch, pairs_max, 1);
    REFUSES(range, pairs_max, 0);
    REFUSES(range, client, 1);
    REFUSES(peek, seq, 1);
    REFUSES(watch, pairs_max, 1);
    REFUSES(watch, then.count, 1);
    REFUSES(request, from, some);
}

/* Writes what a bad peer could, by kinds that no writer of ours knows. */
static void kinds_of_compares_and_writes_are_known_ones(void **state)
{
    const struct cluster_compare compare = {
        (enum cluster_compare_kind)CLUSTER_COMPARE_KINDS, BYTES("/c/a"), {0}, 1};
    const struct cluster_write write = {
        (enum cluster_write_kind)CLUSTER_WRITE_KINDS, BYTES("/c/a"), {0}};
    const struct cluster_txn wrong[] = {{.compares = &compare, .compares_count = 1},
                                        {.then = &write, .then_count = 1},
                                        {.otherwise = &write, .otherwise_count = 1}};
    struct hub_writer writer;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        hub_writer_count(&writer);
        assert_int_equal(cluster_seat_message_put_request(&writer, &request, &wrong[i]),
                         RAPAHUB_EINVAL);
    }
}

static int try_reply(struct cluster_seat_reply wrong)
{
    struct hub_writer writer;

    hub_writer_count(&writer);
    return cluster_seat_message_put_reply(&writer, &wrong);
}

static int try_event(struct cluster_seat_event wrong)
{
    struct hub_writer writer;

    hub_writer_count(&writer);
    return cluster_seat_message_put_event(&writer, &wrong);
}

/* r[verify cluster.store.seat.message] */
static void an_answer_that_no_seat_gives_is_refused(void **state)
{
    const struct cluster_pair no_key = {.mod_rev = 1},
                              foreign = {BYTES("/a"), {0}, 1, UINT64_MAX, 1};
    const struct cluster_change never = {{BYTES("/a"), {0}, 0, UINT64_MAX, 0}, 0, true};
    const struct cluster_list none = {.of = &no_key, .count = 1},
                              bad = {.of = &foreign, .count = 1};

    (void)state;
    assert_int_equal(try_reply((struct cluster_seat_reply){.number = 1}), 0);
    assert_int_equal(try_reply((struct cluster_seat_reply){.number = 0}), RAPAHUB_EINVAL);
    assert_int_equal(
        try_reply((struct cluster_seat_reply){.number = 1, .status = CLUSTER_TXN_STATUSES}),
        RAPAHUB_EINVAL);
    assert_int_equal(try_reply((struct cluster_seat_reply){.number = 1, .rev = UINT64_MAX}),
                     RAPAHUB_EINVAL);
    assert_int_equal(try_reply((struct cluster_seat_reply){.number = 1, .pairs = none}),
                     RAPAHUB_EINVAL);
    assert_int_equal(try_reply((struct cluster_seat_reply){.number = 1, .pairs = bad}),
                     RAPAHUB_EINVAL);
    assert_int_equal(try_event((struct cluster_seat_event){.watch = 1, .rev = 3}), 0);
    assert_int_equal(try_event((struct cluster_seat_event){.watch = 0, .rev = 3}), RAPAHUB_EINVAL);
    assert_int_equal(try_event((struct cluster_seat_event){
                         .watch = 1, .status = CLUSTER_TXN_COMPACTED, .changes = event.changes}),
                     RAPAHUB_EINVAL);
    assert_int_equal(
        try_event((struct cluster_seat_event){.watch = 1, .changes = {.of = &never, .count = 1}}),
        RAPAHUB_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_of_each_kind_is_read_as_it_was_written),
        cmocka_unit_test(a_transaction_keeps_all_its_lists),
        cmocka_unit_test(a_reply_keeps_its_pairs),
        cmocka_unit_test(an_event_keeps_its_changes),
        cmocka_unit_test(a_message_that_is_cut_or_longer_is_refused),
        cmocka_unit_test(a_request_has_what_its_kind_has_and_nothing_else),
        cmocka_unit_test(kinds_of_compares_and_writes_are_known_ones),
        cmocka_unit_test(an_answer_that_no_seat_gives_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
