/* SPDX-License-Identifier: Apache-2.0 */
#include "host/lives/launch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "host/call/streaming.h"
#include "host/lives/endpoint.h"
#include "host/observe/observe.h"
#include "host/process/confinement.h"
#include "host/process/fd_store.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/base/proof.h"
#include "hub/base/rlimit.h"
#include "hub/shm/doorbell.h"
#include "hub/shm/fd_store.h"
#include "hub/wire/ticket.h"

#define PROOF_WITHIN (5 * HUB_SECOND)

/* The descriptor numbers that a guest knows. */
enum {
    FD_INPUT,
    FD_OUTPUT,
    FD_ERROR,
    FD_SEGMENT,
    FD_DOORBELL,
    FD_MODULE,
    FD_ORDINARY,
    FD_KEEP = 8, /* stored descriptors follow */
    FD_KEPT
};

extern char **environ;

_Static_assert(FD_KEPT + HUB_FD_STORE_NAMES_MAX == HOST_SPAWN_DESCRIPTORS, "room for all of them");

/* Needed for the start only. The child has its own copies. */
struct launch {
    int input, output[2], doorbell, keep; /* the child's ends */
    int cgroup;                           /* to enter; -1: none */
    char **arguments;
    char **environment; /* the strings are the host's own */
};

static void fini(struct launch *launch)
{
    hub_fd_release(&launch->input);
    hub_fd_release(&launch->output[0]);
    hub_fd_release(&launch->output[1]);
    hub_fd_release(&launch->doorbell);
    hub_fd_release(&launch->cgroup);
    hub_fd_release(&launch->keep);
    for (size_t i = 0; launch->arguments && launch->arguments[i]; i++)
        free(launch->arguments[i]);
    free(launch->arguments);
    free(launch->environment);
}

/* ---- arguments ---- */

static size_t count_of(char *const *list)
{
    size_t count = 0;

    while (list && list[count])
        count++;
    return count;
}

static char *join(const char *name, const char *value)
{
    char *text = malloc(strlen(name) + strlen(value) + 1);

    if (text)
        stpcpy(stpcpy(text, name), value);
    return text;
}

static int make_arguments(const struct host_guest *guest, const struct host_life *life,
                          struct launch *launch)
{
    const struct hub_ticket ticket = {
        .hub_path =
            life->segment.trusted ? life->segment.group->segment->mapping.path : "/proc/self/fd/3",
        .peer = life->id.peer,
        .doorbell = FD_DOORBELL,
        .module = FD_MODULE,
        .name = guest->module.chimod,
        .waiting = guest->host->options.waiting,
    };
    size_t plain = count_of(guest->module.plain), at;
    char **list = calloc(plain + HUB_TICKET_ARGUMENTS + HOST_FD_STORE_ARGUMENTS + 2, sizeof *list);
    int r;

    launch->arguments = list;
    if (!list || !(list[0] = strdup(guest->host->options.guest_program)))
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a ticket");
    r = hub_ticket_print(&ticket, list + 1);
    if (r < 0)
        return r;
    at = count_of(list);
    for (size_t i = 0; i < plain; i++)
        if (!(list[at + i] = join("--plain=", guest->module.plain[i])))
            return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a ticket");
    return host_fd_store_arguments(guest->keep, (struct host_fd_store_numbers){FD_KEEP, FD_KEPT},
                                   list + at + plain);
}

/* ---- environment ---- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_passed(const char *variable, bool trusted)
{
    static const char *const few[] = {"PATH=", "LANG=", "TZ="};

    for (size_t i = 0; !trusted && i < sizeof few / sizeof *few; i++)
        if (begins(variable, few[i]))
            return true;
    return trusted && !begins(variable, "LD_") && !begins(variable, "GLIBC_TUNABLES=") &&
           !begins(variable, "RAPAHUB_");
}

static int make_environment(bool trusted, struct launch *launch)
{
    size_t count = 0;

    launch->environment = calloc(count_of(environ) + 1, sizeof *launch->environment);
    if (!launch->environment)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an environment");
    for (size_t i = 0; environ && environ[i]; i++)
        if (is_passed(environ[i], trusted))
            launch->environment[count++] = environ[i];
    return 0;
}

/* ---- memory and descriptors ---- */

/* r[impl shm.doorbell.socketpair] */
static int make_descriptors(struct host_life *life, struct launch *launch)
{
    int r = hub_doorbell_create(&life->doorbell.fd, &launch->doorbell);

    if (r < 0)
        return r;
    r = host_output_open(&life->process.output, life->loop, launch->output);
    if (r == 0)
        r = host_fd_store_open(life, &launch->keep);
    if (r < 0)
        return r;
    launch->input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (launch->input < 0)
        return rapahub_fail(-errno, "", "cannot open /dev/null");
    return 0;
}

static int enter_cgroup(struct host_guest *guest, struct host_life *life, struct launch *launch)
{
    int r = host_confinement_enter(guest, life);

    if (r < 0 || !life->process.cgroup.open)
        return r;
    launch->cgroup = host_cgroup_door(&life->process.cgroup);
    return launch->cgroup < 0 ? launch->cgroup : 0;
}

