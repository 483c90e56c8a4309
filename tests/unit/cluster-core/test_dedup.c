/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/calls/dedup.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

#define POOL    UINT64_C(0x0000010000000000)
#define CLIENT  (UINT64_C(1) << 63)
#define LINEAGE UINT64_C(0x10000)
#define PEER    77

static struct cluster_effects effects;

static const struct cluster_limits small = {.containers = 3,
                                            .dedup = 40,
                                            .dedup_container = 16,
                                            .dedup_bytes = 20000,
                                            .dedup_container_bytes = 8000};

struct stage {
    struct cluster_effects_queue *queue;
    struct cluster_payload *payload;
    struct cluster_dedup *dedup;
};

static struct stage open_stage(const struct cluster_limits *limits)
{
    struct stage stage;

    assert_int_equal(cluster_effects_create(4096, &stage.queue), 0);
    assert_int_equal(cluster_payload_create(64, stage.queue, &stage.payload), 0);
    assert_int_equal(cluster_dedup_create(limits, 1, stage.payload, &stage.dedup), 0);
    assert_int_equal(cluster_dedup_begin(stage.dedup, POOL, 0, LINEAGE, 0), 0);
    return stage;
}

/* Everything that was kept must have gone with the histories. */
static void close_stage(struct stage *stage)
{
    assert_true(cluster_dedup_is_sound(stage->dedup));
    cluster_dedup_release(&stage->dedup);
    assert_int_equal(cluster_payload_count(stage->payload), 0);
    cluster_payload_release(&stage->payload);
    cluster_effects_release(&stage->queue);
}

static struct cluster_dedup_call call_of(uint64_t number)
{
    return (struct cluster_dedup_call){.pool = POOL,
                                       .uid = {CLIENT, number},
                                       .method = 5,
                                       .digest = number * 3,
                                       .reserve = 100,
                                       .asker = number + 1000};
}

static enum cluster_dedup_verdict look(const struct stage *stage,
                                       const struct cluster_dedup_call *call)
{
    struct cluster_dedup_answer answer;
    enum cluster_dedup_verdict verdict = cluster_dedup_look(stage->dedup, call, &answer);

    if (verdict == CLUSTER_VERDICT_DONE)
        cluster_payload_drop(stage->payload, answer.payload);
    return verdict;
}

static enum cluster_dedup_verdict look_for(const struct stage *stage, uint64_t number)
{
    struct cluster_dedup_call call = call_of(number);

    return look(stage, &call);
}

static uint64_t admit(const struct stage *stage, const struct cluster_dedup_call *call)
{
    uint64_t number = 0;

    assert_int_equal(look(stage, call), CLUSTER_VERDICT_NEW);
    assert_int_equal(cluster_dedup_admit(stage->dedup, call, &number), 0);
    assert_true(number != 0);
    return number;
}

static uint64_t admit_number(const struct stage *stage, uint64_t number)
{
    struct cluster_dedup_call call = call_of(number);

    return admit(stage, &call);
}

/* Ends a call with an answer of so many bytes. */
static uint64_t end(const struct stage *stage, uint64_t number, int32_t status, size_t size,
                    uint64_t *asker)
{
    uint8_t bytes[CLUSTER_EFFECTS_BODY_MAX];
    const struct cluster_payload_body body = {.bytes = {bytes, size}};
    struct cluster_dedup_answer answer = {.status = status, .application = 3};
    uint64_t ended;

    memset(bytes, (int)size, size);
    answer.payload = cluster_payload_keep(stage->payload, &body);
    assert_true(answer.payload != 0);
    ended = cluster_dedup_end(stage->dedup, number, &answer, cluster_payload_weight(&body), asker);
    cluster_payload_drop(stage->payload, answer.payload);
    return ended;
}

