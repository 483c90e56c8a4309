/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/base/ids.h"
#include "hub/base/clock.h"
#include "tests/store/boot_stage.h"
#include "tests/support/testing.h"

static void quiet(void *user, enum rapahub_log_level level, const char *topic, const char *text)
{
    (void)user;
    (void)level;
    (void)topic;
    (void)text;
}

static int begin(void **state)
{
    struct folder_stage *stage = calloc(1, sizeof *stage);

    folder_stage_begin(stage);
    rapahub_log_to(quiet, NULL, RAPAHUB_LOG_ERROR);
    *state = stage;
    return 0;
}

static int end(void **state)
{
    folder_stage_end(*state);
    free(*state);
    return 0;
}

static void assert_refused(const struct folder_stage *stage, int code, const char *text)
{
    struct cluster_boot boot;

    assert_int_equal(boot_stage_run(stage, &boot), code);
    if (!strstr(rapahub_last_error()->text, text))
        fail_msg("'%s' does not say '%s'", rapahub_last_error()->text, text);
    assert_null(boot.store);
    assert_int_equal(boot.folder.lock, -1);
}

static void start_and_stop(const struct folder_stage *stage)
{
    struct cluster_boot boot;

    if (boot_stage_run(stage, &boot) != 0)
        fail_msg("%s", rapahub_last_error()->text);
    cluster_boot_close(&boot);
}

/* r[verify cluster.boot.order] */
static void each_life_has_a_number_and_a_session(void **state)
{
    const struct folder_stage *stage = *state;
    uint64_t last = 0;

    for (uint32_t life = 1; life <= 3; life++) {
        struct cluster_boot boot;

        assert_int_equal(boot_stage_run(stage, &boot), 0);
        assert_int_equal(boot.folder.boot, life);
        assert_int_equal(boot.folder.node, 1);
        assert_true(boot.session > last);
        assert_true(boot.folder.store.revision > 0);
        assert_int_equal(boot.generation, 0);
        last = boot.session;
        cluster_boot_close(&boot);
    }
}

static void a_stop_in_order_ends_the_session(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_boot boot;
    struct boot_told told = {0};

    assert_int_equal(boot_stage_run(stage, &boot), 0);
    assert_int_equal(cluster_boot_end_session(&boot), 0);
    assert_int_equal(cluster_boot_end_session(&boot), 0); /* it is gone */
    cluster_boot_close(&boot);
    assert_int_equal(boot_stage_run(stage, &boot), 0);
    assert_int_equal(cluster_boot_read_all(&boot, &boot_stage_visitor, &told), 0);
    assert_true(told.readings == 1 && told.entries == 0 && told.last == 0);
    cluster_boot_close(&boot);
}

static void a_guest_of_the_last_life_is_killed_first(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_guest_record guest = {.pid = fork()};
    struct cluster_guest_records records;
    struct cluster_boot boot;
    int status;

    if (guest.pid == 0)
        for (;;)
            pause();
    assert_int_equal(cluster_machine_start_of(guest.pid, &guest.start), 0);
    assert_int_equal(boot_stage_run(stage, &boot), 0);
    cluster_guest_records_init(&records, &boot.folder.root, boot.machine.boot);
    assert_int_equal(cluster_guest_records_add(&records, guest), 0);
    assert_int_equal(cluster_guest_records_write(&records), 0);
    cluster_boot_close(&boot);
    assert_int_equal(boot_stage_run(stage, &boot), 0);
    assert_int_equal(boot.killed, 1);
    assert_int_equal(waitpid(guest.pid, &status, WNOHANG), guest.pid);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    cluster_boot_close(&boot);
}

/* r[verify cluster.folder.lock] */
static void a_folder_has_one_node(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_boot boot;

    assert_int_equal(boot_stage_run(stage, &boot), 0);
    assert_refused(stage, RAPAHUB_EBUSY, "stop that one, or name another folder");
    cluster_boot_close(&boot);
    start_and_stop(stage);
}

/* ---- the session of something else ---- */

static uint64_t put_session(const struct folder_stage *stage, const uint8_t *machine,
                            const uint8_t *boot_id, uint64_t device, uint64_t inode)
{
    struct cluster_boot boot;
    struct boot_stage_put put = {.key = {.kind = CLUSTER_KEY_SESSION, .node = 1}};
    uint64_t rev;

    assert_int_equal(boot_stage_run(stage, &boot), 0);
    put.record.session = (struct cluster_record_session){
        .boot = boot.folder.boot,
        .seq = 1,
        .machine_id = {machine ? machine : boot.machine.id, CLUSTER_MACHINE_ID},
        .boot_id = {boot_id ? boot_id : boot.machine.boot, CLUSTER_MACHINE_ID},
        .folder_device = boot.folder.device + device,
        .folder_inode = boot.folder.inode + inode};
    rev = boot_stage_write(&boot, &put, 1);
    assert_true(rev > 0);
    cluster_boot_close(&boot);
    return rev;
}

