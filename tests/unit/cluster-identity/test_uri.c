/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include <rapahub/error.h>

#include "cluster/identity/uri.h"
#include "tests/support/testing.h"

#define UUID    "30313233343536373839616263646500"
#define HERE    "rapahub://" UUID
#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-"

#define TEXT(text) ((struct rapahub_string){(text), sizeof(text) - 1})

static const uint8_t the_uuid[CLUSTER_URI_UUID] = "0123456789abcde";

static void assert_same(const char *uri)
{
    struct cluster_peer_name name;
    char again[CLUSTER_URI_SIZE_MAX];

    assert_int_equal(cluster_uri_parse(uri, &name), 0);
    assert_memory_equal(name.uuid, the_uuid, sizeof the_uuid);
    assert_int_equal(cluster_uri_print(&name, again), strlen(uri));
    assert_string_equal(again, uri);
}

static void assert_refused(const char *uri)
{
    struct cluster_peer_name name = {.node = 77};

    assert_int_equal(cluster_uri_parse(uri, &name), RAPAHUB_EINVAL);
    assert_string_equal(rapahub_last_error()->rule, "cluster.identity.name");
    assert_int_equal(name.node, 77);
}

/* r[verify cluster.identity.name] */
static void a_name_is_read_and_written(void **state)
{
    struct cluster_peer_name name;

    (void)state;
    assert_same(HERE "/node/1");
    assert_same(HERE "/node/4294967295");
    assert_same(HERE "/client/viewer/a");
    assert_same(HERE "/client/operator/ana-1.x_y");
    assert_same(HERE "/client/admin/" LETTERS);
    assert_int_equal(cluster_uri_parse(HERE "/client/operator/ana", &name), 0);
    assert_int_equal(name.kind, CLUSTER_PEER_CLIENT);
    assert_int_equal(name.role, CLUSTER_PEER_OPERATOR);
    assert_string_equal(name.name, "ana");
    assert_int_equal(name.node, 0);
    assert_int_equal(cluster_uri_parse(HERE "/node/12", &name), 0);
    assert_int_equal(name.kind, CLUSTER_PEER_NODE);
    assert_int_equal(name.node, 12);
    assert_string_equal(name.name, "");
}

/* r[verify cluster.identity.name] */
static void another_spelling_is_refused(void **state)
{
    static const char *const names[] = {"",
                                        "rapahub://",
                                        HERE,
                                        HERE "/",
                                        HERE "/node",
                                        HERE "/node/",
                                        HERE "/node/0",
                                        HERE "/node/01",
                                        HERE "/node/-1",
                                        HERE "/node/+1",
                                        HERE "/node/ 1",
                                        HERE "/node/1 ",
                                        HERE "/node/1/",
                                        HERE "/node/4294967296",
                                        HERE "/node/18446744073709551617",
                                        HERE "/node/99999999999999999999999999999999",
                                        HERE "/node/1x",
                                        HERE "/Node/1",
                                        "RAPAHUB://" UUID "/node/1",
                                        "http://" UUID "/node/1",
                                        " " HERE "/node/1",
                                        "rapahub://3031323334353637383961626364650/node/1",
                                        "rapahub://303132333435363738396162636465000/node/1",
                                        "rapahub://3031323334353637383961626364650A/node/1",
                                        "rapahub://30313233-3435-3637-3839-616263646500/node/1",
                                        HERE ":9413/node/1",
                                        HERE "/client",
                                        HERE "/client/",
                                        HERE "/client/admin",
                                        HERE "/client/admin/",
                                        HERE "/client//ana",
                                        HERE "/client/Admin/ana",
                                        HERE "/client/root/ana",
                                        HERE "/client/admin/ana/",
                                        HERE "/client/admin/../ana",
                                        HERE "/client/admin/a/b",
                                        HERE "/client/admin/a b",
                                        HERE "/client/admin/a\nb",
                                        HERE "/client/admin/-a",
                                        HERE "/client/admin/.a",
                                        HERE "/client/admin/%41",
                                        HERE "/client/admin/a,b",
                                        HERE "/client/admin/" LETTERS "x",
                                        HERE "/ca",
                                        HERE "/client/admin/a?b",
                                        HERE
                                        "/client/admin/" LETTERS LETTERS LETTERS LETTERS LETTERS};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_refused(names[i]);
}

