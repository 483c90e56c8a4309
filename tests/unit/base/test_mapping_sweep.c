/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep of mapping.c: which files of hosts go, and which stay. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/base/atomic.h"
#include "hub/base/lock.h"
#include "hub/base/mapping.h"
#include "hub/base/random.h"
#include "tests/support/testing.h"

#define SIZE 4096

/* A prefix of one test in one process: other tests may sweep theirs beside it. */
struct ground {
    char prefix[40];
};

static struct ground ground(void)
{
    struct ground ground;

    snprintf(ground.prefix, sizeof ground.prefix, "test-sweep-%016llx",
             (unsigned long long)hub_random_nonce());
    return ground;
}

/* The path of a file as a host of `uid` would name it; its lock is free. */
static void print_path(const struct ground *ground, unsigned uid, const char *rest, char *path)
{
    snprintf(path, HUB_MAPPING_PATH_MAX, "/dev/shm/%s-%u-%s", ground->prefix, uid, rest);
}

static void make_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

static bool is_there(const char *path)
{
    struct stat file;

    return lstat(path, &file) == 0;
}

/* A host that made a file and was killed; how its file is called to `path`. */
static void leave_by_death(const struct ground *ground, char path[HUB_MAPPING_PATH_MAX])
{
    struct hub_mapping mapping;
    int ends[2];
    pid_t child;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(hub_mapping_create_file(ground->prefix, SIZE, &mapping) == 0 &&
                      write(ends[1], mapping.path, sizeof mapping.path) > 0
                  ? 0
                  : 1);
    assert_int_equal(read(ends[0], path, HUB_MAPPING_PATH_MAX), HUB_MAPPING_PATH_MAX);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
}

/* r[verify hub.file.sweep] r[verify shm.file.cleanup] */
static void the_file_of_a_dead_host_goes(void **state)
{
    const struct ground here = ground();
    char path[HUB_MAPPING_PATH_MAX];

    (void)state;
    leave_by_death(&here, path);
    assert_true(is_there(path));
    assert_int_equal(hub_mapping_sweep(here.prefix, false), 1);
    assert_false(is_there(path));
    assert_int_equal(hub_mapping_sweep(here.prefix, false), 0);
}

/* r[verify hub.file.sweep] */
static void the_file_of_a_living_host_stays(void **state)
{
    const struct ground here = ground();
    struct hub_mapping mapping;

    (void)state;
    assert_int_equal(hub_mapping_create_file(here.prefix, SIZE, &mapping), 0);
    assert_int_equal(hub_mapping_sweep(here.prefix, true), 0);
    assert_int_equal(hub_mapping_sweep(here.prefix, false), 0);
    assert_true(is_there(mapping.path));
    mapping.data[0] = 1;
    hub_mapping_fini(&mapping);
    assert_int_equal(hub_mapping_sweep(here.prefix, false), 0);
}

/* r[verify hub.file.sweep] */
static void age_is_never_looked_at(void **state)
{
    static const struct timespec long_ago[2] = {{1000, 0}, {1000, 0}};
    const struct ground here = ground();
    char young[HUB_MAPPING_PATH_MAX];
    struct hub_mapping old;

    (void)state;
    assert_int_equal(hub_mapping_create_file(here.prefix, SIZE, &old), 0);
    assert_int_equal(futimens(old.fd, long_ago), 0);
    leave_by_death(&here, young);
    assert_int_equal(hub_mapping_sweep(here.prefix, false), 1);
    assert_true(is_there(old.path));
    assert_false(is_there(young));
    hub_mapping_fini(&old);
}

static void a_dry_sweep_counts_and_removes_nothing(void **state)
{
    const struct ground here = ground();
    char path[HUB_MAPPING_PATH_MAX];

    (void)state;
    leave_by_death(&here, path);
    assert_int_equal(hub_mapping_sweep(here.prefix, true), 1);
    assert_int_equal(hub_mapping_sweep(here.prefix, true), 1);
    assert_true(is_there(path));
    assert_int_equal(hub_mapping_sweep(here.prefix, false), 1);
}

/* Not even root's sweep takes what belongs to another user. r[verify hub.file.sweep] */
static void a_file_of_another_user_stays(void **state)
{
    const struct ground here = ground();
    char theirs[HUB_MAPPING_PATH_MAX], disguised[HUB_MAPPING_PATH_MAX];

    (void)state;
    if (getuid() != 0) {
        print_message("only root can make a file of another user\n");
        skip();
    }
    print_path(&here, 12345, "1-0123456789abcdef", theirs);
    print_path(&here, 0, "1-0123456789abcdef", disguised);
    make_file(theirs);
    make_file(disguised);
    assert_int_equal(chown(theirs, 12345, 12345), 0);
    assert_int_equal(chown(disguised, 12345, 12345), 0);
    assert_int_equal(hub_mapping_sweep(here.prefix, false), 0);
    assert_true(is_there(theirs));
    assert_true(is_there(disguised));
    unlink(theirs);
    unlink(disguised);
}

static void a_file_under_the_number_of_another_user_stays(void **state)
{
    const struct ground here = ground();
    char path[HUB_MAPPING_PATH_MAX];

    (void)state;
    print_path(&here, getuid() + 1, "1-0123456789abcdef", path);
    make_file(path);
    assert_int_equal(hub_mapping_sweep(here.prefix, false), 0);
    assert_true(is_there(path));
    unlink(path);
}

