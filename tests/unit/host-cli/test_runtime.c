/* SPDX-License-Identifier: Apache-2.0 */
/* Where control sockets lie when another user was there first. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/cli/command/cli.h"
#include "host/cli/target/runtime.h"
#include "tests/support/testing.h"

/* An otherwise unused user, who owns these folders. */
struct stage {
    uid_t user;
    char shared[64], temporary[64];
};

static void open_stage(struct stage *stage)
{
    if (geteuid() != 0)
        skip(); /* only root may be another user */
    stage->user = 200000000u + (uid_t)getpid();
    snprintf(stage->shared, sizeof stage->shared, "/dev/shm/rapahub-%u", stage->user);
    snprintf(stage->temporary, sizeof stage->temporary, "/tmp/rapahub-%u", stage->user);
    assert_int_equal(mkdir(stage->shared, 0700), 0);
}

static void close_stage(const struct stage *stage)
{
    rmdir(stage->shared);
    rmdir(stage->temporary);
}

/* Asks as that user: 0 if the folder is `wanted`, else the refusal has those words. */
static int ask(const struct stage *stage, const char *wanted, const char *words)
{
    char folder[CLI_SOCKETS_PATH];
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child > 0) {
        assert_int_equal(waitpid(child, &status, 0), child);
        return status;
    }
    unsetenv("XDG_RUNTIME_DIR");
    if (seteuid(stage->user) < 0)
        _exit(1);
    if (host_folders_of_user(true, folder) == 0)
        _exit(wanted && strcmp(folder, wanted) == 0 ? 0 : 2);
    _exit(words && strstr(rapahub_last_error()->text, words) ? 0 : 3);
}

/* r[verify exp.runtime.folder] */
static void another_users_folder_stops_nobody(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage);
    assert_int_equal(ask(&stage, stage.temporary, NULL), 0);
    assert_int_equal(chown(stage.shared, stage.user, (gid_t)-1), 0);
    assert_int_equal(ask(&stage, stage.shared, NULL), 0);
    close_stage(&stage);
}

/* r[verify exp.runtime.folder] */
static void where_there_is_none_the_owner_is_named(void **state)
{
    struct stage stage;
    char words[160];

    (void)state;
    open_stage(&stage);
    assert_int_equal(mkdir(stage.temporary, 0700), 0);
    snprintf(words, sizeof words,
             "'%s' belongs to user 0; name a folder of yours in XDG_RUNTIME_DIR", stage.shared);
    assert_int_equal(ask(&stage, NULL, words), 0);
    close_stage(&stage);
}

static int visit_nothing(void *user, const char *host, const struct control_guest *guest)
{
    (void)user;
    (void)host;
    (void)guest;
    return 0;
}

/* A host's socket in `folder`, on which nothing answers. */
static int open_socket(const struct stage *stage, const char *folder, char path[100])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(path, 100, "%.80s/silent.sock", folder);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(chown(path, stage->user, (gid_t)-1), 0);
    return fd;
}

/* Ends each connection to the socket until the process has ended; returns their number. */
static int count_connections(int fd, pid_t process)
{
    int count = 0, status = -1;

    for (;;) {
        struct pollfd wait = {fd, POLLIN, 0};
        bool over = waitpid(process, &status, WNOHANG) == process;

        while (poll(&wait, 1, over ? 0 : 20) > 0) {
            close(accept(fd, NULL, NULL));
            count++;
        }
        if (over)
            break;
    }
    assert_int_equal(status, 0);
    return count;
}

/* As where systemd began the session: $XDG_RUNTIME_DIR is /run/user/UID. */
static void a_host_is_visited_once_where_two_places_are_one_folder(void **state)
{
    struct stage stage;
    char session[40], folder[60], path[100];
    pid_t child;
    int fd;

    (void)state;
    open_stage(&stage);
    snprintf(session, sizeof session, "/run/user/%u", stage.user);
    snprintf(folder, sizeof folder, "%s/rapahub", session);
    if (mkdir("/run/user", 0755) < 0 && errno != EEXIST)
        skip();
    assert_int_equal(mkdir(session, 0700) | chown(session, stage.user, (gid_t)-1), 0);
    assert_int_equal(mkdir(folder, 0700) | chown(folder, stage.user, (gid_t)-1), 0);
    fd = open_socket(&stage, folder, path);
    child = fork();
    if (child == 0) {
        struct cli cli = {.quiet = true, .timeout_ns = 2000000000u};

        setenv("XDG_RUNTIME_DIR", session, 1);
        _exit(seteuid(stage.user) < 0 || cli_runtime_each(&cli, visit_nothing, NULL) != 0);
    }
    assert_int_equal(count_connections(fd, child), 1);
    close(fd);
    unlink(path);
    rmdir(folder);
    rmdir(session);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_users_folder_stops_nobody),
        cmocka_unit_test(where_there_is_none_the_owner_is_named),
        cmocka_unit_test(a_host_is_visited_once_where_two_places_are_one_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
