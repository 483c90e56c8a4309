/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/warden.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/daemon/children.h"
#include "cluster/daemon/death_notice.h"
#include "cluster/daemon/folders.h"
#include "cluster/daemon/process.h"
#include "cluster/daemon/report.h"
#include "cluster/daemon/restarts.h"
#include "host/config/units.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"

#define TOPIC        "warden"
#define SLICE        HUB_SECOND              /* the longest wait; then it looks again */
#define AGAIN        (100 * HUB_MILLISECOND) /* children that live are killed again */
#define SLOW         (5 * HUB_SECOND)        /* children that live for so long are told */
#define START_MOST   (90 * HUB_SECOND) /* the service manager hears so long that a daemon begins */
#define REPORTS_TURN 64                /* taken in one turn */
#define BEATS        4                 /* within the watchdog's time */
#define BEAT_LEAST   (10 * HUB_MILLISECOND)
#define BEAT_MOST    (10 * HUB_SECOND)

struct warden {
    const struct daemon_options *options;
    struct daemon_notify notify;
    struct daemon_restarts restarts;
    struct daemon_death_notice death;
    int lock, self, signals; /* self: the pidfd of this process */
    /* the daemon; -1: there is none */
    pid_t pid;
    int pidfd, report;
    uint64_t begun_ns;
    uint64_t cleared_ns, told_ns; /* CLEARING: since when; when it was told last */
    uint64_t beat_ns;             /* when the service manager was told last that all is well */
};

/* ---- what is told ---- */

static void tell_death(const struct warden *warden, const struct hub_exit *how, uint64_t now_ns)
{
    bool exited = how->code == CLD_EXITED;

    rapahub_log(exited && how->status == 0 ? RAPAHUB_LOG_INFO : RAPAHUB_LOG_WARN, TOPIC,
                "rapahubd (process %d) has ended: %s %d, after %s", (int)warden->pid,
                exited ? "status" : "signal", how->status, SPAN_TEXT(now_ns - warden->begun_ns));
}

static void tell_plan(const struct warden *warden, uint64_t now_ns)
{
    const struct daemon_restarts *restarts = &warden->restarts;
    uint64_t delay = restarts->due_ns > now_ns ? restarts->due_ns - now_ns : 0;

    if (restarts->alarm)
        rapahub_log(RAPAHUB_LOG_ERROR, TOPIC,
                    "ALARM: rapahubd died %" PRIu32 " times within %s, each soon after its start; "
                    "it is tried again every %s: look at its lines above",
                    restarts->count, SPAN_TEXT(restarts->options.period_ns),
                    SPAN_TEXT(restarts->options.backoff_max_ns));
    else
        rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "rapahubd is started again %s%s",
                    delay > 0 ? "in " : "now", delay > 0 ? SPAN_TEXT(delay) : "");
    daemon_notify_send(&warden->notify, "STATUS=rapahubd died; it is started again%s",
                       restarts->alarm ? ", and has died often" : "");
}

/* How often the service manager is told that all is well; 0: never. */
static uint64_t beat_of(const struct warden *warden)
{
    uint64_t span = warden->notify.watchdog_ns / BEATS;

    if (warden->notify.watchdog_ns == 0)
        return 0;
    span = span < BEAT_MOST ? span : BEAT_MOST;
    return span > BEAT_LEAST ? span : BEAT_LEAST;
}

/* ---- the life of a daemon ---- */

static void forget_daemon(struct warden *warden)
{
    hub_fd_release(&warden->pidfd);
    hub_fd_release(&warden->report);
    warden->pidfd = warden->report = -1;
    warden->pid = 0;
}

static int make_daemon(struct warden *warden, int report)
{
    const struct daemon_options_ties ties = {.lock = warden->lock,
                                             .warden = warden->self,
                                             .report = report,
                                             .turn_ms =
                                                 (uint32_t)(beat_of(warden) / HUB_MILLISECOND)};
    const int fds[DAEMON_PROCESS_FDS] = {ties.lock, ties.warden, ties.report};
    char **arguments;
    int r = daemon_options_arguments(warden->options, DAEMON_OPTIONS_DAEMON, &ties, &arguments);

    if (r < 0)
        return r;
    r = daemon_process_start(arguments, fds, &warden->pid, &warden->pidfd);
    daemon_options_drop(arguments);
    return r;
}

