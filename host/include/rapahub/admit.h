/* SPDX-License-Identifier: Apache-2.0 */
/* admit: a guest whose process this host did not start, and which it gives a segment of its own as
 * descriptors. A program that owns a host and listens on a Unix socket admits those that connect,
 * and sends them what is here by SCM_RIGHTS. */
#ifndef RAPAHUB_ADMIT_H
#define RAPAHUB_ADMIT_H

#include <rapahub/host.h>

RAPAHUB_BEGIN_DECLS

/* Zero stands for the default that a comment names last. */
struct rapahub_admit_options {
    const char *name; /* "client", followed by -2 … where another guest bears that */
    /* How the host learns that the process has ended; at least one of the two. Both stay the
     * caller's and may be closed afterwards; the host has copies until the guest has ended. 0, or
     * less: none. */
    int pidfd;   /* names the process, as SO_PEERPIDFD gives it */
    int hangup;  /* a connected stream or seqpacket socket whose other end the process has */
    int32_t pid; /* for logs and rapahub_host_guests, as SO_PEERCRED says; 0: unknown */
    /* It serves a chimod (rapahub_guest_run): it is ready when it has told its methods, and may be
     * given containers then. Otherwise it only calls, and is ready when it has attached. */
    bool serves;
    uint64_t attach_timeout_ns; /* until it is ready; 5 s */
    /* Called as for a guest that was spawned, and also if it never attached; may be NULL. */
    rapahub_on_death *on_death;
    void *user;
    /* The one container that it may call, copied; a call to any other is refused with -EACCES, and
     * does not run. NULL: those that any guest may call. */
    const struct rapahub_container_id *only;
    uint64_t reserved[3];
};

/* All that the process needs to attach. The descriptors are the caller's, who sends them and closes
 * them. A process that received them as numbers S and D is a guest by the arguments
 * --hub-path=/proc/self/fd/S --peer-id=PEER --doorbell-fd=D of rapahub_guest_run, and
 * --waiting=poll, sleep or bell if `waiting` says so. They are good for one attaching. */
struct rapahub_admission {
    struct rapahub_guest_id guest;
    int segment;  /* the memory that it shares with this host and with no other */
    int doorbell; /* its end */
    uint32_t peer;
    enum rapahub_waiting waiting; /* the option of the host */
};

/* Makes a guest without a process. The option `admitted_max` of the host says how many there may be
 * at once: RAPAHUB_EFULL beyond that, and never because of guests that the host started. When the
 * guest is ready there is RAPAHUB_EVENT_ATTACHED; its calls say `guest` as their `from` (route.h).
 * No supervisor has it, it is not started again, and its process gets no
 * signal. It ends when its process or its connection does, by its goodbye, by rapahub_host_stop or
 * rapahub_host_kill, or where another guest would be killed: when it has not attached in time,
 * breaks a rule of the protocol, or has no heartbeat. Then the host cuts it off: its calls end,
 * what others called there ends with RAPAHUB_EDIED, and its memory is unmapped and never used
 * again, whatever its process does. Each end other than by a goodbye is told to on_death;
 * RAPAHUB_EVENT_DOWN comes if it was ready. -EINVAL: an option; -EBADF: what was given is no pidfd,
 * or no such socket; RAPAHUB_EFULL, -ENOMEM, -EMFILE. Never waits. r[impl hub.admit.ticket] */
RAPAHUB_API_CHECKED int rapahub_host_admit(struct rapahub_host *host,
                                           const struct rapahub_admit_options *options,
                                           struct rapahub_admission *out);

RAPAHUB_END_DECLS

#endif
