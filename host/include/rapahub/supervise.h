/* SPDX-License-Identifier: Apache-2.0 */
/* supervise: the policy for guests that die: whether a guest is started again, how often, after
 * which delay, and which others stop with it. A *child* is a guest over all its lives; a
 * *supervisor* has children, which are guests or supervisors. */
#ifndef RAPAHUB_SUPERVISE_H
#define RAPAHUB_SUPERVISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rapahub/exit.h>
#include <rapahub/export.h>
#include <rapahub/id.h>

RAPAHUB_BEGIN_DECLS

struct rapahub_host;
struct rapahub_guest_options;
struct rapahub_container_options;
struct rapahub_supervisor;

/* Called at the end of an asynchronous operation. `status` is 0 or a failure. The diagnosis of a
 * failure is valid until this returns, and so is `result`, the result of a call; it is NULL for all
 * other operations. */
typedef void rapahub_on_done(void *user, int status, const void *result);

/* Values for members in which 0 means a default: none at all, and without an end. */
#define RAPAHUB_NONE    UINT64_MAX
#define RAPAHUB_FOREVER UINT64_MAX

/* The ends after which a child is started again. */
enum rapahub_restart {
    RAPAHUB_RESTART_PERMANENT,   /* all */
    RAPAHUB_RESTART_TRANSIENT,   /* all but CLEAN */
    RAPAHUB_RESTART_TEMPORARY,   /* none; it is closed then */
    RAPAHUB_RESTART_ON_SUCCESS,  /* CLEAN */
    RAPAHUB_RESTART_ON_ABNORMAL, /* ends that it did not choose: a signal, a time-out, a rule … */
    RAPAHUB_RESTART_ON_WATCHDOG, /* WATCHDOG */
    RAPAHUB_RESTART_ON_ABORT,    /* SIGNAL, CORE */
    RAPAHUB_RESTART_MASK         /* the classes in `restart_mask` */
};

enum rapahub_start {
    RAPAHUB_START_EAGER, /* with its supervisor, and again when it died */
    RAPAHUB_START_LAZY,  /* each time when it is called, not before its delay is over */
    RAPAHUB_START_MANUAL /* first by rapahub_child_start, then as EAGER */
};

/* The behaviour of a call that finds the guest without a process. (A call to a guest whose
 * readiness probe fails ends with RAPAHUB_EDEGRADED in any case.) Unless FAIL is chosen, the call
 * waits while a start is under way or due. Otherwise it ends: RAPAHUB_ESTOPPED after a stop,
 * RAPAHUB_ECLOSED, RAPAHUB_EGIVENUP when the budget is used up, RAPAHUB_ENORESTART when the guest
 * ended and is not restarted. */
enum rapahub_when_down {
    RAPAHUB_WHEN_DOWN_WAIT_START, /* before its delay is over: RAPAHUB_ERESTARTING */
    RAPAHUB_WHEN_DOWN_WAIT,       /* it waits then, too */
    RAPAHUB_WHEN_DOWN_FAIL        /* never waits: RAPAHUB_ERESTARTING; refused for a LAZY guest */
};

/* The random part of a delay d that the curve gives; the sum is never above the maximum. */
enum rapahub_jitter {
    RAPAHUB_JITTER_EQUAL,        /* d/2 to d */
    RAPAHUB_JITTER_NONE,         /* d */
    RAPAHUB_JITTER_FULL,         /* 0 to d */
    RAPAHUB_JITTER_DECORRELATED, /* from the initial delay to three times the last one */
    RAPAHUB_JITTER_ADDITIVE      /* d to d * (1 + jitter_share) */
};

/* The consequence of a budget that is used up. */
enum rapahub_exhausted {
    RAPAHUB_EXHAUSTED_DEFAULT,    /* PARK for a child, ESCALATE for a supervisor */
    RAPAHUB_EXHAUSTED_PARK,       /* it stays down until rapahub_child_reset */
    RAPAHUB_EXHAUSTED_ESCALATE,   /* its supervisor fails */
    RAPAHUB_EXHAUSTED_SLOW_RETRY, /* it goes on with the longest delay; not for a supervisor */
    RAPAHUB_EXHAUSTED_CALLBACK    /* `on_budget` decides */
};

