/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cluster/core/base/payload.h"
#include "tests/support/testing.h"

#define MOST 4

static struct cluster_effects effects;
static uint8_t bytes[CLUSTER_EFFECTS_BODY_MAX];

struct stage {
    struct cluster_effects_queue *queue;
    struct cluster_payload *payload;
};

static struct stage open_stage(void)
{
    struct stage stage;

    assert_int_equal(cluster_effects_create(2 * CLUSTER_EFFECTS_MAX, &stage.queue), 0);
    assert_int_equal(cluster_payload_create(MOST, stage.queue, &stage.payload), 0);
    return stage;
}

static void close_stage(struct stage *stage)
{
    cluster_payload_release(&stage->payload);
    cluster_effects_release(&stage->queue);
}

static uint32_t keep(struct stage *stage, size_t size, uint64_t number)
{
    return cluster_payload_keep(
        stage->payload, &(struct cluster_payload_body){.bytes = {bytes, number != 0 ? 0 : size},
                                                       .number = number,
                                                       .size = size});
}

/* r[verify cluster.core.payload] */
static void small_bodies_are_copied(void **state)
{
    const size_t sizes[] = {0, 1, 64, 65, CLUSTER_EFFECTS_BODY_MAX};
    struct stage stage = open_stage();
    uint32_t places[5];

    (void)state;
    for (int i = 0; i < 5; i++) {
        memset(bytes, i + 1, sizeof bytes);
        places[i] = keep(&stage, sizes[i], 0);
        assert_true(places[i] != 0);
    }
    for (int i = 0; i < 5; i++) {
        struct cluster_payload_body body = cluster_payload_body(stage.payload, places[i]);

        memset(bytes, i + 1, sizeof bytes);
        assert_int_equal(body.bytes.size, sizes[i]);
        assert_int_equal(body.size, sizes[i]);
        assert_int_equal(body.number, 0);
        assert_memory_equal(body.bytes.data, bytes, sizes[i]);
        assert_true(cluster_payload_weight(&body) >= sizes[i]);
        cluster_payload_drop(stage.payload, places[i]);
    }
    assert_int_equal(cluster_payload_count(stage.payload), 0);
    cluster_effects_take(stage.queue, 0, &effects);
    assert_int_equal(effects.count, 0);
    close_stage(&stage);
}

/* r[verify cluster.core.payload] */
static void a_body_outside_is_dropped_with_its_last_user(void **state)
{
    struct stage stage = open_stage();
    uint32_t place = keep(&stage, 1000000, 42);
    struct cluster_payload_body body = cluster_payload_body(stage.payload, place);

    (void)state;
    assert_int_equal(body.number, 42);
    assert_int_equal(body.size, 1000000);
    assert_int_equal(body.bytes.size, 0);
    assert_true(cluster_payload_weight(&body) > 1000000);
    cluster_payload_retain(stage.payload, place);
    cluster_payload_drop(stage.payload, place);
    cluster_effects_take(stage.queue, 0, &effects);
    assert_int_equal(effects.count, 0);
    cluster_payload_drop(stage.payload, place);
    cluster_effects_take(stage.queue, 0, &effects);
    assert_int_equal(effects.count, 1);
    assert_int_equal(effects.effects[0].kind, CLUSTER_EFFECT_DROP);
    assert_int_equal(effects.effects[0].payload, 42);
    close_stage(&stage);
}

/* r[verify cluster.core.payload] */
static void drops_for_which_there_is_no_space_are_said_later(void **state)
{
    const uint32_t space = CLUSTER_EFFECTS_MAX + 1;
    struct stage stage = open_stage();
    uint64_t said = 0;

    (void)state;
    while (cluster_effects_space(stage.queue) > space)
        cluster_effects_add(stage.queue, &(struct cluster_effect){.kind = CLUSTER_EFFECT_RUN});
    for (uint64_t round = 0; round < 3; round++)
        for (uint64_t i = 0; i < MOST; i++) {
            uint32_t place = keep(&stage, 1000, 1 + round * MOST + i);

            if (place != 0)
                cluster_payload_drop(stage.payload, place);
        }
    assert_int_equal(cluster_effects_space(stage.queue), CLUSTER_EFFECTS_MAX);
    assert_int_equal(cluster_payload_count(stage.payload), MOST);
    assert_int_equal(keep(&stage, 1000, 99), 0);
    for (int step = 0; step < 5; step++) {
        cluster_payload_say_dropped(stage.payload);
        cluster_effects_take(stage.queue, 0, &effects);
        for (uint32_t i = 0; i < effects.count; i++)
            if (effects.effects[i].kind == CLUSTER_EFFECT_DROP)
                assert_int_equal(effects.effects[i].payload, ++said);
    }
    assert_int_equal(said, MOST + 1);
    assert_int_equal(cluster_payload_count(stage.payload), 0);
    close_stage(&stage);
}

/* r[verify cluster.core.payload] */
static void a_store_that_is_full_refuses(void **state)
{
    struct stage stage = open_stage();

    (void)state;
    for (int i = 0; i < MOST; i++) {
        assert_true(keep(&stage, 8, 0) != 0);
        assert_true(keep(&stage, 80, 0) != 0);
    }
    assert_int_equal(keep(&stage, 8, 0), 0);
    assert_int_equal(keep(&stage, 80, 0), 0);
    assert_int_equal(keep(&stage, 8, 9), 0);
    assert_int_equal(cluster_payload_count(stage.payload), 2 * MOST);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_bodies_are_copied),
        cmocka_unit_test(a_body_outside_is_dropped_with_its_last_user),
        cmocka_unit_test(drops_for_which_there_is_no_space_are_said_later),
        cmocka_unit_test(a_store_that_is_full_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
