/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>

#include "tests/unit/bus/fanin_stage.h"

static struct rapahub_region *create(enum rapahub_region_profile profile)
{
    return fanin_stage_create(NULL, profile, FANIN_PRODUCERS, FANIN_CELLS);
}

static void profiles(void (*run)(struct rapahub_region *region))
{
    for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++) {
        struct rapahub_region *region = create((enum rapahub_region_profile)profile);

        run(region);
        assert_int_equal(rapahub_region_close(region), 0);
    }
}

static void fill_one(struct rapahub_region *region)
{
    const struct rapahub_producer_options fails = {.on_full = RAPAHUB_ON_FULL_FAIL};
    struct rapahub_producer *first = NULL, *second = fanin_stage_producer(region, 1);
    struct rapahub_consumer *consumer = stage_consumer(region);
    uint64_t number = 9;

    assert_int_equal(rapahub_producer_open(region, &fails, &first), 0);
    for (uint64_t i = 0; i < FANIN_CELLS; i++)
        stage_push(first, i);
    assert_int_equal(rapahub_producer_push(first, &number, sizeof number, HUB_SECOND),
                     RAPAHUB_EFULL);
    stage_push(second, 10); /* has its own ring */
    for (uint64_t i = 0; i < FANIN_CELLS; i++)
        fanin_stage_pop(consumer, 0, i, i);
    fanin_stage_pop(consumer, 1, 0, 10);
    stage_empty(consumer);
    rapahub_producer_close(first);
    rapahub_producer_close(second);
    rapahub_consumer_close(consumer);
}

/* r[verify region.fanin] r[verify region.full] */
static void each_producer_has_a_ring_of_its_own(void **state)
{
    (void)state;
    profiles(fill_one);
}

static void take_indexes(struct rapahub_region *region)
{
    struct rapahub_region *again = stage_again(region);
    struct rapahub_producer *producers[FANIN_PRODUCERS], *other = NULL;

    producers[1] = fanin_stage_producer(region, 1);
    assert_int_equal(fanin_stage_open(region, 1, &other), RAPAHUB_EROLETAKEN);
    assert_int_equal(fanin_stage_open(again, 1, &other), RAPAHUB_EROLETAKEN);
    producers[0] = fanin_stage_producer(again, RAPAHUB_PRODUCER_ANY);
    producers[2] = fanin_stage_producer(again, RAPAHUB_PRODUCER_ANY);
    for (uint32_t i = 0; i < FANIN_PRODUCERS; i++)
        assert_int_equal(rapahub_producer_index(producers[i]), i);
    assert_int_equal(fanin_stage_open(region, RAPAHUB_PRODUCER_ANY, &other), RAPAHUB_EROLETAKEN);
    assert_int_equal(fanin_stage_open(region, FANIN_PRODUCERS, &other), RAPAHUB_EINVAL);
    for (uint32_t i = 0; i < FANIN_PRODUCERS; i++)
        rapahub_producer_close(producers[i]);
    assert_int_equal(rapahub_region_close(again), 0);
}

/* r[verify region.role] r[verify region.again] */
static void a_ring_has_one_producer_at_a_time(void **state)
{
    struct rapahub_region *other = stage_create(NULL, RAPAHUB_REGION_MPSC, RAPAHUB_REGION_V1, 4);
    struct rapahub_producer *producer = NULL;

    (void)state;
    profiles(take_indexes);
    assert_int_equal(fanin_stage_open(other, 1, &producer), RAPAHUB_EINVAL);
    assert_int_equal(rapahub_region_close(other), 0);
}