static void start_daemon(struct warden *warden)
{
    int ends[2] = {-1, -1};
    int r = daemon_report_open(ends);

    if (r == 0)
        r = make_daemon(warden, ends[1]);
    hub_fd_release(&ends[1]);
    warden->report = ends[0];
    warden->begun_ns = hub_clock_now();
    if (r == 0) {
        daemon_restarts_on_begun(&warden->restarts);
        return;
    }
    rapahub_log(RAPAHUB_LOG_ERROR, TOPIC, "%s", rapahub_last_error()->text);
    warden->pidfd = -1;
    forget_daemon(warden);
    daemon_restarts_on_failed(&warden->restarts, warden->begun_ns);
    tell_plan(warden, warden->begun_ns);
}

static void take_death(struct warden *warden)
{
    uint64_t now_ns = hub_clock_now();
    struct hub_exit how;

    if (hub_proof_reap(warden->pidfd, &how) < 0)
        return; /* a tracer has its status yet; the next look may get it */
    tell_death(warden, &how, now_ns);
    forget_daemon(warden);
    (void)daemon_restarts_on_died(&warden->restarts, &how, now_ns);
    warden->cleared_ns = warden->told_ns = now_ns;
    if (!warden->restarts.ends)
        tell_plan(warden, now_ns);
}

/* ---- reports ---- */

static void take_report(struct warden *warden, const struct daemon_report *report)
{
    switch (report->kind) {
    case DAEMON_REPORT_READY:
        daemon_restarts_on_ready(&warden->restarts, hub_clock_now());
        daemon_notify_send(&warden->notify, "READY=1\nMAINPID=%d\nSTATUS=serves", (int)getpid());
        break;
    case DAEMON_REPORT_TURN:
        warden->beat_ns = hub_clock_now();
        daemon_notify_send(&warden->notify, "WATCHDOG=1");
        break;
    case DAEMON_REPORT_STOPPING:
        daemon_notify_send(&warden->notify, "STOPPING=1\nSTATUS=ends");
        break;
    case DAEMON_REPORT_STATUS:
        daemon_notify_send(&warden->notify, "STATUS=%s", report->text);
        break;
    case DAEMON_REPORT_LIFE:
        warden->death.life = report->life;
        break;
    }
}

/* An end of it is no proof of anything. */
static void take_reports(struct warden *warden)
{
    struct daemon_report report;

    for (unsigned i = 0; i < REPORTS_TURN && warden->report >= 0; i++) {
        int r = daemon_report_take(warden->report, &report);

        if (r == 0)
            return;
        if (r < 0)
            hub_fd_release(&warden->report);
        else
            take_report(warden, &report);
    }
}

/* While no daemon serves, the service manager hears from the warden itself; of a daemon that begins
 * for so long only as any start may take. */
static void beat(struct warden *warden, uint64_t now_ns)
{
    uint64_t most = beat_of(warden);
    uint32_t state = warden->restarts.state;
    bool alone = state == DAEMON_RESTARTS_WAITING || state == DAEMON_RESTARTS_CLEARING ||
                 (state == DAEMON_RESTARTS_STARTING && now_ns - warden->begun_ns < START_MOST);

    if (most == 0 || !alone || now_ns - warden->beat_ns < most)
        return;
    warden->beat_ns = now_ns;
    daemon_notify_send(&warden->notify, "WATCHDOG=1");
}

/* ---- ends ---- */

/* A daemon that has ended in order has said so itself. */
static void tell_others(struct warden *warden)
{
    const struct daemon_restarts *restarts = &warden->restarts;

    if (restarts->ends && restarts->status == 0)
        return;
    daemon_death_notice_begin(&warden->death, warden->options->settings.data,
                              restarts->ends || restarts->alarm);
}

/* Each death may leave orphans to this process, so children are killed until none is left.
 */
static void clear(struct warden *warden, uint64_t now_ns)
{
    int count = daemon_children_kill();

    if (!daemon_children_reap(0)) {
        (void)daemon_restarts_on_cleared(&warden->restarts);
        tell_others(warden);
        return;
    }
    if (now_ns - warden->told_ns < SLOW)
        return;
    warden->told_ns = now_ns;
    rapahub_log(RAPAHUB_LOG_ERROR, TOPIC, "%d processes do not end, %s after SIGKILL", count,
                SPAN_TEXT(now_ns - warden->cleared_ns));
}

/* r[impl cluster.warden.signals] */
static void take_signal(struct warden *warden, int number)
{
    if (number == SIGCHLD)
        return;
    rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "SIG%s: rapahubd is asked to end",
                sigabbrev_np(number) ? sigabbrev_np(number) : "?");
    if (daemon_restarts_on_stop(&warden->restarts) == DAEMON_RESTARTS_FORWARD)
        (void)pidfd_send_signal(warden->pidfd, number, NULL, 0);
}

