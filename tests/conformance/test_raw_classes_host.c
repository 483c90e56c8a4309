/* SPDX-License-Identifier: Apache-2.0 */
/* Our guest program under a host that was written from the numbers of the specification, with slots
 * of several sizes; and what it does where that host breaks a rule of theirs. */
#include "tests/conformance/raw_hosting.h"
#include "tests/raw/raw_allocator.h"
#include "tests/raw/raw_call.h"
#include "tests/raw/raw_class.h"
#include "tests/raw/raw_slot.h"
#include "tests/raw/raw_words.h"

#define ECHO_BYTES "bytes(bytes) -> bytes"
#define SMALL      1024
#define LARGE      200000
#define LONGEST    (LARGE - 8)
#define HELD       7 /* all slots that four extents of two have but one, in which requests go */

static const struct raw_config private_config = {.max_payload = LARGE,
                                                 .initial_credit = 65536,
                                                 .max_guests = 1,
                                                 .ring_size = 16,
                                                 .max_channels = 8,
                                                 .class_count = 2,
                                                 .classes = {{SMALL, 8}, {LARGE, 2}}};

static struct raw_config config_of(bool file)
{
    struct raw_config config = private_config;

    config.file = file;
    return config;
}

static uint8_t bytes[LONGEST];

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    return 0;
}

/* The guest has nothing at first, and gets what it asks for. */
static void open_classes(struct raw_hosting *on, bool file)
{
    const struct raw_config config = config_of(file);

    raw_hosting_open(on, &config, RAW_BELL_STREAM);
    on->link.classes->grows = true;
}

static void begin_echo(struct raw_hosting *on, size_t size)
{
    static struct raw_postcard arguments;

    arguments.size = 0;
    raw_postcard_bytes(&arguments, bytes, size);
    assert_int_equal(
        raw_call_request(&on->link, ++on->id, raw_call_method(ECHO_BYTES), &arguments, CALL_MS), 0);
}

/* Where the answer lay. */
static uint32_t end_echo(struct raw_hosting *on, size_t size)
{
    struct raw_message message;
    struct raw_postcard_rest rest;
    const uint8_t *same;
    size_t got;

    assert_int_equal(raw_link_receive(&on->link, CALL_MS, &message), 0);
    assert_int_equal(message.id, on->id);
    assert_int_equal(raw_call_result(&message, &rest), 0);
    same = raw_postcard_take_bytes(&rest, &got);
    assert_int_equal(got, size);
    if (size > 0)
        assert_memory_equal(same, bytes, size);
    if (message.length <= 32)
        assert_int_equal(message.slot, RAW_INLINE);
    else if (message.length > SMALL)
        assert_int_equal(message.slot >> 24, 1);
    return message.slot;
}

static uint32_t echo(struct raw_hosting *on, size_t size)
{
    begin_echo(on, size);
    return end_echo(on, size);
}

/* r[verify shm.varslot.classes] r[verify shm.varslot.freeing] r[verify shm.varslot.allocation]
 * r[verify shm.varslot.selection] */
static void messages_of_all_sizes_come_back(void **state)
{
    (void)state;
    for (int file = 0; file < 2; file++) {
        struct raw_hosting on;

        open_classes(&on, file != 0);
        assert_int_equal(raw_allocator_grant(&on.link, 0, 2), 2);
        for (size_t size = 0; size <= 70; size++)
            echo(&on, size);
        for (size_t size = SMALL - 20; size <= SMALL + 2; size++)
            echo(&on, size);
        echo(&on, LARGE / 2);
        assert_int_equal(echo(&on, LONGEST) >> 24, 1);
        assert_int_equal(echo(&on, SMALL - 100) >> 24, 0);
        raw_hosting_close(&on, 0);
    }
}

/* Its answers are not given back: each needs a slot more.
 * r[verify shm.varslot.extents] r[verify hub.var.single-popper] */
static void a_dry_guest_asks_and_maps_what_it_gets(void **state)
{
    (void)state;
    for (int file = 0; file < 2; file++) {
        uint32_t refs[HELD], extents = 0;
        struct raw_hosting on;

        open_classes(&on, file != 0);
        on.link.behaviour.keeps_slots = true;
        for (unsigned i = 0; i < HELD; i++) {
            refs[i] = echo(&on, LONGEST);
            extents |= 1u << (refs[i] >> 22 & 3);
            for (unsigned k = 0; k < i; k++)
                assert_int_not_equal(refs[i], refs[k]);
        }
        assert_int_equal(extents, 15);
        assert_int_equal(raw_allocator_grow(&on.link, 1), -ENOSPC);
        for (unsigned i = 0; i < HELD; i++)
            assert_int_equal(raw_slot_free(&on.link, refs[i]), 0);
        on.link.behaviour.keeps_slots = false;
        for (unsigned i = 0; i < 3 * HELD; i++)
            echo(&on, LONGEST);
        raw_hosting_close(&on, 0);
    }
}

/* Received slots go back, and its own are free again: none is lost. r[verify shm.varslot.ownership]
 * r[verify shm.varslot.freelist] */
