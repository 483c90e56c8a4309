/* SPDX-License-Identifier: Apache-2.0 */
/* probes: asks a guest how it is, where its options say so, and does what follows: it serves, is
 * degraded, or is stuck. Nobody waits for an answer. Owner. */
#ifndef HOST_GUEST_PROBES_H
#define HOST_GUEST_PROBES_H

#include <stdbool.h>

struct host_life;

/* Its containers have begun: it is asked from now on. True: it is ready by that alone. */
bool host_probes_begin(struct host_life *life);

/* It goes, or is dead. Harmless where it is not asked. */
void host_probes_end(struct host_life *life);

#endif
