/* SPDX-License-Identifier: Apache-2.0 */
/* Where in its slot a payload begins: the bytes behind what precedes them at a line. */
#include "hub/base/clock.h"
#include "hub/link/link_state.h"
#include "tests/unit/link/pair.h"

#define LINE     64
#define HEAD_MAX 40

/* Of the message that the guest would read next: where its bytes behind `head` begin in the
 * segment, modulo a line. */
static uint32_t begin_of(struct pair *pair, uint32_t head, uint32_t *size)
{
    const struct hub_link *link = pair->guest.connection.link;
    const struct hub_ring_cell *cell = hub_ring_cell_to_read(&link->in);
    uint64_t place = hub_peek64(&cell->words[3]);

    *size = (uint32_t)(place >> 32);
    return (hub_slots_start(pair->host.connection.link->options.pool) + (uint32_t)place + head) %
           LINE;
}

static uint32_t send_one(const struct hub_limits *limits, uint32_t head, uint32_t tail)
{
    static uint8_t bytes[65536];
    const struct hub_parts parts = {.head = {bytes, head}, .tail = {bytes, tail}};
    const struct hub_message message = {HUB_DATA, 1, 0};
    struct pair pair;
    uint32_t begin, size;

    pair_open(&pair, limits, 0);
    assert_int_equal(
        hub_link_send(pair.host.connection.link, &message, &parts, hub_clock_after(HUB_SECOND)), 0);
    begin = begin_of(&pair, head, &size);
    assert_int_equal(size, head + tail);
    pair_close(&pair);
    return begin;
}

/* r[verify hub.payload.align] */
static void what_follows_the_head_begins_at_a_line(void **state)
{
    const struct hub_limits limits = pair_limits();
    uint32_t room = limits.slot_size - 4, elsewhere = 0;

    (void)state;
    for (uint32_t head = 0; head <= HEAD_MAX; head += 3)
        for (uint32_t tail = 33; head + tail + LINE <= room && tail <= limits.payload_max - head;
             tail = tail * 3 / 2)
            elsewhere += send_one(&limits, head, tail) != 0;
    assert_int_equal(elsewhere, 0);
}

/* There is no room for it, and the message goes all the same. r[verify hub.payload.align] */
static void what_fills_its_slot_begins_where_it_can(void **state)
{
    const struct hub_limits limits = pair_limits();
    uint32_t room = limits.slot_size - 4;

    (void)state;
    room = room < limits.payload_max ? room : limits.payload_max;
    (void)send_one(&limits, 5, room - 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_follows_the_head_begins_at_a_line),
        cmocka_unit_test(what_fills_its_slot_begins_where_it_can),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
