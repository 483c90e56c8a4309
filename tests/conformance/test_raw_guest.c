/* SPDX-License-Identifier: Apache-2.0 */
/* Our host with a guest that was written from the numbers of the specification. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rapahub/host.h>

#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define PROGRAM   TEST_PREFIX "/tests/raw-guest"
#define CALLS     1000
#define SLEEP_MAX 10    /* ms, of any sleep of ours for a peer that does not take part */
#define LARGEST   65400 /* bytes of an argument: before it stands what names the container */
#define MESSAGE   65532 /* bytes of the largest message */

static const struct rapahub_container_id guest_side = {.pool = {1, 0}};
static const struct rapahub_container_id host_side = {.pool = {2, 0}};

struct stage {
    struct rapahub_host *host;
    struct rapahub_guest_id guest;
    struct leak *leak;
    unsigned ready, down, violations, failed;
    uint32_t calls_lost;
    char cause[128];
};

static void on_event(void *user, const struct rapahub_event *event)
{
    struct stage *stage = user;

    stage->ready += event->kind == RAPAHUB_EVENT_READY;
    stage->down += event->kind == RAPAHUB_EVENT_DOWN;
    stage->failed += event->kind == RAPAHUB_EVENT_FAILED;
    stage->violations += event->kind == RAPAHUB_EVENT_VIOLATION;
    if (event->kind == RAPAHUB_EVENT_VIOLATION)
        print_error("violation: %s\n", event->rule);
    if (event->kind != RAPAHUB_EVENT_DOWN)
        return;
    stage->calls_lost = event->calls_lost;
    snprintf(stage->cause, sizeof(stage->cause), "%s", event->cause);
}

static int add(void *self, int64_t a, int64_t b, int64_t *sum)
{
    (void)self;
    *sum = a + b;
    return 0;
}

static int echo(void *self, struct rapahub_bytes value, struct rapahub_bytes *same)
{
    (void)self;
    *same = value;
    return 0;
}

static int make(void *self, uint64_t size, struct rapahub_bytes *made)
{
    static const uint8_t bytes[MESSAGE];

    (void)self;
    if (size > MESSAGE)
        return RAPAHUB_EINVAL;
    *made = (struct rapahub_bytes){bytes, size};
    return 0;
}

static const struct rapahub_method offered[] = {
    RAPAHUB_METHOD(make, make, bytes, u64),
    RAPAHUB_METHOD(add, add, i64, i64, i64),
    RAPAHUB_METHOD(echo, echo, bytes, bytes),
    RAPAHUB_METHOD_END,
};

static void drop_line(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    if (getenv("TEST_LOG"))
        fprintf(stderr, "%d %s: %s\n", (int)level, topic, text);
}

static void check_done(int r)
{
    if (r < 0)
        print_error("%s: %s\n", rapahub_error_name(r), rapahub_last_error()->text);
    assert_true(r >= 0);
}

/* The raw guest, a peer as `words` say. */
static void open_stage(struct stage *stage, const char *const *words)
{
    const struct rapahub_host_options options = {
        .guest_program = PROGRAM, .on_event = on_event, .user = stage, .heartbeat_ns = UINT64_MAX};
    const struct rapahub_guest_options guest = {.chimod = PROCESS_CHIMOD("echo"), .plain = words};
    const struct rapahub_container_options begin = {.id = guest_side, .pool_name = "raw"};
    const struct rapahub_container_options offer = {.id = host_side, .pool_name = "host"};

    memset(stage, 0, sizeof(*stage));
    stage->leak = leak_begin();
    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_DEBUG);
    check_done(rapahub_host_create(&options, &stage->host));
    check_done(rapahub_host_offer(stage->host, &offer, offered, NULL));
    check_done(rapahub_host_spawn(stage->host, &guest, &stage->guest));
    check_done(rapahub_host_add_container(stage->host, stage->guest, &begin));
}

static void close_stage(struct stage *stage)
{
    rapahub_host_destroy(stage->host);
    assert_int_equal(stage->violations, 0);
    leak_assert_none(stage->leak);
}

static int ask(struct stage *stage, const char *signature, const void *const *arguments,
               void *result)
{
    const struct rapahub_call call = {
        .target = guest_side, .method = signature, .arguments = arguments};

    return rapahub_host_call(stage->host, &call, result);
}

static void check_add(struct stage *stage, int64_t a, int64_t b)
{
    const void *const arguments[] = {&a, &b, NULL};
    int64_t sum = 0;

    check_done(ask(stage, "add(i64, i64) -> i64", arguments, &sum));
    assert_int_equal(sum, a + b);
}

static void check_bytes(struct stage *stage, const char *signature, const uint8_t *bytes,
                        size_t size)
{
    const struct rapahub_bytes sent = {bytes, size};
    const void *const arguments[] = {&sent, NULL};
    struct rapahub_bytes got = {NULL, 0};

    check_done(ask(stage, signature, arguments, &got));
    assert_int_equal(got.size, size);
    if (size > 0)
        assert_memory_equal(got.data, bytes, size);
}

static void until(struct stage *stage, const unsigned *count, unsigned wanted)
{
    for (int i = 0; i < 100 && *count < wanted; i++)
        check_done(rapahub_host_dispatch(stage->host, 100));
    assert_int_equal(*count, wanted);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

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

/* Its call has ended, once; the next life, with the container, answers. */
static void check_death(const char *method, int outcome)
{
    struct stage stage;

    open_stage(&stage, NULL);
    check_add(&stage, 1, 1);
    assert_int_equal(ask(&stage, method, NULL, NULL), outcome);
    until(&stage, &stage.ready, 2);
    assert_int_equal(stage.down, 1);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_all_sizes_arrive_both_ways),
        cmocka_unit_test(the_largest_message_arrives_both_ways),
        cmocka_unit_test(what_is_reserved_is_not_looked_at),
        cmocka_unit_test(a_guest_that_only_waits_in_futexes_is_served),
        cmocka_unit_test(a_guest_that_only_polls_its_doorbell_is_served),
        cmocka_unit_test(a_guest_that_neither_rings_nor_wakes_is_served),
        cmocka_unit_test(a_guest_that_says_goodbye_has_not_crashed),
        cmocka_unit_test(a_guest_goes_when_the_host_asks),
        cmocka_unit_test(a_guest_that_dies_in_a_call_is_started_again),
        cmocka_unit_test(what_a_dead_guest_did_not_publish_never_was),
        cmocka_unit_test(what_a_dead_guest_published_is_received),
    };

    if (!process_possible())
        return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
