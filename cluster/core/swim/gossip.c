/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/core/swim/gossip.h"

void cluster_gossip_init(struct cluster_gossip *gossip)
{
    for (unsigned i = 0; i < 2; i++)
        for (unsigned sent = 0; sent < CLUSTER_GOSSIP_SENT_MAX; sent++)
            hub_list_init(&gossip->news[i][sent]);
    gossip->count = 0;
}

void cluster_gossip_remove(struct cluster_gossip *gossip, struct cluster_member *member)
{
    gossip->count -= member->queued;
    member->queued = false;
    hub_list_remove(&member->gossip);
}

static void put(struct cluster_gossip *gossip, struct cluster_member *member)
{
    hub_list_append(&gossip->news[member->refuted ? 0 : 1][member->sent], &member->gossip);
    gossip->count += !member->queued;
    member->queued = true;
}

void cluster_gossip_add(struct cluster_gossip *gossip, struct cluster_member *member)
{
    hub_list_remove(&member->gossip);
    member->sent = 0;
    put(gossip, member);
}

struct cluster_update cluster_gossip_update(const struct cluster_member *member)
{
    static const uint8_t states[] = {[CLUSTER_MEMBER_ALIVE] = CLUSTER_DATAGRAM_ALIVE,
                                     [CLUSTER_MEMBER_PROBE_FAILED] = CLUSTER_DATAGRAM_ALIVE,
                                     [CLUSTER_MEMBER_SUSPECTED] = CLUSTER_DATAGRAM_SUSPECTED,
                                     [CLUSTER_MEMBER_DEAD] = CLUSTER_DATAGRAM_DEAD,
                                     [CLUSTER_MEMBER_LEFT] = CLUSTER_DATAGRAM_LEFT};

    return (struct cluster_update){.id = member->id,
                                   .session = member->session,
                                   .refutations = member->refutations,
                                   .from = member->from ? member->from : member->id,
                                   .state = states[member->state]};
}

static bool has(const struct cluster_datagram *datagram, uint32_t count, uint32_t id)
{
    for (uint32_t i = 0; i < count; i++)
        if (datagram->updates[i].id == id)
            return true;
    return false;
}

static void take(struct hub_list *news, uint32_t before, struct hub_list *taken,
                 struct cluster_datagram *datagram)
{
    while (datagram->updates_count < CLUSTER_DATAGRAM_UPDATES_MAX && !hub_list_empty(news)) {
        struct hub_list *link = hub_list_pop(news);
        const struct cluster_member *member = HUB_LIST_ITEM(link, struct cluster_member, gossip);

        hub_list_append(taken, link);
        if (!has(datagram, before, member->id))
            datagram->updates[datagram->updates_count++] = cluster_gossip_update(member);
    }
}

/* r[impl cluster.swim.gossip] */
void cluster_gossip_fill(struct cluster_gossip *gossip, uint32_t limit,
                         struct cluster_datagram *datagram)
{
    uint32_t before = datagram->updates_count;
    struct hub_list taken;

    if (gossip->count == 0)
        return;
    hub_list_init(&taken);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned sent = 0; sent < CLUSTER_GOSSIP_SENT_MAX; sent++)
            take(&gossip->news[i][sent], before, &taken, datagram);
    for (struct hub_list *link; (link = hub_list_pop(&taken));) {
        struct cluster_member *member = HUB_LIST_ITEM(link, struct cluster_member, gossip);

        member->sent += limit > 0;
        if (limit == 0 || (member->sent < limit && member->sent < CLUSTER_GOSSIP_SENT_MAX))
            put(gossip, member);
        else
            cluster_gossip_remove(gossip, member);
    }
}
