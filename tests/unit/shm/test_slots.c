/* SPDX-License-Identifier: Apache-2.0 */
/* slots: what both kinds promise to a link. */
#include <string.h>

#include "hub/shm/peer_table.h"
#include "hub/shm/segment.h"
#include "hub/shm/slots.h"
#include "tests/support/testing.h"

#define GUESTS 3
#define LARGE  60000 /* bytes: of the larger class */

/* Slots of one size, 16; and, as without options, of several: 4,096 and 65,536 bytes, 16 of the
 * larger. */
static const struct hub_limits kinds[] = {
    {.payload_max = 4092,
     .credit_size = 1024,
     .guests_max = GUESTS,
     .ring_size = 4,
     .slot_size = 4096,
     .slot_count = 16,
     .channels_max = 4},
    {.payload_max = 65536,
     .credit_size = 1024,
     .guests_max = GUESTS,
     .ring_size = 4,
     .slot_size = 4096,
     .slot_count = 16,
     .channels_max = 4},
};
static const size_t sizes[] = {4000, LARGE};

/* How many one guest gets, all at once. */
static uint32_t loan_all(struct hub_slots *slots, uint32_t peer, size_t size)
{
    struct hub_slot_loan lent[64];
    uint32_t count = 0;

    while (count < 64 && hub_slots_loan(slots, peer, size, &lent[count]) == 0)
        count++;
    assert_int_equal(hub_slots_ready(slots, peer, size), false);
    for (uint32_t i = 0; i < count; i++)
        hub_slots_drop(slots, lent[i].slot);
    return count;
}

/* r[verify hub.slot.quota] */
static void beside_others_a_guest_has_half_of_what_its_host_lends(void **state)
{
    static const struct {
        uint32_t guests;
        bool all;
    } steps[] = {{0, true}, {1, true}, {2, false}, {3, false}, {2, false}, {1, true}};

    (void)state;
    for (size_t kind = 0; kind < 2; kind++) {
        struct hub_segment *segment = NULL;
        struct hub_slots slots = {0};
        uint32_t all;

        assert_int_equal(hub_segment_create(&kinds[kind], true, &segment), 0);
        assert_int_equal(hub_slots_init_host(&slots, segment), 0);
        all = loan_all(&slots, 1, sizes[kind]);
        assert_int_equal(all, 16);
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
            hub_slots_set_guests(&slots, steps[i].guests);
            assert_int_equal(loan_all(&slots, 1, sizes[kind]), steps[i].all ? all : all / 2);
        }
        hub_slots_fini(&slots);
        hub_segment_release(&segment);
    }
}

/* A guest with a pool of its own. */
struct guest {
    struct hub_segment *segment;
    struct hub_segment_view view;
    struct hub_slots slots;
    struct hub_slots_in in; /* the host's side */
    struct hub_descriptor sent[16];
};

static void open_guest(struct guest *guest, const struct hub_segment *host, struct hub_slots *own,
                       uint32_t peer)
{
    uint32_t reserved, epoch;

    assert_int_equal(hub_peer_table_reserve(host, &reserved, &epoch), 0);
    assert_int_equal(reserved, peer);
    assert_int_equal(hub_segment_attach(host->mapping.path, peer, &guest->segment, &guest->view),
                     0);
    assert_int_equal(hub_slots_init_guest(&guest->slots, guest->segment, &guest->view, peer), 0);
    assert_int_equal(hub_slots_in_init(&guest->in, own, &host->geometry,
                                       host->mapping.data +
                                           (guest->view.guest_pool - guest->segment->mapping.data),
                                       peer),
                     0);
}

static void send_all(struct guest *guest, uint8_t fill)
{
    struct hub_slot_loan slot;

    for (uint32_t i = 0; i < 16; i++) {
        struct hub_descriptor *message = &guest->sent[i];

        assert_int_equal(hub_slots_loan(&guest->slots, 0, 4000, &slot), 0);
        memset(slot.data, fill, 4000);
        message->payload_slot = slot.slot;
        message->payload_generation = slot.generation;
        message->payload_offset = 0;
        message->payload_len = 4000;
        hub_slots_sent(&guest->slots, &slot);
    }
    assert_true(hub_slots_loan(&guest->slots, 0, 4000, &slot) < 0);
}

static void receive_all(struct guest *guest, uint8_t fill)
{
    uint8_t got[4000], wanted[4000];

    memset(wanted, fill, sizeof wanted);
    for (uint32_t i = 0; i < 16; i++) {
        assert_int_equal(hub_slots_in_take(&guest->in, &guest->sent[i], got), 0);
        assert_memory_equal(got, wanted, sizeof got);
        assert_int_equal(hub_slots_in_free(&guest->in, guest->sent[i].payload_slot), 0);
    }
}

/* Each guest writes into all of its slots, while the host has lent all of its own: payloads do not
 * mix, and returned slots come back to their owner. r[verify shm.segment.slot-pools]
 * r[verify shm.segment.slot-ownership] */
static void each_guest_has_a_pool_of_its_own(void **state)
{
    struct hub_segment *host = NULL;
    struct hub_slots own = {0};
    struct guest guests[GUESTS] = {0};

    (void)state;
    assert_int_equal(hub_segment_create(&kinds[0], true, &host), 0);
    assert_int_equal(hub_slots_init_host(&own, host), 0);
    for (uint32_t i = 0; i < GUESTS; i++)
        open_guest(&guests[i], host, &own, i + 1);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < GUESTS; i++)
            send_all(&guests[i], (uint8_t)(0x10 * round + i));
        assert_int_equal(loan_all(&own, 1, 4000), 16);
        for (uint32_t i = GUESTS; i-- > 0;)
            receive_all(&guests[i], (uint8_t)(0x10 * round + i));
    }
    for (uint32_t i = 0; i < GUESTS; i++) {
        hub_slots_in_fini(&guests[i].in);
        hub_slots_fini(&guests[i].slots);
        hub_segment_release(&guests[i].segment);
    }
    hub_slots_fini(&own);
    hub_segment_release(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beside_others_a_guest_has_half_of_what_its_host_lends),
        cmocka_unit_test(each_guest_has_a_pool_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
