/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a SEQUENCER that are refused, and its body with any of its words changed: its verdict
 * is that it is damaged, or its parts still lie inside, apart. Linked with --wrap of
 * hub_bus_wait_until. */
#include <pthread.h>

#include "hub/bus/bus_wait.h"
#include "hub/bus/region_check.h"
#include "hub/bus/sequencer_diagnosis.h"
#include "tests/unit/bus/sequencer_stage.h"

static struct rapahub_region *region;
static uint8_t *bytes;

static const struct sequencer_plan plan = {.profile = RAPAHUB_REGION_V1,
                                           .shared = true,
                                           .stages = 3,
                                           .list = {{.after = 0}, {.after = 1}, {.after = 3}}};

static int set_up(void **state)
{
    void *room = NULL;

    (void)state;
    region = sequencer_create(NULL, &plan);
    /* Sanitizers see what is behind; aligned_alloc would want a multiple of 128. */
    if (posix_memalign(&room, 128, region->shape.layout_bytes) != 0)
        return -1;
    bytes = room;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(bytes);
    return rapahub_region_close(region);
}

static int check(struct hub_region_found *found)
{
    return hub_region_check(bytes, region->shape.layout_bytes, 0, found);
}

static int check_with(size_t at, uint32_t value)
{
    struct hub_region_found found;
    int r;

    memcpy(bytes, region->mapping.data, region->shape.layout_bytes);
    memcpy(bytes + at, &value, sizeof value);
    r = check(&found);
    if (r == 0)
        assert_true(hub_region_shape_holds(&found.shape));
    return r;
}

/* r[verify region.geometry] r[verify region.sequencer.shape] */
static void each_constant_of_the_body_is_checked(void **state)
{
    const struct hub_sequencer_shape *s = &region->shape.sequencer;
    size_t body = region->shape.body_off, gate = s->gates_off;
    const struct {
        size_t at;
        uint32_t value;
    } bad[] = {
        {body + 256, 0}, /* the ring */
        {body + 256, 1},
        {body + 256, SEQUENCER_RING + 1},
        {body + 256, SEQUENCER_RING * 4096},
        {body + 256, UINT32_MAX},
        {body + 260, 0}, /* gates */
        {body + 260, 65},
        {body + 260, 4},
        {body + 264, 0},
        {body + 264, s->gates_off + 128},
        {body + 268, 0}, /* words */
        {body + 268, s->avail_off + 8},
        {body + 272, 0}, /* user bytes */
        {body + 272, s->user_off + 64},
        {body + 276, 4},
        {body + 276, 1u << 25},
        {gate + 24,
         1}, /* stage 0 follows itself, then a circle of two, then one that is not there */
        {gate + 24, 2},
        {gate + 24, 8},
        {gate + 28, 1},
        {gate + 40, 1}, /* without leases a stage is held */
        {gate + 40, 3},
    };
    struct hub_region_found found;

    (void)state;
    memcpy(bytes, region->mapping.data, region->shape.layout_bytes);
    assert_int_equal(check(&found), 0);
    assert_int_equal(found.shape.sequencer.stage_count, 3);
    assert_int_equal(found.shape.sequencer.stages[2].after, 3);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (check_with(bad[i].at, bad[i].value) != RAPAHUB_ECORRUPT)
            fail_msg("%zu: %u at %zu is taken", i, bad[i].value, bad[i].at);
}

/* r[verify region.length] */
static void no_word_of_the_body_leads_outside(void **state)
{
    static const uint32_t values[] = {0, 1, 2, 63, 64, 127, 128, 256, 65536, 1u << 31, UINT32_MAX};

    (void)state;
    for (size_t at = region->shape.body_off; at < region->shape.layout_bytes; at += 4)
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            int r = check_with(at, values[i]);

            assert_true(r == 0 || r == RAPAHUB_ECORRUPT);
        }
}

struct refused {
    struct rapahub_region_options options;
    struct rapahub_region_stage list[3];
    const char *text;
};

