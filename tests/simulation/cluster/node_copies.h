/* SPDX-License-Identifier: Apache-2.0 */
/* node_copies: a node whose pool is durable by copies that answers wait for, made from a seed:
 * calls, some of which call other containers to be answered; guests that die at any moment; daemons
 * that die with them; copies that fail, come late, are whole though changes were asked for. Its
 * conditions:
 *
 *   lost      the state with which a container begins has each call that was answered
 *   doubled   no state has a call twice
 *   exact     a state that is taken has the calls that are written beside it, and no others
 *   maybe     no call ends without being known
 *   copy      a copy is asked for as the one before it says: its number, its base, one at a time
 *   late      no call is open after its deadline
 *   rest      when all has ended, nothing is kept but what origins may ask for yet
 */
#ifndef TESTS_SIMULATION_CLUSTER_NODE_COPIES_H
#define TESTS_SIMULATION_CLUSTER_NODE_COPIES_H

#include <stdint.h>

struct node_copies_figures {
    uint64_t lives, events, calls, answered, nested, again, copies, changes, failed, deaths,
        daemons, restored;
};

/* Lives one life of `steps` events. NULL: nothing was broken; else the condition, with the seed.
 * The text is good until the next life. */
const char *node_copies_live(uint64_t seed, unsigned steps);

const struct node_copies_figures *node_copies_figures(void);

#endif
