/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/daemon/folders.h"
#include "tests/support/testing.h"

static char root[64], path[128];

static int open_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/rapahub-test-XXXXXX");
    snprintf(path, sizeof path, "%s/data", mkdtemp(root));
    return 0;
}

static int forget(const char *name, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(name);
}

static int close_root(void **state)
{
    (void)state;
    return nftw(root, forget, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_file(const char *name, const char *text)
{
    char file[256];
    int fd;

    snprintf(file, sizeof file, "%s/%s", path, name);
    fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC | O_TRUNC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static bool has_lock(void)
{
    char file[256];

    snprintf(file, sizeof file, "%s/lock", path);
    return access(file, F_OK) == 0;
}

static void refuse(int code, const char *why)
{
    int fd = -1;

    assert_int_equal(daemon_folders_lock(path, &fd), code);
    assert_int_equal(fd, -1);
    if (!strstr(rapahub_last_error()->text, why))
        fail_msg("'%s' is not in: %s", why, rapahub_last_error()->text);
}

/* r[verify cluster.warden.lock] */
static void a_folder_is_made_and_locked_once(void **state)
{
    struct stat status;
    char number[32];
    int fd, again;

    (void)state;
    assert_int_equal(daemon_folders_lock(path, &fd), 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    snprintf(number, sizeof number, "process %d has", (int)getpid());
    refuse(RAPAHUB_EBUSY, number);
    again = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* as the daemon has it */
    close(fd);
    refuse(RAPAHUB_EBUSY, number);
    assert_int_equal(flock(again, LOCK_EX | LOCK_NB), 0);
    close(again);
    assert_int_equal(daemon_folders_lock(path, &fd), 0);
    close(fd);
}

/* r[verify cluster.warden.lock] */
static void a_number_that_is_none_is_not_told(void **state)
{
    const char *const texts[] = {"", "x", "-5", "99999999999999999999999999", "0"};
    int fd;

    (void)state;
    assert_int_equal(daemon_folders_lock(path, &fd), 0);
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        make_file("lock", texts[i]);
        refuse(RAPAHUB_EBUSY, i == 3 ? "process 999999999999999 has" : "another process has");
    }
    close(fd);
}

/* r[verify cluster.warden.lock] */
static void a_folder_of_other_files_is_left_as_it_is(void **state)
{
    char below[160];
    int fd;

    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(below, sizeof below, "%s/lost+found", path);
    assert_int_equal(mkdir(below, 0700), 0);
    make_file("letter.txt", "dear");
    refuse(RAPAHUB_ECONFIG, "is not empty, and is no folder of rapahubd");
    assert_false(has_lock());
    snprintf(below, sizeof below, "%s/letter.txt", path);
    assert_int_equal(unlink(below), 0);
    assert_int_equal(daemon_folders_lock(path, &fd), 0); /* an empty file system is none of them */
    close(fd);
    make_file("node.id", "1");
    assert_int_equal(daemon_folders_lock(path, &fd), 0);
    close(fd);
}

/* r[verify cluster.warden.lock] */
static void a_folder_that_is_not_ours_alone_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0720), 0);
    refuse(RAPAHUB_EACCES, "chmod go-w");
    assert_int_equal(chmod(path, 0755), 0);
    if (geteuid() == 0 && chown(path, 65534, 65534) == 0)
        refuse(RAPAHUB_EACCES, "belongs to user 65534");
    assert_false(has_lock());
}

static void what_is_no_folder_is_refused(void **state)
{
    char file[256];

    (void)state;
    snprintf(path, sizeof path, "%s/none/data", root);
    refuse(RAPAHUB_ENOENT, "the folder above is not there");
    snprintf(path, sizeof path, "/proc/none");
    refuse(RAPAHUB_ENOENT, "/proc/none");
    snprintf(path, sizeof path, "%s", root);
    make_file("plain", "");
    snprintf(path, sizeof path, "%s/plain", root);
    refuse(-ENOTDIR, "Not a directory");
    snprintf(path, sizeof path, "%s/data", root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(file, sizeof file, "%s/lock", path);
    assert_int_equal(symlink("/etc/passwd", file), 0);
    refuse(-ELOOP, "lock");
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkfifo(file, 0600), 0);
    refuse(RAPAHUB_EACCES, "is no file of this user");
    assert_int_equal(unlink(file), 0);
    assert_int_equal(mkdir(file, 0700), 0);
    refuse(-EISDIR, "lock");
}

/* ---- sockets and defaults ---- */

