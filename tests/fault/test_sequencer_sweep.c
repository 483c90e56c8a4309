/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL, SIGSTOP, and SIGSTOP with SIGKILL in the middle of a claim with its publication, of a
 * position that a stage does, of the joining and leaving of a stage, of an eviction, and of a reap,
 * in both profiles, with one and many producers. No position is lost, doubled or done out of order
 * but what was in hand; nothing is repaired under a process that is stopped; the ring is whole
 * after. In the v1 profile one of many producers that dies within its claim strands the region.
 * --every looks at each instruction. */
#include <stdio.h>
#include <string.h>

#include "hub/base/clock.h"
#include "hub/bus/reap.h"
#include "tests/fault/region_sweep_stage.h"
#include "tests/support/testing.h"

#define NEXT   HUB_SECOND             /* within which a survivor gets on after a proven death */
#define STRAND (20 * HUB_MILLISECOND) /* after which a stage is taken for stranded */
#define RING   REGION_SWEEP_CELLS
#define LEASE  7 /* of a dead one */

static const enum sweep_mode modes[] = {SWEEP_KILL, SWEEP_STOP, SWEEP_STOP_KILL};
static const char *const mode_names[] = {"kill", "stop", "stop, kill"};
static bool every;

struct sequencer_sweep {
    struct region_sweep base;
    struct rapahub_stage *victim_stage, *stages[2];
    uint64_t done[2]; /* the next position of each survivor's stage */
};

struct operation {
    const char *name;
    int (*setup)(void *user);
    void (*operate)(void *user);
    int (*check)(void *user, struct sweep_point *point);
    uint64_t stride;
    bool leases_only;
};

static int open_stage(struct rapahub_region *region, uint32_t index, struct rapahub_stage **out)
{
    const struct rapahub_stage_options options = {.index = index};

    return rapahub_stage_open(region, &options, out);
}

static void begin(struct sequencer_sweep *s)
{
    region_sweep_stage_begin(&s->base);
    s->victim_stage = s->stages[0] = s->stages[1] = NULL;
}

static void tear_down(void *user)
{
    struct sequencer_sweep *s = user;

    region_sweep_stage_let_go(&s->base);
    rapahub_stage_close(s->victim_stage);
    rapahub_stage_close(s->stages[0]);
    rapahub_stage_close(s->stages[1]);
    region_sweep_stage_end(&s->base);
}

static uint64_t poisoned(const struct sequencer_sweep *s)
{
    return hub_load_relaxed64(&hub_region_header(s->base.survivor)->poisoned_total);
}

static int put(struct sequencer_sweep *s, uint32_t count)
{
    uint64_t at;
    int r = rapahub_producer_claim(s->base.producer, count, 0, &at);

    for (uint64_t i = 0; r == 0 && i < count; i++)
        *(uint64_t *)rapahub_region_user(s->base.survivor, at + i) = at + i;
    return r == 0 ? rapahub_producer_publish(s->base.producer, at, count) : r;
}

/* Opens what the survivor has not yet; a gap is heard of. */
static int take_over(struct sequencer_sweep *s)
{
    int r = s->base.producer ? 0 : rapahub_producer_open(s->base.survivor, NULL, &s->base.producer);

    for (uint32_t i = 0; i < 2 && r == 0; i++)
        if (!s->stages[i])
            r = open_stage(s->base.survivor, i, &s->stages[i]);
    return r;
}

/* Does all that there is for a stage; returns the last code. A wait is for the first position. */
static int do_all(struct sequencer_sweep *s, uint32_t index, uint64_t timeout_ns,
                  uint64_t *positions, bool *torn)
{
    struct rapahub_stage *stage = s->stages[index];
    uint64_t first;
    uint32_t count;
    int r;

    while ((r = rapahub_stage_next(stage, timeout_ns, &first, &count)) == 0 || r == RAPAHUB_EGAP) {
        if (r == RAPAHUB_EGAP)
            continue;
        *torn |= first < s->done[index];
        for (uint64_t i = first; i < first + count; i++)
            *torn |= *(uint64_t *)rapahub_region_user(s->base.survivor, i) != i;
        s->done[index] = first + count;
        *positions += count;
        timeout_ns = 0;
        if (rapahub_stage_advance(stage, count) != 0)
            *torn = true;
    }
    return r;
}

