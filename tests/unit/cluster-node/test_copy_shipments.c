/* SPDX-License-Identifier: Apache-2.0 */
/* Copies on their way to other holders: what is sent, what is waited for, and what a holder may
 * say. The links are the test's. */
#include <rapahub/log.h>

#include "cluster/node/holders/copy_shipments.h"
#include "cluster/store/digest.h"
#include "hub/base/clock.h"
#include "tests/unit/cluster-node/holders_stage.h"

#define LARGE (6 * PIECE + 5)

static struct cluster_copy_shipments *shipments;
static uint8_t bytes[LARGE];

struct ends {
    unsigned count;
    int status;
    bool whole;
    uint32_t joined;
};

/* They outlive their test: what is open ends with its stage. */
static struct ends ends, one, two, small, away, there;

static void on_done(void *user, const struct cluster_copy_shipment_end *shipped)
{
    struct ends *to = user;

    to->count++;
    to->status = shipped->status;
    to->whole = shipped->whole;
    to->joined = shipped->joined;
}

static int begin(void **state)
{
    (void)state;
    core_begin();
    ends = one = two = small = away = there = (struct ends){0};
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (uint8_t)(i * UINT64_C(2654435761) >> 13);
    assert_int_equal(cluster_copy_shipments_create(core, NULL, &shipments), 0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    cluster_copy_shipments_stop(shipments);
    cluster_copy_shipments_release(&shipments);
    core_end();
    return 0;
}

static uint64_t pass(uint64_t ns)
{
    return cluster_copy_shipments_step(shipments, hub_clock_now() + ns);
}

/* A copy of `size` bytes; `base`: it changes the one of this seq. */
static int ship(struct ends *to, uint64_t seq, uint64_t base, size_t size)
{
    const struct cluster_copy_shipment_order order = {
        .pool = POOL,
        .container = CONTAINER,
        .copy = {.token = TOKEN,
                 .seq = seq,
                 .base_token = base ? TOKEN : 0,
                 .base_seq = base,
                 .state = {bytes, size / 2},
                 .dedup = {bytes + size / 2, size - size / 2}},
        .deadline_ns = hub_clock_after(60 * HUB_SECOND),
        .on_done = on_done,
        .user = to};

    return cluster_copy_shipments_begin(shipments, &order);
}

static int say(uint32_t from, uint64_t seq, uint8_t how, uint64_t offset)
{
    const struct cluster_body_copy_taken taken = {.pool = POOL,
                                                  .container = CONTAINER,
                                                  .token = TOKEN,
                                                  .seq = seq,
                                                  .how = how,
                                                  .offset = offset};

    return cluster_copy_shipments_taken(shipments, from, &taken);
}

static void up(uint32_t node)
{
    links.up[node] = true;
    cluster_copy_shipments_up(shipments, node);
}

static void lose(uint32_t node)
{
    links.up[node] = false;
    cluster_copy_shipments_lost(shipments, node);
}

/* ---- tests ---- */

static void a_lone_holder_is_sent_nothing(void **state)
{
    (void)state;
    assert_int_equal(ship(&ends, 1, 0, 10), 0); /* there is no record */
    HOLDERS(0, OWN);
    assert_int_equal(ship(&ends, 1, 0, 10), 0);
    (void)pass(0);
    assert_int_equal(ends.count + links.count, 0);
}

/* r[verify cluster.copy.ship] r[verify cluster.copy.named] */
static void a_copy_ends_when_all_holders_keep_it(void **state)
{
    struct cluster_digest digest;
    uint8_t wanted[CLUSTER_DIGEST_SIZE];
    struct cluster_body body;
    bool has;

    (void)state;
    HOLDERS(4, OWN, 2);
    up(2);
    up(4);
    assert_int_equal(ship(&ends, 5, 4, 10), 1);
    assert_int_equal(links.count, 2);
    body = links_body(0, CLUSTER_FRAME_COPY_PUT, 2);
    (void)links_body(1, CLUSTER_FRAME_COPY_PUT, 4);
    assert_true(body.copy_put.seq == 5 && body.copy_put.base_seq == 4);
    assert_memory_equal(body.copy_put.piece.data, bytes, 10);
    assert_int_equal(cluster_digest_begin(&digest), 0);
    cluster_digest_add(&digest, bytes, 10);
    cluster_digest_end(&digest, wanted);
    assert_memory_equal(body.copy_put.digest.data, wanted, sizeof wanted);
    assert_int_equal(say(2, 5, CLUSTER_COPY_TAKEN_KEPT, 0), 0);
    assert_true(cluster_copy_shipments_has(shipments, POOL, CONTAINER, 2, &has) && has);
    assert_true(cluster_copy_shipments_has(shipments, POOL, CONTAINER, 4, &has) && !has);
    assert_int_equal(say(3, 5, CLUSTER_COPY_TAKEN_KEPT, 0), 0); /* a stranger is passed over */
    assert_int_equal(say(4, 4, CLUSTER_COPY_TAKEN_KEPT, 0), 0); /* so is another copy */
    (void)pass(0);
    assert_int_equal(ends.count, 0);
    assert_int_equal(say(4, 5, CLUSTER_COPY_TAKEN_KEPT, 0), 0);
    (void)pass(0);
    assert_int_equal(ends.count, 1);
    assert_true(ends.status == 0 && ends.joined == 4 && !ends.whole);
    assert_int_equal(say(4, 5, CLUSTER_COPY_TAKEN_KEPT, 0), 0); /* it has ended */
}

/* Else a holder that never comes back would keep out each one that could take its place.
 * r[verify cluster.copy.named] */
static void one_that_joins_has_its_copy_whoever_has_not(void **state)
{
    (void)state;
    HOLDERS(4, OWN, 2);
    up(4);
    assert_int_equal(ship(&ends, 5, 0, 10), 1);
    assert_int_equal(say(4, 5, CLUSTER_COPY_TAKEN_KEPT, 0), 0);
    (void)pass(61 * HUB_SECOND); /* node 2 is away */
    assert_int_equal(ends.count, 1);
    assert_true(ends.status < 0 && ends.joined == 4);
}

/* What its own disk has of it the one knows who makes the copy. */
static void this_node_joins_too(void **state)
{
    (void)state;
    HOLDERS(OWN, 2);
    up(2);
    assert_int_equal(ship(&ends, 5, 0, 10), 1);
    assert_int_equal(say(2, 5, CLUSTER_COPY_TAKEN_KEPT, 0), 0);
    (void)pass(0);
    assert_true(ends.count == 1 && ends.status == 0 && ends.joined == OWN);
}

/* No more than a few pieces are ahead of what the holder has. r[verify cluster.copy.ship] */
static void a_large_copy_goes_in_pieces(void **state)
{
    (void)state;
    HOLDERS(0, OWN, 2);
    up(2);
    assert_int_equal(ship(&ends, 1, 0, LARGE), 1);
    assert_int_equal(links.count, CLUSTER_COPY_SHIPMENTS_AHEAD);
    assert_int_equal(say(2, 1, CLUSTER_COPY_TAKEN_MORE, PIECE), 0);
    assert_int_equal(links.count, CLUSTER_COPY_SHIPMENTS_AHEAD + 1);
    assert_int_equal(say(2, 1, CLUSTER_COPY_TAKEN_MORE, 4 * PIECE), 0);
    assert_int_equal(links.count, 7);
    for (unsigned i = 0; i < 7; i++) {
        struct cluster_body body = links_body(i, CLUSTER_FRAME_COPY_PUT, 2);

        assert_int_equal(body.copy_put.offset, i * PIECE);
        assert_memory_equal(body.copy_put.piece.data, bytes + i * PIECE, body.copy_put.piece.size);
        assert_int_equal(body.copy_put.digest.size, i == 6 ? 32 : 0);
    }
    assert_int_equal(say(2, 1, CLUSTER_COPY_TAKEN_KEPT, 0), 0);
    (void)pass(0);
    assert_int_equal(ends.count, 1);
}

/* A second large one waits for its turn; small ones go. r[verify cluster.copy.ship] */
static void one_large_copy_goes_at_a_time(void **state)
{
    (void)state;
    HOLDERS(0, OWN, 2);
    up(2);
    assert_int_equal(ship(&one, 1, 0, LARGE), 1);
    assert_int_equal(ship(&two, 2, 0, LARGE), 1);
    assert_int_equal(ship(&small, 3, 0, 10), 1);
    assert_int_equal(links.count, CLUSTER_COPY_SHIPMENTS_AHEAD + 1);
    assert_int_equal(
        links_body(CLUSTER_COPY_SHIPMENTS_AHEAD, CLUSTER_FRAME_COPY_PUT, 2).copy_put.seq, 3);
    assert_int_equal(say(2, 1, CLUSTER_COPY_TAKEN_MORE, 4 * PIECE), 0); /* all is sent */
    assert_true(links.count > 8);
    assert_int_equal(links_body(8, CLUSTER_FRAME_COPY_PUT, 2).copy_put.seq, 2);
}

/* One before it that was refused for now comes after it, and one that has ended leaves its place.
 * r[verify cluster.copy.ship] */
static void a_large_copy_waits_for_a_later_one_too(void **state)
{
    (void)state;
    HOLDERS(0, OWN, 2, 3);
    up(2);
    assert_int_equal(ship(&one, 1, 0, LARGE), 1);
    assert_int_equal(say(2, 1, CLUSTER_COPY_TAKEN_LATER, 0), 0);
    up(3);
    links_clear();
    assert_int_equal(ship(&two, 2, 0, LARGE), 1);
    assert_int_equal(links.count, CLUSTER_COPY_SHIPMENTS_AHEAD);
    (void)pass(HUB_SECOND); /* the first one may be sent to node 2, but for the second */
    assert_int_equal(links.count, CLUSTER_COPY_SHIPMENTS_AHEAD);
    assert_int_equal(say(3, 1, CLUSTER_COPY_TAKEN_LATER, 0), 0);
    assert_int_equal(say(3, 2, CLUSTER_COPY_TAKEN_REFUSED, 0), 0);
    links_clear();
    (void)pass(0);
    assert_int_equal(two.count, 1);
    assert_int_equal(links.count, CLUSTER_COPY_SHIPMENTS_AHEAD);
    assert_int_equal(links_body(0, CLUSTER_FRAME_COPY_PUT, 2).copy_put.seq, 1);
}

/* r[verify cluster.copy.ship] */
static void a_lost_link_is_waited_for(void **state)
{
    (void)state;
    HOLDERS(0, OWN, 2);
    assert_int_equal(ship(&ends, 1, 0, LARGE), 1);
    assert_int_equal(links.count, 0);
    up(2);
    assert_int_equal(links.count, CLUSTER_COPY_SHIPMENTS_AHEAD);
    lose(2);
    assert_int_equal(say(2, 1, CLUSTER_COPY_TAKEN_MORE, PIECE), 0); /* it came before */
    (void)pass(HUB_SECOND);
    assert_int_equal(ends.count, 0);
    links_clear();
    up(2);
    assert_int_equal(links_body(0, CLUSTER_FRAME_COPY_PUT, 2).copy_put.offset, 0);
    links_clear();
    assert_int_equal(say(2, 1, CLUSTER_COPY_TAKEN_MORE, 6 * PIECE), 0); /* it had these */
    assert_int_equal(links.count, 1);
    assert_int_equal(links_body(0, CLUSTER_FRAME_COPY_PUT, 2).copy_put.offset, 6 * PIECE);
}

/* r[verify cluster.copy.named] */
static void a_holder_that_is_named_no_more_is_not_waited_for(void **state)
{
    (void)state;
    HOLDERS(0, OWN, 2, 3);
    up(2);
    assert_int_equal(ship(&ends, 1, 0, 10), 1);
    assert_int_equal(say(2, 1, CLUSTER_COPY_TAKEN_KEPT, 0), 0);
    (void)pass(HUB_SECOND);
    assert_int_equal(ends.count, 0);
    HOLDERS(0, OWN, 2);
    cluster_copy_shipments_look(shipments, POOL, CONTAINER);
    (void)pass(0);
    assert_int_equal(ends.count, 1);
    assert_int_equal(ends.status, 0);
}

/* r[verify cluster.copy.taken] */
static void what_a_holder_lacks_is_asked_for(void **state)
{
    (void)state;
    HOLDERS(0, OWN, 2);
    up(2);
    assert_int_equal(ship(&ends, 5, 4, 10), 1);
    assert_int_equal(say(2, 5, CLUSTER_COPY_TAKEN_WHOLE, 0), 0);
    (void)pass(0);
    assert_true(ends.count == 1 && ends.whole && ends.status < 0);
}

/* r[verify cluster.copy.taken] */
static void later_means_later(void **state)
{
    (void)state;
    HOLDERS(0, OWN, 2);
    up(2);
    assert_int_equal(ship(&ends, 5, 4, 10), 1);
    assert_int_equal(say(2, 5, CLUSTER_COPY_TAKEN_LATER, 0), 0);
    assert_int_equal(links.count, 1);
    assert_true(pass(0) <= hub_clock_now() + HUB_SECOND);
    (void)pass(HUB_SECOND);
    assert_int_equal(links.count, 2);
    assert_int_equal(say(2, 5, CLUSTER_COPY_TAKEN_REFUSED, 0), 0);
    (void)pass(0);
    assert_true(ends.count == 1 && ends.status == RAPAHUB_ESTALE && !ends.whole);
}

/* r[verify cluster.copy.taken] */
static void a_holder_that_lies_is_found_out(void **state)
{
    (void)state;
    HOLDERS(0, OWN, 2);
    up(2);
    assert_int_equal(ship(&ends, 1, 0, LARGE), 1);
    assert_int_equal(say(2, 1, CLUSTER_COPY_TAKEN_KEPT, 0),
                     RAPAHUB_EPROTOCOL); /* not all is sent */
    assert_int_equal(say(2, 1, CLUSTER_COPY_TAKEN_WHOLE, 0), RAPAHUB_EPROTOCOL); /* it is whole */
    assert_int_equal(say(2, 1, CLUSTER_COPY_TAKEN_MORE, 7 * PIECE), RAPAHUB_EPROTOCOL);
    (void)pass(0);
    assert_int_equal(ends.count, 0);
}

static unsigned alarms, ends_of_alarms;

static void hear(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user, (void)level, (void)topic;
    alarms += strstr(text, "ALARM: container 3 ") && strstr(text, "node 2");
    ends_of_alarms += strstr(text, "goes on") != NULL;
}

/* r[verify cluster.copy.alarm] */
static void a_holder_that_is_waited_for_is_named(void **state)
{
    (void)state;
    alarms = ends_of_alarms = 0;
    rapahub_log_to(hear, NULL, RAPAHUB_LOG_WARN);
    HOLDERS(0, OWN, 2);
    assert_int_equal(ship(&ends, 1, 0, 10), 1);
    (void)pass(HUB_SECOND);
    assert_int_equal(alarms, 0);
    for (unsigned i = 0; i < 3; i++)
        (void)pass(3 * HUB_SECOND);
    assert_int_equal(alarms, 1);
    up(2);
    assert_int_equal(say(2, 1, CLUSTER_COPY_TAKEN_KEPT, 0), 0);
    (void)pass(0);
    assert_true(ends.count == 1 && ends_of_alarms == 1);
    rapahub_log_to(NULL, NULL, RAPAHUB_LOG_WARN);
}

/* r[verify cluster.copy.ship] */
static void a_copy_ends_at_its_deadline(void **state)
{
    (void)state;
    HOLDERS(0, OWN, 2);
    up(2);
    assert_int_equal(ship(&ends, 1, 0, 10), 1);
    (void)pass(3 * HUB_SECOND); /* an alarm */
    assert_int_equal(ends.count, 0);
    (void)pass(61 * HUB_SECOND);
    assert_true(ends.count == 1 && ends.status == RAPAHUB_ETIMEDOUT);
}

static void a_new_life_ends_the_copies_of_the_last(void **state)
{
    (void)state;
    HOLDERS(0, OWN, 2);
    assert_int_equal(ship(&ends, 1, 0, 10), 1);
    cluster_copy_shipments_cancel(shipments, POOL, CONTAINER);
    assert_int_equal(ends.count, 0); /* never inside of it */
    (void)pass(0);
    assert_true(ends.count == 1 && ends.status < 0);
}

/* A node that stops waits for a holder with a link, and for no other. */
static void a_node_that_stops_does_not_wait_for_one_that_is_away(void **state)
{
    (void)state;
    HOLDERS(0, OWN, 2);
    assert_int_equal(ship(&away, 1, 0, 10), 1);
    cluster_copy_shipments_hurry(shipments);
    (void)pass(0);
    assert_true(away.count == 1 && away.status < 0);
    up(2);
    assert_int_equal(ship(&there, 2, 0, 10), 1);
    (void)pass(0);
    assert_int_equal(there.count, 0);
    cluster_copy_shipments_stop(shipments);
    assert_true(there.count == 1 && there.status == -ECANCELED);
}

/* r[verify cluster.copy.ship] */
static void so_many_copies_are_open_at_a_node(void **state)
{
    static struct ends all[CLUSTER_COPY_SHIPMENTS_OPEN + 3];

    (void)state;
    memset(all, 0, sizeof all);
    HOLDERS(0, OWN, 2);
    up(2);
    for (unsigned i = 0; i < CLUSTER_COPY_SHIPMENTS_OPEN + 3; i++)
        assert_int_equal(ship(&all[i], i + 1, 0, 10), 1);
    assert_int_equal(links.count, CLUSTER_COPY_SHIPMENTS_OPEN);
    assert_int_equal(say(2, 1, CLUSTER_COPY_TAKEN_KEPT, 0), 0);
    assert_int_equal(links.count, CLUSTER_COPY_SHIPMENTS_OPEN + 1);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
    const struct CMUnitTest tests[] = {TEST(a_lone_holder_is_sent_nothing),
                                       TEST(a_copy_ends_when_all_holders_keep_it),
                                       TEST(one_that_joins_has_its_copy_whoever_has_not),
                                       TEST(this_node_joins_too),
                                       TEST(a_large_copy_goes_in_pieces),
                                       TEST(one_large_copy_goes_at_a_time),
                                       TEST(a_large_copy_waits_for_a_later_one_too),
                                       TEST(a_lost_link_is_waited_for),
                                       TEST(a_holder_that_is_named_no_more_is_not_waited_for),
                                       TEST(what_a_holder_lacks_is_asked_for),
                                       TEST(later_means_later),
                                       TEST(a_holder_that_lies_is_found_out),
                                       TEST(a_holder_that_is_waited_for_is_named),
                                       TEST(a_copy_ends_at_its_deadline),
                                       TEST(a_new_life_ends_the_copies_of_the_last),
                                       TEST(a_node_that_stops_does_not_wait_for_one_that_is_away),
                                       TEST(so_many_copies_are_open_at_a_node)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
