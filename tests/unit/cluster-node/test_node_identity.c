/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <rapahub/error.h>

#include "cluster/identity/csr.h"
#include "cluster/identity/private_key.h"
#include "cluster/node/identity/identity_setup.h"
#include "cluster/node/identity/node_identity.h"
#include "hub/base/clock.h"
#include "tests/store/thread_stage.h"
#include "tests/support/testing.h"

#define NOW UINT64_C(1800000000)

static uint64_t now_s;

static uint64_t wall_s(void)
{
    return now_s;
}

static void set_up(struct thread_stage *stage)
{
    const struct cluster_own_identity_owner owner = {stage->data.store.uuid, stage->data.node};
    uint8_t digest[CLUSTER_CERTIFICATE_DIGEST];

    now_s = NOW;
    assert_int_equal(cluster_identity_setup_run(&stage->data.root, &owner, NOW, digest), 0);
}

static struct cluster_node_identity *open_identity(struct thread_stage *stage)
{
    struct cluster_node_identity *identity;

    assert_int_equal(
        cluster_node_identity_create(
            &(struct cluster_node_identity_options){&stage->data, stage->thread, wall_s},
            &identity),
        0);
    return identity;
}

static void make_request(struct cluster_pem *out)
{
    struct evp_pkey_st *key;

    assert_int_equal(cluster_private_key_make(&key), 0);
    assert_int_equal(cluster_csr_make(key, out), 0);
    cluster_private_key_release(&key);
}

static int sign(const struct cluster_node_identity *identity, struct cluster_pem *out)
{
    const struct cluster_peer_name name = {
        .kind = CLUSTER_PEER_CLIENT, .role = CLUSTER_PEER_VIEWER, .name = "ana"};
    struct cluster_pem request;

    make_request(&request);
    return cluster_node_identity_sign(identity, (struct rapahub_bytes){request.text, request.size},
                                      name, out);
}

/* r[verify cluster.identity.own] */
static void a_node_without_an_identity_says_what_to_type(void **state)
{
    struct thread_stage *stage = *state;
    struct cluster_node_identity *identity = open_identity(stage);
    struct cluster_pem pem;

    assert_null(cluster_node_identity_own(identity));
    assert_int_equal(rapahub_last_error()->code, RAPAHUB_ESTATE);
    assert_int_equal(sign(identity, &pem), RAPAHUB_ESTATE);
    assert_non_null(strstr(rapahub_last_error()->text, "rapahub node init "));
    assert_non_null(strstr(rapahub_last_error()->text, stage->folder.path));
    assert_true(cluster_node_identity_step(identity, hub_clock_now()) == HUB_NEVER);
    cluster_node_identity_release(&identity);
}

/* r[verify cluster.identity.own] */
static void a_node_with_the_authority_signs(void **state)
{
    struct thread_stage *stage = *state;
    struct cluster_node_identity *identity;
    const struct cluster_own_identity *own;
    struct cluster_peer_name name;
    uint8_t serial[CLUSTER_CERTIFICATE_SERIAL_MAX];
    struct x509_st *made = NULL;
    struct cluster_pem pem;
    size_t size;

    set_up(stage);
    identity = open_identity(stage);
    own = cluster_node_identity_own(identity);
    assert_non_null(own);
    assert_int_equal(sign(identity, &pem), 0);
    assert_int_equal(cluster_certificate_read((struct rapahub_bytes){pem.text, pem.size}, &made),
                     0);
    assert_int_equal(cluster_certificate_check_issuer(made, own->anchors[0]), 0);
    assert_int_equal(cluster_certificate_peer(made, &name, serial, &size), 0);
    assert_string_equal(name.name, "ana");
    assert_false(cluster_node_identity_is_revoked(identity, serial, size));
    cluster_certificate_release(&made);
    cluster_node_identity_release(&identity);
}

/* r[verify cluster.identity.files] */
static void a_key_that_others_may_read_is_refused(void **state)
{
    static const char *const names[] = {"ca/ca.key", "tls/node.key"};
    struct thread_stage *stage = *state;

    set_up(stage);
    for (size_t i = 0; i < 2; i++) {
        struct cluster_node_identity *identity;
        struct cluster_pem pem;
        char path[256];

        snprintf(path, sizeof path, "%s/%s", stage->folder.path, names[i]);
        assert_int_equal(chmod(path, 0640), 0);
        identity = open_identity(stage);
        assert_null(cluster_node_identity_own(identity));
        assert_int_equal(sign(identity, &pem), RAPAHUB_EACCES);
        assert_non_null(strstr(rapahub_last_error()->text, "mode is 640: chmod 600 "));
        assert_non_null(strstr(rapahub_last_error()->text, path));
        cluster_node_identity_release(&identity);
        assert_int_equal(chmod(path, 0600), 0);
    }
    assert_int_equal(chmod(stage->folder.path, 0700), 0);
}

/* r[verify cluster.identity.files] */
static void a_file_that_is_none_is_refused(void **state)
{
    static char big[CLUSTER_PEM_SIZE_MAX + 1];
    struct thread_stage *stage = *state;
    struct cluster_node_identity *identity;
    char path[256];

    set_up(stage);
    folder_stage_write(&stage->folder, "tls/node.pem", big, sizeof big);
    identity = open_identity(stage);
    assert_null(cluster_node_identity_own(identity));
    assert_non_null(strstr(rapahub_last_error()->text, "tls/node.pem: it has 4097 bytes"));
    cluster_node_identity_release(&identity);
    folder_stage_remove(&stage->folder, "tls/node.pem");
    snprintf(path, sizeof path, "%s/tls/node.pem", stage->folder.path);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody writes it */
    identity = open_identity(stage);
    assert_null(cluster_node_identity_own(identity));
    cluster_node_identity_release(&identity);
}

