/* SPDX-License-Identifier: Apache-2.0 */
/* entering: clients that enter numbers into a ledger while something is done to their node, half of
 * them by shared memory, half by the socket. Each number is entered once, so the ledger shows what
 * was lost and what was done twice. */
#ifndef TESTS_CLUSTER_ENTERING_H
#define TESTS_CLUSTER_ENTERING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define ENTERING_CLIENTS 4u
#define ENTERING_PACE_MS 5

/* A pool `ledger` for node_process_apply. */
#define ENTERING_POOL                                       \
    "  - pool_name: ledger\n"                               \
    "    module: " TEST_PREFIX "/tests/modules/ledger.so\n" \
    "    durability: acked\n"                               \
    "    supervise: {intensity: 200/10s, backoff: {initial: 1ms, max: 5ms}}\n"

struct entering;

struct entering_client {
    struct entering *of;
    pthread_t thread;
    unsigned index, entered; /* numbers index, index + ENTERING_CLIENTS, ... */
    uint64_t longest_ns;     /* that a call took */
    int result;              /* the first failure, or 0 */
    unsigned wrong;          /* numbers that the ledger has not once */
};

struct entering {
    const char *address; /* the node's */
    atomic_bool ends;
    atomic_uint answers;
    struct entering_client clients[ENTERING_CLIENTS];
};

/* Begins the clients. */
void entering_begin(struct entering *entering, const char *address);

/* Waits until each client may have had an answer of a call that began after now; the test fails if
 * that takes longer. */
void entering_await(struct entering *entering, uint64_t within_ns);

/* Ends them, and checks that each number is in the ledger once, and that no call failed. Returns
 * how many there are; `longest_ns` gets the longest time of a call. */
unsigned entering_end(struct entering *entering, uint64_t *longest_ns);

#endif
