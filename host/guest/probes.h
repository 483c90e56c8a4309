/* SPDX-License-Identifier: Apache-2.0 */
/* probes: asks a guest how it is, if its options say so, and acts on the result: the guest serves,
 * is degraded, or is stuck. No thread waits for a response. Owner. */
#ifndef HOST_GUEST_PROBES_H
#define HOST_GUEST_PROBES_H

#include <stdbool.h>

struct host_life;

/* Begins the probes of a life whose containers have begun. True if the guest is ready without a
 * probe. */
bool host_probes_begin(struct host_life *life);

/* Ends the probes of a life that leaves or is dead. Harmless if they did not begin. */
void host_probes_end(struct host_life *life);

#endif
