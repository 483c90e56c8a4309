/* SPDX-License-Identifier: Apache-2.0 */
/* node: a node of this program, rapahubd with its warden and its guests, in folders of its own, and
 * a client of it; all through the public interfaces. */
#ifndef TESTS_BENCH_NODE_H
#define TESTS_BENCH_NODE_H

#include <rapahub/client.h>

#include "tests/bench/suite.h"

#define NODE_PATH 320

struct node {
    char data[NODE_PATH]; /* on the disk of the build tree, where syncs cost what they cost */
    char run[64];         /* of the socket, whose path may not be long */
    char address[96];
    char listen[48]; /* an option of rapahubd; "": it does not listen */
    char tls[96];    /* the folder of the client's certificate; "": it needs none */
    pid_t warden;
    struct rapahub_client *client;
};

/* 0; SUITE_NOT_HERE with trial->why; or less than 0, said on standard error. node_close in every
 * case. */
int node_open(struct node *node, struct trial *out);
void node_close(struct node *node);

/* Gives the node and its client certificates, and has it listen when it begins; its address is in
 * the network from then on. Before node_begin. */
int node_listen(struct node *node);

/* Starts rapahubd with all that it will start on the n-th CPU, or with -1 anywhere, and waits until
 * the client has heard from it. */
int node_begin(struct node *node, int cpu);

/* Connects the client anew, by shared memory or by the socket alone. SUITE_NOT_HERE with trial->why
 * where the library has no such way. */
int node_transport(struct node *node, bool shared, struct trial *out);

/* Applies the text of a pool file, and waits until its pools are there. */
int node_apply(const struct node *node, const char *pools);

/* Ends it in order; what it keeps stays. */
int node_end(struct node *node);

/* Pids of now; 0: there is none. */
pid_t node_daemon(const struct node *node);
pid_t node_guest(const struct node *node, unsigned index);

/* A container of a pool by its name. */
int node_find(const struct node *node, const char *pool, struct rapahub_container_id *out);

/* Says on standard error what failed; returns `code`. */
int node_failed(const char *what, int code);

#endif
