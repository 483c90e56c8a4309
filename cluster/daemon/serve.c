/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/daemon/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <rapahub/control.h>
#include <rapahub/error.h>
#include <rapahub/host.h>
#include <rapahub/log.h>
#include <rapahub/node.h>

#include "cluster/daemon/imports.h"
#include "cluster/daemon/process.h"
#include "cluster/daemon/report.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/base/proof.h"

#define TOPIC      "rapahubd"
#define SLICE      HUB_SECOND /* the longest wait; then it looks again */
#define PATH       128        /* bytes of a socket's */
#define TEXT       1024       /* bytes of a diagnosis */
#define GUESTS_MAX 512        /* that a host may have, those that were admitted among them */

enum end {
    END_NOT,
    END_ASKED,    /* by a signal or a client */
    END_ORDERLY,  /* the node has ended */
    END_NOW,      /* asked twice, or it cannot end in order */
    END_ABANDONED /* the warden is dead */
};

enum fd { FD_HOST, FD_NODE, FD_CONTROL, FD_SIGNALS, FD_WARDEN, FD_IMPORTS, FDS };

struct serving {
    const struct daemon_options *options;
    struct rapahub_host *host;
    struct rapahub_control *control;
    struct rapahub_node *node;
    struct daemon_imports imports;
    int signals;
    enum end end;
    int failure;          /* why it could not end in order; 0: it could */
    bool stops;           /* the node has begun to end */
    uint64_t deadline_ns; /* for that */
    uint64_t beat_ns;     /* when the warden heard last that the loop turns */
    int epoll;            /* the descriptors that are waited for */
    uint32_t readable;    /* a bit for each of them */
    pid_t importer;       /* its descriptor was added last */
    bool told;            /* the warden knows this life, and that this node leads: */
    char leader[160];     /* HOST:PORT; "": this one does */
};

/* ---- log ---- */

/* Each line is one write, so that those of several processes do not mix; it is also kept for
 * `rapahub logs`. */
static void keep_line(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    struct serving *serving = user;

    dprintf(STDERR_FILENO, "%s %.100s: %s\n", rapahub_log_level_name(level), topic, text);
    if (serving->control)
        rapahub_control_log(serving->control, level, topic, text);
}

/* ---- begin ---- */

static int open_signals(int *out)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &set, NULL); /* before any thread begins */
    *out = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return *out >= 0 ? 0 : rapahub_fail(-errno, "", "cannot wait for signals");
}

/* They were handed on without CLOEXEC, and guests are not to have them. */
static int take_ties(const struct daemon_options_ties *ties)
{
    const int fds[] = {ties->lock, ties->warden, ties->report};

    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] <= STDERR_FILENO || fcntl(fds[i], F_SETFD, FD_CLOEXEC) < 0)
            return rapahub_fail(RAPAHUB_ECONFIG, "",
                                "only the warden starts the daemon; start rapahubd without "
                                "--as-daemon");
    return hub_proof_of_death(ties->warden)
               ? rapahub_fail(RAPAHUB_EDIED, "", "the warden is dead already")
               : 0;
}

static int create_host(struct serving *serving)
{
    const struct daemon_settings *settings = &serving->options->settings;
    char program[DAEMON_PROCESS_PATH];
    const struct rapahub_host_options options = {.name = settings->name,
                                                 .guests_max = settings->guests,
                                                 .admitted_max = RAPAHUB_NODE_CLIENTS_MAX,
                                                 .payload_max = settings->payload,
                                                 .slot_size = settings->slot,
                                                 .slot_count = settings->slots,
                                                 .ring_size = settings->ring,
                                                 .var_bytes_max = settings->memory,
                                                 .cgroup = settings->cgroup,
                                                 .guest_program = program};
    int r = daemon_process_guest(program);

    return r == 0 ? rapahub_host_create(&options, &serving->host) : r;
}

static void ask_to_stop(void *user)
{
    struct serving *serving = user;

    if (serving->end == END_NOT)
        serving->end = END_ASKED;
}

