/* SPDX-License-Identifier: Apache-2.0 */
/* Routers that die, that follow each other, and that wait; bytes that no router wrote. */
#include <pthread.h>

#include "hub/bus/fanout_queue.h"
#include "hub/bus/reap.h"
#include "tests/support/pause.h"
#include "tests/unit/bus/fanout_stage.h"

static struct fanout_stage begin(enum rapahub_region_mode mode, enum rapahub_region_profile profile)
{
    return fanout_stage_begin((struct rapahub_region_options){.mode = mode}, profile);
}

/* Puts the message at the head of the source into a queue, as a router does that dies then. */
static void route_to_one(const struct fanout_stage *stage, uint32_t index, uint64_t position,
                         uint64_t number)
{
    const struct rapahub_message message = {
        .data = &number, .size = sizeof number, .position = position};
    struct hub_fanout_queue queue;

    assert_int_equal(hub_fanout_queue_resume(&queue, stage->region, index, position), 0);
    assert_int_equal(hub_fanout_queue_push(&queue, &message), 0);
}

static void change_router(struct fanout_stage *stage)
{
    rapahub_router_close(stage->router);
    stage->router = fanout_stage_router(stage->region);
}

/* r[verify region.router.once] */
static void a_router_that_follows_sends_no_message_twice(void **state)
{
    struct fanout_stage stage = begin(RAPAHUB_REGION_BROADCAST, RAPAHUB_REGION_HARDENED);

    (void)state;
    for (uint32_t i = 0; i < 20; i++) {
        fanout_stage_push(&stage, i, i + 1);
        route_to_one(&stage, i % FANOUT_CONSUMERS, i, i);
        if (i % 2 == 0) /* also where the consumer was faster */
            stage_pop(stage.consumers[i % FANOUT_CONSUMERS], i);
        change_router(&stage);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        for (uint32_t c = 0; c < FANOUT_CONSUMERS; c++) {
            if (i % 2 == 1 || c != i % FANOUT_CONSUMERS)
                stage_pop(stage.consumers[c], i);
            stage_empty(stage.consumers[c]);
        }
    }
    fanout_stage_end(&stage);
}

/* r[verify region.router.once] */
static void a_job_that_a_dead_router_gave_away_is_not_given_again(void **state)
{
    struct fanout_stage stage = begin(RAPAHUB_REGION_WORK, RAPAHUB_REGION_HARDENED);

    (void)state;
    fanout_stage_push(&stage, 7, 9);
    route_to_one(&stage, 2, 0, 7);
    stage_pop(stage.consumers[2], 7);
    change_router(&stage);
    assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
    stage_pop(stage.consumers[0], 8);
    for (uint32_t c = 0; c < FANOUT_CONSUMERS; c++)
        stage_empty(stage.consumers[c]);
    fanout_stage_end(&stage);
}

/* r[verify region.router.once] r[verify region.profile] */
static void in_the_profile_v1_one_message_comes_twice(void **state)
{
    struct fanout_stage stage = begin(RAPAHUB_REGION_BROADCAST, RAPAHUB_REGION_V1);

    (void)state;
    fanout_stage_push(&stage, 0, 2);
    route_to_one(&stage, 1, 0, 0);
    change_router(&stage);
    assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
    stage_pop(stage.consumers[1], 0);
    for (uint32_t c = 0; c < FANOUT_CONSUMERS; c++)
        fanout_stage_expect(&stage, c, 0, 2);
    fanout_stage_end(&stage);
}

static void route_in_process(struct rapahub_region *region)
{
    struct rapahub_router *router;

    if (rapahub_router_open(region, 0, &router) < 0)
        _exit(2);
}

/* r[verify region.router] r[verify region.router.standby] */
static void a_standby_takes_over_from_the_dead_and_from_nobody_else(void **state)
{
    (void)state;
    for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++) {
        struct fanout_stage stage =
            begin(RAPAHUB_REGION_BROADCAST, (enum rapahub_region_profile)profile);
        struct rapahub_router *second = NULL;
        uint64_t start;
        pid_t pid;

        assert_int_equal(rapahub_router_open(stage.region, 0, &second), RAPAHUB_EROLETAKEN);
        rapahub_router_close(stage.router);
        stage.router = NULL;
        pid = stage_process(rapahub_region_fd(stage.region), route_in_process);
        kill(pid, SIGSTOP);
        start = hub_clock_now();
        assert_int_equal(rapahub_router_open(stage.region, 50 * HUB_MILLISECOND, &second),
                         RAPAHUB_EROLETAKEN);
        assert_true(hub_clock_now() - start >= 50 * HUB_MILLISECOND);
        stage_kill(pid);
        assert_int_equal(rapahub_router_open(stage.region, HUB_SECOND, &stage.router), 0);
        fanout_stage_push(&stage, 0, 1);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        stage_pop(stage.consumers[0], 0);
        fanout_stage_end(&stage);
    }
}

