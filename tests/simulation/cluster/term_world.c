/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulation/cluster/term_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cluster/core/session/lead.h"
#include "hub/base/check.h"
#include "hub/base/clock.h"
#include "hub/base/random.h"

#define NODES   5
#define WAITING 64  /* transactions on their way */
#define CHANGES 256 /* on their way to a node */
#define TICK    (20 * HUB_MILLISECOND)
#define QUIET   (30 * HUB_SECOND) /* then all must be well */
#define STILL   (12 * HUB_SECOND) /* and in these nothing may change */

enum kind { NONE, CLAIM, RENEW, WRITE };

/* A transaction on its way to the metastore, and its answer on the way back. */
struct txn {
    enum kind kind;
    unsigned node;
    uint64_t session, at_ns, back_ns, revision; /* 0: it did not happen */
    bool done;
    struct cluster_lead_step step; /* CLAIM */
    uint64_t term;                 /* WRITE */
};

/* What the metastore tells a node: the record, or the session of a node. */
struct change {
    unsigned of; /* 0: the record */
    uint64_t at_ns, session, put;
    struct cluster_lead_record record;
};

struct node {
    bool up;
    uint64_t session; /* of this life */
    uint64_t begin_ns, stopped_ns, cut_ns, write_ns;
    int64_t drift; /* of 1000 */
    struct cluster_lead lead;
    struct {
        uint64_t session, put;
    } seen[NODES + 1];
    bool writing;
    struct change changes[CHANGES]; /* in order */
    unsigned heard, told;
};

struct store {
    uint64_t revision;
    struct cluster_lead_record record;
    struct {
        uint64_t session, put, put_ns;
    } sessions[NODES + 1];
    unsigned writer; /* in the term */
};

static struct {
    struct hub_random random;
    uint64_t now_ns, seed, order, still_ns, without_ns;
    bool calm; /* nothing is late */
    unsigned count;
    struct store store;
    struct node nodes[NODES + 1];
    struct txn txns[WAITING];
    const char *broken;
    char text[160];
} world;

static struct term_world_figures figures;

const struct term_world_figures *term_world_figures(void)
{
    return &figures;
}

static uint64_t below(uint64_t most)
{
    return hub_random_below(&world.random, most);
}

/* How long something takes: mostly at most so many ms. */
static uint64_t late(uint64_t mostly, uint64_t most)
{
    return below(!world.calm && below(20) == 0 ? most : mostly) * HUB_MILLISECOND;
}

static void break_rule(const char *which)
{
    if (!world.broken)
        snprintf(world.text, sizeof world.text, "%s: seed %" PRIu64 ", at %" PRIu64 " ms", which,
                 world.seed, world.now_ns / HUB_MILLISECOND);
    world.broken = world.text;
}

static void note(uint64_t value)
{
    figures.trace = (figures.trace ^ value) * UINT64_C(0x100000001b3);
}

/* The clock of a node. */
static uint64_t time_of(const struct node *node)
{
    return world.now_ns + HUB_SECOND * 1000 +
           (uint64_t)((int64_t)(world.now_ns / 1000) * node->drift);
}

static bool runs(const struct node *node)
{
    return node->up && world.now_ns >= node->stopped_ns;
}

static bool reaches(const struct node *node)
{
    return world.now_ns >= node->cut_ns;
}

/* ---- the metastore tells ---- */

static void tell(unsigned of)
{
    for (unsigned to = 1; to <= world.count; to++) {
        struct node *node = &world.nodes[to];
        struct change *change = &node->changes[node->told++ % CHANGES];

        if (!node->up)
            node->heard = node->told;
        CHECK(node->told - node->heard < CHANGES);
        *change = (struct change){.of = of,
                                  .at_ns = world.now_ns + late(80, 3000),
                                  .session = world.store.sessions[of].session,
                                  .put = world.store.sessions[of].put,
                                  .record = world.store.record};
    }
}

static void hear(struct node *node)
{
    while (reaches(node) && node->heard != node->told &&
           node->changes[node->heard % CHANGES].at_ns <= world.now_ns) {
        const struct change *change = &node->changes[node->heard++ % CHANGES];

        if (change->of == 0)
            cluster_lead_take(&node->lead, &change->record, time_of(node));
        node->seen[change->of].session = change->session;
        node->seen[change->of].put = change->put;
    }
}

/* ---- the metastore carries out ---- */

static void put_session(unsigned node, uint64_t session)
{
    world.store.revision++;
    world.store.sessions[node].session = session == 1 ? world.store.revision : session;
    world.store.sessions[node].put = session == 0 ? 0 : world.store.revision;
    world.store.sessions[node].put_ns = world.now_ns;
    tell(node);
}