static int open_control(struct serving *serving)
{
    const struct daemon_settings *settings = &serving->options->settings;
    char path[PATH];
    const struct rapahub_control_options options = {
        .path = path,
        .name = settings->name,
        .host = RAPAHUB_CONTROL_HOST(serving->host),
        .on_stop = ask_to_stop,
        .user = serving,
        .group = settings->group ? settings->members.name : NULL,
        .group_role = settings->members.role};

    snprintf(path, sizeof path, "%s/%s.sock", settings->run, settings->name);
    return rapahub_control_open(&options, &serving->control);
}

static int open_node(struct serving *serving)
{
    const struct daemon_settings *settings = &serving->options->settings;
    const struct rapahub_node_options options = {.data = settings->data,
                                                 .name = settings->name,
                                                 .run = settings->run,
                                                 .group = settings->group,
                                                 .listen = settings->listen,
                                                 .detection = settings->detection,
                                                 .guests_max = settings->guests,
                                                 .metastore = settings->metastore,
                                                 .metastore_tls = settings->metastore_tls,
                                                 .metastore_keep_ns = settings->keep_ns,
                                                 .lock_fd = serving->options->ties.lock,
                                                 .stop_fd = serving->signals};

    daemon_report_send(serving->options->ties.report, DAEMON_REPORT_STATUS, "reads its folder");
    return rapahub_node_open(serving->host, &options, &serving->node);
}

/* The warden can tell the node that leads of the death of this life from here on. Where another one
 * leads it is told anew. */
static void tell_life(struct serving *serving)
{
    struct daemon_report_life report = {.node = 0};
    struct rapahub_node_life life;

    rapahub_node_life(serving->node, &life);
    report.node = life.node;
    report.boot = life.boot;
    report.session = life.session;
    if (life.leader)
        snprintf(report.leader, sizeof report.leader, "%s", life.leader);
    if (serving->told && strcmp(report.leader, serving->leader) == 0)
        return;
    serving->told = true;
    memcpy(serving->leader, report.leader, sizeof serving->leader);
    daemon_report_send_life(serving->options->ties.report, &report);
}

static int open_all(struct serving *serving)
{
    int r = take_ties(&serving->options->ties);

    if (r == 0)
        r = open_signals(&serving->signals);
    if (r == 0)
        r = create_host(serving);
    if (r == 0)
        r = open_control(serving);
    if (r == 0)
        r = open_node(serving);
    if (r == 0)
        tell_life(serving);
    return r;
}

/* ---- the loop ---- */

static bool has(const struct serving *serving, enum fd fd)
{
    return (serving->readable & 1u << fd) != 0;
}

static int watch(const struct serving *serving, enum fd fd, int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = fd};

    return epoll_ctl(serving->epoll, EPOLL_CTL_ADD, descriptor, &event) < 0
               ? rapahub_fail(-errno, "", "cannot wait for a descriptor")
               : 0;
}

/* Each process that imports has a descriptor of its own, which leaves the others when it is closed.
 * Without it the end is noticed with the next slice. */
static void watch_importer(struct serving *serving)
{
    int fd = daemon_imports_fd(&serving->imports);

    if (fd < 0 || serving->imports.pid == serving->importer)
        return;
    serving->importer = serving->imports.pid;
    if (watch(serving, FD_IMPORTS, fd) < 0)
        rapahub_clear_error();
}

static int wait_ms(const struct serving *serving)
{
    uint64_t turn_ms = serving->options->ties.turn_ms, most = SLICE / HUB_MILLISECOND;

    return (int)(turn_ms > 0 && turn_ms < most ? turn_ms : most);
}

/* Returns how many descriptors are readable, if any is before the slice is over. */
static int wait_for_any(struct serving *serving)
{
    struct epoll_event events[FDS];
    int count;

    watch_importer(serving);
    count = epoll_wait(serving->epoll, events, FDS, wait_ms(serving));
    if (count < 0 && errno != EINTR)
        return rapahub_fail(-errno, "", "cannot wait");
    serving->readable = 0;
    for (int i = 0; i < count; i++)
        serving->readable |= 1u << events[i].data.u32;
    return count > 0 ? count : 0;
}

