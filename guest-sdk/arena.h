/* SPDX-License-Identifier: Apache-2.0 */
/* arena: memory for data that a result points to. It is freed when the call is answered. */
#ifndef GUEST_SDK_ARENA_H
#define GUEST_SDK_ARENA_H

#include "guest-sdk/guest_state.h"

/* The memory begins at a multiple of 64. NULL if there is none. */
void *guest_arena_alloc(struct guest_arena *arena, size_t size);
void guest_arena_fini(struct guest_arena *arena);

#endif