static void judge_claim(const struct txn *txn)
{
    const struct cluster_lead_record *before = &world.store.record;
    bool lives = before->term != 0 && before->node != 0 &&
                 world.store.sessions[before->node].session == before->session;

    if (lives && before->node != txn->node &&
        world.now_ns - world.store.sessions[before->node].put_ns < CLUSTER_LEAD_TTL_NS)
        break_rule("patient");
    if (before->term != 0 && world.still_ns != 0 && world.now_ns >= world.still_ns)
        break_rule("calm");
    figures.claims++;
    figures.taken += before->term != 0 && before->node != txn->node;
    figures.begun_anew += before->term != 0 && before->node == txn->node;
}

static bool claim(const struct txn *txn)
{
    const struct cluster_lead_step *step = &txn->step;
    struct store *store = &world.store;

    if ((step->term != store->record.term && step->term != TERM_WORLD_ANY) ||
        (step->seen != 0 && store->sessions[step->other].put != step->seen)) {
        figures.refused_claims++;
        return false;
    }
    judge_claim(txn);
    store->revision++;
    store->record = (struct cluster_lead_record){txn->node, txn->session, store->revision};
    store->writer = 0;
    tell(0);
    return true;
}

static bool write(const struct txn *txn)
{
    struct store *store = &world.store;

    if (txn->term != store->record.term && txn->term != TERM_WORLD_ANY) {
        figures.refused_writes++;
        return false;
    }
    if (store->record.node != txn->node || (store->writer != 0 && store->writer != txn->node))
        break_rule("writes");
    store->writer = txn->node;
    figures.writes++;
    return true;
}

/* All compare the session of their node. */
static void carry_out(struct txn *txn)
{
    bool lives = world.store.sessions[txn->node].session == txn->session;

    txn->done = true;
    if (lives && txn->kind == CLAIM && claim(txn))
        txn->revision = world.store.revision;
    if (lives && txn->kind == WRITE)
        (void)write(txn);
    if (lives && txn->kind == RENEW)
        put_session(txn->node, txn->session);
    note(txn->at_ns ^ txn->revision);
}

static void answer(struct txn *txn)
{
    struct node *node = &world.nodes[txn->node];

    if (node->session == txn->session && txn->kind == CLAIM)
        cluster_lead_claimed(&node->lead, txn->revision, time_of(node));
    if (node->session == txn->session && txn->kind == RENEW)
        cluster_lead_renewed(&node->lead);
    if (node->session == txn->session && txn->kind == WRITE)
        node->writing = false;
    txn->kind = NONE;
}

static void step_txns(void)
{
    for (unsigned i = 0; i < WAITING; i++) {
        struct txn *txn = &world.txns[i];
        const struct node *node = &world.nodes[txn->node];

        if (txn->kind != NONE && !txn->done && txn->at_ns <= world.now_ns && reaches(node))
            carry_out(txn);
        if (txn->kind != NONE && txn->done && txn->back_ns <= world.now_ns &&
            (runs(node) || !node->up) && reaches(node))
            answer(txn);
    }
}

static struct txn *send(enum kind kind, unsigned number)
{
    struct txn *txn = world.txns;

    while (txn->kind != NONE && txn < &world.txns[WAITING - 1])
        txn++;
    CHECK(txn->kind == NONE);
    *txn = (struct txn){.kind = kind,
                        .node = number,
                        .session = world.nodes[number].session,
                        .at_ns = world.now_ns + late(60, 5000)};
    txn->back_ns = txn->at_ns + below(60) * HUB_MILLISECOND;
    return txn;
}

/* ---- nodes ---- */

static void begin(struct node *node, unsigned number)
{
    put_session(number, 1);
    *node = (struct node){.up = true,
                          .session = world.store.sessions[number].session,
                          .drift = (int64_t)below(11) - 5,
                          .cut_ns = node->cut_ns};
    for (unsigned i = 1; i <= world.count; i++) {
        node->seen[i].session = world.store.sessions[i].session;
        node->seen[i].put = world.store.sessions[i].put;
    }
    cluster_lead_begin(&node->lead, number, node->session, &world.store.record, time_of(node));
}

/* By what a node knows of the others: those whose session it sees, but for the one that led. */
static uint32_t rank_of(const struct node *node, unsigned number)
{
    uint32_t rank = 0;

    for (unsigned i = 1; i < number; i++)
        rank += node->seen[i].session != 0 && i != node->lead.record.node;
    return rank;
}