/* The children that stop and start when one of them has to be started again. */
enum rapahub_strategy {
    RAPAHUB_ONE_FOR_ONE,  /* itself, and the ones that require it or are part of it */
    RAPAHUB_ONE_FOR_ALL,  /* all children of its supervisor */
    RAPAHUB_REST_FOR_ONE, /* itself and the ones after it; with dependencies, the ones that depend
                             on it */
    RAPAHUB_SIMPLE        /* itself; there is no order */
};

enum rapahub_auto_shutdown {
    RAPAHUB_AUTO_SHUTDOWN_NEVER,
    RAPAHUB_AUTO_SHUTDOWN_ANY_SIGNIFICANT, /* when a significant child has ended for good */
    RAPAHUB_AUTO_SHUTDOWN_ALL_SIGNIFICANT  /* when the last of them has */
};

/* All kinds order: a child starts after the other one, and stops before it. */
enum rapahub_dependency_kind {
    RAPAHUB_REQUIRES, /* runs only while the other is ready; goes and comes with it */
    RAPAHUB_WANTS,    /* after it if that starts now, without it otherwise */
    RAPAHUB_AFTER,    /* the same */
    RAPAHUB_PART_OF   /* runs only while the other runs; goes and comes with it */
};
struct rapahub_dependency {
    enum rapahub_dependency_kind kind;
    const char *on; /* name of a child of the same supervisor, added or yet to come */
};

#define RAPAHUB_DEPENDENCIES_MAX 16

/* The programs, of all that a guest has started, that are killed after its death. A program that
 * made a session of its own has left the process group. */
enum rapahub_kill_mode {
    RAPAHUB_KILL_GROUP,   /* its process group */
    RAPAHUB_KILL_PROCESS, /* only the guest itself */
    RAPAHUB_KILL_CGROUP   /* all it has started, sessions or not: needs cgroup v2, -EINVAL
                             with the rule supervise.lint.kill-mode where there is none */
};

/* The consequence when the kernel has killed a guest for want of memory: class OOM. The class is
 * known only where the guest has a cgroup of its own; STOP and KILL_GROUP give it one. */
enum rapahub_oom_policy {
    RAPAHUB_OOM_RESTART,   /* as `restart` says */
    RAPAHUB_OOM_STOP,      /* it has failed until rapahub_child_reset */
    RAPAHUB_OOM_KILL_GROUP /* as RESTART; before, all in its cgroup are killed */
};

/* Lists of statuses and signals, ended by 0. */
#define RAPAHUB_STATUS(code)   ((uint16_t)(0x100 | (code)))
#define RAPAHUB_SIGNAL(number) ((uint16_t)(0x200 | (number)))

/* A child of a host: a guest over all its lives, or a supervisor. Never used again; 0 is none. */
struct rapahub_child_id {
    uint32_t number;
};

/* A question that a guest is asked periodically: rapahub.ping(), which a chimod answers by its
 * callback `health`. */
struct rapahub_probe {
    uint64_t period_ns;        /* between two questions; 10 ms to a day; 0: never asked */
    uint64_t timeout_ns;       /* until the probe has failed without an answer; 1 s */
    uint32_t success, failure; /* results in a row that count; 1 and 3; at most 1,000 */
};

/* The moment at which a life begins to serve. */
enum rapahub_ready {
    RAPAHUB_READY_MESSAGE, /* its module is loaded, its containers have begun */
    RAPAHUB_READY_PROBE,   /* and its startup and readiness probes, if it has any, have passed */
    RAPAHUB_READY_ATTACH   /* it has attached: for guests that never say more, or begin slowly; a
                              later failure is a death, not a failed start */
};

/* Called on the owner when the budget of a child, or of a supervisor's children, is used up.
 * Returns PARK, ESCALATE or SLOW_RETRY; a supervisor takes SLOW_RETRY for ESCALATE. It may read the
 * status, and nothing else. */
typedef int rapahub_on_budget(void *user, struct rapahub_child_id child,
                              enum rapahub_exit_class cause);

