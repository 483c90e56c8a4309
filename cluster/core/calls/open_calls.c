/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/calls/open_calls.h"

#include <rapahub/error.h>

#include "cluster/core/base/timers.h"
#include "hub/base/check.h"

int cluster_open_calls_init(struct cluster_open_calls *open, uint32_t max, uint64_t secret)
{
    *open = (struct cluster_open_calls){.made = 0};
    if (cluster_table_init(&open->calls, max, sizeof(struct cluster_open_call)) == 0 &&
        cluster_table_init(&open->members, max, sizeof(struct cluster_open_member)) == 0 &&
        cluster_index_init(&open->by_number, max, 0) == 0 &&
        cluster_index_init(&open->by_sender, max, secret) == 0 &&
        cluster_index_init(&open->by_uid, max, secret) == 0)
        return 0;
    cluster_open_calls_fini(open);
    return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for %u open calls", max);
}

void cluster_open_calls_fini(struct cluster_open_calls *open)
{
    cluster_index_fini(&open->by_uid);
    cluster_index_fini(&open->by_sender);
    cluster_index_fini(&open->by_number);
    cluster_table_fini(&open->members);
    cluster_table_fini(&open->calls);
}

struct cluster_open_call *cluster_open_calls_at(const struct cluster_open_calls *open,
                                                uint32_t place)
{
    return cluster_table_at(&open->calls, place);
}

struct cluster_open_member *cluster_open_calls_member(const struct cluster_open_calls *open,
                                                      uint32_t place)
{
    return cluster_table_at(&open->members, place);
}

static uint32_t hash_of(const struct cluster_open_calls *open, uint64_t number)
{
    return cluster_index_hash(&open->by_number, number, 0, 0);
}

uint32_t cluster_open_calls_find(const struct cluster_open_calls *open, uint64_t number)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&open->by_number, hash_of(open, number), &cursor);

    while (place != 0 && cluster_open_calls_at(open, place)->asked.number != number)
        place = cluster_index_next(&open->by_number, &cursor);
    return place;
}

uint32_t cluster_open_calls_find_member(const struct cluster_open_calls *open, uint64_t id)
{
    uint32_t place = (uint32_t)id;

    return cluster_table_has(&open->members, place) &&
                   cluster_open_calls_member(open, place)->id == id
               ? place
               : 0;
}

/* ---- calls between nodes ---- */

static bool is_same(struct cluster_uid one, struct cluster_uid other)
{
    return one.origin == other.origin && one.number == other.number;
}

static uint32_t hash_uid(const struct cluster_index *index, struct cluster_uid uid,
                         uint32_t container, uint32_t node)
{
    return cluster_index_hash(index, uid.origin, uid.number, (uint64_t)node << 32 | container);
}

/* Such a call has one member. */
static uint32_t hash_sender(const struct cluster_open_calls *open,
                            const struct cluster_open_call *call)
{
    return hash_uid(&open->by_sender, call->asked.uid, call->asked.query.offset,
                    call->asked.from.node);
}

uint32_t cluster_open_calls_find_sent_by(const struct cluster_open_calls *open, uint32_t node,
                                         struct cluster_uid uid, uint64_t pool, uint32_t container)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(&open->by_sender,
                                         hash_uid(&open->by_sender, uid, container, node), &cursor);

    for (; place != 0; place = cluster_index_next(&open->by_sender, &cursor)) {
        const struct cluster_send_call *asked = &cluster_open_calls_at(open, place)->asked;

        if (asked->from.node == node && is_same(asked->uid, uid) && asked->pool == pool &&
            asked->query.offset == container)
            break;
    }
    return place;
}

static uint32_t hash_sent(const struct cluster_open_calls *open, uint32_t place)
{
    const struct cluster_open_member *member = cluster_open_calls_member(open, place);

    return hash_uid(&open->by_uid, cluster_open_calls_at(open, member->call)->asked.uid,
                    member->container, member->node);
}

void cluster_open_calls_note_sent(struct cluster_open_calls *open, uint32_t place)
{
    cluster_index_put(&open->by_uid, hash_sent(open, place), place);
}

void cluster_open_calls_note_back(struct cluster_open_calls *open, uint32_t place)
{
    cluster_index_remove(&open->by_uid, hash_sent(open, place), place);
}

static bool is_sent(const struct cluster_open_calls *open, const struct cluster_open_member *member,
                    const struct cluster_open_calls_sent *sent)
{
    const struct cluster_send_call *asked = &cluster_open_calls_at(open, member->call)->asked;
    bool meant = sent->attempt == CLUSTER_OPEN_CALLS_ANY
                     ? member->attempt != CLUSTER_OPEN_CALLS_OVER
                     : member->attempt == sent->attempt;

    return meant && member->node == sent->node && member->container == sent->container &&
           is_same(asked->uid, sent->uid) && asked->pool == sent->pool;
}

