/* SPDX-License-Identifier: Apache-2.0 */
/* A ring whose cells are used again and again, by each of the ways to put, show, look and take. */
#include <string.h>

#include "hub/shm/ring.h"
#include "tests/unit/ordering/ordering.h"

#define SIZE     4
#define MESSAGES 9

struct rig {
    struct hub_ring_cell cells[SIZE];
    struct hub_a32 head, tail;
    struct hub_a64 payloads[MESSAGES]; /* like slots: none is reused */
    struct hub_ring_producer producer;
    struct hub_ring_consumer consumer;
    uint32_t taken;
};

static void begin(void *user)
{
    struct rig *rig = user;

    memset(rig, 0, sizeof *rig);
    rig->head.word = rig->tail.word = UINT32_C(0xFFFFFFFC); /* over the wrap */
    hub_ring_producer_init(&rig->producer, rig->cells, SIZE, &rig->head, &rig->tail);
    hub_ring_consumer_init(&rig->consumer, rig->cells, SIZE, &rig->head, &rig->tail);
    weak_data(rig->cells, sizeof rig->cells);
    weak_data(rig->payloads, sizeof rig->payloads);
}

static struct hub_descriptor numbered(uint32_t number)
{
    struct hub_descriptor d = {.msg_type = HUB_DATA, .id = number, .method_id = ~(uint64_t)number};

    memset(d.inline_payload, (int)number + 1, sizeof d.inline_payload);
    return d;
}

static void wait_for_room(struct rig *rig)
{
    while (weak_goes_on() && hub_ring_room(&rig->producer) != 1)
        continue;
}

/* The payload first, then the descriptor, then the head. */
static void publish_each(void *user)
{
    struct rig *rig = user;

    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct hub_descriptor descriptor = numbered(i);

        wait_for_room(rig);
        hub_store_relaxed64(&rig->payloads[i], i + 100);
        hub_ring_put(&rig->producer, &descriptor);
        (void)hub_ring_publish(&rig->producer);
    }
}

static void send_each(void *user)
{
    struct rig *rig = user;

    for (uint32_t i = 0; i < MESSAGES; i++) {
        struct hub_descriptor descriptor = numbered(i);

        hub_store_relaxed64(&rig->payloads[i], i + 100);
        while (weak_goes_on() && !hub_ring_send(&rig->producer, &descriptor))
            (void)hub_ring_unread(&rig->producer);
    }
}

static void check(struct rig *rig, const struct hub_descriptor *got)
{
    struct hub_descriptor wanted = numbered(rig->taken);

    weak_expect(memcmp(got, &wanted, sizeof wanted) == 0, "another descriptor than was sent");
    weak_expect(hub_load_relaxed64(&rig->payloads[rig->taken]) == rig->taken + 100,
                "an old payload");
    rig->taken++;
}

static void take_in_batches(void *user)
{
    struct rig *rig = user;
    struct hub_descriptor batch[SIZE];

    while (rig->taken < MESSAGES && weak_goes_on()) {
        int count = hub_ring_pop(&rig->consumer, batch, SIZE);

        weak_expect(count >= 0, "the head is refused");
        for (int i = 0; i < count; i++)
            check(rig, &batch[i]);
        (void)hub_ring_show_tail(&rig->consumer);
    }
}

/* Like a direct caller and a direct server. */
static void look_and_skip(void *user)
{
    struct rig *rig = user;
    struct hub_ring_consumer *ring = &rig->consumer;

    while (rig->taken < MESSAGES && weak_goes_on()) {
        uint32_t head = ring->head_seen != ring->tail_next ? ring->head_seen : hub_ring_head(ring);
        struct hub_descriptor one;

        if (!hub_ring_reaches(ring, head))
            continue;
        hub_copy_in_pairs(&one, hub_ring_cell_to_read(ring)->words, HUB_DESCRIPTOR_WORDS / 2);
        check(rig, &one);
        hub_ring_skip(ring, head);
        (void)hub_ring_show_tail(ring);
    }
}

static void assert_ring_ordered(void (*producer)(void *user), void (*consumer)(void *user))
{
    const struct weak_plan plan = {.begin = begin, .threads = {producer, consumer}};
    struct rig rig;

    assert_ordered(&plan, &rig);
    assert_int_equal(rig.taken, MESSAGES);
}

/* r[verify shm.ordering.ring-publish] r[verify shm.ordering.ring-consume] */
static void what_is_published_is_read_whole_and_not_written_over(void **state)
{
    (void)state;
    assert_ring_ordered(publish_each, take_in_batches);
}

/* r[verify shm.ordering.ring-publish] r[verify shm.ordering.ring-consume] */
static void what_is_sent_at_once_is_read_whole_and_not_written_over(void **state)
{
    (void)state;
    assert_ring_ordered(send_each, take_in_batches);
}

/* r[verify shm.ordering.ring-publish] r[verify shm.ordering.ring-consume] */
static void what_is_looked_at_is_read_whole_and_not_written_over(void **state)
{
    (void)state;
    assert_ring_ordered(send_each, look_and_skip);
    assert_ring_ordered(publish_each, look_and_skip);
}

/* ---- a producer that begins where another one left off ---- */

static void begin_full(void *user)
{
    struct rig *rig = user;

    begin(user);
    for (uint32_t i = 0; i < SIZE - 1; i++) {
        struct hub_descriptor descriptor = numbered(i);

        hub_ring_put(&rig->producer, &descriptor);
    }
    (void)hub_ring_publish(&rig->producer);
}

static void take_all_and_show(void *user)
{
    struct rig *rig = user;
    struct hub_descriptor batch[SIZE];

    weak_expect(hub_ring_pop(&rig->consumer, batch, SIZE) == SIZE - 1, "not all are there");
    (void)hub_ring_show_tail(&rig->consumer);
}

/* The second goes into a cell that was read. */
static void begin_anew_and_send_two(void *user)
{
    struct rig *rig = user;
    struct hub_descriptor descriptor = numbered(7);

    while (weak_goes_on() && hub_load_relaxed(&rig->tail) != hub_load_relaxed(&rig->head))
        continue;
    hub_ring_producer_init(&rig->producer, rig->cells, SIZE, &rig->head, &rig->tail);
    for (int i = 0; i < 2; i++)
        weak_expect(hub_ring_send(&rig->producer, &descriptor), "no room in an empty ring");
}

static void who_begins_to_send_writes_over_nothing_that_is_read(void **state)
{
    const struct weak_plan plan = {.begin = begin_full,
                                   .threads = {begin_anew_and_send_two, take_all_and_show}};
    struct rig rig;

    (void)state;
    assert_ordered(&plan, &rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_published_is_read_whole_and_not_written_over),
        cmocka_unit_test(what_is_sent_at_once_is_read_whole_and_not_written_over),
        cmocka_unit_test(what_is_looked_at_is_read_whole_and_not_written_over),
        cmocka_unit_test(who_begins_to_send_writes_over_nothing_that_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
