/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/node_world.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "hub/base/bytes.h"
#include "tests/simulation/cluster/node_orders.h"
#include "tests/simulation/cluster/node_rules.h"

const struct node_world_figures *node_world_figures(void)
{
    return &node_rules_figures;
}

/* ---- the metastore ---- */

static void send_delta(uint32_t at)
{
    struct delta delta = node_rules_world.later[at];

    (void)node_rules_tell((struct cluster_event){.kind = CLUSTER_EVENT_DELTA,
                                                 .revision = delta.revision,
                                                 .delta = {delta.bytes, delta.size}});
    if (node_rules_draw(8) == 0)
        return;
    node_rules_world.later_count--;
    memmove(&node_rules_world.later[at], &node_rules_world.later[at + 1],
            (node_rules_world.later_count - at) * sizeof *node_rules_world.later);
}

/* Mostly in order; some twice, some before others, some never. */
static void deliver(void)
{
    if (node_rules_world.later_count == 0)
        return;
    if (node_rules_draw(40) == 0) {
        node_rules_world.later_count--;
        memmove(&node_rules_world.later[0], &node_rules_world.later[1],
                node_rules_world.later_count * sizeof *node_rules_world.later);
        return;
    }
    send_delta(node_rules_draw(12) == 0 ? node_rules_draw(node_rules_world.later_count) : 0);
}

static void write_entry(uint32_t c, struct cluster_entry entry)
{
    struct actor *actor = &node_rules_world.actors[c];
    struct cluster_delta_change change = {POOL, c, actor->entry.owner, entry};
    const struct cluster_delta delta = {node_rules_world.revision, {.of = &change, .count = 1}};
    struct hub_writer writer;
    struct delta *to;

    if (node_rules_world.later_count == LATER || node_rules_world.revision + 1 >= REVISIONS)
        return;
    to = &node_rules_world.later[node_rules_world.later_count++];
    hub_writer_init(&writer, to->bytes, sizeof to->bytes);
    if (cluster_delta_put(&writer, &delta) < 0)
        abort();
    to->size = writer.size;
    to->revision = ++node_rules_world.revision;
    actor->entry = entry;
    actor->revision = node_rules_world.revision;
    memcpy(node_rules_world.snapshots[node_rules_world.revision],
           node_rules_world.snapshots[node_rules_world.revision - 1],
           sizeof node_rules_world.snapshots[0]);
    node_rules_world.snapshots[node_rules_world.revision][c] = entry;
}

static void read_map(void)
{
    node_rules_world.wants_reading = false;
    node_rules_figures.readings++;
    if (node_rules_draw(6) == 0) {
        (void)node_rules_tell(
            (struct cluster_event){.kind = CLUSTER_EVENT_READ, .status = RAPAHUB_EIO});
        return;
    }
    (void)node_rules_tell((struct cluster_event){.kind = CLUSTER_EVENT_READING,
                                                 .revision = node_rules_world.revision});
    for (uint32_t c = 0; c < CONTAINERS; c++)
        if (node_rules_world.actors[c].entry.state != CLUSTER_ENTRY_NONE)
            (void)node_rules_tell(
                (struct cluster_event){.kind = CLUSTER_EVENT_ENTRY,
                                       .pool = POOL,
                                       .container = c,
                                       .revision = node_rules_world.actors[c].revision,
                                       .entry = &node_rules_world.actors[c].entry});
    (void)node_rules_tell((struct cluster_event){
        .kind = CLUSTER_EVENT_READ, .status = node_rules_draw(6) == 0 ? RAPAHUB_EIO : 0});
}

/* ---- containers ---- */

enum change { BEGINS, SERVES, HELD, DOWN, GONE };

/* What operations do with a container, without them. */
static int do_change(struct cluster_dispatch *parts, uint32_t c, enum change to)
{
    const struct actor *actor = &node_rules_world.actors[c];
    const struct cluster_context_hooks *hooks = &cluster_dispatch_hooks;
    int status = 0;

    if (to == BEGINS) {
        status =
            cluster_local_containers_begin(parts->locals, POOL, c, actor->tokens, actor->lineage);
        return status < 0 ? status : hooks->begun(parts, POOL, c, actor->lineage, 0);
    }
    if (to == GONE) {
        cluster_local_containers_remove(parts->locals, POOL, c);
        hooks->gone(parts, POOL, c);
        return 0;
    }
    cluster_local_containers_move(parts->locals, POOL, c,
                                  to == SERVES ? CLUSTER_LOCAL_SERVING : CLUSTER_LOCAL_HELD);
    if (to == SERVES)
        hooks->serves(parts, POOL, c);
    return 0;
}

