/* SPDX-License-Identifier: Apache-2.0 */
/* upgrade: another version takes over from a guest that serves; see <rapahub/upgrade.h>. Carries
 * out what upgrade_steps.h says: by messages to both processes that nobody waits for, and a timer.
 * Owner. */
#ifndef HOST_UPGRADE_UPGRADE_H
#define HOST_UPGRADE_UPGRADE_H

#include <rapahub/upgrade.h>

#include "host/owner/threads.h"
#include "host/process/guest.h"
#include "host/upgrade/gate.h"
#include "host/upgrade/upgrade_steps.h"
#include "hub/wire/lifecycle.h"

struct host_observe;
struct host_upgrade;

/* Where the steps of upgrade_transfer.h tell what came of them: one table, of upgrade.c. */
struct host_upgrade_events {
    /* What happened; where something follows from it, that is done. */
    void (*happens)(struct host_upgrade *upgrade, enum host_upgrade_event event);
    /* A step has failed as the calling thread's diagnosis of `code` says. */
    void (*fails)(struct host_upgrade *upgrade, int code);
    /* The time for all of it is over, or that for which calls may be held. */
    void (*late)(struct host_upgrade *upgrade);
};

struct host_upgrade {
    struct rapahub_guest_id id; /* of the running version; given */
    const struct rapahub_upgrade_options *options;
    struct rapahub_upgrade_result result;

    const struct host_upgrade_events *events; /* the rest is set when it begins */
    struct host_observe *host;
    struct host_guest *guest; /* pinned */
    struct host_guest *successor;
    struct host_life *from, *to; /* held; `to` NULL: not yet */
    struct host_gate holding;
    enum host_upgrade_state state;
    uint32_t at;            /* container that is told, asked, moved */
    struct hub_saved saved; /* of it: what the old process announced */
    uint64_t moved;         /* bytes of it that are in the new one */
    uint32_t checksum;      /* of those */
    uint8_t *piece;         /* that is on its way */
    size_t piece_size;
    uint32_t awaited;                            /* messages without an answer yet */
    void (*again)(struct host_upgrade *upgrade); /* to be tried at the next tick; NULL: nothing */
    struct host_timer timer;
    uint64_t began_ns, held_ns; /* held_ns 0: nothing is held, nor was */
    uint64_t held_before;       /* calls that former upgrades held */
    uint64_t deadline_ns, hold_until_ns, end_by_ns;
    struct host_verdict verdict;    /* why it is refused */
    enum host_upgrade_state failed; /* in this state */
    bool new_lost;                  /* and why is known when its process is dead */
};

/* argument: host_upgrade, zeroed but for what is given; it stays until the task's end. */
extern const struct host_threads_task host_upgrade_task;

#endif
