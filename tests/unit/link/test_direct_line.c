/* SPDX-License-Identifier: Apache-2.0 */
/* Several calls that go directly, one after the other. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_in_line_are_answered_together),
        cmocka_unit_test(what_was_seen_in_line_is_taken_without_the_head),
        cmocka_unit_test(what_is_held_back_in_line_is_pushed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
