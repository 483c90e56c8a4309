/* SPDX-License-Identifier: Apache-2.0 */
/* exit: how a life of a guest ended, for its host and for guests that are told of it. */
#ifndef RAPAHUB_EXIT_H
#define RAPAHUB_EXIT_H

/* How a life ended. As a bit in `restart_mask`: 1u << class. */
enum rapahub_exit_class {
    RAPAHUB_EXIT_CLEAN,         /* a status of `success_exit` */
    RAPAHUB_EXIT_CODE,          /* another status */
    RAPAHUB_EXIT_SIGNAL,        /* a signal */
    RAPAHUB_EXIT_CORE,          /* a signal, with a core dump */
    RAPAHUB_EXIT_OOM,           /* the system had no memory for it */
    RAPAHUB_EXIT_START_TIMEOUT, /* not ready in time; killed */
    RAPAHUB_EXIT_STOP_TIMEOUT,  /* did not go when asked; killed */
    RAPAHUB_EXIT_WATCHDOG,      /* no heartbeat; killed */
    RAPAHUB_EXIT_PROTOCOL,      /* broke a rule; killed */
    RAPAHUB_EXIT_LIMIT,         /* beyond its limit of CPU time or file size */
    RAPAHUB_EXIT_SPAWN,         /* it never ran */
    RAPAHUB_EXIT_LOST,          /* dead, but somebody else took its status */
    RAPAHUB_EXIT_LINK           /* what it had could not be given back to it; killed */
};

#endif
