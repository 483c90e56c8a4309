/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/naming/naming.h"

#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/core/base/txns.h"
#include "cluster/core/naming/dead_nodes.h"
#include "cluster/core/naming/naming_choice.h"
#include "hub/base/check.h"

#define SUBJECT 1 /* its questions have it: operations have 0 */

struct cluster_naming {
    const struct cluster_context *context;
    struct cluster_holders *holders;
    struct cluster_txns *txns;
    struct cluster_dead_nodes dead;
    bool changed;
    uint32_t place;    /* the transaction that is under way; 0: none is */
    uint64_t seen;     /* the last revision of a record that was told */
    uint64_t awaited;  /* the own change, which was not told yet; 0: none is */
    uint64_t until_ns; /* nothing is written before this, or before that is told */
    uint64_t next_ns;
};

int cluster_naming_create(const struct cluster_context *context, struct cluster_holders *holders,
                          struct cluster_naming **out)
{
    struct cluster_naming *naming = calloc(1, sizeof *naming);

    *out = naming;
    if (!naming)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for holders of copies");
    naming->context = context;
    naming->holders = holders;
    naming->next_ns = CLUSTER_TIMERS_NEVER;
    return cluster_txns_create(1, &naming->txns);
}

void cluster_naming_release(struct cluster_naming **naming)
{
    if (*naming)
        cluster_txns_release(&(*naming)->txns);
    free(*naming);
    *naming = NULL;
}

void cluster_naming_changed(struct cluster_naming *naming)
{
    naming->changed = true;
}

void cluster_naming_seen(struct cluster_naming *naming, uint64_t revision)
{
    naming->changed = true;
    if (revision > naming->seen)
        naming->seen = revision;
}

void cluster_naming_verdict(struct cluster_naming *naming, uint32_t node, bool is_dead)
{
    naming->changed |= cluster_dead_nodes_note(&naming->dead, node, is_dead);
}

/* ---- owners tell ---- */

/* r[impl cluster.hold.held] */
int cluster_naming_take_held(struct cluster_naming *naming, uint32_t from, uint64_t session,
                             const struct cluster_body_copy_held *held)
{
    const struct cluster_address *address =
        cluster_address_map_find(naming->context->map, held->pool, held->container);
    struct cluster_holders_row *row =
        cluster_holders_find(naming->holders, held->pool, held->container);

    if (!cluster_context_leads(naming->context) || !address || !row ||
        address->entry.owner != from || address->entry.session != session ||
        address->entry.epoch != held->epoch || row->revision != held->revision ||
        !cluster_holders_note_held(row, held->node, held->epoch))
        return rapahub_fail(RAPAHUB_ESTALE, "cluster.hold.held",
                            "what node %u tells of a copy of container %u is not of its entry, or "
                            "not of its record of holders",
                            from, held->container);
    naming->changed = true;
    return 0;
}

static bool is_to_tell(const struct cluster_naming *naming, const struct cluster_holders_row *row)
{
    const struct cluster_address *address =
        row->held == 0 ? NULL
                       : cluster_address_map_find(naming->context->map, row->pool, row->container);

    return address && address->entry.owner == naming->context->node &&
           address->entry.epoch == row->held_epoch;
}

static void wake(struct cluster_naming *naming, uint64_t at_ns)
{
    if (at_ns < naming->next_ns)
        naming->next_ns = at_ns;
}

/* It is told again until its record shows that it was heard. */
static void tell(struct cluster_naming *naming, struct cluster_holders_row *row, uint64_t now_ns)
{
    const struct cluster_context *context = naming->context;

    if (now_ns >= row->tell_ns && cluster_effects_space(context->effects) > 0) {
        cluster_effects_add(context->effects, &(struct cluster_effect){.kind = CLUSTER_EFFECT_HELD,
                                                                       .number = context->lead,
                                                                       .pool = row->pool,
                                                                       .container = row->container,
                                                                       .epoch = row->held_epoch,
                                                                       .revision = row->revision,
                                                                       .node = row->held});
        row->tell_ns = now_ns + CLUSTER_NAMING_TELL_NS;
    }
    wake(naming, row->tell_ns > now_ns ? row->tell_ns : now_ns + CLUSTER_NAMING_AGAIN_NS);
}

