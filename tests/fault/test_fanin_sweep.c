/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL, SIGSTOP, and SIGSTOP with SIGKILL after each instruction of what producers and the
 * consumer of a FANIN region do, in both profiles. Nothing is claimed there, so also in the profile
 * v1 no message is lost or doubled but the one in flight, and nobody else is held up; nothing is
 * taken from one that is stopped, and the capacity of each ring is whole after. Of what is long one
 * in so many instructions is looked at; all of them with --every. */
#include <stdio.h>
#include <string.h>

#include "hub/base/clock.h"
#include "hub/bus/fanin.h"
#include "hub/bus/reap.h"
#include "tests/fault/region_sweep_stage.h"
#include "tests/support/testing.h"

#define PRODUCERS 2
#define MESSAGES  3

static const enum sweep_mode modes[] = {SWEEP_KILL, SWEEP_STOP, SWEEP_STOP_KILL};
static const char *const mode_names[] = {"kill", "stop", "stop, kill"};

struct in_sweep {
    struct region_sweep base;
    struct rapahub_producer *producers[PRODUCERS];
    unsigned seen[PRODUCERS][MESSAGES + 1]; /* by number, from 1 on */
    unsigned last[PRODUCERS];
};

struct operation {
    const char *name;
    int (*setup)(void *user);
    void (*operate)(void *user);
    int (*check)(void *user, struct sweep_point *point);
    uint32_t stride; /* one in so many instructions is looked at; a prime */
};

static bool every; /* one of its instructions */

static int open_producer(struct rapahub_region *region, uint32_t index,
                         struct rapahub_producer **out)
{
    const struct rapahub_producer_options options = {.index = index};

    return *out ? 0 : rapahub_producer_open(region, &options, out);
}

static int push(struct rapahub_producer *producer, uint32_t index, uint64_t number)
{
    uint64_t words[2] = {index, number};

    return rapahub_producer_push(producer, words, sizeof words, 0);
}

static void begin(struct in_sweep *stage)
{
    region_sweep_stage_begin(&stage->base);
    memset(stage->producers, 0, sizeof stage->producers);
    memset(stage->seen, 0, sizeof stage->seen);
    memset(stage->last, 0, sizeof stage->last);
}

static void tear_down(void *user)
{
    struct in_sweep *stage = user;

    region_sweep_stage_let_go(&stage->base);
    for (uint32_t i = 0; i < PRODUCERS; i++)
        rapahub_producer_close(stage->producers[i]);
    region_sweep_stage_end(&stage->base);
}

static int take_over(struct in_sweep *stage)
{
    int r = 0;

    for (uint32_t i = 0; i < PRODUCERS && r == 0; i++)
        r = open_producer(stage->base.survivor, i, &stage->producers[i]);
    if (r == 0 && !stage->base.consumer)
        r = rapahub_consumer_open(stage->base.survivor, NULL, &stage->base.consumer);
    return r;
}

/* The messages of each producer come in their order. */
static int drain(struct in_sweep *stage, struct sweep_point *point)
{
    struct rapahub_message message;
    uint64_t words[2];
    int r;

    while ((r = rapahub_consumer_pop(stage->base.consumer, words, sizeof words, 0, &message)) ==
           0) {
        if (message.size != sizeof words || words[0] >= PRODUCERS || words[1] < 1 ||
            words[1] > MESSAGES || message.producer != words[0] + 1 ||
            words[1] <= stage->last[words[0]])
            return sweep_fail(point, "message %u of %u, after %u", (unsigned)words[1],
                              message.producer, stage->last[words[0] % PRODUCERS]);
        stage->last[words[0]] = (unsigned)words[1];
        stage->seen[words[0]][words[1]]++;
        stage->base.skipped += message.skipped;
    }
    return r == RAPAHUB_EEMPTY && stage->base.skipped == 0
               ? 0
               : sweep_fail(point, "code %d, %u skipped", r, (unsigned)stage->base.skipped);
}

