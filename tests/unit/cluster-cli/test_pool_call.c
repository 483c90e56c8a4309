/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to pools of a node, and those that are a guest's as ever. r[verify cluster.call.target] */
#include <unistd.h>

#include "host/socket/folders.h"
#include "tests/unit/cluster-cli/typing.h"

/* The only folder with sockets, so that a node of this machine has no part in it; NULL: none. */
static const char *sockets;

int __wrap_host_folders_each(host_folders_visit *visit, void *user);
int __wrap_host_folders_each(host_folders_visit *visit, void *user)
{
    return sockets ? visit(user, sockets) : 0;
}

static void a_pool_with_one_container_is_called_by_its_name(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub call --node unix:/x one.add 5"), 0);
    assert_is(output.text, "5\n");
    assert_is(fake_node.asked, "pool(one)\nmodules()\n256.2 #0 add(5)\n");
    assert_is(fake_node.opened, "unix:/x");
    assert_int_equal(fake_node.closed, 1);
}

static void a_pool_with_more_is_not_called_without_a_mode(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub call --node unix:/x tally.add 5"), 2);
    assert_has(errors.text, "pool 'tally' has 4 containers: say which, as tally#0, "
                            "tally@hash:KEY, tally@range:O+N, tally@broadcast, tally@local, "
                            "tally@physical:N or tally@dynamic");
    assert_is(fake_node.asked, "pool(tally)\nmodules()\n");
}

static void containers_and_modes(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub call --node unix:/x tally#3.add 5"), 0);
    assert_is(output.text, "8\n");
    assert_has(fake_node.asked, "\n256.1 #3 add(5)\n");
    assert_int_equal(type("rapahub call tally@local.add 5"), 0);
    assert_has(fake_node.asked, "\n256.1 local 0 0+0 add(5)\n");
    assert_int_equal(type("rapahub call tally@hash:foobar.add 5"), 0);
    assert_has(fake_node.asked, "\n256.1 hash 85944171f73967e8 0+0 add(5)\n");
    assert_int_equal(type("rapahub call tally@physical:7.add 5"), 0);
    assert_has(fake_node.asked, "\n256.1 physical 7 0+0 add(5)\n");
}

static void a_whole_signature_needs_no_description(void **state)
{
    char *words[] = {
        (char[]){"rapahub"},        (char[]){"call"}, (char[]){"tally#1.add(i64) -> i64"},
        (char[]){"--node=unix:/x"}, (char[]){"-5"},   NULL};
    static const struct cli_command *const tables[] = {cli_commands, cluster_commands, NULL};

    (void)state;
    capture_begin(&output, stdout);
    assert_int_equal(cli_start(tables, 5, words), 0);
    capture_end(&output);
    assert_is(output.text, "-4\n");
    assert_is(fake_node.asked, "256.1 #1 add(-5)\n");
}

static void several_containers_answer_each(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub call tally@broadcast.add 5"), 0);
    assert_is(output.text,
              "CONTAINER  RESULT\n0          5\n1          6\n2          7\n3          "
              "8\n");
    assert_int_equal(type("rapahub call tally@range:2+2.add 5 --json"), 0);
    assert_has(output.text, "{\"schema\": \"rapahub.call/1\", \"ok\": true, \"results\": "
                            "[{\"container\": 2, \"ok\": true, \"result\": 7}, {\"container\": 3, "
                            "\"ok\": true, \"result\": 8}], \"method\": \"add(i64) -> i64\", "
                            "\"pool\": \"tally\", \"duration_ns\": ");
}

static void of_several_those_that_succeeded_are_shown(void **state)
{
    (void)state;
    fake_node.failing = 2;
    assert_int_equal(type("rapahub call tally@broadcast.add 5"), 9);
    assert_has(output.text,
               "1          6\n2          RAPAHUB_EMAYBE: it is \"gone\"\n3          8\n");
    assert_has(errors.text, "error: tally.add: it is \"gone\"\n  code RAPAHUB_EMAYBE");
    assert_int_equal(type("rapahub call tally@range:2+1.add 5 --json"), 9);
    assert_has(output.text, "\"ok\": false, \"results\": [{\"container\": 2, \"ok\": false, "
                            "\"code\": -4301, \"name\": \"RAPAHUB_EMAYBE\", \"message\": \"it is "
                            "\\\"gone\\\"\"}]");
}

static void results_have_the_forms_of_other_calls(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub call tally#1.add 5 --json"), 4);
    assert_int_equal(fake_node.closed, 0); /* no node: it is a guest's */
    assert_int_equal(type("rapahub call --node unix:/x tally#1.add 5 --json"), 0);
    assert_has(output.text, "{\"schema\": \"rapahub.call/1\", \"ok\": true, \"result\": 6, "
                            "\"method\": \"add(i64) -> i64\", \"pool\": \"tally\", "
                            "\"duration_ns\": ");
    assert_int_equal(type("rapahub call tally@local.add --raw hex:0a"), 0);
    assert_int_equal(output.text[0], 10);
    assert_int_equal(type("rapahub call tally@broadcast.add --raw hex:0a"), 2);
    assert_has(errors.text, "--raw takes one argument and one container");
    assert_int_equal(type("rapahub call tally@local.add 5 --repeat 3 --deadline 7s"), 0);
    assert_has(errors.text, "3 calls, ");
    assert_int_equal(fake_node.timeout_ns, UINT64_C(7000000000));
}

