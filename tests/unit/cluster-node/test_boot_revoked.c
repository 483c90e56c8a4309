/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapahub/error.h>
#include <rapahub/log.h>

#include "cluster/node/boot/boot_revoked.h"
#include "cluster/node/boot/store_keys.h"
#include "tests/store/boot_stage.h"
#include "tests/support/testing.h"

#define NOW UINT64_C(1800000000)

static uint64_t wall_s(void)
{
    return NOW;
}

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

/* Starts a node, which reads what is revoked; returns what the reading did. */
static int run(struct cluster_boot *boot, const struct folder_stage *stage,
               struct cluster_node_identity **identity)
{
    struct boot_told told = {0};

    assert_int_equal(boot_stage_run(stage, boot), 0);
    assert_int_equal(cluster_boot_read_all(boot, &boot_stage_visitor, &told), 0);
    assert_int_equal(
        cluster_node_identity_create(
            &(struct cluster_node_identity_options){.folder = &boot->folder, .wall_s = wall_s},
            identity),
        0);
    return cluster_boot_revoked_read(boot, *identity);
}

static void stop(struct cluster_boot *boot, struct cluster_node_identity **identity)
{
    cluster_node_identity_release(identity);
    cluster_boot_close(boot);
}

static void revoke(struct cluster_boot *boot, const char *serial, uint64_t until_s)
{
    const struct boot_stage_put put = {
        {.kind = CLUSTER_KEY_REVOKED, .text = {serial, strlen(serial)}},
        {.revoked = {NOW - 100, until_s}}};

    assert_true(boot_stage_write(boot, &put, 1) > 0);
}

/* r[verify cluster.identity.revoked] */
static void a_node_that_starts_knows_what_is_revoked(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_node_identity *identity;
    struct cluster_boot boot;

    assert_int_equal(run(&boot, stage, &identity), 0);
    revoke(&boot, "1f2e", NOW + 1);
    revoke(&boot, "aa", NOW + 1);
    revoke(&boot, "bb", NOW);
    stop(&boot, &identity);
    assert_int_equal(run(&boot, stage, &identity), 0);
    assert_true(cluster_node_identity_is_revoked(identity, (const uint8_t[]){0x1f, 0x2e}, 2));
    assert_true(cluster_node_identity_is_revoked(identity, (const uint8_t[]){0xaa}, 1));
    assert_false(cluster_node_identity_is_revoked(identity, (const uint8_t[]){0xbb}, 1));
    stop(&boot, &identity);
}

static int count_one(void *user, const struct cluster_key *key, const struct cluster_pair *pair,
                     const struct cluster_record *record)
{
    (void)key;
    (void)pair;
    (void)record;
    (*(unsigned *)user)++;
    return 0;
}

/* r[verify cluster.identity.revoked] */
static void those_that_have_expired_are_forgotten(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_node_identity *identity;
    struct cluster_store_wait wait;
    struct cluster_boot boot;
    unsigned left = 0;
    char serial[8];

    assert_int_equal(run(&boot, stage, &identity), 0);
    for (unsigned i = 0; i < 70; i++) {
        snprintf(serial, sizeof serial, "%02x", i + 16);
        revoke(&boot, serial, NOW);
    }
    stop(&boot, &identity);
    for (unsigned life = 0; life < 2; life++) {
        assert_int_equal(run(&boot, stage, &identity), 0);
        assert_int_equal(cluster_node_identity_changes(identity), 0);
        stop(&boot, &identity);
    }
    assert_int_equal(run(&boot, stage, &identity), 0);
    wait = (struct cluster_store_wait){
        .store = boot.store, .wait_ns = boot.wait_ns, .url = boot.folder.place.url};
    assert_int_equal(
        cluster_store_keys_all(&wait, CLUSTER_KEY_REVOKED, boot.revision, count_one, &left), 0);
    assert_int_equal(left, 0);
    stop(&boot, &identity);
}

/* r[verify cluster.identity.revoked] */
static void a_number_that_is_none_ends_the_start(void **state)
{
    const struct folder_stage *stage = *state;
    struct cluster_node_identity *identity;
    struct cluster_boot boot;

    assert_int_equal(run(&boot, stage, &identity), 0);
    revoke(&boot, "f", NOW + 1); /* half a byte */
    stop(&boot, &identity);
    assert_int_equal(run(&boot, stage, &identity), RAPAHUB_EINVAL);
    stop(&boot, &identity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_node_that_starts_knows_what_is_revoked, begin, end),
        cmocka_unit_test_setup_teardown(those_that_have_expired_are_forgotten, begin, end),
        cmocka_unit_test_setup_teardown(a_number_that_is_none_ends_the_start, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
