/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <sys/stat.h>

#include "hub/base/lock.h"
#include "tests/unit/bus/region_stage.h"

#define KIND    RAPAHUB_REGION_MPSC
#define PROFILE RAPAHUB_REGION_HARDENED

static struct rapahub_region_report inspect(void)
{
    struct rapahub_region_report report;

    assert_int_equal(rapahub_region_inspect(stage_name(), false, &report), 0);
    return report;
}

static struct rapahub_region *open_it(void)
{
    struct rapahub_region *region = NULL;

    assert_int_equal(rapahub_region_open(stage_name(), NULL, &region), 0);
    return region;
}

/* As far as an initialiser comes that makes the region anew and goes no further. */
static void begin_to_renew(struct rapahub_region *region)
{
    int fd = rapahub_region_fd(region);

    if (hub_lock_drop(fd, HUB_REGION_LOCK_ATTACH, 1) < 0 ||
        hub_lock_try(fd, HUB_REGION_LOCK_INIT, 1) < 0)
        _exit(4);
    hub_publish(&hub_region_header(region)->initialized, HUB_REGION_INIT_BUSY);
}

static pid_t begin(void)
{
    struct rapahub_region *region = stage_create(stage_name(), KIND, PROFILE, 4);
    struct rapahub_producer *producer = stage_producer(region);
    pid_t pid;

    stage_push(producer, 1);
    rapahub_producer_close(producer);
    pid = stage_process(rapahub_region_fd(region), begin_to_renew);
    rapahub_region_close(region);
    return pid;
}

static void end(void)
{
    struct rapahub_region *region = open_it();
    struct rapahub_consumer *consumer = stage_consumer(region);
    struct rapahub_producer *producer = stage_producer(region);

    stage_empty(consumer);
    for (uint64_t i = 0; i < 9; i++) {
        stage_push(producer, i);
        stage_pop(consumer, i);
    }
    rapahub_producer_close(producer);
    rapahub_consumer_close(consumer);
    rapahub_region_close(region);
    assert_int_equal(rapahub_region_remove(stage_name(), 0), 0);
}

/* r[verify region.init.proof] r[verify region.init.stuck] */
static void a_killed_initialiser_is_taken_over(void **state)
{
    struct rapahub_region *region = NULL;
    pid_t pid = begin();

    (void)state;
    stage_kill(pid);
    assert_int_equal(rapahub_region_open(stage_name(), NULL, &region), RAPAHUB_ENOTINITIALIZED);
    assert_non_null(strstr(rapahub_last_error()->text, "dead"));
    assert_int_equal(inspect().detail, RAPAHUB_REGION_BUSY_DEAD);
    assert_int_equal(inspect().verdict, RAPAHUB_ENOTINITIALIZED);
    assert_int_equal(rapahub_region_renew(stage_name(), 0), 0);
    assert_int_equal(inspect().verdict, 0);
    assert_int_equal(inspect().generation, 2);
    end();
}

/* r[verify region.init.proof] r[verify region.exclusive] */
static void a_stopped_initialiser_is_never_taken_over(void **state)
{
    const struct rapahub_region_options options = stage_options(KIND, PROFILE, 8);
    struct rapahub_region *region = NULL;
    pid_t pid = begin();

    (void)state;
    kill(pid, SIGSTOP);
    assert_int_equal(inspect().detail, RAPAHUB_REGION_BUSY_ALIVE);
    assert_int_equal(rapahub_region_open(stage_name(), NULL, &region), RAPAHUB_ENOTINITIALIZED);
    assert_non_null(strstr(rapahub_last_error()->text, "alive"));
    assert_int_equal(rapahub_region_renew(stage_name(), 20 * HUB_MILLISECOND), RAPAHUB_EBUSY);
    assert_int_equal(rapahub_region_recreate(stage_name(), &options, 0), RAPAHUB_EBUSY);
    assert_int_equal(rapahub_region_remove(stage_name(), 0), RAPAHUB_EBUSY);
    assert_int_equal(inspect().detail, RAPAHUB_REGION_BUSY_ALIVE);
    stage_kill(pid);
    assert_int_equal(rapahub_region_recreate(stage_name(), &options, 0), 0);
    assert_int_equal(inspect().cells, 8);
    end();
}

