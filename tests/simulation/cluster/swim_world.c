/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/swim_world.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/base/ids.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

#define LATENCY_NS  (SWIM_MS / 5) /* at least; at most ten times as much */
#define RETRY_NS    (200 * SWIM_MS)
#define UPDATE_SIZE 48 /* bytes of a member in a whole view */

enum kind { DELIVERY, WAKE, LINK_ANSWER, EXCHANGE };

struct happening {
    uint64_t at_ns, number; /* in the order of these */
    enum kind kind;
    uint32_t to, from, sequence;
    uint8_t *data; /* of a datagram */
    size_t size;
};

struct node {
    struct cluster_swim *swim;
    uint64_t session, wakes_ns;
    bool dead, left;
    uint32_t group;
    uint64_t stalled_ns, runs_ns, phase_ns; /* stalled again and again from `phase_ns` on */
};

struct swim_world {
    struct node *nodes; /* from 1 on */
    uint32_t count, per_mille;
    bool no_links;
    struct cluster_swim_options options;
    struct hub_random random;
    struct happening *heap;
    size_t happenings, room;
    uint64_t now_ns, numbers, sessions;
    struct swim_figures figures;
};

/* ---- what will happen ---- */

static bool is_before(const struct happening *a, const struct happening *b)
{
    return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->number < b->number);
}

static void swap(struct happening *a, struct happening *b)
{
    struct happening kept = *a;

    *a = *b;
    *b = kept;
}

static void put(struct swim_world *world, struct happening happening)
{
    size_t at = world->happenings++;

    if (at == world->room) {
        world->room = world->room ? 2 * world->room : 1024;
        world->heap = realloc(world->heap, world->room * sizeof *world->heap);
        assert_non_null(world->heap);
    }
    happening.number = ++world->numbers;
    world->heap[at] = happening;
    for (; at > 0 && is_before(&world->heap[at], &world->heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&world->heap[at], &world->heap[(at - 1) / 2]);
}

static struct happening take(struct swim_world *world)
{
    struct happening first = world->heap[0];

    world->heap[0] = world->heap[--world->happenings];
    for (size_t at = 0;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < world->happenings && is_before(&world->heap[child], &world->heap[least]))
                least = child;
        if (least == at)
            return first;
        swap(&world->heap[at], &world->heap[least]);
        at = least;
    }
}

static uint64_t latency(struct swim_world *world)
{
    return LATENCY_NS + hub_random_below(&world->random, 9 * LATENCY_NS);
}

static bool reaches(const struct swim_world *world, uint32_t from, uint32_t to)
{
    return !world->nodes[to].dead && world->nodes[from].group == world->nodes[to].group;
}

/* When a stalled node runs again; now, if it runs. */
static uint64_t runs_from(const struct swim_world *world, const struct node *node)
{
    uint64_t cycle = node->stalled_ns + node->runs_ns, into;

    if (node->stalled_ns == 0)
        return world->now_ns;
    into = (world->now_ns - node->phase_ns) % cycle;
    return into < node->stalled_ns ? world->now_ns + node->stalled_ns - into : world->now_ns;
}

/* ---- what a node wants ---- */

static void trace(struct swim_world *world, uint64_t what)
{
    world->figures.trace = (world->figures.trace ^ what) * UINT64_C(0x100000001b3);
}

static void send(struct swim_world *world, uint32_t from, const struct cluster_swim_output *output)
{
    struct happening happening = {.at_ns = world->now_ns + latency(world),
                                  .kind = DELIVERY,
                                  .to = output->node,
                                  .from = from,
                                  .size = output->size};

    world->figures.sent++;
    world->figures.bytes += output->size + CLUSTER_DATAGRAM_CLEAR + CLUSTER_DATAGRAM_TAG;
    if (hub_random_below(&world->random, 1000) < world->per_mille ||
        !reaches(world, from, output->node))
        return;
    happening.data = malloc(output->size);
    assert_non_null(happening.data);
    memcpy(happening.data, output->data, output->size);
    put(world, happening);
}

