/* SPDX-License-Identifier: Apache-2.0 */
/* client_users: the users whose programs are clients of a node, and what each of them may have: so
 * many connections and origins, and so much memory. Admins share what is left by others. A user is
 * one of this machine, or one that a certificate names.
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

#define CLUSTER_CLIENT_USER_NAME 80 /* bytes of the name in a certificate, with its end */
#define CLUSTER_CLIENT_USER_TEXT 96

/* Says which user it is. */
struct cluster_client_user_id {
    uid_t uid;                           /* a user of this machine; else (uid_t)-1 */
    char name[CLUSTER_CLIENT_USER_NAME]; /* in a certificate, as "operator/ana"; else "" */
};

bool cluster_client_users_is_same(const struct cluster_client_user_id *one,
                                  const struct cluster_client_user_id *other);

/* Says whether it comes over a network. */
bool cluster_client_users_is_remote(const struct cluster_client_user_id *id);

/* A number of the user that is not 0: see cluster_send_call. */
uint64_t cluster_client_users_number(const struct cluster_client_user_id *id);

/* Writes who it is, for people: "user 1000", or "operator/ana". */
const char *cluster_client_users_print(const struct cluster_client_user_id *id,
                                       char to[CLUSTER_CLIENT_USER_TEXT]);

struct cluster_client_user {
    struct hub_list link;
    struct cluster_client_user_id id;
    uint32_t connections, origins;
    uint32_t calls;            /* but those that it makes as an admin */
    struct hub_budget *budget; /* bodies in parts, calls, and ends that are kept */
};

struct cluster_client_users {
    struct hub_list all;
    uint32_t connections, shared, origins;
};

void cluster_client_users_init(struct cluster_client_users *users);

/* Each of these counts one more, of a user who gets an entry by that. -EBUSY: there are as many as
 * there may be, with the number in the text; -ENOMEM. */
int cluster_client_users_connect(struct cluster_client_users *users,
                                 const struct cluster_client_user_id *id, bool admin,
                                 struct cluster_client_user **out);
int cluster_client_users_add_origin(struct cluster_client_users *users,
                                    const struct cluster_client_user_id *id,
                                    struct cluster_client_user **out);

/* And one less. The entry goes with the last. */
void cluster_client_users_disconnect(struct cluster_client_users *users,
                                     struct cluster_client_user *user, bool admin);
void cluster_client_users_remove_origin(struct cluster_client_users *users,
                                        struct cluster_client_user *user);

#endif