static void number_descriptors(const struct host_guest *guest, const struct host_life *life,
                               const struct launch *launch, struct host_spawn_order *order)
{
    for (int i = 0; i < HOST_SPAWN_DESCRIPTORS; i++)
        order->descriptors[i] = -1;
    order->descriptors[FD_INPUT] = launch->input;
    order->descriptors[FD_OUTPUT] = launch->output[0];
    order->descriptors[FD_ERROR] = launch->output[1];
    order->descriptors[FD_SEGMENT] =
        life->segment.trusted ? -1 : life->segment.group->segment->mapping.fd;
    order->descriptors[FD_DOORBELL] = launch->doorbell;
    order->descriptors[FD_MODULE] = guest->module.fd;
    order->descriptors[FD_KEEP] = launch->keep;
    order->count = FD_ORDINARY;
    if (launch->keep >= 0)
        order->count =
            FD_KEPT + (int)host_fd_store_descriptors(guest->keep, order->descriptors + FD_KEPT);
}

/* r[impl hub.spawn.fds] r[impl shm.spawn.ticket] */
static int start(struct host_guest *guest, struct host_life *life, const struct launch *launch)
{
    struct host_observe *host = HOST_OBSERVE(guest->host);
    struct host_spawn_order order = {
        .program = HOST_PROCESS(host)->options.guest_program,
        .arguments = launch->arguments,
        .environment = launch->environment,
        .no_new_privs = !life->segment.trusted,
        .limits = &guest->limits,
        .confined = life->process.cgroup.open,
        .cgroup = launch->cgroup,
    };
    struct host_spawned spawned;
    int r = HOST_PROCESS(host)->spawner ? 0 : host_spawn_open(&HOST_PROCESS(host)->spawner);

    if (r < 0)
        return r;
    number_descriptors(guest, life, launch, &order);
    r = host_spawn(HOST_PROCESS(host)->spawner, &order, &spawned);
    if (r < 0) {
        guest->failure.step = spawned.step;
        return r;
    }
    life->process.pid = spawned.pid;
    life->process.pidfd = spawned.pidfd;
    life->born_ns = hub_clock_now();
    host_pulse_forgive(&life->pulse, life->born_ns);
    return 0;
}

static int watch(struct host_life *life)
{
    int r;

    life->process.on_death = (struct host_watch){
        life->process.pidfd, HOST_SUPERVISION(life->host)->hooks->lives.on_pidfd, life, 0};
    r = host_loop_watch(life->loop, &life->process.on_death, EPOLLIN);
    if (r == 0)
        r = host_endpoint_watch(life);
    if (r == 0)
        r = host_fd_store_watch(life);
    return r == 0 ? host_output_watch(&life->process.output) : r;
}

/* Notes the step that failed, unless a more exact one is known. */
static int at(struct host_guest_failure *failure, const char *step, int r)
{
    if (r < 0 && !failure->step)
        failure->step = step;
    return r;
}

static int build(struct host_guest *guest, struct host_life *life, struct launch *launch)
{
    struct host_guest_failure *failure = &guest->failure;
    int r = at(failure, "segment", host_endpoint_enter(guest, life));

    if (r == 0)
        r = at(failure, "descriptors", make_descriptors(life, launch));
    if (r == 0)
        r = at(failure, "arguments", make_arguments(guest, life, launch));
    if (r == 0)
        r = at(failure, "environment", make_environment(life->segment.trusted, launch));
    if (r == 0)
        r = at(failure, "cgroup", enter_cgroup(guest, life, launch));
    if (r == 0)
        r = at(failure, "spawn", start(guest, life, launch));
    if (r == 0)
        r = at(failure, "link", host_streaming_connect(HOST_CALL(guest->host), life));
    return r == 0 ? at(failure, "watch", watch(life)) : r;
}

/* A child whose link could not be opened is of no use. */
static void undo(struct host_life *life)
{
    if (life->process.pidfd >= 0) {
        host_life_kill(life, HOST_CAUSE_SPAWN);
        if (hub_proof_wait(life->process.pidfd, hub_clock_after(PROOF_WITHIN)) < 0) {
            rapahub_log(RAPAHUB_LOG_ERROR, "launch", "pid %d does not die", (int)life->process.pid);
            return; /* memory that it may still touch is never freed */
        }
    }
    host_life_release(&life);
}

int host_launch(struct host_guest *guest, struct host_life **out)
{
    struct launch launch = {
        .input = -1, .output = {-1, -1}, .doorbell = -1, .keep = -1, .cgroup = -1};
    struct host_life *life = host_life_create(guest, &guest->host->owner.loop);
    int r;

    if (!life)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a guest's process");
    guest->failure.step = NULL;
    life->incarnation = guest->child.incarnation;
    life->host = guest->host;
    life->segment.trusted = guest->trust == RAPAHUB_TRUST_TRUSTED;
    life->segment.waiting = (enum hub_wait_manner)guest->host->options.waiting;
    memcpy(life->name, guest->name, sizeof life->name);
    r = build(guest, life, &launch);
    fini(&launch);
    if (r < 0) {
        if (r != RAPAHUB_EAGAIN) /* the spawner tells which of several causes this is */
            hub_rlimit_explain(r, HOST_GUEST_DESCRIPTORS);
        undo(life);
        return r;
    }
    *out = life;
    return 0;
}
