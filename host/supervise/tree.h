/* SPDX-License-Identifier: Apache-2.0 */
/* tree: supervisors, their children, and the order in which children start. A table of fixed size.
 * Inside this room a child is known by its place, elsewhere by a number that is never reused.
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
    HOST_CHILD_STARTING, /* its process exists, or soon will */
    HOST_CHILD_ATTACHED, /* it has attached; its containers, or its children, come up */
    HOST_CHILD_READY,
    HOST_CHILD_DEGRADED, /* alive, but no new calls are routed to it */
    HOST_CHILD_STOPPING, /* asked to stop, or being killed, or leaving by itself */
    HOST_CHILD_EXITED,   /* proven dead; the next step is being decided */
    HOST_CHILD_BACKOFF,  /* waits for its time, for children that it requires, or for a call */
    HOST_CHILD_FAILED,   /* its budget is exceeded, or it was told to fail; a reset ends that */
    HOST_CHILD_CLOSED    /* for good; its place may be reused */
};

/* r[impl supervise.states] */
extern const struct hub_states host_tree_states;

/* The prospects of a child that is down. */
enum host_outlook {
    HOST_OUTLOOK_NONE,   /* it stays down until a start is requested */
    HOST_OUTLOOK_STARTS, /* it is started when its time has come */
    HOST_OUTLOOK_CALL    /* the same, but not before it is called */
};

struct host_dependency {
    enum rapahub_dependency_kind kind;
    char on[HOST_TREE_NAME_MAX + 1];
};

/* Why a child is FAILED. */
enum host_failed {
    HOST_FAILED_BUDGET, /* its own budget is exceeded */
    HOST_FAILED_STATUS, /* its status or signal is in `prevent_exit` */
    HOST_FAILED_OOM,    /* its oom_policy says so */
    HOST_FAILED_BARRED, /* its exit command said so */
    HOST_FAILED_ABOVE   /* the root has failed */
};

/* Why a supervisor stops by itself. */
enum host_fall { HOST_FALL_NONE, HOST_FALL_ESCALATE, HOST_FALL_PARK, HOST_FALL_DONE };

struct host_child {
    uint32_t number; /* 0: a free place */
    uint32_t parent; /* its place; HOST_TREE_NONE: this is a root */
    bool is_supervisor;
    char name[HOST_TREE_NAME_MAX + 1];
    struct rapahub_supervision how; /* without its lists */
    struct host_exit_rules rules;
    struct rapahub_supervisor_options group; /* for a supervisor; without its pointers */
    /* for a supervisor: when all of it is killed; 0: its children's own times count */
    uint64_t stop_ns;
    struct host_dependency dependencies[RAPAHUB_DEPENDENCIES_MAX];
    uint32_t dependencies_count;
    bool has_graph; /* for a supervisor: one of its children has dependencies */

    uint32_t state;       /* enum host_child_state */
    uint64_t incarnation; /* number of its present or last life */
    bool trial;           /* becomes CLOSED if it ends before it was ever READY */
    bool used;            /* it is referred to by its place, which it keeps even when CLOSED */
    bool wanted;          /* shall run, now or when it is called */
    bool held;            /* was stopped on request, and stays down when its supervisor restarts */
    bool over;            /* has ended, and is not restarted */
    bool called;          /* lazy: a call waits for it */
    bool uncounted;       /* lazy: its last failure is counted at the next call */
    bool stop;            /* shall stop, in its turn */
    bool asked;           /* was told to stop */
    bool closing;         /* becomes CLOSED when it is down */
    bool failing;         /* becomes FAILED when it is down */
    enum host_failed why; /* the reason for that, now or the last time */
    bool grouped;         /* waits until all others of its group are down */
    bool marked;          /* belongs to the set that is being computed */
    bool coming;          /* starts, or will as soon as the children that it requires are ready */
    enum host_fall fall;  /* for a supervisor */
    enum rapahub_exit_class fall_class;
    enum rapahub_exit_class ended; /* how its last life ended */
    uint64_t due_ns;               /* not started before */
    uint64_t ready_ns;             /* ready since then; 0: it is not */
    uint64_t kill_ns; /* for a supervisor that stops: when all of it is killed; 0: never */
    struct host_budget budget, intensity; /* as a child; as a supervisor */
    bool limited;                         /* there is an intensity */
    struct host_backoff backoff;
};

struct host_tree {
    uint32_t max, numbers; /* number of places; the last number given */
    struct host_child *children;
};

int host_tree_init(struct host_tree *tree, uint32_t max);
void host_tree_fini(struct host_tree *tree);

/* The description of a child to add. */
struct host_tree_plan {
    const char *name;                      /* "" only for a root */
    uint32_t parent;                       /* HOST_TREE_NONE: a root, which is a supervisor */
    const struct rapahub_supervision *how; /* NULL: the defaults */
    const struct rapahub_supervisor_options *group; /* NULL: a guest */
    uint64_t seed;                                  /* seed of its jitter */
    bool trial; /* it becomes CLOSED if it ends before it was ever READY */
    bool used;  /* initial value of `used` of the child, which may be cleared after it is CLOSED */
};

/* Adds the child as STOPPED. -EINVAL with the rule of lint that it breaks; RAPAHUB_EFULL; -EEXIST
 * if a sibling has this name. A failure changes nothing. */
int host_tree_add(struct host_tree *tree, const struct host_tree_plan *plan, uint32_t *out);

/* Returns the place of a number, or HOST_TREE_NONE. */
uint32_t host_tree_find(const struct host_tree *tree, uint32_t number);

/* Returns the first place from `from` on whose child has this parent, skipping children that are
 * CLOSED; HOST_TREE_NONE if there are no more. */
uint32_t host_tree_child_of(const struct host_tree *tree, uint32_t parent, uint32_t from);
#define HOST_TREE_EACH_CHILD(tree, parent, i)                                       \
    for (uint32_t i = host_tree_child_of((tree), (parent), 0); i != HOST_TREE_NONE; \
         i = host_tree_child_of((tree), (parent), i + 1))

/* Returns the sibling that a dependency names; HOST_TREE_NONE if it does not exist, or is
 * CLOSED. */
uint32_t host_tree_named(const struct host_tree *tree, uint32_t parent, const char *name);

/* Says whether both are children of one supervisor and `b` starts after `a`, and stops before it.
 * Without dependencies, that holds for the children of ONE_FOR_ALL and REST_FOR_ONE in the order in
 * which they were added. */
bool host_tree_before(const struct host_tree *tree, uint32_t a, uint32_t b);

/* Says whether this supervisor's children are ordered as they were added. */
bool host_tree_is_linear(const struct host_tree *tree, uint32_t supervisor);

/* Returns words that follow the text of a child's end: why it is not restarted; "" if its budget is
 * exceeded. */
const char *host_tree_reason(enum host_failed why);

/* Says whether neither the child nor any of its children has a process. */
bool host_tree_is_down(const struct host_child *child);

/* Says whether the child serves. */
bool host_tree_is_up(const struct host_child *child);

#endif