uint32_t cluster_open_calls_find_sent(const struct cluster_open_calls *open,
                                      const struct cluster_open_calls_sent *sent)
{
    struct cluster_index_cursor cursor;
    uint32_t place = cluster_index_first(
        &open->by_uid, hash_uid(&open->by_uid, sent->uid, sent->container, sent->node), &cursor);

    while (place != 0 &&
           (place == sent->but || !is_sent(open, cluster_open_calls_member(open, place), sent)))
        place = cluster_index_next(&open->by_uid, &cursor);
    return place;
}

/* ---- rows ---- */

static void add_member(struct cluster_open_calls *open, uint32_t call_place, uint32_t container)
{
    struct cluster_open_call *call = cluster_open_calls_at(open, call_place);
    uint32_t place = cluster_table_take(&open->members);
    struct cluster_open_member *member = cluster_open_calls_member(open, place);

    member->id = ++open->made << 32 | place;
    member->call = call_place;
    member->container = container;
    member->lineage = call->asked.lineage;
    member->maybe = call->asked.maybe;
    member->after = call->asked.order != 0 ? call->asked.order_previous : 0;
    member->next = call->members;
    if (call->members != 0)
        cluster_open_calls_member(open, call->members)->previous = place;
    call->members = place;
}

uint32_t cluster_open_calls_add(struct cluster_open_calls *open,
                                const struct cluster_open_call *call,
                                const struct cluster_resolve_members *members)
{
    uint32_t place = cluster_table_take(&open->calls);

    CHECK(place != 0);
    *cluster_open_calls_at(open, place) = *call;
    if (call->asked.from.node == 0)
        cluster_index_put(&open->by_number, hash_of(open, call->asked.number), place);
    else
        cluster_index_put(&open->by_sender, hash_sender(open, call), place);
    for (uint32_t i = members->count; i-- > 0;)
        add_member(open, place, members->first + i);
    return place;
}

struct cluster_order_key cluster_open_calls_order(const struct cluster_open_call *call,
                                                  uint32_t container)
{
    return (struct cluster_order_key){call->asked.pool, call->asked.uid.origin, container,
                                      call->asked.order};
}

struct cluster_dedup_call cluster_open_calls_asks(const struct cluster_open_call *call,
                                                  const struct cluster_open_member *member)
{
    return (struct cluster_dedup_call){.pool = call->asked.pool,
                                       .container = member->container,
                                       .uid = call->asked.uid,
                                       .method = call->asked.method,
                                       .digest = call->asked.digest,
                                       .peer = call->asked.peer,
                                       .done_below = call->asked.done_below,
                                       .lineage = member->lineage,
                                       .maybe = member->maybe,
                                       .repeat = call->method.repeat,
                                       .reserve = call->asked.reserve,
                                       .asker = member->id,
                                       .until_ns =
                                           call->asked.from.node != 0 ? call->asked.deadline_ns : 0,
                                       .chain = call->asked.chain};
}

struct cluster_retry_call cluster_open_calls_again(const struct cluster_open_call *call,
                                                   const struct cluster_open_member *member)
{
    return (struct cluster_retry_call){.flow = cluster_open_calls_order(call, member->container),
                                       .number = member->id,
                                       .bytes = sizeof *member,
                                       .tries = member->tries,
                                       .deadline_ns = CLUSTER_TIMERS_NEVER};
}

bool cluster_open_calls_misses(const struct cluster_open_call *call,
                               const struct cluster_open_member *member,
                               const struct cluster_dedup *dedup)
{
    const struct cluster_uid before = {call->asked.uid.origin, member->after};

    return member->after != 0 && member->after >= call->asked.done_below &&
           !cluster_dedup_has(dedup, call->asked.pool, member->container, before);
}

void cluster_open_calls_remove_member(struct cluster_open_calls *open, uint32_t place)
{
    const struct cluster_open_member *member = cluster_open_calls_member(open, place);

    *(member->previous != 0 ? &cluster_open_calls_member(open, member->previous)->next
                            : &cluster_open_calls_at(open, member->call)->members) = member->next;
    if (member->next != 0)
        cluster_open_calls_member(open, member->next)->previous = member->previous;
    cluster_table_give(&open->members, place);
}

void cluster_open_calls_remove(struct cluster_open_calls *open, uint32_t place)
{
    const struct cluster_open_call *call = cluster_open_calls_at(open, place);

    CHECK(call->members == 0);
    if (call->asked.from.node == 0)
        cluster_index_remove(&open->by_number, hash_of(open, call->asked.number), place);
    else
        cluster_index_remove(&open->by_sender, hash_sender(open, call), place);
    cluster_table_give(&open->calls, place);
}
