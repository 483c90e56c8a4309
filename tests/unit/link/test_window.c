/* SPDX-License-Identifier: Apache-2.0 */
/* How far a sender may be ahead of its reader, and how long its elements are. */
#include "hub/channel/channel_stream.h"
#include "hub/channel/window.h"
#include "tests/unit/link/channel_pair.h"

#define CREDIT 16384U
#define EXTRA  (8U << 20) /* for a link */

static void open_roomy(struct flow *flow, uint32_t credit)
{
    struct hub_limits limits = flow_limits();

    limits.credit_size = credit;
    limits.ring_size = 128;
    limits.slot_size = 32768;
    limits.slot_count = 64;
    limits.payload_max = limits.slot_size - 4;
    memset(flow, 0, sizeof *flow);
    pair_open(&flow->pair, &limits, 0);
    flow_open_channel(flow, false);
}

static void pass(struct flow *flow, size_t size, size_t read)
{
    static char bytes[1 << 20];

    assert_int_equal(hub_channel_writer_write(flow_sender(flow), bytes, size), 0);
    flow_sweep(flow);
    assert_int_equal(hub_channel_stream_read(flow_receiver(flow), bytes, read), read);
}

static uint32_t granted(struct flow *flow)
{
    return hub_channel_table_granted(hub_channel_entry_of(flow_sender(flow)));
}

/* r[verify hub.channel.window] */
static void it_widens_while_the_reader_keeps_up(void **state)
{
    static const struct {
        size_t size;
        uint32_t window;
    } steps[] = {{8000, CREDIT}, {8200, 32 * CREDIT}, {200000, 32 * CREDIT}, {8000, 32 * CREDIT}};
    struct flow flow;

    (void)state;
    open_roomy(&flow, CREDIT);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        pass(&flow, steps[i].size, steps[i].size);
        assert_int_equal(granted(&flow) - flow_sender(&flow)->sent, steps[i].window);
        assert_int_equal(flow_receiver(&flow)->window, steps[i].window);
    }
    flow_close(&flow);
}

/* Not for a slow reader, not for a peer that takes no part, not where little was asked for, or
 * much. r[verify hub.channel.window] */
static void else_it_stays(void **state)
{
    struct flow flow;

    (void)state;
    open_roomy(&flow, CREDIT);
    pass(&flow, 12000, 9000);
    assert_in_range(granted(&flow), CREDIT + 9000, CREDIT + 9000 + 4 * 2);
    assert_int_equal(flow_receiver(&flow)->window, CREDIT);
    flow_close(&flow);

    open_roomy(&flow, CREDIT);
    hub_store_relaxed(&flow.pair.host.view.entry->guest_wait, 0);
    pass(&flow, 12000, 12000);
    assert_int_equal(flow_receiver(&flow)->window, CREDIT);
    flow_close(&flow);

    open_roomy(&flow, CREDIT - 1);
    pass(&flow, 12000, 12000);
    assert_int_equal(flow_receiver(&flow)->window, CREDIT - 1);
    flow_close(&flow);

    open_roomy(&flow, 3U << 20);
    pass(&flow, 1000000, 1000000);
    pass(&flow, 1000000, 1000000);
    assert_int_equal(flow_receiver(&flow)->window, 3U << 20);
    flow_close(&flow);
}

/* r[verify hub.channel.window] r[verify hub.channel.bound] */
static void what_all_of_a_link_have_more_is_bounded(void **state)
{
    struct flow flow;
    struct hub_channels *set;

    (void)state;
    open_roomy(&flow, CREDIT);
    set = flow_receiver(&flow)->set;
    hub_store_relaxed(&set->extra, EXTRA - 3 * CREDIT + 1);
    pass(&flow, 12000, 12000);
    assert_int_equal(flow_receiver(&flow)->window, CREDIT);
    hub_store_relaxed(&set->extra, EXTRA - 3 * CREDIT);
    pass(&flow, 12000, 12000);
    assert_int_equal(flow_receiver(&flow)->window, 4 * CREDIT);
    assert_int_equal(hub_load_relaxed(&set->extra), EXTRA);
    pass(&flow, 40000, 40000);
    assert_int_equal(flow_receiver(&flow)->window, 4 * CREDIT);
    hub_store_relaxed(&set->extra, 3 * CREDIT);
    pass(&flow, 40000, 40000);
    assert_int_equal(flow_receiver(&flow)->window, 32 * CREDIT);
    assert_int_equal(hub_load_relaxed(&set->extra), 31 * CREDIT);
    flow_answer(&flow);
    assert_int_equal(hub_load_relaxed(&set->extra), 0);
    flow_close(&flow);
}

