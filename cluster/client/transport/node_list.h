/* SPDX-License-Identifier: Apache-2.0 */
/* node_list: the nodes that a client may use, in the order in which they are tried: those of this
 * machine by their sockets, any by the network.
 */
#ifndef CLUSTER_CLIENT_TRANSPORT_NODE_LIST_H
#define CLUSTER_CLIENT_TRANSPORT_NODE_LIST_H

#include <stdbool.h>

#include "cluster/link/host_port.h"

#define CLUSTER_NODE_LIST_MAX  8
#define CLUSTER_NODE_LIST_PATH 108
#define CLUSTER_NODE_LIST_TEXT (CLUSTER_HOST_PORT_HOST + 16)

struct cluster_node_list_entry {
    char text[CLUSTER_NODE_LIST_TEXT]; /* for people */
    char path[CLUSTER_NODE_LIST_PATH]; /* where its socket is; "": it is in the network */
    struct cluster_host_port at;
};

struct cluster_node_list {
    unsigned count; /* 0: the default places are looked at */
    unsigned next;  /* is tried next */
    struct cluster_node_list_entry all[CLUSTER_NODE_LIST_MAX];
};

/* Takes the list of the options, ended by NULL, or NULL. -EINVAL: an entry is neither "unix:PATH"
 * nor HOST:PORT, a path is too long, there are too many, or none. */
int cluster_node_list_init(struct cluster_node_list *list, const char *const *nodes);

/* Say whether a node, NULL being one of the default places, or any of them is in the network. */
bool cluster_node_list_is_remote(const struct cluster_node_list_entry *entry);
bool cluster_node_list_has_remote(const struct cluster_node_list *list);

/* Returns the node whose turn it is; NULL: the default places. */
const struct cluster_node_list_entry *cluster_node_list_at(const struct cluster_node_list *list);

/* Passes the turn on. */
void cluster_node_list_pass(struct cluster_node_list *list);

#endif
