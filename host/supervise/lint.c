/* SPDX-License-Identifier: Apache-2.0 */
#include "host/supervise/lint.h"

#include <inttypes.h>
#include <stddef.h>

#include <rapahub/error.h>

#include "host/supervise/budget.h"
#include "host/supervise/defaults.h"
#include "host/supervise/exits.h"
#include "hub/base/clock.h"

#define STEPS_MAX    1000
#define MISSES_MAX   1000
#define ABORT        6 /* SIGABRT */
#define SIGNAL_MAX   64
#define IN_A_ROW_MAX 1000

#define BUDGET_REFUSED \
    "restarts_max is not -1 to 256, nor, with a period_ns of RAPAHUB_FOREVER, to 2,147,483,647"

#define LIMIT_LEAST  (10 * HUB_MILLISECOND)
#define LIMIT_MOST   (24 * 60 * 60 * HUB_SECOND)
#define LOG_RING_MAX (16U << 20)
#define LOG_LINE_MIN 64
#define LOG_LINE_MAX 8192
#define LOG_RATE_MAX 100000
#define FINISH_MAX   64

/* A time in the largest unit that gives a whole number, such as 500 "ms". */
struct span {
    uint64_t count;
    const char *unit;
};

static struct span span_of(uint64_t ns)
{
    static const struct span units[] = {
        {HUB_SECOND, "s"}, {HUB_MILLISECOND, "ms"}, {HUB_MICROSECOND, "us"}, {1, "ns"}};
    unsigned i = 0;

    while (ns % units[i].count != 0)
        i++;
    return (struct span){ns / units[i].count, units[i].unit};
}

static uint64_t or_default(uint64_t given, uint64_t otherwise)
{
    return given ? given : otherwise;
}

static bool is_zero(const uint64_t *reserved)
{
    uint64_t all = 0;

    for (size_t i = 0; i < 8; i++)
        all |= reserved[i];
    return all == 0;
}

/* Without a period failures are only counted; within a period the time of each is stored. */
static bool is_budget(int32_t max, uint64_t period_ns)
{
    return max >= -1 && (max <= HOST_BUDGET_MAX || period_ns == RAPAHUB_FOREVER);
}

static int refuse_reserved(const char *name)
{
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.values",
                        "%s: its supervision has `reserved` set; build it with the headers of this "
                        "library, or zero it",
                        name);
}

/* ---- a child ---- */

static void fill_probe(struct rapahub_probe *out)
{
    if (out->period_ns == 0)
        return;
    out->timeout_ns = or_default(out->timeout_ns, HOST_DEFAULT_S(PROBE_TIMEOUT));
    out->success = out->success ? out->success : HOST_DEFAULT_PROBE_SUCCESS;
    out->failure = out->failure ? out->failure : HOST_DEFAULT_PROBE_FAILURE;
}

static void fill_child(struct rapahub_supervision *out)
{
    out->restarts_max = out->restarts_max == 0 ? HOST_DEFAULT_RESTARTS : out->restarts_max;
    out->period_ns = or_default(out->period_ns, HOST_DEFAULT_S(PERIOD));
    if (out->on_exhausted == RAPAHUB_EXHAUSTED_DEFAULT)
        out->on_exhausted = RAPAHUB_EXHAUSTED_PARK;
    out->backoff_initial_ns = or_default(out->backoff_initial_ns, HOST_DEFAULT_MS(BACKOFF_INITIAL));
    out->backoff_max_ns = or_default(out->backoff_max_ns, HOST_DEFAULT_S(BACKOFF_MAX));
    if (!(out->backoff_factor > 0 || out->backoff_factor < 0))
        out->backoff_factor = HOST_DEFAULT_BACKOFF_FACTOR;
    if (!(out->jitter_share > 0 || out->jitter_share < 0))
        out->jitter_share = HOST_DEFAULT_JITTER_SHARE;
    out->reset_after_ns = or_default(out->reset_after_ns, HOST_DEFAULT_S(RESET_AFTER));
    out->start_timeout_ns = or_default(out->start_timeout_ns, HOST_DEFAULT_S(START_TIMEOUT));
    if (out->heartbeat_misses == 0)
        out->heartbeat_misses = HOST_DEFAULT_HEARTBEAT_MISSES;
    out->watchdog_signal = out->watchdog_signal ? out->watchdog_signal : ABORT;
    out->abort_ns = or_default(out->abort_ns, HOST_DEFAULT_MS(ABORT));
    fill_probe(&out->startup);
    fill_probe(&out->liveness);
    fill_probe(&out->readiness);
    out->goodbye_ns = or_default(out->goodbye_ns, HOST_DEFAULT_MS(GOODBYE));
    out->term_ns = or_default(out->term_ns, HOST_DEFAULT_S(TERM));
    out->finish_timeout_ns = or_default(out->finish_timeout_ns, HOST_DEFAULT_S(FINISH_TIMEOUT));
    out->log_ring = out->log_ring ? out->log_ring : (uint32_t)HOST_DEFAULT_LOG_RING_K << 10;
    out->log_line = out->log_line ? out->log_line : (uint32_t)HOST_DEFAULT_LOG_LINE_K << 10;
    out->log_rate = out->log_rate ? out->log_rate : HOST_DEFAULT_LOG_RATE;
}

