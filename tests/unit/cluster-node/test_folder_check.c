/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/base/ids.h"
#include "cluster/identity/ca.h"
#include "cluster/node/boot/folder_check.h"
#include "cluster/node/boot/node_init.h"
#include "cluster/node/disk/copy_jobs.h"
#include "cluster/node/disk/store_thread.h"
#include "hub/base/clock.h"
#include "tests/store/boot_stage.h"
#include "tests/support/testing.h"

#define POOL    ((uint64_t)CLUSTER_POOL_MAJOR_LEAST << 32)
#define SEGMENT "wal/domain_table.0000000000000001.bin"
#define COPY    "copies/0000010000000000.00000001.copy"

static uint8_t digest_of_module[CLUSTER_DIGEST_SIZE];

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

static void on_done(void *user, struct cluster_disk_result *result)
{
    (void)user;
    assert_int_equal(result->status, 0);
}

/* A node that has run: an entry in the log, a copy, a module. */
static void run_node(const struct folder_stage *stage)
{
    const struct cluster_delta_change change = {.pool = POOL,
                                                .container = 1,
                                                .entry = {.state = CLUSTER_ENTRY_STARTING,
                                                          .owner = 1,
                                                          .session = 1,
                                                          .epoch = 1,
                                                          .lineage = cluster_ids_lineage(1, 0)}};
    struct cluster_copy copy = {
        .token = cluster_ids_token(0, 1, 0), .seq = 1, .state = {strdup("state"), 5}};
    struct cluster_disk_part part = {.size = 6, .part = {"module", 6}};
    struct cluster_store_thread_options options = {0};
    struct cluster_wal_record record = {.count = 1};
    struct cluster_store_thread *thread;
    struct cluster_digest digest;
    struct boot_told told = {0};
    struct cluster_boot boot;
    uint64_t stopped_ns;

    assert_int_equal(boot_stage_run(stage, &boot), 0);
    assert_int_equal(cluster_boot_read_all(&boot, &boot_stage_visitor, &told), 0);
    assert_true(boot_stage_fill(&boot) > 0);
    options.folder = &boot.folder;
    options.log = &boot.wal;
    options.machine_boot = boot.machine.boot;
    assert_int_equal(cluster_store_thread_start(&options, &thread), 0);
    record.revision = boot_stage_map(&boot, 1, 0);
    assert_int_equal(cluster_store_thread_append(thread, &record, &change, on_done, NULL), 0);
    assert_int_equal(cluster_copy_jobs_write(thread, (struct cluster_disk_container){POOL, 1},
                                             &copy, on_done, NULL),
                     0);
    assert_int_equal(cluster_store_thread_guest_came(thread, (struct cluster_guest_record){1000, 7},
                                                     on_done, NULL),
                     0);
    cluster_digest_begin(&digest);
    cluster_digest_add(&digest, "module", 6);
    cluster_digest_end(&digest, part.digest);
    assert_int_equal(cluster_store_thread_blob_part(thread, &part, on_done, NULL), 0);
    stopped_ns = hub_clock_now();
    cluster_store_thread_stop(thread, true, hub_clock_after(10 * HUB_SECOND));
    assert_true(hub_clock_now() - stopped_ns < 8 * HUB_SECOND); /* its last request has ended */
    cluster_boot_close(&boot);
}

static int begin(void **state)
{
    struct folder_stage *stage = calloc(1, sizeof *stage);

    folder_stage_begin(stage);
    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    run_node(stage);
    *state = stage;
    return 0;
}

static int end(void **state)
{
    folder_stage_end(*state);
    free(*state);
    return 0;
}

struct findings {
    unsigned of[CLUSTER_FOLDER_CHECK_GRADES];
    char text[2048];
};

static void take(void *user, enum cluster_folder_check_grade grade, const char *place,
                 const char *text)
{
    struct findings *findings = user;
    size_t size = strlen(findings->text);

    findings->of[grade]++;
    snprintf(findings->text + size, sizeof findings->text - size, "%s: %s\n", place, text);
}

static int check(const struct folder_stage *stage, struct findings *findings)
{
    const struct cluster_boot_options boot = boot_stage_options(stage);
    const struct cluster_folder_check_options options = {
        .data = stage->path, .scratch = stage->top, .ends = boot.ends};

    memset(findings, 0, sizeof *findings);
    return cluster_folder_check_run(&options, take, findings);
}

