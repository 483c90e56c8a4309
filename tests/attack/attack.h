/* SPDX-License-Identifier: Apache-2.0 */
/* attack: a host with an honest guest and an attacking one, and the conditions that must hold
 * afterwards. */
#ifndef TESTS_ATTACK_ATTACK_H
#define TESTS_ATTACK_ATTACK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <rapahub/host.h>

#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define ATTACK __attribute__((unused)) static

#define PROGRAM  TEST_PREFIX "/tests/hostile-guest"
#define CALLS    1000  /* calls of the neighbour during an attack */
#define FURTHER  10000 /* and afterwards */
#define POKES    40    /* calls of the attacker: more than its ring and its slots hold */
#define CALL_MS  1000  /* time-out of a call */
#define CREDIT   800   /* credit of a stream */
#define SPAN_MAX 500   /* ms, for no single call of the neighbour */
#define MS       UINT64_C(1000000)

ATTACK const struct rapahub_container_id honest = {.pool = {1, 0}}, hostile = {.pool = {2, 0}};

struct trial {
    const char *attack;
    const char *rule; /* that it breaks; NULL: none */
    bool perhaps;     /* it depends on what the host does at that moment */
};

struct stage {
    struct rapahub_host *host;
    struct rapahub_guest_id neighbour, attacker;
    struct leak *leak;
    unsigned ready, down, violations, done;
    int status; /* status of the call that asked for the attack; 1: not ended */
    char rule[64];
};

ATTACK void on_event(void *user, const struct rapahub_event *event)
{
    struct stage *stage = user;

    stage->ready += event->kind == RAPAHUB_EVENT_READY;
    stage->down += event->kind == RAPAHUB_EVENT_DOWN;
    if (event->kind != RAPAHUB_EVENT_VIOLATION)
        return;
    stage->violations++;
    snprintf(stage->rule, sizeof(stage->rule), "%s", event->rule);
}

ATTACK void drop_line(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    if (getenv("TEST_LOG"))
        fprintf(stderr, "%d %s: %s\n", (int)level, topic, text);
}

ATTACK void check_done(int r)
{
    if (r < 0)
        print_error("%s: %s\n", rapahub_error_name(r), rapahub_last_error()->text);
    assert_true(r >= 0);
}

/* The parts of a stage that differ between tests. */
struct setting {
    uint64_t heartbeat_ns;
    uint32_t slot_size, guests_max, admitted_max;
    enum rapahub_trust trust;
};

ATTACK void start_as(struct stage *stage, const char *chimod, struct rapahub_container_id id,
                     enum rapahub_trust trust, struct rapahub_guest_id *out)
{
    const struct rapahub_supervision never = {
        .restart = RAPAHUB_RESTART_TEMPORARY, .goodbye_ns = 500 * MS, .term_ns = RAPAHUB_NONE};
    const struct rapahub_guest_options guest = {
        .chimod = chimod, .supervision = &never, .trust = trust};
    const struct rapahub_container_options container = {.id = id, .pool_name = "attack"};

    check_done(rapahub_host_spawn(stage->host, &guest, out));
    check_done(rapahub_host_add_container(stage->host, *out, &container));
}

/* A host with the neighbour alone. */
ATTACK void open_stage_alone(struct stage *stage, const struct setting *setting)
{
    const struct rapahub_host_options options = {.guest_program = PROGRAM,
                                                 .admitted_max = setting->admitted_max,
                                                 .on_event = on_event,
                                                 .user = stage,
                                                 .ring_size = 16,
                                                 .slot_size = setting->slot_size,
                                                 .guests_max = setting->guests_max,
                                                 .slot_count = 8,
                                                 .credit_size = CREDIT,
                                                 .payload_max = 1000,
                                                 .heartbeat_ns = setting->heartbeat_ns,
                                                 .call_timeout_ns = CALL_MS * MS};

    memset(stage, 0, sizeof(*stage));
    stage->status = 1;
    stage->leak = leak_begin();
    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_DEBUG);
    check_done(rapahub_host_create(&options, &stage->host));
    start_as(stage, PROCESS_CHIMOD("echo"), honest, setting->trust, &stage->neighbour);
}

ATTACK void open_stage_with(struct stage *stage, const struct setting *setting)
{
    open_stage_alone(stage, setting);
    start_as(stage, PROCESS_CHIMOD("kv"), hostile, setting->trust, &stage->attacker);
}

ATTACK void open_stage(struct stage *stage, uint64_t heartbeat_ns)
{
    open_stage_with(stage, &(struct setting){.heartbeat_ns = heartbeat_ns, .slot_size = 4096});
}

ATTACK uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- the attack ---- */

ATTACK void on_attacked(void *user, int status, const void *result)
{
    struct stage *stage = user;

    (void)result;
    assert_int_equal(stage->status, 1);
    stage->status = status;
}