/* Two laps at full capacity, after all that is there was done. */
static int use_all(struct sequencer_sweep *s, struct sweep_point *point)
{
    uint64_t positions = 0;
    bool torn = false;

    for (uint32_t i = 0; i < 2; i++)
        if (do_all(s, i, 0, &positions, &torn) != RAPAHUB_EEMPTY || torn)
            return sweep_fail(point, "stage %u does not come to an end", i);
    for (uint32_t lap = 0; lap < 2; lap++) {
        uint64_t done[2] = {0};

        if (put(s, RING - 1) < 0 || put(s, 1) < 0)
            return sweep_fail(point, "lap %u is refused: %s", lap, rapahub_last_error()->text);
        if (put(s, 1) != RAPAHUB_EFULL)
            return sweep_fail(point, "the region holds more than its ring");
        if (do_all(s, 1, 0, &done[1], &torn) != RAPAHUB_EEMPTY || done[1] != 0)
            return sweep_fail(point, "a stage is before the one that it follows");
        for (uint32_t i = 0; i < 2; i++)
            if (do_all(s, i, 0, &done[i], &torn) != RAPAHUB_EEMPTY || done[i] != RING || torn)
                return sweep_fail(point, "stage %u has %u of a lap", i, (unsigned)done[i]);
    }
    return 0;
}

/* ---- claim and publish ---- */

static int set_up_claim(void *user)
{
    struct sequencer_sweep *s = user;

    begin(s);
    s->done[0] = s->done[1] = 0;
    if (rapahub_producer_open(s->base.victim, NULL, &s->base.victim_producer) < 0 ||
        open_stage(s->base.survivor, 0, &s->stages[0]) < 0 ||
        open_stage(s->base.survivor, 1, &s->stages[1]) < 0)
        return -1;
    return s->base.shared ? rapahub_producer_open(s->base.survivor, NULL, &s->base.producer) : 0;
}

static void claim_two(void *user)
{
    struct sequencer_sweep *s = user;
    uint64_t at;

    if (rapahub_producer_claim(s->base.victim_producer, 2, 0, &at) < 0)
        return;
    for (uint64_t i = at; i < at + 2; i++)
        *(uint64_t *)rapahub_region_user(s->base.victim, i) = i;
    s->base.told->result = rapahub_producer_publish(s->base.victim_producer, at, 2) == 0 ? 1 : -1;
}

static int rival_of_claim(struct sequencer_sweep *s, struct sweep_point *point)
{
    struct rapahub_producer *second = NULL;
    uint64_t positions = 0;
    bool torn = false;

    if (!s->base.shared) {
        if (rapahub_producer_open(s->base.survivor, NULL, &second) != RAPAHUB_EROLETAKEN)
            return sweep_fail(point, "a stopped producer loses its role");
    } else if (put(s, 1) < 0) {
        return sweep_fail(point, "a rival cannot publish");
    }
    (void)hub_reap_try(s->base.survivor);
    if (do_all(s, 0, 0, &positions, &torn) != RAPAHUB_EEMPTY || torn)
        return sweep_fail(point, "a position comes that is not whole");
    return poisoned(s) == 0 ? 0 : sweep_fail(point, "a stopped producer's position is poisoned");
}