/* Two laps of each ring at full capacity, side by side. */
static int use_ring(struct in_sweep *stage, struct sweep_point *point, uint32_t index)
{
    struct rapahub_message message;
    uint64_t number;

    for (uint64_t i = 0; i < REGION_SWEEP_CELLS; i++)
        if (rapahub_producer_push(stage->producers[index], &i, sizeof i, 0) < 0)
            return sweep_fail(point, "ring %u refuses message %u", index, (unsigned)i);
    number = 9;
    if (rapahub_producer_push(stage->producers[index], &number, sizeof number, 0) != RAPAHUB_EFULL)
        return sweep_fail(point, "ring %u holds more than its cells", index);
    for (uint64_t i = 0; i < REGION_SWEEP_CELLS; i++)
        if (rapahub_consumer_pop(stage->base.consumer, &number, sizeof number, 0, &message) < 0 ||
            number != i || message.producer != index + 1)
            return sweep_fail(point, "message %u of ring %u does not come", (unsigned)i, index);
    return 0;
}

static int use_all(struct in_sweep *stage, struct sweep_point *point)
{
    int r = 0;

    for (uint32_t i = 0; i < 2 * PRODUCERS && r == 0; i++)
        r = use_ring(stage, point, i % PRODUCERS);
    return r;
}

/* ---- publish ---- */

static int set_up_publish(void *user)
{
    struct in_sweep *stage = user;

    begin(stage);
    stage->base.pushed_b = false;
    if (open_producer(stage->base.victim, 0, &stage->base.victim_producer) < 0 ||
        open_producer(stage->base.survivor, 1, &stage->producers[1]) < 0)
        return -1;
    return rapahub_consumer_open(stage->base.survivor, NULL, &stage->base.consumer);
}

static void publish(void *user)
{
    struct in_sweep *stage = user;

    stage->base.told->result = push(stage->base.victim_producer, 0, 1) == 0 ? 1 : -1;
}

/* Whatever the victim is at, the other producer publishes, and is heard. */
static int use_other(struct in_sweep *stage, struct sweep_point *point)
{
    if (!stage->base.pushed_b && push(stage->producers[1], 1, 1) < 0)
        return sweep_fail(point, "another producer cannot publish");
    stage->base.pushed_b = true;
    if (drain(stage, point) < 0)
        return -1;
    return stage->seen[1][1] == 1 ? 0 : sweep_fail(point, "another producer is not heard");
}

static int check_publish(void *user, struct sweep_point *point)
{
    struct in_sweep *stage = user;
    struct rapahub_producer *second = NULL;
    unsigned first;

    region_sweep_stage_let_go(&stage->base);
    if (point->stopped)
        return open_producer(stage->base.survivor, 0, &second) == RAPAHUB_EROLETAKEN
                   ? use_other(stage, point)
                   : sweep_fail(point, "a stopped producer loses its role");
    if (take_over(stage) < 0 || push(stage->producers[0], 0, 2) < 0)
        return sweep_fail(point, "nobody can take over: %s", rapahub_last_error()->text);
    if (use_other(stage, point) < 0)
        return -1;
    first = stage->seen[0][1];
    if (stage->seen[0][2] != 1 || first > 1 || (point->finished && first != 1))
        return sweep_fail(point, "%u of the victim, %u of its successor", first, stage->seen[0][2]);
    stage->base.skips += first == 0;
    return use_all(stage, point);
}

/* ---- consume ---- */

static int set_up_consume(void *user)
{
    struct in_sweep *stage = user;

    begin(stage);
    if (rapahub_consumer_open(stage->base.victim, NULL, &stage->base.victim_consumer) < 0)
        return -1;
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        if (open_producer(stage->base.survivor, i, &stage->producers[i]) < 0)
            return -1;
        for (uint64_t m = 1; m <= MESSAGES; m++)
            if (push(stage->producers[i], i, m) < 0)
                return -1;
    }
    return 0;
}

static void pop(void *user)
{
    struct in_sweep *stage = user;
    uint64_t words[2];

    if (rapahub_consumer_pop(stage->base.victim_consumer, words, sizeof words, 0, NULL) == 0)
        stage->base.told->taken = words[1];
}

