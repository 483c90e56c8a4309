/* SPDX-License-Identifier: Apache-2.0 */
/* fake_node: stands for cluster/node in tests of rapahubd and its warden. Its "guests" are
 * processes that ignore SIGTERM: one that the daemon made, and one that was left by its parent.
 * Each life looks first whether any of the life before is alive. Words of FAKE_NODE say what goes
 * wrong:
 *
 *   fails    open fails           dies     the process is killed when the node is open
 *   exits    status 3, then       deaf     it never ends in order
 *   sticks   dispatch never returns, once the file `stick` is in the data folder
 *   broken   dispatch fails, once the file `break` is there
 *
 * FAKE_GUEST is a chimod, which becomes a guest of the host. The data folder gets `guests`, the
 * processes of this life, and `alive`, those of the life before that should be dead. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>
#include <rapahub/node.h>

#include "tests/support/pause.h"

#define GUESTS 2

struct rapahub_node {
    const char *data;
    pid_t guests[GUESTS];
    int event;
    bool stops;
    rapahub_on_done *on_done;
    void *user;
};

static bool is_word(const char *word)
{
    const char *words = getenv("FAKE_NODE");

    return words && strstr(words, word);
}

static FILE *open_file(const struct rapahub_node *node, const char *name, const char *mode)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", node->data, name);
    return fopen(path, mode);
}

static bool has_file(const struct rapahub_node *node, const char *name)
{
    FILE *file = open_file(node, name, "re");

    if (file)
        (void)fclose(file);
    return file != NULL;
}

/* When it began, in ticks since the boot: with its number, no other process. 0: it is dead. */
static unsigned long long began(pid_t pid)
{
    unsigned long long ticks = 0;
    char path[64], text[1024] = "", state = 'Z';
    const char *after;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    after = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
    (void)fclose(file);
    if (!after || sscanf(after,
                         ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                         "%*d %*d %*d %llu",
                         &state, &ticks) != 2)
        return 0;
    return state == 'Z' ? 0 : ticks;
}

/* ---- guests ---- */

static _Noreturn void be_guest(void)
{
    (void)close_range(3, ~0U, 0);
    (void)signal(SIGTERM, SIG_IGN);
    (void)setsid();
    pause_ms(600000); /* it is killed long before, unless the test fails */
    _exit(0);
}

/* Its parent ends, so that it comes to the next one above that takes orphans. */
static pid_t make_orphan(void)
{
    int ends[2];
    siginfo_t info;
    pid_t parent, orphan = -1;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    parent = fork();
    if (parent == 0) {
        orphan = fork();
        if (orphan == 0)
            be_guest();
        (void)!write(ends[1], &orphan, sizeof orphan);
        _exit(0);
    }
    (void)!read(ends[0], &orphan, sizeof orphan);
    (void)waitid(P_PID, (id_t)parent, &info, WEXITED);
    close(ends[0]);
    close(ends[1]);
    return orphan;
}

static pid_t make_child(void)
{
    pid_t child = fork();

    if (child == 0)
        be_guest();
    return child;
}

static void look_at_last_life(const struct rapahub_node *node)
{
    FILE *last = open_file(node, "guests", "re"), *alive = open_file(node, "alive", "ae");
    unsigned long long ticks;
    int pid;

    while (last && alive && fscanf(last, "%d %llu", &pid, &ticks) == 2)
        if (began(pid) == ticks)
            fprintf(alive, "%d\n", pid);
    if (last)
        (void)fclose(last);
    if (alive)
        (void)fclose(alive);
}

static void note_guests(const struct rapahub_node *node)
{
    FILE *guests = open_file(node, "guests", "we");

    for (unsigned i = 0; guests && i < GUESTS; i++)
        fprintf(guests, "%d %llu\n", (int)node->guests[i], began(node->guests[i]));
    if (guests)
        (void)fclose(guests);
}

static void end_guests(struct rapahub_node *node)
{
    siginfo_t info;

    for (unsigned i = 0; i < GUESTS; i++) {
        if (node->guests[i] <= 0)
            continue;
        (void)kill(node->guests[i], SIGKILL);
        while (began(node->guests[i]) != 0)
            pause_ms(1); // an orphan is another process's child
    }
    (void)waitid(P_PID, (id_t)node->guests[0], &info, WEXITED | WNOHANG);
    node->guests[0] = node->guests[1] = 0;
}

static int spawn_guest(struct rapahub_host *host)
{
    struct rapahub_guest_options options = {.chimod = getenv("FAKE_GUEST"), .name = "fake"};
    struct rapahub_guest_id id;

    return options.chimod ? rapahub_host_spawn(host, &options, &id) : 0;
}

/* ---- node.h ---- */

static int check_lock(const struct rapahub_node_options *options)
{
    return fcntl(options->lock_fd, F_GETFD) == FD_CLOEXEC
               ? 0
               : rapahub_fail(RAPAHUB_ESTATE, "", "the lock is no descriptor, or not CLOEXEC");
}

int rapahub_node_open(struct rapahub_host *host, const struct rapahub_node_options *options,
                      struct rapahub_node **out)
{
    struct rapahub_node *node = calloc(1, sizeof *node);
    int r = check_lock(options);

    *out = node;
    node->data = options->data;
    node->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r < 0 || is_word("fails"))
        return r < 0 ? r : rapahub_fail(RAPAHUB_EIO, "", "the fake node fails");
    look_at_last_life(node);
    node->guests[0] = make_child();
    node->guests[1] = make_orphan();
    note_guests(node);
    r = spawn_guest(host);
    if (is_word("exits"))
        _exit(3);
    if (is_word("dies"))
        (void)kill(getpid(), SIGKILL);
    rapahub_log(RAPAHUB_LOG_INFO, "fake", "life %d", (int)getpid());
    return r;
}

void rapahub_node_life(const struct rapahub_node *node, struct rapahub_node_life *out)
{
    (void)node;
    *out = (struct rapahub_node_life){.node = 1, .boot = 1, .session = 1};
}

int rapahub_node_fd(const struct rapahub_node *node)
{
    return node->event;
}

int rapahub_node_dispatch(struct rapahub_node *node)
{
    rapahub_on_done *on_done = node->on_done;

    while (is_word("sticks") && has_file(node, "stick"))
        pause_ms(10); // as a loop that does not turn
    if (is_word("broken") && has_file(node, "break"))
        return rapahub_fail(RAPAHUB_EIO, "", "the fake disk is broken");
    if (!node->stops || !on_done || is_word("deaf"))
        return 0;
    end_guests(node);
    node->on_done = NULL;
    on_done(node->user, 0, NULL);
    return 0;
}

bool rapahub_node_leaves(const struct rapahub_node *node)
{
    (void)node;
    return false;
}

int rapahub_node_settle(struct rapahub_node *node)
{
    return rapahub_node_dispatch(node);
}

int rapahub_node_stop(struct rapahub_node *node, rapahub_on_done *on_done, void *user)
{
    const uint64_t one = 1;

    node->stops = true;
    node->on_done = on_done;
    node->user = user;
    (void)!write(node->event, &one, sizeof one);
    return 0;
}

void rapahub_node_close(struct rapahub_node *node)
{
    if (!node)
        return;
    end_guests(node);
    close(node->event);
    free(node);
}
