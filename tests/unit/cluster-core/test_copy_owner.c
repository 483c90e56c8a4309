/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/core/base/timers.h"
#include "cluster/core/copies/copy_owner.h"
#include "tests/support/testing.h"

#define POOL   UINT64_C(0x0000010000000000)
#define MS     UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static struct cluster_effects_queue *queue;
static struct cluster_pending *pending;
static struct cluster_copy_owner *owner;
static uint64_t now, last, covers;
static uint32_t calls_run;
static bool held;

static uint32_t running(void *user, uint64_t pool, uint32_t container)
{
    assert_ptr_equal(user, &now);
    assert_true(pool == POOL && container == 3);
    return calls_run;
}

static void hold(void *user, uint64_t pool, uint32_t container)
{
    (void)user;
    assert_true(pool == POOL && container == 3 && !held);
    held = true;
}

static void release(void *user, uint64_t pool, uint32_t container)
{
    (void)user;
    (void)pool;
    (void)container;
    assert_true(held);
    held = false;
}

static uint64_t last_end(void *user)
{
    (void)user;
    return last;
}

static void covered(void *user, uint64_t pool, uint32_t container, uint64_t end)
{
    (void)user;
    assert_true(pool == POOL && container == 3);
    covers = end;
}

static const struct cluster_copy_owner_hooks hooks = {running, hold, release, last_end, covered};

static int open_owner(void **state)
{
    struct cluster_copy_owner_parts parts = {.hooks = &hooks, .user = &now};

    (void)state;
    now = 100 * SECOND;
    last = covers = calls_run = 0;
    held = false;
    assert_int_equal(cluster_effects_create(CLUSTER_EFFECTS_MAX + 1, &queue), 0);
    assert_int_equal(cluster_pending_create(1, &pending), 0);
    parts.effects = queue;
    parts.pending = pending;
    assert_int_equal(cluster_copy_owner_create(1, 1, &parts, &owner), 0);
    return 0;
}

static int close_owner(void **state)
{
    (void)state;
    cluster_copy_owner_release(&owner);
    cluster_pending_release(&pending);
    cluster_effects_release(&queue);
    return 0;
}

static void begin(uint64_t token, bool acked)
{
    const struct cluster_copy_owner_life life = {POOL, token, 3, acked};

    assert_int_equal(cluster_copy_owner_begin(owner, &life, now), 0);
}

/* A call ends. */
static void use(void)
{
    last++;
    cluster_copy_owner_used(owner, POOL, 3, now);
    cluster_copy_owner_tick(owner, now);
}

/* Time passes; returns the id of the copy that is asked for then, with this number; 0: none. */
static uint64_t asked(uint64_t ns, uint64_t number, uint8_t how)
{
    struct cluster_effects out;

    now += ns;
    cluster_copy_owner_tick(owner, now);
    cluster_effects_take(queue, now, &out);
    if (out.count == 0)
        return 0;
    assert_int_equal(out.count, 1);
    assert_int_equal(out.effects[0].kind, CLUSTER_EFFECT_COPY);
    assert_int_equal(out.effects[0].number, number);
    assert_int_equal(out.effects[0].how, how);
    assert_int_equal(out.effects[0].at_ns, now + CLUSTER_COPY_SAVE_NS);
    return out.effects[0].id;
}

static void copied(uint64_t id, int status, uint64_t state_size, uint64_t changes_size)
{
    const struct cluster_copy_owner_copied told = {id, status, false, state_size, changes_size};

    assert_true(cluster_copy_owner_copied(owner, &told, now));
}

static struct cluster_copy_owner_figures figures(void)
{
    struct cluster_copy_owner_figures out;

    assert_true(cluster_copy_owner_figures(owner, POOL, 3, &out));
    return out;
}

/* r[verify cluster.copy.checkpoint] */
static void a_copy_is_taken_each_interval_in_which_calls_ended(void **state)
{
    uint64_t id;

    (void)state;
    begin(9, false);
    assert_true(asked(20 * SECOND, 0, 0) == 0); /* none has ended */
    use();
    id = asked(0, 1, CLUSTER_COPY_WHOLE);
    assert_true(id != 0);
    assert_true(held);
    assert_true(cluster_copy_owner_saved(owner, id));
    assert_false(held);
    use(); /* while it is under way */
    copied(id, 0, 1000, 0);
    assert_int_equal(covers, 1);
    assert_true(asked(CLUSTER_COPY_INTERVAL_NS - 1, 0, 0) == 0);
    assert_true(asked(1, 2, CLUSTER_COPY_CHANGES) != 0);
    assert_false(held);
}

