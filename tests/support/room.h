/* SPDX-License-Identifier: Apache-2.0 */
/* room: a /dev/shm of this process alone, as small as a test wants it. */
#ifndef TESTS_SUPPORT_ROOM_H
#define TESTS_SUPPORT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

/* Mounts a tmpfs of so many MiB there, in a mount namespace of this process and its children: false
 * where that may not be done here. Before the first thread. May be repeated. */
bool room_enter(unsigned mib);

/* Fills what is left with a file, but for `rest` bytes; takes that away again. */
void room_fill(uint64_t rest);
void room_clear(void);

#endif