/* r[verify cluster.identity.name] */
static void there_is_no_such_name(void **state)
{
    struct cluster_peer_name name = {.kind = CLUSTER_PEER_NODE};
    char to[CLUSTER_URI_SIZE_MAX];

    (void)state;
    assert_int_equal(cluster_uri_print(&name, to), RAPAHUB_EINVAL);
    name.kind = CLUSTER_PEER_CLIENT;
    assert_int_equal(cluster_uri_print(&name, to), RAPAHUB_EINVAL);
    snprintf(name.name, sizeof name.name, "%s", "a/b");
    assert_int_equal(cluster_uri_print(&name, to), RAPAHUB_EINVAL);
    snprintf(name.name, sizeof name.name, "%s", "a\nb");
    assert_int_equal(cluster_uri_print(&name, to), RAPAHUB_EINVAL);
    memset(name.name, 'a', sizeof name.name); /* 64 bytes, and no 0 */
    assert_int_equal(cluster_uri_print(&name, to), RAPAHUB_EINVAL);
    snprintf(name.name, sizeof name.name, "%s", "ana");
    name.role = CLUSTER_PEER_ROLES;
    assert_int_equal(cluster_uri_print(&name, to), RAPAHUB_EINVAL);
    name.role = CLUSTER_PEER_ADMIN;
    assert_true(cluster_uri_print(&name, to) > 0);
    name.kind = (enum cluster_peer_kind)2;
    assert_int_equal(cluster_uri_print(&name, to), RAPAHUB_EINVAL);
}

/* r[verify cluster.identity.name] */
static void an_authority_has_a_name_of_its_own(void **state)
{
    char to[CLUSTER_URI_SIZE_MAX];
    uint8_t uuid[CLUSTER_URI_UUID] = {0};

    (void)state;
    assert_int_equal(cluster_uri_print_authority(the_uuid, to), strlen(HERE "/ca"));
    assert_string_equal(to, HERE "/ca");
    assert_int_equal(cluster_uri_parse_authority(to, uuid), 0);
    assert_memory_equal(uuid, the_uuid, sizeof uuid);
    assert_int_equal(cluster_uri_parse_authority(HERE "/ca/", uuid), RAPAHUB_EINVAL);
    assert_int_equal(cluster_uri_parse_authority(HERE "/node/1", uuid), RAPAHUB_EINVAL);
    assert_int_equal(cluster_uri_parse_authority("rapahub://12/ca", uuid), RAPAHUB_EINVAL);
}

/* r[verify cluster.identity.name] */
static void a_role_has_one_spelling(void **state)
{
    uint8_t role = 9;

    (void)state;
    assert_int_equal(cluster_uri_role(TEXT("admin"), &role), 0);
    assert_int_equal(role, CLUSTER_PEER_ADMIN);
    assert_int_equal(cluster_uri_role(TEXT("viewer"), &role), 0);
    assert_int_equal(role, CLUSTER_PEER_VIEWER);
    assert_int_equal(cluster_uri_role(TEXT("view"), &role), RAPAHUB_EINVAL);
    assert_int_equal(cluster_uri_role(TEXT("viewers"), &role), RAPAHUB_EINVAL);
    assert_int_equal(cluster_uri_role((struct rapahub_string){NULL, 0}, &role), RAPAHUB_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_read_and_written),
        cmocka_unit_test(another_spelling_is_refused),
        cmocka_unit_test(there_is_no_such_name),
        cmocka_unit_test(an_authority_has_a_name_of_its_own),
        cmocka_unit_test(a_role_has_one_spelling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
