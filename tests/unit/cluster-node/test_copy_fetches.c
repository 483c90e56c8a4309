/* SPDX-License-Identifier: Apache-2.0 */
/* The copy with which a life begins: the own one, or the newest of the holders that can be reached.
 * The links are the test's, and so are the other holders. */
#include "cluster/node/disk/copy_jobs.h"
#include "cluster/node/holders/copy_fetches.h"
#include "hub/base/clock.h"
#include "tests/store/thread_stage.h"
#include "tests/unit/cluster-node/holders_stage.h"

#define LIFE  (TOKEN + 1) /* that begins */
#define STATE (2 * PIECE)

static struct cluster_copy_fetches *fetches;
static struct thread_stage *thread;
static uint8_t image[3 * PIECE]; /* of a file of copies, as another node has it */
static size_t image_size;

struct ends {
    unsigned count;
    int status;
};

/* They outlive their test: what is open ends with its stage. */
static struct ends ends, away, none, own;

static void on_done(void *user, int status, const char *text)
{
    struct ends *to = user;

    (void)text;
    to->count++;
    to->status = status;
}

static const struct cluster_disk_container container = {POOL, CONTAINER};

/* Keeps a copy on the own disk. */
static void keep(uint64_t token, uint64_t seq)
{
    struct thread_answer answer = {0};
    struct cluster_copy copy = {
        .token = token, .seq = seq, .state = {calloc(1, STATE), STATE}, .dedup = {NULL, 0}};

    assert_int_equal(
        cluster_copy_jobs_write(thread->thread, container, &copy, thread_stage_on_done, &answer),
        0);
    thread_stage_wait(thread, &answer);
    assert_int_equal(answer.result.status, 0);
}

static void remove_own(void)
{
    struct thread_answer answer = {0};

    assert_int_equal(
        cluster_store_thread_copy_remove(thread->thread, container, thread_stage_on_done, &answer),
        0);
    thread_stage_wait(thread, &answer);
}

static void take_bytes(void *user, struct cluster_disk_result *result)
{
    unsigned *open = user;

    assert_int_equal(result->status, 0);
    memcpy(image + image_size, result->part.data, result->part.size);
    image_size += result->part.size;
    *open = 0;
}

/* What another node would have: a file that ends with this copy. */
static void make_image(uint64_t token, uint64_t seq)
{
    size_t before = 1;

    keep(token, seq);
    for (image_size = 0; image_size != before && image_size % PIECE == 0;) {
        const struct cluster_copy_jobs_piece piece = {container, token, seq, image_size, PIECE};
        unsigned open = 1;

        before = image_size;
        assert_int_equal(cluster_copy_jobs_read(thread->thread, &piece,
                                                (struct cluster_disk_request){take_bytes, &open}),
                         0);
        while (open)
            thread_stage_step(thread, 10);
    }
    remove_own();
}

static int begin(void **state)
{
    int status = thread_stage_begin(state);

    thread = *state;
    core_begin();
    ends = away = none = own = (struct ends){0};
    core_put_entry(OWN, EPOCH);
    assert_int_equal(cluster_copy_fetches_create(core, NULL, thread->thread, &fetches), 0);
    return status;
}

static int end(void **state)
{
    struct cluster_store_thread_stats stats = {.open = 1};

    cluster_copy_fetches_stop(fetches);
    while (stats.open > 0) {
        thread_stage_step(thread, 10);
        cluster_store_thread_stats(thread->thread, &stats);
    }
    cluster_copy_fetches_release(&fetches);
    core_end();
    return thread_stage_end(state);
}

static int want(struct ends *to, uint64_t timeout_ns)
{
    const struct cluster_copy_fetch_order order = {.pool = POOL,
                                                   .container = CONTAINER,
                                                   .token = LIFE,
                                                   .deadline_ns = hub_clock_after(timeout_ns),
                                                   .on_done = on_done,
                                                   .user = to};

    return cluster_copy_fetches_begin(fetches, &order);
}

static void step(void)
{
    thread_stage_step(thread, 5);
    (void)cluster_copy_fetches_step(fetches, hub_clock_now());
}

static void await_end(const struct ends *to, int status)
{
    uint64_t until_ns = hub_clock_after(60 * HUB_SECOND);

    while (to->count == 0 && hub_clock_left(until_ns) > 0)
        step();
    assert_int_equal(to->count, 1);
    assert_int_equal(to->status, status);
}

static void await_sent(unsigned count)
{
    uint64_t until_ns = hub_clock_after(60 * HUB_SECOND);

    while (links.count < count && hub_clock_left(until_ns) > 0)
        step();
    assert_true(links.count >= count);
}