/* r[verify cluster.dedup.once] */
static void a_call_that_is_sent_again_does_not_run_again(void **state)
{
    struct stage stage = open_stage(&small);
    struct cluster_dedup_call call = call_of(10);
    struct cluster_dedup_answer answer;
    uint64_t number = admit(&stage, &call), asker = 0;
    struct cluster_payload_body body;

    (void)state;
    call.asker = 4444;
    assert_int_equal(look(&stage, &call), CLUSTER_VERDICT_RUNNING);
    assert_true(end(&stage, number, -7, 40, &asker) != 0);
    assert_int_equal(asker, 4444);
    assert_int_equal(end(&stage, number, 0, 40, &asker), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cluster_dedup_look(stage.dedup, &call, &answer), CLUSTER_VERDICT_DONE);
        assert_int_equal(answer.status, -7);
        assert_int_equal(answer.application, 3);
        body = cluster_payload_body(stage.payload, answer.payload);
        assert_int_equal(body.size, 40);
        assert_int_equal(((const uint8_t *)body.bytes.data)[39], 40);
        cluster_payload_drop(stage.payload, answer.payload);
    }
    assert_int_equal(look_for(&stage, 11), CLUSTER_VERDICT_NEW);
    close_stage(&stage);
}

/* r[verify cluster.dedup.other] */
static void a_uid_is_of_one_call(void **state)
{
    struct stage stage = open_stage(&small);
    struct cluster_dedup_call call = call_of(10);
    uint64_t number = admit(&stage, &call), asker;

    (void)state;
    for (int i = 0; i < 2; i++) {
        call = call_of(10);
        call.method++;
        assert_int_equal(look(&stage, &call), CLUSTER_VERDICT_OTHER);
        call = call_of(10);
        call.digest++;
        assert_int_equal(look(&stage, &call), CLUSTER_VERDICT_OTHER);
        call = call_of(10);
        call.uid.origin++;
        assert_int_equal(look(&stage, &call), CLUSTER_VERDICT_NEW);
        (void)end(&stage, number, 0, 1, &asker);
    }
    close_stage(&stage);
}

/* A call of the origin says so; it is looked for, and not admitted. */
static void done_below(struct cluster_dedup *of, uint32_t container, uint64_t origin,
                       uint64_t below)
{
    const struct cluster_dedup_call call = {
        .pool = POOL, .container = container, .uid = {origin, UINT64_MAX}, .done_below = below};
    struct cluster_dedup_answer answer;

    (void)cluster_dedup_look(of, &call, &answer);
}

/* r[verify cluster.dedup.ended] */
static void a_call_whose_end_is_known_is_forgotten_and_not_admitted_again(void **state)
{
    struct stage stage = open_stage(&small);
    struct cluster_dedup_call call;
    uint64_t asker;

    (void)state;
    for (uint64_t number = 1; number <= 4; number++)
        (void)end(&stage, admit_number(&stage, number), 0, 1, &asker);
    call = call_of(5);
    call.done_below = 4;
    (void)admit(&stage, &call);
    assert_int_equal(cluster_dedup_figures(stage.dedup, POOL, 0).calls, 2);
    for (uint64_t number = 1; number <= 3; number++)
        assert_int_equal(look_for(&stage, number), CLUSTER_VERDICT_ENDED);
    assert_int_equal(look_for(&stage, 4), CLUSTER_VERDICT_DONE);
    done_below(stage.dedup, 0, CLIENT, 2);
    assert_int_equal(look_for(&stage, 3), CLUSTER_VERDICT_ENDED);
    done_below(stage.dedup, 0, CLIENT, 5);
    assert_int_equal(look_for(&stage, 4), CLUSTER_VERDICT_ENDED);
    call = call_of(6);
    call.done_below = 7;
    assert_int_equal(look(&stage, &call), CLUSTER_VERDICT_ENDED);
    call.uid.origin++;
    assert_int_equal(look(&stage, &call), CLUSTER_VERDICT_ENDED);
    close_stage(&stage);
}

