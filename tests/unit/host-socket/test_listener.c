/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "host/socket/listener.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

#define STRANGER 200000007u /* nobody else is so */

struct place {
    char folder[64], path[96];
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);

    assert_non_null(place);
    snprintf(place->folder, sizeof place->folder, "/tmp/rapahub-test-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->path, sizeof place->path, "%s/calc.sock", place->folder);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;

    unlink(place->path);
    rmdir(place->folder);
    free(place);
    return 0;
}

static void only_the_user_may_use_the_socket(void **state)
{
    const struct place *place = *state;
    struct stat status;
    int fd;

    assert_int_equal(host_listener_open(place->path, NULL, &fd), 0);
    assert_int_equal(stat(place->path, &status), 0);
    assert_true(S_ISSOCK(status.st_mode));
    assert_int_equal(status.st_mode & 07777, 0600);
    close(fd);
}

static void or_its_group_too(void **state)
{
    const struct place *place = *state;
    const gid_t group = getegid();
    struct stat status;
    int fd;

    assert_int_equal(host_listener_open(place->path, &group, &fd), 0);
    assert_int_equal(stat(place->path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0660);
    assert_int_equal(status.st_gid, group);
    close(fd);
}

/* r[verify sec.control.host] */
static void a_stranger_who_listens_is_refused_unless_the_folder_is_his(void **state)
{
    const struct place *place = *state;
    int fd, client;

    if (geteuid() != 0)
        skip(); /* only root may be another user */
    assert_int_equal(chmod(place->folder, 0711) | chown(place->folder, STRANGER, 0), 0);
    assert_int_equal(setegid(STRANGER), 0);
    assert_int_equal(seteuid(STRANGER), 0);
    assert_int_equal(host_listener_open(place->path, NULL, &fd), 0);
    assert_int_equal(chmod(place->path, 0666), 0);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(seteuid(STRANGER + 1), 0);
    assert_int_equal(host_listener_connect(place->path, &client), 0);
    close(client);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chown(place->folder, STRANGER + 2, 0), 0);
    assert_int_equal(seteuid(STRANGER + 1), 0);
    assert_int_equal(host_listener_connect(place->path, &client), RAPAHUB_EACCES);
    assert_non_null(strstr(rapahub_last_error()->text, "is user"));
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chown(place->folder, STRANGER, 0) | chmod(place->folder, 01777), 0);
    assert_int_equal(seteuid(STRANGER + 1), 0);
    assert_int_equal(host_listener_connect(place->path, &client), RAPAHUB_EACCES);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
    close(fd);
}

/* The place is empty again. */
static void a_group_that_the_user_is_not_in_is_refused(void **state)
{
    const struct place *place = *state;
    const gid_t group = STRANGER + 5;
    int fd;

    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(place->folder, 0777), 0);
    assert_int_equal(seteuid(STRANGER), 0);
    assert_int_equal(host_listener_open(place->path, &group, &fd), RAPAHUB_EPERM);
    assert_int_equal(access(place->path, F_OK), -1);
    assert_int_equal(seteuid(0), 0);
}

static void a_second_listener_is_refused(void **state)
{
    const struct place *place = *state;
    int fd, other;

    assert_int_equal(host_listener_open(place->path, NULL, &fd), 0);
    assert_int_equal(host_listener_open(place->path, NULL, &other), RAPAHUB_EEXIST);
    close(fd);
}

static void a_stale_socket_is_replaced(void **state)
{
    const struct place *place = *state;
    int fd, client, served;

    assert_int_equal(host_listener_open(place->path, NULL, &fd), 0);
    close(fd);
    assert_int_equal(access(place->path, F_OK), 0);
    assert_int_equal(host_listener_connect(place->path, &client), RAPAHUB_ENOENT);
    assert_int_equal(host_listener_open(place->path, NULL, &fd), 0);
    assert_int_equal(host_listener_connect(place->path, &client), 0);
    assert_int_equal(host_listener_accept(fd, &served), 1);
    assert_int_equal(host_listener_accept(fd, &served), 0);
    close(served);
    close(client);
    close(fd);
}

/* Opens a listener on another thread, while the folder is locked by this one. */
struct opening {
    const char *path;
    int r, fd;
};

static void *open_one(void *user)
{
    struct opening *opening = user;

    opening->r = host_listener_open(opening->path, NULL, &opening->fd);
    return NULL;
}

static int lock(const struct place *place)
{
    int folder = open(place->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_int_equal(flock(folder, LOCK_EX | LOCK_NB), 0);
    return folder;
}

/* The second one waits for its turn, and then sees that the place is free. */
static void two_that_start_at_once_take_turns(void **state)
{
    const struct place *place = *state;
    struct opening opening = {place->path, 1, -1};
    int folder = lock(place);
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, open_one, &opening), 0);
    pause_ms(100); /* the lock is held for longer than any start takes it: that is the subject */
    close(folder);
    pthread_join(thread, NULL);
    assert_int_equal(opening.r, 0);
    close(opening.fd);
}

/* A host that is stopped with the lock keeps no other from ending with a reason. */
static void a_folder_that_stays_locked_is_refused_in_time(void **state)
{
    const struct place *place = *state;
    int folder = lock(place), fd;

    assert_int_equal(host_listener_open(place->path, NULL, &fd), RAPAHUB_EAGAIN);
    assert_non_null(strstr(rapahub_last_error()->text, place->folder));
    close(folder);
    assert_int_equal(host_listener_open(place->path, NULL, &fd), 0);
    close(fd);
}

static void a_path_too_long_or_without_a_folder_is_refused(void **state)
{
    char path[200] = "/tmp/";
    int fd;

    (void)state;
    memset(path + 5, 'x', sizeof path - 6);
    assert_int_equal(host_listener_open(path, NULL, &fd), RAPAHUB_EINVAL);
    assert_int_equal(host_listener_open("/nowhere/x.sock", NULL, &fd), RAPAHUB_ENOENT);
    assert_int_equal(host_listener_connect("/nowhere/x.sock", &fd), RAPAHUB_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_the_user_may_use_the_socket, set_up, tear_down),
        cmocka_unit_test_setup_teardown(or_its_group_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stranger_who_listens_is_refused_unless_the_folder_is_his,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_group_that_the_user_is_not_in_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_second_listener_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stale_socket_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_that_start_at_once_take_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_stays_locked_is_refused_in_time, set_up,
                                        tear_down),
        cmocka_unit_test(a_path_too_long_or_without_a_folder_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