static void every_slot_comes_back(void **state)
{
    struct raw_hosting on;

    (void)state;
    open_classes(&on, false);
    on.link.classes->grows = false;
    for (unsigned i = 0; i < 200; i++)
        echo(&on, i % 2 ? LONGEST : 500);
    for (uint32_t c = 0; c < 2; c++) {
        const struct raw_class *of = &on.link.classes->of[c];

        assert_int_equal(raw_allocator_gather(&on.link, c), 0);
        assert_int_equal(of->in_reserve + of->granted, of->per_extent);
    }
    raw_hosting_close(&on, 0);
}

/* ---- a host that breaks a rule ---- */

/* Changes what a good request, in a slot of the largest class, says. */
typedef void breach(struct raw_hosting *on, struct raw_message *request);

static void no_such_class(struct raw_hosting *on, struct raw_message *request)
{
    (void)on;
    request->slot = 2u << 24;
}

static void no_such_index(struct raw_hosting *on, struct raw_message *request)
{
    (void)on;
    request->slot += 2;
}

static void beyond_the_slot(struct raw_hosting *on, struct raw_message *request)
{
    request->offset = on->link.classes->of[1].slot_size - request->length + 1;
}

/* The guest has it, and has used it. */
static void a_slot_of_the_guest(struct raw_hosting *on, struct raw_message *request)
{
    struct raw_class *of = &on->link.classes->of[1];

    assert_int_equal(raw_allocator_grant(&on->link, 1, 1), 1);
    of->reserve[of->in_reserve++] = request->slot;
    request->slot = echo(on, LONGEST);
}

static void another_generation(struct raw_hosting *on, struct raw_message *request)
{
    (void)on;
    request->generation++;
}

static void not_in_flight(struct raw_hosting *on, struct raw_message *request)
{
    raw_store32(raw_class_record(&on->link, request->slot), 4, RAW_FREE);
}

static void an_extent_nobody_made(struct raw_hosting *on, struct raw_message *request)
{
    (void)on;
    request->slot |= 2u << 22;
}

/* Its place says that it was sent. */
static void an_extent_nobody_sent(struct raw_hosting *on, struct raw_message *request)
{
    raw_store64(on->link.base, on->link.classes->of[1].header + 32, RAW_OWN_MEMORY);
    request->slot |= 1u << 22;
}

static void an_extent_outside_of_the_file(struct raw_hosting *on, struct raw_message *request)
{
    raw_store64(on->link.base, on->link.classes->of[1].header + 32, UINT64_C(1) << 30);
    request->slot |= 1u << 22;
}

/* The host has made it as it should be, and then writes over its header. */
static void an_extent_with_another_header(struct raw_hosting *on, struct raw_message *request)
{
    assert_int_equal(raw_allocator_grow(&on->link, 1), 0);
    raw_store32(on->link.classes->of[1].extents[1].memory, 20, SMALL);
    request->slot |= 1u << 22;
}

static void check_breach(breach *run, const char *rule)
{
    struct raw_message request = {.type = RAW_REQUEST, .id = 900, .length = 5000}, message;
    uint8_t descriptor[64];
    struct raw_hosting on;
    int r;

    open_classes(&on, false);
    on.link.classes->grows = false;
    assert_int_equal(raw_allocator_grant(&on.link, 0, 2), 2); /* room for its last word */
    assert_int_equal(raw_class_take(&on.link, 5000, &request.slot, &request.generation), 0);
    raw_class_sent(&on.link, request.slot);
    run(&on, &request);
    raw_link_pack(&request, descriptor);
    assert_int_equal(raw_link_send_descriptor(&on.link, descriptor, CALL_MS), 0);
    do
        r = raw_link_receive(&on.link, CALL_MS, &message);
    while (r == 0 && message.type != RAW_GOODBYE);
    assert_int_equal(r, 0);
    if (!memmem(message.payload, message.length, rule, strlen(rule)))
        print_error("%.*s is not %s\n", (int)message.length, (const char *)message.payload, rule);
    assert_non_null(memmem(message.payload, message.length, rule, strlen(rule)));
    raw_hosting_reap(&on, 76);
}

/* r[verify shm.payload.slot] r[verify shm.slot.payload-offset] r[verify shm.varslot.ownership]
 * r[verify shm.slot.generation] r[verify shm.varslot.freeing] */
static void a_descriptor_that_points_elsewhere_ends_the_guest(void **state)
{
    (void)state;
    check_breach(no_such_class, "shm.payload.slot");
    check_breach(no_such_index, "shm.payload.slot");
    check_breach(beyond_the_slot, "shm.slot.payload-offset");
    check_breach(a_slot_of_the_guest, "shm.varslot.ownership");
    check_breach(another_generation, "shm.slot.generation");
    check_breach(not_in_flight, "shm.varslot.freeing");
}

/* r[verify shm.varslot.extents] */
static void an_extent_that_cannot_be_ends_the_guest(void **state)
{
    (void)state;
    check_breach(an_extent_nobody_made, "shm.varslot.extents");
    check_breach(an_extent_nobody_sent, "shm.varslot.extents");
    check_breach(an_extent_outside_of_the_file, "shm.varslot.extents");
    check_breach(an_extent_with_another_header, "shm.varslot.extents");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_all_sizes_come_back),
        cmocka_unit_test(a_dry_guest_asks_and_maps_what_it_gets),
        cmocka_unit_test(every_slot_comes_back),
        cmocka_unit_test(a_descriptor_that_points_elsewhere_ends_the_guest),
        cmocka_unit_test(an_extent_that_cannot_be_ends_the_guest),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, set_up, NULL);
}
