/* SPDX-License-Identifier: Apache-2.0 */
/* exit: how the life of a guest ended. Hosts use it, and guests that monitor other guests. */
#ifndef RAPAHUB_EXIT_H
#define RAPAHUB_EXIT_H

/* How a life ended. `restart_mask` has the bit 1u << class for each. */
enum rapahub_exit_class {
    RAPAHUB_EXIT_CLEAN,         /* with a status in `success_exit` */
    RAPAHUB_EXIT_CODE,          /* with another status */
    RAPAHUB_EXIT_SIGNAL,        /* by a signal */
    RAPAHUB_EXIT_CORE,          /* by a signal, with a core dump */
    RAPAHUB_EXIT_OOM,           /* killed because the system ran out of memory */
    RAPAHUB_EXIT_START_TIMEOUT, /* not ready in time; killed */
    RAPAHUB_EXIT_STOP_TIMEOUT,  /* did not stop when asked; killed */
    RAPAHUB_EXIT_WATCHDOG,      /* no heartbeat; killed */
    RAPAHUB_EXIT_PROTOCOL,      /* broke a rule of the protocol; killed */
    RAPAHUB_EXIT_LIMIT,         /* exceeded its limit of CPU time or file size */
    RAPAHUB_EXIT_SPAWN,         /* never ran */
    RAPAHUB_EXIT_LOST,          /* dead, but its status was collected elsewhere */
    RAPAHUB_EXIT_LINK           /* its earlier link could not be given back to it; killed */
};

#endif