ATTACK void on_poked(void *user, int status, const void *result)
{
    (void)status;
    (void)result;
    ((struct stage *)user)->done++;
}

ATTACK void begin_attack(struct stage *stage, const char *name)
{
    const struct rapahub_string word = rapahub_string_of(name);
    const void *const arguments[] = {&word, NULL};
    const struct rapahub_call call = {
        .target = hostile, .method = "attack(string) -> void", .arguments = arguments};

    check_done(rapahub_host_call_async(stage->host, &call, on_attacked, stage, NULL));
}

/* Calls that need a place in the ring and a slot. A refused call has ended, too. */
ATTACK void poke(struct stage *stage)
{
    static const uint8_t bytes[100];
    const struct rapahub_bytes value = {bytes, sizeof(bytes)};
    const void *const arguments[] = {&value, NULL};
    const struct rapahub_call call = {
        .target = hostile, .method = "poke(bytes) -> void", .arguments = arguments};

    if (rapahub_host_call_async(stage->host, &call, on_poked, stage, NULL) < 0)
        stage->done++;
}

/* A call of the neighbour is answered correctly and soon. */
ATTACK uint64_t call_neighbour(struct stage *stage, int64_t value)
{
    const void *const arguments[] = {&value, NULL};
    const struct rapahub_call call = {
        .target = honest, .method = "i64(i64) -> i64", .arguments = arguments};
    uint64_t start_ms = now_ms();
    int64_t same = 0;

    check_done(rapahub_host_call(stage->host, &call, &same));
    assert_int_equal(same, value);
    return now_ms() - start_ms;
}

ATTACK void call_meanwhile(struct stage *stage)
{
    uint64_t longest = 0;

    for (int i = 0; i < CALLS; i++) {
        uint64_t begin = now_ms(), span;

        if (i < POKES)
            poke(stage);
        call_neighbour(stage, i);
        span = now_ms() - begin;
        longest = span > longest ? span : longest;
    }
    if (longest > SPAN_MAX)
        print_error("a call of the neighbour took %llu ms\n", (unsigned long long)longest);
    assert_in_range(longest, 0, SPAN_MAX);
}

ATTACK bool until(struct stage *stage, const unsigned *count, unsigned wanted)
{
    uint64_t end = now_ms() + 5000;

    while (*count < wanted && now_ms() < end)
        check_done(rapahub_host_dispatch(stage->host, 50));
    return *count >= wanted;
}

ATTACK void check_rule(struct stage *stage, const struct trial *trial)
{
    bool seen = until(stage, &stage->violations, 1);

    if (!seen || strcmp(stage->rule, trial->rule) != 0)
        print_error("%s: broke '%s', not %s\n", trial->attack, stage->rule, trial->rule);
    assert_true(seen);
    assert_string_equal(stage->rule, trial->rule);
    assert_true(until(stage, &stage->down, 1));
    assert_int_equal(stage->violations, 1);
}

ATTACK void note_pid(void *user, const struct rapahub_guest_status *status)
{
    if (strcmp(status->name, "hostile") == 0)
        *(int32_t *)user = status->pid;
}

/* Its process is dead before the host, which looks at nothing meanwhile, takes note of it. */
ATTACK void await_death(struct stage *stage)
{
    siginfo_t dead;
    int32_t pid = 0;

    check_done(rapahub_host_guests(stage->host, note_pid, &pid));
    assert_true(pid > 0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &dead, WEXITED | WNOWAIT), 0);
}

ATTACK void add_violations(void *user, const struct rapahub_guest_status *status)
{
    *(uint64_t *)user += status->violations;
}

/* The counter rose by one if a rule was broken; no other guest's did. */
ATTACK void check_counted(struct stage *stage)
{
    uint64_t violations = 0;

    check_done(rapahub_host_guests(stage->host, add_violations, &violations));
    assert_int_equal(violations, stage->violations);
}

/* Every call has ended, once; the host and the neighbour go on. */
ATTACK void finish_stage(struct stage *stage)
{
    if (rapahub_host_stop(stage->host, stage->attacker) < 0)
        assert_true(stage->violations > 0 || stage->down > 0); /* it is gone already */
    assert_true(until(stage, &stage->down, 1));
    assert_true(until(stage, &stage->done, POKES));
    assert_int_not_equal(stage->status, 1);
    for (int i = 0; i < FURTHER; i++)
        call_neighbour(stage, -i);
    assert_int_equal(stage->done, POKES);
    assert_int_equal(stage->down, 1);
}

ATTACK void close_stage(struct stage *stage)
{
    finish_stage(stage);
    check_counted(stage);
    rapahub_host_destroy(stage->host);
    leak_assert_none(stage->leak);
}

#endif