/* A ring that always has something gives 32 messages in a row. r[verify region.fanin.turn] */
static void a_busy_producer_keeps_nobody_from_being_heard(void **state)
{
    struct rapahub_region *region = fanin_stage_create(NULL, RAPAHUB_REGION_HARDENED, 3, 128);
    struct rapahub_producer *busy = fanin_stage_producer(region, 1);
    struct rapahub_producer *rare = fanin_stage_producer(region, 0);
    struct rapahub_consumer *consumer = stage_consumer(region);

    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        stage_push(busy, i);
    fanin_stage_pop(consumer, 1, 0, 0);
    for (uint64_t i = 0; i < 3; i++)
        stage_push(rare, i);
    for (uint64_t i = 1; i < 32; i++)
        fanin_stage_pop(consumer, 1, i, i);
    for (uint64_t i = 0; i < 3; i++)
        fanin_stage_pop(consumer, 0, i, i);
    for (uint64_t i = 32; i < 100; i++) /* alone it goes on */
        fanin_stage_pop(consumer, 1, i, i);
    stage_empty(consumer);
    rapahub_producer_close(busy);
    rapahub_producer_close(rare);
    rapahub_consumer_close(consumer);
    assert_int_equal(rapahub_region_close(region), 0);
}

static size_t peek(struct rapahub_consumer *consumer, struct rapahub_message list[64])
{
    size_t count = 0;

    assert_int_equal(rapahub_consumer_peek(consumer, list, 64, 0, &count), 0);
    return count;
}

/* r[verify region.ack] */
static void a_list_is_of_one_producer_and_no_longer_than_its_turn(void **state)
{
    struct rapahub_region *region = fanin_stage_create(NULL, RAPAHUB_REGION_V1, 2, 64);
    struct rapahub_producer *producers[] = {fanin_stage_producer(region, 0),
                                            fanin_stage_producer(region, 1)};
    struct rapahub_consumer *consumer = stage_consumer(region);
    struct rapahub_message list[64];

    (void)state;
    for (uint64_t i = 0; i < 40; i++)
        stage_push(producers[0], i);
    stage_push(producers[1], 7);
    fanin_stage_pop(consumer, 0, 0, 0);
    assert_int_equal(peek(consumer, list), 31);
    assert_int_equal(list[30].position, 31);
    assert_int_equal(list[30].producer, 1);
    assert_int_equal(rapahub_consumer_done(consumer, 31), 0);
    assert_int_equal(peek(consumer, list), 1);
    assert_int_equal(list[0].producer, 2);
    rapahub_consumer_close(consumer); /* the message is not done */
    consumer = stage_consumer(region);
    for (uint64_t i = 32; i < 40; i++)
        fanin_stage_pop(consumer, 0, i, i);
    fanin_stage_pop(consumer, 1, 0, 7);
    stage_empty(consumer);
    rapahub_consumer_close(consumer);
    rapahub_producer_close(producers[0]);
    rapahub_producer_close(producers[1]);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* A message that does not fit stays the next one. */
static void a_message_that_does_not_fit_stays(void **state)
{
    struct rapahub_region *region = create(RAPAHUB_REGION_V1);
    struct rapahub_producer *producer = fanin_stage_producer(region, 2);
    struct rapahub_consumer *consumer = stage_consumer(region);
    struct rapahub_message message;
    uint32_t less;

    (void)state;
    stage_push(producer, 5);
    assert_int_equal(rapahub_consumer_pop(consumer, &less, sizeof less, 0, &message),
                     RAPAHUB_EMSGSIZE);
    assert_int_equal(message.size, 8);
    assert_int_equal(message.producer, 3);
    fanin_stage_pop(consumer, 2, 0, 5);
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* ---- deaths ---- */

static void publish_two(struct rapahub_region *region)
{
    struct rapahub_producer *producer = NULL;
    uint64_t number = 20;

    if (fanin_stage_open(region, 1, &producer) < 0 ||
        rapahub_producer_push(producer, &number, sizeof number, 0) < 0)
        _exit(2);
    number++;
    if (rapahub_producer_push(producer, &number, sizeof number, 0) < 0)
        _exit(3);
}

/* Stopped: its role is its own, and everybody else goes on. Dead: what it published comes, and the
 * next producer of its index goes on where it ended. */
static void lose_a_producer(struct rapahub_region *region)
{
    struct rapahub_producer *other = fanin_stage_producer(region, 0), *producer = NULL;
    struct rapahub_consumer *consumer = stage_consumer(region);
    pid_t pid = stage_process(rapahub_region_fd(region), publish_two);
    siginfo_t info;

    kill(pid, SIGSTOP);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED), 0);
    assert_int_equal(fanin_stage_open(region, 1, &producer), RAPAHUB_EROLETAKEN);
    stage_push(other, 10);
    fanin_stage_pop(consumer, 0, 0, 10);
    stage_kill(pid);
    fanin_stage_pop(consumer, 1, 0, 20);
    producer = fanin_stage_producer(region, 1);
    for (uint64_t i = 2; i < FANIN_CELLS + 1; i++)
        stage_push(producer, 20 + i);
    for (uint64_t i = 1; i < FANIN_CELLS + 1; i++)
        fanin_stage_pop(consumer, 1, i, 20 + i);
    stage_empty(consumer);
    rapahub_producer_close(other);
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
}