static int say(uint32_t from, int status, uint64_t token, uint64_t seq)
{
    const struct cluster_body_copy_sealed sealed = {.pool = POOL,
                                                    .container = CONTAINER,
                                                    .seal = LIFE,
                                                    .token = token,
                                                    .seq = seq,
                                                    .size = token ? image_size : 0,
                                                    .status = status};

    return cluster_copy_fetches_sealed(fetches, from, &sealed);
}

static int give(uint32_t from, uint64_t token, uint64_t seq, uint64_t offset)
{
    size_t left = image_size - offset;
    const struct cluster_body_copy_piece piece = {
        .pool = POOL,
        .container = CONTAINER,
        .token = token,
        .seq = seq,
        .offset = offset,
        .piece = {image + offset, left < PIECE ? left : PIECE}};

    return cluster_copy_fetches_piece(fetches, from, &piece);
}

/* Gives all pieces that are asked for, from the frame at this place on. */
static void give_all(uint32_t from, uint64_t token, uint64_t seq, unsigned first)
{
    for (uint64_t offset = 0; offset < image_size; offset += PIECE) {
        await_sent(++first);
        assert_int_equal(links_body(first - 1, CLUSTER_FRAME_COPY_ASK, from).copy_ask.offset,
                         offset);
        assert_int_equal(give(from, token, seq, offset), 0);
    }
}

static void has_own(uint64_t token, uint64_t seq)
{
    struct thread_answer answer = {0};

    assert_int_equal(
        cluster_store_thread_copy_read(thread->thread, container, thread_stage_on_done, &answer),
        0);
    thread_stage_wait(thread, &answer);
    assert_int_equal(answer.result.status, 0);
    assert_int_equal(answer.result.copies.count, token ? 1 : 0);
    if (token)
        assert_true(answer.result.copies.of[0].token == token &&
                    answer.result.copies.of[0].seq == seq);
    cluster_disk_job_free_copies(&answer.result.copies);
}

/* Of nodes 2 and 3, or of node 2 alone. */
static void begin_fetch(bool of_both)
{
    make_image(TOKEN, 9);
    HOLDERS(0, 2, 3);
    if (!of_both)
        HOLDERS(0, 2);
    links.up[2] = links.up[3] = true;
    assert_int_equal(want(&ends, 60 * HUB_SECOND), 1);
}

/* ---- tests ---- */

static void a_lone_holder_asks_nobody(void **state)
{
    (void)state;
    assert_int_equal(want(&ends, HUB_SECOND), 0);
    HOLDERS(0, OWN);
    assert_int_equal(want(&ends, HUB_SECOND), 0);
    assert_int_equal(ends.count, 0);
}

/* The own disk is sealed, and that is all. r[verify cluster.copy.own] */
static void a_named_node_has_the_newest_copy(void **state)
{
    struct thread_answer late = {0};
    struct cluster_copy copy = {.token = TOKEN, .seq = 5};

    (void)state;
    HOLDERS(0, OWN, 2);
    keep(TOKEN, 4);
    links.up[2] = true;
    assert_int_equal(want(&ends, 60 * HUB_SECOND), 1);
    await_end(&ends, 0);
    assert_int_equal(links.count, 0);
    assert_int_equal(
        cluster_copy_jobs_write(thread->thread, container, &copy, thread_stage_on_done, &late), 0);
    thread_stage_wait(thread, &late);
    assert_int_equal(late.result.status, RAPAHUB_ESTALE); /* of the life before */
}

/* r[verify cluster.copy.fetch] r[verify cluster.copy.newest] */
static void the_newest_of_the_others_is_fetched(void **state)
{
    (void)state;
    make_image(TOKEN, 9);
    HOLDERS(0, OWN, 2, 3);
    links.up[2] = links.up[3] = true;
    assert_int_equal(want(&ends, 60 * HUB_SECOND), 1);
    await_sent(2);
    assert_int_equal(links_body(0, CLUSTER_FRAME_COPY_SEAL, 2).copy_seal.seal, LIFE);
    assert_int_equal(say(2, 0, TOKEN, 8), 0);
    assert_int_equal(links.count, 2); /* the other one has a moment */
    assert_int_equal(say(3, 0, TOKEN, 9), 0);
    give_all(3, TOKEN, 9, 2);
    await_end(&ends, 0);
    has_own(TOKEN, 9);
}

/* An own copy that is not named is not loaded, whatever it is. r[verify cluster.copy.own] */
static void an_own_copy_that_is_not_named_is_replaced(void **state)
{
    (void)state;
    make_image(TOKEN, 9);
    keep(TOKEN, 20);
    HOLDERS(0, 2);
    links.up[2] = true;
    assert_int_equal(want(&ends, 60 * HUB_SECOND), 1);
    await_sent(1);
    assert_int_equal(say(2, 0, TOKEN, 9), 0);
    give_all(2, TOKEN, 9, 1);
    await_end(&ends, 0);
    has_own(TOKEN, 9);
}