/* There is one finding of this grade, with this text, and no other. */
static void assert_finding(const struct folder_stage *stage, enum cluster_folder_check_grade grade,
                           const char *text)
{
    struct findings findings;
    int r = check(stage, &findings);

    if (r != 1 || findings.of[grade] != 1 || !strstr(findings.text, text))
        fail_msg("%d findings, not '%s':\n%s", r, text, findings.text);
}

/* r[verify cluster.fsck] */
static void a_sound_folder_has_no_findings(void **state)
{
    const struct folder_stage *stage = *state;
    struct findings findings;

    if (check(stage, &findings) != 0)
        fail_msg("%s", findings.text);
    assert_int_equal(findings.of[CLUSTER_FOLDER_CHECK_FINE], 6);
    assert_non_null(strstr(findings.text, "node 1, life 1"));
    assert_non_null(strstr(findings.text, "1 entries"));
    assert_non_null(strstr(findings.text, "copies of 1 containers"));
    assert_non_null(strstr(findings.text, "1 modules"));
    assert_false(folder_stage_has(stage, "../rapahub-fsck"));
}

static void each_damage_is_found_and_left(void **state)
{
    const struct folder_stage *stage = *state;
    struct findings findings;

    folder_stage_flip(stage, SEGMENT, 70);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_MENDED, "the next start cuts it off");
    folder_stage_flip(stage, SEGMENT, 70);
    folder_stage_flip(stage, SEGMENT, 3);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_MENDED, "puts the log aside");
    folder_stage_flip(stage, SEGMENT, 3);
    folder_stage_flip(stage, COPY, 130);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_WRONG, "the container begins without its state");
    folder_stage_flip(stage, COPY, 130);
    folder_stage_flip(stage, COPY, 16);
    assert_int_equal(check(stage, &findings), 1);
    folder_stage_flip(stage, COPY, 16);
    folder_stage_flip(stage, "guests", 0);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_WRONG, "guests");
    folder_stage_flip(stage, "guests", 0);
    folder_stage_flip(stage, "node.store", 20);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_WRONG, "node.store: it is damaged");
    folder_stage_flip(stage, "node.store", 20);
    folder_stage_write(stage, "blobs/sha256/push.1", "x", 1);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_MENDED, "push.1: it was not finished");
    assert_true(folder_stage_has(stage, "blobs/sha256/push.1"));
    folder_stage_remove(stage, "blobs/sha256/push.1");
    assert_int_equal(check(stage, &findings), 0); /* all of it is as it was */
}

static void a_metastore_is_looked_at_by_a_copy(void **state)
{
    const struct folder_stage *stage = *state;
    static uint8_t kept[4 << 20];
    size_t size = folder_stage_read(stage, "meta.db", kept, sizeof kept);

    folder_stage_remove(stage, "meta.db");
    assert_finding(stage, CLUSTER_FOLDER_CHECK_WRONG, "meta.db: it is missing");
    assert_false(folder_stage_has(stage, "meta.db"));
    folder_stage_write(stage, "meta.db", "no database, no database", 24);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_WRONG, "meta.db");
    folder_stage_write(stage, "meta.db", kept, size);
    {
        struct findings findings;

        if (check(stage, &findings) != 0)
            fail_msg("%s", findings.text);
    }
}

static void other_bytes_of_a_module_are_found(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_digest digest;
    uint8_t bytes[CLUSTER_DIGEST_SIZE];
    char path[128];
    int at;

    cluster_digest_begin(&digest);
    cluster_digest_add(&digest, "module", 6);
    cluster_digest_end(&digest, bytes);
    at = snprintf(path, sizeof path, "blobs/sha256/%02x/", bytes[0]);
    for (size_t i = 0; i < sizeof bytes; i++)
        at += snprintf(path + at, sizeof path - (size_t)at, "%02x", bytes[i]);
    folder_stage_remove(stage, path);
    folder_stage_write(stage, path, "others", 6);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_WRONG, "push the module again");
}