struct waiting {
    struct fanout_stage *stage;
    int result;
};

static void *pop_in_thread(void *user)
{
    struct waiting *waiting = user;
    uint64_t number;

    waiting->result = rapahub_consumer_pop(waiting->stage->consumers[0], &number, sizeof number,
                                           10 * HUB_SECOND, NULL);
    return NULL;
}

static void *push_in_thread(void *user)
{
    struct waiting *waiting = user;
    uint64_t number = 9;

    waiting->result =
        rapahub_producer_push(waiting->stage->producer, &number, sizeof number, 10 * HUB_SECOND);
    return NULL;
}

#define LOOKS_MS 300 /* a thread has begun, and looked, also under an emulator */

/* r[verify region.peer.dead] */
static void who_waits_for_a_router_that_dies_is_told(void **state)
{
    (void)state;
    for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++) {
        struct fanout_stage stage =
            begin(RAPAHUB_REGION_BROADCAST, (enum rapahub_region_profile)profile);
        struct waiting pop = {.stage = &stage}, push = {.stage = &stage};
        pthread_t threads[2];
        pid_t pid;

        fanout_stage_push(&stage, 0, FANOUT_CELLS);
        rapahub_router_close(stage.router);
        stage.router = NULL;
        pid = stage_process(rapahub_region_fd(stage.region), route_in_process);
        assert_int_equal(pthread_create(&threads[0], NULL, pop_in_thread, &pop), 0);
        pause_ms(LOOKS_MS);
        if (profile == RAPAHUB_REGION_V1) { /* with leases the first to see it takes it back */
            assert_int_equal(pthread_create(&threads[1], NULL, push_in_thread, &push), 0);
            pause_ms(LOOKS_MS);
        }
        stage_kill(pid);
        pthread_join(threads[0], NULL);
        assert_int_equal(pop.result, RAPAHUB_EPEERDEAD);
        if (profile == RAPAHUB_REGION_V1) {
            pthread_join(threads[1], NULL);
            assert_int_equal(push.result, RAPAHUB_EPEERDEAD);
        }
        fanout_stage_end(&stage);
    }
}

static void *route_in_thread(void *user)
{
    struct waiting *waiting = user;
    uint32_t count;

    waiting->result = rapahub_router_run(waiting->stage->router, 1, 10 * HUB_SECOND, &count);
    return NULL;
}

/* r[verify region.wake] */
static void a_router_that_waits_is_woken_by_credit_and_by_a_message(void **state)
{
    const struct rapahub_region_options park = {.credit = RAPAHUB_REGION_PARK, .credit_max = 1};
    struct fanout_stage stage = fanout_stage_begin(park, RAPAHUB_REGION_HARDENED);
    struct waiting waiting = {.stage = &stage};
    pthread_t thread;

    (void)state;
    for (uint64_t i = 0; i < 20; i++) {
        assert_int_equal(pthread_create(&thread, NULL, route_in_thread, &waiting), 0);
        pause_ms(2);
        fanout_stage_push(&stage, i, i + 1);
        pthread_join(thread, NULL);
        assert_int_equal(waiting.result, 0);
        for (uint32_t c = 0; c < FANOUT_CONSUMERS; c++)
            stage_pop(stage.consumers[c], i);
    }
    fanout_stage_push(&stage, 20, 22);
    assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EFULL);
    assert_int_equal(pthread_create(&thread, NULL, route_in_thread, &waiting), 0);
    for (uint32_t c = 0; c < FANOUT_CONSUMERS; c++) {
        pause_ms(2);
        stage_pop(stage.consumers[c], 20);
    }
    pthread_join(thread, NULL);
    assert_int_equal(waiting.result, 0);
    fanout_stage_end(&stage);
}