/* r[impl supervise.lint.values] */
static int check_values(const char *name, const struct rapahub_supervision *how)
{
    const char *what = NULL;

    if ((unsigned)how->restart > RAPAHUB_RESTART_MASK)
        what = "restart is none of RAPAHUB_RESTART_…";
    else if ((unsigned)how->start > RAPAHUB_START_MANUAL)
        what = "start is none of RAPAHUB_START_…";
    else if ((unsigned)how->when_down > RAPAHUB_WHEN_DOWN_FAIL)
        what = "when_down is none of RAPAHUB_WHEN_DOWN_…";
    else if ((unsigned)how->kill_mode > RAPAHUB_KILL_CGROUP)
        what = "kill_mode is none of RAPAHUB_KILL_…";
    else if ((unsigned)how->oom_policy > RAPAHUB_OOM_KILL_GROUP)
        what = "oom_policy is none of RAPAHUB_OOM_…";
    else if ((unsigned)how->ready > RAPAHUB_READY_ATTACH)
        what = "ready is none of RAPAHUB_READY_…";
    else if ((unsigned)how->on_exhausted > RAPAHUB_EXHAUSTED_CALLBACK)
        what = "on_exhausted is none of RAPAHUB_EXHAUSTED_…";
    else if ((unsigned)how->jitter > RAPAHUB_JITTER_ADDITIVE)
        what = "jitter is none of RAPAHUB_JITTER_…";
    else if (!is_budget(how->restarts_max, how->period_ns))
        what = BUDGET_REFUSED;
    else if (how->heartbeat_misses > MISSES_MAX)
        what = "heartbeat_misses is above 1,000";
    else if (how->watchdog_signal < 0 || how->watchdog_signal > SIGNAL_MAX)
        what = "watchdog_signal is no signal";
    else if (how->backoff_steps > STEPS_MAX)
        what = "backoff_steps is above 1,000";
    else if (how->log_ring > LOG_RING_MAX)
        what = "log_ring is above 16 MiB";
    else if (how->log_line < LOG_LINE_MIN || how->log_line > LOG_LINE_MAX)
        what = "log_line is not 64 to 8,192";
    else if (how->log_rate > LOG_RATE_MAX)
        what = "log_rate is above 100,000";
    else if (!(how->jitter_share >= 0 && how->jitter_share <= 10))
        what = "jitter_share is not 0 to 10";
    if (!what)
        return 0;
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.values", "%s: %s; choose one that is", name,
                        what);
}

static bool is_limit(uint64_t ns)
{
    return ns == 0 || (ns >= LIMIT_LEAST && ns <= LIMIT_MOST);
}

/* r[impl supervise.lint.limits] */
static int check_limits(const char *name, const struct rapahub_supervision *how)
{
    const char *what = !is_limit(how->stall_ns)     ? "stall_ns"
                       : !is_limit(how->overrun_ns) ? "overrun_ns"
                                                    : NULL;

    if (!what)
        return 0;
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.limits",
                        "%s: %s is neither 0, so that it is off, nor from 10 ms to 24 hours; "
                        "choose one of these",
                        name, what);
}

