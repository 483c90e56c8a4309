/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/transport/unix_transport.h"

#include <stdio.h>

#include <rapahub/error.h>

#include "cluster/link/orders.h"
#include "cluster/link/peer.h"
#include "host/socket/folders.h"
#include "host/socket/listener.h"
#include "hub/base/proof.h"

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

int cluster_unix_transport_connect(const char *path, int *fd, int *pidfd)
{
    int r = path ? host_listener_connect(path, fd) : connect_default(fd);

    if (r == 0)
        *pidfd = cluster_peer_pidfd(*fd);
    return r;
}

bool cluster_unix_transport_is_dead(int pidfd)
{
    return pidfd >= 0 && hub_proof_of_death(pidfd);
}
