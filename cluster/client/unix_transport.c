/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/unix_transport.h"

#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/link/orders.h"
#include "cluster/link/peer.h"
#include "host/socket/folders.h"
#include "host/socket/listener.h"
#include "hub/base/proof.h"

#define SCHEME "unix:"

static int take_node(struct cluster_unix_transport *transport, const char *node)
{
    const char *path = node + strlen(SCHEME);

    if (strncmp(node, SCHEME, strlen(SCHEME)) != 0 || !path[0])
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%s' is no address of a node; as unix:/run/x.node",
                            node);
    if (strlen(path) >= CLUSTER_UNIX_PATH)
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%s' is too long for a socket; at most %d bytes",
                            path, CLUSTER_UNIX_PATH - 1);
    if (transport->count == CLUSTER_UNIX_NODES_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "more than %d nodes", CLUSTER_UNIX_NODES_MAX);
    snprintf(transport->paths[transport->count++], CLUSTER_UNIX_PATH, "%s", path);
    return 0;
}

int cluster_unix_transport_init(struct cluster_unix_transport *transport, const char *const *nodes)
{
    int r = 0;

    *transport = (struct cluster_unix_transport){.count = 0};
    for (; nodes && *nodes && r == 0; nodes++)
        r = take_node(transport, *nodes);
    if (r == 0 && nodes && transport->count == 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "no node is named");
    return r;
}

struct search {
    int r, *fd;
};

/* The first folder with a node ends the search. */
static int look_into(void *user, const char *folder)
{
    char path[HOST_FOLDERS_PATH + sizeof "/" CLUSTER_ORDERS_NODE CLUSTER_ORDERS_SOCKET];
    struct search *search = user;

    snprintf(path, sizeof path, "%s/%s%s", folder, CLUSTER_ORDERS_NODE, CLUSTER_ORDERS_SOCKET);
    search->r = host_listener_connect(path, search->fd);
    return search->r != RAPAHUB_ENOENT;
}

/* r[impl cluster.client.places] */
static int connect_default(int *fd)
{
    struct search search = {RAPAHUB_ENOENT, fd};

    if (host_folders_each(look_into, &search) == 0)
        return rapahub_fail(RAPAHUB_ENOENT, "", "no node '%s' of this user or of the system runs",
                            CLUSTER_ORDERS_NODE);
    return search.r;
}

/* r[impl cluster.client.again] */
int cluster_unix_transport_connect(struct cluster_unix_transport *transport, int *fd, int *pidfd)
{
    int r;

    if (transport->count == 0) {
        r = connect_default(fd);
    } else {
        const char *path = transport->paths[transport->next];

        transport->next = (transport->next + 1) % transport->count;
        r = host_listener_connect(path, fd);
    }
    if (r == 0)
        *pidfd = cluster_peer_pidfd(*fd);
    return r;
}

bool cluster_unix_transport_is_dead(int pidfd)
{
    return pidfd >= 0 && hub_proof_of_death(pidfd);
}
