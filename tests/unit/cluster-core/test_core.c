/* SPDX-License-Identifier: Apache-2.0 */
#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/check.h"
#include "cluster/core/core.h"
#include "cluster/core/dispatch.h"
#include "tests/unit/cluster-core/pool_records.h"

#define POOL       UINT64_C(0x0000010000000000)
#define CLIENT     (UINT64_C(1) << 63)
#define CONTAINERS 3
#define ONCE       7
#define REPEATS    80
#define SECOND     UINT64_C(1000000000)

static struct cluster_effects effects;
static struct pool_records records;
static const uint64_t methods[] = {ONCE, REPEATS};

static const struct cluster_limits small = {.pools = 2,
                                            .entries = CONTAINERS,
                                            .containers = CONTAINERS,
                                            .calls = 8,
                                            .payloads = 100,
                                            .effects = 600,
                                            .parked = 8,
                                            .parked_container = 4,
                                            .parked_bytes = 10000,
                                            .parked_container_bytes = 4000,
                                            .dedup = 40,
                                            .dedup_container = 20,
                                            .dedup_bytes = 60000,
                                            .dedup_container_bytes = 20000,
                                            .retries = 8,
                                            .retry_bytes = 10000};

static int tell(struct cluster_core *core, struct cluster_event event)
{
    int status = cluster_core_step(core, &event, &effects);

    assert_null(cluster_check_core(cluster_core_parts(core)));
    return status;
}

static struct cluster_core *open_core_of(uint8_t durability)
{
    const struct cluster_pool_method said = {.id = REPEATS, .repeat = true};
    const struct pool_records_pool kv = {.name = "kv",
                                         .containers = CONTAINERS,
                                         .methods = methods,
                                         .methods_count = 2,
                                         .said = &said,
                                         .said_count = 1,
                                         .durability = durability};
    struct cluster_core *core;

    assert_int_equal(cluster_core_create(&small, 1, 5, &core), 0);
    assert_int_equal(tell(core, (struct cluster_event){.kind = CLUSTER_EVENT_POOL,
                                                       .pool = POOL,
                                                       .revision = 1,
                                                       .record = pool_records_of(&kv, &records)}),
                     0);
    return core;
}

static struct cluster_core *open_core(void)
{
    return open_core_of(CLUSTER_DURABILITY_NONE);
}

enum change { BEGINS, SERVES, DOWN };

static uint64_t epoch = 1; /* of what begins */

/* What operations do with a container, without them. */
static void change(struct cluster_core *core, uint32_t container, enum change to, uint32_t life)
{
    struct cluster_dispatch *parts = (struct cluster_dispatch *)(uintptr_t)cluster_core_parts(core);
    uint64_t lineage = cluster_ids_lineage(1, life);
    struct cluster_event event = {.kind = CLUSTER_EVENT_TICK, .pool = POOL, .container = container};

    if (to == BEGINS) {
        assert_int_equal(cluster_local_containers_begin(parts->locals, POOL, container,
                                                        cluster_ids_token(0, epoch, life), lineage),
                         0);
        assert_int_equal(cluster_dispatch_hooks.begun(parts, POOL, container, lineage, 0), 0);
    } else if (to == SERVES) {
        cluster_local_containers_move(parts->locals, POOL, container, CLUSTER_LOCAL_SERVING);
        cluster_dispatch_hooks.serves(parts, POOL, container);
    } else {
        event.kind = CLUSTER_EVENT_CONTAINER;
        event.change = CLUSTER_CONTAINER_DOWN;
    }
    assert_int_equal(tell(core, event), 0);
}

static void serve(struct cluster_core *core, uint32_t container, uint32_t life)
{
    change(core, container, BEGINS, life);
    change(core, container, SERVES, life);
}

