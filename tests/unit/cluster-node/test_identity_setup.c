/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/node/disk/data_folder.h"
#include "cluster/node/identity/identity_setup.h"
#include "hub/base/random.h"
#include "tests/store/disk.h"
#include "tests/support/testing.h"

#define NOW UINT64_C(1800000000)

static const uint8_t the_uuid[CLUSTER_URI_UUID] = "0123456789abcde",
                     other_uuid[CLUSTER_URI_UUID] = "another cluster";
static const struct cluster_own_identity_owner owner = {the_uuid, 1};

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

static int begin(void **state)
{
    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    *state = disk_new();
    return 0;
}

static int end(void **state)
{
    disk_free(*state);
    return 0;
}

static int set_up(struct disk *disk, uint8_t digest[CLUSTER_CERTIFICATE_DIGEST])
{
    struct cluster_files_folder root = disk_root(disk);

    return cluster_identity_setup_run(&root, &owner, NOW, digest);
}

static int load(struct disk *disk, struct cluster_own_identity *own)
{
    const struct cluster_files_folder root = disk_root(disk);
    struct cluster_identity_files files;
    int r = cluster_identity_files_open(&root, false, &files);

    if (r < 0)
        return r;
    r = cluster_own_identity_load(&files, &owner, own);
    cluster_identity_files_close(&files);
    return r;
}

/* The identity is there, whole, and of this authority. */
static void assert_whole(struct disk *disk, const uint8_t digest[CLUSTER_CERTIFICATE_DIGEST])
{
    uint8_t found[CLUSTER_CERTIFICATE_DIGEST];
    struct cluster_own_identity own;
    int r = load(disk, &own);

    if (r != 0)
        fail_msg("%d: %s", r, rapahub_last_error()->text);
    assert_non_null(own.ca.key);
    assert_int_equal(own.anchors_count, 1);
    assert_int_equal(own.name.node, 1);
    assert_int_equal(cluster_certificate_check_dates(own.certificate, NOW), 0);
    assert_int_equal(cluster_certificate_digest(own.anchors[0], found), 0);
    assert_memory_equal(found, digest, sizeof found);
    assert_int_equal(cluster_certificate_digest(own.ca.certificate, found), 0);
    assert_memory_equal(found, digest, sizeof found);
    cluster_own_identity_fini(&own);
}

/* r[verify cluster.identity.setup] */
static void a_cluster_gets_its_authority_once(void **state)
{
    struct disk *disk = *state;
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST], again[CLUSTER_CERTIFICATE_DIGEST];
    struct cluster_own_identity own;

    assert_int_equal(load(disk, &own), 1);
    assert_int_equal(set_up(disk, digest), 0);
    assert_whole(disk, digest);
    assert_int_equal(set_up(disk, again), RAPAHUB_EEXIST);
    assert_non_null(strstr(rapahub_last_error()->text, "another node"));
    assert_whole(disk, digest);
}

struct crash {
    struct disk *disk;
    struct hub_random random;
    size_t images, whole;
};

/* After a crash at any step the identity is whole, or is not there and can be set up. */
static void look(void *user)
{
    struct crash *crash = user;

    for (int i = 0; i < 2; i++) {
        struct disk *after =
            disk_after(crash->disk, i == 0 ? DISK_KILLED : DISK_TORN, &crash->random);
        uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];
        struct cluster_own_identity own;
        int r = load(after, &own);

        if (r == 1) {
            r = set_up(after, digest);
            if (r == 0)
                assert_whole(after, digest);
        } else if (r == 0) {
            cluster_own_identity_fini(&own);
            crash->whole++;
        }
        if (r != 0)
            fail_msg("image %zu: %s", crash->images, rapahub_last_error()->text);
        disk_free(after);
        crash->images++;
    }
}

/* Every byte that is written is a step: only some are looked at. */
static void look_at_some(void *user)
{
    struct crash *crash = user;

    if (hub_random_below(&crash->random, 16) == 0)
        look(crash);
}

/* r[verify cluster.identity.setup] */
static void a_crash_at_any_step_can_be_repeated(void **state)
{
    struct crash crash = {.disk = *state};
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];

    hub_random_init(&crash.random, 11);
    crash.disk->step = look_at_some;
    crash.disk->user = &crash;
    assert_int_equal(set_up(crash.disk, digest), 0);
    crash.disk->step = NULL;
    look(&crash);
    print_message("crash images of a setup: %zu, whole ones %zu\n", crash.images, crash.whole);
    assert_true(crash.images > 200);
    assert_true(crash.whole >= 2);
}

/* Counts the calls that can fail of a setup that does not. */
static uint64_t count_calls(void)
{
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];
    struct disk *disk = disk_new();
    uint64_t calls;

    assert_int_equal(set_up(disk, digest), 0);
    calls = disk->calls;
    disk_free(disk);
    return calls;
}

/* r[verify cluster.identity.setup] */
static void a_disk_that_is_full_or_fails_is_told_and_can_be_repeated(void **state)
{
    static const int codes[] = {-ENOSPC, -EIO};
    uint64_t calls = count_calls();
    unsigned refused = 0;

    (void)state;
    for (uint64_t at = 1; at <= calls; at++) {
        for (size_t i = 0; i < 2; i++) {
            uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];
            struct disk *disk = disk_new();
            int r;

            disk->fail_at = at;
            disk->fail_code = codes[i];
            r = set_up(disk, digest);
            assert_true(r == 0 || r == codes[i]);
            refused += r < 0;
            disk->fail_at = 0;
            if (r < 0) {
                r = set_up(disk, digest);
                assert_true(r == 0 || r == RAPAHUB_EEXIST); /* only its last sync had failed */
            }
            if (r == 0)
                assert_whole(disk, digest);
            disk_free(disk);
        }
    }
    assert_true(refused > 30);
}

