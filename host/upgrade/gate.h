/* SPDX-License-Identifier: Apache-2.0 */
/* gate: the containers of a guest that is being replaced: their calls wait, and nobody is told
 * so. Owner. */
#ifndef HOST_UPGRADE_GATE_H
#define HOST_UPGRADE_GATE_H

#include "host/process/guest.h"
#include "host/registry/containers.h"

struct host_observe;

/* The containers as they were when it began; each counts as used, so none is freed. */
struct host_gate {
    struct host_container **list;
    uint32_t count;
};

/* -ENOMEM. Accepts a zeroed one; fini does, too. */
int host_gate_init(struct host_gate *holding, const struct host_guest *guest);
void host_gate_fini(struct host_gate *holding);

/* New calls wait; those of a container that is plugged are refused as before. */
void host_gate_begin(struct host_observe *host, const struct host_gate *holding);

/* They go on, to wherever the guest is now. Harmless twice. */
void host_gate_end(struct host_observe *host, const struct host_gate *holding);

/* Is no call of this host in it, nor about to be sent? While it is held or plugged. */
bool host_gate_is_idle(struct host_observe *host, const struct host_container *container);

/* Are these still the containers of the guest, all of them, and none of them reachable? */
bool host_gate_is_whole(const struct host_gate *holding, const struct host_guest *guest);

/* How many calls have waited, ever; of two such numbers the difference counts. */
uint64_t host_gate_calls(const struct host_gate *holding);

#endif
