/* SPDX-License-Identifier: Apache-2.0 */
/* client_users: the users whose programs are clients of a node, and what each of them may have: so
 * many connections and origins, and so much memory. Admins share what is left by others.
 */
#ifndef CLUSTER_NODE_CLIENT_USERS_H
#define CLUSTER_NODE_CLIENT_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hub/base/budget.h"
#include "hub/base/list.h"

#define CLUSTER_CLIENTS_MAX    256 /* connections */
#define CLUSTER_CLIENTS_SHARED 128 /* connections that are no admins' */
#define CLUSTER_CLIENTS_USER   64  /* connections of a user who is no admin */
#define CLUSTER_ORIGINS_MAX    4096
#define CLUSTER_ORIGINS_USER   1024

struct cluster_client_user {
    struct hub_list link;
    uid_t uid;
    uint32_t connections, origins;
    struct hub_budget *budget; /* bodies in parts, and ends that are kept */
};

struct cluster_client_users {
    struct hub_list all;
    uint32_t connections, shared, origins;
};

void cluster_client_users_init(struct cluster_client_users *users);

/* Each of these counts one more, of a user who gets an entry by that. -EBUSY: there are as many as
 * there may be, with the number in the text; -ENOMEM. */
int cluster_client_users_connect(struct cluster_client_users *users, uid_t uid, bool admin,
                                 struct cluster_client_user **out);
int cluster_client_users_add_origin(struct cluster_client_users *users, uid_t uid,
                                    struct cluster_client_user **out);

/* And one less. The entry goes with the last. */
void cluster_client_users_disconnect(struct cluster_client_users *users,
                                     struct cluster_client_user *user, bool admin);
void cluster_client_users_remove_origin(struct cluster_client_users *users,
                                        struct cluster_client_user *user);

#endif
