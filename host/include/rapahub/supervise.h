/* SPDX-License-Identifier: Apache-2.0 */
/* supervise: what happens when a guest dies: whether it is started again, how often, after what
 * delay, and who goes with it. A *child* is a guest over all its lives; a *supervisor* has
 * children, which are guests or supervisors. */
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

/* How something ended that nobody waits for: 0, or a failure, whose diagnosis holds until this
 * returns, as the result of a call does; NULL where there is none. */
typedef void rapahub_on_done(void *user, int status, const void *result);

/* Where 0 means a default: none at all, or without an end. */
#define RAPAHUB_NONE    UINT64_MAX
#define RAPAHUB_FOREVER UINT64_MAX

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

/* What a call does that finds the guest without a process. (Of one whose readiness probe fails it
 * ends with RAPAHUB_EDEGRADED, whatever this says.) It waits in any case, but for FAIL,
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

/* What of the programs that a guest has started is killed when it has died. Who made a session of
 * its own has left its group. */
enum rapahub_kill_mode {
    RAPAHUB_KILL_GROUP,   /* its process group */
    RAPAHUB_KILL_PROCESS, /* nobody else */
    RAPAHUB_KILL_CGROUP   /* all it has started, whoever made a session: needs cgroup v2, -EINVAL
                             with the rule supervise.lint.kill-mode where there is none */
};

/* What follows when the kernel has killed it for want of memory: class OOM, which is known only
 * where it has a cgroup of its own; with one of the latter two it gets one. */
enum rapahub_oom_policy {
    RAPAHUB_OOM_RESTART,   /* as `restart` says */
    RAPAHUB_OOM_STOP,      /* it has failed: rapahub_child_reset leads out */
    RAPAHUB_OOM_KILL_GROUP /* as RESTART; before, all in its cgroup are killed */
};

/* Lists of statuses and signals, ended by 0. */
#define RAPAHUB_STATUS(code)   ((uint16_t)(0x100 | (code)))
#define RAPAHUB_SIGNAL(number) ((uint16_t)(0x200 | (number)))

/* A child of a host: a guest over all its lives, or a supervisor. Never used again; 0 is none. */
struct rapahub_child_id {
    uint32_t number;
};

/* A guest that is asked again and again how it is: rapahub.ping(), which a chimod answers by its
 * callback `health`. */
struct rapahub_probe {
    uint64_t period_ns;        /* from one question to the next; 10 ms to a day; 0: never asked */
    uint64_t timeout_ns;       /* for an answer, else it has failed; 1 s */
    uint32_t success, failure; /* so often in a row it counts; 1 and 3; at most 1,000 */
};

