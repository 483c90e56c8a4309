/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/probe.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define MS    HUB_MILLISECOND
#define START (1000 * HUB_SECOND)

/* A guest that answers at once, or never, each millisecond looked at. */
struct stage {
    struct host_probe_set set;
    uint64_t now;
    bool deaf[HOST_PROBE_KINDS], ill[HOST_PROBE_KINDS], full;
    unsigned asked[HOST_PROBE_KINDS];
    enum host_probe_news news; /* the last that was any */
    uint64_t news_ms;          /* since the start */
};

static void begin(struct stage *stage, const struct rapahub_supervision *how)
{
    *stage = (struct stage){.now = START};
    host_probe_begin(&stage->set, how, stage->now);
}

static void take(struct stage *stage, enum host_probe_news news)
{
    if (news == HOST_PROBE_NONE)
        return;
    stage->news = news;
    stage->news_ms = (stage->now - START) / MS;
}

static void ask(struct stage *stage, enum host_probe_kind kind)
{
    host_probe_asked(&stage->set, kind, !stage->full, stage->now);
    stage->asked[kind] += !stage->full;
    if (!stage->full && !stage->deaf[kind])
        take(stage, host_probe_answered(&stage->set, kind, !stage->ill[kind], stage->now));
}

static void look(struct stage *stage)
{
    enum host_probe_step step;
    enum host_probe_kind kind;

    while ((step = host_probe_next(&stage->set, stage->now, &kind)) != HOST_PROBE_REST) {
        if (step == HOST_PROBE_ASK)
            ask(stage, kind);
        else if (step == HOST_PROBE_MISS)
            take(stage, host_probe_missed(&stage->set, kind, stage->now));
    }
}

static void run(struct stage *stage, unsigned ms)
{
    for (; ms > 0; ms--) {
        look(stage);
        assert_true(host_probe_due(&stage->set) > stage->now);
        stage->now += MS;
    }
}

static const struct rapahub_probe each = {100 * MS, 50 * MS, 2, 3};

static void without_a_probe_nothing_is_asked(void **state)
{
    const struct rapahub_supervision none = {.restart = RAPAHUB_RESTART_PERMANENT};
    struct stage stage;

    (void)state;
    begin(&stage, &none);
    assert_true(stage.set.serves);
    assert_int_equal(host_probe_due(&stage.set), HUB_NEVER);
    assert_int_equal(host_probe_interval(&stage.set), HUB_NEVER);
    run(&stage, 10);
}

static void an_answer_without_a_question_is_no_news(void **state)
{
    const struct rapahub_supervision how = {.liveness = each, .readiness = each};
    struct stage stage;

    (void)state;
    begin(&stage, &how);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(host_probe_answered(&stage.set, HOST_PROBE_READINESS, i % 2, stage.now),
                         HOST_PROBE_NONE);
        assert_int_equal(host_probe_answered(&stage.set, HOST_PROBE_LIVENESS, false, stage.now),
                         HOST_PROBE_NONE);
    }
}

static void one_that_is_well_is_asked_once_a_period(void **state)
{
    const struct rapahub_supervision how = {.liveness = each, .readiness = each};
    struct stage stage;

    (void)state;
    begin(&stage, &how);
    run(&stage, 1000);
    assert_int_equal(stage.asked[HOST_PROBE_LIVENESS], 10);
    assert_int_equal(stage.asked[HOST_PROBE_READINESS], 10);
    assert_int_equal(stage.news, HOST_PROBE_NONE);
    assert_int_equal(host_probe_interval(&stage.set), 50 * MS);
}

/* r[verify supervise.probe.startup] */
static void a_startup_probe_delays_the_others_and_ends(void **state)
{
    const struct rapahub_supervision how = {
        .startup = {100 * MS, 50 * MS, 2, 100}, .liveness = each, .readiness = each};
    struct stage stage;

    (void)state;
    begin(&stage, &how);
    stage.ill[HOST_PROBE_STARTUP] = true;
    run(&stage, 1000);
    assert_int_equal(stage.asked[HOST_PROBE_STARTUP], 10);
    assert_int_equal(stage.asked[HOST_PROBE_LIVENESS] + stage.asked[HOST_PROBE_READINESS], 0);
    stage.ill[HOST_PROBE_STARTUP] = false;
    run(&stage, 100);
    assert_int_equal(stage.asked[HOST_PROBE_LIVENESS], 0); /* two in a row */
    run(&stage, 900);
    assert_int_equal(stage.asked[HOST_PROBE_STARTUP], 12);
    assert_int_equal(stage.asked[HOST_PROBE_LIVENESS], 9);
    assert_int_equal(stage.asked[HOST_PROBE_READINESS], 9);
}

