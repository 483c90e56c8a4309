/* SPDX-License-Identifier: Apache-2.0 */
/* limits: what of the machine the process of a guest may use. */
#ifndef RAPAHUB_LIMITS_H
#define RAPAHUB_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/export.h>

RAPAHUB_BEGIN_DECLS

/* Each holds in every life of the guest, and in each of the programs that it starts, from before
 * its own program runs. 0: what the host itself may; RAPAHUB_NONE: none of it. The kernel enforces
 * them: a call of the guest's fails (ENOMEM, EMFILE, EAGAIN …), or a signal ends it, where one is
 * named. r[impl supervise.limits] */
struct rapahub_limits {
    uint64_t address_bytes; /* of all that it maps, shared memory with its host too; at least 64
                               MiB, which it takes to start */
    uint64_t data_bytes;    /* of its heap and other private memory; at least 8 MiB */
    uint64_t stack_bytes;   /* SIGSEGV; at least 256 KiB */
    uint64_t file_bytes;    /* of a file that it writes: SIGXFSZ, class LIMIT */
    uint64_t core_bytes;    /* of a core dump */
    uint64_t cpu_s;         /* s of CPU time in one life: SIGXCPU, class LIMIT; at least 1 */
    uint64_t descriptors;   /* open at once; at least 16 */
    uint64_t processes;     /* and threads, of the whole user: nothing to one who is root; at least
                               4 */
    /* Of all the processes of one life together, by a cgroup v2 that its host makes for it, below
     * its own or the one its option `cgroup` names. Where that cannot be, the start says so in the
     * log, once, with the reason and the remedy. 0: none. r[impl supervise.limits.cgroup] */
    uint64_t memory_max;  /* bytes; above, one of them is killed: class OOM; at least 8 MiB */
    uint64_t memory_high; /* bytes; above, they are slowed down */
    uint64_t pids_max;    /* processes and threads: EAGAIN; at least 4 */
    uint64_t cpu_percent; /* of one CPU: 150 is one and a half; at most 102,400 */
    bool required;        /* where these cannot be enforced it does not start: class SPAWN */
    uint64_t reserved[4];
};

RAPAHUB_END_DECLS

#endif
