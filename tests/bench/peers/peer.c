/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/peers/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/place.h"
#include "tests/bench/trial.h"

#define SERVER_SOCKET 3
#define READY_MS      3000
#define ADDRESS       256

extern char **environ;

static int client_socket = -1;

int peer_socket(void)
{
    return client_socket < 0 ? SERVER_SOCKET : client_socket;
}

void peer_ready(void)
{
    (void)send(SERVER_SOCKET, "", 1, MSG_NOSIGNAL);
}

int peer_pin(bool server)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    place_init();
    return place_cpus() < 2 ? -ENODEV : place_pin(getpid(), server);
}

int peer_measure(char **argv, const struct peer *peer, pid_t server)
{
    struct trial trial = {0};
    const struct trial_plan plan = {.once = peer->once,
                                    .ms = strtod(argv[2], NULL),
                                    .fifo = peer->spins && strcmp(argv[3], "fifo") == 0,
                                    .peer = server};
    int r;

    trial_init();
    r = trial_run(&plan, &trial);
    if (r < 0)
        return fprintf(stderr, "an echo failed (%d)\n", r), 1;
    printf("{\"batch_ns\":%.1f,\"p50_ns\":%.1f,\"p90_ns\":%.1f,\"p99_ns\":%.1f,\"p999_ns\":%.1f,"
           "\"n\":%llu,\"preempted\":%llu,\"fifo\":%s}\n",
           trial.batch_ns, trial.p50_ns, trial.p90_ns, trial.p99_ns, trial.p999_ns,
           (unsigned long long)trial.n, (unsigned long long)trial.preempted,
           trial.fifo ? "true" : "false");
    fflush(stdout);
    return 0;
}

/* This program anew, as the server; waits until it says that it is ready. */
static int start(const char *address, pid_t *out)
{
    const char *const argv[] = {"peer", "server", address, NULL};
    posix_spawn_file_actions_t actions;
    struct pollfd ready = {.events = POLLIN};
    int ends[2], theirs, r;
    char byte;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    ready.fd = client_socket = ends[0];
    theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, 10); /* not the number it shall have there */
    close(ends[1]);
    r = -posix_spawn_file_actions_init(&actions);
    if (r == 0) {
        posix_spawn_file_actions_adddup2(&actions, theirs, SERVER_SOCKET);
        r = -posix_spawn(out, "/proc/self/exe", &actions, NULL, (char *const *)(uintptr_t)argv,
                         environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(theirs);
    if (r == 0 && (poll(&ready, 1, READY_MS) != 1 || read(client_socket, &byte, 1) != 1))
        r = -ETIMEDOUT;
    return r;
}

static int measure(char **argv, const struct peer *peer)
{
    char address[ADDRESS];
    pid_t server = 0;
    int r;

    snprintf(address, sizeof address, "%s/socket", argv[1]);
    r = start(address, &server);
    if (r == 0)
        r = peer_pin(false);
    if (r == 0)
        r = peer->open(address);
    if (r < 0)
        fprintf(stderr, "no connection (%d)\n", r);
    else {
        r = peer_measure(argv, peer, server);
        peer->close();
    }
    if (server > 0) {
        kill(server, peer->stops ? SIGTERM : SIGKILL);
        waitpid(server, NULL, 0);
    }
    return r < 0 ? 1 : r;
}

int peer_main(int argc, char **argv, const struct peer *peer)
{
    if (argc == 3 && strcmp(argv[1], "server") == 0)
        return peer_pin(true) < 0 || peer->serve(argv[2]) < 0;
    if (argc != 4)
        return fprintf(stderr, "usage: %s FOLDER MS fifo|-\n", argv[0]), 2;
    return measure(argv, peer);
}
