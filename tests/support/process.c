/* SPDX-License-Identifier: Apache-2.0 */
/* process: posix_spawn, three pipes and a pidfd in one poll. */
#include "tests/support/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/base/clock.h"
#include "tests/support/pause.h"

#define WITHIN_NS (30 * HUB_SECOND)
#define GRACE_NS  (5 * HUB_SECOND) /* limit for a process after SIGKILL */

extern char **environ;

bool process_possible(void)
{
    int fd = pidfd_open(getpid(), 0);

    if (fd < 0) {
        fputs("no pidfds here: tests with processes are skipped\n", stderr);
        return false;
    }
    close(fd);
    return true;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void *must(void *memory)
{
    if (!memory) {
        fputs("process: no memory\n", stderr);
        abort();
    }
    return memory;
}

static bool names(const char *const *variables, const char *variable)
{
    size_t size = strcspn(variable, "=") + 1;

    for (; variables && *variables; variables++)
        if (strncmp(*variables, variable, size) == 0)
            return true;
    return false;
}

/* Returns the environment of this process, with `more` replacing variables of the same names. */
static char **environment(const char *const *more)
{
    size_t count = 0, size = 1;
    char **all;

    for (char **at = environ; *at; at++)
        size++;
    for (const char *const *at = more; at && *at; at++)
        size++;
    all = must(calloc(size, sizeof(*all)));
    for (char **at = environ; *at; at++)
        if (!names(more, *at))
            all[count++] = must(strdup(*at));
    for (; more && *more; more++)
        all[count++] = must(strdup(*more));
    return all;
}

static void free_all(char **list)
{
    for (char **at = list; *at; at++)
        free(*at);
    free(list);
}

struct ends {
    int ours, theirs;
};

/* Both ends are CLOEXEC; the program gets its end by number. stdin is a socket, so that a program
 * that does not read it causes EPIPE and no signal. */
static int open_ends(struct ends *ends, bool to_program)
{
    int pair[2];
    int r = to_program ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)
                       : pipe2(pair, O_CLOEXEC);

    if (r < 0)
        return -errno;
    ends->ours = pair[0];
    ends->theirs = pair[1];
    fcntl(ends->ours, F_SETFL, O_NONBLOCK);
    return 0;
}

struct launch {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    struct ends in, out, err;
};

static void launch_fini(struct launch *launch)
{
    posix_spawn_file_actions_destroy(&launch->actions);
    posix_spawnattr_destroy(&launch->attributes);
    close_end(&launch->in.theirs);
    close_end(&launch->out.theirs);
    close_end(&launch->err.theirs);
}

static int launch_init(struct launch *launch, const struct process_options *options)
{
    sigset_t none, common;
    int r = 0;

    *launch = (struct launch){.in = {-1, -1}, .out = {-1, -1}, .err = {-1, -1}};
    posix_spawn_file_actions_init(&launch->actions);
    posix_spawnattr_init(&launch->attributes);
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&launch->attributes, &none);
    /* A shell starts a test in its background with SIGINT ignored, and so would the program be. */
    sigemptyset(&common);
    sigaddset(&common, SIGHUP);
    sigaddset(&common, SIGINT);
    sigaddset(&common, SIGQUIT);
    sigaddset(&common, SIGTERM);
    posix_spawnattr_setsigdefault(&launch->attributes, &common);
    posix_spawnattr_setflags(&launch->attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    r = open_ends(&launch->out, false);
    if (r == 0)
        r = open_ends(&launch->err, false);
    if (r == 0 && options->input)
        r = open_ends(&launch->in, true);
    if (r < 0)
        return r;
    if (options->input)
        posix_spawn_file_actions_adddup2(&launch->actions, launch->in.theirs, 0);
    else
        posix_spawn_file_actions_addopen(&launch->actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&launch->actions, launch->out.theirs, 1);
    posix_spawn_file_actions_adddup2(&launch->actions, launch->err.theirs, 2);
    if (options->folder)
        posix_spawn_file_actions_addchdir_np(&launch->actions, options->folder);
    return 0;
}

/* posix_spawn declares as char *const[] the arguments that it promises not to change. */
static char **arguments(const char *const *argv)
{
    size_t count = 0;
    char **copy;

    while (argv[count])
        count++;
    copy = must(calloc(count + 1, sizeof(*copy)));
    for (size_t i = 0; i < count; i++)
        copy[i] = must(strdup(argv[i]));
    return copy;
}

static int spawn(const struct launch *launch, const struct process_options *options, pid_t *pid)
{
    char **argv = arguments(options->argv);
    char **variables = environment(options->variables);
    int r = posix_spawnp(pid, argv[0], &launch->actions, &launch->attributes, argv, variables);

    free_all(argv);
    free_all(variables);
    return -r;
}

/* The text fits into the socket's buffer, so this does not wait. */
static int send_input(struct process *process, const char *text)
{
    size_t size = strlen(text);
    ssize_t sent = send(process->input, text, size, MSG_NOSIGNAL);

    close_end(&process->input);
    return sent == (ssize_t)size || errno == EPIPE ? 0 : -EMSGSIZE;
}

