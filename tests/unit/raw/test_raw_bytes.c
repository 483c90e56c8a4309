/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes that raw host and raw guest write, against the golden ones; and what they refuse. */
#include <errno.h>
#include <string.h>

#include "tests/raw/raw_call.h"
#include "tests/raw/raw_guest.h"
#include "tests/raw/raw_host.h"
#include "tests/raw/raw_pair.h"
#include "tests/raw/raw_slot.h"
#include "tests/raw/raw_words.h"
#include "tests/support/testing.h"
#include "tests/support/vectors.h"

#define TIME_MS 20000

static const struct raw_config golden = RAW_HOST_GOLDEN;

static void pair_open(struct raw_pair *pair, const struct raw_config *config, enum raw_bell bell)
{
    assert_int_equal(raw_pair_open(pair, config, bell), 0);
    assert_int_equal(raw_host_await(&pair->host, TIME_MS), 0);
}

static int send_bytes(struct raw_link *link, uint8_t type, uint32_t id, const void *bytes,
                      uint32_t size)
{
    struct raw_message message = {.type = type, .id = id, .payload = bytes, .length = size};

    return raw_link_send(link, &message, 0);
}

static void assert_segment(const struct raw_host *host, const char *name)
{
    struct vectors *all = vectors_open();
    const struct vector *vector = vectors_find(all, name);

    assert_int_equal(host->size, vector->size);
    assert_memory_equal(host->base, vector->bytes, vector->size);
    vectors_close(all);
}

static void a_new_segment_has_the_golden_bytes(void **state)
{
    struct raw_config private = golden;
    struct raw_host host;

    (void)state;
    assert_int_equal(raw_host_create(&golden, &host), 0);
    assert_segment(&host, "segment-golden");
    raw_host_destroy(&host);
    private.max_guests = 1;
    private.heartbeat_ns = 0;
    assert_int_equal(raw_host_create(&private, &host), 0);
    assert_segment(&host, "segment-golden-private");
    raw_host_destroy(&host);
}

/* r[verify shm.varslot.classes] r[verify shm.varslot.extent-layout] */
static void a_new_segment_with_classes_has_the_golden_bytes(void **state)
{
    const struct raw_config config = {.max_payload = 256,
                                      .initial_credit = 1024,
                                      .max_guests = 1,
                                      .ring_size = 4,
                                      .max_channels = 4,
                                      .class_count = 2,
                                      .classes = {{64, 4}, {256, 2}}};
    struct raw_host host;

    (void)state;
    assert_int_equal(raw_host_create(&config, &host), 0);
    assert_segment(&host, "segment-golden-var");
    raw_host_destroy(&host);
}

static void two_messages_leave_the_golden_bytes_behind(void **state)
{
    struct raw_pair pair = {.guest = {.bell = -1}};
    uint8_t bytes[40];

    (void)state;
    memset(bytes, 0xab, sizeof(bytes));
    pair_open(&pair, &golden, RAW_BELL_NONE);
    assert_int_equal(send_bytes(&pair.guest, RAW_DATA, 7, "tiny", 4), 0);
    assert_int_equal(send_bytes(&pair.guest, RAW_DATA, 9, bytes, sizeof(bytes)), 0);
    raw_store64(pair.segment.base, 128 + 56, 0);
    assert_segment(&pair.segment, "segment-golden-after-two-sends");
    raw_pair_close(&pair);
}

static void other_geometries_have_the_golden_size(void **state)
{
    static const struct {
        uint32_t guests;
        size_t size;
    } cases[] = {{1, 2134336}, {16, 18417856}, {255, 277868608}};
    struct raw_config config = RAW_HOST_USUAL;

    (void)state;
    config.max_channels = 256;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct raw_host host;

        config.max_guests = cases[i].guests;
        assert_int_equal(raw_host_create(&config, &host), 0);
        assert_int_equal(host.size, cases[i].size);
        raw_host_destroy(&host);
    }
}

