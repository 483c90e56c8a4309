/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/client/transport/node_list.h"

#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#define SCHEME "unix:"

static int take_path(struct cluster_node_list_entry *entry, const char *node)
{
    const char *path = node + strlen(SCHEME);

    if (!path[0])
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%s' is no address of a node; as unix:/run/x.node",
                            node);
    if (strlen(path) >= CLUSTER_NODE_LIST_PATH)
        return rapahub_fail(RAPAHUB_EINVAL, "", "'%s' is too long for a socket; at most %d bytes",
                            path, CLUSTER_NODE_LIST_PATH - 1);
    snprintf(entry->path, sizeof entry->path, "%s", path);
    return 0;
}

static int take_host(struct cluster_node_list_entry *entry, const char *node)
{
    if (strchr(node, '/') || !node[0] || node[0] == '*')
        return rapahub_fail(RAPAHUB_EINVAL, "",
                            "'%s' is no address of a node; as unix:/run/x.node, or HOST:PORT",
                            node);
    return cluster_host_port_parse(node, &entry->at);
}

static int take_node(struct cluster_node_list *list, const char *node)
{
    struct cluster_node_list_entry *entry = &list->all[list->count];

    if (list->count == CLUSTER_NODE_LIST_MAX)
        return rapahub_fail(RAPAHUB_EINVAL, "", "more than %d nodes", CLUSTER_NODE_LIST_MAX);
    list->count++;
    snprintf(entry->text, sizeof entry->text, "%s", node);
    return strncmp(node, SCHEME, strlen(SCHEME)) == 0 ? take_path(entry, node)
                                                      : take_host(entry, node);
}

int cluster_node_list_init(struct cluster_node_list *list, const char *const *nodes)
{
    int r = 0;

    *list = (struct cluster_node_list){.count = 0};
    for (; nodes && *nodes && r == 0; nodes++)
        r = take_node(list, *nodes);
    if (r == 0 && nodes && list->count == 0)
        return rapahub_fail(RAPAHUB_EINVAL, "", "no node is named");
    return r;
}

bool cluster_node_list_is_remote(const struct cluster_node_list_entry *entry)
{
    return entry && !entry->path[0];
}

bool cluster_node_list_has_remote(const struct cluster_node_list *list)
{
    for (unsigned i = 0; i < list->count; i++)
        if (cluster_node_list_is_remote(&list->all[i]))
            return true;
    return false;
}

const struct cluster_node_list_entry *cluster_node_list_at(const struct cluster_node_list *list)
{
    return list->count == 0 ? NULL : &list->all[list->next];
}

/* r[impl cluster.client.again] */
void cluster_node_list_pass(struct cluster_node_list *list)
{
    if (list->count > 0)
        list->next = (list->next + 1) % list->count;
}