static int adopt(struct process *process, const struct launch *launch,
                 const struct process_options *options)
{
    process->output = launch->out.ours;
    process->error = launch->err.ours;
    process->input = launch->in.ours;
    process->deadline_ns = hub_clock_after(options->within_ns ? options->within_ns : WITHIN_NS);
    process->out = must(calloc(1, PROCESS_OUTPUT_MAX + 1));
    process->err = must(calloc(1, PROCESS_OUTPUT_MAX + 1));
    process->pidfd = pidfd_open(process->pid, 0);
    return process->pidfd < 0 ? -errno : 0;
}

int process_start(const struct process_options *options, struct process *out)
{
    struct launch launch;
    struct process_result ended;
    int r = launch_init(&launch, options);

    *out = (struct process){.pidfd = -1, .output = -1, .error = -1, .input = -1};
    if (r == 0)
        r = spawn(&launch, options, &out->pid);
    launch_fini(&launch);
    if (r < 0) {
        close_end(&launch.in.ours);
        close_end(&launch.out.ours);
        close_end(&launch.err.ours);
        return r;
    }
    r = adopt(out, &launch, options);
    if (r == 0 && options->input)
        r = send_input(out, options->input);
    if (r < 0 && process_finish(out, &ended) == 0)
        process_result_fini(&ended);
    return r;
}

/* Reads the available output, and closes the pipe at its end. */
static void take_output(int *fd, char *text, size_t *size)
{
    char dropped[4096];
    bool full = *size == PROCESS_OUTPUT_MAX;
    ssize_t r = full ? read(*fd, dropped, sizeof(dropped))
                     : read(*fd, text + *size, PROCESS_OUTPUT_MAX - *size);

    if (r == 0 || (r < 0 && errno != EAGAIN && errno != EINTR))
        close_end(fd);
    if (r > 0 && !full)
        *size += (size_t)r;
}

/* Polls both streams and, with `death`, the end of the process. True if it ended. */
static bool poll_once(struct process *process, uint64_t deadline, bool death)
{
    struct pollfd fds[] = {{.fd = process->output, .events = POLLIN},
                           {.fd = process->error, .events = POLLIN},
                           {.fd = death ? process->pidfd : -1, .events = POLLIN}};

    if (poll(fds, 3, hub_clock_left_ms(deadline, 1000)) <= 0)
        return false;
    if (fds[0].revents)
        take_output(&process->output, process->out, &process->out_size);
    if (fds[1].revents)
        take_output(&process->error, process->err, &process->err_size);
    return fds[2].revents != 0;
}

bool process_until_text(struct process *process, const char *text, bool in_err, uint64_t within_ns)
{
    uint64_t deadline = hub_clock_after(within_ns);
    const char *from = in_err ? process->err : process->out;

    while (!strstr(from, text)) {
        const int *stream = in_err ? &process->error : &process->output;

        if (*stream < 0 || hub_clock_left(deadline) == 0)
            return false;
        poll_once(process, deadline, false);
    }
    return true;
}

int process_kill(const struct process *process, int signal)
{
    return pidfd_send_signal(process->pidfd, signal, NULL, 0) < 0 ? -errno : 0;
}

/* Reads until the process is dead, and then the rest in the pipes, which a grandchild may hold
 * open. */
static bool read_to_the_end(struct process *process, uint64_t deadline)
{
    size_t before;

    while (!poll_once(process, deadline, true))
        if (hub_clock_left(deadline) == 0)
            return false;
    do {
        before = process->out_size + process->err_size;
        poll_once(process, 0, false);
    } while (process->out_size + process->err_size != before);
    return true;
}

/* Moves the output into the result and closes everything else. */
static int hand_over(struct process *process, const siginfo_t *info, struct process_result *out)
{
    bool exited = info->si_code == CLD_EXITED;

    out->status = exited ? info->si_status : -1;
    out->signal = exited ? 0 : info->si_status;
    out->pid = process->pid;
    out->out = process->out;
    out->err = process->err;
    out->out_size = process->out_size;
    out->err_size = process->err_size;
    close_end(&process->output);
    close_end(&process->error);
    close_end(&process->pidfd);
    return 0;
}

int process_finish(struct process *process, struct process_result *out)
{
    siginfo_t info = {0};

    *out = (struct process_result){0};
    close_end(&process->input);
    if (!read_to_the_end(process, process->deadline_ns)) {
        out->timed_out = true;
        process_kill(process, SIGKILL);
        read_to_the_end(process, hub_clock_after(GRACE_NS));
    }
    if (waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED) < 0)
        info = (siginfo_t){.si_code = CLD_KILLED};
    return hand_over(process, &info, out);
}

int process_run(const struct process_options *options, struct process_result *out)
{
    struct process process;
    int r = process_start(options, &process);

    return r < 0 ? r : process_finish(&process, out);
}

int process_run_argv(const char *const argv[], struct process_result *out)
{
    return process_run(&(struct process_options){.argv = argv}, out);
}

void process_result_fini(struct process_result *result)
{
    free(result->out);
    free(result->err);
    *result = (struct process_result){0};
}

bool process_until(bool (*holds)(void *user), void *user, uint64_t within_ns)
{
    uint64_t deadline = hub_clock_after(within_ns);

    while (!holds(user)) {
        if (hub_clock_left(deadline) == 0)
            return false;
        pause_ms(1);
    }
    return true;
}
