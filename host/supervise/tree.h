/* SPDX-License-Identifier: Apache-2.0 */
/* tree: supervisors, their children, and which child is started behind which. A table of fixed
 * size; a child is known by its place in it, and to others by a number that is never used again.
 * Pure. */
#ifndef HOST_SUPERVISE_TREE_H
#define HOST_SUPERVISE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/supervise.h>

#include "host/supervise/backoff.h"
#include "host/supervise/budget.h"
#include "host/supervise/exits.h"
#include "hub/base/states.h"

#define HOST_TREE_NONE     UINT32_MAX
#define HOST_TREE_NAME_MAX 63

enum host_child_state {
    HOST_CHILD_STOPPED,
    HOST_CHILD_STARTING, /* a process is there, or nearly */
    HOST_CHILD_ATTACHED, /* it has attached; its containers, or its children, come up */
    HOST_CHILD_READY,
    HOST_CHILD_DEGRADED, /* alive, but no new calls are routed to it */
    HOST_CHILD_STOPPING, /* asked to end, or being killed, or leaving by itself */
    HOST_CHILD_EXITED,   /* proven dead; it is decided what follows */
    HOST_CHILD_BACKOFF,  /* waits for its time, for those it requires, or for a call */
    HOST_CHILD_FAILED,   /* its budget is spent, or it was told to fail; a reset leads out */
    HOST_CHILD_CLOSED    /* for good; its place may be used again */
};

/* r[impl supervise.states] */
extern const struct hub_states host_tree_states;

/* Of a child that is down. */
enum host_outlook {
    HOST_OUTLOOK_NONE,   /* it stays so until somebody asks for a start */
    HOST_OUTLOOK_STARTS, /* it is started when its time has come */
    HOST_OUTLOOK_CALL    /* the same, but not before it is called */
};

struct host_dependency {
    enum rapahub_dependency_kind kind;
    char on[HOST_TREE_NAME_MAX + 1];
};

/* Why a child is FAILED. */
enum host_failed {
    HOST_FAILED_BUDGET, /* its own is used up */
    HOST_FAILED_STATUS, /* its status or signal is one of `prevent_exit` */
    HOST_FAILED_OOM,    /* as its oom_policy says */
    HOST_FAILED_BARRED, /* its finish command said so */
    HOST_FAILED_ABOVE   /* the root has failed */
};

/* Why a supervisor comes down by itself. */
enum host_fall { HOST_FALL_NONE, HOST_FALL_ESCALATE, HOST_FALL_PARK, HOST_FALL_DONE };

struct host_child {
    uint32_t number; /* 0: a free place */
    uint32_t parent; /* place; HOST_TREE_NONE: it is a root */
    bool is_supervisor;
    char name[HOST_TREE_NAME_MAX + 1];
    struct rapahub_supervision how; /* without its lists */
    struct host_exit_rules rules;
    struct rapahub_supervisor_options group; /* of a supervisor; without its pointers */
    uint64_t stop_ns; /* of a supervisor: all of it is killed then; 0: its children's own times */
    struct host_dependency dependencies[RAPAHUB_DEPENDENCIES_MAX];
    uint32_t dependencies_count;
    bool has_graph; /* of a supervisor: a child of it has dependencies */

    uint32_t state;       /* enum host_child_state */
    uint64_t incarnation; /* of its present or last life */
    bool trial;           /* is CLOSED if it ends before it was READY once */
    bool used;            /* somebody knows it by its place: CLOSED too, it keeps it */
    bool wanted;          /* is to run, now or when it is called */
    bool held;            /* was stopped by somebody, and stays so when its supervisor restarts */
    bool over;            /* has ended, and is not started again */
    bool called;          /* lazy: somebody waits for it */
    bool uncounted;       /* lazy: its last failure is counted when somebody calls */
    bool stop;            /* is to come down, in its turn */
    bool asked;           /* was told so */
    bool closing;         /* becomes CLOSED when it is down */
    bool failing;         /* becomes FAILED when it is down */
    enum host_failed why; /* the same, or was the last time */
    bool grouped;         /* waits for all others of its group to be down */
    bool marked;          /* of a set that is being looked for */
    bool coming;          /* starts, or will as soon as those it requires are ready */
    enum host_fall fall;  /* of a supervisor */
    enum rapahub_exit_class fall_class;
    enum rapahub_exit_class ended; /* how its last life did */
    uint64_t due_ns;               /* not started before */
    uint64_t ready_ns;             /* since then; 0: it is not */
    uint64_t kill_ns; /* of a supervisor that stops: all of it is killed then; 0: never */
    struct host_budget budget, intensity; /* as a child, as a supervisor */
    bool limited;                         /* there is an intensity */
    struct host_backoff backoff;
};

struct host_tree {
    uint32_t max, numbers; /* places; the last number given */
    struct host_child *children;
};

int host_tree_init(struct host_tree *tree, uint32_t max);
void host_tree_fini(struct host_tree *tree);

/* What is to be added. */
struct host_tree_plan {
    const char *name;                               /* "" of a root only */
    uint32_t parent;                                /* HOST_TREE_NONE: a root, a supervisor */
    const struct rapahub_supervision *how;          /* NULL: the defaults */
    const struct rapahub_supervisor_options *group; /* NULL: a guest */
    uint64_t seed;                                  /* of its jitter */
    bool trial; /* it is CLOSED if it ends before it was READY once */
    bool used;  /* until that is taken back from the child, which may come after it is CLOSED */
};

/* Adds it as STOPPED. -EINVAL with the rule of lint that it breaks; RAPAHUB_EFULL; -EEXIST where a
 * sibling bears the name. On failure nothing has changed. */
int host_tree_add(struct host_tree *tree, const struct host_tree_plan *plan, uint32_t *out);

/* The place of a number; HOST_TREE_NONE: there is none. */
uint32_t host_tree_find(const struct host_tree *tree, uint32_t number);

/* The first place from `from` on whose child has this parent; HOST_TREE_NONE: no more. Those that
 * are CLOSED are passed over. */
uint32_t host_tree_child_of(const struct host_tree *tree, uint32_t parent, uint32_t from);
#define HOST_TREE_EACH_CHILD(tree, parent, i)                                       \
    for (uint32_t i = host_tree_child_of((tree), (parent), 0); i != HOST_TREE_NONE; \
         i = host_tree_child_of((tree), (parent), i + 1))

/* The sibling that a dependency names; HOST_TREE_NONE: it is not there, or CLOSED. */
uint32_t host_tree_named(const struct host_tree *tree, uint32_t parent, const char *name);

/* Are both children of one supervisor, and is `b` started behind `a`, and stopped before it?
 * Without dependencies so are, in the order they were added, the children of ONE_FOR_ALL and
 * REST_FOR_ONE. */
bool host_tree_before(const struct host_tree *tree, uint32_t a, uint32_t b);

/* Is the order of this supervisor's children that in which they were added? */
bool host_tree_is_linear(const struct host_tree *tree, uint32_t supervisor);

/* Words to put after how a child ended: why that was its last end; "" where a budget is used up. */
const char *host_tree_reason(enum host_failed why);

/* Has it no process, and none of its children one? */
bool host_tree_is_down(const struct host_child *child);

/* Does it serve? */
bool host_tree_is_up(const struct host_child *child);

#endif
