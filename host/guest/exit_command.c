/* SPDX-License-Identifier: Apache-2.0 */
#include "host/guest/exit_command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/guest/supervision.h"
#include "host/process/end.h"
#include "host/process/spawn.h"
#include "hub/base/clock.h"
#include "hub/base/own.h"
#include "hub/base/proof.h"

#define PROOF_WITHIN (5 * HUB_SECOND)
#define NOT_AGAIN    125 /* exit status: start no other life */
#define VARIABLES    4
#define VARIABLE_MAX 96

extern char **environ;

struct host_exit_command {
    struct host_guest *guest;
    char **arguments; /* ended by NULL */
    pid_t pid;
    int pidfd; /* -1: the command does not run */
    struct host_watch watch;
    struct host_timer timer;
    enum rapahub_exit_class class; /* the class of the ended life */
    struct hub_exit exit;
    bool known; /* `exit` is known */
    bool late;  /* the time for the end of this life and its command is over */
};

/* ---- the command ---- */

static size_t count_of(const char *const *list)
{
    size_t count = 0;

    while (list[count])
        count++;
    return count;
}

static void on_end(void *user, uint32_t events);
static void on_time(void *user);

int host_exit_command_create(struct host_guest *guest, const struct rapahub_supervision *how,
                             struct host_exit_command **out)
{
    OWN(host_exit_command) struct host_exit_command *finish = NULL;
    size_t count;

    if (!how || !how->finish)
        return 0;
    count = count_of(how->finish);
    finish = calloc(1, sizeof *finish);
    if (!finish)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a command");
    finish->guest = guest;
    finish->pidfd = finish->watch.fd = -1;
    finish->arguments = calloc(count + 1, sizeof *finish->arguments);
    if (!finish->arguments)
        return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a command");
    finish->watch.on = on_end;
    finish->watch.user = finish->timer.user = finish;
    finish->timer.on = on_time;
    for (size_t i = 0; i < count; i++)
        if (!(finish->arguments[i] = strdup(how->finish[i])))
            return rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for a command");
    *out = TAKE(finish);
    return 0;
}

/* ---- its environment ---- */

static const char *word_of(enum rapahub_exit_class class)
{
    static const char *const words[] = {
        [RAPAHUB_EXIT_CLEAN] = "clean",
        [RAPAHUB_EXIT_CODE] = "code",
        [RAPAHUB_EXIT_SIGNAL] = "signal",
        [RAPAHUB_EXIT_CORE] = "core",
        [RAPAHUB_EXIT_OOM] = "oom",
        [RAPAHUB_EXIT_START_TIMEOUT] = "start_timeout",
        [RAPAHUB_EXIT_STOP_TIMEOUT] = "stop_timeout",
        [RAPAHUB_EXIT_WATCHDOG] = "watchdog",
        [RAPAHUB_EXIT_PROTOCOL] = "protocol",
        [RAPAHUB_EXIT_LIMIT] = "limit",
        [RAPAHUB_EXIT_SPAWN] = "spawn",
        [RAPAHUB_EXIT_LOST] = "lost",
        [RAPAHUB_EXIT_LINK] = "link",
    };

    return (size_t) class < sizeof words / sizeof *words ? words[class] : "";
}

struct variables {
    char own[VARIABLES][VARIABLE_MAX];
    char **list; /* the host's variables, then its own; ended by NULL */
};

/* Code and signal are numbers. The variable without a value is empty. */
static void tell_end(const struct host_exit_command *finish, struct variables *out)
{
    bool exited = finish->known && finish->exit.code == CLD_EXITED;

    snprintf(out->own[0], VARIABLE_MAX, "RAPAHUB_NAME=%s", finish->guest->name);
    snprintf(out->own[1], VARIABLE_MAX, "RAPAHUB_CLASS=%s", word_of(finish->class));
    snprintf(out->own[2], VARIABLE_MAX, "RAPAHUB_CODE=");
    snprintf(out->own[3], VARIABLE_MAX, "RAPAHUB_SIGNAL=");
    if (finish->known)
        snprintf(out->own[exited ? 2 : 3], VARIABLE_MAX, "RAPAHUB_%s=%d",
                 exited ? "CODE" : "SIGNAL", finish->exit.status);
}

static bool make_variables(const struct host_exit_command *finish, struct variables *out)
{
    size_t count = 0, size = environ ? count_of((const char *const *)environ) : 0;

    out->list = calloc(size + VARIABLES + 1, sizeof *out->list);
    if (!out->list)
        return false;
    for (size_t i = 0; i < size; i++)
        if (strncmp(environ[i], "RAPAHUB_", strlen("RAPAHUB_")) != 0)
            out->list[count++] = environ[i];
    tell_end(finish, out);
    for (size_t i = 0; i < VARIABLES; i++)
        out->list[count++] = out->own[i];
    return true;
}

/* ---- its run ---- */

static int start(struct host_exit_command *finish)
{
    struct variables variables = {.list = NULL};
    struct host_spawned spawned = {.pidfd = -1};
    int r = make_variables(finish, &variables)
                ? host_spawn_command(finish->arguments, variables.list, &spawned)
                : rapahub_fail(RAPAHUB_ENOMEM, "", "no memory for an environment");

    free(variables.list);
    finish->pid = spawned.pid;
    finish->pidfd = spawned.pidfd;
    return r;
}