static void each_module_that_is_known_must_be_there(void **state)
{
    const struct folder_stage *stage = *state;
    struct boot_stage_put put = {{.kind = CLUSTER_KEY_MODULE,
                                  .text = rapahub_string_of("calc"),
                                  .version = rapahub_string_of("1.2.3")},
                                 {.module = {.name = rapahub_string_of("calc"),
                                             .version = rapahub_string_of("1.2.3"),
                                             .machine = rapahub_string_of("x86_64"),
                                             .abi = 1,
                                             .size = 6,
                                             .digest = {digest_of_module, CLUSTER_DIGEST_SIZE}}}};
    struct findings findings;
    struct cluster_digest digest;
    struct cluster_boot boot;

    cluster_digest_begin(&digest);
    cluster_digest_add(&digest, "module", 6);
    cluster_digest_end(&digest, digest_of_module);
    assert_int_equal(boot_stage_run(stage, &boot), 0);
    assert_true(boot_stage_write(&boot, &put, 1) > 0);
    cluster_boot_close(&boot);
    assert_int_equal(check(stage, &findings), 0);
    digest_of_module[0] ^= 1;
    put.key.version = put.record.module.version = rapahub_string_of("1.2.4");
    assert_int_equal(boot_stage_run(stage, &boot), 0);
    assert_true(boot_stage_write(&boot, &put, 1) > 0);
    cluster_boot_close(&boot);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_WRONG,
                   "module calc:1.2.4 is not there: push it again");
}

/* Names as they are written for a moment, and as damaged files are kept, are a node's. */
static void names_that_no_node_gives_are_found_in_each_folder(void **state)
{
    static const char *const strays[] = {"letter.txt",
                                         "wal/notes",
                                         "wal/domain_table.1.bin",
                                         "copies/0000010000000000.00000001.copy~",
                                         "copies/0000010000000000.copy",
                                         "blobs/letter",
                                         "blobs/sha256/abc",
                                         "pools/letter",
                                         "pools/0000010000000000"};
    static const char *const ours[] = {"node.id.new", "guests.new",
                                       "copies/0000010000000000.00000009.copy.bad",
                                       "restart/mine.yaml"};
    const struct folder_stage *stage = *state;
    struct findings findings;

    for (unsigned i = 0; i < sizeof strays / sizeof *strays; i++) {
        folder_stage_write(stage, strays[i], "x", 1);
        assert_finding(stage, CLUSTER_FOLDER_CHECK_STRAY, strays[i]);
        assert_true(folder_stage_has(stage, strays[i]));
        folder_stage_remove(stage, strays[i]);
    }
    for (unsigned i = 0; i < sizeof ours / sizeof *ours; i++)
        folder_stage_write(stage, ours[i], "x", 1);
    assert_int_equal(check(stage, &findings), 0);
}

/* Where there is no place for the copy nothing is said of the metastore. */
static void without_space_for_a_copy_nothing_is_known(void **state)
{
    const struct folder_stage *stage = *state;
    const struct cluster_boot_options boot = boot_stage_options(stage);
    const struct cluster_folder_check_options options = {
        .data = stage->path, .scratch = "/nonexistent", .ends = boot.ends};
    struct findings findings = {.text = ""};

    assert_int_equal(cluster_folder_check_run(&options, take, &findings), -ENOENT);
    assert_null(strstr(findings.text, "meta.db"));
}

/* A metastore of a later release is told by the name of the folder's file, not of the copy. */
static void a_metastore_from_the_future_is_named(void **state)
{
    const struct folder_stage *stage = *state;
    static uint8_t bytes[4 << 20];
    size_t size = folder_stage_read(stage, "meta.db", bytes, sizeof bytes);
    char text[FOLDER_STAGE_PATH_MAX + 64];

    bytes[63] = 9; /* user_version, at offset 60 of the file */
    folder_stage_write(stage, "meta.db", bytes, size);
    snprintf(text, sizeof text, "%s/meta.db is of a newer release", stage->path);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_WRONG, text);
}

