/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "hub/shm/peer_table.h"
#include "hub/shm/reclaim.h"
#include "tests/support/testing.h"
#include "tests/unit/shm/free_slots.h"

#define PEER  1
#define OTHER 2

static const struct hub_limits limits = {.payload_max = 60,
                                         .credit_size = 1024,
                                         .guests_max = 2,
                                         .ring_size = 4,
                                         .slot_size = 64,
                                         .slot_count = 6,
                                         .channels_max = 4};

/* A host with two guests of which the first has died in the middle of everything. */
struct rig {
    struct hub_segment *segment;
    struct hub_slots pool; /* the host's */
    struct hub_segment_view dead, other;
    uint8_t other_before[64];
};

static void send_to(struct rig *rig, uint32_t peer)
{
    uint32_t slot, generation;

    assert_int_equal(hub_slot_pool_loan(&rig->pool.pool, peer, &slot, &generation), 0);
    hub_slot_pool_sent(&rig->pool.pool, slot);
}

static void leave_traces(struct hub_segment_view *view)
{
    struct hub_peer_entry *entry = view->entry;

    hub_store_relaxed(&entry->guest_to_host_head, 7);
    hub_store_relaxed(&entry->guest_to_host_tail, 5);
    hub_store_relaxed(&entry->host_to_guest_head, 0xfffffff0);
    hub_store_relaxed(&entry->host_to_guest_tail, 0xffffffef);
    hub_store_relaxed64(&entry->last_heartbeat, 12345);
    hub_store_relaxed(&entry->guest_wait, HUB_WAIT_PART | HUB_WAIT_RX_FUTEX);
    for (uint32_t i = 0; i < limits.channels_max; i++) {
        hub_store_relaxed(&view->channels[i].state, HUB_CHANNEL_ACTIVE);
        hub_store_relaxed(&view->channels[i].granted_total, 1000 + i);
    }
    hub_store_relaxed64((struct hub_a64 *)(void *)view->guest_pool, 0xF0);
}

static void begin(struct rig *rig)
{
    uint32_t peer, epoch;

    memset(rig, 0, sizeof(*rig));
    assert_int_equal(hub_segment_create(&limits, true, &rig->segment), 0);
    hub_segment_view(rig->segment, PEER, &rig->dead);
    hub_segment_view(rig->segment, OTHER, &rig->other);
    assert_int_equal(hub_slots_init_host(&rig->pool, rig->segment), 0);
    for (uint32_t i = 1; i <= 2; i++)
        assert_int_equal(hub_peer_table_reserve(rig->segment, &peer, &epoch), 0);
    assert_int_equal(hub_peer_table_attach(rig->dead.entry, &epoch), 0);
    assert_int_equal(hub_peer_table_attach(rig->other.entry, &epoch), 0);
    for (int i = 0; i < 3; i++)
        send_to(rig, PEER);
    send_to(rig, OTHER);
    leave_traces(&rig->dead);
    leave_traces(&rig->other);
    hub_peer_table_goodbye(rig->dead.entry);
    memcpy(rig->other_before, rig->other.entry, 64);
}

static void end(struct rig *rig)
{
    hub_slots_fini(&rig->pool);
    hub_segment_release(&rig->segment);
}

static uint32_t generation_in(const struct rig *rig, const uint8_t *pool, uint32_t slot)
{
    uint32_t generation;

    memcpy(&generation, pool + rig->segment->geometry.bitmap_size + slot * limits.slot_size, 4);
    return generation;
}

