/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile guest hurts only itself: whatever it does to the memory it shares with its host, the
 * host names the rule and kills it, or goes on as if nothing had happened; and all the while the
 * guest next door answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rapahub/host.h>

#include "tests/support/leak.h"
#include "tests/support/process.h"
#include "tests/support/testing.h"

#define PROGRAM     TEST_PREFIX "/tests/hostile-guest"
#define CALLS       1000 /* of the neighbour, during an attack */
#define CALLS_AFTER 10000
#define POKES       40   /* calls of the attacker: more than its ring and its slots hold */
#define CALL_MS     1000 /* time-out of a call */
#define SPAN_MAX    500  /* ms, for no single call of the neighbour */
#define MS          UINT64_C(1000000)

static const struct rapahub_container_id honest = {.pool = {1, 0}}, hostile = {.pool = {2, 0}};

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
    int status; /* of the call that asked for the attack; 1: not ended */
    char rule[64];
};

static void on_event(void *user, const struct rapahub_event *event)
{
    struct stage *stage = user;

    stage->ready += event->kind == RAPAHUB_EVENT_READY;
    stage->down += event->kind == RAPAHUB_EVENT_DOWN;
    if (event->kind != RAPAHUB_EVENT_VIOLATION)
        return;
    stage->violations++;
    snprintf(stage->rule, sizeof(stage->rule), "%s", event->rule);
}

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

static void start(struct stage *stage, const char *chimod, struct rapahub_container_id id,
                  struct rapahub_guest_id *out)
{
    const struct rapahub_supervision never = {.restart = RAPAHUB_RESTART_TEMPORARY,
                                              .stop_timeout_ns = 500 * MS};
    const struct rapahub_guest_options guest = {.chimod = chimod, .supervision = &never};
    const struct rapahub_container_options container = {.id = id, .pool_name = "attack"};

    check_done(rapahub_host_spawn(stage->host, &guest, out));
    check_done(rapahub_host_add_container(stage->host, *out, &container));
}

