/* SPDX-License-Identifier: Apache-2.0 */
/* life: one process of a guest, from its birth to the return of all that it held.
 *
 * The owner creates and ends it. Other threads reach it through a route, which counts them as
 * users; the memory, the link and the pidfd stay until the last user has gone. */
#ifndef HOST_PROCESS_LIFE_H
#define HOST_PROCESS_LIFE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/id.h>

#include "host/owner/futexes.h"
#include "host/owner/lookout.h"
#include "host/owner/loop.h"
#include "host/process/group.h"
#include "host/process/life_process.h"
#include "host/registry/methods.h"
#include "host/supervise/probe.h"
#include "host/supervise/pulse.h"
#include "host/supervise/stall.h"
#include "hub/connection/connection.h"
#include "hub/wire/lifecycle.h"

struct host_guest;
struct host_process;

/* Work for the owner: bits that any thread sets. */
#define HOST_WORK_REQUEST UINT32_C(0x01) /* requests of the guest are queued */
#define HOST_WORK_ANSWER  UINT32_C(0x02) /* asynchronous calls have ended */
#define HOST_WORK_SWEEP   UINT32_C(0x04) /* the ring has more messages */
#define HOST_WORK_CLOSED  UINT32_C(0x08) /* the link is closed */
#define HOST_WORK_HINT    UINT32_C(0x10) /* it may be dead */
#define HOST_WORK_GOODBYE UINT32_C(0x20) /* it said goodbye */

/* The progress of a new life; see startup.h. */
struct host_startup {
    bool ready_seen;      /* READY was received */
    uint32_t methods_max; /* the number of methods that it announced */
    /* for all questions of the startup, if it counts as READY from its attachment on */
    uint64_t deadline_ns;
    struct host_methods *methods;
    struct hub_list *next;   /* the next container to begin */
    uint32_t roles;          /* so many of its roles are built */
    struct host_timer again; /* the next role is tried again */
};

/* The method of a service that the guest called last during a call; see nested_upcall.h. */
struct host_nested_upcall {
    uint32_t version; /* version of the routes for which it is valid; 0: none */
    uint64_t method_id;
    struct host_container *container;
    size_t target_size;
    uint8_t target[HUB_LIFECYCLE_TARGET_MAX]; /* the name that the guest uses */
};

/* The probes of a life, and when they are due; see probes.h. */
struct host_probes {
    struct host_probe_set set;
    struct host_timer timer;
    struct host_probes_seat {
        struct host_life *life;
        enum host_probe_kind kind;
    } seats[HOST_PROBE_KINDS]; /* the life and the kind of each question */
};

/* The chains of calls that it began, and the seats of its open calls in chains; see chains.h. */
struct host_chains {
    struct hub_list begun, seats;
};

/* What it has of the segment of its group: its view, and its peer entry. */
struct host_life_segment {
    struct host_group *group;
    struct hub_segment_view view;
    bool entered; /* it has a peer entry */
    bool trusted; /* it shares its segment with other guests */
    bool locked;  /* anonymous: it held the lock of its range, so its end can be proven */
    enum hub_wait_manner waiting;
    uint32_t peer_state; /* the state of its entry, as read last; owner */
};

/* Our end of its doorbell; owner, see watch.h. */
struct host_life_doorbell {
    int fd; /* -1: none */
    struct host_watch watch;
    bool unheard; /* it is not armed: the owner polls the ring */
    bool deaf;    /* it rang too often, and is out of the loop now */
    bool flooded; /* the flood was logged */
};

/* The one container that it may call, if `set`; see host/call/share.h. */
struct host_life_only {
    bool set;
    struct rapahub_container_id target;
};

/* How it left, or was told to. */
struct host_life_goodbye {
    /* 1: it was asked to end, or ends by itself, so a hang-up is no reason to kill */
    struct hub_a32 leaving;
    struct hub_a32 parted; /* 1: the host itself set its state to Goodbye */
    struct hub_a32 cut;    /* 1: it was admitted, and nothing that it does counts any more */
    bool detached;         /* it said goodbye and has unmapped the segment; owner */
    char reason[1041];     /* reason of its Goodbye; written once, before HOST_WORK_GOODBYE */
};

/* Its death, from the first kill to the decision what follows; owner. */
struct host_life_death {
    bool killed;         /* SIGKILL was sent, and the time for the proof runs */
    bool quarantined;    /* its end will never be proven */
    bool settled;        /* its end was reported, and what follows is decided */
    uint32_t calls_lost; /* calls that ended without a response */
    uint64_t proven_ns;  /* 0: not proven dead */
};

/* Whether it gets on with its calls, and when that is asked; owner, see progress.h. */
struct host_progress {
    struct host_stall stall;
    struct host_timer timer;
};