/* A member and its fault. */
struct probe_fault {
    const char *member, *text;
};

static struct probe_fault wrong_with_probe(const struct rapahub_probe *probe)
{
    static const char span[] = "is not from 10 ms to 24 hours; correct it";

    if (probe->period_ns == 0 && (probe->timeout_ns || probe->success || probe->failure))
        return (struct probe_fault){"period_ns",
                                    "is not set, so that the probe is never asked; set it"};
    if (probe->period_ns != 0 && !is_limit(probe->period_ns))
        return (struct probe_fault){"period_ns", span};
    if (!is_limit(probe->timeout_ns))
        return (struct probe_fault){"timeout_ns", span};
    if (probe->success > IN_A_ROW_MAX)
        return (struct probe_fault){"success", "is above 1,000; lower it"};
    if (probe->failure > IN_A_ROW_MAX)
        return (struct probe_fault){"failure", "is above 1,000; lower it"};
    return (struct probe_fault){NULL, NULL};
}

/* r[impl supervise.lint.probe] */
static int check_probes(const char *name, const struct rapahub_supervision *how)
{
    const struct rapahub_probe *const probes[] = {&how->startup, &how->liveness, &how->readiness};
    static const char *const names[] = {"startup", "liveness", "readiness"};

    for (int i = 0; i < 3; i++) {
        const struct probe_fault fault = wrong_with_probe(probes[i]);

        if (fault.member)
            return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.probe", "%s: %s.%s %s", name,
                                names[i], fault.member, fault.text);
    }
    if (how->ready != RAPAHUB_READY_PROBE)
        return 0;
    if (how->startup.period_ns == 0 && how->readiness.period_ns == 0)
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.probe",
                            "%s: ready is PROBE, and it has neither a startup nor a readiness "
                            "probe, so that it is never ready; give it one",
                            name);
    if (how->start != RAPAHUB_START_LAZY)
        return 0;
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.probe",
                        "%s: is LAZY, so that its first call waits for its probes, too; set ready "
                        "to MESSAGE, or choose another start",
                        name);
}

/* r[impl supervise.lint.backoff] r[impl supervise.lint.factor] */
static int check_backoff(const char *name, const struct rapahub_supervision *how)
{
    struct span most = span_of(how->backoff_max_ns), initial = span_of(how->backoff_initial_ns);

    if (how->backoff_initial_ns != RAPAHUB_NONE && how->backoff_max_ns < how->backoff_initial_ns)
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.backoff",
                            "%s: backoff_max_ns (%" PRIu64 " %s) is below backoff_initial_ns "
                            "(%" PRIu64 " %s); raise the one or lower the other",
                            name, most.count, most.unit, initial.count, initial.unit);
    if (!(how->backoff_factor >= 1 && how->backoff_factor <= 1e6))
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.factor",
                            "%s: backoff_factor is %g, so that delays would shrink; from 1 to "
                            "1,000,000 they do not",
                            name, how->backoff_factor);
    return 0;
}

/* Returns the shortest delay that jitter can make of `delay`. */
static double least_of(const struct rapahub_supervision *how, double delay)
{
    switch (how->jitter) {
    case RAPAHUB_JITTER_FULL:
        return 0;
    case RAPAHUB_JITTER_DECORRELATED:
        return (double)how->backoff_initial_ns;
    case RAPAHUB_JITTER_EQUAL:
        return delay / 2;
    default:
        return delay;
    }
}

/* Returns the time of `restarts_max` restarts in the fastest case, when the child dies at once each
 * time. With steps the curve is assumed to be flat, and it is never below that. */
static double fastest(const struct rapahub_supervision *how)
{
    double delay = (double)how->backoff_initial_ns, sum = 0;
    int32_t waits = how->restarts_max - (how->backoff_first ? 0 : 1);

    if (how->backoff_initial_ns == RAPAHUB_NONE)
        return 0;
    for (int32_t i = 0; i < waits; i++) {
        sum += least_of(how, delay);
        if (how->backoff_steps == 0)
            delay *= how->backoff_factor;
        if (delay > (double)how->backoff_max_ns)
            delay = (double)how->backoff_max_ns;
    }
    return sum;
}