static uint8_t *bytes_of(struct disk *disk, const char *folder, const char *name, size_t *size)
{
    int fd = disk->files.open_folder(&disk->files, disk_root(disk).fd, folder);

    assert_true(fd >= 0);
    return disk_bytes(disk, fd, name, size);
}

static void remove_from(struct disk *disk, const char *folder, const char *name)
{
    int fd = disk->files.open_folder(&disk->files, disk_root(disk).fd, folder);

    assert_true(fd >= 0);
    assert_int_equal(disk->files.remove(&disk->files, fd, name), 0);
}

/* r[verify cluster.identity.setup] */
static void an_authority_is_never_made_anew(void **state)
{
    struct disk *disk = *state;
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST], again[CLUSTER_CERTIFICATE_DIGEST];
    size_t size;

    assert_int_equal(set_up(disk, digest), 0);
    remove_from(disk, CLUSTER_DATA_FOLDER_TLS, "ca.pem");
    assert_int_equal(set_up(disk, again), 0);
    assert_memory_equal(digest, again, sizeof digest);
    remove_from(disk, CLUSTER_DATA_FOLDER_TLS, "ca.pem");
    bytes_of(disk, CLUSTER_DATA_FOLDER_CA, "ca.pem", &size)[200] ^= 0x80;
    assert_int_equal(set_up(disk, again), RAPAHUB_EINVAL);
    assert_non_null(strstr(rapahub_last_error()->text, "disk/ca/ca.pem: "));
    bytes_of(disk, CLUSTER_DATA_FOLDER_CA, "ca.pem", &size)[200] ^= 0x80;
    remove_from(disk, CLUSTER_DATA_FOLDER_CA, "ca.key");
    assert_int_equal(set_up(disk, again), RAPAHUB_ENOENT);
    assert_non_null(strstr(rapahub_last_error()->text, "disk/ca/ca.key: "));
}

/* r[verify cluster.identity.setup] */
static void a_key_without_its_certificate_is_kept(void **state)
{
    struct disk *disk = *state;
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST], again[CLUSTER_CERTIFICATE_DIGEST];
    size_t size;

    assert_int_equal(set_up(disk, digest), 0);
    remove_from(disk, CLUSTER_DATA_FOLDER_TLS, "ca.pem");
    remove_from(disk, CLUSTER_DATA_FOLDER_CA, "ca.pem");
    assert_int_equal(set_up(disk, again), 0);
    assert_memory_not_equal(digest, again, sizeof digest);
    assert_non_null(bytes_of(disk, CLUSTER_DATA_FOLDER_CA, "ca.key.bad", &size));
}

/* r[verify cluster.identity.own] */
static void the_identity_of_another_is_refused(void **state)
{
    const struct cluster_own_identity_owner others[] = {{other_uuid, 1}, {the_uuid, 2}};
    struct disk *disk = *state;
    const struct cluster_files_folder root = disk_root(disk);
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];
    struct cluster_identity_files files;
    struct cluster_own_identity own;

    assert_int_equal(set_up(disk, digest), 0);
    assert_int_equal(cluster_identity_files_open(&root, false, &files), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(cluster_own_identity_load(&files, &others[i], &own), RAPAHUB_EINVAL);
    assert_non_null(strstr(rapahub_last_error()->text, "disk/tls/node.pem: "));
    cluster_identity_files_close(&files);
}

/* r[verify cluster.identity.own] */
static void a_file_that_is_damaged_or_missing_is_named(void **state)
{
    static const struct {
        const char *folder, *name;
    } names[] = {{CLUSTER_DATA_FOLDER_TLS, "ca.pem"},
                 {CLUSTER_DATA_FOLDER_TLS, "node.key"},
                 {CLUSTER_DATA_FOLDER_TLS, "node.pem"},
                 {CLUSTER_DATA_FOLDER_CA, "ca.key"},
                 {CLUSTER_DATA_FOLDER_CA, "ca.pem"}};
    struct disk *disk = *state;
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];
    struct cluster_own_identity own;
    char path[64];

    assert_int_equal(set_up(disk, digest), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size;
        uint8_t *bytes = bytes_of(disk, names[i].folder, names[i].name, &size);

        snprintf(path, sizeof path, "disk/%s", names[i].folder);
        bytes[size / 2] = '!';
        assert_int_equal(load(disk, &own), RAPAHUB_EINVAL);
        if (!strstr(rapahub_last_error()->text, path))
            fail_msg("'%s' does not name '%s'", rapahub_last_error()->text, path);
        bytes[size / 2] = 'A';
        disk_free(disk);
        disk = *state = disk_new();
        assert_int_equal(set_up(disk, digest), 0);
    }
    remove_from(disk, CLUSTER_DATA_FOLDER_TLS, "node.key");
    assert_int_equal(load(disk, &own), RAPAHUB_ENOENT);
    assert_non_null(strstr(rapahub_last_error()->text, "disk/tls/node.key: it is missing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_cluster_gets_its_authority_once, begin, end),
        cmocka_unit_test_setup_teardown(a_crash_at_any_step_can_be_repeated, begin, end),
        cmocka_unit_test_setup_teardown(a_disk_that_is_full_or_fails_is_told_and_can_be_repeated,
                                        begin, end),
        cmocka_unit_test_setup_teardown(an_authority_is_never_made_anew, begin, end),
        cmocka_unit_test_setup_teardown(a_key_without_its_certificate_is_kept, begin, end),
        cmocka_unit_test_setup_teardown(the_identity_of_another_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_is_damaged_or_missing_is_named, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
