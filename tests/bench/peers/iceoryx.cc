/* SPDX-License-Identifier: Apache-2.0 */
/* iceoryx, client and server in shared memory, both polling; with a daemon of its own, since one
 * that saw a client killed may hang for good. */
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "iceoryx_hoofs/posix_wrapper/signal_watcher.hpp"
#include "iceoryx_posh/popo/client.hpp"
#include "iceoryx_posh/popo/server.hpp"
#include "iceoryx_posh/runtime/posh_runtime.hpp"
#include "tests/bench/peers/peer.h"

extern char **environ;

namespace
{

struct Payload {
    unsigned char data[PEER_SIZE];
};
using Client = iox::popo::Client<Payload, Payload>;
using Server = iox::popo::Server<Payload, Payload>;

std::unique_ptr<Client> client;

iox::capro::ServiceDescription service()
{
    return {"rapahub", "bench", "echo"};
}

int serve(const char *)
{
    iox::runtime::PoshRuntime::initRuntime("rapahub-peer-server");
    Server server(service());

    peer_ready();
    while (!iox::posix::hasTerminationRequested())
        server.take().and_then([&](const auto &request) {
            server.loan(request).and_then([&](auto &response) {
                std::memcpy(response->data, request->data, PEER_SIZE);
                response.send().or_else([](auto &) {});
            });
        });
    return 0;
}

int open_client(const char *)
{
    iox::runtime::PoshRuntime::initRuntime("rapahub-peer-client");
    client = std::make_unique<Client>(service());
    while (client->getConnectionState() != iox::ConnectionState::CONNECTED)
        sched_yield(); /* who runs this cuts it off */
    return 0;
}

int once(void *)
{
    bool sent = false, right = false;

    client->loan().and_then([&](auto &request) {
        request->data[0] = 1;
        request.send().and_then([&]() { sent = true; });
    });
    if (!sent)
        return -EIO;
    while (!client->take().and_then([&](const auto &response) { right = response->data[0] == 1; }))
        ;
    return right ? 0 : -EIO;
}

void close_client()
{
    client.reset();
}

/* This process becomes the daemon, and ends with who started it. */
int become_daemon()
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execlp("iox-roudi", "iox-roudi", "--monitoring-mode", "off", static_cast<char *>(nullptr));
    return 1;
}

pid_t start(char *const argv[], int output)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    if (output >= 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv, environ) != 0)
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* Starts it, and reads what it prints until it is ready. */
pid_t start_daemon()
{
    char name[] = "peer", role[] = "daemon", *const argv[] = {name, role, nullptr};
    char line[256];
    bool ready = false;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = start(argv, ends[1]);
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r"); /* stays open: the daemon prints more */
    while (output && !ready && fgets(line, sizeof line, output))
        ready = strstr(line, "ready for clients") != nullptr;
    return ready ? pid : -1;
}

/* The client is another process: a daemon that ends takes those along that it knows. */
int with_daemon(char **argv)
{
    char role[] = "client", *const client_argv[] = {argv[0], argv[1], argv[2],
                                                    argv[3], role,    nullptr};
    pid_t daemon_pid = start_daemon(), client_pid;
    int status = 1;

    if (daemon_pid < 0)
        return fprintf(stderr, "iox-roudi does not start\n"), 1;
    client_pid = start(client_argv, -1);
    if (client_pid > 0)
        waitpid(client_pid, &status, 0);
    kill(daemon_pid, SIGTERM);
    waitpid(daemon_pid, nullptr, 0);
    return status != 0;
}

const struct peer iceoryx = {true, true, serve, open_client, once, close_client};

} // namespace

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "daemon") == 0)
        return become_daemon();
    if (argc == 4)
        return with_daemon(argv);
    return peer_main(argc == 5 ? 4 : argc, argv, &iceoryx);
}
