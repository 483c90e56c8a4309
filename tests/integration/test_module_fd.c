/* SPDX-License-Identifier: Apache-2.0 */
/* A module by a descriptor: the bytes that its owner has checked are those that each life loads,
 * whatever becomes of the file of that name, and of the descriptor. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/integration/upgrading.h"

#define NOWHERE "/nowhere/ledger.so"
#define SEALS   (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)
#define LIVES   3
#define TRIES   60

static void fill(int to, const char *path)
{
    int from = open(path, O_RDONLY | O_CLOEXEC);
    char piece[65536];
    ssize_t n;

    assert_true(from >= 0 && to >= 0);
    while ((n = read(from, piece, sizeof piece)) > 0)
        assert_int_equal(write(to, piece, (size_t)n), n);
    close(from);
}

/* A memfd with the bytes of a file. */
static int memory_of(const char *path)
{
    int fd = memfd_create("module", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    fill(fd, path);
    return fd;
}

static int sealed_memory_of(const char *path)
{
    int fd = memory_of(path);

    assert_int_equal(fcntl(fd, F_ADD_SEALS, SEALS), 0);
    return fd;
}

static int spawn(struct hosting *on, int fd, enum rapahub_trust trust)
{
    const struct rapahub_container_options container = {.id = here, .pool_name = "test"};
    const struct rapahub_guest_options guest = {
        .chimod = NOWHERE, .trust = trust, .container = &container, .module_fd = fd};

    return rapahub_host_spawn(on->host, &guest, &on->guest);
}

/* The file of that name is never looked at: there is none. The descriptor is closed after the first
 * start. r[verify hub.module.bytes] */
static void each_life_loads_the_bytes_of_the_descriptor(void **state)
{
    (void)state;
    for (int trusted = 0; trusted < 2; trusted++) {
        struct hosting on;
        int fd = sealed_memory_of(LEDGER);

        open_host(&on, (struct rapahub_host_options){0});
        assert_done(spawn(&on, fd, trusted ? RAPAHUB_TRUST_TRUSTED : RAPAHUB_TRUST_STANDARD));
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC); /* it stays ours */
        close(fd);
        for (unsigned life = 1; life < LIVES; life++) {
            assert_int_equal(version(&on), 1);
            assert_done(rapahub_host_kill(on.host, on.told.guest));
            assert_true(until(&on, &on.told.ready, life + 1));
        }
        assert_non_null(strstr(on.told.text, "ready ledger"));
        close_host(&on);
    }
}

/* A file, not a memfd; it is changed and removed while the guest lives. */
static void a_file_is_copied_when_the_guest_is_made(void **state)
{
    char path[] = "/tmp/rapahub-module-XXXXXX", zeros[4096] = {0};
    struct hosting on;
    int fd;

    (void)state;
    open_host(&on, (struct rapahub_host_options){0});
    fd = mkstemp(path);
    fill(fd, LEDGER);
    assert_done(spawn(&on, fd, RAPAHUB_TRUST_TRUSTED));
    assert_int_equal(pwrite(fd, zeros, sizeof zeros, 0), sizeof zeros);
    assert_int_equal(ftruncate(fd, 100), 0);
    unlink(path);
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, 2));
    assert_int_equal(version(&on), 1);
    close(fd);
    close_host(&on);
}

static int upgrade_to(struct hosting *on, int fd)
{
    const struct rapahub_upgrade_options options = {.chimod = NOWHERE, .module_fd = fd};
    int r = rapahub_host_upgrade(on->host, on->guest, &options, &result);

    if (r == 0)
        on->guest = result.guest;
    return r;
}

static void note_upgraded(void *user, int status, const struct rapahub_upgrade_result *upgraded)
{
    result = *upgraded;
    *(unsigned *)user += status == 0;
}

static void an_upgrade_loads_it_too_and_so_does_a_restart_after_it(void **state)
{
    int next = sealed_memory_of(LEDGER2), back = sealed_memory_of(LEDGER);
    const struct rapahub_upgrade_options to_back = {.chimod = NOWHERE, .module_fd = back};
    unsigned upgraded = 0;
    struct hosting on;

    (void)state;
    open_ledger(&on);
    assert_int_equal(enter(&on, 5), 1);
    assert_done(upgrade_to(&on, next));
    close(next);
    assert_int_equal(version(&on), 2);
    assert_int_equal(count(&on, 5), 1);
    assert_done(rapahub_host_upgrade_async(on.host, on.guest, &to_back, note_upgraded, &upgraded));
    close(back); /* the options were copied, and so is what they name */
    assert_true(until(&on, &upgraded, 1));
    on.guest = result.guest;
    assert_int_equal(version(&on), 1);
    assert_int_equal(count(&on, 5), 1);
    on.told.ready = 0;
    assert_done(rapahub_host_kill(on.host, on.guest));
    assert_true(until(&on, &on.told.ready, 1));
    assert_int_equal(version(&on), 1);
    close_host(&on);
}

