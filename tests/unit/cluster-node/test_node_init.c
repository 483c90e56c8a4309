/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/node/boot/node_init.h"
#include "cluster/node/identity/own_identity.h"
#include "tests/store/boot_stage.h"
#include "tests/support/testing.h"

#define NOW UINT64_C(1800000000)

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

static int init(const struct folder_stage *stage, struct cluster_node_init *out)
{
    const struct cluster_boot_options options = boot_stage_options(stage);

    return cluster_node_init_run(&options, NOW, out);
}

/* r[verify cluster.identity.setup] */
static void an_empty_folder_becomes_that_of_a_first_node(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_own_identity_owner owner;
    struct cluster_identity_files files;
    struct cluster_own_identity own;
    struct cluster_node_init made;
    struct cluster_boot boot;

    assert_int_equal(init(stage, &made), 0);
    assert_int_equal(made.node, 1);
    assert_int_equal(boot_stage_run(stage, &boot), 0);
    assert_memory_equal(boot.folder.store.uuid, made.uuid, sizeof made.uuid);
    owner = (struct cluster_own_identity_owner){boot.folder.store.uuid, 1};
    assert_int_equal(cluster_identity_files_open(&boot.folder.root, false, &files), 0);
    assert_int_equal(cluster_own_identity_load(&files, &owner, &own), 0);
    cluster_own_identity_fini(&own);
    cluster_identity_files_close(&files);
    assert_int_equal(init(stage, &made), RAPAHUB_EBUSY); /* a node has it */
    cluster_boot_close(&boot);
    assert_int_equal(init(stage, &made), RAPAHUB_EEXIST);
}

/* r[verify cluster.identity.setup] */
static void a_node_that_has_pools_gets_its_identity_too(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_node_init made;
    struct cluster_boot boot;
    uint8_t uuid[CLUSTER_URI_UUID];

    assert_int_equal(boot_stage_run(stage, &boot), 0);
    assert_true(boot_stage_fill(&boot) > 0);
    memcpy(uuid, boot.folder.store.uuid, sizeof uuid);
    cluster_boot_close(&boot);
    assert_int_equal(init(stage, &made), 0);
    assert_memory_equal(made.uuid, uuid, sizeof uuid);
}

/* r[verify cluster.identity.setup] */
static void a_folder_of_something_else_is_left(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_node_init made;

    assert_int_equal(mkdir(stage->path, 0755), 0);
    folder_stage_write(stage, "thesis.tex", "x", 1);
    assert_int_equal(init(stage, &made), RAPAHUB_EFORMAT);
    assert_false(folder_stage_has(stage, "ca"));
    assert_false(folder_stage_has(stage, "node.id"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_folder_becomes_that_of_a_first_node, begin, end),
        cmocka_unit_test_setup_teardown(a_node_that_has_pools_gets_its_identity_too, begin, end),
        cmocka_unit_test_setup_teardown(a_folder_of_something_else_is_left, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