static void assert_clean(const struct rig *rig)
{
    const struct hub_segment_view *view = &rig->dead;
    const struct hub_peer_entry *entry = view->entry;

    assert_int_equal(hub_load_relaxed(&entry->state), HUB_PEER_EMPTY);
    assert_int_equal(hub_load_relaxed(&entry->epoch), 1);
    assert_int_equal(hub_load_relaxed(&entry->guest_to_host_head), 0);
    assert_int_equal(hub_load_relaxed(&entry->guest_to_host_tail), 0);
    assert_int_equal(hub_load_relaxed(&entry->host_to_guest_head), 0);
    assert_int_equal(hub_load_relaxed(&entry->host_to_guest_tail), 0);
    assert_true(hub_load_relaxed64(&entry->last_heartbeat) == 0);
    assert_int_equal(hub_load_relaxed(&entry->guest_wait), 0);
    assert_int_equal(hub_load_relaxed(&entry->host_wait), 0);
    assert_true(entry->ring_offset && entry->slot_pool_offset && entry->channel_table_offset);
    assert_true(hub_load_relaxed64((struct hub_a64 *)(void *)view->guest_pool) == 0x3F);
    for (uint32_t i = 0; i < limits.channels_max; i++) {
        assert_int_equal(hub_load_relaxed(&view->channels[i].state), HUB_CHANNEL_FREE);
        assert_int_equal(hub_load_relaxed(&view->channels[i].granted_total), 0);
    }
}

/* r[verify shm.crash.recovery] r[verify shm.segment.slot-ownership] */
static void all_that_a_dead_guest_had_is_given_back(void **state)
{
    struct rig rig;

    (void)state;
    begin(&rig);
    hub_reclaim_reset(rig.segment, &rig.pool, PEER);
    hub_reclaim_empty(rig.segment, PEER);
    assert_clean(&rig);
    assert_int_equal(free_slots_of(&rig.pool), 5);
    for (uint32_t slot = 0; slot < limits.slot_count; slot++)
        assert_int_equal(generation_in(&rig, rig.dead.guest_pool, slot), 1);
    assert_int_equal(generation_in(&rig, rig.dead.host_pool, 0), 2);
    assert_int_equal(generation_in(&rig, rig.dead.host_pool, 3), 1);
    end(&rig);
}

static void its_neighbour_notices_nothing(void **state)
{
    struct rig rig;

    (void)state;
    begin(&rig);
    hub_reclaim_reset(rig.segment, &rig.pool, PEER);
    hub_reclaim_empty(rig.segment, PEER);
    assert_memory_equal(rig.other.entry, rig.other_before, 64);
    assert_true(hub_load_relaxed64((struct hub_a64 *)(void *)rig.other.guest_pool) == 0xF0);
    assert_int_equal(hub_load_relaxed(&rig.other.channels[3].granted_total), 1003);
    assert_int_equal(generation_in(&rig, rig.other.guest_pool, 0), 0);
    end(&rig);
}

static void it_may_be_done_again_from_the_start(void **state)
{
    struct rig rig;

    (void)state;
    begin(&rig);
    hub_reclaim_reset(rig.segment, &rig.pool, PEER);
    hub_reclaim_empty(rig.segment, PEER);
    hub_reclaim_reset(rig.segment, &rig.pool, PEER);
    hub_reclaim_empty(rig.segment, PEER);
    assert_clean(&rig);
    assert_int_equal(free_slots_of(&rig.pool), 5);
    end(&rig);
}

static void the_entry_goes_to_a_successor_with_the_next_epoch(void **state)
{
    struct rig rig;
    uint32_t peer = 0, epoch = 0;

    (void)state;
    begin(&rig);
    hub_reclaim_reset(rig.segment, &rig.pool, PEER);
    hub_reclaim_empty(rig.segment, PEER);
    assert_int_equal(hub_peer_table_reserve(rig.segment, &peer, &epoch), 0);
    assert_int_equal(peer, PEER);
    assert_int_equal(epoch, 2);
    end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_a_dead_guest_had_is_given_back),
        cmocka_unit_test(its_neighbour_notices_nothing),
        cmocka_unit_test(it_may_be_done_again_from_the_start),
        cmocka_unit_test(the_entry_goes_to_a_successor_with_the_next_epoch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
