/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes in the network: how they are named, in which order they are tried, and with what. */
#include <netinet/in.h>
#include <stdlib.h>

#include <rapahub/error.h>

#include "cluster/client/transport/node_list.h"
#include "cluster/client/transport/tls_transport.h"
#include "cluster/link/tcp.h"
#include "tests/support/pause.h"
#include "tests/unit/cluster-link/identities.h"

/* r[verify cluster.client.again] */
static void nodes_are_tried_in_their_order(void **state)
{
    const char *const named[] = {"unix:/a", "host-7", "10.0.0.8:9", NULL};
    const char *const local[] = {"unix:/a", NULL};
    struct cluster_node_list list;

    (void)state;
    assert_int_equal(cluster_node_list_init(&list, named), 0);
    assert_true(cluster_node_list_has_remote(&list));
    assert_string_equal(cluster_node_list_at(&list)->path, "/a");
    assert_false(cluster_node_list_is_remote(cluster_node_list_at(&list)));
    cluster_node_list_pass(&list);
    assert_true(cluster_node_list_is_remote(cluster_node_list_at(&list)));
    assert_string_equal(cluster_node_list_at(&list)->at.host, "host-7");
    assert_int_equal(cluster_node_list_at(&list)->at.port, CLUSTER_HOST_PORT_DEFAULT);
    cluster_node_list_pass(&list);
    assert_int_equal(cluster_node_list_at(&list)->at.port, 9);
    cluster_node_list_pass(&list);
    assert_string_equal(cluster_node_list_at(&list)->text, "unix:/a");
    assert_int_equal(cluster_node_list_init(&list, local), 0);
    assert_false(cluster_node_list_has_remote(&list));
    assert_int_equal(cluster_node_list_init(&list, NULL), 0);
    cluster_node_list_pass(&list);
    assert_null(cluster_node_list_at(&list));
    assert_false(cluster_node_list_is_remote(NULL));
}

static void what_names_no_node_is_refused(void **state)
{
    static const char *const all[] = {"", "unix:", "/run/x.node", "*:9413", "a:b", "tcp://a"};
    const char *nine[] = {"a", "a", "a", "a", "a", "a", "a", "a", "a", NULL};
    struct cluster_node_list list;

    (void)state;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(cluster_node_list_init(&list, (const char *[]){all[i], NULL}),
                         RAPAHUB_EINVAL);
    assert_int_equal(cluster_node_list_init(&list, (const char *const *)nine), RAPAHUB_EINVAL);
    nine[8] = NULL;
    assert_int_equal(cluster_node_list_init(&list, (const char *const *)nine), 0);
    assert_int_equal(cluster_node_list_init(&list, nine + 8), RAPAHUB_EINVAL);
}

/* A folder with a client, below one that is the user's settings. */
struct stage {
    char folder[64], rapahub[80], tls[96];
    struct cluster_ca ca;
};

static void open_stage(struct stage *stage)
{
    *stage = (struct stage){.folder = "/tmp/rapahub-tls-XXXXXX"};
    assert_non_null(mkdtemp(stage->folder));
    snprintf(stage->rapahub, sizeof stage->rapahub, "%s/rapahub", stage->folder);
    snprintf(stage->tls, sizeof stage->tls, "%s/tls", stage->rapahub);
    assert_int_equal(mkdir(stage->rapahub, 0700), 0);
    make_authority(&stage->ca, 7);
    write_client(stage->tls, &stage->ca, CLUSTER_PEER_VIEWER, "ana");
}

static void close_stage(struct stage *stage)
{
    remove_identity(stage->tls);
    cluster_ca_fini(&stage->ca);
    assert_int_equal(rmdir(stage->rapahub), 0);
    assert_int_equal(rmdir(stage->folder), 0);
}