/* r[verify supervise.probe.startup] */
static void one_that_never_starts_up_is_stuck(void **state)
{
    const struct rapahub_supervision how = {.startup = each, .liveness = each};
    struct stage stage;

    (void)state;
    begin(&stage, &how);
    stage.ill[HOST_PROBE_STARTUP] = true;
    run(&stage, 300);
    assert_int_equal(stage.news, HOST_PROBE_STUCK);
    assert_int_equal(stage.news_ms, 200);
}

/* r[verify supervise.probe.liveness] */
static void a_liveness_that_fails_in_a_row_is_stuck(void **state)
{
    const struct rapahub_supervision how = {.liveness = each, .readiness = each};
    struct stage stage;

    (void)state;
    begin(&stage, &how);
    for (unsigned i = 0; i < 20; i++) { /* two of three */
        stage.ill[HOST_PROBE_LIVENESS] = i % 3 != 0;
        run(&stage, 100);
    }
    assert_int_equal(stage.news, HOST_PROBE_NONE);
    stage.ill[HOST_PROBE_LIVENESS] = false;
    run(&stage, 100);
    stage.ill[HOST_PROBE_LIVENESS] = true;
    run(&stage, 300);
    assert_int_equal(stage.news, HOST_PROBE_STUCK);
}

/* r[verify supervise.probe.readiness] */
static void a_readiness_that_fails_only_degrades(void **state)
{
    const struct rapahub_supervision how = {.liveness = each, .readiness = each};
    struct stage stage;

    (void)state;
    begin(&stage, &how);
    stage.ill[HOST_PROBE_READINESS] = true;
    run(&stage, 300);
    assert_int_equal(stage.news, HOST_PROBE_DEGRADED);
    assert_int_equal(stage.news_ms, 200);
    stage.news = HOST_PROBE_NONE;
    run(&stage, 2000);
    assert_int_equal(stage.news, HOST_PROBE_NONE); /* told once */
    stage.ill[HOST_PROBE_READINESS] = false;
    run(&stage, 100);
    assert_int_equal(stage.news, HOST_PROBE_NONE); /* two in a row */
    run(&stage, 100);
    assert_int_equal(stage.news, HOST_PROBE_SERVES);
    assert_int_equal(stage.news_ms, 2400);
}

/* r[verify supervise.probe.open] */
static void who_does_not_answer_is_asked_no_more_and_fails_once_a_period(void **state)
{
    const struct rapahub_supervision how = {.readiness = each};
    struct stage stage;

    (void)state;
    begin(&stage, &how);
    stage.deaf[HOST_PROBE_READINESS] = true;
    run(&stage, 1000);
    assert_int_equal(stage.asked[HOST_PROBE_READINESS], 1);
    assert_int_equal(stage.news, HOST_PROBE_DEGRADED);
    assert_in_range(stage.news_ms, 250, 290); /* 50 to the first, each with a last look */
    stage.deaf[HOST_PROBE_READINESS] = false;
    take(&stage, host_probe_answered(&stage.set, HOST_PROBE_READINESS, true, stage.now));
    assert_int_equal(stage.news, HOST_PROBE_DEGRADED); /* that was late */
    run(&stage, 101);
    assert_int_equal(stage.asked[HOST_PROBE_READINESS], 3);
    assert_int_equal(stage.news, HOST_PROBE_SERVES);
}

/* A failure between two successes: they are not in a row. r[verify supervise.probe.readiness]
 * r[verify supervise.probe.startup] */
static void successes_count_in_a_row_only(void **state)
{
    const struct rapahub_supervision how = {
        .startup = {100 * MS, 50 * MS, 2, 100}, .readiness = each, .ready = RAPAHUB_READY_PROBE};
    struct stage stage;

    (void)state;
    begin(&stage, &how);
    for (unsigned i = 0; i < 20; i++) {
        stage.ill[HOST_PROBE_STARTUP] = i % 2 != 0;
        run(&stage, 100);
    }
    assert_int_equal(stage.asked[HOST_PROBE_READINESS], 0); /* it did not start up */
    stage.ill[HOST_PROBE_STARTUP] = false;
    stage.ill[HOST_PROBE_READINESS] = true;
    run(&stage, 200);
    for (unsigned i = 0; i < 20; i++) {
        stage.ill[HOST_PROBE_READINESS] = i % 2 != 0;
        run(&stage, 100);
    }
    assert_int_equal(stage.news, HOST_PROBE_NONE); /* it is not ready */
    stage.ill[HOST_PROBE_READINESS] = false;
    run(&stage, 200);
    assert_int_equal(stage.news, HOST_PROBE_SERVES);
}

