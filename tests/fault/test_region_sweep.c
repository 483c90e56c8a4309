/* SPDX-License-Identifier: Apache-2.0 */
/* SIGKILL, SIGSTOP, and SIGSTOP with SIGKILL after each instruction of a publication, of a pop, of
 * a message that is acknowledged after its work, of an opening, and of a reap, in both profiles. No
 * message is lost, doubled or torn but the one in flight; nothing is repaired under a process that
 * is stopped; the capacity is whole after. In the v1 profile a producer that dies between its claim
 * and its publication strands the region; in the hardened one nothing does. */
#include <stdio.h>
#include <string.h>

#include "hub/base/clock.h"
#include "hub/bus/reap.h"
#include "tests/fault/region_sweep_stage.h"
#include "tests/support/testing.h"

#define NEXT_MESSAGE HUB_SECOND /* within which a survivor gets on after a proven death */

static const enum sweep_mode modes[] = {SWEEP_KILL, SWEEP_STOP, SWEEP_STOP_KILL};
static const char *const mode_names[] = {"kill", "stop", "stop, kill"};

struct operation {
    const char *name;
    int (*setup)(void *user);
    void (*operate)(void *user);
    int (*check)(void *user, struct sweep_point *point);
};

static uint64_t poisoned(const struct region_sweep *stage)
{
    return hub_load_relaxed64(&hub_region_header(stage->survivor)->poisoned_total);
}

static void tear_down(void *user)
{
    region_sweep_stage_end(user);
}

static int push_b(struct region_sweep *stage)
{
    uint64_t b = REGION_SWEEP_B;
    int r = stage->pushed_b ? 0 : rapahub_producer_push(stage->producer, &b, sizeof b, 0);

    stage->pushed_b = r == 0;
    return r;
}

/* ---- publish ---- */

static int set_up_publish(void *user)
{
    struct region_sweep *stage = user;

    region_sweep_stage_begin(stage);
    if (rapahub_producer_open(stage->victim, NULL, &stage->victim_producer) < 0 ||
        rapahub_consumer_open(stage->survivor, NULL, &stage->consumer) < 0)
        return -1;
    return stage->kind == RAPAHUB_REGION_SPSC
               ? 0
               : rapahub_producer_open(stage->survivor, NULL, &stage->producer);
}

static void publish(void *user)
{
    struct region_sweep *stage = user;
    uint64_t a = REGION_SWEEP_A;

    stage->told->result =
        rapahub_producer_push(stage->victim_producer, &a, sizeof a, 0) == 0 ? 1 : -1;
}

/* A rival acts while the victim is stopped. */
static int rival_of_publish(struct region_sweep *stage, struct sweep_point *point)
{
    struct rapahub_producer *second = NULL;
    int r;

    if (stage->kind == RAPAHUB_REGION_SPSC) {
        if (rapahub_producer_open(stage->survivor, NULL, &second) != RAPAHUB_EROLETAKEN)
            return sweep_fail(point, "a stopped producer loses its role");
    } else if (push_b(stage) < 0) {
        return sweep_fail(point, "a rival cannot publish");
    }
    (void)hub_reap_try(stage->survivor);
    r = region_sweep_stage_drain(stage, 0);
    if (r != RAPAHUB_EEMPTY)
        return sweep_fail(point, "a rival gets %d", r);
    return poisoned(stage) == 0 ? 0 : sweep_fail(point, "a stopped producer's cell is poisoned");
}

static bool may_strand(const struct region_sweep *stage)
{
    return stage->kind == RAPAHUB_REGION_MPSC && stage->profile == RAPAHUB_REGION_V1;
}

static int check_publish(void *user, struct sweep_point *point)
{
    struct region_sweep *stage = user;
    int r;

    region_sweep_stage_let_go(stage);
    if (point->stopped)
        return rival_of_publish(stage, point);
    if (region_sweep_stage_take_over(stage) < 0 || push_b(stage) < 0)
        return sweep_fail(point, "nobody can take over: %s", rapahub_last_error()->text);
    r = region_sweep_stage_drain(stage, stage->seen_b       ? 0
                                        : may_strand(stage) ? 20 * HUB_MILLISECOND
                                                            : NEXT_MESSAGE);
    if (r == RAPAHUB_EBLOCKED && may_strand(stage)) {
        stage->strandings++;
        return stage->seen_a == 0 && !point->finished ? 0 : sweep_fail(point, "a message is lost");
    }
    stage->skips += poisoned(stage);
    if (r != RAPAHUB_EEMPTY || stage->seen_b != 1 || stage->seen_a > 1 ||
        (point->finished && stage->seen_a != 1))
        return sweep_fail(point, "code %d, %u of the victim, %u of the survivor", r, stage->seen_a,
                          stage->seen_b);
    if (stage->skipped + stage->seen_a > 1 || stage->skipped != poisoned(stage))
        return sweep_fail(point, "%u positions are skipped", (unsigned)stage->skipped);
    return region_sweep_stage_use_all(stage, point);
}