static void take_signals(struct serving *serving)
{
    struct signalfd_siginfo info;

    while (read(serving->signals, &info, sizeof info) == sizeof info)
        serving->end = serving->end == END_NOT ? END_ASKED : END_NOW;
}

static void on_stopped(void *user, int status, const void *result)
{
    struct serving *serving = user;

    (void)result;
    if (status < 0)
        rapahub_log(RAPAHUB_LOG_WARN, TOPIC, "the node has not ended in order: %s",
                    rapahub_last_error()->text);
    if (serving->end == END_ASKED)
        serving->end = END_ORDERLY;
}

/* A node that does not even begin to end is ended as if it had crashed. */
static void stop_node(struct serving *serving)
{
    serving->stops = true;
    serving->deadline_ns = hub_clock_after(serving->options->settings.stop_timeout_ns);
    daemon_report_send(serving->options->ties.report, DAEMON_REPORT_STOPPING, NULL);
    rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "ends: calls are held, last copies are made");
    serving->failure = rapahub_node_stop(serving->node, on_stopped, serving);
    if (serving->failure < 0)
        serving->end = END_NOW;
}

/* The descriptor is a hint, as each is; the proof is looked at only then.
 * r[impl cluster.warden.death] */
static void look_at_end(struct serving *serving)
{
    if (has(serving, FD_WARDEN) && hub_proof_of_death(serving->options->ties.warden)) {
        serving->end = END_ABANDONED;
        serving->failure =
            rapahub_fail(RAPAHUB_EDIED, "", "the warden is dead: all guests are ended");
    } else if (serving->end == END_ASKED && !serving->stops) {
        stop_node(serving);
    } else if (serving->end == END_ASKED && hub_clock_left(serving->deadline_ns) == 0) {
        serving->end = END_NOW;
        serving->failure = rapahub_fail(RAPAHUB_ETIMEDOUT, "",
                                        "not all has ended within stop_timeout, and is killed");
    }
}

/* The warden ends too: the daemon has ended in order. r[impl cluster.leave.ends] */
static void look_at_leave(struct serving *serving)
{
    if (serving->end != END_NOT || !rapahub_node_leaves(serving->node))
        return;
    rapahub_log(RAPAHUB_LOG_INFO, TOPIC,
                "this node is to leave the cluster: its containers begin elsewhere");
    serving->end = END_ASKED;
}

static void beat(struct serving *serving)
{
    const struct daemon_options_ties *ties = &serving->options->ties;
    uint64_t now_ns = hub_clock_now();

    if (ties->turn_ms == 0 || now_ns - serving->beat_ns < ties->turn_ms * HUB_MILLISECOND)
        return;
    serving->beat_ns = now_ns;
    daemon_report_send(ties->report, DAEMON_REPORT_TURN, NULL);
}

/* Each is dispatched when its descriptor is readable, and all of them now and then. */
static int dispatch(struct serving *serving, bool all)
{
    int r = 0;

    if (all || has(serving, FD_HOST))
        r = rapahub_host_dispatch(serving->host, 0);
    if (r >= 0)
        r = all || has(serving, FD_NODE) ? rapahub_node_dispatch(serving->node)
                                         : rapahub_node_settle(serving->node);
    return r;
}

static int turn(struct serving *serving)
{
    int r = wait_for_any(serving);

    if (r < 0)
        return r;
    if (has(serving, FD_SIGNALS))
        take_signals(serving);
    r = dispatch(serving, r == 0);
    if (r >= 0 && has(serving, FD_CONTROL))
        r = rapahub_control_dispatch(serving->control);
    daemon_imports_step(&serving->imports);
    look_at_leave(serving);
    tell_life(serving);
    look_at_end(serving);
    beat(serving);
    return r < 0 ? r : 0;
}

