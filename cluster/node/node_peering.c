/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/node_peering.h"

#include "cluster/node/peers/peer_links.h"

static int send_frame(void *user, uint32_t node, const struct cluster_frame *header,
                      struct rapahub_bytes body)
{
    return cluster_peer_links_send(user, node, header, body);
}

static void end_link(void *user, uint32_t node)
{
    cluster_peer_links_hang_up(user, node);
}

static const struct cluster_peer_links_hooks hooks = {cluster_peering_up, cluster_peering_lost,
                                                      cluster_peering_frame};

/* r[impl cluster.peer.send] */
int cluster_node_peering_begin(struct cluster_runner *runner)
{
    const struct cluster_peering_parts parts = {
        .events = runner->events, .buffers = runner->buffers, .links = &runner->links};
    int status = cluster_peering_create(&parts, &runner->peering);

    if (status < 0)
        return status;
    runner->links = (struct cluster_peering_links){send_frame, end_link, runner->peers};
    cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_CALLS, &hooks, runner->peering);
    return 0;
}

void cluster_node_peering_end(struct cluster_runner *runner)
{
    if (runner->peers)
        cluster_peer_links_set_user(runner->peers, CLUSTER_PEER_CALLS, NULL, NULL);
}
