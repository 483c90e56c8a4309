/* SPDX-License-Identifier: Apache-2.0 */
/* All roles as threads, each with its own description: for ThreadSanitizer, and for order. */
#include <pthread.h>

#include "tests/unit/bus/region_stage.h"

#define CELLS     16
#define PRODUCERS 3
#define MESSAGES  20000

struct work {
    struct rapahub_region *region;
    uint64_t number;
    bool fanin;
    int result;
};

static void *produce(void *user)
{
    struct work *work = user;
    const struct rapahub_producer_options options = {.index =
                                                         work->fanin ? (uint32_t)work->number : 0};
    struct rapahub_producer *producer;

    work->result = rapahub_producer_open(work->region, &options, &producer);
    for (uint64_t i = 0; i < MESSAGES && work->result == 0; i++) {
        uint64_t words[3] = {work->number, i, work->number ^ i};

        work->result = rapahub_producer_push(producer, words, sizeof words, 60 * HUB_SECOND);
    }
    if (work->result == 0)
        rapahub_producer_close(producer);
    return NULL;
}

/* Each producer's messages come in their order, whole, and in the order of positions, which FANIN
 * has for each producer. */
static void consume(struct rapahub_consumer *consumer, uint64_t producers, bool fanin)
{
    uint64_t next[PRODUCERS] = {0};

    for (uint64_t i = 0; i < producers * MESSAGES; i++) {
        struct rapahub_message message;
        uint64_t words[3];

        assert_int_equal(
            rapahub_consumer_pop(consumer, words, sizeof words, 60 * HUB_SECOND, &message), 0);
        assert_true(words[0] < producers);
        assert_int_equal(message.position, fanin ? next[words[0]] : i);
        assert_int_equal(message.skipped, 0);
        if (fanin)
            assert_int_equal(message.producer, words[0] + 1);
        assert_int_equal(words[1], next[words[0]]++);
        assert_int_equal(words[2], words[0] ^ words[1]);
    }
}

static void run(enum rapahub_region_kind kind, enum rapahub_region_profile profile)
{
    bool fanin = kind == RAPAHUB_REGION_FANIN;
    const struct rapahub_region_options options = {
        .kind = kind, .profile = profile, .cells = CELLS, .producers = fanin ? PRODUCERS : 0};
    struct rapahub_region *region = NULL;
    struct rapahub_consumer *consumer;
    uint64_t producers = kind == RAPAHUB_REGION_SPSC ? 1 : PRODUCERS;
    struct work works[PRODUCERS];
    pthread_t threads[PRODUCERS];

    assert_int_equal(rapahub_region_create(NULL, &options, &region), 0);
    consumer = stage_consumer(region);
    for (uint64_t i = 0; i < producers; i++) {
        works[i] = (struct work){stage_again(region), i, fanin, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &works[i]), 0);
    }
    consume(consumer, producers, fanin);
    for (uint64_t i = 0; i < producers; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(works[i].result, 0);
        assert_int_equal(rapahub_region_close(works[i].region), 0);
    }
    stage_empty(consumer);
    rapahub_consumer_close(consumer);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify region.fifo] r[verify region.order.claim] r[verify region.wake] r[verify region.fanin]
 */
static void each_message_comes_once_whole_and_in_its_order(void **state)
{
    static const enum rapahub_region_kind kinds[] = {RAPAHUB_REGION_SPSC, RAPAHUB_REGION_MPSC,
                                                     RAPAHUB_REGION_FANIN};

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++)
            run(kinds[i], (enum rapahub_region_profile)profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_message_comes_once_whole_and_in_its_order)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
