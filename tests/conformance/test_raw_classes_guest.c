/* SPDX-License-Identifier: Apache-2.0 */
/* Our host, with slots of several sizes, and a guest written from the numbers of the specification:
 * where payloads lie, how many slots a guest gets when it has none, what remains of it. */
#include "tests/conformance/raw_stage.h"

#define SMALL   1024
#define MIDDLE  16384
#define LARGE   200000
#define CLASSES 3
#define LONGEST 199900 /* bytes of an argument: before it stands what names the container */

static const uint32_t sizes_of[CLASSES] = {SMALL, MIDDLE, LARGE};

/* Private, and shared with the room for a second guest. */
static const struct staging stagings[] = {
    {.slot_size = SMALL, .slot_count = 8, .payload_max = LARGE},
    {.slot_size = SMALL,
     .slot_count = 8,
     .payload_max = LARGE,
     .guests_max = 2,
     .trust = RAPAHUB_TRUST_TRUSTED},
};
#define STAGINGS (sizeof(stagings) / sizeof(*stagings))

static uint8_t bytes[LONGEST];

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 31 + i / 256);
    return 0;
}

/* Around each end of a class, whatever stands before the bytes. */
static void check_around(struct stage *stage, const char *signature, uint32_t end)
{
    for (uint32_t less = 0; less < 60; less++)
        check_bytes(stage, signature, bytes, end - less);
    check_bytes(stage, signature, bytes, end + 1);
}

/* r[verify shm.varslot.classes] r[verify shm.varslot.freeing] r[verify shm.varslot.freelist]
 * r[verify shm.varslot.allocation] */
static void messages_of_all_sizes_arrive_both_ways(void **state)
{
    static const char *const ways[] = {"echo(bytes) -> bytes", "reflect(bytes) -> bytes"};

    (void)state;
    for (size_t s = 0; s < STAGINGS; s++) {
        struct stage stage;

        open_stage_with(&stage, &stagings[s]);
        for (unsigned w = 0; w < 2; w++) {
            for (size_t size = 0; size <= 70; size++)
                check_bytes(&stage, ways[w], bytes, size);
            check_around(&stage, ways[w], SMALL);
            check_around(&stage, ways[w], MIDDLE);
            check_bytes(&stage, ways[w], bytes, 100000);
            check_bytes(&stage, ways[w], bytes, LONGEST);
        }
        close_stage(&stage);
    }
}

/* The class that a request of so many bytes lay in. */
static int64_t class_of(struct stage *stage, size_t size)
{
    const struct rapahub_bytes sent = {bytes, size};
    const void *const arguments[] = {&sent, NULL};
    int64_t ref = 0;

    check_done(ask(stage, "place(bytes) -> i64", arguments, &ref));
    assert_in_range(ref + 1, 0, (int64_t)UINT32_MAX);
    return ref < 0 ? -1 : ref >> 24;
}

/* r[verify shm.varslot.selection] r[verify shm.payload.inline] */
static void a_payload_lies_in_the_smallest_slot_it_fits_in(void **state)
{
    (void)state;
    for (size_t s = 0; s < STAGINGS; s++) {
        struct stage stage;

        open_stage_with(&stage, &stagings[s]);
        assert_int_equal(class_of(&stage, 1), -1);
        for (uint32_t c = 0; c < CLASSES; c++) {
            size_t last = sizes_of[c] - 100;

            assert_int_equal(class_of(&stage, last), c);
            if (c + 1 < CLASSES)
                assert_int_equal(class_of(&stage, sizes_of[c] + 1), c + 1);
        }
        close_stage(&stage);
    }
}

/* ---- a guest that has run dry ---- */

struct taken {
    uint32_t count, extents; /* bit e: one of extent e was among them */
    unsigned done;
};

static void note_taken(void *user, int status, const void *result)
{
    const struct rapahub_bytes *refs = result;
    struct taken *taken = user;

    taken->done++;
    assert_int_equal(status, 0);
    taken->count = (uint32_t)(refs->size / 4);
    for (uint32_t i = 0; i < taken->count; i++) {
        uint32_t ref;

        memcpy(&ref, (const uint8_t *)refs->data + (size_t)i * 4, 4);
        taken->extents |= 1u << (ref >> 22 & 3);
    }
}

static void note_echo(void *user, int status, const void *result)
{
    const struct rapahub_bytes *same = result;

    assert_int_equal(status, 0);
    assert_int_equal(same->size, LONGEST);
    assert_memory_equal(same->data, bytes, LONGEST);
    ++*(unsigned *)user;
}

/* So many slots of the largest class are taken at once by the guest, while as many messages of the
 * host as it says wait in others. */
static struct taken take(struct stage *stage, uint64_t count, unsigned echoes)
{
    const uint64_t size = LARGE;
    const struct rapahub_bytes sent = {bytes, LONGEST};
    const void *const arguments[] = {&size, &count, NULL}, *const back[] = {&sent, NULL};
    const struct rapahub_call call = {
        .target = guest_side, .method = "take(u64, u64) -> bytes", .arguments = arguments};
    const struct rapahub_call echo_call = {
        .target = guest_side, .method = "echo(bytes) -> bytes", .arguments = back};
    struct taken taken = {.count = 0};
    unsigned echoed = 0;