static int call(struct cluster_core *core, uint64_t number, uint8_t mode, uint64_t method)
{
    const struct cluster_send_call asked = {.number = number,
                                            .pool = POOL,
                                            .query = {.mode = mode},
                                            .uid = {CLIENT, number},
                                            .method = method,
                                            .deadline_ns = SECOND,
                                            .reserve = 100,
                                            .body = {.bytes = {"hello", 5}}};

    return tell(core, (struct cluster_event){.kind = CLUSTER_EVENT_CALL, .call = &asked});
}

/* Returns the effect of this kind, which is there as often as `times` says. */
static const struct cluster_effect *effect_of(uint8_t kind, unsigned times)
{
    const struct cluster_effect *found = NULL;

    for (uint32_t i = 0; i < effects.count; i++)
        if (effects.effects[i].kind == kind) {
            assert_true(times-- > 0);
            found = &effects.effects[i];
        }
    assert_int_equal(times, 0);
    return found;
}

static void end_run(struct cluster_core *core, uint64_t id, int status, const char *answer)
{
    assert_int_equal(
        tell(core, (struct cluster_event){.kind = CLUSTER_EVENT_RUN,
                                          .id = id,
                                          .status = status,
                                          .body = {.bytes = {answer, strlen(answer)}}}),
        0);
}

static void answered(uint64_t number, int status, const char *answer)
{
    const struct cluster_effect *effect = effect_of(CLUSTER_EFFECT_ANSWER, 1);

    assert_int_equal(effect->number, number);
    assert_int_equal(effect->status, status);
    assert_int_equal(effect->body.size, strlen(answer));
    assert_memory_equal(effect->body.data, answer, strlen(answer));
}

/* r[verify cluster.call.once] */
static void a_call_runs_and_its_caller_is_told_once(void **state)
{
    struct cluster_core *core = open_core();
    const struct cluster_effect *run;
    uint64_t id;

    (void)state;
    serve(core, 0, 0);
    assert_int_equal(call(core, 3, CLUSTER_MODE_DIRECT, ONCE), 0);
    run = effect_of(CLUSTER_EFFECT_RUN, 1);
    id = run->id;
    assert_int_equal(run->method, ONCE);
    assert_int_equal(run->uid.number, 3);
    assert_int_equal(run->at_ns, SECOND);
    assert_memory_equal(run->body.data, "hello", 5);
    assert_int_equal(call(core, 3, CLUSTER_MODE_DIRECT, ONCE), RAPAHUB_EEXIST);
    end_run(core, id, 0, "world");
    answered(3, 0, "world");
    end_run(core, id, 0, "again");
    (void)effect_of(CLUSTER_EFFECT_ANSWER, 0);
    assert_int_equal(call(core, 3, CLUSTER_MODE_DIRECT, ONCE), 0);
    (void)effect_of(CLUSTER_EFFECT_RUN, 0);
    answered(3, 0, "world");
    cluster_core_release(&core);
}

/* r[verify cluster.call.once] r[verify cluster.parking.order] */
static void a_call_waits_while_its_container_does_not_serve(void **state)
{
    struct cluster_core *core = open_core();

    (void)state;
    change(core, 0, BEGINS, 0);
    for (uint64_t i = 1; i <= 4; i++)
        assert_int_equal(call(core, i, CLUSTER_MODE_DIRECT, ONCE), 0);
    (void)effect_of(CLUSTER_EFFECT_RUN, 0);
    assert_int_equal(call(core, 5, CLUSTER_MODE_DIRECT, ONCE), 0);
    answered(5, RAPAHUB_EBUSY, "the limit is reached of the calls that wait for a container");
    assert_int_equal(tell(core, (struct cluster_event){.kind = CLUSTER_EVENT_CANCEL, .number = 2}),
                     0);
    answered(2, RAPAHUB_ECANCELED, "");
    assert_int_equal(tell(core, (struct cluster_event){.kind = CLUSTER_EVENT_CANCEL, .number = 2}),
                     RAPAHUB_ENOENT);
    change(core, 0, SERVES, 0);
    assert_int_equal(effect_of(CLUSTER_EFFECT_RUN, 3)->uid.number, 4);
    (void)tell(core, (struct cluster_event){.now_ns = SECOND});
    assert_int_equal(effect_of(CLUSTER_EFFECT_ANSWER, 3)->status, RAPAHUB_ETIMEDOUT);
    cluster_core_release(&core);
}

