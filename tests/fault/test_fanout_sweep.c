/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL, SIGSTOP, and SIGSTOP with SIGKILL after each instruction of what a router and consumers
 * of a FANOUT region do, in both profiles and modes. In the hardened profile each message comes to
 * whom it belongs once, wherever a router dies; in the profile v1 the one that it was at may come
 * twice. Nobody else is held up, nothing is taken from one that is stopped, and the capacity is
 * whole after. One in so many instructions is looked at; all of them with --every. */
#include <stdio.h>
#include <string.h>

#include "hub/base/clock.h"
#include "hub/bus/fanout_queue.h"
#include "hub/bus/reap.h"
#include "tests/fault/region_sweep_stage.h"
#include "tests/support/testing.h"

#define CONSUMERS 2
#define MESSAGES  3

static const enum sweep_mode modes[] = {SWEEP_KILL, SWEEP_STOP, SWEEP_STOP_KILL};
static const char *const mode_names[] = {"kill", "stop", "stop, kill"};

struct fan_sweep {
    struct region_sweep base;
    struct rapahub_router *victim_router, *router;
    struct rapahub_consumer *consumers[CONSUMERS];
    unsigned seen[CONSUMERS][MESSAGES + 1];
    uint64_t doubled; /* sum over all points */
};

struct operation {
    const char *name;
    int (*setup)(void *user);
    void (*operate)(void *user);
    int (*check)(void *user, struct sweep_point *point);
    uint32_t stride; /* one in so many instructions is looked at; a prime */
};

static bool every; /* one of its instructions */

static bool is_work(const struct fan_sweep *stage)
{
    return stage->base.mode == RAPAHUB_REGION_WORK;
}

static int open_consumer(struct fan_sweep *stage, uint32_t index)
{
    const struct rapahub_consumer_options options = {.index = index};

    return stage->consumers[index]
               ? 0
               : rapahub_consumer_open(stage->base.survivor, &options, &stage->consumers[index]);
}

/* The source has its messages; the survivor has a producer and all consumers but `but`. */
static int begin(struct fan_sweep *stage, uint32_t but)
{
    int r;

    region_sweep_stage_begin(&stage->base);
    memset(stage->seen, 0, sizeof stage->seen);
    memset(stage->consumers, 0, sizeof stage->consumers);
    stage->victim_router = stage->router = NULL;
    r = rapahub_producer_open(stage->base.survivor, NULL, &stage->base.producer);
    for (uint32_t i = 0; i < CONSUMERS && r == 0; i++)
        r = i == but ? 0 : open_consumer(stage, i);
    for (uint64_t i = 1; i <= MESSAGES && r == 0; i++)
        r = rapahub_producer_push(stage->base.producer, &i, sizeof i, 0);
    return r;
}

static void tear_down(void *user)
{
    struct fan_sweep *stage = user;

    region_sweep_stage_let_go(&stage->base);
    rapahub_router_close(stage->victim_router);
    rapahub_router_close(stage->router);
    for (uint32_t i = 0; i < CONSUMERS; i++)
        rapahub_consumer_close(stage->consumers[i]);
    region_sweep_stage_end(&stage->base);
}

static int take_over(struct fan_sweep *stage)
{
    int r = stage->router ? 0 : rapahub_router_open(stage->base.survivor, 0, &stage->router);

    for (uint32_t i = 0; i < CONSUMERS && r == 0; i++)
        r = open_consumer(stage, i);
    return r;
}

static int route_all(struct fan_sweep *stage)
{
    uint32_t count;
    int r;

    do
        r = rapahub_router_run(stage->router, 64, 0, &count);
    while (r == 0);
    return r;
}

static int drain(struct fan_sweep *stage, struct sweep_point *point)
{
    for (uint32_t i = 0; i < CONSUMERS; i++) {
        uint64_t number, last = 0;
        int r;

        while ((r = rapahub_consumer_pop(stage->consumers[i], &number, sizeof number, 0, NULL)) ==
               0) {
            if (number < 1 || number > MESSAGES || number < last)
                return sweep_fail(point, "consumer %u gets %u behind %u", i, (unsigned)number,
                                  (unsigned)last);
            stage->seen[i][number]++;
            last = number;
        }
        if (r != RAPAHUB_EEMPTY)
            return sweep_fail(point, "consumer %u gets code %d", i, r);
    }
    return 0;
}

