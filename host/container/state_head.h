/* SPDX-License-Identifier: Apache-2.0 */
/* state_head: the head of a saved state, and what is said of one that is not valid. The head has 32
 * bytes, little-endian: "RAPAHUBS" ("RAPAHUBC" for changes), u32 1, u32 version of the state, u64
 * size, u32 CRC32C of the bytes that follow, u32 0. Any thread. */
#ifndef HOST_CONTAINER_STATE_HEAD_H
#define HOST_CONTAINER_STATE_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host_call;
struct host_container;
struct hub_saved;

struct host_state_head {
    char magic[8];
    uint32_t format, version;
    uint64_t size;
    uint32_t checksum, reserved;
};
_Static_assert(sizeof(struct host_state_head) == 32, "head of a saved state");

/* Fills in the head of a whole state, or of changes. */
void host_state_head_make(const struct hub_saved *saved, bool changes, struct host_state_head *out);

/* RAPAHUB_EABI: no such head; -EMSGSIZE: the state is too large. */
int host_state_head_check(const struct host_state_head *head, bool changes, const char *guest,
                          const struct host_container *container);

/* Returns -EMSGSIZE with its diagnosis if a state of `size` bytes is larger than allowed; else 0.
 */
int host_state_head_check_size(const char *guest, const struct host_container *container,
                               uint64_t size);

/* Fails with RAPAHUB_EABI and the diagnosis. */
int host_state_head_refuse(const char *what);

/* Returns how many bytes of a state one message to a guest of this host may carry. */
size_t host_state_head_piece(const struct host_call *host);

#endif
