/* SPDX-License-Identifier: Apache-2.0 */
/* admitting: processes that the host did not start. Each is connected to this one by a socket pair,
 * gets the descriptors of its ticket through it, and becomes a guest, or does something else. */
#ifndef TESTS_INTEGRATION_ADMITTING_H
#define TESTS_INTEGRATION_ADMITTING_H

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/admit.h>

#include "tests/integration/hosting.h"
#include "tests/support/pause.h"
#include "tests/support/process.h"

#define PROGRAM PROCESS_LIBEXEC("rapahub/rapahub-guest")
#define SOCKET  3 /* the client's end */

struct client {
    pid_t pid;
    int socket, pidfd;
    struct rapahub_admission ticket;
    unsigned deaths;
    char cause[128];
};

/* What a client does with its ticket, in its own process; it does not return. */
typedef void client_run(int segment, int doorbell, const struct rapahub_admission *ticket,
                        const char *module);

/* ---- the client's process ---- */

static void client_receive(int *descriptors, struct rapahub_admission *ticket)
{
    char control[CMSG_SPACE(2 * sizeof(int))];
    struct iovec part = {ticket, sizeof *ticket};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};

    if (recvmsg(SOCKET, &message, 0) != sizeof *ticket || !CMSG_FIRSTHDR(&message))
        _exit(90);
    memcpy(descriptors, CMSG_DATA(CMSG_FIRSTHDR(&message)), 2 * sizeof(int));
}

/* Becomes a guest by the arguments that admit.h names. */
UNUSED static void client_serve(int segment, int doorbell, const struct rapahub_admission *ticket,
                                const char *module)
{
    int file = open(module, O_RDONLY);
    char path[64], peer[32], bell[32], bytes[32];

    snprintf(path, sizeof path, "--hub-path=/proc/self/fd/%d", segment);
    snprintf(peer, sizeof peer, "--peer-id=%u", ticket->peer);
    snprintf(bell, sizeof bell, "--doorbell-fd=%d", doorbell);
    snprintf(bytes, sizeof bytes, "--module-fd=%d", file);
    execl(PROGRAM, PROGRAM, path, peer, bell, bytes, NULL);
    _exit(91);
}

UNUSED static void client_never(int segment, int doorbell, const struct rapahub_admission *ticket,
                                const char *module)
{
    (void)segment;
    (void)doorbell;
    (void)ticket;
    (void)module;
    for (;;)
        pause_ms(-1);
}

/* ---- this process ---- */

/* A process that waits for its ticket, and holds nothing of this one but its socket. */
UNUSED static void client_open(struct client *client, client_run *run, const char *module)
{
    struct rapahub_admission ticket;
    int ends[2], descriptors[2];

    memset(client, 0, sizeof *client);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    client->pid = fork();
    assert_true(client->pid >= 0);
    if (client->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ends[1], SOCKET);
        fcntl(SOCKET, F_SETFD, 0);
        close_range(SOCKET + 1, ~0U, 0);
        client_receive(descriptors, &ticket);
        run(descriptors[0], descriptors[1], &ticket, module);
    }
    close(ends[1]);
    client->socket = ends[0];
    client->pidfd = (int)syscall(SYS_pidfd_open, client->pid, 0);
    assert_true(client->pidfd >= 0);
}

UNUSED static void client_died(void *user, struct rapahub_guest_id guest, const char *cause)
{
    struct client *client = user;

    assert_int_equal(guest.group, client->ticket.guest.group);
    client->deaths++;
    snprintf(client->cause, sizeof client->cause, "%s", cause);
}

/* Known by its pidfd and its socket. */
UNUSED static struct rapahub_admit_options client_options(struct client *client)
{
    return (struct rapahub_admit_options){.pidfd = client->pidfd,
                                          .hangup = client->socket,
                                          .pid = client->pid,
                                          .serves = true,
                                          .on_death = client_died,
                                          .user = client};
}

/* Sends a ticket, which this process has no more afterwards. */
UNUSED static void client_send(const struct client *client, const struct rapahub_admission *ticket)
{
    const int descriptors[2] = {ticket->segment, ticket->doorbell};
    struct rapahub_admission sent = *ticket;
    char control[CMSG_SPACE(sizeof descriptors)] = {0};
    struct iovec part = {&sent, sizeof sent};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    *header = (struct cmsghdr){CMSG_LEN(sizeof descriptors), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(header), descriptors, sizeof descriptors);
    assert_int_equal(sendmsg(client->socket, &message, MSG_NOSIGNAL), sizeof sent);
}

UNUSED static void client_drop_ticket(struct client *client)
{
    close(client->ticket.segment);
    close(client->ticket.doorbell);
}

UNUSED static void client_admit(struct hosting *on, struct client *client,
                                const struct rapahub_admit_options *options)
{
    assert_done(rapahub_host_admit(on->host, options, &client->ticket));
    client_send(client, &client->ticket);
    client_drop_ticket(client);
}

/* A guest that serves a module, with the container `here`. */
UNUSED static void client_begin(struct hosting *on, struct client *client, const char *module)
{
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    unsigned attached = on->told.attached;
    struct rapahub_admit_options options;

    client_open(client, client_serve, module);
    options = client_options(client);
    client_admit(on, client, &options);
    assert_true(until(on, &on->told.attached, attached + 1));
    assert_done(rapahub_host_add_container(on->host, client->ticket.guest, &container));
}

/* Its end: the exit status, or 1,000 + the number of the signal. */
UNUSED static int client_end(struct client *client)
{
    int status = 0;

    assert_int_equal(waitpid(client->pid, &status, 0), client->pid);
    close(client->socket);
    close(client->pidfd);
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

UNUSED static int client_kill(struct client *client)
{
    kill(client->pid, SIGKILL);
    return client_end(client);
}

/* ---- a host for them ---- */

#define HOST_POOL 2

UNUSED static const struct rapahub_host_options three = {
    .guests_max = 2, .admitted_max = 3, .slot_size = 4096, .slot_count = 16};

UNUSED static int admitting_twice(void *self, int64_t number, int64_t *result)
{
    (void)self;
    *result = 2 * number;
    return 0;
}

UNUSED static const struct rapahub_method offered[] = {
    RAPAHUB_METHOD(twice, admitting_twice, i64, i64),
    RAPAHUB_METHOD_END,
};

UNUSED static void offer(struct rapahub_host *host, uint32_t pool)
{
    const struct rapahub_container_options options = {.id = {.pool = {pool, 0}},
                                                      .pool_name = "offered"};

    assert_done(rapahub_host_offer(host, &options, offered, NULL));
}

UNUSED static int ask_pool(struct hosting *on, uint32_t pool, int64_t number, int64_t *result)
{
    return ask(on, "ask(u32, i64) -> i64", (const void *const[]){&pool, &number, NULL}, result);
}

UNUSED static void dispatch_for(struct hosting *on, uint64_t us)
{
    struct timespec now;
    uint64_t end;

    clock_gettime(CLOCK_MONOTONIC, &now);
    end = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 + us;
    while ((uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000 < end) {
        assert_true(rapahub_host_dispatch(on->host, 0) >= 0);
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
}

struct ends {
    unsigned done, failed;
};

#endif