static void a_folder_of_sockets_is_ours(void **state)
{
    struct stat status;

    (void)state;
    assert_int_equal(daemon_folders_make_run(path, false), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(daemon_folders_make_run(path, true), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0755);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(daemon_folders_make_run(path, true), RAPAHUB_EACCES);
    snprintf(path, sizeof path, "%s/none/run", root);
    assert_int_equal(daemon_folders_make_run(path, false), RAPAHUB_ENOENT);
}

static int listen_at(const char *name)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(at.sun_path, sizeof at.sun_path, "%.60s/%s", path, name);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static bool is_there(const char *name)
{
    char file[256];

    snprintf(file, sizeof file, "%s/%s", path, name);
    return access(file, F_OK) == 0;
}

/* r[verify cluster.warden.ends] */
static void only_sockets_without_a_listener_are_removed(void **state)
{
    int living, folder;

    (void)state;
    assert_int_equal(daemon_folders_make_run(path, false), 0);
    living = listen_at("n.sock");
    close(listen_at("n.node"));
    close(listen_at("other.node"));
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(folder, LOCK_EX), 0);
    daemon_folders_clean_run(path, "n"); /* another host opens a socket just now */
    assert_true(is_there("n.node"));
    close(folder);
    daemon_folders_clean_run(path, "n");
    assert_true(is_there("n.sock") && is_there("other.node"));
    assert_false(is_there("n.node"));
    close(living);
    make_file("n.node", "a file of somebody");
    daemon_folders_clean_run(path, "n");
    assert_false(is_there("n.sock"));
    assert_true(is_there("n.node"));
    daemon_folders_clean_run("/nowhere", "n");
}

static void a_path_that_no_socket_can_have_is_refused(void **state)
{
    char folder[103];

    (void)state;
    memset(folder, 'f', sizeof folder);
    folder[102] = '\0';
    assert_int_equal(daemon_folders_check_run(folder, "n"), RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, "has 109 bytes"));
    folder[100] = '\0';
    assert_int_equal(daemon_folders_check_run(folder, "n"), 0);
    assert_int_equal(daemon_folders_check_run(folder, "nn"), RAPAHUB_ECONFIG);
}

/* r[verify cluster.daemon.folders] */
static void each_user_has_folders_of_its_own(void **state)
{
    const struct daemon_folders_user root_user = {0, "/root", "/s", "/r"},
                                     session = {5, "/h", "/s", "/r"}, plain = {5, "/h", "", NULL},
                                     none = {5, "", NULL, "relative"};
    char to[DAEMON_FOLDERS_PATH];

    (void)state;
    assert_int_equal(daemon_folders_data(&root_user, to), 0);
    assert_string_equal(to, "/var/lib/rapahub");
    assert_int_equal(daemon_folders_run(&root_user, false, to), 0);
    assert_string_equal(to, "/run/rapahub");
    assert_int_equal(daemon_folders_data(&session, to), 0);
    assert_string_equal(to, "/s/rapahub");
    assert_int_equal(daemon_folders_run(&session, false, to), 0);
    assert_string_equal(to, "/r/rapahub");
    assert_int_equal(daemon_folders_run(&session, true, to), 0);
    assert_string_equal(to, "/run/rapahub");
    assert_int_equal(daemon_folders_data(&plain, to), 0);
    assert_string_equal(to, "/h/.local/state/rapahub");
    assert_int_equal(daemon_folders_run(&plain, false, to), 0);
    assert_string_equal(to, "/dev/shm/rapahub-5");
    assert_int_equal(daemon_folders_data(&none, to), RAPAHUB_ECONFIG);
    assert_int_equal(daemon_folders_run(&none, false, to), 0);
    assert_string_equal(to, "/dev/shm/rapahub-5");
}

static void the_folders_above_the_default_are_made(void **state)
{
    struct daemon_folders_user user = {.uid = 5, .home = root};
    char to[256];

    (void)state;
    daemon_folders_make_state(&user);
    snprintf(to, sizeof to, "%s/.local/state", root);
    assert_int_equal(access(to, F_OK), 0);
    user.state_home = path;
    daemon_folders_make_state(&user);
    assert_int_equal(access(path, F_OK), 0);
    user.uid = 0;
    user.state_home = NULL;
    user.home = "/nowhere";
    daemon_folders_make_state(&user);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_root, close_root)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_folder_is_made_and_locked_once),
                                       TEST(a_number_that_is_none_is_not_told),
                                       TEST(a_folder_of_other_files_is_left_as_it_is),
                                       TEST(a_folder_that_is_not_ours_alone_is_refused),
                                       TEST(what_is_no_folder_is_refused),
                                       TEST(a_folder_of_sockets_is_ours),
                                       TEST(only_sockets_without_a_listener_are_removed),
                                       TEST(a_path_that_no_socket_can_have_is_refused),
                                       TEST(each_user_has_folders_of_its_own),
                                       TEST(the_folders_above_the_default_are_made)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
