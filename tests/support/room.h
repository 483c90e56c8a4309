/* SPDX-License-Identifier: Apache-2.0 */
/* room: a /dev/shm for this process alone, as small as a test wants it. */
#ifndef TESTS_SUPPORT_ROOM_H
#define TESTS_SUPPORT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Mounts a tmpfs of `mib` MiB there, in a mount namespace of this process and its children. False
 * if that is not allowed here. Before the first thread. May be repeated. */
bool room_enter(unsigned mib);

/* Fill the space with a file, except `rest` bytes, and remove the file again. */
void room_fill(uint64_t rest);
void room_clear(void);

#endif
