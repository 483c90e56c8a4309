/* SPDX-License-Identifier: Apache-2.0 */
/* node_lives: the process with an empty host, which a node is compared with. */
#ifndef TESTS_BENCH_NODE_LIVES_H
#define TESTS_BENCH_NODE_LIVES_H

/* Lasts until its standard input is closed. Returns an exit status. */
int node_lives_peer(void);

#endif
