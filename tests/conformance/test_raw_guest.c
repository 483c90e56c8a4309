/* SPDX-License-Identifier: Apache-2.0 */
/* Our host with a guest that was written from the numbers of the specification. */
#include <poll.h>

#include "tests/conformance/raw_stage.h"

/* ---- sizes and bytes ---- */

/* Every length around the two places a payload can have, with whatever stands before the bytes; and
 * the largest. The raw side refuses what does not stand where it must. */
static void check_sizes(struct stage *stage, const char *signature)
{
    static const size_t sizes[] = {100,  127,  128,  255,  256,  257,   512,    1000,
                                   1024, 2048, 3000, 4096, 8192, 65000, LARGEST};
    static uint8_t bytes[LARGEST];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 31 + i / 256);
    for (size_t size = 0; size <= 70; size++)
        check_bytes(stage, signature, bytes, size);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        check_bytes(stage, signature, bytes, sizes[i]);
}

/* r[verify shm.payload.inline] r[verify shm.payload.slot] */
static void messages_of_all_sizes_arrive_both_ways(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage, NULL);
    check_sizes(&stage, "echo(bytes) -> bytes");
    check_sizes(&stage, "reflect(bytes) -> bytes");
    close_stage(&stage);
}

/* Two bytes say that all is well, three how many follow. */
static void the_largest_message_arrives_both_ways(void **state)
{
    const uint64_t size = MESSAGE - 5, more = size + 1;
    const void *const arguments[] = {&size, NULL}, *const too_large[] = {&more, NULL};
    struct rapahub_bytes got = {NULL, 0};
    struct stage stage;
    int64_t length = 0;

    (void)state;
    open_stage(&stage, NULL);
    check_done(ask(&stage, "make(u64) -> bytes", arguments, &got));
    assert_int_equal(got.size, size);
    assert_int_equal(((const uint8_t *)got.data)[size - 1], 0x5a);
    check_done(ask(&stage, "fetch(u64) -> i64", arguments, &length));
    assert_int_equal(length, MESSAGE);
    assert_int_equal(ask(&stage, "fetch(u64) -> i64", too_large, &length), RAPAHUB_ECANCELED);
    close_stage(&stage);
}

/* r[verify shm.desc.flags] */
static void what_is_reserved_is_not_looked_at(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage, (const char *const[]){"dirty", NULL});
    for (int64_t i = 0; i < 300; i++) /* once around the ring */
        check_add(&stage, i, -2 * i);
    check_sizes(&stage, "echo(bytes) -> bytes");
    close_stage(&stage);
}

/* ---- peers that do not take part in waiting ---- */

/* 1,000 calls each way, none of which waits longer than a sleep for a foreign peer may. */
static void check_foreign(const char *const *words)
{
    struct stage stage;
    const uint64_t count = CALLS;
    const void *const arguments[] = {&count, NULL};
    uint64_t start;
    int64_t sum = 0;

    open_stage(&stage, words);
    start = now_ms();
    for (int64_t i = 0; i < CALLS; i++)
        check_add(&stage, i, i);
    assert_in_range(now_ms() - start, 0, CALLS * SLEEP_MAX);
    start = now_ms();
    check_done(ask(&stage, "call_back(u64) -> i64", arguments, &sum));
    assert_int_equal(sum, CALLS * (CALLS + 1) / 2);
    assert_in_range(now_ms() - start, 0, CALLS * SLEEP_MAX);
    check_bytes(&stage, "echo(bytes) -> bytes", (const uint8_t *)"0123456789", 10);
    close_stage(&stage);
}

/* r[verify hub.wait.foreign] r[verify shm.wakeup.producer-wait] */
static void a_guest_that_only_waits_in_futexes_is_served(void **state)
{
    (void)state;
    check_foreign((const char *const[]){"foreign", "futex", NULL});
}

/* r[verify hub.wait.foreign] r[verify shm.doorbell.ring-integration] */
static void a_guest_that_only_polls_its_doorbell_is_served(void **state)
{
    (void)state;
    check_foreign((const char *const[]){"foreign", NULL});
}

/* r[verify hub.wait.foreign] */
static void a_guest_that_neither_rings_nor_wakes_is_served(void **state)
{
    (void)state;
    check_foreign((const char *const[]){"foreign", "mute", "look", NULL});
}

static void note_sum(void *user, int status, const void *result)
{
    *(int64_t *)user = status == 0 ? *(const int64_t *)result : status;
}

