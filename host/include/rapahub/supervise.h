/* SPDX-License-Identifier: Apache-2.0 */
/* supervise: what happens when a guest dies: whether it is started again, how often, after what
 * delay. */
#ifndef RAPAHUB_SUPERVISE_H
#define RAPAHUB_SUPERVISE_H

#include <stdint.h>

enum rapahub_restart {
    RAPAHUB_RESTART_PERMANENT, /* always */
    RAPAHUB_RESTART_TRANSIENT, /* unless it ended with status 0 */
    RAPAHUB_RESTART_TEMPORARY  /* never */
};

/* How a life ended. */
enum rapahub_exit_class {
    RAPAHUB_EXIT_CLEAN,         /* status 0 */
    RAPAHUB_EXIT_CODE,          /* another status */
    RAPAHUB_EXIT_SIGNAL,        /* a signal */
    RAPAHUB_EXIT_CORE,          /* a signal, with a core dump */
    RAPAHUB_EXIT_SPAWN,         /* it never ran */
    RAPAHUB_EXIT_START_TIMEOUT, /* not ready in time; killed */
    RAPAHUB_EXIT_STOP_TIMEOUT,  /* did not go when asked; killed */
    RAPAHUB_EXIT_WATCHDOG,      /* no heartbeat; killed */
    RAPAHUB_EXIT_PROTOCOL,      /* broke a rule; killed */
    RAPAHUB_EXIT_LOST           /* dead, but somebody else took its status */
};

/* Zero means the default named. */
struct rapahub_supervision {
    enum rapahub_restart restart;
    int32_t restarts_max;        /* within period_ns; 5; -1: none */
    uint64_t period_ns;          /* 60 s */
    uint64_t backoff_initial_ns; /* 100 ms, behind the first restart, which comes at once */
    uint64_t backoff_max_ns;     /* 30 s */
    uint64_t start_timeout_ns;   /* from the spawn to ready; 5 s */
    uint64_t stop_timeout_ns;    /* from the goodbye to SIGKILL; 2.5 s */
    uint64_t reserved[8];
};

#endif
