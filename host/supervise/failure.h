/* SPDX-License-Identifier: Apache-2.0 */
/* failure: decides what follows the end of a life: which children are restarted and when, or none.
 * Settle then carries it out. Pure. */
#ifndef HOST_SUPERVISE_FAILURE_H
#define HOST_SUPERVISE_FAILURE_H

#include "host/supervise/machine.h"

/* How a life ended. */
struct host_ending {
    enum rapahub_exit_class class;
    const struct hub_exit *exit; /* NULL: unknown */
    bool barred;                 /* its exit command forbids another life */
};

/* The child is EXITED. If it was asked to stop it comes to rest. Otherwise its supervisor decides:
 * it and others are marked to stop, to restart or to fail. */
void host_failure_decide(struct host_machine *machine, uint32_t place,
                         const struct host_ending *ending, uint64_t now_ns);

/* A lazy child is called: its last failure is counted now. r[impl supervise.lazy] */
void host_failure_call(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* The child is down, or EXITED: puts it into its resting state. */
void host_failure_rest(struct host_machine *machine, uint32_t place);

/* Stops the supervisor's children, in order; none of them is wanted any more. */
void host_failure_bring_down(struct host_machine *machine, uint32_t place);

#endif
