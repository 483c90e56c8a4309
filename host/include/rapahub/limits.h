/* SPDX-License-Identifier: Apache-2.0 */
/* limits: bounds for what the process of a guest may use of the machine. */
#ifndef RAPAHUB_LIMITS_H
#define RAPAHUB_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/export.h>

RAPAHUB_BEGIN_DECLS

/* Each limit holds in every life of the guest, and in each program that it starts, from before its
 * own program runs. 0: the host's own limit; RAPAHUB_NONE: none of it. The kernel enforces them: a
 * system call of the guest fails (ENOMEM, EMFILE, EAGAIN …), or the signal that is named ends it.
 * r[impl supervise.limits] */
struct rapahub_limits {
    uint64_t address_bytes; /* all that it maps, memory shared with its host too; at least 64
                               MiB, which a start needs */
    uint64_t data_bytes;    /* its heap and other private memory; at least 8 MiB */
    uint64_t stack_bytes;   /* SIGSEGV; at least 256 KiB */
    uint64_t file_bytes;    /* a file that it writes: SIGXFSZ, class LIMIT */
    uint64_t core_bytes;    /* a core dump */
    uint64_t cpu_s;         /* s of CPU time in one life: SIGXCPU, class LIMIT; at least 1 */
    uint64_t descriptors;   /* open at once; at least 16 */
    uint64_t processes;     /* and threads, of the whole user; no limit for root; at least 4 */
    /* Limits for all processes of one life together, by a cgroup v2 that the host makes for it,
     * below the host's own or the one that its option `cgroup` names. Where that is impossible, the
     * start logs it once, with the reason and the remedy. 0: none. r[impl supervise.limits.cgroup]
     */
    uint64_t memory_max;  /* bytes; above, one of them is killed: class OOM; at least 8 MiB */
    uint64_t memory_high; /* bytes; above, they are slowed down */
    uint64_t pids_max;    /* processes and threads: EAGAIN; at least 4 */
    uint64_t cpu_percent; /* percent of one CPU: 150 is one and a half; at most 102,400 */
    bool required;        /* the guest does not start where these cannot be enforced: class SPAWN */
    uint64_t reserved[4];
};

RAPAHUB_END_DECLS

#endif