/* Zero stands for the default that a comment names. Texts and lists are copied. */
struct rapahub_supervision {
    enum rapahub_restart restart;
    uint32_t restart_mask; /* classes, for RAPAHUB_RESTART_MASK */
    enum rapahub_start start;
    enum rapahub_when_down when_down;
    int32_t restarts_max; /* within period_ns; 5; at most 256, with FOREVER any; -1: none */
    uint64_t period_ns;   /* 60 s; RAPAHUB_FOREVER */
    enum rapahub_exhausted on_exhausted;
    uint64_t backoff_initial_ns; /* 100 ms, after the first restart, which comes at once;
                                    RAPAHUB_NONE: each restart does */
    uint64_t backoff_max_ns;     /* 30 s */
    double backoff_factor;       /* 2; not below 1 */
    uint32_t backoff_steps;      /* above 0: the maximum is reached in so many; at most 1,000 */
    bool backoff_first;          /* the first restart waits, too */
    enum rapahub_jitter jitter;
    double jitter_share;       /* for ADDITIVE; 0.1 */
    uint64_t reset_after_ns;   /* ready for so long, the delays begin anew; 60 s */
    uint64_t start_timeout_ns; /* from the spawn to ready; 5 s */
    uint32_t heartbeat_misses; /* intervals without a heartbeat, and it is stuck; 2 */
    uint64_t stall_ns;         /* it is stuck when for so long it takes nothing from its ring, or
                                  a call runs without a sign of progress; 10 ms to a day; 0: never */
    uint64_t overrun_ns;       /* it is stuck when a call goes on for so long after its time-out;
                                  10 ms to a day; 0: never */
    int32_t watchdog_signal;   /* sent to a stuck guest; SIGABRT, for its last words */
    uint64_t abort_ns;         /* from there to SIGKILL; 500 ms; RAPAHUB_NONE: SIGKILL at once */
    bool debug;                /* it is never stuck */
    enum rapahub_ready ready;
    struct rapahub_probe startup;   /* nothing else is asked before it has passed; failed: stuck */
    struct rapahub_probe liveness;  /* failed, UNHEALTHY or without an answer: it is stuck */
    struct rapahub_probe readiness; /* failed, not READY or without an answer: it gets no calls
                                       (RAPAHUB_EDEGRADED) until this passes */
    uint64_t drain_ns;              /* before the goodbye: for calls in flight; none */
    uint64_t goodbye_ns;            /* from the goodbye to SIGTERM; 500 ms; RAPAHUB_NONE: no wait */
    uint64_t term_ns;               /* from there to SIGKILL; 2 s; RAPAHUB_NONE: no SIGTERM */
    bool brutal;                    /* SIGKILL at once */
    enum rapahub_kill_mode kill_mode;
    enum rapahub_oom_policy oom_policy;
    bool significant;                              /* see auto_shutdown */
    const uint16_t *success_exit;                  /* 0, which need not be named */
    const uint16_t *prevent_exit;                  /* never started again; 125 */
    const uint16_t *force_exit;                    /* always */
    const struct rapahub_dependency *dependencies; /* at most 16, ended by one without `on` */
    uint32_t log_ring; /* bytes of what it printed that are kept, over all its lives; 64 KiB; at
                          most 16 MiB; the memory is taken with the first line */
    uint32_t log_line; /* bytes of a line, the rest of it is cut; 8 KiB, which is the most; 64 or
                          more */
    uint32_t log_rate; /* lines in a second, more are counted only; 200; at most 100,000 */
    const char *const *finish;    /* a command, ended by NULL, its program an absolute path; it runs
                                     when a life has ended, before what follows is decided, with
                                     RAPAHUB_NAME, _CLASS, _CODE and _SIGNAL in its environment;
                                     status 125: the child is FAILED. It has no input, the host's
                                     output, and a session of its own; it does not run after the
                                     end of a process that an upgrade replaced; NULL: none */
    uint64_t finish_timeout_ns;   /* then it is killed; 5 s; 10 ms to a day */
    const char *const *keep_fds;  /* names, ended by NULL, under which the guest may give the host
                                     descriptors to keep for its next lives (chimod.h); 1 to 63
                                     letters, digits, '_', '-', '.'; at most 16; trusted guests only.
                                     They are closed when the child is stopped, failed or
                                     closed; NULL: none */
    rapahub_on_budget *on_budget; /* for CALLBACK; NULL: the default */
    void *user;
    uint64_t reserved[8];
};