/* r[verify cluster.dedup.ended] */
static void a_running_call_that_its_origin_has_given_up_goes_at_its_end(void **state)
{
    struct stage stage = open_stage(&small);
    uint64_t number = admit_number(&stage, 10), asker = 0;

    (void)state;
    done_below(stage.dedup, 0, CLIENT, 11);
    assert_int_equal(look_for(&stage, 10), CLUSTER_VERDICT_ENDED);
    assert_int_equal(cluster_dedup_figures(stage.dedup, POOL, 0).running, 1);
    assert_true(end(&stage, number, 0, 1, &asker) != 0);
    assert_int_equal(asker, 1010);
    assert_int_equal(cluster_dedup_figures(stage.dedup, 0, 0).calls, 0);
    assert_int_equal(cluster_dedup_figures(stage.dedup, 0, 0).bytes, 0);
    assert_int_equal(look_for(&stage, 10), CLUSTER_VERDICT_ENDED);
    close_stage(&stage);
}

/* r[verify cluster.dedup.ended] */
static void an_origin_that_has_ended_leaves_nothing(void **state)
{
    struct stage stage = open_stage(&small);
    uint64_t running = admit_number(&stage, 10), asker = 0;

    (void)state;
    (void)end(&stage, admit_number(&stage, 11), 0, 1, &asker);
    (void)end(&stage, admit_number(&stage, UINT64_MAX), 0, 1, &asker);
    cluster_dedup_end_origin(stage.dedup, CLIENT);
    assert_int_equal(cluster_dedup_figures(stage.dedup, 0, 0).calls, 1);
    assert_int_equal(look_for(&stage, 11), CLUSTER_VERDICT_ENDED);
    assert_int_equal(look_for(&stage, 12), CLUSTER_VERDICT_ENDED);
    assert_int_equal(cluster_dedup_figures(stage.dedup, 0, 0).origins, 1);
    assert_true(end(&stage, running, 0, 1, &asker) != 0);
    assert_int_equal(cluster_dedup_figures(stage.dedup, 0, 0).calls, 0);
    assert_int_equal(cluster_dedup_figures(stage.dedup, 0, 0).origins, 0);
    cluster_dedup_end_origin(stage.dedup, CLIENT);
    close_stage(&stage);
}

/* r[verify cluster.dedup.lineage] */
static void in_another_lineage_a_call_runs_again_only_if_it_may(void **state)
{
    struct stage stage = open_stage(&small);
    struct cluster_dedup_call call = call_of(10);
    uint64_t asker;

    (void)state;
    (void)end(&stage, admit(&stage, &call), 0, 1, &asker);
    (void)admit_number(&stage, 11);
    assert_int_equal(cluster_dedup_begin(stage.dedup, POOL, 0, LINEAGE + 1, UINT64_MAX), 0);
    assert_int_equal(cluster_dedup_figures(stage.dedup, POOL, 0).calls, 0);
    assert_int_equal(look(&stage, &call), CLUSTER_VERDICT_NEW);
    call.maybe = true;
    assert_int_equal(look(&stage, &call), CLUSTER_VERDICT_MAYBE);
    call.lineage = LINEAGE;
    assert_int_equal(look(&stage, &call), CLUSTER_VERDICT_MAYBE);
    call.lineage = LINEAGE + 1;
    assert_int_equal(look(&stage, &call), CLUSTER_VERDICT_NEW);
    call.lineage = LINEAGE;
    call.repeat = true;
    assert_int_equal(look(&stage, &call), CLUSTER_VERDICT_NEW);
    close_stage(&stage);
}