/* r[impl supervise.lint.budget] */
static int check_budget(const char *name, const struct rapahub_supervision *how)
{
    struct span period = span_of(how->period_ns);

    if (how->restarts_max <= 0 || how->period_ns == RAPAHUB_FOREVER ||
        how->on_exhausted == RAPAHUB_EXHAUSTED_SLOW_RETRY ||
        how->restart == RAPAHUB_RESTART_TEMPORARY || fastest(how) < (double)how->period_ns)
        return 0;
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.budget",
                        "%s: its delays alone outlast period_ns (%" PRIu64
                        " %s), so that %d restarts are "
                        "never within it and it is never given up; lengthen period_ns, shorten "
                        "the delays, or set on_exhausted to SLOW_RETRY",
                        name, period.count, period.unit, (int)how->restarts_max);
}

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t host_lint_stop_ns(const struct rapahub_supervision *how)
{
    uint64_t goodbye = how->goodbye_ns == RAPAHUB_NONE ? 0 : how->goodbye_ns;
    uint64_t term = how->term_ns == RAPAHUB_NONE ? 0 : how->term_ns;

    if (how->brutal)
        return 0;
    return add(how->drain_ns, add(goodbye, term));
}

/* r[impl supervise.lint.stop] */
static int check_stop(const char *name, const struct rapahub_supervision *how,
                      const struct rapahub_supervisor_options *parent)
{
    const struct rapahub_supervision *above = parent ? parent->supervision : NULL;
    uint64_t sum = host_lint_stop_ns(how), most = HOST_LINT_STOP_MAX;
    const char *whose = "the most there may be,";
    struct span taken = span_of(sum), left;

    if (above && (above->drain_ns || above->goodbye_ns || above->term_ns || above->brutal)) {
        most = host_lint_stop_ns(above);
        whose = "those of its supervisor,";
    }
    if (sum <= most)
        return 0;
    left = span_of(most);
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.stop",
                        "%s: drain_ns, goodbye_ns and term_ns make %" PRIu64
                        " %s, above %s %" PRIu64 " %s; shorten them",
                        name, taken.count, taken.unit, whose, left.count, left.unit);
}

/* r[impl supervise.lint.significant] */
static int check_significant(const char *name, const struct rapahub_supervision *how,
                             const struct rapahub_supervisor_options *parent)
{
    const char *why = NULL;

    if (!how->significant)
        return 0;
    if (how->restart == RAPAHUB_RESTART_PERMANENT)
        why = "permanent, so that it never ends; choose another restart";
    else if (!parent || parent->auto_shutdown == RAPAHUB_AUTO_SHUTDOWN_NEVER)
        why = "below a supervisor whose auto_shutdown is NEVER; choose another";
    if (!why)
        return 0;
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.significant",
                        "%s: is significant, and %s, or do not set `significant`", name, why);
}

/* r[impl supervise.lint.finish] */
static int check_finish(const char *name, const struct rapahub_supervision *how)
{
    const char *const *finish = how->finish;
    size_t count = 0;

    while (finish && count <= FINISH_MAX && finish[count])
        count++;
    if (!is_limit(how->finish_timeout_ns))
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.finish",
                            "%s: finish_timeout_ns is not from 10 ms to 24 hours; give it in "
                            "nanoseconds",
                            name);
    if (!finish || (count > 0 && count <= FINISH_MAX && finish[0][0] == '/'))
        return 0;
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.finish",
                        "%s: its finish command is not 1 to %d texts that begin with the absolute "
                        "path of a program; name one",
                        name, FINISH_MAX);
}

/* r[impl supervise.lint.lazy] */
static int check_lazy(const char *name, const struct rapahub_supervision *how)
{
    if (how->start != RAPAHUB_START_LAZY || how->when_down != RAPAHUB_WHEN_DOWN_FAIL)
        return 0;
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.lazy",
                        "%s: is LAZY, and the calls that would start it fail when it is down; "
                        "choose another when_down or start",
                        name);
}

int host_lint_child(const char *name, const struct rapahub_supervision *given,
                    const struct rapahub_supervisor_options *parent,
                    struct rapahub_supervision *out)
{
    static const struct rapahub_supervision none;
    struct rapahub_supervision how = given ? *given : none;
    int r;

