/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cluster/core/base/effects.h"
#include "tests/support/testing.h"

#define MOST 600

static struct cluster_effects effects;

static void add(struct cluster_effects_queue *queue, uint64_t number)
{
    cluster_effects_add(queue,
                        &(struct cluster_effect){.kind = CLUSTER_EFFECT_RUN, .number = number});
}

/* r[verify cluster.core.room] */
static void effects_beyond_a_step_wait_for_the_next(void **state)
{
    struct cluster_effects_queue *queue;
    uint64_t next = 0;

    (void)state;
    assert_int_equal(cluster_effects_create(MOST, &queue), 0);
    for (uint64_t i = 0; i < MOST; i++)
        add(queue, i);
    assert_int_equal(cluster_effects_space(queue), 0);
    for (int steps = 0; next < MOST; steps++) {
        cluster_effects_take(queue, 77, &effects);
        assert_true(effects.count > 0 && effects.count <= CLUSTER_EFFECTS_MAX && steps < 3);
        for (uint32_t i = 0; i < effects.count; i++) {
            if (effects.effects[i].kind == CLUSTER_EFFECT_TIMER) {
                assert_int_equal(i, CLUSTER_EFFECTS_MAX - 1);
                assert_int_equal(effects.effects[i].at_ns, 77);
                assert_true(next < MOST);
            } else {
                assert_int_equal(effects.effects[i].number, next++);
            }
        }
    }
    cluster_effects_take(queue, 78, &effects);
    assert_int_equal(effects.count, 0);
    assert_int_equal(cluster_effects_space(queue), MOST);
    cluster_effects_release(&queue);
}

/* r[verify cluster.core.room] */
static void as_many_as_a_step_has_need_no_timer(void **state)
{
    struct cluster_effects_queue *queue;

    (void)state;
    assert_int_equal(cluster_effects_create(MOST, &queue), 0);
    for (uint64_t i = 0; i < CLUSTER_EFFECTS_MAX; i++)
        add(queue, i);
    cluster_effects_take(queue, 77, &effects);
    assert_int_equal(effects.count, CLUSTER_EFFECTS_MAX);
    assert_int_equal(effects.effects[CLUSTER_EFFECTS_MAX - 1].kind, CLUSTER_EFFECT_RUN);
    cluster_effects_release(&queue);
}

/* r[verify cluster.core.payload] */
static void a_body_is_a_copy_and_good_until_the_next_step(void **state)
{
    struct cluster_effects_queue *queue;
    uint8_t body[CLUSTER_EFFECTS_BODY_MAX];

    (void)state;
    assert_int_equal(cluster_effects_create(MOST, &queue), 0);
    for (int round = 0; round < 5; round++) {
        memset(body, round, sizeof body);
        cluster_effects_add(queue, &(struct cluster_effect){.kind = CLUSTER_EFFECT_ANSWER,
                                                            .body = {body, sizeof body}});
        memset(body, 0xff, sizeof body);
        cluster_effects_take(queue, 1, &effects);
        for (uint64_t i = 0; i < MOST - 1; i++)
            add(queue, i);
        assert_int_equal(cluster_effects_space(queue), 0);
        assert_int_equal(effects.count, 1);
        memset(body, round, sizeof body);
        assert_memory_equal(effects.effects[0].body.data, body, sizeof body);
        for (int i = 0; i < 3; i++)
            cluster_effects_take(queue, 1, &effects);
    }
    cluster_effects_release(&queue);
}

/* r[verify cluster.core.payload] */
static void a_text_has_a_place_beside_the_body(void **state)
{
    struct cluster_effects_queue *queue;
    char body[8] = "12345678", text[CLUSTER_EFFECTS_BODY_MAX - 8];

    (void)state;
    memset(text, 'a', sizeof text);
    assert_int_equal(cluster_effects_create(MOST, &queue), 0);
    cluster_effects_add(queue, &(struct cluster_effect){.kind = CLUSTER_EFFECT_ORDERED,
                                                        .body = {body, sizeof body},
                                                        .text = {text, sizeof text}});
    memset(body, 0, sizeof body);
    memset(text, 0, sizeof text);
    cluster_effects_take(queue, 1, &effects);
    assert_int_equal(effects.effects[0].body.size, sizeof body);
    assert_memory_equal(effects.effects[0].body.data, "12345678", sizeof body);
    assert_int_equal(effects.effects[0].text.size, sizeof text);
    for (size_t i = 0; i < sizeof text; i++)
        assert_int_equal(effects.effects[0].text.data[i], 'a');
    cluster_effects_release(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(effects_beyond_a_step_wait_for_the_next),
        cmocka_unit_test(as_many_as_a_step_has_need_no_timer),
        cmocka_unit_test(a_body_is_a_copy_and_good_until_the_next_step),
        cmocka_unit_test(a_text_has_a_place_beside_the_body),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
