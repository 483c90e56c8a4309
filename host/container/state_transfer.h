/* SPDX-License-Identifier: Apache-2.0 */
/* state_transfer: a container's state as a stream of bytes, out of a guest and into one. The stream
 * begins with a head of 32 bytes, little-endian: "RAPAHUBS", u32 1, u32 version of the state, u64
 * size, u32 CRC32C of the bytes, u32 0. Owner. */
#ifndef HOST_CONTAINER_STATE_TRANSFER_H
#define HOST_CONTAINER_STATE_TRANSFER_H

#include <rapahub/stream.h>

#include "host/process/life.h"
#include "host/registry/containers.h"

struct host_call;

/* One state on its way, and the one deadline that is over all of its pieces. What the sink or the
 * source takes of it is given back: its time is not the guest's. */
struct host_state_transfer {
    struct host_call *host;
    struct host_life *life;
    const struct host_container *container;
    uint64_t deadline_ns;
};

/* Has the guest save, and writes head and bytes. RAPAHUB_EABI where they are not what it said;
 * -EMSGSIZE where they are more than RAPAHUB_STATE_MAX: then none is moved; -ETIMEDOUT. */
int host_state_transfer_save(struct host_state_transfer *moves, struct rapahub_sink *to);

/* Hands the bytes of an earlier save to a container that has just begun, and has it load them.
 * Failures as above: then `load` is not called. */
int host_state_transfer_load(struct host_state_transfer *moves, struct rapahub_source *from);

/* 0, or -EMSGSIZE with the diagnosis: a state of so many bytes is more than there may be. */
int host_state_transfer_check_size(const char *guest, const struct host_container *container,
                                   uint64_t size);

#endif
