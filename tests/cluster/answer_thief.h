/* SPDX-License-Identifier: Apache-2.0 */
/* answer_thief: a socket between a client and a node which hands on all frames but, where it is
 * told so, the ends of calls. So an answer that the node has told is lost on its way.
 */
#ifndef TESTS_CLUSTER_ANSWER_THIEF_H
#define TESTS_CLUSTER_ANSWER_THIEF_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct answer_thief {
    pthread_t thread;
    int listener;
    const char *node;        /* path of its socket */
    atomic_bool keeps, kept; /* ends of calls; it has kept one */
    atomic_bool ends;
};

/* Listens at a path, one connection at a time. The test fails where it cannot. */
void answer_thief_begin(struct answer_thief *thief, const char *path, const char *node);
void answer_thief_end(struct answer_thief *thief);

#endif
