/* SPDX-License-Identifier: Apache-2.0 */
/* moves: a container's state as a stream of bytes, out of a guest and into one. The stream begins
 * with a head of 32 bytes, little-endian: "RAPAHUBS", u32 1, u32 version of the state, u64 size,
 * u32 CRC32C of the bytes, u32 0. Owner. */
#ifndef HOST_MOVES_H
#define HOST_MOVES_H

#include <rapahub/stream.h>

#include "host/containers.h"
#include "host/life.h"

/* Has the guest save, and writes head and bytes. RAPAHUB_EABI where they are not what it said. */
int host_moves_save(struct rapahub_host *host, struct host_life *life,
                    const struct host_container *container, struct rapahub_sink *to);

/* Hands the bytes of an earlier save to a container that has just begun, and has it load them.
 * RAPAHUB_EABI where the stream is damaged: then `load` is not called. */
int host_moves_load(struct rapahub_host *host, struct host_life *life,
                    const struct host_container *container, struct rapahub_source *from);

#endif
