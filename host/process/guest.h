/* SPDX-License-Identifier: Apache-2.0 */
/* guest: the state of a guest that outlives its processes: options, state, containers; and the only
 * way from a guest id to a pointer. The owner changes it. Other threads read state, life, methods
 * and child.due_ns under a lock of routes, so the owner changes those under the write lock. */
#ifndef HOST_PROCESS_GUEST_H
#define HOST_PROCESS_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/host.h>

#include "host/owner/loop.h"
#include "host/owner/verdict.h"
#include "host/process/build_id.h"
#include "host/process/figures.h"
#include "host/process/life.h"
#include "host/process/limits.h"
#include "host/process/options.h"
#include "host/process/tail.h"
#include "host/registry/methods.h"
#include "host/supervise/tree.h"
#include "hub/base/states.h"

struct host_exit_command;
struct host_process;

/* The most descriptors that one start of a guest uses in its host at the same time. */
#define HOST_GUEST_DESCRIPTORS 32

/* The state that other parts see: the states of a child, except where host_guest_show says
 * otherwise. */
enum host_guest_state {
    HOST_GUEST_STOPPED = HOST_CHILD_STOPPED,
    HOST_GUEST_STARTING = HOST_CHILD_STARTING,
    HOST_GUEST_ATTACHED = HOST_CHILD_ATTACHED,
    HOST_GUEST_READY = HOST_CHILD_READY,
    HOST_GUEST_DEGRADED = HOST_CHILD_DEGRADED,
    HOST_GUEST_STOPPING = HOST_CHILD_STOPPING,
    HOST_GUEST_EXITED = HOST_CHILD_EXITED,
    HOST_GUEST_BACKOFF = HOST_CHILD_BACKOFF,
    HOST_GUEST_FAILED = HOST_CHILD_FAILED,
    HOST_GUEST_CLOSED = HOST_CHILD_CLOSED
};

/* The source of its name. A guest without a name is called by its file, or by its pid. */
enum host_guest_named {
    HOST_GUEST_UNNAMED,
    HOST_GUEST_NAMED_BY_CALLER,
    HOST_GUEST_NAMED_BY_ITSELF
};

/* The code that its lives run. The owner changes it only when another version takes over. */
struct host_guest_module {
    char *chimod;
    char **plain; /* signatures of a plain library, ended by NULL; NULL: a chimod */
    int fd;       /* memfd with the bytes that every life loads */
    struct host_build_id build_id;        /* build id of these bytes, read at the first use */
    char name[HOST_OPTIONS_NAME_MAX + 1]; /* the module's own name; "": not known yet */
    char version[64];
};

/* What it is to its supervisor, and what was decided for it last. */
struct host_guest_child {
    uint32_t node;             /* its node in the tree; HOST_TREE_NONE: not supervised */
    uint32_t supervisor;       /* node of its supervisor */
    uint64_t incarnation;      /* belongs to the present or last life */
    enum host_outlook outlook; /* while it is down; under the routes */
    uint64_t due_ns;           /* when a restart is due; under the routes */
    bool begins;               /* its start is decided, but not carried out yet */
    bool deferred;             /* its start waits for a free peer entry; that is no failure */
    bool initial;              /* it has never been ready: a death leads to no restart */
    bool asked;                /* it was asked to stop, and not to start again */
    bool over;                 /* FAILED because no restart is wanted, not because of the budget */
};

/* The stop of its present life. */
struct host_guest_stop {
    bool told;         /* its process was asked to go */
    bool termed;       /* its process got a SIGTERM */
    uint64_t drain_ns; /* until then the stop waits for open calls; 0: it does not */
};

/* Counted over its lives; calls, violations and figures over the ended ones. */
struct host_guest_totals {
    uint32_t lives, restarts; /* lives begun; lives begun after a death */
    uint64_t calls, violations;
    struct host_figures figures;
};

/* Why its last start failed. */
struct host_guest_failure {
    struct host_verdict verdict;
    const char *step; /* the failed step; NULL: none failed */
};

/* The ends of its lives; see report.h. */
struct host_guest_ends {
    char cause[256];                /* cause of the last one */
    const char *rule;               /* rule that was broken then, or "" */
    struct rapahub_report *reports; /* a ring; NULL: no end yet */
    uint64_t count;                 /* number of reports ever made */
};

struct host_guest {
    struct host_process *host;
    uint64_t serial; /* increases with each guest of the host */
    uint32_t state;  /* enum host_guest_state */
    char name[HOST_OPTIONS_NAME_MAX + 1];
    enum host_guest_named named; /* set once, for all its lives */
    bool anonymous;              /* the host did not start it: it has one life, and no restart */
    bool admitted;               /* and it came by rapahub_host_admit */
    struct host_guest_module module;
    enum rapahub_trust trust;
    struct rapahub_supervision supervision;
    struct host_limits limits;
    struct host_exit_command *finish; /* NULL: none */
    struct host_fd_store *keep;       /* NULL: none */
    bool told_unconfined;             /* it was logged that limits of its cgroup are not enforced */
    struct host_guest_child child;
    bool closed;                  /* rapahub_child_close was called */
    struct host_upgrade *upgrade; /* the one that it takes part in; NULL: none */
    bool kept;                    /* its entry of the guest table stays until it is closed */

    rapahub_on_death *on_death;
    void *on_death_user;

    struct rapahub_guest_id id; /* belongs to the present or last life */
    struct host_life *life;     /* the present life; NULL: none */
    struct host_methods *methods;
    struct hub_list containers;
    uint64_t linked;         /* the life whose roles stand: see host/roles/links.h; owner */
    struct host_timer timer; /* for the state: start, stop, back-off */
    uint32_t pins;           /* waiters for a change of it; while there is one it is not freed */
    struct host_guest_totals totals;
    struct host_guest_stop stop;
    struct host_guest_failure failure;
    struct host_guest_ends ends;
    struct host_tail tail; /* the end of its output, over all its lives */
};

/* Sets the state that other parts see. It is the child's state of supervision, except for a child
 * that has ended for good: that is FAILED and `over`, whether or not it may be started again.
 * Owner. */
void host_guest_show(struct host_guest *guest, enum host_guest_state state, bool over);

/* Returns the guest whose present or last life has this id; NULL if there is none. Owner, or under
 * a lock of routes. */
struct host_guest *host_guest_find(struct host_process *host, struct rapahub_guest_id id);

/* Changes the state of a guest that is not supervised, logs that, and wakes the threads that wait
 * for a change. Owner. */
void host_guest_move(struct host_guest *guest, enum host_guest_state to, const char *why);

/* Tells those that listen, if any do, that its state or its life has changed: see owner/changes.h.
 * host_guest_move and host_guest_show do so. Owner. */
void host_guest_tell(const struct host_guest *guest);

/* Says whether it has a life that serves, even if it gets no new calls now. Owner, or under a lock
 * of routes. */
bool host_guest_is_up(const struct host_guest *guest);

/* Returns the word for rapahub_guest_status: "ready", "restarting" … Owner, or under a lock of
 * routes. */
const char *host_guest_state_word(const struct host_guest *guest);

#endif