/* r[verify region.bound] */
static void a_router_waits_no_longer_than_it_was_told(void **state)
{
    const struct rapahub_region_options park = {.credit = RAPAHUB_REGION_PARK, .credit_max = 1};
    struct fanout_stage stage = fanout_stage_begin(park, RAPAHUB_REGION_V1);
    uint32_t count;

    (void)state;
    assert_int_equal(rapahub_router_run(stage.router, 4, 10 * HUB_MILLISECOND, &count),
                     RAPAHUB_ETIMEDOUT);
    fanout_stage_push(&stage, 0, 2);
    assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EFULL);
    assert_int_equal(rapahub_router_run(stage.router, 4, 10 * HUB_MILLISECOND, &count),
                     RAPAHUB_ETIMEDOUT);
    assert_int_equal(count, 0);
    fanout_stage_end(&stage);
}

/* r[verify region.poison] */
static void what_a_dead_producer_claimed_is_passed_over(void **state)
{
    struct fanout_stage stage = begin(RAPAHUB_REGION_BROADCAST, RAPAHUB_REGION_HARDENED);
    pid_t pid = stage_process(rapahub_region_fd(stage.region), stage_claim);
    struct rapahub_message message;
    uint64_t number;
    uint32_t count;

    (void)state;
    fanout_stage_push(&stage, 1, 2);
    assert_int_equal(rapahub_router_run(stage.router, 1, 20 * HUB_MILLISECOND, &count),
                     RAPAHUB_EBLOCKED);
    stage_kill(pid);
    assert_int_equal(rapahub_router_run(stage.router, 1, HUB_SECOND, &count), 0);
    assert_int_equal(rapahub_consumer_pop(stage.consumers[0], &number, 8, 0, &message), 0);
    assert_int_equal(message.position, 1);
    fanout_stage_end(&stage);
}

/* r[verify region.message.max] */
static void a_message_is_as_long_as_a_queue_has_room_for(void **state)
{
    uint8_t bytes[64] = {1, 2, 3}, got[64];
    struct rapahub_message message;

    (void)state;
    for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++) {
        struct fanout_stage stage =
            begin(RAPAHUB_REGION_BROADCAST, (enum rapahub_region_profile)profile);
        size_t most = profile == RAPAHUB_REGION_V1 ? 48 : 40;

        assert_int_equal(rapahub_producer_push(stage.producer, bytes, most + 1, 0),
                         RAPAHUB_EMSGSIZE);
        assert_int_equal(rapahub_producer_push(stage.producer, bytes, most, 0), 0);
        assert_int_equal(rapahub_producer_push(stage.producer, NULL, 0, 0), 0);
        assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
        assert_int_equal(rapahub_consumer_pop(stage.consumers[1], got, sizeof got, 0, &message), 0);
        assert_int_equal(message.size, most);
        assert_memory_equal(got, bytes, most);
        assert_int_equal(rapahub_consumer_pop(stage.consumers[1], got, sizeof got, 0, &message), 0);
        assert_int_equal(message.size, 0);
        fanout_stage_end(&stage);
    }
}

/* r[verify region.cell] */
static void bytes_that_no_router_wrote_are_damage(void **state)
{
    struct fanout_stage stage = begin(RAPAHUB_REGION_BROADCAST, RAPAHUB_REGION_HARDENED);
    struct hub_ring_view queue =
        hub_region_queue_view(stage.region->mapping.data, &stage.region->shape, 1);
    struct rapahub_router *router = NULL;
    uint64_t number, far = 1000;

    (void)state;
    fanout_stage_push(&stage, 0, 1);
    assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
    hub_store_relaxed(&hub_ring_view_cell(&queue, 0)->len, 7); /* no room for its position */
    assert_int_equal(rapahub_consumer_pop(stage.consumers[1], &number, 8, 0, NULL),
                     RAPAHUB_ECORRUPT);
    rapahub_router_close(stage.router);
    stage.router = NULL;
    memcpy(hub_ring_view_cell(&queue, 0)->payload, &far, sizeof far);
    assert_int_equal(rapahub_router_open(stage.region, 0, &router), RAPAHUB_ECORRUPT);
    hub_publish64(&hub_ring_view_cell(&queue, 3)->state, 1);
    assert_int_equal(rapahub_router_open(stage.region, 0, &router), RAPAHUB_ECORRUPT);
    hub_publish64(&hub_ring_view_cell(&queue, 3)->state, hub_cell_free(3));
    far = 1;
    memcpy(hub_ring_view_cell(&queue, 0)->payload, &far, sizeof far);
    stage.router = fanout_stage_router(stage.region); /* the role was let go each time */
    hub_store_relaxed(&hub_ring_view_cell(&stage.region->view, 1)->len, 48);
    hub_publish64(&hub_ring_view_cell(&stage.region->view, 1)->state, hub_cell_published(1));
    assert_int_equal(fanout_stage_route(&stage), RAPAHUB_ECORRUPT); /* longer than a queue takes */
    fanout_stage_end(&stage);
}