/* r[verify region.exclusive] */
static void nothing_is_made_anew_under_a_participant(void **state)
{
    const struct rapahub_region_options options = stage_options(KIND, PROFILE, 8);
    struct rapahub_region *region = stage_create(stage_name(), KIND, PROFILE, 4);
    struct rapahub_producer *producer = stage_producer(region);

    (void)state;
    assert_int_equal(rapahub_region_renew(stage_name(), 0), RAPAHUB_EBUSY);
    assert_non_null(strstr(rapahub_last_error()->text, "lease 0"));
    assert_int_equal(rapahub_region_recreate(stage_name(), &options, 0), RAPAHUB_EBUSY);
    assert_int_equal(rapahub_region_remove(stage_name(), 0), RAPAHUB_EBUSY);
    rapahub_producer_close(producer);
    assert_int_equal(rapahub_region_renew(stage_name(), 0), RAPAHUB_EBUSY);
    rapahub_region_close(region);
    assert_int_equal(rapahub_region_renew(stage_name(), 0), 0);
    end();
}

/* r[verify region.generation] */
static void a_region_that_was_replaced_is_retired(void **state)
{
    const struct rapahub_region_options options = stage_options(KIND, PROFILE, 8);
    struct rapahub_region *region = stage_create(stage_name(), KIND, PROFILE, 4), *again = NULL;
    int fd = fcntl(rapahub_region_fd(region), F_DUPFD_CLOEXEC, 0);
    char path[RAPAHUB_REGION_PATH_MAX];
    int unmapped;

    (void)state;
    assert_int_equal(hub_region_path(stage_name(), path), 0);
    unmapped = open(path, O_RDWR | O_CLOEXEC);
    close(fd); /* a copy of the description would hold its locks */
    rapahub_region_close(region);
    assert_int_equal(rapahub_region_recreate(stage_name(), &options, 0), 0);
    assert_int_equal(rapahub_region_adopt(unmapped, NULL, &again), RAPAHUB_ENOTINITIALIZED);
    assert_non_null(strstr(rapahub_last_error()->text, "replaced"));
    close(unmapped);
    end();
}

static void a_name_that_a_death_left_is_no_obstacle(void **state)
{
    const struct rapahub_region_options options = stage_options(KIND, PROFILE, 8);
    struct rapahub_region *region = stage_create(stage_name(), KIND, PROFILE, 4);
    char path[RAPAHUB_REGION_PATH_MAX], second[RAPAHUB_REGION_PATH_MAX + 1];
    struct stat file;

    (void)state;
    rapahub_region_close(region);
    assert_int_equal(hub_region_path(stage_name(), path), 0);
    snprintf(second, sizeof second, "%s~", path);
    close(open(second, O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    assert_int_equal(rapahub_region_recreate(stage_name(), &options, 0), 0);
    assert_int_equal(stat(second, &file), -1);
    end();
}

/* A path says nothing of what its file should be. */
static void a_file_that_is_no_region_is_not_removed_by_its_path(void **state)
{
    const struct rapahub_region_options options = stage_options(KIND, PROFILE, 8);
    char path[RAPAHUB_REGION_PATH_MAX];
    struct stat file;
    int fd;

    (void)state;
    snprintf(path, sizeof path, "/dev/shm/%s-file", stage_name());
    fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    assert_int_equal(rapahub_region_remove(path, 0), RAPAHUB_ETRUNCATED);
    assert_int_equal(ftruncate(fd, 5000), 0);
    assert_int_equal(pwrite(fd, "precious", 8, 0), 8);
    assert_int_equal(rapahub_region_remove(path, 0), RAPAHUB_EBADMAGIC);
    assert_int_equal(rapahub_region_recreate(path, &options, 0), RAPAHUB_EBADMAGIC);
    assert_int_equal(stat(path, &file), 0);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_initialiser_is_taken_over),
        cmocka_unit_test(a_stopped_initialiser_is_never_taken_over),
        cmocka_unit_test(nothing_is_made_anew_under_a_participant),
        cmocka_unit_test(a_region_that_was_replaced_is_retired),
        cmocka_unit_test(a_name_that_a_death_left_is_no_obstacle),
        cmocka_unit_test(a_file_that_is_no_region_is_not_removed_by_its_path)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
