/* SPDX-License-Identifier: Apache-2.0 */
/* proof: the only functions that may say "dead". Silence, a hang-up and a timeout are hints: they
 * lead to a kill, and then to a proof. Any thread. r[impl hub.death.proof] */
#ifndef HUB_BASE_PROOF_H
#define HUB_BASE_PROOF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens a pidfd, CLOEXEC, for the process that has this number now. -ESRCH if there is none. */
int hub_proof_open(pid_t pid);

/* Says whether the process `pid` has a descriptor through which a write lock at `start` of the very
 * file of `fd` is held. Also false if this process may not see that. A process number alone proves
 * nothing: any process may claim it, even from another namespace, and open files can be known, but
 * the kernel reports the holder of a lock. The answer concerns that process only if a pidfd opened
 * before says afterwards that it lives. */
bool hub_proof_has_lock(pid_t pid, int fd, uint64_t start);

/* Says whether the process of this pidfd is dead. Its status may still be uncollected. */
bool hub_proof_of_death(int pidfd);

/* Waits for the death. Returns 0 or -ETIMEDOUT; -EBADF and other errors of poll prove nothing. */
int hub_proof_wait(int pidfd, uint64_t deadline_ns);

/* Reads the status of a dead child without reaping it: CLD_EXITED and the exit status, CLD_KILLED
 * or CLD_DUMPED and the signal, as in siginfo. -EAGAIN if the child lives, -ECHILD if it was reaped
 * elsewhere. */
struct hub_exit {
    int code;   /* CLD_... */
    int status; /* exit status or signal */
};
int hub_proof_status(int pidfd, struct hub_exit *out);

/* Reads the resources that a dead child used, including those of its own children that it waited
 * for. Errors as for hub_proof_status. */
struct hub_usage {
    uint64_t user_ns, system_ns; /* CPU time in nanoseconds */
    uint64_t memory_max;         /* maximum of resident bytes */
};
int hub_proof_usage(int pidfd, struct hub_usage *out);

/* The same as hub_proof_status, but reaps the child. Once. */
int hub_proof_reap(int pidfd, struct hub_exit *out);

#endif