/* r[verify region.fanin.apart] r[verify region.committed] r[verify region.resume] */
static void a_producer_that_is_stopped_or_dead_blocks_only_itself(void **state)
{
    (void)state;
    profiles(lose_a_producer);
}

/* r[verify region.lease] */
static void what_the_dead_held_is_taken_back(void **state)
{
    struct rapahub_region *region = create(RAPAHUB_REGION_HARDENED);
    const struct hub_region_header *header = hub_region_header(region);
    pid_t pid = stage_process(rapahub_region_fd(region), publish_two);
    struct hub_ring_view view = hub_region_ring_view(region->mapping.data, &region->shape, 1);

    (void)state;
    assert_int_not_equal(hub_observe(&view.ring->producer_lease), 0);
    stage_kill(pid);
    rapahub_producer_close(fanin_stage_producer(region, 0));
    assert_int_equal(hub_load_relaxed64(&header->reaped_total), 1);
    assert_int_equal(hub_observe(&view.ring->producer_lease), 0);
    assert_int_equal(rapahub_region_close(region), 0);
}

static void take_one(struct rapahub_region *region)
{
    struct rapahub_consumer *consumer;
    uint64_t number;

    if (rapahub_consumer_open(region, NULL, &consumer) < 0 ||
        rapahub_consumer_pop(consumer, &number, sizeof number, HUB_SECOND, NULL) < 0)
        _exit(2);
}

/* The child takes the message of producer 0. */
static void lose_the_consumer(struct rapahub_region *region)
{
    struct rapahub_producer *producers[] = {fanin_stage_producer(region, 0),
                                            fanin_stage_producer(region, 2)};
    bool hardened = region->shape.lease_count > 0;
    struct rapahub_consumer *consumer = NULL;
    uint64_t number = FANIN_CELLS;
    pid_t pid;

    stage_push(producers[0], 30);
    for (uint64_t i = 0; i < FANIN_CELLS; i++)
        stage_push(producers[1], i);
    pid = stage_process(rapahub_region_fd(region), take_one);
    assert_int_equal(rapahub_consumer_open(region, NULL, &consumer), RAPAHUB_EROLETAKEN);
    stage_kill(pid);
    assert_int_equal(rapahub_producer_push(producers[1], &number, sizeof number,
                                           hardened ? 60 * HUB_SECOND : HUB_MILLISECOND),
                     hardened ? RAPAHUB_EPEERDEAD : RAPAHUB_ETIMEDOUT);
    consumer = stage_consumer(region);
    stage_push(producers[0], 31);
    fanin_stage_pop(consumer, 0, 1, 31);
    for (uint64_t i = 0; i < FANIN_CELLS; i++)
        fanin_stage_pop(consumer, 2, i, i);
    stage_push(producers[1], number);
    fanin_stage_pop(consumer, 2, number, number);
    stage_empty(consumer);
    rapahub_producer_close(producers[0]);
    rapahub_producer_close(producers[1]);
    rapahub_consumer_close(consumer);
}