/* r[verify cluster.copy.failure] */
static void a_module_that_saves_whole_states_only_is_asked_for_them(void **state)
{
    struct cluster_copy_owner_copied told = {.whole = true, .state_size = 1000};

    (void)state;
    begin(9, false);
    use();
    now += 20 * SECOND;
    told.id = asked(0, 1, CLUSTER_COPY_WHOLE);
    use();
    assert_true(cluster_copy_owner_copied(owner, &told, now));
    assert_false(held);
    assert_true(asked(CLUSTER_COPY_INTERVAL_NS, 2, CLUSTER_COPY_WHOLE) != 0);
}

/* r[verify cluster.copy.checkpoint] */
static void a_node_that_ends_makes_its_last_copies_at_once(void **state)
{
    uint64_t id;

    (void)state;
    begin(9, false);
    assert_int_equal(cluster_copy_owner_due(owner), 0);
    use();
    assert_int_equal(cluster_copy_owner_due(owner), 1);
    assert_true(asked(1, 0, 0) == 0);
    cluster_copy_owner_stop(owner, now);
    id = asked(0, 1, CLUSTER_COPY_WHOLE);
    assert_true(id != 0);
    copied(id, 0, 1000, 0);
    assert_int_equal(cluster_copy_owner_due(owner), 0);
    use();
    id = asked(0, 2, CLUSTER_COPY_CHANGES);
    assert_true(id != 0);
    copied(id, RAPAHUB_EIO, 0, 0);
    assert_int_equal(cluster_copy_owner_due(owner), 0); /* it has failed */
}

/* Though no call has ended, and also while another copy is under way. r[verify cluster.hold.join]
 */
static void a_node_that_joins_gets_a_whole_state_at_once(void **state)
{
    uint64_t id;

    (void)state;
    cluster_copy_owner_want_whole(owner, POOL, 3, now); /* it has no life */
    begin(9, false);
    cluster_copy_owner_want_whole(owner, POOL, 3, now);
    id = asked(0, 1, CLUSTER_COPY_WHOLE);
    assert_true(id != 0);
    copied(id, 0, 1000, 0);
    use();
    id = asked(20 * SECOND, 2, CLUSTER_COPY_CHANGES);
    assert_true(id != 0);
    cluster_copy_owner_want_whole(owner, POOL, 3, now);
    copied(id, 0, 1000, 10);
    id = asked(0, 3, CLUSTER_COPY_WHOLE);
    assert_true(id != 0);
    copied(id, 0, 1000, 0);
    assert_true(asked(20 * SECOND, 0, 0) == 0);
}

/* r[verify cluster.copy.acked] */
static void answers_that_wait_begin_a_copy_when_no_call_runs(void **state)
{
    struct cluster_copy_owner_span span;
    uint64_t id;

    (void)state;
    begin(9, true);
    calls_run = 2;
    use();
    assert_true(held);
    assert_true(asked(MS, 0, 0) == 0);
    calls_run = 0;
    use();
    id = asked(0, 1, CLUSTER_COPY_WHOLE);
    assert_true(id != 0 && held);
    assert_true(cluster_copy_owner_span(owner, id, &span));
    assert_int_equal(span.until, 2);
    assert_true(cluster_copy_owner_saved(owner, id));
    assert_false(held);
    assert_false(cluster_copy_owner_saved(owner, id));
    use(); /* it is not in this copy */
    assert_true(asked(MS, 0, 0) == 0);
    copied(id, 0, 1000, 0);
    assert_int_equal(covers, 2);
    id = asked(0, 2, CLUSTER_COPY_CHANGES);
    assert_true(cluster_copy_owner_span(owner, id, &span));
    assert_int_equal(span.after, 2);
    assert_int_equal(span.until, 3);
    copied(id, 0, 1000, 10); /* without SAVED before */
    assert_false(held);
    assert_int_equal(covers, 3);
    assert_int_equal(figures().durable_seq, 2);
    assert_int_equal(figures().changes_size, 10);
    assert_int_equal(cluster_copy_owner_next(owner), CLUSTER_TIMERS_NEVER);
}

/* r[verify cluster.copy.acked] */
static void calls_that_do_not_end_in_time_put_a_copy_off(void **state)
{
    (void)state;
    begin(9, true);
    calls_run = 1;
    use();
    assert_true(asked(CLUSTER_COPY_DRAIN_NS - 1, 0, 0) == 0 && held);
    assert_true(asked(1, 0, 0) == 0);
    assert_false(held);
    assert_int_equal(figures().late, 1);
    assert_true(asked(CLUSTER_COPY_FIRST_NS - 1, 0, 0) == 0);
    assert_false(held);
    assert_true(asked(1, 0, 0) == 0 && held);
    assert_true(asked(CLUSTER_COPY_DRAIN_NS, 0, 0) == 0 && !held);
    calls_run = 0;
    use(); /* none runs any more: it waits no longer */
    assert_true(asked(0, 1, CLUSTER_COPY_WHOLE) != 0);
}

