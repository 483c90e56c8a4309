/* SPDX-License-Identifier: Apache-2.0 */
/* state_transfer: transfers the state of a container: collects the pieces for load, and holds the
 * output of save until it is read. Serving thread. */
#ifndef GUEST_SDK_STATE_TRANSFER_H
#define GUEST_SDK_STATE_TRANSFER_H

#include <rapahub/chimod.h>

#include "hub/wire/lifecycle.h"

#define GUEST_STATE_TRANSFER_MAX ((size_t)RAPAHUB_STATE_MAX)

struct guest_state_transfer {
    struct rapahub_sink *incoming; /* pieces of a state to load */
    struct rapahub_sink *outgoing; /* output of save */
};

void guest_state_transfer_fini(struct guest_state_transfer *carry);

/* Appends the next piece of a state to load; an empty one forgets those before. -EMSGSIZE beyond
 * 1 GiB. */
int guest_state_transfer_write(struct guest_state_transfer *carry, struct rapahub_bytes piece);

/* Runs the load callback on all pieces, and then forgets them. */
int guest_state_transfer_load(struct guest_state_transfer *carry,
                              const struct rapahub_container_ops *ops, void *self,
                              uint32_t version);

/* Runs the save callback and holds its output until all of it is read. Writes size and checksum to
 * *out. A save that fails leaves nothing. */
int guest_state_transfer_save(struct guest_state_transfer *carry,
                              const struct rapahub_container_ops *ops, void *self,
                              struct hub_saved *out);

/* Reads at most out->size bytes of the output of save, from `offset` on; *out is empty at the end.
 * -EINVAL if `offset` is beyond the end, RAPAHUB_ESTATE if there is no output. */
int guest_state_transfer_read(const struct guest_state_transfer *carry, uint64_t offset,
                              struct rapahub_bytes *out);

/* Records that the output of save was read up to `end`. When all of it was, it is freed. */
void guest_state_transfer_settle(struct guest_state_transfer *carry, uint64_t end);

#endif
