/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of other nodes that are kept, sealed and given back, on a disk of their own; and all that
 * a hostile node may send. The links are the test's. */
#include "cluster/node/holders/copy_keeper.h"
#include "hub/base/clock.h"
#include "tests/store/thread_stage.h"
#include "tests/unit/cluster-node/holders_stage.h"

#define OWNER 2
#define LARGE (2 * PIECE + 5)

static struct cluster_copy_keeper *keeper;
static struct thread_stage *thread;
static uint8_t bytes[LARGE], digest[CLUSTER_DIGEST_SIZE];

static void compute(size_t size)
{
    struct cluster_digest of;

    assert_int_equal(cluster_digest_begin(&of), 0);
    cluster_digest_add(&of, bytes, size);
    cluster_digest_end(&of, digest);
}

static int begin(void **state)
{
    int status = thread_stage_begin(state);

    thread = *state;
    core_begin();
    core_put_entry(OWNER, EPOCH);
    HOLDERS(0, OWN, OWNER);
    links.up[OWNER] = links.up[3] = true;
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (uint8_t)(i * UINT64_C(2654435761) >> 13);
    assert_int_equal(cluster_copy_keeper_create(core, NULL, thread->thread, &keeper), 0);
    return status;
}

static int end(void **state)
{
    struct cluster_store_thread_stats stats = {.open = 1};

    while (stats.open > 0) {
        thread_stage_step(thread, 10);
        cluster_store_thread_stats(thread->thread, &stats);
    }
    cluster_copy_keeper_release(&keeper);
    core_end();
    return thread_stage_end(state);
}

static void await_sent(unsigned count)
{
    uint64_t until_ns = hub_clock_after(60 * HUB_SECOND);

    while (links.count < count && hub_clock_left(until_ns) > 0)
        thread_stage_step(thread, 10);
    assert_int_equal(links.count, count);
}

/* A copy of `size` bytes, in two parts; its piece at `offset`. */
static struct cluster_body_copy_put copy_of(uint64_t token, uint64_t seq, uint64_t base,
                                            size_t size, uint64_t offset)
{
    size_t left = size - offset;
    struct cluster_body_copy_put put = {.pool = POOL,
                                        .container = CONTAINER,
                                        .token = token,
                                        .seq = seq,
                                        .base_token = base ? token : 0,
                                        .base_seq = base,
                                        .state_size = size / 2,
                                        .dedup_size = size - size / 2,
                                        .offset = offset};

    put.piece = (struct rapahub_bytes){bytes + offset, left < PIECE ? left : PIECE};
    if (left <= PIECE)
        put.digest = (struct rapahub_bytes){digest, sizeof digest};
    return put;
}

static int send(uint32_t from, uint64_t token, uint64_t seq, uint64_t base)
{
    const struct cluster_body_copy_put put = copy_of(token, seq, base, 10, 0);

    compute(10);
    return cluster_copy_keeper_put(keeper, from, &put);
}

/* The last frame that was sent says that of a copy. */
static void expect(uint8_t how, uint64_t seq)
{
    struct cluster_body body =
        links_body(links.count - 1, CLUSTER_FRAME_COPY_TAKEN, links.sent[links.count - 1].to);

    assert_int_equal(body.copy_taken.how, how);
    assert_int_equal(body.copy_taken.seq, seq);
}

static void sealed(uint32_t from, uint64_t token, int status, uint64_t seq)
{
    const struct cluster_body_copy_seal seal = {POOL, token, CONTAINER};
    struct cluster_body body;
    unsigned count = links.count;

    assert_int_equal(cluster_copy_keeper_seal(keeper, from, &seal), 0);
    await_sent(count + 1);
    body = links_body(count, CLUSTER_FRAME_COPY_SEALED, from);
    assert_int_equal(body.copy_sealed.status, status);
    assert_int_equal(body.copy_sealed.seq, seq);
}

/* ---- tests ---- */

/* r[verify cluster.copy.put] r[verify cluster.copy.keep] */
static void a_copy_is_kept_and_changes_follow_it(void **state)
{
    (void)state;
    assert_int_equal(send(OWNER, TOKEN, 5, 4), 0); /* it has no copy 4 */
    await_sent(1);
    expect(CLUSTER_COPY_TAKEN_WHOLE, 5);
    assert_int_equal(send(OWNER, TOKEN, 6, 0), 0);
    await_sent(2);
    expect(CLUSTER_COPY_TAKEN_KEPT, 6);
    assert_int_equal(send(OWNER, TOKEN, 7, 6), 0);
    await_sent(3);
    expect(CLUSTER_COPY_TAKEN_KEPT, 7);
    assert_int_equal(send(OWNER, TOKEN, 7, 6), 0); /* once more: it is there */
    await_sent(4);
    expect(CLUSTER_COPY_TAKEN_KEPT, 7);
    assert_int_equal(send(OWNER, TOKEN, 6, 0), 0);
    await_sent(5);
    expect(CLUSTER_COPY_TAKEN_REFUSED, 6); /* it is older */
}

