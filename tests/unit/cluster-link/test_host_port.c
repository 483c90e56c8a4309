/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as people write them, and the sockets and names that they stand for. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rapahub/error.h>

#include "cluster/link/host_port.h"
#include "cluster/link/name_lookup.h"
#include "cluster/link/tcp.h"
#include "hub/base/clock.h"
#include "tests/support/pause.h"
#include "tests/support/testing.h"

static void an_address_is_read(void **state)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
        const char *printed; /* NULL: it is a name */
    } all[] = {{"10.0.0.7", "10.0.0.7", 9413, "10.0.0.7:9413"},
               {"10.0.0.7:1", "10.0.0.7", 1, "10.0.0.7:1"},
               {"[::1]", "::1", 9413, "[::1]:9413"},
               {"[2001:db8::7]:65535", "2001:db8::7", 65535, "[2001:db8::7]:65535"},
               {"*:0", "*", 0, "0.0.0.0:0"},
               {"[::]:80", "::", 80, "[::]:80"},
               {"host-1.example", "host-1.example", 9413, NULL},
               {"localhost:9413", "localhost", 9413, NULL},
               {"10.0.0", "10.0.0", 9413, NULL}};

    (void)state;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        struct cluster_host_port_address address;
        struct cluster_host_port read;
        char printed[CLUSTER_HOST_PORT_TEXT];

        assert_int_equal(cluster_host_port_parse(all[i].text, &read), 0);
        assert_string_equal(read.host, all[i].host);
        assert_int_equal(read.port, all[i].port);
        assert_int_equal(cluster_host_port_in_numbers(&read, &address), all[i].printed != NULL);
        if (!all[i].printed)
            continue;
        cluster_host_port_print(&address, printed);
        assert_string_equal(printed, all[i].printed);
    }
}

static void anything_else_is_refused(void **state)
{
    static const char *const all[] = {"",         ":",       ":9413", "a:",       "a:65536",
                                      "a:-1",     "a:1x",    "a b",   "[::1",     "[]:1",
                                      "[::1]x",   "::1",     "a:1:2", "[a]:1",    "a/b",
                                      "a:000001", "unix:/x", "**",    "[::1]9413"};
    struct cluster_host_port read;
    char large[400];

    (void)state;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(cluster_host_port_parse(all[i], &read), RAPAHUB_EINVAL);
        assert_non_null(strstr(rapahub_last_error()->text, "is no HOST:PORT"));
    }
    memset(large, 'a', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    assert_int_equal(cluster_host_port_parse(large, &read), RAPAHUB_EINVAL);
}

static void a_list_is_taken_apart(void **state)
{
    const char *list = "a:1,[::1],*", *bad = "a,,b";
    struct cluster_host_port read;

    (void)state;
    assert_int_equal(cluster_host_port_next(&list, &read), 1);
    assert_string_equal(read.host, "a");
    assert_int_equal(cluster_host_port_next(&list, &read), 1);
    assert_string_equal(read.host, "::1");
    assert_int_equal(cluster_host_port_next(&list, &read), 1);
    assert_string_equal(read.host, "*");
    assert_int_equal(cluster_host_port_next(&list, &read), 0);
    assert_int_equal(cluster_host_port_next(&bad, &read), 1);
    assert_int_equal(cluster_host_port_next(&bad, &read), RAPAHUB_EINVAL);
}

static void listen_at(const char *text, struct cluster_host_port_address *address, int *fd)
{
    struct cluster_host_port where;

    assert_int_equal(cluster_host_port_parse(text, &where), 0);
    assert_true(cluster_host_port_in_numbers(&where, address));
    assert_int_equal(cluster_tcp_listen(address, fd), 0);
}

static void a_port_is_listened_at_once(void **state)
{
    struct cluster_host_port_address address, from;
    char text[CLUSTER_HOST_PORT_TEXT];
    int listener, other, one, two;

    (void)state;
    listen_at("127.0.0.1:0", &address, &listener);
    cluster_host_port_print(&address, text);
    assert_true(cluster_tcp_listen(&address, &other) < 0);
    assert_non_null(strstr(rapahub_last_error()->text, text));
    assert_int_equal(cluster_tcp_accept(listener, &two, &from), 0);
    assert_int_equal(cluster_tcp_connect(&address, &one), 0);
    assert_int_equal(poll(&(struct pollfd){.fd = listener, .events = POLLIN}, 1, 5000), 1);
    assert_int_equal(cluster_tcp_accept(listener, &two, &from), 1);
    cluster_host_port_print(&from, text);
    assert_int_equal(strncmp(text, "127.0.0.1:", 10), 0);
    close(one);
    close(two);
    close(listener);
}

static int look_up(const char *name, struct cluster_name_lookup_found *found)
{
    const struct cluster_host_port of = {.port = 5};
    struct cluster_host_port asked = of;
    struct cluster_name_lookup *lookup;
    int r = 0;

    snprintf(asked.host, sizeof asked.host, "%s", name);
    assert_int_equal(cluster_name_lookup_start(&asked, &lookup), 0);
    for (int ms = 0; r == 0 && ms < 30000; ms++) {
        r = cluster_name_lookup_take(lookup, found);
        pause_ms(1);
    }
    cluster_name_lookup_release(&lookup);
    assert_null(lookup);
    return r;
}

static void a_name_is_looked_up(void **state)
{
    struct cluster_name_lookup_found found;
    char text[CLUSTER_HOST_PORT_TEXT];

    (void)state;
    assert_int_equal(look_up("localhost", &found), 1);
    assert_true(found.count > 0);
    cluster_host_port_print(&found.addresses[found.count - 1], text);
    assert_non_null(strstr(text, ":5"));
    assert_true(look_up("no-such-host.invalid", &found) < 0);
    assert_non_null(strstr(rapahub_last_error()->text, "no-such-host.invalid"));
}

/* It may be given up at any time. */
static void a_look_up_that_is_given_up_ends_by_itself(void **state)
{
    const struct cluster_host_port of = {.host = "localhost", .port = 5};

    (void)state;
    for (unsigned i = 0; i < 50; i++) {
        struct cluster_name_lookup *lookup;

        assert_int_equal(cluster_name_lookup_start(&of, &lookup), 0);
        if (i % 2)
            pause_ms(1);
        cluster_name_lookup_release(&lookup);
    }
    pause_ms(50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_read),
        cmocka_unit_test(anything_else_is_refused),
        cmocka_unit_test(a_list_is_taken_apart),
        cmocka_unit_test(a_port_is_listened_at_once),
        cmocka_unit_test(a_name_is_looked_up),
        cmocka_unit_test(a_look_up_that_is_given_up_ends_by_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