/* Presets, which may be changed afterwards. `seed`: the guest starts when it is called, each time
 * without a delay, and is given up after so many restarts in all its time, up to INT32_MAX (options
 * with more are refused where they are used, RAPAHUB_EINVAL); calls wait meanwhile. `never`: the
 * same, with one life. Any thread. */
RAPAHUB_API void rapahub_supervision_seed(unsigned restarts_max, struct rapahub_supervision *out);
RAPAHUB_API void rapahub_supervision_never(struct rapahub_supervision *out);

/* Zero stands for the default that a comment names. */
struct rapahub_supervisor_options {
    const char *name; /* required below another */
    enum rapahub_strategy strategy;
    enum rapahub_auto_shutdown auto_shutdown;
    int32_t restarts_max; /* all children together; no limit with ONE_FOR_ONE and SIMPLE, else 10;
                             -1: the first failure is too much */
    uint64_t period_ns;   /* 60 s; RAPAHUB_FOREVER */
    enum rapahub_exhausted on_exhausted;
    uint32_t children_max;                         /* no limit but the host's */
    const struct rapahub_supervision *supervision; /* its own, as a child; NULL: the defaults;
                                                      -EINVAL with supervise.lint.process where it
                                                      sets what only a process has */
    uint64_t reserved[8];
};

struct rapahub_child_status {
    struct rapahub_child_id child;
    char name[64];     /* among its siblings */
    const char *state; /* "stopped", "starting", "attached", "ready", "degraded", "stopping",
                          "exited", "backoff", "failed", "closed"; a constant */
    struct rapahub_guest_id guest;   /* its present or last life */
    uint64_t incarnation;            /* number of that life; rises over all children; 0: none yet */
    int32_t pid;                     /* 0: none */
    uint32_t restarts;               /* since it was added */
    uint32_t failures, failures_max; /* within its period */
    uint64_t due_ns;                 /* in backoff: until it is started */
    struct rapahub_child_id parent;  /* its supervisor; 0: it is the default one */
    bool is_supervisor;              /* then `guest`, `pid` and `restarts` are 0 */
    enum rapahub_strategy strategy;  /* a supervisor's */
};

/* The functions below are for the owner only, as in host.h. `timeout_ns` is how long the owner
 * waits, taking turns; 0: not at all. An operation that is not complete by then goes on, and the
 * function returns -ETIMEDOUT. RAPAHUB_ESTALE: the child is unknown, or was closed. */

/* The default supervisor: the root, ONE_FOR_ONE, with the defaults. rapahub_host_spawn puts guests
 * below it. It lives as long as the host. */
RAPAHUB_API_CHECKED int rapahub_host_supervisor(struct rapahub_host *host,
                                                struct rapahub_supervisor **out);

/* Creates a supervisor as a child of `parent`, and starts it at once. -EINVAL with a rule
 * supervise.lint.*, -EEXIST, RAPAHUB_EFULL, RAPAHUB_ESTATE. */
RAPAHUB_API_CHECKED int rapahub_supervisor_create(struct rapahub_supervisor *parent,
                                                  const struct rapahub_supervisor_options *options,
                                                  struct rapahub_supervisor **out);

/* Stops all its children in the reverse of their order, kills the rest at the time-out, closes
 * them, and destroys the supervisor; the default one is refused (RAPAHUB_ESTATE). */
RAPAHUB_API_CHECKED int rapahub_supervisor_stop(struct rapahub_supervisor *supervisor,
                                                uint64_t timeout_ns);

/* Puts a guest below a supervisor, and does not wait. An EAGER guest starts when its turn has come,
 * and a start that fails is a failure like any other; a LAZY one starts when it is first called. */
RAPAHUB_API_CHECKED int rapahub_supervisor_add(struct rapahub_supervisor *supervisor,
                                               const struct rapahub_guest_options *options,
                                               struct rapahub_child_id *out);