/* The work is done between peek and done. */
static void peek_and_done(void *user)
{
    struct in_sweep *stage = user;
    struct rapahub_message message;
    size_t count;

    if (rapahub_consumer_peek(stage->base.victim_consumer, &message, 1, 0, &count) < 0)
        return;
    memcpy(&stage->base.told->taken, (const uint8_t *)message.data + 8, 8);
    stage->base.told->result = rapahub_consumer_done(stage->base.victim_consumer, 1) == 0 ? 1 : -1;
}

/* All messages come once to the next consumer, but for the first one of producer 0. */
static int check_rest(struct in_sweep *stage, struct sweep_point *point)
{
    for (uint32_t i = 0; i < PRODUCERS; i++)
        for (unsigned m = 1; m <= MESSAGES; m++)
            if (stage->seen[i][m] != 1 && (i > 0 || m > 1))
                return sweep_fail(point, "message %u of %u comes %u times", m, i,
                                  stage->seen[i][m]);
    return use_all(stage, point);
}

static int check_consume(struct in_sweep *stage, struct sweep_point *point, bool work_first)
{
    struct rapahub_consumer *second = NULL;
    bool worked;

    region_sweep_stage_let_go(&stage->base);
    if (point->stopped)
        return rapahub_consumer_open(stage->base.survivor, NULL, &second) == RAPAHUB_EROLETAKEN
                   ? 0
                   : sweep_fail(point, "a stopped consumer loses its role");
    if (take_over(stage) < 0)
        return sweep_fail(point, "nobody can take over: %s", rapahub_last_error()->text);
    if (drain(stage, point) < 0)
        return -1;
    worked = stage->base.told->taken == 1;
    if (point->finished && (!worked || stage->seen[0][1] > 0))
        return sweep_fail(point, "a message that was taken comes again");
    if (work_first && !worked && stage->seen[0][1] == 0)
        return sweep_fail(point, "a message is skipped that was not worked on");
    stage->base.skips += !worked && stage->seen[0][1] == 0;
    return check_rest(stage, point);
}

static int check_pop(void *user, struct sweep_point *point)
{
    return check_consume(user, point, false);
}

static int check_done(void *user, struct sweep_point *point)
{
    return check_consume(user, point, true);
}

/* ---- openings, and an end ---- */

static int set_up_none(void *user)
{
    begin(user);
    return 0;
}

static void open_any(void *user)
{
    struct in_sweep *stage = user;
    const struct rapahub_producer_options options = {.index = RAPAHUB_PRODUCER_ANY};

    (void)!rapahub_producer_open(stage->base.victim, &options, &stage->base.victim_producer);
}

static void open_consumer(void *user)
{
    struct in_sweep *stage = user;

    (void)!rapahub_consumer_open(stage->base.victim, NULL, &stage->base.victim_consumer);
}

static int set_up_close(void *user)
{
    struct in_sweep *stage = user;

    begin(stage);
    return open_producer(stage->base.victim, 1, &stage->base.victim_producer);
}

static void close_producer(void *user)
{
    struct in_sweep *stage = user;

    rapahub_producer_close(stage->base.victim_producer);
}

/* All roles and all leases are to be had. */
static int check_roles(void *user, struct sweep_point *point)
{
    struct in_sweep *stage = user;
    struct rapahub_region *region = stage->base.survivor;
    uint32_t held = 0;

    region_sweep_stage_let_go(&stage->base);
    if (point->stopped)
        return 0;
    if (take_over(stage) < 0)
        return sweep_fail(point, "nobody can take over: %s", rapahub_last_error()->text);
    for (uint32_t i = 0; i < region->shape.lease_count; i++)
        held += hub_region_lease_state(hub_observe64(&hub_region_lease_at(region, i)->owner)) !=
                HUB_LEASE_FREE;
    if (region->shape.lease_count > 0 && held != PRODUCERS + 1)
        return sweep_fail(point, "%u leases are held", held);
    return use_all(stage, point);
}

