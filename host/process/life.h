/* SPDX-License-Identifier: Apache-2.0 */
/* life: one process of a guest, from its birth to the return of all it held.
 *
 * The owner makes and ends it. Other threads reach it through a route, which counts them as users;
 * the memory, the link and the pidfd stay until the last user has gone. */
#ifndef HOST_PROCESS_LIFE_H
#define HOST_PROCESS_LIFE_H

#include <stdbool.h>
#include <sys/types.h>

#include <rapahub/id.h>

#include "host/owner/futexes.h"
#include "host/owner/lookout.h"
#include "host/owner/loop.h"
#include "host/process/cgroup.h"
#include "host/process/group.h"
#include "host/process/output.h"
#include "host/registry/methods.h"
#include "host/supervise/exits.h"
#include "host/supervise/probe.h"
#include "host/supervise/pulse.h"
#include "host/supervise/stall.h"
#include "hub/base/proof.h"
#include "hub/connection/connection.h"
#include "hub/wire/lifecycle.h"

struct host_guest;
struct host_process;

/* What waits for the owner: bits that any thread sets. */
#define HOST_WORK_REQUEST UINT32_C(0x01) /* requests of the guest are queued */
#define HOST_WORK_ANSWER  UINT32_C(0x02) /* calls nobody waits for have ended */
#define HOST_WORK_SWEEP   UINT32_C(0x04) /* there is more in the ring */
#define HOST_WORK_CLOSED  UINT32_C(0x08) /* the link is closed */
#define HOST_WORK_HINT    UINT32_C(0x10) /* it may be dead */
#define HOST_WORK_GOODBYE UINT32_C(0x20) /* it said goodbye */

/* How far a new life has come; see startup.h. */
struct host_startup {
    bool ready_seen;      /* READY was received */
    uint32_t methods_max; /* how many it announced */
    uint64_t deadline_ns; /* of all that it is asked for it, where it is READY by having attached */
    struct host_methods *methods;
    struct hub_list *next; /* the container that is begun next */
};

/* The method of an offer that the guest called last inside of a call; see nested.h. */
struct host_nested_upcall {
    uint32_t version; /* of the routes, which it is good for; 0: none */
    uint64_t method_id;
    struct host_container *container;
    size_t target_size;
    uint8_t target[HUB_LIFECYCLE_TARGET_MAX]; /* as the guest names it */
};

/* When it is asked how it is, and by which questions; see probes.h. */
struct host_probes {
    struct host_probe_set set;
    struct host_timer timer;
    struct host_probes_seat {
        struct host_life *life;
        enum host_probe_kind kind;
    } seats[HOST_PROBE_KINDS]; /* whose question it is */
};

/* Chains of calls that began with it, and the seats of its open calls in them; see chains.h. */
struct host_chains {
    struct hub_list begun, seats;
};

struct host_life {
    struct host_process *host;
    struct host_loop *loop;
    struct host_guest *guest; /* owner */
    char name[64];            /* constant once the guest is ready */
    struct rapahub_guest_id id;
    uint64_t incarnation;
    struct host_group *group;
    struct hub_segment_view view;
    bool entered; /* the entry is its own */
    bool open;    /* the connection is */
    bool trusted; /* shares its segment */
    enum hub_wait_manner waiting;
    bool anonymous;   /* the host did not start it: no doorbell, no pipes, no status of its end */
    bool locked;      /* anonymous: it had the lock of its range, so its end can be proven */
    bool detached;    /* it said goodbye and has unmapped the segment */
    bool quarantined; /* its end will never be proven */
    bool killed;      /* SIGKILL was sent, and the time for the proof runs; owner */
    int doorbell;     /* our end; -1: none */
    int pidfd;        /* -1: not born, or not known */
    pid_t pid;
    struct hub_connection connection;
    struct host_output output;
    struct host_cgroup cgroup;
    bool purged; /* all in its cgroup were killed behind its death */
    struct host_watch on_death, on_bell, on_keep; /* see fd_store.h */
    struct host_post post;
    struct host_futex futex;