static void refuse(const struct refused *refused)
{
    struct rapahub_region_options options = refused->options;
    struct rapahub_region *made = NULL;

    if (options.kind == 0)
        options.kind = RAPAHUB_REGION_SEQUENCER;
    if (options.stages > 0 && options.stages <= 3)
        options.stage_list = refused->list;
    assert_int_equal(rapahub_region_create(NULL, &options, &made), RAPAHUB_EINVAL);
    if (!strstr(rapahub_last_error()->text, refused->text))
        fail_msg("'%s' instead of '%s'", rapahub_last_error()->text, refused->text);
}

/* r[verify region.stage.after] r[verify region.sequencer.shape] */
static void options_that_do_not_fit_are_refused(void **state)
{
    static const struct refused all[] = {
        {.options = {.ring_size = 3}, .text = "the size of the ring may not be 3"},
        {.options = {.ring_size = 1u << 25}, .text = "the size of the ring"},
        {.options = {.stages = 65}, .text = "the number of stages may not be 65"},
        {.options = {.user_bytes = 12}, .text = "the user bytes of a position may not be 12"},
        {.options = {.cells = 8}, .text = "a sequencer has no cells"},
        {.options = {.consumers = 2}, .text = "consumers"},
        {.options = {.producers = 256}, .text = "the number of producers may not be 256"},
        {.options = {.stages = 2},
         .list = {{.after = 4}},
         .text = "stage 0 follows a stage that there is not"},
        {.options = {.stages = 1}, .list = {{.after = 1}}, .text = "stage 0 follows itself"},
        {.options = {.stages = 3},
         .list = {{.after = 0}, {.after = 4}, {.after = 2}},
         .text = "stage 1 follows itself"},
        {.options = {.stages = 1},
         .list = {{.on_death = RAPAHUB_STAGE_EVICT}},
         .text = "only the hardened profile"},
        {.options = {.kind = RAPAHUB_REGION_SPSC, .ring_size = 8}, .text = "of kind SEQUENCER"},
        {.options = {.kind = RAPAHUB_REGION_SPSC, .stages = 1}, .text = "of kind SEQUENCER"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        refuse(&all[i]);
}

/* r[verify region.exclusive] r[verify region.generation] */
static void a_sequencer_is_made_anew_in_its_place(void **state)
{
    struct rapahub_region *named = sequencer_create(stage_name(), &plan);
    struct rapahub_producer *producer = stage_producer(named);
    struct rapahub_stage *stage = sequencer_stage(named, 0);

    (void)state;
    sequencer_put(named, producer, 0, 4);
    sequencer_do(stage, 0, 4);
    rapahub_stage_close(stage);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_evict(named, 1), 0);
    assert_int_equal(rapahub_region_close(named), 0);
    assert_int_equal(rapahub_region_renew(stage_name(), 0), 0);
    assert_int_equal(rapahub_region_open(stage_name(), NULL, &named), 0);
    producer = stage_producer(named);
    stage = sequencer_stage(named, 1);
    sequencer_idle(stage);
    sequencer_put(named, producer, 0, 2);
    sequencer_idle(stage); /* what it follows is not evicted any more, but there is none */
    rapahub_stage_close(stage);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(named), 0);
    assert_int_equal(rapahub_region_remove(stage_name(), 0), 0);
}

static int count_stages(void *user, const struct rapahub_region_stage_report *stage)
{
    struct rapahub_region_stage_report *list = user;

    list[stage->index] = *stage;
    return 0;
}

static const char *action_of(const char *name)
{
    static struct rapahub_region_report report;

    assert_int_equal(rapahub_region_inspect(name, false, &report), 0);
    assert_int_equal(report.verdict, 0);
    return report.action;
}