static int check_claim(void *user, struct sweep_point *point)
{
    struct sequencer_sweep *s = user;
    bool strands = s->base.shared && s->base.profile == RAPAHUB_REGION_V1, torn = false;
    uint64_t positions = 0;
    int r;

    region_sweep_stage_let_go(&s->base);
    if (point->stopped)
        return rival_of_claim(s, point);
    if (take_over(s) < 0 || put(s, 1) < 0)
        return sweep_fail(point, "no survivor can publish: %s", rapahub_last_error()->text);
    while ((r = do_all(s, 0, s->done[0] == 0 ? (strands ? STRAND : NEXT) : 0, &positions, &torn)) ==
               RAPAHUB_EEMPTY &&
           !strands && s->done[0] < hub_sequencer_view_claims(&s->base.survivor->sequencer))
        (void)hub_reap_try(s->base.survivor);
    if (strands && s->done[0] < hub_sequencer_view_claims(&s->base.survivor->sequencer)) {
        s->base.strandings++;
        return point->finished ? sweep_fail(point, "a finished claim strands") : 0;
    }
    s->base.skips += poisoned(s);
    if (torn || poisoned(s) > 2 || (point->finished && poisoned(s) > 0) ||
        rapahub_stage_skipped(s->stages[0]) != poisoned(s))
        return sweep_fail(point, "code %d, %u poisoned, %u skipped", r, (unsigned)poisoned(s),
                          (unsigned)rapahub_stage_skipped(s->stages[0]));
    return use_all(s, point);
}

/* ---- a stage: next, advance; join; leave ---- */

static int set_up_stage(void *user)
{
    struct sequencer_sweep *s = user;

    begin(s);
    s->done[0] = s->done[1] = 0;
    if (open_stage(s->base.victim, 0, &s->victim_stage) < 0 ||
        open_stage(s->base.survivor, 1, &s->stages[1]) < 0 ||
        rapahub_producer_open(s->base.survivor, NULL, &s->base.producer) < 0)
        return -1;
    return put(s, 3);
}

static void do_one(void *user)
{
    struct sequencer_sweep *s = user;
    uint64_t first;
    uint32_t count;

    if (rapahub_stage_next(s->victim_stage, 0, &first, &count) < 0)
        return;
    s->base.told->taken = first + 1;
    s->base.told->result = rapahub_stage_advance(s->victim_stage, 1) == 0 ? 1 : -1;
}

static void leave(void *user)
{
    struct sequencer_sweep *s = user;

    rapahub_stage_close(s->victim_stage);
    s->base.told->result = 1;
}

static int rival_of_stage(struct sequencer_sweep *s, struct sweep_point *point)
{
    struct rapahub_stage *second = NULL;
    int r = open_stage(s->base.survivor, 0, &second);

    rapahub_stage_close(second);
    (void)hub_reap_try(s->base.survivor);
    return r == RAPAHUB_EROLETAKEN ? 0 : sweep_fail(point, "a stopped stage loses its role: %d", r);
}

/* With HOLD the next one goes on at the first position, or at the second if the first was done. */
static int check_stage(void *user, struct sweep_point *point)
{
    struct sequencer_sweep *s = user;
    uint64_t first = UINT64_MAX;
    uint32_t count;

    region_sweep_stage_let_go(&s->base);
    if (point->stopped)
        return rival_of_stage(s, point);
    if (take_over(s) < 0)
        return sweep_fail(point, "no survivor can take over: %s", rapahub_last_error()->text);
    if (s->base.on_death == RAPAHUB_STAGE_HOLD &&
        (rapahub_stage_next(s->stages[0], 0, &first, &count) < 0 || first > 1 ||
         (first == 1 && s->base.told->taken != 1) || (point->finished && first != 1)))
        return sweep_fail(point, "the next one begins at %u", (unsigned)first);
    return use_all(s, point);
}

/* A stage that left or died goes on where its follower waits: at the first position. */
static int check_leave(void *user, struct sweep_point *point)
{
    struct sequencer_sweep *s = user;

    region_sweep_stage_let_go(&s->base);
    if (point->stopped)
        return 0;
    if (take_over(s) < 0)
        return sweep_fail(point, "no survivor can take over: %s", rapahub_last_error()->text);
    return use_all(s, point);
}

