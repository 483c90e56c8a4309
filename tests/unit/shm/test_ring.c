/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/vectors.h"
#include "tests/unit/shm/ring_both.h"

/* r[verify shm.ring.capacity] r[verify shm.ring.full] */
static void a_full_ring_refuses_a_descriptor(void **state)
{
    struct both both;

    (void)state;
    begin_at(&both, SIZE, 0);
    for (int i = 0; i < SIZE - 1; i++)
        send_one(&both);
    assert_int_equal(hub_ring_room(&both.producer), 0);
    take(&both, SIZE - 1);
    assert_int_equal(hub_ring_room(&both.producer), 0);
    assert_true(hub_ring_show_tail(&both.consumer));
    assert_int_equal(hub_ring_room(&both.producer), 1);
    end(&both);
}

static void an_empty_ring_gives_nothing_and_is_not_ready(void **state)
{
    struct both both;

    (void)state;
    begin_at(&both, SIZE, 0);
    assert_false(hub_ring_ready(&both.consumer));
    take(&both, 0);
    assert_false(hub_ring_show_tail(&both.consumer));
    assert_false(hub_ring_publish(&both.producer));
    send_one(&both);
    assert_true(hub_ring_ready(&both.consumer));
    take(&both, 1);
    assert_false(hub_ring_ready(&both.consumer));
    end(&both);
}

/* r[verify shm.ordering.ring-publish] */
static void what_is_put_is_not_seen_before_it_is_published(void **state)
{
    struct both both;

    (void)state;
    begin_at(&both, SIZE, 0);
    put(&both);
    put(&both);
    assert_false(hub_ring_ready(&both.consumer));
    take(&both, 0);
    assert_int_equal(hub_ring_unread(&both.producer), 2);
    assert_true(hub_ring_publish(&both.producer));
    assert_false(hub_ring_publish(&both.producer));
    take(&both, 2);
    end(&both);
}

/* r[verify hub.copy.descriptor] */
static void what_was_taken_is_a_copy_that_the_peer_cannot_change(void **state)
{
    struct both both;
    struct hub_descriptor taken;

    (void)state;
    begin_at(&both, SIZE, 0);
    send_one(&both);
    assert_int_equal(hub_ring_pop(&both.consumer, &taken, 1), 1);
    memset(both.cells, 0xff, sizeof both.cells[0]);
    assert_next(&both, &taken);
    end(&both);
}

static void a_batch_is_no_larger_than_asked_for(void **state)
{
    struct both both;
    struct hub_descriptor batch[2];

    (void)state;
    begin_at(&both, SIZE, 0);
    for (int i = 0; i < 5; i++)
        send_one(&both);
    assert_int_equal(hub_ring_pop(&both.consumer, batch, 2), 2);
    assert_next(&both, &batch[0]);
    assert_next(&both, &batch[1]);
    assert_true(hub_ring_ready(&both.consumer));
    take(&both, 3);
    end(&both);
}

/* Random batches, until 32-bit numbers have wrapped. r[verify hub.ring.indices] */
static void run_over_the_wrap(uint32_t size)
{
    struct both both;
    uint32_t random = 1;

    begin_at(&both, size, UINT32_C(0xfffffff0));
    while (both.received < 10 * size + 32) {
        random = random * 1664525 + 1013904223;
        for (uint32_t n = random >> 24; n > 0 && hub_ring_room(&both.producer) == 1; n--)
            put(&both);
        hub_ring_publish(&both.producer);
        take(&both, both.sent - both.received < HUB_RING_BATCH ? both.sent - both.received
                                                               : HUB_RING_BATCH);
        if (hub_ring_tail_due(&both.consumer) || random & 1)
            hub_ring_show_tail(&both.consumer);
    }
    assert_true(hub_load_relaxed(&both.head) < 0xfffffff0);
    assert_true(hub_load_relaxed(&both.tail) < 0xfffffff0);
    end(&both);
}

static void indices_wrap_at_2_to_the_32(void **state)
{
    (void)state;
    run_over_the_wrap(2);
    run_over_the_wrap(4);
    run_over_the_wrap(16);
}

/* A peer that keeps its indices modulo the ring's size, and masks what it reads of ours. */
static void a_modulo_producer_is_understood_where_tolerated(void **state)
{
    struct both both;
    uint32_t mask = SIZE - 1;

    (void)state;
    begin_at(&both, SIZE, 0);
    both.consumer.convention = HUB_RING_UNKNOWN;
    for (uint32_t i = 0; i < 10 * SIZE; i++) {
        uint64_t words[HUB_DESCRIPTOR_WORDS];
        struct hub_descriptor descriptor = numbered(both.sent++);

        memcpy(words, &descriptor, sizeof(words));
        hub_copy_out(both.cells[i & mask].words, words, HUB_DESCRIPTOR_WORDS);
        hub_publish(&both.head, (i + 1) & mask);
        assert_true(hub_ring_ready(&both.consumer));
        take(&both, 1);
        assert_false(hub_ring_ready(&both.consumer));
        hub_ring_show_tail(&both.consumer);
        assert_int_equal(hub_load_relaxed(&both.tail), i + 1);
    }
    assert_int_equal(both.consumer.convention, HUB_RING_MODULO);
    hub_publish(&both.head, SIZE);
    assert_capacity_violated(hub_ring_pop(&both.consumer, &(struct hub_descriptor){0}, 1));
    end(&both);
}

