/* SPDX-License-Identifier: Apache-2.0 */
/* supervise: what happens when a guest dies: whether it is started again, how often, after what
 * delay, and who goes with it. A *child* is a guest over all its lives; a *supervisor* has
 * children, which are guests or supervisors. */
#ifndef RAPAHUB_SUPERVISE_H
#define RAPAHUB_SUPERVISE_H

#include <stdbool.h>
#include <stdint.h>

#include <rapahub/export.h>
#include <rapahub/id.h>

RAPAHUB_BEGIN_DECLS

struct rapahub_host;
struct rapahub_guest_options;
struct rapahub_container_options;
struct rapahub_supervisor;

/* Where 0 means a default: none at all, or without an end. */
#define RAPAHUB_NONE    UINT64_MAX
#define RAPAHUB_FOREVER UINT64_MAX

/* How a life ended. As a bit in `restart_mask`: 1u << class. */
enum rapahub_exit_class {
    RAPAHUB_EXIT_CLEAN,         /* a status of `success_exit` */
    RAPAHUB_EXIT_CODE,          /* another status */
    RAPAHUB_EXIT_SIGNAL,        /* a signal */
    RAPAHUB_EXIT_CORE,          /* a signal, with a core dump */
    RAPAHUB_EXIT_OOM,           /* the system had no memory for it */
    RAPAHUB_EXIT_START_TIMEOUT, /* not ready in time; killed */
    RAPAHUB_EXIT_STOP_TIMEOUT,  /* did not go when asked; killed */
    RAPAHUB_EXIT_WATCHDOG,      /* no heartbeat; killed */
    RAPAHUB_EXIT_PROTOCOL,      /* broke a rule; killed */
    RAPAHUB_EXIT_LIMIT,         /* beyond its limit of CPU time or file size */
    RAPAHUB_EXIT_SPAWN,         /* it never ran */
    RAPAHUB_EXIT_LOST,          /* dead, but somebody else took its status */
    RAPAHUB_EXIT_LINK           /* what it had could not be given back to it; killed */
};

/* After which ends it is started again. */
enum rapahub_restart {
    RAPAHUB_RESTART_PERMANENT,   /* all */
    RAPAHUB_RESTART_TRANSIENT,   /* all but CLEAN */
    RAPAHUB_RESTART_TEMPORARY,   /* none; it is closed then */
    RAPAHUB_RESTART_ON_SUCCESS,  /* CLEAN */
    RAPAHUB_RESTART_ON_ABNORMAL, /* those it did not choose: a signal, a time-out, a rule … */
    RAPAHUB_RESTART_ON_WATCHDOG, /* WATCHDOG */
    RAPAHUB_RESTART_ON_ABORT,    /* SIGNAL, CORE */
    RAPAHUB_RESTART_MASK         /* those in `restart_mask` */
};

enum rapahub_start {
    RAPAHUB_START_EAGER, /* with its supervisor, and again when it died */
    RAPAHUB_START_LAZY,  /* each time when it is called, not before its delay is over */
    RAPAHUB_START_MANUAL /* first by rapahub_child_start, then as EAGER */
};

/* What a call does that finds the guest without a process. It waits in any case, but for FAIL,
 * while a start is under way or due. Else: RAPAHUB_ESTOPPED where it was stopped, RAPAHUB_ECLOSED,
 * RAPAHUB_EGIVENUP where its budget is used up, RAPAHUB_ENORESTART where it ended and is not
 * restarted. */
enum rapahub_when_down {
    RAPAHUB_WHEN_DOWN_WAIT_START, /* before its delay is over: RAPAHUB_ERESTARTING */
    RAPAHUB_WHEN_DOWN_WAIT,       /* it waits then, too */
    RAPAHUB_WHEN_DOWN_FAIL        /* never waits: RAPAHUB_ERESTARTING; not of one that is LAZY */
};

/* Of the delay d that the curve gives; never above the maximum. */
enum rapahub_jitter {
    RAPAHUB_JITTER_EQUAL,        /* d/2 to d */
    RAPAHUB_JITTER_NONE,         /* d */
    RAPAHUB_JITTER_FULL,         /* 0 to d */
    RAPAHUB_JITTER_DECORRELATED, /* from the initial delay to three times the last one */
    RAPAHUB_JITTER_ADDITIVE      /* d to d * (1 + jitter_share) */
};

/* What follows when a budget is used up. */
enum rapahub_exhausted {
    RAPAHUB_EXHAUSTED_DEFAULT,    /* of a child PARK, of a supervisor ESCALATE */
    RAPAHUB_EXHAUSTED_PARK,       /* it stays down until rapahub_child_reset */
    RAPAHUB_EXHAUSTED_ESCALATE,   /* its supervisor fails */
    RAPAHUB_EXHAUSTED_SLOW_RETRY, /* it goes on with the longest delay; not of a supervisor */
    RAPAHUB_EXHAUSTED_CALLBACK    /* `on_budget` says */
};

