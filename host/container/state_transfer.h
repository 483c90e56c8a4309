/* SPDX-License-Identifier: Apache-2.0 */
/* state_transfer: a container's state as a stream of bytes, out of a guest and into one, for a
 * caller that waits. The stream begins with a head, see state_head.h. Owner. */
#ifndef HOST_CONTAINER_STATE_TRANSFER_H
#define HOST_CONTAINER_STATE_TRANSFER_H

#include <rapahub/stream.h>

#include "host/process/life.h"
#include "host/registry/containers.h"

struct host_call;

/* The transfer of one state, with one deadline for all its pieces. The time that the sink or the
 * source takes is added to the deadline, because it is not the guest's. */
struct host_state_transfer {
    struct host_call *host;
    struct host_life *life;
    const struct host_container *container;
    uint64_t deadline_ns;
};

/* Lets the guest save, and writes head and bytes. RAPAHUB_EABI if the bytes are not as announced;
 * -EMSGSIZE, before any byte is written, if there are more than RAPAHUB_STATE_MAX; -ETIMEDOUT. */
int host_state_transfer_save(struct host_state_transfer *moves, struct rapahub_sink *to);

/* Writes the bytes of an earlier save to a container that has just begun, and lets it load them.
 * After one of the failures above `load` is not called. */
int host_state_transfer_load(struct host_state_transfer *moves, struct rapahub_source *from);

/* The same for what has changed since the last save; the stream begins with "RAPAHUBC". *whole: the
 * module has saved everything, as by the first function. */
int host_state_transfer_save_changes(struct host_state_transfer *moves, struct rapahub_sink *to,
                                     bool *whole);
int host_state_transfer_load_changes(struct host_state_transfer *moves,
                                     struct rapahub_source *from);

#endif