    struct hub_a32 users; /* threads inside, and frames of the owner */
    struct hub_a32 work;  /* HOST_WORK_... */
    struct hub_a32
        leaving; /* it was asked to go, or goes by itself: a hang-up is no reason to kill */
    struct hub_a32 parted; /* the host itself set its state to Goodbye */
    struct hub_a32 cause;  /* enum host_cause, recorded before the signal */
    struct hub_a32 exit_known;
    struct hub_exit exit;   /* how its process ended; constant once that is known */
    struct hub_usage usage; /* of its process, once that is known */
    char reason[1041];      /* of its Goodbye; written once, before HOST_WORK_GOODBYE */

    struct host_startup startup; /* the rest is the owner's */
    uint32_t peer_state;         /* as seen last */
    uint64_t born_ns, ready_ns;  /* 0: not yet */
    uint64_t proven_ns;          /* 0: not proven dead */
    uint32_t calls_lost;         /* that ended without an answer */
    bool unheard;                /* its doorbell is not armed: the owner looks at its ring */
    bool deaf;                   /* its doorbell rang too often: it is not in the loop now */
    bool flooded;                /* that was said */
    bool blamed;                 /* it broke a rule, and that was told */
    bool settled;                /* its end is told and decided about */
    struct host_pulse pulse;
    uint64_t traced_ns;         /* since then a debugger excuses it; 0: none did */
    struct host_stall progress; /* see progress.h */
    struct host_timer progress_timer;
    struct host_probes probes;
    struct host_nested_upcall nested;
    struct host_chains chains;
    uint32_t relayed;       /* requests of it that are under way to other guests */
    struct hub_a32 foreign; /* requests of other guests that are open in it */
    uint64_t traffic;       /* messages seen last, of a guest that wakes nobody */
    uint64_t traffic_ns;    /* when that changed */
    uint64_t looked_ns;     /* at the ring of one that takes part, by time */
    bool rests;             /* nothing was open when it was looked at last */
    char why[256];          /* what killed it, where the exit status does not tell; or "" */
    struct hub_list link;   /* of the host's lives, or of those that have ended */
};

/* Empty, with nothing open; NULL for no memory. */
struct host_life *host_life_create(struct host_guest *guest, struct host_loop *loop);

/* Gives back everything, in the order the specification demands. Nobody uses it; its process is
 * proven dead, or was never born. */
void host_life_release(struct host_life **life);

/* Opens the link; the pidfd is known. `streams` finds the channels of the guest's requests; the
 * owner waits for channels by `manner`. Both get the life as their user. */
int host_life_connect(struct host_life *life, hub_inbound_calls_streams *streams,
                      const struct hub_channels_manner *manner);

/* Owner: its end is looked out for no more; nor is it, where the owner naps in its futex; nor what
 * it wakes. */
void host_life_look_away(struct host_life *life);

/* The loop hears its doorbell from now on, and what is in it already. */
int host_life_listen(struct host_life *life);

/* Any thread that holds the lock of routes, or the owner. */
void host_life_hold(struct host_life *life);
void host_life_drop(struct host_life *life); /* any thread */

/* Is it proven that it will never write again? Any thread that uses it. r[impl hub.death.proof] */
bool host_life_proven(const struct host_life *life);

/* Then: receives what it sent before, and ends its link. Any thread that uses it. */
void host_life_finish(struct host_life *life);

/* Did it set its state to Goodbye itself? Any thread that uses it. */
bool host_life_said_goodbye(const struct host_life *life);

/* Sets its state to Goodbye: from now on it publishes nothing. Any thread that uses it. */
void host_life_part(struct host_life *life);

/* A signal, to the very process. */
void host_life_signal(const struct host_life *life, int number);

/* SIGKILL; the first cause recorded is the one that counts. Any thread that uses it. */
void host_life_kill(struct host_life *life, enum host_cause cause);

/* The diagnosis of a call that ended with `code` of the link, or that could not begin; returns
 * `code`. Any thread that uses it. */
int host_life_explain(struct host_life *life, int code, const char *method);

/* Owner: its process is proven dead, and how it ended is asked of the kernel once, not for each
 * call that is lost. */
void host_life_note_exit(struct host_life *life);

/* How it ended, in words; and the class. The process is proven dead. Any thread that uses it. */
enum rapahub_exit_class host_life_ended(struct host_life *life, char *to, size_t size);

#endif