static void what_cannot_be_loaded_is_refused_and_leaves_nothing(void **state)
{
    int cut = memory_of(LEDGER), closed = dup(0), folder = open("/tmp", O_RDONLY | O_CLOEXEC);
    struct hosting on;

    (void)state;
    close(closed);
    assert_int_equal(ftruncate(cut, 8000), 0);
    open_host(&on, (struct rapahub_host_options){0});
    assert_refused(spawn(&on, cut, RAPAHUB_TRUST_STANDARD), RAPAHUB_ELOAD, "truncated");
    assert_refused(spawn(&on, folder, RAPAHUB_TRUST_STANDARD), RAPAHUB_ELOAD, "folder");
    assert_refused(spawn(&on, closed + 1000, RAPAHUB_TRUST_STANDARD), RAPAHUB_EBADF,
                   "cannot be read");
    assert_refused(spawn(&on, -5, RAPAHUB_TRUST_STANDARD), RAPAHUB_EINVAL, "-5");
    assert_done(start(&on, LEDGER, here, NULL));
    assert_refused(upgrade_to(&on, cut), RAPAHUB_ELOAD, "truncated");
    assert_refused(upgrade_to(&on, -5), RAPAHUB_EINVAL, "-5");
    assert_int_equal(version(&on), 1);
    close(cut);
    close(folder);
    close_host(&on);
}

/* ---- memory that changes while it is loaded ---- */

struct scribbler {
    int fd;
    size_t size;
    char *whole;
    _Atomic bool over;
};

/* Cuts it, fills it with garbage, and makes it whole again, without an end. */
static void *scribble(void *user)
{
    struct scribbler *scribbler = user;
    static const char garbage[65536] = {0x55};

    while (!scribbler->over) {
        if (ftruncate(scribbler->fd, 5000) < 0 ||
            pwrite(scribbler->fd, garbage, sizeof garbage, 4096) < 0 ||
            pwrite(scribbler->fd, scribbler->whole, scribbler->size, 0) < 0)
            break;
        sched_yield();
    }
    return NULL;
}

/* Each start ends in a guest that serves or in a refusal, and the host is none the worse. */
static void memory_that_changes_meanwhile_harms_its_own_guest_only(void **state)
{
    struct scribbler scribbler = {.fd = memory_of(LEDGER)};
    struct stat status;
    pthread_t thread;
    struct hosting on;

    (void)state;
    assert_int_equal(fstat(scribbler.fd, &status), 0);
    scribbler.size = (size_t)status.st_size;
    scribbler.whole = test_malloc(scribbler.size);
    assert_int_equal(pread(scribbler.fd, scribbler.whole, scribbler.size, 0), scribbler.size);
    open_host(&on, (struct rapahub_host_options){0});
    assert_int_equal(pthread_create(&thread, NULL, scribble, &scribbler), 0);
    for (int i = 0; i < TRIES; i++) {
        int r = spawn(&on, scribbler.fd, RAPAHUB_TRUST_STANDARD);

        if (r == 0)
            assert_done(rapahub_host_stop(on.host, on.guest));
        else
            assert_true(r == RAPAHUB_ELOAD || r == RAPAHUB_ESTART || r == RAPAHUB_EDIED ||
                        r == RAPAHUB_EABI);
    }
    scribbler.over = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_done(start(&on, LEDGER, here, NULL));
    assert_int_equal(version(&on), 1);
    test_free(scribbler.whole);
    close(scribbler.fd);
    close_host(&on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_life_loads_the_bytes_of_the_descriptor),
        cmocka_unit_test(a_file_is_copied_when_the_guest_is_made),
        cmocka_unit_test(an_upgrade_loads_it_too_and_so_does_a_restart_after_it),
        cmocka_unit_test(what_cannot_be_loaded_is_refused_and_leaves_nothing),
        cmocka_unit_test(memory_that_changes_meanwhile_harms_its_own_guest_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
