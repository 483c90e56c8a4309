/* SPDX-License-Identifier: Apache-2.0 */
/* node_process: a node of the test: `rapahubd` with its warden, its daemon and its guests, in a
 * folder of its own. All of it is gone when the test has closed it. */
#ifndef TESTS_CLUSTER_NODE_PROCESS_H
#define TESTS_CLUSTER_NODE_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

#include "tests/support/process.h"

#define NODE_PROCESS_PATH 512

struct node_process {
    char folder[NODE_PROCESS_PATH];  /* of the test; `data` and `run` are in it */
    char address[NODE_PROCESS_PATH]; /* for clients */
    const char *option;              /* of rapahubd, set before it begins; NULL: none */
    pid_t warden;
};

/* Makes the folder. Nothing runs yet. */
void node_process_open(struct node_process *node);

/* Ends what runs, in order, and removes the folder. */
void node_process_close(struct node_process *node);

/* Begins the warden, which begins the daemon; waits for neither. */
void node_process_begin(struct node_process *node);

/* Ends it by SIGTERM; the test fails if that takes longer than 20 s or leaves a process. */
void node_process_end(struct node_process *node);

/* Runs `rapahub WORDS... --node ADDRESS`; returns its exit status, and its output for the caller to
 * release. `words` ends with NULL. */
int node_process_rapahub(const struct node_process *node, const char *const words[],
                         struct process_result *out);

/* Applies the text of a pool file, and waits until its pools are there. */
void node_process_apply(const struct node_process *node, const char *pools);

/* Likewise, and returns the exit status, with the output for the caller to release. */
int node_process_try_apply(const struct node_process *node, const char *pools,
                           struct process_result *out);

/* Pids of now; 0: there is none. */
pid_t node_process_daemon(const struct node_process *node);
pid_t node_process_guest(const struct node_process *node, unsigned index);

/* Kill with SIGKILL, if they are there and, for the daemon and the warden, if there is a guest, so
 * that a node which begins is left to. Return whether they did. The warden is begun again. */
bool node_process_kill_guest(const struct node_process *node, unsigned index);
bool node_process_kill_daemon(const struct node_process *node);
bool node_process_kill_warden(struct node_process *node, bool and_daemon);

#endif
