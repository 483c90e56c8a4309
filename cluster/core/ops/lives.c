/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/ops/lives.h"

#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "cluster/core/base/index.h"
#include "cluster/core/base/table.h"
#include "hub/base/check.h"
#include "hub/base/printable.h"

#define BACK_OFF_NS (UINT64_C(200) * 1000000) /* after the first failure; it doubles */

struct cluster_lives {
    struct cluster_table rows;
    struct cluster_index index;
    uint32_t asked;
};

int cluster_lives_create(const struct cluster_context *context, uint64_t secret,
                         struct cluster_lives **out)
{
    struct cluster_lives *lives = calloc(1, sizeof *lives);
    uint32_t max = context->limits->containers;

    *out = lives;
    if (lives && cluster_table_init(&lives->rows, max, sizeof(struct cluster_life)) == 0 &&
        cluster_index_init(&lives->index, max, secret) == 0)
        return 0;
    cluster_lives_release(out);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for the lives of %u containers", max);
}

void cluster_lives_release(struct cluster_lives **lives)
{
    if (*lives) {
        cluster_index_fini(&(*lives)->index);
        cluster_table_fini(&(*lives)->rows);
    }
    free(*lives);
    *lives = NULL;
}

/* ---- the table ---- */

static uint32_t hash_of(const struct cluster_lives *lives, uint64_t pool, uint32_t container)
{
    return cluster_index_hash(&lives->index, pool, container, 0);
}

struct cluster_life *cluster_lives_find(const struct cluster_lives *lives, uint64_t pool,
                                        uint32_t container)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&lives->index, hash_of(lives, pool, container), &cursor);

    for (; place != 0; place = cluster_index_next(&lives->index, &cursor)) {
        struct cluster_life *life = cluster_table_at(&lives->rows, place);

        if (life->pool == pool && life->container == container)
            return life;
    }
    return NULL;
}

struct cluster_life *cluster_lives_after(const struct cluster_lives *lives, uint32_t *place)
{
    *place = cluster_table_after(&lives->rows, *place);
    return *place != 0 ? cluster_table_at(&lives->rows, *place) : NULL;
}

/* NULL: there are as many as a node may have. */
static struct cluster_life *find_or_add(struct cluster_lives *lives, uint64_t pool,
                                        uint32_t container)
{
    struct cluster_life *life = cluster_lives_find(lives, pool, container);
    uint32_t place = life ? life->place : cluster_table_take(&lives->rows);

    if (life || place == 0)
        return life;
    life = cluster_table_at(&lives->rows, place);
    life->pool = pool;
    life->container = container;
    life->place = place;
    cluster_index_put(&lives->index, hash_of(lives, pool, container), place);
    return life;
}

void cluster_lives_sweep(struct cluster_lives *lives, const struct cluster_context *context)
{
    struct cluster_life *life;
    uint32_t place = 0;

    while ((life = cluster_lives_after(lives, &place)))
        if (life->asked == 0 &&
            !cluster_local_containers_find(context->locals, life->pool, life->container) &&
            !cluster_address_map_find(context->map, life->pool, life->container)) {
            cluster_index_remove(&lives->index, hash_of(lives, life->pool, life->container), place);
            cluster_table_give(&lives->rows, place);
        }
}

uint32_t cluster_lives_asked(const struct cluster_lives *lives)
{
    return lives->asked;
}

/* ---- asking ---- */

/* Says whether there is room for a question, with two effects. */
static bool may_ask(const struct cluster_lives *lives, const struct cluster_context *context)
{
    return lives->asked < CLUSTER_LIVES_ASKED_MAX && cluster_effects_space(context->effects) >= 2 &&
           cluster_pending_space(context->pending) > 0;
}

static void ask(struct cluster_lives *lives, struct cluster_context *context,
                struct cluster_life *life, struct cluster_effect *effect)
{
    const struct cluster_pending_question question = {effect->kind, life->place};

    effect->id = cluster_pending_add(context->pending, &question);
    ENSURE(effect->id != 0);
    life->asked = effect->kind;
    lives->asked++;
    cluster_effects_add(context->effects, effect);
}

static struct cluster_life *answered(struct cluster_lives *lives, struct cluster_context *context,
                                     uint64_t id, uint32_t kind)
{
    struct cluster_life *life;
    uint64_t place;

    if (!cluster_pending_end(context->pending, id, kind, &place))
        return NULL;
    life = cluster_table_at(&lives->rows, (uint32_t)place);
    life->asked = 0;
    lives->asked--;
    context->changed = true;
    return life;
}