/* Finds the child of a life: its present life, or one of the last that rapahub_child_report knows.
 * RAPAHUB_ESTALE: there is none. RAPAHUB_EUNSUPERVISED: the guest came by itself, and is never
 * started again; rapahub_host_stop ends it. Also allowed in a callback of the host. */
RAPAHUB_API_CHECKED int rapahub_child_of(struct rapahub_host *host, struct rapahub_guest_id life,
                                         struct rapahub_child_id *out);

/* Gives a child a container, which it has in each of its lives from then on. A child that is ready,
 * or about to be, begins the container now, as rapahub_host_add_container does. A child that is
 * down begins it with the next life, and a call to the container starts a LAZY child. */
RAPAHUB_API_CHECKED int rapahub_child_add_container(
    struct rapahub_host *host, struct rapahub_child_id child,
    const struct rapahub_container_options *options);

/* Starts a child now, whatever its delay, and waits until it is ready. RAPAHUB_EGIVENUP: it has
 * failed; reset it. RAPAHUB_ESTATE: its supervisor does not run. */
RAPAHUB_API_CHECKED int rapahub_child_start(struct rapahub_host *host,
                                            struct rapahub_child_id child, uint64_t timeout_ns);

/* Stops a child, and the children that may not run without it; waits until it is down. It stays
 * down until it is started; meanwhile others may use the ids of its containers. */
RAPAHUB_API_CHECKED int rapahub_child_stop(struct rapahub_host *host, struct rapahub_child_id child,
                                           uint64_t timeout_ns);

/* Stops and starts a child, and the children that may not run without it; waits until it is ready
 * again. This is no failure. start, stop, restart, reset and renew also accept a supervisor, except
 * the default one: they act on all its children, in their order. A child that was stopped on
 * request stays stopped. */
RAPAHUB_API_CHECKED int rapahub_child_restart(struct rapahub_host *host,
                                              struct rapahub_child_id child, uint64_t timeout_ns);

/* Forgets the failures of a child that has failed, and starts it with its containers.
 * RAPAHUB_ESTATE: it has not failed. */
RAPAHUB_API_CHECKED int rapahub_child_reset(struct rapahub_host *host,
                                            struct rapahub_child_id child);

/* Gives a child a new life, whatever its state: resets it if it has failed, else restarts it. Waits
 * until it is ready in both cases. */
RAPAHUB_API_CHECKED int rapahub_child_renew(struct rapahub_host *host,
                                            struct rapahub_child_id child, uint64_t timeout_ns);

/* Do as rapahub_child_stop and rapahub_child_renew without waiting; the operation goes on in the
 * turns that the owner takes. on_done runs once, on the owner, unless the function fails. It may
 * call containers, and nothing else. A host that ends also ends the operation. */
RAPAHUB_API_CHECKED int rapahub_child_stop_async(struct rapahub_host *host,
                                                 struct rapahub_child_id child, uint64_t timeout_ns,
                                                 rapahub_on_done *on_done, void *user);
RAPAHUB_API_CHECKED int rapahub_child_renew_async(struct rapahub_host *host,
                                                  struct rapahub_child_id child,
                                                  uint64_t timeout_ns, rapahub_on_done *on_done,
                                                  void *user);

/* Stops a child for good, and waits until it is down. */
RAPAHUB_API_CHECKED int rapahub_child_close(struct rapahub_host *host,
                                            struct rapahub_child_id child, uint64_t timeout_ns);

/* Copies the status of a child, guest or supervisor. */
RAPAHUB_API_CHECKED int rapahub_child_status(struct rapahub_host *host,
                                             struct rapahub_child_id child,
                                             struct rapahub_child_status *out);

/* Visits all children that are not closed, each after its supervisor, beginning with the default
 * supervisor, whose name is "". The status is valid until the visit returns. */
RAPAHUB_API_CHECKED int rapahub_host_children(
    struct rapahub_host *host, void (*visit)(void *user, const struct rapahub_child_status *status),
    void *user);

