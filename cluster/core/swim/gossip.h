/* SPDX-License-Identifier: Apache-2.0 */
/* gossip: news of members, each sent with several datagrams. News that was sent least often goes
 * first, and refutations before all others.
 */
#ifndef CLUSTER_CORE_SWIM_GOSSIP_H
#define CLUSTER_CORE_SWIM_GOSSIP_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/core/swim/members.h"
#include "cluster/wire/datagram.h"

#define CLUSTER_GOSSIP_SENT_MAX 24

struct cluster_gossip {
    struct hub_list news[2][CLUSTER_GOSSIP_SENT_MAX]; /* refutations; others. By how often sent */
    uint32_t count;
};

void cluster_gossip_init(struct cluster_gossip *gossip);

/* Puts what is known of the member among the news, as new. */
void cluster_gossip_add(struct cluster_gossip *gossip, struct cluster_member *member);
void cluster_gossip_remove(struct cluster_gossip *gossip, struct cluster_member *member);

/* Returns what is known of a member, as others are told. */
struct cluster_update cluster_gossip_update(const struct cluster_member *member);

/* Fills the datagram with news, after the updates that it has, of none of which there is a second
 * one. Each is sent at most `limit` times; 0: this one does not count, as another of the same round
 * does. */
void cluster_gossip_fill(struct cluster_gossip *gossip, uint32_t limit,
                         struct cluster_datagram *datagram);

#endif
