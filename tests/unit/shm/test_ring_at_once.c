/* SPDX-License-Identifier: Apache-2.0 */
/* Single descriptors, without batches: sent and published in one step, examined and then
 * consumed. */
#include <string.h>

#include "tests/unit/shm/ring_both.h"

static bool send_at_once(struct both *both)
{
    struct hub_descriptor descriptor = numbered(both->sent);
    bool sent = hub_ring_send(&both->producer, &descriptor);

    both->sent += sent;
    return sent;
}

/* Examines like a direct caller and a direct server: false if there is none, or if hub_ring_pop
 * must judge the peer's index. *head is for hub_ring_skip, which consumes it. */
static bool look(const struct hub_ring_consumer *ring, struct hub_descriptor *to, uint32_t *head)
{
    *head = ring->head_seen != ring->tail_next ? ring->head_seen : hub_observe(ring->head);
    if (!hub_ring_reaches(ring, *head))
        return false;
    memcpy(to, (const void *)hub_ring_cell_to_read(ring), sizeof *to);
    return true;
}

/* Looks twice, for a look takes nothing. */
static bool take_at_once(struct both *both)
{
    struct hub_descriptor one, again;
    uint32_t head = 0;

    if (!look(&both->consumer, &one, &head))
        return false;
    assert_true(look(&both->consumer, &again, &head));
    assert_memory_equal(&one, &again, sizeof one);
    assert_next(both, &one);
    hub_ring_skip(&both->consumer, head);
    return true;
}

/* r[verify hub.ring.indices] r[verify shm.ordering.ring-publish] */
static void one_by_one_they_pass_the_wrap_at_2_to_the_32(void **state)
{
    struct both both;

    (void)state;
    begin_at(&both, SIZE, UINT32_C(0xfffffff0));
    assert_false(take_at_once(&both));
    for (uint32_t i = 1; i <= 100; i++) {
        if (!send_at_once(&both)) {
            assert_int_equal(hub_ring_room(&both.producer), 1); /* it looks at the tail */
            assert_true(send_at_once(&both));
        }
        assert_int_equal(hub_load_relaxed(&both.head), UINT32_C(0xfffffff0) + i);
        assert_false(hub_ring_publish(&both.producer)); /* it is shown already */
        assert_true(take_at_once(&both));
        assert_false(take_at_once(&both));
        assert_int_equal(both.consumer.tail_next, UINT32_C(0xfffffff0) + i);
        if (hub_ring_tail_due(&both.consumer))
            assert_true(hub_ring_show_tail(&both.consumer));
    }
    assert_int_equal(both.received, 100);
    end(&both);
}

static void nothing_is_sent_past_what_is_held_back(void **state)
{
    struct both both;

    (void)state;
    begin_at(&both, SIZE, 0);
    put(&both);
    assert_false(send_at_once(&both));
    assert_int_equal(hub_load_relaxed(&both.head), 0);
    assert_true(hub_ring_publish(&both.producer));
    assert_true(send_at_once(&both));
    take(&both, 2);
    end(&both);
}

static void nothing_is_sent_into_a_ring_that_may_be_full(void **state)
{
    struct both both;

    (void)state;
    begin_at(&both, SIZE, UINT32_C(0xfffffffe));
    for (int i = 0; i < SIZE - 1; i++)
        assert_true(send_at_once(&both));
    assert_false(send_at_once(&both));
    take(&both, SIZE - 1);
    assert_true(hub_ring_show_tail(&both.consumer));
    assert_false(send_at_once(&both)); /* as far as is known */
    assert_int_equal(hub_ring_unread(&both.producer), 0);
    assert_true(send_at_once(&both));
    take(&both, 1);
    end(&both);
}

/* A message published with it is there for the next check of either kind. */
static void what_lies_behind_one_that_was_skipped_is_taken_next(void **state)
{
    struct hub_descriptor one;
    struct both both;
    uint32_t head;

    (void)state;
    begin_at(&both, SIZE, UINT32_C(0xffffffff));
    for (int i = 0; i < 3; i++)
        send_one(&both);
    assert_true(take_at_once(&both));
    hub_publish(&both.head, 77); /* the head is known: it is not looked at again before that */
    assert_true(look(&both.consumer, &one, &head));
    assert_int_equal(head, both.consumer.head_seen);
    hub_publish(&both.head, both.producer.head_shown);
    assert_true(hub_ring_ready(&both.consumer));
    take(&both, 2);
    assert_false(hub_ring_ready(&both.consumer));
    send_one(&both);
    assert_true(take_at_once(&both));
    end(&both);
}

static void a_look_leaves_what_cannot_be_to_who_judges(void **state)
{
    static const uint32_t heads[] = {0xFFFFFFFF, 99, 100 + SIZE, 0, 0x80000000};

    (void)state;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        struct hub_descriptor none;
        struct both both;
        uint32_t head;

        begin_at(&both, SIZE, 100);
        hub_publish(&both.head, heads[i]);
        assert_false(look(&both.consumer, &none, &head));
        assert_capacity_violated(hub_ring_pop(&both.consumer, &none, 1));
        end(&both);
    }
}

/* r[verify hub.ring.convention] */
static void a_look_is_for_a_peer_that_counts_freely(void **state)
{
    static const enum hub_ring_convention others[] = {HUB_RING_UNKNOWN, HUB_RING_MODULO};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct hub_descriptor none;
        struct both both;
        uint32_t head;

        begin_at(&both, SIZE, 0);
        both.consumer.convention = others[i];
        send_one(&both);
        assert_false(look(&both.consumer, &none, &head));
        assert_int_equal(both.consumer.convention, others[i]);
        take(&both, 1);
        end(&both);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_by_one_they_pass_the_wrap_at_2_to_the_32),
        cmocka_unit_test(nothing_is_sent_past_what_is_held_back),
        cmocka_unit_test(nothing_is_sent_into_a_ring_that_may_be_full),
        cmocka_unit_test(what_lies_behind_one_that_was_skipped_is_taken_next),
        cmocka_unit_test(a_look_leaves_what_cannot_be_to_who_judges),
        cmocka_unit_test(a_look_is_for_a_peer_that_counts_freely),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
