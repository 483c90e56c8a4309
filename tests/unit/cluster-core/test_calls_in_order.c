/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with an order, through a whole core. */
#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/check.h"
#include "cluster/core/core.h"
#include "cluster/core/dispatch.h"
#include "tests/unit/cluster-core/pool_records.h"

#define POOL   UINT64_C(0x0000010000000000)
#define CLIENT (UINT64_C(1) << 63)
#define METHOD 7
#define SECOND UINT64_C(1000000000)
#define MS     UINT64_C(1000000)

static struct cluster_effects effects;
static struct pool_records records;
static const uint64_t methods[] = {METHOD};
static struct cluster_core *core;
static uint64_t now;

static const struct cluster_limits small = {.pools = 2,
                                            .entries = 1,
                                            .containers = 1,
                                            .calls = 16,
                                            .payloads = 100,
                                            .effects = 600,
                                            .parked = 16,
                                            .parked_container = 16,
                                            .parked_bytes = 10000,
                                            .parked_container_bytes = 10000,
                                            .dedup = 40,
                                            .dedup_container = 12,
                                            .dedup_bytes = 60000,
                                            .dedup_container_bytes = 20000,
                                            .retries = 8,
                                            .retry_bytes = 10000};

static void tell(struct cluster_event event)
{
    event.now_ns = now;
    assert_int_equal(cluster_core_step(core, &event, &effects), 0);
    assert_null(cluster_check_core(cluster_core_parts(core)));
}

enum change { BEGINS, SERVES, HELD, DOWN };

/* What operations do with a container, without them. */
static void change(enum change to, uint32_t life)
{
    struct cluster_dispatch *parts = (struct cluster_dispatch *)(uintptr_t)cluster_core_parts(core);
    struct cluster_event event = {.kind = CLUSTER_EVENT_TICK, .pool = POOL};
    uint64_t lineage = cluster_ids_lineage(1, 0);

    if (to == BEGINS) {
        assert_int_equal(cluster_local_containers_begin(parts->locals, POOL, 0,
                                                        cluster_ids_token(0, 1, life), lineage),
                         0);
        assert_int_equal(cluster_dispatch_hooks.begun(parts, POOL, 0, lineage, 0), 0);
    } else if (to == DOWN) {
        event.kind = CLUSTER_EVENT_CONTAINER;
        event.change = CLUSTER_CONTAINER_DOWN;
    } else {
        cluster_local_containers_move(parts->locals, POOL, 0,
                                      to == SERVES ? CLUSTER_LOCAL_SERVING : CLUSTER_LOCAL_HELD);
        if (to == SERVES)
            cluster_dispatch_hooks.serves(parts, POOL, 0);
    }
    tell(event);
}

static int open_core(void **state)
{
    const struct pool_records_pool kv = {
        .name = "kv", .containers = 1, .methods = methods, .methods_count = 1};

    (void)state;
    now = 0;
    assert_int_equal(cluster_core_create(&small, 1, 5, &core), 0);
    tell((struct cluster_event){.kind = CLUSTER_EVENT_POOL,
                                .pool = POOL,
                                .revision = 1,
                                .record = pool_records_of(&kv, &records)});
    change(BEGINS, 0);
    change(SERVES, 0);
    return 0;
}

static int close_core(void **state)
{
    (void)state;
    cluster_core_release(&core);
    return 0;
}

static void call_after(uint64_t number, uint64_t previous)
{
    const struct cluster_send_call asked = {.number = number,
                                            .pool = POOL,
                                            .uid = {CLIENT, number},
                                            .method = METHOD,
                                            .order = 1,
                                            .order_previous = previous,
                                            .deadline_ns = 10 * SECOND,
                                            .reserve = 100};

    tell((struct cluster_event){.kind = CLUSTER_EVENT_CALL, .call = &asked});
}

static void end_run(uint64_t id, int status)
{
    tell((struct cluster_event){.kind = CLUSTER_EVENT_RUN, .id = id, .status = status});
}