static int set_up_join(void *user)
{
    struct sequencer_sweep *s = user;

    begin(s);
    s->done[0] = s->done[1] = 0;
    if (open_stage(s->base.survivor, 0, &s->stages[0]) < 0 ||
        rapahub_producer_open(s->base.survivor, NULL, &s->base.producer) < 0)
        return -1;
    return put(s, 3);
}

static void join(void *user)
{
    struct sequencer_sweep *s = user;

    s->base.told->result = open_stage(s->base.victim, 1, &s->victim_stage) == 0 ? 1 : -1;
}

/* A producer and a stage go on beside a stopped one, as far as its gate lets them. */
static int check_join(void *user, struct sweep_point *point)
{
    struct sequencer_sweep *s = user;
    uint64_t positions = 0;
    bool torn = false;

    region_sweep_stage_let_go(&s->base);
    if (do_all(s, 0, 0, &positions, &torn) != RAPAHUB_EEMPTY || torn)
        return sweep_fail(point, "the other stage has a torn position");
    if (point->stopped)
        return put(s, 2) == 0 ? 0 : sweep_fail(point, "a stopped stage that joins is in the way");
    if (take_over(s) < 0)
        return sweep_fail(point, "no survivor can take over: %s", rapahub_last_error()->text);
    return use_all(s, point);
}

/* ---- evict ---- */

static void evict(void *user)
{
    struct sequencer_sweep *s = user;

    s->base.told->result = rapahub_region_evict(s->base.victim, 0) == 0 ? 1 : -1;
}

static int set_up_evict(void *user)
{
    struct sequencer_sweep *s = user;

    begin(s);
    s->done[0] = s->done[1] = 0;
    return take_over(s) < 0 ? -1 : put(s, 3);
}

static int check_evict(void *user, struct sweep_point *point)
{
    struct sequencer_sweep *s = user;
    uint64_t positions = 0;
    bool torn = false;

    region_sweep_stage_let_go(&s->base);
    if (point->stopped) /* TABLE is the victim's, or free */
        return put(s, 1) == 0 ? 0 : sweep_fail(point, "a stopped operator is in the way");
    if (rapahub_region_evict(s->base.survivor, 0) < 0)
        return sweep_fail(point, "nothing can be evicted: %s", rapahub_last_error()->text);
    if (do_all(s, 1, 0, &positions, &torn) != RAPAHUB_EEMPTY || positions < 3 || torn)
        return sweep_fail(point, "the follower gets %u", (unsigned)positions);
    return use_all(s, point);
}

/* ---- reap ---- */

/* A lease whose byte is not locked: its holder is dead, with a claim and as stage 1. */
static int set_up_reap(void *user)
{
    struct sequencer_sweep *s = user;
    struct hub_region_lease *lease;

    begin(s);
    s->done[0] = s->done[1] = 0;
    if (open_stage(s->base.survivor, 0, &s->stages[0]) < 0 ||
        open_stage(s->base.survivor, 1, &s->stages[1]) < 0 ||
        rapahub_producer_open(s->base.survivor, NULL, &s->base.producer) < 0)
        return -1;
    lease = hub_region_lease_at(s->base.survivor, LEASE);
    hub_publish64(&lease->intent, UINT64_C(2) << 56 | 1);
    hub_publish64(&lease->owner, UINT64_C(1) << 32 | 1 << 8 | HUB_LEASE_HELD);
    hub_publish(&s->base.survivor->sequencer.gates[1].lease, LEASE + 1);
    if (s->base.shared)
        hub_publish64(&s->base.survivor->sequencer.body->claim, 2);
    return 0;
}

static void reap(void *user)
{
    struct sequencer_sweep *s = user;

    s->base.told->result = (int)hub_reap_try(s->base.victim);
}