/* When a life begins to serve. */
enum rapahub_ready {
    RAPAHUB_READY_MESSAGE, /* its module is loaded, its containers have begun */
    RAPAHUB_READY_PROBE,   /* and its startup and readiness probes, those there are, have passed */
    RAPAHUB_READY_ATTACH /* it has attached: one that never says more, or begins slowly; what fails
                            then is a death, not a start that failed */
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
    int32_t restarts_max; /* within period_ns; 5; at most 256, of FOREVER any; -1: none */
    uint64_t period_ns;   /* 60 s; RAPAHUB_FOREVER */
    enum rapahub_exhausted on_exhausted;
    uint64_t backoff_initial_ns; /* 100 ms, behind the first restart, which comes at once;
                                    RAPAHUB_NONE: every one does */
    uint64_t backoff_max_ns;     /* 30 s */
    double backoff_factor;       /* 2; not below 1 */
    uint32_t backoff_steps;      /* above 0: the maximum is reached in so many; at most 1,000 */
    bool backoff_first;          /* the first restart waits, too */
    enum rapahub_jitter jitter;
    double jitter_share;       /* of ADDITIVE; 0.1 */
    uint64_t reset_after_ns;   /* ready for so long, the delays begin anew; 60 s */
    uint64_t start_timeout_ns; /* from the spawn to ready; 5 s */
    uint32_t heartbeat_misses; /* intervals without a heartbeat, and it is stuck; 2 */
    uint64_t stall_ns;         /* so long nothing is taken from its ring, or a call runs without
                                  a word, and it is stuck; 10 ms to a day; 0: however long */
    uint64_t overrun_ns;       /* so long behind its timeout a call goes on, and it is stuck; the
                                  same */
    int32_t watchdog_signal;   /* to one that is stuck; SIGABRT, for its last words */
    uint64_t abort_ns;         /* from there to SIGKILL; 500 ms; RAPAHUB_NONE: SIGKILL at once */
    bool debug;                /* it is never stuck */
    enum rapahub_ready ready;
    struct rapahub_probe startup;   /* until it has passed nothing else is asked; failed: stuck */
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
                                     when a life has ended, before what follows is decided, told of
                                     that by RAPAHUB_NAME, _CLASS, _CODE and _SIGNAL in its
                                     environment; status 125: the child is FAILED. With no input, the
                                     host's output, a session of its own; not behind the process
                                     that an upgrade has replaced; NULL: none */
    uint64_t finish_timeout_ns;   /* then it is killed; 5 s; 10 ms to a day */
    const char *const *keep_fds;  /* names, ended by NULL, under which the guest may give the host
                                     descriptors to keep for its next lives (chimod.h); 1 to 63 of
                                     letters, digits, '_', '-', '.'; at most 16; of a trusted guest
                                     only. They are closed when the child is stopped, failed or
                                     closed; NULL: none */
    rapahub_on_budget *on_budget; /* of CALLBACK; NULL: the default */
    void *user;
    uint64_t reserved[8];
};

/* Presets, to be changed at will. `seed`: starts when it is called, each time without a delay, and
 * is given up after so many restarts in all its time, up to INT32_MAX (with more the options are
 * refused where they are used, RAPAHUB_EINVAL); calls wait meanwhile. `never`: the same, and
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
    const struct rapahub_supervision *supervision; /* of itself, as a child; NULL: the defaults;
                                                      -EINVAL with supervise.lint.process where it
                                                      sets what only a process has */
    uint64_t reserved[8];
};