/* r[verify cluster.restart.own] */
static void the_session_of_another_place_is_not_ended(void **state)
{
    const struct folder_stage *stage = *state;
    static const uint8_t other[CLUSTER_MACHINE_ID] = "another machine";
    struct cluster_boot_options options = boot_stage_options(stage);
    struct cluster_boot boot;

    put_session(stage, other, NULL, 0, 0);
    assert_refused(stage, RAPAHUB_ESTATE, "was on another machine");
    assert_refused(stage, RAPAHUB_ESTATE, "then adopt the folder");
    options.adopt = true;
    assert_int_equal(cluster_boot_run(&options, &boot), 0);
    cluster_boot_close(&boot);
    put_session(stage, NULL, NULL, 0, 1);
    assert_refused(stage, RAPAHUB_ESTATE, "in another folder");
    assert_int_equal(cluster_boot_run(&options, &boot), 0);
    cluster_boot_close(&boot);
    put_session(stage, NULL, NULL, 1, 0);
    assert_refused(stage, RAPAHUB_ESTATE, "on another disk");
    assert_int_equal(cluster_boot_run(&options, &boot), 0);
    cluster_boot_close(&boot);
    put_session(stage, NULL, other, 1, 0); /* numbers of devices are those of a boot */
    start_and_stop(stage);
    put_session(stage, NULL, other, 0, 0);
    start_and_stop(stage);
}

/* ---- the metastore of something else ---- */

static void copy_file(const struct folder_stage *stage, const char *from, const char *to)
{
    static uint8_t bytes[4 << 20];
    size_t size = folder_stage_read(stage, from, bytes, sizeof bytes);

    folder_stage_write(stage, to, bytes, size);
}

/* r[verify cluster.store.old] */
static void an_older_metastore_is_refused(void **state)
{
    const struct folder_stage *stage = *state;

    start_and_stop(stage);
    copy_file(stage, "meta.db", "kept");
    start_and_stop(stage);
    copy_file(stage, "meta.db", "newer");
    copy_file(stage, "kept", "meta.db");
    assert_refused(stage, RAPAHUB_ESTOREOLD, "put the newer one back");
    copy_file(stage, "newer", "meta.db");
    start_and_stop(stage);
}

/* r[verify cluster.boot.store] */
static void a_metastore_that_is_missing_is_not_made_anew(void **state)
{
    const struct folder_stage *stage = *state;

    start_and_stop(stage);
    copy_file(stage, "meta.db", "kept");
    folder_stage_remove(stage, "meta.db");
    assert_refused(stage, RAPAHUB_ENOENT, "meta.db");
    assert_false(folder_stage_has(stage, "meta.db"));
    folder_stage_write(stage, "meta.db", "this is no database, is it?", 27);
    assert_refused(stage, RAPAHUB_EIO, "meta.db");
    copy_file(stage, "kept", "meta.db");
    start_and_stop(stage);
}

static void the_metastore_of_another_node_is_refused(void **state)
{
    const struct folder_stage *stage = *state;
    struct folder_stage other = *stage;

    start_and_stop(stage);
    snprintf(other.path, sizeof other.path, "%s/other", stage->top);
    for (int i = 0; i < 5; i++)
        start_and_stop(&other); /* it is at a later revision */
    copy_file(&other, "meta.db", "../data/meta.db");
    assert_refused(stage, RAPAHUB_EFORMAT, "the metastore of another node");
    folder_stage_clear(other.path);
}

/* A node that lost all but its identity does not count its lives anew. */
static void a_life_that_was_counted_is_not_counted_again(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_boot boot;

    start_and_stop(stage);
    copy_file(stage, "node.boot", "kept");
    start_and_stop(stage);
    start_and_stop(stage);
    copy_file(stage, "kept", "node.boot");
    assert_refused(stage, RAPAHUB_EFORMAT, "'node.boot' is older than the metastore");
    assert_refused(stage, RAPAHUB_EFORMAT, "'node.boot' is older than the metastore");
    assert_int_equal(boot_stage_run(stage, &boot), 0); /* three lives were told */
    cluster_boot_close(&boot);
}