/* One is enough; another one that does not answer is not waited for. r[verify cluster.copy.newest]
 */
static void one_that_was_sealed_is_enough(void **state)
{
    (void)state;
    make_image(TOKEN, 9);
    HOLDERS(0, 2, 3);
    links.up[2] = links.up[3] = true;
    assert_int_equal(want(&ends, 60 * HUB_SECOND), 1);
    await_sent(2);
    assert_int_equal(say(3, RAPAHUB_EAGAIN, 0, 0), 0); /* it is asked again */
    assert_int_equal(say(2, 0, TOKEN, 9), 0);
    await_sent(3);
    assert_int_equal(links.sent[2].type, CLUSTER_FRAME_COPY_ASK);
}

/* r[verify cluster.copy.fetch] */
static void a_lost_holder_is_sealed_again(void **state)
{
    (void)state;
    make_image(TOKEN, 9);
    HOLDERS(0, 2);
    assert_int_equal(want(&ends, 60 * HUB_SECOND), 1);
    for (unsigned i = 0; i < 5; i++)
        step();
    assert_int_equal(links.count, 0);
    links.up[2] = true;
    await_sent(1);
    assert_int_equal(say(2, 0, TOKEN, 9), 0);
    assert_int_equal(links.sent[1].type, CLUSTER_FRAME_COPY_ASK);
    links.up[2] = false;
    cluster_copy_fetches_lost(fetches, 2);
    links.up[2] = true;
    await_sent(3);
    assert_int_equal(links.sent[2].type, CLUSTER_FRAME_COPY_SEAL);
    assert_int_equal(say(2, 0, TOKEN, 9), 0);
    give_all(2, TOKEN, 9, 3);
    await_end(&ends, 0);
}

/* Nothing is invented. r[verify cluster.copy.own] */
static void without_a_holder_there_is_no_copy(void **state)
{
    (void)state;
    HOLDERS(0, OWN, 2);
    assert_int_equal(want(&away, HUB_SECOND / 20), 1);
    await_end(&away, RAPAHUB_ENOCOPY);
    links.up[2] = true;
    assert_int_equal(want(&none, 60 * HUB_SECOND), 1);
    await_sent(1);
    assert_int_equal(say(2, 0, 0, 0), 0); /* its disk has lost it, too */
    await_end(&none, RAPAHUB_ENOCOPY);
}

/* r[verify cluster.copy.fetch] */
static void a_holder_that_lies_is_found_out(void **state)
{
    struct cluster_body_copy_piece piece = {
        .pool = POOL, .container = CONTAINER, .token = TOKEN, .seq = 9, .piece = {image, 5}};

    (void)state;
    begin_fetch(false);
    await_sent(1);
    assert_int_equal(say(2, 0, LIFE, 9), RAPAHUB_EPROTOCOL); /* of a life that has not begun */
    assert_int_equal(say(3, 0, TOKEN, 9), 0);                /* it was not asked */
    assert_int_equal(links.count, 1);
    assert_int_equal(say(2, 0, TOKEN, 9), 0);
    assert_int_equal(cluster_copy_fetches_piece(fetches, 2, &piece), RAPAHUB_EPROTOCOL);
    await_sent(3); /* it is sealed again */
    assert_int_equal(say(2, 0, TOKEN, 9), 0);
    piece.seq = 8;
    assert_int_equal(cluster_copy_fetches_piece(fetches, 2, &piece), 0); /* of no fetch of now */
    image[200] ^= 1;
    give_all(2, TOKEN, 9, 3);
    await_end(&ends, RAPAHUB_EFORMAT);
    has_own(0, 0);
}

static int refuse(uint32_t from, uint64_t seq, int status)
{
    const struct cluster_body_copy_piece piece = {
        .pool = POOL, .container = CONTAINER, .token = TOKEN, .seq = seq, .status = status};

    return cluster_copy_fetches_piece(fetches, from, &piece);
}

/* Node 2 says that it has the newest copy, and has none; node 3 has a sound one. */
static unsigned both_are_sealed(unsigned sent)
{
    await_sent(sent + 2);
    assert_int_equal(say(2, 0, TOKEN, 90), 0);
    assert_int_equal(say(3, 0, TOKEN, 9), 0);
    return sent + 2;
}

static void three_gives_its_copy(unsigned sent)
{
    await_sent(sent + 1);
    assert_int_equal(links_body(sent, CLUSTER_FRAME_COPY_SEAL, 3).copy_seal.seal, LIFE);
    assert_int_equal(say(3, 0, TOKEN, 9), 0);
    give_all(3, TOKEN, 9, sent + 1);
    await_end(&ends, 0);
    has_own(TOKEN, 9);
}

