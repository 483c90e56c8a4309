/* SPDX-License-Identifier: Apache-2.0 */
/* settle: brings about what is wanted: stops, in order, what is to come down, and starts, in order,
 * what is wanted and due. Looks at the whole tree until nothing more follows. Pure. */
#ifndef HOST_SUPERVISE_SETTLE_H
#define HOST_SUPERVISE_SETTLE_H

#include "host/supervise/machine.h"

void host_settle(struct host_machine *machine, uint64_t now_ns);

/* When time alone changes something next; HUB_NEVER: never. */
uint64_t host_settle_due(struct host_machine *machine, uint64_t now_ns);

#endif