/* The timed looks at its ring; owner, see watch.h. */
struct host_life_looks {
    uint64_t traffic;    /* last count of messages, of a guest that never wakes the host */
    uint64_t traffic_ns; /* when `traffic` changed */
    uint64_t last_ns;    /* the last look */
    bool rests;          /* nothing was open then */
};

struct host_life {
    struct host_process *host;
    struct host_loop *loop;
    struct host_guest *guest; /* owner */
    char name[64];            /* constant once the guest is ready */
    struct rapahub_guest_id id;
    uint64_t incarnation;
    struct host_life_segment segment;
    bool open;      /* the connection is open */
    bool anonymous; /* the host did not start it: no doorbell, pipes or exit status */
    /* the host did not start its process, and it has a private segment: it gets no signal, and its
     * end needs no proof */
    bool admitted;
    struct host_life_only only;
    struct host_life_doorbell doorbell;
    struct hub_connection connection;
    struct host_life_process process;
    struct host_watch on_keep; /* see fd_store.h */
    struct host_post post;
    struct host_futex futex;

    struct hub_a32 users; /* threads and frames of the owner that use it */
    struct hub_a32 work;  /* HOST_WORK_... */
    struct host_life_goodbye goodbye;
    struct host_life_exit exit;

    struct host_startup startup; /* the rest belongs to the owner, unless marked */
    uint64_t born_ns, ready_ns;  /* 0: not yet */
    struct host_life_death death;
    bool blamed; /* it broke a rule, and that was reported */
    struct host_pulse pulse;
    uint64_t traced_ns; /* since when a debugger excuses it; 0: none has */
    struct host_progress progress;
    struct host_life_looks looks;
    struct host_probes probes;
    struct host_nested_upcall nested;
    struct host_chains chains;
    /* begins and ends of containers of which it is not known whether the guest did them; changed by
     * the owner, read by any thread */
    struct hub_a32 unsure;
    uint32_t relayed;       /* its requests to other guests that are open */
    struct hub_a32 foreign; /* requests of other guests that are open in it; any thread */
    struct hub_list link;   /* in the host's lives, or its ended lives */
};

/* Makes a life with nothing open; NULL if there is no memory. Owner. */
struct host_life *host_life_create(struct host_guest *guest, struct host_loop *loop);

/* Releases all resources in the order that the specification demands, and frees the life. It must
 * have no users, and its process must be proven dead, or was never started. Owner. */
void host_life_release(struct host_life **life);

/* Opens the connection; the pidfd must be set. `streams` finds the channels of the guest's
 * requests; the owner waits for channels by `manner`. Both get the life as their user argument.
 * Owner. */
int host_life_connect(struct host_life *life, hub_inbound_calls_streams *streams,
                      const struct hub_channels_manner *manner);

/* Owner: removes the life from the lookout and from the watched futexes. After that they use
 * neither the life nor its link. Allowed if it is in neither. */
void host_life_look_away(struct host_life *life);

/* Owner: adds its doorbell to the loop. A byte that is already in it is reported, too. */
int host_life_listen(struct host_life *life);

/* Adds a user. Any thread that holds the lock of routes, or the owner. */
void host_life_hold(struct host_life *life);
void host_life_drop(struct host_life *life); /* removes a user; any thread */

/* Says whether it is proven that the guest will never write again; of an admitted guest, whether it
 * has ended or was cut off: its memory is never used again. Any thread that
 * uses it. r[impl hub.death.proof] r[impl hub.admit.end] */
bool host_life_proven(const struct host_life *life);

/* After that proof: receives what it sent before, and ends its link. Any thread that uses it. */
void host_life_finish(struct host_life *life);

/* Says whether the guest itself set its state to Goodbye. Any thread that uses it. */
bool host_life_said_goodbye(const struct host_life *life);

/* Sets its state to Goodbye, after which it may publish nothing. Any thread that uses it. */
void host_life_part(struct host_life *life);

/* Sends a signal to its process, and to no other that has the same pid by now; none to that of an
 * admitted guest. Any thread that uses it. */
void host_life_signal(const struct host_life *life, int number);

/* Sends SIGKILL; cuts an admitted guest off. The first recorded cause counts. Any thread that uses
 * it. */
void host_life_kill(struct host_life *life, enum host_cause cause);

/* Writes the diagnosis of a call that ended with `code` from the link, or could not begin, and
 * returns `code`. Any thread that uses it. */
int host_life_explain(struct host_life *life, int code, const char *method);

/* Owner, when its process is proven dead: asks the kernel once how it ended, so that no lost call
 * has to, and kills the rest of its process group or cgroup as its options say. */
void host_life_note_exit(struct host_life *life);

/* Writes how it ended, in words, and returns the class. The process must be proven dead. Any thread
 * that uses it. */
enum rapahub_exit_class host_life_ended(struct host_life *life, char *to, size_t size);

#endif
