/* SPDX-License-Identifier: Apache-2.0 */
/* settle: carries out the decisions: stops in order the children that shall stop, and starts in
 * order those that are wanted and due. Repeats over the whole tree until nothing changes. Pure. */
#ifndef HOST_SUPERVISE_SETTLE_H
#define HOST_SUPERVISE_SETTLE_H

#include "host/supervise/machine.h"

void host_settle(struct host_machine *machine, uint64_t now_ns);

/* Returns the next time at which time alone changes something; HUB_NEVER: never. */
uint64_t host_settle_due(struct host_machine *machine, uint64_t now_ns);

#endif
