/* SPDX-License-Identifier: Apache-2.0 */
/* supervision: connects a host to its supervision machine: tells the machine what happened, carries
 * out its decisions, and calls it when its time has come. Owner. */
#ifndef HOST_GUEST_SUPERVISION_H
#define HOST_GUEST_SUPERVISION_H

#include "host/call/call.h"
#include "host/process/guest.h"
#include "host/supervise/exits.h"
#include "host/supervise/failure.h"
#include "host/supervise/machine.h"

#define HOST_SUPERVISION_ROOT 0 /* place of the default supervisor */

/* Functions that carry out the decisions of supervision at a guest. */
struct host_supervision_decisions {
    void (*start)(struct host_guest *guest);
    void (*move)(struct host_guest *guest, const struct host_decision *decision);
    void (*ask)(struct host_guest *guest);
    void (*finish)(struct host_guest *guest);
    void (*end)(struct host_life *life, enum host_cause cause, const char *why);
};

/* Functions that hear of the children of supervisors, for observers and monitors. */
struct host_supervision_listeners {
    void (*added)(struct host_supervision *host, uint32_t place);
    void (*deciding)(struct host_supervision *host, const struct host_decision *decision);
    void (*decided)(struct host_supervision *host, const struct host_decision *decision);
};

/* Functions that act on what was found out about a life. */
struct host_supervision_lives {
    void (*attached)(struct host_life *life);
    void (*ready)(struct host_life *life);
    void (*open)(struct host_life *life);
    void (*leaving)(struct host_life *life);
    void (*stuck)(struct host_life *life, enum host_cause cause);
    void (*may_be_dead)(struct host_life *life);
    void (*on_pidfd)(void *life, uint32_t events);
    void (*on_bell)(void *life, uint32_t events);
};

/* Hooks that this floor calls upwards; the functions are described where they are defined. They are
 * constant and complete from the making of a host: no caller tests for NULL. */
struct host_supervision_hooks {
    struct host_supervision_decisions decisions;
    struct host_supervision_listeners listeners;
    struct host_supervision_lives lives;
    /* Looks for anonymous guests. True if any was found. */
    bool (*anonymous_guests)(struct host_supervision *host);
};

/* The fifth floor of a host: its guests as supervision sees them. Owner. */
struct host_supervision {
    struct host_call call;
    struct host_machine machine;  /* decides over all guests that the host starts */
    struct host_guest **children; /* by place in the tree; NULL: a supervisor, or free */
    struct hub_list supervisors;  /* handles that the embedder was given */
    struct host_timer supervise;  /* due when time alone brings a decision */
    uint32_t begins;              /* guests whose decided start comes with the timer */
    bool deciding;                /* decisions are being carried out */
    uint64_t serials;             /* the last one that a guest was given */
    struct host_timer beat;       /* looks at heartbeats */
    struct host_timer silent;     /* looks at guests that ring no doorbell */
    bool rests;                   /* nothing was open at the last look: looks are rare */
    const struct host_supervision_hooks *hooks; /* constant */
};

#define HOST_SUPERVISION(host) HOST_FLOOR(host_supervision, host)

int host_supervision_open(struct host_supervision *host);
void host_supervision_close(struct host_supervision *host);

/* Puts a guest below its supervisor (guest->group). An eager guest is started. With `trial` the
 * guest is CLOSED if it ends before it was ready. Fails as host_supervisor_add does. */
int host_supervision_add(struct host_guest *guest, const struct rapahub_supervision *how,
                         bool trial);

/* Starts a guest, even a MANUAL or LAZY one. */
void host_supervision_start(struct host_guest *guest);

/* A caller waits for this guest. A LAZY guest starts when its delay is over.
 * r[impl supervise.lazy] */
void host_supervision_called(struct host_guest *guest);

/* Removes a guest that will be freed from the tree. */
void host_supervision_forget(struct host_guest *guest);

/* Carries out all decisions and sets the timer. A start takes milliseconds, so it comes with that
 * timer, at once: earlier events are told first. Does nothing inside a call of itself, which goes
 * on with the new decisions. */
void host_supervision_settle(struct host_supervision *host);

/* Events of the present life. If the guest is not supervised, only its state changes. */
void host_supervision_attached(struct host_guest *guest);
void host_supervision_ready(struct host_guest *guest);
/* The guest takes no calls for the time being; and it does again. Nothing if it is not
 * supervised. */
void host_supervision_degraded(struct host_guest *guest);
void host_supervision_restored(struct host_guest *guest);

/* The process was replaced by another one that serves already. Fails as
 * host_supervisor_replaced. */
int host_supervision_replaced(struct host_guest *guest);

void host_supervision_leaving(struct host_guest *guest, const char *why);
void host_supervision_exited(struct host_guest *guest, const struct host_ending *ending);
void host_supervision_deferred(struct host_guest *guest, uint64_t due_ns);

bool host_supervision_is_closed(const struct host_guest *guest);

/* Says whether it is a child of a SIMPLE supervisor, which has as many as there is work for. */
bool host_supervision_is_one_of_many(const struct host_guest *guest);

/* Stops a guest for good: nothing starts it again. */
void host_supervision_end(struct host_guest *guest);

/* Stops all guests, and kills those that are left at the deadline. */
void host_supervision_stop_all(struct host_supervision *host, uint64_t deadline_ns);

#endif