/* r[verify cluster.copy.keep] */
static void only_the_owner_of_now_may(void **state)
{
    (void)state;
    assert_int_equal(send(3, TOKEN, 1, 0), 0);
    expect(CLUSTER_COPY_TAKEN_REFUSED, 1);
    assert_int_equal(send(OWNER, (EPOCH - 1) << 16, 1, 0), 0);
    expect(CLUSTER_COPY_TAKEN_REFUSED, 1);
    assert_int_equal(send(OWNER, UINT64_C(2047) << 52 | TOKEN, 1, 0), 0); /* above all to come */
    expect(CLUSTER_COPY_TAKEN_REFUSED, 1);
    assert_int_equal(send(OWNER, (EPOCH + 1) << 16, 1, 0), 0); /* the map may be behind */
    expect(CLUSTER_COPY_TAKEN_LATER, 1);
    HOLDERS(0, OWNER, 3);
    assert_int_equal(send(OWNER, TOKEN, 1, 0), 0); /* not named */
    expect(CLUSTER_COPY_TAKEN_LATER, 1);
    HOLDERS(OWN, OWNER);
    assert_int_equal(send(OWNER, TOKEN, 1, 0), 0); /* it joins */
    await_sent(6);
    expect(CLUSTER_COPY_TAKEN_KEPT, 1);
}

/* r[verify cluster.copy.put] */
static void other_bytes_are_not_kept(void **state)
{
    struct cluster_body_copy_put put = copy_of(TOKEN, 1, 0, 10, 0);

    (void)state;
    compute(9);
    assert_int_equal(cluster_copy_keeper_put(keeper, OWNER, &put), 0);
    await_sent(1);
    expect(CLUSTER_COPY_TAKEN_REFUSED, 1);
    sealed(OWNER, TOKEN, 0, 0);
}

static int send_piece(uint64_t seq, unsigned piece)
{
    const struct cluster_body_copy_put put = copy_of(TOKEN, seq, 0, LARGE, (uint64_t)piece * PIECE);

    return cluster_copy_keeper_put(keeper, OWNER, &put);
}

/* Each piece is answered; what comes twice does no harm. r[verify cluster.copy.put] */
static void a_large_copy_comes_in_pieces(void **state)
{
    (void)state;
    compute(LARGE);
    assert_int_equal(send_piece(1, 1), 0); /* without the first it is left out */
    expect(CLUSTER_COPY_TAKEN_LATER, 1);
    links_clear();
    assert_int_equal(send_piece(1, 0), 0);
    assert_int_equal(send_piece(1, 0), 0);
    assert_int_equal(links_body(1, CLUSTER_FRAME_COPY_TAKEN, OWNER).copy_taken.offset, PIECE);
    assert_int_equal(send_piece(1, 1), 0);
    expect(CLUSTER_COPY_TAKEN_MORE, 1);
    assert_int_equal(send_piece(2, 0), 0); /* another one: that of before is given up */
    assert_int_equal(send_piece(1, 2), 0);
    expect(CLUSTER_COPY_TAKEN_LATER, 1);
    assert_int_equal(links.count, 5);
    assert_int_equal(send_piece(2, 2), RAPAHUB_EPROTOCOL); /* one is left out */
    assert_int_equal(send_piece(2, 1), 0);
    assert_int_equal(send_piece(2, 2), 0);
    await_sent(7);
    expect(CLUSTER_COPY_TAKEN_KEPT, 2);
}

/* r[verify cluster.copy.put] */
static void a_copy_that_does_not_go_on_is_forgotten(void **state)
{
    uint64_t now_ns = hub_clock_now();

    (void)state;
    assert_int_equal(send_piece(1, 0), 0);
    assert_true(cluster_copy_keeper_step(keeper, now_ns) <=
                now_ns + 2 * CLUSTER_COPY_KEEPER_STALL_NS);
    assert_int_equal(cluster_copy_keeper_step(keeper, now_ns + 2 * CLUSTER_COPY_KEEPER_STALL_NS),
                     HUB_NEVER);
    assert_int_equal(send_piece(1, 1), 0); /* it begins anew */
    expect(CLUSTER_COPY_TAKEN_LATER, 1);
}

