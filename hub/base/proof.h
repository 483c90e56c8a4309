/* SPDX-License-Identifier: Apache-2.0 */
/* proof: the only functions that may say "dead". Silence, a hang-up, a timeout are hints; they lead
 * to a kill, and then here. r[impl hub.death.proof] */
#ifndef HUB_BASE_PROOF_H
#define HUB_BASE_PROOF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A pidfd, CLOEXEC, of any process, by its number at this moment: -ESRCH where there is none. */
int hub_proof_open(pid_t pid);

/* Has the process `pid` a descriptor through which a write lock that begins at `start` of the very
 * file of `fd` is held? False also where this process may not see that. The number of a process may
 * be told by anybody, from another namespace too, and what others have open can be known: the
 * kernel alone says whose a lock is. What is said is of that process only where a pidfd that was
 * opened before says afterwards that it lives. */
bool hub_proof_has_lock(pid_t pid, int fd, uint64_t start);

/* Is the process of this pidfd dead? Its status need not be taken yet. */
bool hub_proof_of_death(int pidfd);

/* Waits for it: 0, or -ETIMEDOUT; -EBADF and what else poll refuses prove nothing. */
int hub_proof_wait(int pidfd, uint64_t deadline_ns);

/* The status of a dead child without taking it: CLD_EXITED and the status, CLD_KILLED or CLD_DUMPED
 * and the signal, as in siginfo. -EAGAIN where it lives, -ECHILD where somebody else took it. Any
 * thread. */
struct hub_exit {
    int code;   /* CLD_... */
    int status; /* exit status or signal */
};
int hub_proof_status(int pidfd, struct hub_exit *out);

/* What a dead child has used, with those of its own children that it waited for; as
 * hub_proof_status. */
struct hub_usage {
    uint64_t user_ns, system_ns; /* of CPU */
    uint64_t memory_max;         /* bytes that were resident, at most */
};
int hub_proof_usage(int pidfd, struct hub_usage *out);

/* The same as hub_proof_status, and takes it: the process is gone. Once. */
int hub_proof_reap(int pidfd, struct hub_exit *out);

#endif