/* r[verify cluster.dedup.lineage] */
static void in_one_lineage_what_the_state_has_stays(void **state)
{
    struct stage stage = open_stage(&small);
    uint64_t covered, running, asker;

    (void)state;
    covered = end(&stage, admit_number(&stage, 10), 0, 1, &asker);
    (void)end(&stage, admit_number(&stage, 11), 0, 1, &asker);
    running = admit_number(&stage, 12);
    done_below(stage.dedup, 0, CLIENT, 5);
    assert_int_equal(cluster_dedup_begin(stage.dedup, POOL, 0, LINEAGE, covered), 0);
    assert_int_equal(look_for(&stage, 10), CLUSTER_VERDICT_DONE);
    assert_int_equal(look_for(&stage, 11), CLUSTER_VERDICT_NEW);
    assert_int_equal(look_for(&stage, 12), CLUSTER_VERDICT_NEW);
    assert_int_equal(look_for(&stage, 4), CLUSTER_VERDICT_ENDED);
    (void)admit_number(&stage, 13);
    assert_int_equal(end(&stage, running, 0, 1, &asker), 0);
    assert_int_equal(cluster_dedup_figures(stage.dedup, POOL, 0).running, 1);
    close_stage(&stage);
}

/* r[verify cluster.dedup.bounds] */
static void a_full_history_refuses_and_forgets_nothing(void **state)
{
    struct stage stage = open_stage(&small);
    struct cluster_dedup_call call = call_of(100);
    uint64_t number, asker;

    (void)state;
    for (uint64_t i = 0; i < small.dedup_container; i++)
        (void)end(&stage, admit_number(&stage, 10 + i), 0, 1, &asker);
    assert_int_equal(cluster_dedup_admit(stage.dedup, &call, &number), RAPAHUB_EBUSY);
    for (uint64_t i = 0; i < small.dedup_container; i++)
        assert_int_equal(look_for(&stage, 10 + i), CLUSTER_VERDICT_DONE);
    done_below(stage.dedup, 0, CLIENT, 11);
    (void)admit(&stage, &call);
    assert_int_equal(cluster_dedup_begin(stage.dedup, POOL, 1, LINEAGE, 0), 0);
    assert_int_equal(cluster_dedup_begin(stage.dedup, POOL, 2, LINEAGE, 0), 0);
    assert_int_equal(cluster_dedup_begin(stage.dedup, POOL, 3, LINEAGE, 0), RAPAHUB_EFULL);
    for (call.container = 1; call.container < 3; call.container++)
        for (call.uid.number = 1; call.uid.number <= 12; call.uid.number++)
            assert_int_equal(cluster_dedup_admit(stage.dedup, &call, &number), 0);
    call.container = 2;
    assert_int_equal(cluster_dedup_figures(stage.dedup, 0, 0).calls, small.dedup);
    assert_int_equal(cluster_dedup_admit(stage.dedup, &call, &number), RAPAHUB_EBUSY);
    close_stage(&stage);
}

/* r[verify cluster.dedup.bounds] */
static void bytes_are_bounded_with_what_is_reserved(void **state)
{
    struct stage stage = open_stage(&small);
    struct cluster_dedup_call call = call_of(10);
    uint64_t number, refused, asker;

    (void)state;
    call.reserve = UINT64_MAX / 2;
    assert_int_equal(cluster_dedup_admit(stage.dedup, &call, &number), RAPAHUB_EBUSY);
    assert_int_equal(cluster_dedup_figures(stage.dedup, 0, 0).origins, 0);
    call.reserve = 7500;
    assert_int_equal(cluster_dedup_admit(stage.dedup, &call, &number), 0);
    call = call_of(11);
    call.reserve = 1000;
    assert_int_equal(cluster_dedup_admit(stage.dedup, &call, &refused), RAPAHUB_EBUSY);
    (void)end(&stage, number, 0, 40, &asker);
    (void)admit(&stage, &call);
    assert_true(cluster_dedup_figures(stage.dedup, POOL, 0).bytes <= small.dedup_container_bytes);
    close_stage(&stage);
}

