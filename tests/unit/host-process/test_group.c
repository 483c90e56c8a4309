/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "host/process/group.h"
#include "hub/shm/peer_table.h"
#include "tests/support/testing.h"

#define GUESTS 2
#define SLOTS  4

static struct host_group *make(struct host_group_plan plan)
{
    const struct hub_limits limits = {.payload_max = 1020,
                                      .credit_size = 1024,
                                      .guests_max = GUESTS,
                                      .ring_size = 8,
                                      .slot_size = 1024,
                                      .slot_count = SLOTS,
                                      .channels_max = 4};
    struct host_group *group = NULL;

    assert_int_equal(host_group_create(&limits, &plan, &group), 0);
    return group;
}

static struct host_group *make_private(void)
{
    return make((struct host_group_plan){.number = 1});
}

static struct host_group *make_shared(void)
{
    return make((struct host_group_plan){.number = 1, .shared = true});
}

static uint32_t state_of(const struct host_group *group, uint32_t peer)
{
    struct hub_segment_view view;

    hub_segment_view(group->segment, peer, &view);
    return hub_observe(&view.entry->state);
}

/* A guest takes its reserved entry, and ends. */
static void live(const struct host_group *group, uint32_t peer)
{
    struct hub_segment_view view;
    uint32_t epoch;

    hub_segment_view(group->segment, peer, &view);
    assert_int_equal(hub_peer_table_attach(view.entry, &epoch), 0);
    hub_peer_table_goodbye(view.entry);
}

static void a_private_segment_is_for_one_guest_and_has_the_number_of_its_life(void **state)
{
    struct host_group *group = make_private();
    uint32_t peer, epoch;

    (void)state;
    assert_int_equal(host_group_enter(group, 41, &peer, &epoch), 0);
    assert_int_equal(peer, 1);
    assert_int_equal(epoch, 41);
    assert_true(group->seats[1].taken && group->seats[1].epoch == 41);
    assert_int_equal(state_of(group, 1), HUB_PEER_RESERVED);
    host_group_leave(group, 1);
    assert_int_equal(group->guests, 0);
    host_group_release(&group);
    assert_null(group);
    host_group_release(&group);
}

static void a_full_segment_refuses_another_guest_and_harms_nobody(void **state)
{
    struct host_group *group = make_shared();
    uint32_t peer, epoch;

    (void)state;
    for (uint32_t i = 1; i <= GUESTS; i++) {
        assert_int_equal(host_group_enter(group, 1, &peer, &epoch), 0);
        assert_int_equal(peer, i);
    }
    assert_int_equal(host_group_enter(group, 1, &peer, &epoch), RAPAHUB_EFULL);
    assert_int_equal(group->guests, GUESTS);
    for (uint32_t i = 1; i <= GUESTS; i++)
        host_group_abandon(group, i);
    assert_int_equal(group->guests, 0);
    host_group_release(&group);
}

/* A late write of the dead one must not be taken for a write of the next. */
static void the_entry_of_a_dead_guest_is_used_again_with_another_epoch(void **state)
{
    struct host_group *group = make_shared();
    uint32_t peer, epoch, next;

    (void)state;
    assert_int_equal(host_group_enter(group, 1, &peer, &epoch), 0);
    live(group, peer);
    host_group_leave(group, peer);
    assert_int_equal(state_of(group, peer), HUB_PEER_EMPTY);
    assert_false(group->seats[peer].taken);
    assert_int_equal(host_group_enter(group, 1, &peer, &next), 0);
    assert_int_equal(peer, 1);
    assert_true(next > epoch);
    host_group_abandon(group, peer);
    host_group_release(&group);
}

static void an_entry_that_no_guest_took_is_free_at_once(void **state)
{
    struct host_group *group = make_shared();
    uint32_t peer, epoch;

    (void)state;
    assert_int_equal(host_group_enter(group, 1, &peer, &epoch), 0);
    host_group_abandon(group, peer);
    assert_int_equal(state_of(group, peer), HUB_PEER_EMPTY);
    assert_false(group->seats[peer].taken);
    assert_int_equal(group->guests, 0);
    host_group_release(&group);
}

