/* SPDX-License-Identifier: Apache-2.0 */
/* peer_people: who calls in the world of simulated nodes: clients by any node, and the nodes
 * themselves; and the methods that are called. */
#ifndef TESTS_SIMULATION_CLUSTER_PEER_PEOPLE_H
#define TESTS_SIMULATION_CLUSTER_PEER_PEOPLE_H

void peer_people_call(void);
void peer_people_call_again(void);
void peer_people_cancel(void);
void peer_people_end_run(void);
void peer_people_end_all_runs(void);

#endif