/* A link loses nothing, but takes longer. */
static void ask_by_link(struct swim_world *world, uint32_t from,
                        const struct cluster_swim_output *output)
{
    uint64_t span_ns = 2 * latency(world);

    while (hub_random_below(&world->random, 1000) < world->per_mille)
        span_ns += RETRY_NS;
    if (reaches(world, from, output->node) && !world->no_links)
        put(world,
            (struct happening){.at_ns = runs_from(world, &world->nodes[output->node]) + span_ns,
                               .kind = LINK_ANSWER,
                               .to = from,
                               .from = output->node,
                               .sequence = output->sequence});
}

static void note_change(struct swim_world *world, const struct cluster_swim_output *output)
{
    const struct node *member = &world->nodes[output->node];

    if (output->state == CLUSTER_MEMBER_SUSPECTED && member->dead &&
        world->figures.suspected_first == 0)
        world->figures.suspected_first = world->now_ns;
    if (output->state == CLUSTER_MEMBER_DEAD && !member->dead && member->group == 0)
        world->figures.false_deaths++;
    trace(world, (uint64_t)output->node << 8 | output->state);
}

static void carry_out(struct swim_world *world, uint32_t node)
{
    struct cluster_swim_output output;
    struct node *own = &world->nodes[node];

    while (cluster_swim_take(own->swim, &output)) {
        trace(world, (uint64_t)output.node << 40 | (uint64_t)node << 8 | output.kind);
        if (output.kind == CLUSTER_SWIM_OUTPUT_DATAGRAM)
            send(world, node, &output);
        else if (output.kind == CLUSTER_SWIM_OUTPUT_LINK_PROBE)
            ask_by_link(world, node, &output);
        else if (output.kind == CLUSTER_SWIM_OUTPUT_CHANGED)
            note_change(world, &output);
        else if (reaches(world, node, output.node))
            put(world, (struct happening){.at_ns = world->now_ns + 2 * latency(world),
                                          .kind = EXCHANGE,
                                          .to = output.node,
                                          .from = node});
    }
    if (own->wakes_ns <= world->now_ns || cluster_swim_next(own->swim) < own->wakes_ns) {
        own->wakes_ns = cluster_swim_next(own->swim);
        put(world, (struct happening){.at_ns = own->wakes_ns, .kind = WAKE, .to = node});
    }
}

/* ---- time ---- */

static void tell_all(struct swim_world *world, uint32_t from, uint32_t to)
{
    struct cluster_update update;
    uint32_t place = 0;

    while (cluster_swim_tell(world->nodes[from].swim, &place, &update)) {
        world->figures.pushed += UPDATE_SIZE;
        cluster_swim_merge(world->nodes[to].swim, world->now_ns, &update);
    }
}

static void exchange(struct swim_world *world, uint32_t one, uint32_t other)
{
    if (world->nodes[other].dead || !reaches(world, other, one))
        return;
    tell_all(world, other, one);
    tell_all(world, one, other);
    carry_out(world, other);
}

static void happen(struct swim_world *world, struct happening *happening)
{
    struct node *node = &world->nodes[happening->to];
    uint64_t runs_ns = runs_from(world, node);

    if (node->dead)
        return;
    if (runs_ns > world->now_ns) { /* it waits until the node runs; datagrams are read first */
        happening->at_ns = runs_ns + (happening->kind == WAKE);
        put(world, *happening);
        happening->data = NULL;
        return;
    }
    if (happening->kind == DELIVERY)
        assert_int_equal(cluster_swim_hear(node->swim, world->now_ns, happening->from,
                                           happening->data, happening->size),
                         0);
    else if (happening->kind == LINK_ANSWER)
        cluster_swim_link_answered(node->swim, world->now_ns, happening->from, happening->sequence);
    else if (happening->kind == EXCHANGE)
        exchange(world, happening->to, happening->from);
    cluster_swim_step(node->swim, world->now_ns);
    carry_out(world, happening->to);
}

void swim_world_run(struct swim_world *world, uint64_t span_ns)
{
    uint64_t end_ns = world->now_ns + span_ns;

    while (world->happenings > 0 && world->heap[0].at_ns <= end_ns) {
        struct happening happening = take(world);

        world->now_ns = happening.at_ns;
        happen(world, &happening);
        free(happening.data);
    }
    world->now_ns = end_ns;
}

uint64_t swim_world_now(const struct swim_world *world)
{
    return world->now_ns;
}

/* ---- made ---- */