static void only_a_fan_out_has_a_router(void **state)
{
    struct rapahub_region *region =
        stage_create(NULL, RAPAHUB_REGION_MPSC, RAPAHUB_REGION_HARDENED, 4);
    struct rapahub_router *router = NULL;

    (void)state;
    assert_int_equal(rapahub_router_open(region, 0, &router), RAPAHUB_EBADKIND);
    assert_int_equal(rapahub_region_detach(region, 0, true), RAPAHUB_EINVAL);
    rapahub_router_close(NULL);
    assert_int_equal(rapahub_region_close(region), 0);
}

static int note_queue(void *user, const struct rapahub_region_queue *queue)
{
    struct rapahub_region_queue *list = user;

    list[queue->index] = *queue;
    return 0;
}

static struct rapahub_region_report inspect(void)
{
    struct rapahub_region_report report;

    assert_int_equal(rapahub_region_inspect(stage_name(), false, &report), 0);
    return report;
}

/* r[verify region.inspect] r[verify region.action] */
static void inspection_tells_of_router_and_queues_and_what_to_do(void **state)
{
    const struct rapahub_region_options options = {.kind = RAPAHUB_REGION_FANOUT,
                                                   .profile = RAPAHUB_REGION_HARDENED,
                                                   .cells = FANOUT_CELLS,
                                                   .consumers = FANOUT_CONSUMERS,
                                                   .credit_max = 2};
    struct rapahub_region_queue queues[FANOUT_CONSUMERS];
    struct fanout_stage stage = {.options = options};
    struct rapahub_region_report report;

    (void)state;
    assert_int_equal(rapahub_region_create(stage_name(), &options, &stage.region), 0);
    assert_string_equal(inspect().action, "none");
    stage.producer = stage_producer(stage.region);
    stage.consumers[1] = fanout_stage_consumer(stage.region, 1);
    report = inspect();
    assert_true(!report.router && report.consumer && report.producer);
    assert_non_null(strstr(report.action, "restart the router: rapahub region route test-"));
    stage.router = fanout_stage_router(stage.region);
    assert_string_equal(inspect().action, "none");
    fanout_stage_push(&stage, 0, 3);
    assert_int_equal(fanout_stage_route(&stage), RAPAHUB_EEMPTY);
    report = inspect();
    assert_true(report.router && report.routed == 3 && report.dropped == 1);
    assert_non_null(strstr(report.action, "consumer 1 is slow"));
    assert_int_equal(rapahub_region_queues(stage_name(), false, note_queue, queues), 0);
    assert_true(queues[1].subscribed && queues[1].held && !queues[0].subscribed);
    assert_int_equal(queues[1].tail - queues[1].head, 2);
    assert_int_equal(queues[1].delivered, 2);
    assert_int_equal(queues[1].dropped, 1);
    fanout_stage_end(&stage);
    assert_int_equal(rapahub_region_remove(stage_name(), 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_router_that_follows_sends_no_message_twice),
        cmocka_unit_test(a_job_that_a_dead_router_gave_away_is_not_given_again),
        cmocka_unit_test(in_the_profile_v1_one_message_comes_twice),
        cmocka_unit_test(a_standby_takes_over_from_the_dead_and_from_nobody_else),
        cmocka_unit_test(who_waits_for_a_router_that_dies_is_told),
        cmocka_unit_test(a_router_that_waits_is_woken_by_credit_and_by_a_message),
        cmocka_unit_test(a_router_waits_no_longer_than_it_was_told),
        cmocka_unit_test(what_a_dead_producer_claimed_is_passed_over),
        cmocka_unit_test(a_message_is_as_long_as_a_queue_has_room_for),
        cmocka_unit_test(bytes_that_no_router_wrote_are_damage),
        cmocka_unit_test(only_a_fan_out_has_a_router),
        cmocka_unit_test(inspection_tells_of_router_and_queues_and_what_to_do)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