/* r[verify cluster.call.lineage] */
static void a_call_whose_container_died_runs_again_only_if_it_may(void **state)
{
    struct cluster_core *core = open_core();

    (void)state;
    serve(core, 0, 0);
    assert_int_equal(call(core, 1, CLUSTER_MODE_DIRECT, ONCE), 0);
    assert_int_equal(call(core, 2, CLUSTER_MODE_DIRECT, REPEATS), 0);
    change(core, 0, DOWN, 0);
    (void)effect_of(CLUSTER_EFFECT_ANSWER, 0);
    change(core, 0, BEGINS, 1);
    change(core, 0, SERVES, 1);
    answered(1, RAPAHUB_EMAYBE, "");
    assert_int_equal(effect_of(CLUSTER_EFFECT_RUN, 1)->uid.number, 2);
    cluster_core_release(&core);
}

/* r[verify cluster.resolve.nowhere] r[verify cluster.call.lineage] */
static void a_call_to_a_quarantined_container_ends_at_once(void **state)
{
    static const char text[] = "container 0 of pool kv is quarantined, for it failed to begin too "
                               "often: `rapahub describe "
                               "pool kv` says why, `rapahub release kv#0` begins it again";
    struct cluster_core *core = open_core();
    struct cluster_dispatch *parts = (struct cluster_dispatch *)(uintptr_t)cluster_core_parts(core);

    (void)state;
    serve(core, 0, 0);
    assert_int_equal(call(core, 1, CLUSTER_MODE_DIRECT, ONCE), 0);
    change(core, 0, DOWN, 0);
    assert_int_equal(call(core, 2, CLUSTER_MODE_DIRECT, ONCE), 0);
    cluster_address_map_add(parts->map, POOL, 0)->entry =
        (struct cluster_entry){.state = CLUSTER_ENTRY_QUARANTINED, .epoch = 1};
    cluster_local_containers_remove(parts->locals, POOL, 0);
    cluster_dispatch_hooks.gone(parts, POOL, 0);
    assert_int_equal(tell(core, (struct cluster_event){.kind = CLUSTER_EVENT_TICK}), 0);
    (void)effect_of(CLUSTER_EFFECT_ANSWER, 2);
    for (uint32_t i = 0; i < effects.count; i++)
        if (effects.effects[i].kind == CLUSTER_EFFECT_ANSWER)
            assert_int_equal(effects.effects[i].status,
                             effects.effects[i].number == 1 ? RAPAHUB_EMAYBE : RAPAHUB_EGIVENUP);
    assert_int_equal(call(core, 3, CLUSTER_MODE_DIRECT, REPEATS), 0);
    answered(3, RAPAHUB_EGIVENUP, text);
    assert_int_equal(cluster_payload_count(parts->payload), 0);
    cluster_core_release(&core);
}

/* r[verify cluster.resolve.nowhere] */
static void calls_to_a_pool_that_is_removed_end_at_once(void **state)
{
    static const char text[] = "pool kv is being removed: `rapahub apply` makes it anew";
    struct cluster_core *core = open_core();
    struct cluster_dispatch *parts = (struct cluster_dispatch *)(uintptr_t)cluster_core_parts(core);

    (void)state;
    change(core, 0, BEGINS, 0);
    serve(core, 1, 0);
    assert_int_equal(call(core, 1, CLUSTER_MODE_DIRECT, ONCE), 0);
    (void)effect_of(CLUSTER_EFFECT_ANSWER, 0);
    cluster_pools_set_state(parts->pools, POOL, 2, CLUSTER_POOL_DESTROYING);
    cluster_dispatch_hooks.closes(parts, POOL);
    assert_int_equal(tell(core, (struct cluster_event){.kind = CLUSTER_EVENT_TICK}), 0);
    answered(1, RAPAHUB_ENOPOOL, text);
    assert_int_equal(call(core, 2, CLUSTER_MODE_LOCAL, ONCE), 0);
    (void)effect_of(CLUSTER_EFFECT_RUN, 0);
    answered(2, RAPAHUB_ENOPOOL, text);
    assert_int_equal(cluster_payload_count(parts->payload), 0);
    cluster_core_release(&core);
}

