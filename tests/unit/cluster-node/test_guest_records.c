/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/node/disk/guest_records.h"
#include "hub/base/clock.h"
#include "hub/base/crc32c.h"
#include "tests/store/disk.h"
#include "tests/support/testing.h"

#define HEADER 64
#define EACH   16

struct stage {
    struct disk *disk;
    struct cluster_files_folder root;
    struct cluster_machine machine;
    struct cluster_guest_records records;
};

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

static int begin(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);

    stage->disk = disk_new();
    stage->root = disk_root(stage->disk);
    assert_int_equal(cluster_machine_read(&stage->machine), 0);
    cluster_guest_records_init(&stage->records, &stage->root, stage->machine.boot);
    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    *state = stage;
    return 0;
}

static int end(void **state)
{
    struct stage *stage = *state;

    disk_free(stage->disk);
    free(stage);
    return 0;
}

/* A process that waits for its death. */
static struct cluster_guest_record start_process(void)
{
    struct cluster_guest_record guest = {.pid = fork()};

    if (guest.pid == 0)
        for (;;)
            pause();
    assert_true(guest.pid > 0);
    assert_int_equal(cluster_machine_start_of(guest.pid, &guest.start), 0);
    return guest;
}

static bool is_dead(struct cluster_guest_record guest, bool reap)
{
    int status;
    pid_t pid = waitpid(guest.pid, &status, reap ? 0 : WNOHANG);

    return pid == guest.pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static void put_down(struct cluster_guest_record guest)
{
    kill(guest.pid, SIGKILL);
    waitpid(guest.pid, NULL, 0);
}

static int end_all(struct stage *stage, size_t *killed)
{
    struct cluster_guest_records records;

    cluster_guest_records_init(&records, &stage->root, stage->machine.boot);
    return cluster_guest_records_end_all(&records, hub_clock_after(10 * HUB_SECOND), killed);
}

static size_t noted(struct stage *stage)
{
    struct cluster_guest_records records;

    cluster_guest_records_init(&records, &stage->root, stage->machine.boot);
    assert_int_equal(cluster_guest_records_read(&records), 0);
    return records.count;
}

/* r[verify cluster.guests.file] r[verify cluster.guests.dead] */
static void guests_of_the_last_life_are_killed(void **state)
{
    struct stage *stage = *state;
    struct cluster_guest_record guests[3];
    size_t killed;

    assert_int_equal(end_all(stage, &killed), 0); /* there is no file */
    for (int i = 0; i < 3; i++) {
        guests[i] = start_process();
        assert_int_equal(cluster_guest_records_add(&stage->records, guests[i]), 0);
        assert_int_equal(cluster_guest_records_add(&stage->records, guests[i]), 0);
    }
    assert_int_equal(stage->records.count, 3);
    assert_int_equal(cluster_guest_records_write(&stage->records), 0);
    put_down(guests[1]);
    assert_int_equal(end_all(stage, &killed), 0);
    assert_int_equal(killed, 2);
    assert_true(is_dead(guests[0], true) && is_dead(guests[2], true));
    assert_int_equal(noted(stage), 0);
    assert_int_equal(end_all(stage, &killed), 0);
    assert_int_equal(killed, 0);
}

static void a_guest_that_is_gone_is_not_looked_for(void **state)
{
    struct stage *stage = *state;
    struct cluster_guest_record guest = start_process(), other = {.pid = guest.pid, .start = 1};
    size_t killed;

    assert_int_equal(cluster_guest_records_add(&stage->records, guest), 0);
    cluster_guest_records_remove(&stage->records, other);
    assert_int_equal(stage->records.count, 1);
    cluster_guest_records_remove(&stage->records, guest);
    assert_int_equal(cluster_guest_records_write(&stage->records), 0);
    assert_int_equal(end_all(stage, &killed), 0);
    assert_int_equal(killed, 0);
    assert_false(is_dead(guest, false));
    put_down(guest);
}

/* A process that has the number by now began at another time. */
static void a_number_that_was_reused_is_left_alone(void **state)
{
    struct stage *stage = *state;
    struct cluster_guest_record guest = start_process(), before = guest;
    size_t killed;

    before.start--;
    assert_int_equal(cluster_guest_records_add(&stage->records, before), 0);
    assert_int_equal(cluster_guest_records_write(&stage->records), 0);
    assert_int_equal(end_all(stage, &killed), 0);
    assert_int_equal(killed, 0);
    assert_false(is_dead(guest, false));
    put_down(guest);
}

static void after_another_boot_all_are_dead(void **state)
{
    struct stage *stage = *state;
    struct cluster_guest_record guest = start_process();
    size_t killed, size;

    stage->records.boot[3] ^= 1;
    assert_int_equal(cluster_guest_records_add(&stage->records, guest), 0);
    assert_int_equal(cluster_guest_records_write(&stage->records), 0);
    disk_bytes(stage->disk, 0, "guests", &size)[HEADER + 8] ^= 1; /* the rest is not looked at */
    assert_int_equal(end_all(stage, &killed), 0);
    assert_int_equal(killed, 0);
    assert_false(is_dead(guest, false));
    put_down(guest);
}

/* A zombie is dead already, and so is a number that no process has. */
static void a_dead_guest_is_not_killed(void **state)
{
    struct stage *stage = *state;
    struct cluster_guest_record guest = start_process();
    siginfo_t info;
    size_t killed;

    kill(guest.pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)guest.pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(cluster_guest_records_add(&stage->records, guest), 0);
    assert_int_equal(cluster_guest_records_write(&stage->records), 0);
    assert_int_equal(end_all(stage, &killed), 0);
    assert_int_equal(killed, 0);
    put_down(guest);
}

/* ---- a file that somebody wrote ---- */

/* Writes a file of one guest with sound checksums. */
static void forge(struct stage *stage, uint32_t pid, uint64_t start)
{
    uint32_t checksum;
    uint8_t *bytes;
    size_t size;

    stage->records.count = 1;
    stage->records.of[0] = (struct cluster_guest_record){.pid = 2, .start = start};
    assert_int_equal(cluster_guest_records_write(&stage->records), 0);
    bytes = disk_bytes(stage->disk, 0, "guests", &size);
    assert_int_equal(size, HEADER + EACH);
    memcpy(bytes + HEADER, &pid, 4);
    checksum = hub_crc32c(0, bytes + HEADER, EACH);
    memcpy(bytes + 32, &checksum, 4);
    checksum = hub_crc32c(0, bytes, HEADER - 4);
    memcpy(bytes + HEADER - 4, &checksum, 4);
}

static uint64_t start_of(pid_t pid)
{
    uint64_t start = 0;

    cluster_machine_start_of(pid, &start);
    return start;
}

static void no_file_makes_a_node_kill_what_is_no_guest(void **state)
{
    struct stage *stage = *state;
    const struct {
        uint32_t pid;
        int r;
    } cases[] = {
        {0, RAPAHUB_EFORMAT},          {1, RAPAHUB_EFORMAT},
        {(uint32_t)getpid(), 0},       {(uint32_t)getppid(), 0},
        {UINT32_MAX, RAPAHUB_EFORMAT}, {(uint32_t)-getpid(), RAPAHUB_EFORMAT},
        {5 << 20, RAPAHUB_EFORMAT},    {4 << 20, 0}, /* no process has it */
    };
    size_t killed;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        forge(stage, cases[i].pid, start_of((pid_t)cases[i].pid));
        assert_int_equal(end_all(stage, &killed), cases[i].r);
        assert_int_equal(killed, 0);
    }
    assert_int_equal(cluster_guest_records_add(
                         &stage->records, (struct cluster_guest_record){.pid = -1, .start = 1}),
                     RAPAHUB_EINVAL);
    assert_int_equal(
        cluster_guest_records_add(&stage->records,
                                  (struct cluster_guest_record){.pid = getpid(), .start = 1}),
        RAPAHUB_EINVAL);
}

