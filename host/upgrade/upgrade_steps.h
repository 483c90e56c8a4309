/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade_steps: the steps of an upgrade as a table from state and event to the next state and an
 * action. Pure: no clock, no thread, no I/O. upgrade.c carries out the actions. */
#ifndef HOST_UPGRADE_UPGRADE_STEPS_H
#define HOST_UPGRADE_UPGRADE_STEPS_H

#include <stdbool.h>

enum host_upgrade_state {
    HOST_UPGRADE_STARTING,  /* the new process loads the module */
    HOST_UPGRADE_BEGINNING, /* its containers begin, to be loaded later; the old one serves */
    HOST_UPGRADE_HOLDING,   /* new calls are held; the old containers are told */
    HOST_UPGRADE_DRAINING,  /* running calls in the old process end */
    HOST_UPGRADE_RELEASING, /* the old containers let their roles in regions go */
    HOST_UPGRADE_LINKING,   /* the new ones get them, and begin */
    HOST_UPGRADE_SAVING,    /* the state of one container is moved */
    HOST_UPGRADE_LOADING,   /* this state is loaded */
    HOST_UPGRADE_SWITCHING, /* all states are loaded */
    HOST_UPGRADE_RETIRING,  /* calls reach the new process; the old one ends */
    HOST_UPGRADE_CLEARING, /* it failed; the new process ends first: it may hold shared resources */
    HOST_UPGRADE_RETURNING,  /* after that the old containers are told that calls come again */
    HOST_UPGRADE_ENDING,     /* it failed; calls reach the old process, the new one ends */
    HOST_UPGRADE_DISMISSING, /* only a check was asked for; the new process ends */
    HOST_UPGRADE_DONE,
    HOST_UPGRADE_REFUSED, /* the old process serves as before, unless it ended by itself */
    HOST_UPGRADE_STATES
};

enum host_upgrade_event {
    HOST_UPGRADE_READY,      /* the new process serves, and is the version asked for */
    HOST_UPGRADE_MATCHES,    /* the same, and only this check was asked for */
    HOST_UPGRADE_BEGUN,      /* all containers without roles have begun */
    HOST_UPGRADE_HELD,       /* all containers are told */
    HOST_UPGRADE_DRAINED,    /* no call runs in the old process */
    HOST_UPGRADE_RELEASED,   /* no role is held in the old process */
    HOST_UPGRADE_LINKED,     /* the containers with roles have begun */
    HOST_UPGRADE_SAVED,      /* the bytes of one container are in the new process */
    HOST_UPGRADE_LOADED,     /* a state is loaded, and more follow */
    HOST_UPGRADE_LOADED_ALL, /* the last state is loaded */
    HOST_UPGRADE_SWITCHED,
    HOST_UPGRADE_RETURNED, /* all are told, or their time is over */
    HOST_UPGRADE_GONE,     /* the process that shall end has ended, or not in time */
    HOST_UPGRADE_FAILED,   /* a step failed */
    HOST_UPGRADE_LATE,     /* a deadline has passed */
    HOST_UPGRADE_NEW_LOST, /* the new process is ending, or dead */
    HOST_UPGRADE_OLD_LOST, /* the same for the old process */
    HOST_UPGRADE_EVENTS
};

enum host_upgrade_action {
    HOST_UPGRADE_NOTHING,
    HOST_UPGRADE_BEGIN,   /* begin the containers without roles in the new process */
    HOST_UPGRADE_HOLD,    /* hold new calls, and tell the old containers */
    HOST_UPGRADE_DRAIN,   /* wait until no call is running */
    HOST_UPGRADE_RELEASE, /* have the roles let go in the old process */
    HOST_UPGRADE_LINK,    /* have them taken up in the new one, and begin their containers */
    HOST_UPGRADE_SAVE,    /* move the next container's state into the new process */
    HOST_UPGRADE_LOAD,    /* load that state */
    HOST_UPGRADE_SWITCH,  /* direct all calls to the new process, and release held calls */
    HOST_UPGRADE_RETIRE,  /* ask the old process to end */
    HOST_UPGRADE_RETURN,  /* give the old containers their roles, and tell that calls come again */
    HOST_UPGRADE_LET_GO,  /* release held calls to the old process; kill the new one */
    HOST_UPGRADE_END_NEW, /* kill the new process */
    HOST_UPGRADE_FINISH   /* the upgrade is over */
};

struct host_upgrade_step {
    enum host_upgrade_state next;
    enum host_upgrade_action action;
};

/* Finds the step for an event in a state. False if there is none: the event came too late to
 * matter. Any thread, like all functions here. */
bool host_upgrade_steps_find(enum host_upgrade_state state, enum host_upgrade_event event,
                             struct host_upgrade_step *out);

/* Says whether calls are held in this state. */
bool host_upgrade_steps_holds(enum host_upgrade_state state);

/* Says whether the upgrade has neither succeeded nor failed yet. */
bool host_upgrade_steps_undecided(enum host_upgrade_state state);

bool host_upgrade_steps_over(enum host_upgrade_state state);

/* Returns words for a failure in this state, such as "calls did not end"; or "". */
const char *host_upgrade_steps_word(enum host_upgrade_state state);

#endif
