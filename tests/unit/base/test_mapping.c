/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "hub/base/lock.h"
#include "hub/base/mapping.h"
#include "tests/support/leak.h"
#include "tests/support/testing.h"

#define SIZE   10000
#define PREFIX "test-mapping" /* this program alone uses it */

static void open_descriptor(int fd, size_t least, struct hub_mapping *out)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(hub_mapping_open(path, least, out), 0);
}

static void assert_zeroed(const struct hub_mapping *mapping)
{
    for (size_t i = 0; i < mapping->size; i++)
        assert_int_equal(mapping->data[i], 0);
}

static void assert_cloexec(int fd)
{
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void assert_refused(int r, int code, const char *rule)
{
    assert_int_equal(r, code);
    assert_int_equal(rapahub_last_error()->code, code);
    assert_string_equal(rapahub_last_error()->rule, rule);
}

static void the_empty_mapping_has_nothing_to_end(void **state)
{
    struct hub_mapping mapping;

    (void)state;
    hub_mapping_init(&mapping);
    assert_null(mapping.data);
    assert_int_equal(mapping.fd, -1);
    hub_mapping_fini(&mapping);
    hub_mapping_fini(&mapping);
}

/* ---- the memfd of a private group ---- */

static void a_memfd_is_zeroed_and_ends_whole(void **state)
{
    struct leak *leak = leak_begin();
    struct hub_mapping mapping;

    (void)state;
    assert_int_equal(hub_mapping_create_sealed("test", SIZE, &mapping), 0);
    assert_int_equal(mapping.size, SIZE);
    assert_string_equal(mapping.path, "");
    assert_zeroed(&mapping);
    assert_cloexec(mapping.fd);
    hub_mapping_fini(&mapping);
    assert_null(mapping.data);
    assert_int_equal(mapping.fd, -1);
    leak_assert_none(leak);
}

/* A process that could truncate it could kill its readers. r[verify hub.file.seal] */
static void a_guest_can_neither_shrink_grow_nor_seal_the_memfd(void **state)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    struct hub_mapping mapping, guest;

    (void)state;
    assert_int_equal(hub_mapping_create_sealed("test", SIZE, &mapping), 0);
    open_descriptor(mapping.fd, SIZE, &guest);
    assert_int_equal(fcntl(guest.fd, F_GET_SEALS) & seals, seals);
    assert_int_equal(ftruncate(guest.fd, SIZE - 1), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(guest.fd, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(guest.fd, SIZE + 1), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(posix_fallocate(guest.fd, 0, 1 << 20), EPERM);
    assert_int_equal(pwrite(guest.fd, "x", 1, 1 << 20), -1);
    assert_int_equal(errno, EPERM);
    /* a further seal would end the host's writes */
    assert_int_equal(fcntl(guest.fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(fcntl(guest.fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
    assert_int_equal(errno, EPERM);
    hub_mapping_fini(&guest);
    hub_mapping_fini(&mapping);
}

/* A hole is zeros that the guest could have written as well: no signal, and only its own link.
 * r[verify hub.file.seal] */
static void a_hole_punched_by_a_guest_reads_as_zeros(void **state)
{
    struct hub_mapping mapping, guest;

    (void)state;
    assert_int_equal(hub_mapping_create_sealed("test", SIZE, &mapping), 0);
    open_descriptor(mapping.fd, SIZE, &guest);
    memset(mapping.data, 7, SIZE);
    if (fallocate(guest.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SIZE) == 0)
        assert_zeroed(&mapping);
    else
        assert_int_equal(errno, EPERM);
    mapping.data[SIZE - 1] = 9;
    assert_int_equal(guest.data[SIZE - 1], 9);
    hub_mapping_fini(&guest);
    hub_mapping_fini(&mapping);
}

/* r[verify shm.file.mmap-posix] r[verify shm.file.attach] */
static void what_one_side_writes_the_other_reads(void **state)
{
    struct hub_mapping mapping, guest;

    (void)state;
    assert_int_equal(hub_mapping_create_sealed("test", SIZE, &mapping), 0);
    open_descriptor(mapping.fd, SIZE, &guest);
    assert_ptr_not_equal(guest.data, mapping.data);
    assert_int_equal(guest.size, SIZE);
    mapping.data[0] = 1;
    assert_int_equal(guest.data[0], 1);
    guest.data[SIZE - 1] = 2;
    assert_int_equal(mapping.data[SIZE - 1], 2);
    hub_mapping_fini(&mapping);
    assert_int_equal(guest.data[0], 1);
    hub_mapping_fini(&guest);
}

/* A grandchild of a program that uses the library must not write to a segment. */
static void a_forked_child_does_not_have_the_mapping(void **state)
{
    struct hub_mapping mapping;
    int status = 0;
    pid_t child;

    (void)state;
    assert_int_equal(hub_mapping_create_sealed("test", SIZE, &mapping), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(msync(mapping.data, SIZE, MS_ASYNC) < 0 && errno == ENOMEM ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    hub_mapping_fini(&mapping);
}

/* ---- the file of a shared group ---- */

/* r[verify shm.file.path] */
static void a_file_lies_in_dev_shm_under_user_process_and_a_nonce(void **state)
{
    struct hub_mapping mapping;
    char start[128];
    size_t length =
        (size_t)snprintf(start, sizeof start, "/dev/shm/%s-%u-%d-", PREFIX, getuid(), getpid());

    (void)state;
    assert_int_equal(hub_mapping_create_file(PREFIX, SIZE, &mapping), 0);
    assert_int_equal(strncmp(mapping.path, start, length), 0);
    assert_int_equal(strlen(mapping.path), length + 16);
    assert_int_equal(strspn(mapping.path + length, "0123456789abcdef"), 16);
    hub_mapping_fini(&mapping);
}

/* Whatever the umask. r[verify shm.file.permissions] r[verify shm.file.create] */
static void a_file_is_its_users_alone_zeroed_and_locked(void **state)
{
    mode_t kept = umask(0);
    struct hub_mapping mapping;
    struct stat file;
    int other;

    (void)state;
    assert_int_equal(hub_mapping_create_file(PREFIX, SIZE, &mapping), 0);
    umask(kept);
    assert_int_equal(stat(mapping.path, &file), 0);
    assert_int_equal(file.st_mode, S_IFREG | 0600);
    assert_int_equal(file.st_uid, getuid());
    assert_int_equal(file.st_size, SIZE);
    assert_zeroed(&mapping);
    assert_cloexec(mapping.fd);
    other = open(mapping.path, O_RDWR | O_CLOEXEC);
    assert_int_equal(hub_lock_free(other, HUB_LOCK_HOST, 1), 0);
    close(other);
    hub_mapping_fini(&mapping);
}

/* r[verify shm.file.create] */
static void no_two_files_are_the_same(void **state)
{
    struct hub_mapping one, two;

    (void)state;
    assert_int_equal(hub_mapping_create_file(PREFIX, SIZE, &one), 0);
    assert_int_equal(hub_mapping_create_file(PREFIX, SIZE, &two), 0);
    assert_string_not_equal(one.path, two.path);
    one.data[0] = 1;
    assert_int_equal(two.data[0], 0);
    hub_mapping_fini(&one);
    hub_mapping_fini(&two);
}

/* r[verify shm.file.cleanup] */
static void who_made_a_file_removes_it_and_who_opened_it_does_not(void **state)
{
    struct leak *leak = leak_begin();
    struct hub_mapping host, guest;
    char path[HUB_MAPPING_PATH_MAX];

    (void)state;
    assert_int_equal(hub_mapping_create_file(PREFIX, SIZE, &host), 0);
    memcpy(path, host.path, sizeof path);
    assert_int_equal(hub_mapping_open(path, SIZE, &guest), 0);
    assert_string_equal(guest.path, "");
    hub_mapping_fini(&guest);
    assert_int_equal(access(path, F_OK), 0);
    hub_mapping_fini(&host);
    assert_int_equal(access(path, F_OK), -1);
    leak_assert_none(leak);
}

static void the_end_of_a_mapping_keeps_errno(void **state)
{
    struct hub_mapping mapping;

    (void)state;
    assert_int_equal(hub_mapping_create_file(PREFIX, 4096, &mapping), 0);
    assert_int_equal(unlink(mapping.path), 0);
    errno = EXDEV;
    hub_mapping_fini(&mapping);
    assert_int_equal(errno, EXDEV);
}

static uint64_t pages_of(const struct hub_mapping *mapping)
{
    struct stat file;

    assert_int_equal(fstat(mapping->fd, &file), 0);
    return (uint64_t)file.st_blocks * 512 / (uint64_t)sysconf(_SC_PAGESIZE);
}

/* r[verify hub.file.room] */
static void pages_are_taken_when_they_are_asked_for_and_keep_what_they_hold(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct hub_mapping mapping;

    (void)state;
    assert_int_equal(hub_mapping_create_file(PREFIX, 64 * page, &mapping), 0);
    if (mapping.whole) {
        hub_mapping_fini(&mapping);
        skip(); /* this file system takes all at once */
    }
    assert_in_range(pages_of(&mapping), 0, 1);
    assert_int_equal(hub_mapping_take(&mapping, 8 * page + 100, 2 * page), 0);
    assert_in_range(pages_of(&mapping), 3, 4);
    mapping.data[9 * page] = 7;
    errno = EINTR; /* of something before: it is not tried again for ever */
    assert_int_equal(hub_mapping_take(&mapping, 8 * page, 3 * page), 0);
    assert_in_range(pages_of(&mapping), 3, 4);
    assert_int_equal(mapping.data[9 * page], 7);
    assert_int_equal(hub_mapping_take(&mapping, 0, 64 * page), 0);
    assert_int_equal(pages_of(&mapping), 64);
    assert_int_equal(mapping.data[9 * page], 7);
    hub_mapping_fini(&mapping);
}

static void the_pages_of_a_memfd_come_when_they_are_touched(void **state)
{
    struct hub_mapping mapping;

    (void)state;
    assert_int_equal(hub_mapping_create_sealed("test", SIZE, &mapping), 0);
    assert_int_equal(hub_mapping_take(&mapping, 0, SIZE), 0);
    assert_int_equal(pages_of(&mapping), 0);
    hub_mapping_fini(&mapping);
}

/* It is an error now and not a SIGBUS at some write. r[verify hub.file.room] */
static void a_range_for_which_there_is_no_room_is_refused_and_nothing_taken(void **state)
{
    struct leak *leak = leak_begin();
    struct hub_mapping mapping;
    struct statvfs place;
    uint64_t size;
    int r;

    (void)state;
    assert_int_equal(statvfs("/dev/shm", &place), 0);
    if (place.f_blocks == 0)
        skip(); /* no limit */
    size = (place.f_blocks + 1) * place.f_frsize;
    assert_int_equal(hub_mapping_create_file(PREFIX, size, &mapping), 0);
    r = hub_mapping_take(&mapping, 0, size);
    assert_refused(r, -ENOSPC, "hub.file.room");
    assert_non_null(strstr(rapahub_last_error()->text, "/dev/shm"));
    assert_non_null(strstr(rapahub_last_error()->text, "bytes are free there"));
    assert_non_null(strstr(rapahub_error_hint(r), "/dev/shm"));
    assert_in_range(pages_of(&mapping), 0, 1);
    hub_mapping_fini(&mapping);
    leak_assert_none(leak);
}

/* ---- open ---- */

/* r[verify shm.file.attach] */
static void a_descriptor_is_named_by_either_path(void **state)
{
    struct hub_mapping mapping, guest;
    char path[64];

    (void)state;
    assert_int_equal(hub_mapping_create_sealed("test", SIZE, &mapping), 0);
    mapping.data[5] = 5;
    snprintf(path, sizeof path, "/dev/fd/%d", mapping.fd);
    assert_int_equal(hub_mapping_open(path, 0, &guest), 0);
    assert_int_not_equal(guest.fd, mapping.fd);
    assert_cloexec(guest.fd);
    assert_int_equal(guest.data[5], 5);
    hub_mapping_fini(&guest);
    hub_mapping_fini(&mapping);
}

static void a_path_that_leads_nowhere_is_refused(void **state)
{
    static const char *const paths[] = {"/dev/shm/test-mapping-none", "/proc/self/fd/", "",
                                        "/proc/self/fd/1x", "/proc/self/fd/99999999999999999999"};
    struct hub_mapping mapping;

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int r = hub_mapping_open(paths[i], 0, &mapping);

        assert_true(r == -ENOENT || r == -EISDIR);
        assert_refused(r, r, "shm.file.attach");
    }
    assert_refused(hub_mapping_open("/proc/self/fd/1000000", 0, &mapping), -EBADF,
                   "shm.file.attach");
}

/* r[verify shm.file.attach] */
static void what_is_no_file_or_too_small_is_refused(void **state)
{
    struct leak *leak = leak_begin();
    struct hub_mapping mapping, small;
    char path[64];
    int ends[2];

    (void)state;
    assert_refused(hub_mapping_open("/dev/null", 0, &mapping), RAPAHUB_EFORMAT, "shm.file.attach");
    assert_int_equal(hub_mapping_create_sealed("test", SIZE, &small), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", small.fd);
    assert_refused(hub_mapping_open(path, SIZE + 1, &mapping), RAPAHUB_EFORMAT, "shm.file.attach");
    assert_non_null(strstr(rapahub_last_error()->text, "10000 bytes, at least 10001"));
    hub_mapping_fini(&small);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_refused(hub_mapping_open(path, 0, &mapping), RAPAHUB_EFORMAT, "shm.file.attach");
    close(ends[0]);
    close(ends[1]);
    leak_assert_none(leak);
}

static void a_file_that_cannot_be_mapped_is_refused(void **state)
{
    int empty = memfd_create("empty", MFD_CLOEXEC);
    struct hub_mapping mapping;
    char path[64];

    (void)state;
    snprintf(path, sizeof path, "/proc/self/fd/%d", empty);
    assert_refused(hub_mapping_open(path, 0, &mapping), -EINVAL, "shm.file.mmap-posix");
    close(empty);
}

/* ---- other kernels, and other descriptors ---- */

static int refusal;      /* of a memfd with the seal against execution; 0: none */
static unsigned refused; /* how often */

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags)
{
    if (refusal == 0 || (flags & 8U /* MFD_NOEXEC_SEAL */) == 0)
        return __real_memfd_create(name, flags);
    refused++;
    errno = refusal;
    return -1;
}

/* Kernels before 6.3 do not know that seal. r[verify hub.file.seal] */
static void a_memfd_is_sealed_where_the_kernel_knows_fewer_seals(void **state)
{
    struct hub_mapping mapping;
    int seals;

    (void)state;
    refused = 0;
    refusal = EINVAL;
    assert_int_equal(hub_mapping_create_sealed("test", SIZE, &mapping), 0);
    seals = fcntl(mapping.fd, F_GET_SEALS);
    assert_true((seals & F_SEAL_SHRINK) && (seals & F_SEAL_GROW));
    hub_mapping_fini(&mapping);
    assert_int_equal(refused, 1);
    refusal = ENFILE; /* that is no reason to try again */
    assert_int_equal(hub_mapping_create_sealed("test", SIZE, &mapping), RAPAHUB_ENFILE);
    refusal = 0;
    assert_int_equal(refused, 2);
}

/* The descriptor that was given may be any, also the first. */
static void the_memfd_of_a_guest_is_forgotten_with_its_mapping_kept(void **state)
{
    static const char *const paths[] = {"/proc/self/fd/0", "/dev/fd/0"};
    int input = fcntl(0, F_DUPFD_CLOEXEC, 3);

    (void)state;
    assert_true(input > 0);
    for (int i = 0; i < 2; i++) {
        struct hub_mapping host, guest;

        assert_int_equal(hub_mapping_create_sealed("test", SIZE, &host), 0);
        assert_int_equal(dup2(host.fd, 0), 0);
        assert_int_equal(hub_mapping_open(paths[i], SIZE, &guest), 0);
        hub_mapping_forget_file(&guest, "/dev/shm/elsewhere");
        assert_true(guest.fd > 0 && fcntl(0, F_GETFD) >= 0);
        hub_mapping_forget_file(&guest, paths[i]);
        assert_int_equal(guest.fd, -1);
        assert_int_equal(fcntl(0, F_GETFD), -1);
        host.data[0] = 7;
        assert_int_equal(guest.data[0], 7);
        hub_mapping_fini(&guest);
        hub_mapping_fini(&host);
    }
    assert_int_equal(dup2(input, 0), 0);
    close(input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_empty_mapping_has_nothing_to_end),
        cmocka_unit_test(a_memfd_is_zeroed_and_ends_whole),
        cmocka_unit_test(a_guest_can_neither_shrink_grow_nor_seal_the_memfd),
        cmocka_unit_test(a_hole_punched_by_a_guest_reads_as_zeros),
        cmocka_unit_test(what_one_side_writes_the_other_reads),
        cmocka_unit_test(a_forked_child_does_not_have_the_mapping),
        cmocka_unit_test(a_file_lies_in_dev_shm_under_user_process_and_a_nonce),
        cmocka_unit_test(a_file_is_its_users_alone_zeroed_and_locked),
        cmocka_unit_test(no_two_files_are_the_same),
        cmocka_unit_test(who_made_a_file_removes_it_and_who_opened_it_does_not),
        cmocka_unit_test(the_end_of_a_mapping_keeps_errno),
        cmocka_unit_test(pages_are_taken_when_they_are_asked_for_and_keep_what_they_hold),
        cmocka_unit_test(the_pages_of_a_memfd_come_when_they_are_touched),
        cmocka_unit_test(a_range_for_which_there_is_no_room_is_refused_and_nothing_taken),
        cmocka_unit_test(a_descriptor_is_named_by_either_path),
        cmocka_unit_test(a_path_that_leads_nowhere_is_refused),
        cmocka_unit_test(what_is_no_file_or_too_small_is_refused),
        cmocka_unit_test(a_file_that_cannot_be_mapped_is_refused),
        cmocka_unit_test(a_memfd_is_sealed_where_the_kernel_knows_fewer_seals),
        cmocka_unit_test(the_memfd_of_a_guest_is_forgotten_with_its_mapping_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
