/* SPDX-License-Identifier: Apache-2.0 */
/* doorbell: a socket pair: one byte wakes, the end of one side is a hang-up for the other. */
#ifndef HUB_SHM_DOORBELL_H
#define HUB_SHM_DOORBELL_H

#include <stdbool.h>

/* Both ends CLOEXEC and non-blocking; the child's becomes inheritable in the child only. Where the
 * kernel can (from 6.16 on) it refuses descriptors that are sent to `own`.
 * r[impl shm.doorbell.socketpair] */
int hub_doorbell_create(int *own, int *peer);

/* Can no descriptor be sent to this end? Then none ever lies in it. */
bool hub_doorbell_is_sealed(int fd);

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

/* One byte with a descriptor, which stays the caller's: false where it could not be sent now. */
bool hub_doorbell_send(int fd, int sent);

/* What takes a descriptor that came with a byte, and owns it from then on; `cut`: more came at once
 * than one, or than this process has room for. */
struct hub_doorbell_inbox {
    void (*take)(void *user, int fd);
    void (*cut)(void *user);
    void *user;
};

enum hub_heard {
    HUB_HEARD_BELLS,     /* or nothing */
    HUB_HEARD_END,       /* the other end is gone: a hint of death */
    HUB_HEARD_DESCRIPTOR /* one came that nobody wants: it was not received, and lies there still */
};

/* How one end is read. Zeroed: descriptors are not wanted, but may come. */
struct hub_doorbell_ear {
    const struct hub_doorbell_inbox *inbox; /* NULL: they are not wanted */
    bool sealed;                            /* none can come: see hub_doorbell_is_sealed */
};

/* Reads what is there, at most 64 KiB. By one thread at a time. */
enum hub_heard hub_doorbell_drain(int fd, const struct hub_doorbell_ear *ear);

#endif