/* r[verify hub.file.sweep] */
static void a_symbolic_link_is_neither_followed_nor_removed(void **state)
{
    const struct ground here = ground();
    char target[HUB_MAPPING_PATH_MAX], link[HUB_MAPPING_PATH_MAX];

    (void)state;
    snprintf(target, sizeof target, "/dev/shm/%s.target", here.prefix);
    print_path(&here, getuid(), "1-0123456789abcdef", link);
    make_file(target);
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(hub_mapping_sweep(here.prefix, true), 0);
    assert_int_equal(hub_mapping_sweep(here.prefix, false), 0);
    assert_true(is_there(target));
    assert_true(is_there(link));
    unlink(target);
    unlink(link);
}

/* Opening one may wait for ever, or do something. */
static void what_is_no_regular_file_stays(void **state)
{
    const struct ground here = ground();
    char fifo[HUB_MAPPING_PATH_MAX], folder[HUB_MAPPING_PATH_MAX];

    (void)state;
    print_path(&here, getuid(), "1-fifo", fifo);
    print_path(&here, getuid(), "1-folder", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(hub_mapping_sweep(here.prefix, false), 0);
    assert_true(is_there(fifo));
    assert_true(is_there(folder));
    unlink(fifo);
    rmdir(folder);
}

static void files_of_other_names_stay(void **state)
{
    const struct ground here = ground();
    char path[HUB_MAPPING_PATH_MAX];

    (void)state;
    snprintf(path, sizeof path, "/dev/shm/%sx-%u-1-0123456789abcdef", here.prefix, getuid());
    make_file(path);
    assert_int_equal(hub_mapping_sweep(here.prefix, false), 0);
    assert_true(is_there(path));
    unlink(path);
}

/* ---- several at once ---- */

#define SWEEPERS 8
#define DEAD     40
#define MADE     120

struct sweeper {
    const struct ground *ground;
    struct hub_a32 *go, *stop;
    int count;
};

static void *sweep(void *user)
{
    struct sweeper *sweeper = user;

    while (hub_observe(sweeper->go) == 0)
        hub_pause();
    do
        sweeper->count += hub_mapping_sweep(sweeper->ground->prefix, false);
    while (hub_observe(sweeper->stop) == 0);
    return NULL;
}

static void start_sweepers(struct sweeper *sweepers, pthread_t *threads, const struct sweeper *as)
{
    for (int i = 0; i < SWEEPERS; i++) {
        sweepers[i] = *as;
        assert_int_equal(pthread_create(&threads[i], NULL, sweep, &sweepers[i]), 0);
    }
    hub_publish(as->go, 1);
}

static int join_sweepers(struct sweeper *sweepers, pthread_t *threads)
{
    int sum = 0;

    for (int i = 0; i < SWEEPERS; i++) {
        pthread_join(threads[i], NULL);
        sum += sweepers[i].count;
    }
    return sum;
}

/* r[verify hub.file.sweep] */
static void eight_sweepers_remove_each_file_once_and_no_living_one(void **state)
{
    const struct ground here = ground();
    struct hub_a32 go = {0}, stop = {1};
    struct sweeper sweepers[SWEEPERS];
    pthread_t threads[SWEEPERS];
    struct hub_mapping living;
    char path[HUB_MAPPING_PATH_MAX], rest[32];

    (void)state;
    assert_int_equal(hub_mapping_create_file(here.prefix, SIZE, &living), 0);
    for (int i = 0; i < DEAD; i++) {
        snprintf(rest, sizeof rest, "1-%016x", (unsigned)i);
        print_path(&here, getuid(), rest, path);
        make_file(path);
    }
    start_sweepers(sweepers, threads, &(struct sweeper){&here, &go, &stop, 0});
    assert_int_equal(join_sweepers(sweepers, threads), DEAD);
    assert_int_equal(hub_mapping_sweep(here.prefix, false), 0);
    assert_true(is_there(living.path));
    hub_mapping_fini(&living);
}

/* Between a host's open and its lock a sweeper may take the file away: the host must notice, or
 * its guests would look for a file that is not there. r[verify hub.file.sweep]
 * r[verify shm.file.create] */
static void a_host_that_starts_while_others_sweep_keeps_its_file(void **state)
{
    const struct ground here = ground();
    struct hub_a32 go = {0}, stop = {0};
    struct sweeper sweepers[SWEEPERS];
    pthread_t threads[SWEEPERS];

    (void)state;
    start_sweepers(sweepers, threads, &(struct sweeper){&here, &go, &stop, 0});
    for (int i = 0; i < MADE; i++) {
        struct hub_mapping mapping;
        struct stat open, named;

        if (hub_mapping_create_file(here.prefix, SIZE, &mapping) < 0)
            continue; /* sweepers were faster 16 times: an error, and no lie */
        assert_int_equal(fstat(mapping.fd, &open), 0);
        assert_int_equal(lstat(mapping.path, &named), 0);
        assert_int_equal(open.st_ino, named.st_ino);
        hub_mapping_fini(&mapping);
    }
    hub_publish(&stop, 1);
    (void)join_sweepers(sweepers, threads);
    assert_int_equal(hub_mapping_sweep(here.prefix, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_of_a_dead_host_goes),
        cmocka_unit_test(the_file_of_a_living_host_stays),
        cmocka_unit_test(age_is_never_looked_at),
        cmocka_unit_test(a_dry_sweep_counts_and_removes_nothing),
        cmocka_unit_test(a_file_of_another_user_stays),
        cmocka_unit_test(a_file_under_the_number_of_another_user_stays),
        cmocka_unit_test(a_symbolic_link_is_neither_followed_nor_removed),
        cmocka_unit_test(what_is_no_regular_file_stays),
        cmocka_unit_test(files_of_other_names_stay),
        cmocka_unit_test(eight_sweepers_remove_each_file_once_and_no_living_one),
        cmocka_unit_test(a_host_that_starts_while_others_sweep_keeps_its_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
