/* SPDX-License-Identifier: Apache-2.0 */
/* uri: the names of nodes and clients of a cluster, as their certificates have them. Pure.
 *
 *   rapahub://CLUSTER/node/NUMBER
 *   rapahub://CLUSTER/client/ROLE/NAME
 *   rapahub://CLUSTER/ca                  its certificate authority, which is no peer
 *
 * CLUSTER is the cluster's uuid, 32 hexadecimal digits in lower case. A name has one spelling.
 */
#ifndef CLUSTER_IDENTITY_URI_H
#define CLUSTER_IDENTITY_URI_H

#include <stdint.h>

#include <rapahub/value.h>

#define CLUSTER_URI_UUID     16
#define CLUSTER_URI_NAME_MAX 63
#define CLUSTER_URI_SIZE_MAX 160 /* bytes of any name, with the 0 */

enum cluster_peer_kind { CLUSTER_PEER_NODE, CLUSTER_PEER_CLIENT };

/* The values of enum rapahub_control_role. */
enum cluster_peer_role {
    CLUSTER_PEER_VIEWER,
    CLUSTER_PEER_OPERATOR,
    CLUSTER_PEER_ADMIN,
    CLUSTER_PEER_ROLES
};

struct cluster_peer_name {
    uint8_t uuid[CLUSTER_URI_UUID]; /* the cluster's */
    enum cluster_peer_kind kind;
    uint32_t node;                       /* its number; 0 of a client */
    uint8_t role;                        /* enum cluster_peer_role; 0 of a node */
    char name[CLUSTER_URI_NAME_MAX + 1]; /* a client has it, else "" */
};

/* Reads a name that another one wrote. -EINVAL: it is none, or it is spelled otherwise. */
int cluster_uri_parse(const char *uri, struct cluster_peer_name *out);

/* Writes a name, and returns its size without the 0. -EINVAL: there is no such name. */
int cluster_uri_print(const struct cluster_peer_name *name, char to[CLUSTER_URI_SIZE_MAX]);

/* The same for the name of a cluster's authority. */
int cluster_uri_parse_authority(const char *uri, uint8_t out_uuid[CLUSTER_URI_UUID]);
int cluster_uri_print_authority(const uint8_t uuid[CLUSTER_URI_UUID],
                                char to[CLUSTER_URI_SIZE_MAX]);

/* Gives the role of this name. -EINVAL: there is none. */
int cluster_uri_role(struct rapahub_string name, uint8_t *out);

#endif