/* r[verify cluster.dedup.bounds] r[verify cluster.dedup.once] */
static void an_answer_for_which_there_is_no_room_is_lost_but_the_call_is_known(void **state)
{
    struct stage stage = open_stage(&small);
    struct cluster_dedup_call call = call_of(10);
    uint64_t first, second, asker;

    (void)state;
    call.reserve = 0;
    first = admit(&stage, &call);
    call = call_of(11);
    call.reserve = 7500;
    second = admit(&stage, &call);
    assert_true(end(&stage, first, 0, CLUSTER_EFFECTS_BODY_MAX, &asker) != 0);
    assert_int_equal(look_for(&stage, 10), CLUSTER_VERDICT_LOST);
    assert_true(
        cluster_dedup_end(stage.dedup, second, &(struct cluster_dedup_answer){0}, 0, &asker) != 0);
    assert_int_equal(look_for(&stage, 11), CLUSTER_VERDICT_LOST);
    close_stage(&stage);
}

/* r[verify cluster.dedup.bounds] */
static void a_peer_has_a_quarter_of_a_history(void **state)
{
    struct stage stage = open_stage(&small);
    struct cluster_dedup_call own = call_of(100);
    uint64_t number, asker, first = 0;

    (void)state;
    for (uint64_t i = 0; i <= small.dedup_container / 4; i++) {
        struct cluster_dedup_call call = call_of(10 + i);

        call.uid.origin += i; /* under several names */
        call.peer = PEER;
        assert_int_equal(cluster_dedup_admit(stage.dedup, &call, &number),
                         i < small.dedup_container / 4 ? 0 : RAPAHUB_EBUSY);
        first = i == 0 ? number : first;
    }
    own.uid.origin += 50; /* this node's */
    (void)admit(&stage, &own);
    (void)end(&stage, first, 0, 1, &asker);
    cluster_dedup_end_origin(stage.dedup, CLIENT);
    for (int i = 0; i < 2; i++) {
        struct cluster_dedup_call call = call_of(200);

        call.uid.origin += 100 + (uint64_t)i;
        call.peer = PEER;
        call.reserve = i == 0 ? 5000 : 100;
        assert_int_equal(cluster_dedup_admit(stage.dedup, &call, &number),
                         i == 0 ? RAPAHUB_EBUSY : 0);
    }
    close_stage(&stage);
}

/* r[verify cluster.core.payload] */
static void answers_outside_are_dropped_once(void **state)
{
    struct stage stage = open_stage(&small);
    const struct cluster_payload_body body = {.number = 99, .size = 600};
    struct cluster_dedup_call call = call_of(10);
    struct cluster_dedup_answer answer = {.status = 0};
    uint64_t asker;

    (void)state;
    call.reserve = 1000;
    answer.payload = cluster_payload_keep(stage.payload, &body);
    (void)cluster_dedup_end(stage.dedup, admit(&stage, &call), &answer,
                            cluster_payload_weight(&body), &asker);
    cluster_payload_drop(stage.payload, answer.payload);
    cluster_effects_take(stage.queue, 0, &effects);
    assert_int_equal(effects.count, 0);
    cluster_dedup_forget(stage.dedup, POOL, 0);
    cluster_dedup_forget(stage.dedup, POOL, 0);
    cluster_effects_take(stage.queue, 0, &effects);
    assert_int_equal(effects.count, 1);
    assert_int_equal(effects.effects[0].payload, 99);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_is_sent_again_does_not_run_again),
        cmocka_unit_test(a_uid_is_of_one_call),
        cmocka_unit_test(a_call_whose_end_is_known_is_forgotten_and_not_admitted_again),
        cmocka_unit_test(a_running_call_that_its_origin_has_given_up_goes_at_its_end),
        cmocka_unit_test(an_origin_that_has_ended_leaves_nothing),
        cmocka_unit_test(in_another_lineage_a_call_runs_again_only_if_it_may),
        cmocka_unit_test(in_one_lineage_what_the_state_has_stays),
        cmocka_unit_test(a_full_history_refuses_and_forgets_nothing),
        cmocka_unit_test(bytes_are_bounded_with_what_is_reserved),
        cmocka_unit_test(an_answer_for_which_there_is_no_room_is_lost_but_the_call_is_known),
        cmocka_unit_test(a_peer_has_a_quarter_of_a_history),
        cmocka_unit_test(answers_outside_are_dropped_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
