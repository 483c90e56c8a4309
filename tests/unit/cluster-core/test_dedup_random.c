/* SPDX-License-Identifier: Apache-2.0 */
/* Random calls of few numbers to few containers, against a model that remembers everything: no call
 * runs twice in one lineage, none after its origin has had its end, and the counts stay right. */
#include "cluster/core/calls/dedup.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

#define POOL       UINT64_C(0x0000010000000000)
#define CLIENT     (UINT64_C(1) << 63)
#define CONTAINERS 3
#define ORIGINS    4
#define NUMBERS    24
#define STEPS      30000
#define SEEDS      5

static struct cluster_effects effects;

enum known { NOTHING, RUNS, RAN };

struct model {
    struct {
        enum known known;
        uint64_t number; /* of the admitted call */
    } calls[CONTAINERS][ORIGINS][NUMBERS];
    uint64_t done_below[CONTAINERS][ORIGINS];
    bool met[CONTAINERS][ORIGINS]; /* a call of it was admitted */
    uint64_t lineage[CONTAINERS];
    unsigned full, again, ended;
};

struct life {
    struct cluster_effects_queue *queue;
    struct cluster_payload *payload;
    struct cluster_dedup *dedup;
    struct hub_random random;
    struct model model;
};

static uint32_t draw(struct life *life, uint32_t below)
{
    return (uint32_t)hub_random_below(&life->random, below);
}

static void send(struct life *life, uint32_t c, uint32_t o, uint32_t n)
{
    struct model *model = &life->model;
    struct cluster_dedup_call call = {.pool = POOL,
                                      .container = c,
                                      .uid = {CLIENT + o, n + 1},
                                      .peer = o % 2,
                                      .reserve = draw(life, 300)};
    struct cluster_dedup_answer answer;
    enum cluster_dedup_verdict verdict = cluster_dedup_look(life->dedup, &call, &answer);

    if (n + 1 < model->done_below[c][o]) {
        assert_int_equal(verdict, CLUSTER_VERDICT_ENDED);
        model->ended++;
    } else if (model->calls[c][o][n].known == NOTHING) {
        assert_int_equal(verdict, CLUSTER_VERDICT_NEW);
        if (cluster_dedup_admit(life->dedup, &call, &model->calls[c][o][n].number) == 0) {
            model->calls[c][o][n].known = RUNS;
            model->met[c][o] = true;
        } else {
            model->full++;
        }
    } else {
        assert_true(model->calls[c][o][n].known == RUNS
                        ? verdict == CLUSTER_VERDICT_RUNNING
                        : verdict == CLUSTER_VERDICT_DONE || verdict == CLUSTER_VERDICT_LOST);
        model->again++;
    }
    if (verdict == CLUSTER_VERDICT_DONE)
        cluster_payload_drop(life->payload, answer.payload);
}

static void finish(struct life *life, uint32_t c, uint32_t o, uint32_t n)
{
    static const uint8_t bytes[CLUSTER_EFFECTS_BODY_MAX];
    const struct cluster_payload_body body = {.bytes = {bytes, draw(life, sizeof bytes)}};
    struct cluster_dedup_answer answer = {.payload = cluster_payload_keep(life->payload, &body)};
    uint64_t asker;

    if (life->model.calls[c][o][n].known == RUNS) {
        assert_true(cluster_dedup_end(life->dedup, life->model.calls[c][o][n].number, &answer,
                                      cluster_payload_weight(&body), &asker) != 0);
        life->model.calls[c][o][n].known = RAN;
    } else {
        assert_int_equal(cluster_dedup_end(life->dedup, life->model.calls[c][o][n].number, &answer,
                                           cluster_payload_weight(&body), &asker),
                         0);
    }
    cluster_payload_drop(life->payload, answer.payload);
}

/* A call of the origin says so; it is looked for, and not admitted. */
static void done_below(struct cluster_dedup *of, uint32_t container, uint64_t origin,
                       uint64_t below)
{
    const struct cluster_dedup_call call = {
        .pool = POOL, .container = container, .uid = {origin, UINT64_MAX}, .done_below = below};
    struct cluster_dedup_answer answer;

    (void)cluster_dedup_look(of, &call, &answer);
}

static void end_below(struct life *life, uint32_t c, uint32_t o, uint64_t below)
{
    struct model *model = &life->model;

    done_below(life->dedup, c, CLIENT + o, below);
    if (model->met[c][o] && below > model->done_below[c][o])
        model->done_below[c][o] = below;
}

/* What is below `done_below` stays so over lineages, until the origin ends. */
static void begin(struct life *life, uint32_t c)
{
    life->model.lineage[c]++;
    assert_int_equal(
        cluster_dedup_begin(life->dedup, POOL, c, (1 + life->model.lineage[c]) << 16, 0), 0);
    for (uint32_t o = 0; o < ORIGINS; o++)
        for (uint32_t n = 0; n < NUMBERS; n++)
            life->model.calls[c][o][n].known = NOTHING;
}

static void live(struct life *life)
{
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t c = draw(life, CONTAINERS), o = draw(life, ORIGINS), n = draw(life, NUMBERS);
        uint32_t what = draw(life, 100);

        if (what < 55)
            send(life, c, o, n);
        else if (what < 98)
            finish(life, c, o, n);
        else if (what == 98)
            end_below(life, c, o, draw(life, NUMBERS / 4));
        else if (draw(life, 5) == 0)
            begin(life, c);
        if (step % 64 == 0)
            assert_true(cluster_dedup_is_sound(life->dedup));
        cluster_effects_take(life->queue, 0, &effects);
    }
}

/* r[verify cluster.dedup.once] r[verify cluster.dedup.ended] r[verify cluster.dedup.lineage]
 * r[verify cluster.dedup.bounds] */
static void no_call_runs_twice_in_one_lineage(void **state)
{
    const struct cluster_limits limits = {.containers = CONTAINERS,
                                          .dedup = 120,
                                          .dedup_container = 50,
                                          .dedup_bytes = 50000,
                                          .dedup_container_bytes = 20000};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct life life = {.queue = NULL};

        hub_random_init(&life.random, seed);
        assert_int_equal(cluster_effects_create(1024, &life.queue), 0);
        assert_int_equal(cluster_payload_create(256, life.queue, &life.payload), 0);
        assert_int_equal(cluster_dedup_create(&limits, seed, life.payload, &life.dedup), 0);
        for (uint32_t c = 0; c < CONTAINERS; c++)
            begin(&life, c);
        live(&life);
        assert_true(life.model.full > 0 && life.model.again > 0 && life.model.ended > 0);
        cluster_dedup_release(&life.dedup);
        assert_int_equal(cluster_payload_count(life.payload), 0);
        cluster_payload_release(&life.payload);
        cluster_effects_release(&life.queue);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_call_runs_twice_in_one_lineage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