/* So that many bytes are few messages. r[verify hub.channel.window] */
static void elements_are_longer_in_a_wide_one(void **state)
{
    const struct hub_link *link;
    uint64_t before;
    struct flow flow;

    (void)state;
    open_roomy(&flow, CREDIT);
    link = flow_sender(&flow)->set->link;
    assert_int_equal(flow_sender(&flow)->longest, CREDIT / 4 - 64);
    pass(&flow, 12000, 12000);
    before = hub_load_relaxed64(&link->counters.sent);
    pass(&flow, 30000, 30000);
    assert_int_equal(flow_sender(&flow)->longest, 32768 - 64 - 64);
    assert_int_equal(hub_load_relaxed64(&link->counters.sent) - before, 2);
    flow_close(&flow);
}

/* A write of as much as a slot holds is longer with its length: the rest goes inline. */
static void a_few_bytes_too_many_take_no_slot(void **state)
{
    const struct hub_link *link;
    struct flow flow;
    size_t longest;

    (void)state;
    open_roomy(&flow, CREDIT);
    link = flow_sender(&flow)->set->link;
    longest = flow_sender(&flow)->longest;
    pass(&flow, longest + 3, longest + 3);
    assert_int_equal(hub_load_relaxed64(&link->counters.sent), 2);
    assert_int_equal(hub_load_relaxed64(&link->counters.sent_slots), 1);
    pass(&flow, longest + 32, longest + 32);
    assert_int_equal(hub_load_relaxed64(&link->counters.sent), 4);
    assert_int_equal(hub_load_relaxed64(&link->counters.sent_slots), 3);
    flow_close(&flow);
}

static uint32_t memory_of(struct flow *flow)
{
    return flow_receiver(flow)->fifo.capacity + flow_receiver(flow)->set->spare.capacity;
}

static void end_one(struct flow *flow)
{
    flow_answer(flow);
    hub_channels_drop(&flow->caller);
    hub_channels_drop(&flow->callee);
}

/* The rest of a wide window is not for one that may fill little of it, but for one that has been
 * widened, too. r[verify hub.channel.bound] */
static void a_narrow_one_has_the_memory_of_its_window(void **state)
{
    struct hub_channels *set;
    uint32_t wide;
    struct flow flow;

    (void)state;
    open_roomy(&flow, CREDIT);
    set = flow_receiver(&flow)->set;
    pass(&flow, 12000, 12000);
    pass(&flow, 200000, 200000);
    assert_int_equal(flow_receiver(&flow)->window, 32 * CREDIT);
    wide = flow_receiver(&flow)->fifo.capacity;
    assert_in_range(wide, 200000, 32 * CREDIT);
    end_one(&flow);
    assert_int_equal(set->spare.capacity, wide);

    flow_open_channel(&flow, false);
    pass(&flow, 100, 100);
    assert_in_range(flow_receiver(&flow)->fifo.capacity, 100, CREDIT);
    assert_int_equal(set->spare.capacity, wide);
    hub_window_rest(set, false); /* from here on it counts as unused */
    pass(&flow, 12000, 12000);
    assert_int_equal(flow_receiver(&flow)->fifo.capacity, wide);
    hub_window_rest(set, false);
    assert_true(set->spare.capacity > 0); /* the narrow one, left a moment ago */
    assert_in_range(memory_of(&flow), wide, wide + CREDIT);
    flow_close(&flow);
}

static void memory_that_nobody_used_since_the_last_look_is_freed(void **state)
{
    struct hub_channels *set;
    struct flow flow;

    (void)state;
    open_roomy(&flow, CREDIT);
    set = flow_receiver(&flow)->set;
    pass(&flow, 12000, 12000);
    end_one(&flow);
    assert_true(set->spare.capacity >= 12000);
    hub_window_rest(set, false);
    assert_true(set->spare.capacity >= 12000);
    hub_window_rest(set, false);
    assert_int_equal(set->spare.capacity, 0);
    flow_open_channel(&flow, false);
    pass(&flow, 12000, 12000);
    end_one(&flow);
    hub_window_rest(set, true);
    assert_int_equal(set->spare.capacity, 0);
    flow_close(&flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_widens_while_the_reader_keeps_up),
        cmocka_unit_test(else_it_stays),
        cmocka_unit_test(what_all_of_a_link_have_more_is_bounded),
        cmocka_unit_test(elements_are_longer_in_a_wide_one),
        cmocka_unit_test(a_few_bytes_too_many_take_no_slot),
        cmocka_unit_test(a_narrow_one_has_the_memory_of_its_window),
        cmocka_unit_test(memory_that_nobody_used_since_the_last_look_is_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
