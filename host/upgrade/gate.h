/* SPDX-License-Identifier: Apache-2.0 */
/* gate: holds the calls to the containers of a guest that is being replaced. Their callers wait,
 * and get no error. Owner thread. */
#ifndef HOST_UPGRADE_GATE_H
#define HOST_UPGRADE_GATE_H

#include "host/process/guest.h"
#include "host/registry/containers.h"

struct host_observe;

/* The guest's containers at the time of host_gate_init, without managed ones that are down. Each
 * has a user more, so none is freed. */
struct host_gate {
    struct host_container **list;
    uint32_t count;
};

/* Lists the containers. -ENOMEM. Both functions allow a zeroed gate. */
int host_gate_init(struct host_gate *holding, const struct host_guest *guest);
void host_gate_fini(struct host_gate *holding);

/* Holds new calls. Calls to a plugged container are still refused. From now on the end of each open
 * call is told to the owner: see owner/changes.h. */
void host_gate_begin(struct host_observe *host, const struct host_gate *holding);

/* Lets the held calls go on, to the present life of the guest. A second call does nothing. */
void host_gate_end(struct host_observe *host, const struct host_gate *holding);

/* Says whether no call of this host is open in the container, or about to be sent. Valid while the
 * container is held or plugged. */
bool host_gate_is_idle(struct host_observe *host, const struct host_container *container);

/* The next process has begun the containers, with the token that follows: from now on it is theirs.
 */
void host_gate_renew(const struct host_gate *holding);

/* No call is open in any of them: from now on none passes, not even in a chain that runs there. */
void host_gate_seal(const struct host_gate *holding);

/* Says whether the guest has exactly these containers still, and calls reach none of them. */
bool host_gate_is_whole(const struct host_gate *holding, const struct host_guest *guest);

/* Returns the number of calls that ever waited. Only the difference of two such numbers has a
 * meaning. */
uint64_t host_gate_calls(const struct host_gate *holding);

#endif