/* r[verify hub.death.quarantine] */
static void a_quarantined_entry_is_never_used_again(void **state)
{
    struct host_group *group = make_shared();
    uint32_t peer, epoch;

    (void)state;
    assert_int_equal(host_group_enter(group, 1, &peer, &epoch), 0);
    host_group_quarantine(group, peer);
    assert_true(group->seats[peer].quarantined && !group->seats[peer].taken);
    assert_int_equal(group->quarantined, 1);
    assert_int_equal(group->guests, 0);
    assert_int_equal(state_of(group, peer), HUB_PEER_RESERVED);
    assert_int_equal(host_group_enter(group, 1, &peer, &epoch), 0);
    assert_int_equal(peer, 2);
    assert_int_equal(host_group_enter(group, 1, &peer, &epoch), RAPAHUB_EFULL);
    host_group_abandon(group, 2);
    host_group_release(&group);
}

/* Takes all that this guest may have of the host's slots, and gives it back. */
static uint32_t share_of(struct host_group *group, uint32_t peer)
{
    struct hub_slot_loan loans[SLOTS + 1];
    uint32_t count = 0;

    while (count <= SLOTS && hub_slots_loan(&group->pool, peer, 1000, &loans[count]) == 0)
        count++;
    for (uint32_t i = 0; i < count; i++)
        hub_slots_drop(&group->pool, loans[i].slot);
    return count;
}

/* r[verify hub.slot.quota] */
static void two_guests_share_the_slots_and_one_has_them_all(void **state)
{
    struct host_group *group = make_shared();
    uint32_t peer, epoch, alone;

    (void)state;
    assert_int_equal(host_group_enter(group, 1, &peer, &epoch), 0);
    alone = share_of(group, 1);
    assert_true(alone >= 2);
    assert_int_equal(host_group_enter(group, 1, &peer, &epoch), 0);
    assert_int_equal(share_of(group, 1), alone / 2);
    host_group_abandon(group, 2);
    assert_int_equal(share_of(group, 1), alone);
    host_group_abandon(group, 1);
    host_group_release(&group);
}

static struct host_group *make_anonymous(uint32_t *epoch)
{
    struct host_group *group =
        make((struct host_group_plan){.number = 1, .shared = true, .anonymous = true});
    struct hub_segment_view view;

    hub_segment_view(group->segment, 2, &view);
    assert_true(hub_peer_table_claim(view.entry));
    assert_int_equal(hub_peer_table_attach(view.entry, epoch), 0);
    return group;
}

static void an_unmanaged_guest_gets_a_seat_with_the_epoch_of_its_entry(void **state)
{
    uint32_t attached, epoch = 0;
    struct host_group *group = make_anonymous(&attached);

    (void)state;
    assert_int_equal(host_group_admit(group, 2, &epoch), 0);
    assert_int_equal(epoch, attached);
    assert_true(group->seats[2].taken && group->seats[2].epoch == attached);
    assert_int_equal(group->guests, 1);
    host_group_dismiss(group, 2);
    assert_false(group->seats[2].taken);
    assert_int_equal(group->guests, 0);
    assert_int_equal(state_of(group, 2), HUB_PEER_ATTACHED); /* it is still there */
    host_group_release(&group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_private_segment_is_for_one_guest_and_has_the_number_of_its_life),
        cmocka_unit_test(a_full_segment_refuses_another_guest_and_harms_nobody),
        cmocka_unit_test(the_entry_of_a_dead_guest_is_used_again_with_another_epoch),
        cmocka_unit_test(an_entry_that_no_guest_took_is_free_at_once),
        cmocka_unit_test(a_quarantined_entry_is_never_used_again),
        cmocka_unit_test(two_guests_share_the_slots_and_one_has_them_all),
        cmocka_unit_test(an_unmanaged_guest_gets_a_seat_with_the_epoch_of_its_entry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
