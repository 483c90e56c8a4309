/* SPDX-License-Identifier: Apache-2.0 */
/* Positions at length, each with its own description: producers claim in batches, two stages sum
 * side by side, a third one checks both sums, and stages join and leave meanwhile. Each position
 * comes once to each stage, in order, whole. For ThreadSanitizer, and for order.
 *
 * 10^6 positions in all, a quarter for one and many producers in each profile; with --long 10^7 for
 * each. */
#include <pthread.h>

#include "tests/unit/bus/sequencer_stage.h"

#define PRODUCERS 2
#define RING      256
#define LONGEST   (60 * HUB_SECOND)

#ifdef __SANITIZE_THREAD__
#define FEWER 50
#elif defined(__SANITIZE_ADDRESS__)
#define FEWER 10
#else
#define FEWER 1
#endif

static uint64_t positions = 250000 / FEWER;

struct place { /* the bytes of a position */
    uint64_t number, sum, product, spare;
};

struct part {
    struct rapahub_region *region;
    uint32_t index;
    uint64_t from, to; /* producers: what they put in all */
    unsigned wrong;
    uint64_t done;
};

static struct place *place_of(const struct part *part, uint64_t position)
{
    return rapahub_region_user(part->region, position);
}

static void *produce(void *user)
{
    struct part *part = user;
    struct rapahub_producer *producer;
    uint64_t position;

    if (rapahub_producer_open(part->region, NULL, &producer) < 0)
        return NULL;
    while (part->from < part->to) {
        uint32_t count = 1 + (uint32_t)(part->from % 7);

        if (count > part->to - part->from)
            count = (uint32_t)(part->to - part->from);
        if (rapahub_producer_claim(producer, count, LONGEST, &position) < 0)
            break;
        for (uint64_t i = position; i < position + count; i++)
            *place_of(part, i) = (struct place){.number = i ^ 0x9E3779B97F4A7C15};
        if (rapahub_producer_publish(producer, position, count) < 0)
            break;
        part->from += count;
    }
    part->wrong += part->from != part->to;
    rapahub_producer_close(producer);
    return NULL;
}

static unsigned work(struct part *part, uint64_t position)
{
    struct place *place = place_of(part, position);
    uint64_t number = position ^ 0x9E3779B97F4A7C15;

    if (part->index == 0)
        place->sum = place->number + 1;
    if (part->index == 1)
        place->product = place->number * 3;
    return place->number != number ||
           (part->index == 2 && (place->sum != number + 1 || place->product != number * 3));
}

static void *run_stage(void *user)
{
    struct part *part = user;
    struct rapahub_stage *stage;
    uint64_t first;
    uint32_t count;

    if (sequencer_open(part->region, part->index, &stage) < 0)
        return NULL;
    while (part->done < positions) {
        if (rapahub_stage_next(stage, LONGEST, &first, &count) < 0)
            break;
        part->wrong += first != part->done;
        for (uint64_t i = first; i < first + count; i++)
            part->wrong += work(part, i);
        if (rapahub_stage_advance(stage, count) < 0)
            break;
        part->done += count;
    }
    rapahub_stage_close(stage);
    return NULL;
}

/* Comes and goes: it gets positions in order, and holds nobody for long. Where all were claimed
 * while it was away there are no more for it. */
static void *visit(void *user)
{
    struct part *part = user;
    const struct hub_sequencer_view *view = &part->region->sequencer;
    uint64_t first, last = 0;
    struct rapahub_stage *stage;
    uint32_t count;

    while (hub_sequencer_view_claims(view) + RING < positions &&
           sequencer_open(part->region, part->index, &stage) == 0) {
        for (int i = 0; i < 20 && rapahub_stage_next(stage, HUB_MILLISECOND, &first, &count) == 0;
             i++) {
            part->wrong += first < last;
            for (uint64_t j = first; j < first + count; j++)
                part->wrong += work(part, j);
            last = first + count;
            part->done += count;
            part->wrong += rapahub_stage_advance(stage, count) != 0;
        }
        rapahub_stage_close(stage);
    }
    return NULL;
}

static struct rapahub_region *make(enum rapahub_region_profile profile, bool shared)
{
    static const struct rapahub_region_stage list[] = {
        {.after = 0}, {.after = 0}, {.after = 3}, {0}};
    const struct rapahub_region_options options = {.kind = RAPAHUB_REGION_SEQUENCER,
                                                   .profile = profile,
                                                   .producers = shared ? 2 : 1,
                                                   .ring_size = RING,
                                                   .user_bytes = sizeof(struct place),
                                                   .stages = 4,
                                                   .stage_list = list};
    struct rapahub_region *region = NULL;

    assert_int_equal(rapahub_region_create(NULL, &options, &region), 0);
    return region;
}

/* The stages are in before the first claim, so that they get all. */
static void wait_for_stages(const struct rapahub_region *region)
{
    for (uint32_t i = 0; i < 3; i++)
        while (hub_observe(&region->sequencer.gates[i].state) != HUB_STAGE_GATING)
            hub_clock_pause(HUB_MILLISECOND);
}

static void run(enum rapahub_region_profile profile, bool shared)
{
    struct rapahub_region *region = make(profile, shared);
    uint32_t producers = shared ? PRODUCERS : 1;
    struct part parts[4 + PRODUCERS] = {0};
    pthread_t threads[4 + PRODUCERS];

    for (uint32_t i = 0; i < 4 + producers; i++) {
        parts[i] =
            (struct part){.region = stage_again(region), .index = i, .to = positions / producers};
        if (i == 4)
            wait_for_stages(region);
        assert_int_equal(pthread_create(&threads[i], NULL,
                                        i < 3    ? run_stage
                                        : i == 3 ? visit
                                                 : produce,
                                        &parts[i]),
                         0);
    }
    for (uint32_t i = 0; i < 4 + producers; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(parts[i].wrong, 0);
        assert_int_equal(rapahub_region_close(parts[i].region), 0);
    }
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(parts[i].done, positions);
    printf("%u producers, %s: %lu positions through 3 stages, wrong 0; a visitor had %lu\n",
           producers, profile ? "hardened" : "v1", (unsigned long)positions,
           (unsigned long)parts[3].done);
    assert_int_equal(rapahub_region_close(region), 0);
}

/* r[verify region.sequencer.claim] r[verify region.stage.after] r[verify region.stage.join]
 * r[verify region.stage.wrap] */
static void each_position_comes_once_to_each_stage(void **state)
{
    (void)state;
    for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++)
        for (int shared = 0; shared < 2; shared++)
            run((enum rapahub_region_profile)profile, shared);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_position_comes_once_to_each_stage)};

    if (argc > 1 && strcmp(argv[1], "--long") == 0)
        positions = 10000000;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