/* More than one node may give so much: the second one waits. r[verify cluster.copy.put] */
static void copies_under_way_are_bounded(void **state)
{
    struct cluster_body_copy_put put = copy_of(TOKEN, 1, 0, LARGE, 0);

    (void)state;
    put.state_size = CLUSTER_COPY_KEEPER_BYTES_MAX;
    assert_int_equal(cluster_copy_keeper_put(keeper, OWNER, &put), 0);
    expect(CLUSTER_COPY_TAKEN_MORE, 1);
    core_put_entry(3, EPOCH);
    assert_int_equal(cluster_copy_keeper_put(keeper, 3, &put), 0);
    expect(CLUSTER_COPY_TAKEN_LATER, 1);
}

/* r[verify cluster.copy.put] */
static void a_node_that_floods_is_cut_off(void **state)
{
    int status = 0;

    (void)state;
    for (unsigned i = 0; status == 0 && i < 2 * CLUSTER_COPY_KEEPER_OPEN_MAX; i++)
        status = send(OWNER, TOKEN, i + 1, 0); /* the disk has no turn */
    assert_int_equal(status, RAPAHUB_EPROTOCOL);
    await_sent(CLUSTER_COPY_KEEPER_OPEN_MAX);
}

/* r[verify cluster.copy.seal] */
static void a_sealed_copy_takes_none_of_an_earlier_life(void **state)
{
    (void)state;
    assert_int_equal(send(OWNER, TOKEN, 1, 0), 0);
    await_sent(1);
    sealed(OWNER, TOKEN + 1, 0, 1);
    assert_int_equal(send(OWNER, TOKEN, 2, 1), 0);
    await_sent(3);
    expect(CLUSTER_COPY_TAKEN_REFUSED, 2);
    sealed(OWNER, TOKEN, RAPAHUB_ESTALE, 0); /* an earlier life */
    sealed(OWNER, TOKEN + 1, 0, 1);          /* once more */
    sealed(3, TOKEN + 2, RAPAHUB_ESTALE, 0); /* not the owner */
    sealed(OWNER, (EPOCH + 1) << 16, RAPAHUB_EAGAIN, 0);
    assert_int_equal(send(OWNER, TOKEN + 1, 1, 0), 0);
    await_sent(8);
    expect(CLUSTER_COPY_TAKEN_KEPT, 1);
}

/* A seal outlives the process. r[verify cluster.copy.seal] */
static void a_seal_is_there_after_a_restart(void **state)
{
    (void)state;
    assert_int_equal(send(OWNER, TOKEN, 1, 0), 0);
    await_sent(1);
    sealed(OWNER, TOKEN + 1, 0, 1);
    thread_stage_stop(thread, true, hub_clock_after(HUB_SECOND));
    cluster_copy_keeper_release(&keeper);
    thread_stage_start(thread);
    assert_int_equal(cluster_copy_keeper_create(core, NULL, thread->thread, &keeper), 0);
    assert_int_equal(send(OWNER, TOKEN, 2, 0), 0);
    await_sent(3);
    expect(CLUSTER_COPY_TAKEN_REFUSED, 2);
}

static struct cluster_body ask(uint32_t from, uint64_t seq, uint64_t offset)
{
    const struct cluster_body_copy_ask asked = {POOL, TOKEN, seq, offset, CONTAINER};
    unsigned count = links.count;

    assert_int_equal(cluster_copy_keeper_ask(keeper, from, &asked), 0);
    await_sent(count + 1);
    return links_body(count, CLUSTER_FRAME_COPY_PIECE, from);
}

/* r[verify cluster.copy.fetch] */
static void the_owner_gets_pieces_of_the_file(void **state)
{
    (void)state;
    assert_int_equal(send(OWNER, TOKEN, 1, 0), 0);
    await_sent(1);
    assert_int_equal(ask(OWNER, 1, 0).copy_piece.piece.size, 128 + 10);
    assert_int_equal(ask(OWNER, 1, PIECE).copy_piece.status, RAPAHUB_EINVAL); /* behind its end */
    assert_int_equal(ask(OWNER, 2, 0).copy_piece.status, RAPAHUB_ESTALE);
    assert_int_equal(ask(3, 1, 0).copy_piece.status, RAPAHUB_EAGAIN); /* not the owner */
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
    const struct CMUnitTest tests[] = {TEST(a_copy_is_kept_and_changes_follow_it),
                                       TEST(only_the_owner_of_now_may),
                                       TEST(other_bytes_are_not_kept),
                                       TEST(a_large_copy_comes_in_pieces),
                                       TEST(a_copy_that_does_not_go_on_is_forgotten),
                                       TEST(copies_under_way_are_bounded),
                                       TEST(a_node_that_floods_is_cut_off),
                                       TEST(a_sealed_copy_takes_none_of_an_earlier_life),
                                       TEST(a_seal_is_there_after_a_restart),
                                       TEST(the_owner_gets_pieces_of_the_file)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