/* Only the loop of our side waits for the answer. */
static void check_add_from_loop(struct stage *stage)
{
    const int64_t a = 40, b = 2;
    const struct rapahub_call call = {.target = guest_side,
                                      .method = "add(i64, i64) -> i64",
                                      .arguments = (const void *const[]){&a, &b, NULL}};
    uint64_t start = now_ms();
    int64_t sum = 0;

    check_done(rapahub_host_call_async(stage->host, &call, note_sum, &sum, NULL));
    while (sum == 0 && now_ms() - start < 5000)
        check_done(rapahub_host_dispatch(stage->host, 1000));
    assert_int_equal(sum, 42);
    assert_in_range(now_ms() - start, 0, 2500);
}

/* The peer takes part but no longer wakes us: we check by ourselves, once a second at the latest.
 * r[verify hub.wait.bound] */
static void calls_end_though_nobody_wakes_us(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage, NULL);
    check_done(ask(&stage, "fall_silent() -> void", NULL, NULL));
    for (int64_t i = 0; i < 3; i++) {
        uint64_t start = now_ms();

        check_add(&stage, i, i);
        assert_in_range(now_ms() - start, 0, 2500);
    }
    check_add_from_loop(&stage);
    close_stage(&stage);
}

/* Until nothing comes to the loop for longer than a second. */
static void rest(struct stage *stage)
{
    struct pollfd loop = {.fd = rapahub_host_fd(stage->host), .events = POLLIN};
    uint64_t start = now_ms();

    while (poll(&loop, 1, 1500) != 0) {
        check_done(rapahub_host_dispatch(stage->host, 0));
        assert_in_range(now_ms() - start, 0, 12000);
    }
}

/* A host that rests looks once in ten seconds: not where it waits for something again.
 * r[verify hub.wait.bound] */
static void a_host_that_rested_looks_each_second_again(void **state)
{
    struct stage stage;
    uint64_t start;

    (void)state;
    open_stage(&stage, NULL);
    check_done(ask(&stage, "fall_silent() -> void", NULL, NULL));
    rest(&stage);
    check_add_from_loop(&stage);
    rest(&stage);
    start = now_ms();
    check_add(&stage, 1, 2);
    assert_in_range(now_ms() - start, 0, 2500);
    close_stage(&stage);
}

/* ---- ends ---- */

/* r[verify shm.goodbye.guest] r[verify hub.goodbye.drain] */
static void a_guest_that_says_goodbye_has_not_crashed(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage, NULL);
    assert_int_equal(ask(&stage, "leave() -> void", NULL, NULL), RAPAHUB_ECLOSED);
    until(&stage, &stage.down, 1);
    assert_int_equal(stage.calls_lost, 1);
    close_stage(&stage);
}

/* Its process ends at once, or long after the host has seen the state: it makes no difference.
 * r[verify shm.goodbye.guest] r[verify shm.death.callback] */
static void a_goodbye_by_the_state_alone_is_a_goodbye_however_soon_its_process_ends(void **state)
{
    static const uint64_t spans[] = {0, 1, 20, 300};

    (void)state;
    for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++) {
        const void *const arguments[] = {&spans[i], NULL};
        struct stage stage;

        open_stage(&stage, NULL);
        assert_int_equal(ask(&stage, "leave_without_a_word(u64) -> void", arguments, NULL),
                         RAPAHUB_ECLOSED);
        until(&stage, &stage.down, 1);
        assert_int_equal(stage.deaths, 0);
        assert_int_equal(stage.calls_lost, 1);
        close_stage(&stage);
    }
}

/* r[verify shm.goodbye.host] */
static void a_guest_goes_when_the_host_asks(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage, NULL);
    check_add(&stage, 2, 3);
    check_done(rapahub_host_stop(stage.host, stage.guest));
    until(&stage, &stage.down, 1);
    assert_null(strstr(stage.cause, "signal"));
    close_stage(&stage);
}

/* Nor does it say what methods it has: it is asked, and answers. r[verify supervise.ready.attach]
 */
static void a_guest_that_never_says_that_it_is_ready_serves_by_having_attached(void **state)
{
    const struct rapahub_supervision how = {.ready = RAPAHUB_READY_ATTACH};
    const char *const words[] = {"silent", NULL};
    struct stage stage;

    (void)state;
    open_stage_with(&stage, &(struct staging){.slot_size = 65536, .words = words, .how = &how});
    check_add(&stage, 2, 3);
    assert_int_equal(ask(&stage, "die() -> void", NULL, NULL), RAPAHUB_EDIED);
    until(&stage, &stage.ready, 2);
    check_add(&stage, 4, 5);
    assert_int_equal(stage.down, 1);
    close_stage(&stage);
}

