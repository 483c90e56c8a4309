/* SPDX-License-Identifier: Apache-2.0 */
/* A data folder says where its metastore is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/base/ids.h"
#include "tests/unit/cluster-node/data_folder_stage.h"

static int open_with(const struct folder_stage *stage, const char *url,
                     struct cluster_data_folder *folder)
{
    const struct cluster_data_folder_options options = {
        .path = stage->path, .lock_fd = -1, .metastore = url};

    return cluster_data_folder_open(folder, &options);
}

/* Opens it, and says that it has seen a revision of its metastore. */
static void open_seen(const struct folder_stage *stage, const char *url)
{
    struct cluster_data_folder_store store = {.revision = cluster_ids_revision(0, 7)};
    struct cluster_data_folder folder;

    assert_int_equal(open_with(stage, url, &folder), 0);
    assert_int_equal(cluster_data_folder_count_boot(&folder), 0);
    assert_int_equal(cluster_data_folder_note_store(&folder, &store), 0);
    cluster_data_folder_close(&folder);
}

static void expect(const struct folder_stage *stage, const char *given, const char *url, bool apart)
{
    struct cluster_data_folder folder;

    assert_int_equal(open_with(stage, given, &folder), 0);
    assert_string_equal(folder.place.url, url);
    assert_int_equal(folder.place.apart, apart);
    assert_false(folder.place.joined);
    cluster_data_folder_close(&folder);
}

static void expect_refused(const struct folder_stage *stage, const char *url)
{
    struct cluster_data_folder folder;

    assert_int_equal(open_with(stage, url, &folder), RAPAHUB_ECONFIG);
    assert_non_null(strstr(rapahub_last_error()->text, url));
    assert_non_null(strstr(rapahub_last_error()->text, stage->path));
}

/* r[verify cluster.folder.metastore] */
static void a_folder_notes_the_metastore_that_it_is_given(void **state)
{
    const struct folder_stage *stage = *state;

    open_seen(stage, "etcd://a:1/one");
    expect(stage, NULL, "etcd://a:1/one", true);
    expect(stage, "etcd://a:1/one", "etcd://a:1/one", true);
}

/* r[verify cluster.folder.metastore] */
static void its_addresses_may_change_and_its_prefix_may_not(void **state)
{
    const struct folder_stage *stage = *state;

    open_seen(stage, "etcd://a:1/one");
    expect_refused(stage, "etcd://a:1/two");
    expect(stage, "etcds://b:1,c:2/one", "etcds://b:1,c:2/one", true);
    expect(stage, NULL, "etcds://b:1,c:2/one", true);
}

/* r[verify cluster.folder.metastore] */
static void a_folder_that_has_its_metastore_keeps_it(void **state)
{
    const struct folder_stage *stage = *state;
    char url[200];

    open_seen(stage, NULL);
    expect_refused(stage, "etcd://a:1/one");
    snprintf(url, sizeof url, "sqlite:%.100s/meta.db", stage->path);
    expect(stage, NULL, url, false);
    assert_false(folder_stage_has(stage, "node.metastore"));
}

/* r[verify cluster.folder.metastore] */
static void a_folder_that_has_joined_takes_none(void **state)
{
    const struct folder_stage *stage = *state;

    set_up(stage);
    folder_stage_write(stage, "node.seat", "192.0.2.7:9413\n", 15);
    expect_refused(stage, "etcd://a:1/one");
}

/* r[verify cluster.folder.metastore] */
static void a_line_that_is_empty_or_too_long_is_refused(void **state)
{
    const struct folder_stage *stage = *state;
    char *large = malloc(4000);
    struct cluster_data_folder folder;

    memset(large, 'x', 3999);
    large[3999] = '\0';
    assert_int_equal(open_with(stage, large, &folder), RAPAHUB_EINVAL);
    set_up(stage);
    folder_stage_write(stage, "node.metastore", "\n", 1);
    assert_refused(stage, RAPAHUB_EFORMAT, "node.metastore: it has no address");
    folder_stage_write(stage, "node.metastore", large, 3999);
    assert_int_not_equal(open_folder(stage, &folder), 0);
    free(large);
}

/* Certificates for etcd are put there before the node is. r[verify cluster.folder.setup] */
static void a_folder_with_certificates_for_etcd_is_set_up(void **state)
{
    const struct folder_stage *stage = *state;
    char path[200];

    snprintf(path, sizeof path, "%.100s/etcd", stage->path);
    (void)mkdir(stage->path, 0700);
    assert_int_equal(mkdir(path, 0700), 0);
    set_up(stage);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_folder_notes_the_metastore_that_it_is_given),
        TEST(its_addresses_may_change_and_its_prefix_may_not),
        TEST(a_folder_that_has_its_metastore_keeps_it),
        TEST(a_folder_that_has_joined_takes_none),
        TEST(a_line_that_is_empty_or_too_long_is_refused),
        TEST(a_folder_with_certificates_for_etcd_is_set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
