/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile guest hurts only itself: whatever it does to the memory it shares with its host, the
 * host names the rule and kills it, or goes on as if nothing had happened; and all the while the
 * guest next door answers. */
#include "tests/attack/attack.h"

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

/* ---- the attacks ---- */

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

/* That they rise is no sign of life: how old they are counts. r[verify shm.crash.heartbeat-clock]
 * r[verify shm.crash.heartbeat] */
static void a_heart_that_beats_in_the_past_is_none(void **state)
{
    struct stage stage;
    uint64_t begun;

    (void)state;
    open_stage(&stage, 200 * MS);
    begun = now_ms();
    begin_attack(&stage, "beat_stale");
    for (int i = 0; i < POKES; i++)
        poke(&stage);
    assert_true(until(&stage, &stage.down, 1));
    assert_in_range(now_ms() - begun, 0, 2500); /* it would beat so for 3 s, and then answer */
    assert_int_equal(stage.violations, 0);
    assert_int_equal(stage.status, RAPAHUB_EDIED);
    close_stage(&stage);
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

/* r[verify call.lifecycle.unknown-request-id] r[verify call.cancel.best-effort]
 * r[verify hub.wait.flood] */
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

/* Returns how often the host ignored the doorbell; no guest is harmed, and the attacker may go
 * on. */
static uint64_t flood_once(void)
{
    struct stage stage;
    uint64_t floods;

    open_stage(&stage, UINT64_MAX);
    begin_attack(&stage, "bell_flood");
    call_meanwhile(&stage);
    assert_true(until(&stage, &stage.done, POKES));
    assert_int_equal(stage.status, 0);
    floods = floods_of(&stage, stage.attacker);
    assert_int_equal(floods_of(&stage, stage.neighbour), 0);
    assert_int_equal(stage.violations, 0);
    close_stage(&stage);
    return floods;
}

/* On a machine with much else to do it may take a while to ring fast enough.
 * r[verify hub.wait.flood] */
static void a_doorbell_that_floods_is_left_alone(void **state)
{
    uint64_t floods = 0;

    (void)state;
    for (int tries = 0; floods == 0 && tries < 30; tries++)
        floods = flood_once();
    assert_in_range(floods, 1, 10000);
}

/* Runs an attack by its name and prints the rule it breaks, for debugging. */
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
        cmocka_unit_test(a_heart_that_beats_in_the_past_is_none),
        cmocka_unit_test(each_row_of_the_check_on_receipt_is_kept),
        cmocka_unit_test(slots_are_given_back_by_who_holds_them),
        cmocka_unit_test(calls_that_cannot_be_read_are_a_violation),
        cmocka_unit_test(what_nobody_asked_for_is_ignored),
        cmocka_unit_test(a_doorbell_that_floods_is_left_alone),
        cmocka_unit_test(who_does_not_read_keeps_nobody_waiting),
    };

    if (!process_possible())
        return PROCESS_SKIPPED;
    if (argc > 1)
        return run_one(argv + 1, argc - 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