struct rapahub_child_status {
    struct rapahub_child_id child;
    char name[64];     /* among its siblings */
    const char *state; /* "stopped", "starting", "attached", "ready", "degraded", "stopping",
                          "exited", "backoff", "failed", "closed"; a constant */
    struct rapahub_guest_id guest; /* of its present or last life */
    uint64_t incarnation;          /* the same; rises over all children of the host; 0: none yet */
    int32_t pid;                   /* 0: none */
    uint32_t restarts;             /* since it was added */
    uint32_t failures, failures_max; /* within its period */
    uint64_t due_ns;                 /* in backoff: until it is started */
    struct rapahub_child_id parent;  /* its supervisor; 0: it is the default one */
    bool is_supervisor;              /* no guest: `guest`, `pid` and `restarts` are 0 */
    enum rapahub_strategy strategy;  /* of a supervisor */
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

/* The child whose present life this is, or one of its last: those rapahub_child_report tells of.
 * RAPAHUB_ESTALE where there is none; RAPAHUB_EUNSUPERVISED of a guest that came by itself: nobody
 * starts that again; rapahub_host_stop ends it. In a callback of the host, too. */
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
 * no failure. These three and the two below take a supervisor, too, but the default one: then it is
 * all its children, in their order; who was stopped by somebody stays so. */
RAPAHUB_API_CHECKED int rapahub_child_restart(struct rapahub_host *host,
                                              struct rapahub_child_id child, uint64_t timeout_ns);

/* One that has failed: forgets its failures and starts it, with its containers. RAPAHUB_ESTATE
 * where it has not failed. */
RAPAHUB_API_CHECKED int rapahub_child_reset(struct rapahub_host *host,
                                            struct rapahub_child_id child);

/* A new life, whatever its state: the former, and of one that has failed the latter, and waits in
 * both cases. */
RAPAHUB_API_CHECKED int rapahub_child_renew(struct rapahub_host *host,
                                            struct rapahub_child_id child, uint64_t timeout_ns);

/* rapahub_child_stop and rapahub_child_renew without the wait, which goes on in the turns that the
 * owner takes: on_done runs once, on the owner, unless this fails; it may call containers, and no
 * more. A host that ends ends it. */
RAPAHUB_API_CHECKED int rapahub_child_stop_async(struct rapahub_host *host,
                                                 struct rapahub_child_id child, uint64_t timeout_ns,
                                                 rapahub_on_done *on_done, void *user);
RAPAHUB_API_CHECKED int rapahub_child_renew_async(struct rapahub_host *host,
                                                  struct rapahub_child_id child,
                                                  uint64_t timeout_ns, rapahub_on_done *on_done,
                                                  void *user);

/* Stops it for good; waits until it is down. */
RAPAHUB_API_CHECKED int rapahub_child_close(struct rapahub_host *host,
                                            struct rapahub_child_id child, uint64_t timeout_ns);

/* Also of a supervisor. */
RAPAHUB_API_CHECKED int rapahub_child_status(struct rapahub_host *host,
                                             struct rapahub_child_id child,
                                             struct rapahub_child_status *out);

/* All that are not closed, each behind its supervisor, and first of all the default one, whose name
 * is "". What is visited is good until the visit returns. */
RAPAHUB_API_CHECKED int rapahub_host_children(
    struct rapahub_host *host, void (*visit)(void *user, const struct rapahub_child_status *status),
    void *user);

/* How a life of a child ended, or why it could not begin; all of it is a copy. What comes from the
 * guest itself (name, last_words, log) is escaped, and as true as the guest is. */
struct rapahub_report {
    struct rapahub_child_id child;
    char name[64];
    char module[256];  /* path of the chimod, cut where it is longer */
    char build_id[65]; /* of the module; "" where its linker gave it none */
    const char *state; /* before its end: "starting", "attached", "ready", "stopping"; a constant */
    struct rapahub_guest_id guest; /* zeroed where it never was one */
    uint64_t incarnation;
    int32_t pid; /* 0: there was no process */
    enum rapahub_exit_class exit_class;
    int32_t code;                /* exit status; -1: none */
    int32_t signal;              /* that ended it; 0: none */
    bool core;                   /* it left a core dump */
    int32_t failure;             /* of class SPAWN: -errno or RAPAHUB_E… */
    const char *step;            /* the same: "exec", "clone", "segment" …; else ""; a constant */
    const char *rule;            /* of the protocol, that it broke; or ""; a constant */
    char cause[256];             /* in words, as in RAPAHUB_EVENT_DOWN */
    uint64_t time_ns;            /* of the end, as of CLOCK_REALTIME */
    uint64_t uptime_ns;          /* from the birth of its process */
    uint64_t user_ns, system_ns; /* of CPU, with the children it waited for */
    uint64_t memory_max;         /* bytes that were resident, at most */
    uint32_t calls_lost;         /* that ended without an answer */
    char method[256];            /* the oldest of those, as a signature; "" where it is unknown */
    char last_words[512]; /* "last words: signal SIGSEGV at 0x0 in /…/calc.so+0x1234, method
                             calc.add, request 17", if it had the time; or "" */
    const char *decision; /* its state then: "backoff", "stopped", "failed", "closed"; "" as
                             long as that is not decided; a constant */
    uint64_t due_ns;      /* of "backoff": from the end to the next start, at least */
    uint32_t failures, failures_max; /* within its period, with this one; not yet of one that is
                                        LAZY and not called */
    char log[4096];                  /* the last lines it had printed then, as rapahub_child_log */
};

/* The report of its last end, or of the one so many before it, of the last 8: also of ends that
 * somebody asked for. -ENOENT where there is none. In a callback of the host, too: of
 * RAPAHUB_EVENT_RESTART and RAPAHUB_EVENT_FAILED what was decided is in it. */
RAPAHUB_API_CHECKED int rapahub_child_report(struct rapahub_host *host,
                                             struct rapahub_child_id child, unsigned back,
                                             struct rapahub_report *out);

/* Some lines of text; returns its bytes, of which the first `size` - 1 are in `to`, and a 0 behind
 * them. Any thread. */
RAPAHUB_API size_t rapahub_report_print(const struct rapahub_report *report, char *to, size_t size);

/* What it printed last, over all its lives: `log_ring` bytes of whole lines, as
 * RAPAHUB_EVENT_OUTPUT has them, each ended by a line feed. `to` gets those of them that fit in
 * `size` bytes with a 0 behind them; *out (may be NULL) how many bytes are kept. -EINVAL where
 * `size` is 0. In a callback of the host, too. */
RAPAHUB_API_CHECKED int rapahub_child_log(struct rapahub_host *host, struct rapahub_child_id child,
                                          char *to, size_t size, size_t *out);

/* ---- a second party that looks on ---- */

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
    RAPAHUB_CHANGE_CLOSED,    /* it is nobody's child any more */
    RAPAHUB_CHANGE_REAPED     /* all that a life held has been given back: incarnation */
};