static void the_ticket_has_the_golden_arguments(void **state)
{
    struct vectors *all = vectors_open();
    const json_t *value = vectors_find(all, "ticket-private")->value;
    struct raw_host host = {.fd = -1};
    struct raw_link link = {.peer = 1};
    struct raw_arguments ticket;
    struct raw_ticket parsed;
    char program[] = "guest", other[] = "--other=1", early[] = "--peer-id=9";
    char *argv[] = {program, early, ticket.bell, other, ticket.path, ticket.peer};

    (void)state;
    raw_host_ticket(&host, &link, &ticket);
    assert_string_equal(ticket.path, vectors_text(vectors_element(value, 0)));
    assert_string_equal(ticket.peer, vectors_text(vectors_element(value, 1)));
    assert_string_equal(ticket.bell, vectors_text(vectors_element(value, 2)));
    assert_int_equal(raw_guest_ticket(6, argv, &parsed), 0);
    assert_string_equal(parsed.path, "/proc/self/fd/3");
    assert_int_equal(parsed.peer, 1);
    assert_int_equal(parsed.bell, 4);
    assert_int_equal(raw_guest_ticket(5, argv, &parsed), 0);
    assert_int_equal(parsed.peer, 9);
    assert_int_equal(raw_guest_ticket(3, argv, &parsed), -EINVAL);
    vectors_close(all);
}

static void encodings_are_those_of_the_vectors(void **state)
{
    struct vectors *all = vectors_open();
    size_t count = 0;

    (void)state;
    for (const struct vector *v = NULL; (v = vectors_next(all, "postcard", v)) != NULL;) {
        struct raw_postcard encoded = {.size = 0};
        struct raw_postcard_rest rest = {.at = v->bytes, .left = v->size};

        if (strcmp(v->type, "u64") == 0) {
            raw_postcard_u64(&encoded, vectors_u64(v->value));
            assert_true(raw_postcard_take_u64(&rest) == vectors_u64(v->value));
        } else if (strcmp(v->type, "i64") == 0) {
            raw_postcard_i64(&encoded, vectors_i64(v->value));
            assert_true(raw_postcard_take_i64(&rest) == vectors_i64(v->value));
        } else if (strcmp(v->type, "string") == 0) {
            raw_postcard_string(&encoded, vectors_text(v->value));
        } else {
            continue;
        }
        assert_int_equal(encoded.size, v->size);
        assert_memory_equal(encoded.bytes, v->bytes, v->size);
        assert_false(rest.wrong);
        count++;
    }
    assert_true(count >= 20);
    for (const struct vector *v = NULL; (v = vectors_next(all, "method-id", v)) != NULL; count++)
        assert_true(raw_call_method(vectors_text(vectors_member(v->value, "text"))) ==
                    vectors_hex(vectors_member(v->value, "id")));
    vectors_close(all);
}

static void a_full_ring_takes_one_more_after_one_receive(void **state)
{
    struct raw_pair pair = {.guest = {.bell = -1}};
    struct raw_message message;

    (void)state;
    pair_open(&pair, &golden, RAW_BELL_NONE);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(send_bytes(&pair.host, RAW_DATA, i, "", 0), 0);
    assert_int_equal(send_bytes(&pair.host, RAW_DATA, 3, "", 0), -ETIMEDOUT);
    assert_int_equal(raw_link_ready(&pair.guest), 3);
    assert_int_equal(raw_link_receive(&pair.guest, 0, &message), 0);
    assert_int_equal(message.id, 0);
    assert_int_equal(send_bytes(&pair.host, RAW_DATA, 3, "", 0), 0);
    raw_pair_close(&pair);
}

