/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about certificates and tokens. */
#include <sys/stat.h>

#include "cluster/identity/ca.h"
#include "cluster/identity/csr.h"
#include "cluster/identity/private_key.h"
#include "tests/store/folder_stage.h"
#include "tests/unit/cluster-cli/typing.h"

static struct folder_stage stage;

static int begin(void **state)
{
    (void)reset(state);
    folder_stage_begin(&stage);
    return 0;
}

static int end(void **state)
{
    (void)state;
    folder_stage_end(&stage);
    return 0;
}

static int certificate(const char *options)
{
    char line[FOLDER_STAGE_PATH_MAX + 120];

    snprintf(line, sizeof line, "rapahub node certificate --out %s%s", stage.path, options);
    return type(line);
}

static void a_token_is_printed_alone(void **state)
{
    (void)state;
    fake_node_answer(&(struct fake_answer){"token", 0, "rh1.x.y", 0});
    fake_node_answer(&(struct fake_answer){
        "status", 0, "{\"ca_hash\": \"12ab\", \"listens\": \"192.0.2.7:9413,[::1]:9413\"}", 0});
    assert_int_equal(type("rapahub token create"), 0);
    assert_is(output.text, "rh1.x.y\n");
    assert_is(errors.text, "where the new node shall be: rapahub node join 192.0.2.7:9413 --token "
                           "rh1.x.y --ca-hash 12ab --data DIR\n");
    assert_is(fake_node.asked, "token(3600000000000, 1)\nstatus()\n");
    assert_int_equal(type("rapahub token create --ttl 90s --uses 4 --json"), 0);
    assert_is(fake_node.asked, "token(90000000000, 4)\n");
    assert_is(output.text, "{\"schema\": \"rapahub.token-create/1\", \"token\": \"rh1.x.y\"}\n");
    assert_int_equal(type("rapahub token create --uses 0"), 2);
    assert_int_equal(type("rapahub token create --ttl soon"), 2);
    fake_node_answer(
        &(struct fake_answer){"token", RAPAHUB_EACCES, "token is for an admin only", 0});
    assert_int_equal(type("rapahub token create"), 7);
    assert_is(output.text, "");
}

/* r[verify cluster.join.pinned] */
static void a_join_says_what_is_missing_before_it_begins(void **state)
{
    static const char token[] = "rh1.0123456789abcdef.0123456789abcdef0123456789abcdef";
    char line[FOLDER_STAGE_PATH_MAX + 200];

    (void)state;
    assert_int_equal(type("rapahub node join"), 2);
    assert_int_equal(type("rapahub node join 127.0.0.1:1"), 2);
    assert_has(errors.text, "--token TOKEN is missing");
    assert_int_equal(type("rapahub node join 127.0.0.1:1 --token x"), 2);
    assert_has(errors.text, "--ca-hash HEX is missing");
    assert_int_equal(type("rapahub node join 127.0.0.1:1 --token x --ca-hash 12"), 2);
    assert_has(errors.text, "--data DIR is missing");
    snprintf(line, sizeof line, "rapahub node join 127.0.0.1:1 --token x --ca-hash 12 --data %s",
             stage.path);
    assert_int_equal(type(line), 2);
    assert_has(errors.text, "it is no token");
    snprintf(line, sizeof line, "rapahub node join 127.0.0.1:1 --token %s --ca-hash 12 --data %s",
             token, stage.path);
    assert_int_equal(type(line), 2);
    assert_has(errors.text, "64 hexadecimal digits");
    assert_false(folder_stage_has(&stage, ""));
}

static void things_are_revoked(void **state)
{
    (void)state;
    fake_node_answer(&(struct fake_answer){"token_revoke", 0, "", 0});
    fake_node_answer(&(struct fake_answer){"revoke", 0, "", 0});
    assert_int_equal(type("rapahub token revoke 0123456789abcdef"), 0);
    assert_is(errors.text, "0123456789abcdef is revoked\n");
    assert_is(fake_node.asked, "token_revoke(0123456789abcdef)\n");
    assert_int_equal(type("rapahub node revoke 1f --json"), 0);
    assert_is(output.text, "{\"schema\": \"rapahub.node-revoke/1\", \"serial\": \"1f\"}\n");
    assert_int_equal(type("rapahub node revoke"), 2);
}

