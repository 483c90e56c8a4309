/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/node/client_users.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>

#define BUDGET (UINT64_C(256) << 20) /* bytes of a user */

void cluster_client_users_init(struct cluster_client_users *users)
{
    *users = (struct cluster_client_users){.connections = 0};
    hub_list_init(&users->all);
}

bool cluster_client_users_is_same(const struct cluster_client_user_id *one,
                                  const struct cluster_client_user_id *other)
{
    return one->uid == other->uid && strcmp(one->name, other->name) == 0;
}

bool cluster_client_users_is_remote(const struct cluster_client_user_id *id)
{
    return id->name[0] != '\0';
}

/* FNV-1a. Two names with one number share what the core bounds, and nothing else. */
uint64_t cluster_client_users_number(const struct cluster_client_user_id *id)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    if (!cluster_client_users_is_remote(id))
        return (uint64_t)id->uid + 1; /* 0 is the node itself */
    for (const char *at = id->name; *at; at++)
        hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    return hash | UINT64_C(1) << 63;
}

const char *cluster_client_users_print(const struct cluster_client_user_id *id,
                                       char to[CLUSTER_CLIENT_USER_TEXT])
{
    if (cluster_client_users_is_remote(id))
        snprintf(to, CLUSTER_CLIENT_USER_TEXT, "%s", id->name);
    else
        snprintf(to, CLUSTER_CLIENT_USER_TEXT, "user %u", (unsigned)id->uid);
    return to;
}

static int find(struct cluster_client_users *users, const struct cluster_client_user_id *id,
                struct cluster_client_user **out)
{
    struct cluster_client_user *user;

    HUB_LIST_EACH (&users->all, link) {
        *out = HUB_LIST_ITEM(link, struct cluster_client_user, link);
        if (cluster_client_users_is_same(&(*out)->id, id))
            return 0;
    }
    user = calloc(1, sizeof *user);
    if (user)
        user->budget = hub_budget_create(BUDGET);
    if (!user || !user->budget) {
        free(user);
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a user");
    }
    user->id = *id;
    hub_list_append(&users->all, &user->link);
    *out = user;
    return 0;
}

static void drop_unused(struct cluster_client_user *user)
{
    if (user->connections > 0 || user->origins > 0)
        return;
    hub_list_remove(&user->link);
    hub_budget_drop(&user->budget);
    free(user);
}

static int refuse(const char *of, uint32_t count, uint32_t most)
{
    return rapahub_fail(RAPAHUB_EBUSY, "cluster.client.bounds",
                        "%" PRIu32 " of %" PRIu32 " %s are there", count, most, of);
}

/* r[impl cluster.client.bounds] */
static int check_connections(const struct cluster_client_users *users,
                             const struct cluster_client_user *user, bool admin)
{
    if (users->connections >= CLUSTER_CLIENTS_MAX)
        return refuse("clients", users->connections, CLUSTER_CLIENTS_MAX);
    if (!admin && users->shared >= CLUSTER_CLIENTS_SHARED)
        return refuse("clients of the group", users->shared, CLUSTER_CLIENTS_SHARED);
    if (!admin && user->connections >= CLUSTER_CLIENTS_USER)
        return refuse("clients of this user", user->connections, CLUSTER_CLIENTS_USER);
    return 0;
}

int cluster_client_users_connect(struct cluster_client_users *users,
                                 const struct cluster_client_user_id *id, bool admin,
                                 struct cluster_client_user **out)
{
    int r = find(users, id, out);

    if (r < 0)
        return r;
    r = check_connections(users, *out, admin);
    if (r < 0) {
        drop_unused(*out);
        return r;
    }
    (*out)->connections++;
    users->connections++;
    users->shared += admin ? 0 : 1;
    return 0;
}

/* r[impl cluster.client.bounds] */
int cluster_client_users_add_origin(struct cluster_client_users *users,
                                    const struct cluster_client_user_id *id,
                                    struct cluster_client_user **out)
{
    int r = find(users, id, out);

    if (r < 0)
        return r;
    if (users->origins >= CLUSTER_ORIGINS_MAX)
        r = refuse("origins of calls", users->origins, CLUSTER_ORIGINS_MAX);
    else if ((*out)->origins >= CLUSTER_ORIGINS_USER)
        r = refuse("origins of calls of this user", (*out)->origins, CLUSTER_ORIGINS_USER);
    if (r < 0) {
        drop_unused(*out);
        return r;
    }
    (*out)->origins++;
    users->origins++;
    return 0;
}

void cluster_client_users_disconnect(struct cluster_client_users *users,
                                     struct cluster_client_user *user, bool admin)
{
    user->connections--;
    users->connections--;
    users->shared -= admin ? 0 : 1;
    drop_unused(user);
}

void cluster_client_users_remove_origin(struct cluster_client_users *users,
                                        struct cluster_client_user *user)
{
    user->origins--;
    users->origins--;
    drop_unused(user);
}
