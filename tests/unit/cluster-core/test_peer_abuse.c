/* SPDX-License-Identifier: Apache-2.0 */
/* Two nodes that say whatever they like: frames of all kinds about calls that are open, were, or
 * never will be, while links come and go and the node calls by itself. It loses nothing but time.
 */
#include "hub/base/random.h"
#include "tests/unit/cluster-core/peer_stage.h"

#define STEPS 60000

static struct peer_stage stage;
static struct hub_random numbers;
static uint64_t runs[64], runs_count, asked, ended;

static uint32_t draw(uint32_t below)
{
    return (uint32_t)hub_random_below(&numbers, below);
}

static void note_effects(void)
{
    for (uint32_t i = 0; i < stage.out.count; i++) {
        const struct cluster_effect *effect = &stage.out.effects[i];

        if (effect->kind == CLUSTER_EFFECT_RUN && runs_count < 64)
            runs[runs_count++] = effect->id;
        ended += effect->kind == CLUSTER_EFFECT_ANSWER;
    }
    stage.out.count = 0; /* an event may not follow */
}

static struct cluster_peer_frame any_frame(void)
{
    static const uint8_t types[] = {CLUSTER_FRAME_CALL, CLUSTER_FRAME_RESULT, CLUSTER_FRAME_NACK,
                                    CLUSTER_FRAME_CANCEL};
    uint32_t attempts = (uint32_t)(asked > 20 ? asked - 20 : 0); /* mostly they are near this */

    return (struct cluster_peer_frame){
        .node = 2 + draw(2),
        .type = types[draw(4)],
        .ttl = (uint8_t)draw(4),
        .reason = (uint8_t)(1 + draw(CLUSTER_NACK_END - 1)),
        .maybe = draw(2) == 0,
        .pinned = draw(5) == 0,
        .attempt = draw(20) == 0 ? CLUSTER_PEER_FRAME_ATTEMPTS - 1 : attempts + draw(40),
        .uid = {draw(2) == 0 ? STAGE_CLIENT : 22, 1 + asked - draw((uint32_t)(asked % 8) + 1)},
        .pool = STAGE_POOL + (draw(30) == 0),
        .container = draw(STAGE_CONTAINERS + 1),
        .order = draw(3),
        .token = cluster_ids_token(0, 1 + draw(2), draw(2)),
        .lineage = cluster_ids_lineage(1 + draw(2), draw(2)),
        .revision = draw(3) == 0 ? CLUSTER_OWN_REVISION_MAX : STAGE_REVISION,
        .method = draw(2) == 0 ? STAGE_ONCE : STAGE_REPEATS,
        .digest = draw(2),
        .chain = draw(2) * (STAGE_CLIENT | 1),
        .order_previous = draw(5),
        .done_below = asked > 10 ? draw(2) * (asked - 10) : 0,
        .deadline_ns = stage.now + draw(3000) * STAGE_MS,
        .epoch = draw(3),
        .owner = draw(4),
        .status = draw(2) == 0 ? 0 : -(int)draw(5000)};
}

static void call_something(void)
{
    struct cluster_send_call call = peer_stage_asked(asked + 1, draw(STAGE_CONTAINERS));

    call.deadline_ns = stage.now + (1 + draw(2000)) * STAGE_MS;
    call.order = draw(2);
    if (draw(6) == 0)
        call.query = (struct cluster_resolve_query){.mode = CLUSTER_MODE_BROADCAST};
    if (peer_stage_ask(&stage, &call) == 0)
        asked++;
}

static void end_some_run(void)
{
    uint32_t at = runs_count > 0 ? draw((uint32_t)runs_count) : 0;
    uint64_t id = runs[at];

    if (runs_count == 0)
        return;
    runs[at] = runs[--runs_count];
    peer_stage_end_run(&stage, id, "answer");
}

static void do_something(void)
{
    const struct cluster_peer_frame frame = any_frame();
    uint32_t what = draw(100);

    if (what < 70)
        (void)peer_stage_arrive(&stage, &frame, "body");
    else if (what < 80)
        call_something();
    else if (what < 90)
        end_some_run();
    else if (what < 93)
        (void)peer_stage_link(&stage, 2 + draw(2), (uint8_t)draw(CLUSTER_PEER_CHANGES),
                              40 + draw(3));
    else if (what < 95)
        (void)peer_stage_link(&stage, 2 + draw(2), CLUSTER_PEER_UP, 40);
    else
        peer_stage_pass(&stage, draw(100));
    note_effects();
}

static void live(uint64_t seed)
{
    hub_random_init(&numbers, seed);
    runs_count = asked = ended = 0;
    peer_stage_open(&stage);
    for (int i = 0; i < STEPS; i++)
        do_something();
    for (int i = 0; i < 100; i++) {
        peer_stage_pass(&stage, 100);
        note_effects();
    }
    assert_true(asked > STEPS / 100);
    assert_int_equal(ended, asked);
    while (runs_count > 0)
        end_some_run();
    peer_stage_close(&stage);
}

/* With 57 two calls of one uid miss the same call before them. r[verify cluster.peer.once]
 * r[verify cluster.peer.bounds] */
static void whatever_others_say_each_call_ends_once(void **state)
{
    (void)state;
    live(11);
    live(57);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whatever_others_say_each_call_ends_once)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