/* r[verify cluster.call.once] r[verify cluster.resolve.query] */
static void a_broadcast_tells_of_each_container(void **state)
{
    struct cluster_core *core = open_core();
    uint64_t ids[CONTAINERS];

    (void)state;
    for (uint32_t i = 0; i < CONTAINERS; i++)
        serve(core, i, 0);
    assert_int_equal(call(core, 1, CLUSTER_MODE_BROADCAST, ONCE), 0);
    (void)effect_of(CLUSTER_EFFECT_RUN, CONTAINERS);
    for (uint32_t i = 0, n = 0; i < effects.count; i++)
        if (effects.effects[i].kind == CLUSTER_EFFECT_RUN)
            ids[n++] = effects.effects[i].id;
    for (int i = 0; i < CONTAINERS; i++) {
        (void)effect_of(CLUSTER_EFFECT_ANSWER, 0);
        end_run(core, ids[i], 0, "one");
        assert_memory_equal(effect_of(CLUSTER_EFFECT_EACH, 1)->body.data, "one", 3);
    }
    answered(1, 0, "");
    assert_int_equal(call(core, 2, CLUSTER_MODE_BROADCAST, ONCE), 0);
    for (uint32_t i = 0, n = 0; i < effects.count; i++)
        if (effects.effects[i].kind == CLUSTER_EFFECT_RUN)
            ids[n++] = effects.effects[i].id;
    end_run(core, ids[1], -7, "");
    answered(2, -7, "");
    end_run(core, ids[0], 0, "");
    (void)effect_of(CLUSTER_EFFECT_ANSWER, 0);
    cluster_core_release(&core);
}

/* r[verify cluster.core.payload] */
static void an_answer_without_a_place_is_dropped_outside(void **state)
{
    struct cluster_core *core = open_core();
    const struct cluster_dispatch *parts = cluster_core_parts(core);
    struct cluster_payload_body body = {.number = 1000, .size = 1000};
    uint64_t id;

    (void)state;
    serve(core, 0, 0);
    assert_int_equal(call(core, 1, CLUSTER_MODE_DIRECT, ONCE), 0);
    id = effect_of(CLUSTER_EFFECT_RUN, 1)->id;
    while (cluster_payload_keep(parts->payload, &body) != 0)
        body.number++;
    body.number = 7;
    assert_int_equal(
        tell(core, (struct cluster_event){.kind = CLUSTER_EVENT_RUN, .id = id, .body = body}), 0);
    assert_int_equal(effect_of(CLUSTER_EFFECT_DROP, 1)->payload, 7);
    answered(1, RAPAHUB_EMAYBE, "");
    cluster_core_release(&core);
}