/* r[verify cluster.client.certificate] */
static void the_certificate_is_that_of_the_user(void **state)
{
    struct cluster_tls_transport transport = {.tried = 0}, other = {.tried = 0};
    struct stage stage;

    (void)state;
    open_stage(&stage);
    assert_int_equal(setenv("XDG_CONFIG_HOME", stage.folder, 1), 0);
    assert_int_equal(cluster_tls_transport_init(&transport, NULL), 0);
    assert_string_equal(transport.folder, stage.tls);
    cluster_tls_transport_fini(&transport);
    assert_int_equal(unsetenv("XDG_CONFIG_HOME"), 0);
    assert_int_equal(setenv("HOME", "/no/home", 1), 0);
    assert_int_equal(cluster_tls_transport_init(&other, NULL), RAPAHUB_ENOENT);
    assert_non_null(strstr(rapahub_last_error()->text, "/no/home/.config/rapahub/tls/client.pem"));
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(cluster_tls_transport_init(&other, NULL), RAPAHUB_EINVAL);
    assert_int_equal(cluster_tls_transport_init(&other, ""), RAPAHUB_EINVAL);
    cluster_tls_transport_fini(&other);
    close_stage(&stage);
}

/* Returns how often it was tried until it came to an end. */
static unsigned try_all(struct cluster_tls_transport *transport, const struct cluster_host_port *to,
                        unsigned *connected)
{
    unsigned tries = 0;
    int r;

    do {
        struct cluster_tls *session = NULL;
        int fd;

        r = cluster_tls_transport_connect(transport, to, &fd, &session);
        if (r == RAPAHUB_EAGAIN) {
            pause_ms(1);
            continue;
        }
        tries++;
        if (r < 0)
            continue;
        ++*connected;
        cluster_tls_release(&session);
        close(fd);
    } while (cluster_tls_transport_has_more(transport));
    return tries;
}

static void each_address_of_a_name_is_tried(void **state)
{
    struct cluster_tls_transport transport = {.tried = 0};
    struct cluster_host_port name = {.host = "localhost"}, number = {.host = "127.0.0.1"},
                             none = {.host = "no-such-host.invalid"}, where = number;
    struct cluster_host_port_address address;
    struct stage stage;
    unsigned connected = 0;
    int listener;

    (void)state;
    open_stage(&stage);
    assert_true(cluster_host_port_in_numbers(&where, &address));
    assert_int_equal(cluster_tcp_listen(&address, &listener), 0);
    name.port = number.port =
        ntohs(((const struct sockaddr_in *)(const void *)&address.of)->sin_port);
    assert_int_equal(cluster_tls_transport_init(&transport, stage.tls), 0);
    assert_true(try_all(&transport, &name, &connected) > 0);
    assert_true(connected > 0);
    assert_int_equal(try_all(&transport, &number, &connected), 1);
    connected = 0;
    assert_true(try_all(&transport, &none, &connected) > 0);
    assert_int_equal(connected, 0);
    assert_true(try_all(&transport, &name, &connected) > 0);
    assert_true(connected > 0);
    cluster_tls_transport_fini(&transport);
    close(listener);
    close_stage(&stage);
}

/* The turn of the node passes on, as a node in the network is not the only way to another one.
 * r[verify cluster.client.again] */
static void an_address_counts_as_tried_when_the_certificate_cannot_be_read(void **state)
{
    struct cluster_tls_transport transport = {.tried = 0};
    const struct cluster_host_port to = {.host = "127.0.0.1", .port = 9};
    struct cluster_tls *session = NULL;
    struct stage stage;
    char path[128];
    int fd;

    (void)state;
    open_stage(&stage);
    assert_int_equal(cluster_tls_transport_init(&transport, stage.tls), 0);
    snprintf(path, sizeof path, "%s/client.pem", stage.tls);
    assert_int_equal(unlink(path), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(cluster_tls_transport_connect(&transport, &to, &fd, &session),
                         RAPAHUB_ENOENT);
        assert_false(cluster_tls_transport_has_more(&transport));
    }
    write_client(stage.tls, &stage.ca, CLUSTER_PEER_VIEWER, "ana");
    assert_int_equal(cluster_tls_transport_connect(&transport, &to, &fd, &session), 0);
    cluster_tls_release(&session);
    close(fd);
    cluster_tls_transport_fini(&transport);
    close_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_tried_in_their_order),
        cmocka_unit_test(what_names_no_node_is_refused),
        cmocka_unit_test(the_certificate_is_that_of_the_user),
        cmocka_unit_test(each_address_of_a_name_is_tried),
        cmocka_unit_test(an_address_counts_as_tried_when_the_certificate_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