/* The end of a life of a child, or the reason why it could not begin; all of it is a copy. Texts
 * from the guest itself (name, last_words, log) are escaped, and as true as the guest is. */
struct rapahub_report {
    struct rapahub_child_id child;
    char name[64];
    char module[256];  /* path of the chimod, cut where it is longer */
    char build_id[65]; /* the module's; "" where its linker gave it none */
    const char *state; /* before the end: "starting", "attached", "ready", "stopping"; a constant */
    struct rapahub_guest_id guest; /* zeroed where it never was one */
    uint64_t incarnation;
    int32_t pid; /* 0: there was no process */
    enum rapahub_exit_class exit_class;
    int32_t code;       /* exit status; -1: none */
    int32_t signal;     /* the one that ended it; 0: none */
    bool core;          /* it left a core dump */
    int32_t failure;    /* for class SPAWN, and LINK: -errno or RAPAHUB_E… */
    const char *step;   /* for class SPAWN: "exec", "clone", "segment" …; for LINK "link"; else
                           ""; a constant */
    const char *rule;   /* the broken rule of the protocol; or ""; a constant */
    char cause[256];    /* in words, as in RAPAHUB_EVENT_DOWN */
    uint64_t time_ns;   /* the moment of the end, by CLOCK_REALTIME */
    uint64_t uptime_ns; /* from the birth of its process */
    uint64_t user_ns, system_ns; /* CPU time, with the children it waited for */
    uint64_t memory_max;         /* bytes that were resident, at most */
    uint32_t calls_lost;         /* calls that ended without an answer */
    char method[256];            /* the oldest of these, as a signature; "" where it is unknown */
    char last_words[512]; /* "last words: signal SIGSEGV at 0x0 in /…/calc.so+0x1234, method
                             calc.add, request 17", if it had the time; or "" */
    const char *decision; /* its state then: "backoff", "stopped", "failed", "closed"; "" as
                             long as that is not decided; a constant */
    uint64_t due_ns;      /* for "backoff": least time from the end to the next start */
    uint32_t failures, failures_max; /* within its period, with this one; not yet for a LAZY
                                        child that is not called */
    char log[4096];                  /* the last lines it had printed then, as rapahub_child_log */
};

/* Copies the report of the last end of a child, or of the end `back` before it; 8 are kept, also
 * those of ends on request. -ENOENT: there is none. Also allowed in a callback of the host; at
 * RAPAHUB_EVENT_RESTART and RAPAHUB_EVENT_FAILED the report has the decision. */
RAPAHUB_API_CHECKED int rapahub_child_report(struct rapahub_host *host,
                                             struct rapahub_child_id child, unsigned back,
                                             struct rapahub_report *out);

/* Prints a report as some lines of text. Returns the length of the text in bytes; the first
 * `size` - 1 of them are in `to`, followed by a 0. Any thread. */
RAPAHUB_API size_t rapahub_report_print(const struct rapahub_report *report, char *to, size_t size);

/* Copies the last lines that a child printed, over all its lives: `log_ring` bytes of whole lines,
 * as RAPAHUB_EVENT_OUTPUT has them, each ended by a line feed. `to` gets the lines that fit in
 * `size` bytes, followed by a 0; *out (may be NULL) gets the number of bytes that are kept.
 * -EINVAL: `size` is 0. Also allowed in a callback of the host. */
RAPAHUB_API_CHECKED int rapahub_child_log(struct rapahub_host *host, struct rapahub_child_id child,
                                          char *to, size_t size, size_t *out);

/* ---- observers ---- */