static void slots_run_out_and_come_back(void **state)
{
    struct raw_pair pair = {.guest = {.bell = -1, .behaviour = {.keeps_slots = true}}};
    struct raw_message message;
    uint32_t slot, generation;
    uint8_t bytes[33] = {0};

    (void)state;
    pair_open(&pair, &golden, RAW_BELL_NONE);
    assert_int_equal(send_bytes(&pair.host, RAW_DATA, 1, bytes, sizeof(bytes)), 0);
    for (uint32_t i = 1; i < 3; i++)
        assert_int_equal(raw_slot_take(&pair.host, &slot, &generation), 0);
    assert_int_equal(slot, 2);
    assert_int_equal(raw_slot_take(&pair.host, &slot, &generation), -EAGAIN);
    assert_int_equal(send_bytes(&pair.host, RAW_DATA, 1, bytes, sizeof(bytes)), -ETIMEDOUT);
    assert_int_equal(raw_link_receive(&pair.guest, 0, &message), 0);
    assert_int_equal(raw_slot_count_free(&pair.host), 0);
    assert_int_equal(raw_slot_free(&pair.guest, message.slot), 0);
    assert_int_equal(raw_slot_free(&pair.guest, message.slot), -EPROTO);
    assert_int_equal(raw_slot_take(&pair.host, &slot, &generation), 0);
    assert_int_equal(slot, 0);
    assert_int_equal(generation, 2);
    raw_pair_close(&pair);
}

static void a_descriptor_that_lies_is_noticed(void **state)
{
    static const struct raw_message lies[] = {
        {.type = RAW_DATA, .slot = RAW_INLINE, .length = 33},
        {.type = RAW_DATA, .slot = RAW_INLINE, .generation = 1},
        {.type = RAW_DATA, .slot = RAW_INLINE, .offset = 1},
        {.type = RAW_DATA, .slot = 3, .length = 40},
        {.type = RAW_DATA, .slot = 0, .length = 32},
        {.type = RAW_DATA, .slot = 0, .length = 61},
        {.type = RAW_DATA, .slot = 0, .length = 40, .offset = 21},
        {.type = RAW_DATA, .slot = 0, .length = 40, .generation = 5},
    };
    static const uint8_t nothing[32];
    struct raw_pair pair = {.host = {.behaviour = {.keeps_slots = true}}, .guest = {.bell = -1}};

    (void)state;
    pair_open(&pair, &golden, RAW_BELL_NONE);
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct raw_message message = lies[i];
        uint8_t descriptor[64];

        message.payload = nothing;
        raw_link_pack(&message, descriptor);
        assert_int_equal(raw_link_send_descriptor(&pair.guest, descriptor, 0), 0);
        assert_int_equal(raw_link_receive(&pair.host, 0, &message), -EPROTO);
    }
    raw_pair_close(&pair);
}

static void an_entry_is_attached_to_once(void **state)
{
    struct raw_pair pair = {.guest = {.bell = -1}};
    struct raw_link second = {.bell = -1};
    int bell;

    (void)state;
    pair_open(&pair, &golden, RAW_BELL_NONE);
    assert_int_equal(raw_guest_attach_mapped(&second, pair.segment.base, pair.segment.size, 1),
                     -ESTALE);
    assert_int_equal(raw_guest_attach_mapped(&second, pair.segment.base, pair.segment.size, 3),
                     -EPROTO);
    assert_int_equal(raw_host_reserve(&pair.segment, 1, RAW_BELL_NONE, &second, &bell), -EBUSY);
    raw_pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_segment_has_the_golden_bytes),
        cmocka_unit_test(a_new_segment_with_classes_has_the_golden_bytes),
        cmocka_unit_test(two_messages_leave_the_golden_bytes_behind),
        cmocka_unit_test(other_geometries_have_the_golden_size),
        cmocka_unit_test(the_ticket_has_the_golden_arguments),
        cmocka_unit_test(encodings_are_those_of_the_vectors),
        cmocka_unit_test(a_full_ring_takes_one_more_after_one_receive),
        cmocka_unit_test(slots_run_out_and_come_back),
        cmocka_unit_test(a_descriptor_that_lies_is_noticed),
        cmocka_unit_test(an_entry_is_attached_to_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