static void wait_for_change(struct thread_stage *stage,
                            const struct cluster_node_identity *identity, uint64_t changes)
{
    uint64_t until = hub_clock_after(20 * HUB_SECOND);

    while (cluster_node_identity_changes(identity) == changes && hub_clock_left(until) > 0)
        thread_stage_step(stage, 100);
    assert_int_equal(cluster_node_identity_changes(identity), changes + 1);
}

/* r[verify cluster.identity.renew] */
static void a_certificate_is_renewed_after_two_thirds_of_its_time(void **state)
{
    struct thread_stage *stage = *state;
    struct cluster_node_identity *identity;
    struct cluster_revocation_serial first;
    uint64_t now_ns = hub_clock_now(), next;

    set_up(stage);
    identity = open_identity(stage);
    first = cluster_node_identity_own(identity)->serial;
    now_s = NOW + 59 * CLUSTER_CA_DAY_S;
    next = cluster_node_identity_step(identity, now_ns);
    assert_true(next == now_ns + 3600 * HUB_SECOND);
    now_s = NOW + 61 * CLUSTER_CA_DAY_S;
    assert_true(cluster_node_identity_step(identity, next - 1) == next);
    assert_true(cluster_node_identity_step(identity, next) > next);
    wait_for_change(stage, identity, 0);
    assert_memory_not_equal(first.bytes, cluster_node_identity_own(identity)->serial.bytes, 16);
    assert_true(cluster_node_identity_own(identity)->until_s == now_s + CLUSTER_CA_PEER_S);
    first = cluster_node_identity_own(identity)->serial;
    cluster_node_identity_release(&identity);
    identity = open_identity(stage); /* it is on the disk */
    assert_memory_equal(first.bytes, cluster_node_identity_own(identity)->serial.bytes, 16);
    cluster_node_identity_release(&identity);
}

/* r[verify cluster.identity.renew] */
static void a_renewal_that_fails_is_tried_again(void **state)
{
    struct thread_stage *stage = *state;
    struct cluster_node_identity *identity;
    uint64_t now_ns = hub_clock_now(), next;
    char path[256], away[256];

    set_up(stage);
    identity = open_identity(stage);
    snprintf(path, sizeof path, "%s/tls", stage->folder.path);
    snprintf(away, sizeof away, "%s/tls.away", stage->folder.path);
    assert_int_equal(rename(path, away), 0);
    now_s = NOW + 61 * CLUSTER_CA_DAY_S;
    cluster_node_identity_step(identity, now_ns);
    for (unsigned i = 0; i < 200; i++) {
        thread_stage_step(stage, 50);
        next = cluster_node_identity_step(identity, now_ns + 1);
        if (next < now_ns + 3599 * HUB_SECOND)
            break;
    }
    assert_true(next <= hub_clock_now() + 60 * HUB_SECOND);
    assert_int_equal(cluster_node_identity_changes(identity), 0);
    assert_true(cluster_node_identity_own(identity)->until_s == NOW + CLUSTER_CA_PEER_S);
    assert_int_equal(rename(away, path), 0);
    cluster_node_identity_step(identity, next);
    wait_for_change(stage, identity, 0);
    cluster_node_identity_release(&identity);
}

/* A node that ends while a renewal is written has one certificate or the other. */
static void a_node_may_end_while_it_renews(void **state)
{
    struct thread_stage *stage = *state;
    struct cluster_node_identity *identity;

    set_up(stage);
    identity = open_identity(stage);
    now_s = NOW + 61 * CLUSTER_CA_DAY_S;
    cluster_node_identity_step(identity, hub_clock_now());
    thread_stage_stop(stage, false, 0);
    cluster_node_identity_release(&identity);
    thread_stage_start(stage);
    identity = open_identity(stage);
    assert_non_null(cluster_node_identity_own(identity));
    cluster_node_identity_release(&identity);
}

/* r[verify cluster.identity.revoked] */
static void a_certificate_is_revoked(void **state)
{
    struct thread_stage *stage = *state;
    struct cluster_node_identity *identity;
    struct cluster_revocation_serial serial = {.bytes = {1, 2, 3}, .size = 3};

    set_up(stage);
    identity = open_identity(stage);
    assert_int_equal(cluster_node_identity_revoke(identity, &serial), 0);
    assert_int_equal(cluster_node_identity_changes(identity), 1);
    assert_true(cluster_node_identity_is_revoked(identity, serial.bytes, 3));
    assert_false(cluster_node_identity_is_revoked(identity, serial.bytes, 2));
    cluster_node_identity_release(&identity);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, thread_stage_begin, thread_stage_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_node_without_an_identity_says_what_to_type),
        TEST(a_node_with_the_authority_signs),
        TEST(a_key_that_others_may_read_is_refused),
        TEST(a_file_that_is_none_is_refused),
        TEST(a_certificate_is_renewed_after_two_thirds_of_its_time),
        TEST(a_renewal_that_fails_is_tried_again),
        TEST(a_node_may_end_while_it_renews),
        TEST(a_certificate_is_revoked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