static void tell_all(struct cluster_naming *naming, uint64_t now_ns)
{
    struct cluster_holders_row *row;
    uint32_t place = 0;

    while ((row = cluster_holders_after(naming->holders, &place)))
        if (is_to_tell(naming, row))
            tell(naming, row, now_ns);
}

/* ---- the leader writes ---- */

static struct cluster_key key_of(enum cluster_keys_kind kind, uint64_t pool, uint32_t container)
{
    return (struct cluster_key){.kind = kind, .pool = pool, .container = container};
}

/* Nothing is written by a node that does not lead any more, nor in a session that has ended. */
static void begin_txn(struct cluster_naming *naming)
{
    const struct cluster_context *context = naming->context;
    const struct cluster_key session = {.kind = CLUSTER_KEY_SESSION, .node = context->node};
    const struct cluster_key lead = {.kind = CLUSTER_KEY_LEAD};

    if (naming->place != 0)
        return;
    naming->place = cluster_txns_take(naming->txns);
    ENSURE(naming->place != 0);
    cluster_txns_expect_created(naming->txns, naming->place, &session, context->session.revision);
    if (context->term != 0)
        cluster_txns_expect(naming->txns, naming->place, &lead, context->term);
}

/* The epoch is that of before where the entry is. r[impl cluster.hold.record] */
static void put_record(struct cluster_naming *naming, const struct cluster_naming_choice *choice,
                       const struct cluster_naming_next *next)
{
    const struct cluster_address *address = choice->address;
    const struct cluster_key entry = key_of(CLUSTER_KEY_ENTRY, address->pool, address->container);
    const struct cluster_key key = key_of(CLUSTER_KEY_HOLD, address->pool, address->container);
    const struct cluster_record record = {
        .holders = {next->joining, {.of = next->nodes, .count = next->count}}};

    begin_txn(naming);
    cluster_txns_expect(naming->txns, naming->place, &entry, address->revision);
    cluster_txns_expect(naming->txns, naming->place, &key, choice->row ? choice->row->revision : 0);
    cluster_txns_put_record(naming->txns, naming->place, &key, &record);
}

static void drop_record(struct cluster_naming *naming, const struct cluster_holders_row *row)
{
    const struct cluster_key entry = key_of(CLUSTER_KEY_ENTRY, row->pool, row->container);
    const struct cluster_key key = key_of(CLUSTER_KEY_HOLD, row->pool, row->container);

    begin_txn(naming);
    cluster_txns_expect(naming->txns, naming->place, &entry, 0);
    cluster_txns_expect(naming->txns, naming->place, &key, row->revision);
    cluster_txns_delete(naming->txns, naming->place, &key);
}

/* Returns how many containers of the pool have a change, of at most `most`. */
static uint32_t look_at_pool(struct cluster_naming *naming, const struct cluster_pools_pool *pool,
                             uint32_t most)
{
    const struct cluster_context *context = naming->context;
    struct cluster_naming_choice choice = {.context = context, .dead = &naming->dead, .pool = pool};
    struct cluster_pool_spec spec;
    struct cluster_naming_next next;
    uint32_t changes = 0;

    ENSURE(cluster_pool_spec_read(cluster_pools_record(context->pools, pool).spec, &spec) == 0);
    choice.spec = &spec;
    for (uint32_t c = 0; c < pool->containers && changes < most; c++) {
        choice.address = cluster_address_map_find(context->map, pool->pool, c);
        choice.row = cluster_holders_find(naming->holders, pool->pool, c);
        if (!choice.address || !cluster_naming_choice_make(&choice, &next))
            continue;
        put_record(naming, &choice, &next);
        changes++;
    }
    return changes;
}

