/* SPDX-License-Identifier: Apache-2.0 */
/* guest: what outlives each process of a guest: its options, its state, its containers; and the
 * only way from a guest id to a pointer. The owner changes it; what other threads look at (state,
 * life, methods, due_ns) under the write lock of routes. */
#ifndef HOST_GUEST_H
#define HOST_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/host.h>

#include "host/figures.h"
#include "host/life.h"
#include "host/loop.h"
#include "host/methods.h"
#include "host/options.h"
#include "host/supervise/backoff.h"
#include "host/supervise/budget.h"
#include "host/verdict.h"
#include "hub/base/states.h"

enum host_guest_state {
    HOST_GUEST_STOPPED,
    HOST_GUEST_STARTING, /* a process is there, or nearly */
    HOST_GUEST_ATTACHED, /* it has attached; its containers come up */
    HOST_GUEST_READY,
    HOST_GUEST_STOPPING, /* asked to end, or being killed */
    HOST_GUEST_EXITED,   /* proven dead; it is decided what follows */
    HOST_GUEST_BACKOFF,
    HOST_GUEST_FAILED, /* the budget is spent, or it is never restarted */
    HOST_GUEST_CLOSED
};
extern const struct hub_states host_guest_states;

struct host_guest {
    struct rapahub_host *host;
    uint64_t serial; /* rises with each guest of the host */
    uint32_t state;  /* enum host_guest_state */
    char name[HOST_OPTIONS_NAME_MAX + 1];
    bool named;     /* by the caller */
    bool anonymous; /* it came by itself, has one life, and is not started again */
    char *chimod;
    char **plain; /* ended by NULL; NULL: a chimod */
    int module;   /* the bytes that are loaded in every life */
    enum rapahub_trust trust;
    struct rapahub_supervision supervision;
    struct host_exit_rules exits;
    struct host_budget budget;
    struct host_backoff backoff;

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
    bool asked;                  /* to stop */
    bool over;                   /* FAILED because it is not to be restarted, budget or no budget */
    struct host_verdict verdict; /* why its start failed */
    char cause[256];             /* of the last end */
};

/* A copy of the options, which were checked; -ENOMEM. */
int host_guest_create(struct rapahub_host *host, const struct rapahub_guest_options *options,
                      struct host_guest **out);

/* One that came by itself, as process `pid` (0: unknown). -ENOMEM. */
int host_guest_create_anonymous(struct rapahub_host *host, pid_t pid, struct host_guest **out);

/* It has no life; the containers are gone. Accepts NULL. */
void host_guest_release(struct host_guest **guest);

/* The guest of this life, present or last; NULL: unknown. Owner, or under a lock of routes. */
struct host_guest *host_guest_find(struct rapahub_host *host, struct rapahub_guest_id id);

/* Moves its state, logs it, wakes who waits for a change. Owner. */
void host_guest_move(struct host_guest *guest, enum host_guest_state to, const char *why);

/* For rapahub_guest_status: "ready", "restarting" … */
const char *host_guest_state_word(const struct host_guest *guest);

#endif
