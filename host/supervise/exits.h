/* SPDX-License-Identifier: Apache-2.0 */
/* exits: classifies how a life ended, from what the kernel and the host know, and decides whether
 * that calls for a restart. Pure. */
#ifndef HOST_SUPERVISE_EXITS_H
#define HOST_SUPERVISE_EXITS_H

#include <stdbool.h>
#include <stddef.h>

#include <rapahub/supervise.h>

#include "hub/base/proof.h"

/* The reason for which the host killed the guest, recorded before the signal. */
enum host_cause {
    HOST_CAUSE_NONE,          /* the host did not kill it */
    HOST_CAUSE_SPAWN,         /* a step before exec failed: there never was a life */
    HOST_CAUSE_START_TIMEOUT, /* not ready in time */
    HOST_CAUSE_STOP_TIMEOUT,  /* did not stop when asked */
    HOST_CAUSE_WATCHDOG,      /* no heartbeat */
    HOST_CAUSE_PROTOCOL,      /* broke a rule of the protocol */
    HOST_CAUSE_STALL,         /* made no progress; its class is WATCHDOG, as for the next two */
    HOST_CAUSE_OVERRUN,       /* did not end a call after its caller had given up */
    HOST_CAUSE_PROBE,         /* its startup probe or its liveness probe failed */
    HOST_CAUSE_LINK,          /* a role of its could not be given to it, or taken up by it */
    HOST_CAUSE_OOM            /* the kernel killed it, because its cgroup ran out of memory */
};

/* Returns the class of an end. `exit` is NULL if the status was collected elsewhere. A recorded
 * cause counts only if the guest then died by a signal, or with status 134, which stands for
 * SIGABRT where a process cannot signal itself. */
enum rapahub_exit_class host_exits_class(const struct hub_exit *exit, enum host_cause cause);

/* Prints "signal SIGSEGV", "exit status 3", "not ready in time, killed" and so on, cut at `size`,
 * ended by 0. `exit` may be NULL if the class does not depend on it. */
void host_exits_print(enum rapahub_exit_class class, const struct hub_exit *exit, char *to,
                      size_t size);

/* Returns the text for class WATCHDOG, which has several causes. */
const char *host_exits_stuck(enum host_cause cause);

/* The statuses and signals that an option of a child names. */
struct host_exit_set {
    uint64_t codes[4], signals; /* one bit each; signal 1 has the lowest bit */
};

/* The rules for restarting a child. */
struct host_exit_rules {
    uint32_t mask; /* bits of exit classes */
    struct host_exit_set success, prevent, force;
    bool oom_stops;
};

/* Makes the rules from the options of the child `name`. -EINVAL if a list contains neither a status
 * nor a signal, or the mask has a bit that is no class. */
int host_exits_take(const char *name, const struct rapahub_supervision *how,
                    struct host_exit_rules *out);

enum host_exit_verdict { HOST_EXIT_RESTART, HOST_EXIT_OVER, HOST_EXIT_PREVENTED };

/* Decides whether a life that ended like this calls for a restart; the budget is checked
 * afterwards. A status in `success` makes `*class` CLEAN. `exit` may be NULL. */
enum host_exit_verdict host_exits_judge(const struct host_exit_rules *rules,
                                        const struct hub_exit *exit,
                                        enum rapahub_exit_class *class);

#endif