/* The step has started these runs, in this order, up to a 0; `ids` gets theirs. */
static void runs(const uint64_t numbers[4], uint64_t ids[4])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < effects.count; i++)
        if (effects.effects[i].kind == CLUSTER_EFFECT_RUN) {
            assert_true(count < 4);
            assert_int_equal(effects.effects[i].uid.number, numbers[count]);
            ids[count++] = effects.effects[i].id;
        }
    assert_true(count == 4 || numbers[count] == 0);
}

static int status_of(uint64_t number)
{
    for (uint32_t i = 0; i < effects.count; i++)
        if (effects.effects[i].kind == CLUSTER_EFFECT_ANSWER && effects.effects[i].number == number)
            return effects.effects[i].status;
    return 1; /* it has not ended */
}

/* r[verify cluster.order.admit] */
static void after_a_death_calls_are_admitted_as_they_were_submitted(void **state)
{
    uint64_t ids[4], first[4];

    (void)state;
    call_after(1, 0);
    runs((const uint64_t[]){1, 0, 0, 0}, first);
    call_after(2, 1);
    runs((const uint64_t[]){2, 0, 0, 0}, ids);
    call_after(3, 2);
    runs((const uint64_t[]){3, 0, 0, 0}, ids);
    end_run(first[0], 0); /* its row is free: the next call has a place before those of 2 and 3 */
    change(HELD, 0);
    call_after(4, 3);
    runs((const uint64_t[]){0, 0, 0, 0}, ids);
    change(DOWN, 0);
    change(BEGINS, 1);
    change(SERVES, 1);
    runs((const uint64_t[]){2, 3, 4, 0}, ids);
}

/* r[verify cluster.order.admit] */
static void a_call_waits_for_the_one_before_it_to_come(void **state)
{
    uint64_t ids[4];

    (void)state;
    call_after(5, 4);
    runs((const uint64_t[]){0, 0, 0, 0}, ids);
    now += 100 * MS;
    call_after(4, 0);
    runs((const uint64_t[]){4, 5, 0, 0}, ids);
    end_run(ids[0], 0);
    call_after(6, 4); /* it has ended here */
    runs((const uint64_t[]){6, 0, 0, 0}, ids);
}

/* r[verify cluster.order.admit] */
static void a_call_waits_only_a_while_for_one_that_does_not_come(void **state)
{
    uint64_t ids[4];

    (void)state;
    call_after(5, 4);
    now += CLUSTER_SEND_ORDERED_NS - 1;
    tell((struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    assert_int_equal(status_of(5), 1);
    now += 1;
    tell((struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    assert_int_equal(status_of(5), RAPAHUB_EBUSY);
    call_after(7, 0);
    runs((const uint64_t[]){7, 0, 0, 0}, ids);
}

/* r[verify cluster.order.admit] */
static void a_call_that_is_busy_holds_up_those_after_it(void **state)
{
    uint64_t all[12], ids[4];

    (void)state;
    for (uint64_t i = 0; i < 12; i++) {
        call_after(1 + i, 0);
        runs((const uint64_t[]){1 + i, 0, 0, 0}, ids);
        all[i] = ids[0];
    }
    call_after(13, 12);
    call_after(14, 13);
    runs((const uint64_t[]){0, 0, 0, 0}, ids);
    tell((struct cluster_event){.kind = CLUSTER_EVENT_CANCEL, .number = 13});
    assert_int_equal(status_of(13), RAPAHUB_ECANCELED);
    end_run(all[0], 0);
    for (int i = 1; i < 12; i++)
        end_run(all[i], RAPAHUB_EDIED);
    change(DOWN, 0);
    change(BEGINS, 1);
    change(SERVES, 1);
    for (uint32_t i = 0; i < 11; i++)
        assert_int_equal(effects.effects[i].uid.number, 2 + i);
    assert_int_equal(effects.effects[11].uid.number, 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(after_a_death_calls_are_admitted_as_they_were_submitted,
                                        open_core, close_core),
        cmocka_unit_test_setup_teardown(a_call_waits_for_the_one_before_it_to_come, open_core,
                                        close_core),
        cmocka_unit_test_setup_teardown(a_call_waits_only_a_while_for_one_that_does_not_come,
                                        open_core, close_core),
        cmocka_unit_test_setup_teardown(a_call_that_is_busy_holds_up_those_after_it, open_core,
                                        close_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