/* Who goes when a child has to be started again. */
enum rapahub_strategy {
    RAPAHUB_ONE_FOR_ONE,  /* itself, and who requires it or is part of it */
    RAPAHUB_ONE_FOR_ALL,  /* all children of its supervisor */
    RAPAHUB_REST_FOR_ONE, /* those behind it; where there are dependencies, who depends on it */
    RAPAHUB_SIMPLE        /* itself; there is no order */
};

enum rapahub_auto_shutdown {
    RAPAHUB_AUTO_SHUTDOWN_NEVER,
    RAPAHUB_AUTO_SHUTDOWN_ANY_SIGNIFICANT, /* when a significant child has ended for good */
    RAPAHUB_AUTO_SHUTDOWN_ALL_SIGNIFICANT  /* when the last of them has */
};

/* All of them order: it is started behind the other, and stopped before it. */
enum rapahub_dependency_kind {
    RAPAHUB_REQUIRES, /* runs only while the other is ready; goes and comes with it */
    RAPAHUB_WANTS,    /* behind it if it starts now, without it otherwise */
    RAPAHUB_AFTER,    /* the same */
    RAPAHUB_PART_OF   /* runs only while the other runs; goes and comes with it */
};
struct rapahub_dependency {
    enum rapahub_dependency_kind kind;
    const char *on; /* name of a child of the same supervisor, added or yet to come */
};

#define RAPAHUB_DEPENDENCIES_MAX 16

/* Lists of statuses and signals, ended by 0. */
#define RAPAHUB_STATUS(code)   ((uint16_t)(0x100 | (code)))
#define RAPAHUB_SIGNAL(number) ((uint16_t)(0x200 | (number)))

/* A child of a host: a guest over all its lives, or a supervisor. Never used again; 0 is none. */
struct rapahub_child_id {
    uint32_t number;
};

/* Asked on the owner when the budget of a child, or of a supervisor's children, is used up: returns
 * PARK, ESCALATE or SLOW_RETRY, which of a supervisor is ESCALATE. It may look at status, and no
 * more. */
typedef int rapahub_on_budget(void *user, struct rapahub_child_id child,
                              enum rapahub_exit_class cause);

/* Zero means the default named. Texts and lists are copied. */
struct rapahub_supervision {
    enum rapahub_restart restart;
    uint32_t restart_mask; /* of RAPAHUB_RESTART_MASK */
    enum rapahub_start start;
    enum rapahub_when_down when_down;
    int32_t restarts_max; /* within period_ns; 5; at most 256; -1: none */
    uint64_t period_ns;   /* 60 s; RAPAHUB_FOREVER */
    enum rapahub_exhausted on_exhausted;
    uint64_t backoff_initial_ns; /* 100 ms, behind the first restart, which comes at once;
                                    RAPAHUB_NONE: every one does */
    uint64_t backoff_max_ns;     /* 30 s */
    double backoff_factor;       /* 2; not below 1 */
    uint32_t backoff_steps;      /* above 0: the maximum is reached in so many; at most 1,000 */
    bool backoff_first;          /* the first restart waits, too */
    enum rapahub_jitter jitter;
    double jitter_share;          /* of ADDITIVE; 0.1 */
    uint64_t reset_after_ns;      /* ready for so long, the delays begin anew; 60 s */
    uint64_t start_timeout_ns;    /* from the spawn to ready; 5 s */
    uint32_t heartbeat_misses;    /* intervals without a heartbeat, and it is stuck; 2 */
    int32_t watchdog_signal;      /* to one that is stuck; SIGABRT, for its last words */
    uint64_t abort_ns;            /* from there to SIGKILL; 500 ms; RAPAHUB_NONE: SIGKILL at once */
    bool debug;                   /* it is never stuck */
    uint64_t drain_ns;            /* before the goodbye: for calls in flight; none */
    uint64_t goodbye_ns;          /* from the goodbye to SIGTERM; 500 ms; RAPAHUB_NONE: no wait */
    uint64_t term_ns;             /* from there to SIGKILL; 2 s; RAPAHUB_NONE: no SIGTERM */
    bool brutal;                  /* SIGKILL at once */
    bool significant;             /* see auto_shutdown */
    const uint16_t *success_exit; /* 0, which need not be named */
    const uint16_t *prevent_exit; /* never started again; 125 */
    const uint16_t *force_exit;   /* always */
    const struct rapahub_dependency *dependencies; /* at most 16, ended by one without `on` */
    rapahub_on_budget *on_budget;                  /* of CALLBACK; NULL: the default */
    void *user;
    uint64_t reserved[8];
};

/* Presets, to be changed at will. `seed`: starts when it is called, each time without a delay, and
 * is given up after so many restarts in all its time; calls wait meanwhile. `never`: the same, and
 * it has one life. Any thread. */
RAPAHUB_API void rapahub_supervision_seed(unsigned restarts_max, struct rapahub_supervision *out);
RAPAHUB_API void rapahub_supervision_never(struct rapahub_supervision *out);