/* The command leads a session of its own. Its process id cannot be reused until its status is
 * read. */
static void kill_all(const struct host_exit_command *finish)
{
    struct hub_exit exit;

    if (hub_proof_of_death(finish->pidfd) && hub_proof_status(finish->pidfd, &exit) < 0)
        return;
    (void)kill(-finish->pid, SIGKILL);
}

/* Reaps the command. True if it ended with a status, which is then in *out. */
static bool take(struct host_exit_command *finish, struct hub_exit *out)
{
    bool taken;

    host_loop_clear(&finish->timer);
    host_loop_unwatch(&finish->guest->host->owner.loop, &finish->watch);
    kill_all(finish); /* ends what the command left running */
    taken = hub_proof_reap(finish->pidfd, out) == 0;
    hub_fd_release(&finish->pidfd);
    finish->watch.fd = -1;
    return taken;
}

static void on_end(void *user, uint32_t events)
{
    struct host_exit_command *finish = user;
    struct host_ending ending = {.class = finish->class,
                                 .exit = finish->known ? &finish->exit : NULL};
    struct hub_exit exit;

    (void)events;
    if (!hub_proof_of_death(finish->pidfd))
        return;
    ending.barred = take(finish, &exit) && exit.code == CLD_EXITED && exit.status == NOT_AGAIN;
    if (ending.barred)
        rapahub_log(RAPAHUB_LOG_WARN, "finish", "%s: its finish command says not to start it again",
                    finish->guest->name);
    host_supervision_exited(finish->guest, &ending);
}

static void on_time(void *user)
{
    struct host_exit_command *finish = user;

    rapahub_log(RAPAHUB_LOG_WARN, "finish", "%s: its finish command takes too long, and is killed",
                finish->guest->name);
    kill_all(finish);
}

/* The command does not run long before the loop watches it: if that fails, it is killed at once. */
static int watch(struct host_exit_command *finish)
{
    struct host_loop *loop = &finish->guest->host->owner.loop;
    struct hub_exit exit;
    int r;

    finish->watch.fd = finish->pidfd;
    r = host_loop_watch(loop, &finish->watch, EPOLLIN);
    if (r == 0) {
        host_loop_set(loop, &finish->timer,
                      hub_clock_after(finish->guest->supervision.finish_timeout_ns));
        return 0;
    }
    kill_all(finish);
    (void)hub_proof_wait(finish->pidfd, hub_clock_after(PROOF_WITHIN));
    (void)take(finish, &exit);
    return r;
}

/* The command is told the class that the tree will decide by: an exit status that counts as success
 * is CLEAN. */
static void take_end(struct host_exit_command *finish, const struct host_end *end)
{
    const struct host_guest *guest = finish->guest;

    finish->known = end->exit != NULL;
    if (finish->known)
        finish->exit = *end->exit;
    finish->class = end->class;
    (void)host_exits_judge(
        &host_machine_child(&HOST_SUPERVISION(guest->host)->machine, guest->child.node)->rules,
        end->exit, &finish->class);
}

/* r[impl supervise.finish] */
bool host_exit_command_begin(struct host_guest *guest, const struct host_end *end)
{
    struct host_exit_command *finish = guest->finish;
    bool late = finish && finish->late;
    int r;

    if (!finish || finish->pidfd >= 0 || end->class == RAPAHUB_EXIT_SPAWN)
        return false;
    finish->late = false;
    take_end(finish, end);
    r = late ? rapahub_fail(RAPAHUB_ETIMEDOUT, "", "the time for its stop is over") : start(finish);
    if (r == 0)
        r = watch(finish);
    if (r < 0) {
        rapahub_log(RAPAHUB_LOG_WARN, "finish", "%s: its finish command does not run: %s",
                    guest->name, rapahub_last_error()->text);
        return false;
    }
    host_supervision_leaving(guest, "its finish command runs");
    host_guest_show(guest, HOST_GUEST_STOPPING, false);
    return true;
}

void host_exit_command_kill(struct host_guest *guest)
{
    if (!guest->finish)
        return;
    if (guest->finish->pidfd >= 0)
        kill_all(guest->finish);
    else
        guest->finish->late = guest->life != NULL;
}

bool host_exit_command_runs(const struct host_guest *guest)
{
    return guest->finish && guest->finish->pidfd >= 0;
}

void host_exit_command_release(struct host_exit_command **pointer)
{
    struct host_exit_command *finish = *pointer;
    struct hub_exit exit;

    *pointer = NULL;
    if (!finish)
        return;
    if (finish->pidfd >= 0) {
        kill_all(finish);
        (void)hub_proof_wait(finish->pidfd, hub_clock_after(PROOF_WITHIN));
        (void)take(finish, &exit);
    }
    for (size_t i = 0; finish->arguments && finish->arguments[i]; i++)
        free(finish->arguments[i]);
    free(finish->arguments);
    free(finish);
}