static void a_damaged_file_is_refused_and_stays(void **state)
{
    struct stage *stage = *state;
    struct cluster_guest_record guest = start_process();
    uint8_t kept[256], *bytes;
    size_t killed, size, now;

    for (int i = 0; i < 3; i++) {
        struct cluster_guest_record one = {guest.pid, guest.start + (uint64_t)i};

        assert_int_equal(cluster_guest_records_add(&stage->records, one), 0);
    }
    assert_int_equal(cluster_guest_records_write(&stage->records), 0);
    bytes = disk_bytes(stage->disk, 0, "guests", &size);
    assert_int_equal(size, HEADER + 3 * EACH);
    memcpy(kept, bytes, size);
    for (size_t at = 0; at < size; at++) {
        bytes[at] ^= 4;
        assert_int_equal(end_all(stage, &killed), RAPAHUB_EFORMAT);
        assert_non_null(strstr(rapahub_last_error()->text, "then remove the file"));
        bytes[at] ^= 4;
    }
    for (size_t cut = 0; cut < size; cut++) {
        int fd = stage->root.files->open(stage->root.files, 0, "guests", 2, 0);

        assert_int_equal(stage->root.files->cut(stage->root.files, fd, cut), 0);
        stage->root.files->close(stage->root.files, fd);
        assert_int_equal(end_all(stage, &killed), RAPAHUB_EFORMAT);
        fd = stage->root.files->open(stage->root.files, 0, "guests", 2, 0);
        assert_int_equal(cluster_files_write(stage->root.files, fd, kept, size, 0), 0);
        stage->root.files->close(stage->root.files, fd);
    }
    assert_false(is_dead(guest, false));
    disk_bytes(stage->disk, 0, "guests", &now);
    assert_int_equal(now, size);
    assert_int_equal(end_all(stage, &killed), 0);
    assert_int_equal(killed, 1);
    assert_true(is_dead(guest, true));
}

