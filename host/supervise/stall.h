/* SPDX-License-Identifier: Apache-2.0 */
/* stall: does a guest make progress with what was asked of it? What is seen of it, and the time,
 * are given; a limit counts from the first look at which there was reason to wait. Pure. */
#ifndef HOST_SUPERVISE_STALL_H
#define HOST_SUPERVISE_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/supervise.h>

/* What a look sees. The indices are the guest's own words: one that lies about them spares nobody
 * but itself. */
struct host_stall_sight {
    uint32_t taken;      /* from the ring in which its requests lie */
    uint32_t sent;       /* by it: an answer, or anything else */
    bool unread;         /* there is something in that ring */
    bool runs;           /* it owes an answer, and waits for nothing from its host */
    uint64_t overdue_ns; /* since then a call is over that nobody waits for; HUB_NEVER: none */
};

struct host_stall {
    uint32_t taken, sent;
    uint64_t unread_ns, runs_ns; /* so since then; 0: it is not */
    uint64_t forgiven_ns;        /* no time before that counts */
};

enum host_stall_verdict {
    HOST_STALL_NONE,
    HOST_STALL_STANDS, /* it does not take what lies in its ring, or runs a call without a word */
    HOST_STALL_OVERRUN /* a call that nobody waits for does not end */
};

/* How far apart two looks are, so that a limit is kept to half of it; 0: there is none. */
uint64_t host_stall_every(const struct rapahub_supervision *how);

enum host_stall_verdict host_stall_judge(struct host_stall *stall,
                                         const struct rapahub_supervision *how,
                                         const struct host_stall_sight *sight, uint64_t now_ns);

/* The time until now does not count. */
void host_stall_forgive(struct host_stall *stall, uint64_t now_ns);

#endif
