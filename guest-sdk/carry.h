/* SPDX-License-Identifier: Apache-2.0 */
/* carry: a container's state on its way: collected in pieces for load, held in pieces after save.
 */
#ifndef GUEST_SDK_CARRY_H
#define GUEST_SDK_CARRY_H

#include <rapahub/chimod.h>

#include "hub/wire/lifecycle.h"

#define GUEST_CARRY_MAX ((size_t)RAPAHUB_STATE_MAX)

struct guest_carry {
    struct rapahub_sink *incoming; /* pieces of a state to load */
    struct rapahub_sink *outgoing; /* what save wrote */
};

void guest_carry_fini(struct guest_carry *carry);

/* The next piece of a state; -EMSGSIZE beyond 1 GiB. */
int guest_carry_write(struct guest_carry *carry, struct rapahub_bytes piece);

/* Runs the load callback on all pieces, which are then forgotten. */
int guest_carry_load(struct guest_carry *carry, const struct rapahub_container_ops *ops, void *self,
                     uint32_t version);

/* Runs the save callback and keeps what it wrote until all of it is read; size and checksum to
 * *out. Of a save that fails nothing is kept. */
int guest_carry_save(struct guest_carry *carry, const struct rapahub_container_ops *ops, void *self,
                     struct hub_saved *out);

/* A piece of what save wrote, from `offset` on, at most out->size bytes; empty at the end. -EINVAL
 * beyond it, RAPAHUB_ESTATE where nothing is kept. */
int guest_carry_read(const struct guest_carry *carry, uint64_t offset, struct rapahub_bytes *out);

/* What save wrote was handed out up to `end`: all of it is kept no longer. */
void guest_carry_settle(struct guest_carry *carry, uint64_t end);

#endif