/* ---- reap ---- */

/* Leases whose bytes are not locked: a producer and the consumer that are dead. */
static int set_up_reap(void *user)
{
    struct in_sweep *stage = user;
    struct rapahub_region *region;

    begin(stage);
    region = stage->base.survivor;
    if (stage->base.profile == RAPAHUB_REGION_V1)
        return 0;
    hub_publish64(&hub_region_lease_at(region, 2)->owner,
                  UINT64_C(1) << 32 | HUB_LEASE_PRODUCER << 8 | HUB_LEASE_HELD);
    hub_publish64(&hub_region_lease_at(region, 3)->owner,
                  UINT64_C(1) << 32 | HUB_LEASE_CONSUMER << 8 | HUB_LEASE_HELD);
    hub_publish(&hub_region_ring_view(region->mapping.data, &region->shape, 1).ring->producer_lease,
                3);
    hub_publish(&hub_fanin_body(region)->consumer_lease, 4);
    return 0;
}

static void reap(void *user)
{
    struct in_sweep *stage = user;

    (void)hub_reap_try(stage->base.victim);
}

static int check_reap(void *user, struct sweep_point *point)
{
    struct in_sweep *stage = user;
    struct rapahub_region *region = stage->base.survivor;
    struct hub_ring_view view = hub_region_ring_view(region->mapping.data, &region->shape, 1);

    region_sweep_stage_let_go(&stage->base);
    if (point->stopped)
        return 0;
    (void)hub_reap_try(region);
    if (hub_observe(&view.ring->producer_lease) != 0 ||
        hub_observe(&hub_fanin_body(region)->consumer_lease) != 0)
        return sweep_fail(point, "what the dead held is not free");
    return check_roles(stage, point);
}

/* ---- all of them ---- */

static const struct operation operations[] = {
    {"publish", set_up_publish, publish, check_publish, 1},
    {"pop", set_up_consume, pop, check_pop, 1},
    {"peek, done", set_up_consume, peek_and_done, check_done, 1},
    {"open any", set_up_none, open_any, check_roles, 31},
    {"consumer", set_up_none, open_consumer, check_roles, 37},
    {"close", set_up_close, close_producer, check_roles, 17},
    {"reap", set_up_reap, reap, check_reap, 11}};

static void run(const struct operation *operation, struct in_sweep *stage, unsigned mode)
{
    const struct sweep sweep = {.setup = operation->setup,
                                .operation = operation->operate,
                                .check = operation->check,
                                .teardown = tear_down,
                                .user = stage,
                                .mode = modes[mode],
                                .stride = every ? 1 : operation->stride};
    const char *profile = stage->base.profile == RAPAHUB_REGION_V1 ? "v1" : "hardened";
    struct sweep_result result;
    int r = sweep_run(&sweep, &result);

    printf("%-10s | %-8s | %-10s | points %5u of %5u | failures %u | in flight %u\n",
           operation->name, profile, mode_names[mode], (unsigned)result.points,
           (unsigned)result.steps, (unsigned)result.failures, (unsigned)stage->base.skips);
    if (r < 0 || result.failures > 0)
        fail_msg("%s, step %u: %s", operation->name, (unsigned)result.first_failure, result.text);
    assert_true(result.complete && result.points > 10);
}

/* r[verify region.fanin.apart] r[verify region.in-flight] r[verify region.committed] r[verify
 * region.resume] r[verify region.lease] r[verify region.ack] r[verify region.role] */
static void a_death_or_a_stop_anywhere_harms_nobody(void **state)
{
    (void)state;
    for (size_t o = 0; o < sizeof operations / sizeof *operations; o++)
        for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++)
            for (unsigned mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
                struct in_sweep stage = {.base = {.kind = RAPAHUB_REGION_FANIN,
                                                  .profile = (enum rapahub_region_profile)profile}};

                run(&operations[o], &stage, mode);
            }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_death_or_a_stop_anywhere_harms_nobody)};

    if (argc > 1 && strcmp(argv[1], "--every") == 0)
        every = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