/* r[verify cluster.copy.failure] */
static void after_a_failure_the_next_copy_is_whole_and_later(void **state)
{
    uint64_t id, delay = CLUSTER_COPY_FIRST_NS;

    (void)state;
    begin(9, true);
    use();
    copied(asked(0, 1, CLUSTER_COPY_WHOLE), 0, 1000, 0);
    use();
    id = asked(0, 2, CLUSTER_COPY_CHANGES);
    for (uint32_t i = 1; i < 10; i++) {
        struct cluster_copy_owner_span span;

        copied(id, RAPAHUB_EIO, 0, 0);
        assert_false(held);
        assert_int_equal(covers, 1);
        assert_int_equal(figures().failures, i);
        assert_true(asked(delay - 1, 0, 0) == 0);
        id = asked(1, 2 + i, CLUSTER_COPY_WHOLE);
        assert_true(cluster_copy_owner_span(owner, id, &span));
        assert_int_equal(span.after, 0);
        delay = 2 * delay < CLUSTER_COPY_MOST_NS ? 2 * delay : CLUSTER_COPY_MOST_NS;
    }
    copied(id, 0, 1000, 0);
    assert_int_equal(figures().failures, 0);
    assert_int_equal(covers, 2);
}

/* r[verify cluster.copy.failure] */
static void changes_that_outweigh_the_state_lead_to_a_whole_copy(void **state)
{
    (void)state;
    begin(9, true);
    use();
    copied(asked(0, 1, CLUSTER_COPY_WHOLE), 0, 1000, 0);
    use();
    copied(asked(0, 2, CLUSTER_COPY_CHANGES), 0, 1000, 1000);
    use();
    copied(asked(0, 3, CLUSTER_COPY_CHANGES), 0, 1000, 1001);
    use();
    assert_true(asked(0, 4, CLUSTER_COPY_WHOLE) != 0);
}

/* r[verify cluster.copy.life] */
static void a_copy_of_an_earlier_life_covers_nothing(void **state)
{
    struct cluster_copy_owner_span span;
    uint64_t id;

    (void)state;
    begin(9, true);
    use();
    id = asked(0, 1, CLUSTER_COPY_WHOLE);
    cluster_copy_owner_down(owner, POOL, 3);
    held = false; /* by who tells that it is down */
    assert_false(cluster_copy_owner_span(owner, id, &span));
    assert_false(cluster_copy_owner_saved(owner, id));
    begin(10, true);
    use();
    assert_true(asked(SECOND, 0, 0) == 0); /* the one before has not ended */
    copied(id, 0, 1000, 0);
    assert_int_equal(covers, 0);
    id = asked(0, 1, CLUSTER_COPY_WHOLE);
    assert_true(id != 0);
    assert_int_equal(figures().token, 10);
    cluster_copy_owner_remove(owner, POOL, 3);
    held = false;
    copied(id, 0, 1000, 0);
    assert_int_equal(covers, 0);
    assert_false(
        cluster_copy_owner_copied(owner, &(struct cluster_copy_owner_copied){.id = id}, now));
}

static void a_copy_waits_for_a_place_to_ask(void **state)
{
    const struct cluster_pending_question other = {CLUSTER_EFFECT_RUN, 1};
    uint64_t asks = cluster_pending_add(pending, &other), subject;

    (void)state;
    begin(9, false);
    use();
    assert_true(asked(CLUSTER_COPY_INTERVAL_NS, 0, 0) == 0);
    assert_true(cluster_pending_end(pending, asks, CLUSTER_EFFECT_RUN, &subject));
    assert_true(asked(CLUSTER_COPY_DRAIN_NS, 1, CLUSTER_COPY_WHOLE) != 0);
}

static void more_containers_than_there_may_be_are_refused(void **state)
{
    const struct cluster_copy_owner_life other = {POOL, 9, 4, true};

    (void)state;
    begin(9, true);
    assert_int_equal(cluster_copy_owner_begin(owner, &other, now), RAPAHUB_EFULL);
    cluster_copy_owner_used(owner, POOL, 4, now);
    cluster_copy_owner_down(owner, POOL, 4);
    cluster_copy_owner_remove(owner, POOL, 4);
    cluster_copy_owner_remove(owner, POOL, 3);
    assert_int_equal(cluster_copy_owner_begin(owner, &other, now), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_owner, close_owner)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_copy_is_taken_each_interval_in_which_calls_ended),
        TEST(a_module_that_saves_whole_states_only_is_asked_for_them),
        TEST(a_node_that_ends_makes_its_last_copies_at_once),
        TEST(a_node_that_joins_gets_a_whole_state_at_once),
        TEST(answers_that_wait_begin_a_copy_when_no_call_runs),
        TEST(calls_that_do_not_end_in_time_put_a_copy_off),
        TEST(after_a_failure_the_next_copy_is_whole_and_later),
        TEST(changes_that_outweigh_the_state_lead_to_a_whole_copy),
        TEST(a_copy_of_an_earlier_life_covers_nothing),
        TEST(a_copy_waits_for_a_place_to_ask),
        TEST(more_containers_than_there_may_be_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
