/* SPDX-License-Identifier: Apache-2.0 */
/* ops_people: people who create, delete, release, wait, and go away, and who remove the module of
 * all pools and push it again. */
#ifndef TESTS_SIMULATION_CLUSTER_OPS_PEOPLE_H
#define TESTS_SIMULATION_CLUSTER_OPS_PEOPLE_H

void ops_people_order(void);
void ops_people_cancel(void);
void ops_people_change_module(void);

#endif
