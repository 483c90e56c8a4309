/* SPDX-License-Identifier: Apache-2.0 */
/* Origins that came with a copy, and of which nothing is heard any more. */
#include <rapahub/error.h>

#include "cluster/core/base/timers.h"
#include "cluster/core/calls/covered.h"
#include "cluster/core/calls/unheard.h"
#include "cluster/wire/copy_calls.h"
#include "tests/support/testing.h"

#define POOL    UINT64_C(0x0000010000000000)
#define CLIENT  (UINT64_C(1) << 63)
#define LINEAGE UINT64_C(0x10000)
#define BEGUN   UINT64_C(1000)

static const struct cluster_limits limits = {.containers = 2,
                                             .calls = 20,
                                             .payloads = 100,
                                             .effects = 600,
                                             .dedup = 60,
                                             .dedup_container = 40,
                                             .dedup_bytes = 60000,
                                             .dedup_container_bytes = 40000};

/* Two clients and an origin that is none, with a call each. */
static const uint64_t origins[] = {9, CLIENT | 1, CLIENT | 2};

static struct cluster_effects_queue *effects;
static struct cluster_payload *payload;
static struct cluster_dedup *dedup;

static void restore(uint32_t container, uint64_t now_ns)
{
    uint8_t bytes[1024];
    struct hub_writer writer;
    struct cluster_covered_read read = {.pool = POOL, .container = container};

    hub_writer_init(&writer, bytes, sizeof bytes);
    cluster_copy_calls_begin(&writer, 3);
    for (unsigned i = 0; i < 3; i++)
        cluster_copy_calls_put_origin(
            &writer, &(struct cluster_copy_calls_origin){.origin = origins[i], .peer = i});
    cluster_copy_calls_begin_calls(&writer, 3);
    for (unsigned i = 0; i < 3; i++)
        cluster_copy_calls_put_call(
            &writer, &(struct cluster_copy_calls_call){
                         .origin = origins[i], .number = 1, .method = 7, .answer = {"answer", 6}});
    assert_int_equal(writer.failure, 0);
    read.from = (struct rapahub_bytes){bytes, writer.size};
    assert_int_equal(cluster_dedup_begin(dedup, POOL, container, LINEAGE, 0), 0);
    assert_int_equal(cluster_covered_read(dedup, &read), 0);
    cluster_unheard_begin(dedup, POOL, container, now_ns);
}

static int open_dedup(void **state)
{
    (void)state;
    assert_int_equal(cluster_effects_create(limits.effects, &effects), 0);
    assert_int_equal(cluster_payload_create(limits.payloads, effects, &payload), 0);
    assert_int_equal(cluster_dedup_create(&limits, 1, payload, &dedup), 0);
    restore(0, BEGUN);
    return 0;
}

static int close_dedup(void **state)
{
    (void)state;
    assert_true(cluster_dedup_is_sound(dedup));
    cluster_dedup_release(&dedup);
    assert_int_equal(cluster_payload_count(payload), 0);
    cluster_payload_release(&payload);
    cluster_effects_release(&effects);
    return 0;
}

static uint32_t origins_of(uint32_t container)
{
    return cluster_dedup_figures(dedup, POOL, container).origins;
}

/* The call is sent again. */
static enum cluster_dedup_verdict look(uint64_t origin)
{
    const struct cluster_dedup_call call = {
        .pool = POOL, .uid = {origin, 1}, .method = 7, .asker = 5};
    struct cluster_dedup_answer answer = {.payload = 0};
    enum cluster_dedup_verdict verdict = cluster_dedup_look(dedup, &call, &answer);

    if (answer.payload != 0)
        cluster_payload_drop(payload, answer.payload);
    return verdict;
}

/* r[verify cluster.dedup.unheard] */
static void a_client_is_forgotten_before_other_origins(void **state)
{
    (void)state;
    assert_true(cluster_unheard_next(dedup) == BEGUN + CLUSTER_UNHEARD_CLIENT_NS);
    cluster_unheard_tick(dedup, BEGUN + CLUSTER_UNHEARD_CLIENT_NS - 1);
    assert_int_equal(origins_of(0), 3);
    cluster_unheard_tick(dedup, BEGUN + CLUSTER_UNHEARD_CLIENT_NS);
    assert_int_equal(origins_of(0), 1);
    assert_int_equal(look(CLIENT | 1), CLUSTER_VERDICT_NEW);
    assert_true(cluster_unheard_next(dedup) == BEGUN + CLUSTER_UNHEARD_OTHER_NS);
    cluster_unheard_tick(dedup, BEGUN + CLUSTER_UNHEARD_OTHER_NS);
    assert_int_equal(origins_of(0), 0);
    assert_true(cluster_unheard_next(dedup) == CLUSTER_TIMERS_NEVER);
}

/* r[verify cluster.dedup.unheard] */
static void an_origin_that_was_heard_of_stays(void **state)
{
    (void)state;
    assert_int_equal(look(CLIENT | 2), CLUSTER_VERDICT_DONE);
    assert_int_equal(look(9), CLUSTER_VERDICT_DONE);
    cluster_unheard_tick(dedup, BEGUN + CLUSTER_UNHEARD_OTHER_NS);
    assert_int_equal(origins_of(0), 2);
    assert_int_equal(look(CLIENT | 2), CLUSTER_VERDICT_DONE);
    assert_true(cluster_unheard_next(dedup) == CLUSTER_TIMERS_NEVER);
}

static void each_container_has_its_own_time(void **state)
{
    (void)state;
    restore(1, BEGUN + 500);
    cluster_unheard_tick(dedup, BEGUN + CLUSTER_UNHEARD_CLIENT_NS);
    assert_int_equal(origins_of(0), 1);
    assert_int_equal(origins_of(1), 3);
    assert_true(cluster_unheard_next(dedup) == BEGUN + 500 + CLUSTER_UNHEARD_CLIENT_NS);
    cluster_unheard_tick(dedup, BEGUN + 500 + CLUSTER_UNHEARD_CLIENT_NS);
    assert_int_equal(origins_of(1), 1);
}

/* A container that began anew counts from there. */
static void a_later_life_begins_the_time_anew(void **state)
{
    (void)state;
    restore(0, BEGUN + CLUSTER_UNHEARD_CLIENT_NS - 1);
    cluster_unheard_tick(dedup, BEGUN + CLUSTER_UNHEARD_CLIENT_NS);
    assert_int_equal(origins_of(0), 3);
    cluster_unheard_tick(dedup, BEGUN + 2 * CLUSTER_UNHEARD_CLIENT_NS);
    assert_int_equal(origins_of(0), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_dedup, close_dedup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_client_is_forgotten_before_other_origins),
        TEST(an_origin_that_was_heard_of_stays),
        TEST(each_container_has_its_own_time),
        TEST(a_later_life_begins_the_time_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
