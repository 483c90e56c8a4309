/* SPDX-License-Identifier: Apache-2.0 */
/* swim_timers: the kinds of timers of this room. The number of a timer is the place of a member, or
 * of a relay.
 */
#ifndef CLUSTER_CORE_SWIM_SWIM_TIMERS_H
#define CLUSTER_CORE_SWIM_SWIM_TIMERS_H

enum cluster_swim_timer {
    CLUSTER_SWIM_SUSPICION = 1, /* a member has not refuted */
    CLUSTER_SWIM_PERIOD,        /* the next probe begins */
    CLUSTER_SWIM_DIRECT,        /* the target has not answered: others are asked */
    CLUSTER_SWIM_INDIRECT,      /* nor has it by way of others */
    CLUSTER_SWIM_RELAY,         /* a target has not answered the probe for another: NACK */
    CLUSTER_SWIM_GOSSIP,        /* news is sent by itself */
    CLUSTER_SWIM_PUSH_PULL      /* all that is known is exchanged with one member */
};

#endif
