/* SPDX-License-Identifier: Apache-2.0 */
/* The process that applies a file ends with the daemon. The program `rapahub` that is started is a
 * script of the test: it is looked for beside this program, so that runs a copy of itself. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/daemon/imports.h"
#include "hub/base/clock.h"
#include "tests/support/testing.h"

#define PATH   256
#define WITHIN (10 * HUB_SECOND)

static const char *folder; /* of the copy, the script and the data */

static void path_of(const char *name, char to[PATH])
{
    snprintf(to, PATH, "%.200s/%s", folder, name);
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    char path[PATH];
    int fd;

    path_of(name, path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* r[verify cluster.daemon.restart] */
static void an_end_does_not_wait_for_the_process(void **state)
{
    struct daemon_imports imports;
    uint64_t begun_ns;
    pid_t pid;

    (void)state;
    daemon_imports_begin(&imports, folder, "/nonexistent");
    assert_true(daemon_imports_fd(&imports) >= 0);
    pid = imports.pid;
    assert_int_equal(kill(pid, 0), 0);
    begun_ns = hub_clock_now();
    daemon_imports_end(&imports);
    assert_true(hub_clock_now() - begun_ns < WITHIN);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

static void copy_self(void)
{
    char path[PATH];
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;
    struct stat status;

    path_of("test", path);
    to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    if (from < 0 || to < 0 || fstat(from, &status) < 0)
        abort();
    while (status.st_size > 0) {
        ssize_t n = sendfile(to, from, NULL, (size_t)status.st_size);

        if (n <= 0)
            abort();
        status.st_size -= n;
    }
    close(from);
    close(to);
}

static void run_copy(void)
{
    static char template[] = "/tmp/rapahub-imports-XXXXXX";
    char path[PATH];

    folder = mkdtemp(template);
    if (!folder)
        abort();
    copy_self();
    write_file("rapahub", "#!/bin/sh\nexec sleep 60\n", 0700);
    path_of("restart", path);
    if (mkdir(path, 0700) != 0)
        abort();
    write_file("restart/a.yaml", "pools:\n", 0600);
    path_of("test", path);
    execl(path, path, folder, (char *)NULL);
    abort();
}

static void remove_all(void)
{
    static const char *const names[] = {"restart/a.yaml", "restart", "rapahub", "test", ""};
    char path[PATH];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        path_of(names[i], path);
        (void)remove(path);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_end_does_not_wait_for_the_process)};
    int failed;

    if (argc < 2)
        run_copy();
    folder = argv[1];
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_all();
    return failed;
}