static void take_signals(struct warden *warden)
{
    struct signalfd_siginfo info;

    while (read(warden->signals, &info, sizeof info) == sizeof info)
        take_signal(warden, (int)info.ssi_signo);
}

/* ---- the loop ---- */

static uint64_t wait_of(const struct warden *warden, uint64_t now_ns)
{
    uint64_t wait = SLICE, beat = beat_of(warden);

    if (daemon_death_notice_holds(&warden->death, now_ns))
        return AGAIN;
    if (warden->restarts.state == DAEMON_RESTARTS_CLEARING)
        wait = AGAIN;
    if (warden->restarts.state == DAEMON_RESTARTS_WAITING)
        wait = warden->restarts.due_ns > now_ns ? warden->restarts.due_ns - now_ns : 0;
    wait = wait < SLICE ? wait : SLICE;
    return beat > 0 && beat < wait ? beat : wait;
}

/* Reports come before the death, so that a daemon which was READY counts as that. */
static void turn(struct warden *warden)
{
    struct pollfd fds[] = {{.fd = warden->signals, .events = POLLIN},
                           {.fd = warden->pidfd, .events = POLLIN},
                           {.fd = warden->report, .events = POLLIN},
                           {.fd = warden->death.pidfd, .events = POLLIN}};
    uint64_t now_ns = hub_clock_now();

    (void)poll(fds, 4, hub_clock_left_ms(now_ns + wait_of(warden, now_ns), 10000));
    take_signals(warden);
    take_reports(warden);
    daemon_death_notice_look(&warden->death);
    if (warden->pidfd >= 0 && hub_proof_of_death(warden->pidfd))
        take_death(warden);
    now_ns = hub_clock_now();
    if (warden->restarts.state == DAEMON_RESTARTS_CLEARING)
        clear(warden, now_ns);
    else
        (void)daemon_children_reap(warden->pid);
    beat(warden, now_ns);
}

static int run(struct warden *warden)
{
    for (;;) {
        uint64_t now_ns = hub_clock_now();

        if (daemon_death_notice_holds(&warden->death, now_ns)) {
            turn(warden);
            continue;
        }
        switch (daemon_restarts_next(&warden->restarts, now_ns)) {
        case DAEMON_RESTARTS_END:
            return warden->restarts.status;
        case DAEMON_RESTARTS_START:
            start_daemon(warden);
            break;
        default:
            turn(warden);
        }
    }
}

/* ---- begin ---- */

static int open_signals(int *out)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    *out = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return *out >= 0 ? 0 : rapahub_fail(-errno, "", "cannot wait for signals");
}

static int open_warden(struct warden *warden)
{
    const struct daemon_settings *settings = &warden->options->settings;
    int r = open_signals(&warden->signals);

    if (r == 0)
        r = daemon_children_adopt();
    if (r == 0)
        r = daemon_folders_make_run(settings->run, settings->group != NULL);
    if (r == 0)
        r = daemon_folders_lock(settings->data, &warden->lock);
    if (r < 0)
        return r;
    warden->self = hub_proof_open(getpid());
    return warden->self >= 0 ? 0
                             : rapahub_fail(warden->self, "", "cannot watch processes: %s",
                                            strerrordesc_np(-warden->self));
}

static void close_warden(struct warden *warden)
{
    daemon_death_notice_end(&warden->death);
    forget_daemon(warden);
    daemon_notify_close(&warden->notify);
    hub_fd_release(&warden->self);
    hub_fd_release(&warden->signals);
    hub_fd_release(&warden->lock);
}

int daemon_warden_run(const struct daemon_options *options, const struct daemon_notify_given *given)
{
    const struct daemon_settings *settings = &options->settings;
    const struct daemon_restarts_options how = {.reset_after_ns = settings->reset_after_ns,
                                                .period_ns = settings->period_ns,
                                                .backoff_initial_ns = settings->backoff_initial_ns,
                                                .backoff_max_ns = settings->backoff_max_ns,
                                                .deaths_max = settings->deaths_max};
    struct warden warden = {
        .options = options, .lock = -1, .self = -1, .signals = -1, .pidfd = -1, .report = -1};
    int r;

    if (daemon_notify_open(given, getpid(), &warden.notify) < 0)
        rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "%s", rapahub_last_error()->text);
    daemon_death_notice_init(&warden.death);
    daemon_restarts_init(&warden.restarts, &how, hub_clock_now());
    r = open_warden(&warden);
    if (r == 0) {
        r = run(&warden);
        daemon_folders_clean_run(settings->run, settings->name);
    }
    close_warden(&warden);
    return r;
}