/* r[verify region.resume] r[verify region.peer.dead] */
static void the_next_consumer_goes_on_in_all_rings(void **state)
{
    (void)state;
    profiles(lose_the_consumer);
}

static void take_index_0(struct rapahub_region *region)
{
    struct rapahub_producer *producer;

    if (fanin_stage_open(region, 0, &producer) < 0)
        _exit(2);
}

/* r[verify region.peer.dead] */
static void only_the_death_of_the_only_producer_ends_a_wait(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 2; count++) {
        struct rapahub_region *region =
            fanin_stage_create(NULL, RAPAHUB_REGION_HARDENED, count, FANIN_CELLS);
        struct rapahub_consumer *consumer = stage_consumer(region);
        pid_t pid = stage_process(rapahub_region_fd(region), take_index_0);
        uint64_t number;

        stage_kill(pid);
        assert_int_equal(rapahub_consumer_pop(consumer, &number, sizeof number,
                                              count == 1 ? 60 * HUB_SECOND : 30 * HUB_MILLISECOND,
                                              NULL),
                         count == 1 ? RAPAHUB_EPEERDEAD : RAPAHUB_ETIMEDOUT);
        rapahub_consumer_close(consumer);
        assert_int_equal(rapahub_region_close(region), 0);
    }
}

/* ---- waits and looks ---- */

static void push_later(struct rapahub_region *region)
{
    struct rapahub_producer *producer = NULL;
    uint64_t number = 40;

    if (fanin_stage_open(region, 2, &producer) < 0)
        _exit(2);
    hub_clock_pause(20 * HUB_MILLISECOND);
    if (rapahub_producer_push(producer, &number, sizeof number, 0) < 0)
        _exit(3);
}

static bool is_readable(struct rapahub_consumer *consumer, int timeout_ms)
{
    struct pollfd fd = {.fd = rapahub_consumer_fd(consumer), .events = POLLIN};

    assert_true(fd.fd >= 0);
    return poll(&fd, 1, timeout_ms) == 1;
}

/* r[verify region.descriptor] r[verify region.fanin] */
static void a_descriptor_tells_of_each_ring(void **state)
{
    struct rapahub_region *region = create(RAPAHUB_REGION_HARDENED);
    struct rapahub_consumer *consumer = stage_consumer(region);
    pid_t pid;

    (void)state;
    stage_empty(consumer);
    assert_false(is_readable(consumer, 0));
    pid = stage_process(rapahub_region_fd(region), push_later);
    assert_true(is_readable(consumer, 60000));
    fanin_stage_pop(consumer, 2, 0, 40);
    stage_empty(consumer);
    assert_false(is_readable(consumer, 0));
    stage_kill(pid);
    pid = stage_process(rapahub_region_fd(region), push_later);
    assert_true(is_readable(consumer, 60000));
    fanin_stage_pop(consumer, 2, 1, 40);
    stage_kill(pid);
    rapahub_consumer_close(consumer);
    assert_int_equal(rapahub_region_close(region), 0);
}

static int take_ring(void *user, const struct rapahub_region_queue *ring)
{
    struct rapahub_region_queue *rings = user;

    assert_true(ring->index < FANIN_PRODUCERS);
    rings[ring->index] = *ring;
    return 0;
}

