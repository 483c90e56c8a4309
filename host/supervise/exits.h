/* SPDX-License-Identifier: Apache-2.0 */
/* exits: how a life ended, from what the kernel and the host itself know of it; and whether that
 * calls for another one. Pure. */
#ifndef HOST_SUPERVISE_EXITS_H
#define HOST_SUPERVISE_EXITS_H

#include <stdbool.h>
#include <stddef.h>

#include <rapahub/supervise.h>

#include "hub/base/proof.h"

/* Why the host killed it, recorded before the signal. */
enum host_cause {
    HOST_CAUSE_NONE,          /* the host did not */
    HOST_CAUSE_SPAWN,         /* a step up to exec failed: there never was a life */
    HOST_CAUSE_START_TIMEOUT, /* not ready in time */
    HOST_CAUSE_STOP_TIMEOUT,  /* did not go when asked */
    HOST_CAUSE_WATCHDOG,      /* no heartbeat */
    HOST_CAUSE_PROTOCOL,      /* broke a rule */
    HOST_CAUSE_STALL,         /* made no progress; as those below, of class WATCHDOG */
    HOST_CAUSE_OVERRUN,       /* did not end a call that nobody waited for */
    HOST_CAUSE_PROBE,         /* its startup or its liveness probe failed */
    HOST_CAUSE_OOM            /* the kernel did, for want of memory in its cgroup */
};

/* `exit` NULL: somebody else took the status. A recorded cause counts only where the guest then
 * died of a signal, or of status 134, which is SIGABRT where a process cannot signal itself. */
enum rapahub_exit_class host_exits_class(const struct hub_exit *exit, enum host_cause cause);

/* "signal SIGSEGV", "exit status 3", "not ready in time, killed" …, cut at `size`, ended by 0.
 * `exit` may be NULL where the class does not come from it. */
void host_exits_print(enum rapahub_exit_class class, const struct hub_exit *exit, char *to,
                      size_t size);

/* The same where the class is WATCHDOG, and several causes lead to it. */
const char *host_exits_stuck(enum host_cause cause);

/* Statuses and signals that a child's options name. */
struct host_exit_set {
    uint64_t codes[4], signals; /* a bit each; of signal 1 the lowest */
};

/* When a child is started again. */
struct host_exit_rules {
    uint32_t mask; /* of classes */
    struct host_exit_set success, prevent, force;
    bool oom_stops;
};

/* -EINVAL where a list of the child `name` has what is neither a status nor a signal, or its mask
 * no class. */
int host_exits_take(const char *name, const struct rapahub_supervision *how,
                    struct host_exit_rules *out);

enum host_exit_verdict { HOST_EXIT_RESTART, HOST_EXIT_OVER, HOST_EXIT_PREVENTED };

/* Does a life that ended so call for another one? The budget is asked next. A status of `success`
 * makes `*class` CLEAN. `exit` may be NULL. */
enum host_exit_verdict host_exits_judge(const struct host_exit_rules *rules,
                                        const struct hub_exit *exit,
                                        enum rapahub_exit_class *class);

#endif