struct rapahub_observation {
    uint64_t sequence; /* from 1 on, of each supervisor's observer; a gap: some were dropped */
    enum rapahub_change change;
    bool overflow;    /* those right before it were dropped: look at a snapshot */
    uint64_t dropped; /* how many, from the beginning */
    struct rapahub_child_id child;
    uint64_t incarnation;
    enum rapahub_exit_class exit_class;
    uint64_t time_ns; /* as of CLOCK_MONOTONIC */
};

/* Zero means the default named. */
struct rapahub_observer_options {
    uint32_t events_max; /* that wait to be read, a power of two up to 65,536; 1,024 */
    uint64_t reserved[8];
};
struct rapahub_observer;

/* Tells of this supervisor and all below it, from now on. One observer for each supervisor, the
 * first stays: -EALREADY. NULL: the default options. It never holds up the host nor the guests:
 * what it does not read in time is dropped. It is the caller's until rapahub_observer_close, and
 * may outlive its supervisor and the host. */
RAPAHUB_API_CHECKED int rapahub_supervisor_observe(struct rapahub_supervisor *supervisor,
                                                   const struct rapahub_observer_options *options,
                                                   struct rapahub_observer **out);

/* These are for any thread, one at a time. Poll the descriptor for input, then read until there are
 * fewer than `max`: *out events, which may be 0. RAPAHUB_ECLOSED behind the last one of a
 * supervisor that is gone. Behind close, which takes NULL, another may observe. */
RAPAHUB_API int rapahub_observer_fd(const struct rapahub_observer *observer);
RAPAHUB_API_CHECKED int rapahub_observer_read(struct rapahub_observer *observer,
                                              struct rapahub_observation *list, size_t max,
                                              size_t *out);
RAPAHUB_API void rapahub_observer_close(struct rapahub_observer *observer);

struct rapahub_snapshot {
    uint64_t sequence; /* all events of its observer up to this one are in it, and no later one */
    size_t count;      /* children, also where `list` has room for fewer */
};

/* The supervisor and all below it at one moment. In a callback of the host, too, but for
 * rapahub_on_budget (RAPAHUB_ESTATE). */
RAPAHUB_API_CHECKED int rapahub_supervisor_snapshot(struct rapahub_supervisor *supervisor,
                                                    struct rapahub_child_status *list, size_t max,
                                                    struct rapahub_snapshot *out);

/* ---- guests that look on ---- */

/* The watcher, a guest, is told of each end of the target, a guest or a supervisor, asked for or
 * not: `child_down` of each of its containers (chimod.h). That lasts over the lives of both, until
 * one of them is closed: what happens while the watcher is not ready it is told when it is again,
 * many as one. -EALREADY where it is told already, -EINVAL where both are the same, RAPAHUB_EFULL
 * above 1,024 of the host. */
RAPAHUB_API_CHECKED int rapahub_child_monitor(struct rapahub_host *host,
                                              struct rapahub_child_id watcher,
                                              struct rapahub_child_id target);

/* Ends that. -ENOENT where there is no such monitor. */
RAPAHUB_API_CHECKED int rapahub_child_demonitor(struct rapahub_host *host,
                                                struct rapahub_child_id watcher,
                                                struct rapahub_child_id target);

RAPAHUB_END_DECLS

#endif