static void a_later_release_is_said(void **state)
{
    struct stage *stage = *state;
    uint32_t checksum;
    uint8_t *bytes;
    size_t killed, size;

    assert_int_equal(cluster_guest_records_write(&stage->records), 0);
    bytes = disk_bytes(stage->disk, 0, "guests", &size);
    bytes[8] = 2;
    checksum = hub_crc32c(0, bytes, HEADER - 4);
    memcpy(bytes + HEADER - 4, &checksum, 4);
    assert_int_equal(end_all(stage, &killed), RAPAHUB_EABI);
}

static void it_has_bounds(void **state)
{
    struct stage *stage = *state;
    struct cluster_guest_record guest = {.pid = 1000, .start = 1};

    for (int i = 0; i < CLUSTER_GUEST_RECORDS_MAX; i++, guest.start++)
        assert_int_equal(cluster_guest_records_add(&stage->records, guest), 0);
    assert_int_equal(cluster_guest_records_add(&stage->records, guest), RAPAHUB_EFULL);
    assert_int_equal(cluster_guest_records_write(&stage->records), 0);
    assert_int_equal(noted(stage), CLUSTER_GUEST_RECORDS_MAX);
}

struct crash {
    struct stage *stage;
    struct hub_random random;
    size_t told, images;
};

/* The file is the list of before or of now, and what was told is in it. */
static void look(void *user)
{
    struct crash *crash = user;

    for (int i = 0; i < 3; i++) {
        struct disk *after =
            disk_after(crash->stage->disk, i == 0 ? DISK_KILLED : DISK_TORN, &crash->random);
        struct cluster_files_folder root = disk_root(after);
        struct cluster_guest_records records;

        cluster_guest_records_init(&records, &root, crash->stage->machine.boot);
        assert_int_equal(cluster_guest_records_read(&records), 0);
        assert_true(records.count == crash->told || records.count == crash->told + 1);
        disk_free(after);
        crash->images++;
    }
}

static void a_guest_is_noted_when_that_is_told(void **state)
{
    struct crash crash = {.stage = *state};
    struct cluster_guest_record guest = {.pid = 1000, .start = 1};

    hub_random_init(&crash.random, 3);
    crash.stage->disk->step = look;
    crash.stage->disk->user = &crash;
    for (; guest.start < 12; guest.start++, crash.told++) {
        assert_int_equal(cluster_guest_records_add(&crash.stage->records, guest), 0);
        assert_int_equal(cluster_guest_records_write(&crash.stage->records), 0);
    }
    print_message("crash images of the guests: %zu\n", crash.images);
    assert_true(crash.images > 1000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(guests_of_the_last_life_are_killed),
        TEST(a_guest_that_is_gone_is_not_looked_for),
        TEST(a_number_that_was_reused_is_left_alone),
        TEST(after_another_boot_all_are_dead),
        TEST(a_dead_guest_is_not_killed),
        TEST(no_file_makes_a_node_kill_what_is_no_guest),
        TEST(a_damaged_file_is_refused_and_stays),
        TEST(a_later_release_is_said),
        TEST(it_has_bounds),
        TEST(a_guest_is_noted_when_that_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
