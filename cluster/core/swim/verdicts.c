/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/swim/verdicts.h"

#include <rapahub/error.h>

#include "cluster/core/swim/local_health.h"
#include "cluster/core/swim/swim_timers.h"

static void stop_timer(struct cluster_verdicts *verdicts, struct cluster_member *member)
{
    (void)cluster_timers_clear(verdicts->timers, member->timer);
    member->timer = 0;
}

static uint64_t due_of(const struct cluster_verdicts *verdicts, const struct cluster_member *member)
{
    return member->suspected_ns + cluster_suspicion_span(&verdicts->rule, verdicts->members.present,
                                                         member->accusers_count - 1);
}

static void set_timer(struct cluster_verdicts *verdicts, struct cluster_member *member)
{
    const struct cluster_timer timer = {due_of(verdicts, member), member->place,
                                        CLUSTER_SWIM_SUSPICION};

    stop_timer(verdicts, member);
    member->timer = cluster_timers_set(verdicts->timers, &timer);
}

static void note_changed(struct cluster_verdicts *verdicts, struct cluster_member *member)
{
    hub_list_remove(&member->changed);
    hub_list_append(&verdicts->changed, &member->changed);
}

/* Moves the member to a state that others are to hear of. */
static void settle(struct cluster_verdicts *verdicts, uint64_t now_ns,
                   struct cluster_member *member, uint32_t state, uint32_t from)
{
    bool was_in_doubt =
        member->state == CLUSTER_MEMBER_SUSPECTED || member->state == CLUSTER_MEMBER_DEAD;

    stop_timer(verdicts, member);
    if (member->state != state)
        note_changed(verdicts, member);
    cluster_members_move(&verdicts->members, member, state);
    member->from = from;
    member->refuted = state == CLUSTER_MEMBER_ALIVE && was_in_doubt;
    member->accusers_count = 0;
    if (state == CLUSTER_MEMBER_SUSPECTED) {
        member->suspected_ns = now_ns;
        (void)cluster_suspicion_accuse(member, from);
        set_timer(verdicts, member);
    }
    cluster_gossip_add(&verdicts->gossip, member);
}

/* Another one suspects it too. */
static void confirm(struct cluster_verdicts *verdicts, struct cluster_member *member, uint32_t from)
{
    if (!cluster_members_find(&verdicts->members, from) || !cluster_suspicion_accuse(member, from))
        return;
    member->from = from;
    set_timer(verdicts, member);
    cluster_gossip_add(&verdicts->gossip, member);
}

void cluster_verdicts_suspect(struct cluster_verdicts *verdicts, uint64_t now_ns,
                              struct cluster_member *member)
{
    if (member->state == CLUSTER_MEMBER_SUSPECTED)
        confirm(verdicts, member, verdicts->self->id);
    else if (member->state < CLUSTER_MEMBER_SUSPECTED)
        settle(verdicts, now_ns, member, CLUSTER_MEMBER_SUSPECTED, verdicts->self->id);
}

/* An answer to a probe refutes no suspicion: the member itself must hear of it, and say more. */
void cluster_verdicts_answered(struct cluster_verdicts *verdicts, struct cluster_member *member)
{
    if (member->state == CLUSTER_MEMBER_PROBE_FAILED)
        cluster_members_move(&verdicts->members, member, CLUSTER_MEMBER_ALIVE);
}

void cluster_verdicts_probe_failed(struct cluster_verdicts *verdicts, struct cluster_member *member)
{
    if (member->state == CLUSTER_MEMBER_ALIVE)
        cluster_members_move(&verdicts->members, member, CLUSTER_MEMBER_PROBE_FAILED);
}

void cluster_verdicts_due(struct cluster_verdicts *verdicts, uint64_t now_ns,
                          struct cluster_member *member)
{
    member->timer = 0;
    if (member->state == CLUSTER_MEMBER_SUSPECTED)
        settle(verdicts, now_ns, member, CLUSTER_MEMBER_DEAD, verdicts->self->id);
}

/* ---- news ---- */

/* r[impl cluster.swim.incarnation] */
static void refute(struct cluster_verdicts *verdicts, const struct cluster_update *update)
{
    struct cluster_member *self = verdicts->self;

    if (update->session > self->session ||
        (update->session == self->session && update->refutations > self->refutations)) {
        verdicts->impossible++; /* only this node raises them */
        return;
    }
    if (update->session < self->session || update->refutations < self->refutations ||
        update->state == CLUSTER_DATAGRAM_ALIVE || self->state == CLUSTER_MEMBER_LEFT)
        return;
    self->refutations++;
    self->refuted = true;
    verdicts->refuted++;
    verdicts->health = cluster_local_health_worse(verdicts->health);
    cluster_gossip_add(&verdicts->gossip, self);
}