/* It came after the question had failed: neither good nor bad counts, and the failures before it
 * are still in a row. r[verify supervise.probe.open] */
static void a_late_answer_counts_neither_way(void **state)
{
    const struct rapahub_supervision how = {.liveness = each};
    struct stage stage;

    (void)state;
    for (int well = 0; well <= 1; well++) {
        begin(&stage, &how);
        stage.deaf[HOST_PROBE_LIVENESS] = true;
        run(&stage, 200); /* two failures: 50 ms, and a period after that, and the last looks */
        assert_int_equal(stage.news, HOST_PROBE_NONE);
        assert_int_equal(stage.set.all[HOST_PROBE_LIVENESS].failures, 2);
        take(&stage, host_probe_answered(&stage.set, HOST_PROBE_LIVENESS, well != 0, stage.now));
        assert_int_equal(stage.news, HOST_PROBE_NONE);
        assert_int_equal(stage.set.all[HOST_PROBE_LIVENESS].failures, 2);
        run(&stage, 70); /* the next one is not answered either */
        assert_int_equal(stage.news, HOST_PROBE_STUCK);
    }
}

/* r[verify supervise.probe.open] */
static void a_question_that_finds_no_room_is_tried_again_and_fails_in_time(void **state)
{
    const struct rapahub_supervision how = {.liveness = each};
    struct stage stage;

    (void)state;
    begin(&stage, &how);
    stage.full = true;
    run(&stage, 40);
    stage.full = false;
    run(&stage, 1000);
    assert_int_equal(stage.news, HOST_PROBE_NONE);
    stage.full = true;
    run(&stage, 500);
    assert_int_equal(stage.news, HOST_PROBE_STUCK);
}

/* r[verify supervise.probe.ready] */
static void one_that_is_ready_by_its_probes_serves_when_they_passed(void **state)
{
    const struct rapahub_supervision both = {
        .ready = RAPAHUB_READY_PROBE, .startup = each, .readiness = each};
    const struct rapahub_supervision one = {.ready = RAPAHUB_READY_PROBE, .startup = each};
    struct stage stage;

    (void)state;
    begin(&stage, &both);
    assert_false(stage.set.serves);
    run(&stage, 1000);
    assert_int_equal(stage.news, HOST_PROBE_SERVES);
    assert_int_equal(stage.news_ms, 200); /* the second of each */
    begin(&stage, &one);
    assert_false(stage.set.serves);
    run(&stage, 1000);
    assert_int_equal(stage.news, HOST_PROBE_SERVES);
    assert_int_equal(stage.news_ms, 100);
    begin(&stage, &both);
    stage.ill[HOST_PROBE_READINESS] = true;
    run(&stage, 2000); /* how long that lasts is not decided here */
    assert_int_equal(stage.news, HOST_PROBE_NONE);
}

/* r[verify supervise.watchdog.pause] */
static void time_that_is_forgiven_does_not_count(void **state)
{
    const struct rapahub_supervision how = {.liveness = {100 * MS, 50 * MS, 1, 1}};
    struct stage stage;

    (void)state;
    begin(&stage, &how);
    stage.deaf[HOST_PROBE_LIVENESS] = true;
    run(&stage, 1);
    stage.now += 60 * HUB_SECOND;
    host_probe_forgive(&stage.set, stage.now);
    run(&stage, 50);
    assert_int_equal(stage.news, HOST_PROBE_NONE);
    run(&stage, 20);
    assert_int_equal(stage.news, HOST_PROBE_STUCK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_probe_nothing_is_asked),
        cmocka_unit_test(an_answer_without_a_question_is_no_news),
        cmocka_unit_test(one_that_is_well_is_asked_once_a_period),
        cmocka_unit_test(a_startup_probe_delays_the_others_and_ends),
        cmocka_unit_test(one_that_never_starts_up_is_stuck),
        cmocka_unit_test(a_liveness_that_fails_in_a_row_is_stuck),
        cmocka_unit_test(a_readiness_that_fails_only_degrades),
        cmocka_unit_test(who_does_not_answer_is_asked_no_more_and_fails_once_a_period),
        cmocka_unit_test(successes_count_in_a_row_only),
        cmocka_unit_test(a_late_answer_counts_neither_way),
        cmocka_unit_test(a_question_that_finds_no_room_is_tried_again_and_fails_in_time),
        cmocka_unit_test(one_that_is_ready_by_its_probes_serves_when_they_passed),
        cmocka_unit_test(time_that_is_forgiven_does_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
