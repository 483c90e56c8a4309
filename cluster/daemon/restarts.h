/* SPDX-License-Identifier: Apache-2.0 */
/* restarts: when the warden starts the daemon, and when it ends. It has no clock and makes no
 * system call: each function is told the time and says what is to be done. Times are monotonic
 * nanoseconds, never 0.
 *
 * A life of the daemon begins, is READY, dies. Nothing that it left is alive when the next one
 * begins: between two lives all its children are ended. A life that was READY for `reset_after_ns`
 * is followed by the next at once, and earlier deaths are forgotten. Any other death counts. The
 * first is followed by the next life at once, each further one within `period_ns` after a delay
 * that doubles from `backoff_initial_ns` to `backoff_max_ns`; from `deaths_max` on the delay is
 * `backoff_max_ns`, and each is an alarm. It never gives up.
 *
 * It ends when it was asked to, when the daemon ended with status 0, or when the first life ended
 * by itself before any was READY: then its message tells why. */
#ifndef DAEMON_RESTARTS_H
#define DAEMON_RESTARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "hub/base/proof.h"
#include "hub/base/states.h"

#define DAEMON_RESTARTS_DEATHS 256 /* the most that `deaths_max` may be */

enum daemon_restarts_state {
    DAEMON_RESTARTS_WAITING,  /* no process of the daemon; at first, and between two lives */
    DAEMON_RESTARTS_STARTING, /* it runs, and is not READY */
    DAEMON_RESTARTS_SERVING,  /* it is READY */
    DAEMON_RESTARTS_STOPPING, /* it was asked to end */
    DAEMON_RESTARTS_CLEARING, /* it is dead, and its children are being ended */
    DAEMON_RESTARTS_ENDED
};
extern const struct hub_states daemon_restarts_states;

/* The next thing to do. */
enum daemon_restarts_act {
    DAEMON_RESTARTS_WAIT,
    DAEMON_RESTARTS_START,   /* a life of the daemon */
    DAEMON_RESTARTS_FORWARD, /* the signal that asks it to end */
    DAEMON_RESTARTS_CLEAR,   /* end all children, then daemon_restarts_on_cleared */
    DAEMON_RESTARTS_END      /* with `status` */
};

struct daemon_restarts_options {
    uint64_t reset_after_ns, period_ns, backoff_initial_ns, backoff_max_ns;
    uint32_t deaths_max; /* from 1 to DAEMON_RESTARTS_DEATHS */
};

struct daemon_restarts {
    struct daemon_restarts_options options;
    uint32_t state;
    uint64_t ready_ns; /* when this life was; 0: it was not */
    uint64_t due_ns;   /* WAITING: when the next life begins */
    bool has_served;   /* a life was READY */
    bool ends;         /* no further life */
    bool alarm;        /* deaths_max was reached, and no life was good since then */
    int status;        /* at the end, for the process */
    uint64_t lives;    /* begun so far */
    uint32_t count;    /* deaths that are kept */
    uint64_t deaths[DAEMON_RESTARTS_DEATHS]; /* when; the oldest first */
};

void daemon_restarts_init(struct daemon_restarts *restarts,
                          const struct daemon_restarts_options *options, uint64_t now_ns);

/* START where the next life is due, END where all is over, else WAIT. */
enum daemon_restarts_act daemon_restarts_next(const struct daemon_restarts *restarts,
                                              uint64_t now_ns);

/* A life has begun; it is READY. A second READY, or that of a daemon which was asked to end,
 * changes nothing. */
void daemon_restarts_on_begun(struct daemon_restarts *restarts);
void daemon_restarts_on_ready(struct daemon_restarts *restarts, uint64_t now_ns);

/* No process could be made. Counts as a death, but of a life that left nothing. */
void daemon_restarts_on_failed(struct daemon_restarts *restarts, uint64_t now_ns);

/* It is dead: CLEAR. */
enum daemon_restarts_act daemon_restarts_on_died(struct daemon_restarts *restarts,
                                                 const struct hub_exit *how, uint64_t now_ns);

/* None of its children is left: END or WAIT. */
enum daemon_restarts_act daemon_restarts_on_cleared(struct daemon_restarts *restarts);

/* The warden was asked to end: FORWARD, END, or WAIT while children are being ended. */
enum daemon_restarts_act daemon_restarts_on_stop(struct daemon_restarts *restarts);

#endif
