/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that show what a node says. */
#include "tests/unit/cluster-cli/typing.h"

static void pools_are_a_table_with_the_members_of_all_rows(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub get pools"), 0);
    assert_is(output.text, "NAME   ID     STATE     CONTAINERS  IDLE    KEPT\n"
                           "tally  256.1  ACTIVE    4           1.50 s  -\n"
                           "one    256.2  CREATING  1           -       2 KiB\n");
    assert_is(errors.text, "");
    assert_is(fake_node.asked, "pools()\n");
    assert_int_equal(fake_node.closed, 1);
}

static void forms_of_a_list(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub get pools -o name"), 0);
    assert_is(output.text, "tally\none\n");
    assert_int_equal(type("rapahub get pools --json"), 0);
    assert_has(output.text,
               "{\"schema\": \"rapahub.node.pools/1\", \"pools\": [{\"name\": \"tally\"");
    assert_int_equal(output.text[strlen(output.text) - 1], '\n');
    assert_int_equal(type("rapahub module ls"), 0);
    assert_has(output.text, "NAME     VERSION  MACHINE  SHA256");
    assert_has(output.text, "counter  1.10.0   x86-64   0011223344");
    assert_null(strstr(output.text, "METHODS"));
}

static void an_empty_list_prints_nothing(void **state)
{
    (void)state;
    fake_node_answer(&(struct fake_answer){"operations", 0, "{\"operations\": []}", 0});
    assert_int_equal(type("rapahub get operations"), 0);
    assert_is(output.text, "");
}

static void eight_columns_are_enough_unless_all_are_wanted(void **state)
{
    (void)state;
    fake_node_answer(&(struct fake_answer){
        "operations", 0,
        "{\"operations\": [{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,"
        "\"i\":9}]}",
        0});
    assert_int_equal(type("rapahub get operations"), 0);
    assert_is(output.text, "A  B  C  D  E  F  G  H\n1  2  3  4  5  6  7  8\n");
    assert_int_equal(type("rapahub get operations -o wide"), 0);
    assert_is(output.text, "A  B  C  D  E  F  G  H  I\n1  2  3  4  5  6  7  8  9\n");
}

/* Nothing of what a plugin said drives a terminal. */
static void a_pool_is_described_with_its_containers(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub describe pool tally"), 0);
    assert_has(output.text, "name        tally\n"
                            "module      counter\n"
                            "version     1.10.0\n"
                            "containers  4\n"
                            "uptime      2.00 s\n"
                            "\n"
                            "CONTAINER  STATE        TOKEN  FAILURES  CAUSE\n"
                            "0          ACTIVE       17     -         -\n"
                            "1          QUARANTINED  -      3         init ");
    assert_null(strchr(output.text, '\033'));
    assert_is(fake_node.asked, "pool(tally)\n");
}

static void an_unknown_pool_is_told_with_the_nearest(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub describe pool tully"), 3);
    assert_has(errors.text, "error: there is no pool 'tully'\n  code RAPAHUB_ENOPOOL");
    assert_has(errors.text, "hint: did you mean 'tally'? rapahub get pools\n");
    assert_int_equal(type("rapahub describe pool elsewhere"), 3);
    assert_has(errors.text, "hint: rapahub get pools\n");
    assert_int_equal(type("rapahub delete tully"), 3);
    assert_has(errors.text, "error:");
}

static void all_containers_of_a_node(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub node ps"), 0);
    assert_has(output.text, "POOL   CONTAINER  STATE        HERE  TOKEN  FAILURES  CAUSE\n"
                            "tally  0          ACTIVE       -     17     -         -\n"
                            "tally  1          QUARANTINED  -     -      3         init ");
    assert_has(output.text, "one    0          ACTIVE ");
    assert_is(fake_node.asked, "pools()\npool(tally)\npool(one)\n");
    assert_int_equal(type("rapahub node ps -o name"), 0);
    assert_is(output.text, "tally#0\ntally#1\none#0\n");
    assert_int_equal(type("rapahub node ps --json"), 0);
    assert_has(output.text, "{\"schema\": \"rapahub.node-ps/1\", \"containers\": [{\"pool\": "
                            "\"tally\", \"container\": 0, \"state\": \"ACTIVE\", \"token\": "
                            "\"17\"}, ");
}