/* ---- consume ---- */

static int set_up_consume(void *user)
{
    struct region_sweep *stage = user;

    region_sweep_stage_begin(stage);
    if (rapahub_producer_open(stage->survivor, NULL, &stage->producer) < 0 ||
        rapahub_consumer_open(stage->victim, NULL, &stage->victim_consumer) < 0)
        return -1;
    for (uint64_t i = 1; i <= 3; i++)
        if (rapahub_producer_push(stage->producer, &i, sizeof i, 0) < 0)
            return -1;
    return 0;
}

static void pop(void *user)
{
    struct region_sweep *stage = user;

    stage->told->result = rapahub_consumer_pop(stage->victim_consumer, &stage->told->taken,
                                               sizeof stage->told->taken, 0, NULL) == 0
                              ? 1
                              : -1;
}

/* The work is done between peek and done. */
static void peek_and_done(void *user)
{
    struct region_sweep *stage = user;
    struct rapahub_message message;
    size_t count;

    if (rapahub_consumer_peek(stage->victim_consumer, &message, 1, 0, &count) < 0)
        return;
    memcpy(&stage->told->taken, message.data, sizeof stage->told->taken);
    stage->told->result = rapahub_consumer_done(stage->victim_consumer, 1) == 0 ? 1 : -1;
}

static int rival_of_consume(struct region_sweep *stage, struct sweep_point *point)
{
    struct rapahub_consumer *second = NULL;

    if (rapahub_consumer_open(stage->survivor, NULL, &second) != RAPAHUB_EROLETAKEN)
        return sweep_fail(point, "a stopped consumer loses its role");
    return 0;
}

/* The first message that the next consumer gets: 1 or 2, and 2 only if the victim had the first. */
static int check_consume(struct region_sweep *stage, struct sweep_point *point, bool work_first)
{
    uint64_t first = 0, number = 0;

    region_sweep_stage_let_go(stage);
    if (point->stopped)
        return rival_of_consume(stage, point);
    if (region_sweep_stage_take_over(stage) < 0)
        return sweep_fail(point, "nobody can take over: %s", rapahub_last_error()->text);
    if (rapahub_consumer_pop(stage->consumer, &first, sizeof first, 0, NULL) < 0 || first < 1 ||
        first > 2)
        return sweep_fail(point, "the next consumer gets %u", (unsigned)first);
    if (point->finished && (first != 2 || stage->told->taken != 1 || stage->told->result != 1))
        return sweep_fail(point, "a message that was taken comes again");
    if (work_first && first == 2 && stage->told->taken != 1)
        return sweep_fail(point, "a message is skipped that was not worked on");
    stage->skips += first == 2 && stage->told->taken != 1;
    for (uint64_t i = first + 1; i <= 3; i++)
        if (rapahub_consumer_pop(stage->consumer, &number, sizeof number, 0, NULL) < 0 ||
            number != i)
            return sweep_fail(point, "message %u is lost", (unsigned)i);
    return region_sweep_stage_use_all(stage, point);
}

static int check_pop(void *user, struct sweep_point *point)
{
    return check_consume(user, point, false);
}

static int check_done(void *user, struct sweep_point *point)
{
    return check_consume(user, point, true);
}

/* ---- open ---- */

static int set_up_open(void *user)
{
    region_sweep_stage_begin(user);
    return 0;
}

static void open_producer(void *user)
{
    struct region_sweep *stage = user;

    stage->told->result =
        rapahub_producer_open(stage->victim, NULL, &stage->victim_producer) == 0 ? 1 : -1;
}

static int check_open(void *user, struct sweep_point *point)
{
    struct region_sweep *stage = user;
    struct rapahub_producer *more[4] = {NULL};
    uint32_t leases = stage->survivor->shape.lease_count, opened = 0;
    int r;

    region_sweep_stage_let_go(stage);
    if (point->stopped)
        return 0;
    r = region_sweep_stage_take_over(stage);
    if (r < 0)
        return sweep_fail(point, "nobody can take over: %d", r);
    while (stage->kind == RAPAHUB_REGION_MPSC && opened + 2 < leases &&
           rapahub_producer_open(stage->survivor, NULL, &more[opened]) == 0)
        opened++;
    for (uint32_t i = 0; i < opened; i++)
        rapahub_producer_close(more[i]);
    if (stage->kind == RAPAHUB_REGION_MPSC && leases > 0 && opened + 2 != leases)
        return sweep_fail(point, "only %u leases are left", opened + 2);
    return region_sweep_stage_use_all(stage, point);
}

/* ---- reap ---- */

