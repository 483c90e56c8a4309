/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/swim/members.h"

#include <string.h>

#include <rapahub/error.h>

#define TRIES 8 /* for each member that is drawn */

/* r[impl cluster.swim.states] */
const struct hub_states cluster_members_states = {
    .name = "member",
    .of = {[CLUSTER_MEMBER_ALIVE] = {"Alive", HUB_TO(CLUSTER_MEMBER_ALIVE) |
                                                  HUB_TO(CLUSTER_MEMBER_PROBE_FAILED) |
                                                  HUB_TO(CLUSTER_MEMBER_SUSPECTED) |
                                                  HUB_TO(CLUSTER_MEMBER_DEAD) |
                                                  HUB_TO(CLUSTER_MEMBER_LEFT)},
           [CLUSTER_MEMBER_PROBE_FAILED] = {"ProbeFailed", HUB_TO(CLUSTER_MEMBER_ALIVE) |
                                                               HUB_TO(CLUSTER_MEMBER_SUSPECTED) |
                                                               HUB_TO(CLUSTER_MEMBER_DEAD) |
                                                               HUB_TO(CLUSTER_MEMBER_LEFT)},
           [CLUSTER_MEMBER_SUSPECTED] = {"Suspected", HUB_TO(CLUSTER_MEMBER_ALIVE) |
                                                          HUB_TO(CLUSTER_MEMBER_SUSPECTED) |
                                                          HUB_TO(CLUSTER_MEMBER_DEAD) |
                                                          HUB_TO(CLUSTER_MEMBER_LEFT)},
           [CLUSTER_MEMBER_DEAD] = {"Dead", HUB_TO(CLUSTER_MEMBER_ALIVE) |
                                                HUB_TO(CLUSTER_MEMBER_SUSPECTED) |
                                                HUB_TO(CLUSTER_MEMBER_DEAD) |
                                                HUB_TO(CLUSTER_MEMBER_LEFT)},
           [CLUSTER_MEMBER_LEFT] = {"Left", HUB_TO(CLUSTER_MEMBER_ALIVE) |
                                                HUB_TO(CLUSTER_MEMBER_SUSPECTED) |
                                                HUB_TO(CLUSTER_MEMBER_DEAD) |
                                                HUB_TO(CLUSTER_MEMBER_LEFT)}}, /* in a later life */
};

int cluster_members_init(struct cluster_members *members, uint32_t max, uint64_t secret)
{
    int r;

    memset(members, 0, sizeof *members);
    r = cluster_table_init(&members->rows, max, sizeof(struct cluster_member));
    return r < 0 ? r : cluster_index_init(&members->by_id, max, secret);
}

void cluster_members_fini(struct cluster_members *members)
{
    cluster_table_fini(&members->rows);
    cluster_index_fini(&members->by_id);
}

static uint32_t hash_of(const struct cluster_members *members, uint32_t id)
{
    return cluster_index_hash(&members->by_id, id, 0, 0);
}

struct cluster_member *cluster_members_find(const struct cluster_members *members, uint32_t id)
{
    struct cluster_index_cursor cursor;

    for (uint32_t place = cluster_index_first(&members->by_id, hash_of(members, id), &cursor);
         place != 0; place = cluster_index_next(&members->by_id, &cursor)) {
        struct cluster_member *member = cluster_table_at(&members->rows, place);

        if (member->id == id)
            return member;
    }
    return NULL;
}

struct cluster_member *cluster_members_add(struct cluster_members *members, uint32_t id,
                                           uint64_t session)
{
    uint32_t place = cluster_table_take(&members->rows);
    struct cluster_member *member;

    if (place == 0)
        return NULL;
    cluster_index_put(&members->by_id, hash_of(members, id), place);
    member = cluster_table_at(&members->rows, place);
    member->id = id;
    member->place = place;
    member->session = session;
    member->state = CLUSTER_MEMBER_ALIVE;
    hub_list_init(&member->gossip);
    hub_list_init(&member->changed);
    members->present++;
    return member;
}

void cluster_members_remove(struct cluster_members *members, struct cluster_member *member)
{
    members->present -= member->state != CLUSTER_MEMBER_LEFT;
    cluster_index_remove(&members->by_id, hash_of(members, member->id), member->place);
    cluster_table_give(&members->rows, member->place);
}

struct cluster_member *cluster_members_after(const struct cluster_members *members, uint32_t place)
{
    uint32_t next = cluster_table_after(&members->rows, place);

    return next == 0 ? NULL : cluster_table_at(&members->rows, next);
}

void cluster_members_move(struct cluster_members *members, struct cluster_member *member,
                          uint32_t state)
{
    members->present += member->state == CLUSTER_MEMBER_LEFT;
    members->present -= state == CLUSTER_MEMBER_LEFT;
    hub_states_move(&cluster_members_states, &member->state, state, "node", "");
}

static bool is_drawn(struct cluster_member *const *drawn, uint32_t count,
                     const struct cluster_member *member)
{
    for (uint32_t i = 0; i < count; i++)
        if (drawn[i] == member)
            return true;
    return false;
}

uint32_t cluster_members_draw(const struct cluster_members *members, struct hub_random *random,
                              const struct cluster_members_drawn *which,
                              struct cluster_member **out, uint32_t most)
{
    uint32_t count = 0;

    if (members->rows.top == 0)
        return 0;
    for (uint32_t tries = 0; count < most && tries < TRIES * most; tries++) {
        uint32_t place = 1 + (uint32_t)hub_random_below(random, members->rows.top);
        struct cluster_member *member;

        if (!cluster_table_has(&members->rows, place))
            continue;
        member = cluster_table_at(&members->rows, place);
        if (member->state <= which->state && member->id != which->but && member->id != which->nor &&
            !is_drawn(out, count, member))
            out[count++] = member;
    }
    return count;
}