    check_done(rapahub_host_call_async(stage->host, &call, note_taken, &taken, NULL));
    for (unsigned i = 0; i < echoes; i++)
        check_done(rapahub_host_call_async(stage->host, &echo_call, note_echo, &echoed, NULL));
    for (uint64_t end = now_ms() + 10000; now_ms() < end && (!taken.done || echoed < echoes);)
        check_done(rapahub_host_dispatch(stage->host, 100));
    assert_int_equal(taken.done, 1);
    assert_int_equal(echoed, echoes);
    return taken;
}

static int64_t count_own(struct stage *stage, uint64_t c)
{
    const void *const arguments[] = {&c, NULL};
    int64_t count = 0;

    check_done(ask(stage, "count_own(u64) -> i64", arguments, &count));
    return count;
}

/* Slots of an extent of the largest class: 4 for each side there may be. */
static uint32_t extent_of(size_t s)
{
    return s == 0 ? 8 : 12;
}

/* r[verify hub.var.single-popper] r[verify shm.varslot.shared] */
static void a_dry_guest_gets_more_but_never_beyond_half_of_a_class(void **state)
{
    (void)state;
    for (size_t s = 0; s < STAGINGS; s++) {
        uint32_t half = extent_of(s) / 2;
        struct stage stage;
        struct taken taken;

        open_stage_with(&stage, &stagings[s]);
        assert_true(count_own(&stage, 0) > 0);
        assert_int_equal(count_own(&stage, CLASSES - 1),
                         s == 0 ? half : 0); /* none, where there is room */
        taken = take(&stage, half + 1, 0);
        assert_int_equal(taken.count, half);
        assert_int_equal(taken.extents, 1);
        assert_int_equal(count_own(&stage, CLASSES - 1), half);
        check_bytes(&stage, "echo(bytes) -> bytes", bytes, LONGEST);
        close_stage(&stage);
    }
}

/* Its first answer that is large: it has no slot for it, and the host that asked waits for just
 * this answer. r[verify hub.var.single-popper] */
static void a_guest_without_large_slots_asks_and_has_them(void **state)
{
    struct stage stage;

    (void)state;
    open_stage_with(&stage, &stagings[1]);
    assert_int_equal(count_own(&stage, CLASSES - 1), 0);
    check_bytes(&stage, "reflect(bytes) -> bytes", bytes, LONGEST);
    assert_in_range(count_own(&stage, CLASSES - 1), 1, extent_of(1) / 2 / 2);
    check_bytes(&stage, "reflect(bytes) -> bytes", bytes, LONGEST);
    close_stage(&stage);
}

/* The host's own slots and those of the guest need all four extents; which of them is used for
 * which is a matter of timing. r[verify shm.varslot.extents] r[verify shm.varslot.extent-layout] */
static void a_guest_meets_slots_of_extents_that_came_later(void **state)
{
    (void)state;
    for (size_t s = 0; s < STAGINGS; s++) {
        uint32_t half = 4 * extent_of(s) / 2;
        struct stage stage;
        struct taken taken;

        open_stage_with(&stage, &stagings[s]);
        taken = take(&stage, half, half - 2);
        assert_int_equal(taken.count, half);
        assert_in_range(taken.extents, 2, 15);
        assert_int_equal(count_own(&stage, CLASSES - 1), half);
        check_bytes(&stage, "reflect(bytes) -> bytes", bytes, LONGEST);
        close_stage(&stage);
    }
}

/* ---- death ---- */

/* r[verify shm.varslot.ownership] r[verify shm.crash.recovery] */
static void all_slots_of_a_dead_guest_are_its_hosts_again(void **state)
{
    const struct rapahub_bytes sent = {bytes, 5000};
    const void *const arguments[] = {&sent, NULL};

    (void)state;
    for (size_t s = 0; s < STAGINGS; s++) {
        int64_t shares[CLASSES];
        struct stage stage;

        open_stage_with(&stage, &stagings[s]);
        for (uint32_t c = 0; c < CLASSES; c++)
            shares[c] = count_own(&stage, c);
        for (unsigned life = 1; life <= 4; life++) {
            (void)take(&stage, 6, 4);
            assert_int_equal(ask(&stage, "die_with_slots(bytes) -> void", arguments, NULL),
                             RAPAHUB_EDIED);
            until(&stage, &stage.ready, life + 1);
            for (uint32_t c = 0; c < CLASSES; c++)
                assert_int_equal(count_own(&stage, c), shares[c]);
            check_bytes(&stage, "reflect(bytes) -> bytes", bytes, LONGEST);
        }
        close_stage(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_all_sizes_arrive_both_ways),
        cmocka_unit_test(a_payload_lies_in_the_smallest_slot_it_fits_in),
        cmocka_unit_test(a_dry_guest_gets_more_but_never_beyond_half_of_a_class),
        cmocka_unit_test(a_guest_without_large_slots_asks_and_has_them),
        cmocka_unit_test(a_guest_meets_slots_of_extents_that_came_later),
        cmocka_unit_test(all_slots_of_a_dead_guest_are_its_hosts_again),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, set_up, NULL);
}
