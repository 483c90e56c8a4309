/* SPDX-License-Identifier: Apache-2.0 */
/* machine: the state that supervisor, failure and settle share: the tree of children and the queue
 * of decisions. Pure. */
#ifndef HOST_SUPERVISE_MACHINE_H
#define HOST_SUPERVISE_MACHINE_H

#include "host/supervise/pace.h"
#include "host/supervise/tree.h"

enum host_decision_kind {
    HOST_DECISION_MOVED, /* the state changed: tell the listeners */
    HOST_DECISION_START, /* start its process */
    HOST_DECISION_STOP,  /* ask its process to stop, and see that it does */
    HOST_DECISION_KILL   /* kill its process: its time is over */
};

/* A decision as it was made: the child may have changed since. */
struct host_decision {
    enum host_decision_kind kind;
    uint32_t place;
    uint64_t incarnation;
    enum host_child_state from, to; /* for MOVED */
    bool over;                      /* MOVED: by its options it is not restarted */
    uint64_t due_ns;                /* MOVED to BACKOFF: not started before */
    enum rapahub_exit_class class;  /* MOVED to or from EXITED: how its last life ended */
    enum host_failed why;           /* MOVED to FAILED */
    enum host_fall fall;            /* MOVED of a supervisor: why it stops by itself */
    uint32_t failures;              /* MOVED from EXITED: failures within its period */
};

/* Called if `on_exhausted` is CALLBACK. Returns an enum rapahub_exhausted. */
typedef int host_machine_ask(void *user, uint32_t place, enum rapahub_exit_class class);

struct host_machine {
    struct host_tree tree;
    struct host_pace pace;
    uint64_t incarnations; /* the last number given */
    uint64_t seeds;        /* seed of the next child's jitter */
    host_machine_ask *ask;
    void *ask_user;
    struct host_decision *queue; /* a ring */
    uint32_t queue_max, first, count;
};

struct host_machine_limits {
    uint32_t children_max; /* guests and supervisors */
    uint32_t starts_parallel_max, start_burst;
    uint64_t start_each_ns; /* 0: no limit */
    uint64_t seed;
    host_machine_ask *ask; /* NULL: CALLBACK means PARK, for a supervisor ESCALATE */
    void *ask_user;
};
int host_machine_init(struct host_machine *machine, const struct host_machine_limits *limits);
void host_machine_fini(struct host_machine *machine);

struct host_child *host_machine_child(const struct host_machine *machine, uint32_t place);

/* Changes the child's state, which is a decision too. Aborts on a change that is not in the
 * table. */
void host_machine_move(struct host_machine *machine, uint32_t place, enum host_child_state to);

/* Queues START, STOP or KILL for a guest. */
void host_machine_order(struct host_machine *machine, enum host_decision_kind kind, uint32_t place);

/* Returns the next decision in order; false if there is none. */
bool host_machine_next(struct host_machine *machine, struct host_decision *out);

#endif