/* r[verify region.inspect] r[verify region.action] */
static void a_look_shows_each_ring_and_which_one_is_full(void **state)
{
    struct rapahub_region *region =
        fanin_stage_create(stage_name(), RAPAHUB_REGION_V1, FANIN_PRODUCERS, FANIN_CELLS);
    struct rapahub_producer *producers[] = {fanin_stage_producer(region, 0),
                                            fanin_stage_producer(region, 2)};
    struct rapahub_consumer *consumer = stage_consumer(region);
    struct rapahub_region_queue rings[FANIN_PRODUCERS];
    struct rapahub_region_report report;

    (void)state;
    stage_push(producers[0], 0);
    stage_push(producers[0], 1);
    fanin_stage_pop(consumer, 0, 0, 0);
    for (uint64_t i = 0; i < FANIN_CELLS; i++)
        stage_push(producers[1], i);
    assert_int_equal(rapahub_region_inspect(stage_name(), false, &report), 0);
    assert_int_equal(report.verdict, 0);
    assert_int_equal(report.kind, RAPAHUB_REGION_FANIN);
    assert_int_equal(report.producers, FANIN_PRODUCERS);
    assert_int_equal(report.head, 1);
    assert_int_equal(report.tail, 2 + FANIN_CELLS);
    assert_true(report.producer && report.consumer);
    assert_int_equal(report.full_queue, 2);
    assert_string_equal(report.action,
                        "the ring of producer 2 is full: drop, back off, or make it larger");
    assert_int_equal(rapahub_region_queues(stage_name(), false, take_ring, rings), 0);
    assert_true(rings[0].held && !rings[1].held && rings[2].held);
    assert_int_equal(rings[0].delivered, 1);
    assert_int_equal(rings[2].tail - rings[2].head, FANIN_CELLS);
    rapahub_consumer_close(consumer);
    assert_int_equal(rapahub_region_inspect(stage_name(), false, &report), 0);
    assert_string_equal(report.action, "the ring of producer 2 is full: start the consumer again");
    rapahub_producer_close(producers[0]);
    rapahub_producer_close(producers[1]);
    assert_int_equal(rapahub_region_close(region), 0);
    assert_int_equal(rapahub_region_renew(stage_name(), HUB_SECOND), 0);
    assert_int_equal(rapahub_region_inspect(stage_name(), false, &report), 0);
    assert_int_equal(report.tail, 0);
    assert_int_equal(report.producers, FANIN_PRODUCERS);
    assert_string_equal(report.action, "none");
    assert_int_equal(rapahub_region_remove(stage_name(), HUB_SECOND), 0);
}

/* Each has a lease of its own, and a role that this process remembers. */
static void the_most_producers_are_255(void **state)
{
    struct rapahub_region *region = fanin_stage_create(NULL, RAPAHUB_REGION_HARDENED, 255, 2);
    struct rapahub_consumer *consumer = stage_consumer(region);
    struct rapahub_producer *producers[255], *other = NULL;

    (void)state;
    for (uint32_t i = 0; i < 255; i++) {
        producers[i] = fanin_stage_producer(region, RAPAHUB_PRODUCER_ANY);
        stage_push(producers[i], i);
    }
    assert_int_equal(fanin_stage_open(region, 254, &other), RAPAHUB_EROLETAKEN);
    for (uint32_t i = 0; i < 255; i++)
        fanin_stage_pop(consumer, i, 0, i);
    stage_empty(consumer);
    for (uint32_t i = 0; i < 255; i++)
        rapahub_producer_close(producers[i]);
    rapahub_consumer_close(consumer);
    assert_int_equal(rapahub_region_close(region), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_producer_has_a_ring_of_its_own),
        cmocka_unit_test(a_ring_has_one_producer_at_a_time),
        cmocka_unit_test(a_busy_producer_keeps_nobody_from_being_heard),
        cmocka_unit_test(a_list_is_of_one_producer_and_no_longer_than_its_turn),
        cmocka_unit_test(a_message_that_does_not_fit_stays),
        cmocka_unit_test(a_producer_that_is_stopped_or_dead_blocks_only_itself),
        cmocka_unit_test(what_the_dead_held_is_taken_back),
        cmocka_unit_test(the_next_consumer_goes_on_in_all_rings),
        cmocka_unit_test(only_the_death_of_the_only_producer_ends_a_wait),
        cmocka_unit_test(a_descriptor_tells_of_each_ring),
        cmocka_unit_test(a_look_shows_each_ring_and_which_one_is_full),
        cmocka_unit_test(the_most_producers_are_255)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
