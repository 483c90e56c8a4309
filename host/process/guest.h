/* SPDX-License-Identifier: Apache-2.0 */
/* guest: what outlives each process of a guest: its options, its state, its containers; and the
 * only way from a guest id to a pointer. The owner changes it; what other threads look at (state,
 * life, methods, due_ns) under the write lock of routes. */
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

/* No start of a guest takes more descriptors of its host than that at once. */
#define HOST_GUEST_DESCRIPTORS 32

/* As others see it: a child's states, but for what host_guest_show says. */
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

/* Who has named it. Until somebody has it is called as its file, or by its pid. */
enum host_guest_named {
    HOST_GUEST_UNNAMED,
    HOST_GUEST_NAMED_BY_CALLER,
    HOST_GUEST_NAMED_BY_ITSELF
};

struct host_guest {
    struct host_process *host;
    uint64_t serial; /* rises with each guest of the host */
    uint32_t state;  /* enum host_guest_state */
    char name[HOST_OPTIONS_NAME_MAX + 1];
    enum host_guest_named named; /* once, for all its lives */
    bool anonymous;              /* it came by itself, has one life, and is not started again */
    char *chimod;
    char **plain;                                /* ended by NULL; NULL: a chimod */
    int module;                                  /* the bytes that are loaded in every life */
    struct host_build_id build_id;               /* of these, once it was asked for */
    char module_name[HOST_OPTIONS_NAME_MAX + 1]; /* as the module itself says; "": not known yet */
    enum rapahub_trust trust;
    struct rapahub_supervision supervision;
    struct host_limits limits;
    struct host_exit_command *finish; /* NULL: none */
    struct host_fd_store *keep;       /* NULL: none */
    bool told_unconfined;             /* that limits of its cgroup are not enforced */
    uint32_t child;               /* its place in the tree; HOST_TREE_NONE: it is not supervised */
    uint64_t incarnation;         /* of the present or last life */
    uint32_t group;               /* place of its supervisor */
    enum host_outlook outlook;    /* routes; while it is down */
    bool closed;                  /* by rapahub_child_close */
    struct host_upgrade *upgrade; /* that is under way; NULL: none */
    bool begins;                  /* its start is decided, and not carried out yet */
    bool kept;                    /* its place is its own until it is closed */

    rapahub_on_death *on_death;
    void *on_death_user;

    struct rapahub_guest_id id; /* of the present or last life */
    struct host_life *life;     /* the present one; NULL: none */
    struct host_methods *methods;
    char version[64];
    struct hub_list containers;
    struct host_timer timer;     /* of the state: start, stop, backoff */
    uint32_t pins;               /* who waits for a change of it: it may not be freed */
    uint32_t lives, restarts;    /* begun; begun after a death */
    uint64_t due_ns;             /* of a restart */
    uint64_t calls, violations;  /* of lives that have ended */
    struct host_figures figures; /* the same */
    bool initial;                /* it has not been ready yet: no restart */
    bool asked;                  /* to stop, and not to start again */
    bool told;                   /* its process was asked to go */
    uint64_t drain_ns;           /* until then its open calls are waited for; 0: they are not */
    bool termed;                 /* and got a SIGTERM */
    bool deferred;               /* its start waits for a free entry; that is no failure */
    bool over;                   /* FAILED because it is not to be restarted, budget or no budget */
    struct host_verdict verdict; /* why its start failed */
    char cause[256];             /* of the last end */
    const char *rule;            /* that was broken then, or "" */
    const char *step;            /* of its last start, where that failed; NULL: none */
    struct rapahub_report *reports; /* a ring: see report.h; NULL: it has not ended yet */
    uint64_t ends;                  /* reports ever made */
    struct host_tail tail;          /* what it printed, over all its lives */
};

/* What others see of a child: the states of supervision, but for one that has ended for good, which
 * is FAILED and `over` whether it may be started again or not. Owner. */
void host_guest_show(struct host_guest *guest, enum host_guest_state state, bool over);

/* The guest of this life, present or last; NULL: unknown. Owner, or under a lock of routes. */
struct host_guest *host_guest_find(struct host_process *host, struct rapahub_guest_id id);

/* Moves the state of one that is not supervised, logs it, wakes who waits for a change. Owner. */
void host_guest_move(struct host_guest *guest, enum host_guest_state to, const char *why);

/* Has it a life that serves, be it that it gets no new calls now? */
bool host_guest_is_up(const struct host_guest *guest);

/* For rapahub_guest_status: "ready", "restarting" … */
const char *host_guest_state_word(const struct host_guest *guest);

#endif