/* r[verify cluster.call.bounds] */
static void calls_that_cannot_be_are_refused(void **state)
{
    struct cluster_core *core = open_core();

    (void)state;
    assert_int_equal(call(core, 1, CLUSTER_MODE_LOCAL, ONCE), RAPAHUB_ENOTLOCAL);
    assert_int_equal(call(core, 1, CLUSTER_MODE_DIRECT, ONCE + 1), RAPAHUB_ENOMETHOD);
    for (uint64_t i = 1; i <= small.calls; i++)
        assert_int_equal(call(core, i, CLUSTER_MODE_DIRECT, ONCE), 0);
    assert_int_equal(call(core, 100, CLUSTER_MODE_DIRECT, ONCE), RAPAHUB_EBUSY);
    (void)tell(core, (struct cluster_event){.now_ns = SECOND});
    assert_int_equal(effect_of(CLUSTER_EFFECT_ANSWER, small.calls)->status, RAPAHUB_ENETTIMEOUT);
    assert_int_equal(cluster_payload_count(cluster_core_parts(core)->payload), 0);
    cluster_core_release(&core);
}

/* ---- a node that does not lead ---- */

static const struct cluster_effect *find_effect(enum cluster_effect_kind kind)
{
    for (uint32_t i = 0; i < effects.count; i++)
        if (effects.effects[i].kind == kind)
            return &effects.effects[i];
    return NULL;
}

/* Up to where the entry of container 0 says that it begins on this node, in session 8. */
static struct cluster_core *open_with_entry(void)
{
    const struct pool_records_pool kv = {.name = "kv", .containers = 1};
    const struct cluster_entry entry = {.state = CLUSTER_ENTRY_STARTING,
                                        .owner = 1,
                                        .session = 8,
                                        .epoch = 1,
                                        .lineage = cluster_ids_lineage(1, 0)};
    struct cluster_limits limits = small;
    const struct cluster_event events[] = {
        {.kind = CLUSTER_EVENT_TICK},
        {.kind = CLUSTER_EVENT_READING, .revision = 7},
        {.kind = CLUSTER_EVENT_POOL,
         .pool = POOL,
         .revision = 6,
         .record = pool_records_of(&kv, &records)},
        {.kind = CLUSTER_EVENT_ENTRY, .pool = POOL, .revision = 7, .entry = &entry},
        {.kind = CLUSTER_EVENT_READ}};
    struct cluster_core *core;

    limits.peers = 2;
    assert_int_equal(cluster_core_create(&limits, 1, 5, &core), 0);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        assert_int_equal(tell(core, events[i]), 0);
    return core;
}

/* r[verify cluster.step.again] */
static void a_link_may_be_up_before_the_node_starts(void **state)
{
    const struct cluster_event up = {
        .kind = CLUSTER_EVENT_PEER, .change = CLUSTER_PEER_UP, .node = 2, .session = 3};
    const struct cluster_event started = {
        .kind = CLUSTER_EVENT_STARTED, .session = 8, .boot = 1, .node = 2};
    struct cluster_core *core = open_with_entry();
    struct cluster_event begun = {.kind = CLUSTER_EVENT_BEGUN, .pool = POOL};
    const struct cluster_effect *report;

    (void)state;
    assert_int_equal(tell(core, up), 0);
    assert_int_equal(tell(core, started), 0);
    assert_non_null(find_effect(CLUSTER_EFFECT_BEGIN));
    begun.id = find_effect(CLUSTER_EFFECT_BEGIN)->id;
    assert_int_equal(tell(core, begun), 0);
    report = find_effect(CLUSTER_EFFECT_REPORT);
    assert_non_null(report);
    assert_int_equal(report->number, 2);
    assert_int_equal(report->how, CLUSTER_STEP_BEGUN);
    cluster_core_release(&core);
}

/* Ends the copy of container 0 that is asked for; node 2 has it too. */
static void copy_to_joining(struct cluster_core *core)
{
    const struct cluster_effect *copy = effect_of(CLUSTER_EFFECT_COPY, 1);
    struct cluster_event event = {.kind = CLUSTER_EVENT_SAVED, .id = copy->id, .now_ns = 2};

    assert_int_equal(copy->how, CLUSTER_COPY_WHOLE);
    event.pool = POOL;
    event.token = copy->token;
    event.number = copy->number;
    assert_int_equal(tell(core, event), 0);
    event.kind = CLUSTER_EVENT_COPIED;
    event.node = 2;
    assert_int_equal(tell(core, event), 0);
}