/* Zero means the default named. */
struct rapahub_supervisor_options {
    const char *name; /* required below another */
    enum rapahub_strategy strategy;
    enum rapahub_auto_shutdown auto_shutdown;
    int32_t restarts_max; /* of all children; none of ONE_FOR_ONE and SIMPLE, 10 of the others; -1:
                             the first failure is too much */
    uint64_t period_ns;   /* 60 s; RAPAHUB_FOREVER */
    enum rapahub_exhausted on_exhausted;
    uint32_t children_max;                         /* no limit but the host's */
    const struct rapahub_supervision *supervision; /* of itself, as a child; NULL: the defaults */
    uint64_t reserved[8];
};

struct rapahub_child_status {
    struct rapahub_child_id child;
    char name[64];                 /* among its siblings */
    const char *state;             /* "stopped", "starting", "attached", "ready", "stopping",
                                      "exited", "backoff", "failed", "closed"; a constant */
    struct rapahub_guest_id guest; /* of its present or last life */
    uint64_t incarnation;          /* the same; rises over all children of the host; 0: none yet */
    int32_t pid;                   /* 0: none */
    uint32_t restarts;             /* since it was added */
    uint32_t failures, failures_max; /* within its period */
    uint64_t due_ns;                 /* in backoff: until it is started */
};

/* What follows is for the owner only, as in host.h; `timeout_ns` is how long the owner waits,
 * taking turns; 0: not at all. Where it is over before that has come which was waited for:
 * -ETIMEDOUT, and it goes on. Of a child that is unknown, or was closed: RAPAHUB_ESTALE. */

/* The default one: a root, ONE_FOR_ONE, with the defaults; where rapahub_host_spawn puts guests. It
 * lives as long as the host. */
RAPAHUB_API_CHECKED int rapahub_host_supervisor(struct rapahub_host *host,
                                                struct rapahub_supervisor **out);

/* One more, as a child of `parent`, started at once. -EINVAL with a rule supervise.lint.*, -EEXIST,
 * RAPAHUB_EFULL, RAPAHUB_ESTATE. */
RAPAHUB_API_CHECKED int rapahub_supervisor_create(struct rapahub_supervisor *parent,
                                                  const struct rapahub_supervisor_options *options,
                                                  struct rapahub_supervisor **out);

/* Stops all its children in the reverse of their order, kills what is left at the time-out, closes
 * them and destroys it; not the default one (RAPAHUB_ESTATE). */
RAPAHUB_API_CHECKED int rapahub_supervisor_stop(struct rapahub_supervisor *supervisor,
                                                uint64_t timeout_ns);

/* Puts a guest below it, and does not wait: one that is eager starts when its turn has come, and a
 * start that fails is a failure like any other; one that is LAZY when it is first called. */
RAPAHUB_API_CHECKED int rapahub_supervisor_add(struct rapahub_supervisor *supervisor,
                                               const struct rapahub_guest_options *options,
                                               struct rapahub_child_id *out);

/* The child whose present or last life this is. */
RAPAHUB_API_CHECKED int rapahub_child_of(struct rapahub_host *host, struct rapahub_guest_id life,
                                         struct rapahub_child_id *out);

/* Gives it a container, which it has in each of its lives from then on. One that is ready, or about
 * to be, begins it now: as rapahub_host_add_container. Of one that is down it is begun with the
 * next life, and a call to it starts one that is LAZY. */
RAPAHUB_API_CHECKED int rapahub_child_add_container(
    struct rapahub_host *host, struct rapahub_child_id child,
    const struct rapahub_container_options *options);

/* Starts it now, whatever its delay; waits until it is ready. RAPAHUB_EGIVENUP where it has failed:
 * reset it; RAPAHUB_ESTATE where its supervisor does not run. */
RAPAHUB_API_CHECKED int rapahub_child_start(struct rapahub_host *host,
                                            struct rapahub_child_id child, uint64_t timeout_ns);

/* Stops it, and those that may not run without it; waits until it is down. It stays down until it
 * is started; meanwhile the ids of its containers may be used by others. */
RAPAHUB_API_CHECKED int rapahub_child_stop(struct rapahub_host *host, struct rapahub_child_id child,
                                           uint64_t timeout_ns);

/* Stops and starts it, and those that may not run without it; waits until it is ready again. It is
 * no failure. */
RAPAHUB_API_CHECKED int rapahub_child_restart(struct rapahub_host *host,
                                              struct rapahub_child_id child, uint64_t timeout_ns);

/* One that has failed: forgets its failures and starts it, with its containers. RAPAHUB_ESTATE
 * where it has not failed. */
RAPAHUB_API_CHECKED int rapahub_child_reset(struct rapahub_host *host,
                                            struct rapahub_child_id child);

/* Stops it for good; waits until it is down. */
RAPAHUB_API_CHECKED int rapahub_child_close(struct rapahub_host *host,
                                            struct rapahub_child_id child, uint64_t timeout_ns);

RAPAHUB_API_CHECKED int rapahub_child_status(struct rapahub_host *host,
                                             struct rapahub_child_id child,
                                             struct rapahub_child_status *out);

RAPAHUB_END_DECLS

#endif