static void a_pool_that_goes_meanwhile_has_no_containers(void **state)
{
    (void)state;
    fake_node_answer(&(struct fake_answer){
        "pools", 0, "{\"pools\": [{\"name\": \"gone\"}, {\"id\": 3}, {\"name\": \"one\"}]}", 0});
    assert_int_equal(type("rapahub node ps -o name"), 0);
    assert_is(output.text, "one#0\n");
}

static void the_state_of_a_node(void **state)
{
    (void)state;
    fake_node_answer(&(struct fake_answer){
        "status", 0,
        "{\"schema\": \"s\", \"number\": 1, \"ready\": true, \"load\": 0.5, \"zones\": "
        "[\"a\", \"b\"], \"none\": null}",
        0});
    assert_int_equal(type("rapahub node status"), 0);
    assert_is(output.text, "number  1\nready   yes\nload    0.5\nzones   a, b\nnone    -\n");
}

static void what_is_no_json_is_refused(void **state)
{
    static const char *const texts[] = {"", "{", "x", "{\"a\": 1, \"a\": 2}", "{\"a\": \"\xff\"}"};

    (void)state;
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        fake_node_answer(&(struct fake_answer){"status", 0, texts[i], 0});
        assert_int_equal(type("rapahub node status --json"), 9);
        assert_is(output.text, "");
        assert_has(errors.text, "RAPAHUB_EPROTOCOL");
    }
    /* JSON of another shape shows nothing, and harms nothing. */
    fake_node_answer(&(struct fake_answer){"operations", 0, "[1, {\"operations\": 3}]", 0});
    assert_int_equal(type("rapahub get operations"), 0);
    fake_node_answer(&(struct fake_answer){"operations", 0, "{\"operations\": [1, [2], null]}", 0});
    assert_int_equal(type("rapahub get operations"), 0);
    assert_int_equal(type("rapahub get operations -o name"), 0);
}

static void a_node_that_is_away_is_told_with_what_to_do(void **state)
{
    (void)state;
    fake_node.open_status = RAPAHUB_ENETTIMEOUT;
    assert_int_equal(type("rapahub get pools"), 4);
    assert_has(errors.text, "error: no node answers\n  code RAPAHUB_ENETTIMEOUT\nhint: start one");
    assert_is(fake_node.asked, "");
}

static void a_node_is_named_and_waited_for(void **state)
{
    (void)state;
    assert_int_equal(type("rapahub get pools"), 0);
    assert_is(fake_node.opened, "");
    assert_int_equal(fake_node.wait_ns, UINT64_C(2000000000));
    assert_int_equal(type("rapahub get pools --node unix:/tmp/a --timeout 1s"), 0);
    assert_is(fake_node.opened, "unix:/tmp/a");
    assert_int_equal(fake_node.wait_ns, UINT64_C(1000000000));
    assert_int_equal(fake_node.timeout_ns, UINT64_C(1000000000));
    setenv("RAPAHUB_NODE", "unix:/tmp/b", 1);
    assert_int_equal(type("rapahub get pools"), 0);
    assert_is(fake_node.opened, "unix:/tmp/b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TYPING(pools_are_a_table_with_the_members_of_all_rows),
        TYPING(forms_of_a_list),
        TYPING(an_empty_list_prints_nothing),
        TYPING(eight_columns_are_enough_unless_all_are_wanted),
        TYPING(a_pool_is_described_with_its_containers),
        TYPING(an_unknown_pool_is_told_with_the_nearest),
        TYPING(all_containers_of_a_node),
        TYPING(a_pool_that_goes_meanwhile_has_no_containers),
        TYPING(the_state_of_a_node),
        TYPING(what_is_no_json_is_refused),
        TYPING(a_node_that_is_away_is_told_with_what_to_do),
        TYPING(a_node_is_named_and_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