/* Records go once their containers have. */
static uint32_t look_at_gone(struct cluster_naming *naming, uint32_t most)
{
    const struct cluster_holders_row *row;
    uint32_t place = 0, changes = 0;

    while (changes < most && (row = cluster_holders_after(naming->holders, &place))) {
        const struct cluster_pools_pool *pool =
            cluster_pools_find(naming->context->pools, row->pool);

        if (cluster_address_map_find(naming->context->map, row->pool, row->container) ||
            (pool && pool->state != CLUSTER_POOL_DESTROYING))
            continue;
        drop_record(naming, row);
        changes++;
    }
    return changes;
}

static void send(struct cluster_naming *naming)
{
    const struct cluster_context *context = naming->context;
    const struct cluster_pending_question question = {CLUSTER_EFFECT_TXN, SUBJECT};
    struct cluster_effect effect = {.kind = CLUSTER_EFFECT_TXN};
    int status = cluster_txns_end(naming->txns, naming->place, &effect.txn);

    ENSURE(status == 0);
    effect.id = cluster_pending_add(context->pending, &question);
    ENSURE(effect.id != 0);
    cluster_effects_add(context->effects, &effect);
}

/* An own change is waited for: what is known is older. If it is not told all is looked at again. */
static bool may_write(struct cluster_naming *naming, uint64_t now_ns)
{
    const struct cluster_context *context = naming->context;

    if (naming->place != 0 || !cluster_context_leads(context) ||
        context->catch_up->state != CLUSTER_CATCH_UP_CURRENT)
        return false;
    if (naming->awaited != 0 && naming->awaited <= naming->seen)
        naming->awaited = naming->until_ns = 0;
    if (now_ns < naming->until_ns) {
        wake(naming, naming->until_ns);
        return false;
    }
    return cluster_effects_space(context->effects) > 0 &&
           cluster_pending_space(context->pending) > 0;
}

static void write(struct cluster_naming *naming, uint64_t now_ns)
{
    const struct cluster_pools *pools = naming->context->pools;
    const struct cluster_pools_pool *pool = cluster_pools_after(pools, 0);
    uint32_t most = CLUSTER_NAMING_AT_ONCE;

    if (!may_write(naming, now_ns))
        return;
    most -= look_at_gone(naming, most);
    for (; pool && most > 0; pool = cluster_pools_after(pools, pool->place))
        if (pool->copies > 1 && pool->revision != 0)
            most -= look_at_pool(naming, pool, most);
    if (naming->place != 0)
        send(naming);
}

bool cluster_naming_stored(struct cluster_naming *naming, uint64_t id, int32_t status,
                           uint64_t revision)
{
    struct cluster_pending *pending = naming->context->pending;
    uint64_t subject, now_ns = naming->context->now_ns;

    if (!cluster_pending_find(pending, id, CLUSTER_EFFECT_TXN, &subject) || subject != SUBJECT)
        return false;
    (void)cluster_pending_end(pending, id, CLUSTER_EFFECT_TXN, &subject);
    cluster_txns_give(naming->txns, naming->place);
    naming->place = 0;
    naming->changed = true;
    naming->awaited = status == CLUSTER_TXN_OK ? revision : 0;
    naming->until_ns =
        now_ns + (status == CLUSTER_TXN_OK ? CLUSTER_NAMING_SEEN_NS : CLUSTER_NAMING_AGAIN_NS);
    return true;
}

void cluster_naming_step(struct cluster_naming *naming, uint64_t now_ns)
{
    if (naming->context->session.revision == 0 || (!naming->changed && now_ns < naming->next_ns))
        return;
    naming->changed = false;
    naming->next_ns = CLUSTER_TIMERS_NEVER;
    if (cluster_context_leads(naming->context))
        write(naming, now_ns);
    else
        tell_all(naming, now_ns);
}

uint64_t cluster_naming_next(const struct cluster_naming *naming)
{
    return naming->changed && naming->context->session.revision != 0 ? naming->context->now_ns
                                                                     : naming->next_ns;
}