static void a_modulo_consumer_is_understood_where_tolerated(void **state)
{
    struct both both;
    uint32_t mask = SIZE - 1;

    (void)state;
    begin_at(&both, SIZE, 0);
    both.producer.convention = HUB_RING_UNKNOWN;
    for (uint32_t lap = 0; lap < 10; lap++) {
        while (hub_ring_room(&both.producer) == 1)
            send_one(&both);
        assert_int_equal(hub_ring_unread(&both.producer), SIZE - 1);
        hub_publish(&both.tail, both.sent & mask);
    }
    assert_int_equal(both.sent, 10 * (SIZE - 1));
    assert_int_equal(both.producer.convention, HUB_RING_MODULO);
    end(&both);
}

static void a_modulo_peer_is_refused_where_free_running_is_known(void **state)
{
    struct both both;

    (void)state;
    begin_at(&both, SIZE, SIZE + 3);
    hub_publish(&both.head, 4);
    assert_true(hub_ring_ready(&both.consumer));
    assert_capacity_violated(hub_ring_pop(&both.consumer, &(struct hub_descriptor){0}, 1));
    end(&both);
}

static void an_index_past_the_size_shows_a_free_running_peer(void **state)
{
    struct both both;

    (void)state;
    begin_at(&both, SIZE, 0);
    both.consumer.convention = HUB_RING_UNKNOWN;
    for (int i = 0; i < SIZE; i++) {
        send_one(&both);
        take(&both, 1);
        hub_ring_show_tail(&both.consumer);
    }
    assert_int_equal(both.consumer.convention, HUB_RING_FREE_RUNNING);
    end(&both);
}

/* r[verify hub.loop.bound] */
static void a_head_that_cannot_be_is_a_violation(void **state)
{
    static const uint32_t heads[] = {0xFFFFFFFF, 99, 100 + SIZE, 0, 0x80000000};

    (void)state;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        struct both both;
        struct hub_descriptor none;

        begin_at(&both, SIZE, 100);
        hub_publish(&both.head, heads[i]);
        assert_capacity_violated(hub_ring_pop(&both.consumer, &none, 1));
        assert_int_equal(both.consumer.tail_next, 100);
        end(&both);
    }
}

static void a_head_that_moves_back_is_a_violation(void **state)
{
    struct both both;
    struct hub_descriptor batch[HUB_RING_BATCH];

    (void)state;
    begin_at(&both, SIZE, 100);
    hub_publish(&both.head, 104);
    assert_int_equal(hub_ring_pop(&both.consumer, batch, 3), 3);
    hub_publish(&both.head, 102);
    assert_int_equal(hub_ring_pop(&both.consumer, batch, 3), 1);
    assert_capacity_violated(hub_ring_pop(&both.consumer, batch, 3));
    end(&both);
}

static void a_tail_that_cannot_be_is_a_violation(void **state)
{
    static const uint32_t tails[] = {0xFFFFFFFF, 99, 108, 109, 0, 0x80000000};

    (void)state;
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        struct both both;

        begin_at(&both, SIZE, 100);
        for (int n = 0; n < SIZE - 1; n++)
            send_one(&both);
        hub_publish(&both.tail, tails[i]);
        assert_capacity_violated(hub_ring_room(&both.producer));
        end(&both);
    }
}

static void a_tail_that_moves_back_is_a_violation(void **state)
{
    struct both both;

    (void)state;
    begin_at(&both, SIZE, 100);
    for (int n = 0; n < 4; n++)
        send_one(&both);
    hub_publish(&both.tail, 103);
    assert_int_equal(hub_ring_unread(&both.producer), 1);
    hub_publish(&both.tail, 102);
    assert_capacity_violated(hub_ring_unread(&both.producer));
    end(&both);
}

static void a_tail_past_what_was_shown_is_a_violation(void **state)
{
    struct both both;

    (void)state;
    begin_at(&both, SIZE, 100);
    send_one(&both);
    put(&both);
    hub_publish(&both.tail, 102);
    assert_capacity_violated(hub_ring_unread(&both.producer));
    hub_publish(&both.tail, 101);
    assert_int_equal(hub_ring_unread(&both.producer), 1);
    end(&both);
}