static void turn(struct node *node, unsigned number)
{
    struct cluster_lead_step step;
    unsigned of;

    hear(node);
    of = node->lead.record.node;
    cluster_lead_see(&node->lead, node->seen[of].session, node->seen[of].put, time_of(node));
    step = cluster_lead_step(&node->lead, rank_of(node, number), time_of(node));
    if (step.action == CLUSTER_LEAD_CLAIM)
        send(CLAIM, number)->step = step;
    if (step.action == CLUSTER_LEAD_RENEW)
        send(RENEW, number);
    if (cluster_lead_term(&node->lead) != 0 && !node->writing && world.now_ns >= node->write_ns) {
        node->writing = true;
        node->write_ns = world.now_ns + (100 + below(400)) * HUB_MILLISECOND;
        send(WRITE, number)->term = cluster_lead_term(&node->lead);
    }
}

static void step_nodes(void)
{
    for (unsigned i = 1; i <= world.count; i++) {
        struct node *node = &world.nodes[i];

        if (!node->up && world.now_ns >= node->begin_ns && reaches(node))
            begin(node, i);
        if (runs(node))
            turn(node, i);
    }
}

/* ---- faults ---- */

static void fail(void)
{
    struct node *node = &world.nodes[1 + below(world.count)];

    if (below(2) == 0 && world.store.record.node != 0)
        node = &world.nodes[world.store.record.node];
    switch (below(4)) {
    case 0:
        node->up = false;
        node->session = 0;
        node->begin_ns = world.now_ns + below(below(2) == 0 ? 1000 : 20000) * HUB_MILLISECOND;
        if (below(2) == 0) /* in order, or it was told to be dead */
            put_session((unsigned)(node - world.nodes), 0);
        figures.deaths++;
        break;
    case 1:
        node->stopped_ns = world.now_ns + below(20000) * HUB_MILLISECOND;
        figures.stops++;
        break;
    default:
        node->cut_ns = world.now_ns + below(15000) * HUB_MILLISECOND;
        figures.cuts++;
        break;
    }
}

/* ---- all is well ---- */

static unsigned count_leaders(void)
{
    unsigned count = 0;

    for (unsigned i = 1; i <= world.count; i++)
        count += world.nodes[i].up && cluster_lead_term(&world.nodes[i].lead) != 0 &&
                 world.nodes[i].lead.record.term == world.store.record.term;
    return count;
}

static void look_at_rest(void)
{
    if (count_leaders() != 1)
        break_rule("rest, not one leads");
    for (unsigned i = 1; i <= world.count; i++)
        if (world.nodes[i].up &&
            (world.nodes[i].lead.record.term != world.store.record.term ||
             (cluster_lead_term(&world.nodes[i].lead) != 0) != (i == world.store.record.node)))
            break_rule("rest, a node does not know who leads");
}

static void count_without(void)
{
    bool could = false;

    for (unsigned i = 1; i <= world.count; i++)
        could |= runs(&world.nodes[i]) && reaches(&world.nodes[i]);
    world.without_ns = could && count_leaders() == 0 ? world.without_ns + TICK : 0;
    if (world.without_ns > figures.without_most_ns)
        figures.without_most_ns = world.without_ns;
}

static void tick(void)
{
    world.now_ns += TICK;
    step_txns();
    step_nodes();
    count_without();
}

/* What was cut off and stopped is back, and so is what was dead, or in some rests stays so. */
static void mend(uint64_t until_ns)
{
    bool stay = below(2) == 0, any = false;

    for (unsigned i = 1; i <= world.count; i++)
        any |= world.nodes[i].up;
    for (unsigned i = 1; i <= world.count; i++) {
        struct node *node = &world.nodes[i];

        node->cut_ns = node->stopped_ns = 0;
        node->begin_ns = stay && any ? until_ns : world.now_ns;
        any = true;
    }
}

/* Nothing fails any more. */
static void rest(void)
{
    uint64_t until_ns = world.now_ns + QUIET + STILL;

    mend(until_ns + HUB_SECOND);
    world.calm = true;
    world.still_ns = world.now_ns + QUIET;
    while (!world.broken && world.now_ns < until_ns)
        tick();
    look_at_rest();
    world.calm = false;
    world.still_ns = 0;
}

const char *term_world_live(uint64_t seed, unsigned faults)
{
    memset(&world, 0, sizeof world);
    hub_random_init(&world.random, seed);
    world.seed = seed;
    world.count = 2 + (unsigned)below(NODES - 1);
    world.store.revision = 10;
    figures.lives++;
    figures.trace = seed;
    for (unsigned i = 0; i < faults && !world.broken; i++) {
        uint64_t until_ns = world.now_ns + below(12000) * HUB_MILLISECOND;

        while (!world.broken && world.now_ns < until_ns)
            tick();
        if (i % 8 == 7)
            rest();
        fail();
    }
    if (!world.broken)
        rest();
    return world.broken;
}
