/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade: another version takes over from a guest that serves; see <rapahub/upgrade.h>. It carries
 * out the table of upgrade_steps.h. It goes on when a message is answered, when lower floors tell
 * of a change (owner/changes.h), and at a deadline. Owner thread. */
#ifndef HOST_UPGRADE_UPGRADE_H
#define HOST_UPGRADE_UPGRADE_H

#include <rapahub/upgrade.h>

#include "host/container/begin.h"
#include "host/container/state_pipe.h"
#include "host/owner/changes.h"
#include "host/owner/threads.h"
#include "host/process/guest.h"
#include "host/upgrade/gate.h"
#include "host/upgrade/upgrade_steps.h"

struct host_observe;
struct host_upgrade;

/* The functions by which the steps of upgrade_transfer.h and upgrade_roles.h report their results.
 * There is one table, in upgrade.c. */
struct host_upgrade_events {
    /* An event happened: the action that follows is carried out. */
    void (*happens)(struct host_upgrade *upgrade, enum host_upgrade_event event);
    /* A step has failed with `code`; the calling thread has its diagnosis. */
    void (*fails)(struct host_upgrade *upgrade, int code);
    /* The deadline of the upgrade has passed, or that of held calls. */
    void (*late)(struct host_upgrade *upgrade);
};

struct host_upgrade {
    struct rapahub_guest_id id; /* the running version; set by the caller */
    const struct rapahub_upgrade_options *options;
    struct rapahub_upgrade_result result;

    const struct host_upgrade_events *events; /* the rest is set at the begin */
    struct host_observe *host;
    struct host_guest *guest; /* pinned */
    struct host_guest *successor;
    struct host_life *from, *to; /* the old and the new life, held; `to` NULL: none yet */
    struct host_gate holding;
    enum host_upgrade_state state;
    uint32_t at;                                 /* index of the container in progress */
    uint32_t role_at;                            /* index of its role in progress */
    struct host_begin_role role;                 /* that role, granted */
    struct host_state_pipe pipe;                 /* its state, on the way */
    uint32_t awaited;                            /* messages that are not answered yet */
    void (*again)(struct host_upgrade *upgrade); /* continues the running step; NULL: none */
    uint64_t again_ns;                           /* when; HUB_NEVER: after the next change */
    struct host_timer timer;                     /* the next deadline, or again_ns */
    struct host_listener
        listener;               /* hears of both guests, of ended calls, of entries that are free */
    uint64_t began_ns, held_ns; /* held_ns 0: calls were never held */
    uint64_t held_before;       /* calls that earlier upgrades held */
    uint64_t deadline_ns, hold_until_ns, end_by_ns;
    struct host_verdict verdict;    /* why the upgrade failed */
    enum host_upgrade_state failed; /* the state in which it failed */
    bool new_lost; /* the new process ended; the cause is known when it is proven dead */
};

/* Starts the new process; the steps follow in later turns, until host_upgrade_steps_over. All
 * members are set that do not depend on a step. After host_upgrade_end nothing is done any more. */
void host_upgrade_begin(struct host_upgrade *upgrade);
void host_upgrade_end(struct host_upgrade *upgrade);

/* Says whether this life of the guest serves no more, or not for long. */
bool host_upgrade_is_lost(const struct host_guest *guest, const struct host_life *life);

/* See upgrade_task.c. The argument is a host_upgrade, zeroed except for its first two members; it
 * must stay until the end of the task. */
extern const struct host_threads_task host_upgrade_task;

#endif