static void a_failure_is_told_as_that_of_the_call(void **state)
{
    (void)state;
    fake_node.failing = 1;
    assert_int_equal(type("rapahub call --node unix:/x tally#1.add 5"), 9);
    assert_has(errors.text, "error: tally.add: it is \"gone\"\n  code RAPAHUB_EMAYBE");
    assert_int_equal(type("rapahub call tally@local.ad 5"), 3);
    assert_has(errors.text, "tally has no method 'ad'; near: add(i64) -> i64");
    assert_has(errors.text, "hint: rapahub describe pool tally");
    assert_int_equal(type("rapahub call tally@local.add five"), 2);
    assert_has(errors.text, "argument 1 of add");
    assert_int_equal(type("rapahub call tully@local.add 5"), 3);
    assert_has(errors.text, "there is no pool 'tully'");
    assert_has(errors.text, "did you mean 'tally'?");
    assert_int_equal(type("rapahub call tally@elsewhere.add 5"), 2);
    assert_has(errors.text, "'elsewhere' is no mode");
}

static void an_interrupt_cancels_and_a_second_one_ends(void **state)
{
    (void)state;
    for (fake_node.interrupts = 1; fake_node.interrupts <= 2; fake_node.interrupts++) {
        assert_int_equal(type("rapahub call tally@local.add 5"), 130);
        assert_has(errors.text, "RAPAHUB_ECANCELED");
        assert_int_equal(fake_node.closed, fake_node.interrupts);
    }
}

/* ---- what is not a pool's ---- */

static void without_a_node_a_name_is_a_guests(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub call calc.add 1 2"), 4);
    assert_has(errors.text, "error: no host or guest named 'calc'");
    assert_is(fake_node.asked, "");
    assert_int_equal(fake_node.closed, 0);
}

static void a_name_that_is_no_pool_is_a_guests(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub call --node unix:/x calc.add 1 2"), 4);
    assert_has(errors.text, "error: no host or guest named 'calc'");
    assert_int_equal(fake_node.closed, 1);
    fake_node.open_status = RAPAHUB_ENETTIMEOUT;
    assert_int_equal(type("rapahub call --node unix:/x tally.add 1"), 4);
    assert_has(errors.text, "error: no host or guest named 'tally'");
    assert_int_equal(type("rapahub call --node 10.0.0.1:9413 tally.add 1"), 4);
    assert_has(errors.text, "error: no node answers");
    fake_node.open_status = 0;
    assert_int_equal(type("rapahub call --node 10.0.0.1:9413 calc.add 1 2"), 3);
    assert_has(errors.text, "there is no pool 'calc'");
    assert_has(errors.text, "hint: rapahub get pools");
}

static void a_host_or_a_file_is_never_a_pool(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub call --node unix:/x host/tally.add 1"), 4);
    assert_int_equal(type("rapahub call --node unix:/x ./nothing.so:add 1"), 3);
    assert_int_equal(type("rapahub call --node unix:/x ./a@local.so:add 1"), 3);
    assert_int_equal(type("rapahub call --node unix:/x a@local.so:add 1"), 3);
    assert_is(fake_node.opened, "");
}

static void with_a_mode_it_must_be_a_pools(void **state)
{
    (void)state;
    fake_node.open_status = RAPAHUB_ENETTIMEOUT;
    assert_int_equal(type("rapahub call tally@local.add 1"), 4);
    assert_has(errors.text, "error: no node answers");
}

/* A socket in a folder says that there may be a node. */
static void a_node_of_this_machine_is_found_by_its_socket(void **state)
{
    char folder[] = "/tmp/rapahub-typing-XXXXXX", path[80];

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/node.node", folder);
    sockets = folder;
    assert_int_equal(type("rapahub call one.add 5"), 4);
    fclose(fopen(path, "we"));
    assert_int_equal(type("rapahub call one.add 5"), 0);
    assert_is(output.text, "5\n");
    sockets = NULL;
    assert_int_equal(unlink(path) + rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TYPING(a_pool_with_one_container_is_called_by_its_name),
        TYPING(a_pool_with_more_is_not_called_without_a_mode),
        TYPING(containers_and_modes),
        TYPING(a_whole_signature_needs_no_description),
        TYPING(several_containers_answer_each),
        TYPING(of_several_those_that_succeeded_are_shown),
        TYPING(results_have_the_forms_of_other_calls),
        TYPING(a_failure_is_told_as_that_of_the_call),
        TYPING(an_interrupt_cancels_and_a_second_one_ends),
        TYPING(without_a_node_a_name_is_a_guests),
        TYPING(a_name_that_is_no_pool_is_a_guests),
        TYPING(a_host_or_a_file_is_never_a_pool),
        TYPING(with_a_mode_it_must_be_a_pools),
        TYPING(a_node_of_this_machine_is_found_by_its_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