/* r[verify cluster.copy.faults] */
static void a_holder_with_another_copy_than_it_said_is_left_out(void **state)
{
    (void)state;
    begin_fetch(true);
    give_all(2, TOKEN, 90, both_are_sealed(0));
    three_gives_its_copy(links.count);
}

/* r[verify cluster.copy.faults] */
static void a_holder_that_refuses_is_left_out(void **state)
{
    unsigned sent = 0;

    (void)state;
    begin_fetch(true);
    for (unsigned i = 0; i < 3; i++) {
        sent = both_are_sealed(sent);
        assert_int_equal(links_body(sent++, CLUSTER_FRAME_COPY_ASK, 2).copy_ask.offset, 0);
        assert_int_equal(refuse(2, 90, RAPAHUB_EINVAL), 0);
    }
    three_gives_its_copy(sent);
}

/* r[verify cluster.copy.faults] */
static void a_holder_that_says_it_is_sealed_for_later_is_left_out(void **state)
{
    (void)state;
    begin_fetch(true);
    await_sent(2);
    assert_int_equal(say(2, RAPAHUB_ESTALE, 0, 0), 0);
    assert_int_equal(ends.count, 0);
    three_gives_its_copy(2);
}

/* r[verify cluster.copy.faults] */
static void a_holder_that_is_silent_is_left_out(void **state)
{
    (void)state;
    begin_fetch(true);
    (void)both_are_sealed(0);
    (void)cluster_copy_fetches_step(fetches, hub_clock_after(6 * HUB_SECOND));
    three_gives_its_copy(3);
}

/* It is asked again, and not at once. Which error it says is not that of the fetch.
 * r[verify cluster.copy.faults] */
static void a_busy_holder_is_asked_again(void **state)
{
    uint64_t begun_ns = hub_clock_now();

    (void)state;
    begin_fetch(false);
    for (unsigned i = 0; i < 6; i++) {
        await_sent(2 * i + 1);
        assert_int_equal(say(2, 0, TOKEN, 9), 0);
        assert_int_equal(links_body(2 * i + 1, CLUSTER_FRAME_COPY_ASK, 2).copy_ask.offset, 0);
        assert_int_equal(refuse(2, 9, i < 3 ? RAPAHUB_EAGAIN : -ECANCELED), 0);
    }
    await_end(&ends, RAPAHUB_ENOCOPY);
    assert_true(hub_clock_now() - begun_ns > HUB_SECOND / 2);
}

/* r[verify cluster.copy.seal] */
static void a_life_that_is_not_the_last_does_not_begin(void **state)
{
    (void)state;
    HOLDERS(0, 2);
    links.up[2] = true;
    assert_int_equal(want(&ends, 60 * HUB_SECOND), 1);
    await_sent(1);
    assert_int_equal(say(2, RAPAHUB_ESTALE, 0, 0), 0);
    await_end(&ends, RAPAHUB_ESTALE);
    HOLDERS(0, OWN, 2);
    keep(LIFE + 1, 1);
    assert_int_equal(want(&own, 60 * HUB_SECOND), 1);
    await_end(&own, RAPAHUB_ESTALE);
}

static void a_node_that_stops_ends_them(void **state)
{
    (void)state;
    HOLDERS(0, 2);
    assert_int_equal(want(&ends, 60 * HUB_SECOND), 1);
    cluster_copy_fetches_stop(fetches);
    assert_true(ends.count == 1 && ends.status == -ECANCELED);
    assert_true(want(&ends, 60 * HUB_SECOND) < 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
    const struct CMUnitTest tests[] = {TEST(a_lone_holder_asks_nobody),
                                       TEST(a_named_node_has_the_newest_copy),
                                       TEST(the_newest_of_the_others_is_fetched),
                                       TEST(an_own_copy_that_is_not_named_is_replaced),
                                       TEST(one_that_was_sealed_is_enough),
                                       TEST(a_lost_holder_is_sealed_again),
                                       TEST(without_a_holder_there_is_no_copy),
                                       TEST(a_holder_that_lies_is_found_out),
                                       TEST(a_holder_with_another_copy_than_it_said_is_left_out),
                                       TEST(a_holder_that_refuses_is_left_out),
                                       TEST(a_holder_that_says_it_is_sealed_for_later_is_left_out),
                                       TEST(a_holder_that_is_silent_is_left_out),
                                       TEST(a_busy_holder_is_asked_again),
                                       TEST(a_life_that_is_not_the_last_does_not_begin),
                                       TEST(a_node_that_stops_ends_them)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
