/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/peer_world.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "hub/base/bytes.h"
#include "tests/simulation/cluster/peer_links.h"
#include "tests/simulation/cluster/peer_people.h"
#include "tests/simulation/cluster/peer_rules.h"

#define CHECKED 4 /* after each so many events all tables are looked at, which takes long */

#define world peer_rules_world
#define draw  peer_rules_draw
#define broke peer_rules_broke

static const struct cluster_limits limits = {.pools = 2,
                                             .entries = CONTAINERS,
                                             .containers = CONTAINERS,
                                             .calls = 60,
                                             .payloads = 400,
                                             .effects = 600,
                                             .parked = 30,
                                             .parked_container = 8,
                                             .parked_bytes = 10000,
                                             .parked_container_bytes = 4000,
                                             .dedup = 200,
                                             .dedup_container = 100,
                                             .dedup_bytes = 200000,
                                             .dedup_container_bytes = 100000,
                                             .retries = 60,
                                             .retry_bytes = 20000,
                                             .peers = NODES,
                                             .peer_calls = 12,
                                             .peer_bytes = 20000};

const struct peer_world_figures *peer_world_figures(void)
{
    return &peer_rules_figures;
}

/* ---- effects ---- */

static void carry_out(uint32_t n, const struct cluster_effect *effect)
{
    struct node *node = &world.node[n];

    peer_rules_mix((uint64_t)n << 8 | effect->kind);
    peer_rules_mix(effect->number);
    peer_rules_mix(effect->id);
    peer_rules_mix(effect->at_ns);
    peer_rules_mix((uint64_t)effect->status << 32 | effect->container);
    switch (effect->kind) {
    case CLUSTER_EFFECT_TIMER:
        node->timer = effect->at_ns;
        break;
    case CLUSTER_EFFECT_RANGE:
        node->wants_reading = true;
        break;
    case CLUSTER_EFFECT_RUN:
        peer_rules_start(n, effect);
        break;
    case CLUSTER_EFFECT_EACH:
        peer_rules_each(n, effect);
        break;
    case CLUSTER_EFFECT_ANSWER:
        peer_rules_answer(n, effect);
        break;
    case CLUSTER_EFFECT_SEND:
        peer_rules_mix(effect->frame->attempt);
        peer_links_send(n, effect);
        break;
    default:
        break;
    }
}

/* A step may come while the effects of another node are carried out. */
static int tell(uint32_t n, struct cluster_event event)
{
    struct cluster_effects *effects = malloc(sizeof *effects);
    bool more = true;
    int status;

    if (!effects)
        abort();
    event.now_ns = peer_rules_clock(n);
    peer_rules_figures.events++;
    status = cluster_core_step(world.node[n].core, &event, effects);
    while (more && !world.broken) {
        more = effects->count == CLUSTER_EFFECTS_MAX;
        for (uint32_t i = 0; i < effects->count; i++)
            carry_out(n, &effects->effects[i]);
        if (more)
            (void)cluster_core_step(world.node[n].core,
                                    &(struct cluster_event){.now_ns = peer_rules_clock(n)},
                                    effects);
    }
    free(effects);
    if (peer_rules_figures.events % CHECKED == 0)
        peer_rules_check(n);
    return status;
}

int peer_world_tell(uint32_t node, const struct cluster_event *event)
{
    return tell(node, *event);
}

/* ---- links ---- */

static int hand_frame(uint32_t to, const struct cluster_peer_frame *frame,
                      struct rapahub_bytes body)
{
    return tell(to, (struct cluster_event){
                        .kind = CLUSTER_EVENT_ARRIVED, .frame = frame, .body = {.bytes = body}});
}

static void hand_link(uint32_t node, uint32_t other, bool up)
{
    if (tell(node, (struct cluster_event){.kind = CLUSTER_EVENT_PEER,
                                          .change = up ? CLUSTER_PEER_UP : CLUSTER_PEER_LOST,
                                          .node = other,
                                          .session = world.node[other].session}) < 0)
        broke("bounds: a link of node %u is refused", node);
}

static const struct peer_links_hooks hooks = {hand_frame, hand_link};