/* The log says what the metastore does not: an entry was lost, or written by hand. */
static void log_and_metastore_are_compared(void **state)
{
    const struct folder_stage *stage = *state;
    const struct cluster_entry entry = {.state = CLUSTER_ENTRY_ACTIVE,
                                        .owner = 1,
                                        .session = 1,
                                        .epoch = 5,
                                        .lineage = cluster_ids_lineage(1, 0)};
    const struct boot_stage_put put = {{.kind = CLUSTER_KEY_ENTRY, .pool = POOL, .container = 1},
                                       {.entry = entry}};
    struct cluster_boot boot;

    assert_int_equal(boot_stage_run(stage, &boot), 0);
    assert_true(boot_stage_write(&boot, &put, 1) > 0);
    cluster_boot_close(&boot);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_WRONG, "is not what the log of the map says");
}

static void a_folder_of_a_node_that_runs_is_not_looked_at(void **state)
{
    const struct folder_stage *stage = *state;
    struct folder_stage other = *stage;
    struct findings findings;
    struct cluster_boot boot;

    assert_int_equal(boot_stage_run(stage, &boot), 0);
    assert_int_equal(check(stage, &findings), RAPAHUB_EBUSY);
    cluster_boot_close(&boot);
    snprintf(other.path, sizeof other.path, "%s/none", stage->top);
    assert_int_equal(check(&other, &findings), -ENOENT);
    assert_int_equal(mkdir(other.path, 0700), 0);
    assert_finding(&other, CLUSTER_FOLDER_CHECK_MENDED, "was set up in part");
    assert_false(folder_stage_has(&other, "lock"));
    folder_stage_write(&other, "letter.txt", "x", 1);
    assert_finding(&other, CLUSTER_FOLDER_CHECK_WRONG, "'letter.txt'");
}

static void init(const struct folder_stage *stage, uint64_t now_s)
{
    const struct cluster_boot_options options = boot_stage_options(stage);
    struct cluster_node_init made;

    assert_int_equal(cluster_node_init_run(&options, now_s, &made), 0);
}

/* r[verify cluster.fsck] */
static void certificates_are_looked_at(void **state)
{
    const struct folder_stage *stage = *state;
    struct findings findings;
    char path[FOLDER_STAGE_PATH_MAX + 32];

    init(stage, hub_clock_wall() / HUB_SECOND);
    assert_int_equal(check(stage, &findings), 0);
    assert_non_null(
        strstr(findings.text, "tls/node.pem: certificate of node 1, and the authority"));
    snprintf(path, sizeof path, "%s/ca/ca.key", stage->path);
    assert_int_equal(chmod(path, 0604), 0);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_WRONG, "ca/ca.key: others may use this key");
    assert_int_equal(chmod(path, 0600), 0);
    folder_stage_write(stage, "tls/letter.txt", "x", 1);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_STRAY, "tls/letter.txt: ");
    folder_stage_remove(stage, "tls/letter.txt");
    folder_stage_write(stage, "ca/letter.txt", "x", 1);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_STRAY, "ca/letter.txt: ");
    folder_stage_remove(stage, "ca/letter.txt");
    folder_stage_remove(stage, "tls/ca.pem");
    assert_finding(stage, CLUSTER_FOLDER_CHECK_WRONG, "rapahub node init ");
}

/* r[verify cluster.fsck] */
static void a_certificate_that_has_expired_is_told(void **state)
{
    const struct folder_stage *stage = *state;
    uint64_t now_s = hub_clock_wall() / HUB_SECOND;

    init(stage, now_s - CLUSTER_CA_PEER_S - 60);
    assert_finding(stage, CLUSTER_FOLDER_CHECK_MENDED, "the next start renews it");
    folder_stage_remove(stage, "ca/ca.pem");
    assert_finding(stage, CLUSTER_FOLDER_CHECK_WRONG, "the certificate expired at ");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_sound_folder_has_no_findings),
        TEST(each_damage_is_found_and_left),
        TEST(a_metastore_is_looked_at_by_a_copy),
        TEST(other_bytes_of_a_module_are_found),
        TEST(each_module_that_is_known_must_be_there),
        TEST(names_that_no_node_gives_are_found_in_each_folder),
        TEST(without_space_for_a_copy_nothing_is_known),
        TEST(a_metastore_from_the_future_is_named),
        TEST(log_and_metastore_are_compared),
        TEST(a_folder_of_a_node_that_runs_is_not_looked_at),
        TEST(certificates_are_looked_at),
        TEST(a_certificate_that_has_expired_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