/* `twice`: the message that may come twice in the profile v1; 0: none. `lost`: a consumer that need
 * not have all. */
static int check_seen(struct fan_sweep *stage, struct sweep_point *point, unsigned twice,
                      uint32_t lost)
{
    for (unsigned m = 1; m <= MESSAGES; m++) {
        unsigned all = 0, most = twice == m && stage->base.profile == RAPAHUB_REGION_V1 ? 2 : 1;

        for (uint32_t i = 0; i < CONSUMERS; i++) {
            unsigned n = stage->seen[i][m];

            all += n;
            if (n > most || (!is_work(stage) && n < 1 && i != lost))
                return sweep_fail(point, "message %u comes %u times to consumer %u", m, n, i);
            stage->doubled += !is_work(stage) && n == 2;
        }
        if (is_work(stage) && (all < 1 || all > most))
            return sweep_fail(point, "message %u comes %u times", m, all);
        stage->doubled += is_work(stage) && all == 2;
    }
    return 0;
}

/* Two laps at full capacity, after which all of it is empty. */
static int use_all(struct fan_sweep *stage, struct sweep_point *point)
{
    uint64_t number, got;

    for (number = 0; number < 2 * REGION_SWEEP_CELLS; number++) {
        if (rapahub_producer_push(stage->base.producer, &number, sizeof number, 0) < 0)
            return sweep_fail(point, "message %u of two laps is refused", (unsigned)number);
        if (number % REGION_SWEEP_CELLS < REGION_SWEEP_CELLS - 1)
            continue;
        if (route_all(stage) != RAPAHUB_EEMPTY)
            return sweep_fail(point, "two laps are not routed");
        for (uint32_t i = 0; i < CONSUMERS; i++) {
            unsigned count = 0;

            while (rapahub_consumer_pop(stage->consumers[i], &got, sizeof got, 0, NULL) == 0)
                count++;
            if (count != REGION_SWEEP_CELLS / (is_work(stage) ? CONSUMERS : 1))
                return sweep_fail(point, "consumer %u gets %u in a lap", i, count);
        }
    }
    return 0;
}

static int check_all(struct fan_sweep *stage, struct sweep_point *point, unsigned twice,
                     uint32_t lost)
{
    int r;

    if (take_over(stage) < 0)
        return sweep_fail(point, "nobody can take over: %s", rapahub_last_error()->text);
    r = route_all(stage);
    if (r != RAPAHUB_EEMPTY)
        return sweep_fail(point, "the next router gets %d", r);
    r = drain(stage, point);
    if (r == 0)
        r = check_seen(stage, point, twice, lost);
    return r == 0 ? use_all(stage, point) : r;
}

/* ---- route ---- */

static int set_up_route(void *user)
{
    struct fan_sweep *stage = user;

    if (begin(stage, CONSUMERS) < 0)
        return -1;
    return rapahub_router_open(stage->base.victim, 0, &stage->victim_router);
}

static void route(void *user)
{
    struct fan_sweep *stage = user;
    uint32_t count;

    stage->base.told->result =
        rapahub_router_run(stage->victim_router, 1, 0, &count) == 0 && count == 1 ? 1 : -1;
}

static int check_route(void *user, struct sweep_point *point)
{
    struct fan_sweep *stage = user;
    struct rapahub_router *rival = NULL;

    region_sweep_stage_let_go(&stage->base);
    if (point->stopped)
        return rapahub_router_open(stage->base.survivor, 0, &rival) == RAPAHUB_EROLETAKEN
                   ? 0
                   : sweep_fail(point, "a stopped router loses its role");
    if (point->finished && stage->base.told->result != 1)
        return sweep_fail(point, "the router does not route");
    return check_all(stage, point, point->finished ? 0 : 1, CONSUMERS);
}

/* ---- follow a router that died in the middle ---- */

static int set_up_follow(void *user)
{
    struct fan_sweep *stage = user;
    const uint64_t one = 1;
    const struct rapahub_message message = {.data = &one, .size = sizeof one};
    struct hub_fanout_queue queue;

    if (begin(stage, CONSUMERS) < 0)
        return -1;
    if (stage->base.profile == RAPAHUB_REGION_V1)
        return 0; /* there a router cannot know */
    if (hub_fanout_queue_resume(&queue, stage->base.survivor, 1, 0) < 0)
        return -1;
    return hub_fanout_queue_push(&queue, &message);
}

