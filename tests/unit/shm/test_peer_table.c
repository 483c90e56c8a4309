/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "hub/shm/peer_table.h"
#include "tests/support/testing.h"

static const struct hub_limits limits = {.payload_max = 60,
                                         .credit_size = 1024,
                                         .guests_max = 3,
                                         .ring_size = 4,
                                         .slot_size = 64,
                                         .slot_count = 3,
                                         .channels_max = 4};

static int make_segment(void **state)
{
    struct hub_segment *segment = NULL;

    if (hub_segment_create(&limits, true, &segment) < 0)
        return -1;
    *state = segment;
    return 0;
}

static int drop_segment(void **state)
{
    struct hub_segment *segment = *state;

    hub_segment_release(&segment);
    return 0;
}

static struct hub_peer_entry *entry_of(const struct hub_segment *segment, uint32_t peer)
{
    struct hub_segment_view view;

    hub_segment_view(segment, peer, &view);
    return view.entry;
}

static uint32_t reserve(const struct hub_segment *segment, uint32_t expected_epoch)
{
    uint32_t peer = 0, epoch = 0;

    assert_int_equal(hub_peer_table_reserve(segment, &peer, &epoch), 0);
    assert_int_equal(epoch, expected_epoch);
    return peer;
}

static void assert_state(const struct hub_peer_entry *entry, uint32_t expected)
{
    assert_int_equal(hub_load_relaxed(&entry->state), expected);
}

/* r[verify shm.spawn.reserved-state] */
static void entries_are_reserved_from_the_first_on_until_none_is_left(void **state)
{
    const struct hub_segment *segment = *state;
    uint32_t peer = 77, epoch = 77;

    for (uint32_t id = 1; id <= 3; id++) {
        assert_int_equal(reserve(segment, 1), id);
        assert_state(entry_of(segment, id), HUB_PEER_RESERVED);
        assert_int_equal(hub_load_relaxed(&entry_of(segment, id)->epoch), 1);
        assert_int_equal(hub_load_relaxed(&entry_of(segment, id)->host_wait),
                         HUB_WAIT_PART | HUB_WAIT_RX_BELL);
        assert_int_equal(hub_load_relaxed(&entry_of(segment, id)->guest_wait), 0);
    }
    assert_int_equal(hub_peer_table_reserve(segment, &peer, &epoch), RAPAHUB_EFULL);
    assert_string_equal(rapahub_last_error()->rule, "shm.spawn.reserved-state");
    assert_int_equal(peer, 77);
    assert_int_equal(epoch, 77);
}

static void an_entry_given_up_is_reserved_again_with_the_next_epoch(void **state)
{
    const struct hub_segment *segment = *state;
    struct hub_peer_entry *middle = entry_of(segment, 2);

    for (int i = 0; i < 3; i++)
        reserve(segment, 1);
    hub_store_relaxed(&middle->guest_wait, HUB_WAIT_PART);
    hub_peer_table_unreserve(middle);
    assert_state(middle, HUB_PEER_EMPTY);
    assert_int_equal(hub_load_relaxed(&middle->guest_wait), 0);
    assert_int_equal(hub_load_relaxed(&middle->host_wait), 0);
    assert_int_equal(reserve(segment, 2), 2);
}

static void an_entry_that_was_attached_is_not_emptied_by_giving_it_up(void **state)
{
    const struct hub_segment *segment = *state;
    struct hub_peer_entry *entry = entry_of(segment, reserve(segment, 1));
    uint32_t epoch = 0;

    assert_int_equal(hub_peer_table_attach(entry, &epoch), 0);
    hub_peer_table_unreserve(entry);
    assert_state(entry, HUB_PEER_ATTACHED);
}

/* r[verify shm.spawn.guest-init] r[verify shm.crash.epoch] */
static void a_ticket_attaches_once_and_keeps_the_epoch(void **state)
{
    const struct hub_segment *segment = *state;
    struct hub_peer_entry *entry = entry_of(segment, reserve(segment, 1));
    uint32_t epoch = 0;

    assert_int_equal(hub_peer_table_attach(entry, &epoch), 0);
    assert_int_equal(epoch, 1);
    assert_state(entry, HUB_PEER_ATTACHED);
    assert_int_equal(hub_load_relaxed(&entry->epoch), 1);
    assert_int_equal(hub_peer_table_attach(entry, &epoch), RAPAHUB_ESTALE);
    assert_string_equal(rapahub_last_error()->rule, "shm.spawn.guest-init");
}

