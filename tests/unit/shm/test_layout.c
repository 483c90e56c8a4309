/* SPDX-License-Identifier: Apache-2.0 */
/* The offsets are asserted when layout.h is compiled; here the bytes are held to the vectors. */
#include <string.h>

#include "hub/shm/layout.h"
#include "hub/shm/slot_ref.h"
#include "tests/support/testing.h"
#include "tests/support/vectors.h"

static bool member_true(const struct vector *vector, const char *name)
{
    return json_is_true(vectors_member(vector->value, name));
}

static uint32_t wait_word_of(const struct vector *vector)
{
    const json_t *cpu = vectors_member(vector->value, "cpu");
    uint32_t word = 0;

    word |= member_true(vector, "part") ? HUB_WAIT_PART : 0;
    word |= member_true(vector, "rx_futex") ? HUB_WAIT_RX_FUTEX : 0;
    word |= member_true(vector, "rx_bell") ? HUB_WAIT_RX_BELL : 0;
    word |= member_true(vector, "tx_futex") ? HUB_WAIT_TX_FUTEX : 0;
    word |= member_true(vector, "tx_bell") ? HUB_WAIT_TX_BELL : 0;
    if (!json_is_null(cpu))
        word |= ((uint32_t)vectors_u64(cpu) + 1) << HUB_WAIT_CPU_SHIFT;
    return word;
}

static void wait_words_have_the_bits_of_the_vectors(void **state)
{
    struct vectors *vectors = vectors_open();
    unsigned rounds = 0;

    (void)state;
    for (const struct vector *v = NULL; (v = vectors_next(vectors, "wait-word", v)) != NULL;) {
        uint32_t word = wait_word_of(v);

        assert_int_equal(v->size, sizeof(word));
        assert_memory_equal(v->bytes, &word, sizeof(word));
        rounds++;
    }
    assert_int_equal(rounds, 7);
    vectors_close(vectors);
}

/* r[verify shm.segment.magic] r[verify shm.segment.header] r[verify shm.segment.header-size]
 * r[verify shm.architecture] r[verify shm.handshake] */
static void the_golden_header_is_read_field_by_field(void **state)
{
    struct vectors *vectors = vectors_open();
    const struct vector *golden = vectors_find(vectors, "segment-golden-header");
    struct hub_header header;

    (void)state;
    assert_int_equal(golden->size, sizeof(header));
    memcpy(&header, golden->bytes, sizeof(header));
    assert_true(hub_load_relaxed64(&header.magic) == HUB_MAGIC);
    assert_int_equal(header.version, 1);
    assert_int_equal(header.header_size, 128);
    assert_int_equal(header.total_size, 2176);
    assert_int_equal(header.max_payload_size, 60);
    assert_int_equal(header.initial_credit, 1024);
    assert_int_equal(header.max_guests, 2);
    assert_int_equal(header.ring_size, 4);
    assert_int_equal(header.peer_table_offset, 128);
    assert_int_equal(header.slot_region_offset, 256);
    assert_int_equal(header.slot_size, 64);
    assert_int_equal(header.slots_per_guest, 3);
    assert_int_equal(header.max_channels, 4);
    assert_int_equal(hub_load_relaxed(&header.host_goodbye), 0);
    assert_int_equal(header.heartbeat_interval, 1000000);
    vectors_close(vectors);
}

/* r[verify shm.segment.peer-table] */
static void the_golden_entry_is_read_field_by_field(void **state)
{
    struct vectors *vectors = vectors_open();
    const struct vector *golden = vectors_find(vectors, "segment-golden-after-two-sends");
    struct hub_peer_entry entry;

    (void)state;
    memcpy(&entry, golden->bytes + 128, sizeof(entry));
    assert_int_equal(hub_load_relaxed(&entry.state), HUB_PEER_ATTACHED);
    assert_int_equal(hub_load_relaxed(&entry.epoch), 1);
    assert_int_equal(hub_load_relaxed(&entry.guest_to_host_head), 2);
    assert_int_equal(hub_load_relaxed(&entry.guest_to_host_tail), 0);
    assert_int_equal(entry.ring_offset, 1024);
    assert_int_equal(entry.slot_pool_offset, 512);
    assert_int_equal(entry.channel_table_offset, 1536);
    vectors_close(vectors);
}

/* r[verify shm.desc.size] r[verify shm.id.channel-id] */
static void the_golden_descriptors_are_read_field_by_field(void **state)
{
    struct vectors *vectors = vectors_open();
    const struct vector *golden = vectors_find(vectors, "segment-golden-after-two-sends");
    struct hub_descriptor small, large;

    (void)state;
    memcpy(&small, golden->bytes + 1024, sizeof(small));
    memcpy(&large, golden->bytes + 1088, sizeof(large));
    assert_int_equal(small.msg_type, HUB_DATA);
    assert_int_equal(small.id, 7);
    assert_int_equal(small.payload_slot, HUB_INLINE);
    assert_int_equal(small.payload_len, 4);
    assert_memory_equal(small.inline_payload, "tiny", 4);
    assert_int_equal(large.msg_type, HUB_DATA);
    assert_int_equal(large.id, 9);
    assert_int_equal(large.payload_slot, 0);
    assert_int_equal(large.payload_generation, 1);
    assert_int_equal(large.payload_offset, 0);
    assert_int_equal(large.payload_len, 40);
    vectors_close(vectors);
}

/* r[verify shm.varslot.freelist] */
static void slot_refs_and_heads_of_stacks_have_the_bits_of_the_vectors(void **state)
{
    struct vectors *vectors = vectors_open();
    unsigned rounds = 0;

    (void)state;
    for (const struct vector *v = NULL; (v = vectors_next(vectors, "slot-ref", v)) != NULL;) {
        const struct hub_slot_ref ref = {
            (uint32_t)vectors_u64(vectors_member(v->value, "class")),
            (uint32_t)vectors_u64(vectors_member(v->value, "extent")),
            (uint32_t)vectors_u64(vectors_member(v->value, "index")),
        };
        uint32_t packed = hub_slot_ref_pack(ref);
        struct hub_slot_ref back = hub_slot_ref_unpack(packed);

        assert_int_equal(v->size, sizeof(packed));
        assert_memory_equal(v->bytes, &packed, sizeof(packed));
        assert_memory_equal(&back, &ref, sizeof(ref));
        rounds++;
    }
    for (const struct vector *v = NULL; (v = vectors_next(vectors, "free-head", v)) != NULL;) {
        uint32_t ref = (uint32_t)vectors_u64(vectors_member(v->value, "ref"));
        uint32_t tag = (uint32_t)vectors_u64(vectors_member(v->value, "tag"));
        uint64_t head = hub_slot_ref_head(ref, tag);

        assert_int_equal(v->size, sizeof(head));
        assert_memory_equal(v->bytes, &head, sizeof(head));
        assert_int_equal(hub_slot_ref_first(head), ref);
        assert_int_equal(hub_slot_ref_tag(head), tag);
        rounds++;
    }
    assert_int_equal(rounds, 7);
    vectors_close(vectors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wait_words_have_the_bits_of_the_vectors),
        cmocka_unit_test(the_golden_header_is_read_field_by_field),
        cmocka_unit_test(the_golden_entry_is_read_field_by_field),
        cmocka_unit_test(the_golden_descriptors_are_read_field_by_field),
        cmocka_unit_test(slot_refs_and_heads_of_stacks_have_the_bits_of_the_vectors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