static void follow(void *user)
{
    struct fan_sweep *stage = user;
    uint32_t count;

    if (rapahub_router_open(stage->base.victim, 0, &stage->victim_router) == 0)
        stage->base.told->result = rapahub_router_run(stage->victim_router, 1, 0, &count);
}

static int check_follow(void *user, struct sweep_point *point)
{
    struct fan_sweep *stage = user;

    region_sweep_stage_let_go(&stage->base);
    if (point->stopped)
        return 0;
    return check_all(stage, point, point->finished ? 0 : 1, CONSUMERS);
}

/* ---- consumers come, go, and are detached ---- */

static int set_up_without_last(void *user)
{
    return begin(user, CONSUMERS - 1);
}

static void subscribe(void *user)
{
    struct fan_sweep *stage = user;
    const struct rapahub_consumer_options options = {.index = CONSUMERS - 1};

    stage->base.told->result =
        rapahub_consumer_open(stage->base.victim, &options, &stage->base.victim_consumer);
}

static int set_up_leave(void *user)
{
    struct fan_sweep *stage = user;

    if (begin(stage, CONSUMERS - 1) < 0)
        return -1;
    subscribe(stage);
    return stage->base.victim_consumer ? 0 : -1;
}

static void leave(void *user)
{
    struct fan_sweep *stage = user;

    rapahub_consumer_close(stage->base.victim_consumer);
}

static int set_up_whole(void *user)
{
    return begin(user, CONSUMERS);
}

static void detach(void *user)
{
    struct fan_sweep *stage = user;

    stage->base.told->result = rapahub_region_detach(stage->base.victim, CONSUMERS - 1, true);
}

static int check_consumers(void *user, struct sweep_point *point)
{
    struct fan_sweep *stage = user;
    int r = 0;

    region_sweep_stage_let_go(&stage->base);
    if (point->stopped)
        return 0;
    r = stage->router ? 0 : rapahub_router_open(stage->base.survivor, 0, &stage->router);
    if (r == 0)
        r = rapahub_region_detach(stage->base.survivor, CONSUMERS - 1, false);
    return r == 0 ? check_all(stage, point, 0, CONSUMERS - 1)
                  : sweep_fail(point, "nobody can go on: %s", rapahub_last_error()->text);
}

/* ---- pop ---- */

static int set_up_pop(void *user)
{
    struct fan_sweep *stage = user;

    if (set_up_leave(stage) < 0 || rapahub_router_open(stage->base.survivor, 0, &stage->router) < 0)
        return -1;
    return route_all(stage) == RAPAHUB_EEMPTY ? 0 : -1;
}

static void pop(void *user)
{
    struct fan_sweep *stage = user;

    stage->base.told->result =
        rapahub_consumer_pop(stage->base.victim_consumer, &stage->base.told->taken,
                             sizeof stage->base.told->taken, 0, NULL);
}

static int check_pop(void *user, struct sweep_point *point)
{
    struct fan_sweep *stage = user;
    unsigned first = is_work(stage) ? 2 : 1;
    struct rapahub_consumer *rival = NULL;
    const struct rapahub_consumer_options options = {.index = CONSUMERS - 1};
    int r;

    region_sweep_stage_let_go(&stage->base);
    if (point->stopped)
        return rapahub_consumer_open(stage->base.survivor, &options, &rival) == RAPAHUB_EROLETAKEN
                   ? 0
                   : sweep_fail(point, "a stopped consumer loses its role");
    if (take_over(stage) < 0)
        return sweep_fail(point, "nobody can take over: %s", rapahub_last_error()->text);
    r = drain(stage, point);
    if (r < 0)
        return r;
    if (stage->seen[CONSUMERS - 1][first] == 0) { /* at most once: the victim had it, or nobody */
        stage->seen[CONSUMERS - 1][first]++;
        stage->base.skips += stage->base.told->taken != first;
    } else if (point->finished) {
        return sweep_fail(point, "a message that was taken comes again");
    }
    r = check_seen(stage, point, 0, CONSUMERS);
    return r == 0 ? use_all(stage, point) : r;
}

/* ---- reap ---- */