/* ---- the metastore ---- */

static void write_entry(uint32_t c, struct cluster_entry entry)
{
    struct actor *actor = &world.actors[c];
    struct cluster_delta_change change = {POOL, c, actor->entry.owner, entry};
    const struct cluster_delta delta = {world.revision, {.of = &change, .count = 1}};
    struct delta *to = &world.deltas[world.deltas_count];
    struct hub_writer writer;

    if (world.deltas_count == REVISIONS)
        return;
    hub_writer_init(&writer, to->bytes, sizeof to->bytes);
    if (cluster_delta_put(&writer, &delta) < 0)
        abort();
    to->size = writer.size;
    to->revision = ++world.revision;
    world.deltas_count++;
    actor->entry = entry;
    actor->revision = world.revision;
}

/* Each node sees all deltas in their order, but now and then one is missed. */
static void deliver(uint32_t n)
{
    struct node *node = &world.node[n];
    const struct delta *delta = &world.deltas[node->told];

    if (node->told == world.deltas_count)
        return;
    node->told++;
    if (!world.calm && draw(30) == 0)
        return;
    (void)tell(n, (struct cluster_event){.kind = CLUSTER_EVENT_DELTA,
                                         .revision = delta->revision,
                                         .delta = {delta->bytes, delta->size}});
}

static void read_map(uint32_t n)
{
    world.node[n].wants_reading = false;
    (void)tell(n,
               (struct cluster_event){.kind = CLUSTER_EVENT_READING, .revision = world.revision});
    for (uint32_t c = 0; c < CONTAINERS; c++)
        if (world.actors[c].entry.state != CLUSTER_ENTRY_NONE)
            (void)tell(n, (struct cluster_event){.kind = CLUSTER_EVENT_ENTRY,
                                                 .pool = POOL,
                                                 .container = c,
                                                 .revision = world.actors[c].revision,
                                                 .entry = &world.actors[c].entry});
    world.node[n].told = world.deltas_count;
    (void)tell(n, (struct cluster_event){.kind = CLUSTER_EVENT_READ,
                                         .status = !world.calm && draw(6) == 0 ? RAPAHUB_EIO : 0});
}

/* ---- containers ---- */

enum change { BEGINS, SERVES, HELD, DOWN, GONE };

/* What operations do with a container, without them. */
static int do_change(struct cluster_dispatch *parts, uint32_t c, enum change to)
{
    const struct actor *actor = &world.actors[c];
    const struct cluster_context_hooks *to_calls = &cluster_dispatch_hooks;
    int status;

    if (to == BEGINS) {
        status =
            cluster_local_containers_begin(parts->locals, POOL, c, actor->token, actor->lineage);
        return status < 0 ? status : to_calls->begun(parts, POOL, c, actor->lineage, 0);
    }
    if (to == GONE) {
        cluster_local_containers_remove(parts->locals, POOL, c);
        to_calls->gone(parts, POOL, c);
        return 0;
    }
    cluster_local_containers_move(parts->locals, POOL, c,
                                  to == SERVES ? CLUSTER_LOCAL_SERVING : CLUSTER_LOCAL_HELD);
    if (to == SERVES)
        to_calls->serves(parts, POOL, c);
    return 0;
}