static int check_reap(void *user, struct sweep_point *point)
{
    struct sequencer_sweep *s = user;
    uint64_t wanted = s->base.shared ? 2 : 0;

    region_sweep_stage_let_go(&s->base);
    if (point->stopped)
        return put(s, 1) == 0 ? 0 : sweep_fail(point, "a stopped reaper is in the way");
    (void)hub_reap_try(s->base.survivor);
    if (hub_region_lease_state(
            hub_observe64(&hub_region_lease_at(s->base.survivor, LEASE)->owner)) != HUB_LEASE_FREE)
        return sweep_fail(point, "the lease of the dead is not free");
    if (use_all(s, point) < 0)
        return -1;
    if (rapahub_stage_skipped(s->stages[0]) != wanted || poisoned(s) > wanted)
        return sweep_fail(point, "%u are skipped", (unsigned)rapahub_stage_skipped(s->stages[0]));
    s->base.skips += wanted;
    if ((hub_observe(&s->base.survivor->sequencer.gates[1].evictions) > 0) !=
        (s->base.on_death == RAPAHUB_STAGE_EVICT))
        return sweep_fail(point, "the gate of the dead is not as its option says");
    return 0;
}

/* ---- all of them ---- */

static const struct operation operations[] = {
    {"claim", set_up_claim, claim_two, check_claim, 3, false},
    {"do", set_up_stage, do_one, check_stage, 3, false},
    {"join", set_up_join, join, check_join, 61, false},
    {"leave", set_up_stage, leave, check_leave, 23, false},
    {"evict", set_up_evict, evict, check_evict, 29, false},
    {"reap", set_up_reap, reap, check_reap, 31, true}};

static void run(const struct operation *operation, struct sequencer_sweep *s, unsigned mode)
{
    const struct sweep sweep = {.setup = operation->setup,
                                .operation = operation->operate,
                                .check = operation->check,
                                .teardown = tear_down,
                                .user = s,
                                .mode = modes[mode],
                                .stride = every ? 1 : operation->stride};
    struct sweep_result result;
    int r = sweep_run(&sweep, &result);

    printf("%-6s | %-4s | %-8s | %-5s | %-10s | points %5u of %5u | failures %u | skips %u | "
           "strandings %u\n",
           operation->name, s->base.shared ? "many" : "one",
           s->base.profile == RAPAHUB_REGION_V1 ? "v1" : "hardened",
           s->base.on_death == RAPAHUB_STAGE_EVICT ? "evict" : "hold", mode_names[mode],
           (unsigned)result.points, (unsigned)result.steps, (unsigned)result.failures,
           (unsigned)s->base.skips, (unsigned)s->base.strandings);
    if (r < 0 || result.failures > 0)
        fail_msg("%s, step %u: %s", operation->name, (unsigned)result.first_failure, result.text);
    assert_true(result.complete && result.points > 4);
    if (!(operation->operate == claim_two && mode != 1 && s->base.shared &&
          s->base.profile == RAPAHUB_REGION_V1))
        assert_int_equal(s->base.strandings, 0);
}

/* r[verify region.sequencer.claim.dead] r[verify region.stage] r[verify region.stage.join]
 * r[verify region.stage.dead] r[verify region.stage.evict] r[verify region.poison.live]
 * r[verify region.lease] r[verify region.role] r[verify region.profile] */
static void a_death_or_a_stop_anywhere_harms_no_survivor(void **state)
{
    (void)state;
    for (size_t o = 0; o < sizeof operations / sizeof *operations; o++)
        for (unsigned each = 0; each < 8; each++)
            for (unsigned mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
                struct sequencer_sweep s = {
                    .base = {.kind = RAPAHUB_REGION_SEQUENCER,
                             .profile = (enum rapahub_region_profile)(each & 1),
                             .shared = (each & 2) != 0,
                             .on_death = each & 4 ? RAPAHUB_STAGE_EVICT : RAPAHUB_STAGE_HOLD}};

                if (s.base.profile == RAPAHUB_REGION_V1 &&
                    (s.base.on_death != RAPAHUB_STAGE_HOLD || operations[o].leases_only))
                    continue;
                run(&operations[o], &s, mode);
            }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_death_or_a_stop_anywhere_harms_no_survivor)};

    if (argc > 1 && strcmp(argv[1], "--every") == 0)
        every = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
