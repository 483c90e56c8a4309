/* SPDX-License-Identifier: Apache-2.0 */
/* machine: what supervisor, failure and settle work on: the tree, and the queue of what was
 * decided. Pure. */
#ifndef HOST_SUPERVISE_MACHINE_H
#define HOST_SUPERVISE_MACHINE_H

#include "host/supervise/pace.h"
#include "host/supervise/tree.h"

enum host_decision_kind {
    HOST_DECISION_MOVED, /* its state: tell whoever wants to know */
    HOST_DECISION_START, /* make its process */
    HOST_DECISION_STOP,  /* ask its process to go, and see to it that it does */
    HOST_DECISION_KILL   /* its process had its time */
};

/* As it was when it was decided: the child may have moved on. */
struct host_decision {
    enum host_decision_kind kind;
    uint32_t place;
    uint64_t incarnation;
    enum host_child_state from, to; /* of MOVED */
    bool over;                      /* MOVED: it is not started again, as its options say */
    uint64_t due_ns;                /* MOVED to BACKOFF: not started before */
    enum rapahub_exit_class class;  /* MOVED to or from EXITED: how its last life ended */
    enum host_failed why;           /* MOVED to FAILED */
    enum host_fall fall;            /* MOVED, of a supervisor: why it comes down by itself */
    uint32_t failures;              /* MOVED from EXITED: within its period */
};

/* Asked where `on_exhausted` is CALLBACK; returns an enum rapahub_exhausted. */
typedef int host_machine_ask(void *user, uint32_t place, enum rapahub_exit_class class);

struct host_machine {
    struct host_tree tree;
    struct host_pace pace;
    uint64_t incarnations; /* the last one given */
    uint64_t seeds;        /* of the next child's jitter */
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
    host_machine_ask *ask; /* NULL: CALLBACK is PARK, of a supervisor ESCALATE */
    void *ask_user;
};
int host_machine_init(struct host_machine *machine, const struct host_machine_limits *limits);
void host_machine_fini(struct host_machine *machine);

struct host_child *host_machine_child(const struct host_machine *machine, uint32_t place);

/* Moves its state; that is a decision, too. Aborts on a move that is not in the table. */
void host_machine_move(struct host_machine *machine, uint32_t place, enum host_child_state to);

/* START, STOP or KILL, of a guest. */
void host_machine_order(struct host_machine *machine, enum host_decision_kind kind, uint32_t place);

/* The decision that comes next, in order; false: there is none. */
bool host_machine_next(struct host_machine *machine, struct host_decision *out);

#endif