/* r[verify region.action] r[verify region.inspect] */
static void inspection_names_the_stage_in_the_way(void **state)
{
    struct sequencer_plan hardened = plan;
    struct rapahub_region *named;
    struct rapahub_producer *producer;
    struct rapahub_region_stage_report list[3];
    struct rapahub_region_report report;
    struct rapahub_stage *stages[2];
    char wanted[256];

    (void)state;
    hardened.profile = RAPAHUB_REGION_HARDENED;
    named = sequencer_create(stage_name(), &hardened);
    producer = stage_producer(named);
    assert_string_equal(action_of(stage_name()), "no stage takes part: open one");
    stages[0] = sequencer_stage(named, 0);
    stages[1] = sequencer_stage(named, 1);
    sequencer_put(named, producer, 0, SEQUENCER_RING);
    assert_string_equal(action_of(stage_name()),
                        "it is full: stage 0 is slow: wait, or make it larger");
    assert_int_equal(rapahub_region_inspect(stage_name(), false, &report), 0);
    assert_int_equal(report.tail, SEQUENCER_RING);
    assert_int_equal(report.head, 0);
    assert_int_equal(report.stages, 3);
    assert_int_equal(report.ring_size, SEQUENCER_RING);
    assert_true(report.shared && report.producer && report.consumer);
    rapahub_stage_close(stages[0]);
    snprintf(wanted, sizeof wanted, "stage 0 is not there: start it, or rapahub region evict %s 0",
             stage_name());
    assert_string_equal(action_of(stage_name()), wanted);
    assert_int_equal(rapahub_region_evict(named, 0), 0);
    assert_int_equal(rapahub_region_stages(stage_name(), false, count_stages, list), 0);
    assert_int_equal(list[0].state, RAPAHUB_STAGE_EVICTED);
    assert_int_equal(list[0].evictions, 1);
    assert_int_equal(list[1].state, RAPAHUB_STAGE_GATING);
    assert_int_equal(list[1].behind, SEQUENCER_RING);
    assert_true(list[1].held && !list[0].held);
    assert_int_equal(list[2].state, RAPAHUB_STAGE_FREE);
    assert_int_equal(list[2].after, 3);
    rapahub_stage_close(stages[1]);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_close(named), 0);
    assert_int_equal(rapahub_region_remove(stage_name(), 0), 0);
}

/* Writes the gate of a stage that nobody has, as another process may. */
static void forge_gate(struct rapahub_region *forged, uint32_t index, uint64_t seq, uint32_t state)
{
    hub_publish64(&forged->sequencer.gates[index].seq, seq);
    hub_publish64(&forged->sequencer.gates[index].deadline_ns, UINT64_MAX);
    hub_publish(&forged->sequencer.gates[index].state, state);
}

/* Neither where it holds nor where it begins anew. r[verify region.stage.wrap] */
static void a_stage_does_not_join_beyond_all_claims(void **state)
{
    static const struct {
        uint32_t forged, state;
    } gates[] = {{0, HUB_STAGE_GATING}, {0, HUB_STAGE_FROZEN}, {1, HUB_STAGE_GATING}};
    struct rapahub_stage *stage = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof gates / sizeof *gates; i++) {
        struct rapahub_region *forged = sequencer_create(NULL, &plan);
        const struct hub_region_stage_gate *gate = &forged->sequencer.gates[0];

        forge_gate(forged, gates[i].forged, UINT64_MAX - 1, gates[i].state);
        assert_int_equal(sequencer_open(forged, 0, &stage), RAPAHUB_ECORRUPT);
        assert_string_equal(rapahub_last_error()->rule, "region.stage.wrap");
        if (gates[i].forged != 0)
            assert_int_equal(hub_observe(&gate->state), HUB_STAGE_FREE);
        assert_int_equal(rapahub_region_close(forged), 0);
    }
}

/* Nothing is before the last position of all: the stage follows none that it could wait for. */
static void a_stage_at_the_last_position_waits_for_no_other(void **state)
{
    struct sequencer_plan hardened = plan;
    struct rapahub_region *forged;
    struct rapahub_stage *stage;
    uint64_t position;
    uint32_t count;

    (void)state;
    hardened.profile = RAPAHUB_REGION_HARDENED;
    forged = sequencer_create(NULL, &hardened);
    hub_publish64(&forged->sequencer.body->claim, UINT64_MAX);
    forge_gate(forged, 0, UINT64_MAX, HUB_STAGE_GATING);
    stage = sequencer_stage(forged, 0);
    assert_int_equal(rapahub_stage_next(stage, HUB_MILLISECOND, &position, &count),
                     RAPAHUB_ETIMEDOUT);
    rapahub_stage_close(stage);
    assert_int_equal(rapahub_region_close(forged), 0);
}

