/* SPDX-License-Identifier: Apache-2.0 */
/* Producers, a router and consumers of a FANOUT region as threads, each with its own description:
 * for ThreadSanitizer, and for order. */
#include <pthread.h>

#include "tests/unit/bus/region_stage.h"

#define CELLS     16
#define PRODUCERS 2
#define CONSUMERS 3
#define MESSAGES  5000
#define WAIT      (60 * HUB_SECOND)

struct work {
    struct rapahub_region *region;
    uint64_t number;
    bool all;      /* the consumer gets each message */
    uint64_t left; /* of the router */
    int result;
    uint64_t got[PRODUCERS]; /* messages of each producer */
};

static struct hub_a64 taken; /* of a work queue, by all consumers */

static void *produce(void *user)
{
    struct work *work = user;
    struct rapahub_producer *producer;

    work->result = rapahub_producer_open(work->region, NULL, &producer);
    for (uint64_t i = 0; i < MESSAGES && work->result == 0; i++) {
        uint64_t words[3] = {work->number, i, work->number ^ i};

        work->result = rapahub_producer_push(producer, words, sizeof words, WAIT);
    }
    if (work->result == 0)
        rapahub_producer_close(producer);
    return NULL;
}

static void *route(void *user)
{
    struct work *work = user;
    struct rapahub_router *router;
    uint32_t count;

    work->result = rapahub_router_open(work->region, 0, &router);
    while (work->left > 0 && work->result == 0) {
        work->result = rapahub_router_run(router, 7, WAIT, &count);
        work->left -= count;
    }
    if (work->result == 0)
        rapahub_router_close(router);
    return NULL;
}

/* A router that has done its work counts as dead where there are no leases. Each producer's
 * messages come whole and in their order; of a broadcast without a gap. */
static void *consume(void *user)
{
    struct work *work = user;
    const struct rapahub_consumer_options options = {.index = (uint32_t)work->number};
    struct rapahub_consumer *consumer;
    uint64_t next[PRODUCERS] = {0}, words[3], left = PRODUCERS * MESSAGES;

    if (rapahub_consumer_open(work->region, &options, &consumer) < 0)
        return NULL;
    while (work->result == 0 && left > 0) {
        work->result = rapahub_consumer_pop(consumer, words, sizeof words, HUB_SECOND / 20, NULL);
        if (work->result == RAPAHUB_ETIMEDOUT || work->result == RAPAHUB_EPEERDEAD) {
            left = work->all || hub_observe64(&taken) < PRODUCERS * MESSAGES ? left : 0;
            work->result = 0;
            continue;
        }
        if (work->result < 0 || words[0] >= PRODUCERS || words[2] != (words[0] ^ words[1]) ||
            words[1] < next[words[0]] || (work->all && words[1] != next[words[0]]))
            break;
        next[words[0]] = words[1] + 1;
        work->got[words[0]]++;
        left--;
        (void)hub_add64(&taken, 1);
    }
    rapahub_consumer_close(consumer);
    return NULL;
}

static void join(pthread_t thread, struct work *work)
{
    pthread_join(thread, NULL);
    assert_int_equal(work->result, 0);
    assert_int_equal(rapahub_region_close(work->region), 0);
}

static struct rapahub_region *make(enum rapahub_region_mode mode,
                                   enum rapahub_region_profile profile)
{
    const struct rapahub_region_options options = {.kind = RAPAHUB_REGION_FANOUT,
                                                   .profile = profile,
                                                   .cells = CELLS,
                                                   .consumers = CONSUMERS,
                                                   .mode = mode,
                                                   .credit = RAPAHUB_REGION_PARK,
                                                   .credit_max = 5};
    struct rapahub_region *region = NULL;

    assert_int_equal(rapahub_region_create(NULL, &options, &region), 0);
    return region;
}

/* Messages that nobody subscribes to yet are not kept, so the consumers come first. */
static void wait_for_consumers(const struct rapahub_region *region)
{
    const uint8_t *first = region->mapping.data + region->shape.fanout.consumers_off;

    for (uint32_t i = 0; i < CONSUMERS; i++) {
        const struct hub_region_consumer *entry = (const void *)(first + i * sizeof *entry);

        while (!(hub_observe(&entry->flags) & HUB_CONSUMER_SUBSCRIBED))
            hub_clock_pause(HUB_MILLISECOND);
    }
}

static void run(enum rapahub_region_mode mode, enum rapahub_region_profile profile)
{
    struct rapahub_region *region = make(mode, profile);
    struct work works[CONSUMERS + PRODUCERS + 1];
    pthread_t threads[CONSUMERS + PRODUCERS + 1];
    uint64_t sums[PRODUCERS] = {0}, times = mode == RAPAHUB_REGION_WORK ? 1 : CONSUMERS;

    hub_publish64(&taken, 0);
    for (uint32_t i = 0; i < CONSUMERS + PRODUCERS + 1; i++) {
        void *(*what)(void *) = i < CONSUMERS ? consume : i == CONSUMERS ? route : produce;

        works[i] = (struct work){stage_again(region),
                                 i > CONSUMERS ? i - CONSUMERS - 1 : i,
                                 mode == RAPAHUB_REGION_BROADCAST,
                                 (uint64_t)PRODUCERS * MESSAGES,
                                 0,
                                 {0}};
        assert_int_equal(pthread_create(&threads[i], NULL, what, &works[i]), 0);
        if (i == CONSUMERS - 1)
            wait_for_consumers(region);
    }
    for (uint32_t i = CONSUMERS + PRODUCERS + 1; i-- > 0;)
        join(threads[i], &works[i]);
    for (uint32_t i = 0; i < CONSUMERS; i++)
        for (uint32_t p = 0; p < PRODUCERS; p++)
            sums[p] += works[i].got[p];
    for (uint32_t p = 0; p < PRODUCERS; p++)
        assert_int_equal(sums[p], times * MESSAGES);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify region.mode] r[verify region.wake] */
static void each_message_comes_to_whom_it_belongs(void **state)
{
    (void)state;
    for (int mode = RAPAHUB_REGION_BROADCAST; mode <= RAPAHUB_REGION_WORK; mode++)
        for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++)
            run((enum rapahub_region_mode)mode, (enum rapahub_region_profile)profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_message_comes_to_whom_it_belongs)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