static void note_failure(struct cluster_life *life, struct cluster_context *context,
                         const struct cluster_lives_answer *answer)
{
    size_t size =
        answer->text.size < CLUSTER_LIVES_TEXT_MAX ? answer->text.size : CLUSTER_LIVES_TEXT_MAX;

    if (size > 0)
        memcpy(life->text, answer->text.data, size);
    life->text[size] = 0;
    hub_printable_mend(life->text);
    life->status = answer->status;
    life->again_ns = context->now_ns + (BACK_OFF_NS << life->failures);
    life->failures++;
    life->failed = true;
}

/* ---- beginning ---- */

static const uint8_t hows[CLUSTER_ENTRY_STATES] = {
    [CLUSTER_ENTRY_STARTING] = CLUSTER_BEGIN_INIT,
    [CLUSTER_ENTRY_ACTIVE] = CLUSTER_BEGIN_RESTART,
    [CLUSTER_ENTRY_RESTARTING] = CLUSTER_BEGIN_RESTART,
    [CLUSTER_ENTRY_RECOVERING] = CLUSTER_BEGIN_RECOVER};

/* Returns 0 where the epoch has no life left. */
static uint64_t next_token(const struct cluster_context *context,
                           const struct cluster_address *address)
{
    const struct cluster_local_container *local =
        cluster_local_containers_find(context->locals, address->pool, address->container);

    return local && cluster_ids_epoch(local->token) == address->entry.epoch
               ? cluster_ids_next_life(local->token)
               : cluster_session_token(&context->session, address->entry.epoch, 0);
}

bool cluster_lives_are_spent(const struct cluster_context *context,
                             const struct cluster_address *address)
{
    return next_token(context, address) == 0;
}

/* Only with a copy that covers every call that was answered does the history of calls go on.
 * r[impl cluster.restart.lineage] */
static uint64_t lineage_of(const struct cluster_address *address, uint8_t durability,
                           uint64_t token)
{
    return durability == CLUSTER_DURABILITY_ACKED || cluster_ids_life(token) == 0
               ? address->entry.lineage
               : cluster_ids_lineage(cluster_ids_epoch(token), cluster_ids_life(token));
}

/* Says whether a container begins with what is kept of its state on the disk of this node. A
 * container that another node has had, and that recovers here, has nothing here but what is older.
 * r[impl cluster.recover.copy] */
static bool loads_copy(const struct cluster_entry *entry, uint8_t durability)
{
    bool came_here = entry->op != 0 && entry->state != CLUSTER_ENTRY_ACTIVE;

    return hows[entry->state] != CLUSTER_BEGIN_INIT && !came_here &&
           durability >= CLUSTER_DURABILITY_CHECKPOINT;
}

static struct cluster_effect describe(const struct cluster_context *context,
                                      const struct cluster_address *address, uint64_t token)
{
    const struct cluster_pools_pool *pool = cluster_pools_find(context->pools, address->pool);

    ENSURE(pool);
    return (struct cluster_effect){.kind = CLUSTER_EFFECT_BEGIN,
                                   .at_ns = context->now_ns + CLUSTER_LIVES_BEGIN_NS,
                                   .pool = address->pool,
                                   .container = address->container,
                                   .token = token,
                                   .lineage = lineage_of(address, pool->durability, token),
                                   .how = hows[address->entry.state],
                                   .copy = loads_copy(&address->entry, pool->durability)};
}

static void begin(struct cluster_lives *lives, struct cluster_context *context,
                  struct cluster_life *life, struct cluster_effect *effect)
{
    struct cluster_lives_answer refused = {
        .status = cluster_local_containers_begin(context->locals, effect->pool, effect->container,
                                                 effect->token, effect->lineage)};

    if (refused.status == 0) {
        ask(lives, context, life, effect);
        return;
    }
    refused.text.data = rapahub_last_error()->text;
    refused.text.size = strlen(refused.text.data);
    note_failure(life, context, &refused);
}

bool cluster_lives_begin(struct cluster_lives *lives, struct cluster_context *context,
                         const struct cluster_address *address)
{
    struct cluster_life *life = find_or_add(lives, address->pool, address->container);
    uint64_t token = next_token(context, address);
    struct cluster_effect effect;

    if (token == 0 || !life || life->asked != 0)
        return token != 0;
    if (context->now_ns < life->again_ns) {
        cluster_context_wake(context, life->again_ns);
        return true;
    }
    effect = describe(context, address, token);
    life->epoch = address->entry.epoch;
    if (may_ask(lives, context))
        begin(lives, context, life, &effect);
    return true;
}

static void set_down(struct cluster_context *context, struct cluster_local_container *local)
{
    if (local->state == CLUSTER_LOCAL_DOWN)
        return;
    cluster_local_containers_move(context->locals, local->pool, local->container,
                                  CLUSTER_LOCAL_DOWN);
    context->hooks->down(context->user, local->pool, local->container);
}

