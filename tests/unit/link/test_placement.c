/* SPDX-License-Identifier: Apache-2.0 */
/* The place of a payload in its slot: the bytes after its head begin at a cache line. */
#include "hub/base/clock.h"
#include "hub/link/link_state.h"
#include "tests/unit/link/pair.h"

#define LINE     64
#define HEAD_MAX 40

/* Returns where the bytes after `head` begin in the next message that the guest would read, modulo
 * a line. */
static uint32_t begin_of(struct pair *pair, uint32_t head, uint32_t *size)
{
    const struct hub_link *link = pair->guest.connection.link;
    const struct hub_ring_cell *cell = hub_ring_cell_to_read(&link->in);
    uint64_t place = hub_load_relaxed64(&cell->words[3]);

    *size = (uint32_t)(place >> 32);
    return (hub_slots_start(pair->host.connection.link->options.pool) + (uint32_t)place + head) %
           LINE;
}

/* With `aligned` so many bytes at the end are to begin at a line. */
static uint32_t send_parts(const struct hub_limits *limits, uint32_t head, uint32_t tail,
                           uint32_t aligned)
{
    static uint8_t bytes[65536];
    const struct hub_parts parts = {
        .head = {bytes, head}, .tail = {bytes, tail}, .aligned = aligned};
    const struct hub_message message = {HUB_DATA, 1, 0};
    struct pair pair;
    uint32_t begin, size;

    pair_open(&pair, limits, 0);
    assert_int_equal(
        hub_link_send(pair.host.connection.link, &message, &parts, hub_clock_after(HUB_SECOND)), 0);
    begin = begin_of(&pair, aligned > 0 ? head + tail - aligned : head, &size);
    assert_int_equal(size, head + tail);
    pair_close(&pair);
    return begin;
}

static uint32_t send_one(const struct hub_limits *limits, uint32_t head, uint32_t tail)
{
    return send_parts(limits, head, tail, 0);
}

/* Wherever in head and tail they are. r[verify hub.payload.align] */
static void what_is_said_to_begin_at_a_line_does(void **state)
{
    const struct hub_limits limits = pair_limits();
    uint32_t elsewhere = 0;

    (void)state;
    for (uint32_t head = 0; head <= 100; head += 9)
        for (uint32_t aligned = 1; aligned <= 100 + head; aligned += 7)
            elsewhere += send_parts(&limits, head, 100, aligned) != 0;
    assert_int_equal(elsewhere, 0);
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

/* Returns where the copy of a request of bytes without metadata has them, modulo a line. */
static size_t received_at(const struct hub_limits *limits, uint8_t *payload, uint32_t size)
{
    uint32_t head = 2 + (size >= 0x80);
    const struct hub_parts parts = {.head = {payload, head}, .tail = {payload + head, size}};
    const struct hub_message message = {HUB_REQUEST, 1, 3};
    struct hub_request *request;
    struct pair pair;
    size_t at;

    payload[0] = 0;
    payload[1] = (uint8_t)(size | (size >= 0x80 ? 0x80 : 0));
    if (size >= 0x80)
        payload[2] = (uint8_t)(size >> 7);
    pair_open(&pair, limits, 0);
    assert_int_equal(
        hub_link_send(pair.host.connection.link, &message, &parts, hub_clock_after(HUB_SECOND)), 0);
    assert_int_equal(hub_link_sweep(pair.guest.connection.link, 64), 1);
    request = hub_inbound_calls_next(pair.guest.connection.served, NULL, NULL);
    assert_non_null(request);
    assert_memory_equal(request->payload, payload, head + size);
    at = ((uintptr_t)request->arguments.data + head - 1) % LINE;
    assert_int_equal(hub_inbound_calls_answer(pair.guest.connection.served, request,
                                              &(struct hub_response){.kind = HUB_RESPONSE_OK},
                                              (struct rapahub_bytes){NULL, 0}),
                     0);
    pair_close(&pair);
    return at;
}

/* So it need not be copied once more. r[verify hub.bytes.align] */
static void what_lay_at_a_line_is_received_at_one(void **state)
{
    static uint8_t payload[4096];
    const struct hub_limits limits = pair_limits();
    size_t elsewhere = 0;

    (void)state;
    for (uint32_t size = 0; size + LINE + 3 < limits.payload_max && size < 2000; size += 7)
        elsewhere += received_at(&limits, payload, size) != 0;
    assert_int_equal(elsewhere, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_follows_the_head_begins_at_a_line),
        cmocka_unit_test(what_is_said_to_begin_at_a_line_does),
        cmocka_unit_test(what_lay_at_a_line_is_received_at_one),
        cmocka_unit_test(what_fills_its_slot_begins_where_it_can),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