/* A lease whose byte is not locked, with a claim of position 0: its holder is dead. */
static int set_up_reap(void *user)
{
    struct region_sweep *stage = user;
    struct hub_region_lease *lease;

    region_sweep_stage_begin(stage);
    if (region_sweep_stage_take_over(stage) < 0)
        return -1;
    if (stage->profile == RAPAHUB_REGION_V1)
        return 0;
    lease = hub_region_lease_at(stage->survivor, 3);
    hub_publish64(&lease->intent, hub_region_lease_intend(0));
    hub_publish64(&lease->owner, UINT64_C(1) << 32 | 1 << 8 | HUB_LEASE_HELD);
    if (stage->kind == RAPAHUB_REGION_MPSC)
        hub_publish64(&stage->survivor->view.ring->tail, 1);
    return 0;
}

static void reap(void *user)
{
    struct region_sweep *stage = user;

    stage->told->result = (int)hub_reap_try(stage->victim);
}

static int check_reap(void *user, struct sweep_point *point)
{
    struct region_sweep *stage = user;
    bool hardened = stage->profile == RAPAHUB_REGION_HARDENED;
    bool claimed = hardened && stage->kind == RAPAHUB_REGION_MPSC;
    int r;

    region_sweep_stage_let_go(stage);
    if (point->stopped)
        return push_b(stage) == 0 ? 0 : sweep_fail(point, "a stopped reaper is in the way");
    (void)hub_reap_try(stage->survivor);
    if (push_b(stage) < 0)
        return sweep_fail(point, "a survivor cannot publish");
    r = region_sweep_stage_drain(stage, NEXT_MESSAGE);
    if (r != RAPAHUB_EEMPTY || stage->seen_b != 1 || stage->skipped != claimed)
        return sweep_fail(point, "code %d, %u messages, %u skipped", r, stage->seen_b,
                          (unsigned)stage->skipped);
    stage->skips += stage->skipped;
    if (hardened && hub_region_lease_state(hub_observe64(
                        &hub_region_lease_at(stage->survivor, 3)->owner)) != HUB_LEASE_FREE)
        return sweep_fail(point, "the lease of the dead is not free");
    return region_sweep_stage_use_all(stage, point);
}

/* ---- all of them ---- */

static const struct operation operations[] = {
    {"publish", set_up_publish, publish, check_publish},
    {"pop", set_up_consume, pop, check_pop},
    {"peek, done", set_up_consume, peek_and_done, check_done},
    {"open", set_up_open, open_producer, check_open},
    {"reap", set_up_reap, reap, check_reap}};

static void run(const struct operation *operation, struct region_sweep *stage, unsigned mode)
{
    const struct sweep sweep = {.setup = operation->setup,
                                .operation = operation->operate,
                                .check = operation->check,
                                .teardown = tear_down,
                                .user = stage,
                                .mode = modes[mode]};
    const char *kind = stage->kind == RAPAHUB_REGION_SPSC ? "SPSC" : "MPSC";
    const char *profile = stage->profile == RAPAHUB_REGION_V1 ? "v1" : "hardened";
    struct sweep_result result;
    int r = sweep_run(&sweep, &result);

    printf("%-10s | %s | %-8s | %-10s | points %5u | failures %u | skips %u | strandings %u\n",
           operation->name, kind, profile, mode_names[mode], (unsigned)result.points,
           (unsigned)result.failures, (unsigned)stage->skips, (unsigned)stage->strandings);
    if (r < 0 || result.failures > 0)
        fail_msg("%s, step %u: %s", operation->name, (unsigned)result.first_failure, result.text);
    assert_true(result.complete && result.points > 10);
    /* only where a producer dies that has claimed, in a region without leases */
    if (operation->operate == publish && mode != 1 && may_strand(stage))
        assert_true(stage->strandings > 0);
    else
        assert_int_equal(stage->strandings, 0);
    if (operation->operate == publish && mode != 1 && stage->kind == RAPAHUB_REGION_MPSC &&
        stage->profile == RAPAHUB_REGION_HARDENED)
        assert_true(stage->skips > 0);
}

/* r[verify region.in-flight] r[verify region.committed] r[verify region.resume] r[verify
 * region.strand] r[verify region.poison] r[verify region.poison.live] r[verify region.lease]
 * r[verify region.ack] r[verify region.role] r[verify region.profile] */
static void a_death_or_a_stop_anywhere_harms_nobody(void **state)
{
    (void)state;
    for (size_t o = 0; o < sizeof operations / sizeof *operations; o++)
        for (int kind = RAPAHUB_REGION_SPSC; kind <= RAPAHUB_REGION_MPSC; kind++)
            for (int profile = RAPAHUB_REGION_V1; profile <= RAPAHUB_REGION_HARDENED; profile++)
                for (unsigned mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
                    struct region_sweep stage = {.kind = (enum rapahub_region_kind)kind,
                                                 .profile = (enum rapahub_region_profile)profile};

                    run(&operations[o], &stage, mode);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_death_or_a_stop_anywhere_harms_nobody)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
