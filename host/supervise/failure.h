/* SPDX-License-Identifier: Apache-2.0 */
/* failure: what follows the end of a life: a restart, of whom and when; or none. Settle then brings
 * it about. Pure. */
#ifndef HOST_SUPERVISE_FAILURE_H
#define HOST_SUPERVISE_FAILURE_H

#include "host/supervise/machine.h"

/* How a life ended. */
struct host_ending {
    enum rapahub_exit_class class;
    const struct hub_exit *exit; /* NULL: unknown */
    bool barred;                 /* its finish command said that there is to be no other life */
};

/* It is EXITED. If it was asked to go it comes to rest, and else its supervisor decides: it and
 * others are marked to stop, to start again, to fail. */
void host_failure_decide(struct host_machine *machine, uint32_t place,
                         const struct host_ending *ending, uint64_t now_ns);

/* A lazy child is called: its last failure is counted now. r[impl supervise.lazy] */
void host_failure_call(struct host_machine *machine, uint32_t place, uint64_t now_ns);

/* It is down, or EXITED: it takes the state that it is to have then. */
void host_failure_rest(struct host_machine *machine, uint32_t place);

/* It and all it has come down, in order; nothing of it is wanted any more. */
void host_failure_bring_down(struct host_machine *machine, uint32_t place);

#endif