    if (!is_zero(how.reserved))
        return refuse_reserved(name);
    fill_child(&how);
    r = check_values(name, &how);
    if (r == 0)
        r = check_limits(name, &how);
    if (r == 0)
        r = check_probes(name, &how);
    if (r == 0)
        r = check_backoff(name, &how);
    if (r == 0)
        r = check_budget(name, &how);
    if (r == 0)
        r = check_stop(name, &how, parent);
    if (r == 0)
        r = check_significant(name, &how, parent);
    if (r == 0)
        r = check_lazy(name, &how);
    if (r == 0)
        r = check_finish(name, &how);
    if (r == 0)
        *out = how;
    return r;
}

/* ---- a supervisor ---- */

static const char *wrong_with(const struct rapahub_supervisor_options *how)
{
    if ((unsigned)how->strategy > RAPAHUB_SIMPLE)
        return "strategy is none of RAPAHUB_ONE_FOR_ONE …";
    if ((unsigned)how->auto_shutdown > RAPAHUB_AUTO_SHUTDOWN_ALL_SIGNIFICANT)
        return "auto_shutdown is none of RAPAHUB_AUTO_SHUTDOWN_…";
    if (!is_budget(how->restarts_max, how->period_ns))
        return BUDGET_REFUSED;
    if ((unsigned)how->on_exhausted > RAPAHUB_EXHAUSTED_CALLBACK ||
        how->on_exhausted == RAPAHUB_EXHAUSTED_SLOW_RETRY)
        return "on_exhausted is none of PARK, ESCALATE, CALLBACK";
    return NULL;
}

/* Returns an option that is set although only processes have it, for a supervisor. */
static const char *of_a_process(const struct rapahub_supervision *how)
{
    const struct {
        const char *name;
        bool is_set;
    } members[] = {
        {"finish", how->finish != NULL},
        {"keep_fds", how->keep_fds != NULL},
        {"kill_mode", how->kill_mode != RAPAHUB_KILL_GROUP},
        {"oom_policy", how->oom_policy != RAPAHUB_OOM_RESTART},
        {"ready", how->ready != RAPAHUB_READY_MESSAGE},
        {"stall_ns", how->stall_ns != 0},
        {"overrun_ns", how->overrun_ns != 0},
        {"startup", how->startup.period_ns != 0},
        {"liveness", how->liveness.period_ns != 0},
        {"readiness", how->readiness.period_ns != 0},
        {"success_exit", how->success_exit != NULL},
        {"prevent_exit", how->prevent_exit != NULL},
        {"force_exit", how->force_exit != NULL},
    };

    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i].is_set)
            return members[i].name;
    return NULL;
}

/* r[impl supervise.lint.process] */
static int check_process(const char *name, const struct rapahub_supervision *how)
{
    const char *member = how ? of_a_process(how) : NULL;

    if (!member)
        return 0;
    return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.process",
                        "%s: is a supervisor, which has no process, and %s is set; set it for its "
                        "guests",
                        name, member);
}

int host_lint_supervisor(const struct rapahub_supervisor_options *given,
                         struct rapahub_supervisor_options *out)
{
    static const struct rapahub_supervisor_options none;
    struct rapahub_supervisor_options how = given ? *given : none;
    const char *name = how.name ? how.name : "supervisor", *wrong;
    bool alone = how.strategy == RAPAHUB_ONE_FOR_ONE || how.strategy == RAPAHUB_SIMPLE;
    int r;

    if (!is_zero(how.reserved))
        return refuse_reserved(name);
    wrong = wrong_with(&how);
    if (wrong)
        return rapahub_fail(RAPAHUB_EINVAL, "supervise.lint.values", "%s: %s; choose one that is",
                            name, wrong);
    if (how.restarts_max == 0 && !alone)
        how.restarts_max = HOST_DEFAULT_GROUP_RESTARTS;
    how.period_ns = or_default(how.period_ns, HOST_DEFAULT_S(PERIOD));
    if (how.on_exhausted == RAPAHUB_EXHAUSTED_DEFAULT)
        how.on_exhausted = RAPAHUB_EXHAUSTED_ESCALATE;
    r = check_process(name, how.supervision);
    if (r == 0)
        *out = how;
    return r;
}
