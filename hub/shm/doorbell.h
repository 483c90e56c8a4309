/* SPDX-License-Identifier: Apache-2.0 */
/* doorbell: a socket pair between two processes. A byte wakes the other side, and the end of one
 * side is a hang-up for the other. */
#ifndef HUB_SHM_DOORBELL_H
#define HUB_SHM_DOORBELL_H

#include <stdbool.h>

/* Makes the two ends, both CLOEXEC and non-blocking; the child makes its end inheritable. From
 * Linux 6.16 on the kernel refuses descriptors sent to `own`. r[impl shm.doorbell.socketpair] */
int hub_doorbell_create(int *own, int *peer);

/* Says whether the kernel refuses descriptors sent to this end. Then none can ever be in it. */
bool hub_doorbell_is_sealed(int fd);

/* Makes an inherited descriptor CLOEXEC and non-blocking. -EINVAL if it is no socket. */
int hub_doorbell_adopt(int fd);

enum hub_bell {
    HUB_BELL_RUNG, /* the peer has a byte to read */
    HUB_BELL_OWED, /* no memory for it now: ring again within 1 ms */
    HUB_BELL_GONE  /* no process has the other end: a hint of death */
};

/* Sends a byte. Never blocks, never raises SIGPIPE. r[impl shm.doorbell.signal] */
enum hub_bell hub_doorbell_ring(int fd);

/* Says whether it is a datagram socket, which never reports that its other end is gone. */
bool hub_doorbell_of_datagrams(int fd);

/* Sends one byte with a descriptor, which remains the caller's. False if it could not be sent
 * now. */
bool hub_doorbell_send(int fd, int sent);

/* Receives the descriptors that come with bytes. `take` owns the descriptor; `cut` says that more
 * than one came at once, or more than this process has numbers for. */
struct hub_doorbell_inbox {
    void (*take)(void *user, int fd);
    void (*cut)(void *user);
    void *user;
};

enum hub_heard {
    HUB_HEARD_BELLS, /* bytes, or nothing */
    HUB_HEARD_END,   /* the other end is gone: a hint of death */
    /* an unwanted descriptor came; it was not received and is still in the socket */
    HUB_HEARD_DESCRIPTOR
};

/* How an end is read. Zeroed: descriptors are unwanted, but may come. */
struct hub_doorbell_ear {
    const struct hub_doorbell_inbox *inbox; /* NULL: descriptors are unwanted */
    bool sealed;                            /* none can come: see hub_doorbell_is_sealed */
};

/* Reads all bytes, at most 64 KiB. One thread at a time. */
enum hub_heard hub_doorbell_drain(int fd, const struct hub_doorbell_ear *ear);

#endif