enum rapahub_change {
    RAPAHUB_CHANGE_LOST,      /* events up to this one were dropped, and none follows yet */
    RAPAHUB_CHANGE_ADDED,     /* it was given to a supervisor */
    RAPAHUB_CHANGE_SPAWN,     /* starting: it was asked for, or is the first time */
    RAPAHUB_CHANGE_RESTART,   /* starting, out of backoff */
    RAPAHUB_CHANGE_ATTACHED,  /* its containers, or children, come up */
    RAPAHUB_CHANGE_READY,     /* it serves */
    RAPAHUB_CHANGE_DEGRADED,  /* it lives, and gets no new calls */
    RAPAHUB_CHANGE_STOPPING,  /* it is to end, or ends by itself */
    RAPAHUB_CHANGE_ESCALATED, /* the same, of a supervisor whose budget is used up */
    RAPAHUB_CHANGE_EXIT,      /* proven dead: class */
    RAPAHUB_CHANGE_BACKOFF,   /* it waits for its next start: class */
    RAPAHUB_CHANGE_STOPPED,   /* it rests */
    RAPAHUB_CHANGE_FAILED,    /* it rests until a reset: its budget is used up, or its status said
                                 so: class */
    RAPAHUB_CHANGE_CLOSED,    /* it is no child any more */
    RAPAHUB_CHANGE_REAPED     /* all that a life held has been given back: incarnation */
};

struct rapahub_observation {
    uint64_t sequence; /* from 1 on, for each observer; a gap: some were dropped */
    enum rapahub_change change;
    bool overflow;    /* the events right before it were dropped: read a snapshot */
    uint64_t dropped; /* how many, from the beginning */
    struct rapahub_child_id child;
    uint64_t incarnation;
    enum rapahub_exit_class exit_class;
    uint64_t time_ns; /* by CLOCK_MONOTONIC */
};

/* Zero stands for the default that a comment names. */
struct rapahub_observer_options {
    uint32_t events_max; /* events that may wait to be read, a power of two up to 65,536; 1,024 */
    uint64_t reserved[8];
};
struct rapahub_observer;

/* Makes an observer, which gets the changes of this supervisor and of all below it from now on.
 * Each supervisor has at most one observer: -EALREADY. NULL: the default options. An observer never
 * holds up the host nor the guests: events that are not read in time are dropped. It belongs to the
 * caller until rapahub_observer_close, and may outlive its supervisor and the host. */
RAPAHUB_API_CHECKED int rapahub_supervisor_observe(struct rapahub_supervisor *supervisor,
                                                   const struct rapahub_observer_options *options,
                                                   struct rapahub_observer **out);

/* Functions for any thread, one at a time. A reader polls the descriptor for input, then reads
 * until it gets fewer than `max` events: *out, which may be 0. RAPAHUB_ECLOSED follows the last
 * event of a supervisor that is gone. After close, which accepts NULL, another observer may be
 * made. */
RAPAHUB_API int rapahub_observer_fd(const struct rapahub_observer *observer);
RAPAHUB_API_CHECKED int rapahub_observer_read(struct rapahub_observer *observer,
                                              struct rapahub_observation *list, size_t max,
                                              size_t *out);
RAPAHUB_API void rapahub_observer_close(struct rapahub_observer *observer);

struct rapahub_snapshot {
    uint64_t sequence; /* all events of its observer up to this one are in it, and no later one */
    size_t count;      /* children, also where `list` has room for fewer */
};

/* Copies the status of the supervisor and of all below it at one moment. Also allowed in a callback
 * of the host, except rapahub_on_budget (RAPAHUB_ESTATE). */
RAPAHUB_API_CHECKED int rapahub_supervisor_snapshot(struct rapahub_supervisor *supervisor,
                                                    struct rapahub_child_status *list, size_t max,
                                                    struct rapahub_snapshot *out);

/* ---- monitors ---- */

/* Tells the watcher, a guest, of each end of the target, a guest or a supervisor, on request or
 * not: `child_down` of each of the watcher's containers (chimod.h). A monitor lasts over the lives
 * of both, until either is closed. Ends that happen while the watcher is not ready are told
 * together when it is ready again. -EALREADY: the monitor exists. -EINVAL: both are the same.
 * RAPAHUB_EFULL: the host has 1,024. */
RAPAHUB_API_CHECKED int rapahub_child_monitor(struct rapahub_host *host,
                                              struct rapahub_child_id watcher,
                                              struct rapahub_child_id target);

/* Ends a monitor. -ENOENT: there is no such monitor. */
RAPAHUB_API_CHECKED int rapahub_child_demonitor(struct rapahub_host *host,
                                                struct rapahub_child_id watcher,
                                                struct rapahub_child_id target);

RAPAHUB_END_DECLS

#endif
