/* SPDX-License-Identifier: Apache-2.0 */
/* doorbell: a socket pair: one byte wakes, the end of one side is a hang-up for the other. */
#ifndef HUB_SHM_DOORBELL_H
#define HUB_SHM_DOORBELL_H

#include <stdbool.h>

/* Both ends CLOEXEC and non-blocking; the child's becomes inheritable in the child only.
 * r[impl shm.doorbell.socketpair] */
int hub_doorbell_create(int *own, int *peer);

/* Makes an inherited descriptor CLOEXEC and non-blocking. -EINVAL where it is no socket. */
int hub_doorbell_adopt(int fd);

enum hub_bell {
    HUB_BELL_RUNG, /* the peer has a byte to read */
    HUB_BELL_OWED, /* no memory for it now: ring again within 1 ms */
    HUB_BELL_GONE  /* nobody has the other end: a hint of death */
};

/* Never blocks, never raises SIGPIPE. r[impl shm.doorbell.signal] */
enum hub_bell hub_doorbell_ring(int fd);

/* Is it of datagrams? Then it never reports that its other end is gone. */
bool hub_doorbell_of_datagrams(int fd);

/* Reads what is there, at most 64 KiB: false where the other end is gone. */
bool hub_doorbell_drain(int fd);

#endif