static void begin(struct swim_world *world, uint32_t number)
{
    struct cluster_swim_options options = world->options;
    struct node *node = &world->nodes[number];

    options.node = number;
    options.session = node->session;
    options.seed = hub_random_next(&world->random);
    options.members_max = world->count;
    assert_int_equal(cluster_swim_create(&options, world->now_ns, &node->swim), 0);
    for (uint32_t other = 1; other <= world->count; other++)
        if (other != number)
            assert_int_equal(cluster_swim_add(node->swim, other, world->nodes[other].session), 0);
    node->wakes_ns = 0;
}

struct swim_world *swim_world_make(uint32_t nodes, const struct cluster_swim_options *options,
                                   uint64_t seed)
{
    struct swim_world *world = calloc(1, sizeof *world);

    assert_non_null(world);
    world->nodes = calloc(nodes + 1, sizeof *world->nodes);
    assert_non_null(world->nodes);
    world->count = nodes;
    world->options = *options;
    world->now_ns = SWIM_SECOND;
    hub_random_init(&world->random, seed);
    for (uint32_t i = 1; i <= nodes; i++)
        world->nodes[i].session = cluster_ids_revision(0, ++world->sessions);
    for (uint32_t i = 1; i <= nodes; i++) {
        begin(world, i);
        carry_out(world, i);
    }
    return world;
}

void swim_world_free(struct swim_world *world)
{
    for (uint32_t i = 1; i <= world->count; i++)
        cluster_swim_release(&world->nodes[i].swim);
    for (size_t i = 0; i < world->happenings; i++)
        free(world->heap[i].data);
    free(world->heap);
    free(world->nodes);
    free(world);
}

void swim_world_lose(struct swim_world *world, uint32_t per_mille)
{
    world->per_mille = per_mille;
}

void swim_world_break_links(struct swim_world *world)
{
    world->no_links = true;
}

void swim_world_kill(struct swim_world *world, uint32_t node)
{
    world->nodes[node].dead = true;
    world->figures.suspected_first = 0;
}

void swim_world_begin_again(struct swim_world *world, uint32_t number)
{
    struct node *node = &world->nodes[number];

    node->dead = node->left = false;
    node->session = cluster_ids_revision(0, ++world->sessions);
    cluster_swim_release(&node->swim);
    begin(world, number);
    for (uint32_t other = 1; other <= world->count; other++) /* as the metastore tells them */
        if (other != number)
            assert_int_equal(cluster_swim_add(world->nodes[other].swim, number, node->session), 0);
    carry_out(world, number);
}

void swim_world_leave(struct swim_world *world, uint32_t node)
{
    world->nodes[node].left = true;
    cluster_swim_leave(world->nodes[node].swim);
    cluster_swim_step(world->nodes[node].swim, world->now_ns);
    carry_out(world, node);
}

void swim_world_put(struct swim_world *world, uint32_t node, uint32_t group)
{
    world->nodes[node].group = group;
}

void swim_world_stall(struct swim_world *world, uint32_t node, uint64_t span_ns, uint64_t runs_ns)
{
    world->nodes[node].stalled_ns = span_ns;
    world->nodes[node].runs_ns = runs_ns;
    world->nodes[node].phase_ns = world->now_ns;
}

/* ---- looked at ---- */

bool swim_world_all_hold(const struct swim_world *world, uint32_t node, uint32_t state)
{
    for (uint32_t i = 1; i <= world->count; i++)
        if (i != node && !world->nodes[i].dead &&
            cluster_swim_state(world->nodes[i].swim, node) != state)
            return false;
    return true;
}

bool swim_world_views_are_equal(const struct swim_world *world)
{
    for (uint32_t i = 1; i <= world->count; i++) {
        const struct node *node = &world->nodes[i];
        uint32_t state = node->dead   ? CLUSTER_MEMBER_DEAD
                         : node->left ? CLUSTER_MEMBER_LEFT
                                      : CLUSTER_MEMBER_ALIVE;

        if (!swim_world_all_hold(world, i, state))
            return false;
    }
    return true;
}

struct cluster_swim *swim_world_node(struct swim_world *world, uint32_t node)
{
    return world->nodes[node].swim;
}

struct swim_figures *swim_world_figures(struct swim_world *world)
{
    return &world->figures;
}
