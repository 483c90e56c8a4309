/* SPDX-License-Identifier: Apache-2.0 */
/* supervision: between the host and what decides for it: tells the machine what happened, carries
 * out what it decides, and wakes it when its time has come. Owner. */
#ifndef HOST_GUEST_SUPERVISION_H
#define HOST_GUEST_SUPERVISION_H

#include "host/call/call.h"
#include "host/process/guest.h"
#include "host/supervise/exits.h"
#include "host/supervise/failure.h"
#include "host/supervise/machine.h"

#define HOST_SUPERVISION_ROOT 0 /* place of the default supervisor */

/* Carries out at a guest what supervision has decided. */
struct host_supervision_decisions {
    void (*start)(struct host_guest *guest);
    void (*move)(struct host_guest *guest, const struct host_decision *decision);
    void (*ask)(struct host_guest *guest);
    void (*finish)(struct host_guest *guest);
    void (*end)(struct host_life *life, enum host_cause cause, const char *why);
};

/* Hears of the children of supervisors, to tell those who observe or monitor them. */
struct host_supervision_listeners {
    void (*added)(struct host_supervision *host, uint32_t place);
    void (*deciding)(struct host_supervision *host, const struct host_decision *decision);
    void (*decided)(struct host_supervision *host, const struct host_decision *decision);
};

/* Carries out what others find out about a life. */
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

/* What this floor calls of those above, where the functions are described. Constant and complete
 * from the moment a host is made: no caller tests for NULL. */
struct host_supervision_hooks {
    struct host_supervision_decisions decisions;
    struct host_supervision_listeners listeners;
    struct host_supervision_lives lives;
    /* Looks for guests that come by themselves: did it find anybody? */
    bool (*visitors)(struct host_supervision *host);
};

/* The fifth floor of a host: its guests, as those who supervise them see them. */
struct host_supervision {
    struct host_call call;
    struct host_machine machine;  /* decides over all guests that the host starts */
    struct host_guest **children; /* by their place in its tree; NULL: a supervisor, or nobody */
    struct hub_list supervisors;  /* that the embedder has made */
    struct host_timer supervise;  /* when time alone makes it decide */
    uint32_t begins;              /* guests whose start is decided, and comes with the timer */
    bool deciding;                /* its decisions are being carried out */
    uint64_t serials;             /* the last one given to a guest */
    struct host_timer beat;       /* looks at heartbeats */
    struct host_timer silent;     /* looks at guests that wake nobody */
    bool rests;                   /* nothing was open when it looked: it looks seldom */
    const struct host_supervision_hooks *hooks; /* constant */
};

#define HOST_SUPERVISION(host) HOST_FLOOR(host_supervision, host)

int host_supervision_open(struct host_supervision *host);
void host_supervision_close(struct host_supervision *host);

/* Puts a guest below its supervisor (guest->group); an eager one is started. On trial it is CLOSED
 * if it ends before it was ready. Fails as host_supervisor_add does. */
int host_supervision_add(struct host_guest *guest, const struct rapahub_supervision *how,
                         bool trial);

/* A MANUAL or LAZY one starts, too. */
void host_supervision_start(struct host_guest *guest);

/* Somebody waits for it; a LAZY one starts when its delay is over. r[impl supervise.lazy] */
void host_supervision_called(struct host_guest *guest);

/* The guest will be freed: it is nobody's child any more. */
void host_supervision_forget(struct host_guest *guest);

/* Carries out all that was decided, and sets the timer. A start takes milliseconds, and what
 * happened before it is to be told first: so it comes by that timer, at once. Where it is carried
 * out already: nothing, whoever does so goes on with it. */
void host_supervision_settle(struct host_supervision *host);

/* What happened to the present life. Of a guest that is not supervised: only its state moves. */
void host_supervision_attached(struct host_guest *guest);
void host_supervision_ready(struct host_guest *guest);
/* It takes no calls for the time being; and it does again. Nothing for one that is not supervised.
 */
void host_supervision_degraded(struct host_guest *guest);
void host_supervision_restored(struct host_guest *guest);

/* Its process was replaced by another one that serves already. Fails as host_supervisor_replaced.
 */
int host_supervision_replaced(struct host_guest *guest);

void host_supervision_leaving(struct host_guest *guest, const char *why);
void host_supervision_exited(struct host_guest *guest, const struct host_ending *ending);
void host_supervision_deferred(struct host_guest *guest, uint64_t due_ns);

bool host_supervision_is_closed(const struct host_guest *guest);

/* Stops it, and it is not started again by anybody. */
void host_supervision_end(struct host_guest *guest);

/* Stops all, and kills what is left at the deadline. */
void host_supervision_stop_all(struct host_supervision *host, uint64_t deadline_ns);

#endif
