/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that a copy covers, and those whose end waits for one. */
#include <string.h>

#include <rapahub/error.h>

#include "cluster/core/calls/admitted.h"
#include "cluster/core/calls/covered.h"
#include "cluster/core/calls/held_ends.h"
#include "cluster/wire/copy_calls.h"
#include "tests/support/testing.h"

#define POOL    UINT64_C(0x0000010000000000)
#define CLIENT  (UINT64_C(1) << 63)
#define LINEAGE UINT64_C(0x10000)
#define LARGE   600

static const struct cluster_limits limits = {.containers = 2,
                                             .calls = 20,
                                             .payloads = 100,
                                             .effects = 600,
                                             .dedup = 60,
                                             .dedup_container = 40,
                                             .dedup_bytes = 60000,
                                             .dedup_container_bytes = 40000};

static struct cluster_effects_queue *effects;
static struct cluster_payload *payload;
static struct cluster_dedup *dedup;

static int open_dedup(void **state)
{
    (void)state;
    assert_int_equal(cluster_effects_create(limits.effects, &effects), 0);
    assert_int_equal(cluster_payload_create(limits.payloads, effects, &payload), 0);
    assert_int_equal(cluster_dedup_create(&limits, 1, payload, &dedup), 0);
    assert_int_equal(cluster_dedup_begin(dedup, POOL, 0, LINEAGE, 0), 0);
    assert_int_equal(cluster_dedup_begin(dedup, POOL, 1, LINEAGE, 0), 0);
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

static struct cluster_dedup_call call_of(uint64_t number, uint64_t chain)
{
    return (struct cluster_dedup_call){.pool = POOL,
                                       .uid = {CLIENT, number},
                                       .method = 7,
                                       .digest = number,
                                       .peer = 5,
                                       .asker = 100 + number,
                                       .chain = chain};
}

static uint64_t admit(uint64_t number, uint64_t chain)
{
    const struct cluster_dedup_call call = call_of(number, chain);
    uint64_t admitted;

    assert_int_equal(cluster_dedup_admit(dedup, &call, &admitted), 0);
    return admitted;
}

/* Returns who is told at once. */
static uint64_t end(uint64_t admitted, const struct cluster_payload_body *body)
{
    const struct cluster_dedup_answer answer = {0, 3, cluster_payload_keep(payload, body)};
    uint64_t asker = 0;

    assert_true(answer.payload != 0);
    assert_true(cluster_dedup_end(dedup, admitted, &answer, cluster_payload_weight(body), &asker) !=
                0);
    cluster_payload_drop(payload, answer.payload);
    return asker;
}

static uint64_t end_small(uint64_t admitted)
{
    return end(admitted, &(struct cluster_payload_body){.bytes = {"small", 5}});
}

/* Returns who is told next; 0: nobody. */
static uint64_t take(void)
{
    struct cluster_dedup_answer answer = {.payload = 0};
    uint64_t asker;

    if (!cluster_held_ends_take(dedup, POOL, 0, &asker, &answer))
        return 0;
    assert_int_equal(answer.application, 3);
    cluster_payload_drop(payload, answer.payload);
    return asker;
}

/* r[verify cluster.copy.acked] */
static void an_end_is_given_out_when_a_copy_covers_it(void **state)
{
    uint64_t one, two;

    (void)state;
    assert_int_equal(end_small(admit(1, 0)), 101); /* nothing is held yet */
    cluster_held_ends_begin(dedup, POOL, 0);
    one = admit(2, 0);
    two = admit(3, 0);
    assert_int_equal(end_small(two), 0);
    assert_int_equal(end_small(one), 0);
    assert_int_equal(cluster_dedup_figures(dedup, POOL, 0).held, 2);
    assert_int_equal(take(), 0);
    cluster_held_ends_cover(dedup, POOL, 0, cluster_dedup_last_end(dedup) - 1);
    assert_int_equal(take(), 103);
    assert_int_equal(take(), 0);
    cluster_held_ends_cover(dedup, POOL, 0, cluster_dedup_last_end(dedup));
    assert_int_equal(take(), 102);
    assert_int_equal(cluster_dedup_figures(dedup, POOL, 0).held, 0);
}

/* r[verify cluster.copy.acked] */
static void a_call_that_is_sent_again_waits_for_the_copy_too(void **state)
{
    struct cluster_dedup_call again = call_of(1, 0);
    struct cluster_dedup_answer answer;

    (void)state;
    cluster_held_ends_begin(dedup, POOL, 0);
    assert_int_equal(end_small(admit(1, 0)), 0);
    again.asker = 500;
    assert_int_equal(cluster_dedup_look(dedup, &again, &answer), CLUSTER_VERDICT_RUNNING);
    cluster_held_ends_cover(dedup, POOL, 0, cluster_dedup_last_end(dedup));
    assert_int_equal(take(), 500);
    assert_int_equal(cluster_dedup_look(dedup, &again, &answer), CLUSTER_VERDICT_DONE);
    cluster_payload_drop(payload, answer.payload);
}

/* r[verify cluster.copy.acked] */
static void an_answer_for_which_there_is_no_room_is_given_out_once(void **state)
{
    const struct cluster_payload_body huge = {.number = 9, .size = 50000};
    struct cluster_dedup_call again = call_of(1, 0);
    struct cluster_dedup_answer answer;

    (void)state;
    cluster_held_ends_begin(dedup, POOL, 0);
    assert_int_equal(end(admit(1, 0), &huge), 0);
    cluster_held_ends_cover(dedup, POOL, 0, cluster_dedup_last_end(dedup));
    assert_int_equal(take(), 101);
    assert_int_equal(cluster_dedup_look(dedup, &again, &answer), CLUSTER_VERDICT_LOST);
}

/* r[verify cluster.copy.nested] */
static void an_end_in_a_chain_that_runs_there_is_given_out_at_once(void **state)
{
    const struct cluster_dedup_call outer_call = call_of(1, 0);
    uint64_t chain = cluster_dedup_chain(dedup, &outer_call), outer;

    (void)state;
    cluster_held_ends_begin(dedup, POOL, 0);
    outer = admit(1, 0);
    assert_true(cluster_held_ends_chain_runs(dedup, POOL, 0, chain));
    assert_false(cluster_held_ends_chain_runs(dedup, POOL, 1, chain));
    assert_false(cluster_held_ends_chain_runs(dedup, POOL, 0, 0));
    assert_int_equal(end_small(admit(2, chain)), 102);
    assert_int_equal(end_small(admit(3, chain + 1)), 0);
    assert_int_equal(end_small(outer), 0);
    assert_false(cluster_held_ends_chain_runs(dedup, POOL, 0, chain));
    assert_int_equal(cluster_dedup_figures(dedup, POOL, 0).held, 2);
}

/* r[verify cluster.copy.nested] */
static void such_a_call_that_is_sent_again_after_its_chain_waits(void **state)
{
    const struct cluster_dedup_call outer_call = call_of(1, 0);
    uint64_t chain = cluster_dedup_chain(dedup, &outer_call), outer;
    struct cluster_dedup_call again = call_of(2, chain);
    struct cluster_dedup_answer answer;

    (void)state;
    cluster_held_ends_begin(dedup, POOL, 0);
    outer = admit(1, 0);
    (void)end_small(admit(2, chain));
    (void)end_small(outer);
    assert_int_equal(cluster_dedup_look(dedup, &again, &answer), CLUSTER_VERDICT_RUNNING);
    cluster_held_ends_cover(dedup, POOL, 0, cluster_dedup_last_end(dedup));
    assert_int_equal(take(), 101);
    assert_int_equal(take(), 102);
}

/* r[verify cluster.copy.rollback] */
static void a_new_life_drops_ends_that_are_held(void **state)
{
    (void)state;
    cluster_held_ends_begin(dedup, POOL, 0);
    assert_int_equal(end_small(admit(1, 0)), 0);
    assert_int_equal(cluster_dedup_begin(dedup, POOL, 0, LINEAGE, 0), 0);
    cluster_held_ends_cover(dedup, POOL, 0, UINT64_MAX);
    assert_int_equal(take(), 0);
    assert_int_equal(cluster_dedup_figures(dedup, 0, 0).calls, 0);
}

/* ---- written, and read back ---- */

static void large_answer(void *user, uint64_t number, struct rapahub_bytes *out)
{
    static uint8_t bytes[LARGE];

    (*(int *)user)++;
    assert_int_equal(number, 44);
    *out = (struct rapahub_bytes){bytes, sizeof bytes};
}

static struct rapahub_bytes write_span(uint64_t after, uint64_t until, int outside)
{
    static uint8_t to[8000];
    const struct cluster_covered_span span = {POOL, 0, after, until};
    struct hub_writer writer, counter;
    int asked = 0;

    hub_writer_count(&counter);
    assert_int_equal(cluster_covered_write(dedup, &span, &counter, large_answer, &asked), 0);
    hub_writer_init(&writer, to, sizeof to);
    assert_int_equal(cluster_covered_write(dedup, &span, &writer, large_answer, &asked), 0);
    assert_int_equal(counter.size, writer.size);
    assert_int_equal(asked, 2 * outside);
    return (struct rapahub_bytes){to, writer.size};
}

static int read_back(uint32_t container, struct rapahub_bytes from, uint32_t numbers)
{
    static const uint64_t number = 55;
    const struct cluster_covered_read read = {POOL, container, from, &number, numbers};

    return cluster_covered_read(dedup, &read);
}

static enum cluster_dedup_verdict look(uint32_t container, uint64_t number,
                                       struct cluster_dedup_answer *answer)
{
    struct cluster_dedup_call call = call_of(number, 0);

    call.container = container;
    return cluster_dedup_look(dedup, &call, answer);
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

/* r[verify cluster.copy.calls] r[verify cluster.copy.rollback] */
static void calls_are_read_back_with_their_answers(void **state)
{
    const struct cluster_payload_body large = {.number = 44, .size = LARGE};
    struct cluster_dedup_answer answer;
    struct rapahub_bytes from;

    (void)state;
    done_below(dedup, 0, CLIENT, 1);
    (void)end_small(admit(2, 0));
    (void)end(admit(3, 0), &large);
    (void)admit(4, 0); /* it runs */
    done_below(dedup, 0, CLIENT, 2);
    from = write_span(0, cluster_dedup_last_end(dedup), 1);
    assert_int_equal(read_back(1, from, 1), 0);
    assert_int_equal(look(1, 1, &answer), CLUSTER_VERDICT_ENDED);
    assert_int_equal(look(1, 4, &answer), CLUSTER_VERDICT_NEW);
    assert_int_equal(look(1, 2, &answer), CLUSTER_VERDICT_DONE);
    assert_int_equal(answer.application, 3);
    assert_memory_equal(cluster_payload_body(payload, answer.payload).bytes.data, "small", 5);
    cluster_payload_drop(payload, answer.payload);
    assert_int_equal(look(1, 3, &answer), CLUSTER_VERDICT_DONE);
    assert_int_equal(cluster_payload_body(payload, answer.payload).number, 55);
    assert_int_equal(cluster_payload_body(payload, answer.payload).size, LARGE);
    cluster_payload_drop(payload, answer.payload);
}

/* r[verify cluster.copy.calls] */
static void changes_have_the_ends_after_those_of_the_copy_before(void **state)
{
    struct cluster_dedup_answer answer;
    uint64_t base;

    (void)state;
    (void)end_small(admit(1, 0));
    base = cluster_dedup_last_end(dedup);
    (void)end_small(admit(2, 0));
    (void)end_small(admit(3, 0));
    assert_int_equal(read_back(1, write_span(base, cluster_dedup_last_end(dedup) - 1, 0), 0), 0);
    assert_int_equal(look(1, 1, &answer), CLUSTER_VERDICT_NEW);
    assert_int_equal(look(1, 3, &answer), CLUSTER_VERDICT_NEW);
    assert_int_equal(look(1, 2, &answer), CLUSTER_VERDICT_DONE);
    cluster_payload_drop(payload, answer.payload);
}

/* r[verify cluster.copy.calls] */
static void calls_that_were_read_are_written_again(void **state)
{
    struct rapahub_bytes from;
    uint8_t first[200];

    (void)state;
    (void)end_small(admit(1, 0));
    from = write_span(0, cluster_dedup_last_end(dedup), 0);
    assert_true(from.size <= sizeof first);
    memcpy(first, from.data, from.size);
    assert_int_equal(cluster_dedup_begin(dedup, POOL, 0, LINEAGE, 0), 0);
    assert_int_equal(read_back(0, (struct rapahub_bytes){first, from.size}, 0), 0);
    assert_int_equal(read_back(0, (struct rapahub_bytes){first, from.size}, 0), 0); /* known */
    assert_int_equal(write_span(0, cluster_dedup_last_end(dedup), 0).size, from.size);
    assert_memory_equal(from.data, first, from.size);
    assert_int_equal(cluster_dedup_figures(dedup, POOL, 0).calls, 1);
}

static struct rapahub_bytes written(uint32_t origins, const struct cluster_copy_calls_call *calls,
                                    uint32_t count)
{
    static uint8_t to[8000];
    struct hub_writer writer;

    hub_writer_init(&writer, to, sizeof to);
    cluster_copy_calls_begin(&writer, origins);
    for (uint32_t i = 0; i < origins; i++)
        cluster_copy_calls_put_origin(&writer,
                                      &(struct cluster_copy_calls_origin){CLIENT + i, 5, 0});
    cluster_copy_calls_begin_calls(&writer, count);
    for (uint32_t i = 0; i < count; i++)
        cluster_copy_calls_put_call(&writer, &calls[i]);
    assert_int_equal(writer.failure, 0);
    return (struct rapahub_bytes){to, writer.size};
}

/* r[verify cluster.copy.calls] */
static void calls_that_nobody_can_have_written_are_refused(void **state)
{
    static const uint8_t large[LARGE];
    struct cluster_copy_calls_call calls[] = {{.origin = CLIENT, .number = 5},
                                              {.origin = CLIENT + 1, .number = 4}};

    (void)state;
    assert_int_equal(read_back(1, written(1, calls, 2), 0), RAPAHUB_EFORMAT);
    calls[1].origin = CLIENT;
    assert_int_equal(read_back(1, written(1, calls, 2), 0), RAPAHUB_EFORMAT);
    calls[1].number = 6;
    calls[1].answer = (struct rapahub_bytes){large, LARGE};
    assert_int_equal(read_back(1, written(1, calls, 2), 0), RAPAHUB_EFORMAT);
    assert_int_equal(read_back(1, (struct rapahub_bytes){"x", 1}, 0), RAPAHUB_EFORMAT);
    assert_int_equal(cluster_dedup_figures(dedup, 0, 0).calls, 0);
    assert_int_equal(read_back(1, written(1, calls, 2), 1), 0);
}

/* r[verify cluster.dedup.bounds] */
static void more_calls_than_there_may_be_are_refused(void **state)
{
    struct cluster_copy_calls_call calls[41];

    (void)state;
    for (uint32_t i = 0; i < 41; i++)
        calls[i] = (struct cluster_copy_calls_call){.origin = CLIENT, .number = 1 + i};
    assert_int_equal(read_back(1, written(1, calls, 41), 0), RAPAHUB_EFULL);
    assert_int_equal(cluster_dedup_figures(dedup, 0, 0).calls, 0);
    assert_int_equal(read_back(1, written(1, calls, 40), 0), 0);
    assert_int_equal(read_back(0, written(1, calls, 40), 0), RAPAHUB_EFULL);
    assert_int_equal(read_back(0, written(1, calls, 20), 0), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_dedup, close_dedup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_end_is_given_out_when_a_copy_covers_it),
        TEST(a_call_that_is_sent_again_waits_for_the_copy_too),
        TEST(an_answer_for_which_there_is_no_room_is_given_out_once),
        TEST(an_end_in_a_chain_that_runs_there_is_given_out_at_once),
        TEST(such_a_call_that_is_sent_again_after_its_chain_waits),
        TEST(a_new_life_drops_ends_that_are_held),
        TEST(calls_are_read_back_with_their_answers),
        TEST(changes_have_the_ends_after_those_of_the_copy_before),
        TEST(calls_that_were_read_are_written_again),
        TEST(calls_that_nobody_can_have_written_are_refused),
        TEST(more_calls_than_there_may_be_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
