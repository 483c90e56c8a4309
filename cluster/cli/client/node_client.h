/* SPDX-License-Identifier: Apache-2.0 */
/* node_client: the methods that a node offers to people, `rapahub.node`, as a client of it calls
 * them. For one thread.
 */
#ifndef CLUSTER_CLI_CLIENT_NODE_CLIENT_H
#define CLUSTER_CLI_CLIENT_NODE_CLIENT_H

#include <stdint.h>

#include <rapahub/client.h>
#include <rapahub/value.h>

struct cli;

/* A string that is returned is a JSON document. A method that changes something returns the number
 * of an operation, 0 where all is so already. */
#define CLUSTER_ASK_STATUS       "status() -> string"
#define CLUSTER_ASK_NODES        "nodes() -> string"
#define CLUSTER_ASK_POOLS        "pools() -> string"
#define CLUSTER_ASK_POOL         "pool(string) -> string"
#define CLUSTER_ASK_OPERATIONS   "operations() -> string"
#define CLUSTER_ASK_MODULES      "modules() -> string"
#define CLUSTER_ASK_APPLY        "apply(bytes, bool) -> u64"      /* spec; only check */
#define CLUSTER_ASK_REMOVE       "remove(string) -> u64"          /* pool */
#define CLUSTER_ASK_RELEASE      "release(string, u32) -> u64"    /* pool, container */
#define CLUSTER_ASK_DEAD         "dead(u32, bool) -> u64"         /* node; discard */
#define CLUSTER_ASK_LEAVE        "leave(u32, bool) -> u64"        /* node; discard */
#define CLUSTER_ASK_UNPUSH       "unpush(string, string) -> void" /* name, version */
#define CLUSTER_ASK_WAIT         "wait(u64, u64) -> string"       /* operation, ns; the operation */
#define CLUSTER_ASK_TOKENS       "tokens() -> string"
#define CLUSTER_ASK_REVOKED      "revoked() -> string"
#define CLUSTER_ASK_TOKEN        "token(u64, u32) -> string"    /* ns, uses; the token */
#define CLUSTER_ASK_TOKEN_REVOKE "token_revoke(string) -> void" /* id */
#define CLUSTER_ASK_REVOKE       "revoke(string) -> void"       /* serial number */
#define CLUSTER_ASK_BACKUP       "backup(string) -> string"     /* its name, "": by the time */
/* request, role, name; the certificate and those of the authorities, in PEM */
#define CLUSTER_ASK_CERTIFICATE "certificate(string, string, string) -> string"
/* digest in hexadecimal, offset, size of the file, its bytes from there; whether the node has all
 */
#define CLUSTER_ASK_PUSH "push(string, u64, u64, bytes) -> bool"

struct cluster_node_client {
    struct cli *cli;
    struct rapahub_client *client;
};

/* Connects to the node that the command line names, else to that of this machine. Waits for
 * 2 s, or what RAPAHUB_WAIT_SERVER says. The failures of rapahub_client_open. */
int cluster_node_client_open(struct cli *cli, struct cluster_node_client *out);
void cluster_node_client_close(struct cluster_node_client *node);

/* Says whether this machine may have a node for this user: its socket is there, or the command line
 * names one. No connection is made. */
bool cluster_node_client_may_be(const struct cli *cli);

/* Says whether the command line names a node by its address in the network. */
bool cluster_node_client_is_remote(const struct cli *cli);

/* Says what to do where the node, and nothing of this machine, has refused: hints of the errors
 * themselves speak of files. A hint that is there stays. */
void cluster_node_client_hint(struct cli *cli, int status);

/* Calls a method, at most for the time-out of the command line. `result` is as for
 * rapahub_client_call, and so are the failures. */
int cluster_node_client_ask(const struct cluster_node_client *node, const char *method,
                            const void *const *arguments, void *result);

/* Waits for the end of an operation; 0 is none. Returns its result, with its cause as diagnosis;
 * -ETIMEDOUT: it goes on. */
int cluster_node_client_wait(const struct cluster_node_client *node, uint64_t operation);

#endif