static void change(uint32_t c, enum change to)
{
    uint32_t n = peer_rules_owner(c);
    struct cluster_dispatch *parts =
        (struct cluster_dispatch *)(uintptr_t)cluster_core_parts(world.node[n].core);
    struct cluster_event event = {.kind = CLUSTER_EVENT_CONTAINER,
                                  .change = CLUSTER_CONTAINER_DOWN,
                                  .pool = POOL,
                                  .container = c};
    int status = 0;

    world.actors[c].serving = to == SERVES;
    (void)tell(n, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    if (to != DOWN) {
        status = do_change(parts, c, to);
        event.kind = CLUSTER_EVENT_TICK;
    }
    if (tell(n, event) < 0 || status < 0)
        broke("bounds: a change of container %u is refused", c);
}

/* A life of a container begins in a lineage of its own: nothing of its state is kept here. */
static void begin(uint32_t c)
{
    struct actor *actor = &world.actors[c];

    actor->here = true;
    actor->down = false;
    actor->token = cluster_ids_token(0, actor->entry.epoch, actor->life);
    actor->lineage = cluster_ids_lineage(actor->entry.epoch, actor->life);
    actor->life++;
    change(c, BEGINS);
}

/* Lives count anew in each epoch. */
static void set_entry(uint32_t c, uint8_t state, uint64_t epoch)
{
    struct actor *actor = &world.actors[c];
    uint32_t owner = peer_rules_owner(c);

    if (epoch != actor->entry.epoch)
        actor->life = 0;
    write_entry(c, (struct cluster_entry){.state = state,
                                          .owner = owner,
                                          .session = world.node[owner].session,
                                          .epoch = epoch,
                                          .lineage = cluster_ids_lineage(epoch, 0)});
}

static void lose_runs(uint32_t c)
{
    for (uint32_t i = 0; i < world.runs_count; i++)
        if (world.runs[i].open && world.runs[i].container == c)
            world.runs[i].dead = true;
}

static void kill_guest(uint32_t c)
{
    peer_rules_figures.deaths++;
    lose_runs(c);
    world.actors[c].down = true;
    change(c, DOWN);
}

static void move_container(uint32_t c)
{
    struct actor *actor = &world.actors[c];
    uint32_t what = draw(10);

    if (actor->entry.state == CLUSTER_ENTRY_NONE)
        set_entry(c, CLUSTER_ENTRY_STARTING, 1);
    else if (actor->down && actor->entry.state == CLUSTER_ENTRY_ACTIVE && what < 5)
        set_entry(c, CLUSTER_ENTRY_RESTARTING, actor->entry.epoch + 1);
    else if (!actor->here || actor->down)
        begin(c);
    else if (!actor->serving)
        change(c, SERVES);
    else if (actor->entry.state != CLUSTER_ENTRY_ACTIVE)
        set_entry(c, CLUSTER_ENTRY_ACTIVE, actor->entry.epoch);
    else if (what < 2)
        change(c, HELD);
    else if (what < 4)
        kill_guest(c);
}

/* ---- nodes ---- */

static void start(uint32_t n)
{
    struct node *node = &world.node[n];

    node->boot++;
    node->session = 1000000 + 10000 * (uint64_t)n + node->boot;
    node->timer = UINT64_MAX;
    node->numbers = 0;
    node->wants_reading = false;
    node->told = world.deltas_count;
    if (cluster_core_create(&limits, n, hub_random_next(&world.random), &node->core) < 0)
        abort();
    (void)tell(n, (struct cluster_event){.kind = CLUSTER_EVENT_POOL,
                                         .pool = POOL,
                                         .revision = 1,
                                         .record = pool_record_read()});
}

/* Its containers begin anew, in another epoch; what it did is lost, and nobody is told. */
static void restart(uint32_t n)
{
    peer_rules_figures.restarts++;
    peer_links_kill(n);
    for (uint32_t i = 0; i < world.runs_count; i++)
        if (world.runs[i].node == n && world.runs[i].boot == world.node[n].boot)
            world.runs[i].dead = true, world.runs[i].open = false;
    for (uint32_t i = 0; i < world.calls_count; i++)
        if (world.calls[i].node == n)
            world.calls[i].open = false;
    cluster_core_release(&world.node[n].core);
    for (uint32_t c = 0; c < CONTAINERS; c++)
        if (peer_rules_owner(c) == n)
            world.actors[c].here = world.actors[c].serving = world.actors[c].down = false;
    start(n);
    for (uint32_t c = 0; c < CONTAINERS; c++)
        if (peer_rules_owner(c) == n && world.actors[c].entry.state != CLUSTER_ENTRY_NONE)
            set_entry(c, CLUSTER_ENTRY_RESTARTING, world.actors[c].entry.epoch + 1);
}

/* ---- a life ---- */

/* The next moment at which something happens by itself. */
static uint64_t next_moment(void)
{
    uint64_t next = peer_links_next();

    for (uint32_t n = 1; n <= world.nodes; n++) {
        uint64_t timer = world.node[n].timer;

        if (timer != UINT64_MAX && timer - world.node[n].offset < next)
            next = timer - world.node[n].offset;
    }
    return next;
}

static void wake(void)
{
    for (uint32_t n = 1; n <= world.nodes; n++)
        if (world.node[n].timer <= peer_rules_clock(n)) {
            world.node[n].timer = UINT64_MAX;
            (void)tell(n, (struct cluster_event){.kind = CLUSTER_EVENT_TICK});
        }
}

static void pass_time(uint64_t ns)
{
    uint64_t until = world.now + ns, next;

    while (!world.broken && (next = next_moment()) <= until) {
        world.now = next > world.now ? next : world.now;
        peer_links_deliver();
        wake();
    }
    world.now = until;
}

static void do_something(void)
{
    uint32_t what = draw(100), n = 1 + draw(world.nodes);

    peer_links_step();
    if (what < 30)
        peer_people_call();
    else if (what < 34)
        peer_people_call_again();
    else if (what < 55)
        peer_people_end_run();
    else if (what < 58)
        peer_people_cancel();
    else if (what < 70)
        move_container(draw(CONTAINERS));
    else if (what < 80)
        deliver(n);
    else if (what < 84 && world.node[n].wants_reading)
        read_map(n);
    else if (what == 84 && draw(3) == 0)
        restart(n);
    else if (what < 87)
        peer_links_cut(n, 1 + n % world.nodes);
    else
        pass_time(draw(60) * MS);
    peer_rules_check_late();
}

static void check_rest(uint32_t n)
{
    const struct cluster_dispatch *parts = cluster_core_parts(world.node[n].core);
    struct cluster_send_figures left = cluster_send_figures(parts->send);
    struct cluster_peers_figures peers = cluster_peers_figures(parts->peers);

    if (left.calls + left.members + cluster_parking_figures(parts->parking, 0, 0).calls +
            cluster_retry_figures(parts->retry).calls + cluster_order_count(parts->order) +
            cluster_pending_count(parts->pending) +
            cluster_dedup_figures(parts->dedup, 0, 0).calls +
            cluster_payload_count(parts->payload) + peers.came + peers.sent + peers.bytes >
        0)
        broke("rest: node %u has %u calls, %u payloads, %u of peers", n, left.calls,
              cluster_payload_count(parts->payload), peers.came);
}

/* No more calls, and no more faults: all end, the maps catch up, all containers go, and nothing is
 * left. */
static void settle(void)
{
    world.calm = true;
    for (int i = 0; i < 5 && !world.broken; i++) {
        peer_links_step();
        for (uint32_t n = 1; n <= world.nodes; n++) {
            while (world.node[n].told < world.deltas_count && !world.node[n].wants_reading)
                deliver(n);
            if (world.node[n].wants_reading)
                read_map(n);
        }
        peer_people_end_all_runs();
        pass_time(4000 * MS);
        peer_rules_check_late();
    }
    for (uint32_t c = 0; c < CONTAINERS && !world.broken; c++)
        if (world.actors[c].here)
            change(c, GONE);
    pass_time(MS);
    for (uint32_t n = 1; n <= world.nodes && !world.broken; n++)
        check_rest(n);
}

const char *peer_world_live(uint64_t seed, unsigned steps)
{
    memset(&world, 0, sizeof world);
    world.seed = seed;
    hub_random_init(&world.random, seed);
    peer_links_reset(&hooks);
    peer_rules_figures.trace = UINT64_C(0xCBF29CE484222325);
    peer_rules_figures.lives++;
    world.nodes = 2 + draw(NODES - 1);
    world.now = 1000 * MS;
    for (uint32_t n = 1; n <= world.nodes; n++) {
        world.node[n].offset = draw(100000) * MS;
        start(n);
    }
    for (unsigned i = 0; i < steps && !world.broken; i++)
        do_something();
    if (!world.broken)
        settle();
    for (uint32_t n = 1; n <= world.nodes; n++)
        cluster_core_release(&world.node[n].core);
    return peer_rules_report();
}