static void change(uint32_t c, enum change to)
{
    struct cluster_dispatch *parts =
        (struct cluster_dispatch *)(uintptr_t)cluster_core_parts(node_rules_world.core);
    struct cluster_event event = {.kind = CLUSTER_EVENT_CONTAINER,
                                  .change = CLUSTER_CONTAINER_DOWN,
                                  .pool = POOL,
                                  .container = c};
    int status = 0;

    node_rules_world.actors[c].serving = to == SERVES;
    (void)node_rules_tell((struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    if (to != DOWN) {
        status = do_change(parts, c, to);
        event.kind = CLUSTER_EVENT_TICK;
    }
    if (node_rules_tell(event) < 0 || status < 0)
        node_rules_broke("a change of container %u is refused", c);
}

/* A life of a container begins in a lineage of its own: nothing of its state is kept here. */
static void begin(uint32_t c)
{
    struct actor *actor = &node_rules_world.actors[c];

    actor->here = true;
    actor->down = false;
    actor->tokens = cluster_ids_token(0, actor->entry.epoch, actor->life);
    actor->lineage = cluster_ids_lineage(actor->entry.epoch, actor->life);
    actor->life++;
    change(c, BEGINS);
}

static void set_entry(uint32_t c, uint8_t state, uint64_t epoch)
{
    struct cluster_entry entry = {.state = state,
                                  .owner = NODE,
                                  .session = 3,
                                  .epoch = epoch,
                                  .lineage = cluster_ids_lineage(epoch, 0)};

    if (state == CLUSTER_ENTRY_NONE)
        entry = (struct cluster_entry){.state = state};
    else if (state == CLUSTER_ENTRY_ACTIVE)
        entry.lineage = node_rules_world.actors[c].entry.lineage;
    write_entry(c, entry);
}

static void lose_runs(uint32_t c)
{
    for (uint32_t i = 0; i < node_rules_world.runs_count; i++)
        if (node_rules_world.runs[i].open && node_rules_world.runs[i].container == c)
            node_rules_world.runs[i].dead = true;
}

static void kill_guest(uint32_t c)
{
    node_rules_figures.deaths++;
    lose_runs(c);
    node_rules_world.actors[c].down = true;
    change(c, DOWN);
}

static void remove_container(uint32_t c)
{
    lose_runs(c);
    change(c, GONE);
    node_rules_world.actors[c].here = false;
    set_entry(c, CLUSTER_ENTRY_NONE, 0);
}

static void move_container(uint32_t c)
{
    struct actor *actor = &node_rules_world.actors[c];
    uint32_t what = node_rules_draw(10);

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
    else if (what < 4)
        change(c, HELD);
    else if (what < 7)
        kill_guest(c);
    else if (what < 8)
        remove_container(c);
}

/* ---- clients ---- */

static void choose(struct cluster_send_call *asked, struct call *call)
{
    *call = (struct call){.first = 0, .count = CONTAINERS, .open = true};
    switch (node_rules_draw(8)) {
    case 0:
        asked->query.mode = CLUSTER_MODE_BROADCAST;
        break;
    case 1:
        asked->query = (struct cluster_resolve_query){CLUSTER_MODE_RANGE, 0, 1, 2};
        call->first = 1;
        call->count = 2;
        break;
    case 2:
        asked->query.mode = CLUSTER_MODE_LOCAL;
        break;
    case 3:
        asked->query =
            (struct cluster_resolve_query){CLUSTER_MODE_HASH, node_rules_draw(1000), 0, 0};
        call->first = (uint32_t)asked->query.number % CONTAINERS;
        call->count = 1;
        break;
    default:
        asked->query = (struct cluster_resolve_query){.offset = node_rules_draw(CONTAINERS)};
        call->first = asked->query.offset;
        call->count = 1;
    }
}

static void begin_call(struct cluster_send_call asked, const struct call *from)
{
    struct call *call = &node_rules_world.calls[node_rules_world.calls_count];

    *call = *from;
    asked.number = node_rules_world.calls_count;
    asked.deadline_ns = node_rules_world.now + (1 + node_rules_draw(4000)) * MS;
    call->asked = asked;
    node_rules_world.calls_count++;
    node_rules_figures.calls++;
    if (node_rules_tell((struct cluster_event){.kind = CLUSTER_EVENT_CALL, .call = &asked}) < 0)
        call->open = false;
}

static void call_anew(void)
{
    uint32_t client = node_rules_draw(CLIENTS);
    struct cluster_send_call asked = {.pool = POOL,
                                      .uid = {(UINT64_C(1) << 63) + client, 0},
                                      .method = node_rules_draw(3) == 0 ? POOL_RECORD_REPEATS
                                                                        : POOL_RECORD_ONCE,
                                      .peer = client,
                                      .reserve = 100,
                                      .collect = node_rules_draw(2) == 0};
    struct call call;

    asked.uid.number = ++node_rules_world.numbers[client];
    asked.digest = asked.uid.number;
    asked.done_below = asked.uid.number > 30 ? asked.uid.number - 30 : 0;
    choose(&asked, &call);
    node_orders_choose(&asked);
    begin_call(asked, &call);
}

/* A client that got no answer sends again, with the lineage that it knows, or none. */
static void call_again(void)
{
    struct call *call = &node_rules_world.calls[node_rules_draw(node_rules_world.calls_count)];
    struct cluster_send_call asked = call->asked;
    uint32_t c = call->first;
    struct call next = *call;

    if (call->open || call->told_maybe || call->sent_again || call->count != 1)
        return;
    node_rules_figures.again++;
    call->sent_again = true;
    next.open = true;
    asked.maybe = true;
    asked.lineage = node_rules_draw(2) == 0 ? asked.lineage : 0;
    if (node_rules_world.starts[node_rules_first(asked.uid)][c] == 0)
        asked.lineage = node_rules_world.actors[c].lineage;
    begin_call(asked, &next);
}

static void finish_run(uint32_t at)
{
    struct run *run = &node_rules_world.runs[at];
    static const uint8_t answer[CLUSTER_EFFECTS_BODY_MAX];

    if (!run->open)
        return;
    run->open = false;
    (void)node_rules_tell(
        (struct cluster_event){.kind = CLUSTER_EVENT_RUN,
                               .id = run->id,
                               .status = run->dead ? RAPAHUB_EDIED : 0,
                               .body = {.bytes = {answer, node_rules_draw(sizeof answer)}}});
}

/* ---- a life ---- */

static void pass_time(uint64_t ns)
{
    uint64_t until = node_rules_world.now + ns;

    while (node_rules_world.timer <= until && !node_rules_world.broken) {
        node_rules_world.now = node_rules_world.timer > node_rules_world.now
                                   ? node_rules_world.timer
                                   : node_rules_world.now;
        node_rules_world.timer = UINT64_MAX;
        (void)node_rules_tell((struct cluster_event){.kind = CLUSTER_EVENT_TICK});
    }
    node_rules_world.now = until;
}

static void do_something(void)
{
    uint32_t what = node_rules_draw(100);

    if (what < 30 && node_rules_world.calls_count < CALLS - 1)
        call_anew();
    else if (what < 36 && node_rules_world.calls_count > 0 &&
             node_rules_world.calls_count < CALLS - 1)
        call_again();
    else if (what < 60 && node_rules_world.runs_count > 0)
        finish_run(node_rules_draw(4) == 0 ? node_rules_draw(node_rules_world.runs_count)
                                           : node_rules_world.runs_count - 1);
    else if (what < 63 && node_rules_world.calls_count > 0)
        (void)node_rules_tell((struct cluster_event){
            .kind = CLUSTER_EVENT_CANCEL, .number = node_rules_draw(node_rules_world.calls_count)});
    else if (what < 73)
        move_container(node_rules_draw(CONTAINERS));
    else if (what < 85)
        deliver();
    else if (what < 88 && node_rules_world.wants_reading)
        read_map();
    else
        pass_time(node_rules_draw(200) * MS);
    node_rules_check();
}

/* No more calls: all end, the map catches up, then all containers go, and nothing is left. */
static void settle(void)
{
    const struct cluster_dispatch *parts = cluster_core_parts(node_rules_world.core);
    struct cluster_send_figures left;

    for (uint32_t i = 0; i < node_rules_world.runs_count; i++)
        finish_run(i);
    for (int i = 0;
         i < SETTLE && (node_rules_world.later_count > 0 || node_rules_world.wants_reading); i++)
        node_rules_world.wants_reading ? read_map() : deliver();
    pass_time(60000 * MS);
    for (uint32_t i = 0; i < node_rules_world.runs_count; i++)
        finish_run(i);
    node_rules_check();
    for (uint32_t c = 0; c < CONTAINERS; c++)
        if (node_rules_world.actors[c].here)
            change(c, GONE);
    pass_time(MS);
    left = cluster_send_figures(parts->send);
    if (left.calls + left.members + cluster_parking_figures(parts->parking, 0, 0).calls +
            cluster_retry_figures(parts->retry).calls + cluster_order_count(parts->order) +
            cluster_pending_count(parts->pending) +
            cluster_dedup_figures(parts->dedup, 0, 0).calls +
            cluster_payload_count(parts->payload) >
        0)
        node_rules_broke("rest: %u calls, %u payloads are left", left.calls,
                         cluster_payload_count(parts->payload));
}

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
                                             .dedup = 120,
                                             .dedup_container = 60,
                                             .dedup_bytes = 60000,
                                             .dedup_container_bytes = 20000,
                                             .retries = 40,
                                             .retry_bytes = 10000};

const char *node_world_live(uint64_t seed, unsigned steps)
{
    memset(&node_rules_world, 0, sizeof node_rules_world);
    node_orders_reset();
    node_rules_world.seed = seed;
    node_rules_world.timer = UINT64_MAX;
    hub_random_init(&node_rules_world.random, seed);
    node_rules_figures.trace = UINT64_C(0xCBF29CE484222325);
    node_rules_figures.lives++;
    if (cluster_core_create(&limits, NODE, seed, &node_rules_world.core) < 0)
        return "no memory";
    (void)node_rules_tell((struct cluster_event){
        .kind = CLUSTER_EVENT_POOL, .pool = POOL, .revision = 1, .record = pool_record_read()});
    for (unsigned i = 0; i < steps && !node_rules_world.broken; i++)
        do_something();
    if (!node_rules_world.broken)
        settle();
    cluster_core_release(&node_rules_world.core);
    return node_rules_report();
}
