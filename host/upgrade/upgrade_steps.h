/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade_steps: what an upgrade does next, as a table: what happened comes in, what is to be done
 * comes out. Pure: no clock, no thread, no I/O. upgrade.c carries it out. */
#ifndef HOST_UPGRADE_UPGRADE_STEPS_H
#define HOST_UPGRADE_UPGRADE_STEPS_H

#include <stdbool.h>

enum host_upgrade_state {
    HOST_UPGRADE_STARTING,   /* the new process loads the module */
    HOST_UPGRADE_BEGINNING,  /* its containers begin, each to be loaded; the old one serves */
    HOST_UPGRADE_HOLDING,    /* new calls are held; the old one's containers are told */
    HOST_UPGRADE_DRAINING,   /* its running calls end */
    HOST_UPGRADE_SAVING,     /* the state of one container crosses */
    HOST_UPGRADE_LOADING,    /* and is loaded */
    HOST_UPGRADE_SWITCHING,  /* all are loaded */
    HOST_UPGRADE_RETIRING,   /* calls reach the new one; the old process ends */
    HOST_UPGRADE_CLEARING,   /* it failed; first the new process ends: it may hold what is one's */
    HOST_UPGRADE_RETURNING,  /* then the old one's containers are told that calls come */
    HOST_UPGRADE_ENDING,     /* it failed, and calls reach the old one; the new process ends */
    HOST_UPGRADE_DISMISSING, /* it was to be looked at only; the new process ends */
    HOST_UPGRADE_DONE,
    HOST_UPGRADE_REFUSED, /* the old one serves as before, if it has not ended by itself */
    HOST_UPGRADE_STATES
};

enum host_upgrade_event {
    HOST_UPGRADE_READY,      /* the new process serves, and is what was asked for */
    HOST_UPGRADE_MATCHES,    /* the same, and nothing else was asked */
    HOST_UPGRADE_BEGUN,      /* all containers */
    HOST_UPGRADE_HELD,       /* all know */
    HOST_UPGRADE_DRAINED,    /* nothing runs in the old one */
    HOST_UPGRADE_SAVED,      /* the bytes of one container are in the new process */
    HOST_UPGRADE_LOADED,     /* it is loaded; there are more */
    HOST_UPGRADE_LOADED_ALL, /* it is loaded, the last one */
    HOST_UPGRADE_SWITCHED,
    HOST_UPGRADE_RETURNED, /* all know, or the time for it is over */
    HOST_UPGRADE_GONE,     /* the process that is to end has ended, or does not in its time */
    HOST_UPGRADE_FAILED,   /* a step */
    HOST_UPGRADE_LATE,     /* a deadline has passed */
    HOST_UPGRADE_NEW_LOST, /* the new process is ending, or dead */
    HOST_UPGRADE_OLD_LOST, /* the same of the old one */
    HOST_UPGRADE_EVENTS
};

enum host_upgrade_action {
    HOST_UPGRADE_NOTHING,
    HOST_UPGRADE_BEGIN,   /* the containers in the new process */
    HOST_UPGRADE_HOLD,    /* new calls, and tell the old one */
    HOST_UPGRADE_DRAIN,   /* look, again and again, whether anything runs */
    HOST_UPGRADE_SAVE,    /* the next container's state, into the new process */
    HOST_UPGRADE_LOAD,    /* that container */
    HOST_UPGRADE_SWITCH,  /* all calls to the new one, and let go those that are held */
    HOST_UPGRADE_RETIRE,  /* ask the old process to end */
    HOST_UPGRADE_RETURN,  /* tell the old one that calls come */
    HOST_UPGRADE_LET_GO,  /* held calls, to where the old one is; kill the new process */
    HOST_UPGRADE_END_NEW, /* kill the new process */
    HOST_UPGRADE_FINISH   /* that is all */
};

struct host_upgrade_step {
    enum host_upgrade_state next;
    enum host_upgrade_action action;
};

/* What follows; false: nothing does, the event came too late to matter. */
bool host_upgrade_steps_find(enum host_upgrade_state state, enum host_upgrade_event event,
                             struct host_upgrade_step *out);

/* Are calls held in this state? */
bool host_upgrade_steps_holds(enum host_upgrade_state state);

/* Has it neither succeeded nor failed yet? */
bool host_upgrade_steps_undecided(enum host_upgrade_state state);

bool host_upgrade_steps_over(enum host_upgrade_state state);

/* "while calls were held" */
const char *host_upgrade_steps_word(enum host_upgrade_state state);

#endif