/* Leases whose bytes are not locked: a router and a consumer that are dead. */
static int set_up_reap(void *user)
{
    struct fan_sweep *stage = user;
    struct rapahub_region *region = stage->base.survivor;

    if (begin(stage, CONSUMERS - 1) < 0)
        return -1;
    region = stage->base.survivor;
    if (stage->base.profile == RAPAHUB_REGION_V1)
        return 0;
    hub_publish64(&hub_region_lease_at(region, 5)->owner,
                  UINT64_C(1) << 32 | HUB_LEASE_ROUTER << 8 | HUB_LEASE_HELD);
    hub_publish64(&hub_region_lease_at(region, 6)->owner,
                  UINT64_C(1) << 32 | HUB_LEASE_CONSUMER << 8 | HUB_LEASE_HELD);
    hub_publish(&hub_fanout_body(region)->router_lease, 6);
    hub_publish(&hub_fanout_consumer(region, CONSUMERS - 1)->lease, 7);
    hub_publish(&hub_fanout_consumer(region, CONSUMERS - 1)->flags, HUB_CONSUMER_SUBSCRIBED);
    return 0;
}

static void reap(void *user)
{
    struct fan_sweep *stage = user;

    (void)hub_reap_try(stage->base.victim);
}

static int check_reap(void *user, struct sweep_point *point)
{
    struct fan_sweep *stage = user;
    struct hub_region_consumer *last;

    region_sweep_stage_let_go(&stage->base);
    if (point->stopped)
        return 0;
    (void)hub_reap_try(stage->base.survivor);
    last = hub_fanout_consumer(stage->base.survivor, CONSUMERS - 1);
    if (stage->base.profile == RAPAHUB_REGION_HARDENED &&
        (hub_observe(&last->lease) != 0 ||
         hub_observe(&hub_fanout_body(stage->base.survivor)->router_lease) != 0 ||
         hub_observe(&last->flags) != (HUB_CONSUMER_SUBSCRIBED | HUB_CONSUMER_SUSPENDED)))
        return sweep_fail(point, "what the dead held is not free");
    return check_all(stage, point, 0, CONSUMERS - 1);
}

/* ---- all of them ---- */

static const struct operation operations[] = {
    {"route", set_up_route, route, check_route, 23},
    {"follow", set_up_follow, follow, check_follow, 499},
    {"pop", set_up_pop, pop, check_pop, 23},
    {"subscribe", set_up_without_last, subscribe, check_consumers, 101},
    {"leave", set_up_leave, leave, check_consumers, 41},
    {"detach", set_up_whole, detach, check_consumers, 41},
    {"reap", set_up_reap, reap, check_reap, 23}};

static void run(const struct operation *operation, struct fan_sweep *stage, unsigned mode)
{
    const struct sweep sweep = {.setup = operation->setup,
                                .operation = operation->operate,
                                .check = operation->check,
                                .teardown = tear_down,
                                .user = stage,
                                .mode = modes[mode],
                                .stride = every ? 1 : operation->stride};
    const char *profile = stage->base.profile == RAPAHUB_REGION_V1 ? "v1" : "hardened";
    bool may_double = (operation->operate == route || operation->operate == follow) &&
                      stage->base.profile == RAPAHUB_REGION_V1;
    struct sweep_result result;
    int r = sweep_run(&sweep, &result);

    printf("%-10s | %-9s | %-8s | %-10s | points %5u | failures %u | skips %u | doubled %u\n",
           operation->name, is_work(stage) ? "work" : "broadcast", profile, mode_names[mode],
           (unsigned)result.points, (unsigned)result.failures, (unsigned)stage->base.skips,
           (unsigned)stage->doubled);
    if (r < 0 || result.failures > 0)
        fail_msg("%s, step %u: %s", operation->name, (unsigned)result.first_failure, result.text);
    assert_true(result.complete && result.points > 10);
    if (!may_double || modes[mode] == SWEEP_STOP)
        assert_int_equal(stage->doubled, 0);
    else if (every ||
             operation->operate == route) /* few instructions of a follower are a route's */
        assert_true(stage->doubled > 0);
}

/* r[verify region.router.once] r[verify region.router] r[verify region.subscribe] r[verify
 * region.resume] r[verify region.lease] r[verify region.profile] */
static void a_death_or_a_stop_anywhere_harms_nobody(void **state)
{
    (void)state;
    for (size_t o = 0; o < sizeof operations / sizeof *operations; o++)
        for (int to = RAPAHUB_REGION_BROADCAST; to <= RAPAHUB_REGION_WORK; to++)
            for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++)
                for (unsigned mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
                    struct fan_sweep stage = {
                        .base = {.kind = RAPAHUB_REGION_FANOUT,
                                 .mode = (enum rapahub_region_mode)to,
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
