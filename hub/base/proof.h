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

/* Has the process `pid` a descriptor of the very file of `fd`? False also where this process may
 * not see its descriptors. Its number may be told by anybody, from another namespace too: what it
 * has open is not. */
bool hub_proof_has_file(pid_t pid, int fd);

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