static void a_metastore_of_a_later_release_is_refused(void **state)
{
    const struct folder_stage *stage = *state;
    struct boot_stage_put put = {.key = {.kind = CLUSTER_KEY_META}};
    struct cluster_boot boot;

    assert_int_equal(boot_stage_run(stage, &boot), 0);
    put.record.meta = (struct cluster_record_meta){
        .uuid = {boot.folder.store.uuid, CLUSTER_RECORD_UUID}, .format = 2};
    assert_true(boot_stage_write(&boot, &put, 1) > 0);
    cluster_boot_close(&boot);
    assert_refused(stage, RAPAHUB_EABI, "use a later release");
}

static void another_cluster_is_refused(void **state)
{
    const struct folder_stage *stage = *state;
    static const uint8_t uuid[CLUSTER_RECORD_UUID] = "another cluster";
    struct boot_stage_put put = {.key = {.kind = CLUSTER_KEY_META}};
    struct cluster_boot boot;

    assert_int_equal(boot_stage_run(stage, &boot), 0);
    put.record.meta = (struct cluster_record_meta){.uuid = {uuid, sizeof uuid}, .format = 1};
    assert_true(boot_stage_write(&boot, &put, 1) > 0);
    cluster_boot_close(&boot);
    assert_refused(stage, RAPAHUB_ESTOREOLD, "another metastore");
}

static void a_start_without_a_metastore_of_its_kind_fails(void **state)
{
    const struct folder_stage *stage = *state;
    static const struct cluster_metastore_end *const none[] = {NULL};
    struct cluster_boot_options options = boot_stage_options(stage);
    struct cluster_boot boot;

    options.ends = none;
    assert_int_equal(cluster_boot_run(&options, &boot), RAPAHUB_ECONFIG);
    start_and_stop(stage); /* and has done no harm */
}

/* ---- a metastore that says nothing ---- */

struct silent {
    struct cluster_metastore base;
    cluster_on_txn *on_txn;
    void *user;
};

static const struct cluster_metastore_end silent_end;

static int open_silent(const char *url, const struct cluster_metastore_options *options,
                       struct cluster_metastore **out)
{
    struct silent *silent = calloc(1, sizeof *silent);

    (void)url;
    (void)options;
    silent->base.end = &silent_end;
    *out = &silent->base;
    return 0;
}

/* What was open ends late, when nobody waits for it any more. */
static void close_silent(struct cluster_metastore *store)
{
    struct silent *silent = (struct silent *)(void *)store;

    if (silent->on_txn)
        silent->on_txn(silent->user, CLUSTER_TXN_CLOSED, 0, NULL, 0);
    free(silent);
}

static int sync_silent(struct cluster_metastore *store, cluster_on_txn *on_txn, void *user)
{
    struct silent *silent = (struct silent *)(void *)store;

    silent->on_txn = on_txn;
    silent->user = user;
    return 0;
}

static int fd_of_silent(const struct cluster_metastore *store)
{
    (void)store;
    return -1;
}

static int step_silent(struct cluster_metastore *store, uint64_t now_ns, uint64_t *out_next_ns)
{
    (void)store;
    (void)now_ns;
    *out_next_ns = HUB_NEVER;
    return 0;
}

static const struct cluster_metastore_end silent_end = {
    .scheme = "sqlite",
    .open = open_silent,
    .close = close_silent,
    .sync = sync_silent,
    .fd = fd_of_silent,
    .step = step_silent,
};

static void a_metastore_that_does_not_answer_is_given_up(void **state)
{
    const struct folder_stage *stage = *state;
    static const struct cluster_metastore_end *const ends[] = {&silent_end, NULL};
    struct cluster_boot_options options = boot_stage_options(stage);
    struct cluster_boot boot;
    uint64_t begun_ns = hub_clock_now();

    options.ends = ends;
    options.wait_ns = 50 * HUB_MILLISECOND;
    assert_int_equal(cluster_boot_run(&options, &boot), -ETIMEDOUT);
    assert_non_null(strstr(rapahub_last_error()->text, "does not answer"));
    assert_true(hub_clock_now() - begun_ns >= options.wait_ns);
    start_and_stop(stage);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(each_life_has_a_number_and_a_session),
        TEST(a_stop_in_order_ends_the_session),
        TEST(a_guest_of_the_last_life_is_killed_first),
        TEST(a_folder_has_one_node),
        TEST(the_session_of_another_place_is_not_ended),
        TEST(an_older_metastore_is_refused),
        TEST(a_metastore_that_is_missing_is_not_made_anew),
        TEST(the_metastore_of_another_node_is_refused),
        TEST(a_life_that_was_counted_is_not_counted_again),
        TEST(a_metastore_of_a_later_release_is_refused),
        TEST(another_cluster_is_refused),
        TEST(a_start_without_a_metastore_of_its_kind_fails),
        TEST(a_metastore_that_does_not_answer_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