/* The worst news of equal incarnations holds. */
static uint32_t rank_of(uint32_t state)
{
    return state == CLUSTER_MEMBER_PROBE_FAILED ? CLUSTER_MEMBER_ALIVE : state;
}

/* r[impl cluster.swim.incarnation] r[impl cluster.swim.left] */
static bool is_newer(const struct cluster_member *member, const struct cluster_update *update,
                     uint32_t state)
{
    if (update->session != member->session)
        return update->session > member->session;
    if (member->state == CLUSTER_MEMBER_LEFT || state == CLUSTER_MEMBER_LEFT)
        return member->state != CLUSTER_MEMBER_LEFT;
    if (update->refutations != member->refutations)
        return update->refutations > member->refutations;
    return state > rank_of(member->state);
}

void cluster_verdicts_hear(struct cluster_verdicts *verdicts, uint64_t now_ns,
                           const struct cluster_update *update, bool merged)
{
    static const uint32_t states[] = {[CLUSTER_DATAGRAM_ALIVE] = CLUSTER_MEMBER_ALIVE,
                                      [CLUSTER_DATAGRAM_SUSPECTED] = CLUSTER_MEMBER_SUSPECTED,
                                      [CLUSTER_DATAGRAM_DEAD] = CLUSTER_MEMBER_DEAD,
                                      [CLUSTER_DATAGRAM_LEFT] = CLUSTER_MEMBER_LEFT};
    struct cluster_member *member = cluster_members_find(&verdicts->members, update->id);
    uint32_t state = states[update->state];

    if (merged && state == CLUSTER_MEMBER_DEAD)
        state = CLUSTER_MEMBER_SUSPECTED;
    if (!member) {
        verdicts->unknown++;
        return;
    }
    if (member == verdicts->self) {
        refute(verdicts, update);
        return;
    }
    if (is_newer(member, update, state)) {
        member->session = update->session;
        member->refutations = update->refutations;
        settle(verdicts, now_ns, member, state, update->from);
    } else if (state == CLUSTER_MEMBER_SUSPECTED && member->state == CLUSTER_MEMBER_SUSPECTED &&
               update->session == member->session && update->refutations == member->refutations)
        confirm(verdicts, member, update->from);
}

/* ---- the metastore ---- */

/* All learn it from the metastore, so it is no news. */
static void begin_life(struct cluster_verdicts *verdicts, struct cluster_member *member,
                       uint64_t session)
{
    stop_timer(verdicts, member);
    cluster_gossip_remove(&verdicts->gossip, member);
    if (member->state != CLUSTER_MEMBER_ALIVE)
        note_changed(verdicts, member);
    cluster_members_move(&verdicts->members, member, CLUSTER_MEMBER_ALIVE);
    member->session = session;
    member->refutations = member->from = member->accusers_count = 0;
}

/* r[impl cluster.swim.members] */
int cluster_verdicts_add(struct cluster_verdicts *verdicts, uint32_t id, uint64_t session)
{
    struct cluster_member *member = cluster_members_find(&verdicts->members, id);

    if (member && session < member->session)
        return rapahub_fail(RAPAHUB_EINVAL, "cluster.swim.incarnation",
                            "node %u is in a later session already", id);
    if (member && session == member->session)
        return 0;
    if (!member) {
        member = cluster_members_add(&verdicts->members, id, session);
        if (!member)
            return rapahub_fail(RAPAHUB_EFULL, "cluster.swim.members", "at most %u nodes are known",
                                verdicts->members.rows.max);
    }
    begin_life(verdicts, member, session);
    return 0;
}

void cluster_verdicts_forget(struct cluster_verdicts *verdicts, uint32_t id)
{
    struct cluster_member *member = cluster_members_find(&verdicts->members, id);

    if (!member || member == verdicts->self)
        return;
    stop_timer(verdicts, member);
    cluster_gossip_remove(&verdicts->gossip, member);
    hub_list_remove(&member->changed);
    cluster_members_remove(&verdicts->members, member);
}

void cluster_verdicts_leave(struct cluster_verdicts *verdicts)
{
    if (verdicts->self->state != CLUSTER_MEMBER_LEFT)
        settle(verdicts, 0, verdicts->self, CLUSTER_MEMBER_LEFT, verdicts->self->id);
}
