/* SPDX-License-Identifier: Apache-2.0 */
/* stall: judges whether a guest makes progress with its requests. Observations and time are
 * arguments. A limit counts from the first check at which there was reason to wait. Pure. */
#ifndef HOST_SUPERVISE_STALL_H
#define HOST_SUPERVISE_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/supervise.h>

/* The observations of one check. The indices are the guest's own words: a guest that falsifies them
 * spares only itself. */
struct host_stall_sight {
    uint32_t taken; /* descriptors received from the ring with its requests */
    uint32_t sent;  /* descriptors sent by it: answers, or anything else */
    bool unread;    /* there is something in that ring */
    bool runs;      /* it owes an answer, and does not wait for its host */
    /* since when a call is overdue that its caller has given up; HUB_NEVER: none */
    uint64_t overdue_ns;
};

struct host_stall {
    uint32_t taken, sent;
    uint64_t unread_ns, runs_ns; /* start of that condition; 0: it does not hold */
    uint64_t forgiven_ns;        /* time before that does not count */
};

enum host_stall_verdict {
    HOST_STALL_NONE,
    /* it does not receive from its ring, or runs a call without sending a message */
    HOST_STALL_STANDS,
    HOST_STALL_OVERRUN /* a call does not end after its caller has given up */
};

/* Returns the time between two checks that keeps limits to half of them; 0: there is no limit. */
uint64_t host_stall_every(const struct rapahub_supervision *how);

enum host_stall_verdict host_stall_judge(struct host_stall *stall,
                                         const struct rapahub_supervision *how,
                                         const struct host_stall_sight *sight, uint64_t now_ns);

/* The time until now does not count. */
void host_stall_forgive(struct host_stall *stall, uint64_t now_ns);

#endif
