/* SPDX-License-Identifier: Apache-2.0 */
/* Several calls that go directly, one after the other. */
#include "hub/call/call_table.h"
#include "hub/call/direct.h"
#include "tests/unit/link/direct_inbound.h"

/* r[verify hub.call.batch] */
static void several_in_line_are_answered_together(void **state)
{
    const struct rapahub_bytes none = {NULL, 0};
    const struct hub_limits limits = pair_limits();
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    for (uint32_t id = 20; id < 23; id++)
        send_raw(&pair.host, HUB_REQUEST, id, small, sizeof small);
    for (uint32_t id = 20; id < 23; id++) {
        struct hub_request *request = next_directly(&pair);

        assert_non_null(request);
        assert_int_equal(request->id, id);
        assert_int_equal(hub_direct_serve_waits(served_of(&pair)), id < 22);
        assert_int_equal(sent_to_host(&pair), 0);
        assert_true(hub_direct_serve_bytes(served_of(&pair), none, id < 22));
    }
    assert_int_equal(sent_to_host(&pair), 3);
    assert_null(next_directly(&pair));
    assert_false(hub_direct_serve_waits(served_of(&pair)));
    pair_close(&pair);
}

/* The head was seen after all of them: it is not read again before each, which would begin with a
 * pause. */
static void what_was_seen_in_line_is_taken_without_the_head(void **state)
{
    const struct rapahub_bytes none = {NULL, 0};
    const struct hub_limits limits = pair_limits();
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    send_raw(&pair.host, HUB_REQUEST, 20, small, sizeof small);
    send_raw(&pair.host, HUB_REQUEST, 21, small, sizeof small);
    assert_non_null(next_directly(&pair));
    assert_true(hub_direct_serve_bytes(served_of(&pair), none, false));
    hub_publish(&pair.host.view.entry->host_to_guest_head, 1);
    assert_non_null(next_directly(&pair));
    assert_true(hub_direct_serve_bytes(served_of(&pair), none, false));
    hub_publish(&pair.host.view.entry->host_to_guest_head, 2);
    assert_null(next_directly(&pair));
    assert_int_equal(sweep(&pair), 0);
    pair_close(&pair);
}

/* The next message in the ring is of another kind: it is published when the guest pushes. */
static void what_is_held_back_in_line_is_pushed(void **state)
{
    const struct rapahub_bytes none = {NULL, 0};
    const struct hub_limits limits = pair_limits();
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    send_raw(&pair.host, HUB_REQUEST, 20, small, sizeof small);
    send_raw(&pair.host, HUB_CANCEL, 20, NULL, 0);
    assert_non_null(next_directly(&pair));
    assert_true(hub_direct_serve_waits(served_of(&pair)));
    assert_true(hub_direct_serve_bytes(served_of(&pair), none, true));
    assert_int_equal(sent_to_host(&pair), 0);
    assert_null(next_directly(&pair));
    hub_link_push(pair.guest.connection.link);
    assert_int_equal(sent_to_host(&pair), 1);
    assert_int_equal(sweep(&pair), 1);
    pair_close(&pair);
}

static bool is_armed(const struct pair *pair)
{
    return (hub_load_relaxed(&pair->host.view.entry->host_wait) & HUB_WAIT_RX_BELL) != 0;
}

/* While a host makes calls one after the other, its doorbell need not ring; after the last one it
 * must. */
static void calls_in_line_disarm_the_doorbell_each_time_it_was_armed(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct hub_link *link;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    link = pair.host.connection.link;
    assert_true(is_armed(&pair)); /* as the entry was made */
    for (int i = 0; i < 3; i++) {
        assert_true(hub_direct_begin(link, false));
        assert_false(is_armed(&pair));
        hub_direct_end(link, true);
        assert_false(is_armed(&pair));
        assert_true(hub_direct_begin(link, false));
        hub_direct_end(link, false);
        assert_true(is_armed(&pair));
    }
    pair_close(&pair);
}

/* r[verify call.request-id.uniqueness] r[verify shm.id.request-scope] */
static void the_turns_of_ids_begin_again_without_an_id_of_0(void **state)
{
    const struct hub_limits limits = pair_limits();
    struct hub_call_entry *entry;
    struct hub_calls *calls;
    struct pair pair;

    (void)state;
    open_direct(&pair, &limits, 0);
    calls = pair.host.connection.calls;
    hub_mutex_lock(calls->lock);
    calls->turn = ~UINT32_C(0) << HUB_CALL_ID_SHIFT;
    for (uint32_t turn = 1; turn < 4; turn++) {
        entry = hub_call_table_reserve(calls);
        assert_non_null(entry);
        assert_int_equal(entry->id, turn << HUB_CALL_ID_SHIFT);
        hub_publish(&entry->taken, 1);
    }
    hub_mutex_unlock(calls->lock);
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_in_line_are_answered_together),
        cmocka_unit_test(what_was_seen_in_line_is_taken_without_the_head),
        cmocka_unit_test(what_is_held_back_in_line_is_pushed),
        cmocka_unit_test(calls_in_line_disarm_the_doorbell_each_time_it_was_armed),
        cmocka_unit_test(the_turns_of_ids_begin_again_without_an_id_of_0),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