static void begin_imports(struct serving *serving)
{
    const struct daemon_settings *settings = &serving->options->settings;
    char path[PATH];

    snprintf(path, sizeof path, "%s/%s.node", settings->run, settings->name);
    daemon_imports_begin(&serving->imports, settings->data, path);
}

static int gather(struct serving *serving)
{
    int r;

    serving->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (serving->epoll < 0)
        return rapahub_fail(-errno, "", "cannot wait for descriptors");
    r = watch(serving, FD_HOST, rapahub_host_fd(serving->host));
    if (r == 0)
        r = watch(serving, FD_NODE, rapahub_node_fd(serving->node));
    if (r == 0)
        r = watch(serving, FD_CONTROL, rapahub_control_fd(serving->control));
    if (r == 0)
        r = watch(serving, FD_SIGNALS, serving->signals);
    return r == 0 ? watch(serving, FD_WARDEN, serving->options->ties.warden) : r;
}

static int loop(struct serving *serving)
{
    int r = gather(serving);

    if (r < 0)
        return r;
    daemon_report_send(serving->options->ties.report, DAEMON_REPORT_READY, NULL);
    rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "serves '%s' as %s", serving->options->settings.data,
                serving->options->settings.name);
    begin_imports(serving);
    while (r == 0 && (serving->end == END_NOT || serving->end == END_ASKED))
        r = turn(serving);
    return r < 0 ? r : serving->failure;
}

/* ---- end ---- */

struct living {
    struct rapahub_guest_id guests[GUESTS_MAX];
    uint32_t count;
};

static void keep_guest(void *user, const struct rapahub_guest_status *status)
{
    struct living *living = user;

    if (status->pid > 0 && living->count < GUESTS_MAX)
        living->guests[living->count++] = status->guest;
}

/* A guest that is not asked does not hold up the end; the end of the host waits for each. They are
 * killed after the visit, in which the host allows nothing but calls. */
static void kill_guests(struct serving *serving)
{
    struct living living = {.count = 0};

    if (serving->host && rapahub_host_guests(serving->host, keep_guest, &living) < 0)
        rapahub_clear_error();
    for (uint32_t i = 0; i < living.count; i++)
        if (rapahub_host_kill(serving->host, living.guests[i]) < 0)
            rapahub_clear_error();
}

static void close_all(struct serving *serving)
{
    struct rapahub_control *control = serving->control;

    daemon_imports_end(&serving->imports);
    if (serving->end == END_NOW || serving->end == END_ABANDONED)
        kill_guests(serving);
    rapahub_node_close(serving->node);
    serving->control = NULL; /* no line for it from here on */
    rapahub_control_close(control);
    rapahub_host_destroy(serving->host);
    hub_fd_release(&serving->signals);
    hub_fd_release(&serving->epoll);
    rapahub_log_to(NULL, NULL, serving->options->settings.level);
}

/* The end makes diagnoses of its own; that of the failure is what is told. */
static int close_after(struct serving *serving, int r)
{
    const struct rapahub_diagnosis *last = rapahub_last_error();
    const char *rule = last->rule;
    char text[TEXT];

    snprintf(text, sizeof text, "%s", last->code == r ? last->text : rapahub_error_text(r));
    close_all(serving);
    return r < 0 ? rapahub_fail(r, rule, "%s", text) : 0;
}

/* A signal came while the node waited for its seat. */
static int end_early(void)
{
    rapahub_log(RAPAHUB_LOG_INFO, TOPIC, "ends: %s", rapahub_last_error()->text);
    return 0;
}

int daemon_serve_run(const struct daemon_options *options)
{
    struct serving serving = {
        .options = options, .signals = -1, .epoll = -1, .imports = {.pidfd = -1, .output = -1}};
    int r;

    rapahub_log_to(keep_line, &serving, options->settings.level);
    r = open_all(&serving);
    if (r == 0)
        r = loop(&serving);
    else if (r == RAPAHUB_ECANCELED)
        r = end_early();
    return close_after(&serving, r);
}