/* Its call has ended, once; the next life, with the container, answers. */
static void check_death(const char *method, int outcome)
{
    struct stage stage;

    open_stage(&stage, NULL);
    check_add(&stage, 1, 1);
    assert_int_equal(ask(&stage, method, NULL, NULL), outcome);
    until(&stage, &stage.ready, 2);
    assert_int_equal(stage.down, 1);
    assert_int_equal(stage.deaths, 1);
    assert_int_equal(stage.calls_lost, outcome == 0 ? 0 : 1);
    check_add(&stage, 4, 5);
    close_stage(&stage);
}

/* r[verify shm.crash.recovery] */
static void a_guest_that_dies_in_a_call_is_started_again(void **state)
{
    (void)state;
    check_death("die() -> void", RAPAHUB_EDIED);
}

/* r[verify shm.crash.recovery] */
static void what_a_dead_guest_did_not_publish_never_was(void **state)
{
    (void)state;
    check_death("die_before_publishing() -> void", RAPAHUB_EDIED);
}

/* r[verify shm.crash.recovery] */
static void what_a_dead_guest_published_is_received(void **state)
{
    (void)state;
    check_death("die_before_waking() -> void", 0);
}

/* ---- a guest that knows nothing of leases ---- */

struct ends {
    unsigned count, ok;
};

static void note_end(void *user, int status, const void *result)
{
    struct ends *ends = user;

    (void)result;
    ends->count++;
    ends->ok += status == 0;
}

/* Its host keeps calls from it after the end. What was on its way is answered late, and each call
 * ends once. r[verify hub.lease.call] */
static void one_that_ignores_the_lease_gets_no_call_after_its_end(void **state)
{
    const int64_t a = 1, b = 2;
    const void *const arguments[] = {&a, &b, NULL};
    const struct rapahub_call call = {
        .target = guest_side, .method = "add(i64, i64) -> i64", .arguments = arguments};
    struct ends ends = {0};
    struct stage stage;
    int64_t sum;

    (void)state;
    open_stage_with(&stage, &(struct staging){.slot_size = 65536,
                                              .words = (const char *const[]){"slow", NULL},
                                              .managed = true});
    check_add(&stage, 1, 2);
    for (int i = 0; i < 50; i++)
        check_done(rapahub_host_call_async(stage.host, &call, note_end, &ends, NULL));
    rapahub_host_lease(stage.host, 0);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(ask(&stage, "add(i64, i64) -> i64", arguments, &sum), RAPAHUB_EFENCED);
        assert_int_equal(rapahub_host_call_async(stage.host, &call, note_end, &ends, NULL),
                         RAPAHUB_EFENCED);
    }
    until(&stage, &ends.count, 50);
    assert_int_equal(ends.ok, 50);
    rapahub_host_lease(stage.host, UINT64_MAX);
    check_add(&stage, 3, 4);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guest_that_never_says_that_it_is_ready_serves_by_having_attached),
        cmocka_unit_test(messages_of_all_sizes_arrive_both_ways),
        cmocka_unit_test(the_largest_message_arrives_both_ways),
        cmocka_unit_test(what_is_reserved_is_not_looked_at),
        cmocka_unit_test(a_guest_that_only_waits_in_futexes_is_served),
        cmocka_unit_test(a_guest_that_only_polls_its_doorbell_is_served),
        cmocka_unit_test(a_guest_that_neither_rings_nor_wakes_is_served),
        cmocka_unit_test(calls_end_though_nobody_wakes_us),
        cmocka_unit_test(a_host_that_rested_looks_each_second_again),
        cmocka_unit_test(a_guest_that_says_goodbye_has_not_crashed),
        cmocka_unit_test(a_goodbye_by_the_state_alone_is_a_goodbye_however_soon_its_process_ends),
        cmocka_unit_test(a_guest_goes_when_the_host_asks),
        cmocka_unit_test(a_guest_that_dies_in_a_call_is_started_again),
        cmocka_unit_test(what_a_dead_guest_did_not_publish_never_was),
        cmocka_unit_test(what_a_dead_guest_published_is_received),
        cmocka_unit_test(one_that_ignores_the_lease_gets_no_call_after_its_end),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