static void what_stands_in_a_ring_at_the_start_is_not_overwritten(void **state)
{
    struct both both;

    (void)state;
    begin_at(&both, SIZE, 100);
    hub_publish(&both.tail, 97);
    hub_ring_producer_init(&both.producer, both.cells, SIZE, &both.head, &both.tail);
    assert_int_equal(hub_ring_unread(&both.producer), 3);
    for (int n = 0; n < SIZE - 1 - 3; n++)
        send_one(&both);
    assert_int_equal(hub_ring_room(&both.producer), 0);
    hub_publish(&both.tail, 5);
    hub_ring_producer_init(&both.producer, both.cells, SIZE, &both.head, &both.tail);
    assert_capacity_violated(hub_ring_room(&both.producer));
    end(&both);
}

/* r[verify hub.ring.lazy-tail] */
static void the_tail_is_due_after_a_quarter_of_the_ring(void **state)
{
    struct both both;
    struct hub_descriptor one;

    (void)state;
    begin_at(&both, 16, 0);
    for (int i = 0; i < 5; i++)
        send_one(&both);
    for (int i = 0; i < 4; i++) {
        assert_false(hub_ring_tail_due(&both.consumer));
        assert_int_equal(hub_ring_pop(&both.consumer, &one, 1), 1);
    }
    assert_true(hub_ring_tail_due(&both.consumer));
    assert_true(hub_ring_show_tail(&both.consumer));
    assert_false(hub_ring_tail_due(&both.consumer));
    end(&both);
}

static void the_tail_is_due_in_a_ring_that_is_half_full(void **state)
{
    struct both both;
    struct hub_descriptor one;

    (void)state;
    begin_at(&both, 16, 0);
    for (int i = 0; i < 8; i++)
        send_one(&both);
    assert_false(hub_ring_tail_due(&both.consumer));
    assert_int_equal(hub_ring_pop(&both.consumer, &one, 1), 1);
    assert_true(hub_ring_tail_due(&both.consumer));
    end(&both);
}

static void assert_distance(const struct vector *vector)
{
    const json_t *result = vectors_member(vector->value, "result");
    bool free_running = json_is_true(vectors_member(vector->value, "peer_is_free_running"));
    uint32_t size = (uint32_t)vectors_u64(vectors_member(vector->value, "ring_size"));
    enum hub_ring_convention convention = free_running ? HUB_RING_FREE_RUNNING : HUB_RING_UNKNOWN;
    uint32_t words[2];
    int r;

    assert_int_equal(vector->size, sizeof(words));
    memcpy(words, vector->bytes, sizeof(words));
    r = hub_ring_distance(words[0], words[1], size, &convention);
    if (json_is_string(result)) {
        assert_int_equal(r, RAPAHUB_EPROTOCOL);
        assert_string_equal(rapahub_last_error()->rule, vectors_text(result));
    } else {
        assert_int_equal(r, vectors_u64(result));
    }
}

/* r[verify hub.ring.convention] */
static void distances_are_those_of_the_vectors(void **state)
{
    struct vectors *vectors = vectors_open();
    unsigned rounds = 0;

    (void)state;
    for (const struct vector *v = NULL; (v = vectors_next(vectors, "ring-distance", v)) != NULL;) {
        assert_distance(v);
        rounds++;
    }
    assert_int_equal(rounds, 10);
    vectors_close(vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_ring_refuses_a_descriptor),
        cmocka_unit_test(an_empty_ring_gives_nothing_and_is_not_ready),
        cmocka_unit_test(what_is_put_is_not_seen_before_it_is_published),
        cmocka_unit_test(what_was_taken_is_a_copy_that_the_peer_cannot_change),
        cmocka_unit_test(a_batch_is_no_larger_than_asked_for),
        cmocka_unit_test(indices_wrap_at_2_to_the_32),
        cmocka_unit_test(a_modulo_producer_is_understood_where_tolerated),
        cmocka_unit_test(a_modulo_consumer_is_understood_where_tolerated),
        cmocka_unit_test(a_modulo_peer_is_refused_where_free_running_is_known),
        cmocka_unit_test(an_index_past_the_size_shows_a_free_running_peer),
        cmocka_unit_test(a_head_that_cannot_be_is_a_violation),
        cmocka_unit_test(a_head_that_moves_back_is_a_violation),
        cmocka_unit_test(a_tail_that_cannot_be_is_a_violation),
        cmocka_unit_test(a_tail_that_moves_back_is_a_violation),
        cmocka_unit_test(a_tail_past_what_was_shown_is_a_violation),
        cmocka_unit_test(what_stands_in_a_ring_at_the_start_is_not_overwritten),
        cmocka_unit_test(the_tail_is_due_after_a_quarter_of_the_ring),
        cmocka_unit_test(the_tail_is_due_in_a_ring_that_is_half_full),
        cmocka_unit_test(distances_are_those_of_the_vectors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