int cluster_lives_begun(struct cluster_lives *lives, struct cluster_context *context,
                        const struct cluster_lives_answer *answer)
{
    struct cluster_life *life = answered(lives, context, answer->id, CLUSTER_EFFECT_BEGIN);
    struct cluster_lives_answer of = *answer;
    struct cluster_local_container *local;

    if (!life)
        return rapahub_fail(RAPAHUB_ENOENT, "cluster.core.answer", "no begin has this id");
    local = cluster_local_containers_find(context->locals, life->pool, life->container);
    ENSURE(local);
    if (of.status >= 0 && local->state == CLUSTER_LOCAL_DOWN)
        of.status = RAPAHUB_EDIED;
    if (of.status >= 0)
        of.status = context->hooks->begun(context->user, life->pool, life->container,
                                          local->lineage, of.covered);
    if (of.status < 0) {
        note_failure(life, context, &of);
        set_down(context, local);
        return 0;
    }
    cluster_local_containers_move(context->locals, life->pool, life->container, CLUSTER_LOCAL_HELD);
    life->begun_ns = context->now_ns;
    life->failed = false;
    return 0;
}

/* r[impl cluster.restart.life] */
void cluster_lives_down(struct cluster_lives *lives, struct cluster_context *context, uint64_t pool,
                        uint32_t container)
{
    struct cluster_local_container *local =
        cluster_local_containers_find(context->locals, pool, container);
    struct cluster_life *life = cluster_lives_find(lives, pool, container);

    if (!local)
        return;
    if (life && life->asked == 0 && local->state == CLUSTER_LOCAL_SERVING &&
        context->now_ns - life->begun_ns >= CLUSTER_LIVES_PROVED_NS)
        life->failures = 0;
    set_down(context, local);
    context->changed = true;
}

void cluster_lives_give_up(struct cluster_lives *lives, struct cluster_context *context,
                           uint64_t pool, uint32_t container)
{
    (void)lives;
    if (!cluster_local_containers_find(context->locals, pool, container))
        return;
    cluster_local_containers_remove(context->locals, pool, container);
    context->hooks->gone(context->user, pool, container);
}

static void forgive(struct cluster_life *life)
{
    life->failures = 0;
    life->failed = false;
    life->again_ns = 0;
}

/* An epoch was between: that of its quarantine, in which nothing begins. */
void cluster_lives_forgive(struct cluster_lives *lives, const struct cluster_address *address)
{
    struct cluster_life *life = cluster_lives_find(lives, address->pool, address->container);

    if (life && address->entry.state == CLUSTER_ENTRY_RECOVERING &&
        address->entry.epoch > life->epoch + 1)
        forgive(life);
}

/* ---- removing ---- */

/* No new call comes to it. */
static void hold(struct cluster_context *context, struct cluster_local_container *local)
{
    cluster_local_containers_move(context->locals, local->pool, local->container,
                                  CLUSTER_LOCAL_HELD);
    cluster_effects_add(context->effects, &(struct cluster_effect){.kind = CLUSTER_EFFECT_HOLD,
                                                                   .pool = local->pool,
                                                                   .container = local->container});
}

void cluster_lives_remove(struct cluster_lives *lives, struct cluster_context *context,
                          uint64_t pool, uint32_t container)
{
    struct cluster_life *life = find_or_add(lives, pool, container);
    struct cluster_local_container *local =
        cluster_local_containers_find(context->locals, pool, container);
    struct cluster_effect effect = {
        .kind = CLUSTER_EFFECT_REMOVE, .pool = pool, .container = container};

    if (!life || life->asked != 0 || life->removed)
        return;
    if (!life->ends) {
        forgive(life);
        life->ends = true;
    }
    if (context->now_ns < life->again_ns) {
        cluster_context_wake(context, life->again_ns);
        return;
    }
    if (!may_ask(lives, context))
        return;
    if (local && local->state == CLUSTER_LOCAL_SERVING)
        hold(context, local);
    ask(lives, context, life, &effect);
}

/* A container that cannot be removed does not keep its pool for ever: a text says so. */
int cluster_lives_removed(struct cluster_lives *lives, struct cluster_context *context,
                          const struct cluster_lives_answer *answer)
{
    struct cluster_life *life = answered(lives, context, answer->id, CLUSTER_EFFECT_REMOVE);

    if (!life)
        return rapahub_fail(RAPAHUB_ENOENT, "cluster.core.answer", "no removal has this id");
    if (answer->status < 0) {
        note_failure(life, context, answer);
        if (life->failures < CLUSTER_LIVES_REMOVALS_MAX)
            return 0;
    }
    life->failed = answer->status < 0;
    life->removed = true;
    cluster_lives_give_up(lives, context, life->pool, life->container);
    return 0;
}