static void lists_are_tables(void **state)
{
    (void)state;
    fake_node_answer(&(struct fake_answer){
        "tokens", 0, "{\"tokens\": [{\"id\": \"1f\", \"expires\": \"never\", \"uses\": 1}]}", 0});
    fake_node_answer(&(struct fake_answer){"revoked", 0, "{\"revoked\": []}", 0});
    assert_int_equal(type("rapahub token ls"), 0);
    assert_is(output.text, "ID  EXPIRES  USES\n1f  never    1\n");
    assert_int_equal(type("rapahub node revoked"), 0);
    assert_is(output.text, "");
}

/* r[verify cluster.identity.client] */
static void what_is_wrong_is_told_before_a_node_is_asked(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub node certificate --name ana"), 2);
    assert_has(errors.text, "--out FOLDER is missing");
    assert_int_equal(certificate(""), 2);
    assert_has(errors.text, "--name NAME is missing");
    assert_int_equal(certificate(" --name a/b"), 2);
    assert_int_equal(certificate(" --name ana --role root"), 2);
    assert_int_equal(mkdir(stage.path, 0700), 0);
    folder_stage_write(&stage, "client.key", "x", 1);
    assert_int_equal(certificate(" --name ana"), 6);
    assert_has(errors.text, "client.key: it is there");
    assert_is(fake_node.asked, "");
    assert_int_equal(fake_node.closed, 0);
}

/* A certificate as a node would give it, but for a key that the command has not made. */
static void answer_with_another_key(void)
{
    static const uint8_t uuid[CLUSTER_URI_UUID] = "0123456789abcde";
    static char text[2 * CLUSTER_PEM_SIZE_MAX + 1];
    struct cluster_peer_name name = {.kind = CLUSTER_PEER_CLIENT, .name = "ana"};
    struct cluster_pem request, pem;
    struct evp_pkey_st *key;
    struct x509_st *made;
    struct cluster_ca ca;
    size_t size;

    memcpy(name.uuid, uuid, sizeof uuid);
    assert_int_equal(cluster_ca_make(uuid, 1800000000, &ca), 0);
    assert_int_equal(cluster_private_key_make(&key), 0);
    assert_int_equal(cluster_csr_make(key, &request), 0);
    assert_int_equal(cluster_ca_sign(&ca, (struct rapahub_bytes){request.text, request.size}, &name,
                                     1800000000, &made),
                     0);
    assert_int_equal(cluster_certificate_write(made, &pem), 0);
    memcpy(text, pem.text, pem.size);
    size = pem.size;
    assert_int_equal(cluster_certificate_write(ca.certificate, &pem), 0);
    memcpy(text + size, pem.text, pem.size + 1);
    fake_node_answer(&(struct fake_answer){"certificate", 0, text, 0});
    cluster_certificate_release(&made);
    cluster_private_key_release(&key);
    cluster_ca_fini(&ca);
}

/* r[verify cluster.identity.client] */
static void an_answer_that_was_not_asked_for_writes_nothing(void **state)
{
    (void)state;
    fake_node_answer(&(struct fake_answer){"certificate", 0, "nonsense", 0});
    assert_int_equal(certificate(" --name ana"), 9);
    assert_has(errors.text, "no certificate of this name and key");
    assert_has(fake_node.asked, "certificate(-----BEGIN CERTIFICATE REQUEST-----");
    answer_with_another_key();
    assert_int_equal(certificate(" --name ana"), 9);
    assert_false(folder_stage_has(&stage, "client.key"));
    assert_false(folder_stage_has(&stage, ""));
}

#define STAGED(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TYPING(a_token_is_printed_alone),
        STAGED(a_join_says_what_is_missing_before_it_begins),
        TYPING(things_are_revoked),
        TYPING(lists_are_tables),
        STAGED(what_is_wrong_is_told_before_a_node_is_asked),
        STAGED(an_answer_that_was_not_asked_for_writes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