/* A copy of the epoch before is of no use to it. r[verify cluster.hold.join] */
static void a_new_epoch_is_copied_anew_to_a_node_that_joins(void **state)
{
    const struct cluster_record_holders holders = {.nodes = {.encoded = {"\1", 1}, .count = 1},
                                                   .joining = 2};
    struct cluster_core *core = open_core_of(CLUSTER_DURABILITY_ACKED);

    (void)state;
    serve(core, 0, 1);
    assert_int_equal(tell(core, (struct cluster_event){.kind = CLUSTER_EVENT_HOLDERS,
                                                       .pool = POOL,
                                                       .revision = 5,
                                                       .holders = &holders}),
                     0);
    copy_to_joining(core);
    (void)effect_of(CLUSTER_EFFECT_COPY, 0);
    change(core, 0, DOWN, 1);
    serve(core, 0, 2); /* in the same epoch it has one */
    (void)effect_of(CLUSTER_EFFECT_COPY, 0);
    change(core, 0, DOWN, 2);
    epoch = 2;
    change(core, 0, BEGINS, 0);
    epoch = 1;
    copy_to_joining(core);
    cluster_core_release(&core);
}

static uint64_t timer_of(uint64_t timer_ns)
{
    for (uint32_t i = 0; i < effects.count; i++)
        if (effects.effects[i].kind == CLUSTER_EFFECT_TIMER)
            timer_ns = effects.effects[i].at_ns;
    return timer_ns;
}

/* The moment that was asked for before them is not forgotten. r[verify cluster.core.room] */
static void effects_beyond_a_step_leave_the_timer_as_it_was(void **state)
{
    struct cluster_core *core = open_core();
    struct cluster_dispatch *parts = (struct cluster_dispatch *)(uintptr_t)cluster_core_parts(core);
    uint64_t timer_ns;
    unsigned steps = 0;

    (void)state;
    assert_int_equal(call(core, 1, CLUSTER_MODE_DIRECT, ONCE), 0); /* nothing serves yet */
    timer_ns = timer_of(UINT64_MAX);
    assert_true(timer_ns > 1 && timer_ns <= SECOND);
    for (uint32_t i = 0; cluster_effects_space(parts->effects) > 0; i++)
        cluster_effects_add(parts->effects,
                            &(struct cluster_effect){.kind = CLUSTER_EFFECT_DROP, .payload = i});
    assert_int_equal(tell(core, (struct cluster_event){.kind = CLUSTER_EVENT_TICK, .now_ns = 1}),
                     0);
    for (timer_ns = timer_of(timer_ns); timer_ns <= 1 && steps < 5; steps++) {
        assert_int_equal(
            tell(core, (struct cluster_event){.kind = CLUSTER_EVENT_TICK, .now_ns = 1}), 0);
        timer_ns = timer_of(UINT64_MAX);
    }
    assert_true(steps > 1 && timer_ns <= SECOND);
    cluster_core_release(&core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_runs_and_its_caller_is_told_once),
        cmocka_unit_test(a_call_waits_while_its_container_does_not_serve),
        cmocka_unit_test(a_call_whose_container_died_runs_again_only_if_it_may),
        cmocka_unit_test(a_call_to_a_quarantined_container_ends_at_once),
        cmocka_unit_test(calls_to_a_pool_that_is_removed_end_at_once),
        cmocka_unit_test(a_broadcast_tells_of_each_container),
        cmocka_unit_test(an_answer_without_a_place_is_dropped_outside),
        cmocka_unit_test(calls_that_cannot_be_are_refused),
        cmocka_unit_test(a_link_may_be_up_before_the_node_starts),
        cmocka_unit_test(a_new_epoch_is_copied_anew_to_a_node_that_joins),
        cmocka_unit_test(effects_beyond_a_step_leave_the_timer_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