static void open_stage(struct stage *stage, uint64_t heartbeat_ns)
{
    const struct rapahub_host_options options = {.guest_program = PROGRAM,
                                                 .on_event = on_event,
                                                 .user = stage,
                                                 .ring_size = 16,
                                                 .slot_size = 4096,
                                                 .slot_count = 8,
                                                 .payload_max = 1000,
                                                 .heartbeat_ns = heartbeat_ns,
                                                 .call_timeout_ns = CALL_MS * MS};

    memset(stage, 0, sizeof(*stage));
    stage->status = 1;
    stage->leak = leak_begin();
    rapahub_log_to(drop_line, NULL, RAPAHUB_LOG_DEBUG);
    check_done(rapahub_host_create(&options, &stage->host));
    start(stage, PROCESS_CHIMOD("echo"), honest, &stage->neighbour);
    start(stage, PROCESS_CHIMOD("kv"), hostile, &stage->attacker);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- the attack ---- */

static void on_attacked(void *user, int status, const void *result)
{
    struct stage *stage = user;

    (void)result;
    assert_int_equal(stage->status, 1);
    stage->status = status;
}

static void on_poked(void *user, int status, const void *result)
{
    (void)status;
    (void)result;
    ((struct stage *)user)->done++;
}

static void begin_attack(struct stage *stage, const char *name)
{
    const struct rapahub_string word = rapahub_string_of(name);
    const void *const arguments[] = {&word, NULL};
    const struct rapahub_call call = {
        .target = hostile, .method = "attack(string) -> void", .arguments = arguments};

    check_done(rapahub_host_call_async(stage->host, &call, on_attacked, stage, NULL));
}

/* Calls that need a place in the ring and a slot. What is refused has ended, too. */
static void poke(struct stage *stage)
{
    static const uint8_t bytes[100];
    const struct rapahub_bytes value = {bytes, sizeof(bytes)};
    const void *const arguments[] = {&value, NULL};
    const struct rapahub_call call = {
        .target = hostile, .method = "poke(bytes) -> void", .arguments = arguments};

    if (rapahub_host_call_async(stage->host, &call, on_poked, stage, NULL) < 0)
        stage->done++;
}

/* One call of the neighbour: right, and soon. */
static uint64_t call_neighbour(struct stage *stage, int64_t value)
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

static void call_meanwhile(struct stage *stage)
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

static bool until(struct stage *stage, const unsigned *count, unsigned wanted)
{
    uint64_t end = now_ms() + 5000;

    while (*count < wanted && now_ms() < end)
        check_done(rapahub_host_dispatch(stage->host, 50));
    return *count >= wanted;
}

struct blame {
    const char *rule;
    uint64_t named, all;
};

static void note_blame(void *user, const struct rapahub_figure *figure)
{
    struct blame *blame = user;

    if (strcmp(figure->name, "violations") != 0)
        return;
    blame->all += figure->value;
    if (strcmp(figure->rule, blame->rule) == 0)
        blame->named += figure->value;
}

static void note_floods(void *user, const struct rapahub_figure *figure)
{
    if (strcmp(figure->name, "floods") == 0)
        *(uint64_t *)user += figure->value;
}

static uint64_t floods_of(struct stage *stage, struct rapahub_guest_id guest)
{
    uint64_t floods = 0;

    check_done(rapahub_host_figures(stage->host, guest, note_floods, &floods));
    return floods;
}

/* It is counted for its guest, under its rule, and for nobody else. */
static void check_counted(struct stage *stage, const char *rule)
{
    struct blame of_attacker = {rule, 0, 0}, of_neighbour = {rule, 0, 0};

    check_done(rapahub_host_figures(stage->host, stage->attacker, note_blame, &of_attacker));
    check_done(rapahub_host_figures(stage->host, stage->neighbour, note_blame, &of_neighbour));
    assert_int_equal(of_attacker.named, 1);
    assert_int_equal(of_attacker.all, 1);
    assert_int_equal(of_neighbour.all, 0);
}

static void check_rule(struct stage *stage, const struct trial *trial)
{
    bool seen = until(stage, &stage->violations, 1);

    if (!seen || strcmp(stage->rule, trial->rule) != 0)
        print_error("%s: broke '%s', not %s\n", trial->attack, stage->rule, trial->rule);
    assert_true(seen);
    assert_string_equal(stage->rule, trial->rule);
    assert_true(until(stage, &stage->down, 1));
    assert_int_equal(stage->violations, 1);
    check_counted(stage, trial->rule);
}

/* Every call has ended, once; the host and the neighbour go on. */
static void close_stage(struct stage *stage)
{
    if (rapahub_host_stop(stage->host, stage->attacker) < 0)
        assert_true(stage->violations > 0 || stage->down > 0); /* it is gone already */
    assert_true(until(stage, &stage->down, 1));
    assert_true(until(stage, &stage->done, POKES));
    assert_int_not_equal(stage->status, 1);
    for (int i = 0; i < CALLS_AFTER; i++)
        call_neighbour(stage, -i);
    assert_int_equal(stage->done, POKES);
    assert_int_equal(stage->down, 1);
    rapahub_host_destroy(stage->host);
    leak_assert_none(stage->leak);
}

static void run_with(const struct trial *trial, uint64_t heartbeat_ns)
{
    struct stage stage;

    if (getenv("TEST_LOG"))
        fprintf(stderr, "---- %s\n", trial->attack);
    open_stage(&stage, heartbeat_ns);
    begin_attack(&stage, trial->attack);
    call_meanwhile(&stage);
    if (trial->rule && (!trial->perhaps || stage.violations > 0))
        check_rule(&stage, trial);
    else
        assert_int_equal(stage.violations, 0);
    close_stage(&stage);
}

static void run(const struct trial *trials, uint64_t heartbeat_ns)
{
    for (; trials->attack; trials++)
        run_with(trials, heartbeat_ns);
}

/* ---- what is attacked ---- */

/* r[verify shm.ring.capacity] */
static void indices_that_cannot_be_are_a_violation(void **state)
{
    static const struct trial trials[] = {{"head_max", "shm.ring.capacity", false},
                                          {"head_far", "shm.ring.capacity", false},
                                          {"head_back", "shm.ring.capacity", false},
                                          {"tail_max", "shm.ring.capacity", false},
                                          {"tail_far", "shm.ring.capacity", false},
                                          {"tail_back", "shm.ring.capacity", false},
                                          {NULL, NULL, false}};

    (void)state;
    run(trials, UINT64_MAX);
}

/* r[verify shm.segment.peer-state] r[verify shm.crash.epoch] */
static void a_state_that_cannot_follow_is_a_violation(void **state)
{
    static const struct trial trials[] = {{"state_77", "shm.segment.peer-state", false},
                                          {"state_empty", "shm.segment.peer-state", false},
                                          {"state_reserved", "shm.segment.peer-state", false},
                                          {"epoch_up", "shm.crash.epoch", false},
                                          {NULL, NULL, false}};

    (void)state;
    run(trials, UINT64_MAX);
}

/* r[verify shm.crash.heartbeat-clock] */
static void a_heartbeat_of_another_time_is_a_violation(void **state)
{
    static const struct trial trials[] = {{"beat_ahead", "shm.crash.heartbeat-clock", false},
                                          {"beat_max", "shm.crash.heartbeat-clock", false},
                                          {"beat_back", "shm.crash.heartbeat-clock", false},
                                          {NULL, NULL, false}};

    (void)state;
    run(trials, 500 * MS);
}

/* r[verify message.unknown-variant] r[verify shm.desc.inline-fields] r[verify shm.payload.inline]
 * r[verify message.hello.enforcement] r[verify channeling.data.size-limit]
 * r[verify shm.payload.slot] r[verify shm.slot.payload-offset] r[verify hub.slot.twice]
 * r[verify shm.slot.generation] r[verify message.decode-error]
 * r[verify channeling.id.zero-reserved] r[verify shm.flow.channel-table-indexing]
 * r[verify channeling.unknown] r[verify hub.violation] */
static void each_row_of_the_check_on_receipt_is_kept(void **state)
{
    static const struct trial trials[] = {
        {"type_zero", "message.unknown-variant", false},
        {"type_eight", "message.unknown-variant", false},
        {"inline_generation", "shm.desc.inline-fields", false},
        {"inline_offset", "shm.desc.inline-fields", false},
        {"inline_long", "shm.payload.inline", false},
        {"slot_short", "shm.payload.inline", false},
        {"too_large", "message.hello.enforcement", false},
        {"data_too_large", "channeling.data.size-limit", false},
        {"slot_beyond", "shm.payload.slot", false},
        {"offset_beyond", "shm.slot.payload-offset", false},
        {"offset_wraps", "shm.slot.payload-offset", false},
        {"slot_twice", "hub.slot.twice", false},
        {"generation_other", "shm.slot.generation", false},
        {"cancel_with_payload", "message.decode-error", false},
        {"channel_zero", "channeling.id.zero-reserved", false},
        {"channel_beyond", "shm.flow.channel-table-indexing", false},
        {"channel_unknown", "channeling.unknown", false},
        {NULL, NULL, false}};

    (void)state;
    run(trials, UINT64_MAX);
}

/* r[verify shm.slot.free] r[verify shm.slot.pool-layout] r[verify hub.slot.claim] */
static void slots_are_given_back_by_who_holds_them(void **state)
{
    static const struct trial trials[] = {{"slot_set_free", "shm.slot.free", false},
                                          {"bits_beyond", "shm.slot.pool-layout", false},
                                          {"free_all", "shm.slot.free", true},
                                          {"clear_all", "shm.slot.pool-layout", true},
                                          {NULL, NULL, false}};

    (void)state;
    run(trials, UINT64_MAX);
}

/* r[verify call.request-id.duplicate-detection] r[verify message.decode-error]
 * r[verify call.metadata.limits] */
static void calls_that_cannot_be_read_are_a_violation(void **state)
{
    static const struct trial trials[] = {
        {"id_twice", "call.request-id.duplicate-detection", false},
        {"metadata_garbage", "message.decode-error", false},
        {"metadata_many", "call.metadata.limits", false},
        {"response_garbage", "message.decode-error", false},
        {NULL, NULL, false}};

    (void)state;
    run(trials, UINT64_MAX);
}

/* r[verify call.lifecycle.unknown-request-id] r[verify call.cancel.best-effort] */
static void what_nobody_asked_for_is_ignored(void **state)
{
    static const struct trial trials[] = {{"responses_nobody_asked_for", NULL, false},
                                          {"response_again", NULL, false},
                                          {"cancel_storm", NULL, false},
                                          {"wait_storm", NULL, false},
                                          {"bell_storm", NULL, false},
                                          {"overwrite", NULL, false},
                                          {"goodbye_garbage", NULL, false},
                                          {NULL, NULL, false}};

    (void)state;
    run(trials, UINT64_MAX);
}

/* r[verify hub.call.fault] */
static void who_does_not_read_keeps_nobody_waiting(void **state)
{
    static const struct trial trials[] = {
        {"never_reads", NULL, false}, {"request_flood", NULL, false}, {NULL, NULL, false}};

    (void)state;
    run(trials, UINT64_MAX);
}

/* The attacker rings until its host is gone; nobody is harmed, and it may go on.
 * r[verify hub.wait.flood] */
static void a_doorbell_that_floods_is_left_alone(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage, UINT64_MAX);
    begin_attack(&stage, "bell_flood");
    call_meanwhile(&stage);
    assert_true(until(&stage, &stage.done, POKES));
    assert_int_equal(stage.status, 0);
    assert_in_range(floods_of(&stage, stage.attacker), 1, 10000);
    assert_int_equal(floods_of(&stage, stage.neighbour), 0);
    assert_int_equal(stage.violations, 0);
    close_stage(&stage);
}

/* One attack by its name, and the rule it breaks, for who looks for a fault. */
static int run_one(char **words, int count)
{
    const struct trial trial = {words[0], count > 1 ? words[1] : NULL, false};

    run_with(&trial, count > 2 ? 500 * MS : UINT64_MAX);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_that_cannot_be_are_a_violation),
        cmocka_unit_test(a_state_that_cannot_follow_is_a_violation),
        cmocka_unit_test(a_heartbeat_of_another_time_is_a_violation),
        cmocka_unit_test(each_row_of_the_check_on_receipt_is_kept),
        cmocka_unit_test(slots_are_given_back_by_who_holds_them),
        cmocka_unit_test(calls_that_cannot_be_read_are_a_violation),
        cmocka_unit_test(what_nobody_asked_for_is_ignored),
        cmocka_unit_test(a_doorbell_that_floods_is_left_alone),
        cmocka_unit_test(who_does_not_read_keeps_nobody_waiting),
    };

    if (!process_possible())
        return 0;
    if (argc > 1)
        return run_one(argv + 1, argc - 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