static void nobody_attaches_to_what_is_empty_or_has_left(void **state)
{
    const struct hub_segment *segment = *state;
    struct hub_peer_entry *entry = entry_of(segment, 1);
    uint32_t epoch = 5;

    assert_int_equal(hub_peer_table_attach(entry, &epoch), RAPAHUB_ESTALE);
    reserve(segment, 1);
    hub_peer_table_goodbye(entry);
    assert_int_equal(hub_peer_table_attach(entry, &epoch), RAPAHUB_ESTALE);
    assert_int_equal(epoch, 5);
    assert_state(entry, HUB_PEER_GOODBYE);
}

/* r[verify shm.goodbye.guest] */
static void goodbye_is_said_from_reserved_and_attached_only(void **state)
{
    static const uint32_t after[] = {[HUB_PEER_EMPTY] = HUB_PEER_EMPTY,
                                     [HUB_PEER_ATTACHED] = HUB_PEER_GOODBYE,
                                     [HUB_PEER_GOODBYE] = HUB_PEER_GOODBYE,
                                     [HUB_PEER_RESERVED] = HUB_PEER_GOODBYE};
    struct hub_peer_entry *entry = entry_of(*state, 1);

    for (uint32_t i = 0; i < 4; i++) {
        hub_publish(&entry->state, i);
        hub_peer_table_goodbye(entry);
        assert_state(entry, after[i]);
    }
}

static int look(struct hub_peer_entry *entry, uint32_t from, uint32_t to)
{
    uint32_t seen = from;
    int r;

    hub_publish(&entry->state, to);
    r = hub_peer_table_look(entry, 0, &seen);
    assert_int_equal(seen, r == 0 ? to : from);
    return r;
}

/* r[verify shm.segment.peer-state] */
static void only_moves_of_a_guest_are_taken_from_the_entry(void **state)
{
    struct hub_peer_entry *entry = entry_of(*state, 1);

    for (uint32_t from = 0; from < 4; from++)
        for (uint32_t to = 0; to < 4; to++) {
            bool legal =
                from == to || (from == HUB_PEER_ATTACHED && to == HUB_PEER_GOODBYE) ||
                (from == HUB_PEER_RESERVED && (to == HUB_PEER_ATTACHED || to == HUB_PEER_GOODBYE));

            assert_int_equal(look(entry, from, to), legal ? 0 : RAPAHUB_EPROTOCOL);
            if (!legal)
                assert_string_equal(rapahub_last_error()->rule, "shm.segment.peer-state");
        }
}

static void a_state_that_there_is_not_is_a_violation(void **state)
{
    static const uint32_t strange[] = {4, 31, 32, 33, 34, 77, 0x80000000, 0xFFFFFFFF};
    struct hub_peer_entry *entry = entry_of(*state, 1);

    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++)
        for (uint32_t from = 0; from < 4; from++)
            assert_int_equal(look(entry, from, strange[i]), RAPAHUB_EPROTOCOL);
}

static void another_epoch_is_a_violation(void **state)
{
    const struct hub_segment *segment = *state;
    struct hub_peer_entry *entry = entry_of(segment, reserve(segment, 1));
    uint32_t seen = HUB_PEER_RESERVED;

    assert_int_equal(hub_peer_table_look(entry, 1, &seen), 0);
    hub_publish(&entry->epoch, 2);
    assert_int_equal(hub_peer_table_look(entry, 1, &seen), RAPAHUB_EPROTOCOL);
    assert_string_equal(rapahub_last_error()->rule, "shm.crash.epoch");
}

static void the_machine_has_the_moves_of_the_table(void **state)
{
    static const char *const moves[4] = {"EARG", "-AG-", "E-G-", "EAGR"};
    static const char letters[] = "EAGR";

    (void)state;
    for (uint32_t from = 0; from < 4; from++)
        for (uint32_t to = 0; to < 4; to++) {
            bool expected = from != to && strchr(moves[from], letters[to]) != NULL &&
                            !(from == HUB_PEER_EMPTY && to == HUB_PEER_GOODBYE);

            assert_int_equal(hub_states_may(&hub_peer_table_states, from, to), expected);
        }
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make_segment, drop_segment)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(entries_are_reserved_from_the_first_on_until_none_is_left),
        CASE(an_entry_given_up_is_reserved_again_with_the_next_epoch),
        CASE(an_entry_that_was_attached_is_not_emptied_by_giving_it_up),
        CASE(a_ticket_attaches_once_and_keeps_the_epoch),
        CASE(nobody_attaches_to_what_is_empty_or_has_left),
        CASE(goodbye_is_said_from_reserved_and_attached_only),
        CASE(only_moves_of_a_guest_are_taken_from_the_entry),
        CASE(a_state_that_there_is_not_is_a_violation),
        CASE(another_epoch_is_a_violation),
        cmocka_unit_test(the_machine_has_the_moves_of_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