struct meddler {
    struct rapahub_region *region;
    struct hub_a32 stop;
};

static void *move_the_gate(void *user)
{
    struct meddler *meddler = user;

    for (uint64_t i = 0; !hub_observe(&meddler->stop); i++)
        hub_publish64(&meddler->region->sequencer.gates[0].seq, i % 2 ? UINT64_MAX : 0);
    return NULL;
}

static void a_gate_that_moves_during_an_inspection_leads_nowhere(void **state)
{
    struct meddler meddler = {.region = sequencer_create(NULL, &plan)};
    pthread_t thread;

    (void)state;
    forge_gate(meddler.region, 0, 0, HUB_STAGE_GATING);
    assert_int_equal(pthread_create(&thread, NULL, move_the_gate, &meddler), 0);
    for (int i = 0; i < 20000; i++) {
        struct rapahub_region_report report = {0};
        int r = hub_sequencer_diagnosis_report(meddler.region, &report);

        assert_true(r == 0 || r == RAPAHUB_ECORRUPT);
        assert_true(report.waits_for == RAPAHUB_STAGE_NONE || report.waits_for < plan.stages);
    }
    hub_publish(&meddler.stop, 1);
    pthread_join(thread, NULL);
    assert_int_equal(rapahub_region_close(meddler.region), 0);
}

#define EVICTS_FOR (5 * HUB_SECOND)

static struct hub_region_stage_gate *evicted;
static uint64_t evicts_until;

int __real_hub_bus_wait_until(const struct hub_bus_wait *wait, uint64_t deadline_ns);
int __wrap_hub_bus_wait_until(const struct hub_bus_wait *wait, uint64_t deadline_ns);

/* Whoever waits finds an eviction more. */
int __wrap_hub_bus_wait_until(const struct hub_bus_wait *wait, uint64_t deadline_ns)
{
    if (evicted && hub_clock_left(evicts_until) > 0)
        (void)hub_add(&evicted->evictions, 1);
    return __real_hub_bus_wait_until(wait, deadline_ns);
}

/* Each eviction ends the sleep of those that follow, also where it left out nothing.
 * r[verify region.bound] */
static void evictions_without_end_do_not_hold_a_stage(void **state)
{
    struct rapahub_region *forged = sequencer_create(NULL, &plan);
    struct rapahub_stage *stage = sequencer_stage(forged, 1);
    uint64_t position;
    uint32_t count;

    (void)state;
    evicts_until = hub_clock_after(EVICTS_FOR);
    evicted = &forged->sequencer.gates[0];
    assert_int_equal(rapahub_stage_next(stage, HUB_MILLISECOND, &position, &count),
                     RAPAHUB_ETIMEDOUT);
    assert_true(hub_clock_left(evicts_until) > 0);
    assert_true(hub_observe(&evicted->evictions) > 0);
    evicted = NULL;
    rapahub_stage_close(stage);
    assert_int_equal(rapahub_region_close(forged), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_constant_of_the_body_is_checked),
        cmocka_unit_test(no_word_of_the_body_leads_outside),
        cmocka_unit_test(options_that_do_not_fit_are_refused),
        cmocka_unit_test(a_sequencer_is_made_anew_in_its_place),
        cmocka_unit_test(inspection_names_the_stage_in_the_way),
        cmocka_unit_test(a_stage_does_not_join_beyond_all_claims),
        cmocka_unit_test(a_stage_at_the_last_position_waits_for_no_other),
        cmocka_unit_test(a_gate_that_moves_during_an_inspection_leads_nowhere),
        cmocka_unit_test(evictions_without_end_do_not_hold_a_stage)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
