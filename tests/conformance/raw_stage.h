/* SPDX-License-Identifier: Apache-2.0 */
/* raw stage: our host with the raw guest, a peer as words say. */
#ifndef TESTS_CONFORMANCE_RAW_STAGE_H
#define TESTS_CONFORMANCE_RAW_STAGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rapahub/host.h>

#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define STAGED __attribute__((unused)) static

#define PROGRAM   TEST_PREFIX "/tests/raw-guest"
#define CALLS     1000
#define SLEEP_MAX 10    /* ms, of any sleep of ours for a peer that does not take part */
#define LARGEST   65400 /* bytes of an argument: before it stands what names the container */
#define MESSAGE   65532 /* bytes of the largest message */

STAGED const struct rapahub_container_id guest_side = {.pool = {1, 0}};
STAGED const struct rapahub_container_id host_side = {.pool = {2, 0}};

struct stage {
    struct rapahub_host *host;
    struct rapahub_guest_id guest;
    struct leak *leak;
    unsigned ready, down, violations, failed, deaths;
    uint32_t calls_lost;
    char cause[128], rule[64];
};

STAGED void on_event(void *user, const struct rapahub_event *event)
{
    struct stage *stage = user;

    stage->ready += event->kind == RAPAHUB_EVENT_READY;
    stage->down += event->kind == RAPAHUB_EVENT_DOWN;
    stage->failed += event->kind == RAPAHUB_EVENT_FAILED;
    stage->violations += event->kind == RAPAHUB_EVENT_VIOLATION;
    if (event->kind == RAPAHUB_EVENT_VIOLATION)
        snprintf(stage->rule, sizeof(stage->rule), "%s", event->rule);
    if (event->kind != RAPAHUB_EVENT_DOWN)
        return;
    stage->calls_lost = event->calls_lost;
    snprintf(stage->cause, sizeof(stage->cause), "%s", event->cause);
}

STAGED void on_death(void *user, struct rapahub_guest_id guest, const char *cause)
{
    (void)guest;
    (void)cause;
    ((struct stage *)user)->deaths++;
}

STAGED int add(void *self, int64_t a, int64_t b, int64_t *sum)
{
    (void)self;
    *sum = a + b;
    return 0;
}

STAGED int echo(void *self, struct rapahub_bytes value, struct rapahub_bytes *same)
{
    (void)self;
    *same = value;
    return 0;
}

STAGED int make(void *self, uint64_t size, struct rapahub_bytes *made)
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

STAGED void drop_line(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    if (getenv("TEST_LOG"))
        fprintf(stderr, "%d %s: %s\n", (int)level, topic, text);
}

STAGED void check_done(int r)
{
    if (r < 0)
        print_error("%s: %s\n", rapahub_error_name(r), rapahub_last_error()->text);
    assert_true(r >= 0);
}

/* The parts of a stage that differ between tests. */
struct staging {
    uint32_t slot_size, slot_count, payload_max, guests_max;
    enum rapahub_trust trust;
    const char *const *words;
    const struct rapahub_supervision *how; /* NULL: the defaults */
    bool managed;
};

STAGED void open_stage_with(struct stage *stage, const struct staging *with)
{
    const struct rapahub_host_options options = {.guest_program = PROGRAM,
                                                 .slot_size = with->slot_size,
                                                 .slot_count = with->slot_count,
                                                 .payload_max = with->payload_max,
                                                 .guests_max = with->guests_max,
                                                 .on_event = on_event,
                                                 .user = stage,
                                                 .heartbeat_ns = UINT64_MAX};
    const struct rapahub_container_options begin = {
        .id = guest_side, .pool_name = "raw", .managed = with->managed};
    const struct rapahub_guest_options guest = {.chimod = PROCESS_CHIMOD("echo"),
                                                .plain = with->words,
                                                .on_death = on_death,
                                                .user = stage,
                                                .trust = with->trust,
                                                .supervision = with->how,
                                                .container = with->how ? &begin : NULL};
    const struct rapahub_container_options offer = {.id = host_side, .pool_name = "host"};

    memset(stage, 0, sizeof(*stage));
    stage->leak = leak_begin();
    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_DEBUG);
    check_done(rapahub_host_create(&options, &stage->host));
    check_done(rapahub_host_offer(stage->host, &offer, offered, NULL));
    check_done(rapahub_host_spawn(stage->host, &guest, &stage->guest));
    if (!with->how)
        check_done(rapahub_host_add_container(stage->host, stage->guest, &begin));
}

/* The raw guest, a peer as `words` say. */
STAGED void open_stage(struct stage *stage, const char *const *words)
{
    open_stage_with(stage, &(struct staging){.slot_size = 65536, .words = words});
}

STAGED void close_stage(struct stage *stage)
{
    rapahub_host_destroy(stage->host);
    assert_int_equal(stage->violations, 0);
    leak_assert_none(stage->leak);
}

STAGED int ask(struct stage *stage, const char *signature, const void *const *arguments,
               void *result)
{
    const struct rapahub_call call = {
        .target = guest_side, .method = signature, .arguments = arguments};

    return rapahub_host_call(stage->host, &call, result);
}

STAGED void check_add(struct stage *stage, int64_t a, int64_t b)
{
    const void *const arguments[] = {&a, &b, NULL};
    int64_t sum = 0;

    check_done(ask(stage, "add(i64, i64) -> i64", arguments, &sum));
    assert_int_equal(sum, a + b);
}

STAGED void check_bytes(struct stage *stage, const char *signature, const uint8_t *bytes,
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

STAGED void until(struct stage *stage, const unsigned *count, unsigned wanted)
{
    for (int i = 0; i < 100 && *count < wanted; i++)
        check_done(rapahub_host_dispatch(stage->host, 100));
    assert_int_equal(*count, wanted);
}

STAGED uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

#endif
